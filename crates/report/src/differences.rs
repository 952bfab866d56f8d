//! What differs between two runs: which of their values a page shows, and the texts of those.

use std::collections::HashSet;

use measure::compare::{CaseComparison, Change, Comparison, MetricComparison, Verdict};
use measure::schema::{Spec, conditions, lio, reads};
use measure::{Finding, Parameters, Unit, sorting};
use serde_json::Value;

use crate::page::number::{RATIO_DECIMALS, range, ratio_to};
use crate::page::parameters::{in_full, phrase, shown, varying_among, with_unit};
use crate::page::table::Builder;
use crate::page::wording::joined;
use crate::page::{Align, Cell};

/// Metrics that say what a run did and not what a read costs: in JSON and CSV, not on the page.
static BOOKKEEPING: [Spec; 12] = [
    reads::READS,
    reads::WARM_UP_READS,
    reads::WARM_UP_LATENCY,
    reads::BYTES_ISSUED,
    reads::BYTES_FETCHED,
    reads::BYTES_DELIVERED,
    reads::DEVICE_READS,
    reads::CACHED_BEFORE,
    reads::NOWAIT_ANSWERED,
    lio::LAPS,
    conditions::CORE_CLOCK,
    conditions::CORE_ADDITIONS,
];

/// Whether a metric says what a run did.
pub(crate) fn is_bookkeeping(metric: &str) -> bool {
    BOOKKEEPING.iter().any(|spec| spec.name == metric)
}

/// Most digits after the point of a ratio that is said to differ from 1.
const DECIMALS_MAX: usize = 6;

/// A metric in both runs, with its case.
pub(crate) type Difference<'a> = (&'a CaseComparison, &'a MetricComparison);

/// What stands over the columns of two runs that are not named.
pub(crate) const HEADINGS: [&str; 3] = ["metric", "first", "second"];

/// The columns of values of both runs: under headings the metric and its two values, then their ratio.
pub(crate) fn compared<'a, 'b>(
    table: Builder<'a, Difference<'b>>,
    [metric, first, second]: [&str; 3],
) -> Builder<'a, Difference<'b>> {
    table
        .column(metric, Align::Left, |(_, metric)| metric.name.clone())
        .column(first, Align::Right, |(_, metric)| Cell::quantity(metric.before, metric.unit))
        .column(second, Align::Right, |(_, metric)| Cell::quantity(metric.after, metric.unit))
        .column("ratio", Align::Decimal, |(_, metric)| Cell::or_absent(ratio(metric)))
        .column("95 %", Align::Left, |(_, metric)| interval(metric))
}

/// The values that a page shows and that `is_meant` names, each with its case, those that differ most first.
pub(crate) fn ranked(comparison: &Comparison, is_meant: impl Fn(&MetricComparison) -> bool) -> Vec<Difference<'_>> {
    let all = comparison.cases.iter().flat_map(of_case);
    let mut rows: Vec<Difference<'_>> = all.filter(|(_, metric)| is_meant(metric)).collect();
    let size = |metric: &MetricComparison| metric.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    sorting::by(&mut rows, |(_, one), (_, other)| size(other).total_cmp(&size(one)));
    rows
}

/// The metrics of a case that a page shows: of two values that are both zero there is nothing to say.
pub(crate) fn shown_metrics(case: &CaseComparison) -> impl Iterator<Item = &MetricComparison> {
    let says_nothing = |metric: &MetricComparison| metric.verdict == Verdict::NoRatio && metric.before == metric.after;
    let metrics = case.metrics.iter().filter(|metric| !is_bookkeeping(&metric.name));
    metrics.filter(move |metric| !says_nothing(metric))
}

/// The same, each with the case.
pub(crate) fn of_case(case: &CaseComparison) -> impl Iterator<Item = Difference<'_>> {
    shown_metrics(case).map(move |metric| (case, metric))
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
pub(crate) fn decimals(metric: &MetricComparison) -> usize {
    let Some((low, high)) = metric.interval.filter(|_| metric.verdict == Verdict::Differs) else {
        return RATIO_DECIMALS;
    };
    let reads_as_one = |end: f64, decimals: &usize| ratio_to(end, *decimals) == ratio_to(1.0, *decimals);
    let is_apart = |decimals: &usize| ![low, high].into_iter().any(|end| reads_as_one(end, decimals));
    (RATIO_DECIMALS..DECIMALS_MAX).find(is_apart).unwrap_or(DECIMALS_MAX)
}

/// What tells a case apart, and what both runs found of it where that differs by more than is shown.
pub(crate) fn case_text(case: &CaseComparison, names: &[&str]) -> String {
    let is_outcome = |name: &str| case.outcomes.iter().any(|change| change.parameter == name);
    let names: Vec<&str> = names.iter().copied().filter(|name| !is_outcome(name)).collect();
    let outcomes = case.outcomes.iter().filter(|change| !reads_the_same(change)).map(change_text);
    joined([phrase(&case.parameters, &names)].into_iter().chain(outcomes), ", ")
}

/// The warnings that both sides have in the same words, then those of each alone.
pub(crate) fn warnings_apart((first, second): &(Vec<Finding>, Vec<Finding>)) -> [Vec<&Finding>; 3] {
    let is_in = |list: &[Finding], one: &Finding| {
        list.iter().any(|other| (&other.id, &other.message) == (&one.id, &one.message))
    };
    let (both, first_alone) = first.iter().partition(|one| is_in(second, one));
    [both, first_alone, second.iter().filter(|one| !is_in(first, one)).collect()]
}

/// The parameters that tell the cases of both runs apart.
pub(crate) fn varying_names(comparison: &Comparison) -> Vec<&str> {
    let alone = comparison.only_before.iter().chain(&comparison.only_after).map(|one| &one.parameters);
    let all: Vec<&Parameters> = comparison.cases.iter().map(|case| &case.parameters).chain(alone).collect();
    let set_aside: HashSet<&str> = comparison.changes.iter().map(|change| change.parameter.as_str()).collect();
    varying_among(&all).into_iter().filter(|name| !set_aside.contains(name)).collect()
}

/// A parameter with its value in each run; in full where they would read the same.
pub(crate) fn change_text(change: &Change) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
