//! Checks the runs of a job file: each command line is read as if it had been typed, up to where it would measure.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{self, Path};

use ::profile::input;
use clap::Command;
use subjects::postgres::calibration::own_queries::{self, QuerySource};
use sys::file::Caching;

use crate::exit::Failure;
use crate::job::experiment::{Experiment, experiments};
use crate::job::problem::Place;
use crate::job::{PlannedRun, Problem, in_keys, is_of_the_whole, refusal};
use crate::options::{Context, Purpose};

/// Parameters that name what has to be there: what is read, and the folder of a file that a run makes.
const READ: [(&str, &str); 6] = [
    ("disk", "paths"),
    ("roundtrip", "paths"),
    ("ladder", "on"),
    ("ladder", "dir"),
    ("profile", "files"),
    ("calibrate", "queries"),
];

/// Parameters that name a file that is written, with the option by which it replaces one that is there.
const WRITTEN: [(&str, &str, &str); 1] = [("lio", "flamegraph", "--force")];

/// Checks all runs; gives everything that is wrong with them.
pub(super) fn all(runs: &[PlannedRun], context: &Context) -> Vec<Problem> {
    let definition = (context.definition)();
    let experiments = experiments(&definition);
    let mut checker = Checker { context, definition, experiments, known: BTreeMap::new() };
    runs.iter().flat_map(|run| checker.run(run)).collect()
}

/// What is wrong with runs that write a file which is there by then, because a run before them writes it.
pub(super) fn written_again<'a>(runs: impl IntoIterator<Item = &'a PlannedRun>) -> Vec<Problem> {
    let (mut known, mut problems) = (BTreeSet::new(), Vec::new());
    for run in runs {
        for (_, name, replacing) in WRITTEN.iter().filter(|(experiment, ..)| *experiment == run.experiment) {
            let Some((files, place)) = run.given(name) else { continue };
            let is_again =
                files.into_iter().any(|file| !known.insert(path::absolute(&file).unwrap_or_else(|_| file.into())));
            let replaces = run.words().is_ok_and(|words| words.iter().any(|word| word == replacing));
            if is_again && !replaces {
                let key = replacing.trim_start_matches('-');
                let sentence = format!(
                    "'{name}' names one file for several runs, of which only the first could write it: write a job \
                     for each of them, with a file of its own, or {key} = true to keep the last one"
                );
                problems.push(Problem::new(place, sentence));
            }
        }
    }
    problems
}

struct Checker<'a> {
    context: &'a Context,
    definition: Command,
    experiments: Vec<Experiment>,
    /// What is wrong with each value by itself, which the runs of a matrix have in common.
    known: BTreeMap<(Place, Vec<OsString>), Option<Problem>>,
}

impl Checker<'_> {
    /// Each value by itself, the files that are read, and the command line as a whole. What a run with a wrong value
    /// lacks or could do is not known: that value may have been it.
    fn run(&mut self, run: &PlannedRun) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut wrong = Vec::new();
        for (place, part) in run.parts() {
            if let Some(problem) = self.value(place, &part) {
                problems.push(problem);
                wrong.push(place);
            }
        }
        let sound = run.without(&wrong);
        problems.extend(self.whole(&sound).err());
        for (_, name) in READ.iter().filter(|(experiment, _)| *experiment == run.experiment) {
            let is_new = |problem: &Problem| problems.iter().all(|known| known.place != problem.place);
            let found: Vec<Problem> = unread(&sound, name).into_iter().filter(is_new).collect();
            problems.extend(found);
        }
        problems
    }

    /// What is wrong with the value of the one parameter of this run.
    fn value(&mut self, place: &Place, part: &PlannedRun) -> Option<Problem> {
        let line = match words(part) {
            Ok(line) => line,
            Err(problem) => return Some(problem),
        };
        let definition = &self.definition;
        let check = || {
            let error = definition.clone().try_get_matches_from(&line).err()?;
            (!is_of_the_whole(&error)).then(|| refusal(part, &error))
        };
        self.known.entry((place.clone(), line.clone())).or_insert_with(check).clone()
    }

    /// What is wrong with the command line as a whole.
    fn whole(&self, run: &PlannedRun) -> Result<(), Problem> {
        let line = words(run)?;
        let matches = match self.definition.clone().try_get_matches_from(&line) {
            Err(_) if !run.is_whole => return Ok(()),
            matches => matches.map_err(|error| refusal(run, &error))?,
        };
        if !run.is_whole {
            return Ok(());
        }
        let experiment = self.experiments.iter().find(|experiment| experiment.name == run.experiment);
        let refused = |failure: Failure| {
            let sentence = run.without_passwords(failure.message.trim_end_matches('.'));
            let place = run.place_of(&sentence);
            Problem::new(place, experiment.map_or(sentence.clone(), |experiment| in_keys(&sentence, experiment)))
        };
        let Context { settings, definition, dispatch, .. } = self.context;
        let own = Context::new(&matches, settings.clone(), &line, (*definition, *dispatch)).map_err(refused)?;
        let own = Context { purpose: Purpose::Check, ..own };
        dispatch(&matches, &own).map(drop).map_err(refused)
    }
}

