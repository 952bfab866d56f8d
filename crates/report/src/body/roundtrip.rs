//! The round trip to the storage: which tier served each pass and how long it took, next to the published figures.

pub(super) mod chart;

use measure::schema::roundtrip::{self, parameters};
use measure::schema::{Published, reads};
use measure::{Case, Metric, Run};
use serde_json::Value;

use crate::page::number::grouped;
use crate::page::parameters::{cell, heading, varying};
use crate::page::{Align, Cell, Section, Table};

/// Parameters that have columns of their own.
const KNOWN: [&str; 3] = [parameters::PASS.name, parameters::BLOCKS_PER_READ.name, parameters::TIER.name];

/// The table of passes, with the published figures under it where its blocks compare with theirs.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let beside = cases.iter().any(|case| is_comparable(case)).then(|| Section::Text(published()));
    [Section::Table(passes(&cases))].into_iter().chain(beside).collect()
}

/// Whether the published figures can be of such blocks. On a server, the size is no parameter: it is the server's.
fn is_comparable(case: &Case) -> bool {
    let size = case.value(parameters::BLOCK_SIZE.name).and_then(Value::as_u64);
    size.is_none_or(|size| roundtrip::PUBLISHED_BLOCK.contains(&size))
}

/// The figures that started the question.
fn published() -> String {
    let micros = |published: Published| grouped(published.value.round() as u64);
    format!(
        "Published for a read of several blocks: {} µs over a troubled NFS; {} µs from the host's file system cache; \
         {} µs at best over a SAN with direct I/O.",
        micros(roundtrip::NFS),
        micros(roundtrip::PAGE_CACHE),
        micros(roundtrip::SAN)
    )
}

fn passes(cases: &[&Case]) -> Table {
    let others: Vec<&str> = varying(cases).into_iter().filter(|name| !KNOWN.contains(name)).collect();
    let has_latency = cases.iter().any(|case| reads::READ_LATENCY.in_case(case).is_some());
    let has_bound = cases.iter().any(|case| bound(case).is_some());
    Table::over(cases)
        .column("pass", Align::Left, |case| cell(case, parameters::PASS.name).replace('-', " "))
        .each(&others, |table, name| table.column(heading(name), Align::Left, |case| cell(case, name)))
        .column("a read", Align::Right, |case| cell(case, parameters::BLOCKS_PER_READ.name))
        .optional("served by", Align::Left, |case| {
            parameters::TIER.in_case(case).unwrap_or_else(|| "not known".into()).replace('-', " ")
        })
        .optional("reads", Align::Right, |case| Cell::or_absent(counted(case).map(Cell::count)))
        // The time that a run was made for never falls away on a narrow screen.
        .times("per read", |case| latency(case, |metric| Some(metric.median())))
        .only_where(has_latency)
        .times("at most", |case| bound(case))
        .only_where(has_bound)
        .optional_times("p90", |case| latency(case, |metric| metric.statistics.p90))
        .optional_times("p99", |case| latency(case, |metric| metric.statistics.p99))
        .optional_times("min", |case| latency(case, |metric| Some(metric.statistics.min)))
        .done()
}

/// The upper bound, where the latency itself is not known.
fn bound(case: &Case) -> Option<f64> {
    let is_known = reads::READ_LATENCY.in_case(case).is_some();
    roundtrip::READ_LATENCY_AT_MOST.nanos(case).filter(|_| !is_known)
}

/// On a server a sample is the mean of a statement's reads, which are counted apart.
fn counted(case: &Case) -> Option<f64> {
    let on_server = roundtrip::BLOCKS_READ.in_case(case).map(|metric| metric.statistics);
    let on_server = on_server.map(|statistics| statistics.mean * statistics.n as f64);
    on_server.or_else(|| reads::READ_LATENCY.in_case(case).map(|metric| metric.statistics.n as f64))
}

fn latency(case: &Case, value: fn(&Metric) -> Option<f64>) -> Option<f64> {
    reads::READ_LATENCY.in_case(case)?.nanos_of(value)
}
