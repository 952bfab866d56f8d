//! `readpath export --runs`: the numbers of runs as one table.

use std::collections::BTreeSet;
use std::path::Path;

use ::export::folder::Existing;
use ::export::runs::{RunWriter, RunsError, Words};
use ::measure::Run;
use ::measure::quantity::counted;
use clap::ArgMatches;

use crate::commands::measure::{interrupted, signals};
use crate::commands::named::load;
use crate::commands::report::refuse_to_replace;
use crate::commands::show::refuse_store_of_files;
use crate::commands::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;

/// Writes the rows of the runs that are named, of all kept runs where none is, to `place`.
pub(super) fn export(
    matches: &ArgMatches,
    named: &[String],
    (place, existing): (&Path, Existing),
    context: &Context,
) -> Result<Exit, Failure> {
    let reason = "the end of the file's name says whether it is Parquet or CSV";
    refuse_unused(matches, &[("format", false, reason)])?;
    if !named.is_empty() {
        refuse_store_of_files(matches, &named.iter().collect::<Vec<_>>())?;
    }
    let (references, mut failures) = references(named, context)?;
    refuse_to_replace(place, existing == Existing::Replace)?;
    let mut writer = RunWriter::begin(place, existing)?;
    let signals = signals()?;
    let read = |reference: &str| -> Result<Option<Run>, Failure> {
        match named.is_empty() {
            true => Ok(context.store_to_read()?.load_listed(reference)?),
            false => load(reference, context).map(Some),
        }
    };
    let mut written = BTreeSet::new();
    for reference in &references {
        if let Some(signal) = signals.received() {
            return Err(interrupted(signal));
        }
        match read(reference) {
            // Another process has removed it since it was listed.
            Ok(None) => {}
            Ok(Some(run)) if written.contains(&run.id) => {
                let sentence = format!("{reference} is the run {}, which is written already.", run.id);
                failures.push(Failure::failed(sentence));
            }
            Ok(Some(run)) => {
                writer.write(&run, &words(&run))?;
                written.insert(run.id);
            }
            // A name that is not there is a mistake of the command line: a file without it would hide that.
            Err(failure) if failure.exit == Exit::WrongCommandLine && !named.is_empty() => return Err(failure),
            Err(failure) => failures.push(failure),
        }
    }
    failures.iter().for_each(|failure| output::complain(&failure.message));
    let exit = Exit::of_rest(&failures);
    if written.is_empty() {
        let exit = if exit == Exit::Done { Exit::Failed } else { exit };
        return Err(Failure::new(exit, "no run was read, so nothing was written."));
    }
    if let Some(signal) = signals.received() {
        return Err(interrupted(signal));
    }
    let rows = writer.finish()?;
    let (rows, runs) = (counted(rows, "row", "rows"), counted(written.len() as u64, "run", "runs"));
    output::print(&format!("{}: {rows} of {runs}\n", place.display()))?;
    Ok(exit)
}

/// The runs to write, and a failure for each file of the store that is none.
fn references(named: &[String], context: &Context) -> Result<(Vec<String>, Vec<Failure>), Failure> {
    if !named.is_empty() {
        return Ok((named.to_vec(), Vec::new()));
    }
    let store = context.store_to_read()?;
    let listing = store.list()?;
    let failures: Vec<Failure> = listing.unreadable.iter().map(Failure::from).collect();
    if listing.runs.is_empty() && failures.is_empty() {
        let sentence = format!(
            "no runs are kept in {}, so nothing was written. A measuring command keeps one; --store DIR names another \
             directory.",
            store.dir().display()
        );
        return Err(Failure::failed(sentence));
    }
    Ok((listing.runs.into_iter().rev().map(|run| run.id).collect(), failures))
}

fn words(run: &Run) -> Words {
    Words { name: report::name_of_run(run), subject: report::place_of_run(run) }
}

impl From<RunsError> for Failure {
    fn from(error: RunsError) -> Failure {
        let exit = match error {
            RunsError::Ending(_) | RunsError::Folder(_) | RunsError::Exists(_) => Exit::WrongCommandLine,
            RunsError::OutOfSpace(_) | RunsError::NotWritten { .. } => Exit::Failed,
        };
        Failure::new(exit, error)
    }
}
