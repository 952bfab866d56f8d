//! Round trips as a chart: the tier that served each pass, with the published figures.

use measure::quantity::counted;
use measure::schema::roundtrip::{self, parameters};
use measure::schema::{Parameter, reads};
use measure::{Case, Metric, Run, Unit};

use super::is_comparable;
use crate::body::drawing::{Beside, Drawing, OF_READS, figure, published, range_of, way};
use crate::body::subjects::subject;
use crate::page::parameters::{cell, varying};
use crate::page::wording::joined;
use crate::page::{Axis, Datum};

/// The pass that reads the blocks of the first touch again, past the page cache.
const AGAIN: &str = "storage-cached";

/// The tiers of devices that no kernel reads: such a device has no page cache, and no witness of which tier answered.
const MODELLED: &str = "model";
const WITHOUT_KERNEL: [&str; 2] = [MODELLED, "null"];

/// What is drawn of round trips.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let value = Axis::logarithmic("latency of a read", Unit::Nanoseconds);
    let pass = |case: &Case| {
        let tier = parameters::TIER.in_case(case).unwrap_or_else(|| "tier not known".into()).replace('-', " ");
        let pass = cell(case, parameters::PASS.name).replace('-', " ");
        if is_without_kernel(&[case]) {
            return if cell(case, parameters::PASS.name) == AGAIN { "read again".into() } else { pass };
        }
        if pass.starts_with(&tier) { tier } else { format!("{pass}: {tier}") }
    };
    // A server that can be started in two ways has one pass in both.
    let is_in_two_ways = |case: &Case| {
        let is_same = |other: &Case, name: &str| cell(other, name) == cell(case, name);
        cases.iter().any(|other| is_same(other, parameters::PASS.name) && !is_same(other, parameters::DIRECT.name))
    };
    let label = |case: &Case| {
        let segment = reads::parameters::SEGMENT.in_case(case).unwrap_or_default().replace('-', " ");
        joined([pass(case).as_str(), if is_in_two_ways(case) { way(case) } else { "" }, segment.as_str()], ", ")
    };
    let is_one = !varying(&cases).contains(&parameters::PATH.name);
    let path = |case: &Case| if is_one { String::new() } else { cell(case, parameters::PATH.name) };
    let group = |case: &Case| {
        let requests = match cell(case, parameters::BLOCKS_PER_READ.name).as_str() {
            "1" | "" => format!("one block a read{}", reads(case)),
            count => format!("{count} blocks a read{}", reads(case)),
        };
        joined([path(case), requests], ", ")
    };
    let latency = |case: &Case| metric(case).map(Datum::median);
    let beside = Beside {
        cases: &cases,
        group: &group,
        label: &label,
        subject: &subject,
        value: &latency,
        published: &|case| published_beside(case),
    };
    let is_model = cases.iter().all(|case| tier(case) == MODELLED);
    let title = if is_model {
        "How long a read takes on a modelled disk"
    } else if is_without_kernel(&cases) {
        "How long a read takes"
    } else {
        "How long a read takes, and which tier answered"
    };
    let chart = beside.chart("roundtrip", title, value);
    let chart = chart.map(|chart| {
        let model = if is_model { MODEL } else { "" };
        chart
            .of_medians()
            .noted(passes(&cases))
            .noted(model)
            .about_published("Outlined marks are published figures of other storage.")
            .thin_line(range_of(OF_READS, cases.iter().filter_map(|case| metric(case))))
            .concerning(&["answer-*", "tier-unknown", "absent-*", "lazily-loaded"])
    });
    let one = |case: &&&Case| ["1", ""].contains(&cell(case, parameters::BLOCKS_PER_READ.name).as_str());
    let named = |case: &Case| joined([label(case), path(case)], ", ");
    let figures = cases.iter().filter(one).map(|case| Some(figure(named(case), Unit::Nanoseconds, &latency(case)?)));
    let figures: Vec<_> = figures.collect();
    Drawing::new(figures, chart.into_iter().collect())
}

/// The latency of a case, or its upper bound.
fn metric(case: &Case) -> Option<&Metric> {
    reads::READ_LATENCY.in_case(case).or(roundtrip::READ_LATENCY_AT_MOST.in_case(case))
}

/// The tier that served a case's reads; empty where it is not known.
fn tier(case: &Case) -> String {
    cell(case, parameters::TIER.name)
}

/// Whether no kernel reads what was measured.
fn is_without_kernel(cases: &[&Case]) -> bool {
    cases.iter().all(|case| WITHOUT_KERNEL.contains(&tier(case).as_str()))
}

/// How many reads of a model a pass has: whether its buffer holds them depends on it.
fn reads(case: &Case) -> String {
    let number = |one: Parameter| case.value(one.name)?.as_u64().filter(|number| *number > 0);
    match number(parameters::BLOCKS).zip(number(parameters::BLOCKS_PER_READ)) {
        Some((blocks, per_read)) if tier(case) == MODELLED => {
            format!(", {} a pass", counted(blocks / per_read, "read", "reads"))
        }
        _ => String::new(),
    }
}

/// What a model has of a storage's cache.
const MODEL: &str = "The model has a buffer for a few of the last reads and no other cache: what was pushed out takes \
                     as long as at the first touch.";

