//! Two runs side by side: medians, ratio, its interval, and whether the samples support a difference.

use measure::compare::{CaseComparison, Change, Comparison, MetricComparison, Unmatched, Verdict};
use measure::{Finding, Parameters, Unit};

use crate::body::subject;
use crate::page::number::{range, ratio};
use crate::page::parameters::{phrase, shown};
use crate::page::{Align, Cell, Page, Section, Table};

/// Metrics that say what a run did and not what a read costs: in JSON and CSV, not on the page.
const BOOKKEEPING: [&str; 11] = [
    "reads",
    "warm_up_reads",
    "warm_up_latency",
    "bytes_issued",
    "bytes_fetched",
    "bytes_delivered",
    "device_reads",
    "cached_before",
    "nowait_answered",
    "core_clock",
    "core_additions",
];

/// What the last column means, once for the whole table.
const LEGEND: &str = "Medians, of rates means. Ratios are second by first, with the interval that 95 % of \
                      resamplings of each run's own samples stay in. Differences between runs that no run can see \
                      (placement, neighbours, temperature) are not in it: repeat both runs to be sure. A side with \
                      one sample or too few of them has no interval: repeat the case. What a run did (reads, bytes) \
                      and the state of the core (core_clock in GHz, core_additions a cycle) are in --format json and \
                      csv.";

/// What is said where a run says of itself that it was disturbed.
const DISTURBED: &str = "Disturbed: the values differ by more than their noise, but by its own warnings below one of \
                         the runs shared the machine while it measured this case. Repeat that run.";

/// The page of a comparison.
pub(crate) fn page(comparison: &Comparison) -> Page {
    let (first, second) = &comparison.experiments;
    if first != second {
        let sentence = format!(
            "The first run is of {first}, the second of {second}: they measure different things, and nothing of them \
             compares. Name two runs of one experiment; `readpath runs` lists them."
        );
        return Page { sections: vec![head(comparison), Section::Text(sentence)] };
    }
    let mut sections = vec![head(comparison)];
    if is_same(comparison) {
        let sentence = "Both are the same run, so there is nothing to compare: `readpath runs` lists others.";
        sections.push(Section::Text(sentence.into()));
        return Page { sections };
    }
    let names = varying_names(comparison);
    if comparison.cases.iter().any(|case| !case.metrics.is_empty()) {
        sections.extend([Section::Table(table(comparison, &names)), Section::Note(LEGEND.into())]);
        let mut shown = comparison.cases.iter().flat_map(shown_metrics);
        let is_disturbed = shown.any(|metric| metric.verdict == Verdict::Disturbed);
        sections.extend(is_disturbed.then(|| Section::Note(DISTURBED.into())));
    } else {
        sections.push(Section::Text("The runs have no case in common.".into()));
    }
    sections.extend(alone("Only in the first run:", &comparison.only_before, &names));
    sections.extend(alone("Only in the second run:", &comparison.only_after, &names));
    let (first, second) = &comparison.warnings;
    if first == second {
        sections.extend(warnings("Warnings of both runs:", first));
    } else {
        sections.extend(warnings("Warnings of the first run:", first));
        sections.extend(warnings("Warnings of the second run:", second));
    }
    Page { sections }
}

/// Whether a run is held against itself, and not against a changed copy of its document.
fn is_same(comparison: &Comparison) -> bool {
    let mut metrics = comparison.cases.iter().flat_map(|case| &case.metrics);
    comparison.before == comparison.after
        && comparison.only_before.is_empty()
        && comparison.only_after.is_empty()
        && metrics.all(|metric| metric.before == metric.after)
}

/// A difference beyond the noise, as cells.
pub(crate) struct Difference {
    pub(crate) case: String,
    pub(crate) metric: String,
    pub(crate) before: Cell,
    pub(crate) after: Cell,
    pub(crate) ratio: Option<Cell>,
    pub(crate) interval: Option<Cell>,
}

/// The values that differ by more than their noise, those that differ most first.
pub(crate) fn differing(comparison: &Comparison) -> Vec<Difference> {
    let names = varying_names(comparison);
    let of = |case| shown_metrics(case).map(move |metric| (case, metric));
    let all = comparison.cases.iter().flat_map(of);
    let mut rows: Vec<(&CaseComparison, &MetricComparison)> =
        all.filter(|(_, metric)| metric.verdict == Verdict::Differs).collect();
    let size = |metric: &MetricComparison| metric.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    rows.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    let difference = |(case, metric): (&CaseComparison, &MetricComparison)| Difference {
        case: case_text(case, &names),
        metric: metric.name.clone(),
        before: Cell::quantity(metric.before, metric.unit),
        after: Cell::quantity(metric.after, metric.unit),
        ratio: metric.ratio.map(|value| Cell::number(ratio(value), value, Unit::Ratio)),
        interval: interval(metric),
    };
    rows.into_iter().map(difference).collect()
}

