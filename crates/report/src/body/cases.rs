//! Any experiment without a layout of its own: one line a metric, case by case.

use measure::{Case, Metric, Run};

use crate::page::number::{range as range_of, with_unit};
use crate::page::parameters::{phrase, varying};
use crate::page::table::Builder;
use crate::page::{Align, Cell, Section, Table};

/// The table of all metrics of all cases.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let names = varying(&cases);
    let rows = metrics(&cases);
    let table = of_metrics(Table::over(&rows)).optional("n", Align::Right, |(_, metric)| count(metric));
    vec![Section::Table(table.groups(|(case, _)| phrase(&case.parameters, &names)).done())]
}

/// Every number of a run with its unit, its range, its count and its source.
pub(crate) fn numbers(run: &Run) -> Table {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let names = varying(&cases);
    let rows = metrics(&cases);
    of_metrics(Table::over(&rows))
        .column("samples", Align::Right, |(_, metric)| count(metric))
        .column("source", Align::Left, |(_, metric)| metric.source.clone())
        .groups(|(case, _)| phrase(&case.parameters, &names))
        .done()
}

/// A metric with its case.
pub(super) type Measured<'a> = (&'a Case, &'a Metric);

/// The metrics of all cases.
pub(super) fn metrics<'a>(cases: &[&'a Case]) -> Vec<Measured<'a>> {
    cases.iter().flat_map(|case| case.metrics.iter().map(move |metric| (*case, metric))).collect()
}

/// The columns of a metric's name, its median and its range.
pub(super) fn of_metrics<'a, 'b>(table: Builder<'a, Measured<'b>>) -> Builder<'a, Measured<'b>> {
    table
        .column("metric", Align::Left, |(_, metric)| metric.name.clone())
        .column("median", Align::Right, |(_, metric)| median(metric))
        .optional("range", Align::Left, |(_, metric)| range(metric))
}

/// How many samples a metric has.
pub(super) fn count(metric: &Metric) -> Cell {
    Cell::count(metric.statistics.n as f64)
}

/// The median of a metric with its unit.
pub(super) fn median(metric: &Metric) -> Cell {
    Cell::quantity(metric.median(), metric.unit).with_spread(metric)
}

/// From the smallest to the 90th percentile, or to the largest where there are too few samples for one.
pub(super) fn range(metric: &Metric) -> String {
    let statistics = &metric.statistics;
    let high = statistics.p90.unwrap_or(statistics.max);
    let text = || range_of(&with_unit(statistics.min, metric.unit), &with_unit(high, metric.unit));
    if statistics.n > 1 { text() } else { String::new() }
}