/// What the passes are that the rows are named after.
fn passes(cases: &[&Case]) -> &'static str {
    let is_there = |pass: &str| cases.iter().any(|case| cell(case, parameters::PASS.name) == pass);
    match (is_there("first-touch"), is_there(AGAIN)) {
        (true, true) if is_without_kernel(cases) => {
            "First touch: blocks that were not read before; read again: the same blocks."
        }
        (true, true) => {
            "First touch: blocks that were not read before; storage cached: the same blocks again, past the page cache."
        }
        (true, false) => "First touch: blocks that were not read before.",
        _ => "",
    }
}

fn published_beside(case: &Case) -> Vec<(&'static str, Datum)> {
    if !is_comparable(case) {
        return Vec::new();
    }
    let latency = &reads::READ_LATENCY;
    roundtrip::EXPERIMENT.published(&latency.name, case).map(|figure| (figure.what, published(figure))).collect()
}

#[cfg(test)]
mod tests {
    use measure::Parameters;
    use serde_json::Value;

    use super::*;
    use crate::page::Plot;

    /// The chart of two passes that this tier served.
    fn drawn(tier: &str) -> (String, String, Vec<String>) {
        let case = |pass: &str| {
            let given = [parameters::PASS.of(pass), parameters::TIER.of(tier), parameters::BLOCKS_PER_READ.of(1)];
            let metrics = reads::READ_LATENCY.of_samples("clock", &[20.0, 30.0]).into_iter().collect();
            Case { metrics, ..Case::new(Parameters::from_iter(given)) }
        };
        let run = Run { cases: ["first-touch", AGAIN].map(case).into(), ..Run::default() };
        let drawing = drawing(&run);
        let chart = drawing.charts.into_iter().next().expect("two passes make a chart");
        let labels = drawing.figures.into_iter().map(|figure| figure.what);
        (chart.title, chart.note.unwrap_or_default(), labels.collect())
    }

    #[test]
    fn rows_of_several_paths_are_told_apart() {
        let case = |path: &str| {
            let given = [
                parameters::PATH.of(path),
                parameters::PASS.of("first-touch"),
                parameters::TIER.of("storage"),
                parameters::BLOCKS_PER_READ.of(1),
            ];
            let metrics = reads::READ_LATENCY.of_samples("clock", &[20.0, 30.0]).into_iter().collect();
            Case { metrics, ..Case::new(Parameters::from_iter(given)) }
        };
        let drawn = |paths: &[&str]| {
            let drawing = drawing(&Run { cases: paths.iter().map(|path| case(path)).collect(), ..Run::default() });
            let Some(Plot::Rows(rows)) = drawing.charts.into_iter().next().map(|chart| chart.plot) else {
                panic!("passes make rows")
            };
            let groups: Vec<String> = rows.into_iter().map(|row| row.group).collect();
            let figures: Vec<String> = drawing.figures.into_iter().map(|figure| figure.what).collect();
            (groups, figures)
        };
        let (groups, figures) = drawn(&["/data/a", "/data/b"]);
        assert_eq!(groups, ["/data/a, one block a read", "/data/b, one block a read"]);
        assert_eq!(figures, ["first touch: storage, /data/a", "first touch: storage, /data/b"]);
        let (groups, figures) = drawn(&["/data/a"]);
        assert_eq!((groups, figures), (vec!["one block a read".into()], vec!["first touch: storage".into()]));
    }

    #[test]
    fn a_pass_in_two_ways_and_one_whose_rate_changed_are_no_bars_without_a_name() {
        let case = |more: (String, Value)| {
            let of_pass = [parameters::PASS.of(AGAIN), parameters::TIER.of("storage"), more];
            let metrics = reads::READ_LATENCY.of_samples("clock", &[20.0, 30.0]).into_iter().collect();
            Case { metrics, ..Case::new(Parameters::from_iter(of_pass)) }
        };
        let named = |several: Vec<(String, Value)>| {
            let run = Run { cases: several.into_iter().map(case).collect(), ..Run::default() };
            drawing(&run).figures.into_iter().map(|figure| figure.what).collect::<Vec<String>>()
        };
        let of_server = named(vec![parameters::DIRECT.of(false), parameters::DIRECT.of(true)]);
        assert_eq!(of_server, ["storage, through the page cache", "storage, past the page cache"]);
        assert_eq!(named(vec![parameters::DIRECT.of(true)]), ["storage"]);
        let segment = reads::parameters::SEGMENT;
        let changed = named(vec![segment.of("before-change"), segment.of("after-change")]);
        assert_eq!(changed, ["storage, before change", "storage, after change"]);
    }

    #[test]
    fn a_device_that_no_kernel_reads_has_no_cached_pass_past_a_page_cache() {
        let (title, note, labels) = drawn("null");
        assert_eq!(title, "How long a read takes");
        assert!(note.contains("read again: the same blocks.") && !note.contains("cache"), "{note}");
        assert_eq!(labels, ["first touch", "read again"]);
        let (title, note, labels) = drawn("model");
        assert!(title.contains("modelled disk") && note.contains(MODEL), "{title} {note}");
        assert_eq!(labels, ["first touch", "read again"]);
        let (title, note, labels) = drawn("storage");
        assert!(title.contains("which tier") && note.contains("past the page cache"), "{title} {note}");
        assert_eq!(labels, ["first touch: storage", "storage"]);
    }
}
