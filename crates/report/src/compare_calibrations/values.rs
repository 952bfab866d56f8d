//! Of the hundreds of values that two calibrations have those that differ most, and how many there are of each kind.

use measure::compare::{Comparison, MetricComparison, Unmatched, Verdict};
use measure::quantity::{counted, grouped};
use measure::schema::calibrate::parameters as plan;

use crate::differences::{Difference, HEADINGS, compared, is_bookkeeping, ranked, shown_metrics};
use crate::page::parameters::phrase;
use crate::page::{Section, Table};

/// Most values that are listed, those that differ most.
const LISTED_MAX: usize = 20;

/// What is found of a case, or is the same in all cases of its kind, so neither tells cases apart.
const UNNAMED: [&str; 9] = [
    plan::PART.name,
    plan::SOURCE.name,
    plan::NODE_NOW.name,
    plan::NODE_THEN.name,
    plan::PLAN_NOW.name,
    plan::PLAN_THEN.name,
    plan::VERDICT.name,
    plan::CHOSEN_BY.name,
    plan::ADVICE.name,
];

/// Values that differ, those that differ most first.
pub(crate) struct Differing<'a> {
    /// Those that are listed, at most as many as a page lists.
    listed: Vec<Difference<'a>>,
    /// How many there are.
    all: usize,
    /// What they are called.
    what: &'static str,
}

/// The values that differ by more than their noise.
pub(crate) fn beyond_noise(comparison: &Comparison) -> Differing<'_> {
    Differing::of(comparison, "values beyond the noise", |metric| metric.verdict == Verdict::Differs)
}

/// The values whose samples differ, but of which a run says that something else was at work meanwhile.
pub(crate) fn disturbed(comparison: &Comparison) -> Differing<'_> {
    let is_apart = |metric: &MetricComparison| metric.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let is_it = move |metric: &MetricComparison| metric.verdict == Verdict::Disturbed && is_apart(metric);
    Differing::of(comparison, "disturbed values beyond the noise", is_it)
}

impl<'a> Differing<'a> {
    fn of(comparison: &'a Comparison, what: &'static str, is_it: impl Fn(&MetricComparison) -> bool) -> Self {
        let mut listed = ranked(comparison, is_it);
        let all = listed.len();
        listed.truncate(LISTED_MAX);
        Differing { listed, all, what }
    }

    /// The metrics that are listed.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &'a MetricComparison> {
        self.listed.iter().map(|(_, metric)| *metric)
    }

    /// The values as a table; `names` tells the cases of both runs apart. None of no value.
    pub(crate) fn table(&self, names: &[&str]) -> Option<Table> {
        let names: Vec<&str> = names.iter().copied().filter(|name| !UNNAMED.contains(name)).collect();
        compared(Table::over(&self.listed), HEADINGS)
            .groups(|(case, _)| phrase(&case.parameters, &names))
            .titled(self.title())
            .unless_empty()
    }

    fn title(&self) -> String {
        let (listed, all, what) = (self.listed.len(), grouped(self.all as u64), self.what);
        match listed < self.all {
            true => format!("The {listed} of {all} {what} that differ most:"),
            false => format!("All {what}, those that differ most first:"),
        }
    }
}

/// How many values both runs have that a page shows, by what may be said of them, and how many cases and values one run
/// alone has.
pub(crate) fn counts(comparison: &Comparison) -> Section {
    let verdicts: Vec<Verdict> = comparison.cases.iter().flat_map(shown_metrics).map(|metric| metric.verdict).collect();
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count() as u64;
    let kinds = [
        (count(Verdict::Differs), "beyond the noise of their samples"),
        (count(Verdict::WithinNoise), "within the noise of their samples"),
        (count(Verdict::OneSampleEach), "of one sample in each run"),
        (count(Verdict::TooFewSamples), "with too few samples for a verdict"),
        (count(Verdict::NoRatio), "without a ratio"),
        (count(Verdict::Disturbed), "without a verdict, because a run warns that something else was at work"),
    ];
    let found = kinds.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = found.map(|(count, what)| format!("{} {what}", grouped(count))).collect();
    let values = counted(verdicts.len() as u64, "value", "values");
    let mut said =
        format!("Of {values} that both runs have and a page shows: {}. --format csv lists all.", parts.join("; "));
    let is_shown = |one: &&Unmatched| one.metric.as_deref().is_none_or(|metric| !is_bookkeeping(metric));
    let alone = |only: &[Unmatched]| only.iter().filter(is_shown).count() as u64;
    let [first, second] = [alone(&comparison.only_before), alone(&comparison.only_after)];
    if first + second > 0 {
        said += &format!(
            " In the first run alone: {}; in the second: {}. --format json lists these too.",
            counted(first, "case or value", "cases or values"),
            counted(second, "case or value", "cases or values")
        );
    }
    Section::Text(said)
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate;
    use measure::schema::conditions::CORE_CLOCK;
    use measure::{Case, Parameters, Run};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_says_only_what_a_run_did_is_counted_neither_in_both_runs_nor_in_one() {
        let run = |clock: bool| {
            let mut case = Case::new(Parameters::default());
            case.metrics.push(calibrate::TIME.single("t", 1.0));
            case.metrics.extend(clock.then(|| CORE_CLOCK.single("t", 3.0)));
            Run { experiment: "calibrate".into(), cases: vec![case], ..Run::default() }
        };
        let said = |first: &Run, second: &Run| match counts(&measure::compare::compare(first, second)) {
            Section::Text(text) => text,
            _ => String::new(),
        };
        let both = said(&run(true), &run(true));
        assert!(both.starts_with("Of 1 value that both runs have and a page shows: 1 of one sample"), "{both}");
        assert_eq!(said(&run(true), &run(false)), both, "it is in the first run alone");
    }

    #[test]
    fn values_of_sets_that_have_only_the_rank_in_common_are_not_held_against_each_other() {
        let run = |cost: f64| {
            let set = json!({"part": "query", "constants": "tried-1"}).as_object().cloned().unwrap_or_default();
            let mut cases = [Case::new(set), Case::new(Parameters::default())];
            cases[0].metrics.push(calibrate::TIME.single("t", cost));
            cases[1].metrics.push(calibrate::TIME.single("t", 1.0));
            Run { experiment: "calibrate".into(), cases: cases.into(), ..Run::default() }
        };
        let compared = measure::compare::compare(&run(1.0), &run(9.0));
        let said = if let Section::Text(text) = counts(&compared) { text } else { String::new() };
        assert!(said.starts_with("Of 1 value that both runs have"), "{said}");
        assert!(said.contains(" In the first run alone: 1 case or value; in the second: 1 case or value."), "{said}");
        assert!(Differing::of(&compared, "values", |metric| metric.name == "time").listed.len() == 1);
    }
}
