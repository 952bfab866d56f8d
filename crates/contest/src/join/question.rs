//! What the contenders are asked, which rows they have, and which keys of them a turn takes.

use subjects::nested_loops::InnerTable;
pub(crate) use subjects::nested_loops::Keys;

/// Blocks from the device, as many at once as the contender likes.
pub(crate) const READS: &str = "blocks from the device";
/// A join with nothing cached.
pub(crate) const COLD: &str = "cold";
/// The same, reads one after the other.
pub(crate) const ONE_BY_ONE: &str = "cold, one read after the other";
/// A join with everything cached.
pub(crate) const CACHED: &str = "cached";

/// Rows in an order of their own, as long as the published ones: seven to a block of either.
pub(crate) fn table(rows: u64) -> InnerTable {
    InnerTable { rows, pad: 1000, rand: 100 }
}

/// The question whose answer is the sum over these keys.
pub(crate) fn sum_of(keys: Keys) -> String {
    format!("the sum of {} keys from {}", keys.count, keys.first)
}
