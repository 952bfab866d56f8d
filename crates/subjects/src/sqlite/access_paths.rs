//! SQLite as a subject of the experiment on access paths: the customers in a database of its own, and one question by
//! each path that its planner is made to choose, with everything in its page cache.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dataset::DataSet;
use measure::{Finding, Metric, Nanos, Parameters};
use serde_json::json;
use sys::counters::{Counters, Rings};
use sys::time::Clock;

use super::database::{Database, Need, description, subject_name};
use super::load::{index_bytes, load, table_bytes};
use crate::access_paths::{
    AccessPath, AccessPaths, AccessSettings, Asked, Cache, MemoryNeed, PathBlocks, PathFacts, PathOffer, Sampling,
    ScanCost, ScanPass, Sources,
};
use crate::error::SubjectError;
use crate::opening::{Opening, Progress};
use crate::subject::{Closing, Subject};

/// The table.
const TABLE: &str = "customers";

/// Bytes of the longest key of an index: a postal code, a number with a letter.
const KEY_BYTES: u64 = 8;

/// A sample lasts at least this long: two readings of the CPU clock vanish in it.
const SAMPLE_TIME: Nanos = Nanos::from_millis(20);
const LAPS_MAX: u32 = 256;

/// A path as SQLite knows it.
struct SqlitePath {
    path: AccessPath,
    /// The index that it goes by and the columns of that.
    index: Option<(&'static str, &'static str)>,
    /// What is compared with the key of the index.
    condition: &'static str,
    /// The step of the plan.
    step: &'static str,
}

/// All of them.
const PATHS: [SqlitePath; 4] = [
    SqlitePath {
        path: AccessPath::IndexBadClustering,
        index: Some(("customers_by_postal_code", "cust_postal_code")),
        condition: " WHERE cust_postal_code > '0'",
        step: "SEARCH customers USING INDEX customers_by_postal_code ",
    },
    SqlitePath {
        path: AccessPath::IndexGoodClustering,
        index: Some(("customers_by_id", "cust_id")),
        condition: " WHERE cust_id > 0",
        step: "SEARCH customers USING INDEX customers_by_id ",
    },
    SqlitePath { path: AccessPath::FullScan, index: None, condition: " WHERE cust_id > 0", step: "SCAN customers" },
    SqlitePath {
        path: AccessPath::IndexOnlyScan,
        index: Some(("customers_by_id_with_valid", "cust_id, cust_valid")),
        condition: " WHERE cust_id > 0",
        step: "SEARCH customers USING COVERING INDEX customers_by_id_with_valid ",
    },
];

/// The paths, each with the reason where it cannot answer the question.
pub(super) fn offers(asked: Asked) -> Vec<PathOffer> {
    PATHS.iter().map(|of| PathOffer::of_planner(of.path, of.absence(asked))).collect()
}

impl SqlitePath {
    fn of(path: AccessPath) -> Result<&'static SqlitePath, SubjectError> {
        let none = || SubjectError::Parameters(format!("SQLite has no path {}", path.name()));
        PATHS.iter().find(|of| of.path == path).ok_or_else(none)
    }

    fn absence(&self, asked: Asked) -> Option<&'static str> {
        match (self.index, asked) {
            (None, _) | (_, Asked::AllPass) => None,
            (_, Asked::NoPredicate) => Some("SQLite goes by an index only where something is compared with its key"),
            (_, Asked::HalfPass) => Some("an index scan compares its key and no other column"),
        }
    }

    /// The statement that asks the question by this path.
    fn statement(&self, asked: Asked) -> String {
        let condition = match asked {
            Asked::AllPass => self.condition,
            Asked::NoPredicate => "",
            Asked::HalfPass => " WHERE cust_year_of_birth > 1950",
        };
        let by = self.index.map_or("NOT INDEXED".into(), |(index, _)| format!("INDEXED BY {index}"));
        format!("SELECT count(cust_valid) FROM {TABLE} {by}{condition}")
    }
}

/// A path that SQLite goes now.
struct Prepared {
    statement: String,
    count: u64,
}

/// SQLite with the table of customers, in a database that is removed at the end.
pub struct SqlitePaths {
    page_bytes: u32,
    settings: AccessSettings,
    data: DataSet,
    scratch: PathBuf,
    clock: Clock,
    stop: Arc<AtomicBool>,
    name: String,
    planned: Vec<AccessPath>,
    database: Option<Database>,
    prepared: Option<Prepared>,
}

impl SqlitePaths {
    /// Makes nothing yet. Errors when a table cannot hold `settings.rows` rows.
    pub(super) fn create(
        page_bytes: u32,
        settings: AccessSettings,
        opening: &Opening<'_>,
    ) -> Result<SqlitePaths, SubjectError> {
        let data = DataSet::customers(settings.rows, settings.seed);
        data.check()?;
        Ok(SqlitePaths {
            page_bytes,
            settings,
            data,
            scratch: opening.environment.scratch.clone(),
            clock: opening.clock,
            stop: Arc::clone(&opening.stop),
            name: subject_name(page_bytes),
            planned: Vec::new(),
            database: None,
            prepared: None,
        })
    }

