//! `readpath export --runs`: the numbers of runs as one table.

use std::collections::BTreeSet;
use std::path::Path;

use ::export::folder::Existing;
use ::export::runs::{RunWriter, RunsError, Words};
use ::measure::Run;
use ::measure::quantity::counted;
use clap::ArgMatches;

use crate::commands::measure::interrupted;
use crate::commands::show::refuse_store_of_files;
use crate::commands::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;
use crate::signals::Signals;

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
    let (references, mut complaints) = references(named, context)?;
    let mut writer = RunWriter::begin(place, existing)?;
    let signals =
        Signals::install().map_err(|error| Failure::new(Exit::Failed, format!("^C cannot be watched for: {error}")))?;
    let mut written = BTreeSet::new();
    for reference in &references {
        if let Some(signal) = signals.received() {
            return Err(interrupted(signal));
        }
        match context.load(reference) {
            Ok(run) if written.contains(&run.id) => {
                complaints.push(format!("{reference} is the run {}, which is written already.", run.id));
            }
            Ok(run) => {
                writer.write(&run, &words(&run))?;
                written.insert(run.id);
            }
            // A name that is not there is a mistake of the command line: a file without it would hide that.
            Err(failure) if failure.exit == Exit::WrongCommandLine && !named.is_empty() => return Err(failure),
            Err(failure) => complaints.push(failure.message),
        }
    }
    complaints.iter().for_each(|complaint| output::complain(complaint));
    if written.is_empty() {
        return Err(Failure::new(Exit::Failed, "no run was read, so nothing was written."));
    }
    if let Some(signal) = signals.received() {
        return Err(interrupted(signal));
    }
    let rows = writer.finish()?;
    let (rows, runs) = (counted(rows, "row", "rows"), counted(written.len() as u64, "run", "runs"));
    output::print(&format!("{}: {rows} of {runs}\n", place.display()))?;
    Ok(if complaints.is_empty() { Exit::Done } else { Exit::Failed })
}

/// The runs to write, and a sentence for each file of the store that is none.
fn references(named: &[String], context: &Context) -> Result<(Vec<String>, Vec<String>), Failure> {
    if !named.is_empty() {
        return Ok((named.to_vec(), Vec::new()));
    }
    let store = context.store_to_read()?;
    let listing = store.list()?;
    let complaints =
        listing.unreadable.iter().map(|file| format!("{} is not read: {}.", file.path.display(), file.reason));
    let complaints: Vec<String> = complaints.collect();
    if listing.runs.is_empty() && complaints.is_empty() {
        let sentence = format!(
            "no runs are kept in {}, so nothing was written. A measuring command keeps one; --store DIR names another \
             directory.",
            store.dir().display()
        );
        return Err(Failure::new(Exit::Failed, sentence));
    }
    Ok((listing.runs.into_iter().rev().map(|run| run.id).collect(), complaints))
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
