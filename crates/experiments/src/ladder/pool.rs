//! The rungs of the buffer pool: a get, and a get with its row walk, on a table that is made in memory and leaves
//! nothing behind.

use std::hint::black_box;
use std::time::Duration;

use dataset::DataSet;
use dataset::uniform::RowShape;
use measure::Metric;
use measure::random::{Permutation, SplitMix64};
use measure::schema::ladder::parameters;
use measure::schema::{Spec, ladder};
use storage::catalog::{TableInfo, TableSpec};
use storage::heap::loader::build_page;
use storage::heap::rows::TableRows;
use storage::heap::{HeapTable, full_scan};
use storage::page::PageView;
use storage::page::id::PAGE_SIZE;
use storage::page::walk::{Touch, walk};
use storage::pool::{Pool, PoolSettings, Session};
use storage::{PageId, StorageError};

use super::memory::report_huge;
use super::steps::{LogicalCost, Steps};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Bytes of the pool where there is room: past every cache, and past what the processor's table of 2 MiB pages
/// reaches.
const FOOTPRINT_MAX: u64 = 512 << 20;

/// Share of the free memory that the pool may take.
const MEMORY_SHARE: u64 = 8;

/// Samples of a rung, and gets of a sample: about 10 ms.
const SAMPLES: usize = 15;
const GETS: usize = 1 << 16;

/// The middle cell of the nine: 31 rows a page.
const ROW_LENGTH: u32 = 250;
const COLUMNS: u32 = 5;

/// Frames in addition to the table's: the pool keeps some back for reads.
const SPARE_FRAMES: usize = 512;

/// Measures pool-get and lio.
pub(super) fn rungs(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let footprint = steps.parameters.footprint(MEMORY_SHARE, FOOTPRINT_MAX);
    steps.say("filling a buffer pool for rungs pool-get and lio", Duration::from_secs(2), journal);
    let pool = Pool::new(PoolSettings::new(footprint + SPARE_FRAMES * PAGE_SIZE))?;
    let Some(table) = fill(steps, &pool, (footprint / PAGE_SIZE) as u32)? else { return Ok(()) };
    report_huge("pool-get", footprint, pool.huge_bytes(), journal);
    let bench = Bench { steps, table: &table, session: pool.session(), order: order(&table, steps.parameters.seed()) };
    let get = [
        Timed {
            spec: ladder::LATENCY,
            source: "get, the page's first word, release; random order, wall clock",
            one: &header,
        },
        Timed {
            spec: ladder::GET_ALONE,
            source: "get and release, nothing touched; random order, wall clock",
            one: &nothing,
        },
    ];
    bench.rung("pool-get", footprint, &get, journal)?;
    let lio = [
        Timed {
            spec: ladder::LATENCY,
            source: "get, the head of every row, release; random order, wall clock",
            one: &rows,
        },
        Timed { spec: ladder::LATENCY_IN_ORDER, source: "the same by a full scan, wall clock", one: &scan },
    ];
    if let Some([random, in_order]) = bench.rung("lio", footprint, &lio, journal)? {
        steps.logical.set(Some(LogicalCost { random, in_order }));
    }
    Ok(())
}

/// Makes a table of `pages` pages in the pool; `None` when the user asked to stop.
fn fill(steps: &Steps<'_>, pool: &Pool, pages: u32) -> Result<Option<HeapTable>, StorageError> {
    let shape = RowShape { row_length: ROW_LENGTH, columns: COLUMNS };
    let table = |payload| TableSpec::new("ladder", DataSet::uniform(shape, payload, steps.parameters.seed()));
    let spec = table(u64::from(pages) * u64::from(table(0).rows_per_page()) * u64::from(ROW_LENGTH));
    let segment = pool.add_volatile_segment("the ladder's table", pages)?;
    let info = TableInfo::planned(&spec, segment)?;
    let rows = TableRows::of(&spec)?;
    let session = pool.session();
    for number in 0..info.pages {
        if steps.machine.stop.requested() {
            return Ok(None);
        }
        build_page(&info, &rows, number, &mut *session.create(PageId { segment, number })?);
    }
    Ok(Some(HeapTable::new(&info, segment)))
}

/// Pages in random order, none twice.
fn order(table: &HeapTable, seed: u64) -> Vec<PageId> {
    let order = Permutation::new(table.pages().into(), &mut SplitMix64::new(seed));
    order.into_numbers().take(GETS).map(|number| table.page(number as u32)).collect()
}

