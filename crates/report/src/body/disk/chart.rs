//! Reads of a device as charts: by place, by distance, by case, over time, and their distribution.

use measure::change_point::segments;
use measure::quantity::counted;
use measure::schema::disk::parameters;
use measure::schema::{Parameter, reads};
use measure::sorting;
use measure::{Case, Metric, Run, Unit};
use serde_json::Value;

use super::{path_among, zone_label};
use crate::body::drawing::{Drawing, OF_READS, OF_WINDOWS, extremes, figure, median, range_of, ratio, rows};
use crate::body::subjects::values;
use crate::page::number::{bytes, time};
use crate::page::parameters::{phrase, varying};
use crate::page::wording::joined;
use crate::page::{Axis, Chart, Datum, HeatColumn, Key, Line, Place, Plot, Row, Shape};

/// Findings that say from where the reads were served, and what disturbed them.
const SERVED: &[&str] = &[
    "served-*",
    "partly-page-cache",
    "direct-io-ignored",
    "reads-not-all-from-storage",
    "device-saw-fewer-reads",
    "tier-unknown",
    "repeated-blocks",
    "zero-blocks",
    "unwritten-extents",
    "core-*",
    "stolen-*",
    "cpu-*",
];

/// Parameters that only cases of one view have.
const OF_VIEWS: [Parameter; 3] = [parameters::ZONE, parameters::POSITION, parameters::DISTANCE];

/// Cells of a heat map for each factor of ten.
const CELLS_PER_DECADE: f64 = 12.0;

/// Fewest values of a distribution that say more than its percentiles.
const BUCKETS_MIN: usize = 4;

/// What is drawn of a run on a device.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let all: Vec<&Case> = run.cases.iter().collect();
    let [zones, positions, distances] = OF_VIEWS.map(|parameter| -> Vec<&Case> {
        all.iter().copied().filter(|case| parameter.in_case(case).is_some()).collect()
    });
    let is_plain = |case: &&Case| OF_VIEWS.iter().all(|parameter| parameter.in_case(case).is_none());
    let plain: Vec<&Case> = all.iter().copied().filter(is_plain).collect();
    let names = varying(&plain);
    let label = |case: &Case| {
        let said = phrase(&case.parameters, &names);
        if said.is_empty() { "all reads".into() } else { said }
    };
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(latencies("disk-latency", "How long a read takes", &plain, rows(&plain, label, latency)));
    charts.extend(rates(&plain, label));
    charts.extend(latencies("disk-zones", "How long a read takes by zone", &zones, zone_rows(&zones)));
    charts.extend(along(&positions, parameters::POSITION));
    charts.extend(along(&distances, parameters::DISTANCE));
    charts.extend(over_time(&plain));
    let path = path_among(&all);
    let heat_label = |case: &Case| {
        let view = match case.value(parameters::POSITION.name).or(case.value(parameters::DISTANCE.name)) {
            Some(place) => place_of(place).map_or(String::new(), |(x, axis)| axis.shown(x)),
            None if parameters::ZONE.in_case(case).is_some() => zone_label(case),
            None => return label(case),
        };
        joined([view, path(case), reads::parameters::SEGMENT.in_case(case).unwrap_or_default()], ", ")
    };
    charts.extend(distribution(&all, heat_label));
    Drawing::new(figures(&all), charts)
}

fn figures(cases: &[&Case]) -> Vec<Option<crate::page::Figure>> {
    let Some([fastest, slowest]) = extremes(cases, |case| reads::READ_LATENCY.in_case(case)) else { return Vec::new() };
    let shown = |what: &str, case: &Case| latency(case).map(|datum| figure(what, Unit::Nanoseconds, &datum));
    let rate = cases
        .iter()
        .filter_map(|case| reads::IOPS.in_case(case))
        .max_by(|one, other| one.statistics.mean.total_cmp(&other.statistics.mean));
    let rate = rate.map(|metric| figure("most reads a second", Unit::PerSecond, &Datum::mean(metric)));
    if std::ptr::eq(fastest, slowest) {
        let tail = tail(fastest).map(|p99| figure("1 of 100 reads takes longer than", Unit::Nanoseconds, &p99));
        return vec![shown("a read, median", fastest), tail, rate];
    }
    let nanos = |case: &Case| reads::READ_LATENCY.nanos(case).unwrap_or(0.0);
    let times = ratio("slowest case over fastest", nanos(slowest), nanos(fastest), "the two medians, divided");
    vec![shown("a read in the fastest case, median", fastest), times, rate]
}

