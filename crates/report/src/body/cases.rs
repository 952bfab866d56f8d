//! Any experiment without a layout of its own: one line a metric, case by case.

use measure::{Case, Metric, Run};

use crate::page::number::{range as range_of, with_unit};
use crate::page::parameters::{phrase, varying};
use crate::page::{Align, Cell, Section, Table};

/// The table of all metrics of all cases.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let names = varying(&cases);
    let rows: Vec<(&Case, &Metric)> =
        cases.iter().flat_map(|case| case.metrics.iter().map(move |metric| (*case, metric))).collect();
    let table = Table::over(&rows)
        .column("metric", Align::Left, |(_, metric)| metric.name.clone())
        .column("median", Align::Right, |(_, metric)| Cell::quantity(metric.median(), metric.unit).with_spread(metric))
        .column("range", Align::Left, |(_, metric)| range(metric))
        .optional()
        .column("n", Align::Right, |(_, metric)| Cell::count(metric.statistics.n as f64))
        .optional()
        .groups(|(case, _)| phrase(&case.parameters, &names));
    vec![Section::Table(table.done())]
}

/// Every number of a run with its unit, its range, its count and its source.
pub(crate) fn numbers(run: &Run) -> Table {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let names = varying(&cases);
    let rows: Vec<(&Case, &Metric)> =
        cases.iter().flat_map(|case| case.metrics.iter().map(move |metric| (*case, metric))).collect();
    Table::over(&rows)
        .column("metric", Align::Left, |(_, metric)| metric.name.clone())
        .column("median", Align::Right, |(_, metric)| Cell::quantity(metric.median(), metric.unit).with_spread(metric))
        .column("range", Align::Left, |(_, metric)| range(metric))
        .optional()
        .column("samples", Align::Right, |(_, metric)| Cell::count(metric.statistics.n as f64))
        .column("source", Align::Left, |(_, metric)| metric.source.clone())
        .groups(|(case, _)| phrase(&case.parameters, &names))
        .done()
}

/// From the smallest to the 90th percentile, or to the largest where there are too few samples for one.
pub(super) fn range(metric: &Metric) -> String {
    let statistics = &metric.statistics;
    let high = statistics.p90.unwrap_or(statistics.max);
    let text = || range_of(&with_unit(statistics.min, metric.unit), &with_unit(high, metric.unit));
    if statistics.n > 1 { text() } else { String::new() }
}
