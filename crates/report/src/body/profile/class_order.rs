//! The classes of a profile in the order of their time, which charts of the same profile have in common.

use measure::wait_class::Class;
use measure::{Run, sorting};

use super::row::{Row, rows};

/// Classes that are drawn; further ones are added up.
pub(super) const CLASSES_MAX: usize = 7;

/// Whether a row's class is response time.
pub(super) fn is_served(row: &Row) -> bool {
    !Class::with_key(row.text("class")).is_some_and(Class::is_idle)
}

/// The classes of a profile, the one with most time first: charts of the same classes give them the same colours.
pub(super) fn by_time(run: &Run) -> Vec<String> {
    let mut all: Vec<Row> = rows(run, "class").filter(is_served).collect();
    sorting::by(&mut all, |one, other| other.total().total_cmp(&one.total()));
    all.iter().map(|row| row.text("class").to_string()).collect()
}

/// The place of a class in that order, the last one where it is not there.
pub(super) fn place_in(order: &[String], class: &str) -> usize {
    order.iter().position(|known| known == class).unwrap_or(order.len())
}
