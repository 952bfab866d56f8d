//! A breakdown as cases and findings of a run document.

use measure::quantity::{counted, format_nanos, grouped};
use measure::schema::profile::findings as row;
use measure::schema::profile::{self as schema, parameters as named};
use measure::sorting;
use measure::{Case, Finding, Metric};

use crate::document::metrics::{case, time};
use crate::observe::skew::{Breakdown, BreakdownRow, DIMENSIONS_MAX, Dimension, Sums};

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
            let is_user = self.without_value.iter().any(|dimension| dimension.parameter() == named::USER);
            let message = format!(
                "No call and no wait of the breakdown has a value in {}: the source does not say it, or they have \
                 none.{}",
                names(&self.without_value).join(" or "),
                if is_user { " The roles of PostgreSQL are in the dimension client." } else { "" }
            );
            row::SKEW_WITHOUT_VALUE.of(message)
        });
        let nothing = (self.all.count == 0).then(|| row::SKEW_EMPTY.of(self.why_empty()));
        merged.into_iter().chain(without_cpu).chain(without_value).chain(nothing).collect()
    }

    /// Why nothing is broken down, and what to ask instead.
    fn why_empty(&self) -> String {
        let why = match (self.calls_without_cpu, self.filtered_by.as_slice()) {
            (0, []) => return "There is no call and no wait to break down.".into(),
            (0, _) => "No call and no wait passes the filter.",
            _ => "The breakdown is empty: no wait passes the filter, and no call of known CPU time.",
        };
        if !self.unvalued.is_empty() && !self.valued.is_empty() {
            let of_time = [named::SECOND, named::MINUTE];
            let is_of_time = self.unvalued.iter().any(|dimension| of_time.contains(&dimension.parameter()));
            return format!(
                "{why} None has a value in {}: the source does not say it. Conditions can be on {}.{}",
                names(&self.unvalued).join(" or "),
                names(&self.valued).join(", "),
                if is_of_time { " Parts of its time are compared with `readpath compare --first`." } else { "" }
            );
        }
        if self.calls_without_cpu > 0 {
            return why.into();
        }
        let filtered = &self.filtered_by[..self.filtered_by.len().min(DIMENSIONS_MAX)];
        format!("{why} --by {} without --where shows the values that there are.", names(filtered).join(","))
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

/// The names of dimensions.
fn names(dimensions: &[Dimension]) -> Vec<&'static str> {
    dimensions.iter().map(|dimension| dimension.name()).collect()
}
