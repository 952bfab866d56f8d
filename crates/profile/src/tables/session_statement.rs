//! What a statement did in one of several sessions.

use crate::event::{Cost, SessionIndex, StatementIndex, Ticks, merged};

/// What stands for all statements of a session that are not kept apart.
pub const OTHER_STATEMENTS: StatementIndex = StatementIndex(u32::MAX);

/// The sums of a statement in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionStatement {
    /// Which session.
    pub session: SessionIndex,
    /// Which statement.
    pub statement: StatementIndex,
    /// What it did there.
    pub sums: SessionStatementSums,
}

/// What a statement did in one session, recursive children left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionStatementSums {
    /// Calls.
    pub calls: u64,
    /// Rows.
    pub rows: u64,
    /// Work and time of the calls.
    pub own: Cost,
    /// Time of the waits after them.
    pub between: Ticks,
}

merged! {
    SessionStatementSums: calls, rows, own, between;
}

impl SessionStatementSums {
    /// Time that the statement answers for in the session.
    pub fn response_time(&self) -> Ticks {
        self.own.elapsed + self.between
    }

    /// Whether nothing at all happened.
    pub fn is_nothing(&self) -> bool {
        self.calls == 0 && self.between == Ticks::ZERO
    }
}
