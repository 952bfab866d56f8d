//! What a person would measure by hand: latencies, tiers, blocks a request, the cost of a logical I/O.

use measure::{Metric, Run};

use super::amount::{per, share};
use super::row::{Row, rows};
use super::short_id;
use crate::number::{ABSENT, grouped, three_digits, time, time_column};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Kinds of accesses with the names of tables; what is not here is told elsewhere.
const ACCESSES: [(&str, &str); 9] = [
    ("single-block-read", "single-block reads"),
    ("multi-block-read", "multi-block reads"),
    ("parallel-read", "parallel reads"),
    ("direct-read", "direct reads"),
    ("direct-read-temporary", "direct reads, temporary"),
    ("direct-write", "direct writes"),
    ("direct-write-temporary", "direct writes, temporary"),
    ("buffer-wait", "waits for a buffer"),
    ("grant", "waits for another node's leave"),
];

/// Tiers with the names of tables.
const TIERS: [(&str, &str); 3] =
    [("file-system-cache", "file-system cache"), ("storage-cache", "storage's cache, or flash"), ("disk", "disk")];

/// Statements whose cost of a logical I/O is shown.
const STATEMENTS_MAX: usize = 5;

/// All that the run has of them; empty where it has none.
pub(super) fn tables(run: &Run, style: &Style) -> String {
    crate::join_sections(&[accesses(run, style), tiers(run, style), logical_reads(run, style)])
}

/// One line a kind of access.
fn accesses(run: &Run, style: &Style) -> String {
    let found = ACCESSES.iter().filter_map(|(kind, title)| Some((reading(run, kind)?, *title)));
    let found: Vec<(Row, &str)> = found.filter(|(row, _)| row.metric("latency").is_some()).collect();
    if found.is_empty() {
        return String::new();
    }
    let mut table = Table::new()
        .column("latency of", Align::Left)
        .column("waits", Align::Right)
        .column("median", Align::Decimal)
        .column("mean", Align::Decimal)
        .optional_column("p99", Align::Decimal)
        .optional_column("blocks each", Align::Decimal)
        .optional_column("a block", Align::Decimal)
        .optional_column("p90", Align::Decimal)
        .optional_column("max", Align::Decimal);
    for (row, title) in found {
        let Some(latency) = row.metric("latency") else { continue };
        let statistics = &latency.statistics;
        let shown = |micros: Option<f64>| micros.map_or(ABSENT.into(), of_micros);
        let sizes = row.metric("blocks_per_request").filter(|sizes| sizes.statistics.max > 1.0);
        table.row([
            title.to_string(),
            grouped(statistics.n),
            of_micros(statistics.median),
            of_micros(statistics.mean),
            shown(statistics.p99),
            sizes.map_or(String::new(), |sizes| three_digits(sizes.statistics.mean)),
            if sizes.is_some() { shown(row.value("time_per_block")) } else { String::new() },
            shown(statistics.p90),
            of_micros(statistics.max),
        ]);
    }
    table.render(style)
}

/// A table a kind of reads that several tiers answered; where one answered everything a finding says so.
fn tiers(run: &Run, style: &Style) -> String {
    let of_kind = |(kind, title): &(&str, &str)| {
        let tiers: Vec<Row> = rows(run, "tier").filter(|row| row.text("reading") == *kind).collect();
        (tiers.len() > 1).then(|| tiers_of(&tiers, title, style))
    };
    let mut tables: Vec<String> = ACCESSES.iter().filter_map(of_kind).collect();
    if let Some(last) = tables.last_mut() {
        let note = wrap("Inferred from the hills of their latency: a trace does not say who answered.", style.width, 0);
        *last = format!("{last}\n{}", style.dim(&note));
    }
    crate::join_sections(&tables)
}

fn tiers_of(tiers: &[Row], title: &str, style: &Style) -> String {
    let all_time: f64 = tiers.iter().filter_map(|row| row.value("total")).sum();
    let mut table = Table::new()
        .column(&format!("who answered {title}"), Align::Left)
        .column("reads", Align::Right)
        .column("%", Align::Right)
        .column("% of time", Align::Right)
        .column("typical", Align::Decimal)
        .optional_column("mean", Align::Decimal)
        .optional_column("below", Align::Decimal);
    for tier in tiers {
        let title = TIERS.iter().find(|(name, _)| *name == tier.text("tier")).map_or("", |(_, title)| title);
        let shown = |name: &str| tier.value(name).map_or(String::new(), of_micros);
        table.row([
            title.to_string(),
            grouped(tier.value("calls").unwrap_or(0.0) as u64),
            tier.value("share").map_or(String::new(), |share| format!("{share:.1}")),
            share(tier.value("total").unwrap_or(0.0), all_time),
            shown("mode"),
            shown("mean"),
            shown("below"),
        ]);
    }
    table.render(style)
}

/// The cost of the whole in a sentence, then the statements with most gets.
fn logical_reads(run: &Run, style: &Style) -> String {
    let all = || rows(run, "reading").filter(|row| row.text("reading") == "logical-io");
    let Some(whole) = all().find(|row| row.text("id").is_empty()) else { return String::new() };
    let statements: Vec<Row> = all().filter(|row| !row.text("id").is_empty()).take(STATEMENTS_MAX).collect();
    if statements.len() < 2 {
        return String::new();
    }
    let costs = time_column(&statements.iter().map(|row| row.value("lio").map(|us| us * 1e3)).collect::<Vec<_>>());
    let mut table = Table::new()
        .column("CPU per logical I/O", Align::Left)
        .column("each", Align::Decimal)
        .column("gets", Align::Right)
        .column("rows/get", Align::Decimal);
    let line = |name: String, cost: String, row: &Row| {
        let gets = row.value("gets").unwrap_or(0.0).max(0.0);
        [name, cost, grouped(gets as u64), per(row.value("rows_per_get"), Some(1.0))]
    };
    table.row(line("all statements".into(), whole.value("lio").map_or(ABSENT.into(), of_micros), &whole));
    for (row, cost) in statements.iter().zip(costs) {
        table.row(line(short_id(row.text("id")), cost, row));
    }
    let spread = whole.metric("lio_of_statements").map_or(String::new(), spread);
    crate::join_sections(&[[table.render(style), wrap(&spread, style.width, 0)].join("\n")])
}

/// How far the costs of statements lie apart.
fn spread(metric: &Metric) -> String {
    let statistics = &metric.statistics;
    format!(
        "Over {} statements with enough CPU and gets: {} to {}, median {}.",
        grouped(statistics.n),
        of_micros(statistics.min),
        of_micros(statistics.max),
        of_micros(statistics.median)
    )
}

fn reading<'a>(run: &'a Run, kind: &str) -> Option<Row<'a>> {
    rows(run, "reading").find(|row| row.text("reading") == kind)
}

fn of_micros(micros: f64) -> String {
    if micros > 0.0 { time(micros * 1e3) } else { "0".into() }
}
