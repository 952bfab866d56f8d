//! SQLite as a subject: what it counts, whether every path is the one that is meant, and whether a given file stays as
//! it was, whatever it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use subjects::access_paths::{AccessPath, AccessSettings, Asked as Question, Level, ScanPass, Watch};
use subjects::logical_reads::{Access, Asked, Cell, ColdRead, Pass, Population, Table, Touch, TouchAxis};
use subjects::nested_loops::{self, InnerTable, JoinCost, JoinPass, Keys};
use subjects::{AccessPaths, Environment, LogicalReads, NestedLoops, Opening, Places, SubjectError};
use sys::time::Clock;
use tempfile::TempDir;

const CELL: Cell = Cell { row_length: 250, columns: 5, payload: 1 << 20 };
const ROWS: u64 = CELL.payload / 250;

fn asked(cells: &[Cell]) -> Asked {
    Asked {
        directory: PathBuf::new(),
        cells: cells.to_vec(),
        accesses: vec![Access::FullScan, Access::Rowid, Access::Index],
        touches: vec![TouchAxis::Every(Touch::Rows), TouchAxis::LastColumn],
        threads: vec![1],
        changed_rows: vec![0],
        seed: 1,
        reload: false,
    }
}

/// A folder for temporary files, and what a place is opened with.
struct Bench {
    folder: TempDir,
    stop: Arc<AtomicBool>,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: TempDir::new().unwrap(), stop: Arc::default() }
    }

    fn scratch(&self) -> PathBuf {
        let scratch = self.folder.path().join("scratch");
        fs::create_dir_all(&scratch).unwrap();
        scratch
    }

    fn with<T>(&self, open: impl FnOnce(&mut Opening<'_>) -> T) -> T {
        open(&mut Opening {
            environment: &Environment::new(self.scratch()),
            clock: Clock::calibrate(),
            stop: Arc::clone(&self.stop),
            progress: &mut |_, _| {},
        })
    }

    fn reads(&self, word: &str, asked: &Asked) -> Result<Box<dyn LogicalReads>, SubjectError> {
        let places: Places = word.parse()?;
        let place = places.iter().next().unwrap();
        self.with(|opening| place.logical_reads(asked).unwrap().open(opening))
    }

    fn paths(&self, word: &str, settings: &AccessSettings) -> Box<dyn AccessPaths> {
        let places: Places = word.parse().unwrap();
        let place = places.iter().next().unwrap();
        self.with(|opening| place.access_paths(settings).unwrap().open(opening)).unwrap()
    }

    fn loops(&self, word: &str) -> Box<dyn NestedLoops> {
        let places: Places = word.parse().unwrap();
        let place = places.iter().next().unwrap();
        let asked = nested_loops::Asked { directory: self.folder.path().into(), ..inner_rows() };
        self.with(|opening| place.nested_loops(&asked).unwrap().open(opening)).unwrap()
    }

    /// A file with two tables, one of them with long rows and one without row numbers.
    fn given(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let connection = Connection::open(&path).unwrap();
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) ";
        let make = format!(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, text TEXT); CREATE TABLE \"odd \"\"name\" (a, b UNIQUE); \
             CREATE TABLE plain (k TEXT PRIMARY KEY) WITHOUT ROWID; CREATE VIEW v AS SELECT 1; \
             CREATE TABLE hides (_RowId_ TEXT); {rows} INSERT INTO \
             orders SELECT i, hex(randomblob(50)) FROM n; {rows} INSERT INTO \"odd \"\"name\" SELECT NULL, i FROM n"
        );
        connection.execute_batch(&make).unwrap();
        path
    }
}

fn pass(access: Access, touch: Touch) -> Pass {
    Pass { access, touch, threads: 1, laps: 1, as_of: None }
}

/// What shows that a file was written to, and what lies beside it.
fn traces(path: &Path) -> (Vec<u8>, SystemTime, usize) {
    let beside = fs::read_dir(path.parent().unwrap()).unwrap().count();
    (fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap(), beside)
}

