//! One question by several access paths: what a row costs by each, with a chart of it and the published figures.

pub(super) mod chart;
mod label;
mod processor;

use measure::schema::{Spec, scan};
use measure::{Case, Run, Unit};
use serde_json::Value;

use super::subjects::{self, comparison, subject};
use crate::page::number::grouped;
use crate::page::table::Scale;
use crate::page::{Align, Cell, Section, Table};
use label::{is_unread, label, published, published_beside};

/// Titles of the cost of a row on several subjects: where every block was cached, and where some were read.
const ALL_IN_MEMORY: &str = "Nanoseconds of CPU for a row, everything in memory:";
const READS_INCLUDED: &str = "Nanoseconds of CPU for a row, including reads of blocks that were not cached (a warning \
                              names each such case):";

/// The subjects side by side, the paths with their chart, what the processor did, and the published figures.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let mut tables = if subjects::are_named(&cases) { side_by_side(run, &cases) } else { Vec::new() };
    tables.push(paths(&cases));
    tables.extend(processor::tables(&cases));
    tables.extend([indexes(&cases), sizes(&cases), encodings(run), published_table(&cases)].into_iter().flatten());
    tables.into_iter().map(Section::Table).collect()
}

fn is_counted(cases: &[&Case]) -> bool {
    cases.iter().any(|case| scan::PER_ROW.of("instructions").in_case(case).is_some())
}

/// What a row and a pass cost on each subject.
fn side_by_side(run: &Run, cases: &[&Case]) -> Vec<Table> {
    // The metric counts the reads of the last sample alone. The finding is about all samples.
    let is_warned = run.findings.iter().any(|finding| scan::findings::NOT_ALL_CACHED.has(&finding.id));
    let reads_blocks = is_warned || cases.iter().any(|case| scan::PHYSICAL_READS.median(case) > Some(0.0));
    let of_rows = if reads_blocks { READS_INCLUDED } else { ALL_IN_MEMORY };
    let shown = [
        (scan::ROW_TIME, of_rows),
        (scan::PER_ROW.of("instructions"), "Instructions for a row:"),
        (scan::GETS, "Blocks got in one pass:"),
    ];
    let table = |(spec, title): (Spec, &str)| {
        let value = |case: &Case| match spec == scan::GETS {
            true => spec.median(case).map(Cell::count),
            false => Cell::of(case, &spec),
        };
        let table = comparison(cases, ("path", &label), &value, &|case| published_beside(&spec, case))?;
        Some(Table { title: Some(title.into()), ..table })
    };
    shown.into_iter().filter_map(table).collect()
}

fn paths(cases: &[&Case]) -> Table {
    let is_counted = is_counted(cases);
    Table::over(cases)
        .column("path", Align::Left, |case| label(case))
        .column("gets", Align::Right, |case| count(case, &scan::GETS))
        .column("ns/row", Align::Decimal, |case| Cell::or_absent(Cell::of(case, &scan::ROW_TIME)))
        // With instructions they stand in a table of their own, where they may be another kernel's.
        .optional("cycles/row", Align::Decimal, |case| {
            Cell::of(case, &scan::PER_ROW.of("cycles")).filter(|_| !is_counted)
        })
        .optional("ns/get", Align::Decimal, |case| Cell::of(case, &scan::GET_TIME))
        .optional("ns/row range", Align::Word, |case| scan::ROW_TIME.in_case(case).and_then(Cell::range))
        .bars("log scale", Scale::Logarithmic, |case| scan::ROW_TIME.nanos(case))
        .groups(|case| subject(case))
        .done()
}

/// How the indexes lie to the rows, and how often their scans came to a block.
fn indexes(cases: &[&Case]) -> Option<Table> {
    let of_index = [scan::CLUSTERING_FACTOR, scan::INDEX_BLOCKS, scan::CORRELATION];
    let has_any = |case: &&Case| of_index.iter().any(|spec| spec.in_case(case).is_some());
    let indexes: Vec<&Case> = cases.iter().copied().filter(has_any).collect();
    Table::over(&indexes)
        .column("index", Align::Left, |case| label(case).trim_start_matches("index, ").to_string())
        .optional("clustering factor", Align::Right, |case| count(case, &scan::CLUSTERING_FACTOR))
        .optional("correlation", Align::Decimal, |case| Cell::of(case, &scan::CORRELATION))
        .optional("leaves", Align::Right, |case| count(case, &scan::LEAF_BLOCKS))
        .optional("index blocks", Align::Right, |case| count(case, &scan::INDEX_BLOCKS))
        .column("visits/block", Align::Decimal, |case| Cell::of(case, &scan::VISITS_PER_BLOCK))
        .optional_times("one pass", |case| scan::ELAPSED.nanos(case))
        .optional("revisits", Align::Right, |case| count(case, &scan::PINNED_REVISITS))
        .groups(|case| subject(case))
        .unless_empty()
}

