//! The way to the storage: which tier answered each pass and how long it took, beside the published figures.

use measure::{Case, Metric, Run};

use crate::number::{ABSENT, grouped, nanos_of, time_column};
use crate::parameters::{cell, heading, varying};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// The figures that started the question; source 004 of the method's page.
const PUBLISHED: &str = "Published for one block: 1410 µs over a troubled NFS; 40 µs where the file system cache \
                         of the host really answered; 478 µs at best over a SAN with direct I/O.";

/// The table of passes with the published figures under it.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let cases: Vec<&Case> = run.cases.iter().collect();
    crate::join_sections(&[passes(&cases, style), wrap(PUBLISHED, style.width, 2)])
}

fn passes(cases: &[&Case], style: &Style) -> String {
    let known = ["pass", "blocks_per_read", "tier"];
    let others: Vec<&str> = varying(cases).into_iter().filter(|name| !known.contains(name)).collect();
    let mut table = Table::new().column("pass", Align::Left);
    for name in &others {
        table = table.column(&heading(name), Align::Left);
    }
    table = table
        .column("a read", Align::Right)
        .column("answered by", Align::Left)
        .optional_column("reads", Align::Right)
        .column("per read", Align::Decimal)
        .optional_column("p90", Align::Decimal)
        .optional_column("p99", Align::Decimal)
        .optional_column("min", Align::Decimal);
    let columns = [
        latency(cases, |metric| Some(metric.median())),
        latency(cases, |metric| metric.statistics.p90),
        latency(cases, |metric| metric.statistics.p99),
        latency(cases, |metric| Some(metric.statistics.min)),
    ];
    for (index, case) in cases.iter().enumerate() {
        // On a server a sample is the mean of a statement's reads, which are counted apart.
        let counted = case.metric("blocks_read").map(|metric| metric.statistics.mean * metric.statistics.n as f64);
        let samples = case.metric("read_latency").map(|metric| metric.statistics.n);
        let reads = counted.map(|reads| reads.round() as u64).or(samples).map_or(ABSENT.into(), grouped);
        let tier = case.parameter("tier").unwrap_or_else(|| "not known".into());
        let first =
            [cell(case, "pass").replace('-', " ")].into_iter().chain(others.iter().map(|name| cell(case, name)));
        let rest = [cell(case, "blocks_per_read"), tier.replace('-', " "), reads].into_iter();
        table.row(first.chain(rest).chain(columns.iter().map(|column| column[index].clone())));
    }
    table.render(style)
}

fn latency(cases: &[&Case], value: fn(&Metric) -> Option<f64>) -> Vec<String> {
    let nanos = |metric: &Metric| Some(value(metric)? * nanos_of(metric.unit)?);
    let values: Vec<Option<f64>> = cases.iter().map(|case| case.metric("read_latency").and_then(nanos)).collect();
    time_column(&values)
}
