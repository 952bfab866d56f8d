//! Two runs side by side: medians, ratio, its interval, and whether the samples support a difference.

use std::collections::{BTreeSet, HashSet};

use measure::compare::{CaseComparison, Comparison, MetricComparison, Unmatched, Verdict, needed};
use measure::quantity::{THIN_SPACE, grouped};
use measure::schema::{self, Spec, disk, ladder, reads};
use measure::{Finding, Parameters, Run, sorting};
use serde::Serialize;
use serde_json::Value;

use crate::body::{processor, subject as subject_of};
use crate::differences::{
    HEADINGS, case_text, change_text, compared, decimals, is_bookkeeping, of_case, shown_metrics, varying_names,
    warnings_apart,
};
use crate::page::number::ratio_to;
use crate::page::parameters::{phrase, phrase_in_full, shown, with_unit};
use crate::page::wording::joined;
use crate::page::{Align, Cell, Key, Page, Section, Table};
use crate::{beside, compare_calibrations};

/// What the last column means, once for the whole table.
const LEGEND: &str = "Medians; for rates, means. Ratios are second over first, with the 95 % interval from \
                      resampling each run's own samples. Differences between runs that no run can see (placement, \
                      neighbours, temperature) are not in it: repeat both runs to be sure. A side with one sample or \
                      too few of them has no interval: repeat the case. What a run did (reads, bytes) and the state \
                      of the core (core_clock in GHz, core_additions a cycle) are in --format json and csv.";

/// Two runs and their comparison. A program gets the comparison alone: it has the runs.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct Compared<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// The runs, in its order.
    #[serde(skip_serializing)]
    pub runs: [&'a Run; 2],
}

/// What is said where a run says of itself that it was disturbed.
const DISTURBED: &str = "Disturbed: according to the warnings below whose numbers follow it, one of the runs shared \
                         the machine while it measured this case, which can make a difference or hide one. Repeat \
                         that run.";

/// The same where values are counted, and only those that differ most are listed.
const DISTURBED_VALUES: &str = "Disturbed: according to a warning below, one of the runs shared the machine while it \
                                measured these values, which can make a difference or hide one. Repeat that run.";

/// What is said where a value has no ratio.
const NO_RATIO: &str = "No ratio: one of the two values is zero or negative.";

/// What a number behind any other verdict means.
const NAMED: &str = "A number after a verdict is the number of the warning below that concerns the case.";

/// Values of a parameter that a sentence names.
const VALUES_NAMED: usize = 4;

/// The rung of a ladder that stands in front already.
const BEST_DEPTH: &str = "device-random-best-depth";

/// The parameter whose best value stands in front.
const DEPTH: &str = disk::parameters::DEPTH.name;

/// The warnings of both runs under their headings: those that both have in the same words, then those of each alone.
/// Their numbers go on from list to list.
struct Warnings<'a> {
    lists: [(&'static str, Vec<&'a Finding>); 3],
}

