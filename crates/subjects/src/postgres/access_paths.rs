//! A PostgreSQL server as a subject of the experiment on access paths: the customers in a table of its own, and one
//! question by the planner's paths one by one, with everything in shared buffers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use measure::quantity::{counted, size_in_words, whole_mebibytes};
use measure::schema::scan as schema;
use measure::schema::subjects::findings as row;
use measure::sorting;
use measure::{Finding, Metric, Nanos, Parameters};
use serde_json::json;
use server::session::ROW_TIME;
use server::statements::ROUND_TRIP;
use server::{Buffers, Plan, Schema, ServerError, Session};
use sys::counters::{Counters, Rings, Tally};

use super::customers::{Customers, CustomersIndex};
use super::fetched::{blocks_of, hidden_of};
use super::instructions::{self, Count};
use super::needs::Needs;
use super::notes::Notes;
use super::planner_paths::{PlannerPath, SETTINGS, offers};
use super::reached::Reached;
use super::statement::Meter;
use crate::access_paths::{
    AccessPath, AccessPaths, AccessSettings, Asked, Cache, CountedRows, Counting, MemoryNeed, PathBlocks, PathFacts,
    PathOffer, Sampling, ScanCost, ScanPass, Sources,
};
use crate::error::SubjectError;
use crate::opening::{Opening, Progress};
use crate::subject::{Closing, Subject};

/// Shared buffers of a private server: a scan of more than a quarter of them leaves nothing in them.
const TABLES_IN_BUFFERS: u64 = 5;
const SPARE_BUFFERS: u64 = 256 << 20;

/// A scan of a table beyond this part of the shared buffers passes through a ring of them and leaves nothing behind.
const BUFFERS_PART: u64 = 4;

/// Bytes that a bitmap takes for a block of the table, with room: an entry has about 50.
const BITMAP_BYTES_A_BLOCK: u64 = 128;
/// Most memory that a bitmap is given; of larger tables it remembers blocks instead of rows.
const WORK_MEMORY_MAX: u64 = 256 << 20;
const WORK_MEMORY_MIN: u64 = 4 << 20;

/// Rows from which on the planner goes each way that it is left; below 5000 an index that holds more columns is as
/// short.
const ROWS_MIN: u64 = 10_000;

/// Most rows: the number of a customer takes four bytes.
const ROWS_MAX: u64 = 2_147_483_647;

/// About what loading a row takes with its indexes.
const LOAD_TIME_A_ROW: Duration = Duration::from_micros(8);

/// How often the statement runs before everything is in shared buffers, or never will be.
const WARMING_RUNS: usize = 3;

/// How often the cost of a statement that does nothing is measured.
const EMPTY_STATEMENTS: usize = 21;

/// A sample lasts at least this long: the end of a statement, some microseconds, vanishes in it.
const SAMPLE_TIME: Nanos = Nanos::from_millis(50);
const LAPS_MAX: u32 = 256;

/// A server with the table of customers in the schema of a run.
pub struct PostgresPaths {
    // What is made and the session end before a private server does.
    schema: Option<Schema>,
    session: Option<Session>,
    reached: Reached,
    stop: Arc<AtomicBool>,
    notes: Notes,
    table: Customers,
    planned: Vec<AccessPath>,
    meter: Option<Meter>,
    /// What a statement costs that does nothing.
    nothing: Nanos,
    prepared: Option<Prepared>,
    buffer_bytes: u64,
}

/// A path that the planner takes now.
struct Prepared {
    statement: String,
    count: u64,
    buffers: Buffers,
}

/// Bytes of shared buffers that a private server needs for a table of this many rows.
pub(super) fn buffers_needed(rows: u64) -> u64 {
    TABLES_IN_BUFFERS.saturating_mul(Customers::table_bytes(rows)).saturating_add(SPARE_BUFFERS)
}

/// Refuses a table through which the planner takes other ways, and rows for which there is no number.
pub(super) fn check_rows(rows: u64) -> Result<(), String> {
    match rows {
        ROWS_MIN..=ROWS_MAX => Ok(()),
        ..ROWS_MIN => Err(format!(
            "--rows {rows} is too few for a server, whose planner takes another way than the one to be measured \
             through so small a table: give at least {ROWS_MIN}"
        )),
        _ => Err(format!(
            "--rows {rows} is too many for a server, on which a customer's number takes four bytes: give at most \
             {ROWS_MAX}"
        )),
    }
}

