//! One connection: to a file of our own, which is removed at the end, or to a given one, to which nothing is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::quantity::{counted, grouped};
use measure::{Nanos, Parameters};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde_json::{Value, json};
use sys::counters::{Counters, CycleCounter};
use sys::file::OwnFolder;
use sys::process::thread_cpu;
use sys::time::Clock;

use super::given_file::GivenFile;
use super::page_gets::{self, PageGets};
use crate::error::SubjectError;
use crate::memory_share::{self, Wanted};

/// Instructions of SQLite's virtual machine between two looks at the flag of ^C: some milliseconds, and too few looks
/// to be seen in a cost.
const INSTRUCTIONS_BETWEEN_LOOKS: i32 = 100_000;

/// The page size that SQLite takes where none is asked for, since version 3.12.
pub(super) const PAGE_BYTES: u32 = 4096;

/// Settings of every connection. Pages are read into SQLite's own cache and from nowhere else, so that its counts are
/// of all gets; what sorting needs lies in memory.
const SETTINGS: &str = "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;";

/// Settings of a file of our own: nothing of it has to survive a crash.
const OWN_SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;";

/// Prefix of the names of folders for a database of our own.
pub(crate) const FOLDER_PREFIX: &str = "readpath-sqlite-";

/// What run documents say of a database with pages of this size, and what is `known` of it besides.
pub(super) fn description(page_bytes: impl Into<u64>, known: &[(&str, Value)]) -> Parameters {
    let all =
        [("kind", json!("sqlite")), ("version", json!(rusqlite::version())), ("page_bytes", json!(page_bytes.into()))];
    all.iter().chain(known).map(|(key, value)| ((*key).to_string(), value.clone())).collect()
}

/// An open database.
pub(super) struct Database {
    // Dropped before the folder: the file is closed when it is removed.
    connection: Connection,
    path: PathBuf,
    owner: Owner,
}

/// Whose the file is.
enum Owner {
    Own(OwnFolder),
    Given(GivenFile),
}

/// What a database of our own takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Bytes of its file.
    pub(super) file: u64,
    /// Bytes of pages in its cache.
    pub(super) cache: u64,
}

impl Need {
    /// A file whose pages are all cached.
    pub(super) fn cached(file: u64) -> Need {
        Need { file, cache: file }
    }
}

/// What statements took, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) cpu: Nanos,
    pub(super) elapsed: Nanos,
    pub(super) cycles: Option<u64>,
    pub(super) gets: PageGets,
}

