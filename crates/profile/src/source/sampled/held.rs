//! What looks stand for, and pauses that go on from look to look: these are added up when they end, because most
//! sessions of most looks do nothing.

use crate::event::Ticks;

/// The time that a sample stands for, or several of one kind together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub(super) time: Ticks,
    pub(super) looks: u64,
}

/// The pause of a process, which the last look still met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The number of the session's process; `None` of a process that serves no client.
    pub(super) session: Option<u32>,
    /// What all looks had stood for when it was added up last.
    pub(super) since: Totals,
}

/// What a number of looks stood for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) time: Ticks,
    pub(super) looks: u64,
    /// Sum of their squared times, in ticks².
    pub(super) squares: f64,
}

impl Totals {
    /// Looks of equal weight.
    pub(super) fn of(Weight { time, looks }: Weight) -> Totals {
        Totals { time, looks, squares: (time.0 as f64).powi(2) / looks.max(1) as f64 }
    }

    /// Adds a look that stands for this time.
    pub(super) fn add(&mut self, time: Ticks) {
        self.time += time;
        self.looks += 1;
        self.squares += (time.0 as f64).powi(2);
    }

    /// What was added since `earlier`.
    pub(super) fn since(self, earlier: Totals) -> Totals {
        Totals {
            time: self.time - earlier.time,
            looks: self.looks - earlier.looks,
            squares: self.squares - earlier.squares,
        }
    }
}
