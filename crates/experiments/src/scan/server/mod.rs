//! The same on a PostgreSQL server: the engine's rows in a table of its own, one question by the planner's ways one by
//! one, with everything in shared buffers, and the engine beside it.

mod answers;
mod measuring;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::quantity::{counted, size_in_words};
use measure::{Finding, Nanos};
use serde_json::json;
use server::activity::Activity;
use server::private::PrivateServer;
use server::{Address, Limits, ServerError, Session, Statements};
use subjects::access_paths::Asked;
use subjects::logical_reads::SubjectError;
use subjects::postgres::access_paths::{ServerPath, ServerPaths};
use subjects::postgres::customers::Customers;
use subjects::postgres::instructions::{self, CountedRows, SCRIPT_TIME, SCRIPTS};
use subjects::postgres::statement::Meter;
use sys::counters as machine_counters;

use super::ScanParameters;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::on_server;
use measuring::MeasuredOnServer;

/// A scan of a table beyond this part of the shared buffers passes through a ring of them and leaves nothing behind.
const BUFFERS_PART: u64 = 4;

/// About what loading a row takes with its indexes.
const LOAD_TIME_A_ROW: Duration = Duration::from_micros(8);

/// The engine among subjects.
const ENGINE: &str = "engine";

/// How often the cost of a statement that does nothing is measured.
const EMPTY_STATEMENTS: usize = 21;

/// The server that the experiment is run on.
#[derive(Clone, Debug)]
pub struct OnServer {
    /// How to reach it.
    pub address: Address,
    /// How long things may take there.
    pub limits: Limits,
    /// Ways to the rows; those that do not answer the question are left out. Empty: all.
    pub paths: Vec<ServerPath>,
    /// Whether the engine is measured too.
    pub beside: Beside,
}

/// What is measured beside a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// The embedded engine, over the same rows.
    Engine,
    /// Nothing.
    Nothing,
}

impl OnServer {
    fn chosen(&self, asked: Asked) -> Vec<ServerPath> {
        let is_chosen = |path: &ServerPath| self.paths.is_empty() || self.paths.contains(path);
        ServerPath::ALL.into_iter().filter(is_chosen).filter(|path| path.unfit(asked).is_none()).collect()
    }
}

/// Rows from which on the planner goes each way that it is left; below 5000 an index that holds more columns is as
/// short.
const ROWS_MIN: u64 = 10_000;

/// What every step is given.
struct Bench<'a> {
    parameters: &'a ScanParameters,
    machine: &'a Machine,
    on: &'a OnServer,
    paths: ServerPaths,
    /// The server in the document: `postgres 18.6`.
    name: String,
    /// What a statement costs that does nothing.
    nothing: Nanos,
    /// What all paths must count, and who counted it first.
    expected: Option<(&'static str, u64)>,
    instructions: Vec<CountedRows>,
    activity: Activity,
    shares: on_server::share::Shares,
    found: Vec<MeasuredOnServer>,
}

/// Runs the experiment on a server and on the engine beside it, and leaves nothing on the server. ^C ends it after the
/// pass under way; what was kept is kept.
///
/// `private` is the server where it is one of this program's own: only its backend can be counted by valgrind.
pub fn run_beside(
    parameters: &ScanParameters,
    on: &OnServer,
    private: Option<&mut PrivateServer>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    check_rows(parameters)?;
    // Before the engine is measured: a wrong address and a standby are better told at once.
    on_server::check_primary(&open(on, machine)?)?;
    let (engine, count) = match on.beside {
        Beside::Engine => super::measure_engine(parameters, Some(ENGINE), machine, journal)?,
        Beside::Nothing => (Vec::new(), None),
    };
    let expected = count.map(|count| (ENGINE, count));
    let outcome = measure_server(parameters, on, (private, expected), machine, journal);
    match outcome {
        Err(ExperimentError::Stopped) => return Ok(()),
        outcome => answers::compare(&outcome?, &engine, journal),
    }
    if !machine.stop.requested() {
        machine.report_disturbances(journal);
    }
    Ok(())
}

