//! Random reads of the table's file without a join: one after the other, and as many at once as joins may have.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use device::Device;
use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use device::workers::Team;
use storage::page::id::PAGE_SIZE;
use sys::file::Caching;
use sys::memory::Pages;
use sys::time::Clock;

use crate::error::SubjectError;
use crate::nested_loops::DeviceReads;
use crate::page_cache::{self, Witnessed};

/// Reads of a pass.
const READS: u64 = 2000;

/// Reads random blocks of the file at `path`, which is placed on `device`, one after the other and then `depth` at a
/// time. Where the page cache can hold them, it is emptied before either.
pub(super) fn read(
    device: &dyn Device,
    path: &Path,
    depth: usize,
    (clock, stop): (&Clock, &AtomicBool),
) -> Result<DeviceReads, SubjectError> {
    // No seed is asked for: the order differs from run to run by the number of the process. The second pass reads other
    // blocks than the first, which a cache of the storage may still hold.
    let pass = |depth, pass| {
        let seed = 2 * u64::from(std::process::id()) + pass;
        read_pass(device, path, (depth, seed), (clock, stop))
    };
    let (alone, not_alone) = pass(1, 0)?;
    let (together, not_together) = pass(depth, 1)?;
    Ok(DeviceReads { alone, together, depth, not_from_storage: not_alone.or(not_together) })
}

/// Microseconds a read, and why it is not proved that the storage served them.
fn read_pass(
    device: &dyn Device,
    path: &Path,
    (depth, seed): (usize, u64),
    (clock, stop): (&Clock, &AtomicBool),
) -> Result<(f64, Option<String>), SubjectError> {
    let block = PAGE_SIZE as u64;
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len()) / block * block;
    let plans = [ReadPlan {
        pattern: Pattern::Random,
        block_size: PAGE_SIZE,
        pages: Pages::Huge,
        span: Span { offset: 0, length },
        seed,
        working_set: None,
        depth,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after: StopAfter::Reads(READS),
        rate: None,
    }];
    let read = || {
        let outcome = Team::open(device, None, &plans)?.read(clock, stop)?.outcome;
        match outcome.failure {
            // Reads that ^C cut short give no figure.
            _ if stop.load(Ordering::Relaxed) => Err(SubjectError::Stopped),
            Some(failure) => Err(SubjectError::Failed(format!("{}: {failure}", path.display()))),
            None => {
                let reads = outcome.latency.reads();
                let micros = match outcome.segments().as_slice() {
                    // After a lasting change: what held at the end.
                    [_, .., last] if last.rate > 0.0 => 1e6 / last.rate,
                    _ => outcome.elapsed.as_micros() / reads.max(1) as f64,
                };
                Ok((micros, reads * block))
            }
        }
    };
    let witnesses = device.witnesses();
    let Some(target) = witnesses.target() else { return Ok((read()?.0, None)) };
    let buffered = Some(target).filter(|target| target.caching() == Caching::Buffered);
    let mut witnessed = Witnessed::none(target.caching());
    let micros = witnessed.watch(target, page_cache::empty(buffered)?, read)?;
    Ok((micros, witnessed.not_from_storage()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::file::Target;

    #[test]
    fn reads_that_an_interrupt_cuts_short_are_no_gain_of_the_device() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7_u8; 64 * PAGE_SIZE]).unwrap();
        let device = Target::open(file.path(), Caching::Buffered).unwrap();
        let clock = Clock::calibrate();
        let read = |is_stopped| read(&device, file.path(), 4, (&clock, &AtomicBool::new(is_stopped)));
        assert_eq!(read(true), Err(SubjectError::Stopped));
        assert!(read(false).is_ok_and(|reads| reads.alone > 0.0 && reads.together > 0.0));
    }
}
