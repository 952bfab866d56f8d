//! The embedded engine as a subject: one buffer pool for all tables, sized to the largest of them.
//!
//! The tables lie in a data directory and stay there for the next run. What is in the pool at one time is one table,
//! the undo of its changes, and while the order of loading is examined a small companion table.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dataset::DataSet;
use dataset::uniform::RowShape;
use device::file::direct_or_buffered;
use measure::quantity::grouped;
use measure::random::{Permutation, SplitMix64, mix};
use measure::schema::subjects::findings as row;
use measure::{Finding, Parameters};
use serde_json::json;
use storage::catalog::{DirectoryUse, Manifest, TableSpec};
use storage::heap::HeapTable;
use storage::heap::loader;
use storage::heap::versions::Changes;
use storage::page::id::PAGE_SIZE;
use storage::page::{PAGE_ROOM, SLOT_BYTES};
use storage::pool::{Pool, PoolSettings, Session};
use storage::{PageId, SegmentId, StorageError};
use sys::file::Caching;
use sys::time::Clock;

use super::pass;
use crate::error::SubjectError;
use crate::huge_pages;
use crate::logical_reads::{
    Access, Asked, Baseline, Cache, Cell, ColdRead, Cost, Counted, LogicalReads, Pass, Population, RANGE_BLOCKS,
    Snapshot, Sources, Table, TableFacts,
};
use crate::memory_share::{self, Wanted};
use crate::opening::Progress;
use crate::progress::tenths;
use crate::subject::{Closing, ENGINE, Subject, TABLE_SEED};

/// Bytes of an undo record besides the row's: its own column count, three numbers with their lengths, the length of
/// the row, and the entry of the row directory.
const UNDO_BYTES: usize = 1 + 3 * 9 + 3 + SLOT_BYTES;

/// Frames beyond what is known to be needed, for reads under way.
const SPARE_PAGES: u64 = 512;

/// The companion holds this part of a table's payload.
const COMPANION_PART: u64 = 4;

/// Pages that are asked for in one go while a table is brought in: the flag of ^C is looked at between two.
const PAGES_AT_ONCE: u32 = 2048;

/// Pages of one table that follow each other before those of the companion come, when both are interleaved.
const BATCH_PAGES: usize = 64;

/// The engine with its pool.
#[derive(Debug)]
pub struct Engine {
    asked: Asked,
    clock: Clock,
    pool: Pool,
    undo: SegmentId,
    changes: Changes,
    tables: HashMap<String, Opened>,
    in_use: Option<DirectoryUse>,
    current: Option<Opened>,
    stop: Arc<AtomicBool>,
    findings: Vec<Finding>,
}

/// A table whose file is open.
#[derive(Clone, Debug)]
struct Opened {
    table: HeapTable,
    direct: bool,
}

/// Reports what is wrong with the shape of a table, and what to ask for instead; `changed` when its rows will change.
pub fn check_cell(cell: &Cell, changed: bool) -> Result<(), SubjectError> {
    let spec = spec(cell);
    spec.pages()?;
    if changed && spec.data.row_bytes_max() > storage::heap::versions::CHANGEABLE_BYTES_MAX {
        let length = cell.row_length.into();
        let sentence =
            format!("rows of {} bytes are too long to be changed: their undo would not fit", grouped(length));
        return Err(StorageError::Parameters(sentence).into());
    }
    Ok(())
}

impl Engine {
    /// Maps the pool. Errors when there is not enough memory, or when a cell cannot be.
    pub fn new(asked: Asked, clock: Clock, stop: Arc<AtomicBool>) -> Result<Engine, SubjectError> {
        let mut pages = 0;
        let mut undo_pages = 0;
        for cell in &asked.cells {
            let undo = undo_pages_of(cell, asked.changed_rows_max());
            let beside = undo.max(u64::from(spec(&companion(cell)).pages()?));
            pages = pages.max(u64::from(spec(cell).pages()?) + beside);
            undo_pages = undo_pages.max(undo);
        }
        let bytes = (pages + SPARE_PAGES) * PAGE_SIZE as u64;
        let cache = "the buffer pool for the tables";
        memory_share::check(&Wanted { what: cache, bytes, advice: "give a smaller --payload" })?;
        let pool =
            Pool::new(PoolSettings { segments_max: 2 * asked.cells.len() + 1, ..PoolSettings::new(bytes as usize) })?;
        let undo = pool.add_volatile_segment("undo", undo_pages.max(1) as u32)?;
        let changes = Changes::new(undo);
        let what = "every get of a random block";
        let findings = huge_pages::not_granted("The buffer pool", bytes, pool.huge_bytes(), what).into_iter().collect();
        let tables = HashMap::new();
        Ok(Engine { asked, clock, pool, undo, changes, tables, in_use: None, current: None, stop, findings })
    }

