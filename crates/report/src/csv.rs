//! CSV for spreadsheets and scripts: one row per metric, numbers at full precision, absent values empty.

use std::io::{self, Write};

use measure::case::plain;
use measure::compare::{Amount, CaseComparison, Change, Comparison, MetricComparison, ProfileComparison, TimeChange};
use measure::schema::disk;
use measure::store::Listing;
use measure::{Case, Metric, Parameters, Run, sorting};
use serde_json::Value;

use crate::page::parameters::parameter_names;
use crate::renderer::{Media, Renderer, Shown};
use crate::runs::subject;
use crate::style::Style;

/// The row of the table of renderers.
pub(crate) const RENDERER: Renderer =
    Renderer { name: "csv", help: "A row per metric, or per run of a list", media: Media::Rows, write };

/// Columns of a run, before the parameters.
const RUN_COLUMNS: [&str; 2] = ["run", "experiment"];

/// Columns of every metric, after the parameters.
const METRIC_COLUMNS: [&str; 12] =
    ["metric", "unit", "source", "n", "min", "median", "mean", "stddev", "p90", "p99", "p99.9", "max"];

fn write(shown: Shown<'_>, _style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let rows = match shown {
        Shown::Run(one) | Shown::Kept(one) => run(one),
        Shown::Comparison(two) => comparison(two.comparison),
        Shown::Profiles(two) => profiles(two),
        Shown::Runs(listing) => runs(listing),
    };
    let mut writer = csv::Writer::from_writer(out);
    // The kind of the writer's error tells a reader that went away.
    let io_error = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    };
    rows.into_iter().try_for_each(|row| writer.write_record(row).map_err(io_error))?;
    writer.flush()
}

/// A run, one row per metric: run id, experiment, all parameters of all cases, then the metric.
fn run(run: &Run) -> Vec<Vec<String>> {
    let names = parameter_names(run.cases.iter().map(|case| &case.parameters));
    let others = [&RUN_COLUMNS[..], &METRIC_COLUMNS[..]].concat();
    let parameters = names.iter().map(|name| column(name, &others));
    let heading = RUN_COLUMNS.map(String::from).into_iter().chain(parameters).chain(METRIC_COLUMNS.map(String::from));
    let mut rows: Vec<Vec<String>> = vec![heading.collect()];
    for case in &run.cases {
        rows.extend(case.metrics.iter().map(|metric| metric_row(run, case, metric, &names)));
    }
    rows
}

/// The column of a parameter. Where another column has its name, such as `source`, it says that it is the case's.
fn column(parameter: &str, others: &[&str]) -> String {
    if others.contains(&parameter) { format!("case_{parameter}") } else { parameter.into() }
}

/// A comparison, one row per metric that both runs have: the parameters in the first run, those that differ in the
/// second, then the metric. The best depths of two devices follow, unless they are one of the cases.
fn comparison(comparison: &Comparison) -> Vec<Vec<String>> {
    let cases: Vec<&CaseComparison> = comparison.cases.iter().chain(best_depth_apart(comparison)).collect();
    let own = parameter_names(cases.iter().map(|case| &case.parameters));
    let changed = changed_names(comparison, &cases);
    // The build is no parameter of a case, and what the first run lacks is none of its cases.
    let more = changed.iter().copied().filter(|name| !own.contains(name));
    let names: Vec<&str> = own.iter().copied().chain(more).collect();
    let columns = ["metric", "unit", "before", "after", "ratio", "ratio_low", "ratio_high", "verdict"];
    let after = changed.iter().map(|name| format!("after_{name}"));
    let heading = names.iter().map(|name| column(name, &columns)).chain(after).chain(columns.map(String::from));
    let mut rows: Vec<Vec<String>> = vec![heading.collect()];
    for case in cases {
        let before = names.iter().map(|name| of_first(comparison, case, name));
        let after = changed.iter().map(|name| of_second(comparison, case, name));
        let parameters: Vec<String> = before.chain(after).collect();
        let row = |metric| parameters.iter().cloned().chain(compared(metric)).collect();
        rows.extend(case.metrics.iter().map(row));
    }
    rows
}

/// Each device at its best depth, where no case pairs these depths: runs that tried other depths may have no case in
/// common.
fn best_depth_apart(comparison: &Comparison) -> Option<&CaseComparison> {
    let best = comparison.best_depth.as_ref()?;
    let depth = |case: &CaseComparison| of_second(comparison, case, disk::parameters::DEPTH.name);
    let is_best = |case: &CaseComparison| case.parameters == best.parameters && depth(case) == depth(best);
    (!comparison.cases.iter().any(is_best)).then_some(best)
}

