//! Two runs side by side: medians, ratio, its interval, and whether the samples support a difference.

use std::collections::{BTreeSet, HashSet};

use measure::compare::{CaseComparison, Change, Comparison, MetricComparison, Unmatched, Verdict};
use measure::quantity::THIN_SPACE;
use measure::sorting;
use measure::{Finding, Parameters, Run, Unit};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::beside;
use crate::body::{processor, subject as subject_of};
use crate::page::number::{RATIO_DECIMALS, range, ratio_to};
use crate::page::parameters::{in_full, phrase, phrase_in_full, shown, varying_among, with_unit};
use crate::page::{Align, Cell, Key, Page, Section, Table};

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
const LEGEND: &str = "Medians; for rates, means. Ratios are second over first, with the 95 % interval from \
                      resampling each run's own samples. Differences between runs that no run can see (placement, \
                      neighbours, temperature) are not in it: repeat both runs to be sure. A side with one sample or \
                      too few of them has no interval: repeat the case. What a run did (reads, bytes) and the state \
                      of the core (core_clock in GHz, core_additions a cycle) are in --format json and csv.";

/// Two runs and their comparison. A program gets the comparison alone: it has the runs.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// The runs, in its order.
    pub runs: [&'a Run; 2],
}

impl Serialize for Compared<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.comparison.serialize(serializer)
    }
}

/// What is said where a run says of itself that it was disturbed.
const DISTURBED: &str = "Disturbed: according to the warnings below whose numbers follow it, one of the runs shared \
                         the machine while it measured this case, which can make a difference or hide one. Repeat \
                         that run.";

/// What a number behind any other verdict means.
const NAMED: &str = "A number after a verdict is the number of the warning below that concerns the case.";

/// Values of a parameter that a sentence names.
const VALUES_NAMED: usize = 4;

/// Most digits after the point of a ratio that is said to differ from 1.
const DECIMALS_MAX: usize = 6;

/// The rung of a ladder that stands in front already.
const BEST_DEPTH: &str = "device-random-best-depth";

/// The numbers of the warnings of both runs: those of the first run, then those of the second.
struct Warnings<'a> {
    all: Vec<&'a Finding>,
    /// How many are of the first run, or of both where these warn of the same.
    of_first: usize,
    are_same: bool,
}

