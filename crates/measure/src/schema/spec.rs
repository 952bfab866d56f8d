//! Specifications: what a parameter, a metric or a published figure is, written once.
//!
//! A metric of a run can only be made from its specification, which gives it its name and its unit.

use std::borrow::Cow;

use serde_json::Value;

use super::every;
use super::finding::{FindingGroup, FindingSpec};
use crate::case::Case;
use crate::finding::Finding;
use crate::metric::Metric;
use crate::statistics::Statistics;
use crate::unit::Unit;

/// Most samples that a metric carries along one by one; beyond, it carries a histogram.
const SAMPLES_KEPT_MAX: usize = 1024;

/// A metric: its name, its unit and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spec {
    /// The field's term for the quantity, in snake case.
    pub name: Cow<'static, str>,
    /// What its values are counted in.
    pub unit: Unit,
    /// What it means, in the words of the documentation.
    pub meaning: &'static str,
}

impl Spec {
    /// A specification of the schema.
    pub(crate) const fn new(name: &'static str, unit: Unit, meaning: &'static str) -> Spec {
        Spec { name: Cow::Borrowed(name), unit, meaning }
    }

    /// The metric with one value; `source` says how it was obtained.
    pub fn single(&self, source: &str, value: f64) -> Metric {
        self.of_statistics(source, Statistics::single(without_sign_of_zero(value)))
    }

    /// The metric with one value that was counted.
    pub fn count(&self, source: &str, count: u64) -> Metric {
        self.single(source, count as f64)
    }

    /// The metric of repeated samples, kept with it where they are few; their distribution where they are many.
    ///
    /// `None` without any: what was not measured is absent, not zero.
    pub fn of_samples(&self, source: &str, samples: &[f64]) -> Option<Metric> {
        let samples: Vec<f64> = samples.iter().copied().map(without_sign_of_zero).collect();
        let mut metric = self.of_statistics(source, Statistics::of_samples(&samples)?);
        match samples.len() {
            0 | 1 => {}
            2..=SAMPLES_KEPT_MAX => metric.samples = samples,
            _ => metric.histogram = distribution(&samples),
        }
        Some(metric)
    }

    /// The metric with statistics that are already known.
    pub fn of_statistics(&self, source: &str, statistics: Statistics) -> Metric {
        let (name, unit, source) = (self.name.to_string(), self.unit, source.into());
        Metric { name, unit, source, statistics, samples: Vec::new(), histogram: Vec::new() }
    }

    /// The metric in a case.
    pub fn in_case<'a>(&self, case: &'a Case) -> Option<&'a Metric> {
        case.metric(&self.name)
    }

    /// The metric's median in a case.
    pub fn median(&self, case: &Case) -> Option<f64> {
        self.in_case(case).map(Metric::median)
    }

    /// The metric's median in a case, in nanoseconds.
    pub fn nanos(&self, case: &Case) -> Option<f64> {
        self.in_case(case)?.nanos()
    }
}

/// The number, 0 in the place of -0, which the sum of no numbers is.
fn without_sign_of_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// The samples as ascending pairs of a bucket's upper edge and the samples in it, about as many in each.
///
/// An edge lies half-way to the next sample. Equal samples share a bucket; many of them have it to themselves.
fn distribution(samples: &[f64]) -> Vec<(f64, u64)> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = sorted.len().div_ceil(SAMPLES_KEPT_MAX);
    let steps: Vec<&[f64]> = sorted.chunk_by(|left, right| left == right).collect();
    let (mut buckets, mut count) = (Vec::new(), 0);
    for (index, step) in steps.iter().enumerate() {
        count += step.len();
        let (edge, is_full) = match steps.get(index + 1) {
            Some(next) => {
                let edge = f64::midpoint(step[0], next[0]);
                // Between neighbouring numbers there is no edge.
                (edge, edge < next[0] && (count >= share || next.len() >= share))
            }
            None => (step[0], true),
        };
        if is_full {
            buckets.push((edge, count as u64));
            count = 0;
        }
    }
    buckets
}

/// Metrics that differ in one part of their name, such as the events of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Family {
    /// The name, with `*` where the names differ.
    pub pattern: &'static str,
    /// What stands there.
    pub stems: Stems,
    /// What all of them are counted in.
    pub unit: Unit,
    /// What they mean.
    pub meaning: &'static str,
}

