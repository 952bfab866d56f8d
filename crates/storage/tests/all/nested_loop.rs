//! The operators of the nested loop over files: all give the same rows, whatever is duplicated, absent or null, however
//! small the pool is; what goes wrong below names its block; the counts are those of the gate.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use device::{Description, Device, DeviceError, Slots, Witnesses};
use measure::random::SplitMix64;
use proptest::collection::vec;
use proptest::prelude::*;
use storage::btree::{BTree, Built, Bulk, BulkSettings, Key, KeyKind, TreePlace, stored};
use storage::exec::nested_loop::{self, Distance, Join, JoinResult, Method};
use storage::heap::loader;
use storage::page::id::PAGE_SIZE;
use storage::page::number;
use storage::page::row::{RowView, encode};
use storage::page::{PageKind, PageMut};
use storage::pool::{Pool, PoolSettings, Session};
use storage::{PageId, RowId, SegmentId, StorageError};
use sys::file::{Alignment, Caching, Target};
use sys::memory::Region;
use sys::read::{Completion, Landing, ReadMethod, ReadRequest, Wait};
use tempfile::NamedTempFile;

const TABLE: SegmentId = SegmentId(5);
const INDEX: SegmentId = SegmentId(6);

/// No page.
const NOTHING: u32 = u32::MAX;

/// Which page of a file cannot be read, and how many reads reached it.
#[derive(Debug)]
struct Fault {
    page: AtomicU32,
    /// Bytes that its read gives; `u64::MAX`: an error of the device.
    bytes: AtomicU64,
    requests: AtomicU64,
    longest: AtomicU64,
}

impl Fault {
    fn new() -> Arc<Fault> {
        let zero = || AtomicU64::new(0);
        Arc::new(Fault { page: AtomicU32::new(NOTHING), bytes: zero(), requests: zero(), longest: zero() })
    }
}

/// A file of which a page may be unreadable.
#[derive(Debug)]
struct Source {
    target: Target,
    fault: Arc<Fault>,
}

impl Device for Source {
    fn name(&self) -> String {
        Device::name(&self.target)
    }

    fn size(&self) -> u64 {
        Device::size(&self.target)
    }

    fn alignment(&self) -> Alignment {
        Device::alignment(&self.target)
    }

    fn describe(&self) -> Description {
        self.target.describe()
    }

    fn open(&self, team: &[Slots]) -> Result<device::Opened, DeviceError> {
        let opened = Device::open(&self.target, team)?;
        let watched = |method: Box<dyn ReadMethod>| {
            let requests = vec![ReadRequest { offset: 0, length: 0, slot: 0 }; method.depth()];
            Box::new(Watched { method, requests, fault: Arc::clone(&self.fault) }) as Box<dyn ReadMethod>
        };
        Ok(device::Opened { methods: opened.methods.into_iter().map(watched).collect(), ..opened })
    }

    fn witnesses(&self) -> Witnesses<'_> {
        self.target.witnesses()
    }
}

struct Watched {
    method: Box<dyn ReadMethod>,
    requests: Vec<ReadRequest>,
    fault: Arc<Fault>,
}

impl Watched {
    fn watch(&mut self, request: ReadRequest) {
        self.requests[request.slot] = request;
        self.fault.requests.fetch_add(1, Ordering::Relaxed);
        self.fault.longest.fetch_max(request.length as u64 / PAGE_SIZE as u64, Ordering::Relaxed);
    }
}

impl ReadMethod for Watched {
    fn depth(&self) -> usize {
        self.method.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        self.watch(request);
        self.method.queue(request);
    }

    fn lend(&mut self, memory: &Arc<Region>) -> bool {
        self.method.lend(memory)
    }

    fn queue_into(&mut self, request: ReadRequest, landing: Landing) {
        self.watch(request);
        self.method.queue_into(request, landing);
    }

    fn finish(&mut self) -> bool {
        self.method.finish()
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.method.reap(wait, done)?;
        let fault = u64::from(self.fault.page.load(Ordering::Relaxed)) * PAGE_SIZE as u64;
        for completion in done {
            let ReadRequest { offset, length, .. } = self.requests[completion.slot];
            if (offset..offset + length as u64).contains(&fault) {
                completion.result = match self.fault.bytes.load(Ordering::Relaxed) {
                    u64::MAX => Err(io::Error::from_raw_os_error(5)),
                    bytes => Ok((fault - offset + bytes) as usize),
                };
            }
        }
        Ok(())
    }

