//! Which tier answered the reads of a server: all of them, by latency, by statement and by relation, and what leans on
//! the page cache.

use measure::Run;
use measure::sorting;
use serde_json::Value;

use super::amount::{count, of_micros, percent, scale, share, with_left_out};
use super::row::{Row, rows};
use crate::page::number;
use crate::page::wording::joined;
use crate::page::{Align, Cell, Table};

/// Most lines of the tables.
const LINES_MAX: usize = 10;

/// Tiers with their names on the page, and as parts of the names of metrics.
pub(super) const TIERS: [(&str, &str, &str); 4] = [
    ("page-cache", "page cache", "page_cache"),
    ("device", "device", "device"),
    ("in-flight", "in flight for another", "in_flight"),
    ("not-seen-whole", "not seen whole", "not_seen_whole"),
];

/// All that the run has of them.
pub(super) fn tables(run: &Run) -> Vec<Table> {
    let found = [whole(run), latencies(run), statements(run), waits(run), relations(run)];
    found.into_iter().flatten().collect()
}

/// One line a tier.
fn whole(run: &Run) -> Option<Table> {
    let all: Vec<Row> = rows(run, "read_tier").collect();
    let time: f64 = all.iter().map(Row::total).sum();
    let scale = scale(time);
    let name = |row: &Row| TIERS.iter().find(|(tier, ..)| *tier == row.text("tier")).map_or("", |(_, name, _)| name);
    let of_latency = |row: &Row, of: fn(&measure::Statistics) -> Option<f64>| {
        row.metric("latency").and_then(|latency| of(&latency.statistics)).map(of_micros)
    };
    Table::over(&all)
        .column("tier that answered reads", Align::Left, name)
        .column("reads", Align::Right, |row| row.value("calls").map(count))
        .column("%", Align::Right, |row| row.value("share").map(percent))
        .column(scale.heading, Align::Right, |row| scale.cell(row.total()))
        .column("% of time", Align::Right, |row| share(row.total(), time))
        .column("mean", Align::Decimal, |row| of_latency(row, |statistics| Some(statistics.mean)))
        .optional("queue", Align::Right, |row| row.value("queue").map(|queue| scale.cell(queue)))
        .optional("service", Align::Right, |row| row.value("service").map(|service| scale.cell(service)))
        .optional("p99", Align::Decimal, |row| of_latency(row, |statistics| statistics.p99))
        .column("blocks", Align::Right, |row| row.value("blocks").map(count))
        .noted(ahead(run))
        .unless_empty()
}

/// What was read ahead, beside the reads.
fn ahead(run: &Run) -> String {
    let sum = |purpose: &str| {
        let of_purpose = rows(run, "read_request").filter(|row| row.text("purpose") == purpose);
        of_purpose.filter_map(|row| row.value("bytes")).sum::<f64>()
    };
    let (ahead, prefetched) = (sum("read-ahead"), sum("prefetch"));
    let said = |bytes: f64, what: &str| (bytes > 0.0).then(|| format!("{} {what}", number::bytes(bytes)));
    let parts = [said(ahead, "were read ahead by the kernel"), said(prefetched, "were prefetched on request")];
    let parts = joined(parts.into_iter().flatten(), " and ");
    if parts.is_empty() { parts } else { format!("Beside these reads, {parts}.") }
}

/// Latency in powers of two, by tier; its parts of all reads and of their time.
fn latencies(run: &Run) -> Option<Table> {
    let all: Vec<Row> = rows(run, "read_latency").collect();
    let edge = |row: &Row| row.number("from_us").unwrap_or(0.0);
    let mut edges: Vec<f64> = all.iter().map(edge).collect();
    sorting::by(&mut edges, f64::total_cmp);
    edges.dedup();
    let (calls, time): (f64, f64) =
        (all.iter().filter_map(|row| row.value("calls")).sum(), all.iter().map(Row::total).sum());
    let here = |at: f64, tier: &str| {
        let of_tier = all.iter().find(|row| edge(row) == at && row.text("tier") == tier);
        of_tier.and_then(|row| row.value("calls"))
    };
    let sum = |at: f64, of: &str| all.iter().filter(|row| edge(row) == at).filter_map(|row| row.value(of)).sum::<f64>();
    Table::over(&edges)
        .column("latency of reads from", Align::Decimal, |at| number::time(at * 1e3))
        .each(TIERS, |table, (tier, name, _)| table.optional(name, Align::Right, |at| here(*at, tier).map(count)))
        .column("% of reads", Align::Right, |at| share(sum(*at, "calls"), calls))
        .column("% of time", Align::Right, |at| share(sum(*at, "total"), time))
        .unless_empty()
}

