//! Nested loops as charts: the wait by method, and what a method gains by size, by order of the rows and in flight.

use measure::compare::ratio_interval;
use measure::schema::Published;
use measure::schema::join::{self, parameters};
use measure::sorting;
use measure::{Case, Run, Unit};

use super::{CURVE_MIN, OTHER_ROWS, SIZES, alone, figures, gain, is_alone, rand};
use crate::body::drawing::{Beside, Drawing, RANGE, figure, median, published, ratio, way};
use crate::body::subjects::{subject, subjects, values};
use crate::page::parameters::cell;
use crate::page::wording::joined;
use crate::page::{Axis, Chart, Datum, Key, Line, Plot, Shape};

/// What a gain is, and what its range is.
const GAIN: &str = "Median wait of one at a time, divided by the median with batching or prefetching.";
const INTERVAL: &str = "95 % interval, by resampling, where there are five joins or more";

/// What is drawn of nested loops.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let joins: Vec<&Case> = run.cases.iter().filter(|case| parameters::METHOD.in_case(case).is_some()).collect();
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(waits(&joins));
    charts.extend(elapsed(&joins));
    charts.extend(saturation(&joins));
    charts.extend(by_order(&joins));
    // Gains count within a subject: the server's, where the run was of one.
    let asked = subjects(&joins).into_iter().next_back().unwrap_or_default();
    let own: Vec<&Case> = joins.iter().copied().filter(|case| subject(case) == asked).collect();
    let gain = |case: &Case| gain(case, &own, &join::IO_TIME);
    let best = own.iter().copied().filter(|case| gain(case).is_some());
    let best = best.max_by(|one, other| gain(one).unwrap_or(0.0).total_cmp(&gain(other).unwrap_or(0.0)));
    // The gain of the best counts from the joins of the same rows that read in the same way.
    let alone = match best {
        Some(best) => alone(best, &own),
        None => own.iter().copied().find(|case| is_alone(case) && join::IO_TIME.in_case(case).is_some()),
    };
    let shown = |case: Option<&Case>| {
        let what = joined([method(case?), order_among(case?, &own), startup_among(case?, &own)], ", ");
        median(case?, &join::IO_TIME).map(|datum| figure(format!("wait of {what}"), Unit::Nanoseconds, &datum))
    };
    let times = alone.zip(best).and_then(|(alone, best)| {
        let (slow, fast) = (join::IO_TIME.nanos(alone)?, join::IO_TIME.nanos(best)?);
        ratio("wait of one at a time over the shortest one", slow, fast, "the two medians, divided")
    });
    let figures = [shown(alone), shown(best), times];
    Drawing::new(figures, charts)
}

/// What a server's reads go through, which those of the engine go past.
const THROUGH_CACHE: &str = "All reads of the server go through the page cache of the operating system.";

/// Methods of batching and prefetching, with what they do.
const METHODS: [(&str, &str); 4] = [
    ("prefetch", "reads ahead for the next rows"),
    ("awaited-batch", "reads for all rows of a batch, and waits for all"),
    ("batch", "hands on the rows of a batch while it reads for the next one"),
    (
        "batched-rowid",
        "reads for the rows of a batch in the order of their blocks, while it hands on those of the last one",
    ),
];

/// What the methods among these do.
fn methods(cases: &[&Case]) -> String {
    let is_there = |name: &str| cases.iter().any(|case| super::method(case) == name);
    let known = METHODS.iter().filter(|(name, _)| is_there(name));
    let known = joined(known.map(|(name, what)| format!("{name}: {what}")), "; ");
    if known.is_empty() { known } else { format!("{known}.") }
}

/// A method with its sizes.
fn method(case: &Case) -> String {
    let size = SIZES.iter().find_map(|name| Some(cell(case, name)).filter(|size| !size.is_empty()));
    let size = size.map_or(String::new(), |size| format!(", {size} {}", if size == "1" { "row" } else { "rows" }));
    let ahead = Some(cell(case, parameters::EFFECTIVE_IO_CONCURRENCY.name)).filter(|depth| !depth.is_empty());
    let ahead = ahead.map_or(String::new(), |depth| format!(", effective_io_concurrency {depth}"));
    format!("{}{size}{ahead}", super::method(case))
}

