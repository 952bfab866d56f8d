//! From files to a profile: each file's unit of time is found, its records pass the accounting, the tables are filled.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::collector::Collector;
use crate::input::bytes::Bytes;
use crate::input::{self, Expansion, Given, Problem, foreign};
use crate::log_survey::{Opened, choose_logs, hash_of_head, survey_logs};
use crate::observer::Observer;
use crate::oracle::account::Accounting;
use crate::oracle::line::kind::OUT_OF_RANGE;
use crate::oracle::probe::{order_segments, probe};
use crate::oracle::read::{ReadOptions, read_while};
use crate::oracle::record::{Batch, Unread};
use crate::oracle::time_scale::{TimeScale, TimeScaleProbe, Unit};
use crate::postgres::source::LogSummary;
use crate::tables::Profile;
use crate::ticks::Ticks;

/// How a profile is made.
#[derive(Clone, Copy, Debug)]
pub struct SurveySettings {
    /// A wait for the client this long is think time.
    pub think_time: Ticks,
    /// The unit of time; found out for each file where it is not given.
    pub unit: Option<Unit>,
    /// How the files are read.
    pub reading: ReadOptions,
}

/// What was read of one file.
#[derive(Clone, Debug, Default)]
pub struct SurveyedFile {
    /// How it is named to a person.
    pub name: String,
    /// Bytes, uncompressed.
    pub bytes: u64,
    /// Its unit of time and how that was found.
    pub scale: TimeScale,
    /// The release that wrote it, where it says so.
    pub version: Option<String>,
    /// Calls and waits.
    pub timed_records: u64,
    /// Lines that no record was made of, by kind.
    pub unread: Vec<Unread>,
    /// Why it was not read to its end; absent where it was.
    pub cut_short: Option<String>,
    /// A hash of its first bytes: files with the same hash and as many bytes are most probably the same.
    pub head_hash: Option<u64>,
}

/// A profile with what it was made of.
#[derive(Debug)]
pub struct Survey {
    /// The tables.
    pub profile: Profile,
    /// The files that are in it, in the order in which they were read.
    pub files: Vec<SurveyedFile>,
    /// The names of all files that were begun, in the order in which the profile's problems count them.
    pub begun: Vec<String>,
    /// What is in the way of the files that are not in it.
    pub problems: Vec<Problem>,
    /// Whether the caller broke it off.
    pub is_broken_off: bool,
    /// What is to be known of server logs; `None` where traces were read.
    pub logs: Option<LogSummary>,
}

impl Survey {
    /// Whether each of the arguments that names a single file was read. What is wrong within a folder, or a file that
    /// was named twice, is a matter of the findings alone.
    pub fn has_all_named(&self, arguments: &[PathBuf]) -> bool {
        let is_named = |name: &str| arguments.iter().any(|argument| argument.as_os_str() == name);
        !self.problems.iter().any(|problem| match problem {
            Problem::Unreadable { name, .. } | Problem::NotATrace { name, .. } => is_named(name),
            Problem::NoMatch { .. } => true,
            Problem::Unlisted { .. } | Problem::Repeated { .. } | Problem::NoLogs { .. } | Problem::NoTraces { .. } => {
                false
            }
        })
    }
}

/// Tells how far the reading is, and whether to go on: the file, and bytes read of it.
pub type Tell<'a> = dyn FnMut(&str, u64) -> ControlFlow<()> + Send + 'a;

/// Reads what the arguments name into one profile: files, folders, patterns, or `-` for standard input. `more` sees
/// every call and every wait too.
///
/// A file that cannot be read, or is no trace, is a problem of the survey, and the others are read all the same.
pub fn survey(
    arguments: &[PathBuf],
    settings: &SurveySettings,
    more: &mut (dyn Observer + Send),
    tell: &mut Tell,
) -> Survey {
    let Expansion { given, candidates, mut problems } = input::expand(arguments);
    let mut given: Vec<Opened> = given.into_iter().map(Opened::of).collect();
    choose_logs(candidates, &mut given, &mut problems);
    if given.iter().any(|opened| opened.is_log) {
        return survey_logs(given, settings, problems, more, tell);
    }
    let mut collector = Collector::new(settings.think_time);
    let mut reader = Reader {
        settings,
        accounting: Accounting::new(),
        observers: (&mut collector, more),
        tell,
        begun: Vec::new(),
        is_broken_off: false,
    };
    let mut files = Vec::new();
    for Opened { given, source, .. } in in_order_of_time(given) {
        match reader.file(&given, source) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(problem),
        }
        if reader.is_broken_off {
            break;
        }
    }
    let Reader { accounting, mut observers, begun, is_broken_off, .. } = reader;
    let accounted = accounting.finish(&mut observers);
    let profile = collector.finish(accounted);
    Survey { profile, files, begun, problems, is_broken_off, logs: None }
}

