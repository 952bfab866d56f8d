//! The nested loops against fio and PostgreSQL: all sum alike, and an absent contender is named.

use std::sync::OnceLock;

use crate::program::{Outcome, contest};

/// One pair over a table that takes no time to make.
const SHORT: [&str; 6] =
    ["join", "--rows=10000", "--outer-rows=200", "--rate-outer-rows=400", "--fio-milliseconds=30", "--pairs=1"];

/// The short contest with all servers, which several tests look at; `None` where a peer is not installed.
fn short() -> Option<Outcome> {
    static SHORT_CONTEST: OnceLock<Outcome> = OnceLock::new();
    SHORT_CONTEST.get_or_init(|| contest(SHORT)).clone().unless_a_peer_is_missing()
}

/// The same programs named twice.
const TWICE_18: [&str; 2] = ["--postgres=postgres:18", "--postgres=postgres:18"];

/// A short contest; `None` where a peer is not installed.
fn short_with(more: &[&str]) -> Option<Outcome> {
    contest(SHORT.iter().chain(more)).unless_a_peer_is_missing()
}

#[test]
fn one_short_pair_compares_everything_and_all_sum_alike() {
    let Some(Outcome { page, .. }) = short() else { return };
    assert!(page.contains("Fewer than 5 pairs: a trial"), "{page}");
    assert!(page.contains("of 15 met)"), "{page}");
    assert!(!page.contains("not judged"), "{page}");
    assert!(page.contains("PostgreSQL bitmap scan, ") && page.contains(", concurrency 1000"), "{page}");
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn the_newest_server_is_a_contender_by_each_of_its_io_methods_beside_the_one_that_is_installed() {
    let Some(Outcome { page, .. }) = short() else { return };
    if page.contains("PostgreSQL 18 was absent") {
        return println!("skipped: PostgreSQL 18 is not in the cache and cannot be fetched");
    }
    for name in ["nested loop, 18 sync", "nested loop, 18 worker", "nested loop, 18 32 workers"] {
        assert!(page.contains(&format!("PostgreSQL {name} ")), "{name}: {page}");
    }
    for way in ["18 sync", "18 worker", "18 32 workers"] {
        assert!(page.contains(&format!("PostgreSQL bitmap scan, {way}, concurrency 64 ")), "{way}: {page}");
    }
    let has_io_uring = page.contains("PostgreSQL bitmap scan, 18 io_uring, concurrency 64 ");
    assert_ne!(has_io_uring, page.contains("PostgreSQL 18 io_uring was absent: "), "{page}");
}

#[test]
fn two_servers_that_would_share_a_name_are_refused() {
    let Some(Outcome { complaint, .. }) = short_with(&TWICE_18) else { return };
    assert!(complaint.contains("cannot be told apart") || complaint.contains("could not be fetched"), "{complaint}");
    assert!(short_with(&["--postgres=postgres:12"]).is_none_or(|refused| refused.complaint.contains("only of 15")));
    let complaint = contest(["postgres"].iter().chain(&TWICE_18)).complaint;
    assert!(complaint.contains("give --postgres once"), "{complaint}");
}

#[test]
fn without_postgresql_its_bars_are_not_judged_and_the_reason_is_said() {
    let Some(Outcome { page, .. }) = short_with(&["--without-postgres"]) else { return };
    assert!(page.contains("PostgreSQL was absent: it was left out"), "{page}");
    assert!(page.contains("not judged"), "{page}");
}
