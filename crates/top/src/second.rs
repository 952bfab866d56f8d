//! What the sessions of a server did in one second.

use std::sync::Arc;
use std::time::Duration;

use measure::wait_class::Class;
use profile::source::sampled::{Backend, State};
use profile::tables::read_tiers::ByTier;

/// A statement: the identifier that the server computed, or what stands for its text without literals.
pub(crate) type StatementKey = i64;

/// One second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Second {
    /// When it ended, in microseconds since 1970.
    pub(crate) ended: i64,
    /// The time that its looks stand for.
    pub(crate) time: Duration,
    /// Time without samples.
    pub(crate) lost: Duration,
    pub(crate) looks: u64,
    /// Time of the sessions at work, by class.
    pub(crate) classes: Vec<(Class, Duration)>,
    /// The same by event.
    pub(crate) events: Vec<(Arc<str>, Duration)>,
    /// The same of the statements that took most.
    pub(crate) statements: Vec<StatementSums>,
    /// The sessions that worked most, or that keep a transaction open, and the processes that others wait for.
    pub(crate) sessions: Vec<SessionSums>,
    /// Sessions that waited for another's lock.
    pub(crate) blocked: Vec<Blocked>,
    /// Reads of files, where they are traced.
    pub(crate) reads: Option<ByTier>,
    /// Blocks that the server found in its buffers, where it was asked.
    pub(crate) hits: Option<u64>,
    /// Sessions whose work was not seen.
    pub(crate) unseen: Unseen,
}

/// How many sessions there are whose work is not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// Those of other roles, which ours may not see.
    pub(crate) hidden: u64,
    /// Those that do not report it.
    pub(crate) silent: u64,
}

/// A statement in a second.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatementSums {
    pub(crate) key: StatementKey,
    /// Time of the sessions that executed it.
    pub(crate) time: Duration,
    /// The class of most of it.
    pub(crate) classes: Vec<(Class, Duration)>,
}

/// A session in a second.
#[derive(Clone, Debug)]
pub(crate) struct SessionSums {
    pub(crate) backend: Arc<Backend>,
    /// Time in which it worked.
    pub(crate) time: Duration,
    /// What it did when it was seen last.
    pub(crate) state: State,
    pub(crate) event: Option<Arc<str>>,
    pub(crate) statement: Option<StatementKey>,
}

/// For whom a session waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Chain {
    /// The process that holds the lock.
    pub(crate) blocker: u32,
    /// The process at the top of the chain, which waits for none; the least of those that wait in a circle.
    pub(crate) top: u32,
}

/// Waits of a session for one that holds a lock.
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub(crate) waiter: Arc<Backend>,
    /// `None` where it was not asked yet.
    pub(crate) chain: Option<Chain>,
    pub(crate) event: Arc<str>,
    pub(crate) statement: Option<StatementKey>,
    pub(crate) time: Duration,
}

impl Blocked {
    /// The process that holds the lock, as far as was asked.
    pub(crate) fn blocker(&self) -> Option<u32> {
        self.chain.map(|chain| chain.blocker)
    }

    /// The process at the top of the chain.
    pub(crate) fn top(&self) -> Option<u32> {
        self.chain.map(|chain| chain.top)
    }
}
