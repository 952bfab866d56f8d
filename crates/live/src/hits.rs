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
    /// Whether it is time to ask; then it counts as asked.
    pub(crate) fn take_due(&mut self) -> bool {
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= ASKED_EVERY);
        if is_due {
            self.asked = Some(Instant::now());
        }
        is_due
    }

    /// Asks for blocks so far; `None` where the server refuses.
    pub(crate) fn ask(session: &mut Session) -> Result<Option<u64>, ServerError> {
        match session.rows(HITS) {
            Ok(rows) => Ok(rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok())),
            Err(error) if error.is_of_statement() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the answer.
    pub(crate) fn learn(&mut self, blocks: Option<u64>) {
        self.blocks = blocks;
    }

    /// Blocks so far, since the server's counters were begun.
    pub(crate) fn blocks(&self) -> Option<u64> {
        self.blocks
    }
}
