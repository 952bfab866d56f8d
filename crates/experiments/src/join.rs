//! join: what gathering the look-ups of a nested loop is worth on this storage.
//!
//! Outer rows in the order of their keys are joined with a table whose rows lie in that order or not. Every join begins
//! with as little cached as the subject can have; its ways to join take turns, so that whatever changes meanwhile
//! changes for all of them. Each has to find the sum that the rows have.

mod apart;
mod bench;
mod findings;
mod measuring;
mod parameters;
mod planner;
#[cfg(test)]
mod tests;

use std::time::Duration;

use subjects::{Environment, NestedLoops, Opener};

use crate::disk;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
use crate::subject_run::{self, Descriptions};
use bench::{Bench, Gain};
pub use parameters::{JoinParameters, REPEAT, REPEAT_BESIDE};

/// Runs the experiment on each subject in turn. ^C ends it, the engine's join under way too, as
/// [`ExperimentError::Stopped`]; what was kept is kept.
pub fn run(
    parameters: &JoinParameters,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    parameters.check_values()?;
    let openers = subject_run::openers(&parameters.on, |place| place.nested_loops(&parameters.asked), journal)?;
    let environment = &subject_run::announce(&openers, environment, machine, journal)?;
    measure(parameters, openers, environment, machine, journal).map_err(ExperimentError::advised)
}

/// Measures the subjects one after the other.
fn measure(
    parameters: &JoinParameters,
    openers: Vec<Opener<'_, dyn NestedLoops>>,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    // A subject that cannot be opened is better known before the first one is measured.
    let open = |opener| subject_run::open(opener, environment, machine, journal);
    let subjects = openers.into_iter().map(open).collect::<Result<Vec<Box<dyn NestedLoops>>, _>>()?;
    subjects.iter().try_for_each(|subject| subject.check_outer_rows(parameters.outer_rows))?;
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    // What is no engine's stands on a page of subjects, also alone.
    let names_subject = subjects.len() > 1 || !parameters.on.is_engine_alone();
    let mut descriptions = Descriptions::default();
    subjects.iter().try_for_each(|subject| descriptions.take_name(subject.name(), environment))?;
    // The first one is what the others are compared with; the run is one on the others.
    let order = subjects.iter().cycle().skip(usize::from(names_subject)).take(subjects.len());
    order.for_each(|subject| descriptions.add(&**subject, journal));
    let mut gains = Vec::new();
    for subject in subjects {
        let own = subject_run::measure_on(subject, journal, |subject, journal| {
            let mut bench = Bench::new((parameters, machine), subject, names_subject);
            measure_subject(&mut bench, (&mut descriptions, &gains), journal)
        })?;
        gains.extend(own);
    }
    Ok(())
}

/// Joins one subject's tables in all ways, and says what its cases mean; `gains` are those of the subjects before.
fn measure_subject(
    bench: &mut Bench<'_>,
    (descriptions, gains): (&mut Descriptions, &[Gain]),
    journal: &mut dyn Journal,
) -> Result<Vec<Gain>, ExperimentError> {
    let (mut costs, mut own, mut apart) = (None, Vec::new(), Vec::new());
    for rand in bench.parameters.rands.clone() {
        let table = bench.parameters.asked.table(rand);
        journal.step(&format!("preparing the table with {rand} % of its rows out of order"), Duration::from_secs(2));
        let facts = bench.subject.prepare(table, &mut |what, expected| journal.step(what, expected))?;
        subject_run::keep_findings(bench.subject, journal);
        descriptions.add(bench.subject, journal);
        if costs.is_none() {
            costs = planner::measure(bench, (table, &facts), journal)?;
        }
        let mut measured = Vec::new();
        for (number, group) in facts.groups.iter().enumerate() {
            match bench.subject.turn_to(number)? {
                Ok(()) => measured.extend(measuring::cases(bench, (table, &facts), group, costs, journal)?),
                Err(absence) => journal.find(disk::on(bench.name_among_several(), absence)),
            }
            subject_run::keep_findings(bench.subject, journal);
        }
        bench.machine.stop.check()?;
        journal.step("reading random blocks by themselves", Duration::from_secs(1));
        planner::report((rand, facts.is_virtual), bench.name_among_several(), &measured, costs, journal);
        own.extend(Gain::best(&bench.name, rand, &measured));
        match bench.subject.read_alone()? {
            Some(device) => findings::report((rand, bench.name_among_several()), &measured, &device, journal),
            None => apart.extend(measured),
        }
    }
    apart::report(&bench.name, &apart, gains, journal);
    Ok(own)
}
