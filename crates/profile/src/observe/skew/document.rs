//! A breakdown as cases and findings of a run document.

use measure::quantity::{counted, format_nanos, grouped};
use measure::schema::profile::findings as row;
use measure::schema::profile::{self as schema, parameters as named};
use measure::sorting;
use measure::{Case, Finding, Metric};

use crate::document::metrics::{case, time};
use crate::observe::skew::{Breakdown, BreakdownRow, DIMENSIONS_MAX, Sums};

/// Rows that become cases; the rest is one case.
pub(crate) const ROWS_MAX: usize = 1000;

/// The table of a breakdown.
const TABLE: &str = "skew";

/// Where the numbers come from.
const SOURCE: &str = "own CPU of calls, elapsed time of waits";

impl Breakdown {
    /// One case a row, in the order of the first dimension's values where they have one, else the longest first; each
    /// with a parameter by the name of every dimension. Then one for the rest.
    pub fn cases(&self) -> Vec<Case> {
        let mut shown: Vec<&BreakdownRow> = self.rows.iter().take(ROWS_MAX).collect();
        sorting::by_key(&mut shown, |row| row.place);
        let shown = shown.into_iter().map(|row| self.case(&row.values, &row.sums));
        let rest = self.rest().map(|(sums, keys)| {
            let mut metrics = self.metrics(&sums);
            metrics.push(schema::VALUES.count(SOURCE, keys));
            case([named::TABLE.of(TABLE), named::REST.of(true)], metrics)
        });
        shown.chain(rest).collect()
    }

    /// What is not exact, and what is not in it.
    pub fn findings(&self) -> Vec<Finding> {
        let merged = self.merged.map(|merged| {
            let message = format!(
                "There were too many values to keep apart: {} of them, the smallest at the time, were merged. The sum \
                 is whole; a row may be short by {} at most, and its shortest and longest are of what it still has.",
                grouped(merged.keys),
                format_nanos(1e3 * merged.shortfall_max.micros())
            );
            row::SKEW_MERGED.of(message)
        });
        let without_cpu = (self.calls_without_cpu > 0).then(|| {
            let calls = counted(self.calls_without_cpu, "call is", "calls are");
            let whose = if self.calls_without_cpu == 1 { "its" } else { "their" };
            let message = format!("{calls} not in the breakdown: the source does not know {whose} CPU time.");
            row::SKEW_WITHOUT_CPU.of(message)
        });
        let without_value = (!self.without_value.is_empty()).then(|| {
            let names: Vec<&str> = self.without_value.iter().map(|dimension| dimension.name()).collect();
            let is_user = self.without_value.iter().any(|dimension| dimension.parameter() == named::USER);
            let message = format!(
                "No call and no wait of the breakdown has a value in {}: the source does not say it, or they have \
                 none.{}",
                names.join(" or "),
                if is_user { " The roles of PostgreSQL are in the dimension client." } else { "" }
            );
            row::SKEW_WITHOUT_VALUE.of(message)
        });
        let filtered: Vec<&str> =
            self.filtered_by.iter().take(DIMENSIONS_MAX).map(|dimension| dimension.name()).collect();
        let nothing = match (self.calls_without_cpu, filtered.as_slice()) {
            (0, []) => "There is no call and no wait to break down.".to_string(),
            (0, names) => format!(
                "No call and no wait passes the filter. --by {} without --where shows the values that there are.",
                names.join(",")
            ),
            _ => "The breakdown is empty: no wait passes the filter, and no call of known CPU time.".to_string(),
        };
        let nothing = (self.all.count == 0).then(|| row::SKEW_EMPTY.of(nothing));
        merged.into_iter().chain(without_cpu).chain(without_value).chain(nothing).collect()
    }

    /// Everything that has no case of its own, and how many values that is.
    fn rest(&self) -> Option<(Sums, u64)> {
        let mut rest = Sums::NONE;
        let mut keys = 0;
        for row in self.rows.iter().skip(ROWS_MAX) {
            rest.add(row.sums);
            keys += 1;
        }
        if let Some(merged) = self.merged {
            rest.add(merged.sums);
            keys += merged.keys;
        }
        (keys > 0).then_some((rest, keys))
    }

    fn case(&self, values: &[String], sums: &Sums) -> Case {
        let values = self.dimensions.iter().zip(values);
        let values = values.map(|(dimension, value)| dimension.parameter().of(value.as_str()));
        case([named::TABLE.of(TABLE)].into_iter().chain(values), self.metrics(sums))
    }

    fn metrics(&self, sums: &Sums) -> Vec<Metric> {
        let mut metrics = vec![
            schema::CALLS.count(SOURCE, sums.count),
            time(&schema::TOTAL, SOURCE, sums.total),
            schema::SHARE.single(SOURCE, 100.0 * self.share(sums)),
            schema::MEAN.single(SOURCE, sums.mean_micros()),
        ];
        if sums.min <= sums.max {
            metrics.extend([time(&schema::MIN, SOURCE, sums.min), time(&schema::MAX, SOURCE, sums.max)]);
        }
        metrics
    }
}
