//! Any experiment without a layout of its own: one line a metric, case by case.

use measure::{Case, Metric, Run};

use crate::number::{grouped, with_unit};
use crate::parameters::{phrase, varying};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::shorten;

/// Columns that the parameters of a case may take.
const CASE_COLUMNS: usize = 34;

/// The table of all metrics of all cases.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let names = varying(&cases);
    let mut table = Table::new()
        .optional_column("case", Align::Left)
        .column("metric", Align::Left)
        .column("median", Align::Right)
        .optional_column("range", Align::Left)
        .optional_column("n", Align::Right);
    for case in cases {
        let mut title = shorten(&phrase(&case.parameters, &names), CASE_COLUMNS);
        for metric in &case.metrics {
            table.row([std::mem::take(&mut title), metric.name.clone(), median(metric), range(metric), count(metric)]);
        }
    }
    table.render(style)
}

fn median(metric: &Metric) -> String {
    with_unit(metric.median(), metric.unit)
}

/// From the smallest to the 90th percentile, or to the largest where there are too few samples for one.
fn range(metric: &Metric) -> String {
    let statistics = &metric.statistics;
    let high = statistics.p90.unwrap_or(statistics.max);
    let text = || format!("{}–{}", with_unit(statistics.min, metric.unit), with_unit(high, metric.unit));
    if statistics.n > 1 { text() } else { String::new() }
}

fn count(metric: &Metric) -> String {
    grouped(metric.statistics.n)
}