fn latency(case: &Case) -> Option<Datum> {
    median(case, &reads::READ_LATENCY)
}

/// The 99th percentile.
fn tail(case: &Case) -> Option<Datum> {
    let metric = reads::READ_LATENCY.in_case(case)?;
    metric.statistics.p99.map(|p99| Datum { range: None, ..Datum::of(metric, p99) })
}

/// The mean latency of each zone, under the name of its path where there are several.
fn zone_rows(cases: &[&Case]) -> Vec<Row> {
    let path = path_among(cases);
    let mean = |case: &Case| reads::READ_LATENCY.in_case(case).map(Datum::mean);
    let row = |case: &&Case| Some(Row { group: path(case), ..Row::of(zone_label(case), mean(case)?) });
    cases.iter().filter_map(row).collect()
}

fn latencies(name: &'static str, title: &str, cases: &[&Case], rows: Vec<Row>) -> Option<Chart> {
    let value = Axis::linear("latency of a read", Unit::Nanoseconds);
    let what = if name == "disk-zones" { "mean" } else { "median" };
    let chart = Chart::new(name, title, value, Plot::Rows(rows)).noted(format!("Bar: {what}."));
    let chart = chart.thin_line(range_of_reads(cases));
    chart.concerning(&["answer-zones", "answer-read", "answer-model-published", "answer-outer-half"]).with_at_least(2)
}

/// What the ranges of the reads of these cases are.
fn range_of_reads(cases: &[&Case]) -> &'static str {
    range_of(OF_READS, cases.iter().filter_map(|case| reads::READ_LATENCY.in_case(case)))
}

/// Reads a second of the cases.
fn rates(cases: &[&Case], label: impl Fn(&Case) -> String) -> Option<Chart> {
    let rate = |case: &Case| reads::IOPS.in_case(case).map(Datum::mean);
    let value = Axis::linear("reads a second", Unit::PerSecond);
    let chart = Chart::new("disk-rate", "How many reads a second", value, Plot::Rows(rows(cases, label, rate)));
    chart
        .noted("Bar: reads divided by elapsed time, so that rare long reads count, which a median does not show.")
        .thin_line(range_of(OF_WINDOWS, cases.iter().filter_map(|case| reads::IOPS.in_case(case))))
        .concerning(&["rate-not-reached"])
        .with_at_least(2)
}

/// A place as a number with its axis: a part of the device, or bytes.
fn place_of(value: &Value) -> Option<(f64, Axis)> {
    let place = value.as_f64()?;
    Some(match value.as_u64() {
        Some(_) if place > 1.0 => (place, Axis::logarithmic("distance between two reads", Unit::Bytes)),
        _ => (place * 100.0, Axis::linear("position (0 % is the first byte)", Unit::Percent)),
    })
}

/// The axis of positions in a part of the device that does not begin with its first byte.
fn behind_offset(cases: &[&Case]) -> Option<Axis> {
    let offsets = cases.iter().filter_map(|case| case.value(parameters::OFFSET.name)?.as_u64());
    let first = offsets.min().filter(|first| *first > 0)?;
    let label = format!("position (0 % is at offset {})", bytes(first as f64));
    Some(Axis::linear(label, Unit::Percent))
}

