//! SQLite as a subject of nested loops: the inner table with its index in a database of our own, joined row by row and
//! by a list of row numbers. Before each join its pages leave SQLite's page cache and the operating system's.
//!
//! SQLite counts pages for a whole statement. A second statement takes the same way through the index and stops there,
//! so that the pages of the table are what the first one got more.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dataset::DataSet;
use dataset::keyed::VALUES;
use measure::schema::join::parameters;
use measure::schema::subjects::findings as row;
use measure::{Finding, Parameters};
use serde_json::json;
use sys::file::{Caching, Target};
use sys::time::Clock;

use super::database::{Database, Need, Taken, description, subject_name};
use super::load::{index_bytes, load, table_bytes};
use crate::error::SubjectError;
use crate::nested_loops::{
    Asked, BlockCost, CachedCost, Group, InnerFacts, InnerTable, JoinCost, JoinPass, JoinVariant, Keys, NestedLoops,
    ScanCost, Sources,
};
use crate::opening::{Opening, Progress};
use crate::page_cache::{self, Witnessed};
use crate::subject::{Closing, Subject, TABLE_SEED};

const TABLE: &str = "inner_rows";
const INDEX: &str = "inner_by_key";

/// Bytes of a key in the index.
const KEY_BYTES: u64 = 8;

/// About what a join takes, with the emptying before it and the index alone.
const JOIN_TIME: Duration = Duration::from_millis(500);

/// The part of the cache that the pages of cached look-ups may take: each brings a page of the table and some of the
/// trees.
const CACHED_PART: u64 = 4;

/// Rows whose values have a sum of at most 63 bits, whatever the values are.
const SUMMED_MAX: u64 = i64::MAX.cast_unsigned() / VALUES;

/// A way to join.
#[derive(Clone, Copy, Debug)]
struct SqliteJoin {
    method: &'static str,
    is_gathered: bool,
    /// The statements over the keys `first..=last`: the join, which computes a sum, and what it does in the index.
    statements: fn(i64, i64, &str) -> [String; 2],
    /// The last step of the join's plan that reads the table.
    step: &'static str,
}

const JOINS: [SqliteJoin; 2] = [
    SqliteJoin {
        method: "nested-loop",
        is_gathered: false,
        statements: |first, last, sum| {
            [sum, "sum(i.key)"].map(|sum| {
                format!(
                    "WITH RECURSIVE o(key) AS (VALUES({first}) UNION ALL SELECT key + 1 FROM o WHERE key < {last}) \
                     SELECT {sum} FROM o CROSS JOIN {TABLE} i INDEXED BY {INDEX} ON i.key = o.key"
                )
            })
        },
        step: "SEARCH i USING INDEX inner_by_key (key=?)",
    },
    SqliteJoin {
        method: "rowid-list",
        is_gathered: true,
        statements: |first, last, sum| {
            let by_key = format!("FROM {TABLE} k INDEXED BY {INDEX} WHERE k.key BETWEEN {first} AND {last}");
            [
                format!("SELECT {sum} FROM {TABLE} i WHERE i._rowid_ IN (SELECT k._rowid_ {by_key})"),
                format!("SELECT sum(k.key) {by_key}"),
            ]
        },
        step: "SEARCH i USING INTEGER PRIMARY KEY (rowid=?)",
    },
];

impl SqliteJoin {
    fn statements(&self, keys: Keys) -> [String; 2] {
        (self.statements)(keys.first as i64, (keys.first + keys.count) as i64 - 1, sum(keys.count))
    }

    fn variant(&self) -> JoinVariant {
        let SqliteJoin { method, is_gathered, .. } = *self;
        JoinVariant { method, parameters: Parameters::new(), size: None, is_gathered }
    }
}

/// The inner table in its database.
struct Inner {
    database: Database,
    /// The database's file, to drop it from the page cache.
    file: Target,
}

/// SQLite with one inner table at a time, in a database that is removed at the end.
pub struct SqliteLoops {
    page_bytes: u32,
    asked: Asked,
    scratch: PathBuf,
    clock: Clock,
    stop: Arc<AtomicBool>,
    name: String,
    inner: Option<Inner>,
    witnessed: Witnessed,
}

impl SqliteLoops {
    /// Makes nothing yet.
    pub(super) fn create(page_bytes: u32, asked: Asked, opening: &Opening<'_>) -> SqliteLoops {
        SqliteLoops {
            page_bytes,
            asked,
            scratch: opening.environment.scratch.clone(),
            clock: opening.clock,
            stop: Arc::clone(&opening.stop),
            name: subject_name(page_bytes),
            inner: None,
            witnessed: Witnessed::none(Caching::Buffered),
        }
    }

