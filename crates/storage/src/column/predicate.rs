//! What a scan asks of a column's numbers.

use super::filter::{Filter, Limit};

/// The numbers and dates between two, both included; none where the lower one is greater. Null passes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRange {
    low: i64,
    high: i64,
}

impl ValueRange {
    /// The numbers from `low` to `high`.
    pub fn between(low: i64, high: i64) -> ValueRange {
        ValueRange { low, high }
    }

    /// Whether all, or none, of the numbers from `min` to `max` pass; `None` where that depends on the number.
    pub(super) fn verdict(self, min: i64, max: i64) -> Option<bool> {
        let ValueRange { low, high } = self;
        match low > high.min(max) || high < min {
            true => Some(false),
            false => (low <= min && max <= high).then_some(true),
        }
    }

    /// The same range in codes; above the limit of `first` are the codes of this number and of all greater ones. An end
    /// that every number lies within takes no comparison.
    fn filter(self, first: impl Fn(i64) -> Limit) -> Filter {
        let lower = (self.low > i64::MIN).then(|| first(self.low));
        Filter { lower, upper: self.high.checked_add(1).map(first) }
    }

    /// The range in ranks of a dictionary, whose entries are in order.
    pub(super) fn filter_of_ranks(self, entries: &[i64]) -> Filter {
        self.filter(|value| match entries.partition_point(|entry| *entry < value) {
            rank if rank == entries.len() => Limit::NONE_ABOVE,
            rank => Limit::from(rank as u64),
        })
    }

    /// The range in distances from `base`, of which the greatest one that can be is `code_max`.
    pub(super) fn filter_of_distances(self, base: i64, code_max: u64) -> Filter {
        self.filter(|value| match u64::try_from(i128::from(value) - i128::from(base)) {
            Ok(code) if code > code_max => Limit::NONE_ABOVE,
            // A number below the base has the codes of all that are there above it.
            code => Limit::from(code.unwrap_or(0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::question::{Comparison, Operator};
    use proptest::prelude::*;

    impl ValueRange {
        fn of(operator: Operator, constant: i64) -> ValueRange {
            let (low, high) = Comparison { column: 1, operator, constant }.bounds();
            ValueRange::between(low, high)
        }

        pub(in crate::column) fn above(value: i64) -> ValueRange {
            ValueRange::of(Operator::Greater, value)
        }

        pub(in crate::column) fn at_least(value: i64) -> ValueRange {
            ValueRange::of(Operator::GreaterOrEqual, value)
        }

        pub(in crate::column) fn below(value: i64) -> ValueRange {
            ValueRange::of(Operator::Less, value)
        }

        pub(in crate::column) fn at_most(value: i64) -> ValueRange {
            ValueRange::of(Operator::LessOrEqual, value)
        }

        pub(in crate::column) fn equal(value: i64) -> ValueRange {
            ValueRange::of(Operator::Equal, value)
        }

        pub(in crate::column) fn passes(self, value: i64) -> bool {
            (self.low..=self.high).contains(&value)
        }
    }

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
