//! PostgreSQL as a contender: an index nested loop and bitmap heap scans over the same rows in the same blocks.

use std::path::{Path, PathBuf};
use std::time::Instant;

use measure::schema::contest::{CPU_PER_ROW, JOIN_TIME};
use server::private::Installation;
use subjects::postgres::inner_rows::InnerRows;
use sys::file::{Caching, Target, witness};

use crate::interruption::Interruption;
use crate::join::engine::{LARGE_POOL_BYTES, POOL_BYTES};
use crate::join::question::{CACHED, COLD, Keys, sum_of, table};
use crate::join::startups::{self, Startup};
use crate::ledger::Ledger;
use crate::private_postgres::{Connection, PrivatePostgres};

/// How the names of nested loops among the contenders begin.
pub(crate) const NESTED_LOOP: &str = "PostgreSQL nested loop";
/// How the names of bitmap scans begin.
pub(crate) const BITMAP: &str = "PostgreSQL bitmap scan";

/// Settings of effective_io_concurrency; 1000 is the most.
const CONCURRENCIES: [u32; 5] = [0, 16, 64, 256, 1000];

/// Repeats of what is cached; the least counts, because a disturbance can only add.
const CACHED_REPEATS: usize = 3;

/// What a part of the page cache may still hold of a file that was dropped from it.
const KEPT_MAX: f64 = 0.01;

/// What leaves the planner the nested loop with the index alone.
const BY_INDEX: &str = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; \
                        SET enable_seqscan = off; SET enable_memoize = off; SET enable_material = off";

/// A private server with the table.
pub(crate) struct Postgres {
    server: PrivatePostgres,
    files: Vec<PathBuf>,
    startups: Vec<Startup>,
    /// The ways to read that it lacks, with why.
    absent: Vec<(String, String)>,
}

impl Postgres {
    /// Starts a server, loads the table, and learns in which ways the server reads here.
    pub(crate) fn start(
        installation: &Installation,
        directory: &Path,
        rows: u64,
        interruption: &Interruption,
    ) -> Result<Postgres, String> {
        let mut server = PrivatePostgres::start(installation, directory, LARGE_POOL_BYTES, interruption)?;
        let mut session = server.connect()?;
        load(&mut session, rows, interruption)?;
        let found = startups::offered(&mut session, server.major())?;
        drop(session);
        let files = files(&server)?;
        let (mut startups, mut absent) = (Vec::new(), found.absent);
        for startup in found.startups {
            interruption.check()?;
            match server.restart(POOL_BYTES, &startup.settings) {
                Ok(()) => startups.push(startup),
                Err(reason) => absent.push((startup.name, reason)),
            }
        }
        Ok(Postgres { server, files, startups, absent })
    }

    /// Its version.
    pub(crate) fn name(&self) -> &str {
        &self.server.name
    }

    /// The ways to read that it lacks, with why.
    pub(crate) fn absent(&self) -> &[(String, String)] {
        &self.absent
    }

    /// One turn: every statement with nothing cached, in each way of reading, and the nested loop with everything
    /// cached.
    pub(crate) fn take_turn(&mut self, cold: Keys, cached: Keys, ledger: &mut Ledger) -> Result<(), String> {
        for startup in self.startups.clone() {
            self.take_cold_turn(&startup, cold, ledger)?;
        }
        self.take_cached_turn(cached, ledger)
    }

    fn take_cold_turn(&mut self, startup: &Startup, keys: Keys, ledger: &mut Ledger) -> Result<(), String> {
        let name = &startup.name;
        let mut session = self.cold_session(startup, BY_INDEX)?;
        let elapsed = timed(&mut session, &nested_loop(keys), keys, "Index Scan", ledger)?;
        ledger.add(COLD, &format!("{NESTED_LOOP}, {name}"), &JOIN_TIME, elapsed);
        for concurrency in CONCURRENCIES {
            let settings = format!(
                "SET enable_indexscan = off; SET enable_seqscan = off; SET effective_io_concurrency = {concurrency}"
            );
            let mut session = self.cold_session(startup, &settings)?;
            let elapsed = timed(&mut session, &bitmap(keys), keys, "Bitmap Heap Scan", ledger)?;
            ledger.add(COLD, &format!("{BITMAP}, {name}, concurrency {concurrency}"), &JOIN_TIME, elapsed);
        }
        Ok(())
    }

