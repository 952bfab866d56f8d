//! The same on a PostgreSQL server: the engine's rows in a table of its own, a nested loop by the index and bitmap heap
//! scans over the same keys, with as little cached as the server allows, and the engine beside it.

mod answers;
mod measuring;

use std::time::Duration;

use measure::quantity::rounded_size;
use measure::{Finding, Parameters};
use serde_json::json;
use server::activity::Activity;
use server::private::PrivateServer;
use server::{Address, Limits, Session, Statements, space};
use subjects::NestedLoops;
use subjects::logical_reads::SubjectError;
use subjects::nested_loops::{InnerTable, JoinPass};
use subjects::postgres::cold::{Cold, Emptying, Startup};
use subjects::postgres::inner_rows::{InnerRows, JoinKeys};
use subjects::postgres::nested_loops::{ServerJoin, ServerLoops};

use super::{Bench, JoinParameters, ROWID_BATCH_SIZE, begin_engine};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::on_server;
use measuring::MeasuredOnServer;
use storage::exec::nested_loop::Method;

/// The engine among subjects.
const ENGINE: &str = "engine";

/// Settings of `effective_io_concurrency` where nobody asks for others: none, the usual one before 18 and from 18 on,
/// and up to the most that there is.
pub const CONCURRENCIES: [u32; 6] = [0, 1, 16, 64, 256, 1000];

/// The most that `effective_io_concurrency` can be.
const CONCURRENCY_MAX: u32 = 1000;

/// What the page cache may still hold of a private server's files when it was emptied.
const KEPT_MAX: f64 = 0.01;

/// The server that the experiment is run on.
#[derive(Clone, Debug)]
pub struct OnServer {
    /// How to reach it.
    pub address: Address,
    /// How long things may take there.
    pub limits: Limits,
    /// Values of `effective_io_concurrency`.
    pub concurrencies: Vec<u32>,
}

impl OnServer {
    /// Refuses what a server cannot be asked, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        match self.concurrencies.iter().find(|value| **value > CONCURRENCY_MAX) {
            Some(value) => Err(ExperimentError::Parameters(format!(
                "--concurrency {value} cannot be: effective_io_concurrency is 0 to {CONCURRENCY_MAX}"
            ))),
            None => Ok(()),
        }
    }

    fn joins(&self) -> Vec<ServerJoin> {
        let bitmaps = self.concurrencies.iter().map(|concurrency| ServerJoin::BitmapScan { concurrency: *concurrency });
        std::iter::once(ServerJoin::NestedLoop).chain(bitmaps).collect()
    }
}

/// What every step is given.
struct ServerBench<'a> {
    parameters: &'a JoinParameters,
    machine: &'a Machine,
    on: &'a OnServer,
    loops: ServerLoops<'a>,
    /// The engine over the same rows; none in a rehearsal.
    engine: Option<Bench<'a>>,
    /// The server in the document: `postgres 18.6`.
    name: String,
    /// Joins so far, each of which takes keys of its own.
    turn: u64,
    activity: Activity,
    found: Vec<MeasuredOnServer>,
}

/// Runs the experiment on the engine and on a server, and leaves nothing on the server. ^C ends it after the join under
/// way; what was kept is kept.
///
/// `private` is the server where it is one of this program's own, which is restarted and whose files leave the page
/// cache.
pub fn run_beside(
    parameters: &JoinParameters,
    on: &OnServer,
    private: Option<&mut PrivateServer>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    on.check()?;
    // Before the engine is measured: a wrong address and a full disk are better told at once.
    let session = open(on, machine)?;
    on_server::check_primary(&session)?;
    let needed = inner_rows(parameters, 0).bytes_needed(session.facts().block_bytes);
    space::check(&session, needed).map_err(SubjectError::from)?;
    drop(session);
    let mut engine = begin_engine(parameters, Some(ENGINE), machine, journal)?;
    let outcome = engine
        .measure_all(journal)
        .and_then(|gains| measure_server(parameters, on, (private, engine), machine, journal).map(|of| (of, gains)));
    match outcome {
        Err(ExperimentError::Stopped) => return Ok(()),
        outcome => {
            let ((found, name), gains) = outcome.map_err(ExperimentError::advised)?;
            answers::report(&found, &name, &gains, journal);
        }
    }
    if !machine.stop.requested() {
        machine.report_disturbances(journal);
    }
    Ok(())
}

