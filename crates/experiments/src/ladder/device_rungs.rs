//! The rungs of the storage: its cache, the device one read at a time and at its best depth, and in sequence.

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use device::tier::Stored;
use measure::Nanos;
use measure::schema::{ladder, reads};

use super::block_reads::{Source, cost_from_storage, keep, measure, plan, read_rung};
use super::findings::{self, Found};
use super::steps::Steps;
use super::storage::{BLOCK, SEQUENTIAL_BLOCKS};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::{reading, region};

/// Blocks of the storage-round-trip rung: 2 MiB, small for any storage's cache.
const HOT_BLOCKS: u64 = 256;

/// Time for the rungs of one read at a time, and for each depth that is tried.
const SINGLE_TIME: Nanos = Nanos::from_millis(3000);
const DEPTH_TIME: Nanos = Nanos::from_millis(700);
const SEQUENTIAL_TIME: Nanos = Nanos::from_millis(2000);

/// Unmeasured reads before a depth: a burst of new reads is slower than a steady stream.
const DEPTH_WARM_UP: Nanos = Nanos::from_millis(100);

/// Depths that are tried.
const DEPTHS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// Share of the best rate from which the smaller depth is preferred: waiting longer for one per cent is no gain.
const GOOD_ENOUGH: f64 = 0.98;

/// Measures storage-round-trip, device-random-depth-1, device-random-best-depth and device-sequential.
pub(super) fn rungs(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let storage = steps.storage;
    if storage.is_buffered() {
        let filesystem = storage.device.witnesses().target().and_then(|target| target.filesystem());
        journal.find_all(findings::without_direct_io(filesystem.as_deref()));
        return Ok(());
    }
    let source = Source { device: storage.device.as_ref(), stored: check_region(steps, journal)? };
    let mut found = Found { logical: steps.logical.get(), ..Found::default() };
    round_trip(steps, source, journal)?;
    let single = plan(steps, 1, StopAfter::Time(SINGLE_TIME));
    found.single = touches(steps, source, single, ("device-random-depth-1", 1), journal)?;
    if let Some(depth) = best_depth(steps, source, journal)? {
        let mut plan = plan(steps, depth, StopAfter::Time(SINGLE_TIME));
        plan.seed = plan.seed.wrapping_add(depth as u64);
        plan.warm_up = if storage.foreign { StopAfter::Reads(0) } else { StopAfter::Time(DEPTH_WARM_UP) };
        found.best = touches(steps, source, plan, ("device-random-best-depth", 1), journal)?;
        found.depth = depth;
    }
    let mut sequential = plan(steps, 1, StopAfter::Time(SEQUENTIAL_TIME));
    sequential.pattern = Pattern::Sequential;
    sequential.block_size = BLOCK * SEQUENTIAL_BLOCKS as usize;
    found.sequential = touches(steps, source, sequential, ("device-sequential", SEQUENTIAL_BLOCKS), journal)?;
    if !steps.machine.stop.requested() {
        journal.find_all(findings::report(&found, !storage.foreign));
        if found.sequential.is_some() && storage.device.witnesses().target().is_some() {
            let setting = steps.machine.host.huge_pages.as_deref();
            journal.find_all(reading::huge_page_buffers(sequential.pages, setting));
        }
    }
    Ok(())
}