/// The interval of a ratio.
fn interval(metric: &MetricComparison) -> Option<Cell> {
    let (low, high) = metric.interval?;
    Some(Cell { spread: Some((low, high)), ..range(&ratio(low), &ratio(high)).into() })
}

/// What was measured, and each run with where it was.
fn head(comparison: &Comparison) -> Section {
    let run = |name: &str, id: &str, place: Option<String>| {
        format!("{name} {id}{}", place.map_or(String::new(), |place| format!(", on {place}")))
    };
    let (first, second) = &comparison.experiments;
    let experiment = if first == second { first.clone() } else { format!("{first} and {second}") };
    let runs = [
        run("first", &comparison.before, subject(&comparison.subjects.0)),
        run("second", &comparison.after, subject(&comparison.subjects.1)),
    ];
    Section::Head {
        title: format!("readpath compare   {experiment}"),
        facts: Vec::new(),
        settings: runs.into_iter().chain(comparison.changes.iter().map(change_text)).collect(),
    }
}

/// What a run warned of holds for its figures here too.
fn warnings(title: &str, warnings: &[Finding]) -> Option<Section> {
    let items: Vec<String> = warnings.iter().map(|warning| warning.message.clone()).collect();
    (!items.is_empty()).then(|| Section::List { heading: Some(title.into()), items, indent: 2 })
}

fn change_text(change: &Change) -> String {
    let text = |value: &Option<_>| value.as_ref().map_or("none".into(), |value| shown(&change.parameter, value));
    format!("{}: first {}, second {}", change.parameter, text(&change.before), text(&change.after))
}

fn table(comparison: &Comparison, names: &[&str]) -> Table {
    let of = |case| shown_metrics(case).map(move |metric| (case, metric));
    let rows: Vec<(&CaseComparison, &MetricComparison)> = comparison.cases.iter().flat_map(of).collect();
    Table::over(&rows)
        .column("metric", Align::Left, |(_, metric)| metric.name.clone())
        .column("first", Align::Right, |(_, metric)| Cell::quantity(metric.before, metric.unit))
        .column("second", Align::Right, |(_, metric)| Cell::quantity(metric.after, metric.unit))
        .column("ratio", Align::Decimal, |(_, metric)| {
            Cell::or_absent(metric.ratio.map(|value| Cell::number(ratio(value), value, Unit::Ratio)))
        })
        .column("95 %", Align::Left, |(_, metric)| interval(metric))
        .column("verdict", Align::Left, |(_, metric)| verdict(metric))
        .groups(|(case, _)| case_text(case, names))
        .done()
}

/// What tells a case apart, and what both runs found of it where that differs.
fn case_text(case: &CaseComparison, names: &[&str]) -> String {
    let is_outcome = |name: &str| case.outcomes.iter().any(|change| change.parameter == name);
    let names: Vec<&str> = names.iter().copied().filter(|name| !is_outcome(name)).collect();
    let texts = [phrase(&case.parameters, &names)].into_iter().chain(case.outcomes.iter().map(change_text));
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

fn shown_metrics(case: &CaseComparison) -> impl Iterator<Item = &MetricComparison> {
    case.metrics.iter().filter(|metric| !BOOKKEEPING.contains(&metric.name.as_str()))
}

fn verdict(metric: &MetricComparison) -> &'static str {
    match metric.verdict {
        Verdict::Differs => "differs",
        Verdict::Disturbed => "disturbed",
        Verdict::WithinNoise => "within noise",
        Verdict::TooFewSamples => "too few",
        Verdict::OneSampleEach => "one each",
        Verdict::NoRatio => "no ratio",
    }
}

/// The cases and metrics of one side, one a line.
fn alone(title: &str, unmatched: &[Unmatched], names: &[&str]) -> Option<Section> {
    let line = |one: &Unmatched| {
        let case = Some(phrase(&one.parameters, names)).filter(|text| !text.is_empty());
        let text = [case, one.metric.clone()].into_iter().flatten().collect::<Vec<_>>().join(": ");
        if text.is_empty() { "one case".into() } else { text }
    };
    let is_shown = |one: &&Unmatched| one.metric.as_deref().is_none_or(|metric| !BOOKKEEPING.contains(&metric));
    let items: Vec<String> = unmatched.iter().filter(is_shown).map(line).collect();
    (!items.is_empty()).then(|| Section::List { heading: Some(title.into()), items, indent: 2 })
}

/// The parameters that tell the cases of both runs apart.
fn varying_names(comparison: &Comparison) -> Vec<&str> {
    let alone = comparison.only_before.iter().chain(&comparison.only_after).map(|one| &one.parameters);
    let all: Vec<&Parameters> = comparison.cases.iter().map(|case| &case.parameters).chain(alone).collect();
    let is_set_aside = |name: &str| comparison.changes.iter().any(|change| change.parameter == name);
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in all.iter().flat_map(|parameters| parameters.iter()) {
        let is_shared = all.iter().all(|parameters| parameters.get(name) == Some(value));
        if !is_shared && !is_set_aside(name) && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}
