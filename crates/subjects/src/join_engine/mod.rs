//! The embedded engine as a subject of nested loops: one inner table with its index in a data directory, and a buffer
//! pool that is new for every pass.

mod metered;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dataset::DataSet;
use dataset::keyed::{KEY, KeyedShape, VALUE};
use device::Slots;
use device::file::direct_or_buffered;
use device::time_source::DeviceClock;
use storage::btree::sort::KeySorter;
use storage::btree::stored::{self, IndexInfo, IndexSpec, Watch};
use storage::btree::{BTree, KeyKind};
use storage::exec::nested_loop::{self, Join, JoinResult};
use storage::heap::{HeapTable, PageAccess};
use storage::manifest::{TableInfo, TableSpec};
use storage::page::PageView;
use storage::page_id::PAGE_SIZE;
use storage::pool::{Pinned, Pool, PoolSettings, Session};
use storage::{PageId, SegmentId, StorageError, loader, number};
use sys::file::{Caching, Target, witness};
use sys::process::process_cpu;
use sys::read::{MethodRow, best_method, method};
use sys::time::Clock;

use self::metered::{Meter, Metered};
use crate::logical_reads::SubjectError;
use crate::nested_loops::{InnerFacts, InnerTable, JoinCost, JoinPass, NestedLoops, PassCost, Scanned};

/// What the rows depend on. One seed for good, so that tables of an earlier run serve again.
pub const TABLE_SEED: u64 = 1;

/// How full the leaves are.
const FILL_PERCENT: u8 = 90;

/// Most blocks of a read of neighbours that were gathered: what random rows leave side by side is rarely more.
const GATHER_BLOCKS: usize = 8;

/// Pages of a scan that are asked for in one read: 1 MiB.
const SCAN_BLOCKS: u32 = 128;

/// How reads are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Many at once.
    Async,
    /// One after the other, whoever asks for how many.
    Sync,
}

impl Io {
    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            Io::Async => "async",
            Io::Sync => "sync",
        }
    }
}

/// What an engine is made for.
#[derive(Clone, Debug)]
pub struct JoinSettings {
    /// The data directory; made where it is missing.
    pub directory: PathBuf,
    /// Bytes of the buffer pool.
    pub pool_bytes: usize,
    /// How reads are handed over.
    pub io: Io,
    /// Reads in flight at most.
    pub depth: usize,
    /// Through the page cache or not.
    pub caching: Caching,
    /// The device that the data files are placed on, as `device::open` takes it; empty: they are read where they are.
    pub device: PathBuf,
    /// Whether tables that are there are thrown away and loaded again.
    pub reload: bool,
}

/// The engine.
#[derive(Debug)]
pub struct JoinEngine {
    settings: JoinSettings,
    clock: Clock,
    method: &'static MethodRow,
    method_name: &'static str,
    prepared: Option<Prepared>,
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
}

impl<'pool> PageAccess for InOrder<'_, 'pool> {
    type Guard<'a>
        = Pinned<'pool>
    where
        Self: 'a;

    fn get(&self, page: PageId) -> Result<Pinned<'pool>, StorageError> {
        if page.number.is_multiple_of(SCAN_BLOCKS) {
            self.session.prefetch_range(page, SCAN_BLOCKS.min(self.pages.saturating_sub(page.number)))?;
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
}

impl JoinEngine {
    /// Errors when the pool cannot be as asked for.
    pub fn new(settings: JoinSettings, clock: Clock) -> Result<JoinEngine, SubjectError> {
        let name = if settings.io == Io::Sync { best_method(1) } else { best_method(settings.depth.max(2)) };
        let method = method(name).expect("the best method is one of the table");
        let method_name = match device::has_prefix(&settings.device) {
            true => {
                let slots = Slots { method: Some(method), depth: settings.depth, bytes: PAGE_SIZE };
                device::open(&settings.device, settings.caching)?.witnesses().method_name(slots)
            }
            false => method.name,
        };
        let engine = JoinEngine { settings, clock, method, method_name, prepared: None };
        Pool::new(engine.pool_settings())?;
        Ok(engine)
    }

