//! The queries of a calibration's verification on a real server: each kind of step that a planner weighs is reached.

use std::path::Path;
use std::sync::Arc;

use subjects::postgres::calibration::verification_set::Scanned;
use subjects::postgres::calibration::{Calibration, CalibrationAsked};
use subjects::{Environment, Opening, Places};
use sys::time::Clock;

pub(crate) const DEBIAN: &str = "/usr/lib/postgresql/15";

/// Steps without which the verification would not tell one set of constants from another, as plans in words have them:
/// parallel work, each kind of scan and of join, a limit along an index, subqueries that are run for each row, that end
/// at the first row and that look for none, a sort, and an aggregate with a hash table.
const STEPS: [&str; 13] = [
    "Memoize",
    "Gather (",
    "Index Only Scan",
    "Bitmap Heap Scan",
    "Merge Join",
    "Hash Join",
    "Nested Loop",
    "Limit [Index Scan",
    "(SubPlan",
    "(Semi)",
    "(Anti)",
    "Sort [",
    "Aggregate (Hashed",
];

/// Blocks and operators as they come out cached by the server, by the operating system, and cold; and none.
const SETS: [&[(&str, f64)]; 4] = [
    &[],
    &[("seq_page_cost", 0.079), ("random_page_cost", 0.05), ("cpu_operator_cost", 0.001)],
    &[("seq_page_cost", 2.5), ("random_page_cost", 3.2), ("cpu_operator_cost", 0.001)],
    &[("seq_page_cost", 5.0), ("random_page_cost", 37.0), ("cpu_operator_cost", 0.001)],
];

/// A private server without tables yet.
pub(crate) fn open() -> Box<Calibration> {
    let places: Places = format!("postgres:{DEBIAN}").parse().unwrap();
    let asked = CalibrationAsked { has_queries: false, payload: Some(4 << 20), seed: 1 };
    let opener = places.iter().next().unwrap().calibration(asked).unwrap();
    let mut opening = Opening {
        environment: &Environment::new(std::env::temp_dir()),
        clock: Clock::calibrate(),
        stop: Arc::default(),
        progress: &mut |_, _| {},
    };
    opener.open(&mut opening).unwrap()
}

#[test]
fn some_set_of_constants_leads_the_verification_to_each_kind_of_step() {
    if !Path::new(DEBIAN).exists() {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
        return;
    }
    let mut tables = open();
    tables.load_verification().unwrap();
    tables.plan_as_users_do().unwrap();
    let mut plans: Vec<String> = Vec::new();
    for scanned in [Scanned::Within, Scanned::Beyond] {
        for set in SETS {
            tables.set_constants(&["seq_page_cost", "random_page_cost", "cpu_operator_cost"], set).unwrap();
            for query in tables.verification_queries(scanned) {
                plans.push(tables.plan_of(&query).unwrap().unwrap().top.outline());
            }
        }
    }
    let missing: Vec<&str> = STEPS.into_iter().filter(|step| !plans.iter().any(|plan| plan.contains(*step))).collect();
    assert!(missing.is_empty(), "no set leads to {missing:?}: {plans:#?}");
}

#[test]
fn one_table_of_the_verification_stays_in_the_buffers_and_the_other_does_not_warm_and_cold() {
    if !Path::new(DEBIAN).exists() {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
        return;
    }
    let mut tables = open();
    tables.load_verification().unwrap();
    let mut read_again = |scanned| {
        let last = (0..3).map(|_| tables.scan_of(scanned).unwrap().buffers).last().unwrap();
        last.reads as f64 / last.gets() as f64
    };
    let [within, beyond] = [Scanned::Within, Scanned::Beyond].map(&mut read_again);
    assert_eq!(within, 0.0, "warm, all of it is in the buffers");
    assert!(beyond > 0.3, "warm, {beyond} of the table beyond the buffers is read");
    for table in [Scanned::Within, Scanned::Beyond] {
        let left = tables.cool().unwrap();
        let first = tables.scan_of(table).unwrap().buffers;
        assert!(first.hits < first.reads / 20, "cold, {first:?} of {table:?}, still cached: {left:?}");
    }
}