/// The names of what differs between two runs, or between a case of one and that of the other, once each.
fn changed_names<'a>(comparison: &'a Comparison, cases: &[&'a CaseComparison]) -> Vec<&'a str> {
    let outcomes = cases.iter().flat_map(|case| &case.outcomes);
    sorting::each_once(comparison.changes.iter().chain(outcomes).map(|change| change.parameter.as_str()))
}

/// How a parameter of a case differs between the runs, where it does.
fn change_of<'a>(comparison: &'a Comparison, case: &'a CaseComparison, name: &str) -> Option<&'a Change> {
    case.outcomes.iter().chain(&comparison.changes).find(|change| change.parameter == name)
}

/// A parameter of a case in the first run.
fn of_first(comparison: &Comparison, case: &CaseComparison, name: &str) -> String {
    let change = change_of(comparison, case, name);
    plain_or_empty(case.parameters.get(name).or_else(|| change?.before.as_ref()))
}

/// The same in the second run.
fn of_second(comparison: &Comparison, case: &CaseComparison, name: &str) -> String {
    match change_of(comparison, case, name) {
        Some(change) => plain_or_empty(change.after.as_ref()),
        None => plain_or_empty(case.parameters.get(name)),
    }
}

fn plain_or_empty(value: Option<&Value>) -> String {
    value.map_or(String::new(), plain)
}

/// Two profiles, one row a class, event or statement; what one side alone has leaves the other's columns empty. Each
/// row says how long the sides were sampled, so that a time can be divided by it.
fn profiles(comparison: &ProfileComparison) -> Vec<Vec<String>> {
    let columns = ["kind", "class", "name", "difference_us", "spread"];
    let of_side = ["total_us", "count", "execution_us", "row_us"];
    let sides = ["before", "after"].iter().flat_map(|side| of_side.map(|column| format!("{side}_{column}")));
    let lengths = ["before", "after"].map(|side| format!("{side}_sampled_us"));
    let heading = columns.map(String::from).into_iter().chain(sides).chain(lengths);
    let mut rows = vec![heading.collect::<Vec<_>>()];
    let changes = [
        ("response-time", std::slice::from_ref(&comparison.response_time)),
        ("class", comparison.classes.as_slice()),
        ("event", comparison.events.as_slice()),
        ("statement", comparison.statements.as_slice()),
    ];
    for (kind, changes) in changes {
        rows.extend(changes.iter().map(|change| profile_row(kind, change)));
    }
    let empty = || [const { String::new() }; 4].into_iter();
    let alone =
        |kind: &str, id: &str| [kind.into(), String::new(), id.into(), String::new(), String::new()].into_iter();
    let vanished = comparison.vanished.iter();
    rows.extend(vanished.map(|one| alone("vanished", &one.id).chain(amount(&one.amount)).chain(empty()).collect()));
    let new = comparison.new.iter();
    rows.extend(new.map(|one| alone("new", &one.id).chain(empty()).chain(amount(&one.amount)).collect()));
    let sampled = [&comparison.before, &comparison.after].map(|side| number(side.sampled_us));
    rows.iter_mut().skip(1).for_each(|row| row.extend(sampled.clone()));
    rows
}

fn profile_row(kind: &str, change: &TimeChange) -> Vec<String> {
    let spread = serde_json::to_value(change.spread).map_or(String::new(), |spread| plain(&spread));
    let class = change.class.clone().unwrap_or_default();
    let first = [kind.into(), class, change.name.clone(), digits(change.difference_us), spread];
    first.into_iter().chain(amount(&change.before)).chain(amount(&change.after)).collect()
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), digits)
}

/// A number with all its digits. What is added leaves a zero without a sign.
fn digits(value: f64) -> String {
    (value + 0.0).to_string()
}

fn amount(amount: &Amount) -> [String; 4] {
    let count = amount.count.map_or(String::new(), |count| count.to_string());
    [digits(amount.total_us), count, number(amount.execution_us), number(amount.row_us)]
}

/// The list of runs, one row a run.
fn runs(listing: &Listing) -> Vec<Vec<String>> {
    let heading = ["run", "started", "finished", "experiment", "subject", "cases", "findings", "command"];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(listing.runs.iter().map(|run| {
        vec![
            run.id.clone(),
            run.started.clone(),
            run.finished.clone().unwrap_or_default(),
            run.experiment.clone(),
            subject(run),
            run.cases.to_string(),
            run.findings.len().to_string(),
            run.command.join(" "),
        ]
    }));
    rows
}

fn metric_row(run: &Run, case: &Case, metric: &Metric, names: &[&str]) -> Vec<String> {
    let statistics = &metric.statistics;
    let optional = [statistics.stddev, statistics.p90, statistics.p99, statistics.p999];
    let first = [run.id.clone(), run.experiment.clone()].into_iter().chain(parameters(&case.parameters, names));
    let named = [metric.name.clone(), metric.unit.symbol().into(), metric.source.clone(), statistics.n.to_string()];
    let known = [statistics.min, statistics.median, statistics.mean].map(digits);
    first.chain(named).chain(known).chain(optional.map(number)).chain([digits(statistics.max)]).collect()
}

fn compared(metric: &MetricComparison) -> [String; 8] {
    let verdict = serde_json::to_value(metric.verdict).map_or(String::new(), |verdict| plain(&verdict));
    [
        metric.name.clone(),
        metric.unit.symbol().into(),
        digits(metric.before),
        digits(metric.after),
        number(metric.ratio),
        number(metric.interval.map(|interval| interval.0)),
        number(metric.interval.map(|interval| interval.1)),
        verdict,
    ]
}

fn parameters<'a>(parameters: &'a Parameters, names: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    names.iter().map(|name| plain_or_empty(parameters.get(*name)))
}