/// The segments of one trace are read in the order of their times, whatever their names.
fn in_order_of_time(given: Vec<Opened>) -> Vec<Opened> {
    let path = |opened: &Opened| match (&opened.given, &opened.source) {
        (Given::File(path), None) => Some(path.clone()),
        _ => None,
    };
    let mut paths: Vec<PathBuf> = given.iter().filter_map(path).collect();
    order_segments(&mut paths);
    let mut paths = paths.into_iter();
    // A pipe keeps its bytes: what has been read of it is not there again.
    let ordered = |one: Opened| match (&one.given, &one.source) {
        (Given::File(_), None) => Opened { given: paths.next().map_or(one.given, Given::File), ..one },
        _ => one,
    };
    given.into_iter().map(ordered).collect()
}

/// What all files pass, one after the other.
struct Reader<'a, 'b, 'c> {
    settings: &'a SurveySettings,
    accounting: Accounting,
    observers: (&'a mut Collector, &'b mut (dyn Observer + Send)),
    tell: &'a mut Tell<'c>,
    begun: Vec<String>,
    is_broken_off: bool,
}

impl Reader<'_, '_, '_> {
    fn file(&mut self, given: &Given, source: Option<Bytes>) -> Result<SurveyedFile, Problem> {
        let mut file = SurveyedFile { name: given.name(), ..SurveyedFile::default() };
        let mut scale = self.settings.unit.map(TimeScale::given);
        let mut head = None;
        // What is no plain file can be read once only: there the first batch has to do.
        if let Given::File(path) = given
            && path.is_file()
        {
            let ends = probe(path)?;
            let mut clocks = TimeScaleProbe::new();
            clocks.batch(&ends.head);
            ends.tail.iter().for_each(|tail| clocks.batch(tail));
            scale = scale.or_else(|| Some(clocks.decide()));
            // What a file is that is no trace can be told from less than a probe, which is held until the end.
            let bytes = &ends.head.bytes;
            head = Some(bytes[..bytes.len().min(foreign::HEAD_BYTES)].to_vec());
        }
        let source = source.map_or_else(|| input::open(given), Ok)?;
        let mut is_begun = false;
        let reading = self.settings.reading;
        let outcome = read_while(source, reading, &mut |batch: &Batch| {
            if !is_begun {
                head.get_or_insert_with(|| batch.bytes[..batch.bytes.len().min(foreign::HEAD_BYTES)].to_vec());
                file.scale = scale.unwrap_or_else(|| found(batch));
                self.accounting.begin_file(file.scale);
                self.observers.begin_file(&file.name);
                self.begun.push(file.name.clone());
                is_begun = true;
            }
            self.batch(&mut file, batch)
        });
        file.head_hash = head.as_deref().map(hash_of_head);
        if is_begun {
            file.version = self.accounting.version().map(str::to_owned);
            self.accounting.end_file(&mut self.observers);
        }
        match outcome {
            Err(error) if file.timed_records == 0 => Err(Problem::unreadable(given, error)),
            Ok(()) if file.timed_records == 0 => {
                let is_out_of_range = file.unread.iter().any(|unread| unread.kind == OUT_OF_RANGE);
                let what = if is_out_of_range {
                    "it has lines of calls and waits, and each has a number beyond 64 bits: the file is damaged"
                } else {
                    foreign::describe(&head.unwrap_or_default())
                };
                Err(Problem::NotATrace { name: given.name(), what })
            }
            outcome => {
                file.cut_short = outcome.err().map(|error| error.to_string());
                Ok(file)
            }
        }
    }

    fn batch(&mut self, file: &mut SurveyedFile, batch: &Batch) -> ControlFlow<()> {
        note(file, batch);
        self.accounting.batch(batch, &mut self.observers);
        file.timed_records = self.accounting.timed_records();
        let answer = (self.tell)(&file.name, file.bytes);
        self.is_broken_off = answer.is_break();
        answer
    }
}

/// The unit that the beginning of a file speaks for.
fn found(batch: &Batch) -> TimeScale {
    let mut probe = TimeScaleProbe::new();
    probe.batch(batch);
    probe.decide()
}

/// Counts what the report says of a file.
fn note(file: &mut SurveyedFile, batch: &Batch) {
    file.bytes = batch.offset + batch.bytes.len() as u64;
    for unread in &batch.unread {
        match file.unread.iter_mut().find(|known| known.kind == unread.kind) {
            Some(known) => {
                known.lines += unread.lines;
                known.bytes += unread.bytes;
            }
            None => file.unread.push(unread.clone()),
        }
    }
}
