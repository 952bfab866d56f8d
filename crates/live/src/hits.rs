//! Blocks that sessions found in the server's buffers, by the server's own count, which grows when statements end.

use std::time::{Duration, Instant};

use server::{ServerError, Session};

use crate::statements::HITS;

/// How often it is asked at most: the server itself adds up about once a second.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// Whether hits are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// They are.
    Counted,
    /// They are not.
    Left,
}

/// The count as it was last asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferHits {
    asked: Option<Instant>,
    blocks: Option<u64>,
}

impl BufferHits {
    /// Asks, where it is time to. A server that refuses is not asked for it again soon, and has no count.
    pub(crate) fn ask(&mut self, session: &mut Session) -> Result<(), ServerError> {
        if self.asked.is_some_and(|asked| asked.elapsed() < ASKED_EVERY) {
            return Ok(());
        }
        self.asked = Some(Instant::now());
        self.blocks = match session.rows(HITS) {
            Ok(rows) => rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok()),
            Err(error) if error.is_of_statement() => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// Blocks so far, since the server's counters were begun.
    pub(crate) fn blocks(&self) -> Option<u64> {
        self.blocks
    }
}
