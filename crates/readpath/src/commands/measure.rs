//! What all commands that make a run have in common: the run around the experiment.
//!
//! The store is opened before anything is measured, each case is kept as it is finished, and whatever happens the cases
//! that were finished are kept and printed.

use ::measure::run::SCHEMA;
use ::measure::sentence::capital;
use ::measure::store::{Store, StoreError};
use ::measure::{Finding, Host, Parameters, Run};
use experiments::{ExperimentError, Journal, Machine, Stop};
use jiff::Timestamp;
use measure::schema::every::findings as row;
use report::Media;
use uuid::Uuid;

use crate::exit::{Exit, Failure};
use crate::options::{Context, Purpose};
use crate::output;
use crate::progress::Progress;
use crate::run_journal::RunJournal;
use crate::signals::{self, Signals};
use crate::version;

/// Runs an experiment: makes the run, keeps it, prints it and gives the exit code.
///
/// The machine is observed after the store is known to work. `procedure` does the experiment; it returns `Ok` when it
/// is complete or when it saw the machine's flag and left off.
pub(super) fn measure(
    context: &Context,
    experiment: &str,
    procedure: impl FnOnce(&mut RunJournal, &Machine) -> Result<(), ExperimentError>,
) -> Result<Exit, Failure> {
    if context.purpose == Purpose::Check {
        return Ok(Exit::Done);
    }
    let (store, unkept) = store(context)?;
    let signals = signals()?;
    let machine = Machine::observe(signals.stop());
    let mut journal = RunJournal::new(new_run(context, experiment, machine.host.clone()), store, progress(context));
    unkept.into_iter().for_each(|finding| journal.find(finding));
    let outcome = procedure(&mut journal, &machine);
    journal.clear_progress();
    // What disturbed the cases that are kept, whether or not the experiment came to its end.
    machine.report_disturbances(&mut journal);
    if let (Err(ExperimentError::Parameters(sentence)), true) = (&outcome, journal.run().cases.is_empty()) {
        return Err(Failure::wrong(sentence));
    }
    finish(context, journal, outcome.map_err(|error| error.to_string()), &signals)
}

/// Of a run that is only checked, refuses what it would refuse before it measures: there that comes behind the other
/// runs of its job file.
pub(super) fn refuse_ahead(
    context: &Context,
    check: impl FnOnce() -> Result<(), ExperimentError>,
) -> Result<(), Failure> {
    match context.purpose {
        Purpose::Run => Ok(()),
        Purpose::Check => check().map_err(Failure::from),
    }
}

/// Examines something that is already there, such as a trace: makes the run, keeps it, prints it and gives the exit
/// code. This machine has no part in what comes out, so nothing of it is measured or described.
///
/// A failure of `procedure` ends the command with it, and no run is kept.
pub(super) fn examine(
    context: &Context,
    experiment: &str,
    procedure: impl FnOnce(&mut RunJournal, &Stop) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    if context.purpose == Purpose::Check {
        return Ok(Exit::Done);
    }
    let (store, unkept) = store(context)?;
    let signals = signals()?;
    let mut journal = RunJournal::new(new_run(context, experiment, Host::default()), store, progress(context));
    unkept.into_iter().for_each(|finding| journal.find(finding));
    let outcome = procedure(&mut journal, &signals.stop());
    journal.clear_progress();
    if signals.received().is_none_or(|signal| is_usual_end(&journal, signal)) {
        outcome?;
    }
    finish(context, journal, Ok(()), &signals)
}

/// The run of such an examination, which is neither kept nor printed.
pub(super) fn examined(
    context: &Context,
    experiment: &str,
    procedure: impl FnOnce(&mut RunJournal, &Stop) -> Result<(), Failure>,
) -> Result<Run, Failure> {
    let signals = signals()?;
    let mut journal = RunJournal::new(new_run(context, experiment, Host::default()), None, progress(context));
    let outcome = procedure(&mut journal, &signals.stop());
    journal.clear_progress();
    if let Some(signal) = signals.received() {
        return Err(interrupted(signal));
    }
    outcome?;
    conclude(&mut journal, Ok(()), None);
    Ok(journal.into_run())
}

/// A command without a run of its own that a signal ended.
pub(super) fn interrupted(signal: u8) -> Failure {
    Failure::new(Exit::Interrupted { signal }, format!("interrupted by {}.", signals::name(signal)))
}

/// Keeps and prints what a run came to.
fn finish(
    context: &Context,
    mut journal: RunJournal,
    outcome: Result<(), String>,
    signals: &Signals,
) -> Result<Exit, Failure> {
    let exit = conclude(&mut journal, outcome, signals.received());
    // A run that failed before its first case says nothing that the complaint does not.
    if journal.run().cases.is_empty() && exit != Exit::Done {
        return Ok(complain(&journal, exit));
    }
    let kept = journal.save().is_ok();
    let printed = output::print_result(context.shown(journal.run()), context);
    let has_no_store = exit == Exit::Done && journal.run().findings.iter().any(|finding| row::NOT_KEPT.made(finding));
    let exit = if kept && !has_no_store { exit } else { Exit::NotKept };
    // Where it could not be printed, how it ended is said all the same: that is then all that is known of it.
    let is_on_page = has_no_store || matches!(exit, Exit::Interrupted { .. });
    let is_said = printed.is_ok() && is_on_page && shows_both(context);
    let exit = if is_said { exit } else { complain(&journal, exit) };
    let is_whole = exit == Exit::Done && journal.keeps();
    printed.map(|()| exit).map_err(|failure| match exit {
        // Who sent the signal looks for its code.
        Exit::Interrupted { .. } => Failure { exit, ..failure },
        _ if is_whole => {
            Failure::new(failure.exit, format!("{} It is kept as run {}.", failure.message, journal.run().id))
        }
        _ => failure,
    })
}