impl Database {
    /// Makes a new database in the folder for temporary files, with pages of this size. Errors where the disk has no
    /// room for the file, or the memory none for the cache.
    pub(super) fn create(
        scratch: &Path,
        page_bytes: u32,
        need: Need,
        stop: &Arc<AtomicBool>,
    ) -> Result<Database, SubjectError> {
        let advice = "ask for fewer rows, or for a smaller cache";
        memory_share::check(&Wanted { what: "the page cache of SQLite", bytes: need.cache, advice })?;
        let folder = OwnFolder::create(scratch, FOLDER_PREFIX).map_err(|error| {
            // No matter of the engine's directory, which --dir names.
            SubjectError::Failed(format!(
                "no folder for the tables of SQLite can be made in {}: {error}; name another folder for temporary \
                 files in TMPDIR",
                scratch.display()
            ))
        })?;
        check_disk(folder.path(), need.file)?;
        let path = folder.path().join("tables.db");
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX);
        let database = Database::of(connection, path, Owner::Own(folder), stop)?;
        database.run(&format!("PRAGMA page_size = {page_bytes}; {OWN_SETTINGS} {}", cache_setting(need.cache)))?;
        Ok(database)
    }

    /// Opens a given file to read it. Its cache has room for the whole of it, as far as there is memory.
    pub(super) fn open(path: &Path, stop: &Arc<AtomicBool>) -> Result<Database, SubjectError> {
        let file = GivenFile::check(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(file.uri(), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX);
        let (path, bytes) = (file.path().to_path_buf(), file.bytes());
        let database = Database::of(connection, path, Owner::Given(file), stop)?;
        // The setting is twice as much.
        database.run(&cache_setting(bytes.min(memory_share::bytes_max() / 2)))?;
        // The first page is looked at here, and shows whether the file is a database.
        database.number("SELECT count(*) FROM sqlite_schema")?;
        Ok(database)
    }

    fn of(
        connection: rusqlite::Result<Connection>,
        path: PathBuf,
        owner: Owner,
        stop: &Arc<AtomicBool>,
    ) -> Result<Database, SubjectError> {
        let mut connection = connection.map_err(|error| failure(&path, &error))?;
        let stop = Arc::clone(stop);
        let is_over = move || stop.load(Ordering::Relaxed);
        connection
            .progress_handler(INSTRUCTIONS_BETWEEN_LOOKS, Some(is_over))
            .map_err(|error| failure(&path, &error))?;
        let database = Database { connection, path, owner };
        database.run(SETTINGS)?;
        Ok(database)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file is a given one, to which nothing is written.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.owner, Owner::Given(_))
    }

    /// Whether another program wrote to the given file since it was opened.
    pub(super) fn has_changed(&self) -> bool {
        matches!(&self.owner, Owner::Given(file) if file.has_changed())
    }

    /// What an error of SQLite means here.
    pub(super) fn failed(&self) -> impl Fn(rusqlite::Error) -> SubjectError + '_ {
        |error| failure(&self.path, &error)
    }

    /// Runs statements whose rows are of no interest.
    pub(super) fn run(&self, statements: &str) -> Result<(), SubjectError> {
        self.connection.execute_batch(statements).map_err(self.failed())
    }

    /// The number that a statement gives.
    pub(super) fn number(&self, statement: &str) -> Result<u64, SubjectError> {
        let number: i64 = self.connection.query_row(statement, [], |row| row.get(0)).map_err(self.failed())?;
        Ok(number.unsigned_abs())
    }

    /// The number that a statement gives, which may be none.
    pub(super) fn number_or_null(&self, statement: &str) -> Result<Option<i64>, SubjectError> {
        self.connection.query_row(statement, [], |row| row.get(0)).map_err(self.failed())
    }

    /// The texts that a statement gives, a row each.
    pub(super) fn texts(&self, statement: &str, column: usize) -> Result<Vec<String>, SubjectError> {
        let mut statement = self.connection.prepare(statement).map_err(self.failed())?;
        let rows = statement.query_map([], |row| row.get(column)).map_err(self.failed())?;
        rows.collect::<Result<_, _>>().map_err(self.failed())
    }

    /// Pages of a table or an index. They are counted here and not by `dbstat`, which would walk all of them in one
    /// step: SQLite looks at the flag of ^C between two steps.
    pub(super) fn pages(&self, name: &str) -> Result<u64, SubjectError> {
        self.number(&format!("SELECT count(*) FROM dbstat WHERE name = {}", literal(name)))
    }

    /// Whether one page holds all rows of a table, because none lies below its root. `dbstat` gives the root first, and
    /// the limit keeps it from walking the rest.
    pub(super) fn has_one_page(&self, name: &str) -> Result<bool, SubjectError> {
        let root = format!("SELECT pagetype FROM dbstat WHERE name = {} LIMIT 1", literal(name));
        Ok(self.number(&format!("SELECT count(*) FROM ({root}) WHERE pagetype = 'leaf'"))? > 0)
    }

    /// Errors where the plan of a statement has other steps than these beginnings.
    pub(super) fn expect_plan(&self, statement: &str, steps: &[String]) -> Result<(), SubjectError> {
        let found = self.texts(&format!("EXPLAIN QUERY PLAN {statement}"), 3)?;
        let is_it = found.len() == steps.len() && found.iter().zip(steps).all(|(found, step)| found.starts_with(step));
        if is_it {
            return Ok(());
        }
        Err(other_way(statement, &found))
    }

    /// Errors where the plan of a statement does not have this step.
    pub(super) fn expect_step(&self, statement: &str, step: &str) -> Result<(), SubjectError> {
        let found = self.texts(&format!("EXPLAIN QUERY PLAN {statement}"), 3)?;
        if found.iter().any(|found| found == step) { Ok(()) } else { Err(other_way(statement, &found)) }
    }

    /// Runs a statement `laps` times in a row, each of which has to count `count`. Preparing it is not in the cost.
    pub(super) fn measure(&self, statement: &str, count: u64, laps: u32, clock: &Clock) -> Result<Taken, SubjectError> {
        self.time(statement, laps, (clock, None), |found| check_count(statement, count, found))
    }

    /// The same while `counters` count, from after the preparation on.
    pub(super) fn measure_counted(
        &self,
        statement: &str,
        count: u64,
        laps: u32,
        (clock, counters): (&Clock, &Counters),
    ) -> Result<Taken, SubjectError> {
        self.time(statement, laps, (clock, Some(counters)), |found| check_count(statement, count, found))
    }

    /// Runs a statement once, and gives the number that it found with what it took.
    pub(super) fn ask(&self, statement: &str, clock: &Clock) -> Result<(i64, Taken), SubjectError> {
        let mut answer = 0;
        let taken = self.time(statement, 1, (clock, None), |found| {
            answer = found;
            Ok(())
        })?;
        Ok((answer, taken))
    }

    /// Runs a statement `laps` times in a row and hands each number that it gives to `check`.
    fn time(
        &self,
        statement: &str,
        laps: u32,
        (clock, counters): (&Clock, Option<&Counters>),
        mut check: impl FnMut(i64) -> Result<(), SubjectError>,
    ) -> Result<Taken, SubjectError> {
        let mut prepared = self.connection.prepare(statement).map_err(self.failed())?;
        let counter = CycleCounter::of_this_thread().ok();
        let cycles = || counter.as_ref().and_then(CycleCounter::read);
        page_gets::take(&self.connection);
        // Outside the readings of the clocks: it takes some system calls.
        counters.into_iter().for_each(Counters::start);
        let (start, cpu, cycles_before) = (clock.now(), thread_cpu(), cycles());
        for _ in 0..laps {
            check(prepared.query_row([], |row| row.get(0)).map_err(self.failed())?)?;
        }
        let (cycles_after, cpu_after, end) = (cycles(), thread_cpu(), clock.now());
        counters.into_iter().for_each(Counters::stop);
        Ok(Taken {
            cpu: cpu_after.since(cpu),
            elapsed: end.since(start),
            cycles: cycles_after.zip(cycles_before).map(|(after, before)| after - before),
            gets: page_gets::take(&self.connection),
        })
    }

    /// Closes the file and removes it where it is our own.
    pub(super) fn finish(self) -> Result<(), SubjectError> {
        let Database { connection, owner, .. } = self;
        drop(connection);
        match owner {
            Owner::Own(folder) => {
                let path = folder.path().to_path_buf();
                folder.remove().map_err(|error| {
                    SubjectError::Failed(format!("{} could not be removed ({error}): remove it.", path.display()))
                })
            }
            Owner::Given(_) => Ok(()),
        }
    }
}