/// The command line of a run.
fn words(run: &PlannedRun) -> Result<Vec<OsString>, Problem> {
    Ok(["readpath".to_string()].into_iter().chain(run.words()?).map(Into::into).collect())
}

/// The files and devices that cannot be read, and the folders that are not there.
fn unread(run: &PlannedRun, name: &str) -> Vec<Problem> {
    let Some((words, place)) = run.given(name) else { return Vec::new() };
    let (reason, what): (fn(&str) -> Option<String>, _) = match name {
        "files" => (unreadable_trace, "what cannot be read"),
        "queries" => (unreadable_queries, "none that can be taken"),
        "dir" => (no_directory, "no directory"),
        _ => (unreadable, "what cannot be read"),
    };
    let problem = |reason: String| {
        let reason = run.without_passwords(&reason);
        Problem::new(place, format!("'{name}' names {what}: {reason}"))
    };
    words.iter().filter_map(|word| reason(word)).map(problem).collect()
}

/// Why a device cannot be read; `None` where it can.
fn unreadable(word: &str) -> Option<String> {
    let path = Path::new(word);
    if device::has_prefix(path) {
        return device::open(path, Caching::Direct).err().map(|error| error.to_string());
    }
    let error = opened(path).err()?;
    let meant = if error.kind() == ErrorKind::NotFound { device::not_a_file(path) } else { None };
    Some(meant.map_or_else(|| format!("{word}: {error}"), |meant| meant.to_string()))
}

/// The same of a trace, for which a folder or a pattern may stand.
fn unreadable_trace(word: &str) -> Option<String> {
    let path = Path::new(word);
    if word == "-" {
        return Some("standard input belongs to no run of a job".into());
    }
    let is_pattern = !path.exists() && word.contains(['*', '?', '[']);
    if !is_pattern {
        return unreadable_file_or_folder(word, path);
    }
    let found = input::expand(&[path.to_path_buf()]);
    let is_without = |problem: &&input::Problem| matches!(problem, input::Problem::NoMatch { .. });
    found.problems.iter().find(is_without).map(ToString::to_string)
}

/// The same of queries, of which there has to be one. Those that a server lists are in no file, and what is no such
/// word is said elsewhere.
fn unreadable_queries(word: &str) -> Option<String> {
    let Ok(QuerySource::Files(path)) = QuerySource::parse(word) else { return None };
    own_queries::of_files(&path).err()
}

/// Why a file cannot be opened; a folder is looked into when it is read.
fn unreadable_file_or_folder(word: &str, path: &Path) -> Option<String> {
    let is_there = if path.is_dir() { Ok(()) } else { opened(path) };
    is_there.err().map(|error| format!("{word}: {error}"))
}

/// Why there is no directory of this name; `None` where there is one.
fn no_directory(word: &str) -> Option<String> {
    let error = match fs::metadata(word) {
        Ok(data) if data.is_dir() => return None,
        Ok(_) => ErrorKind::NotADirectory.into(),
        Err(error) => error,
    };
    Some(format!("{word}: {error}"))
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
