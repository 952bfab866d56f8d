//! One pass over blocks by several threads: which thread takes which part, and what it cost.

use std::ops::Range;

use measure::Nanos;
use storage::StorageError;
use storage::exec::question::Answer;
use storage::pool::{Pool, Session};
use sys::counters::Tally;
use sys::host::allowed_cpus;
use sys::process::affinity::pin;
use sys::threads::run_together;
use sys::time::Clock;

use super::meter::{Meter, Scope, Taken};
use super::store::StorePass;
use crate::access_paths::ScanCost;

/// What is done to a part, and what it answers.
pub(super) type Work<'a> = dyn Fn(&Session<'_>, Range<u32>) -> Result<Answer, StorageError> + Sync + 'a;

/// Does `work` to `count` blocks or units, divided among threads that begin together. With more than one, each keeps to
/// a processor.
pub(super) fn run(
    pool: &Pool,
    clock: &Clock,
    pass: &StorePass,
    count: u32,
    work: &Work<'_>,
) -> Result<ScanCost, StorageError> {
    let threads = pass.threads.max(1);
    let cpus = allowed_cpus();
    let before = pool.counts();
    let taken = run_together(0..threads, |index| {
        if threads > 1 && !cpus.is_empty() {
            pin(cpus[index % cpus.len()]);
        }
        let session = pool.session();
        let meter = Meter::new(clock, Scope::Thread, pass.watch);
        move || laps(&session, meter, pass.laps, part(count, index, threads), work)
    })?;
    let taken = taken.into_iter().collect::<Result<Vec<_>, _>>()?;
    let counts = pool.counts().since(before);
    let start = taken.iter().map(|(_, one)| one.start).min().unwrap_or_default();
    let end = taken.iter().map(|(_, one)| one.end).max().unwrap_or_default();
    let (mut answer, mut tally) = (Answer::default(), Tally::default());
    for (one, taken) in &taken {
        answer += *one;
        tally.add_all(&taken.tally);
    }
    Ok(ScanCost {
        cpu: taken.iter().fold(Nanos::ZERO, |sum, (_, one)| sum + one.cpu),
        elapsed: end.since(start),
        tally,
        gets: counts.gets / pass.watch.rounds(),
        pinned_revisits: Some(counts.pinned_revisits / pass.watch.rounds()),
        physical_reads: counts.physical_reads,
        rows: answer.rows,
        count: answer.count,
        ..ScanCost::default()
    })
}

/// What each of `threads` threads makes of its part of `count` blocks, in the order of the parts.
pub(super) fn make_parts<T: Send>(
    count: u32,
    threads: usize,
    make: &(dyn Fn(usize, Range<u32>) -> Result<T, StorageError> + Sync),
) -> Result<Vec<T>, StorageError> {
    run_together(0..threads, |index| move || make(index, part(count, index, threads)))?.into_iter().collect()
}

/// The part of a thread; all together are the whole.
fn part(count: u32, index: usize, threads: usize) -> Range<u32> {
    let start = |index: usize| (u64::from(count) * index as u64 / threads as u64) as u32;
    start(index)..start(index + 1)
}

/// Works on a part as often as there are laps.
fn laps(
    session: &Session<'_>,
    meter: Meter<'_>,
    laps: u32,
    part: Range<u32>,
    work: &Work<'_>,
) -> Result<(Answer, Taken), StorageError> {
    let all_laps = || (0..laps).try_fold(Answer::default(), |_, _| std::hint::black_box(work(session, part.clone())));
    let (answer, taken) = meter.watch(all_laps);
    Ok((answer?, taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_leave_no_block_out_and_take_none_twice() {
        for (count, threads) in [(0, 3), (1, 2), (10, 3), (u32::MAX, 7)] {
            let parts: Vec<_> = (0..threads).map(|index| part(count, index, threads)).collect();
            assert_eq!((parts[0].start, parts[threads - 1].end), (0, count));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