/// What stands at the `*` of a family's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stems {
    /// A whole number.
    Number,
    /// One of these.
    OneOf(&'static [&'static str]),
}

impl Family {
    /// The specification of one of the family. Panics on a stem that the family does not have.
    pub fn of(&self, stem: &str) -> Spec {
        assert!(self.stems.has(stem), "{} has no {stem}", self.pattern);
        Spec { name: Cow::Owned(self.pattern.replace('*', stem)), unit: self.unit, meaning: self.meaning }
    }

    /// The specification of the one with this name.
    pub fn named(&self, name: &str) -> Option<Spec> {
        let (before, after) = self.pattern.split_once('*')?;
        let stem = name.strip_prefix(before)?.strip_suffix(after)?;
        self.stems.has(stem).then(|| self.of(stem))
    }
}

impl Stems {
    fn has(self, stem: &str) -> bool {
        match self {
            Stems::Number => !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit()),
            Stems::OneOf(stems) => stems.contains(&stem),
        }
    }
}

/// A parameter of a case: its name and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, in snake case.
    pub name: &'static str,
    /// What it means, with its values where they are few.
    pub meaning: &'static str,
}

impl Parameter {
    /// The parameter with a value, as an entry of [`crate::Parameters`].
    pub fn of(&self, value: impl Into<Value>) -> (String, Value) {
        (self.name.into(), value.into())
    }

    /// Its value in a case, as plain text.
    pub fn in_case(&self, case: &Case) -> Option<String> {
        case.parameter(self.name)
    }
}

/// How a published figure is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It was given as a number.
    Exactly,
    /// It was given as about so much.
    About,
    /// It was given as more than that.
    Above,
    /// It was given as less than that.
    Below,
}

/// A figure that was published, to stand next to a measured one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Name of the metric that it compares with; none where it compares several.
    pub metric: Option<&'static str>,
    /// What was measured.
    pub what: &'static str,
    /// Parameters of the case that it compares with.
    pub case: &'static [(&'static str, &'static str)],
    /// How to read the value.
    pub bound: Bound,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Who published it, and where.
    pub source: &'static str,
}

impl Published {
    /// Whether it compares with this case.
    pub fn is_of(&self, case: &Case) -> bool {
        self.case.iter().all(|(name, value)| case.parameter(name).as_deref() == Some(*value))
    }
}

/// What an experiment's cases consist of.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name in run documents.
    pub name: &'static str,
    /// Parameters of its cases.
    pub parameters: &'static [&'static [Parameter]],
    /// Metrics of its cases.
    pub metrics: &'static [&'static [Spec]],
    /// Metrics whose names are made when they are measured.
    pub families: &'static [&'static [Family]],
    /// What it may find, its own findings first; every run may have those of [`super::every`] besides.
    pub findings: &'static [FindingGroup],
    /// Figures that were published on the same question.
    pub published: &'static [Published],
}

impl Experiment {
    /// All parameters.
    pub fn all_parameters(&self) -> impl Iterator<Item = &'static Parameter> + use<> {
        self.parameters.iter().copied().flatten()
    }

    /// All metrics with a fixed name.
    pub fn all_metrics(&self) -> impl Iterator<Item = &'static Spec> + use<> {
        self.metrics.iter().copied().flatten()
    }

    /// All families.
    pub fn all_families(&self) -> impl Iterator<Item = &'static Family> + use<> {
        self.families.iter().copied().flatten()
    }

    /// The row of a finding.
    pub fn row_of(&self, finding: &Finding) -> Option<&'static FindingSpec> {
        let groups = self.findings.iter().chain([&every::findings::ALL]);
        groups.flat_map(|group| group.rows).find(|row| row.made(finding))
    }

    /// The published figures that compare with a metric of a case.
    pub fn published<'a>(&self, metric: &'a str, case: &'a Case) -> impl Iterator<Item = &'static Published> + use<'a> {
        self.published.iter().filter(move |published| published.metric == Some(metric) && published.is_of(case))
    }
}

