//! The joins of the embedded engine: one inner table with its index in a data directory, and a buffer pool that is new
//! for every pass.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dataset::DataSet;
use dataset::keyed::{KEY, VALUE};
use device::file::direct_or_buffered;
use device::time_source::DeviceClock;
use device::{Device, Slots};
use measure::Nanos;
use storage::btree::sort::KeySorter;
use storage::btree::stored::{self, IndexInfo, IndexSpec, Watch};
use storage::btree::{BTree, KeyKind};
use storage::catalog::{DirectoryUse, TableInfo, TableSpec};
use storage::exec::nested_loop::{self, Join, JoinResult, Method};
use storage::heap::loader;
use storage::heap::{HeapTable, PageAccess};
use storage::page::PageView;
use storage::page::id::PAGE_SIZE;
use storage::page::number;
use storage::pool::{Pinned, Pool, PoolSettings, Session};
use storage::{PageId, SegmentId, StorageError};
use sys::file::{Caching, Target, is_in_memory};
use sys::memory::Pages;
use sys::process::process_cpu;
use sys::read::{MethodRow, best_method};
use sys::time::Clock;

use super::metered::{Meter, Metered, ReadCost};
use crate::error::SubjectError;
use crate::memory_share::{self, Wanted};
use crate::nested_loops::{Asked, InnerTable, Io, Keys};
use crate::page_cache;
use crate::subject::TABLE_SEED;

/// How full the leaves are.
const FILL_PERCENT: u8 = 90;

/// Most blocks of a read of neighbours that were gathered: what random rows leave side by side is rarely more.
const GATHER_BLOCKS: usize = 8;

/// Pages of a scan that are asked for in one read: 1 MiB. A small pool does not keep as many until their turn.
const SCAN_BLOCKS: usize = 128;

/// What a pass took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassCost<T> {
    /// What it found.
    pub found: T,
    /// From the beginning to the end, in the time of the device: of a model the processor takes none of it.
    pub elapsed: Nanos,
    /// Processor time of the process.
    pub cpu: Nanos,
    /// Reads of the table.
    pub table: ReadCost,
    /// Reads of the index.
    pub index: ReadCost,
    /// Share of the files that stayed in the page cache when it was emptied of them, 0 to 1; `None` where it was not
    /// emptied, or the system does not tell.
    pub left_in_page_cache: Option<f64>,
}

/// What a full scan of the inner table found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Its rows.
    pub rows: u64,
    /// The sum of the column that joins sum.
    pub sum: i64,
}

/// The engine.
#[derive(Debug)]
pub struct JoinEngine {
    asked: Asked,
    caching: Caching,
    clock: Clock,
    method: &'static MethodRow,
    method_name: &'static str,
    prepared: Option<Prepared>,
    in_use: Option<DirectoryUse>,
    /// Raised where the user asks to stop: a pass then ends early.
    pub(super) stop: Arc<AtomicBool>,
}

/// A table and its index, on the disk.
#[derive(Clone, Debug)]
struct Prepared {
    rows: u64,
    table: TableInfo,
    index: IndexInfo,
}

/// Pages that are got in their order, many blocks a read.
struct InOrder<'s, 'pool> {
    session: &'s Session<'pool>,
    /// Pages of the segment.
    pages: u32,
    /// Pages that are asked for at once.
    at_once: u32,
}

impl<'s, 'pool> InOrder<'s, 'pool> {
    fn new(pool: &Pool, session: &'s Session<'pool>, pages: u32) -> InOrder<'s, 'pool> {
        InOrder { session, pages, at_once: SCAN_BLOCKS.min(pool.pages_ahead()).max(1) as u32 }
    }
}

impl<'pool> PageAccess for InOrder<'_, 'pool> {
    type Guard<'a>
        = Pinned<'pool>
    where
        Self: 'a;

    fn get(&self, page: PageId) -> Result<Pinned<'pool>, StorageError> {
        if page.number.is_multiple_of(self.at_once) {
            self.session.prefetch_range(page, self.at_once.min(self.pages.saturating_sub(page.number)))?;
        }
        self.session.get_scan(page)
    }

    fn prefetch(&self, _page: PageId) {}
}