impl<'a> Warnings<'a> {
    fn of(comparison: &'a Comparison) -> Warnings<'a> {
        let (first, second) = &comparison.warnings;
        let are_same = first == second;
        let second = second.iter().filter(|_| !are_same);
        Warnings { all: first.iter().chain(second).collect(), of_first: first.len(), are_same }
    }

    /// The numbers of those that concern a case: that say that something else was at work during it, or that name it.
    fn of_case(&self, case: &CaseComparison, names: &[&str]) -> String {
        let text = case_text(case, names);
        let words = names.iter().filter_map(|name| case.parameters.get(*name)?.as_str());
        let endings: Vec<String> = words.map(|word| format!("-{word}")).collect();
        let is_its = |finding: &Finding| {
            case.disturbances.contains(&finding.id)
                || endings.iter().any(|ending| finding.id.ends_with(ending))
                || names_words(&finding.message, &text)
        };
        let numbers = self.all.iter().enumerate().filter(|(_, finding)| is_its(finding));
        let numbers: Vec<String> = numbers.map(|(place, _)| (place + 1).to_string()).collect();
        numbers.join(", ")
    }

    /// What a run warned of holds for its figures here too.
    fn sections(&self) -> Vec<Section> {
        let list = |title: &str, places: std::ops::Range<usize>| {
            let items: Vec<String> =
                places.map(|place| format!("{}. {}", place + 1, self.all[place].message)).collect();
            (!items.is_empty()).then(|| Section::List { heading: Some(title.into()), items, indent: 2 })
        };
        let first = if self.are_same { "Warnings of both runs:" } else { "Warnings of the first run:" };
        let lists = [list(first, 0..self.of_first), list("Warnings of the second run:", self.of_first..self.all.len())];
        lists.into_iter().flatten().collect()
    }
}

/// Whether a sentence has these words in it, and not as a part of others.
fn names_words(sentence: &str, words: &str) -> bool {
    // A thin space stands between the digits of one number: `depth 1 024` does not name `depth 1`.
    let goes_on = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == THIN_SPACE;
    let is_part = |letter: Option<char>| letter.is_some_and(goes_on);
    let mut found = sentence.match_indices(words).filter(|_| !words.is_empty());
    found.any(|(at, _)| {
        let (before, after) = (&sentence[..at], &sentence[at + words.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

/// Why nothing of two runs compares; `None` where something does, or where both are the same run.
pub fn nothing_compared(comparison: &Comparison) -> Option<String> {
    let is_any = comparison.best_depth.is_some() || comparison.cases.iter().any(|case| !case.metrics.is_empty());
    different_experiments(comparison).or_else(|| (!is_any && !is_same(comparison)).then(|| no_case(comparison)))
}

fn different_experiments(comparison: &Comparison) -> Option<String> {
    let (first, second) = &comparison.experiments;
    let sentence = || {
        format!(
            "The first run is of {first}, the second of {second}: they measure different things and cannot be \
             compared. Name two runs of one experiment; `readpath runs` lists them."
        )
    };
    (first != second).then(sentence)
}

/// That the runs have no case in common, with each parameter that has other values in one run than in the other.
fn no_case(comparison: &Comparison) -> String {
    let names = varying_names(comparison).into_iter();
    let (names, apart): (Vec<&str>, Vec<String>) =
        names.filter_map(|name| Some((name, values_apart(comparison, name)?))).unzip();
    if apart.is_empty() {
        return "The runs have no case in common: no two of their cases have the same parameters.".into();
    }
    format!(
        "The runs have no case in common: their cases differ in {}. Name two runs that have values of {} in common. A \
         parameter may differ only where each run has one value of it throughout.",
        apart.join(" and in "),
        names.join(" and of ")
    )
}

/// The values of a parameter in each run, where they have none in common.
fn values_apart(comparison: &Comparison, name: &str) -> Option<String> {
    let values = |cases: &[Unmatched]| -> BTreeSet<String> {
        let text = |value: &Value| with_unit(name, &shown(name, value));
        let value = |case: &Unmatched| case.parameters.get(name).map_or("none".into(), text);
        cases.iter().map(value).collect()
    };
    let (first, second) = (values(&comparison.only_before), values(&comparison.only_after));
    let is_apart = !first.is_empty() && !second.is_empty() && first.is_disjoint(&second);
    is_apart.then(|| format!("{name} (first {}; second {})", some_of(&first), some_of(&second)))
}

/// Values in a sentence, the first of many.
fn some_of(values: &BTreeSet<String>) -> String {
    let named: Vec<&str> = values.iter().take(VALUES_NAMED).map(String::as_str).collect();
    match values.len().saturating_sub(VALUES_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The page of a comparison.
pub(crate) fn page(Compared { comparison, runs }: &Compared<'_>) -> Page {
    if let Some(sentence) = different_experiments(comparison) {
        return Page { sections: vec![head(comparison, runs), Section::Text(sentence)] };
    }
    let mut sections = vec![head(comparison, runs)];
    if is_same(comparison) {
        let sentence = "Both are the same run, so there is nothing to compare: `readpath runs` lists others.";
        sections.push(Section::Text(sentence.into()));
        return Page { sections };
    }
    let names = varying_names(comparison);
    let warnings = Warnings::of(comparison);
    if let Some(best) = &comparison.best_depth {
        sections.push(Section::Text(best_depth(best, comparison)));
    }
    let keys = ["first", "second"].map(Key::measured);
    sections.extend(beside::charts_of(runs, &keys).into_iter().map(|chart| Section::Chart(Box::new(chart))));
    if let Some(best) = &comparison.best_depth {
        sections.push(Section::Table(Table {
            title: Some("Random reads, each at its best depth:".into()),
            ..table(&[best], &warnings, &[])
        }));
    }
    let is_in_front = |case: &CaseComparison| {
        comparison.best_depth.is_some() && case.parameters.get("rung").is_some_and(|rung| rung == BEST_DEPTH)
    };
    let cases: Vec<&CaseComparison> = comparison.cases.iter().filter(|case| !is_in_front(case)).collect();
    if cases.iter().any(|case| !case.metrics.is_empty()) {
        sections.extend([Section::Table(table(&cases, &warnings, &names)), Section::Note(LEGEND.into())]);
    } else {
        sections.push(Section::Text(no_case(comparison)));
    }
    let all = || comparison.best_depth.iter().chain(&comparison.cases);
    let is_disturbed = all().flat_map(shown_metrics).any(|metric| metric.verdict == Verdict::Disturbed);
    sections.extend(is_disturbed.then(|| Section::Note(DISTURBED.into())));
    let is_other = |case: &CaseComparison| shown_metrics(case).any(|metric| metric.verdict != Verdict::Disturbed);
    let is_named = all().any(|case| is_other(case) && !warnings.of_case(case, &names).is_empty());
    sections.extend(is_named.then(|| Section::Note(NAMED.into())));
    let (first, second) = (&comparison.only_before, &comparison.only_after);
    sections.extend(alone("Only in the first run:", first, second, &names));
    sections.extend(alone("Only in the second run:", second, first, &names));
    sections.extend(warnings.sections());
    Page { sections }
}

/// How many reads a second each device gives at its best depth, in a sentence.
pub(crate) fn best_depth(best: &CaseComparison, comparison: &Comparison) -> String {
    let depth = |is_first: bool| {
        let change = best.outcomes.iter().find(|change| change.parameter == "depth");
        let found = change.map(|change| if is_first { &change.before } else { &change.after });
        let depth = found.cloned().flatten().or_else(|| best.parameters.get("depth").cloned());
        depth.map_or_else(String::new, |depth| shown("depth", &depth))
    };
    let Some(iops) = best.metrics.iter().find(|metric| metric.name == "iops") else { return String::new() };
    let side = |name: &str, subject: &Parameters, value: f64, is_first: bool| {
        let place = subject_of(subject).map_or(String::new(), |place| format!(", {place},"));
        format!("the {name}{place} {} at depth {}", Cell::quantity(value, iops.unit).text, depth(is_first))
    };
    let times = |value: f64| format!(", {} times as many", ratio_to(value, decimals(iops)));
    let ratio = iops.ratio.map_or(String::new(), times);
    let verdict = match iops.verdict {
        Verdict::Differs => "That differs by more than the noise.",
        Verdict::Disturbed => "A run warns that it was disturbed meanwhile: there is no verdict, repeat that run.",
        Verdict::WithinNoise => "That is within the noise.",
        Verdict::TooFewSamples | Verdict::OneSampleEach | Verdict::NoRatio => {
            "There are too few samples for a verdict."
        }
    };
    format!(
        "Most reads a second: {}, {}{ratio}. {verdict}",
        side("first", &comparison.subjects.0, iops.before, true),
        side("second", &comparison.subjects.1, iops.after, false)
    )
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
    sorting::by(&mut rows, |(_, one), (_, other)| size(other).total_cmp(&size(one)));
    let difference = |(case, metric): (&CaseComparison, &MetricComparison)| Difference {
        case: case_text(case, &names),
        metric: metric.name.clone(),
        before: Cell::quantity(metric.before, metric.unit),
        after: Cell::quantity(metric.after, metric.unit),
        ratio: ratio(metric),
        interval: interval(metric),
    };
    rows.into_iter().map(difference).collect()
}

/// The ratio of two values.
fn ratio(metric: &MetricComparison) -> Option<Cell> {
    metric.ratio.map(|value| Cell::number(ratio_to(value, decimals(metric)), value, Unit::Ratio))
}

/// The interval of a ratio.
fn interval(metric: &MetricComparison) -> Option<Cell> {
    let (low, high) = metric.interval?;
    let [from, to] = [low, high].map(|end| ratio_to(end, decimals(metric)));
    Some(Cell { spread: Some((low, high)), ..range(&from, &to).into() })
}

/// Digits after the point of a ratio and of its interval: as many as show that they lie to one side of 1, where the
/// verdict says so.
fn decimals(metric: &MetricComparison) -> usize {
    let Some((low, high)) = metric.interval.filter(|_| metric.verdict == Verdict::Differs) else {
        return RATIO_DECIMALS;
    };
    let reads_as_one = |end: f64, decimals: &usize| ratio_to(end, *decimals) == ratio_to(1.0, *decimals);
    let is_apart = |decimals: &usize| ![low, high].into_iter().any(|end| reads_as_one(end, decimals));
    (RATIO_DECIMALS..DECIMALS_MAX).find(is_apart).unwrap_or(DECIMALS_MAX)
}

/// What was measured, each run with where it was, the machines where these are two, and what else differs.
fn head(comparison: &Comparison, runs: &[&Run; 2]) -> Section {
    let machines = runs.map(|run| processor(run).filter(|_| run.host.cpu.is_some()));
    let machines = match &machines {
        [Some(first), Some(second)] if first != second => Some(format!("machine: first {first}; second {second}")),
        _ => None,
    };
    let run = |name: &str, id: &str, place: Option<String>| {
        format!("{name} {id}{}", place.map_or(String::new(), |place| format!(", on {place}")))
    };
    let (first, second) = &comparison.experiments;
    let experiment = if first == second { first.clone() } else { format!("{first} and {second}") };
    let runs = [
        run("first", &comparison.before, subject_of(&comparison.subjects.0)),
        run("second", &comparison.after, subject_of(&comparison.subjects.1)),
    ];
    Section::Head {
        title: format!("readpath compare   {experiment}"),
        facts: Vec::new(),
        settings: runs.into_iter().chain(machines).chain(comparison.changes.iter().map(change_text)).collect(),
    }
}

/// A parameter with its value in each run; in full where they would read the same.
fn change_text(change: &Change) -> String {
    let [first, second] = if reads_the_same(change) { texts(change, in_full) } else { texts(change, shown) };
    format!("{}: first {first}, second {second}", change.parameter)
}

/// Whether two values are the same to the digits that are shown.
fn reads_the_same(change: &Change) -> bool {
    let [first, second] = texts(change, shown);
    first == second
}

/// The value of a parameter in each run.
fn texts(change: &Change, text: fn(&str, &Value) -> String) -> [String; 2] {
    let name = &change.parameter;
    let text = |value: &Value| with_unit(name, &text(name, value));
    [&change.before, &change.after].map(|value| value.as_ref().map_or("none".into(), text))
}

fn table(cases: &[&CaseComparison], warnings: &Warnings<'_>, names: &[&str]) -> Table {
    let mut rows: Vec<(&CaseComparison, &MetricComparison)> = Vec::new();
    for case in cases {
        rows.extend(shown_metrics(case).map(|metric| (*case, metric)));
    }
    Table::over(&rows)
        .column("metric", Align::Left, |(_, metric)| metric.name.clone())
        .column("first", Align::Right, |(_, metric)| Cell::quantity(metric.before, metric.unit))
        .column("second", Align::Right, |(_, metric)| Cell::quantity(metric.after, metric.unit))
        .column("ratio", Align::Decimal, |(_, metric)| Cell::or_absent(ratio(metric)))
        .column("95 %", Align::Left, |(_, metric)| interval(metric))
        .column("verdict", Align::Left, |(case, metric)| verdict(case, metric, (warnings, names)))
        .groups(|(case, _)| case_text(case, names))
        .done()
}

/// What tells a case apart, and what both runs found of it where that differs by more than is shown.
fn case_text(case: &CaseComparison, names: &[&str]) -> String {
    let is_outcome = |name: &str| case.outcomes.iter().any(|change| change.parameter == name);
    let names: Vec<&str> = names.iter().copied().filter(|name| !is_outcome(name)).collect();
    let outcomes = case.outcomes.iter().filter(|change| !reads_the_same(change)).map(change_text);
    let texts = [phrase(&case.parameters, &names)].into_iter().chain(outcomes);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The metrics of a case that a page shows.
pub(crate) fn shown_metrics(case: &CaseComparison) -> impl Iterator<Item = &MetricComparison> {
    case.metrics.iter().filter(|metric| !BOOKKEEPING.contains(&metric.name.as_str()))
}

/// What may be said, with the numbers of the warnings that concern it.
fn verdict(case: &CaseComparison, metric: &MetricComparison, (warnings, names): (&Warnings<'_>, &[&str])) -> String {
    let word = match metric.verdict {
        Verdict::Differs => "differs",
        Verdict::Disturbed => "disturbed",
        Verdict::WithinNoise => "within noise",
        Verdict::TooFewSamples => "too few",
        Verdict::OneSampleEach => "one each",
        Verdict::NoRatio => "no ratio",
    };
    let numbers = warnings.of_case(case, names);
    if numbers.is_empty() { word.into() } else { format!("{word} ({numbers})") }
}

/// The cases and metrics of one side, one a line; with all digits where a line of the other side reads the same.
fn alone(title: &str, own: &[Unmatched], other: &[Unmatched], names: &[&str]) -> Option<Section> {
    let line = |one: &Unmatched, words: fn(&Parameters, &[&str]) -> String| {
        let case = Some(words(&one.parameters, names)).filter(|text| !text.is_empty());
        let text = [case, one.metric.clone()].into_iter().flatten().collect::<Vec<_>>().join(": ");
        if text.is_empty() { "one case".into() } else { text }
    };
    let others: HashSet<String> = other.iter().map(|one| line(one, phrase)).collect();
    let told_apart = |one: &Unmatched| {
        let text = line(one, phrase);
        if others.contains(&text) { line(one, phrase_in_full) } else { text }
    };
    let is_shown = |one: &&Unmatched| one.metric.as_deref().is_none_or(|metric| !BOOKKEEPING.contains(&metric));
    let items: Vec<String> = own.iter().filter(is_shown).map(told_apart).collect();
    (!items.is_empty()).then(|| Section::List { heading: Some(title.into()), items, indent: 2 })
}

/// The parameters that tell the cases of both runs apart.
fn varying_names(comparison: &Comparison) -> Vec<&str> {
    let alone = comparison.only_before.iter().chain(&comparison.only_after).map(|one| &one.parameters);
    let all: Vec<&Parameters> = comparison.cases.iter().map(|case| &case.parameters).chain(alone).collect();
    let set_aside: HashSet<&str> = comparison.changes.iter().map(|change| change.parameter.as_str()).collect();
    varying_among(&all).into_iter().filter(|name| !set_aside.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_about_a_longer_number_does_not_name_the_case_of_its_beginning() {
        let sentence = "The rate was not reached at depth 1\u{202f}024.";
        assert!(!names_words(sentence, "depth 1") && !names_words(sentence, "024"));
        assert!(names_words(sentence, "depth 1\u{202f}024") && names_words("At depth 1.", "depth 1"));
    }

    #[test]
    fn a_parameter_that_differs_has_its_unit_as_in_the_head_of_a_page() {
        let said = |name: &str, before: Option<u64>, after: u64| {
            let (before, after) = (before.map(Value::from), Some(after.into()));
            change_text(&Change { parameter: name.into(), before, after })
        };
        assert_eq!(said("row_length", Some(25), 250), "row_length: first 25 bytes, second 250 bytes");
        assert_eq!(said("duration", None, 3), "duration: first none, second 3 s");
        assert_eq!(said("rate", Some(50), 500), "rate: first 50/s, second 500/s");
        assert_eq!(said("depth", Some(1), 4), "depth: first 1, second 4");
    }
}
