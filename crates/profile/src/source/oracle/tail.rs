//! A trace that is being written: what was added is read, and nothing twice.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::event::Evidence;
use crate::input::bytes::Bytes;
use crate::input::{Given, Problem, is_packed};
use crate::source::contract::{Reading, SourceFile, SourceSettings};
use crate::source::oracle::account::Accounting;
use crate::source::oracle::probe::PROBE_BYTES;
use crate::source::oracle::read::Growing;
use crate::source::oracle::time_scale::FileClock;
use crate::source::oracle::trace_files::{Files, clock};

/// How much is looked at together for the last line end.
const SEARCH_BYTES: u64 = 64 << 10;

/// Bytes before the place of reading that are compared: other ones are another trace's.
const KNOWN_BYTES: usize = 256;

/// Why a trace that is shorter than what was read of it, or holds other bytes, is read from its beginning.
const CUT: &str = "it was cut and begun again";

/// What became of a trace since it was looked at before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// No further line is whole, or the reading was broken off: then what is left is read the next time.
    Nothing,
    /// Lines were added, and read.
    Lines,
    /// What was read no longer holds, for this reason: the trace is to be read from its beginning.
    Anew(&'static str),
    /// It was empty and became a server log, which can only be read as a whole.
    ServerLog,
}

/// A plain trace under way.
pub(crate) struct TraceTail {
    path: PathBuf,
    file: File,
    settings: SourceSettings,
    clock: Option<FileClock>,
    growing: Growing,
    files: Files,
    /// How far was read: behind a line end.
    read: u64,
    /// How far a line end was looked for.
    searched: u64,
    /// The last bytes that were read.
    known: Vec<u8>,
}

impl TraceTail {
    /// Opens a trace, of which nothing is read yet.
    pub(crate) fn open(path: &Path, settings: SourceSettings) -> Result<TraceTail, Problem> {
        let given = Given::File(path.into());
        let file = File::open(path).map_err(|error| Problem::unreadable(&given, error))?;
        let clock = clock(settings.unit, &given)?;
        Ok(TraceTail {
            path: path.into(),
            file,
            settings,
            clock,
            growing: Growing::new(settings.reading, settings.binds),
            files: Files::new(&given, settings.unit, clock, Accounting::new()),
            read: 0,
            searched: 0,
            known: Vec::new(),
        })
    }

    /// Reads the lines that were added.
    pub(crate) fn read_on(&mut self, reading: &mut Reading<'_, '_>) -> Result<Growth, Problem> {
        let outcome = self.read_lines(reading);
        outcome.map_err(|error| Problem::unreadable(&Given::File(self.path.clone()), error))
    }

    fn read_lines(&mut self, reading: &mut Reading<'_, '_>) -> io::Result<Growth> {
        let data = self.file.metadata()?;
        let size = data.len();
        // A file that was removed is written on by who has it open.
        if fs::metadata(&self.path).is_ok_and(|named| (named.dev(), named.ino()) != (data.dev(), data.ino())) {
            return Ok(Growth::Anew("another file has its name"));
        }
        if size < self.searched || self.bytes_before()? != self.known {
            return Ok(Growth::Anew(CUT));
        }
        let end = self.line_end(size)?;
        self.searched = size;
        let Some(end) = end else { return Ok(Growth::Nothing) };
        if self.has_another_clock() {
            return Ok(Growth::Anew("its unit of time or its first stamp is known only now"));
        }
        let part = Bytes::from_file(self.file.try_clone()?, self.read, end).take(end - self.read);
        let files = &mut self.files;
        let outcome = self.growing.read(Bytes::from_reader(part), self.read, &mut |batch| files.batch(batch, reading));
        match outcome {
            // It became shorter than it was a moment before.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Growth::Anew(CUT)),
            outcome => outcome?,
        }
        let is_whole = !reading.meter.is_broken_off() || self.files.end() >= end;
        self.read = if is_whole { end } else { self.files.end() };
        self.known = self.bytes_before()?;
        if is_whole {
            return Ok(Growth::Lines);
        }
        self.searched = self.read;
        Ok(Growth::Nothing)
    }

    /// The last bytes before the place of reading, as they are now.
    fn bytes_before(&self) -> io::Result<Vec<u8>> {
        let begin = self.read.saturating_sub(KNOWN_BYTES as u64);
        let mut bytes = Vec::new();
        Bytes::from_file(self.file.try_clone()?, begin, 0).take(self.read - begin).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Behind the last line end of what was added.
    fn line_end(&self, size: u64) -> io::Result<Option<u64>> {
        let first = self.searched.max(self.read);
        let mut end = size;
        while end > first {
            let begin = end.saturating_sub(SEARCH_BYTES).max(first);
            let mut bytes = Vec::new();
            Bytes::from_file(self.file.try_clone()?, begin, 0).take(end - begin).read_to_end(&mut bytes)?;
            if let Some(feed) = memchr::memrchr(b'\n', &bytes) {
                return Ok(Some(begin + feed as u64 + 1));
            }
            end = begin;
        }
        Ok(None)
    }

    /// Whether what was added says that what was read was of another unit, or gives its lines a date: they had none.
    fn has_another_clock(&mut self) -> bool {
        let may_be_known = |clock: FileClock| {
            let has_more = clock.stamp.is_none() && self.read < PROBE_BYTES as u64;
            clock.scale.evidence == Evidence::Assumed || has_more
        };
        let is_open = self.read == 0 || self.clock.is_none_or(may_be_known);
        if !is_open {
            return false;
        }
        let Ok(Some(now)) = clock(self.settings.unit, &Given::File(self.path.clone())) else { return false };
        let before = self.clock.replace(now).unwrap_or_default();
        if self.read == 0 {
            self.files.set_clock(now);
            return false;
        }
        let has_another_unit = (before.scale.calls, before.scale.waits) != (now.scale.calls, now.scale.waits);
        has_another_unit || (before.stamp.is_none() && now.stamp.is_some())
    }

    /// Whether nothing that was read so far is a call or a wait.
    pub(crate) fn is_without_calls(&self) -> bool {
        self.files.is_without_calls()
    }

    /// The files as they would be if the trace ended here, and their accounting.
    pub(crate) fn finished(&self, reading: &mut Reading<'_, '_>) -> (Vec<SourceFile>, Accounting) {
        self.files.clone().finish(reading)
    }
}

/// Whether a file can be read as it grows: it is plain, and what is in it has a place.
pub(crate) fn can_grow(path: &Path) -> bool {
    path.is_file() && File::open(path).and_then(|file| is_packed(&file)).is_ok_and(|is_packed| !is_packed)
}
