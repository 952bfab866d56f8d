//! CSV for spreadsheets and scripts: one row a metric, numbers at full precision, absent values empty.

use measure::case::plain;
use measure::compare::{Comparison, MetricComparison};
use measure::store::Listing;
use measure::{Case, Metric, Parameters, Run};

/// Columns of every metric, after the parameters.
const METRIC_COLUMNS: [&str; 12] =
    ["metric", "unit", "source", "n", "min", "median", "mean", "stddev", "p90", "p99", "p99.9", "max"];

/// A run, one row a metric: run id, experiment, all parameters of all cases, then the metric.
///
/// The error is that of the CSV writer, which has no cause when it writes to memory.
pub fn run(run: &Run) -> Result<String, csv::Error> {
    let names = parameter_names(run.cases.iter().map(|case| &case.parameters));
    let heading = ["run", "experiment"].into_iter().chain(names.iter().copied()).chain(METRIC_COLUMNS);
    let mut rows = vec![heading.map(String::from).collect()];
    for case in &run.cases {
        rows.extend(case.metrics.iter().map(|metric| metric_row(run, case, metric, &names)));
    }
    text_of(rows)
}

/// A comparison, one row a metric that both runs have.
///
/// The error is that of the CSV writer, which has no cause when it writes to memory.
pub fn comparison(comparison: &Comparison) -> Result<String, csv::Error> {
    let names = parameter_names(comparison.cases.iter().map(|case| &case.parameters));
    let columns = ["metric", "unit", "before", "after", "ratio", "ratio_low", "ratio_high", "verdict"];
    let mut rows = vec![names.iter().copied().chain(columns).map(String::from).collect::<Vec<_>>()];
    for case in &comparison.cases {
        let row = |metric| parameters(&case.parameters, &names).chain(compared(metric)).collect();
        rows.extend(case.metrics.iter().map(row));
    }
    text_of(rows)
}

/// The list of runs, one row a run.
///
/// The error is that of the CSV writer, which has no cause when it writes to memory.
pub fn runs(listing: &Listing) -> Result<String, csv::Error> {
    let heading = ["run", "started", "finished", "experiment", "subject", "cases", "findings", "command"];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(listing.runs.iter().map(|run| {
        let subject = ["path", "device", "kind"].iter().find_map(|key| run.subject.get(*key)).map(plain);
        vec![
            run.id.clone(),
            run.started.clone(),
            run.finished.clone().unwrap_or_default(),
            run.experiment.clone(),
            subject.unwrap_or_default(),
            run.cases.to_string(),
            run.findings.len().to_string(),
            run.command.join(" "),
        ]
    }));
    text_of(rows)
}

fn metric_row(run: &Run, case: &Case, metric: &Metric, names: &[&str]) -> Vec<String> {
    let statistics = &metric.statistics;
    let optional = [statistics.stddev, statistics.p90, statistics.p99, statistics.p999];
    let first = [run.id.clone(), run.experiment.clone()].into_iter().chain(parameters(&case.parameters, names));
    let named = [metric.name.clone(), metric.unit.symbol().into(), metric.source.clone(), statistics.n.to_string()];
    let known = [statistics.min, statistics.median, statistics.mean].map(|value| value.to_string());
    let optional = optional.map(|value| value.map_or(String::new(), |value| value.to_string()));
    first.chain(named).chain(known).chain(optional).chain([statistics.max.to_string()]).collect()
}

fn compared(metric: &MetricComparison) -> [String; 8] {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let verdict = serde_json::to_value(metric.verdict).map_or(String::new(), |verdict| plain(&verdict));
    [
        metric.name.clone(),
        metric.unit.symbol().into(),
        metric.before.to_string(),
        metric.after.to_string(),
        number(metric.ratio),
        number(metric.interval.map(|interval| interval.0)),
        number(metric.interval.map(|interval| interval.1)),
        verdict,
    ]
}

/// The names of all parameters of all cases, in the order of their first appearance.
fn parameter_names<'a>(cases: impl Iterator<Item = &'a Parameters>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in cases.flat_map(|parameters| parameters.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn parameters<'a>(parameters: &'a Parameters, names: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    names.iter().map(|name| parameters.get(*name).map_or(String::new(), plain))
}

fn text_of(rows: Vec<Vec<String>>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