/// Notes every statement that [`run_beside`] would send to a given server.
pub fn rehearse(
    parameters: &ScanParameters,
    on: &OnServer,
    machine: &Machine,
    statements: &Statements,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    check_rows(parameters)?;
    let stop = machine.stop.share();
    let session = Session::rehearsal(&on.address, on.limits, stop, statements.clone()).map_err(SubjectError::from)?;
    let mut bench = begin(session, parameters, on, machine)?;
    bench.measure_all(&mut on_server::Nobody)?;
    Ok(bench.paths.finish()?)
}

/// Refuses a table of which the planner would rather take another way.
fn check_rows(parameters: &ScanParameters) -> Result<(), ExperimentError> {
    if parameters.rows < ROWS_MIN {
        return Err(ExperimentError::Parameters(format!(
            "--rows {} is too few for a server, whose planner takes another way than the one to be measured through so \
             small a table: give at least {ROWS_MIN}",
            parameters.rows
        )));
    }
    Ok(())
}

fn open(on: &OnServer, machine: &Machine) -> Result<Session, ExperimentError> {
    Ok(Session::open(&on.address, on.limits, machine.stop.share()).map_err(SubjectError::from)?)
}

fn begin<'a>(
    session: Session,
    parameters: &'a ScanParameters,
    on: &'a OnServer,
    machine: &'a Machine,
) -> Result<Bench<'a>, ExperimentError> {
    let name = session.facts().name();
    let paths = ServerPaths::open(session, parameters.rows, parameters.seed)?;
    Ok(Bench {
        parameters,
        machine,
        on,
        paths,
        name,
        nothing: Nanos::ZERO,
        expected: None,
        instructions: Vec::new(),
        activity: Activity::default(),
        shares: on_server::share::Shares::default(),
        found: Vec::new(),
    })
}

