//! scan: one question, asked of the same rows by several access paths, with everything cached.
//!
//! All paths of all subjects must count alike: a run in which they do not ends with an error.

mod bench;
mod counted;
mod counters;
mod findings;
mod measuring;
mod parameters;
mod samples;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::quantity::{counted, whole_mebibytes};
use measure::schema::scan::findings as row;
use measure::words::Word;
use serde_json::json;
use subjects::access_paths::{AccessPath, AccessPaths, Counting, MemoryNeed, PathOffer};
use subjects::{Environment, Opener};
use sys::counters as machine_counters;
use sys::host;

use crate::error::{ExperimentError, refuse};
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
use crate::subject_run::{self, Descriptions};
use bench::Bench;
use counted::CountedPaths;
pub use counted::{COUNTED_ROWS, CountedChild, CountedPass, scan_counted};
use findings::SubjectCases;
use measuring::Measured;
use parameters::STREAM_BYTES;
pub use parameters::{PUBLISHED_ROWS, ROWS, ROWS_BESIDE, ScanParameters};

/// Share of the available memory that a run may take, in percent: the rest of the machine wants some too.
const MEMORY_SHARE: u64 = 95;

/// Opens each place that the parameters name, measures it, and has it remove what it made. ^C ends the run after the
/// pass under way, as [`ExperimentError::Stopped`]; what was kept is kept.
///
/// `child` counts instructions under valgrind where the processor counts none; `None` leaves them out.
pub fn run(
    parameters: &ScanParameters,
    environment: &Environment,
    child: Option<&CountedChild>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    let settings = parameters.settings(memory_limit(parameters));
    let openers = subject_run::openers(&parameters.on, |place| place.access_paths(&settings), journal)?;
    let environment = &subject_run::announce(&openers, environment, machine, journal)?;
    measure(parameters, openers, environment, child, machine, journal)
}

/// Refuses what a run would refuse of its subjects, such as too few rows for a server.
pub fn check_subjects(parameters: &ScanParameters) -> Result<(), ExperimentError> {
    let settings = parameters.settings(None);
    subject_run::check(&parameters.on, |place| place.access_paths(&settings))
}

/// Measures the subjects one after the other.
fn measure(
    parameters: &ScanParameters,
    openers: Vec<Opener<'_, dyn AccessPaths>>,
    environment: &Environment,
    child: Option<&CountedChild>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    let smaller = machine.last_cache().and_then(|cache| cache.finding());
    journal.find_all(smaller);
    let is_alone = openers.len() == 1;
    let mut descriptions = Descriptions::default();
    let (mut found, mut expected) = (Vec::new(), None);
    for opener in openers {
        found.push(subject_run::run_on(opener, environment, machine, journal, |subject, journal| {
            descriptions.take_name(subject.name(), environment)?;
            let (name, expected, counted) = (subject.name().to_string(), &mut expected, CountedPaths::default());
            let stream = None;
            let mut bench = Bench { parameters, machine, child, subject, name, is_alone, expected, counted, stream };
            let cases = measure_subject(&mut bench, &mut descriptions, journal)?;
            Ok(SubjectCases { name: bench.name, cases })
        })?);
    }
    findings::compare(&found, journal);
    Ok(())
}

/// All paths of one subject, and what their cases say.
fn measure_subject(
    bench: &mut Bench<'_>,
    descriptions: &mut Descriptions,
    journal: &mut dyn Journal,
) -> Result<Vec<Measured>, ExperimentError> {
    let offers = bench.subject.paths(bench.parameters.question());
    report_absences(bench, &offers, journal);
    let is_chosen = |offer: &PathOffer| offer.absence.is_none() && bench.parameters.wants(offer.path);
    let offers: Vec<PathOffer> = offers.into_iter().filter(is_chosen).collect();
    let paths: Vec<AccessPath> = offers.iter().map(|offer| offer.path).collect();
    report_unshared(bench, &offers, journal);
    plan(bench, &offers, journal)?;
    if let (Some(child), Some(_)) = (bench.child, machine_counters::hardware_absence()) {
        bench.counted = count(bench, &paths, child, journal)?;
    }
    let mut found = Vec::new();
    for offer in offers {
        let mut progress = |what: &str, expected| journal.step(what, expected);
        let prepared = bench.subject.prepare(offer.path, bench.parameters.question(), &mut progress)?;
        subject_run::keep_findings(bench.subject, journal);
        bench.machine.stop.check()?;
        let Some(facts) = journal.unless_absent(prepared) else { continue };
        let threads = if offer.is_shared_by_threads { bench.parameters.threads.clone() } else { vec![1] };
        for threads in threads {
            found.push(measuring::case(bench, (offer.path, &facts), threads, journal)?);
            subject_run::keep_findings(bench.subject, journal);
        }
    }
    // Only now has a subject seen all that it says about itself.
    descriptions.add(bench.subject, journal);
    findings::report(&found, bench, journal);
    Ok(found)
}

