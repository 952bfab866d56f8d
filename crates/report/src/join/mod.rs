//! Nested loops: what was waited for by method, in how many requests, and the published figures beside it.

mod server;

use measure::{Case, Metric, Run};

use crate::number::{ABSENT, nanos_of, three_digits, time, time_column};
use crate::parameters::{cell, heading, varying};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Source 002: method, milliseconds of reads on a laptop's solid-state disk and on one hard disk, blocks a request. A
/// hundred runs with all rows out of order and 1000 bytes of filler a row.
const PUBLISHED: [(&str, f64, f64, &str); 4] = [
    ("one-at-a-time", 1380.0, 12723.0, "1"),
    ("prefetch", 110.0, 2804.0, "38"),
    ("batch", 104.0, 2572.0, "69"),
    ("batched-rowid", 78.0, 2038.0, "121"),
];

/// The parameter values of the published table.
const PUBLISHED_SETTING: [(&str, &str); 2] = [("rand", "100"), ("pad", "1000")];

/// Parameters that name a size, by method.
const SIZES: [&str; 2] = ["batch_size", "look_ahead"];

/// The times, the requests, the published figures, and what else a planner counts with.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let (on_server, engine): (Vec<&Case>, Vec<&Case>) = run.cases.iter().partition(|case| server::is_on_server(case));
    let (joins, others): (Vec<&Case>, Vec<&Case>) =
        engine.into_iter().partition(|case| case.parameters.contains_key("method"));
    let mut sections = Vec::new();
    sections.push(server::joins(&on_server, &joins, style));
    if !joins.is_empty() {
        sections.extend([times(&joins, style), published(&joins, style), requests(&joins, style)]);
        sections.push(planner(&joins, &others, style));
    }
    sections.push(costs(&others, style));
    crate::join_sections(&sections)
}

/// Columns for what varies besides method and size, and for these.
fn axes(cases: &[&Case]) -> (Table, Vec<String>) {
    let names = varying(cases).into_iter().filter(|name| *name != "method" && !SIZES.contains(name));
    let names: Vec<String> = names.filter(|name| *name != "look_ahead_fixed").map(String::from).collect();
    let mut table = Table::new();
    for name in &names {
        table = table.column(&heading(name), Align::Right);
    }
    (table.column("method", Align::Left).optional_column("at once", Align::Right), names)
}

fn axis_cells(case: &Case, names: &[String]) -> Vec<String> {
    let size = SIZES.iter().map(|name| cell(case, name)).find(|size| !size.is_empty());
    let own = names.iter().map(|name| cell(case, name));
    own.chain([cell(case, "method"), size.unwrap_or_default()]).collect()
}

fn times(cases: &[&Case], style: &Style) -> String {
    let (table, names) = axes(cases);
    let mut table = table
        .column("mean ± sd", Align::Right)
        .column("gain", Align::Decimal)
        .optional_column("min", Align::Decimal)
        .optional_column("median", Align::Decimal)
        .optional_column("max", Align::Decimal)
        .optional_column("elapsed", Align::Decimal);
    for case in cases {
        let mut cells = axis_cells(case, &names);
        let Some(metric) = case.metric("io_time") else { continue };
        let statistics = &metric.statistics;
        let mean = three_digits(statistics.mean);
        cells.push(statistics.stddev.map_or(mean.clone(), |sd| format!("{mean} ± {}", three_digits(sd))));
        cells.push(gain(case, cases, "io_time").map_or(ABSENT.into(), |gain| format!("{} ×", three_digits(gain))));
        cells.extend([statistics.min, statistics.median, statistics.max].map(three_digits));
        cells.push(case.metric("elapsed").map_or(ABSENT.into(), |metric| three_digits(metric.median())));
        table.row(cells);
    }
    let title = "Milliseconds of waiting for reads of table and index, and how many times less than one at a time \
                 (medians):";
    wrap(title, style.width, 2) + "\n" + &table.render(style)
}

fn requests(cases: &[&Case], style: &Style) -> String {
    let (table, names) = axes(cases);
    let mut table = table
        .column("blocks", Align::Right)
        .column("requests", Align::Right)
        .column("blocks/request", Align::Decimal)
        .optional_column("in flight", Align::Decimal)
        .optional_column("index blocks", Align::Right);
    let whole = |case: &Case, name: &str| median(case, name).map_or(ABSENT.into(), |count| format!("{count:.0}"));
    let digits = |case: &Case, name: &str| median(case, name).map_or(ABSENT.into(), three_digits);
    for case in cases {
        let mut cells = axis_cells(case, &names);
        cells.extend(["table_blocks", "requests"].map(|name| whole(case, name)));
        cells.extend(["blocks_per_request", "in_flight"].map(|name| digits(case, name)));
        cells.push(whole(case, "index_blocks"));
        table.row(cells);
    }
    let title = "Blocks of the table, and the requests that were waited for:";
    wrap(title, style.width, 2) + "\n" + &table.render(style)
}

