//! The benchmark of nested loops, tested without a benchmark's time: that everybody sums alike, and that who is absent
//! is said to be.
//!
//! The modules are those of `benches/join`; their unit tests run here, as cargo runs none inside a bench.

#[path = "../benches/join/arguments.rs"]
mod arguments;
#[path = "../benches/join/command.rs"]
mod command;
#[path = "../benches/contest/mod.rs"]
#[allow(dead_code, reason = "each benchmark has contenders and bars of some kinds only")]
mod contest;
#[path = "../benches/join/device.rs"]
mod device;
#[path = "../benches/join/engine.rs"]
mod engine;
#[path = "../benches/join/judgement.rs"]
mod judgement;
#[path = "../benches/join/ledger.rs"]
mod ledger;
#[path = "../benches/join/postgres.rs"]
mod postgres;
#[path = "../benches/join/rows.rs"]
mod rows;

use clap::Parser;

use arguments::Arguments;
use contest::postgres::installation::Installation;

/// One pair over a table that takes no time to make.
const SHORT: [&str; 7] = [
    "join",
    "--rows=20000",
    "--outer-rows=500",
    "--rate-outer-rows=1000",
    "--fio-milliseconds=20",
    "--pairs=1",
    "--bench",
];

fn benchmark(more: &[&str]) -> Result<String, String> {
    let arguments = Arguments::try_parse_from(SHORT.iter().chain(more)).expect("arguments that the benchmark knows");
    let mut page = Vec::new();
    command::run(&arguments, &mut page)?;
    Ok(String::from_utf8(page).expect("a page of text"))
}

#[test]
fn one_short_pair_compares_everything_and_all_sum_alike() {
    if let Err(reason) = device::version() {
        println!("skipped: {reason}");
        return;
    }
    if let Err(reason) = Installation::find(None) {
        println!("skipped: {reason}");
        return;
    }
    let page = benchmark(&[]).expect("a page");
    assert!(page.contains("Fewer than 5 pairs: a trial"), "{page}");
    assert!(page.contains("of 15 bars met)"), "{page}");
    assert!(!page.contains("not judged"), "{page}");
    assert!(page.contains("PostgreSQL bitmap scan, cold, concurrency 1000"), "{page}");
}

#[test]
fn without_postgresql_its_bars_are_not_judged_and_the_reason_is_said() {
    if let Err(reason) = device::version() {
        println!("skipped: {reason}");
        return;
    }
    let page = benchmark(&["--without-postgres"]).expect("a page");
    assert!(page.contains("absent: PostgreSQL: it was left out"), "{page}");
    assert!(page.contains("not judged"), "{page}");
}
