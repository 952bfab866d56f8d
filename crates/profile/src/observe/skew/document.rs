//! A breakdown as cases and findings of a run document.

use measure::quantity::{counted, format_nanos, grouped};
use measure::{Case, Finding, Metric, Parameters, Unit};
use serde_json::Value;

use crate::observe::skew::{Breakdown, Sums};

/// Rows that become cases; the rest is one case.
pub(crate) const ROWS_MAX: usize = 1000;

/// Where the numbers come from.
const SOURCE: &str = "own CPU of calls, elapsed time of waits";

impl Breakdown {
    /// One case a row, the longest first, each with a parameter by the name of every dimension, and one for the rest.
    pub fn cases(&self) -> Vec<Case> {
        let shown = self.rows.iter().take(ROWS_MAX).map(|row| self.case(&row.values, &row.sums));
        let rest = self.rest().map(|(sums, keys)| {
            let mut case = Case::new(parameters());
            case.parameters.insert("rest".into(), true.into());
            case.metrics = self.metrics(&sums);
            case.metrics.push(Metric::single("values", Unit::Count, SOURCE, keys as f64));
            case
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
            Finding::warning("skew-merged", message)
        });
        let without_cpu = (self.calls_without_cpu > 0).then(|| {
            let calls = counted(self.calls_without_cpu, "call is", "calls are");
            let message = format!("{calls} not in the breakdown: the source does not know its CPU time.");
            Finding::info("skew-without-cpu", message)
        });
        let nothing = (self.all.count == 0).then(|| {
            Finding::warning("skew-empty", "No call and no wait passes the filter. Look at its names with --by event.")
        });
        merged.into_iter().chain(without_cpu).chain(nothing).collect()
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
        let mut case = Case::new(parameters());
        for (dimension, value) in self.dimensions.iter().zip(values) {
            case.parameters.insert(dimension.name().into(), Value::from(value.as_str()));
        }
        case.metrics = self.metrics(sums);
        case
    }

    fn metrics(&self, sums: &Sums) -> Vec<Metric> {
        let single = |name: &str, unit, value| Metric::single(name, unit, SOURCE, value);
        vec![
            single("calls", Unit::Count, sums.count as f64),
            single("total", Unit::Microseconds, sums.total.micros()),
            single("share", Unit::Percent, 100.0 * self.share(sums)),
            single("mean", Unit::Microseconds, sums.mean_micros()),
            single("min", Unit::Microseconds, sums.min.micros()),
            single("max", Unit::Microseconds, sums.max.micros()),
        ]
    }
}

fn parameters() -> Parameters {
    std::iter::once(("table".to_string(), Value::from("skew"))).collect()
}