    fn inner(&self) -> Result<&Inner, SubjectError> {
        self.inner.as_ref().ok_or(SubjectError::NotPrepared)
    }

    /// Makes the table and its index, in a cache as large as the engine's pool.
    fn load(&self, table: InnerTable, progress: &mut Progress<'_>) -> Result<Inner, SubjectError> {
        let data = DataSet::keyed(table.shape(), table.rows, TABLE_SEED);
        let index = index_bytes(table.rows, KEY_BYTES, self.page_bytes);
        let file = table_bytes(&data, self.page_bytes).saturating_add(index);
        let need = Need { file, cache: self.asked.pool.0 };
        let database = Database::create(&self.scratch, self.page_bytes, need, &self.stop)?;
        let name = &self.name;
        load(&database, (TABLE, &data), &format!("rows into {name}"), progress, &self.stop)?;
        progress(&format!("making an index on key in {name}"), Duration::from_secs(1));
        let cache = (self.asked.pool.0 >> 10).min(i32::MAX as u64);
        database.run(&format!("CREATE UNIQUE INDEX {INDEX} ON {TABLE} (key); PRAGMA cache_size = -{cache}"))?;
        let path = database.path();
        // Pages that are not on the disk yet cannot leave the page cache.
        File::open(path).and_then(|file| file.sync_all()).map_err(|error| {
            SubjectError::Failed(format!("{} cannot be written to its disk: {error}", path.display()))
        })?;
        let file = Target::open(path, Caching::Buffered)?;
        Ok(Inner { database, file })
    }

    /// Runs a statement with nothing cached: its answer, what it took, and the share of the file that stayed in the
    /// page cache.
    fn ask_cold(&mut self, statement: &str) -> Result<(i64, Taken, Option<f64>), SubjectError> {
        let Inner { database, file } = self.inner.as_ref().ok_or(SubjectError::NotPrepared)?;
        database.run("PRAGMA shrink_memory")?;
        let left = page_cache::empty([file])?;
        let (page_bytes, clock) = (u64::from(self.page_bytes), &self.clock);
        let (answer, taken) = self.witnessed.watch(file, left, || {
            let (answer, taken) = database.ask(statement, clock)?;
            Ok(((answer, taken), taken.gets.misses * page_bytes))
        })?;
        Ok((answer, taken, left))
    }
}

/// The sum of the values that this many look-ups find, modulo 2^64.
///
/// To SQLite, a sum of more than 64 bits is an error, and that of the values of 17 million rows has more. Where it may
/// have more, the upper and the lower bits of the values have a sum each, and shifts put the two together, which drop
/// what is above 64 bits. The result is held against the sum of the rows, so it has to be exact, which total() is not.
/// Other joins have the plain sum, which takes less time for a row.
fn sum(rows: u64) -> &'static str {
    if rows <= SUMMED_MAX {
        return "sum(i.value)";
    }
    "((sum(i.value >> 20) + (sum(i.value & 1048575) >> 20)) << 20) | (sum(i.value & 1048575) & 1048575)"
}

/// A full scan that looks at every value. To SQLite, a sum of more than 64 bits is an error, and that of the values of
/// 17 million rows has more.
fn full_scan() -> String {
    format!("SELECT max(value) FROM {TABLE} NOT INDEXED")
}

/// The finding about what served the pages that SQLite read.
pub(super) fn served_by(witnessed: &Witnessed) -> Finding {
    match witnessed.not_from_storage() {
        None => row::ANSWERED_BY_STORAGE
            .of(format!("The storage served the pages that SQLite read: {}.", witnessed.verdict().proof)),
        Some(reason) => row::STORAGE_NOT_PROVED.of(format!(
            "It is not proved that the storage served all pages that SQLite read: {reason}. Its joins may not be \
             cold: name a folder on a disk in TMPDIR."
        )),
    }
}

impl Subject for SqliteLoops {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Parameters {
        let known = [("rows", json!(self.asked.rows)), ("pool_bytes", json!(self.asked.pool.0))];
        description(self.page_bytes, &known)
    }

    fn finish(self: Box<Self>) -> Closing {
        let findings = if self.inner.is_some() { vec![served_by(&self.witnessed)] } else { Vec::new() };
        let outcome = self.inner.map_or(Ok(()), |inner| inner.database.finish());
        Closing { findings, outcome, ..Closing::quiet() }
    }
}