    fn data(&self, slot: usize) -> &[u8] {
        self.method.data(slot)
    }
}

/// A row of the inner table: key, value, bytes of filler.
type Inner = (Option<i64>, Option<i64>, usize);

/// A table and its index in files.
struct Files {
    table: NamedTempFile,
    index: NamedTempFile,
    built: Built,
    table_pages: u32,
}

impl Files {
    fn of(rows: &[Inner]) -> Files {
        let (mut table, mut pages, mut entries) = (new_file(), 0, Vec::new());
        let mut left = rows.iter().map(|row| (row.0, bytes_of(row))).peekable();
        while left.peek().is_some() || pages == 0 {
            let id = PageId { segment: TABLE, number: pages };
            let mut bytes = [0; PAGE_SIZE];
            let mut page = PageMut::format(&mut bytes, id, PageKind::Heap);
            while let Some((key, row)) = left.peek() {
                let Some(slot) = page.append(row) else { break };
                entries.extend(key.map(|key| (key, RowId { page: id, slot })));
                left.next();
            }
            page.seal();
            table.write_all(&bytes).unwrap();
            pages += 1;
        }
        entries.sort_unstable();
        let mut index = new_file();
        // Leaves that are a tenth full: a tree of some height from few rows.
        let settings = BulkSettings { keys: KeyKind::Number, fill_percent: 50, segment: INDEX };
        let mut bulk = Bulk::new(settings, |page: &[u8; PAGE_SIZE]| {
            index.write_all(page).unwrap();
            Ok(())
        })
        .unwrap();
        entries
            .iter()
            .for_each(|(key, row)| bulk.add(Key::Number(*key).encode(KeyKind::Number).unwrap(), *row).unwrap());
        let built = bulk.finish().unwrap();
        Files { table, index, built, table_pages: pages }
    }

    fn open(&self, settings: PoolSettings) -> Opened {
        let pool = Pool::new(settings).unwrap();
        let faults = [Fault::new(), Fault::new()];
        let source = |file: &NamedTempFile, fault: &Arc<Fault>| Source {
            target: Target::open(file.path(), Caching::Buffered).unwrap(),
            fault: Arc::clone(fault),
        };
        let (rows, nodes) = (loader::verifier(TABLE), stored::verifier(INDEX));
        let table = source(&self.table, &faults[0]);
        let table = pool.add_segment(table, self.table_pages, move |bytes, page| rows(bytes, page.number)).unwrap();
        let index = source(&self.index, &faults[1]);
        let index = pool.add_segment(index, self.built.pages, move |bytes, page| nodes(bytes, page.number)).unwrap();
        let place = TreePlace { segment: index, table, name: PathBuf::from("index") };
        Opened { tree: BTree::new(place, KeyKind::Number, self.built), pool, faults }
    }
}

struct Opened {
    pool: Pool,
    tree: BTree,
    faults: [Arc<Fault>; 2],
}

/// Everything that a join has given.
type Pairs = Vec<(u32, Vec<u8>)>;

impl Opened {
    /// The join with a pool that holds nothing yet, its counts held against those of the gate.
    fn join(&self, outer: &[Option<i64>], method: Method) -> Result<(JoinResult, Pairs), (StorageError, Pairs)> {
        self.pool.discard(self.tree.table()).unwrap();
        self.pool.discard(self.tree.segment()).unwrap();
        let session = self.pool.session();
        let (result, pairs) = self.run(&session, outer, method);
        let counts = session.counts();
        let result = match result {
            Ok(result) => result,
            Err(error) => return Err((error, pairs)),
        };
        assert_eq!(counts.gets, result.index_gets + result.table_gets, "{method:?}");
        assert_eq!(counts.pinned_revisits, result.pinned_revisits, "{method:?}");
        assert_eq!(counts.blocks_read, result.blocks, "{method:?}");
        assert!(result.requests <= counts.physical_reads, "{method:?}");
        Ok((result, pairs))
    }

