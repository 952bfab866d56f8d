//! What a source of profiles is: it recognises its input and emits calls, waits and statements.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use measure::Finding;
use measure::schema::profile::is_of_blocks;

use crate::event::{Accounted, Observer, TimeScale, Unit, Unread};
use crate::input::bytes::Bytes;
use crate::input::{self, Contents, Given, Kind, Problem, SharedContents};
use crate::observe::Listeners;
use crate::source::period::Period;
use crate::source::sampled::ending::Ending;

/// A row of the table of sources.
pub struct SourceRow {
    /// The kind of its files: what an input of this source is, and by what an archive's files of other sources are left
    /// out.
    pub kind: &'static Kind,
    /// The database whose it is: `Oracle`.
    pub database: &'static str,
    /// The source as a run document names it; `None` for the one that is meant where the document names none.
    pub name: Option<&'static str>,
    /// Whether an input is this source's, by its name and its first bytes. The bytes are empty where the name cannot be
    /// opened as a file.
    pub recognises: fn(&str, &[u8]) -> bool,
    /// Whether a file has a name that only this source's files have.
    pub names: fn(&Path) -> bool,
    /// Whether an input that it recognises has anything to show, by its bytes from the first one on, and by what is
    /// found of its files meanwhile where it is an archive. Asked where other sources' files were given too, as it may
    /// take all of the bytes.
    pub(crate) shows: fn(&mut dyn Read, Option<&SharedContents>) -> bool,
    /// What an input lacks of which there is nothing to show, as a part of a sentence.
    pub lacks: &'static str,
    /// Whether it is read from one time to another. Of others all is read, and what was read is divided.
    pub is_read_by_period: bool,
    /// Why its events are not exported, as a sentence; `None` where they are.
    pub unexported: Option<&'static str>,
    /// Options that have no effect on it, each by its name with the reason; commands refuse them.
    pub unused: &'static [(&'static str, &'static str)],
    /// A source that has read nothing.
    pub open: fn(SourceSettings) -> Box<dyn Source>,
}

/// How a source reads.
#[derive(Clone, Copy, Debug)]
pub struct SourceSettings {
    /// The unit of time; found for each file where it is not given.
    pub unit: Option<Unit>,
    /// How the files are read.
    pub reading: ReadOptions,
    /// What becomes of values of bind variables.
    pub binds: BindValues,
    /// Of a recording, the time that is read.
    pub period: Period,
}

/// What becomes of values of bind variables: they are personal data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindValues {
    /// They are counted and dropped.
    #[default]
    Dropped,
    /// Those of the first executions are kept.
    Kept,
}

/// How much of the machine the reading takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// How many threads scan; at least 1.
    pub workers: usize,
    /// About how many bytes a chunk has. The result does not depend on it.
    pub chunk_bytes: usize,
}

impl ReadOptions {
    /// Bytes of a chunk and its records that stay in a processor's own cache: measured, half and double are slower.
    pub const CHUNK_BYTES: usize = 256 << 10;

    /// Most threads that are of use: consuming takes about as long as scanning, and one thread consumes at a time.
    const WORKERS_MAX: usize = 4;

    /// Threads for the processors of the machine that this process may use, as far as they are of use.
    pub fn of_this_machine() -> ReadOptions {
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(ReadOptions::WORKERS_MAX);
        ReadOptions { workers, chunk_bytes: ReadOptions::CHUNK_BYTES }
    }
}

/// Reads inputs one after the other.
///
/// What a source does not know is absent or an estimate: a call's CPU time is an `Option`, as are the ends of calls and
/// waits, and a wait's elapsed time has an error ([`Wait::elapsed_error`](crate::event::Wait::elapsed_error)).
pub trait Source: Send {
    /// The order in which inputs are read.
    fn in_order(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        inputs
    }

    /// Keeps statements apart whose texts differ in their literals alone, where it would take them for one. Asked
    /// before anything is read.
    fn keep_literals(&mut self) {}

    /// Reads one input and emits what it says: a file, or several one behind the other. An input that holds nothing of
    /// this source's is a problem.
    fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<Vec<SourceFile>, Problem>;

    /// Emits what waited for more to come; returns what the source knows of all inputs.
    fn finish(self: Box<Self>, listeners: &mut Listeners<'_>) -> Finished;
}

/// What a source knows when all its inputs are read.
#[derive(Debug, Default)]
pub struct Finished {
    /// What calls and waits name by index, and what was left out.
    pub accounted: Accounted,
    /// What a reader of the figures has to know.
    pub findings: Vec<Finding>,
    /// What nothing that was read has measured.
    pub unmeasured: Unmeasured,
    /// What samples have besides calls and waits.
    pub sampled: Option<Box<Ending>>,
}

/// What nothing that was read has measured: a zero in its place would be a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmeasured {
    /// Rows.
    pub rows: bool,
    /// Blocks that were got, read or written.
    pub blocks: bool,
    /// Times of lines of plans.
    pub line_times: bool,
}