/// What is made for a table of this many rows.
pub(super) fn needs(rows: u64) -> Needs {
    Needs { made: Customers::bytes_needed(rows), temporary: Customers::index_bytes_max(rows), ..Needs::default() }
}

/// Most rows of a table that stays in shared buffers of this size.
fn rows_that_stay(buffer_bytes: u64) -> u64 {
    buffer_bytes / BUFFERS_PART / Customers::table_bytes(1)
}

/// What brings all blocks into shared buffers of this size. Fewer rows help only where a table that can be measured
/// stays.
fn advice(buffer_bytes: u64) -> &'static str {
    match rows_that_stay(buffer_bytes) {
        ROWS_MIN.. => "Give fewer --rows, or the server more shared_buffers.",
        _ => "Give the server more shared_buffers.",
    }
}

/// What makes a table stay in shared buffers of this size.
fn staying(buffer_bytes: u64) -> String {
    match rows_that_stay(buffer_bytes) {
        rows @ ROWS_MIN.. => format!("--rows {rows} would stay."),
        _ => {
            let bytes = Customers::table_bytes(ROWS_MIN) * BUFFERS_PART;
            let wanted = size_in_words(bytes.next_multiple_of(1 << 20));
            format!("No table stays that can be measured: set shared_buffers to at least {wanted}.")
        }
    }
}

/// The finding about a table that does not stay in the shared buffers.
pub(super) fn exceeding(rows: u64, buffer_bytes: u64) -> Option<Finding> {
    let table = Customers::table_bytes(rows);
    let message = || {
        format!(
            "The table takes {} and the server's shared buffers {}: a scan of more than a quarter of them passes \
             through a ring and leaves nothing there, so that blocks come from the operating system again and again. \
             {}",
            whole_mebibytes(table),
            size_in_words(buffer_bytes),
            staying(buffer_bytes)
        )
    };
    (table > buffer_bytes / BUFFERS_PART).then(|| row::TABLE_EXCEEDS_BUFFERS.of(message()))
}

/// What counting instructions of a server's backend came to, and the finding about it. Errors after ^C.
pub(super) fn counted_by_valgrind(
    name: &str,
    outcome: Result<Vec<CountedRows>, SubjectError>,
) -> Result<(Option<Finding>, Counting), SubjectError> {
    let found = match outcome {
        Err(SubjectError::Stopped) => return Err(SubjectError::Stopped),
        Err(error) => {
            let message = format!("Instructions of {name} were not counted under valgrind: {error}.");
            return Ok((Some(row::ABSENT_VALGRIND_SERVER.of(message)), Counting::None));
        }
        Ok(found) => found,
    };
    let explain = |first: &CountedRows| {
        row::VALGRIND_SERVER.of(format!(
            "Instructions of {name} are those of its backend in single-user mode under valgrind, in user mode: what {} \
             of a larger table add to the same statement, all blocks in shared buffers.",
            counted(first.rows, "row", "rows")
        ))
    };
    Ok((found.first().map(explain), Counting::Counted(found)))
}

impl PostgresPaths {
    /// Connects and sees what the server is; makes nothing.
    pub(super) fn open(
        reached: Reached,
        settings: &AccessSettings,
        opening: &mut Opening<'_>,
    ) -> Result<PostgresPaths, SubjectError> {
        // A wrong address is better known at once; the session is not kept idle until its turn.
        let session = reached.connect(opening)?;
        let notes = Notes::of(&session, opening.clock);
        Ok(PostgresPaths {
            buffer_bytes: session.facts().buffer_bytes,
            schema: None,
            session: None,
            stop: opening.stop.clone(),
            reached,
            notes,
            table: Customers::new(server::schema::SCHEMA, "customers", settings.rows, settings.seed),
            planned: Vec::new(),
            meter: None,
            nothing: Nanos::ZERO,
            prepared: None,
        })
    }