/// How large the tables of the scans are, how small they became, and how fast it went next to a read in sequence.
///
/// The blocks are those of the table, not those that were read: these are the gets of the first table.
fn sizes(cases: &[&Case]) -> Option<Table> {
    let is_scan = |case: &&Case| scan::CLUSTERING_FACTOR.in_case(case).is_none();
    let scans: Vec<&Case> = cases.iter().copied().filter(is_scan).collect();
    let rate = |case: &Case| scan::BANDWIDTH.median(case).map(|mebibytes| mebibytes * f64::from(1 << 20) / 1e9);
    Table::over(&scans)
        .column("path", Align::Left, |case| label(case))
        .column("blocks", Align::Right, |case| count(case, &scan::BLOCKS))
        // Of the columns that may be left out the first ones stay longest.
        .optional("× smaller", Align::Decimal, |case| Cell::of(case, &scan::COMPRESSION_RATIO))
        .optional_times("one pass", |case| scan::ELAPSED.nanos(case))
        .optional("not cached", Align::Right, |case| {
            count(case, &scan::PHYSICAL_READS).filter(|cell| cell.value > Some(0.0))
        })
        .optional("bytes read", Align::Right, |case| scan::BYTES_TOUCHED.median(case).map(Cell::bytes))
        .optional("GB/s", Align::Decimal, |case| rate(case).map(|rate| Cell::digits(rate, Unit::Ratio)))
        .optional("% of sequential", Align::Decimal, |case| Cell::of(case, &scan::BANDWIDTH_SHARE))
        .groups(|case| subject(case))
        .titled("How large the table of each path is, and how fast a pass went:")
        .unless_empty()
}

/// How the columns in memory came out: each with the encodings that its units have chosen, one in a line, because
/// several do not fit into one.
fn encodings(run: &Run) -> Option<Table> {
    let engine = run.subject.get("columns").or_else(|| run.subject.get("beside")?.get("engine")?.get("columns"));
    let columns = engine?.as_array()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut rows: Vec<(String, Option<f64>, String)> = Vec::new();
    for column in columns {
        let all = column["encodings"].as_array().map_or(&[][..], Vec::as_slice);
        let mut all = all.iter().map(text);
        rows.push((text(&column["name"]), column["compression_ratio"].as_f64(), all.next().unwrap_or_default()));
        rows.extend(all.map(|encoding| (String::new(), None, encoding)));
    }
    Table::over(&rows)
        .column("column in memory", Align::Left, |(name, ..)| name.clone())
        .column("× smaller", Align::Decimal, |(_, ratio, _)| ratio.map(|ratio| Cell::digits(ratio, Unit::Ratio)))
        .column("units by encoding", Align::Left, |(.., encoding)| encoding.clone())
        .unless_empty()
}

/// The published figures of the paths that are here.
fn published_table(cases: &[&Case]) -> Option<Table> {
    let mut rows: Vec<&Case> = Vec::new();
    for case in cases {
        let has_figures = scan::EXPERIMENT.published.iter().any(|one| !one.case.is_empty() && one.is_of(case));
        if has_figures && !rows.iter().any(|known| label::path(known) == label::path(case)) {
            rows.push(case);
        }
    }
    let is_counted = is_counted(cases);
    // Where there are counts, the published ones stand next to them, but for a scan of another kind.
    let count = |spec: &Spec, case: &Case| published(spec, case).filter(|_| !is_counted || is_unread(case));
    let title = format!(
        "Published in {}, {} rows in {} blocks:",
        scan::TABLE_ROWS.source,
        grouped(scan::TABLE_ROWS.value as u64),
        grouped(scan::TABLE_BLOCKS.value as u64)
    );
    Table::over(&rows)
        .column("published", Align::Left, |case| label::of_path(&label::path(case)))
        .column("CPU s", Align::Right, |case| published(&scan::CPU, case))
        .column("gets", Align::Right, |case| published(&scan::GETS, case))
        .column("ns/row", Align::Right, |case| published(&scan::ROW_TIME, case))
        .optional("instr/row", Align::Right, |case| count(&scan::PER_ROW.of("instructions"), case))
        .optional("cycles/row", Align::Right, |case| count(&scan::PER_ROW.of("cycles"), case))
        .optional("IPC", Align::Right, |case| count(&scan::IPC, case))
        .titled(title)
        .unless_empty()
}

fn count(case: &Case, spec: &Spec) -> Option<Cell> {
    spec.median(case).map(|value| Cell::count(value.max(0.0)))
}
