//! lio: the cost of a logical I/O, by the shape of the rows, the way to the block and what is touched of it.
//!
//! Everything is cached before anything is measured. Beside each pass another one in the same order touches nothing:
//! it tells the cost of a get from that of walking the rows, or is what a subject's pass costs without any get.

mod against;
mod checks;
mod findings;
mod measuring;
mod parameters;
mod stacks;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::Parameters;
use measure::quantity::{format_size, size_in_words};
use measure::schema::lio::findings as row;
use serde_json::Value;
use subjects::Environment;
use subjects::logical_reads::{Baseline, Population, Table};
use sys::process::sampler::Sampler;

pub use self::parameters::{LioParameters, PAYLOAD, PAYLOAD_BESIDE};
pub use self::stacks::Stack;

use self::measuring::{Bench, Measured, Plan, Setting};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
use crate::subject_run::{self, Descriptions};

/// How many times its payload a table takes at most, rounded down: one with 25 columns in rows of 25 bytes.
const TABLE_OVER_PAYLOAD: u64 = 3;

/// What was measured on one subject.
struct Found {
    name: String,
    /// Whether its costs are differences of two statements.
    is_difference: bool,
    cases: Vec<Measured>,
}

/// Runs the experiment on each subject in turn. ^C ends it after the pass under way, as [`ExperimentError::Stopped`];
/// what was kept is kept.
///
/// Gives the stacks that were sampled during the passes: none where that was not asked for.
pub fn run(
    parameters: &LioParameters,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Vec<Stack>, ExperimentError> {
    parameters.check_values()?;
    let sampler = parameters.sampled.then(Sampler::new).transpose().map_err(|error| {
        ExperimentError::Parameters(format!("the readers cannot be sampled: {error}; leave out --flamegraph"))
    })?;
    measure_all(parameters, environment, sampler.as_ref(), machine, journal).map_err(ExperimentError::advised)?;
    Ok(sampler.map_or(Vec::new(), |sampler| stacks::names(&sampler.stacks())))
}

fn measure_all(
    parameters: &LioParameters,
    environment: &Environment,
    sampler: Option<&Sampler>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let asked = parameters.asked();
    let openers = subject_run::openers(&parameters.on, |place| place.logical_reads(&asked), journal)?;
    let environment = &subject_run::announce(&openers, environment, machine, journal)?;
    // Of a server that is in use, the size of its shared buffers has to be known first. Those of a private one grow
    // with the payload.
    let has_private = parameters.on.iter().any(|place| place.takes_statements() && !place.is_in_use());
    let mut is_size_judged = has_private || parameters.on.in_use().next().is_none();
    if is_size_judged {
        report_small_tables(parameters, machine, None, journal);
    }
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    let names_subject = openers.len() > 1;
    let mut descriptions = Descriptions::default();
    let mut found = Vec::new();
    for opener in openers {
        found.push(subject_run::run_on(opener, environment, machine, journal, |subject, journal| {
            descriptions.take_name(subject.name(), environment)?;
            descriptions.add(subject, journal);
            let buffers = subject.description().get("shared_buffers").and_then(Value::as_u64);
            if buffers.is_some() && !std::mem::replace(&mut is_size_judged, true) {
                report_small_tables(parameters, machine, buffers, journal);
            }
            let mut bench = Bench { parameters, machine, subject, sampler, names_subject };
            measure_subject(&mut bench, journal)
        })?);
    }
    machine.stop.check()?;
    match &found[..] {
        [alone] if parameters.on.is_engine_alone() => findings::report(&alone.cases, machine.host.cores, journal),
        several => against::report(several, checks::uncounted(machine).as_deref(), journal),
    }
    Ok(())
}

/// Measures every case of one subject.
fn measure_subject(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Found, ExperimentError> {
    let mut cases = Vec::new();
    let mut is_difference = false;
    for table in bench.subject.tables()? {
        journal.step(&format!("preparing the table of {table}"), Duration::from_secs(1));
        let facts = bench.subject.prepare(&table, &mut |what, expected| journal.step(what, expected))?;
        subject_run::keep_findings(bench.subject, journal);
        is_difference |= facts.sources.baseline != Baseline::Gets;
        let setting = Setting { table: &table, facts: &facts, changed_rows: 0, as_of: None };
        if let Some(scans) = &facts.first_scans {
            cases.extend(measuring::first_scans(bench, setting, scans, journal)?);
        }
        for changed_rows in &bench.parameters.changed_rows {
            journal.step("bringing the table into the cache", Duration::from_secs(1));
            let changes = bench.parameters.changes().then_some(*changed_rows);
            let populated = bench.subject.populate(Population::FullScan, changes)?;
            let Some(as_of) = journal.unless_absent(populated) else { continue };
            let setting = Setting { changed_rows: *changed_rows, as_of, ..setting };
            for plan in plans(bench.parameters, &table) {
                cases.extend(measuring::case(bench, setting, plan, Parameters::new(), journal)?);
                subject_run::keep_findings(bench.subject, journal);
            }
        }
    }
    // Not by the number of subjects: a dry run, which leaves the engine out, would print statements that are not sent.
    if bench.parameters.on.is_engine_alone() {
        checks::run(bench, &cases, journal)?;
    }
    Ok(Found { name: bench.subject.name().into(), is_difference, cases })
}

/// Every way to the blocks, every touch and every number of threads; of a table that was found one scan.
fn plans(parameters: &LioParameters, table: &Table) -> Vec<Plan> {
    let Table::Made(cell) = table else { return vec![Plan::SCAN] };
    let (touches, threads) = (parameters.touches(), &parameters.threads);
    let mut plans: Vec<Plan> = Vec::new();
    for access in parameters.accesses() {
        for touch in touches.iter().map(|touch| touch.of(cell.columns)) {
            for threads in threads {
                let plan = Plan { access, touch, threads: *threads };
                // The only column is the first and the last: cases of one plan could not be told apart.
                if !plans.contains(&plan) {
                    plans.push(plan);
                }
            }
        }
    }
    plans
}

/// A table that fits into a processor's cache says nothing about a buffer pool, which no such cache holds. The payload
/// is judged: a table takes more with the heads of its rows, and a scan may touch less of it. `buffers` is the size of
/// the shared buffers of a server that is in use, in bytes: they cannot hold a table of any size.
fn report_small_tables(parameters: &LioParameters, machine: &Machine, buffers: Option<u64>, journal: &mut dyn Journal) {
    // Tables that are found have a size of their own, and --payload is refused for them.
    if !parameters.on.iter().any(|place| place.makes_tables()) {
        return;
    }
    let payload = parameters.payload();
    let Some(cache) = machine.host.caches.iter().max_by_key(|cache| cache.level) else { return };
    // A table that is larger than what is claimed needs no measurement.
    if payload > cache.bytes {
        return;
    }
    let usable = machine.last_cache().map(|last| last.usable);
    let Some(usable) = usable.filter(|usable| payload <= *usable) else { return };
    // How much can be counted on differs from run to run where others use the cache. With the usual size of the
    // engine's tables as the least, runs on one machine do not advise one size now and eight times that later.
    let enough = (usable * 8).next_power_of_two().max(PAYLOAD.0);
    let of_it = match usable < cache.bytes {
        true => format!(", of which {} can be counted on", size_in_words(usable)),
        false => String::new(),
    };
    let larger = format_size(enough);
    let has_narrow = parameters.cells().iter().any(|cell| (cell.row_length, cell.columns) == (25, 25));
    let (times, of_rows) = if has_narrow { (TABLE_OVER_PAYLOAD, " (rows of 25 bytes in 25 columns)") } else { (1, "") };
    let table = enough.saturating_mul(times);
    let advice = match buffers.filter(|buffers| table > *buffers) {
        // One sentence: a larger payload is no advice where another finding asks for a smaller one.
        Some(buffers) => format!(
            "This server cannot show the latter: a --payload of {larger}, which would not fit into that cache, makes \
             tables of over {}{of_rows}, and its shared buffers hold {}. Measure a server with larger shared buffers, \
             or a private one (--on postgres:18).",
            size_in_words(table),
            size_in_words(buffers)
        ),
        None => format!("Give --payload {larger} or more."),
    };
    journal.find(row::TABLES_FIT_CACHE.of(format!(
        "The tables that readpath makes have a payload of {} each, which fits into the processor's level-{} cache \
             ({}{of_it}): many of their logical I/Os, or all, read that cache, where those of a real pool read memory. \
             {advice}",
        size_in_words(payload),
        cache.level,
        size_in_words(cache.bytes)
    )));
}
