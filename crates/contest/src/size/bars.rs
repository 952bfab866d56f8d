//! What is wanted of loading and of a scan at the published size.

use measure::Statistics;
use measure::quantity::grouped;
use measure::schema::contest::{ELAPSED, LOADED};
use measure::schema::scan::TABLE_ROWS;

use crate::bars::{Bar, Judged, Wanted};
use crate::ledger::Ledger;

/// The questions, as they stand in the ledger.
pub(crate) const LOADING: &str = "a table is loaded";
pub(crate) const PATHS: &str = "six access paths";

/// Who answers them.
pub(crate) const READPATH: &str = "readpath";

/// MB/s of a table that is loaded.
const LOADED_MIN: Judged = Judged::figure(Wanted::AtLeast(300.0), "slower");
/// Seconds of a scan by six paths.
const PATHS_MAX: Judged = Judged::figure(Wanted::AtMost(600.0), "slower");

/// MB in a MiB.
const MEGABYTES_OF_MIB: f64 = 1.048_576;

/// Both bars; that of the paths is judged at the published size alone.
pub(crate) fn all(ledger: &Ledger, rows: u64) -> [Bar; 2] {
    let rates = ledger.samples(LOADING, READPATH, &LOADED);
    let megabytes: Vec<f64> = rates.iter().map(|rate| rate * MEGABYTES_OF_MIB).collect();
    let seconds = match rows == TABLE_ROWS.value as u64 {
        true => Statistics::of_samples(ledger.samples(PATHS, READPATH, &ELAPSED)).ok_or_else(|| "no run".to_string()),
        false => Err(format!("{} rows are not the published size", grouped(rows))),
    };
    [
        Bar::of_samples("loading: MB/s", LOADED_MIN, &megabytes, "no pair").from("one rate a pair"),
        Bar::new("six access paths at the published size: seconds", PATHS_MAX, seconds).from("one run"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    fn outcomes(mebibytes: f64, seconds: f64, rows: u64) -> [Outcome; 2] {
        let mut ledger = Ledger::default();
        ledger.add(LOADING, READPATH, &LOADED, mebibytes);
        ledger.add(PATHS, READPATH, &ELAPSED, seconds);
        all(&ledger, rows).map(|bar| bar.outcome())
    }

    #[test]
    fn a_slow_load_and_a_scan_of_more_than_ten_minutes_are_missed() {
        let published = TABLE_ROWS.value as u64;
        assert_eq!(outcomes(287.0, 599.0, published), [Outcome::Met; 2]);
        assert!(matches!(outcomes(285.0, 601.0, published), [Outcome::Missed(_), Outcome::Missed(by)] if by == 1.0));
    }

    #[test]
    fn a_smaller_table_says_nothing_of_the_published_size() {
        assert_eq!(outcomes(400.0, 1.0, 1000), [Outcome::Met, Outcome::NotJudged]);
    }
}
