//! The ladder: what one read costs at every level, and how many times the level above.

use std::collections::BTreeMap;

use measure::{Case, Metric, Run};

use crate::bar;
use crate::findings::ABSENT_PREFIX;
use crate::number::{nanos_of, three_digits, times, unit_for};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::{clean, wrap};

/// Spread from which on a range stands beside the median: (p90 - min) / median.
const SPREAD_SHOWN: f64 = 0.2;

/// Longest bar in columns, and the shortest that is worth drawing.
const BAR_CELLS_MAX: usize = 24;
const BAR_CELLS_MIN: usize = 6;

/// Which rungs are one read or load and comparable with the one above in the same group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Dependent loads.
    Load,
    /// Reads of a block.
    Read,
    /// Not a single read: no ratio.
    Alone,
}

struct Rung {
    name: &'static str,
    label: &'static str,
    group: Group,
    suffix: &'static str,
}

const fn rung(name: &'static str, label: &'static str, group: Group, suffix: &'static str) -> Rung {
    Rung { name, label, group, suffix }
}

/// The rungs from the processor outwards. A new rung is one row here.
const RUNGS: &[Rung] = &[
    rung("l1", "L1 cache", Group::Load, ""),
    rung("l2", "L2 cache", Group::Load, ""),
    rung("l3", "L3 cache", Group::Load, ""),
    rung("dram", "DRAM, 4 KiB pages", Group::Load, ""),
    rung("dram-huge", "DRAM, 2 MiB pages", Group::Alone, ""),
    rung("dram-sequential", "DRAM in sequence", Group::Alone, " / block"),
    rung("pool-get", "buffer pool: get", Group::Read, ""),
    rung("lio", "buffer pool: get + rows", Group::Read, ""),
    rung("system-call", "system call", Group::Alone, ""),
    rung("page-cache-read", "OS page cache", Group::Read, ""),
    rung("storage-round-trip", "storage's cache", Group::Read, ""),
    rung("device-random-depth-1", "device, one at a time", Group::Read, ""),
    rung("device-random-best-depth", "device, many at a time", Group::Alone, " / block"),
    rung("device-sequential", "device, in sequence", Group::Alone, " / block"),
];

/// One line of the table.
struct Line<'a> {
    rung: &'static Rung,
    case: &'a Case,
    nanos: f64,
    above: Option<f64>,
}

/// The table of rungs with its line of absent ones.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let lines = lines(run);
    let table = table(&lines, bar_cells(&lines, style), style);
    crate::join_sections(&[table.render(style), absent(run, style)])
}

/// Whether the line of absent rungs gives the finding of this id.
pub(crate) fn tells(id: &str) -> bool {
    let name = id.strip_prefix(ABSENT_PREFIX);
    name.is_some_and(|name| RUNGS.iter().any(|rung| rung.name == name))
}

fn lines(run: &Run) -> Vec<Line<'_>> {
    let mut lines: Vec<Line> = Vec::new();
    let mut last_of_group: BTreeMap<Group, (&str, f64, Option<f64>)> = BTreeMap::new();
    for rung in RUNGS {
        for case in run.cases_where("rung", rung.name) {
            let Some(nanos) = case.metric("latency").and_then(nanos) else { continue };
            // Two lines of one rung (first and second touch) stand over the same one above.
            let above = match last_of_group.get(&rung.group) {
                Some((name, _, above)) if *name == rung.name => *above,
                Some((_, nanos, _)) => Some(*nanos),
                None => None,
            };
            last_of_group.insert(rung.group, (rung.name, nanos, above));
            lines.push(Line { rung, case, nanos, above: above.filter(|_| rung.group != Group::Alone) });
        }
    }
    lines
}

fn nanos(metric: &Metric) -> Option<f64> {
    Some(metric.median() * nanos_of(metric.unit)?)
}

/// Columns that are left for bars beside the rest of the table; 0 where they would be too short to tell anything.
fn bar_cells(lines: &[Line], style: &Style) -> usize {
    let rest = table(lines, 1, style).render(&Style { width: usize::MAX, unicode: true, color: false });
    let heading = crate::text::width("log scale");
    let used = rest.lines().next().map_or(0, crate::text::width).saturating_sub(heading);
    let left = style.width.saturating_sub(used).min(BAR_CELLS_MAX);
    if left < BAR_CELLS_MIN.max(heading) { 0 } else { left }
}

fn table(lines: &[Line], cells: usize, style: &Style) -> Table {
    let mut table = Table::new()
        .column("level", Align::Left)
        .column("one 8 KiB read or load", Align::Decimal)
        .column("× above", Align::Right);
    if cells > 0 {
        table = table.column("log scale", Align::Left);
    }
    let smallest = lines.iter().map(|line| line.nanos).filter(|nanos| *nanos > 0.0).fold(f64::INFINITY, f64::min);
    let largest = lines.iter().map(|line| line.nanos).fold(0.0, f64::max);
    for line in lines {
        let above = line.above.map_or(String::new(), |above| times(line.nanos / above));
        let bar = bar::logarithmic(line.nanos, smallest, largest, cells, style);
        table.row([label(line), value(line), above, bar]);
    }
    table
}

/// The rung's label with what only the case knows: rows of a get, depth, first or second touch.
fn label(line: &Line) -> String {
    let parameter = |name: &str| line.case.parameter(name).map(|text| clean(&text));
    let label = match (line.rung.name, parameter("rows"), parameter("depth")) {
        ("lio", Some(rows), _) => format!("buffer pool: get + {rows} rows"),
        ("device-random-best-depth", _, Some(depth)) => format!("device, {depth} at a time"),
        _ => line.rung.label.to_string(),
    };
    match parameter("touch") {
        Some(touch) => format!("{}, {touch}", label.replace("at a time", "deep").replace("one deep", "1 deep")),
        None => label,
    }
}

/// The median with its unit, and the range of the samples where it is wide.
fn value(line: &Line) -> String {
    let (symbol, length) = unit_for(line.nanos);
    let median = format!("{} {symbol}{}", three_digits(line.nanos / length), line.rung.suffix);
    let spread = line.case.metric("latency").filter(|metric| metric.statistics.relative_spread() > Some(SPREAD_SHOWN));
    let range = spread.and_then(|metric| {
        let scale = nanos_of(metric.unit)? / length;
        let high = metric.statistics.p90.unwrap_or(metric.statistics.max);
        Some(format!(" ({}–{})", three_digits(metric.statistics.min * scale), three_digits(high * scale)))
    });
    median + &range.unwrap_or_default()
}

/// The rungs that are not there, each with the reason that a finding gives.
fn absent(run: &Run, style: &Style) -> String {
    let measured = |rung: &Rung| run.cases_where("rung", rung.name).any(|case| case.metric("latency").is_some());
    let missing: Vec<String> = RUNGS.iter().filter(|rung| !measured(rung)).map(|rung| reason(run, rung)).collect();
    let text = format!("Not measured: {}.", missing.join("; "));
    if missing.is_empty() { String::new() } else { wrap(&text, style.width, 2) }
}

fn reason(run: &Run, rung: &Rung) -> String {
    let finding = run.findings.iter().find(|finding| finding.id.strip_prefix(ABSENT_PREFIX) == Some(rung.name));
    match finding {
        Some(finding) => format!("{} ({})", rung.label, finding.message.trim_end_matches('.')),
        None => rung.label.into(),
    }
}
