//! Compare two runs: medians, ratio, and whether the difference exceeds the noise of the samples.
//!
//! The interval shows how far the ratio could move if each run drew its samples again from what it saw. It knows
//! nothing of what changes between runs (placement, temperature, neighbours): repeat both runs for that.

mod best_depth;
mod disturbed;
mod matching;
mod needed;
mod profiles;
mod ranked;
mod resample;

use serde::Serialize;

use crate::case::{Case, Parameters};
use crate::finding::{Finding, Severity};
use crate::metric::Metric;
use crate::run::{Build, Run};
use crate::unit::Unit;
pub use disturbed::disturbances;
pub use matching::Change;
use matching::{Pairs, outcomes, pair_cases, update_of};
pub use needed::needed;
pub use profiles::{
    Amount, LineSide, PlanChange, PlanLineChange, ProfileComparison, ProfileSide, Spread, StatementAlone, TimeChange,
};
use resample::{Evidence, value, value_interval};

/// What two runs have in common and how it differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Identifier of the first run, the one that ratios divide by.
    pub before: String,
    /// Identifier of the second run.
    pub after: String,
    /// What the runs were measured on, as they describe it.
    pub subjects: (Parameters, Parameters),
    /// What each run warned of: its figures carry it into the comparison.
    pub warnings: (Vec<Finding>, Vec<Finding>),
    /// What both runs asked: the names of their experiments. Only runs of one experiment have cases in common.
    pub experiments: (String, String),
    /// Parameters that tell the two runs apart as wholes and were therefore left out when cases were matched.
    pub changes: Vec<Change>,
    /// Random reads of each device at the depth at which it gives most reads a second, which is the outcome that
    /// differs; absent unless a run tried several depths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_depth: Option<CaseComparison>,
    /// Cases that both runs have, in the order of the first.
    pub cases: Vec<CaseComparison>,
    /// Cases and metrics of the first run alone.
    pub only_before: Vec<Unmatched>,
    /// Cases and metrics of the second run alone.
    pub only_after: Vec<Unmatched>,
}

/// One case in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseComparison {
    /// Parameters of the case in the first run.
    pub parameters: Parameters,
    /// Parameters that the runs found out for themselves and that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Change>,
    /// Findings of either run that say that something else was at work during this case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<String>,
    /// The metrics that both have, in the order of the first.
    pub metrics: Vec<MetricComparison>,
}

/// One metric of one case in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricComparison {
    /// Name of the metric.
    pub name: String,
    /// Unit of both values.
    pub unit: Unit,
    /// Median in the first run; of a rate the mean, which is what the run's page shows.
    pub before: f64,
    /// The same of the second run.
    pub after: f64,
    /// Second value divided by the first; absent where that has no meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Bootstrap interval of the ratio, 95 %; absent where the samples do not carry one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// What may be said.
    pub verdict: Verdict,
}

/// Whether two values differ by more than the noise of their samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval of the ratio excludes 1.
    Differs,
    /// A run says itself that something else was at work during this case, which can make a difference as well as
    /// hide one.
    Disturbed,
    /// The interval of the ratio includes 1.
    WithinNoise,
    /// A side has samples, but not enough for an interval; of reads, no windows that stand for them.
    TooFewSamples,
    /// Each side is one value, so that nothing is known of its noise.
    OneSampleEach,
    /// A value is zero, negative or not a number: a ratio says nothing.
    NoRatio,
}

/// What one run has and the other has not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unmatched {
    /// Parameters of the case.
    pub parameters: Parameters,
    /// The metric that is missing on the other side; absent when the whole case is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// Compares `after` with `before`: cases by equal parameters, metrics by name and unit.
///
/// The same two runs always give the same answer: the resampling is seeded by the position of the case.
pub fn compare(before: &Run, after: &Run) -> Comparison {
    let Pairs { mut changes, updates, pairs, only_before, only_after } = match before.experiment == after.experiment {
        true => pair_cases(&before.cases, &after.cases),
        false => Pairs::none(&before.cases, &after.cases),
    };
    changes.extend(change_of_build(before, after));
    let mut comparison = Comparison {
        before: before.id.clone(),
        after: after.id.clone(),
        subjects: (before.subject.clone(), after.subject.clone()),
        warnings: (warnings(before), warnings(after)),
        experiments: (before.experiment.clone(), after.experiment.clone()),
        changes,
        best_depth: best_depth::best_depth(before, after),
        cases: Vec::new(),
        only_before: only_before.into_iter().map(whole_case).collect(),
        only_after: only_after.into_iter().map(whole_case).collect(),
    };
    for (index, (left, right)) in pairs.into_iter().enumerate() {
        comparison.only_before.extend(metrics_alone(left, right));
        comparison.only_after.extend(metrics_alone(right, left));
        let disturbances = disturbed::of_both((before, left), (after, right));
        let mut case = compare_cases(left, right, disturbances, index as u64);
        case.outcomes.extend(update_of(left, right, &updates));
        comparison.cases.push(case);
    }
    comparison
}

