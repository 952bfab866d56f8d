//! What a word on the command line names: a run that is kept or written to a file, or something that a profile is made
//! from.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ::measure::Run;
use ::measure::store::Unreadable;
use ::profile::ingest::is_recognised;

use crate::exit::Failure;
use crate::options::{Context, is_path};
use crate::output;

/// Damaged runs that have been named: two references may pass over the same ones.
static SAID: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What is named.
pub(super) enum Named {
    /// A run.
    Run(Box<Run>),
    /// Traces or logs: a file, a folder, a pattern, or standard input.
    Profiled(PathBuf),
}

/// What a word names, by the content of the file where it is one. The store comes first, so that no stray file hides
/// `last`.
pub(super) fn named(reference: &str, context: &Context) -> Result<Named, Failure> {
    let path = Path::new(reference);
    let mut passed = Vec::new();
    if !is_path(reference)
        && let Ok(run) = context.store_to_read().and_then(|store| Ok(store.load_passing(reference, &mut passed)?))
    {
        say_passed(&passed);
        return Ok(Named::Run(Box::new(run)));
    }
    let is_pattern = !path.exists() && reference.contains(['*', '?', '[']);
    let is_profiled = reference == "-" || path.is_dir() || is_pattern || path.is_file() && !is_document(path);
    if is_profiled { Ok(Named::Profiled(path.into())) } else { Ok(Named::Run(Box::new(load(reference, context)?))) }
}

/// The run that a reference names. Damaged runs that `last` does not count are named on standard error.
pub(super) fn load(reference: &str, context: &Context) -> Result<Run, Failure> {
    let mut passed = Vec::new();
    let run = context.load(reference, &mut passed);
    say_passed(&passed);
    run
}

/// Names damaged runs that `last` does not count, each once.
pub(super) fn say_passed(passed: &[Unreadable]) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    for Unreadable { path, reason } in passed {
        if !said.contains(path) {
            said.push(path.clone());
            output::complain(&format!("{} is not read, and `last` does not count it: {reason}.", path.display()));
        }
    }
}

/// Whether damaged runs were passed over, so that `last` is not the newest one.
pub(super) fn has_passed() -> bool {
    !SAID.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
}

/// Whether a file begins as a run document does, and not as a log in JSON.
fn is_document(path: &Path) -> bool {
    let mut beginning = [0; 64];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut beginning)).unwrap_or(0);
    beginning[..read].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') && !is_recognised(path)
}
