//! How a watch goes: what is chosen for one, and the pace that every watch keeps. Nothing here knows the watch itself,
//! so that each part of it can keep to the same pace.

use std::time::Duration;

use profile::event::Ticks;

/// How often it is asked who blocks whom, at most.
pub(super) const BLOCKING_EVERY: Duration = Duration::from_millis(500);

/// How often the server is asked where its memory is read: for what does not change, and for names, which are asked for
/// more often as long as some are lacking.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(500);
pub(super) const ASK_EVERY_LACKING: Duration = Duration::from_millis(50);

/// Looks a second where its memory is read, where it is only asked, and at most then.
pub(super) const RATE_OF_MEMORY: f64 = 1000.0;
pub(super) const RATE: f64 = 50.0;
pub(super) const RATE_MAX: f64 = 100.0;

/// Between two looks at the changes of an exact watch.
pub(super) const EXACT_NAP: Duration = Duration::from_millis(5);

/// How long the watch waits for an answer at its end: a statement takes 5 s at most, and 3 s after a wish to stop.
pub(super) const CLOSED_WITHIN: Duration = Duration::from_secs(6);

/// Longest sleep between two looks at the wish to stop.
pub(super) const NAP: Duration = Duration::from_millis(20);

/// How a watch goes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Looks a second; where none are given, 1000 where the server's memory can be read, and else 50. Where it cannot,
    /// 100 at most.
    pub rate: Option<f64>,
    /// Whether the server's memory is read where that is possible.
    pub reads_memory: bool,
    /// Whether the kernel's tracepoints show which tier answered each read of a file, where they can be read. As long
    /// as they do, every system call of the machine takes longer.
    pub traces_reads: bool,
    /// The wall clock at the beginning, in microseconds since 1970.
    pub wall_clock: i64,
    /// A pause within a transaction of this length or longer is think time.
    pub think_time: Ticks,
    /// Of the lengths of the intervals.
    pub seed: u64,
}

/// For what a server is watched: it decides what else the server is asked, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchedFor {
    /// A profile: what the server counts is asked for at the end.
    Profile,
    /// A recording: it is asked for with each segment.
    Recording,
    /// A screen, which shows hits in buffers. Nothing is asked for at the end.
    Screen,
}
