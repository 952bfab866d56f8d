//! One question by six access paths: what a row costs by each, a chart of it, and the published figures beside.

mod processor;
mod server;

use measure::{Case, Metric, Run};

use crate::bar;
use crate::number::{ABSENT, bytes, grouped, nanos_of, three_digits};
use crate::parameters::cell;
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::{width, wrap};

/// Longest bar in columns, and the shortest that is worth drawing.
const BAR_CELLS_MAX: usize = 24;
const BAR_CELLS_MIN: usize = 6;

/// Heading of the chart.
const SCALE: &str = "log scale";

/// A path in the document.
struct Published {
    path: &'static str,
    label: &'static str,
    cpu: &'static str,
    gets: &'static str,
    /// CPU time over rows, in ns.
    row_time: &'static str,
    instructions: &'static str,
    cycles: &'static str,
    ipc: &'static str,
}

const fn published(path: &'static str, label: &'static str) -> Published {
    Published { path, label, cpu: "", gets: "", row_time: "", instructions: "", cycles: "", ipc: "" }
}

/// Source 003: Oracle 12.1 on a Xeon X5670 at 2.93 GHz, 69 642 625 rows in 1 613 824 blocks, COUNT(cust_valid).
const PUBLISHED: [Published; 6] = [
    Published {
        cpu: "about 120",
        gets: "> 60 M",
        row_time: "1723",
        instructions: "> 1000",
        ..published("index-bad-clustering", "index, bad clustering")
    },
    Published { cpu: "about 40", row_time: "574", ..published("index-good-clustering", "index, good clustering") },
    Published {
        cpu: "27.4",
        gets: "1.6 M",
        row_time: "393",
        instructions: "461",
        cycles: "1241",
        ipc: "0.37",
        ..published("full-scan", "full scan")
    },
    Published { gets: "< 1.6 M", ipc: "> 1", ..published("full-scan-compressed", "full scan, compressed") },
    Published { gets: "1.6 M", instructions: "102", ipc: "> 1", ..published("column-scan", "in memory, predicate") },
    Published { gets: "1.6 M", instructions: "43", ipc: "> 1", ..published("column-count", "in memory, no predicate") },
];

/// The paths with their chart, what the processor did, and the published figures.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let all: Vec<&Case> = run.cases.iter().collect();
    // A server's cases stand beside the engine's first, and what only one of the two has follows.
    let cases: Vec<&Case> = all.iter().copied().filter(|case| !server::is_on_server(case)).collect();
    let mut sections = server::sections(&all, style);
    if cases.is_empty() {
        return crate::join_sections(&sections);
    }
    let cells = bar_cells(&paths(&cases, 0, style), style);
    sections.push(paths(&cases, cells, style).render(style));
    sections.extend(processor::sections(&cases, style));
    sections.extend([indexes(&cases, style), sizes(&cases, style), beside(&cases, style)]);
    crate::join_sections(&sections)
}

/// Columns that are left for bars beside the rest of a table; 0 where they would be too short to tell anything.
fn bar_cells(rest: &Table, style: &Style) -> usize {
    let left = style.width.saturating_sub(rest.width_rendered() + 2).min(BAR_CELLS_MAX);
    if left < BAR_CELLS_MIN.max(width(SCALE)) { 0 } else { left }
}

/// A bar among others, on a logarithmic scale from the smallest of them to the largest.
fn log_bar(value: f64, others: &[f64], cells: usize, style: &Style) -> String {
    let positive = || others.iter().copied().filter(|value| *value > 0.0);
    let (smallest, largest) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    bar::logarithmic(value, smallest, largest, cells, style)
}

fn is_counted(cases: &[&Case]) -> bool {
    cases.iter().any(|case| case.metric("instructions_per_row").is_some())
}

fn paths(cases: &[&Case], cells: usize, style: &Style) -> Table {
    let is_counted = is_counted(cases);
    let mut table = Table::new()
        .column("path", Align::Left)
        .column("gets", Align::Right)
        .column("ns/row", Align::Decimal)
        .optional_column("cycles/row", Align::Decimal)
        .optional_column("ns/get", Align::Decimal);
    if cells > 0 {
        table = table.column(SCALE, Align::Left);
    }
    let costs: Vec<f64> = cases.iter().filter_map(|case| nanos(case, "row_time")).collect();
    for case in cases {
        let cost = nanos(case, "row_time");
        let figures = [
            count(case, "gets"),
            cost.map_or(ABSENT.into(), three_digits),
            // With instructions they stand in a table of their own, where they may be another kernel's.
            number(median(case, "cycles_per_row").filter(|_| !is_counted)),
            number(nanos(case, "get_time")),
        ];
        let bar = (cells > 0).then(|| cost.map_or(String::new(), |cost| log_bar(cost, &costs, cells, style)));
        table.row([label(case)].into_iter().chain(figures).chain(bar));
    }
    table
}

