//! From what was given to a profile: the source is chosen, its inputs are read, the tables are filled.

use std::io::{self, Read};
use std::path::PathBuf;

use measure::Finding;

use crate::event::{Observer, Ticks};
use crate::input::bytes::Bytes;
use crate::input::{self, Expansion, Given, Problem, foreign};
use crate::observe::collector::Collector;
use crate::source::{Input, Progress, Reading, SOURCES, SourceFile, SourceRow, SourceSettings};
use crate::tables::Profile;
use crate::tables::folding::fold;

/// How a profile is made.
#[derive(Clone, Copy, Debug)]
pub struct IngestSettings {
    /// A wait for the client this long is think time.
    pub think_time: Ticks,
    /// How the source reads.
    pub source: SourceSettings,
}

/// A profile with what it was made of.
#[derive(Debug)]
pub struct Ingested {
    /// The tables.
    pub profile: Profile,
    /// Where it comes from, as a run document names it; `None` for a trace.
    pub source: Option<&'static str>,
    /// The files that are in it, in the order in which they were read.
    pub files: Vec<SourceFile>,
    /// The names of all files that were begun, in the order in which the profile's problems count them.
    pub begun: Vec<String>,
    /// Why files are not in it.
    pub problems: Vec<Problem>,
    /// What the source has to say about its figures.
    pub findings: Vec<Finding>,
    /// Whether the caller broke it off.
    pub is_broken_off: bool,
    /// Statements that went into others by [`Ingested::fold_literals`]; `None` where it was not asked for.
    pub folded: Option<usize>,
}

impl Ingested {
    /// Adds up the statements whose texts differ only in their literals.
    pub fn fold_literals(&mut self) {
        self.folded = Some(fold(&mut self.profile));
    }

    /// Whether each of the arguments that names a single file was read. Problems within a folder, and a file that was
    /// named twice, are a matter of the findings alone.
    pub fn has_all_named(&self, arguments: &[PathBuf]) -> bool {
        let is_named = |name: &str| arguments.iter().any(|argument| argument.as_os_str() == name);
        !self.problems.iter().any(|problem| match problem {
            Problem::Unreadable { name, .. } | Problem::NotATrace { name, .. } | Problem::OtherSource { name, .. } => {
                is_named(name)
            }
            Problem::NoMatch { .. } => true,
            Problem::Unlisted { .. } | Problem::Repeated { .. } | Problem::NoLogs { .. } | Problem::NoTraces { .. } => {
                false
            }
        })
    }
}

/// Reads what the arguments name into one profile: files, folders, patterns, or `-` for standard input. `more` hears
/// every call and every wait too.
///
/// A file that cannot be read, or is none of the source's, becomes a problem; the others are read.
pub fn ingest<'p>(
    arguments: &[PathBuf],
    settings: &IngestSettings,
    more: &mut (dyn Observer + Send),
    progress: &'p mut Progress<'p>,
) -> Ingested {
    let Chosen { row, inputs, mut problems } = choose(input::expand(arguments));
    let mut collector = Collector::new(settings.think_time);
    let mut reading = Reading::new((&mut collector, more), progress);
    let mut source = (row.open)(settings.source);
    let mut files = Vec::new();
    for input in source.in_order(inputs) {
        match source.read(input, &mut reading) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(problem),
        }
        if reading.meter.is_broken_off() {
            break;
        }
    }
    let is_broken_off = reading.meter.is_broken_off();
    let (mut listeners, begun) = reading.into_parts();
    let finished = source.finish(&mut listeners);
    let profile = collector.finish(finished.accounted);
    Ingested {
        profile,
        source: row.name,
        files,
        begun,
        problems,
        findings: finished.findings,
        is_broken_off,
        folded: None,
    }
}

/// The source of a profile with its inputs.
struct Chosen {
    row: &'static SourceRow,
    inputs: Vec<Input>,
    problems: Vec<Problem>,
}

/// An input and the place of its source in the table; `None` where it cannot be opened.
struct Recognised {
    input: Input,
    place: Option<usize>,
}

/// The place of the source that takes what no other one recognises.
const LAST: usize = SOURCES.len() - 1;

/// Chooses the source: the first of the table that recognises anything that was given. Sources count different things,
/// so a profile has one: an input of another one is a problem.
///
/// Files of folders that are only named like logs are read if they are some, but not beside traces: a trace's folder
/// may well hold a log, and the traces are what was meant.
fn choose(Expansion { given, candidates, mut problems }: Expansion) -> Chosen {
    let mut given: Vec<Recognised> = given.into_iter().map(recognise).collect();
    let (count, first) = (candidates.len(), candidates.first().map(Given::name));
    let candidates = candidates.into_iter().map(recognise);
    let mut logs: Vec<Recognised> = candidates.filter(|one| one.place.is_some_and(|place| place < LAST)).collect();
    if let (true, true, Some(first)) = (given.is_empty(), logs.is_empty(), first) {
        problems.push(Problem::NoLogs { count, first });
    }
    let first_of = |inputs: &[Recognised]| inputs.iter().filter_map(|one| one.place).min().unwrap_or(LAST);
    if given.is_empty() || first_of(&given) < LAST {
        given.append(&mut logs);
    }
    let place = first_of(&given);
    let row = &SOURCES[place];
    let other = |one: &Recognised| Problem::OtherSource { name: one.input.given.name(), noun: row.noun };
    let (inputs, others): (Vec<Recognised>, Vec<Recognised>) =
        given.into_iter().partition(|one| one.place.is_none_or(|of| of == place));
    problems.extend(logs.iter().chain(&others).map(other));
    Chosen { row, inputs: inputs.into_iter().map(|one| one.input).collect(), problems }
}

/// Looks at the beginning of an input. One that cannot be opened is left to the source that reads the others: it says
/// why.
fn recognise(given: Given) -> Recognised {
    let is_plain = matches!(&given, Given::File(path) if path.is_file());
    let source = input::open(&given).ok();
    let can_be_opened = source.is_some();
    let (head, bytes) = source.map(first_bytes).unwrap_or_default();
    let name = given.name();
    let claimed = SOURCES.iter().position(|row| (row.recognises)(&name, &head));
    let place = claimed.or(can_be_opened.then_some(LAST));
    let head_hash = can_be_opened.then(|| foreign::hash_of_head(&head));
    let again = |rest: Bytes| Bytes::from_reader(io::Cursor::new(head).chain(rest));
    let bytes = bytes.filter(|_| !is_plain).map(again);
    Recognised { input: Input { given, bytes, head_hash }, place }
}

/// The first bytes of a source, and the rest.
fn first_bytes(mut source: Bytes) -> (Vec<u8>, Option<Bytes>) {
    let mut head = Vec::new();
    while head.len() < foreign::HEAD_BYTES
        && matches!(source.append(&mut head, foreign::HEAD_BYTES), Ok(count) if count > 0)
    {}
    (head, Some(source))
}
