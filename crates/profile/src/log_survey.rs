//! From server logs to a profile: the way of logs beside that of traces.
//!
//! A log is known by its content. Logs and traces count different things, so they are never in one profile: where both
//! are given, the traces are left out, each with its sentence.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};

use crate::collector::Collector;
use crate::input::bytes::Bytes;
use crate::input::{self, Given, Problem};
use crate::observer::Observer;
use crate::postgres::format::detect;
use crate::postgres::source::LogSource;
use crate::survey::{Survey, SurveySettings, SurveyedFile, Tell};

/// Bytes of a file that its format is told from.
const HEAD_BYTES: usize = 64 << 10;

/// What is said of a trace among logs.
const NOT_A_LOG: &str = "it is no server log, and others that were given are; profile it apart";

/// What is said of a log in a folder of traces.
const A_LOG: &str = "it is a server log, and traces were given; profile it apart";

/// Something to read whose first bytes have been looked at.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) given: Given,
    /// Its bytes from the first one on, where it can be read once only.
    pub(crate) source: Option<Bytes>,
    pub(crate) is_log: bool,
    /// Of its first bytes, where they could be read.
    pub(crate) head_hash: Option<u64>,
}

impl Opened {
    /// Looks at the beginning. What cannot be read is no log: whoever reads it as a trace says why.
    pub(crate) fn of(given: Given) -> Opened {
        let is_plain = matches!(&given, Given::File(path) if path.is_file());
        let Ok(mut source) = input::open(&given) else {
            return Opened { given, source: None, is_log: false, head_hash: None };
        };
        let mut head = Vec::new();
        while head.len() < HEAD_BYTES && matches!(source.append(&mut head, HEAD_BYTES), Ok(count) if count > 0) {}
        let is_log = detect(&head).is_some();
        let head_hash = Some(hash_of_head(&head));
        let again = || Bytes::from_reader(io::Cursor::new(head).chain(Reading { source, room: Vec::new(), at: 0 }));
        Opened { given, source: (!is_plain).then(again), is_log, head_hash }
    }
}

/// A hash of a file's first bytes, of which there may be more than are looked at.
pub(crate) fn hash_of_head(head: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    head[..head.len().min(HEAD_BYTES)].hash(&mut hasher);
    hasher.finish()
}

/// Adds the files of folders that are named like logs and are some, but not to traces: a trace's folder may well hold
/// a log, and the traces are what was meant.
pub(crate) fn choose_logs(candidates: Vec<Given>, given: &mut Vec<Opened>, problems: &mut Vec<Problem>) {
    let (count, first) = (candidates.len(), candidates.first().map(Given::name));
    let mut logs: Vec<Opened> = candidates.into_iter().map(Opened::of).filter(|opened| opened.is_log).collect();
    if given.iter().any(|opened| !opened.is_log) {
        let left_out = logs.iter().map(|log| Problem::NotATrace { name: log.given.name(), what: A_LOG });
        problems.extend(left_out);
        return;
    }
    if let (true, true, Some(first)) = (given.is_empty(), logs.is_empty(), first) {
        problems.push(Problem::NoLogs { count, first });
    }
    given.append(&mut logs);
}

/// Reads logs into one profile. `more` sees every call and every wait too.
pub(crate) fn survey_logs(
    given: Vec<Opened>,
    settings: &SurveySettings,
    problems: Vec<Problem>,
    more: &mut (dyn Observer + Send),
    tell: &mut Tell,
) -> Survey {
    let mut collector = Collector::new(settings.think_time);
    let mut logs = LogSource::new();
    let (mut files, mut problems, mut begun) = (Vec::new(), problems, Vec::new());
    let mut is_broken_off = false;
    for opened in given {
        let name = opened.given.name();
        if !opened.is_log {
            problems.push(Problem::NotATrace { name, what: NOT_A_LOG });
            continue;
        }
        match opened.source.map_or_else(|| input::open(&opened.given), Ok) {
            Err(problem) => problems.push(problem),
            Ok(source) => {
                begun.push(name.clone());
                let reading = Reading { source, room: Vec::new(), at: 0 };
                let told = Told { reading, name: &name, read: 0, tell: &mut *tell, is_broken_off: &mut is_broken_off };
                more.begin_file(&name);
                let read = file(&mut logs, &name, told, &mut (&mut collector, &mut *more));
                files.push(SurveyedFile { head_hash: opened.head_hash, ..read });
            }
        }
        if is_broken_off {
            break;
        }
    }
    let (accounted, summary) = logs.finish(&mut (&mut collector, more));
    let profile = collector.finish(accounted);
    Survey { profile, files, begun, problems, is_broken_off, logs: Some(summary) }
}

/// Reads one log.
fn file(logs: &mut LogSource, name: &str, mut told: Told<'_, '_>, observer: &mut dyn Observer) -> SurveyedFile {
    let before = logs.summary().clone();
    let outcome = logs.read(&mut told, observer);
    let unread = logs.summary().unread.iter().filter_map(|now| {
        let before = before.unread.iter().find(|before| before.kind == now.kind);
        let mut unread = now.clone();
        if let Some(before) = before {
            unread.lines -= before.lines;
            unread.bytes -= before.bytes;
        }
        (unread.lines > 0).then_some(unread)
    });
    SurveyedFile {
        name: name.into(),
        bytes: told.read,
        timed_records: logs.summary().plans - before.plans,
        unread: unread.collect(),
        cut_short: outcome.err().map(|error| error.to_string()),
        ..SurveyedFile::default()
    }
}

/// A source as a reader.
struct Reading {
    source: Bytes,
    room: Vec<u8>,
    at: usize,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.room.len() {
            self.room.clear();
            self.at = 0;
            self.source.append(&mut self.room, buffer.len())?;
        }
        let count = buffer.len().min(self.room.len() - self.at);
        buffer[..count].copy_from_slice(&self.room[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// A reader that tells how far it is, and ends where the caller wants it to.
struct Told<'a, 'b> {
    reading: Reading,
    name: &'a str,
    read: u64,
    tell: &'a mut Tell<'b>,
    is_broken_off: &'a mut bool,
}

impl Read for Told<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reading.read(buffer)?;
        self.read += count as u64;
        *self.is_broken_off |= (self.tell)(self.name, self.read).is_break();
        Ok(if *self.is_broken_off { 0 } else { count })
    }
}