    /// The I/O method of reads that are gathered.
    pub fn method(&self) -> &'static str {
        self.method_name
    }

    /// The data files of the table and of the index that are prepared.
    pub fn paths(&self) -> Result<[PathBuf; 2], SubjectError> {
        let prepared = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?;
        let directory = &self.settings.directory;
        Ok([prepared.table.path(directory), prepared.index.path(directory)])
    }

    fn pool_settings(&self) -> PoolSettings {
        let usual = PoolSettings::new(self.settings.pool_bytes);
        let depth = self.settings.depth.min(self.method.depth_max.unwrap_or(usize::MAX)).max(1);
        // What is in flight at once is a quarter of the pool at most.
        let gather = (usual.bytes / PAGE_SIZE / 4 / depth).clamp(1, GATHER_BLOCKS);
        PoolSettings { io_method: self.method, read_depth: depth, blocks_per_gather: gather, segments_max: 2, ..usual }
    }

    fn open(&self) -> Result<Opened, SubjectError> {
        let Prepared { table, index, .. } = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?;
        let [table_path, index_path] = self.paths()?;
        let pool = Pool::new(self.pool_settings())?;
        let JoinSettings { device, caching, .. } = &self.settings;
        let files = [(table_path.as_path(), table.file_bytes()), (index_path.as_path(), index.file_bytes())];
        let placed = device::place(device, *caching, &files)?;
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
        let index_segment = pool.add_segment(of_index, index.pages, move |bytes, page| nodes(bytes, page.number))?;
        let (table, tree) = (HeapTable::new(table, table_segment), index.tree(index_segment, table_segment));
        Ok(Opened { pool, table, tree, meters, clock, buffered })
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
        let left_in_page_cache = self.empty_page_cache()?;
        Ok(PassCost { left_in_page_cache, ..self.timed(&session, pass)? })
    }

    /// Drops the files from the page cache where they are read through it; the share of them that stayed.
    fn empty_page_cache(&self) -> Result<Option<f64>, SubjectError> {
        let mut left: Option<(u64, u64)> = None;
        for target in &self.buffered {
            witness::evict(target, 0, target.size()).map_err(|error| StorageError::Io {
                file: target.path().into(),
                doing: "dropping from the page cache",
                error,
            })?;
            if let Ok(cached) = witness::cached(target, 0, target.size()) {
                let (pages, of) = left.unwrap_or_default();
                left = Some((pages + cached.pages, of + cached.of));
            }
        }
        Ok(left.map(|(pages, of)| pages as f64 / of.max(1) as f64))
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

    fn join(&self, session: &Session<'_>, outer: &[Option<i64>], pass: &JoinPass) -> Result<JoinResult, StorageError> {
        let pages_at_once = self.pool.pages_ahead();
        let join = Join { outer, column: VALUE, pages_at_once, method: pass.method };
        nested_loop::run(session, &self.tree, &join, None)
    }

    fn scan(&self, session: &Session<'_>) -> Result<Scanned, StorageError> {
        let mut scanned = Scanned::default();
        let in_order = InOrder { session, pages: self.table.pages() };
        for number in 0..self.table.pages() {
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

impl NestedLoops for JoinEngine {
    fn prepare(
        &mut self,
        table: InnerTable,
        progress: &mut dyn FnMut(u64, u64),
        stop: &AtomicBool,
    ) -> Result<InnerFacts, SubjectError> {
        self.prepared = None;
        let directory = &self.settings.directory;
        let InnerTable { rows, pad, rand } = table;
        let spec =
            TableSpec::new(&format!("join-{pad}-{rand}"), DataSet::keyed(KeyedShape { rand, pad }, rows, TABLE_SEED));
        if self.settings.reload {
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
        let facts = InnerFacts {
            table_blocks: table.pages.into(),
            index_blocks: index.pages.into(),
            clustering_factor: index.clustering_factor,
        };
        self.prepared = Some(Prepared { rows: table.rows, table, index });
        Ok(facts)
    }

    fn join(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError> {
        let outer = self.outer(pass)?;
        let opened = self.open()?;
        opened.cold(|session| opened.join(session, &outer, pass))
    }

    fn join_again(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError> {
        let outer = self.outer(pass)?;
        let opened = self.open()?;
        let session = opened.pool.session();
        opened.join(&session, &outer, pass)?;
        opened.timed(&session, |session| opened.join(session, &outer, pass))
    }

    fn scan(&mut self) -> Result<PassCost<Scanned>, SubjectError> {
        let opened = self.open()?;
        opened.cold(|session| opened.scan(session))
    }
}

impl JoinEngine {
    /// The keys of the outer rows.
    fn outer(&self, pass: &JoinPass) -> Result<Vec<Option<i64>>, SubjectError> {
        let rows = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?.rows;
        let key = |number: u64| Some(((pass.first_key.saturating_sub(1) + number) % rows) as i64 + 1);
        Ok((0..pass.outer_rows).map(key).collect())
    }

    fn load_index(&self, table: &TableInfo, spec: &IndexSpec, stop: &AtomicBool) -> Result<IndexInfo, SubjectError> {
        let directory = &self.settings.directory;
        let path = table.path(directory);
        let target = direct_or_buffered(&path)?;
        let pool = Pool::new(PoolSettings::new(self.settings.pool_bytes))?;
        let verify = loader::verifier(SegmentId(table.segment));
        let segment = pool.add_segment(target, table.pages, move |bytes, page| verify(bytes, page.number))?;
        let heap = HeapTable::new(table, segment);
        let in_order = InOrder { session: &pool.session(), pages: heap.pages() };
        let source = |sorter: &mut KeySorter<'_>| stored::keys_of_table(&in_order, &heap, KEY, sorter);
        Ok(stored::load(directory, spec, source, Watch { progress: &mut |_| (), stop })?)
    }
}