impl Unmeasured {
    /// Whether a metric is one of these.
    pub(crate) fn has(self, metric: &str) -> bool {
        match metric {
            "rows" => self.rows,
            "time" | "inclusive_time" => self.line_times,
            other => self.blocks && is_of_blocks(other),
        }
    }
}

/// Something to read whose first bytes have been looked at.
#[derive(Debug)]
pub struct Input {
    /// Its name.
    pub given: Given,
    /// Its bytes from the first one on, where it can be read once only.
    pub bytes: Option<Bytes>,
    /// A hash of its first bytes, where they could be read.
    pub head_hash: Option<u64>,
}

impl Input {
    /// Its bytes from the first one on.
    pub fn open(self) -> Result<Bytes, Problem> {
        self.bytes.map_or_else(|| input::open(&self.given), Ok)
    }
}

/// What was read of one input.
#[derive(Clone, Debug, Default)]
pub struct SourceFile {
    /// How it is named to a person.
    pub name: String,
    /// Bytes, uncompressed.
    pub bytes: u64,
    /// Its unit of time and how that was found.
    pub scale: TimeScale,
    /// What it says of where it comes from.
    pub header: FileHeader,
    /// Calls and waits.
    pub timed_records: u64,
    /// Lines that no record was made of, by kind.
    pub unread: Vec<Unread>,
    /// Of an archive, the same lines by the name of its file, as far as it is known: that of the archive is in front of
    /// it, and the place of a line is that in the file.
    pub unread_within: Vec<(String, Unread)>,
    /// Why it was not read to its end; absent where it was.
    pub cut_short: Option<String>,
    /// A hash of its first bytes: files with the same hash and as many bytes are most probably the same.
    pub head_hash: Option<u64>,
    /// Of an archive, what was found of the files in it.
    pub contents: Contents,
}

/// What a file says of where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileHeader {
    /// The release that wrote it.
    pub version: Option<String>,
    /// The host.
    pub host: Option<String>,
    /// The instance.
    pub instance: Option<String>,
    /// The number of the process.
    pub process: Option<String>,
    /// The file from which it comes.
    pub continued_from: Option<String>,
    /// The file in which it goes on.
    pub continues_in: Option<String>,
}

/// Files whose names are kept for what has to be said of them.
const FILES_NAMED: usize = 1 << 14;

/// Is called with the file and the bytes read of it; breaks off the reading where it says so.
pub type Progress<'a> = dyn FnMut(&str, u64) -> ControlFlow<()> + Send + 'a;

/// What all inputs of a profile pass, one after the other.
pub struct Reading<'a, 'p> {
    /// What calls and waits are emitted to.
    pub listeners: Listeners<'a>,
    /// Reports how far the reading is.
    pub meter: Meter<'p>,
    begun: Vec<String>,
}

impl<'a, 'p> Reading<'a, 'p> {
    /// Nothing read yet.
    pub fn new(listeners: Listeners<'a>, progress: &'p mut Progress<'p>) -> Reading<'a, 'p> {
        Reading { listeners, meter: Meter { progress, is_broken_off: false }, begun: Vec::new() }
    }

    /// What is emitted from now on is of this file. To be called once for each file that has anything to emit.
    pub fn begin_file(&mut self, name: &str) {
        self.listeners.begin_file(name);
        self.note_file(name);
    }

    /// Notes a file of which the source itself tells what listens, once what waited of the file before is emitted.
    pub(crate) fn note_file(&mut self, name: &str) {
        if self.begun.len() < FILES_NAMED {
            self.begun.push(name.to_owned());
        }
    }

    /// What was listening, and the files that were begun, in the order in which a profile's problems count them.
    pub fn into_parts(self) -> (Listeners<'a>, Vec<String>) {
        (self.listeners, self.begun)
    }
}

/// Reports how far the reading is, and remembers whether the caller broke it off.
pub struct Meter<'p> {
    progress: &'p mut Progress<'p>,
    is_broken_off: bool,
}

impl Meter<'_> {
    /// Reports the bytes that have been read of a file. After a `Break` the source stops reading.
    pub fn read(&mut self, name: &str, bytes: u64) -> ControlFlow<()> {
        let flow = (self.progress)(name, bytes);
        self.is_broken_off |= flow.is_break();
        flow
    }

    /// Whether the caller broke the reading off.
    pub fn is_broken_off(&self) -> bool {
        self.is_broken_off
    }
}