    /// Makes and fills the table, and measures a statement that does nothing.
    fn load(&mut self, progress: &mut Progress<'_>) -> Result<(), SubjectError> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.reached.session()?,
        };
        let rows = self.table.rows;
        let time = LOAD_TIME_A_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
        let schema = self.schema.insert(Schema::create(session)?);
        self.notes.begin(schema, self.reached.private.is_some())?;
        let session = schema.session();
        session.set_all(SETTINGS)?;
        let blocks = Customers::table_bytes(rows) / session.facts().block_bytes.max(1);
        session.set("work_mem", &format!("{}kB", work_memory(blocks) >> 10))?;
        let meter = Meter::open(session)?;
        self.notes.note_meter(&meter);
        let loaded = counted(rows, "row", "rows");
        progress(&format!("loading {loaded} and their indexes on {}", self.notes.name()), time);
        schema.create_table(&self.table.name, &Customers::columns(), "")?;
        self.table.fill(schema.session())?;
        let (session, table) = (schema.session(), self.table.full_name());
        session.assume(time);
        let blocks = blocks_of(session, &table, blocks)?;
        let hidden = hidden_of(session, &table, blocks)?;
        self.notes.note_hidden((hidden, blocks), "the table");
        let mut nothing = |_| Ok(meter.measure(schema.session(), "SELECT 0", 0, 1)?.cpu);
        let mut costs = (0..EMPTY_STATEMENTS).map(&mut nothing).collect::<Result<Vec<Nanos>, SubjectError>>()?;
        sorting::ascending(&mut costs);
        self.nothing = costs[EMPTY_STATEMENTS / 2];
        self.meter = Some(meter);
        Ok(())
    }

    /// Leaves the planner one way, makes sure that it goes it, and brings into shared buffers what has room there.
    /// Gives what is known of it then.
    fn turn_to(&mut self, of: &PlannerPath, asked: Asked) -> Result<(Prepared, Vec<Metric>), SubjectError> {
        let (table, statement) = (&self.table, of.statement(asked, &self.table));
        let session = self.schema.as_mut().ok_or(SubjectError::NotPrepared)?.session();
        of.turn_to(session)?;
        let count = session.number(&statement, table.rows)?;
        let mut prepared = Prepared { count, statement, buffers: Buffers::default() };
        let mut of_plan = Vec::new();
        for _ in 0..WARMING_RUNS {
            let plan = of.explained(session, asked, table)?;
            session.assume(ROW_TIME.saturating_mul(u32::try_from(table.rows).unwrap_or(u32::MAX)));
            prepared.buffers = plan.buffers()?;
            of_plan = metrics_of_plan(&plan);
            if prepared.buffers.reads == 0 {
                break;
            }
        }
        let (rows, gets) = (table.rows, prepared.buffers.gets());
        let mut blocks = PathBlocks { table: blocks_of(session, &table.full_name(), 0)?, index: None, gets, rows };
        let mut more = Vec::new();
        if let Some(index) = of.index {
            let name = format!("{}.{}", server::schema::SCHEMA, table.index_name(index));
            blocks.index = Some(blocks_of(session, &name, 0)?);
            let source = "pg_stats: how the order of rows follows that of the index's key, -1 to 1";
            more.extend(correlation(session, table, index)?.map(|value| schema::CORRELATION.single(source, value)));
        }
        let metrics = [blocks.metrics(of.path, "pg_relation_size"), of_plan, more].concat();
        Ok((prepared, metrics))
    }

    /// What a statement is taken to last on a given server; on a private one it is measured.
    fn lap_time(&self) -> Option<Nanos> {
        let rows = u32::try_from(self.table.rows).unwrap_or(u32::MAX);
        self.reached.private.is_none().then(|| (ROUND_TRIP + ROW_TIME.saturating_mul(rows)).into())
    }

    fn sources(&self) -> Sources {
        let source = self.meter.as_ref().map_or("", Meter::source);
        Sources {
            cpu: format!("{source}, less that of a statement that does nothing"),
            is_processor_time: matches!(self.meter, Some(Meter::Account(_))),
            is_in_process: false,
            elapsed: "from sending the statement to its answer, one pass",
            rows: "rows of the table",
            gets: "EXPLAIN (ANALYZE, BUFFERS), one pass",
            physical_reads: "blocks that were not in shared buffers, by EXPLAIN, one pass",
            touched: "",
            cache: Cache { name: "shared buffers", advice: advice(self.buffer_bytes) },
        }
    }
}

impl Subject for PostgresPaths {
    fn name(&self) -> &str {
        self.notes.name()
    }

