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
        // One that began within it covers the rest of it.
        if let Some((_, hole_end)) = self.holes.last_mut().filter(|(_, hole_end)| end >= *hole_end) {
            *hole_end = start.min(*hole_end);
        }
        self.clock.extend(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_between_two_files_that_a_running_call_covers_in_part_is_unrecorded_in_the_rest_alone() {
        let at = |seconds: i64| Ticks::from_micros(seconds * 1_000_000);
        let mut session = SessionState::default();
        session.extend(at(0), at(100), 1);
        // A wait stands ahead of its call, which began while there was no file.
        session.extend(at(149), at(150), 2);
        assert_eq!(session.holes, [(at(100), at(149))]);
        session.extend(at(120), at(151), 2);
        assert_eq!(session.holes, [(at(100), at(120))]);
        session.extend(at(151), at(152), 2);
        assert_eq!(session.holes, [(at(100), at(120))], "what comes behind it takes nothing off");
        session.extend(at(90), at(153), 2);
        assert!(session.holes.is_empty());
    }
}