impl NestedLoops for SqliteLoops {
    fn prepare(&mut self, table: InnerTable, progress: &mut Progress<'_>) -> Result<InnerFacts, SubjectError> {
        if let Some(Inner { database, .. }) = self.inner.take() {
            database.finish()?;
        }
        let inner = self.load(table, progress)?;
        for join in &JOINS {
            let [statement, _] = join.statements(Keys { first: 1, count: 1 });
            inner.database.expect_step(&statement, join.step)?;
        }
        self.inner = Some(inner);
        let variants = JOINS.iter().map(SqliteJoin::variant).collect();
        let parameters = Parameters::from_iter([parameters::DIRECT.of(false)]);
        Ok(InnerFacts {
            groups: vec![Group { name: String::new(), is_direct: false, parameters, variants, gathers_nothing: None }],
            keys_may_repeat: false,
            is_virtual: false,
            join_time: JOIN_TIME,
            sources: Sources {
                elapsed: "clock, from the first step of the statement to its answer",
                cpu: "CPU clock of the thread (CLOCK_THREAD_CPUTIME_ID)",
                blocks: "sqlite3_db_status (CACHE_MISS), less those of the index alone",
                gets: "sqlite3_db_status (CACHE_HIT and CACHE_MISS), less those of the index alone",
                page_cache: "cachestat or mincore, after fadvise",
                ..Sources::default()
            },
        })
    }

    fn join(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError> {
        let [statement, in_index] = JOINS.get(pass.variant).ok_or(SubjectError::NotPrepared)?.statements(pass.keys);
        let (sum, taken, left) = self.ask_cold(&statement)?;
        let (_, of_index, _) = self.ask_cold(&in_index)?;
        let (both, index) = (taken.gets, of_index.gets);
        let blocks = |read: u64, gets: u64| BlockCost { read, gets: Some(gets), ..BlockCost::default() };
        Ok(JoinCost {
            sum: Some(sum),
            elapsed: taken.elapsed,
            cpu: Some(taken.cpu),
            table: blocks(both.misses.saturating_sub(index.misses), both.total().saturating_sub(index.total())),
            index: blocks(index.misses, index.total()),
            left_in_page_cache: left,
            ..JoinCost::default()
        })
    }

    fn join_cached(&mut self, outer_rows: u64) -> Result<Option<CachedCost>, SubjectError> {
        let database = &self.inner()?.database;
        let cached = self.asked.pool.0 / u64::from(self.page_bytes) / CACHED_PART;
        let lookups = outer_rows.min(cached).clamp(1, self.asked.rows);
        let [statement, _] = JOINS[0].statements(Keys { first: 1, count: lookups });
        database.ask(&statement, &self.clock)?;
        let (_, Taken { elapsed, gets, .. }) = database.ask(&statement, &self.clock)?;
        Ok(Some(CachedCost { elapsed, lookups, read: gets.misses }))
    }

    fn scan(&mut self) -> Result<Option<ScanCost>, SubjectError> {
        let (_, taken, _) = self.ask_cold(&full_scan())?;
        let Taken { elapsed, cpu, gets, .. } = taken;
        Ok(Some(ScanCost { elapsed, waiting: None, blocks: gets.misses, cpu: Some(cpu), rows: self.asked.rows }))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_scan_of_values_whose_sum_has_more_than_64_bits_is_no_error() {
        let connection = Connection::open_in_memory().unwrap();
        let most = i64::MAX;
        let made = format!("CREATE TABLE {TABLE} (key, value); INSERT INTO {TABLE} VALUES (1, {most}), (2, {most})");
        connection.execute_batch(&made).unwrap();
        let found: i64 = connection.query_row(&full_scan(), [], |row| row.get(0)).unwrap();
        assert_eq!(found, most);
    }

    #[test]
    fn a_join_of_values_whose_sum_has_more_than_64_bits_is_no_error_and_finds_the_wrapping_sum() {
        let connection = Connection::open_in_memory().unwrap();
        let made = format!("CREATE TABLE {TABLE} (key, value); CREATE UNIQUE INDEX {INDEX} ON {TABLE} (key)");
        connection.execute_batch(&made).unwrap();
        let values = [i64::MAX, i64::MAX - 5, 7, (1 << 20) - 1, i64::MAX];
        for (key, value) in (1_i64..).zip(values) {
            connection.execute(&format!("INSERT INTO {TABLE} VALUES ({key}, {value})"), []).unwrap();
        }
        let found = |statement: &str| connection.query_row(statement, [], |row| row.get::<_, i64>(0));
        for join in &JOINS {
            let [by_parts, _] = (join.statements)(1, 5, sum(SUMMED_MAX + 1));
            assert_eq!(found(&by_parts), Ok(values.iter().fold(0_i64, |sum, value| sum.wrapping_add(*value))));
            let [plain, _] = join.statements(Keys { first: 3, count: 2 });
            assert!(plain.contains("SELECT sum(i.value) FROM"), "{plain}");
            assert_eq!(found(&plain), Ok(7 + (1 << 20) - 1));
            let many = Keys { first: 1, count: SUMMED_MAX + 1 };
            assert!(join.statements(many)[0].contains(sum(many.count)));
        }
    }
}
