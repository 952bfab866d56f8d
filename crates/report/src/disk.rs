//! Reads of a device: what they cost, by place and by distance where the run asked for that.

use measure::{Case, Metric, Run, Unit};

use crate::bar;
use crate::number::{ABSENT, bytes, grouped, nanos_of, ratio, three_digits, time_column};
use crate::parameters::{cell, heading, varying};
use crate::style::Style;
use crate::table::{Align, Table};

/// Columns of a bar beside a value.
const BAR_CELLS: usize = 18;

/// Renders cases of one kind.
type View = fn(&[&Case], &Style) -> String;

/// What a case is about, by the parameter that only such cases have. The first that fits counts.
const VIEWS: &[(&str, View)] = &[("zone", zones), ("position", positions), ("distance", distances)];

/// One table for each way in which the run looked at the device.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let mut left: Vec<&Case> = run.cases.iter().collect();
    let mut sections = Vec::new();
    for (parameter, view) in VIEWS {
        let (here, rest): (Vec<&Case>, Vec<&Case>) =
            left.into_iter().partition(|case| case.parameters.contains_key(*parameter));
        left = rest;
        if !here.is_empty() {
            sections.push(view(&here, style));
        }
    }
    if !left.is_empty() {
        sections.insert(0, plain(&left, style));
    }
    crate::join_sections(&sections)
}

/// One line a case: the parameters that vary, then what was measured.
fn plain(cases: &[&Case], style: &Style) -> String {
    let names = varying(cases);
    let mut table = Table::new();
    for name in &names {
        table = table.column(&heading(name), Align::Left);
    }
    table = table
        .column("reads", Align::Right)
        .optional_column("elapsed", Align::Decimal)
        .column("p50", Align::Decimal)
        .column("p99", Align::Decimal)
        .optional_column("p99.9", Align::Decimal)
        .column("IOPS", Align::Right)
        .optional_column("MiB/s", Align::Decimal)
        .optional_column("CPU/read", Align::Decimal)
        .optional_column("max", Align::Decimal);
    let columns = [
        whole(cases, "reads"),
        duration(cases, "elapsed", |metric| Some(metric.median())),
        duration(cases, "read_latency", |metric| Some(metric.median())),
        duration(cases, "read_latency", |metric| metric.statistics.p99),
        duration(cases, "read_latency", |metric| metric.statistics.p999),
        whole(cases, "iops"),
        bandwidth(cases),
        duration(cases, "cpu_per_read", |metric| Some(metric.median())),
        duration(cases, "read_latency", |metric| Some(metric.statistics.max)),
    ];
    for (index, case) in cases.iter().enumerate() {
        let parameters = names.iter().map(|name| cell(case, name));
        table.row(parameters.chain(columns.iter().map(|column| column[index].clone())));
    }
    table.render(style)
}

fn zones(cases: &[&Case], style: &Style) -> String {
    let names: Vec<&str> =
        varying(cases).into_iter().filter(|name| !matches!(*name, "zone" | "offset" | "workers")).collect();
    let mut table = Table::new().column("zone", Align::Left);
    for name in &names {
        table = table.column(&heading(name), Align::Left);
    }
    table = table
        .column("reads", Align::Right)
        .optional_column("elapsed", Align::Decimal)
        .column("per read", Align::Decimal)
        .column("p50", Align::Decimal)
        .optional_column("p99", Align::Decimal)
        .column("IOPS", Align::Right)
        .column("× outer", Align::Right);
    let columns = [
        whole(cases, "reads"),
        duration(cases, "elapsed", |metric| Some(metric.median())),
        duration(cases, "read_latency", |metric| Some(metric.statistics.mean)),
        duration(cases, "read_latency", |metric| Some(metric.median())),
        duration(cases, "read_latency", |metric| metric.statistics.p99),
        whole(cases, "iops"),
        cases.iter().map(|case| against_outer(case, cases)).collect(),
    ];
    for (index, case) in cases.iter().enumerate() {
        let first = [zone_label(case)].into_iter().chain(names.iter().map(|name| cell(case, name)));
        table.row(first.chain(columns.iter().map(|column| column[index].clone())));
    }
    table.render(style)
}

fn zone_label(case: &Case) -> String {
    let number = |name: &str| case.parameters.get(name).and_then(serde_json::Value::as_u64);
    let span = number("span").map(|span| bytes(span as f64));
    match (case.parameter("zone").as_deref(), span) {
        (Some("outer"), Some(span)) => format!("outer (first {span})"),
        (Some("inner"), Some(span)) => format!("inner (last {span})"),
        (Some("both"), _) if number("workers").is_none_or(|workers| workers <= 2) => "one worker in each".into(),
        (Some("both"), _) => "half the workers in each".into(),
        (zone, _) => zone.unwrap_or(ABSENT).into(),
    }
}

