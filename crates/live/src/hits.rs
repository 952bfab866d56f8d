//! Blocks that sessions found in the server's buffers, by the server's own count, which grows when statements end.

use std::time::{Duration, Instant};

use server::{ServerError, Session};

use crate::burden::until_asked_again;
use crate::refusal::unless_refused;
use crate::row::parsed;
use crate::statements::HITS;

/// How often it is asked at most: the server itself adds up about once a second.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// The count as it was last asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferHits {
    asked: Option<Instant>,
    /// How long the server worked for the last answer.
    worked: Duration,
    blocks: Option<u64>,
}

impl BufferHits {
    /// Whether it is time to ask; then it counts as asked.
    pub(crate) fn take_due(&mut self) -> bool {
        let every = until_asked_again(ASKED_EVERY, self.worked);
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= every);
        if is_due {
            self.asked = Some(Instant::now());
        }
        is_due
    }

    /// Asks for blocks so far; `None` where the server refuses.
    pub(crate) fn ask(session: &mut Session) -> Result<Option<u64>, ServerError> {
        let rows = unless_refused(session.rows(HITS))?.unwrap_or_default();
        Ok(rows.first().and_then(|row| parsed(row, 0)))
    }

    /// Takes the answer, for which the server worked so long.
    pub(crate) fn learn(&mut self, blocks: Option<u64>, worked: Duration) {
        (self.blocks, self.worked) = (blocks, worked);
    }

    /// Forgets the count: of what is counted next, a part is of a time that was not watched.
    pub(crate) fn forget(&mut self) {
        // Not before the next look has shown that there is none.
        (self.blocks, self.asked) = (None, Some(Instant::now()));
    }

    /// Blocks so far, since the server's counters were begun.
    pub(crate) fn blocks(&self) -> Option<u64> {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_works_long_for_the_count_is_asked_for_it_less_often() {
        let mut hits = BufferHits::default();
        assert!(hits.take_due() && !hits.take_due());
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        hits.asked = ago(2);
        assert!(hits.take_due());
        hits.learn(Some(7), Duration::from_millis(400));
        hits.asked = ago(2);
        assert!(!hits.take_due(), "the server would work for it for a fifth of the time");
        hits.asked = ago(5);
        assert!(hits.take_due());
        hits.forget();
        assert_eq!(hits.blocks(), None);
    }
}