/// Notes every statement that [`run_beside`] would send to a given server.
pub fn rehearse(
    parameters: &JoinParameters,
    on: &OnServer,
    machine: &Machine,
    statements: &Statements,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    on.check()?;
    let stop = machine.stop.share();
    let session = Session::rehearsal(&on.address, on.limits, stop, statements.clone()).map_err(SubjectError::from)?;
    let mut bench = begin(session, parameters, on, (None, None), machine)?;
    bench.measure_all(&mut on_server::Nobody)?;
    Ok(bench.loops.finish()?)
}

fn open(on: &OnServer, machine: &Machine) -> Result<Session, ExperimentError> {
    Ok(Session::open(&on.address, on.limits, machine.stop.share()).map_err(SubjectError::from)?)
}

fn begin<'a>(
    mut session: Session,
    parameters: &'a JoinParameters,
    on: &'a OnServer,
    (private, engine): (Option<&'a mut PrivateServer>, Option<Bench<'a>>),
    machine: &'a Machine,
) -> Result<ServerBench<'a>, ExperimentError> {
    let name = session.facts().name();
    let cold = Cold::of(&mut session, private, machine.stop.share())?;
    let loops = ServerLoops::open(session, cold, &inner_rows(parameters, 0))?;
    let activity = Activity::default();
    Ok(ServerBench { parameters, machine, on, loops, engine, name, turn: 0, activity, found: Vec::new() })
}

fn inner_rows(parameters: &JoinParameters, rand: u8) -> InnerRows {
    InnerRows::new(InnerTable { rows: parameters.rows, pad: parameters.pad, rand })
}

