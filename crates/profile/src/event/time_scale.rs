//! The unit in which a source counts its time, and how it was found.

/// A unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// 1 µs.
    #[default]
    Microsecond,
    /// 1.024 µs; CPU time is in true microseconds nevertheless, because another clock measures it.
    Shifted,
    /// 10 ms, before 9i.
    Centisecond,
}

impl Unit {
    /// Ticks in a unit of elapsed time.
    pub fn ticks(self) -> i64 {
        match self {
            Unit::Microsecond => 125,
            Unit::Shifted => 128,
            Unit::Centisecond => 1_250_000,
        }
    }

    /// Ticks in a unit of CPU time.
    pub fn cpu_ticks(self) -> i64 {
        match self {
            Unit::Microsecond | Unit::Shifted => 125,
            Unit::Centisecond => 1_250_000,
        }
    }

    /// Microseconds in a unit of elapsed time.
    pub fn micros(self) -> f64 {
        self.ticks() as f64 / 125.0
    }
}

/// In which units a file counts, and how that was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeScale {
    /// Of calls.
    pub calls: Unit,
    /// Of waits: 11.1.0.7 has ports where only some of the lines are scaled.
    pub waits: Unit,
    /// How it was found.
    pub evidence: Evidence,
}

impl TimeScale {
    /// What the user says.
    pub fn given(unit: Unit) -> TimeScale {
        TimeScale { calls: unit, waits: unit, evidence: Evidence::Given }
    }
}

/// How a unit was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Evidence {
    /// Nothing speaks for or against: true microseconds are assumed.
    #[default]
    Assumed,
    /// The user said so.
    Given,
    /// The version in the preamble is older than 9.
    Version,
    /// The trace's clock counts from 1970, and only in this unit does it agree with a stamp.
    Epoch,
    /// The trace's clock against the wall clock between two stamps.
    Slope {
        /// Wall clock seconds between the stamps.
        seconds: f64,
        /// Wall clock microseconds in a unit of the trace.
        ratio: f64,
    },
    /// Sleeps of whole seconds last 976 562 units: a hint, taken where there is nothing better.
    LockTimer {
        /// How many such sleeps.
        waits: u64,
        /// Their mean, in units.
        mean: f64,
    },
}