/// What a block costs a planner, beside one of a full scan, and up to where the join is worth it.
fn planner(joins: &[&Case], others: &[&Case], style: &Style) -> String {
    let (table, names) = axes(joins);
    let mut table = table
        .column("a block", Align::Decimal)
        .column("sequential ones", Align::Decimal)
        .column("pays up to", Align::Decimal)
        .optional_column("CPU/look-up", Align::Decimal);
    let sequential = others.iter().find_map(|case| median(case, "sequential_block")).filter(|micros| *micros > 0.0);
    let nanos = |case: &&Case, name: &str| median(case, name).map(|micros| micros * 1e3);
    let blocks = time_column(&joins.iter().map(|case| nanos(case, "random_block")).collect::<Vec<_>>());
    let lookups = joins.iter().map(|case| nanos(case, "cpu_per_lookup")).collect::<Vec<_>>();
    let has_lookups = lookups.iter().any(Option::is_some);
    let lookups = if has_lookups { time_column(&lookups) } else { vec![String::new(); joins.len()] };
    for ((case, block), lookup) in joins.iter().zip(blocks).zip(lookups) {
        let ratio = median(case, "random_block").zip(sequential).map(|(random, sequential)| random / sequential);
        let mut cells = axis_cells(case, &names);
        cells.push(block);
        cells.push(ratio.map_or(ABSENT.into(), three_digits));
        let share = median(case, "break_even").map(|share| format!("{} %", three_digits(share)));
        cells.extend([share.unwrap_or_else(|| ABSENT.into()), lookup]);
        table.row(cells);
    }
    let title = "What a planner would have to know: the wait for a random block, how many blocks of a full scan take \
                 as long, and up to which part of the rows the join is faster than that scan:";
    wrap(title, style.width, 2) + "\n" + &table.render(style)
}

/// The gains beside the published ones; none for another setting.
fn published(cases: &[&Case], style: &Style) -> String {
    let is_published = |case: &&&Case| PUBLISHED_SETTING.iter().all(|(name, value)| cell(case, name) == *value);
    let here: Vec<&Case> = cases.iter().filter(is_published).copied().collect();
    let mut table = Table::new()
        .column("method", Align::Left)
        .column("gain here", Align::Decimal)
        .column("solid-state disk", Align::Decimal)
        .column("hard disk", Align::Decimal)
        .column("blocks/request", Align::Decimal)
        .column("published", Align::Right);
    let (_, ssd_alone, disk_alone, _) = PUBLISHED[0];
    let mut rows = 0;
    for (method, ssd, disk, blocks) in &PUBLISHED {
        let of_method = here.iter().filter(|case| cell(case, "method") == *method);
        let best = of_method.filter_map(|case| Some((gain(case, &here, "io_time")?, *case)));
        let Some((own, case)) = best.max_by(|one, other| one.0.total_cmp(&other.0)) else { continue };
        rows += 1;
        table.row([
            (*method).into(),
            format!("{} ×", three_digits(own)),
            format!("{} ×", three_digits(ssd_alone / ssd)),
            format!("{} ×", three_digits(disk_alone / disk)),
            median(case, "blocks_per_request").map_or(ABSENT.into(), three_digits),
            (*blocks).into(),
        ]);
    }
    if rows < 2 {
        return String::new();
    }
    let title = "Beside the published gains, of a laptop's solid-state disk and of one hard disk:";
    wrap(title, style.width, 2) + "\n" + &table.render(style)
}

/// What blocks and rows cost otherwise.
fn costs(cases: &[&Case], style: &Style) -> String {
    let mut table =
        Table::new().column("other costs", Align::Left).column("median", Align::Decimal).column("range", Align::Word);
    let mut rows = 0;
    for (metric, name) in [
        ("sequential_block", "a block of a full scan, waiting"),
        ("row", "a row of a full scan, CPU"),
        ("cached_block", "a look-up with everything cached"),
        ("elapsed", "a full scan"),
    ] {
        let found = cases.iter().find_map(|case| case.metric(metric));
        let Some((metric, scale)) = found.and_then(|metric| Some((metric, nanos_of(metric.unit)?))) else { continue };
        rows += 1;
        let statistics = &metric.statistics;
        let range = format!("{}–{}", time(statistics.min * scale), time(statistics.max * scale));
        table.row([name.into(), time(statistics.median * scale), if statistics.n > 1 { range } else { String::new() }]);
    }
    if rows == 0 { String::new() } else { table.render(style) }
}

/// How many times less than one at a time, by medians, among the cases of the same table.
fn gain(case: &Case, cases: &[&Case], name: &str) -> Option<f64> {
    let same =
        |other: &&&Case| ["rand", "pad", "io", "direct"].iter().all(|axis| cell(other, axis) == cell(case, axis));
    let alone = cases.iter().filter(same).find(|other| cell(other, "method") == PUBLISHED[0].0)?;
    let own = median(case, name)?;
    (own > 0.0).then_some(median(alone, name)? / own)
}

fn median(case: &Case, name: &str) -> Option<f64> {
    case.metric(name).map(Metric::median)
}