fn order(case: &Case) -> String {
    format!("{} % of the rows out of order", rand(case))
}

/// The order of the rows, where there are several.
fn order_among(case: &Case, cases: &[&Case]) -> String {
    if values(cases, rand).len() > 1 { order(case) } else { String::new() }
}

/// How the server was started, where that differs among the joins of a subject.
fn startup_among(case: &Case, cases: &[&Case]) -> String {
    let differs = |name: &str| differs(case, cases, name);
    let method = Some(cell(case, parameters::IO_METHOD.name)).filter(|_| differs(parameters::IO_METHOD.name));
    let way = if differs(parameters::DIRECT.name) { way(case) } else { "" };
    joined([method.map_or(String::new(), |method| format!("io_method {method}")), way.into()], ", ")
}

/// Whether joins of a case's subject have other values of a parameter.
fn differs(case: &Case, cases: &[&Case], name: &str) -> bool {
    cases.iter().any(|other| subject(other) == subject(case) && cell(other, name) != cell(case, name))
}

/// What stands over the bars of the joins of a subject: without what all of them have in common.
fn group(case: &Case, cases: &[&Case]) -> String {
    joined([subject(case), order_among(case, cases), startup_among(case, cases)], ", ")
}

/// The wait of each method, with the published ones where they are of the same question.
fn waits(joins: &[&Case]) -> Option<Chart> {
    let beside = |case: &Case| -> Vec<(&'static str, Datum)> {
        let name = |figure: &Published| match figure.what {
            join::HARD_DISK => "published, hard disk",
            _ => "published, solid-state disk",
        };
        figures(&join::IO_TIME, case).into_iter().map(|figure| (name(figure), published(figure))).collect()
    };
    let timed: Vec<&Case> = joins.iter().copied().filter(|case| join::IO_TIME.in_case(case).is_some()).collect();
    let with_published = values(&timed, rand).len() == 1;
    let chart = Beside {
        cases: &timed,
        group: &|case| group(case, &timed),
        label: &method,
        subject: &|_| String::new(),
        value: &|case| median(case, &join::IO_TIME),
        published: &|case| if with_published { beside(case) } else { Vec::new() },
    };
    let what = "time waited for reads";
    let axis = match with_published {
        true => Axis::logarithmic(what, Unit::Nanoseconds),
        false => Axis::linear(what, Unit::Nanoseconds),
    };
    let chart = chart.chart("join-wait", "How long a nested loop waits for reads, by method", axis)?;
    let of_server = |case: &&&Case| parameters::EFFECTIVE_IO_CONCURRENCY.in_case(case).is_some();
    let direct = values(&timed.iter().filter(of_server).copied().collect::<Vec<_>>(), |case| {
        cell(case, parameters::DIRECT.name)
    });
    chart
        .noted("Median of the joins.")
        .about_published(OTHER_ROWS)
        .noted(methods(&timed))
        .noted(if direct == ["false"] { THROUGH_CACHE } else { "" })
        .thin_line(RANGE)
        .concerning(&[
            "answer-*",
            "not-all-cold",
            "core-*",
            "stolen-*",
            "cpu-*",
            "joins-scatter",
            "virtual-time",
            "cold",
        ])
        .with_at_least(2)
}

/// Elapsed time of the methods of subjects that do not tell their waits: SQLite, and servers that do not time reads.
fn elapsed(joins: &[&Case]) -> Option<Chart> {
    let untimed: Vec<&Case> = joins.iter().copied().filter(|case| join::IO_TIME.in_case(case).is_none()).collect();
    let chart = Beside {
        cases: &untimed,
        group: &|case| group(case, &untimed),
        label: &method,
        subject: &|_| String::new(),
        value: &|case| median(case, &join::ELAPSED),
        published: &|_| Vec::new(),
    };
    let chart = chart.chart(
        "join-elapsed",
        "How long a join takes, by method",
        Axis::linear("elapsed time", Unit::Nanoseconds),
    )?;
    chart
        .noted("Median of the joins.")
        .thin_line(RANGE)
        .concerning(&["answer-server-*", "buffers-not-emptied", "page-cache-not-emptied"])
        .with_at_least(2)
}