    fn take_cached_turn(&mut self, keys: Keys, ledger: &mut Ledger) -> Result<(), String> {
        self.server.restart(LARGE_POOL_BYTES, &[])?;
        let mut session = self.server.connect()?;
        session.run(BY_INDEX)?;
        let backend = session.backend()?;
        let statement = nested_loop(keys);
        let mut least = f64::INFINITY;
        // The first run brings what is not there yet.
        for repeat in 0..=CACHED_REPEATS {
            let (sum, taken) = session.processor_time(backend, |session| sum(session, &statement))?;
            ledger.check(&sum_of(keys), "PostgreSQL", sum)?;
            if repeat > 0 {
                least = least.min(taken.0 as f64);
            }
        }
        let name = format!("{NESTED_LOOP}, {}", self.server.major());
        ledger.add(CACHED, &name, &CPU_PER_ROW, least / keys.count as f64 / 1000.0);
        Ok(())
    }

    /// A session of a server that was just started, with none of the table in any cache of this machine.
    fn cold_session(&mut self, startup: &Startup, settings: &str) -> Result<Connection, String> {
        self.server.restart(POOL_BYTES, &startup.settings)?;
        for file in &self.files {
            drop_from_page_cache(file)?;
        }
        let mut session = self.server.connect()?;
        session.run(settings)?;
        Ok(session)
    }
}

fn nested_loop(keys: Keys) -> String {
    let (first, last) = (keys.first, keys.first + keys.count - 1);
    format!(
        "SELECT sum(value) FROM generate_series({first}::bigint, {last}::bigint) AS o(key) \
         JOIN inner_rows USING (key)"
    )
}

fn bitmap(keys: Keys) -> String {
    let (first, last) = (keys.first, keys.first + keys.count - 1);
    format!("SELECT sum(value) FROM inner_rows WHERE key BETWEEN {first} AND {last}")
}

fn sum(session: &mut Connection, statement: &str) -> Result<i64, String> {
    let value = session.value(statement)?;
    value.parse().map_err(|_| format!("`{statement}` gave `{value}`, no whole number"))
}

/// Milliseconds of a statement. Its plan is made before, so that what planning reads of the catalogue is there.
fn timed(
    session: &mut Connection,
    statement: &str,
    keys: Keys,
    node: &str,
    ledger: &mut Ledger,
) -> Result<f64, String> {
    let plan = session.lines(&format!("EXPLAIN (COSTS OFF) {statement}"))?;
    if !plan.iter().any(|line| line.contains(node) && line.contains("inner_rows")) {
        return Err(format!("PostgreSQL takes another path than {node}:\n{}", plan.join("\n")));
    }
    let start = Instant::now();
    let sum = sum(session, statement)?;
    let elapsed = start.elapsed();
    ledger.check(&sum_of(keys), "PostgreSQL", sum)?;
    Ok(elapsed.as_secs_f64() * 1e3)
}

fn drop_from_page_cache(path: &Path) -> Result<(), String> {
    let sentence = |error: &dyn std::fmt::Display| format!("{} stays in the page cache: {error}", path.display());
    let target = Target::open(path, Caching::Buffered).map_err(|error| sentence(&error))?;
    witness::evict(&target, 0, target.size()).map_err(|error| sentence(&error))?;
    let cached = witness::cached(&target, 0, target.size()).map_err(|error| sentence(&error))?;
    if cached.pages as f64 > KEPT_MAX * cached.of as f64 {
        return Err(sentence(&format!("{} of {} pages", cached.pages, cached.of)));
    }
    Ok(())
}

fn load(session: &mut Connection, rows: u64, interruption: &Interruption) -> Result<(), String> {
    let mut quiet = |_, _| ();
    let chunks = InnerRows::new(table(rows)).chunks(&mut quiet).map_err(|error| error.to_string())?;
    session.fill("inner_rows", "(key bigint, value bigint, filler text)", chunks)?;
    interruption.check()?;
    session.run("SET maintenance_work_mem = '1GB'")?;
    session.run("CREATE UNIQUE INDEX inner_by_key ON inner_rows (key)")?;
    session.run("VACUUM (FREEZE, ANALYZE) inner_rows")?;
    session.run("CHECKPOINT")?;
    let blocks = session.number("SELECT relpages FROM pg_class WHERE relname = 'inner_rows'")?;
    if blocks == rows.div_ceil(7) { Ok(()) } else { Err(format!("PostgreSQL needs {blocks} blocks for {rows} rows")) }
}

/// The files of the table and its index, which are on the disk afterwards.
fn files(server: &PrivatePostgres) -> Result<Vec<PathBuf>, String> {
    let mut found = server.relation_files("inner_rows")?;
    found.extend(server.relation_files("inner_by_key")?);
    for path in &found {
        let synced = std::fs::OpenOptions::new().write(true).open(path).and_then(|file| file.sync_all());
        synced.map_err(|error| format!("{} cannot be flushed: {error}", path.display()))?;
    }
    Ok(found)
}
