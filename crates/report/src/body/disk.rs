//! Reads of a device: what they cost, by place and by distance where the run asked for that.

pub(super) mod chart;

use std::collections::HashSet;

use measure::schema::disk::parameters;
use measure::schema::{Parameter, Spec, reads};
use measure::{Case, Metric, Run, Unit, sorting};

use crate::page::number::{ABSENT, bytes, ratio};
use crate::page::parameters::{cell, heading, varying};
use crate::page::table::{Builder, Scale};
use crate::page::{Align, Cell, Section, Table};

/// Shows cases of one kind.
type View = fn(&[&Case]) -> Table;

/// What a case is about, by the parameter that only such cases have. The first that fits counts.
const VIEWS: &[(Parameter, View)] = &[
    (parameters::ZONE, zones),
    (SWEEP.parameter, |cases| along(cases, &SWEEP)),
    (DISTANCES.parameter, |cases| along(cases, &DISTANCES)),
];

/// How latency and bandwidth against a parameter are shown.
struct Along {
    parameter: Parameter,
    title: &'static str,
    median: &'static str,
    tail: &'static str,
    bandwidth: &'static str,
}

/// Places of a sweep, whose bandwidth is that of other reads than the latency.
const SWEEP: Along = Along {
    parameter: parameters::POSITION,
    title: "At each position blocks are read in random order, and then the same part in sequence. 0 % is the first \
            byte of what is measured, 100 % the last:",
    median: "random p50",
    tail: "random p99",
    bandwidth: "sequential MiB/s",
};

/// Distances between reads.
const DISTANCES: Along = Along {
    parameter: parameters::DISTANCE,
    title: "Each read starts this distance after the one before:",
    median: "p50",
    tail: "p99",
    bandwidth: "MiB/s",
};

/// What the columns of percentiles mean.
const P50: &str = "p50: half of the reads take at most this long";
const P99: &str = "p99: 99 of 100 do";

/// One table for each way in which the run looked at the device.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let mut left: Vec<&Case> = run.cases.iter().collect();
    let mut tables = Vec::new();
    for (parameter, view) in VIEWS {
        let (here, rest): (Vec<&Case>, Vec<&Case>) =
            left.into_iter().partition(|case| parameter.in_case(case).is_some());
        left = rest;
        if !here.is_empty() {
            tables.push(view(&here));
        }
    }
    if !left.is_empty() {
        tables.insert(0, plain(&left));
    }
    tables.into_iter().map(Section::Table).collect()
}

/// One line a case: the parameters that vary, then what was measured.
fn plain(cases: &[&Case]) -> Table {
    axes(Table::over(cases), &varying(cases))
        .column("reads", Align::Right, |case| whole(case, &reads::READS))
        .optional_times("elapsed", |case| reads::ELAPSED.nanos(case))
        .times("p50", |case| latency(case, |metric| Some(metric.median())))
        .times("p99", |case| latency(case, |metric| metric.statistics.p99))
        .optional_times("p99.9", |case| latency(case, |metric| metric.statistics.p999))
        .column("IOPS", Align::Right, |case| whole(case, &reads::IOPS))
        .optional("MiB/s", Align::Decimal, |case| bandwidth(case))
        .optional_times("CPU/read", |case| reads::CPU_PER_READ.nanos(case))
        .optional_times("mean", |case| latency(case, |metric| Some(metric.statistics.mean)))
        .optional_times("max", |case| latency(case, |metric| Some(metric.statistics.max)))
        .done()
}

fn zones(cases: &[&Case]) -> Table {
    // Under its path a zone is named whole, however long the path is.
    let path = path_among(cases);
    let said = [parameters::ZONE, parameters::PATH, parameters::OFFSET, parameters::WORKERS].map(|one| one.name);
    let names: Vec<&str> = varying(cases).into_iter().filter(|name| !said.contains(name)).collect();
    let is_beside_outer = cases.iter().any(|case| against_outer(case, cases).is_some());
    axes(Table::over(cases).column("zone", Align::Left, |case| zone_label(case)), &names)
        .column("reads", Align::Right, |case| whole(case, &reads::READS))
        .optional_times("elapsed", |case| reads::ELAPSED.nanos(case))
        .times("per read", |case| latency(case, |metric| Some(metric.statistics.mean)))
        .times("p50", |case| latency(case, |metric| Some(metric.median())))
        .optional_times("p99", |case| latency(case, |metric| metric.statistics.p99))
        .column("IOPS", Align::Right, |case| whole(case, &reads::IOPS))
        .column("× outer", Align::Right, |case| against_outer(case, cases))
        .only_where(is_beside_outer)
        .groups(|case| path(case))
        .done()
}

/// A column for each of the parameters.
fn axes<'a>(table: Builder<'a, &'a Case>, names: &[&str]) -> Builder<'a, &'a Case> {
    table.each(names, |table, name| table.column(heading(name), Align::Left, |case| cell(case, name)))
}

