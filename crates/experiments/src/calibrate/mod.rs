//! A planner's cost constants, measured on the server that plans: what a block in sequence and at random, a row, an
//! entry of an index, a comparison and a row from a worker cost there, as multiples of a block in sequence; and whether
//! the planner chooses better by them.

mod answers;
mod bench;
mod choice;
mod concurrency;
mod constants;
mod cost;
pub mod estimate;
mod pages;
mod parallel;
mod parameters;
mod processor;
mod verification;

use std::time::Duration;

use measure::Finding;
use measure::quantity::size_in_words;
use serde_json::json;
use server::private::PrivateServer;
use server::{ServerError, Session, Statements};
use subjects::logical_reads::SubjectError;
use subjects::postgres::calibration::Calibration;
use subjects::postgres::statement::Meter;

pub use parameters::CalibrateParameters;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Machine, Sensitivity};
use crate::on_server;
use bench::{Bench, State};
use verification::Verified;

/// A scan of a table beyond this part of the shared buffers passes through a ring of them and leaves nothing behind.
const BUFFERS_PART: u64 = 4;

/// About what making and sorting a row takes.
const LOAD_TIME_A_ROW: Duration = Duration::from_micros(6);

/// Runs the experiment, and leaves nothing on the server. ^C ends it; what was kept is kept.
///
/// `private` is the server where it is one of this program's own: only its caches can be emptied.
pub fn run(
    parameters: &CalibrateParameters,
    private: Option<&mut PrivateServer>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    match measure_server(parameters, private, machine, journal) {
        Err(ExperimentError::Stopped) => return Ok(()),
        outcome => outcome?,
    }
    if !machine.stop.requested() {
        machine.report_disturbances(journal);
    }
    Ok(())
}

/// Notes every statement that [`run`] would send to a given server.
pub fn rehearse(
    parameters: &CalibrateParameters,
    machine: &Machine,
    statements: &Statements,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    statements.remark("where the planner changes its mind is searched for by halving: those numbers of rows differ");
    let stop = machine.stop.share();
    let address = &parameters.address;
    let session =
        Session::rehearsal(address, parameters.limits, stop, statements.clone()).map_err(SubjectError::from)?;
    let mut bench = Bench::begin(session, parameters, None, machine)?;
    bench.measure_all(&mut on_server::Nobody)?;
    bench.tables.finish()?;
    Ok(())
}

/// Measures on the server. What was made there is removed on every way out.
fn measure_server(
    parameters: &CalibrateParameters,
    private: Option<&mut PrivateServer>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    journal.step("connecting to the server", Duration::from_secs(1));
    let is_private = private.is_some();
    let stop = machine.stop.share();
    let session = Session::open(&parameters.address, parameters.limits, stop).map_err(SubjectError::from)?;
    describe(&session, parameters, is_private, journal)?;
    let mut bench = Bench::begin(session, parameters, private, machine)?;
    report_meter(bench.tables.meter(), journal);
    let outcome = bench.measure_all(journal);
    let Bench { tables, activity, .. } = bench;
    let removed = match is_private {
        true => {
            tables.leave();
            Ok(())
        }
        false => tables.finish(),
    };
    if let Err(error) = &removed {
        journal.find(Finding::warning(
            "schema-left",
            format!(
                "The schema readpath could not be removed ({error}): say `readpath clean --on {}` when the server is \
                 there again.",
                parameters.address.shown()
            ),
        ));
    }
    outcome?;
    removed?;
    on_server::report_activity(&activity, journal);
    Ok(())
}

impl Bench<'_> {
    fn measure_all(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let rows = self.tables.sizes().rows;
        let expected = LOAD_TIME_A_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
        journal.step(&format!("loading {rows} rows and their indexes on {}", self.name), expected);
        self.tables.load()?;
        self.look()?;
        let conditions = Conditions::now(self.machine);
        let constants = constants::measure(self, journal)?;
        self.look()?;
        let mut verified = Vec::new();
        for state in self.states() {
            verified.push(self.verify(state, &constants.for_planner(state.cached_percent()), journal)?);
            self.look()?;
        }
        self.machine.note("the whole run", &conditions.changed(self.machine), Sensitivity::Core);
        answers::report(&constants, &verified, &self.name, journal);
        Ok(())
    }

    /// States in which choices are verified.
    fn states(&self) -> Vec<State> {
        match self.private.is_some() && self.parameters.cold_rounds > 0 {
            true => vec![State::Cold, State::Cached],
            false => vec![State::Cached],
        }
    }

    /// Times the queries, judges the constants by them, and keeps a case for each.
    fn verify(
        &mut self,
        state: State,
        constants: &[(&'static str, f64)],
        journal: &mut dyn Journal,
    ) -> Result<Verified, ExperimentError> {
        let queries = verification::time(self, state, journal)?;
        let choices = verification::choices(&queries);
        let unit = (cost::SEQ_PAGE, 1.0);
        let judged = choice::judge(&choices, unit, constants, &mut |set: &[(&'static str, f64)]| {
            verification::picks(self, &queries, set)
        })?;
        self.keep_queries(state, &queries, &judged, journal)?;
        self.keep_crossovers(state, &queries, &judged, journal)?;
        self.keep_scores(state, &queries, &judged, journal)?;
        Ok(Verified { state, judged, queries: queries.len() })
    }
}

/// Says on what is measured, after it was seen that there is room for it.
fn describe(
    session: &Session,
    parameters: &CalibrateParameters,
    is_private: bool,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let facts = session.facts();
    let needed = Calibration::bytes_needed(parameters.payload);
    on_server::check_space(session, needed, "--payload", journal)?;
    on_server::describe(session, journal);
    journal.describe_subject("sql", json!(parameters.sql));
    if parameters.payload > facts.buffer_bytes / BUFFERS_PART {
        journal.find(Finding::warning(
            "table-exceeds-buffers",
            format!(
                "The table takes {} and the server's shared buffers {}: a scan of more than a quarter of them passes \
                 through a ring and leaves nothing there, so that what is called cached came from the operating \
                 system. --payload {}MiB would stay.",
                size_in_words(parameters.payload >> 20 << 20),
                size_in_words(facts.buffer_bytes),
                (facts.buffer_bytes / BUFFERS_PART) >> 20
            ),
        ));
    }
    if !is_private {
        journal.find(Finding::info(
            "absent-cold",
            "Nothing was measured cold: the caches of a given server are not emptied, because its other users would \
             pay for it. Blocks that are cached half, nine tenths or not at all are absent for the same reason. \
             --on postgres:VERSION measures them on a private server on this machine's disk.",
        ));
    }
    Ok(())
}

fn report_meter(meter: &Meter, journal: &mut dyn Journal) {
    if let Meter::Explain(reason) = meter {
        journal.find(Finding::warning(
            "absent-backend-time",
            format!(
                "The backend's processor time could not be had, because {reason}: costs of cached statements are \
                 EXPLAIN's execution times, which contain waits and the counting itself. Run readpath on the server's \
                 own machine."
            ),
        ));
    }
}

/// A server's own failure, as an experiment's.
impl From<ServerError> for ExperimentError {
    fn from(error: ServerError) -> ExperimentError {
        SubjectError::from(error).into()
    }
}