/// Measures on the server. What was made there is removed on every way out.
fn measure_server(
    parameters: &ScanParameters,
    on: &OnServer,
    (private, expected): (Option<&mut PrivateServer>, Option<(&'static str, u64)>),
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Vec<MeasuredOnServer>, ExperimentError> {
    let counted = match private {
        Some(private) => count_instructions(parameters, on, private, machine, journal)?,
        None => Vec::new(),
    };
    journal.step("connecting to the server", Duration::from_secs(1));
    let session = open(on, machine)?;
    describe(&session, parameters, journal)?;
    let mut bench = begin(session, parameters, on, machine)?;
    (bench.instructions, bench.expected) = (counted, expected);
    report_meter(bench.paths.meter(), journal);
    report_unfit(on, parameters.asked, journal);
    let outcome = bench.measure_all(journal);
    let Bench { paths, activity, shares, found, name, .. } = bench;
    let removed = paths.finish();
    if let Err(error) = &removed {
        journal.find(on_server::schema_left(error, &on.address));
    }
    outcome?;
    removed?;
    answers::report(&found, &name, journal);
    on_server::report_activity(&activity, journal);
    shares.report(journal);
    Ok(found)
}

impl Bench<'_> {
    fn measure_all(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        self.load(journal)?;
        let mut costs = Vec::new();
        for _ in 0..EMPTY_STATEMENTS {
            costs.push(self.paths.measure_nothing()?);
        }
        costs.sort_unstable();
        self.nothing = costs[EMPTY_STATEMENTS / 2];
        for path in self.on.chosen(self.parameters.asked) {
            self.activity.look(self.paths.session()).map_err(SubjectError::from)?;
            journal.step(&format!("{} by {}", self.name, path.name()), Duration::from_secs(2));
            measuring::case(self, path, journal)?;
        }
        self.activity.look(self.paths.session()).map_err(SubjectError::from)?;
        Ok(())
    }

    fn load(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let rows = self.parameters.rows;
        let expected = LOAD_TIME_A_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
        journal.step(&format!("loading {rows} rows and their indexes on {}", self.name), expected);
        Ok(self.paths.load(&mut |_, _| {})?)
    }
}

/// Says on what is measured, after it was seen that there is room for it.
fn describe(session: &Session, parameters: &ScanParameters, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let facts = session.facts();
    let needed = Customers::bytes_needed(parameters.rows);
    on_server::check_space(session, needed, "--rows", journal)?;
    on_server::describe(session, journal);
    journal.describe_subject("rows", json!(parameters.rows));
    let table = Customers::table_bytes(parameters.rows);
    if table > facts.buffer_bytes / BUFFERS_PART {
        let fitting = facts.buffer_bytes / BUFFERS_PART / (table / parameters.rows.max(1)).max(1);
        journal.find(Finding::warning(
            "table-exceeds-buffers",
            format!(
                "The table takes {} and the server's shared buffers {}: a scan of more than a quarter of them passes \
                 through a ring and leaves nothing there, so that blocks come from the operating system again and \
                 again. --rows {fitting} would stay.",
                size_in_words(table >> 20 << 20),
                size_in_words(facts.buffer_bytes)
            ),
        ));
    }
    Ok(())
}

fn report_meter(meter: &Meter, journal: &mut dyn Journal) {
    if let Meter::Explain(reason) = meter {
        journal.find(Finding::warning(
            "absent-backend-time",
            format!(
                "The backend's processor time could not be had, because {reason}: costs are EXPLAIN's execution times, \
                 which contain waits and the counting itself. Run readpath on the server's own machine."
            ),
        ));
    }
}

fn report_unfit(on: &OnServer, asked: Asked, journal: &mut dyn Journal) {
    let is_wanted = |path: &ServerPath| on.paths.is_empty() || on.paths.contains(path);
    for path in ServerPath::ALL.into_iter().filter(is_wanted) {
        if let Some(reason) = path.unfit(asked) {
            let message =
                format!("{} was not asked the question {} on the server: {reason}.", path.name(), asked.name());
            journal.find(Finding::info(&format!("absent-{}", path.name()), message));
        }
    }
}

/// Counts the instructions of each path in single-user mode under valgrind, where the processor counts none and nobody
/// has asked to leave that out. What could not be counted is a finding, because everything else can be measured.
fn count_instructions(
    parameters: &ScanParameters,
    on: &OnServer,
    private: &mut PrivateServer,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Vec<CountedRows>, ExperimentError> {
    let (Some(child), Some(_)) = (&parameters.child, machine_counters::hardware_absence()) else {
        return Ok(Vec::new());
    };
    let paths = on.chosen(parameters.asked);
    let name = format!("postgres {}", private.version().text);
    let mut left = u32::try_from(paths.len()).unwrap_or(1) * SCRIPTS;
    let mut progress = |path: ServerPath| {
        journal.step(&format!("counting {name}, {}, under valgrind", path.name()), SCRIPT_TIME * left);
        left = left.saturating_sub(SCRIPTS);
    };
    let stop: Arc<AtomicBool> = machine.stop.share();
    let (seed, limit) = (parameters.seed, child.valgrind.limit);
    let outcome = instructions::count(private, &paths, parameters.asked, seed, limit, &stop, &mut progress);
    let settings = private.settings().clone();
    let restarted = private.restart(settings, &stop);
    match (outcome, restarted) {
        (Err(error), _) if error.is_stop() => Err(error.into()),
        (_, Err(error)) => Err(SubjectError::from(ServerError::Machine(error.to_string())).into()),
        (Ok(counted), Ok(())) => {
            tell(&counted, &name, journal);
            Ok(counted)
        }
        (Err(error), Ok(())) => {
            let message = format!("Instructions of {name} were not counted under valgrind: {error}.");
            journal.find(Finding::warning("absent-valgrind-server", message));
            Ok(Vec::new())
        }
    }
}

fn tell(found: &[CountedRows], name: &str, journal: &mut dyn Journal) {
    let Some(first) = found.first() else { return };
    journal.find(Finding::info(
        "valgrind-server",
        format!(
            "Instructions of {name} are those of its backend in single-user mode under valgrind, in user mode: what \
             {} of a larger table add to the same statement, all blocks in shared buffers.",
            counted(first.rows, "row", "rows")
        ),
    ));
}
