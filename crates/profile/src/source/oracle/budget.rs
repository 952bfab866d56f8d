//! What may still be added before a sum could overflow.
//!
//! Every number of a trace passes here once. A line that would bring any sum of the profile near the end of its type
//! is refused as a whole, so that all arithmetic behind can be plain and still exact.

use crate::event::Ticks;

/// Greatest sum of magnitudes that is accepted: a quarter of what fits, so that differences and sums of a few such
/// sums fit too. As time this is 292 years.
const GREATEST: i64 = 1 << 60;

/// What was added so far, by quantity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    time: i64,
    count: i64,
    interval: i64,
}

impl Budget {
    /// A duration in units of `ticks` ticks; `None` where the sum of all durations could overflow.
    pub(crate) fn time(&mut self, units: i64, ticks: i64) -> Option<Ticks> {
        let value = units.checked_mul(ticks)?;
        Budget::spend(&mut self.time, value.checked_abs()?)?;
        Some(Ticks(value))
    }

    /// A number of things; `None` where the sum of all could overflow.
    pub(crate) fn count(&mut self, value: u64) -> Option<i64> {
        let value = i64::try_from(value).ok()?;
        Budget::spend(&mut self.count, value)?;
        Some(value)
    }

    /// Numbers of things of one line; `None` where the sum of all could overflow.
    pub(crate) fn counts(&mut self, values: [u64; 5]) -> Option<[i64; 5]> {
        // The sum of five such numbers fits, so that one step spends them all.
        if values.iter().all(|value| *value < 1 << 56) {
            let sum: i64 = values.iter().map(|value| *value as i64).sum();
            if Budget::spend(&mut self.count, sum).is_some() {
                return Some(values.map(|value| value as i64));
            }
        }
        let mut counts = [0; 5];
        for (count, value) in counts.iter_mut().zip(values) {
            *count = self.count(value)?;
        }
        Some(counts)
    }

    /// Whether a session's segment of this length can be added to the others.
    pub(crate) fn interval(&mut self, length: Ticks) -> bool {
        length.0 >= 0 && Budget::spend(&mut self.interval, length.0).is_some()
    }

    fn spend(spent: &mut i64, value: i64) -> Option<()> {
        *spent = spent.checked_add(value).filter(|sum| *sum <= GREATEST)?;
        Some(())
    }
}

/// A point in time in units of `ticks` ticks; `None` where the difference of two such points could overflow.
pub(crate) fn point(units: i64, ticks: i64) -> Option<Ticks> {
    units.checked_mul(ticks).filter(|value| value.unsigned_abs() <= GREATEST.unsigned_abs()).map(Ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_would_overflow_is_refused_before_it_is_made() {
        let mut budget = Budget::default();
        assert_eq!(budget.time(i64::MAX, 125), None);
        assert_eq!(budget.time(i64::MIN, 1), None);
        assert_eq!(budget.time(1 << 59, 1), Some(Ticks(1 << 59)));
        assert_eq!(budget.time(-(1 << 59), 1), Some(Ticks(-(1 << 59))));
        assert_eq!(budget.time(1, 1), None, "the whole budget is spent, the negative number included");
        assert_eq!(budget.count(u64::MAX), None);
        assert_eq!(budget.count(7), Some(7));
        assert_eq!(budget.counts([1, 2, 3, 4, u64::MAX]), None);
        assert_eq!(budget.counts([1 << 55, 2, 3, 4, 5]), Some([1 << 55, 2, 3, 4, 5]));
        assert_eq!(budget.counts([1 << 58, 1 << 58, 1 << 58, 1 << 58, 1]), None, "each fits, and all do not");
        assert_eq!(budget.counts([(1 << 56) - 1; 5]), None, "what is left is less than the sum");
        assert_eq!(point(i64::MAX, 1), None);
        assert_eq!(point(-5, 125), Some(Ticks(-625)));
    }
}
