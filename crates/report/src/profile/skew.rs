//! A breakdown of calls and waits by the dimensions that were asked for.

use measure::{Case, Run};
use serde_json::Value;

use super::amount::{scale, share};
use super::row::is_of;
use crate::number::{grouped, time_column};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Most lines; the others are added up in the last one.
const LINES_MAX: usize = 20;

/// Parameters that are no dimension.
const OTHER_PARAMETERS: [&str; 2] = ["table", "rest"];

/// The breakdown; empty where none was asked for.
pub(super) fn table(run: &Run, style: &Style) -> String {
    let cases: Vec<&Case> = run.cases.iter().filter(|case| is_of(case, "skew")).collect();
    let Some(first) = cases.first() else { return String::new() };
    let is_dimension = |name: &&String| !OTHER_PARAMETERS.contains(&name.as_str());
    let dimensions: Vec<&String> = first.parameters.keys().filter(is_dimension).collect();
    let (rows, rest): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| !case.parameters.contains_key("rest"));
    let (shown, hidden) = rows.split_at(rows.len().min(LINES_MAX));
    let total: f64 = cases.iter().map(|case| value(case, "total")).sum();
    let scale = scale(total);
    let mut table = Table::new();
    for dimension in &dimensions {
        table = table.column(&format!("by {dimension}"), Align::Left);
    }
    table = table
        .column(scale.heading, Align::Right)
        .column("%", Align::Right)
        .column("calls", Align::Right)
        .column("mean", Align::Decimal)
        .optional_column("max", Align::Decimal)
        .optional_column("min", Align::Decimal);
    let times = |name: &str| time_column(&shown.iter().map(|case| nanos(case, name)).collect::<Vec<_>>());
    let (means, greatest, least) = (times("mean"), times("max"), times("min"));
    let condition = run.subject.get("where").and_then(Value::as_str).unwrap_or("");
    for (index, case) in shown.iter().enumerate() {
        let values = dimensions.iter().map(|name| case.parameter(name).unwrap_or_default());
        let sums = [
            scale.show(value(case, "total")),
            share(value(case, "total"), total),
            grouped(value(case, "calls") as u64),
            means[index].clone(),
            greatest[index].clone(),
            least[index].clone(),
        ];
        table.row(values.chain(sums));
    }
    let others: Vec<&Case> = hidden.iter().chain(&rest).copied().collect();
    if !others.is_empty() {
        let sum = |name: &str| others.iter().map(|case| value(case, name)).sum::<f64>();
        let names = std::iter::once(format!("{} others", grouped(count(hidden.len(), &rest))))
            .chain(dimensions.iter().skip(1).map(|_| String::new()));
        table.row(names.chain([scale.show(sum("total")), share(sum("total"), total), grouped(sum("calls") as u64)]));
    }
    let names = dimensions.iter().map(|_| String::new()).skip(1);
    table.row(dimensions.iter().map(|_| String::new()).chain(["-".repeat(scale.show(total).len())]));
    let calls: f64 = cases.iter().map(|case| value(case, "calls")).sum();
    let sums = [scale.show(total), String::new(), grouped(calls as u64)];
    table.row(std::iter::once("sum".to_string()).chain(names).chain(sums));
    let note =
        if condition.is_empty() { String::new() } else { wrap(&format!("where {condition}"), style.width, 2) + "\n" };
    note + &table.render(style)
}

/// How many values the last line stands for.
fn count(hidden: usize, rest: &[&Case]) -> u64 {
    hidden as u64 + rest.iter().map(|case| value(case, "values") as u64).sum::<u64>()
}

fn value(case: &Case, name: &str) -> f64 {
    case.metric(name).map_or(0.0, |metric| metric.median())
}

fn nanos(case: &Case, name: &str) -> Option<f64> {
    case.metric(name).map(|metric| metric.median() * 1e3).filter(|nanos| *nanos > 0.0)
}