/// How a subject is named: `sqlite 3.54.1`, with the page size where that is not the usual one.
pub(super) fn subject_name(page_bytes: u32) -> String {
    let version = rusqlite::version();
    if page_bytes == PAGE_BYTES {
        format!("sqlite {version}")
    } else {
        format!("sqlite {version}?page_size={page_bytes}")
    }
}

/// Errors where a statement counted something else.
fn check_count(statement: &str, count: u64, found: i64) -> Result<(), SubjectError> {
    match found.unsigned_abs() == count {
        true => Ok(()),
        false => {
            let found = counted(found.unsigned_abs(), "row", "rows");
            Err(SubjectError::Failed(format!("SQLite found {found} and not {}: `{statement}`", grouped(count))))
        }
    }
}

fn other_way(statement: &str, found: &[String]) -> SubjectError {
    let found = found.join(", ");
    SubjectError::Failed(format!("SQLite reads `{statement}` in another way than the one measured: {found}"))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A page takes some bytes more than its own in the cache: twice as much is room enough.
fn cache_setting(bytes: u64) -> String {
    let kibibytes = (bytes.saturating_mul(2) >> 10).clamp(1 << 10, i32::MAX as u64);
    format!("PRAGMA cache_size = -{kibibytes};")
}

fn check_disk(folder: &Path, bytes: u64) -> Result<(), SubjectError> {
    let failed = |error| SubjectError::Failed(format!("{} cannot be looked at: {error}", folder.display()));
    let space = rustix::fs::statvfs(folder).map_err(failed)?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if bytes > free {
        return Err(SubjectError::Failed(format!(
            "the tables of SQLite take {} MiB and {} has {} MiB left: {ADVICE}",
            bytes >> 20,
            folder.parent().unwrap_or(folder).display(),
            free >> 20
        )));
    }
    Ok(())
}

/// What to do where there is no room on the disk.
const ADVICE: &str = "ask for fewer rows, or name another folder for temporary files in TMPDIR";

fn failure(path: &Path, error: &rusqlite::Error) -> SubjectError {
    let file = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => SubjectError::Stopped,
        Some(ErrorCode::DiskFull) => SubjectError::Failed(format!("there is no room left for {file}: {ADVICE}")),
        Some(ErrorCode::NotADatabase) => {
            SubjectError::Failed(format!("{file} is not an SQLite database, or is encrypted: name another file"))
        }
        Some(ErrorCode::DatabaseCorrupt) => SubjectError::Failed(format!(
            "{file} is damaged ({error}): `sqlite3 FILE 'PRAGMA integrity_check'` shows where"
        )),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            SubjectError::Failed(format!("{file} cannot be opened ({error}): check who may read it"))
        }
        _ => SubjectError::Failed(format!("SQLite failed on {file}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use sys::counters::Rings;

    use super::*;

    #[test]
    fn preparing_a_statement_is_not_counted() {
        let (folder, clock) = (tempfile::tempdir().unwrap(), Clock::calibrate());
        let database = Database::create(folder.path(), 512, Need::cached(1 << 20), &Arc::default()).unwrap();
        // A remark takes SQLite some time to read, and none to run.
        let statement = format!("/* {} */ SELECT 7", "x".repeat(900_000));
        let before = thread_cpu();
        drop(database.connection().prepare(&statement).unwrap());
        let preparing = thread_cpu().since(before);
        let mut least = f64::INFINITY;
        for _ in 0..5 {
            let counters = Counters::of_this_thread(Rings::widest());
            database.measure_counted(&statement, 7, 1, (&clock, &counters)).unwrap();
            let Ok(count) = counters.read().of("task_clock") else {
                println!("skipped: the kernel counts nothing of this thread");
                return;
            };
            least = least.min(count.value());
        }
        assert!(least < preparing.0 as f64 / 2.0, "{least} ns were counted, and {preparing:?} prepare it");
    }

    #[test]
    fn an_interrupt_ends_a_count_of_pages() {
        let (folder, stop) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
        let database = Database::create(folder.path(), 512, Need::cached(1 << 20), &stop).unwrap();
        // One row whose overflow pages are more than the steps between two looks at the flag.
        database.run("CREATE TABLE t (v); INSERT INTO t VALUES (zeroblob(60000000))").unwrap();
        assert!(database.pages("t").unwrap() > INSTRUCTIONS_BETWEEN_LOOKS as u64);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(database.pages("t").unwrap_err(), SubjectError::Stopped);
    }

    #[test]
    fn where_no_folder_can_be_made_the_option_for_the_tables_of_the_engine_is_not_advised() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = folder.path().join("nowhere");
        let created = Database::create(&nowhere, PAGE_BYTES, Need::cached(1 << 20), &Arc::default());
        let refused = created.map(drop).unwrap_err();
        assert!(matches!(&refused, SubjectError::Failed(sentence) if sentence.contains("TMPDIR")), "{refused:?}");
    }

    #[test]
    fn a_cache_for_which_there_is_no_memory_is_refused_without_an_option_of_another_command() {
        let folder = tempfile::tempdir().unwrap();
        let need = Need { file: 0, cache: u64::MAX };
        let refused = Database::create(folder.path(), PAGE_BYTES, need, &Arc::default()).map(drop).unwrap_err();
        let sentence = refused.to_string();
        assert!(sentence.contains("fewer rows") && !sentence.contains("--payload"), "{sentence}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