/// Latency and bandwidth against a place. Of several paths each has a line of its own, and none for its tail.
fn along(cases: &[&Case], parameter: Parameter) -> Vec<Chart> {
    let is_sweep = parameter == parameters::POSITION;
    let place = |case: &Case| place_of(case.value(parameter.name)?);
    let mut placed: Vec<(f64, &Case)> = cases.iter().filter_map(|case| Some((place(case)?.0, *case))).collect();
    sorting::by(&mut placed, |one, other| one.0.total_cmp(&other.0));
    let Some(axis) = cases.iter().rev().find_map(|case| Some(place(case)?.1)) else { return Vec::new() };
    let axis = behind_offset(cases).filter(|_| is_sweep).unwrap_or(axis);
    let path = path_among(cases);
    let paths = values(cases, &path);
    let is_one = paths.len() == 1;
    let line = |key: usize, of: &str, value: &dyn Fn(&Case) -> Option<Datum>| {
        let own = placed.iter().filter(|(_, case)| path(case) == of);
        let points = own.filter_map(|(x, case)| Some((*x, value(case)?))).collect();
        Line { key, shape: Shape::Marked, points }
    };
    let of_each = |value: &dyn Fn(&Case) -> Option<Datum>| -> Vec<Line> {
        paths.iter().enumerate().map(|(key, path)| line(key, path, value)).collect()
    };
    let bandwidth = |case: &Case| reads::BANDWIDTH.in_case(case).map(Datum::mean);
    let (names, what) = match is_sweep {
        true => (["disk-position", "disk-position-bandwidth"], "position"),
        false => (["disk-distance", "disk-distance-bandwidth"], "distance between two reads"),
    };
    let of_paths: Vec<Key> = paths.iter().map(Key::measured).collect();
    let (keys, tails) = match is_one {
        true => (vec![Key::measured("median"), Key::measured("99th percentile")], Some(line(1, "", &tail))),
        false => (of_paths.clone(), None),
    };
    let note = match tails.as_ref().map_or(0, |tails| tails.points.len()) {
        0 => "Medians.",
        count if count < placed.len() => "The 99th percentile is drawn where there were enough reads for one.",
        _ => "",
    };
    let lines = of_each(&latency).into_iter().chain(tails).collect();
    let value = Axis::linear("latency of a read", Unit::Nanoseconds);
    let latency = Chart::new(names[0], format!("Latency by {what}"), value, Plot::lines(axis.clone(), lines))
        .keyed(keys)
        .noted(note)
        .thin_line(range_of_reads(cases))
        .concerning(if is_sweep { &["answer-place"] } else { &["answer-distance"] });
    let value = Axis::linear("MiB a second", Unit::MebibytesPerSecond);
    let bandwidth = Plot::lines(axis, of_each(&bandwidth));
    let (read, note) = match is_sweep {
        true => ("Sequential bandwidth", "Read in sequence from each position: bytes divided by elapsed time"),
        false => ("Bandwidth", "Bytes divided by elapsed time"),
    };
    let bandwidth = Chart::new(names[1], format!("{read} by {what}"), value, bandwidth).keyed(of_paths);
    let of = if is_sweep { "reads in sequence" } else { "" };
    let windows = range_of(OF_WINDOWS, cases.iter().filter_map(|case| reads::BANDWIDTH.in_case(case)));
    let bandwidth = Chart { of: of.into(), ..bandwidth.noted(format!("{note}.")).thin_line(windows) };
    [latency, bandwidth].into_iter().filter_map(|chart| chart.with_at_least(3)).collect()
}

/// Reads a second over the time of the cases, one after the other, with the levels between lasting changes.
fn over_time(cases: &[&Case]) -> Option<Chart> {
    let mut windows: Vec<(f64, Datum)> = Vec::new();
    let mut seconds = 0.0;
    for timeline in cases.iter().filter_map(|case| case.timeline.as_ref()) {
        for reads in &timeline.reads {
            let rate = *reads as f64 * 1e3 / timeline.window_ms.max(1e-3);
            let made = Datum::made(rate, "reads completed in a window, over its width");
            windows.push((seconds * 1e9, Datum { n: Some(*reads), ..made }));
            seconds += timeline.window_ms / 1e3;
        }
    }
    let rates: Vec<f64> = windows.iter().map(|(_, datum)| datum.value).collect();
    let levels = segments(&rates);
    let mut steps: Vec<(f64, Datum)> = Vec::new();
    let mut places = Vec::new();
    for level in &levels {
        let (first, last) = (level.windows.start, level.windows.end.saturating_sub(1));
        let made = Datum::made(level.rate, "median of the windows between two changes");
        let datum = Datum { n: Some(level.windows.len() as u64), ..made };
        let (from, to) = (windows.get(first)?.0, windows.get(last)?.0);
        steps.extend([(from, datum.clone()), (to, datum)]);
        if first > 0 {
            places.push(Place { at: from, text: format!("changed at {}", time(from)) });
        }
    }
    let of = |key: usize, shape: Shape, points: Vec<(f64, Datum)>| Line { key, shape, points };
    let lines = vec![of(0, Shape::Points, windows), of(1, Shape::Steps, steps)];
    let value = Axis::linear("reads a second", Unit::PerSecond);
    let across = Axis::linear("time since the first read", Unit::Nanoseconds);
    let window = cases.iter().find_map(|case| Some(case.timeline.as_ref()?.window_ms)).unwrap_or_default();
    let width = time(window * 1e6);
    let note = match levels.len() {
        0 => String::new(),
        // Where the rate was kept, a change of the latency alone makes segments.
        1 if cases.len() > 1 => {
            format!("A point is {width}; the line is their median. No lasting change of the rate was found.")
        }
        1 => format!("A point is {width}; the line is their median. No lasting change was found."),
        levels => {
            let changes = if levels == 2 { "once".into() } else { counted(levels as u64 - 1, "time", "times") };
            format!(
                "A point is {width}; the line is the median between changes. The rate changed {changes}, and stayed \
                 changed."
            )
        }
    };
    let title = "How many reads a second, over the time of the measurement";
    let chart = Chart::new("disk-over-time", title, value, Plot::Lines(across, lines, places)).noted(note);
    let chart = chart
        .keyed(vec![Key::measured("a point in time"), Key::measured("median")])
        .concerning(&["rate-changed", "latency-changed"]);
    // Cases one after the other are one measurement only where they are segments of one: nothing else differs.
    let segment = reads::parameters::SEGMENT;
    let are_segments = cases.iter().all(|case| segment.in_case(case).is_some());
    let is_one = cases.len() == 1 || (are_segments && varying(cases).iter().all(|name| *name == segment.name));
    chart.with_at_least(10).filter(|_| is_one)
}

