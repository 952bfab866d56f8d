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
    pub(crate) at_begin: Change,
}

impl Place {
    /// What is copied with each change: addresses and lengths of wait, state, and the statement's beginning and
    /// identifier.
    pub(crate) fn parts(&self) -> [(u64, u32); 4] {
        let field = |offset: usize| self.entry + offset as u64;
        [(self.wait, 4), (field(offset::STATE), 4), (field(offset::STATEMENT_START), 8), (field(offset::QUERY_ID), 8)]
    }

    /// The change that these say.
    pub(crate) fn change(&self, at: u64, [wait, state, start, id]: [u64; 4]) -> Change {
        Change {
            at,
            wait: wait as u32,
            state: state_of((state as u32).cast_signed(), self.major),
            query_start: Entry::moment(start.cast_signed()),
            query_id: Some(id.cast_signed()).filter(|id| *id != 0),
        }
    }

    /// Whether this is the wait for the client's next request.
    pub(crate) fn is_client(&self, wait: u32) -> bool {
        wait == CLIENT_READ
    }

    /// A process without any.
    #[cfg(test)]
    pub(crate) fn sample() -> Place {
        let at_begin = Change { at: 0, wait: 0, state: None, query_start: None, query_id: None };
        Place { backend: Arc::default(), wait: 0, entry: 0, major: 15, at_begin }
    }
}
