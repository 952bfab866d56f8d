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
use crate::source::oracle::mark::BEGINNING;
use crate::source::oracle::probe::PROBE_BYTES;
use crate::source::oracle::read::Growing;
use crate::source::oracle::time_scale::FileClock;
use crate::source::oracle::trace_files::{Files, clock};

/// How much is looked at together for the last line end.
const SEARCH_BYTES: u64 = 64 << 10;

/// Bytes before the place of reading that are compared: other ones are another trace's.
const KNOWN_BYTES: usize = 256;

/// What may say more of a trace's clock: a mark, which may be a stamp, a sleep of known length, and a release.
const SIGNS: [&[u8]; 5] = [BEGINNING, LOCK_TIMER, b"Release ", b"Version ", b"ORACLE V"];
const LOCK_TIMER: &[u8] = b"PL/SQL lock timer";

/// What a call with a time has, with which a stamp ahead of it counts at the latest.
const CALL: &[u8] = b",tim=";

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
    /// Whether a sign of the clock was added, and no call in a later part.
    awaits_call: bool,
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
            awaits_call: false,
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
        if self.has_another_clock(end) {
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
        self.bytes(self.read.saturating_sub(KNOWN_BYTES as u64), self.read)
    }

    /// The bytes from here to there, as many of them as there are.
    fn bytes(&self, begin: u64, end: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Bytes::from_file(self.file.try_clone()?, begin, 0).take(end - begin).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Behind the last line end of what was added.
    fn line_end(&self, size: u64) -> io::Result<Option<u64>> {
        let first = self.searched.max(self.read);
        let mut end = size;
        while end > first {
            let begin = end.saturating_sub(SEARCH_BYTES).max(first);
            if let Some(feed) = memchr::memrchr(b'\n', &self.bytes(begin, end)?) {
                return Ok(Some(begin + feed as u64 + 1));
            }
            end = begin;
        }
        Ok(None)
    }

    /// Whether what was added, up to `end`, says that what was read was of another unit, or gives its lines a date: it
    /// had none.
    fn has_another_clock(&mut self, end: u64) -> bool {
        let may_be_known = |clock: FileClock| {
            let has_more = clock.stamp.is_none() && self.read < PROBE_BYTES as u64;
            clock.scale.evidence == Evidence::Assumed || has_more
        };
        let is_open = self.read == 0 || self.clock.is_none_or(may_be_known);
        if !is_open {
            return false;
        }
        if !self.may_say_more(end) && self.read > 0 {
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

    /// Whether what was added may say more of the clock. Only then are both ends of the trace looked at again, which
    /// takes longer than to read what is added.
    fn may_say_more(&mut self, end: u64) -> bool {
        let (has_sign, has_call) = self.signs(end).unwrap_or((true, false));
        let may_say_more = has_sign || self.awaits_call;
        self.awaits_call = has_sign || self.awaits_call && !has_call;
        may_say_more
    }

    /// Whether what was added has a sign of the clock, and whether it has a call: as far as the clock is looked for in
    /// it.
    fn signs(&self, end: u64) -> io::Result<(bool, bool)> {
        let head = end.min(PROBE_BYTES as u64);
        let tail = end.saturating_sub(PROBE_BYTES as u64).max(self.read).max(head);
        let (mut has_sign, mut has_call) = (false, false);
        for (begin, end) in [(self.read, head), (tail, end)] {
            let mut at = begin;
            while at < end {
                let bytes = self.bytes(at, end.min(at + SEARCH_BYTES))?;
                let holds = |sign: &[u8]| memchr::memmem::find(&bytes, sign).is_some();
                has_sign |= SIGNS.into_iter().any(holds);
                has_call |= holds(CALL);
                // A sign may begin in these bytes and end behind them.
                at += SEARCH_BYTES - LOCK_TIMER.len() as u64;
            }
        }
        Ok((has_sign, has_call))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::contract::{BindValues, ReadOptions};
    use crate::source::period::Period;

    const EXEC: &str = "EXEC #1:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=3\n";

    #[test]
    fn a_trace_without_a_stamp_is_not_looked_at_from_its_beginning_whenever_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trc");
        fs::write(&path, "").unwrap();
        let reading = ReadOptions { workers: 1, chunk_bytes: 4096 };
        let settings = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period: Period::default() };
        let (mut tail, mut whole) = (TraceTail::open(&path, settings).unwrap(), String::new());
        let mut looks = |added: &str| {
            whole.push_str(added);
            fs::write(&path, &whole).unwrap();
            let end = whole.len() as u64;
            let looks = tail.may_say_more(end);
            tail.read = end;
            looks
        };
        assert!(!looks(&EXEC.repeat(2000)) && !looks(EXEC));
        // A stamp counts with the line behind it, whenever that is written.
        let stamp = "*** 2003-05-06 10:00:01.000\n";
        assert_eq!([stamp, "a text\n", EXEC, EXEC].map(&mut looks), [true, true, true, false]);
        let behind = "x".repeat(SEARCH_BYTES as usize - 2);
        assert!(looks(&(behind + stamp)), "it lies on both sides of what is looked at together");
        assert!(looks(EXEC) && !looks(EXEC));
        assert!(looks("WAIT #1: nam='PL/SQL lock timer' ela= 976000 duration=100 p2=0 p3=0 tim=9\n"));
    }
}