#[test]
fn a_scan_gets_each_page_once_and_a_look_up_the_pages_below_the_root() {
    let bench = Bench::new();
    for (word, levels) in [("sqlite", 2), ("sqlite?page_size=8192", 1)] {
        let mut subject = bench.reads(word, &asked(&[CELL])).unwrap();
        let facts = subject.prepare(&Table::Made(CELL), &mut |_, _| {}).unwrap();
        assert_eq!(facts.rows, ROWS);
        assert_eq!(subject.populate(Population::FullScan, None).unwrap(), Ok(None));
        for touch in [Touch::Rows, Touch::Column(5)] {
            let counted = subject.count(&pass(Access::FullScan, touch)).unwrap().unwrap();
            assert!(counted.counts.gets.abs_diff(facts.pages) <= 2, "{counted:?} of {} pages", facts.pages);
            assert_eq!((counted.counts.rows, counted.counts.physical_reads), (ROWS, 0), "{counted:?}");
        }
        let of = |subject: &mut dyn LogicalReads, access| {
            let counted = subject.count(&pass(access, Touch::Rows)).unwrap().unwrap();
            assert_eq!((counted.counts.rows, counted.counts.physical_reads), (ROWS, 0), "{counted:?}");
            counted.counts.gets as f64 / ROWS as f64
        };
        let by_rowid = of(&mut *subject, Access::Rowid);
        assert!(by_rowid > 0.9 && by_rowid < f64::from(levels) + 0.1, "{by_rowid} gets a row on {word}");
        assert!(of(&mut *subject, Access::Index) > by_rowid + 0.9);
        let three = subject.read(&Pass { laps: 3, ..pass(Access::Rowid, Touch::Rows) }).unwrap();
        assert_eq!(three.counts.unwrap().rows, 3 * ROWS);
        assert!(three.cpu.0 > 0 && three.elapsed.0 > 0);
        assert!(subject.finish().outcome.is_ok());
    }
    assert_eq!(fs::read_dir(bench.scratch()).unwrap().count(), 0, "what was made is removed");
}

#[test]
fn what_sqlite_cannot_do_is_an_absence_with_its_reason() {
    let bench = Bench::new();
    let mut subject = bench.reads("sqlite", &asked(&[CELL])).unwrap();
    subject.prepare(&Table::Made(CELL), &mut |_, _| {}).unwrap();
    let whole = pass(Access::FullScan, Touch::Rows);
    let absent = [
        Pass { threads: 2, ..whole },
        Pass { touch: Touch::Directory, ..whole },
        Pass { access: Access::OnePage, ..whole },
        Pass { access: Access::RowidInOrder, ..whole },
    ];
    let ids = absent.map(|pass| subject.count(&pass).unwrap().unwrap_err().id);
    assert_eq!(ids, ["absent-threads", "absent-directory", "absent-one-page", "absent-rowid-in-order"]);
    assert!(subject.populate(Population::Interleaved, None).unwrap().is_err());
    assert!(subject.populate(Population::FullScan, Some(10)).unwrap().is_err());
    assert!(subject.read_cold(ColdRead::SingleBlocks, 10).unwrap().is_err());
    let narrow = Cell { row_length: 25, columns: 25, payload: 25_000 };
    subject.prepare(&Table::Made(narrow), &mut |_, _| {}).unwrap();
    let by_index = subject.count(&pass(Access::Index, Touch::Rows)).unwrap();
    assert_eq!(by_index.unwrap_err().id, "absent-index", "one letter is no key");
}

