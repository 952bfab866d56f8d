//! What the samplers have in common: one call looks at all processes of a server at one moment.

use std::time::Instant;

/// Which texts of statements a look is to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// Those of executions that began since the look before.
    New,
    /// Those of all that go on.
    All,
}

/// When a look was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// When it began: what it shows was so then or later.
    pub(crate) begun: Instant,
    /// The middle of the time that it took.
    pub(crate) at: Instant,
}
