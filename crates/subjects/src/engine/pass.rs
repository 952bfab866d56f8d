//! One pass over a table that is in the pool: the part of each thread, and what it took.

use std::hint::black_box;
use std::ops::Range;

use storage::heap::{Fetch, HeapTable, Scan, ScanResult, fetch_by_rowid, scan};
use storage::page::ChangeNumber;
use storage::page::walk;
use storage::pool::{Pool, Session};
use storage::{RowId, StorageError};
use sys::counters::CycleCounter;
use sys::process::thread_cpu;
use sys::time::Clock;

use super::team::{self, Times, elapsed_and_cpu};
use crate::logical_reads::{Access, Cost, Counts, Pass, Touch, VersionCounts};

/// Most rows of a pass by rowid: 6 MiB of addresses, which a pass goes through from front to back, and more random
/// blocks than any cache of a processor holds.
const ROWIDS_MAX: u64 = 1 << 19;

/// What one thread reads in one lap.
enum Part {
    /// Neighbouring pages.
    Pages(Range<u32>),
    /// Rows by their addresses.
    Rows(Vec<RowId>),
    /// The first page, this many times.
    FirstPage(u32),
}

/// What one thread took.
struct Taken {
    times: Times,
    cycles: Option<u64>,
    result: ScanResult,
}

/// Runs a pass on threads of its own.
pub(super) fn run(pool: &Pool, table: &HeapTable, pass: &Pass, clock: &Clock, seed: u64) -> Result<Cost, StorageError> {
    let parts = parts(table, pass, seed);
    let (taken, counts) = team::run(pool, parts.into_iter(), |session, part| {
        let counter = CycleCounter::of_this_thread().ok();
        move || laps(&session, counter.as_ref(), table, pass, &part, clock)
    })?;
    let result = taken.iter().fold(ScanResult::default(), |mut sum, one| {
        sum += one.result;
        sum
    });
    let (elapsed, cpu) = elapsed_and_cpu(taken.iter().map(|one| one.times));
    Ok(Cost {
        cpu,
        elapsed,
        cycles: taken.iter().map(|one| one.cycles).sum(),
        counts: Some(Counts {
            gets: counts.gets,
            rows: result.rows,
            physical_reads: counts.physical_reads,
            versions: Some(VersionCounts {
                pinned_revisits: counts.pinned_revisits,
                rebuilt_blocks: result.rebuilt,
                undo_gets: result.undo_gets,
            }),
        }),
        folded: result.folded,
    })
}

/// The parts of all threads; together they are the whole of a lap.
fn parts(table: &HeapTable, pass: &Pass, seed: u64) -> Vec<Part> {
    let threads = pass.threads.max(1);
    let pages = |index| {
        let range = team::part(table.pages().into(), index, threads);
        range.start as u32..range.end as u32
    };
    let part = |index| match pass.access {
        Access::FullScan => Part::Pages(pages(index)),
        Access::OnePage => Part::FirstPage(pages(index).len() as u32),
        Access::Rowid | Access::Index => {
            let range = team::part(table.rows().min(ROWIDS_MAX), index, threads);
            let rows = table.row_ids_in_random_order(seed);
            Part::Rows(rows.skip(range.start as usize).take((range.end - range.start) as usize).collect())
        }
        Access::RowidInOrder => {
            let range = team::part(table.rows().min(ROWIDS_MAX), index, threads);
            Part::Rows(range.map(|row| table.row_id(row)).collect())
        }
    };
    (0..threads).map(part).collect()
}

/// Times the laps of one thread.
fn laps(
    session: &Session<'_>,
    counter: Option<&CycleCounter>,
    table: &HeapTable,
    pass: &Pass,
    part: &Part,
    clock: &Clock,
) -> Result<Taken, StorageError> {
    let cycles = || counter.and_then(CycleCounter::read);
    let (start, cpu, cycles_before) = (clock.now(), thread_cpu(), cycles());
    let mut result = ScanResult::default();
    for _ in 0..pass.laps {
        result += lap(session, table, pass, part)?;
    }
    let (cycles_after, cpu_after, end) = (cycles(), thread_cpu(), clock.now());
    let cycles = cycles_after.zip(cycles_before).map(|(after, before)| after - before);
    Ok(Taken { times: Times { start, end, cpu: cpu_after.since(cpu) }, cycles, result })
}

fn lap(session: &Session<'_>, table: &HeapTable, pass: &Pass, part: &Part) -> Result<ScanResult, StorageError> {
    let as_of = pass.as_of.map(|snapshot| ChangeNumber(snapshot.0));
    match (part, kernel(pass.touch)) {
        (Part::Pages(pages), None) => get_only(session, pages.clone().map(|number| table.page(number))),
        // As a fetch by rowid does, which gets a page once for the rows on it that follow one another.
        (Part::Rows(rows), None) => {
            get_only(session, rows.chunk_by(|one, next| one.page == next.page).map(|on| on[0].page))
        }
        (Part::FirstPage(times), None) => get_only(session, (0..*times).map(|_| table.page(0))),
        (Part::Pages(pages), Some(touch)) => scan(session, table, &Scan { pages: pages.clone(), touch, as_of }),
        (Part::Rows(rows), Some(touch)) => {
            fetch_by_rowid(session, rows.iter().copied(), &Fetch { touch, look_ahead: 0, as_of })
        }
        (Part::FirstPage(times), Some(touch)) => {
            let mut result = ScanResult::default();
            for _ in 0..*times {
                result += scan(session, table, &Scan { pages: 0..1, touch, as_of })?;
            }
            Ok(result)
        }
    }
}

/// Gets pages and lets them go, touching nothing of them.
fn get_only(session: &Session<'_>, pages: impl Iterator<Item = storage::PageId>) -> Result<ScanResult, StorageError> {
    let mut result = ScanResult::default();
    for page in pages {
        drop(black_box(session.get(page)?));
        result.pages += 1;
    }
    Ok(result)
}

/// What the engine's readers touch; `None` for nothing.
fn kernel(touch: Touch) -> Option<walk::Touch> {
    match touch {
        Touch::Nothing => None,
        Touch::Directory => Some(walk::Touch::Directory),
        Touch::Rows => Some(walk::Touch::Rows),
        Touch::Column(number) => Some(walk::Touch::Column(number)),
    }
}