/// Says of each path that is not measured why.
fn report_absences(bench: &Bench<'_>, offers: &[PathOffer], journal: &mut dyn Journal) {
    let (asked, on) = (bench.parameters.question(), bench.on());
    for path in AccessPath::all().filter(|path| bench.parameters.wants(*path)) {
        let message = match offers.iter().find(|offer| offer.path == path) {
            Some(PathOffer { absence: Some(reason), .. }) => {
                format!("{path} was not asked the question {asked}{on}: {reason}.")
            }
            None if bench.parameters.path.contains(&path) => format!("{path} is not a path of {}.", bench.name),
            _ => continue,
        };
        journal.find(row::ABSENT_PATH.named(path.name(), message));
    }
}

/// Says which paths one thread takes although more are asked for.
fn report_unshared(bench: &Bench<'_>, offers: &[PathOffer], journal: &mut dyn Journal) {
    let names: Vec<&str> =
        offers.iter().filter(|offer| !offer.is_shared_by_threads).map(|offer| offer.path.name()).collect();
    if bench.parameters.has_several_threads() && !names.is_empty() {
        let (names, on) = (names.join(", "), bench.on());
        let message = format!("One thread took {names}{on}: threads cannot share that work.");
        journal.find(row::ABSENT_THREADS.of(message));
    }
}

/// Says what the paths take, and refuses them where that is not there: better known before anything is made.
fn plan(bench: &mut Bench<'_>, offers: &[PathOffer], journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    journal.step("computing what the table takes", Duration::from_secs(2));
    let paths: Vec<AccessPath> = offers.iter().map(|offer| offer.path).collect();
    let needs = bench.subject.plan(&paths)?;
    subject_run::keep_findings(bench.subject, journal);
    let Some(most) = needs.iter().map(|need| need.bytes).max() else { return Ok(()) };
    let (parameters, limit) = (bench.parameters, memory_limit(bench.parameters));
    // What is read in sequence is made only for paths whose bytes are counted.
    let stream_bytes = if offers.iter().any(|offer| offer.counts_bytes) { STREAM_BYTES } else { 0 };
    let (rows, most) = (parameters.rows(), most.saturating_add(stream_bytes));
    let in_words = |need: &MemoryNeed| format!("{} for {}", whole_mebibytes(need.bytes), need.structure);
    let sentence = needs.iter().map(in_words).collect::<Vec<_>>().join(", ");
    journal.describe_subject("memory_needed", json!(most));
    journal.describe_subject("memory_limit", json!(limit));
    // Without the path of the only structure nothing would be left to scan.
    let (order, way_out) = match needs.len() {
        1 => ("", ""),
        _ => (", one after the other", ", or leave the largest --path out"),
    };
    if let Some(limit) = limit.filter(|limit| most > *limit) {
        let given = match parameters.memory {
            Some(given) if given.0 == limit => "--memory gives",
            _ => "can be had here (95 % of what is free)",
        };
        let bandwidth = match stream_bytes {
            0 => String::new(),
            bytes => format!(", and {} to measure the bandwidth", whole_mebibytes(bytes)),
        };
        return refuse(format!(
            "{} {} of memory at one time ({sentence}{order}{bandwidth}), and {} is what {given}: give fewer \
             --rows{way_out}",
            counted(rows, "row needs", "rows need"),
            whole_mebibytes(most),
            whole_mebibytes(limit)
        ));
    }
    let message = format!("{} forecast to take {sentence}{order}.", counted(rows, "row was", "rows were"));
    journal.find(row::MEMORY_NEEDED.of(message));
    Ok(())
}

/// Bytes that the run may take: what the user gives, and no more than there is.
fn memory_limit(parameters: &ScanParameters) -> Option<u64> {
    let free = host::available_memory().map(|bytes| bytes / 100 * MEMORY_SHARE);
    let given = parameters.memory.map(|size| size.0);
    given.min(free).or(given).or(free)
}

/// Counts the instructions of the paths where the processor counts none.
fn count(
    bench: &mut Bench<'_>,
    paths: &[AccessPath],
    child: &CountedChild,
    journal: &mut dyn Journal,
) -> Result<CountedPaths, ExperimentError> {
    let (asked, limit) = (bench.parameters.question(), child.valgrind.limit);
    let steps = &mut |what: &str, expected| journal.step(what, expected);
    let counting = bench.subject.count_instructions(asked, limit, steps)?;
    subject_run::keep_findings(bench.subject, journal);
    let counted = match counting {
        Counting::InChild(word) => counted::in_child(bench.parameters, (word, paths), child, bench.machine, journal),
        Counting::Counted(rows) => CountedPaths::of_rows(rows),
        Counting::None => CountedPaths::default(),
    };
    bench.machine.stop.check()?;
    Ok(counted)
}
