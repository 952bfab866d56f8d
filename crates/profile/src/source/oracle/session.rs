//! What the accounting keeps of one session while it reads a file.

use crate::event::{Scope, ScopeIndex, SessionIndex, Ticks};
use crate::source::oracle::cursor::{Cursors, PendingWait};
use crate::source::oracle::recursion::Recursion;

/// A clock that goes back by more than this was set or restarted; less is the usual disorder of lines.
const BACKWARDS: Ticks = Ticks::from_micros(1_000_000);

/// A pause between two files of a session that is no longer than this is the usual time between two lines.
const HOLE_MIN: Ticks = Ticks::from_micros(1_000_000);

/// A session.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    pub(crate) index: SessionIndex,
    pub(crate) scope: Scope,
    pub(crate) scope_index: ScopeIndex,
    pub(crate) cursors: Cursors,
    /// Waits of no cursor since the last call.
    pub(crate) loose: Vec<PendingWait>,
    pub(crate) recursion: Recursion,
    /// From the first start to the last end since the clock was last interrupted.
    pub(crate) segment: Option<(Ticks, Ticks)>,
    /// The file of its last timed line, counted from 1.
    pub(crate) file: u32,
    /// Begin and end of the segment's pauses between one file and the next, which no line covers.
    pub(crate) holes: Vec<(Ticks, Ticks)>,
}

impl SessionState {
    /// Whether a timed line that ends at `end` shows that the clock went back.
    pub(crate) fn is_interrupted(&self, end: Ticks) -> bool {
        self.segment.is_some_and(|(_, last)| end < last - BACKWARDS)
    }

    /// Extends the segment by a timed line of this file.
    pub(crate) fn extend(&mut self, start: Ticks, end: Ticks, file: u32) {
        let (first, last) = self.segment.unwrap_or((start, end));
        if self.file != file {
            self.file = file;
            if start - last >= HOLE_MIN {
                self.holes.push((last, start));
            }
        }
        // A call that was still running, or a wait, covers the time between the files.
        while self.holes.last().is_some_and(|(begin, _)| start <= *begin) {
            self.holes.pop();
        }
        self.segment = Some((first.min(start), last.max(end)));
    }

    /// Ends the segment: its first and last time, and the time between files that no line covers.
    pub(crate) fn end_segment(&mut self) -> Option<(Ticks, Ticks, Ticks)> {
        let holes = self.holes.drain(..).map(|(begin, end)| end - begin).sum();
        self.segment.take().map(|(first, last)| (first, last, holes))
    }
}