impl<'a> Warnings<'a> {
    fn of(comparison: &'a Comparison) -> Warnings<'a> {
        let [both, first, second] = warnings_apart(&comparison.warnings);
        let lists = [
            ("Warnings of both runs:", both),
            ("Warnings of the first run:", first),
            ("Warnings of the second run:", second),
        ];
        Warnings { lists }
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
        let all = self.lists.iter().flat_map(|(_, list)| list);
        let numbers = all.enumerate().filter(|(_, finding)| is_its(finding));
        let numbers: Vec<String> = numbers.map(|(place, _)| (place + 1).to_string()).collect();
        numbers.join(", ")
    }

    /// What a run warned of holds for its figures here too.
    fn sections(&self) -> Vec<Section> {
        let mut number = 0;
        let mut item = |finding: &&Finding| {
            number += 1;
            format!("{number}. {}", finding.message)
        };
        let list =
            |(heading, list): &(&str, Vec<&Finding>)| Section::list(*heading, list.iter().map(&mut item).collect());
        self.lists.iter().filter_map(list).collect()
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
        more => format!("{} and {} more", named.join(", "), grouped(more as u64)),
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
    if compare_calibrations::are_both(comparison) {
        // Whatever else they have in common, each has its advice.
        sections.extend(compare_calibrations::answers(*runs));
        if compare_calibrations::have_values(comparison) {
            sections.extend(of_calibrations(comparison, *runs, &names));
            sections.extend(warnings.sections());
            return Page { sections };
        }
    }
    if let Some(best) = &comparison.best_depth {
        sections.push(Section::Text(best_depth(best, comparison)));
    }
    sections.extend(charts(*runs));
    if let Some(best) = &comparison.best_depth {
        sections.push(Section::Table(Table {
            title: Some("Random reads, each at its best depth:".into()),
            ..table(&[best], &warnings, &[])
        }));
    }
    let is_in_front = |case: &CaseComparison| {
        comparison.best_depth.is_some()
            && case.parameters.get(ladder::parameters::RUNG.name).is_some_and(|rung| rung == BEST_DEPTH)
    };
    let cases: Vec<&CaseComparison> = comparison.cases.iter().filter(|case| !is_in_front(case)).collect();
    if cases.iter().any(|case| shown_metrics(case).next().is_some()) {
        sections.extend([Section::Table(table(&cases, &warnings, &names)), Section::Note(LEGEND.into())]);
    } else if cases.iter().all(|case| case.metrics.is_empty()) {
        sections.push(Section::Text(no_case(comparison)));
    } else {
        sections.push(Section::Text("No value that a page shows is other than zero in both runs.".into()));
    }
    let all = || comparison.best_depth.iter().chain(&comparison.cases);
    sections.extend(meanings(&comparison.experiments.0, all().flat_map(shown_metrics)));
    let lacks_ratio = all().flat_map(shown_metrics).any(|metric| metric.verdict == Verdict::NoRatio);
    sections.extend(lacks_ratio.then(|| Section::Note(NO_RATIO.into())));
    sections.extend(samples_needed(&comparison.experiments.0, all().flat_map(shown_metrics)));
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

/// The charts that both runs have.
fn charts(runs: [&Run; 2]) -> impl Iterator<Item = Section> {
    let keys = ["first", "second"].map(Key::measured);
    beside::charts_of(&runs, &keys).into_iter().map(|chart| Section::Chart(Box::new(chart)))
}

/// The values of two calibrations, of which each has hundreds: those that differ most, and how many there are.
fn of_calibrations(comparison: &Comparison, runs: [&Run; 2], names: &[&str]) -> Vec<Section> {
    let experiment = &comparison.experiments.0;
    let mut sections: Vec<Section> = charts(runs).collect();
    let differing = [compare_calibrations::beyond_noise(comparison), compare_calibrations::disturbed(comparison)];
    let tables: Vec<Table> = differing.iter().filter_map(|differing| differing.table(names)).collect();
    if !tables.is_empty() {
        sections.extend(tables.into_iter().map(Section::Table));
        sections.push(Section::Note(LEGEND.into()));
        let metrics = differing.iter().flat_map(|differing| differing.metrics());
        sections.extend(meanings(experiment, metrics));
    }
    sections.push(compare_calibrations::counts(comparison));
    let all = || comparison.cases.iter().flat_map(shown_metrics);
    sections.extend(samples_needed(experiment, all()));
    let is_disturbed = all().any(|metric| metric.verdict == Verdict::Disturbed);
    sections.extend(is_disturbed.then(|| Section::Note(DISTURBED_VALUES.into())));
    sections
}

/// What the verdicts lack, where some of these have too few samples.
fn samples_needed<'a>(experiment: &str, metrics: impl Iterator<Item = &'a MetricComparison>) -> Option<Section> {
    let lacking = metrics.filter(|metric| metric.verdict == Verdict::TooFewSamples);
    let lacking: Vec<&str> = lacking.map(|metric| metric.name.as_str()).collect();
    (!lacking.is_empty()).then(|| Section::Note(needed(experiment, lacking)))
}

/// How many reads a second each device gives at its best depth, in a sentence.
pub(crate) fn best_depth(best: &CaseComparison, comparison: &Comparison) -> String {
    let depth = |is_first: bool| {
        let change = best.outcomes.iter().find(|change| change.parameter == DEPTH);
        let found = change.map(|change| if is_first { &change.before } else { &change.after });
        let depth = found.cloned().flatten().or_else(|| best.parameters.get(DEPTH).cloned());
        depth.map_or_else(String::new, |depth| shown(DEPTH, &depth))
    };
    let Some(iops) = best.metrics.iter().find(|metric| reads::IOPS.name == metric.name) else { return String::new() };
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

fn table(cases: &[&CaseComparison], warnings: &Warnings<'_>, names: &[&str]) -> Table {
    let rows: Vec<_> = cases.iter().flat_map(|case| of_case(case)).collect();
    compared(Table::over(&rows), HEADINGS)
        .column("verdict", Align::Left, |(case, metric)| verdict(case, metric, (warnings, names)))
        .groups(|(case, _)| case_text(case, names))
        .done()
}

/// What the metrics of a table are, each once, in the words of the schema. One that it does not have, as of an older
/// run, has no line.
fn meanings<'a>(experiment: &str, metrics: impl Iterator<Item = &'a MetricComparison>) -> Option<Section> {
    let experiment = schema::experiment(experiment)?;
    let item = |metric: &'a MetricComparison| {
        let is_it = |spec: &Spec| spec.name == metric.name && spec.unit == metric.unit;
        let fixed = experiment.all_metrics().find(|spec| is_it(spec)).map(|spec| spec.meaning);
        let of_family = || {
            let spec = experiment.all_families().find_map(|family| family.named(&metric.name));
            spec.filter(|spec| is_it(spec)).map(|spec| spec.meaning)
        };
        Some(format!("{}: {}", metric.name, fixed.or_else(of_family)?.replace('`', "")))
    };
    Section::list("What the metrics are:", sorting::each_once(metrics.filter_map(item)))
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
        let text = joined([words(&one.parameters, names), one.metric.clone().unwrap_or_default()], ": ");
        if text.is_empty() { "one case".into() } else { text }
    };
    let others: HashSet<String> = other.iter().map(|one| line(one, phrase)).collect();
    let told_apart = |one: &Unmatched| {
        let text = line(one, phrase);
        if others.contains(&text) { line(one, phrase_in_full) } else { text }
    };
    let is_shown = |one: &&Unmatched| one.metric.as_deref().is_none_or(|metric| !is_bookkeeping(metric));
    let items: Vec<String> = own.iter().filter(is_shown).map(told_apart).collect();
    Section::list(title, items)
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
}