/// Measures on the server. What was made there is removed on every way out.
fn measure_server(
    parameters: &JoinParameters,
    on: &OnServer,
    (private, engine): (Option<&mut PrivateServer>, Bench<'_>),
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(Vec<MeasuredOnServer>, String), ExperimentError> {
    journal.step("connecting to the server", Duration::from_secs(1));
    let session = open(on, machine)?;
    describe(&session, parameters, journal)?;
    let mut bench = begin(session, parameters, on, (private, Some(engine)), machine)?;
    let outcome = bench.measure_all(journal);
    bench.report_caches(journal);
    let ServerBench { loops, activity, found, name, .. } = bench;
    let removed = loops.finish();
    if let Err(error) = &removed {
        journal.find(on_server::schema_left(error, &on.address));
    }
    outcome?;
    removed?;
    on_server::report_activity(&activity, journal);
    Ok((found, name))
}

/// Says on what is measured, after it was seen that there is room for it.
fn describe(session: &Session, parameters: &JoinParameters, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let facts = session.facts();
    let table = inner_rows(parameters, 0);
    let needed = table.bytes_needed(facts.block_bytes);
    on_server::check_space(session, needed, "--rows", journal)?;
    on_server::describe(session, journal);
    Ok(())
}

impl ServerBench<'_> {
    fn measure_all(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        for rand in self.parameters.rands.clone() {
            self.load(rand, journal)?;
            let startups = self.loops.startups()?;
            report_methods(&startups, journal);
            for startup in startups {
                if let Err(reason) = self.loops.start(&startup)? {
                    journal.find(absent(&startup, &reason));
                    continue;
                }
                self.activity.look(self.loops.schema().session()).map_err(SubjectError::from)?;
                let joins = self.on.joins();
                measuring::cases(self, rand, &startup, &joins, journal)?;
            }
        }
        self.activity.look(self.loops.schema().session()).map_err(SubjectError::from)?;
        Ok(())
    }

    fn load(&mut self, rand: u8, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        if let Some(engine) = &mut self.engine {
            engine.prepare(rand, journal)?;
        }
        let table = inner_rows(self.parameters, rand);
        let what = format!("the table with {rand} % of its rows out of order on {}", self.name);
        let mut shown = 0;
        let mut progress = |sent: u64, of: u64| {
            // A line a tenth; more would be drawn for nobody.
            if sent * 10 / of.max(1) > shown {
                shown = sent * 10 / of.max(1);
                journal.step(&format!("loading {what}, {sent} of {of} rows"), Duration::from_secs(2));
            }
        };
        let blocks = self.loops.load(table, &mut progress)?;
        journal.describe_subject("server_table_blocks", json!(blocks));
        Ok(())
    }

    /// The keys of the next join.
    fn next_keys(&mut self) -> JoinKeys {
        let keys = JoinKeys::of_turn(self.turn, self.parameters.outer_rows, self.parameters.rows);
        self.turn += 1;
        keys
    }

    /// The engine's sum over the same keys; that of the generator, from which both have their rows, in a rehearsal.
    fn engine_sum(&mut self, rand: u8, keys: JoinKeys) -> Result<i64, ExperimentError> {
        let Some(engine) = &mut self.engine else { return Ok(inner_rows(self.parameters, rand).sum(keys)?) };
        let method = Method::BatchedRowid(ROWID_BATCH_SIZE);
        let pass = JoinPass { method, first_key: keys.first, outer_rows: keys.count };
        Ok(engine.engine.join(&pass)?.found.sum)
    }

    /// Parameters that all cases of a table on a server have.
    fn case_parameters(&self, rand: u8, startup: &Startup) -> Parameters {
        let JoinParameters { pad, rows, outer_rows, .. } = self.parameters;
        let mut parameters = Parameters::new();
        parameters.insert("subject".into(), json!(self.name));
        parameters.insert("rand".into(), json!(rand));
        parameters.insert("pad".into(), json!(pad));
        parameters.insert("rows".into(), json!(rows));
        parameters.insert("outer_rows".into(), json!(outer_rows.min(rows)));
        parameters.insert("direct".into(), json!(startup.direct));
        if let Some(method) = &startup.io_method {
            parameters.insert("io_method".into(), json!(method));
        }
        parameters
    }

    /// Says where reads may have come from, and who did not time them.
    fn report_caches(&self, journal: &mut dyn Journal) {
        let cold = self.loops.cold();
        let page_cache = "Blocks that are not in shared buffers may come from the operating system's page cache, which \
                          only a private server's files leave: --on postgres:18 starts one.";
        match cold.emptying() {
            Emptying::Private => {}
            Emptying::Relation(_) | Emptying::Buffers(_) => {
                let message = format!("The table left shared buffers before each join. {page_cache}");
                journal.find(Finding::warning("page-cache-not-emptied", message));
            }
            Emptying::Never(reason) => {
                let message = format!(
                    "Shared buffers could not be emptied, because {reason}: each join took keys of its own instead, of \
                     which blocks may have been there. {page_cache}"
                );
                journal.find(Finding::warning("buffers-not-emptied", message));
            }
        }
        if let Some(kept) = cold.kept().filter(|kept| kept.pages as f64 > KEPT_MAX * kept.of as f64) {
            journal.find(Finding::warning(
                "page-cache-kept",
                format!(
                    "The page cache still held {} of {} pages of the server's files when it had been emptied: some \
                     reads were answered from memory. Repeat the run.",
                    kept.pages, kept.of
                ),
            ));
        } else if let Some(kept) = cold.kept() {
            journal.find(Finding::info(
                "cold",
                format!(
                    "Before each join the server's buffers were emptied and its files dropped from the page cache, \
                     which then held {} of {} pages at most ({}).",
                    kept.pages, kept.of, kept.source
                ),
            ));
        }
        if let Some(reason) = self.loops.untimed() {
            journal.find(Finding::warning(
                "absent-io-time",
                format!(
                    "The server did not time its reads, because track_io_timing is off and may not be set ({reason}): \
                     io_time is absent. A superuser may allow it with GRANT SET ON PARAMETER track_io_timing TO ...."
                ),
            ));
        }
    }
}

/// The I/O method that PostgreSQL was given for the sake of many reads at once.
const IO_URING: &str = "io_uring";

/// Says where a server's programs lack a method that the version has.
fn report_methods(startups: &[Startup], journal: &mut dyn Journal) {
    let methods: Vec<&str> = startups.iter().filter_map(|startup| startup.io_method.as_deref()).collect();
    if methods.len() > 1 && !methods.contains(&IO_URING) {
        journal.find(Finding::info(
            "absent-io-uring",
            "The server's programs do not offer io_method io_uring, because they were built without liburing: its \
             cases are absent. --on postgres:DIRECTORY takes the programs of another installation.",
        ));
    }
}

fn absent(startup: &Startup, reason: &str) -> Finding {
    let method = startup.io_method.as_deref().unwrap_or("its one I/O method");
    let direct = if startup.direct { ", past the page cache" } else { "" };
    let id = format!("absent-{}{}", method.replace('_', "-"), if startup.direct { "-direct" } else { "" });
    Finding::info(&id, format!("The server does not start with {method}{direct}: {reason}. Its cases are absent."))
}

/// The size of the table for the help and the messages of the command.
pub fn table_size(rows: u64, pad: u32) -> String {
    rounded_size(InnerRows::new(InnerTable { rows, pad, rand: 0 }).bytes_needed(8192))
}