/// Both in a pool that holds nothing of them yet.
struct Opened {
    pool: Pool,
    table: HeapTable,
    tree: BTree,
    meters: [Arc<Meter>; 2],
    clock: DeviceClock,
    /// The files, where they are read through the page cache.
    buffered: Vec<Target>,
    stop: Arc<AtomicBool>,
}

/// The I/O method of reads that are gathered.
fn method_of(asked: &Asked) -> &'static MethodRow {
    best_method(if asked.io == Io::Sync { 1 } else { asked.depth.max(2) })
}

/// What the pool is made with.
fn pool_settings(asked: &Asked, method: &'static MethodRow) -> PoolSettings {
    let usual = PoolSettings::new(asked.pool.in_memory());
    let depth = asked.depth.min(method.depth_max.unwrap_or(usize::MAX)).max(1);
    // What is in flight at once is a quarter of the pool at most.
    let gather = (usual.bytes / PAGE_SIZE / 4 / depth).clamp(1, GATHER_BLOCKS);
    PoolSettings { io_method: method, read_depth: depth, blocks_per_gather: gather, segments_max: 2, ..usual }
}

impl JoinEngine {
    /// Refuses a table and a pool that no machine can have.
    pub fn check(asked: &Asked) -> Result<(), SubjectError> {
        let refused = |what: String| move |error: StorageError| SubjectError::Parameters(format!("{what}: {error}"));
        let spec = TableSpec::new("join", DataSet::keyed(asked.table(0).shape(), asked.rows, TABLE_SEED));
        spec.pages().map_err(refused(format!("--rows {}", asked.rows)))?;
        pool_settings(asked, method_of(asked)).check().map_err(refused(format!("--pool {}", asked.pool)))
    }

    /// Errors when the pool cannot be as asked for.
    pub fn new(asked: Asked, clock: Clock) -> Result<JoinEngine, SubjectError> {
        let method = method_of(&asked);
        let caching = if asked.buffered { Caching::Buffered } else { Caching::Direct };
        let (method_name, prepared, in_use, stop) = (method.name, None, None, Arc::default());
        let mut engine = JoinEngine { asked, caching, clock, method, method_name, prepared, in_use, stop };
        if let Some(device) = engine.open_device()? {
            let slots = Slots { method: Some(method), depth: engine.asked.depth, bytes: PAGE_SIZE, pages: Pages::Huge };
            engine.method_name = device.witnesses().method_name(slots);
        }
        let refused = |error: StorageError| {
            let sentence = format!("--pool {}: {error}", engine.asked.pool);
            // What another machine or limit can do is no wrong command line.
            let is_memory = matches!(error, StorageError::NoMemory { .. });
            if is_memory { SubjectError::Failed(sentence) } else { SubjectError::Parameters(sentence) }
        };
        // All of it is touched before the first pass.
        let bytes = engine.asked.pool.0;
        memory_share::check(&Wanted { what: "the buffer pool", bytes, advice: "give a smaller --pool" })?;
        Pool::new(engine.pool_settings()).map_err(refused)?;
        Ok(engine)
    }