    fn description(&self) -> Parameters {
        self.notes.description()
    }

    fn findings(&mut self) -> Vec<Finding> {
        match &mut self.schema {
            Some(schema) => self.notes.look(schema.session()),
            None => self.notes.take(),
        }
    }

    fn finish(self: Box<Self>) -> Closing {
        let PostgresPaths { mut schema, session, reached, notes, .. } = *self;
        drop(session);
        // A private server goes with all it holds, and may have ended.
        if reached.private.is_some() {
            schema.iter_mut().for_each(Schema::forget);
        }
        let closing = notes.close(schema);
        drop(reached);
        closing
    }
}

impl AccessPaths for PostgresPaths {
    fn paths(&self, asked: Asked) -> Vec<PathOffer> {
        offers(asked)
    }

    fn plan(&mut self, paths: &[AccessPath]) -> Result<Vec<MemoryNeed>, SubjectError> {
        self.planned = paths.to_vec();
        let session = self.reached.session()?;
        self.notes.check_space(&session, Customers::bytes_needed(self.table.rows), "--rows")?;
        self.notes.describe("rows", json!(self.table.rows));
        self.notes.find(exceeding(self.table.rows, session.facts().buffer_bytes));
        self.session = Some(session);
        Ok(Vec::new())
    }

    /// Only the backend of a private server can run under valgrind.
    fn count_instructions(
        &mut self,
        asked: Asked,
        limit: Duration,
        progress: &mut Progress<'_>,
    ) -> Result<Counting, SubjectError> {
        let Some(private) = &mut self.reached.private else { return Ok(Counting::None) };
        self.session = None;
        let (name, paths, seed) = (self.notes.name(), &self.planned, self.table.seed);
        let outcome = instructions::count(private, &Count { name, paths, asked, seed, limit }, &self.stop, progress);
        let settings = private.settings().clone();
        private.restart(settings, &self.stop)?;
        let (finding, counting) = counted_by_valgrind(self.notes.name(), outcome)?;
        self.notes.find(finding);
        Ok(counting)
    }

    fn prepare(
        &mut self,
        path: AccessPath,
        asked: Asked,
        progress: &mut Progress<'_>,
    ) -> Result<Result<PathFacts, Finding>, SubjectError> {
        if self.schema.is_none() {
            self.load(progress)?;
        }
        progress(&format!("{} by {}", self.notes.name(), path.name()), Duration::from_secs(2));
        self.prepared = None;
        if path == AccessPath::IndexOnlyScan && self.notes.has_hidden() {
            return Ok(Err(schema::findings::ABSENT_PATH.named(path.name(), absence_of_hidden(self.notes.name()))));
        }
        let (prepared, metrics) = self.turn_to(PlannerPath::of(path)?, asked)?;
        self.prepared = Some(prepared);
        Ok(Ok(PathFacts {
            parameters: Parameters::new(),
            metrics,
            kernel: None,
            sampling: Sampling { time: SAMPLE_TIME, laps_max: LAPS_MAX, lap_time: self.lap_time() },
            sources: self.sources(),
        }))
    }

    fn scan(&mut self, pass: &ScanPass<'_>) -> Result<ScanCost, SubjectError> {
        let prepared = self.prepared.as_ref().ok_or(SubjectError::NotPrepared)?;
        let meter = self.meter.as_ref().ok_or(SubjectError::NotPrepared)?;
        let session = self.schema.as_mut().ok_or(SubjectError::NotPrepared)?.session();
        let measured = || measured(meter, session, prepared, pass.laps);
        let (cost, elapsed, tally) = self.notes.timed(measured, |(cost, ..)| *cost)?;
        let laps = u64::from(pass.laps);
        Ok(ScanCost {
            cpu: cost.since(Nanos(self.nothing.0 * laps)),
            elapsed,
            tally,
            gets: prepared.buffers.gets() * laps,
            physical_reads: prepared.buffers.reads * laps,
            rows: self.table.rows,
            count: prepared.count,
            ..ScanCost::default()
        })
    }
}