/// A file of one's own has data; a device that was named is looked at before it is believed. Returns what the
/// file system stores of it.
fn check_region(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<Stored, ExperimentError> {
    let whole = Span { offset: 0, length: steps.storage.device.size() };
    match steps.storage.device.witnesses().target() {
        Some(target) => region::check(target, &[whole], BLOCK, steps.parameters.seed(), journal),
        None => Ok(Stored::default()),
    }
}

/// A small set of blocks, read until it is hot in the storage, then measured.
fn round_trip(steps: &Steps<'_>, source: Source<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    steps.machine.stop.check()?;
    let mut plan = plan(steps, 1, StopAfter::Reads(HOT_BLOCKS * 12));
    plan.seed = !plan.seed;
    plan.working_set = Some(HOT_BLOCKS.min(plan.span.blocks(BLOCK)));
    plan.warm_up = StopAfter::Reads(HOT_BLOCKS * 3);
    let measured = measure(steps, source, plan, "storage-round-trip", journal)?;
    keep(&measured, read_rung(steps, ("storage-round-trip", 1), source.device, &plan), 1, journal)
}

/// Measures a rung; on a device that the run did not make, the first and the second touch of the same blocks apart.
/// Gives the median cost of a block in nanoseconds, of the second touch where there are two.
fn touches(
    steps: &Steps<'_>,
    source: Source<'_>,
    plan: ReadPlan,
    (name, blocks_per_read): (&str, u64),
    journal: &mut dyn Journal,
) -> Result<Option<f64>, ExperimentError> {
    use ladder::parameters::TOUCH;
    steps.machine.stop.check()?;
    let foreign = steps.storage.foreign;
    let mut parameters = read_rung(steps, (name, blocks_per_read), source.device, &plan);
    if foreign {
        parameters.extend([TOUCH.of("first")]);
    }
    let first = measure(steps, source, plan, name, journal)?;
    keep(&first, parameters.clone(), blocks_per_read, journal)?;
    if !foreign || first.interrupted {
        return Ok(cost_from_storage(&first, blocks_per_read, plan.depth));
    }
    let latencies = first.cases.iter().filter_map(|case| reads::READ_LATENCY.in_case(case));
    let count: u64 = latencies.map(|metric| metric.statistics.n).sum();
    let again = ReadPlan { working_set: Some(count.max(1)), stop_after: StopAfter::Reads(count), ..plan };
    let second = measure(steps, source, again, name, journal)?;
    parameters.extend([TOUCH.of("second")]);
    keep(&second, parameters, blocks_per_read, journal)?;
    journal.find_all(findings::first_touch(name, &first, &second));
    Ok(cost_from_storage(&second, blocks_per_read, plan.depth))
}

/// The smallest depth that comes near the best rate of those tried. A depth for which threads or memory are refused is
/// the end of them.
fn best_depth(
    steps: &Steps<'_>,
    source: Source<'_>,
    journal: &mut dyn Journal,
) -> Result<Option<usize>, ExperimentError> {
    let mut rates: Vec<(usize, f64)> = Vec::new();
    for depth in DEPTHS {
        steps.machine.stop.check()?;
        let mut plan = plan(steps, depth, StopAfter::Time(DEPTH_TIME));
        plan.warm_up = StopAfter::Time(DEPTH_WARM_UP);
        plan.seed = plan.seed.wrapping_add(1000 + depth as u64);
        let measured = match measure(steps, source, plan, &format!("device-random at depth {depth}"), journal) {
            Ok(measured) => measured,
            Err(error) => match error.refusal_of_many_at_once() {
                Some(reason) => {
                    journal.find(findings::untried_depths(depth, reason));
                    break;
                }
                None => return Err(error),
            },
        };
        if let Some(iops) = measured.metric(&reads::IOPS) {
            rates.push((depth, iops.statistics.mean));
        }
    }
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    Ok(rates.iter().find(|(_, rate)| *rate >= best * GOOD_ENOUGH).map(|(depth, _)| *depth))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::ErrorKind;
    use std::time::Duration;

    use device::{Description, Device, DeviceError, Opened, Slots, Witnesses};
    use measure::Size;
    use sys::file::Alignment;
    use sys::read::MethodError;

    use super::super::parameters::LadderParameters;
    use super::super::storage::Storage;
    use super::*;
    use crate::journal::{Kept, Stop};
    use crate::machine::Machine;

    /// A device for which threads are refused beyond a depth.
    #[derive(Debug)]
    struct Narrow {
        device: Box<dyn Device>,
        depth_max: usize,
    }

    impl Device for Narrow {
        fn name(&self) -> String {
            self.device.name()
        }

        fn size(&self) -> u64 {
            self.device.size()
        }

        fn alignment(&self) -> Alignment {
            self.device.alignment()
        }

        fn describe(&self) -> Description {
            self.device.describe()
        }

        fn open(&self, team: &[Slots]) -> Result<Opened, DeviceError> {
            let reason = ErrorKind::WouldBlock.into();
            let refused = |depth| MethodError::NotStarted { method: "threads", depth, reason };
            match team.iter().map(|slots| slots.depth).find(|depth| *depth > self.depth_max) {
                Some(depth) => Err(refused(depth).into()),
                None => self.device.open(team),
            }
        }

        fn witnesses(&self) -> Witnesses<'_> {
            self.device.witnesses()
        }
    }

    #[test]
    fn threads_that_are_refused_leave_the_best_of_the_depths_that_were_measured() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, on) = (folder.path().to_path_buf(), Some("model:ssd".into()));
        let parameters = LadderParameters { dir, on, size: Some(Size(16 << 20)), ..LadderParameters::default() };
        let machine = Machine::observe(Stop::default());
        for (depth_max, expected, said) in [(8, Some(8), "Depths from 16 on"), (1, None, "Depths from 2 on")] {
            let mut journal = Kept::default();
            let mut storage = Storage::open(&parameters, &machine, &mut journal).unwrap();
            storage.device = Box::new(Narrow { device: storage.device, depth_max });
            let (left, logical) = (Cell::new(Duration::ZERO), Cell::default());
            let steps = Steps { parameters: &parameters, machine: &machine, storage: &storage, left, logical };
            let source = Source { device: storage.device.as_ref(), stored: Stored::default() };
            let best = best_depth(&steps, source, &mut journal).unwrap();
            assert!(best.is_some() == expected.is_some() && best <= expected, "{best:?} of at most {depth_max}");
            let message = journal.message("untried-depths").unwrap();
            assert!(message.starts_with(said) && message.contains("threads"), "{message}");
            let names_option = ["smaller depth", "fewer threads"].iter().any(|advice| message.contains(advice));
            assert!(!names_option && message.contains("ulimit -u"), "the ladder has no such option: {message}");
        }
    }
}