    /// The pool, for what it says about itself.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    fn current(&self) -> Result<&Opened, SubjectError> {
        self.current.as_ref().ok_or(SubjectError::NotPrepared)
    }

    /// The table of a specification, loaded where it is not there, and known to the pool.
    fn open(
        &mut self,
        spec: &TableSpec,
        progress: &mut dyn FnMut(u64, u64),
        stop: &AtomicBool,
    ) -> Result<Opened, SubjectError> {
        if let Some(opened) = self.tables.get(&spec.name) {
            return Ok(opened.clone());
        }
        if self.asked.reload {
            loader::forget(&self.asked.directory, &spec.name)?;
        }
        let bytes = u64::from(spec.pages()?) * PAGE_SIZE as u64;
        let info = loader::load(&self.asked.directory, spec, &mut |written| progress(written, bytes), stop)?;
        let path = info.path(&self.asked.directory);
        let target = direct_or_buffered(&path)?;
        let direct = target.caching() == Caching::Direct;
        // A page names the data file that it was written to; the pool has numbers of its own.
        let verify = loader::verifier(SegmentId(info.segment));
        let segment = self.pool.add_segment(target, info.pages, move |bytes, page| verify(bytes, page.number))?;
        let opened = Opened { table: HeapTable::new(&info, segment), direct };
        self.tables.insert(spec.name.clone(), opened.clone());
        Ok(opened)
    }

    /// Checks that all missing tables fit on the disk, before the first is written.
    fn check_space(&self) -> Result<(), SubjectError> {
        let directory = &self.asked.directory;
        let failed = |doing| move |error| StorageError::Io { file: directory.clone(), doing, error };
        fs::create_dir_all(directory).map_err(failed("creating"))?;
        if self.asked.reload {
            loader::discard_damaged(directory)?;
        }
        let needed = self.space_needed(&Manifest::read(directory)?)?;
        let space = rustix::fs::statvfs(directory).map_err(|errno| failed("looking at")(errno.into()))?;
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        if needed > free {
            return Err(StorageError::NoSpace { directory: directory.clone(), needed, free }.into());
        }
        Ok(())
    }

    /// Bytes of the tables that are missing, with one companion, which the checks at the end load.
    fn space_needed(&self, manifest: &Manifest) -> Result<u64, SubjectError> {
        let missing = |spec: TableSpec| -> Result<u64, SubjectError> {
            let is_there = manifest.table(&spec.name).is_some_and(|table| table.spec == spec);
            Ok(if is_there { 0 } else { u64::from(spec.pages()?) * PAGE_SIZE as u64 })
        };
        let (mut tables, mut beside) = (0, 0);
        for cell in &self.asked.cells {
            tables += missing(spec(cell))?;
            beside = missing(spec_of_companion(cell))?.max(beside);
        }
        Ok(tables + beside)
    }

    /// Empties the pool.
    fn discard_all(&mut self) -> Result<(), SubjectError> {
        for opened in self.tables.values() {
            self.pool.discard(opened.table.segment())?;
        }
        self.pool.discard(self.undo)?;
        self.changes = Changes::new(self.undo);
        Ok(())
    }

    /// Changes this percentage of the rows, and gives the snapshot before.
    fn change_rows(&mut self, percent: u32) -> Result<Snapshot, SubjectError> {
        let table = &self.current()?.table;
        let before = self.changes.snapshot();
        if percent > 0 {
            let chosen = (0..table.rows()).filter(|row| is_chosen(*row, self.asked.seed, percent));
            // The last byte of a row belongs to a value: the lengths stand before the values.
            let edit = |_, row: &mut [u8]| row.last_mut().into_iter().for_each(|byte| *byte ^= 1);
            self.changes.update(&self.pool.session(), chosen.map(|row| table.row_id(row)), edit)?;
        }
        Ok(Snapshot(before.0))
    }

    fn interleave(&mut self, table: &HeapTable, stop: &AtomicBool) -> Result<(), SubjectError> {
        let data = &table.spec().data;
        let cell = Cell { row_length: data.row_length, columns: data.columns, payload: data.payload };
        let companion = self.open(&spec_of_companion(&cell), &mut |_, _| (), stop)?.table;
        let order = |table: &HeapTable| -> Vec<PageId> {
            let (segment, pages) = (table.segment(), u64::from(table.pages()));
            Permutation::new(pages, &mut SplitMix64::new(self.asked.seed))
                .into_numbers()
                .map(|number| PageId { segment, number: number as u32 })
                .collect()
        };
        let (own, others) = (order(table), order(&companion));
        let mut others = others.chunks((BATCH_PAGES * others.len() / own.len().max(1)).max(1));
        let session = self.pool.session();
        for batch in own.chunks(BATCH_PAGES) {
            StorageError::unless_stopped(stop)?;
            session.load_many(batch)?;
            others.next().map_or(Ok(()), |batch| session.load_many(batch))?;
        }
        Ok(())
    }
}