    fn run(
        &self,
        session: &Session<'_>,
        outer: &[Option<i64>],
        method: Method,
    ) -> (Result<JoinResult, StorageError>, Pairs) {
        let mut pairs = Vec::new();
        let mut emit = |outer: u32, row: RowView<'_>| {
            let columns: Vec<Option<&[u8]>> = row.columns().collect();
            let mut bytes = Vec::new();
            encode(&columns, &mut bytes);
            pairs.push((outer, bytes));
        };
        let pages_at_once = self.pool.frames() / 4;
        let join = Join { outer, column: 2, pages_at_once, method, stop: &AtomicBool::new(false) };
        let result = nested_loop::run(session, &self.tree, &join, Some(&mut emit));
        (result, pairs)
    }
}

fn new_file() -> NamedTempFile {
    NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn bytes_of((key, value, pad): &Inner) -> Vec<u8> {
    let numbers = [key, value].map(|number| number.map(number::encode));
    let [key, value] = numbers.each_ref().map(|number| number.as_ref().map(|(bytes, length)| &bytes[..*length]));
    let mut row = Vec::new();
    encode(&[key, value, Some(&vec![7; *pad])], &mut row);
    row
}

/// What a join gives, by the plainest way there is.
fn expected(rows: &[Inner], outer: &[Option<i64>]) -> (Pairs, u64, i64) {
    let mut by_key: BTreeMap<i64, Vec<&Inner>> = BTreeMap::new();
    for row in rows {
        by_key.entry(row.0.unwrap_or(i64::MAX)).or_default().extend(row.0.map(|_| row));
    }
    let (mut pairs, mut unmatched, mut sum) = (Vec::new(), 0, 0_i64);
    for (number, key) in (0..).zip(outer) {
        let matches = key.and_then(|key| by_key.get(&key)).filter(|rows| !rows.is_empty());
        unmatched += u64::from(matches.is_none());
        for row in matches.into_iter().flatten() {
            pairs.push((number, bytes_of(row)));
            sum = sum.wrapping_add(row.1.unwrap_or(0));
        }
    }
    (pairs, unmatched, sum)
}

fn sorted(mut pairs: Pairs) -> Pairs {
    pairs.sort();
    pairs
}

fn settings(frames: usize, depth: usize, gather: usize) -> PoolSettings {
    let settings = PoolSettings::new(frames * PAGE_SIZE);
    PoolSettings { read_depth: depth, blocks_per_read: 2, blocks_per_gather: gather, ..settings }
}

const METHODS: [Method; 9] = [
    Method::OneAtATime,
    Method::Prefetch(Distance::UpTo(64)),
    Method::Prefetch(Distance::Fixed(5)),
    Method::AwaitedBatch(7),
    Method::AwaitedBatch(1000),
    Method::Batch(7),
    Method::Batch(1000),
    Method::BatchedRowid(1),
    Method::BatchedRowid(500),
];

fn inner() -> impl Strategy<Value = Inner> {
    let key = proptest::option::weighted(0.95, prop_oneof![-40..40_i64, Just(7), any::<i64>()]);
    (key, proptest::option::weighted(0.9, any::<i64>()), prop_oneof![0..20_usize, 900..1100_usize])
}

fn outer() -> impl Strategy<Value = Option<i64>> {
    proptest::option::weighted(0.9, prop_oneof![6 => -60..60_i64, 1 => any::<i64>()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn all_methods_give_the_rows_of_the_plainest_join(
        rows in vec(inner(), 0..700), outer in vec(outer(), 0..300), frames in 16..80_usize, gather in 1..4_usize,
    ) {
        let files = Files::of(&rows);
        let opened = files.open(settings(frames, (frames / 2 / gather).min(9), gather));
        let (pairs, unmatched, sum) = expected(&rows, &outer);
        for method in METHODS {
            let (result, found) = opened.join(&outer, method).map_err(|(error, _)| error).unwrap();
            prop_assert_eq!((result.rows, result.unmatched, result.sum), (pairs.len() as u64, unmatched, sum));
            if !matches!(method, Method::BatchedRowid(_)) {
                let order = |pairs: &Pairs| pairs.iter().map(|(outer, _)| *outer).collect::<Vec<u32>>();
                prop_assert_eq!(order(&found), order(&pairs), "{:?} loses the order of the outer rows", method);
            }
            prop_assert!(sorted(found) == sorted(pairs.clone()), "{:?}", method);
        }
    }
}

/// Enough keys for a tree of three levels, in an order that has nothing to do with that of the rows.
fn scattered(rows: i64, pad: usize) -> Vec<Inner> {
    let mut random = SplitMix64::new(8);
    let mut keys: Vec<i64> = (0..rows).map(|key| key << 20).collect();
    for last in (1..keys.len()).rev() {
        keys.swap(last, random.below(last as u64 + 1) as usize);
    }
    keys.into_iter().map(|key| (Some(key), Some(key ^ 5), pad)).collect()
}

#[test]
fn gathering_takes_fewer_requests_for_the_same_blocks_and_sorting_fewer_still() {
    let rows = scattered(6000, 2000);
    let files = Files::of(&rows);
    let opened = files.open(settings(4096, 32, 8));
    let outer: Vec<Option<i64>> = (0..2000).map(|key| Some((3 * key) << 20)).collect();
    let of = |method| opened.join(&outer, method).map_err(|(error, _)| error).unwrap().0;
    let alone = of(Method::OneAtATime);
    assert_eq!((alone.rows, alone.unmatched), (2000, 0));
    assert_eq!(alone.requests, alone.blocks, "one block each");
    let prefetch = of(Method::Prefetch(Distance::UpTo(64)));
    let awaited = of(Method::AwaitedBatch(128));
    let batch = of(Method::Batch(128));
    let rowid = of(Method::BatchedRowid(1000));
    assert_eq!(awaited.requests, batch.requests, "awaited or not, a batch is one request");
    for other in [prefetch, awaited, batch, rowid] {
        assert_eq!((other.rows, other.sum), (alone.rows, alone.sum));
        assert_eq!(other.blocks, alone.blocks, "the pool holds all: every block is read once");
    }
    assert!(rowid.requests < batch.requests && batch.requests < prefetch.requests, "{rowid:?} {batch:?} {prefetch:?}");
    assert!(prefetch.requests * 10 < alone.requests, "{prefetch:?}");
    // Of 1000 sorted rows on some 2000 blocks neighbours are many; they come in one read of the device.
    assert!(opened.faults[0].longest.load(Ordering::Relaxed) > 2);
    assert!(rowid.table_gets < alone.table_gets, "rows of one block come one behind the other");
}

#[test]
fn keys_in_the_order_of_the_index_cost_one_get_a_leaf() {
    let files = Files::of(&scattered(6000, 0));
    let opened = files.open(settings(256, 8, 1));
    let outer: Vec<Option<i64>> = (0..6000).map(|key| Some(key << 20)).collect();
    let leaves = u64::from(files.built.leaves);
    assert!(leaves > 8);
    for method in [Method::OneAtATime, Method::Batch(6000)] {
        let result = opened.join(&outer, method).map_err(|(error, _)| error).unwrap().0;
        // The first and the last key of each could stand elsewhere too: each goes down by itself, and the last one
        // looks at the leaf behind.
        let way = 3 * u64::from(files.built.height) + 3;
        assert!(result.index_gets >= leaves && result.index_gets <= leaves * way, "{method:?}: {result:?}");
    }
}

#[test]
fn zero_outer_rows_touch_nothing() {
    let opened = Files::of(&scattered(100, 10)).open(settings(64, 4, 1));
    for method in METHODS {
        let (result, pairs) = opened.join(&[], method).map_err(|(error, _)| error).unwrap();
        assert_eq!((result, pairs.len()), (JoinResult::default(), 0), "{method:?}");
        let nulls = opened.join(&[None; 9], method).map_err(|(error, _)| error).unwrap().0;
        assert_eq!(nulls, JoinResult { unmatched: 9, ..JoinResult::default() }, "{method:?}");
    }
}

#[test]
fn a_batch_larger_than_the_pool_is_cut_and_gives_every_row() {
    let rows = scattered(3000, 900);
    let opened = Files::of(&rows).open(settings(32, 4, 2));
    let outer: Vec<Option<i64>> = (0..3000).map(|key| Some(key << 20)).collect();
    let (pairs, _, sum) = expected(&rows, &outer);
    for method in [
        Method::AwaitedBatch(usize::MAX),
        Method::Batch(usize::MAX),
        Method::BatchedRowid(usize::MAX),
        Method::Prefetch(Distance::UpTo(1 << 40)),
    ] {
        let (result, found) = opened.join(&outer, method).map_err(|(error, _)| error).unwrap();
        assert_eq!(result.sum, sum);
        assert!(sorted(found) == sorted(pairs.clone()), "{method:?}");
    }
}

/// The page and the reason as the message tells them; every pair that was given is one of the join.
fn failure(opened: &Opened, rows: &[Inner], outer: &[Option<i64>], method: Method) -> String {
    let (pairs, ..) = expected(rows, outer);
    let (error, given) = opened.join(outer, method).err().unwrap_or_else(|| panic!("{method:?} found no fault"));
    assert!(given.len() < pairs.len() && given.iter().all(|pair| pairs.contains(pair)), "{method:?}: a wrong row");
    error.to_string()
}

#[test]
fn a_block_that_cannot_be_read_is_named_and_fails_the_join_without_a_wrong_row() {
    let rows = scattered(2000, 900);
    let files = Files::of(&rows);
    let opened = files.open(settings(512, 16, 4));
    let outer: Vec<Option<i64>> = (0..500).map(|key| Some((4 * key) << 20)).collect();
    let whole = |method: Method| opened.join(&outer, method).map_err(|(error, _)| error).unwrap().0.sum;
    let sums = METHODS.map(whole);
    for (fault, page) in [(&opened.faults[0], 100), (&opened.faults[1], 1)] {
        for method in METHODS {
            fault.page.store(page, Ordering::Relaxed);
            fault.bytes.store(u64::MAX, Ordering::Relaxed);
            let error = failure(&opened, &rows, &outer, method);
            assert!(error.contains("reading from page") && error.contains("os error 5"), "{method:?}: {error}");
            fault.bytes.store(4096, Ordering::Relaxed);
            let error = failure(&opened, &rows, &outer, method);
            assert!(error.contains(&format!("page {page} ")) && error.contains("cut short"), "{method:?}: {error}");
        }
        fault.page.store(NOTHING, Ordering::Relaxed);
    }
    assert_eq!(METHODS.map(whole), sums, "nothing is left behind that waits, and nothing is wrong");
}

#[test]
fn an_index_that_leads_nowhere_is_an_error_and_no_row() {
    let files = Files::of(&scattered(2000, 100));
    let outer: Vec<Option<i64>> = (0..2000).map(|key| Some(key << 20)).collect();
    // The index of one table over another, which has fewer pages and rows.
    let other = Files::of(&scattered(50, 900));
    let pool = other.open(settings(64, 4, 1));
    let nodes = stored::verifier(INDEX);
    let target = Target::open(files.index.path(), Caching::Buffered).unwrap();
    let segment =
        pool.pool.add_segment(target, files.built.pages, move |bytes, page| nodes(bytes, page.number)).unwrap();
    let place = TreePlace { segment, table: pool.tree.table(), name: PathBuf::from("index") };
    let opened = Opened { tree: BTree::new(place, KeyKind::Number, files.built), ..pool };
    for method in METHODS {
        let (error, _) = opened.join(&outer, method).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("leads to") || message.contains("ends before it"), "{method:?}: {message}");
    }
}

#[test]
fn a_join_that_is_asked_to_stop_does_not_go_on_to_its_last_outer_row() {
    let opened = Files::of(&scattered(3000, 900)).open(settings(32, 4, 2));
    let outer: Vec<Option<i64>> = (0..3000).map(|key| Some(key << 20)).collect();
    for method in METHODS {
        let (stop, mut rows) = (AtomicBool::new(false), 0);
        let mut emit = |_: u32, _: RowView<'_>| {
            rows += 1;
            stop.store(true, Ordering::Relaxed);
        };
        let join = Join { outer: &outer, column: 2, pages_at_once: 8, method, stop: &stop };
        let outcome = nested_loop::run(&opened.pool.session(), &opened.tree, &join, Some(&mut emit));
        assert!(matches!(outcome, Err(StorageError::Stopped)), "{method:?}: {outcome:?}");
        assert!((1..1500).contains(&rows), "{method:?} went on for {rows} rows");
    }
}

#[test]
fn an_index_of_texts_is_refused() {
    let files = Files::of(&scattered(10, 10));
    let opened = files.open(settings(64, 4, 1));
    let place = TreePlace { segment: opened.tree.segment(), table: opened.tree.table(), name: PathBuf::new() };
    let tree = BTree::new(place, KeyKind::Text, files.built);
    let (method, stop) = (Method::Batch(9), &AtomicBool::new(false));
    let join = Join { outer: &[Some(1)], column: 2, pages_at_once: 4, method, stop };
    let error = nested_loop::run(&opened.pool.session(), &tree, &join, None).unwrap_err().to_string();
    assert!(error.contains("index of texts"), "{error}");
}