/// The distribution of latencies, a column for each case.
fn distribution(cases: &[&Case], label: impl Fn(&Case) -> String) -> Option<Chart> {
    let column = |case: &&Case| {
        let metric = reads::READ_LATENCY.in_case(case).filter(|metric| metric.histogram.len() >= BUCKETS_MIN)?;
        Some(HeatColumn { label: label(case), cells: cells(metric), source: metric.source.clone() })
    };
    let columns: Vec<HeatColumn> = cases.iter().filter_map(column).collect();
    let is_of_all = |parameter: &Parameter| cases.iter().all(|case| parameter.in_case(case).is_some());
    let places = [parameters::POSITION, parameters::DISTANCE].into_iter().find(is_of_all);
    let note = match columns.len() {
        1 => "The darker a cell, the more of the reads took that long.",
        _ => "The darker a cell, the more of the reads of its column took that long.",
    };
    let across = match places {
        _ if columns.len() == 1 => "",
        Some(parameters::POSITION) => "position",
        Some(_) => "distance between two reads",
        None => "case",
    };
    let across = Axis::linear(across, Unit::Count);
    let value = Axis::logarithmic("latency of a read", Unit::Nanoseconds);
    let chart = Chart::new("disk-heat", "How latencies are distributed", value, Plot::Heat(across, columns));
    chart.noted(note).concerning(SERVED).with_at_least(1)
}

/// The buckets of a histogram in cells of equal ratio.
fn cells(metric: &Metric) -> Vec<(f64, f64, u64)> {
    let scale = metric.unit.nanoseconds().unwrap_or(1.0);
    let mut cells: Vec<(i64, u64)> = Vec::new();
    for (value, count) in metric.histogram.iter().filter(|(value, _)| *value > 0.0) {
        let index = ((value * scale).log10() * CELLS_PER_DECADE).floor() as i64;
        match cells.last_mut() {
            Some((last, sum)) if *last == index => *sum += count,
            _ => cells.push((index, *count)),
        }
    }
    let edge = |index: i64| 10_f64.powf(index as f64 / CELLS_PER_DECADE);
    cells.into_iter().map(|(index, count)| (edge(index), edge(index + 1), count)).collect()
}

#[cfg(test)]
mod tests {
    use measure::Parameters;

    use super::*;

    #[test]
    fn the_first_place_behind_an_offset_is_not_said_to_be_the_first_byte() {
        let label = |offset: u64| {
            let place = |behind: u64| Case::new(Parameters::from_iter([parameters::OFFSET.of(offset + behind)]));
            let cases = [0, 1 << 30].map(place);
            behind_offset(&cases.iter().collect::<Vec<_>>()).map(|axis| axis.label)
        };
        assert_eq!(label(0), None);
        assert_eq!(label(100 << 30).as_deref(), Some("position (0 % is at offset 100 GiB)"));
    }
}