impl Subject for Engine {
    fn name(&self) -> &str {
        ENGINE
    }

    fn description(&self) -> Parameters {
        Parameters::from_iter([
            ("kind".into(), json!(ENGINE)),
            ("path".into(), json!(self.asked.directory.display().to_string())),
            ("pool_bytes".into(), json!(self.pool.settings().bytes as u64)),
            ("pool_huge_bytes".into(), json!(self.pool.huge_bytes())),
        ])
    }

    fn findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    fn finish(self: Box<Self>) -> Closing {
        Closing::quiet()
    }
}

impl LogicalReads for Engine {
    fn tables(&mut self) -> Result<Vec<Table>, SubjectError> {
        Ok(self.asked.cells.iter().copied().map(Table::Made).collect())
    }

    fn prepare(&mut self, table: &Table, progress: &mut Progress<'_>) -> Result<TableFacts, SubjectError> {
        let Table::Made(cell) = table else { return Err(SubjectError::NotPrepared) };
        if self.in_use.is_none() {
            self.in_use = Some(DirectoryUse::begin(&self.asked.directory)?);
        }
        if self.tables.is_empty() {
            self.check_space()?;
        }
        self.discard_all()?;
        let mut loading = tenths(progress, |written, of| {
            let left = Duration::from_millis((of - written.min(of)) >> 19);
            (format!("loading the table of {cell}, {} of {} MiB", written >> 20, of >> 20), left)
        });
        let stop = Arc::clone(&self.stop);
        let opened = self.open(&spec(cell), &mut loading, &stop)?;
        let facts = TableFacts {
            pages: opened.table.pages().into(),
            rows: opened.table.rows(),
            visibility: None,
            first_scans: None,
            sources: sources(),
        };
        self.current = Some(opened);
        Ok(facts)
    }

    fn populate(
        &mut self,
        population: Population,
        changed_rows: Option<u32>,
    ) -> Result<Result<Option<Snapshot>, Finding>, SubjectError> {
        self.discard_all()?;
        let table = self.current()?.table.clone();
        let stop = Arc::clone(&self.stop);
        match population {
            Population::FullScan => scan_in(&self.pool.session(), &table, &stop)?,
            Population::Interleaved => self.interleave(&table, &stop)?,
        }
        Ok(Ok(changed_rows.map(|percent| self.change_rows(percent)).transpose()?))
    }

    fn count(&mut self, pass: &Pass) -> Result<Result<Counted, Finding>, SubjectError> {
        if pass.access == Access::Index {
            let reason = "The engine was not read through an index: its tables of this experiment have none.";
            return Ok(Err(row::ABSENT_ACCESS.named("index", reason)));
        }
        let counts = self.read(&Pass { laps: 1, ..*pass })?.counts.unwrap_or_default();
        Ok(Ok(Counted { counts, statement: None }))
    }

    fn read(&mut self, pass: &Pass) -> Result<Cost, SubjectError> {
        let table = &self.current()?.table;
        Ok(pass::run(&self.pool, table, pass, &self.clock, self.asked.seed)?)
    }

    fn read_cold(&mut self, how: ColdRead, blocks: u32) -> Result<Result<Vec<f64>, Finding>, SubjectError> {
        self.discard_all()?;
        let Opened { table, direct } = self.current()?;
        if let Some(absence) = buffered(*direct) {
            return Ok(Err(absence));
        }
        let session = self.pool.session();
        let mut samples = Vec::with_capacity(blocks as usize);
        let mut timed = |blocks: u32, read: &mut dyn FnMut() -> Result<(), StorageError>| {
            StorageError::unless_stopped(&self.stop)?;
            let start = self.clock.now();
            read()?;
            samples.push(self.clock.now().since(start).0 as f64 / f64::from(blocks));
            Ok::<(), StorageError>(())
        };
        match how {
            ColdRead::SingleBlocks => {
                let order = Permutation::new(table.pages().into(), &mut SplitMix64::new(self.asked.seed));
                for number in order.into_numbers().take(blocks as usize) {
                    timed(1, &mut || session.get(table.page(number as u32)).map(drop))?;
                }
            }
            ColdRead::Ranges => {
                for range in 0..blocks.min(table.pages()) / RANGE_BLOCKS {
                    let first = table.page(range * RANGE_BLOCKS);
                    timed(RANGE_BLOCKS, &mut || session.prefetch_range(first, RANGE_BLOCKS).map(drop))?;
                }
            }
        }
        Ok(Ok(samples))
    }
}

