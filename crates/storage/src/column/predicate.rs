//! What a scan asks of a column's numbers.

use super::filter::{Filter, Limit};

/// Splits numbers into those above it and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    value: i64,
    is_itself_above: bool,
}

impl Bound {
    /// Whether a number is above the bound.
    fn is_below(self, value: i64) -> bool {
        if self.is_itself_above { value >= self.value } else { value > self.value }
    }
}

/// The numbers and dates above one bound and not above another; a bound that is not there lets every number pass. Null
/// passes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRange {
    lower: Option<Bound>,
    upper: Option<Bound>,
}

impl ValueRange {
    /// Numbers greater than `value`.
    pub fn above(value: i64) -> ValueRange {
        ValueRange { lower: Some(Bound { value, is_itself_above: false }), upper: None }
    }

    /// Numbers of at least `value`.
    pub fn at_least(value: i64) -> ValueRange {
        ValueRange { lower: Some(Bound { value, is_itself_above: true }), upper: None }
    }

    /// Numbers less than `value`.
    pub fn below(value: i64) -> ValueRange {
        ValueRange { lower: None, upper: Some(Bound { value, is_itself_above: true }) }
    }

    /// Numbers of at most `value`.
    pub fn at_most(value: i64) -> ValueRange {
        ValueRange { lower: None, upper: Some(Bound { value, is_itself_above: false }) }
    }

    /// This number alone.
    pub fn equal(value: i64) -> ValueRange {
        ValueRange { lower: ValueRange::at_least(value).lower, upper: ValueRange::at_most(value).upper }
    }

    /// Whether a number passes.
    pub fn passes(self, value: i64) -> bool {
        self.lower.is_none_or(|bound| bound.is_below(value)) && !self.upper.is_some_and(|bound| bound.is_below(value))
    }

    /// Whether all, or none, of the numbers from `min` to `max` pass; `None` where that depends on the number.
    pub(super) fn verdict(self, min: i64, max: i64) -> Option<bool> {
        let starts_beyond = self.lower.is_some_and(|bound| !bound.is_below(max));
        let ends_before = self.upper.is_some_and(|bound| bound.is_below(min));
        match starts_beyond || ends_before {
            true => Some(false),
            false => (self.passes(min) && self.passes(max)).then_some(true),
        }
    }

    /// The same range in codes; `limit` gives the limit that splits the codes as a bound splits the numbers.
    fn filter(self, limit: impl Fn(Bound) -> Limit) -> Filter {
        Filter { lower: self.lower.map(&limit), upper: self.upper.map(&limit) }
    }

    /// The range in ranks of a dictionary, whose entries are in order.
    pub(super) fn filter_of_ranks(self, entries: &[i64]) -> Filter {
        self.filter(|bound| match entries.partition_point(|entry| !bound.is_below(*entry)) {
            rank if rank == entries.len() => Limit::NONE_ABOVE,
            rank => Limit::from(rank as u64),
        })
    }

    /// The range in distances from `base`, of which the greatest one that can be is `code_max`.
    pub(super) fn filter_of_distances(self, base: i64, code_max: u64) -> Filter {
        self.filter(|bound| {
            let Some(above_base) = i128::from(bound.value).checked_sub(i128::from(base)).filter(|gap| *gap >= 0) else {
                return Limit::from(0);
            };
            // The sum is at most 2^64, which a bound exclusive at the far end of the numbers would need.
            let first_above = above_base + i128::from(!bound.is_itself_above);
            match u64::try_from(first_above) {
                Ok(code) if code <= code_max => Limit::from(code),
                _ => Limit::NONE_ABOVE,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges(value: i64) -> [ValueRange; 5] {
        [ValueRange::above, ValueRange::at_least, ValueRange::below, ValueRange::at_most, ValueRange::equal]
            .map(|range| range(value))
    }

    fn edge_or_any() -> impl Strategy<Value = i64> {
        prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), Just(-1), -5..5_i64, any::<i64>()]
    }

    #[test]
    fn comparisons_mean_what_they_say() {
        let found = ranges(2).map(|range| (0..5).filter(|value| range.passes(*value)).collect::<Vec<i64>>());
        assert_eq!(found, [vec![3, 4], vec![2, 3, 4], vec![0, 1], vec![0, 1, 2], vec![2]]);
    }

    proptest! {
        #[test]
        fn a_range_in_distances_passes_what_the_range_in_numbers_passes(
            base in edge_or_any(), bound in edge_or_any(), value in edge_or_any(),
        ) {
            prop_assume!(value >= base);
            let code = value.wrapping_sub(base) as u64;
            for range in ranges(bound) {
                for code_max in [code, u64::MAX] {
                    let filter = range.filter_of_distances(base, code_max);
                    prop_assert_eq!(filter.passes(code), range.passes(value), "{:?} {:?}", range, filter);
                }
            }
        }

        #[test]
        fn a_verdict_is_never_wrong_and_is_given_where_both_ends_pass(
            bound in -9..9_i64, min in -9..9_i64, more in 0..9_i64,
        ) {
            for range in ranges(bound) {
                let passing = (min..=min + more).filter(|value| range.passes(*value)).count() as i64;
                match range.verdict(min, min + more) {
                    Some(true) => prop_assert_eq!(passing, more + 1),
                    Some(false) => prop_assert_eq!(passing, 0),
                    None => prop_assert!(passing <= more),
                }
            }
        }

        #[test]
        fn a_range_in_ranks_passes_what_the_range_in_numbers_passes(
            entries in proptest::collection::btree_set(edge_or_any(), 1..20), bound in edge_or_any(),
        ) {
            let entries: Vec<i64> = entries.into_iter().collect();
            for range in ranges(bound) {
                let filter = range.filter_of_ranks(&entries);
                for (rank, entry) in (0..).zip(&entries) {
                    prop_assert_eq!(filter.passes(rank), range.passes(*entry), "{:?}", range);
                }
            }
        }
    }
}
