//! The nested loops against fio and PostgreSQL: all sum alike, and an absent contender is named.

use crate::program::{Outcome, contest};

/// One pair over a table that takes no time to make.
const SHORT: [&str; 6] =
    ["join", "--rows=20000", "--outer-rows=500", "--rate-outer-rows=1000", "--fio-milliseconds=20", "--pairs=1"];

/// A short contest; `None` where a peer is not installed.
fn short_with(more: &[&str]) -> Option<Outcome> {
    contest(SHORT.iter().chain(more)).unless_a_peer_is_missing()
}

#[test]
fn one_short_pair_compares_everything_and_all_sum_alike() {
    let Some(Outcome { page, .. }) = short_with(&[]) else { return };
    assert!(page.contains("Fewer than 5 pairs: a trial"), "{page}");
    assert!(page.contains("of 15 met)"), "{page}");
    assert!(!page.contains("not judged"), "{page}");
    assert!(page.contains("PostgreSQL bitmap scan, concurrency 1000"), "{page}");
}

#[test]
fn without_postgresql_its_bars_are_not_judged_and_the_reason_is_said() {
    let Some(Outcome { page, .. }) = short_with(&["--without-postgres"]) else { return };
    assert!(page.contains("PostgreSQL was absent: it was left out"), "{page}");
    assert!(page.contains("not judged"), "{page}");
}
