//! Where a process shows what it does, for a watch over each of its changes.

use std::sync::Arc;

use profile::source::sampled::{Backend, State};

use super::entry::{Entry, offset, state_of};

/// The number of the wait for the client's next request, in all versions.
const CLIENT_READ: u32 = 0x0600_0000;

/// A change of what a session waits for, with what its entry showed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub(crate) at: u64,
    /// What it waits for from then on; 0 for nothing.
    pub(crate) wait: u32,
    pub(crate) state: Option<State>,
    /// When it came to be in this state, in µs since 1970.
    pub(crate) state_start: Option<i64>,
    pub(crate) query_start: Option<i64>,
    pub(crate) query_id: Option<i64>,
}

/// Where a process shows itself, and what it showed at the beginning.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) backend: Arc<Backend>,
    /// Where it says for what it waits.
    pub(crate) wait: u64,
    pub(crate) entry: u64,
    pub(crate) major: u32,
    /// Nanoseconds from CLOCK_MONOTONIC to the server's clock.
    pub(crate) since_1970: i64,
    pub(crate) at_begin: Change,
}

impl Place {
    /// What tells its session from those that had its number before.
    pub(crate) fn key(&self) -> (u32, i64) {
        (self.backend.pid, self.backend.start)
    }

    /// What is copied with each change: addresses and lengths of wait, state and its beginning, and the statement's
    /// beginning and identifier.
    pub(crate) fn parts(&self) -> [(u64, u32); 5] {
        let field = |offset: usize| self.entry + offset as u64;
        let of_state = [(field(offset::STATE), 4), (field(offset::STATE_START), 8)];
        let of_statement = [(field(offset::STATEMENT_START), 8), (field(offset::QUERY_ID), 8)];
        [(self.wait, 4), of_state[0], of_state[1], of_statement[0], of_statement[1]]
    }

    /// The change that these say.
    pub(crate) fn change(&self, at: u64, [wait, state, since, start, id]: [u64; 5]) -> Change {
        Change {
            at,
            wait: wait as u32,
            state: state_of((state as u32).cast_signed(), self.major),
            state_start: Entry::moment(since.cast_signed()),
            query_start: Entry::moment(start.cast_signed()),
            query_id: Some(id.cast_signed()).filter(|id| *id != 0),
        }
    }

    /// A moment of the server's clock, in µs since 1970, by that of the changes.
    pub(crate) fn moment(&self, micros: i64) -> u64 {
        u64::try_from(micros.saturating_mul(1000).saturating_sub(self.since_1970)).unwrap_or(0)
    }

    /// Whether this is the wait for the client's next request.
    pub(crate) fn is_client(&self, wait: u32) -> bool {
        wait == CLIENT_READ
    }
}
