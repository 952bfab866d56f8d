//! The findings of SQLite alone, read on both sides of their conditions.

use measure::schema::subjects::findings as row;
use sides::proptest::option;
use sides::{Reading, reading, says};

use super::nested_loops::served_by;
use crate::page_cache::Witnessed;

/// Of 100 MiB how many the kernel fetched, where it counts them, and the share of the file that had stayed in the page
/// cache.
type Served = (Option<u64>, Option<f64>);

/// What served the pages of a join.
pub(crate) fn readings() -> [Reading; 2] {
    let values = || (option::weighted(0.9, 0..150_u64), option::weighted(0.7, 0.0..0.02));
    let find =
        |(fetched, left): &Served| [served_by(&Witnessed::of(100 << 20, fetched.map(|fetched| fetched << 20), *left))];
    let has_stayed = |left: &Option<f64>| left.is_some_and(|left| left > 0.01);
    let is_storage = |fetched: &Option<u64>| fetched.is_some_and(|fetched| fetched >= 98);
    let storage = reading(row::ANSWERED_BY_STORAGE, values(), find, move |(fetched, left)| {
        (is_storage(fetched) && !has_stayed(left)).then(|| says!["The storage served the pages that SQLite read: "])
    });
    let not_proved = reading(row::STORAGE_NOT_PROVED, values(), find, move |(fetched, left)| {
        let reason = match (left.filter(|left| *left > 0.01), fetched) {
            (Some(left), _) => format!("{:.0} % of the file stayed in the page cache", left * 100.0),
            (None, None) => "neither the kernel nor the device counts reads here".into(),
            (None, Some(98..)) => return None,
            (None, Some(_)) => "fetched from storage by this process, where 100 MiB were asked for".into(),
        };
        Some(says!["It is not proved that the storage served all pages that SQLite read: ", reason])
    });
    [storage, not_proved]
}
