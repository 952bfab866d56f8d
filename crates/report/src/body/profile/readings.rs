//! What a person would measure by hand: latencies, tiers, blocks a request, the cost of a logical I/O.

use measure::{Metric, Run, Unit};

use super::amount::{count, of_micros, per, percent, share};
use super::row::{Row, rows};
use crate::page::number::{grouped, range_in_words};
use crate::page::{Align, Cell, Table};

/// Kinds of accesses with the names of tables; other kinds are shown elsewhere.
pub(super) const ACCESSES: [(&str, &str); 9] = [
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

/// How the kinds of accesses begin that pass the buffer cache by.
const DIRECT: &str = "direct-";

/// Tiers with the names of tables.
pub(super) const TIERS: [(&str, &str); 3] =
    [("file-system-cache", "page cache"), ("storage-cache", "storage's cache, or flash"), ("disk", "disk")];

/// Statements whose cost of a logical I/O is shown.
const STATEMENTS_MAX: usize = 5;

/// All that the run has of them.
pub(super) fn tables(run: &Run) -> Vec<Table> {
    let buffered = accesses(run, "latency of", |kind| !kind.starts_with(DIRECT));
    let direct = accesses(run, "waits for direct I/O", |kind| kind.starts_with(DIRECT)).map(|table| Table {
        note: Some("Direct I/O is asynchronous: such a wait is neither a request nor its time.".into()),
        ..table
    });
    buffered.into_iter().chain(direct).chain(tiers(run)).chain(logical_reads(run)).collect()
}

/// Whether a table shows the tiers that served reads of this kind.
pub(super) fn has_tiers(run: &Run, kind: &str) -> bool {
    ACCESSES.iter().any(|(known, _)| *known == kind) && tier_rows(run, kind).len() > 1
}

fn tier_rows<'a>(run: &'a Run, kind: &str) -> Vec<Row<'a>> {
    rows(run, "tier").filter(|row| row.text("reading") == kind).collect()
}

/// One line a kind of access.
fn accesses(run: &Run, heading: &str, is_shown: fn(&str) -> bool) -> Option<Table> {
    let found = |(kind, title): &(&str, &'static str)| {
        let row = rows(run, "reading").find(|row| row.text("reading") == *kind)?;
        Some((row, *title, row.metric("latency")?))
    };
    let found: Vec<(Row, &str, &Metric)> =
        ACCESSES.iter().filter(|(kind, _)| is_shown(kind)).filter_map(found).collect();
    let sizes = |row: &Row| Some(row.metric("blocks_per_request")?.statistics).filter(|sizes| sizes.max > 1.0);
    let shown = |micros: Option<f64>| Cell::or_absent(micros.map(of_micros));
    Table::over(&found)
        .column(heading, Align::Left, |(_, title, _)| *title)
        .column("waits", Align::Right, |(_, _, latency)| Cell::count(latency.statistics.n as f64))
        .column("median", Align::Decimal, |(_, _, latency)| of_micros(latency.median()).with_spread(latency))
        .column("mean", Align::Decimal, |(_, _, latency)| of_micros(latency.statistics.mean))
        .optional("p90", Align::Decimal, |(_, _, latency)| shown(latency.statistics.p90))
        .optional("p99", Align::Decimal, |(_, _, latency)| shown(latency.statistics.p99))
        .optional("blocks each", Align::Decimal, |(row, ..)| {
            sizes(row).map(|sizes| Cell::digits(sizes.mean, Unit::Count))
        })
        .optional("a block", Align::Decimal, |(row, ..)| sizes(row).map(|_| shown(row.value("time_per_block"))))
        .optional("max", Align::Decimal, |(_, _, latency)| of_micros(latency.statistics.max))
        .unless_empty()
}

/// A table for each kind of reads that several tiers served; if one tier served all of them, a finding says so.
fn tiers(run: &Run) -> Vec<Table> {
    let of_kind = |(kind, title): &(&str, &str)| {
        let tiers = tier_rows(run, kind);
        (tiers.len() > 1).then(|| tiers_of(&tiers, title))
    };
    let mut tables: Vec<Table> = ACCESSES.iter().filter_map(of_kind).collect();
    if let Some(last) = tables.last_mut() {
        let note = "Inferred from the peaks of their latency distribution: a trace does not name the tier.";
        last.note = Some(note.into());
    }
    tables
}

fn tiers_of(tiers: &[Row], title: &str) -> Table {
    let all_time: f64 = tiers.iter().filter_map(|row| row.value("total")).sum();
    let name = |tier: &Row| TIERS.iter().find(|(name, _)| *name == tier.text("tier")).map_or("", |(_, title)| title);
    Table::over(tiers)
        .column(format!("tiers of {title}"), Align::Left, name)
        .column("reads", Align::Right, |tier| count(tier.value("calls").unwrap_or(0.0)))
        .column("%", Align::Right, |tier| tier.value("share").map(percent))
        .column("% of time", Align::Right, |tier| share(tier.total(), all_time))
        .column("typical", Align::Decimal, |tier| tier.value("mode").map(of_micros))
        .optional("mean", Align::Decimal, |tier| tier.value("mean").map(of_micros))
        .optional("below", Align::Decimal, |tier| tier.value("below").map(of_micros))
        .done()
}

/// The cost of the whole, then that of the statements with most gets.
fn logical_reads(run: &Run) -> Option<Table> {
    let all = || rows(run, "reading").filter(|row| row.text("reading") == "logical-io");
    let whole = all().find(|row| row.text("id").is_empty())?;
    let statements: Vec<Row> = all().filter(|row| !row.text("id").is_empty()).take(STATEMENTS_MAX).collect();
    let lines: Vec<Row> = std::iter::once(whole).chain(statements.iter().copied()).collect();
    let name = |row: &Row| if row.text("id").is_empty() { "all statements".into() } else { row.text("id").to_string() };
    let table = Table::over(&lines)
        .column("CPU per logical I/O", Align::Left, name)
        .times("each", |row| row.value("lio").map(|us| us * 1e3))
        .column("gets", Align::Right, |row| count(row.value("gets").unwrap_or(0.0).max(0.0)))
        .column("rows/get", Align::Decimal, |row| per(row.value("rows_per_get"), Some(1.0)))
        .noted(whole.metric("lio_of_statements").map_or(String::new(), spread));
    (statements.len() > 1).then(|| table.done())
}

/// How far the costs of statements lie apart.
fn spread(metric: &Metric) -> String {
    let statistics = &metric.statistics;
    format!(
        "Over {} statements with enough CPU and gets: {}, median {}.",
        grouped(statistics.n),
        range_in_words(&of_micros(statistics.min).text, &of_micros(statistics.max).text),
        of_micros(statistics.median).text
    )
}
