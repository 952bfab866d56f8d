//! What the accounting keeps of one session while it reads a file.

use crate::event::{Scope, ScopeIndex, SessionIndex, StatementIndex, Ticks};
use crate::source::oracle::cursor::{Cursors, PendingWait};
use crate::source::oracle::recursion::Recursion;
use crate::source::session_clock::SessionClock;

/// A pause between two files of a session that is no longer than this is the usual time between two lines.
const HOLE_MIN: Ticks = Ticks::from_micros(1_000_000);

/// A session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionState {
    pub(crate) index: SessionIndex,
    pub(crate) scope: Scope,
    pub(crate) scope_index: ScopeIndex,
    pub(crate) cursors: Cursors,
    /// The statement of its last call.
    pub(crate) last_call: Option<StatementIndex>,
    /// Waits of no cursor since the last call.
    pub(crate) loose: Vec<PendingWait>,
    pub(crate) recursion: Recursion,
    pub(crate) clock: SessionClock,
    /// The file of its last timed line, counted from 1.
    pub(crate) file: u32,
    /// Begin and end of the segment's pauses between one file and the next, which no line covers.
    pub(crate) holes: Vec<(Ticks, Ticks)>,
}

impl SessionState {
    /// Extends the segment by a timed line of this file if nothing is odd about its time.
    #[inline]
    pub(crate) fn goes_on(&mut self, start: Ticks, end: Ticks, file: u32) -> bool {
        self.file == file && self.holes.is_empty() && self.clock.goes_on(start, end)
    }

    /// Extends the segment by a timed line of this file.
    pub(crate) fn extend(&mut self, start: Ticks, end: Ticks, file: u32) {
        if self.file != file {
            self.file = file;
            let last = self.clock.last().unwrap_or(start);
            if start - last >= HOLE_MIN {
                self.holes.push((last, start));
            }
        }
        // A call that was still running, or a wait, covers the time between the files.
        while self.holes.last().is_some_and(|(begin, _)| start <= *begin) {
            self.holes.pop();
        }
        self.clock.extend(start, end);
    }

    /// Begins another segment with a timed line to which the clock leapt, and nothing but the line tells of that time.
    pub(crate) fn leap(&mut self, start: Ticks, end: Ticks) {
        self.clock.leap(start, end);
    }
}