/// Passes one after the other: what they cost, how long they took, and what was counted of the backend, where it runs
/// on this machine.
fn measured(
    meter: &Meter,
    session: &mut Session,
    prepared: &Prepared,
    laps: u32,
) -> Result<(Nanos, Nanos, Tally), SubjectError> {
    let counters = match meter {
        Meter::Account(_) => Counters::of_process(session.facts().process, Rings::widest()),
        Meter::Explain(_) => None,
    };
    if let Some(counters) = &counters {
        counters.start();
    }
    let started = Instant::now();
    let taken = meter.measure(session, &prepared.statement, prepared.count, laps)?;
    // In a dry run time is assumed, and none passes.
    let passed = if session.is_rehearsal() { u64::MAX } else { started.elapsed().as_nanos() as u64 };
    let elapsed = taken.elapsed.0.min(passed);
    let tally = counters.map_or_else(Tally::default, |counters| {
        counters.stop();
        counters.read()
    });
    Ok((taken.cpu, Nanos(elapsed), tally))
}

/// Why an index alone does not do where a transaction of another session may not see all rows.
fn absence_of_hidden(server: &str) -> String {
    format!(
        "An index-only scan was not measured on {server}, because something there is older than the load, such as \
         an open transaction: every row would be looked up in the table. Repeat the run when it has ended."
    )
}

/// What only the plan says of a path.
fn metrics_of_plan(plan: &Plan) -> Vec<Metric> {
    let steps = plan.top.steps();
    let fetches = "rows that were looked for in the table all the same, by EXPLAIN";
    let exact = "blocks of which the bitmap knew every row, by EXPLAIN";
    let counted = [
        (schema::HEAP_FETCHES, fetches, steps.iter().find_map(|step| step.heap_fetches)),
        (schema::EXACT_HEAP_BLOCKS, exact, steps.iter().find_map(|step| step.exact_heap_blocks)),
    ];
    counted.into_iter().filter_map(|(spec, source, value)| Some(spec.count(source, value?))).collect()
}

fn correlation(session: &mut Session, table: &Customers, index: CustomersIndex) -> Result<Option<f64>, ServerError> {
    let statement = format!(
        "SELECT correlation FROM pg_stats WHERE schemaname = '{}' AND tablename = '{}' AND attname = '{}'",
        server::schema::SCHEMA,
        table.name,
        index.column()
    );
    Ok(session.text(&statement, None)?.and_then(|value| value.parse().ok()))
}

/// Bytes of a bitmap over this many blocks that remembers every row.
fn work_memory(blocks: u64) -> u64 {
    (blocks * BITMAP_BYTES_A_BLOCK).clamp(WORK_MEMORY_MIN, WORK_MEMORY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_advised_are_taken_and_stay() {
        for buffers in [128 << 10, 8 << 20, 9 << 20, 10 << 20, 16 << 20, 128 << 20, 1 << 40_u64] {
            let advice = staying(buffers);
            match advice.strip_prefix("--rows ").and_then(|advice| advice.strip_suffix(" would stay.")) {
                Some(rows) => {
                    let rows = rows.parse().unwrap();
                    assert!(check_rows(rows).is_ok(), "{buffers}: {advice}");
                    assert!(Customers::table_bytes(rows) <= buffers / BUFFERS_PART, "{buffers}: {advice}");
                }
                None => assert!(
                    buffers < 10 << 20 && advice.ends_with("set shared_buffers to at least 10 MiB."),
                    "{buffers}: {advice}"
                ),
            }
        }
    }

    #[test]
    fn rows_that_have_no_number_are_refused_before_the_others_are_loaded() {
        assert_eq!(check_rows(ROWS_MAX), Ok(()));
        assert!(check_rows(ROWS_MAX + 1).unwrap_err().ends_with("give at most 2147483647"));
        assert!(check_rows(ROWS_MIN - 1).unwrap_err().ends_with("give at least 10000"));
    }

    #[test]
    fn fewer_rows_are_not_advised_where_no_table_stays() {
        for buffers in [1 << 20, 9 << 20, 10 << 20, 128 << 20] {
            let stays = !staying(buffers).starts_with("No table stays");
            assert_eq!(advice(buffers).contains("--rows"), stays, "{buffers}");
        }
    }

    #[test]
    fn a_bitmap_is_given_room_for_every_row_up_to_a_limit() {
        assert_eq!((work_memory(100), work_memory(100_000)), (4 << 20, 12_800_000));
        assert_eq!(work_memory(u64::MAX / 256), 256 << 20);
    }
}
