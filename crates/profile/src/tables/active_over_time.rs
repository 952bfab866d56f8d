//! The sessions at work over time, or why that is not known.

use crate::event::Ticks;
use crate::tables::activity::Timeline;

/// The sessions at work over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ActiveOverTime {
    /// Nothing took any time.
    #[default]
    Nothing,
    /// By class and step.
    Known {
        /// The steps.
        timeline: Timeline,
        /// Whether their clock is the wall clock, and not one of the source's own whose zero means nothing.
        is_wall_clock: bool,
    },
    /// It cannot be said.
    Unknown(NoTimeline),
}

/// Why the sessions at work over time are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTimeline {
    /// All of it passed in less time than has a course.
    TooShort,
    /// Several files have a clock of their own each, and no stamp sets them beside each other.
    SeveralClocks,
    /// It is not known when this much of the time passed.
    Unplaced {
        /// That much.
        unplaced: Ticks,
        /// Of all time of sessions at work.
        all: Ticks,
    },
}