/// What both rungs are measured on.
struct Bench<'a> {
    steps: &'a Steps<'a>,
    table: &'a HeapTable,
    session: Session<'a>,
    order: Vec<PageId>,
}

/// Does what is timed, and returns for how many blocks.
type One = dyn Fn(&Bench<'_>) -> Result<usize, StorageError>;

/// One metric of a rung.
struct Timed<'a> {
    spec: Spec,
    source: &'static str,
    one: &'a One,
}

impl Bench<'_> {
    /// Measures a rung and keeps it; gives the medians.
    fn rung<const N: usize>(
        &self,
        name: &str,
        footprint: usize,
        timed: &[Timed<'_>; N],
        journal: &mut dyn Journal,
    ) -> Result<Option<[f64; N]>, ExperimentError> {
        self.steps.say(&ladder::in_words(name), Duration::from_millis(500), journal);
        let mut of_case = self.steps.rung(name);
        of_case.extend([
            parameters::FOOTPRINT.of(footprint),
            parameters::ROW_LENGTH.of(ROW_LENGTH),
            parameters::COLUMNS.of(COLUMNS),
            parameters::ROWS.of(self.table.spec().rows_per_page()),
            parameters::ACCESS.of("random"),
        ]);
        self.steps.kept_rung(name, of_case, journal, |case, _| {
            let mut medians = [0.0; N];
            for (timed, median) in timed.iter().zip(&mut medians) {
                // One unmeasured round: it brings the pool's words into the caches.
                (timed.one)(self)?;
                let samples = (0..SAMPLES).map(|_| self.sample(timed.one)).collect::<Result<Vec<f64>, _>>()?;
                let metric = timed.spec.of_samples(timed.source, &samples);
                *median = metric.as_ref().map_or(f64::NAN, Metric::median);
                case.metrics.extend(metric);
            }
            Ok(medians)
        })
    }

    /// Nanoseconds a block.
    fn sample(&self, one: &One) -> Result<f64, StorageError> {
        let clock = &self.steps.machine.clock;
        let start = clock.now();
        let blocks = one(self)?;
        Ok(clock.now().since(start).0 as f64 / blocks as f64)
    }
}

fn nothing(bench: &Bench<'_>) -> Result<usize, StorageError> {
    for page in &bench.order {
        drop(black_box(bench.session.get(*page)?));
    }
    Ok(bench.order.len())
}

fn header(bench: &Bench<'_>) -> Result<usize, StorageError> {
    let mut sum = 0_u64;
    for page in &bench.order {
        sum = sum.wrapping_add(PageView::verified(&*bench.session.get(*page)?).change_number().0);
    }
    black_box(sum);
    Ok(bench.order.len())
}

fn rows(bench: &Bench<'_>) -> Result<usize, StorageError> {
    let mut sum = 0_u64;
    for page in &bench.order {
        sum = sum.wrapping_add(walk(PageView::verified(&*bench.session.get(*page)?), Touch::Rows).folded);
    }
    black_box(sum);
    Ok(bench.order.len())
}

fn scan(bench: &Bench<'_>) -> Result<usize, StorageError> {
    Ok(black_box(full_scan(&bench.session, bench.table, Touch::Rows)?).pages as usize)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use measure::Size;

    use super::super::parameters::LadderParameters;
    use super::super::storage::Storage;
    use super::*;
    use crate::journal::{Kept, Stop};
    use crate::machine::Machine;

    #[test]
    fn the_time_left_of_a_ladder_does_not_begin_anew_at_a_rung() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, on) = (folder.path().to_path_buf(), Some("model:ssd".into()));
        let (size, memory_max) = (Some(Size(16 << 20)), Some(Size(64 << 20)));
        let parameters = LadderParameters { dir, on, size, memory_max, ..LadderParameters::default() };
        let machine = Machine::observe(Stop::default());
        let mut journal = Kept::default();
        let storage = Storage::open(&parameters, &machine, &mut journal).unwrap();
        let (left, logical) = (Cell::new(parameters.time_of_rungs()), Cell::default());
        let steps = Steps { parameters: &parameters, machine: &machine, storage: &storage, left, logical };
        rungs(&steps, &mut journal).unwrap();
        // The test file, the pool, and its two rungs.
        let left: Vec<u128> = journal.steps.iter().map(|(_, left)| left.as_millis()).collect();
        assert_eq!(left, [46_016, 46_000, 44_000, 43_500]);
    }
}