    /// The indexes of the paths that are planned.
    fn indexes(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        PATHS.iter().filter(|of| self.planned.contains(&of.path)).filter_map(|of| of.index)
    }

    fn bytes_needed(&self) -> u64 {
        let index = index_bytes(self.data.count(), KEY_BYTES, self.page_bytes);
        let indexes = index.saturating_mul(self.indexes().count() as u64);
        table_bytes(&self.data, self.page_bytes).saturating_add(indexes)
    }

    /// Makes and fills the table with the indexes of the planned paths, each brought into the cache by that.
    fn load(&mut self, progress: &mut Progress<'_>) -> Result<(), SubjectError> {
        let database = Database::create(&self.scratch, self.page_bytes, Need::cached(self.bytes_needed()), &self.stop)?;
        let name = &self.name;
        load(&database, (TABLE, &self.data), &format!("rows into {name}"), progress, &self.stop)?;
        for (index, columns) in self.indexes() {
            progress(&format!("making an index on {columns} in {name}"), Duration::from_secs(1));
            database.run(&format!("CREATE INDEX {index} ON {TABLE} ({columns})"))?;
        }
        self.database = Some(database);
        Ok(())
    }

    fn database(&self) -> Result<&Database, SubjectError> {
        self.database.as_ref().ok_or(SubjectError::NotPrepared)
    }

    /// What is known of a path: what it takes of the file, and how often pages are visited.
    fn metrics(&self, of: &SqlitePath, gets: u64) -> Result<Vec<Metric>, SubjectError> {
        let (database, rows) = (self.database()?, self.settings.rows);
        let index = of.index.map(|(index, _)| database.pages(index)).transpose()?;
        Ok(PathBlocks { table: database.pages(TABLE)?, index, gets, rows }.metrics(of.path, "dbstat"))
    }
}

fn sources() -> Sources {
    Sources {
        cpu: "CPU clock of the thread (CLOCK_THREAD_CPUTIME_ID)".into(),
        is_processor_time: true,
        // A statement does more than read: SQLite's virtual machine runs it.
        is_in_process: false,
        elapsed: "from the first step of the statement to its answer, one pass",
        rows: "rows of the table",
        gets: "sqlite3_db_status (CACHE_HIT and CACHE_MISS), one pass",
        physical_reads: "sqlite3_db_status (CACHE_MISS), one pass",
        touched: "",
        cache: Cache { name: "SQLite's page cache", advice: "Give fewer --rows." },
    }
}

impl Subject for SqlitePaths {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Parameters {
        description(self.page_bytes, &[("rows", json!(self.settings.rows))])
    }

    fn finish(self: Box<Self>) -> Closing {
        Closing { outcome: self.database.map_or(Ok(()), Database::finish), ..Closing::quiet() }
    }
}

impl AccessPaths for SqlitePaths {
    fn paths(&self, asked: Asked) -> Vec<PathOffer> {
        offers(asked)
    }

    fn plan(&mut self, paths: &[AccessPath]) -> Result<Vec<MemoryNeed>, SubjectError> {
        self.planned = paths.to_vec();
        Ok(vec![MemoryNeed { structure: "the page cache of SQLite", bytes: self.bytes_needed() }])
    }

    fn prepare(
        &mut self,
        path: AccessPath,
        asked: Asked,
        progress: &mut Progress<'_>,
    ) -> Result<Result<PathFacts, Finding>, SubjectError> {
        self.prepared = None;
        if self.database.is_none() {
            self.load(progress)?;
        }
        progress(&format!("{} by {}", self.name, path.name()), Duration::from_secs(1));
        let of = SqlitePath::of(path)?;
        let (database, statement) = (self.database()?, of.statement(asked));
        database.expect_plan(&statement, &[of.step.into()])?;
        let count = database.number(&statement)?;
        let gets = database.measure(&statement, count, 1, &self.clock)?.gets.total();
        let metrics = self.metrics(of, gets)?;
        self.prepared = Some(Prepared { statement, count });
        Ok(Ok(PathFacts {
            parameters: Parameters::new(),
            metrics,
            kernel: None,
            sampling: Sampling { time: SAMPLE_TIME, laps_max: LAPS_MAX, lap_time: None },
            sources: sources(),
        }))
    }

    fn scan(&mut self, pass: &ScanPass<'_>) -> Result<ScanCost, SubjectError> {
        let Prepared { statement, count } = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?;
        let counters = Counters::of_this_thread(Rings::widest());
        let counted = (&self.clock, &counters);
        let taken = self.database()?.measure_counted(statement, *count, pass.laps, counted)?;
        Ok(ScanCost {
            cpu: taken.cpu,
            elapsed: taken.elapsed,
            tally: counters.read(),
            gets: taken.gets.total(),
            physical_reads: taken.gets.misses,
            rows: self.settings.rows,
            count: *count,
            ..ScanCost::default()
        })
    }
}
