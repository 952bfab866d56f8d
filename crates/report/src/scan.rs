//! One question by six access paths: what a row costs by each, a chart of it, and the published figures beside.

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
    instructions: &'static str,
    cycles: &'static str,
    ipc: &'static str,
}

const fn published(path: &'static str, label: &'static str) -> Published {
    Published { path, label, cpu: "", gets: "", instructions: "", cycles: "", ipc: "" }
}

/// Source 003: Oracle 12.1 on a Xeon X5670 at 2.93 GHz, 69 642 625 rows in 1 613 824 blocks, COUNT(cust_valid).
const PUBLISHED: [Published; 6] = [
    Published {
        cpu: "about 120",
        gets: "> 60 M",
        instructions: "thousands",
        ..published("index-bad-clustering", "index, bad clustering")
    },
    Published { cpu: "about 40", ..published("index-good-clustering", "index, good clustering") },
    Published {
        cpu: "27.4",
        gets: "1.6 M",
        instructions: "461",
        cycles: "1241",
        ipc: "0.37",
        ..published("full-scan", "full scan")
    },
    Published { gets: "< 1.6 M", ipc: "> 1", ..published("full-scan-compressed", "full scan, compressed") },
    Published { gets: "1.6 M", instructions: "102", ipc: "> 1", ..published("column-scan", "in memory, predicate") },
    Published { gets: "1.6 M", instructions: "43", ipc: "> 1", ..published("column-count", "in memory, no predicate") },
];

/// The paths with their chart, and the published figures.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let cells = bar_cells(&cases, style);
    let sections = [
        paths(&cases, cells, style).render(style),
        indexes(&cases, style),
        sizes(&cases, style),
        beside(&cases, style),
    ];
    crate::join_sections(&sections)
}

/// Columns that are left for bars beside the rest of the table; 0 where they would be too short to tell anything.
fn bar_cells(cases: &[&Case], style: &Style) -> usize {
    let rest = paths(cases, 0, style).render(&Style { width: usize::MAX, unicode: true, color: false });
    let used = rest.lines().next().map_or(0, width) + 2;
    let left = style.width.saturating_sub(used).min(BAR_CELLS_MAX);
    if left < BAR_CELLS_MIN.max(width(SCALE)) { 0 } else { left }
}

fn paths(cases: &[&Case], cells: usize, style: &Style) -> Table {
    let mut table = Table::new()
        .column("path", Align::Left)
        .column("gets", Align::Right)
        .column("ns/row", Align::Decimal)
        .optional_column("instr/row", Align::Decimal)
        .optional_column("cycles/row", Align::Decimal)
        .optional_column("IPC", Align::Decimal)
        .optional_column("ns/get", Align::Decimal);
    if cells > 0 {
        table = table.column(SCALE, Align::Left);
    }
    let costs = || cases.iter().filter_map(|case| nanos(case, "row_time")).filter(|nanos| *nanos > 0.0);
    let (smallest, largest) = (costs().fold(f64::INFINITY, f64::min), costs().fold(0.0, f64::max));
    for case in cases {
        let cost = nanos(case, "row_time");
        let figures = [
            count(case, "gets"),
            cost.map_or(ABSENT.into(), three_digits),
            number(median(case, "instructions_per_row")),
            number(median(case, "cycles_per_row")),
            number(median(case, "ipc")),
            number(nanos(case, "get_time")),
            cost.map_or(String::new(), |cost| bar::logarithmic(cost, smallest, largest, cells, style)),
        ];
        let shown = if cells > 0 { figures.len() } else { figures.len() - 1 };
        table.row([label(case)].into_iter().chain(figures.into_iter().take(shown)));
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
        .optional_column("× smaller", Align::Decimal)
        .optional_column("bytes read", Align::Right)
        .optional_column("GB/s", Align::Decimal)
        .optional_column("% of sequential", Align::Decimal);
    let scans: Vec<&&Case> = cases.iter().filter(|case| case.metric("clustering_factor").is_none()).collect();
    for case in &scans {
        let rate = median(case, "bandwidth").map(|mebibytes| mebibytes * f64::from(1 << 20) / 1e9);
        table.row([
            label(case),
            count(case, "blocks"),
            number(median(case, "compression_ratio")),
            median(case, "bytes_touched").map_or(String::new(), bytes),
            number(rate),
            number(median(case, "bandwidth_share")),
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
        .column("instr/row", Align::Right)
        .column("cycles/row", Align::Right)
        .column("IPC", Align::Right);
    let is_here = |row: &&Published| cases.iter().any(|case| cell(case, "path") == row.path);
    let rows: Vec<&Published> = PUBLISHED.iter().filter(is_here).collect();
    for row in &rows {
        table.row([row.label, row.cpu, row.gets, row.instructions, row.cycles, row.ipc].map(String::from));
    }
    let title = "The document's, on Oracle 12.1 and a Xeon X5670 at 2.93 GHz, 69 642 625 rows in 1 613 824 blocks:";
    if rows.is_empty() { String::new() } else { wrap(title, style.width, 2) + "\n" + &table.render(style) }
}

/// The path in words, with its threads where there are several; an unknown path stands as it is written.
fn label(case: &Case) -> String {
    let path = cell(case, "path");
    let known = PUBLISHED.iter().find(|row| row.path == path);
    let label = known.map_or(path, |row| row.label.into());
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