    /// The I/O method of reads that are gathered.
    pub fn method(&self) -> &'static str {
        self.method_name
    }

    /// The data files of the table and of the index that are prepared.
    pub fn paths(&self) -> Result<[PathBuf; 2], SubjectError> {
        let prepared = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?;
        let directory = &self.asked.directory;
        Ok([prepared.table.path(directory), prepared.index.path(directory)])
    }

    /// The device that the tables are placed on; `None` where they are read where they are.
    pub(super) fn open_device(&self) -> Result<Option<Box<dyn Device>>, SubjectError> {
        let word = &self.asked.device;
        Ok((!word.as_os_str().is_empty()).then(|| device::open(word, self.caching)).transpose()?)
    }

    /// How the files are opened.
    pub(super) fn caching(&self) -> Caching {
        self.caching
    }

    fn pool_settings(&self) -> PoolSettings {
        pool_settings(&self.asked, self.method)
    }

    fn open(&self) -> Result<Opened, SubjectError> {
        let Prepared { table, index, .. } = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?;
        let [table_path, index_path] = self.paths()?;
        let pool = Pool::new(self.pool_settings())?;
        let files = [(table_path.as_path(), table.file_bytes()), (index_path.as_path(), index.file_bytes())];
        let placed = device::place(&self.asked.device, self.caching, &files)?;
        let clock = match placed[0].open(&[])?.clock {
            Some(clock) => DeviceClock::Virtual(clock),
            None => DeviceClock::Machine(self.clock),
        };
        let is_buffered = |target: &&Target| target.caching() == Caching::Buffered;
        let buffered =
            placed.iter().filter_map(|device| device.witnesses().target().filter(is_buffered).cloned()).collect();
        let meters = [Arc::new(Meter::default()), Arc::new(Meter::default())];
        let mut metered = placed.into_iter().zip(&meters).map(|(device, meter)| Metered {
            device,
            meter: Arc::clone(meter),
            clock: self.clock,
        });
        let (of_table, of_index) = metered.next().zip(metered.next()).expect("as many devices as files");
        let rows = loader::verifier(SegmentId(table.segment));
        let nodes = stored::verifier(SegmentId(index.segment));
        let table_segment = pool.add_segment(of_table, table.pages, move |bytes, page| rows(bytes, page.number))?;
        let index_segment =
            pool.add_segment(of_index, index.built.pages, move |bytes, page| nodes(bytes, page.number))?;
        let (table, tree) = (HeapTable::new(table, table_segment), index.tree(index_segment, table_segment));
        Ok(Opened { pool, table, tree, meters, clock, buffered, stop: Arc::clone(&self.stop) })
    }
}

