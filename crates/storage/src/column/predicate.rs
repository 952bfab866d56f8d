//! What a scan asks of a column's values.

use std::borrow::Borrow;

use super::filter::Limit;

/// Splits values into those above it and the others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound<V> {
    value: V,
    is_itself_above: bool,
}

impl<V> Bound<V> {
    /// Whether a value is above the bound.
    fn is_below<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        V: Borrow<Q>,
    {
        if self.is_itself_above { value >= self.value.borrow() } else { value > self.value.borrow() }
    }
}

/// The values above one bound and not above another; a bound that is not there lets every value pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRange<V> {
    lower: Option<Bound<V>>,
    upper: Option<Bound<V>>,
}

impl<V: Clone> ValueRange<V> {
    /// Values greater than `value`.
    pub fn above(value: V) -> ValueRange<V> {
        ValueRange { lower: Some(Bound { value, is_itself_above: false }), upper: None }
    }

    /// Values of at least `value`.
    pub fn at_least(value: V) -> ValueRange<V> {
        ValueRange { lower: Some(Bound { value, is_itself_above: true }), upper: None }
    }

    /// Values less than `value`.
    pub fn below(value: V) -> ValueRange<V> {
        ValueRange { lower: None, upper: Some(Bound { value, is_itself_above: true }) }
    }

    /// Values of at most `value`.
    pub fn at_most(value: V) -> ValueRange<V> {
        ValueRange { lower: None, upper: Some(Bound { value, is_itself_above: false }) }
    }

    /// Values from `least` to `greatest`, both included; none where `least` is the greater one.
    pub fn between(least: V, greatest: V) -> ValueRange<V> {
        ValueRange { lower: ValueRange::at_least(least).lower, upper: ValueRange::at_most(greatest).upper }
    }

    /// This value alone.
    pub fn equal(value: V) -> ValueRange<V> {
        ValueRange::between(value.clone(), value)
    }
}

impl<V> ValueRange<V> {
    /// Whether a value passes.
    pub fn passes<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        V: Borrow<Q>,
    {
        self.lower.as_ref().is_none_or(|bound| bound.is_below(value))
            && !self.upper.as_ref().is_some_and(|bound| bound.is_below(value))
    }

    /// Whether all, or none, of the values from `min` to `max` pass; `None` where that depends on the value.
    pub(super) fn verdict<Q: Ord + ?Sized>(&self, min: &Q, max: &Q) -> Option<bool>
    where
        V: Borrow<Q>,
    {
        let starts_beyond = self.lower.as_ref().is_some_and(|bound| !bound.is_below(max));
        let ends_before = self.upper.as_ref().is_some_and(|bound| bound.is_below(min));
        match starts_beyond || ends_before {
            true => Some(false),
            false => (self.passes(min) && self.passes(max)).then_some(true),
        }
    }

    /// The same range in codes; `limit` gives the limit that splits the codes as a bound splits the values, where the
    /// bound is the value and whether the value itself is above it.
    fn filter(&self, limit: impl Fn(&Bound<V>) -> Limit) -> super::filter::Filter {
        super::filter::Filter { lower: self.lower.as_ref().map(&limit), upper: self.upper.as_ref().map(&limit) }
    }

    /// The range in ranks of a dictionary with this many entries in order.
    pub(super) fn filter_of_ranks<'e, Q: Ord + ?Sized + 'e>(
        &self,
        entries: usize,
        entry: impl Fn(usize) -> &'e Q,
    ) -> super::filter::Filter
    where
        V: Borrow<Q>,
    {
        self.filter(|bound| match partition_point(entries, |rank| !bound.is_below(entry(rank))) {
            rank if rank == entries => Limit::NONE_ABOVE,
            rank => Limit::from(rank as u64),
        })
    }
}

impl ValueRange<i64> {
    /// The range in distances from `base`, of which the greatest one that can be is `code_max`.
    pub(super) fn filter_of_distances(&self, base: i64, code_max: u64) -> super::filter::Filter {
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

/// How many of the first `count` numbers come before the first one that fails; those that hold all come first.
fn partition_point(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// A question about one column's values. Null passes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// About numbers and dates.
    Integers(ValueRange<i64>),
    /// About texts.
    Texts(ValueRange<Vec<u8>>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::filter::Filter;
    use proptest::prelude::*;

    fn ranges<V: Clone>(low: &V, high: &V) -> [ValueRange<V>; 6] {
        [
            ValueRange::above(low.clone()),
            ValueRange::at_least(low.clone()),
            ValueRange::below(low.clone()),
            ValueRange::at_most(low.clone()),
            ValueRange::equal(low.clone()),
            ValueRange::between(low.clone(), high.clone()),
        ]
    }

    fn edge_or_any() -> impl Strategy<Value = i64> {
        prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), Just(-1), -5..5_i64, any::<i64>()]
    }

    #[test]
    fn comparisons_mean_what_they_say() {
        let passing = |range: ValueRange<i64>| (0..5).filter(|value| range.passes(value)).collect::<Vec<i64>>();
        let found = ranges(&2, &3).map(passing);
        assert_eq!(found, [vec![3, 4], vec![2, 3, 4], vec![0, 1], vec![0, 1, 2], vec![2], vec![2, 3]]);
        assert!(passing(ValueRange::between(3, 2)).is_empty());
    }

    proptest! {
        #[test]
        fn a_range_in_distances_passes_what_the_range_in_numbers_passes(
            base in edge_or_any(), low in edge_or_any(), high in edge_or_any(), value in edge_or_any(),
        ) {
            prop_assume!(value >= base);
            let code = value.wrapping_sub(base) as u64;
            for range in ranges(&low, &high) {
                for code_max in [code, u64::MAX] {
                    let filter: Filter = range.filter_of_distances(base, code_max);
                    prop_assert_eq!(filter.passes(code), range.passes(&value), "{:?} {:?}", range, filter);
                }
            }
        }

        #[test]
        fn a_verdict_is_never_wrong_and_is_given_where_both_ends_pass(
            low in -9..9_i64, high in -9..9_i64, min in -9..9_i64, more in 0..9_i64,
        ) {
            for range in ranges(&low, &high) {
                let passing = (min..=min + more).filter(|value| range.passes(value)).count() as i64;
                match range.verdict(&min, &(min + more)) {
                    Some(true) => prop_assert_eq!(passing, more + 1),
                    Some(false) => prop_assert_eq!(passing, 0),
                    None => prop_assert!(passing <= more),
                }
            }
        }

        #[test]
        fn a_range_in_ranks_passes_what_the_range_in_texts_passes(
            mut entries in proptest::collection::vec("[a-c]{0,3}", 1..20), low in "[a-c]{0,3}", high in "[a-c]{0,3}",
        ) {
            entries.sort();
            entries.dedup();
            for range in ranges(&low.into_bytes(), &high.into_bytes()) {
                let filter = range.filter_of_ranks(entries.len(), |rank| entries[rank].as_bytes());
                for (rank, entry) in entries.iter().enumerate() {
                    prop_assert_eq!(filter.passes(rank as u64), range.passes(entry.as_bytes()), "{:?}", range);
                }
            }
        }
    }
}