/// A metric as the page of its run shows it, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median; of a rate the mean, which is the count over the time.
    pub value: f64,
    /// Bootstrap interval of the value, 95 %; absent where the samples do not carry one.
    pub interval: Option<(f64, f64)>,
}

/// What the samples of a metric say of its value; `seed` is the position of the case, as in a comparison.
pub fn estimate(case: &Case, metric: &Metric, seed: u64) -> Estimate {
    let value = value(metric);
    let evidence = Evidence::of(case, metric);
    Estimate { value, interval: evidence.and_then(|evidence| value_interval(&evidence, value, seed)) }
}

/// Bootstrap interval (95 %) of the value of a metric in the case `after` divided by that in `before`; absent where the
/// samples do not carry one.
pub fn ratio_interval(before: (&Case, &Metric), after: (&Case, &Metric)) -> Option<(f64, f64)> {
    let evidence = (Evidence::of(before.0, before.1)?, Evidence::of(after.0, after.1)?);
    let ratio = ratio_of(value(before.1), value(after.1))?;
    resample::ratio_interval(&evidence.0, &evidence.1, ratio, 0)
}

/// Another build of readpath may measure otherwise. Of runs that do not name theirs nothing is known.
fn change_of_build(before: &Run, after: &Run) -> Option<Change> {
    let (left, right) = (before.build.as_ref()?, after.build.as_ref()?);
    let text = |build: &Build| Some(build.to_string().into());
    (left != right).then(|| Change { parameter: "build".into(), before: text(left), after: text(right) })
}

fn warnings(run: &Run) -> Vec<Finding> {
    run.findings.iter().filter(|finding| finding.severity == Severity::Warning).cloned().collect()
}

fn compare_cases(before: &Case, after: &Case, disturbances: Vec<String>, seed: u64) -> CaseComparison {
    let both = before.metrics.iter().filter_map(|metric| Some((metric, same_metric(after, metric)?)));
    let mut metrics: Vec<_> = both.map(|(left, right)| compare_metrics((before, left), (after, right), seed)).collect();
    let judged = metrics.iter_mut().filter(|metric| matches!(metric.verdict, Verdict::Differs | Verdict::WithinNoise));
    if !disturbances.is_empty() {
        judged.for_each(|metric| metric.verdict = Verdict::Disturbed);
    }
    CaseComparison { parameters: before.parameters.clone(), outcomes: outcomes(before, after), disturbances, metrics }
}

fn compare_metrics(before: (&Case, &Metric), after: (&Case, &Metric), seed: u64) -> MetricComparison {
    let (left, right) = (before.1, after.1);
    let ratio = ratio_of(value(left), value(right));
    let evidence = (Evidence::of(before.0, left), Evidence::of(after.0, right));
    let interval = match (&evidence, ratio) {
        ((Some(left), Some(right)), Some(ratio)) => resample::ratio_interval(left, right, ratio, seed),
        _ => None,
    };
    MetricComparison {
        name: left.name.clone(),
        unit: left.unit,
        before: value(left),
        after: value(right),
        ratio,
        interval,
        verdict: verdict(left, right, ratio, interval),
    }
}

fn verdict(before: &Metric, after: &Metric, ratio: Option<f64>, interval: Option<(f64, f64)>) -> Verdict {
    match (ratio, interval) {
        (None, _) => Verdict::NoRatio,
        (_, Some((low, high))) if low <= 1.0 && 1.0 <= high => Verdict::WithinNoise,
        (_, Some(_)) => Verdict::Differs,
        _ if before.statistics.n <= 1 && after.statistics.n <= 1 => Verdict::OneSampleEach,
        _ => Verdict::TooFewSamples,
    }
}

/// `after` divided by `before` where both are positive and finite.
fn ratio_of(before: f64, after: f64) -> Option<f64> {
    let sound = before.is_finite() && after.is_finite() && before > 0.0 && after > 0.0;
    sound.then(|| after / before).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn same_metric<'a>(case: &'a Case, metric: &Metric) -> Option<&'a Metric> {
    case.metrics.iter().find(|candidate| candidate.name == metric.name && candidate.unit == metric.unit)
}

/// The metrics of `case` that `other` lacks.
fn metrics_alone<'a>(case: &'a Case, other: &'a Case) -> impl Iterator<Item = Unmatched> + 'a {
    let alone = case.metrics.iter().filter(|metric| same_metric(other, metric).is_none());
    alone.map(|metric| Unmatched { parameters: case.parameters.clone(), metric: Some(metric.name.clone()) })
}

fn whole_case(case: &Case) -> Unmatched {
    Unmatched { parameters: case.parameters.clone(), metric: None }
}

#[cfg(test)]
mod tests;