/// A line for each method that `line` names, over a number that varies among its cases.
fn curves(
    joins: &[&Case],
    x: impl Fn(&Case) -> Option<f64>,
    line: impl Fn(&Case) -> String,
    least: usize,
) -> (Vec<Key>, Vec<Line>) {
    let value = |case: &Case| gain(case, joins, &join::IO_TIME);
    // How far the ratio moves when the joins of both sides are drawn again.
    let range = |case: &Case| {
        let alone = alone(case, joins)?;
        let pair = (join::IO_TIME.in_case(case)?, join::IO_TIME.in_case(alone)?);
        ratio_interval((case, pair.0), (alone, pair.1))
    };
    let mut keys = Vec::new();
    let mut lines = Vec::new();
    // Once each: to tell what differs among the joins takes a look at all of them.
    let named: Vec<String> = joins.iter().map(|case| line(case)).collect();
    let names = sorting::each_once(named.iter().map(String::as_str));
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let here = joins.iter().zip(&named).filter(|(_, of)| *of == name).map(|(case, _)| case);
        let point = |case: &&&Case| {
            let n = join::IO_TIME.in_case(case)?.statistics.n;
            let how = "median wait of one at a time over that of this one; range: 95 % of resamplings of both";
            Some((x(case)?, Datum { n: Some(n), range: range(case), ..Datum::made(value(case)?, how) }))
        };
        let mut points: Vec<(f64, Datum)> = here.filter_map(|case| point(&case)).collect();
        sorting::by(&mut points, |one, other| one.0.total_cmp(&other.0));
        points.dedup_by(|one, other| one.0 == other.0);
        if points.len() >= least {
            lines.push(Line { key: keys.len(), shape: Shape::Marked, points });
            keys.push(Key::measured(name));
        }
    }
    (keys, lines)
}

/// What more rows at once gain.
fn saturation(joins: &[&Case]) -> Option<Chart> {
    let size = |case: &Case| SIZES.iter().find_map(|name| case.parameters.get(*name)?.as_f64());
    let is_one_order = values(joins, rand).len() == 1;
    let line = |case: &Case| {
        let order = if is_one_order { String::new() } else { format!(", {}", order(case)) };
        format!("{} {}{order}", subject(case), super::method(case)).trim().to_string()
    };
    let (keys, lines) = curves(joins, size, line, CURVE_MIN);
    let across = Axis::logarithmic("rows at once", Unit::Count);
    let value = Axis::linear("times less waiting than one at a time", Unit::Ratio);
    let chart = Chart::new("join-saturation", "What more rows at once gain", value, Plot::lines(across, lines));
    let chart = chart.keyed(keys).noted(GAIN).noted(methods(joins));
    chart.thin_line(INTERVAL).concerning(&["answer-saturation"]).with_at_least(CURVE_MIN)
}

/// What the order of the rows has to do with it.
fn by_order(joins: &[&Case]) -> Option<Chart> {
    let percent = |case: &Case| rand(case).parse::<f64>().ok();
    let line = |case: &Case| {
        let name = format!("{} {}", subject(case), method(case));
        if is_alone(case) { String::new() } else { joined([name.trim(), startup_among(case, joins).as_str()], ", ") }
    };
    let (keys, lines) = curves(joins, percent, line, 3);
    let across = Axis::linear("rows out of order", Unit::Percent);
    let value = Axis::linear("times less waiting than one at a time", Unit::Ratio);
    let title = "What batching or prefetching gains, by the part of the rows that is out of order";
    let chart = Chart::new("join-order", title, value, Plot::lines(across, lines));
    chart.keyed(keys).noted(GAIN).noted(methods(joins)).thin_line(INTERVAL).with_at_least(3)
}