#[test]
fn a_given_file_is_read_and_stays_as_it_was() {
    let bench = Bench::new();
    for name in ["shop.db", "a b?c%20#d.db", "two\nlines.db"] {
        let path = bench.given(name);
        bench.scratch();
        let before = traces(&path);
        let mut subject = bench.reads(&format!("sqlite:{}", path.display()), &asked(&[CELL])).unwrap();
        let tables = subject.tables().unwrap();
        assert_eq!(tables, [Table::Found("orders".into()), Table::Found("odd \"name".into())]);
        for table in &tables {
            let facts = subject.prepare(table, &mut |_, _| {}).unwrap();
            subject.populate(Population::FullScan, None).unwrap().unwrap();
            let counted = subject.count(&pass(Access::FullScan, Touch::Rows)).unwrap().unwrap();
            assert_eq!((facts.rows, counted.counts.rows), (5000, 5000));
            assert!(counted.counts.gets.abs_diff(facts.pages) <= 2 && facts.pages > 5, "{counted:?} {facts:?}");
            assert_eq!(counted.counts.physical_reads, 0);
        }
        let closing = subject.finish();
        assert!(closing.outcome.is_ok() && closing.findings.is_empty());
        assert!(traces(&path) == before, "{name:?} was touched");
    }
}

#[test]
fn a_table_without_rows_is_not_read() {
    let bench = Bench::new();
    let path = bench.given("shop.db");
    let more = "CREATE TABLE vacant (a); CREATE TABLE below (id INTEGER PRIMARY KEY, text); INSERT INTO below SELECT \
                -id, text FROM orders";
    Connection::open(&path).unwrap().execute_batch(more).unwrap();
    let tables = bench.reads(&format!("sqlite:{}", path.display()), &asked(&[CELL])).unwrap().tables().unwrap();
    assert_eq!(tables, ["orders", "odd \"name", "below"].map(|name| Table::Found(name.into())));
    let path = bench.folder.path().join("new.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE vacant (a)").unwrap();
    let refused = bench.reads(&format!("sqlite:{}", path.display()), &asked(&[CELL])).unwrap().tables().unwrap_err();
    assert!(refused.to_string().contains("holds no table with rows"), "{refused}");
}

#[test]
fn a_scan_or_a_look_up_of_which_no_gets_are_counted_has_no_cost_and_no_rows_of_a_block() {
    let bench = Bench::new();
    let rows = |count: u64, text: &str| {
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) INSERT INTO {text} \
             FROM n;"
        )
    };
    let path = bench.folder.path().join("small.db");
    let make = format!("CREATE TABLE t (x INT, y TEXT); {}", rows(100, "t SELECT i, 'text'"));
    Connection::open(&path).unwrap().execute_batch(&make).unwrap();
    let word = format!("sqlite:{}", path.display());
    let refused = bench.reads(&word, &asked(&[CELL])).unwrap().tables().unwrap_err().to_string();
    assert!(refused.contains("holds no table that takes more than one page"), "{refused}");
    // Long rows whose rest lies on other pages, which a scan does not get; and the least table that it does get.
    let more = [
        "CREATE TABLE long (y); INSERT INTO long VALUES (zeroblob(90000)); CREATE TABLE two (x INT, y TEXT);"
            .to_string(),
        rows(400, "two SELECT i, 'text'"),
    ];
    Connection::open(&path).unwrap().execute_batch(&more.concat()).unwrap();
    let mut subject = bench.reads(&word, &asked(&[CELL])).unwrap();
    assert_eq!(subject.tables().unwrap(), [Table::Found("two".into())]);
    let found = subject.findings();
    assert_eq!(found.iter().map(|finding| finding.id.as_str()).collect::<Vec<_>>(), ["absent-gets"]);
    assert!(found[0].message.starts_with("Tables t, long of sqlite "), "{found:?}");
    let facts = subject.prepare(&Table::Found("two".into()), &mut |_, _| {}).unwrap();
    let counted = subject.count(&pass(Access::FullScan, Touch::Rows)).unwrap().unwrap();
    assert_eq!((counted.counts.gets, facts.pages), (2, 3), "all pages but the root");
    let tiny = Cell { payload: 1000, ..CELL };
    let mut subject = bench.reads("sqlite", &asked(&[tiny])).unwrap();
    subject.prepare(&Table::Made(tiny), &mut |_, _| {}).unwrap();
    // A look-up gets the pages below the root, and there are none: one get for all look-ups of a statement is no cost
    // of a look-up.
    for access in [Access::FullScan, Access::Rowid, Access::Index] {
        let absent = subject.count(&pass(access, Touch::Rows)).unwrap().unwrap_err();
        assert!(absent.message.starts_with("A table of 4 rows of sqlite ") && absent.id == "absent-gets", "{absent:?}");
        assert!(absent.message.contains(&format!(" was not read by {access}: where one page")), "{absent:?}");
    }
}