/// Mean latency as a multiple of that of the first outer case; empty for the outer one itself.
fn against_outer(case: &Case, cases: &[&Case]) -> String {
    let is_outer = |case: &Case| case.parameter("zone").as_deref() == Some("outer");
    let outer = cases.iter().find(|case| is_outer(case)).and_then(|case| mean_nanos(case));
    match (outer, mean_nanos(case)) {
        (Some(outer), Some(mean)) if !is_outer(case) && outer > 0.0 => ratio(mean / outer),
        _ => String::new(),
    }
}

fn mean_nanos(case: &Case) -> Option<f64> {
    let metric = case.metric("read_latency")?;
    Some(metric.statistics.mean * nanos_of(metric.unit)?)
}

fn positions(cases: &[&Case], style: &Style) -> String {
    along(cases, "position", "position", style)
}

fn distances(cases: &[&Case], style: &Style) -> String {
    along(cases, "distance", "distance", style)
}

/// Latency and bandwidth with a bar each, against a parameter.
fn along(cases: &[&Case], parameter: &str, title: &str, style: &Style) -> String {
    let mut table = Table::new()
        .column(title, Align::Right)
        .column("p50", Align::Decimal)
        .column("", Align::Left)
        .optional_column("p99", Align::Decimal)
        .optional_column("MiB/s", Align::Decimal)
        .optional_column(" ", Align::Left);
    let places = places(cases, parameter);
    let medians = duration(cases, "read_latency", |metric| Some(metric.median()));
    let tails = duration(cases, "read_latency", |metric| metric.statistics.p99);
    let latency_bars = bars(cases, "read_latency", style);
    let (rates, rate_bars) = (bandwidth(cases), bars(cases, "bandwidth", style));
    for (index, place) in places.into_iter().enumerate() {
        let cells = [&medians, &latency_bars, &tails, &rates, &rate_bars].map(|column| column[index].clone());
        table.row([place].into_iter().chain(cells));
    }
    table.render(style)
}

/// Places as per cent of the device where all are fractions of it, else as bytes from its beginning.
fn places(cases: &[&Case], parameter: &str) -> Vec<String> {
    let number = |case: &Case| case.parameters.get(parameter).and_then(serde_json::Value::as_f64);
    let are_fractions = cases.iter().all(|case| number(case).is_some_and(|place| (0.0..=1.0).contains(&place)));
    let text = |place: f64| if are_fractions { format!("{:.0} %", place * 100.0) } else { bytes(place) };
    cases.iter().map(|case| number(case).map_or(cell(case, parameter), text)).collect()
}

fn bars(cases: &[&Case], name: &str, style: &Style) -> Vec<String> {
    let value = |metric: &Metric| match metric.unit {
        Unit::MebibytesPerSecond | Unit::PerSecond => metric.statistics.mean,
        _ => metric.median(),
    };
    let values: Vec<f64> = cases.iter().map(|case| case.metric(name).map_or(0.0, value)).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    values.iter().map(|value| bar::linear(*value, largest, BAR_CELLS, style)).collect()
}

/// A time of each case, in one unit where the values allow it.
fn duration(cases: &[&Case], name: &str, value: fn(&Metric) -> Option<f64>) -> Vec<String> {
    let nanos = |metric: &Metric| Some(value(metric)? * nanos_of(metric.unit)?);
    let values: Vec<Option<f64>> = cases.iter().map(|case| case.metric(name).and_then(nanos)).collect();
    time_column(&values)
}

fn whole(cases: &[&Case], name: &str) -> Vec<String> {
    let text = |value: f64| if value >= 100.0 { grouped(value.round() as u64) } else { three_digits(value) };
    cases.iter().map(|case| case.metric(name).map_or(ABSENT.into(), |metric| count_text(metric, text))).collect()
}

/// A count without digits behind the point; a rate may have them, and is a mean: reads over elapsed time.
fn count_text(metric: &Metric, rate: impl Fn(f64) -> String) -> String {
    let mean = metric.statistics.mean;
    if metric.unit == Unit::Count { grouped(metric.median().max(0.0).round() as u64) } else { rate(mean) }
}

fn bandwidth(cases: &[&Case]) -> Vec<String> {
    let text = |metric: &Metric| three_digits(metric.statistics.mean);
    cases.iter().map(|case| case.metric("bandwidth").map_or(ABSENT.into(), text)).collect()
}
