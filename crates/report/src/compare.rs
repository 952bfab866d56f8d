//! Two runs side by side: medians, ratio, its interval, and whether the samples support a difference.

use measure::Parameters;
use measure::compare::{CaseComparison, Change, Comparison, MetricComparison, Unmatched, Verdict};

use crate::number::{ABSENT, ratio, with_unit};
use crate::parameters::{phrase, shown};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::{shorten, wrap};

/// Metrics that tell what a run did and not what a read costs: in JSON and CSV, not on the page.
const BOOKKEEPING: [&str; 9] = [
    "reads",
    "warm_up_reads",
    "warm_up_latency",
    "bytes_issued",
    "bytes_fetched",
    "bytes_delivered",
    "device_reads",
    "cached_before",
    "nowait_answered",
];

/// What the last column means, once for the whole table.
const LEGEND: &str = "Ratios are second by first, with the interval that 95 % of resamplings of each run's own samples \
                      stay in. Differences between runs that no run can see (placement, neighbours, temperature) are \
                      not in it: repeat both runs to be sure. A side with one sample or too few of them has no \
                      interval: repeat the case.";

/// The whole comparison as text for people, ending in a newline.
pub fn render(comparison: &Comparison, style: &Style) -> String {
    let (first, second) = &comparison.experiments;
    if first != second {
        let sentence = format!(
            "The first run is of {first}, the second of {second}: they measure different things, and nothing of them \
             compares. Name two runs of one experiment; `readpath runs` lists them."
        );
        return style.finish(&crate::join_sections(&[head(comparison, style), wrap(&sentence, style.width, 0)]));
    }
    let names = varying_names(comparison);
    let body = if comparison.cases.iter().any(|case| !case.metrics.is_empty()) {
        format!("{}\n\n{}", table(comparison, &names, style), wrap(LEGEND, style.width, 0))
    } else {
        "The runs have no case in common.".into()
    };
    let same = comparison.before == comparison.after;
    let sections = [
        head(comparison, style),
        if same { "Both are the same run.".into() } else { String::new() },
        body,
        alone("Only in the first run", &comparison.only_before, &names, style),
        alone("Only in the second run", &comparison.only_after, &names, style),
    ];
    style.finish(&crate::join_sections(&sections))
}

fn head(comparison: &Comparison, style: &Style) -> String {
    let title = format!("readpath compare   first {}", comparison.before);
    let mut lines = vec![style.bold(&shorten(&title, style.width))];
    lines.push(shorten(&format!("{:17}  second {}", "", comparison.after), style.width));
    lines.extend(comparison.changes.iter().map(|change| wrap(&change_text(change), style.width, 2)));
    lines.join("\n")
}

fn change_text(change: &Change) -> String {
    let text = |value: &Option<_>| value.as_ref().map_or("none".into(), |value| shown(&change.parameter, value));
    format!("{}: first {}, second {}", change.parameter, text(&change.before), text(&change.after))
}

fn table(comparison: &Comparison, names: &[&str], style: &Style) -> String {
    let mut table = Table::new()
        .column("metric", Align::Left)
        .column("first", Align::Right)
        .column("second", Align::Right)
        .column("ratio", Align::Decimal)
        .column("95 %", Align::Left)
        .column("verdict", Align::Left);
    for case in &comparison.cases {
        add_case(&mut table, case, names);
    }
    table.render(style)
}

fn add_case(table: &mut Table, case: &CaseComparison, names: &[&str]) {
    table.title(&phrase(&case.parameters, names));
    for metric in case.metrics.iter().filter(|metric| !BOOKKEEPING.contains(&metric.name.as_str())) {
        let interval = metric.interval.map(|(low, high)| format!("{}–{}", ratio(low), ratio(high)));
        table.row([
            metric.name.clone(),
            with_unit(metric.before, metric.unit),
            with_unit(metric.after, metric.unit),
            metric.ratio.map_or(ABSENT.into(), ratio),
            interval.unwrap_or_default(),
            verdict(metric).into(),
        ]);
    }
}

fn verdict(metric: &MetricComparison) -> &'static str {
    match metric.verdict {
        Verdict::Differs => "differs",
        Verdict::WithinNoise => "within noise",
        Verdict::TooFewSamples => "too few",
        Verdict::OneSampleEach => "one each",
        Verdict::NoRatio => "no ratio",
    }
}

/// The cases and metrics of one side, one a line.
fn alone(title: &str, unmatched: &[Unmatched], names: &[&str], style: &Style) -> String {
    let line = |one: &Unmatched| {
        let case = Some(phrase(&one.parameters, names)).filter(|text| !text.is_empty());
        let text = [case, one.metric.clone()].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let text = if text.is_empty() { "one case" } else { &text };
        format!("  {}", wrap(text, style.width.saturating_sub(2), 4))
    };
    let lines: Vec<String> = unmatched.iter().map(line).collect();
    if lines.is_empty() { String::new() } else { format!("{title}:\n{}", lines.join("\n")) }
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
