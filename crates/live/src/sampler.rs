//! What a sampler is: one call looks at all processes of a server at one moment.

use std::time::Instant;

use profile::source::sampled::Sample;

/// Which texts of statements a look is to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// Those of executions that began since the look before.
    New,
    /// Those of all that go on.
    All,
}

/// When a look was.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// When it began: what it shows was so then or later.
    pub begun: Instant,
    /// The middle of the time that it took.
    pub at: Instant,
}

/// Looks at all processes of a server.
pub trait Sampler {
    /// Why it cannot look.
    type Error;

    /// Fills `samples`, whose room is used again, with what each process does now.
    ///
    /// # Errors
    /// Where the server cannot be looked at; what is in `samples` then is of no use.
    fn look(&mut self, texts: Texts, samples: &mut Vec<Sample>) -> Result<Look, Self::Error>;
}
