//! The ladder: what one read costs at every level, and how many times the level above.

pub(super) mod chart;

use measure::{Case, Run, Unit};

use measure::schema::ladder::{self, parameters};
use measure::schema::reads;

use crate::page::number::{range as range_of, three_digits, times, unit_for};
use crate::page::table::Scale;
use crate::page::{Align, Cell, Section, Table};

/// Prefix of the ids of findings that explain a missing rung; the rung's name follows.
const ABSENT_PREFIX: &str = "absent-";

/// Spread from which on a range stands next to the median: (p90 - min) / median.
const SPREAD_SHOWN: f64 = 0.2;

/// Which rungs are one read or load and comparable with the row above in the same group.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    group: Group,
    suffix: &'static str,
}

impl Rung {
    /// Its name on the page.
    fn label(&self) -> &'static str {
        ladder::label(self.name)
    }
}

const fn rung(name: &'static str, group: Group, suffix: &'static str) -> Rung {
    Rung { name, group, suffix }
}

/// The rungs from the processor outwards. A new rung is one row here, and one of names in the schema.
const RUNGS: &[Rung] = &[
    rung("l1", Group::Load, ""),
    rung("l2", Group::Load, ""),
    rung("l3", Group::Load, ""),
    rung("dram", Group::Load, ""),
    rung("dram-huge", Group::Alone, ""),
    rung("dram-sequential", Group::Alone, " / block"),
    rung("system-call", Group::Alone, ""),
    rung("pool-get", Group::Read, ""),
    rung("lio", Group::Read, ""),
    rung("page-cache-read", Group::Read, ""),
    rung("storage-round-trip", Group::Read, ""),
    rung("device-random-depth-1", Group::Read, ""),
    rung("device-random-best-depth", Group::Alone, " / block"),
    rung("device-sequential", Group::Alone, " / block"),
];

/// One line of the table.
struct Line<'a> {
    rung: &'static Rung,
    case: &'a Case,
    nanos: f64,
    above: Option<f64>,
}

/// The table of rungs with its line of absent ones.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let missing = absent(run).map(Section::Text);
    [Section::Table(table(&lines(run)))].into_iter().chain(missing).collect()
}

/// Whether the line of absent rungs gives the finding of this id.
pub(super) fn gives(_run: &Run, id: &str) -> bool {
    let name = id.strip_prefix(ABSENT_PREFIX);
    name.is_some_and(|name| RUNGS.iter().any(|rung| rung.name == name))
}

fn lines(run: &Run) -> Vec<Line<'_>> {
    let mut lines: Vec<Line> = Vec::new();
    for rung in RUNGS {
        for case in run.cases_where(parameters::RUNG.name, rung.name) {
            let Some(nanos) = ladder::LATENCY.nanos(case) else { continue };
            let comparable = lines.last().filter(|row| row.rung.group == rung.group && rung.group != Group::Alone);
            let above = comparable.map(|row| row.nanos);
            lines.push(Line { rung, case, nanos, above });
        }
    }
    lines
}

fn table(lines: &[Line]) -> Table {
    Table::over(lines)
        .column("level", Align::Left, label)
        .column("one 8 KiB read or load", Align::Decimal, value)
        .column("× above", Align::Right, |line| {
            line.above.map(|above| Cell::number(times(line.nanos / above), line.nanos / above, Unit::Ratio))
        })
        .bars("log scale", Scale::Logarithmic, |line| Some(line.nanos))
        .done()
}

/// The rung's label with what only the case knows: rows of a get, depth, first or second touch, segment.
fn label(line: &Line) -> String {
    let label = match (line.rung.name, parameters::ROWS.in_case(line.case), parameters::DEPTH.in_case(line.case)) {
        ("lio", Some(rows), _) => format!("buffer pool: get + {rows} rows"),
        ("device-random-best-depth", _, Some(depth)) => format!("device, {depth} at a time"),
        _ => line.rung.label().to_string(),
    };
    let label = match parameters::TOUCH.in_case(line.case) {
        Some(touch) => format!("{}, {touch}", label.replace("at a time", "deep").replace("one deep", "1 deep")),
        None => label,
    };
    let segment = reads::parameters::SEGMENT
        .in_case(line.case)
        .map(|segment| format!(", {}", segment.trim_end_matches("-change")));
    label + &segment.unwrap_or_default()
}

/// The median with its unit, and the range of the samples where it is wide.
fn value(line: &Line) -> Cell {
    let (symbol, length) = unit_for(line.nanos);
    let median = format!("{} {symbol}{}", three_digits(line.nanos / length), line.rung.suffix);
    let Some(metric) = ladder::LATENCY.in_case(line.case) else { return median.into() };
    let range = (metric.statistics.relative_spread() > Some(SPREAD_SHOWN)).then(|| {
        let scale = metric.unit.nanoseconds()? / length;
        let (low, high) = (metric.statistics.min, metric.statistics.p90.unwrap_or(metric.statistics.max));
        Some(format!(" ({})", range_of(&three_digits(low * scale), &three_digits(high * scale))))
    });
    Cell::number(median + &range.flatten().unwrap_or_default(), metric.median(), metric.unit).with_spread(metric)
}

/// The missing rungs, with the reasons that findings give, each reason once.
fn absent(run: &Run) -> Option<String> {
    let is_measured = |rung: &Rung| {
        run.cases_where(parameters::RUNG.name, rung.name).any(|case| ladder::LATENCY.in_case(case).is_some())
    };
    let mut missing: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    for rung in RUNGS.iter().filter(|rung| !is_measured(rung)) {
        let reason = reason(run, rung);
        match missing.iter_mut().find(|(known, _)| reason.is_some() && *known == reason) {
            Some((_, labels)) => labels.push(rung.label()),
            None => missing.push((reason, vec![rung.label()])),
        }
    }
    let missing: Vec<String> = missing.iter().map(|(reason, labels)| with_reason(*reason, labels)).collect();
    (!missing.is_empty()).then(|| format!("Not measured: {}.", missing.join("; ")))
}

/// Rungs that are missing for the same reason, or one without a reason.
fn with_reason(reason: Option<&str>, labels: &[&str]) -> String {
    let all = labels.join("; ");
    match (reason, labels.len()) {
        (None, _) => all,
        (Some(reason), 1) => format!("{all} ({reason})"),
        (Some(reason), count) => format!("{all} (these {count}: {reason})"),
    }
}

/// Why a rung is missing, as a sentence without its full stop.
fn reason<'a>(run: &'a Run, rung: &Rung) -> Option<&'a str> {
    let finding = run.findings.iter().find(|finding| finding.id.strip_prefix(ABSENT_PREFIX) == Some(rung.name));
    finding.map(|finding| finding.message.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_has_a_name_for_the_page_and_sentences_use_it() {
        for rung in RUNGS {
            assert_ne!(rung.label(), rung.name, "the schema does not name it");
            assert_eq!(ladder::in_words(rung.name), format!("rung \"{}\"", rung.label()));
        }
    }
}