/// Declares specifications as constants, and `METRICS`, the list of them.
macro_rules! metrics {
    ($($id:ident = $name:literal, $unit:ident, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $id: crate::schema::spec::Spec =
                crate::schema::spec::Spec::new($name, crate::unit::Unit::$unit, $meaning);
        )*
        /// The metrics of this file.
        pub const METRICS: &[crate::schema::spec::Spec] = &[$($id),*];
    };
}

/// Declares families as constants, and `FAMILIES`, the list of them.
macro_rules! families {
    ($($id:ident = $pattern:literal, $stems:expr, $unit:ident, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $id: crate::schema::spec::Family = crate::schema::spec::Family {
                pattern: $pattern, stems: $stems, unit: crate::unit::Unit::$unit, meaning: $meaning,
            };
        )*
        /// The families of this file.
        pub const FAMILIES: &[crate::schema::spec::Family] = &[$($id),*];
    };
}

/// Declares parameters as constants of the module `parameters`, and `ALL`, the list of them.
macro_rules! parameters {
    ($($id:ident = $name:literal, $meaning:literal;)*) => {
        /// The parameters of this file.
        pub mod parameters {
            use crate::schema::spec::Parameter;
            $(
                #[doc = $meaning]
                pub const $id: Parameter = Parameter { name: $name, meaning: $meaning };
            )*
            /// All of them.
            pub const ALL: &[Parameter] = &[$($id),*];
        }
    };
}

pub(super) use {families, metrics, parameters};

#[cfg(test)]
mod tests {
    use crate::metric::Metric;
    use crate::schema::reads;

    fn histogram(samples: &[f64]) -> Vec<(f64, u64)> {
        let metric = reads::READ_LATENCY.of_samples("clock", samples).unwrap();
        assert!(metric.samples.is_empty(), "{} samples", metric.samples.len());
        metric.histogram
    }

    #[test]
    fn more_samples_than_a_metric_carries_leave_their_distribution_with_it() {
        let of_numbers = |count: u32| (0..count).rev().map(f64::from).collect::<Vec<f64>>();
        let few = reads::READ_LATENCY.of_samples("clock", &of_numbers(1024)).unwrap();
        assert_eq!((few.samples.len(), few.histogram.len()), (1024, 0));
        let buckets = histogram(&of_numbers(100_000));
        assert!(buckets.len() <= 1024, "{}", buckets.len());
        assert!(buckets.is_sorted_by(|left, right| left.0 < right.0));
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 100_000);
        assert_eq!(buckets.last().unwrap().0, 99_999.0);
        // What stands below the middle edge is what the edge says.
        let below: u64 = buckets[..buckets.len() / 2].iter().map(|(_, count)| count).sum();
        assert_eq!(buckets[buckets.len() / 2 - 1].0, below as f64 - 0.5);
    }

    #[test]
    fn the_sum_of_no_numbers_is_no_negative_number() {
        let nothing: f64 = [0.0; 0].iter().sum();
        for zero in [-0.0, nothing] {
            let written = |metric: &Metric| serde_json::to_string(metric).unwrap();
            let single = written(&reads::READ_LATENCY.single("clock", zero));
            let several = written(&reads::READ_LATENCY.of_samples("clock", &[zero, 1.0, zero]).unwrap());
            let many = written(&reads::READ_LATENCY.of_samples("clock", &[zero; 2000]).unwrap());
            assert!([&single, &several, &many].iter().all(|text| !text.contains("-0")), "{single} {several} {many}");
        }
    }

    #[test]
    fn many_equal_samples_and_neighbouring_numbers_keep_the_edges_of_a_distribution_ascending() {
        assert_eq!(histogram(&[7.0; 2000]), [(7.0, 2000)]);
        let ticks: Vec<f64> = [1.0].into_iter().chain([10.0; 1000]).chain([12.0; 1000]).collect();
        assert_eq!(histogram(&ticks), [(5.5, 1), (11.0, 1000), (12.0, 1000)]);
        let neighbours = [1.0, 1.0_f64.next_up(), 1.0_f64.next_up().next_up()];
        let near = histogram(&neighbours.map(|value| [value; 1000]).concat());
        assert!(near.is_sorted_by(|left, right| left.0 < right.0), "{near:?}");
        assert_eq!(near.iter().map(|(_, count)| count).sum::<u64>(), 3000);
    }
}
