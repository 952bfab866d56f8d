//! Sums that are added up field by field.

use std::collections::BTreeMap;

use super::call::Cost;
use super::ticks::Ticks;

/// A sum to which another one of its kind can be added.
pub trait Merge {
    /// Adds `other`.
    fn merge(&mut self, other: &Self);
}

/// Adds fields of one sum to those of another.
macro_rules! merge_fields {
    ($sum:ident, $other:ident: $($field:ident),+) => {
        $($crate::event::Merge::merge(&mut $sum.$field, &$other.$field);)+
    };
}
pub(crate) use merge_fields;

/// Declares how sums are added up: all their fields by themselves.
macro_rules! merged {
    ($($sums:ty: $($field:ident),+;)+) => {$(
        impl $crate::event::Merge for $sums {
            #[inline]
            fn merge(&mut self, other: &$sums) {
                $crate::event::merge_fields!(self, other: $($field),+);
            }
        }
    )+};
}
pub(crate) use merged;

merged! {
    Cost: cpu, elapsed, physical_reads, consistent_gets, current_gets;
}

/// Declares sums that are numbers.
macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Merge for $number {
            #[inline]
            fn merge(&mut self, other: &$number) {
                *self += *other;
            }
        }
    )+};
}

numbers!(u64, i64, Ticks);

impl Merge for bool {
    fn merge(&mut self, other: &bool) {
        *self |= other;
    }
}

/// What is not known adds nothing to what is.
impl<T: Merge + Copy> Merge for Option<T> {
    #[inline]
    fn merge(&mut self, other: &Option<T>) {
        match (self.as_mut(), other) {
            (Some(sum), Some(more)) => sum.merge(more),
            (None, Some(more)) => *self = Some(*more),
            (_, None) => {}
        }
    }
}

impl<K: Ord + Copy, V: Merge + Default> Merge for BTreeMap<K, V> {
    fn merge(&mut self, other: &BTreeMap<K, V>) {
        other.iter().for_each(|(key, more)| self.entry(*key).or_default().merge(more));
    }
}