impl Opened {
    /// A pass of a session whose I/O methods are open, and of which nothing is cached.
    fn cold<T>(&self, pass: impl Fn(&Session<'_>) -> Result<T, StorageError>) -> Result<PassCost<T>, SubjectError> {
        let session = self.pool.session();
        for segment in [self.table.segment(), self.tree.segment()] {
            let page = |number| PageId { segment, number };
            drop(session.get(page(0))?);
            self.pool.discard(segment)?;
            session.load_many(&[page(0)])?;
            self.pool.discard(segment)?;
        }
        let left_in_page_cache = page_cache::empty(&self.buffered)?;
        Ok(PassCost { left_in_page_cache, ..self.timed(&session, pass)? })
    }

    fn timed<T>(
        &self,
        session: &Session<'_>,
        pass: impl Fn(&Session<'_>) -> Result<T, StorageError>,
    ) -> Result<PassCost<T>, SubjectError> {
        for meter in &self.meters {
            meter.take(PAGE_SIZE);
        }
        let (cpu, start) = (process_cpu(), self.clock.now());
        let found = pass(session)?;
        let (elapsed, cpu) = (self.clock.now().since(start), process_cpu().since(cpu));
        let [table, index] = self.meters.each_ref().map(|meter| meter.take(PAGE_SIZE));
        Ok(PassCost { found, elapsed, cpu, table, index, left_in_page_cache: None })
    }

    fn join(&self, session: &Session<'_>, outer: &[Option<i64>], method: Method) -> Result<JoinResult, StorageError> {
        let pages_at_once = self.pool.pages_ahead();
        let join = Join { outer, column: VALUE, pages_at_once, method, stop: &self.stop };
        nested_loop::run(session, &self.tree, &join, None)
    }

    fn scan(&self, session: &Session<'_>) -> Result<Scanned, StorageError> {
        let mut scanned = Scanned::default();
        let in_order = InOrder::new(&self.pool, session, self.table.pages());
        for number in 0..self.table.pages() {
            if number.is_multiple_of(in_order.at_once) {
                StorageError::unless_stopped(&self.stop)?;
            }
            let page = in_order.get(self.table.page(number))?;
            for row in PageView::verified(&page).rows() {
                scanned.rows += 1;
                let value = row.column(VALUE).flatten().and_then(number::decode);
                scanned.sum = scanned.sum.wrapping_add(value.unwrap_or(0));
            }
        }
        Ok(scanned)
    }
}

impl JoinEngine {
    /// Makes sure that a table and its index are there, turns to them, and gives their blocks.
    ///
    /// `progress` hears how many bytes of how many are written, while there is something to write.
    pub fn prepare(
        &mut self,
        table: InnerTable,
        progress: &mut dyn FnMut(u64, u64),
        stop: &AtomicBool,
    ) -> Result<[u64; 2], SubjectError> {
        self.prepared = None;
        let directory = &self.asked.directory;
        if self.asked.device.as_os_str().is_empty() && self.caching == Caching::Direct && is_in_memory(directory) {
            let place = directory.display();
            let sentence = format!("{place}: files there are always in memory, so that no join reads from storage");
            return Err(SubjectError::Directory(sentence));
        }
        if self.in_use.is_none() {
            self.in_use = Some(DirectoryUse::begin(directory)?);
        }
        let InnerTable { rows, pad, rand } = table;
        let spec = TableSpec::new(&format!("join-{pad}-{rand}"), DataSet::keyed(table.shape(), rows, TABLE_SEED));
        if self.asked.reload {
            loader::discard_damaged(directory)?;
            loader::forget(directory, &spec.name)?;
        }
        let bytes = u64::from(spec.pages()?) * PAGE_SIZE as u64;
        let table = loader::load(directory, &spec, &mut |written| progress(written, bytes), stop)?;
        let index = IndexSpec {
            name: format!("{}-by-key", spec.name),
            table: spec.name,
            column: KEY,
            keys: KeyKind::Number,
            fill_percent: FILL_PERCENT,
        };
        let index = self.load_index(&table, &index, stop)?;
        let blocks = [table.pages.into(), index.built.pages.into()];
        self.prepared = Some(Prepared { rows: table.rows, table, index });
        Ok(blocks)
    }

    /// Joins with nothing cached.
    pub fn join(&mut self, method: Method, keys: Keys) -> Result<PassCost<JoinResult>, SubjectError> {
        let outer = self.outer(keys)?;
        let opened = self.open()?;
        opened.cold(|session| opened.join(session, &outer, method))
    }

    /// Joins twice, and gives what the second join took, which finds cached what the first one read.
    pub fn join_again(&mut self, method: Method, keys: Keys) -> Result<PassCost<JoinResult>, SubjectError> {
        let outer = self.outer(keys)?;
        let opened = self.open()?;
        let session = opened.pool.session();
        opened.join(&session, &outer, method)?;
        opened.timed(&session, |session| opened.join(session, &outer, method))
    }

    /// Reads the whole table in its order with nothing cached, looking at the column that joins sum.
    pub fn scan(&mut self) -> Result<PassCost<Scanned>, SubjectError> {
        let opened = self.open()?;
        opened.cold(|session| opened.scan(session))
    }

    /// Errors when there is no memory for the list of this many outer rows.
    pub(super) fn check_outer_rows(count: u64) -> Result<(), SubjectError> {
        let bytes = count.saturating_mul(size_of::<Option<i64>>() as u64);
        memory_share::check(&Wanted { what: "the list of outer rows", bytes, advice: "give fewer --outer-rows" })
    }

    /// The keys of the outer rows. Errors as [`check_outer_rows`](JoinEngine::check_outer_rows).
    fn outer(&self, keys: Keys) -> Result<Vec<Option<i64>>, SubjectError> {
        let rows = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?.rows;
        JoinEngine::check_outer_rows(keys.count)?;
        Ok(keys.iter(rows).map(Some).collect())
    }

    fn load_index(&self, table: &TableInfo, spec: &IndexSpec, stop: &AtomicBool) -> Result<IndexInfo, SubjectError> {
        let directory = &self.asked.directory;
        let path = table.path(directory);
        let target = direct_or_buffered(&path)?;
        let pool = Pool::new(PoolSettings::new(self.asked.pool.in_memory()))?;
        let verify = loader::verifier(SegmentId(table.segment));
        let segment = pool.add_segment(target, table.pages, move |bytes, page| verify(bytes, page.number))?;
        let heap = HeapTable::new(table, segment);
        let session = pool.session();
        let in_order = InOrder::new(&pool, &session, heap.pages());
        let source = |sorter: &mut KeySorter<'_>| stored::keys_of_table(&in_order, &heap, KEY, sorter);
        Ok(stored::load(directory, spec, source, Watch { progress: &mut |_| (), stop })?)
    }
}
