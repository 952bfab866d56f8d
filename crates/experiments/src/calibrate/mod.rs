//! A planner's cost constants, measured on the server that plans: what a block in sequence and at random, a row, an
//! entry of an index, a comparison and a row from a worker cost there, as multiples of a block in sequence; and whether
//! the planner chooses better by them.

mod bench;
mod choice;
mod concurrency;
mod constants;
mod cost;
pub mod estimate;
mod findings;
mod pages;
mod parallel;
mod parameters;
mod processor;
mod scores;
mod verification;

use serde_json::json;
use subjects::Environment;
use subjects::postgres::calibration::LOAD_TIME_A_ROW;

pub use parameters::CalibrateParameters;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Machine, Sensitivity};
use crate::subject_run::{self, Descriptions};
use bench::{Bench, State};
use verification::Verified;

/// Runs the experiment, and leaves nothing on the server. ^C ends it; what was kept is kept.
pub fn run(
    parameters: &CalibrateParameters,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let opener = parameters.opener()?;
    subject_run::announce(std::slice::from_ref(&opener), environment, machine, journal)?;
    if let Some(recorder) = &environment.recorder {
        recorder.remark("where the planner changes plans is searched for by halving: those numbers of rows differ");
        recorder.remark("constants are set to what is measured, here to 1");
        if parameters.on.in_use().next().is_none() {
            recorder.remark("left out: a private server is restarted with empty caches before each cold sample");
        }
    }
    let outcome = subject_run::run_on(opener, environment, machine, journal, |tables, journal| {
        Descriptions::default().add(tables, journal);
        journal.describe_subject("sql", json!(parameters.sql));
        measure_all(&mut Bench { parameters, machine, tables, constants: Vec::new() }, journal)
    });
    match outcome {
        Err(ExperimentError::Stopped) => return Ok(()),
        outcome => outcome?,
    }
    if !machine.stop.requested() {
        machine.report_disturbances(journal);
    }
    Ok(())
}

fn measure_all(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let rows = bench.tables.sizes().rows;
    let expected = LOAD_TIME_A_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
    journal.step(&format!("loading {rows} rows and their indexes on {}", bench.name()), expected);
    bench.tables.load()?;
    bench.look(journal);
    let conditions = Conditions::now(bench.machine);
    let constants = constants::measure(bench, journal)?;
    bench.look(journal);
    let mut verified = Vec::new();
    for state in states(bench) {
        verified.push(verify(bench, state, &constants.for_planner(state.cached_percent()), journal)?);
        bench.look(journal);
    }
    bench.machine.note("the whole run", &conditions.changed(bench.machine), Sensitivity::Core);
    findings::report(&constants, &verified, bench.name(), journal);
    Ok(())
}

/// States in which choices are verified.
fn states(bench: &Bench<'_>) -> Vec<State> {
    match bench.tables.is_private() && bench.parameters.cold_rounds() > 0 {
        true => vec![State::Cold, State::Cached],
        false => vec![State::Cached],
    }
}

/// Times the queries, compares sets of constants by them, and keeps a case for each.
fn verify(
    bench: &mut Bench<'_>,
    state: State,
    constants: &[(&'static str, f64)],
    journal: &mut dyn Journal,
) -> Result<Verified, ExperimentError> {
    let queries = verification::time(bench, state, journal)?;
    let choices = verification::choices(&queries);
    let unit = (cost::SEQ_PAGE, 1.0);
    let compared = choice::compare(&choices, unit, constants, &mut |set: &[(&'static str, f64)]| {
        verification::picks(bench, &queries, set)
    })?;
    let verified = Verified { state, compared, queries };
    scores::keep(bench, &verified, journal)?;
    Ok(verified)
}
