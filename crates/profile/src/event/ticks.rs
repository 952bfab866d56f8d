//! Time as traces count it, exactly: whatever a trace's unit is, it is a whole number of ticks of 8 ns.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A duration or a point in time in ticks of 8 ns, signed: accounting has differences below zero.
///
/// A true microsecond is 125 ticks; the unit of old ports, 1.024 µs, is 128; a centisecond is 1 250 000. All three
/// are whole, so that sums are exact and a profile adds up to the last tick whatever the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub i64);

impl Ticks {
    /// No time.
    pub const ZERO: Ticks = Ticks(0);
    /// Nanoseconds in a tick.
    const NANOS: i64 = 8;
    /// Ticks in a microsecond.
    pub const PER_MICROSECOND: i64 = 125;

    /// A whole number of microseconds.
    pub const fn from_micros(micros: i64) -> Ticks {
        Ticks(micros * Ticks::PER_MICROSECOND)
    }

    /// Nanoseconds in whole ticks, rounded down; the longest time for anything longer.
    pub fn from_nanos(nanos: u64) -> Ticks {
        Ticks(i64::try_from(nanos / Ticks::NANOS as u64).unwrap_or(i64::MAX))
    }

    /// In nanoseconds; `None` beyond 64 bits.
    pub fn nanos(self) -> Option<i64> {
        self.0.checked_mul(Ticks::NANOS)
    }

    /// In microseconds.
    pub fn micros(self) -> f64 {
        self.0 as f64 / Ticks::PER_MICROSECOND as f64
    }
}

/// Declares operators of ticks by those of their number.
macro_rules! operators {
    ($($operator:ident $name:ident, $assign:ident $assign_name:ident, $sign:tt;)*) => {$(
        impl $operator for Ticks {
            type Output = Ticks;
            fn $name(self, other: Ticks) -> Ticks {
                Ticks(self.0 $sign other.0)
            }
        }

        impl $assign for Ticks {
            fn $assign_name(&mut self, other: Ticks) {
                *self = *self $sign other;
            }
        }
    )*};
}

operators! {
    Add add, AddAssign add_assign, +;
    Sub sub, SubAssign sub_assign, -;
}

impl Neg for Ticks {
    type Output = Ticks;
    fn neg(self) -> Ticks {
        Ticks(-self.0)
    }
}

impl Sum for Ticks {
    fn sum<I: Iterator<Item = Ticks>>(iter: I) -> Ticks {
        iter.fold(Ticks::ZERO, Add::add)
    }
}