/// The rows that a table shows, and how many more there are.
fn first_lines<'a>(rows: impl Iterator<Item = Row<'a>>) -> (Vec<Row<'a>>, usize) {
    let mut all: Vec<Row> = rows.collect();
    let left_out = all.len().saturating_sub(LINES_MAX);
    all.truncate(LINES_MAX);
    (all, left_out)
}

/// Whose reads they were.
fn statements(run: &Run) -> Option<Table> {
    let (all, left_out) = first_lines(rows(run, "read_statement"));
    let name = |row: &Row| match row.text("reader") {
        "statement" => row.text("id").to_string(),
        "process" => format!("({})", row.text("process")),
        "unmet" => "(no sample found it)".into(),
        _ => "(others)".into(),
    };
    let estimated: f64 = all.iter().filter_map(|row| row.value("estimated_reads")).sum();
    let note = if estimated > 0.0 {
        format!(
            "{} of these reads are charged by an estimate: I/O workers did them while a session waited, or no sample \
             found them, and the one before showed the statement at work.",
            number::grouped(estimated as u64)
        )
    } else {
        String::new()
    };
    by_tier(run, &all, "reads of statement", name, with_left_out(&note, left_out))
}

/// Within which waits they were, of a profile that saw every wait.
fn waits(run: &Run) -> Option<Table> {
    let (all, left_out) = first_lines(rows(run, "read_wait"));
    let name = |row: &Row| match row.text("event") {
        "" => "(no wait)".to_string(),
        event => event.to_string(),
    };
    by_tier(run, &all, "reads within waits for", name, with_left_out("", left_out))
}

/// Of what they were.
fn relations(run: &Run) -> Option<Table> {
    let (all, left_out) = first_lines(rows(run, "read_relation"));
    by_tier(run, &all, "reads of relation", |row| row.text("object").to_string(), with_left_out("", left_out))
}

/// Reads with the tiers that answered them, and what the page cache saves.
fn by_tier(run: &Run, all: &[Row], heading: &str, name: impl Fn(&Row) -> String, note: String) -> Option<Table> {
    let times = scale(all.iter().map(Row::total).sum());
    let more = |row: &Row| row.value("more_from_device").filter(|more| *more > 0.0);
    let mores = scale(all.iter().filter_map(more).sum());
    let unit = if mores.heading == "seconds" { "s" } else { mores.heading };
    let block_bytes = run.subject.get("block_bytes").and_then(Value::as_f64);
    let known = |row: &Row| row.value("calls").unwrap_or(0.0) - row.value("not_seen_whole_reads").unwrap_or(0.0);
    let part = |row: &Row, tier: &str| {
        let reads = row.value(&format!("{tier}_reads"))?;
        share(reads, known(row))
    };
    Table::over(all)
        .column(heading, Align::Left, name)
        .column("reads", Align::Right, |row| row.value("calls").map(count))
        .column(times.heading, Align::Right, |row| times.cell(row.total()))
        .optional("cache %", Align::Right, |row| part(row, "page_cache"))
        .optional("device %", Align::Right, |row| part(row, "device"))
        .optional("in flight %", Align::Right, |row| part(row, "in_flight"))
        .optional(format!("uncached +{unit}"), Align::Right, |row| more(row).map(|more| mores.cell(more)))
        .optional("to hold instead", Align::Right, |row| {
            Some(Cell::bytes(row.value("distinct_blocks")? * block_bytes?))
        })
        .optional("queue", Align::Right, |row| row.value("queue").map(|time| times.cell(time)))
        .optional("service", Align::Right, |row| row.value("service").map(|time| times.cell(time)))
        .noted(note)
        .unless_empty()
}