#[test]
fn a_file_that_a_program_writes_to_meanwhile_is_told() {
    let bench = Bench::new();
    let path = bench.given("shop.db");
    let mut subject = bench.reads(&format!("sqlite:{}", path.display()), &asked(&[CELL])).unwrap();
    let tables = subject.tables().unwrap();
    Connection::open(&path).unwrap().execute_batch("INSERT INTO orders (text) VALUES ('more')").unwrap();
    subject.prepare(&tables[1], &mut |_, _| {}).unwrap();
    let findings = [subject.findings(), subject.finish().findings].concat();
    assert!(findings.iter().any(|finding| finding.id == "file-changed"), "{findings:?}");
}

#[test]
fn whatever_is_no_database_that_can_be_read_is_refused_in_a_sentence() {
    let bench = Bench::new();
    let refusal = |path: &Path| {
        let opened = bench.reads(&format!("sqlite:{}", path.display()), &asked(&[CELL]));
        let error = opened.and_then(|mut subject| subject.tables()).unwrap_err();
        assert!(error.to_string().contains(&*path.file_name().unwrap().to_string_lossy()), "{error}");
        error.to_string()
    };
    let file = |name: &str, bytes: &[u8]| {
        let path = bench.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    assert!(refusal(&bench.folder.path().join("missing.db")).contains("No such file"));
    assert!(!bench.folder.path().join("missing.db").exists());
    assert!(refusal(&bench.scratch()).contains("not a regular file"));
    assert!(refusal(&file("empty.db", b"")).contains("holds no table"));
    assert!(refusal(&file("byte.db", b"x")).contains("one byte is no SQLite database"));
    assert!(refusal(&file("text.db", &b"no database at all. ".repeat(500))).contains("encrypted"));
    let mut torn = fs::read(bench.given("shop.db")).unwrap();
    torn[100..4096].fill(0xa5);
    assert!(refusal(&file("torn.db", &torn)).contains("damaged"));
    let whole = fs::read(bench.folder.path().join("shop.db")).unwrap();
    assert!(refusal(&file("cut.db", &whole[..whole.len() / 8192 * 4096])).contains("damaged"));
}

#[test]
fn changes_that_are_not_in_the_file_yet_are_not_read_past() {
    let bench = Bench::new();
    let path = bench.given("live.db");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL; INSERT INTO orders (text) VALUES ('only in the log')").unwrap();
    let word = format!("sqlite:{}", path.display());
    let refusal = |word: &str| bench.reads(word, &asked(&[CELL])).map(drop).unwrap_err().to_string();
    assert!(refusal(&word).contains("-wal"), "{}", refusal(&word));
    let link = bench.folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(refusal(&format!("sqlite:{}", link.display())).contains(".backup"), "the journal stands beside the target");
    writer
        .execute_batch("PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE; INSERT INTO orders (text) VALUES ('half')")
        .unwrap();
    assert!(refusal(&word).contains("-journal"));
    writer.execute_batch("COMMIT").unwrap();
    assert!(bench.reads(&word, &asked(&[CELL])).is_ok());
}

#[test]
fn a_journal_that_a_finished_program_kept_holds_no_changes() {
    let bench = Bench::new();
    let path = bench.given("kept.db");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = PERSIST; INSERT INTO orders (text) VALUES ('in the file')").unwrap();
    assert!(fs::metadata(bench.folder.path().join("kept.db-journal")).unwrap().len() > 0);
    let word = format!("sqlite:{}", path.display());
    let mut subject = bench.reads(&word, &asked(&[CELL])).unwrap();
    assert_eq!(subject.prepare(&Table::Found("orders".into()), &mut |_, _| {}).unwrap().rows, 5001);
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO orders (text) VALUES ('half')").unwrap();
    let refusal = bench.reads(&word, &asked(&[CELL])).map(drop).unwrap_err().to_string();
    assert!(refusal.contains("-journal"), "{refusal}");
}

/// Interrupts a statement that goes on without end; how long it took to end.
fn interrupted() -> Duration {
    let bench = Bench::new();
    let large = Cell { payload: 8 << 20, ..CELL };
    let mut subject = bench.reads("sqlite", &asked(&[large])).unwrap();
    subject.prepare(&Table::Made(large), &mut |_, _| {}).unwrap();
    let stop = Arc::clone(&bench.stop);
    let asked_at = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let outcome = subject.read(&Pass { laps: u32::MAX, ..pass(Access::FullScan, Touch::Rows) });
    assert_eq!(outcome.unwrap_err(), SubjectError::Stopped);
    let took = asked_at.join().unwrap().elapsed();
    drop(subject);
    assert_eq!(fs::read_dir(bench.scratch()).unwrap().count(), 0);
    let stopped = bench
        .reads("sqlite", &asked(&[large]))
        .and_then(|mut subject| subject.prepare(&Table::Made(large), &mut |_, _| {}).map(drop));
    assert_eq!(stopped.unwrap_err(), SubjectError::Stopped);
    assert_eq!(fs::read_dir(bench.scratch()).unwrap().count(), 0);
    took
}

#[test]
fn an_interrupt_ends_a_long_statement_within_a_second_and_nothing_stays() {
    // A busy machine may take longer once.
    let is_long = |took: &Duration| *took >= Duration::from_secs(1);
    let long: Vec<Duration> = (0..5).map(|_| interrupted()).take_while(is_long).collect();
    assert!(long.len() < 5, "{long:?}");
}

fn settings(rows: u64, question: Question) -> AccessSettings {
    AccessSettings {
        rows,
        seed: 1,
        asked: question,
        paths: Vec::new(),
        level: Level::QueryLow,
        zone_maps: true,
        builders: Some(1),
        memory: Some(1 << 30),
        watch: Watch::Counters,
    }
}

/// What each path of a subject that can answer counts, with its gets.
fn answers(subject: &mut dyn AccessPaths, question: Question) -> Vec<(AccessPath, u64, u64)> {
    let offers = subject.paths(question).into_iter().filter(|offer| offer.absence.is_none());
    let paths: Vec<AccessPath> = offers.map(|offer| offer.path).collect();
    subject.plan(&paths).unwrap();
    let pass = ScanPass { threads: 1, laps: 1, kernel: None };
    let mut answer = |path| {
        subject.prepare(path, question, &mut |_, _| {}).unwrap().unwrap();
        let cost = subject.scan(&pass).unwrap();
        (path, cost.count, cost.gets)
    };
    paths.into_iter().map(&mut answer).collect()
}

#[test]
fn every_path_goes_its_way_and_counts_what_the_engine_counts() {
    let bench = Bench::new();
    for question in [Question::AllPass, Question::NoPredicate, Question::HalfPass] {
        let settings = settings(20_000, question);
        let mut subject = bench.paths("sqlite", &settings);
        let found = answers(&mut *subject, question);
        let engine = answers(&mut *bench.paths("engine", &settings), question);
        let expected = engine[0].1;
        assert!(found.iter().chain(&engine).all(|(_, count, _)| *count == expected), "{found:?} {engine:?}");
        let gets = |path| found.iter().find(|(of, ..)| *of == path).map(|(.., gets)| *gets);
        let scan = gets(AccessPath::FullScan).unwrap();
        if question == Question::AllPass {
            assert_eq!(found.len(), 4);
            assert!(gets(AccessPath::IndexBadClustering).unwrap() > 10_000, "a page for almost every row: {found:?}");
            assert!(gets(AccessPath::IndexOnlyScan).unwrap() < scan / 5, "{found:?}");
        } else {
            assert_eq!(found.len(), 1, "{found:?}");
        }
        assert!(subject.finish().outcome.is_ok());
    }
    assert_eq!(fs::read_dir(bench.scratch()).unwrap().count(), 0);
}

#[test]
fn a_given_file_gets_no_table_of_customers() {
    let places: Places = "sqlite:/tmp/x.db".parse().unwrap();
    let refusal = places.iter().next().unwrap().access_paths(&settings(10, Question::AllPass)).map(drop).unwrap_err();
    assert!(refusal.contains("--on sqlite"), "{refusal}");
}

/// A table of 8 MB, and a cache for half of it.
const INNER: InnerTable = InnerTable { rows: 7000, pad: 1000, rand: 100 };

fn inner_rows() -> nested_loops::Asked {
    nested_loops::Asked { rows: INNER.rows, pool: measure::Size(4 << 20), ..nested_loops::Asked::default() }
}

#[test]
fn joins_by_either_way_find_the_rows_of_the_engine_and_begin_cold() {
    let bench = Bench::new();
    let pass = |variant| JoinPass { variant, keys: Keys { first: 101, count: 300 }, explained: None };
    let expected = INNER.sum(pass(0).keys).unwrap();
    let mut engine = bench.loops("engine");
    engine.prepare(INNER, &mut |_, _| {}).unwrap();
    assert_eq!(engine.join(&pass(0)).unwrap().sum, Some(expected));
    for (word, rows_a_page) in [("sqlite", 4), ("sqlite?page_size=8192", 8)] {
        let mut subject = bench.loops(word);
        subject.prepare(INNER, &mut |_, _| {}).unwrap();
        let joins: Vec<JoinCost> = [0, 1, 0].map(|way| subject.join(&pass(way)).unwrap()).into();
        assert!(joins.iter().all(|cost| cost.sum == Some(expected)), "{word}: {joins:?}");
        assert_eq!(joins[0].table.read, joins[2].table.read, "{word}: cold again");
        // The cache holds all pages of a join, and each is read once: 300 rows on as many pages at most, and the nodes
        // above them.
        let read = joins[0].table.read;
        assert!(read == joins[1].table.read && (200..=310).contains(&read), "{word}: {joins:?}");
        assert!(joins.iter().all(|cost| (1..20).contains(&cost.index.read)), "{word}: {joins:?}");
        assert!(joins[1].table.gets < joins[0].table.gets, "{word}: sorted rows of one page get it once");
        let scan = subject.scan().unwrap().unwrap();
        assert!(
            (INNER.rows.div_ceil(rows_a_page)..INNER.rows / rows_a_page * 102 / 100).contains(&scan.blocks),
            "{scan:?}"
        );
        assert_eq!(subject.join_cached(100).unwrap().unwrap().read, 0, "{word}");
        let closing = subject.finish();
        assert!(closing.outcome.is_ok());
        assert!(["answered-by-storage", "storage-not-proved"].contains(&closing.findings[0].id.as_str()));
    }
    assert_eq!(fs::read_dir(bench.scratch()).unwrap().count(), 0);
}

#[test]
fn a_given_file_gets_no_inner_table() {
    let places: Places = "sqlite:/tmp/x.db".parse().unwrap();
    let refusal = places.iter().next().unwrap().nested_loops(&inner_rows()).map(drop).unwrap_err();
    assert!(refusal.contains("--on sqlite"), "{refusal}");
}