fn zone_label(case: &Case) -> String {
    let number = |one: Parameter| case.value(one.name).and_then(serde_json::Value::as_u64);
    let span = number(parameters::SPAN).map(|span| bytes(span as f64));
    let offset = number(parameters::OFFSET).filter(|offset| *offset > 0).map(|offset| bytes(offset as f64));
    match (parameters::ZONE.in_case(case).as_deref(), span) {
        (Some("outer"), Some(span)) => match offset {
            Some(offset) => format!("outer ({span} from offset {offset} on)"),
            None => format!("outer (first {span})"),
        },
        (Some("inner"), Some(span)) => format!("inner (last {span})"),
        (Some("both"), _) if number(parameters::WORKERS).is_none_or(|workers| workers <= 2) => {
            "one worker in each".into()
        }
        (Some("both"), _) => match number(parameters::WORKERS) {
            // As the experiment shares them out.
            Some(odd) if !odd.is_multiple_of(2) => format!("{} outer, {} inner workers", odd / 2, odd.div_ceil(2)),
            _ => "half the workers in each".into(),
        },
        (zone, _) => zone.unwrap_or(ABSENT).into(),
    }
}

/// Elapsed time per read as a multiple of that of the first outer case of the same path, which is one over the rate, as
/// the finding on zones and the published figures have it; empty for the outer one itself. None where a lasting change
/// cut a zone of the path: a part of it is of other turns than the zones beside it, and the finding compares none.
fn against_outer(case: &Case, cases: &[&Case]) -> Option<Cell> {
    let is_outer = |case: &Case| parameters::ZONE.in_case(case).as_deref() == Some("outer");
    let rate = |case: &Case| Some(reads::IOPS.in_case(case)?.statistics.mean).filter(|rate| *rate > 0.0);
    let path = parameters::PATH.in_case(case);
    let beside: Vec<&Case> = cases.iter().copied().filter(|one| parameters::PATH.in_case(one) == path).collect();
    if beside.iter().any(|one| reads::parameters::SEGMENT.in_case(one).is_some()) {
        return None;
    }
    let outer = beside.into_iter().find(|one| is_outer(one))?;
    let times = rate(outer)? / rate(case)?;
    (!is_outer(case)).then(|| Cell::number(ratio(times), times, Unit::Ratio))
}

/// The path of a case, where there are several; else nothing.
fn path_among(cases: &[&Case]) -> impl Fn(&Case) -> String {
    let is_one = !varying(cases).contains(&parameters::PATH.name);
    move |case: &Case| if is_one { String::new() } else { cell(case, parameters::PATH.name) }
}

/// Latency and bandwidth with a bar each, against a parameter.
fn along(cases: &[&Case], shown: &Along) -> Table {
    let (path, segment) = (path_among(cases), reads::parameters::SEGMENT);
    let is_percentile_there = cases.iter().any(|case| reads::READ_LATENCY.in_case(case).is_some());
    let said = |meaning: &'static str| if is_percentile_there { meaning } else { "" };
    Table::over(cases)
        .cells(shown.parameter.name, Align::Right, places(cases, shown.parameter))
        .column(segment.name, Align::Left, |case| cell(case, segment.name))
        .only_where(cases.iter().any(|case| segment.in_case(case).is_some()))
        .times(shown.median, |case| latency(case, |metric| Some(metric.median())))
        .explained(said(P50))
        .bars("", Scale::Linear, |case| reads::READ_LATENCY.median(case))
        .optional_times(shown.tail, |case| latency(case, |metric| metric.statistics.p99))
        .explained(said(P99))
        .optional(shown.bandwidth, Align::Decimal, |case| bandwidth(case))
        .bars("", Scale::Linear, |case| reads::BANDWIDTH.in_case(case).map(|metric| metric.statistics.mean))
        .groups(|case| path(case))
        .titled(shown.title)
        .done()
}

/// Places as per cent of the device where all are fractions of it, else as bytes from its beginning.
fn places(cases: &[&Case], parameter: Parameter) -> Vec<Cell> {
    let number = |case: &Case| case.value(parameter.name).and_then(serde_json::Value::as_f64);
    let are_fractions = cases.iter().all(|case| number(case).is_some_and(|place| (0.0..=1.0).contains(&place)));
    let fractions: Vec<f64> = cases.iter().filter_map(|case| number(case)).collect();
    let digits = digits_that_tell_apart(&fractions);
    let percent = |place: f64| Cell::number(format!("{:.digits$} %", place * 100.0), place * 100.0, Unit::Percent);
    let place = |place: f64| if are_fractions { percent(place) } else { Cell::bytes(place) };
    cases.iter().map(|case| number(case).map_or_else(|| cell(case, parameter.name).into(), place)).collect()
}