/// The finding about tables that are not read directly.
pub(super) fn buffered(direct: bool) -> Option<Finding> {
    let reason = "The physical cost of a block was not measured: the file system of the tables refuses direct I/O, so \
                  that the page cache would answer. Name a directory on another one with --dir.";
    (!direct).then(|| row::ABSENT_PHYSICAL_HERE.of(reason))
}

/// Where the engine keeps blocks: it takes care itself that they stay there.
pub(super) const CACHE: Cache = Cache { name: "the buffer pool", advice: "Please report this with the run document." };

/// How the engine's figures are obtained.
fn sources() -> Sources {
    Sources {
        cpu: "CPU clock of the threads (CLOCK_THREAD_CPUTIME_ID)".into(),
        elapsed: "first start to last end",
        gets: "the buffer pool's gate",
        physical_reads: "the buffer pool's gate",
        rows: "counted by the reader, one pass",
        lap: ["pass", "passes"],
        baseline: Baseline::Gets,
        cache: CACHE,
    }
}

/// The table of a cell. Its name leaves the payload out, so that one directory holds one table of a shape.
fn spec(cell: &Cell) -> TableSpec {
    let Cell { row_length, columns, payload } = *cell;
    let data = DataSet::uniform(RowShape { row_length, columns }, payload, TABLE_SEED);
    TableSpec::new(&format!("{row_length}x{columns}"), data)
}

/// A smaller table of another shape, whose blocks come between those of a cell.
fn companion(cell: &Cell) -> Cell {
    let payload = (cell.payload / COMPANION_PART).max(PAGE_SIZE as u64);
    Cell { row_length: 250, columns: 5, payload }
}

fn spec_of_companion(cell: &Cell) -> TableSpec {
    TableSpec { name: "companion".into(), ..spec(&companion(cell)) }
}

/// Pages for the undo of a change of this percentage of the rows.
fn undo_pages_of(cell: &Cell, percent: u32) -> u64 {
    let spec = spec(cell);
    let per_page = (PAGE_ROOM / (spec.data.row_bytes_max() + UNDO_BYTES)).max(1) as u64;
    chosen_max(spec.rows(), percent).div_ceil(per_page)
}

/// Most of these rows that change: six standard deviations above the mean, each of which is at most half the root of
/// the number. More are drawn once in a thousand million tables.
fn chosen_max(rows: u64, percent: u32) -> u64 {
    match percent {
        0 => 0,
        100.. => rows,
        _ => (rows.saturating_mul(percent.into()) / 100 + 3 * (rows.isqrt() + 1) + 1).min(rows),
    }
}

/// Whether a row is among those that change: each is drawn by itself, so that blocks have more or fewer of them.
fn is_chosen(row: u64, seed: u64, percent: u32) -> bool {
    percent >= 100 || mix(mix(seed) ^ row) % 100 < u64::from(percent)
}

fn scan_in(session: &Session<'_>, table: &HeapTable, stop: &AtomicBool) -> Result<(), SubjectError> {
    for first in (0..table.pages()).step_by(PAGES_AT_ONCE as usize) {
        StorageError::unless_stopped(stop)?;
        session.prefetch_range(table.page(first), PAGES_AT_ONCE.min(table.pages() - first))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_that_is_looked_for_holds_the_companion_too_until_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let cell = Cell { row_length: 25, columns: 5, payload: 1 << 20 };
        let asked = Asked { directory: folder.path().into(), cells: vec![cell], ..Asked::default() };
        let mut engine = Engine::new(asked, Clock::calibrate(), Arc::default()).unwrap();
        let needed = |engine: &Engine| engine.space_needed(&Manifest::read(folder.path()).unwrap()).unwrap();
        let bytes = |spec: TableSpec| u64::from(spec.pages().unwrap()) * PAGE_SIZE as u64;
        let companion = bytes(spec_of_companion(&cell));
        assert_eq!(needed(&engine), bytes(spec(&cell)) + companion);
        engine.prepare(&Table::Made(cell), &mut |_, _| ()).unwrap();
        assert_eq!(needed(&engine), companion);
        engine.populate(Population::Interleaved, None).unwrap().unwrap();
        assert_eq!(needed(&engine), 0);
    }

    #[test]
    fn tables_that_are_read_cannot_be_removed_by_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let cell = Cell { row_length: 25, columns: 5, payload: 1 << 20 };
        let asked = Asked { directory: folder.path().into(), cells: vec![cell], ..Asked::default() };
        let mut engine = Engine::new(asked, Clock::calibrate(), Arc::default()).unwrap();
        engine.prepare(&Table::Made(cell), &mut |_, _| ()).unwrap();
        assert!(matches!(DirectoryUse::alone(folder.path()), Err(StorageError::Locked { .. })));
        drop(engine);
        DirectoryUse::alone(folder.path()).unwrap();
    }
}
