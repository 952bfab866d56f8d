//! The flag that says in which unit the times of a trace are: the same for all commands that read traces.

use ::profile::event::Unit;
use clap::ValueEnum;

/// The unit as a user names it.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum TimeScale {
    /// Found for each file, the centiseconds of releases before 9i among them
    Auto,
    /// True microseconds
    #[value(name = "1")]
    Microseconds,
    /// Units of 1024 ns, as old ports write
    #[value(name = "1.024")]
    Shifted,
}

impl TimeScale {
    /// The unit; `None` where it is to be found.
    pub(super) fn unit(self) -> Option<Unit> {
        match self {
            TimeScale::Auto => None,
            TimeScale::Microseconds => Some(Unit::Microsecond),
            TimeScale::Shifted => Some(Unit::Shifted),
        }
    }
}