/// How many decimals the percentages need so that different fractions differ: none for up to 100 even steps. At most 4,
/// with which blocks of 8 KiB differ on a device of 8 GB.
fn digits_that_tell_apart(fractions: &[f64]) -> usize {
    let mut sorted = fractions.to_vec();
    sorting::by(&mut sorted, f64::total_cmp);
    sorted.dedup();
    let differ = |digits: &usize| {
        let texts = sorted.iter().map(|fraction| format!("{:.digits$}", fraction * 100.0, digits = *digits));
        texts.collect::<HashSet<_>>().len() == sorted.len()
    };
    (0..4).find(differ).unwrap_or(4)
}

fn latency(case: &Case, value: fn(&Metric) -> Option<f64>) -> Option<f64> {
    reads::READ_LATENCY.in_case(case)?.nanos_of(value)
}

/// A count without digits behind the point; a rate below a hundred has them, and is a mean: reads over elapsed time.
fn whole(case: &Case, spec: &Spec) -> Cell {
    let of = |metric: &Metric| match (metric.unit, metric.statistics.mean) {
        (Unit::Count, _) => Cell::count(metric.median().max(0.0)),
        (_, mean) if mean >= 100.0 => Cell::count(mean),
        (unit, mean) => Cell::digits(mean, unit),
    };
    Cell::or_absent(spec.in_case(case).map(of))
}

fn bandwidth(case: &Case) -> Cell {
    Cell::or_absent(reads::BANDWIDTH.in_case(case).map(|metric| Cell::digits(metric.statistics.mean, metric.unit)))
}

#[cfg(test)]
mod tests {
    use measure::Parameters;

    use super::*;

    #[test]
    fn half_of_an_odd_number_of_workers_is_not_said_to_be_in_each_zone() {
        let label = |workers: u64| {
            let both = [parameters::ZONE.of("both"), parameters::WORKERS.of(workers)];
            zone_label(&Case::new(Parameters::from_iter(both)))
        };
        assert_eq!(label(2), "one worker in each");
        assert_eq!(label(3), "1 outer, 2 inner workers");
        assert_eq!(label(4), "half the workers in each");
        assert_eq!(label(5), "2 outer, 3 inner workers");
    }

    #[test]
    fn a_zone_behind_an_offset_is_not_said_to_be_the_first_of_the_device() {
        let label = |zone: &str, offset: u64| {
            let given = [parameters::ZONE.of(zone), parameters::SPAN.of(2_u64 << 30), parameters::OFFSET.of(offset)];
            zone_label(&Case::new(Parameters::from_iter(given)))
        };
        assert_eq!(label("outer", 0), "outer (first 2 GiB)");
        assert_eq!(label("outer", 100 << 30), "outer (2 GiB from offset 100 GiB on)");
        assert_eq!(label("inner", 198 << 30), "inner (last 2 GiB)");
    }

    #[test]
    fn a_part_of_a_zone_is_not_held_against_the_outer_zone_of_other_turns() {
        let zone = |name: &str, path: &str, segment: Option<&str>| {
            let given = [parameters::ZONE.of(name), parameters::PATH.of(path)].into_iter();
            let mut case = Case::new(given.chain(segment.map(|part| reads::parameters::SEGMENT.of(part))).collect());
            case.metrics.push(reads::IOPS.single("clock", 100.0));
            case
        };
        let cut = [zone("outer", "a", None), zone("inner", "a", Some("after-change")), zone("both", "a", None)];
        let whole = [zone("outer", "b", None), zone("inner", "b", None)];
        let cases: Vec<&Case> = cut.iter().chain(&whole).collect();
        let has = |case: &&Case| against_outer(case, &cases).is_some();
        assert_eq!(cases.iter().map(has).collect::<Vec<_>>(), [false, false, false, false, true]);
    }

    #[test]
    fn a_place_whose_rate_changed_is_not_two_rows_that_look_the_same() {
        let segment = reads::parameters::SEGMENT;
        let part = |name: &str| Case::new(Parameters::from_iter([parameters::POSITION.of(0.5), segment.of(name)]));
        let cases = ["before-change", "after-change"].map(part);
        let headings = |cases: &[&Case]| {
            along(cases, &SWEEP).columns.into_iter().map(|column| column.heading).collect::<Vec<String>>()
        };
        assert_eq!(headings(&[&cases[0], &cases[1]])[1], segment.name);
        assert_ne!(headings(&[&Case::default()])[1], segment.name);
    }

    #[test]
    fn places_of_a_long_sweep_are_told_apart() {
        let even = |count: u32| (0..count).map(|at| f64::from(at) / f64::from(count - 1)).collect::<Vec<_>>();
        assert_eq!(digits_that_tell_apart(&even(5)), 0);
        assert_eq!(digits_that_tell_apart(&even(101)), 0);
        assert_eq!(digits_that_tell_apart(&even(201)), 1);
        assert_eq!(digits_that_tell_apart(&[0.5, 0.5, 0.25]), 0, "one place may have several cases");
    }
}
