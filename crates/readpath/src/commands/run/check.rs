//! Checks the runs of a job file: each command line is read as if it had been typed, up to where it would measure.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use sys::file::Caching;

use crate::exit::Failure;
use crate::job::{PlannedRun, Problem, refusal};
use crate::options::{Context, Purpose};

/// Parameters that name what is read and has to be there.
const READ: [(&str, &str); 4] = [("disk", "paths"), ("roundtrip", "paths"), ("ladder", "on"), ("profile", "files")];

/// Checks all runs; gives everything that is wrong with them.
pub(super) fn all(runs: &[PlannedRun], context: &Context) -> Result<(), Vec<Problem>> {
    let problems: Vec<Problem> = runs.iter().filter_map(|run| one(run, context).err()).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn one(run: &PlannedRun, context: &Context) -> Result<(), Problem> {
    let line: Vec<OsString> = ["readpath".to_string()].into_iter().chain(run.words()?).map(Into::into).collect();
    let matches = (context.definition)().try_get_matches_from(&line).map_err(|error| refusal(run, &error))?;
    let refused = |failure: Failure| {
        let sentence = run.without_passwords(failure.message.trim_end_matches('.'));
        Problem::new(run.place_of(&sentence), sentence)
    };
    let own = Context::new(&matches, context.settings.clone(), &line, context.definition).map_err(refused)?;
    let own = Context { purpose: Purpose::Check, ..own };
    super::super::run(&matches, &own).map_err(refused)?;
    READ.iter().filter(|(experiment, _)| *experiment == run.experiment).try_for_each(|(_, name)| read(run, name))
}

/// Refuses files and devices that cannot be read.
fn read(run: &PlannedRun, name: &str) -> Result<(), Problem> {
    let Some((words, place)) = run.given(name) else { return Ok(()) };
    for word in words {
        let reason = match name {
            "files" => unreadable_trace(&word),
            _ => unreadable(&word),
        };
        if let Some(reason) = reason {
            let reason = run.without_passwords(&reason);
            return Err(Problem::new(place, format!("'{name}' names what cannot be read: {reason}")));
        }
    }
    Ok(())
}

/// Why a device cannot be read; `None` where it can.
fn unreadable(word: &str) -> Option<String> {
    let path = Path::new(word);
    if device::has_prefix(path) {
        return device::open(path, Caching::Direct).err().map(|error| error.to_string());
    }
    opened(path).err().map(|error| format!("{word}: {error}"))
}

/// The same of a trace, for which a folder or a pattern may stand.
fn unreadable_trace(word: &str) -> Option<String> {
    let path = Path::new(word);
    if word == "-" {
        return Some("standard input belongs to no run of a job".into());
    }
    let is_pattern = !path.exists() && word.contains(['*', '?', '[']);
    let is_there = || if path.is_dir() { Ok(()) } else { opened(path) };
    if is_pattern { None } else { is_there().err().map(|error| format!("{word}: {error}")) }
}

/// Opens a file or a block device for reading. What would wait for a writer is left to the run.
fn opened(path: &Path) -> std::io::Result<()> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if kind.is_fifo() || kind.is_socket() || kind.is_char_device() {
        return Ok(());
    }
    fs::File::open(path).map(drop)
}
