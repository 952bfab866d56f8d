//! What the accounting keeps of one session while it reads a file.

use crate::observer::{Scope, ScopeIndex, SessionIndex};
use crate::oracle::cursor::{Cursors, PendingWait};
use crate::oracle::recursion::Recursion;
use crate::ticks::Ticks;

/// A clock that goes back by more than this was set or restarted; less is the usual disorder of lines.
const BACKWARDS: Ticks = Ticks::from_micros(1_000_000);

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
    pub(crate) stretch: Option<(Ticks, Ticks)>,
}

impl SessionState {
    /// Whether a timed line that ends at `end` shows that the clock went back.
    pub(crate) fn is_interrupted(&self, end: Ticks) -> bool {
        self.stretch.is_some_and(|(_, last)| end < last - BACKWARDS)
    }

    /// Extends the stretch by a timed line.
    pub(crate) fn extend(&mut self, start: Ticks, end: Ticks) {
        let (first, last) = self.stretch.unwrap_or((start, end));
        self.stretch = Some((first.min(start), last.max(end)));
    }
}