/// How the indexes lie to the rows, and how often their scans came to a block.
fn indexes(cases: &[&Case], style: &Style) -> String {
    let mut table = Table::new()
        .column("index", Align::Left)
        .column("clustering factor", Align::Right)
        .column("leaves", Align::Right)
        .column("visits/block", Align::Decimal)
        .optional_column("pinned revisits", Align::Right);
    let indexes: Vec<&&Case> = cases.iter().filter(|case| case.metric("clustering_factor").is_some()).collect();
    for case in &indexes {
        table.row([
            label(case).trim_start_matches("index, ").into(),
            count(case, "clustering_factor"),
            count(case, "leaf_blocks"),
            number(median(case, "visits_per_block")),
            count(case, "pinned_revisits"),
        ]);
    }
    if indexes.is_empty() { String::new() } else { table.render(style) }
}

/// What the scans went through, how small it is, and how fast it went beside a read in sequence.
fn sizes(cases: &[&Case], style: &Style) -> String {
    let mut table = Table::new()
        .column("what was read", Align::Left)
        .column("blocks", Align::Right)
        .optional_column("bytes read", Align::Right)
        .optional_column("GB/s", Align::Decimal)
        .optional_column("% of sequential", Align::Decimal)
        .optional_column("× smaller", Align::Decimal);
    let scans: Vec<&&Case> = cases.iter().filter(|case| case.metric("clustering_factor").is_none()).collect();
    for case in &scans {
        let rate = median(case, "bandwidth").map(|mebibytes| mebibytes * f64::from(1 << 20) / 1e9);
        table.row([
            label(case),
            count(case, "blocks"),
            median(case, "bytes_touched").map_or(String::new(), bytes),
            number(rate),
            number(median(case, "bandwidth_share")),
            number(median(case, "compression_ratio")),
        ]);
    }
    if scans.is_empty() { String::new() } else { table.render(style) }
}

/// The document's figures, for the paths that are here.
fn beside(cases: &[&Case], style: &Style) -> String {
    let mut table = Table::new()
        .column("published", Align::Left)
        .column("CPU s", Align::Right)
        .column("gets", Align::Right)
        .column("ns/row", Align::Right)
        .optional_column("instr/row", Align::Right)
        .optional_column("cycles/row", Align::Right)
        .optional_column("IPC", Align::Right);
    let is_here = |row: &&Published| cases.iter().any(|case| cell(case, "path") == row.path);
    let rows: Vec<&Published> = PUBLISHED.iter().filter(is_here).collect();
    let is_counted = is_counted(cases);
    for row in &rows {
        // Where there are counts, these stand beside them.
        let counts = [row.instructions, row.cycles, row.ipc].map(|count| if is_counted { "" } else { count });
        table.row([row.label, row.cpu, row.gets, row.row_time].into_iter().chain(counts).map(String::from));
    }
    let title = "The document's, on Oracle 12.1 and a Xeon X5670 at 2.93 GHz, 69 642 625 rows in 1 613 824 blocks:";
    if rows.is_empty() { String::new() } else { wrap(title, style.width, 2) + "\n" + &table.render(style) }
}

/// The document's figures of the case's path.
fn published_of(case: &Case) -> Option<&'static Published> {
    let path = cell(case, "path");
    PUBLISHED.iter().find(|row| row.path == path)
}

/// The path in words, with its threads where there are several; an unknown path stands as it is written.
fn label(case: &Case) -> String {
    let path = cell(case, "path");
    // A scan that read no code is another thing than one that did, and has another name.
    let is_unread = path == "column-scan" && median(case, "units_read") == Some(0.0);
    let label = match published_of(case) {
        Some(_) if is_unread => "in memory, zone maps".into(),
        known => known.map_or(path, |row| row.label.into()),
    };
    match cell(case, "threads").as_str() {
        "1" => label,
        threads => format!("{label}, {threads} threads"),
    }
}

fn median(case: &Case, name: &str) -> Option<f64> {
    case.metric(name).map(Metric::median)
}

fn nanos(case: &Case, name: &str) -> Option<f64> {
    let metric = case.metric(name)?;
    Some(metric.median() * nanos_of(metric.unit)?)
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), three_digits)
}

fn count(case: &Case, name: &str) -> String {
    median(case, name).map_or(String::new(), |value| grouped(value.max(0.0).round() as u64))
}
