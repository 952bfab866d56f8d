//! One pass over blocks by several threads: which thread takes which part, and what it cost.

use std::ops::Range;

use storage::StorageError;
use storage::exec::question::Answer;
use storage::pool::{Pool, Session};
use sys::counters::Tally;
use sys::threads::run_together;
use sys::time::Clock;

use super::meter::{Meter, Scope, Taken};
use super::store::StorePass;
use crate::access_paths::ScanCost;
use crate::engine::team::{self, elapsed_and_cpu};

/// What is done to a part, and what it answers.
pub(super) type Work<'a> = dyn Fn(&Session<'_>, Range<u32>) -> Result<Answer, StorageError> + Sync + 'a;

/// Does `work` to `count` blocks or units, divided among threads.
pub(super) fn run(
    pool: &Pool,
    clock: &Clock,
    pass: &StorePass,
    count: u32,
    work: &Work<'_>,
) -> Result<ScanCost, StorageError> {
    let threads = pass.threads.max(1);
    let (taken, counts) = team::run(pool, 0..threads, |session, index| {
        let meter = Meter::new(clock, Scope::Thread, pass.watch);
        move || laps(&session, meter, pass.laps, part(count, index, threads), work)
    })?;
    let (elapsed, cpu) = elapsed_and_cpu(taken.iter().map(|(_, one)| one.times));
    let (mut answer, mut tally) = (Answer::default(), Tally::default());
    for (one, taken) in &taken {
        answer += *one;
        tally.add_all(&taken.tally);
    }
    Ok(ScanCost {
        cpu,
        elapsed,
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

fn part(count: u32, index: usize, threads: usize) -> Range<u32> {
    let part = team::part(count.into(), index, threads);
    part.start as u32..part.end as u32
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