/// Whether a page and what is said on standard error go to one terminal or file, which would show one sentence twice.
fn shows_both(context: &Context) -> bool {
    let settings = &context.settings;
    let is_page = context.globals.format.media == Media::Terminal;
    is_page && (settings.stdout_is_terminal && settings.stderr_is_terminal || output::is_one_file())
}

pub(super) fn signals() -> Result<Signals, Failure> {
    Signals::install().map_err(|error| Failure::failed(format!("^C cannot be watched for: {error}")))
}

/// The store, proven to be writable; none where the user wants none.
///
/// A store that the user named has to work. If the default store cannot be used, the run is shown all the same, the
/// finding says that it is not kept, and so does the exit code.
pub(super) fn store(context: &Context) -> Result<(Option<Store>, Option<Finding>), Failure> {
    if context.globals.no_store {
        return Ok((None, None));
    }
    let opened = context.store_dir().and_then(|dir| Ok(Store::open(&dir)?));
    match opened {
        // Who names a directory may mean to share it.
        Ok(store) if context.globals.store.is_none() => {
            let open = left_open(store.make_private());
            Ok((Some(store), open))
        }
        Ok(store) => Ok((Some(store), None)),
        Err(failure) if context.globals.store.is_none() => {
            let message = format!("This run is shown here and not kept: {}", failure.message);
            Ok((None, Some(row::NOT_KEPT.of(message))))
        }
        Err(failure) => Err(failure),
    }
}

/// That other users may read kept runs, where their rights could not be taken from them.
fn left_open(closed: Result<(), StoreError>) -> Option<Finding> {
    closed.err().map(|error| row::STORE_OPEN.of(format!("Other users may read kept runs: {error}")))
}

pub(super) fn progress(context: &Context) -> Progress {
    match context.settings.stderr_is_terminal {
        _ if context.globals.quiet => Progress::none(),
        true => Progress::on_terminal(),
        false => Progress::in_lines(),
    }
}

fn new_run(context: &Context, experiment: &str, host: Host) -> Run {
    Run {
        schema: SCHEMA.into(),
        id: Uuid::now_v7().to_string(),
        command: context.command_line.clone(),
        started: Timestamp::now().to_string(),
        finished: None,
        build: Some(version::build()),
        job: context.job.clone(),
        host,
        own_cost: Vec::new(),
        experiment: experiment.into(),
        subject: Parameters::new(),
        cases: Vec::new(),
        findings: Vec::new(),
    }
}

/// Writes into the run how it ended, and gives the exit code for that.
fn conclude(journal: &mut RunJournal, outcome: Result<(), String>, signal: Option<u8>) -> Exit {
    if let Some(reason) = journal.not_kept() {
        let message = format!("The run failed: {reason}");
        journal.find(row::FAILED.of(message));
        return Exit::NotKept;
    }
    let kept = kept(journal);
    let signal = signal.filter(|signal| !is_usual_end(journal, *signal));
    match (outcome, signal) {
        (_, Some(signal)) => {
            let message = format!("The run was interrupted by {}; {kept}{}", signals::name(signal), left(journal));
            journal.find(row::INTERRUPTED.of(message));
            Exit::Interrupted { signal }
        }
        (Err(error), None) => {
            let message = format!("The run failed: {}. {}", error.trim_end_matches('.'), capital(&kept));
            journal.find(row::FAILED.of(message));
            Exit::Failed
        }
        (Ok(()), None) => {
            journal.complete(Timestamp::now().to_string());
            Exit::Done
        }
    }
}

/// Whether a signal ends what goes on until ^C: it is whole then. Another signal comes from elsewhere.
fn is_usual_end(journal: &RunJournal, signal: u8) -> bool {
    signal == signals::INTERRUPT && journal.ends_by_interrupt()
}

/// What is left of a run that did not complete.
fn kept(journal: &RunJournal) -> String {
    // The cases of a profile are the rows of its tables.
    let is_profile = journal.run().experiment == ::measure::schema::profile::EXPERIMENT.name;
    let done = match journal.run().cases.len() {
        0 if is_profile => return "there is no profile yet, and nothing is kept.".into(),
        _ if is_profile => "what was read before is".to_string(),
        0 => return "no case was finished, and nothing is kept.".into(),
        1 => "the case it had finished is".to_string(),
        count => format!("the {count} cases it had finished are"),
    };
    if journal.keeps() { format!("{done} kept as {}.", journal.run().id) } else { format!("{done} shown here only.") }
}

/// What an interrupted run did not measure of several files or devices.
fn left(journal: &RunJournal) -> String {
    match journal.unmeasured() {
        [] => String::new(),
        [one] => format!(" {one} was not measured."),
        [others @ .., last] => format!(" {} and {last} were not measured.", others.join(", ")),
    }
}

/// Says on standard error how a run ended that did not complete.
fn complain(journal: &RunJournal, exit: Exit) -> Exit {
    let ends = |finding: &&Finding| row::INTERRUPTED.made(finding) || row::FAILED.made(finding);
    let findings = &journal.run().findings;
    let ending = findings.iter().find(ends).or_else(|| findings.iter().find(|finding| row::NOT_KEPT.made(finding)));
    if let Some(finding) = ending {
        output::complain(&finding.message);
    }
    if let Some(reason) = journal.not_kept().filter(|reason| !ending.is_some_and(|end| end.message.ends_with(reason))) {
        output::complain(reason);
    }
    exit
}

#[cfg(test)]
mod tests;
