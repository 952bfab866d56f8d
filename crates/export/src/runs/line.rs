//! What a row is made of: a run, a case of it, and a metric of that or the reason why one is absent.

use std::io;

use measure::compare::{Estimate, disturbances, estimate};
use measure::sorting;
use measure::{Case, Finding, Metric, Run};
use serde_json::Value;

use crate::table::without_nul;

/// Findings that say why a number is absent: their ids, or how these begin.
const ABSENT: [&str; 2] = ["absent-", "contender-absent"];

/// How people call a run: its document does not say so itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// A name for a legend.
    pub name: String,
    /// On what it was measured.
    pub subject: String,
}

/// One row.
pub(crate) struct Line<'a> {
    pub(crate) run: &'a Run,
    pub(crate) words: &'a Words,
    pub(crate) case: Option<&'a OfCase<'a>>,
    pub(crate) what: What<'a>,
}

/// What the rows of a case share.
pub(crate) struct OfCase<'a> {
    /// Its place in the run, from 0.
    pub(crate) number: usize,
    pub(crate) case: &'a Case,
    /// Its parameters as one text that does not depend on their order.
    pub(crate) parameters: String,
    /// Ids of the findings that say that something else was at work meanwhile.
    pub(crate) disturbed: String,
}

/// What a row is about.
pub(crate) enum What<'a> {
    Metric(&'a Metric, Estimate),
    Absent(&'a Finding),
}

/// Gives each row of a run: its cases in their order, what the tool itself cost, and what is absent.
pub(super) fn each(run: &Run, words: &Words, take: &mut dyn FnMut(&Line<'_>) -> io::Result<()>) -> io::Result<()> {
    for (number, case) in run.cases.iter().enumerate() {
        let of_case =
            OfCase { number, case, parameters: parameters(case), disturbed: disturbances(run, case).join(" ") };
        for metric in &case.metrics {
            let what = What::Metric(metric, estimate(case, metric, number as u64));
            take(&Line { run, words, case: Some(&of_case), what })?;
        }
    }
    let own = Case::default();
    for metric in &run.own_cost {
        take(&Line { run, words, case: None, what: What::Metric(metric, estimate(&own, metric, 0)) })?;
    }
    let absent = run.findings.iter().filter(|finding| ABSENT.iter().any(|id| finding.id.starts_with(id)));
    absent.map(|finding| Line { run, words, case: None, what: What::Absent(finding) }).try_for_each(|line| take(&line))
}

/// A JSON object with its names in the order of the alphabet.
fn parameters(case: &Case) -> String {
    let mut parameters: Vec<(&String, &Value)> = case.parameters.iter().collect();
    sorting::by_key(&mut parameters, |(name, _)| *name);
    let kept = |value: &Value| match value {
        Value::String(text) => Value::from(without_nul(text)),
        other => other.clone(),
    };
    Value::Object(parameters.into_iter().map(|(name, value)| (name.clone(), kept(value))).collect()).to_string()
}

impl<'a> Line<'a> {
    /// The metric; `None` where it is absent.
    pub(crate) fn metric(&self) -> Option<&'a Metric> {
        match self.what {
            What::Metric(metric, _) => Some(metric),
            What::Absent(_) => None,
        }
    }

    /// What pages show of the metric.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        match self.what {
            What::Metric(_, estimate) => Some(estimate),
            What::Absent(_) => None,
        }
    }

    /// Why there is no metric.
    pub(crate) fn absence(&self) -> Option<&'a Finding> {
        match self.what {
            What::Metric(..) => None,
            What::Absent(finding) => Some(finding),
        }
    }

    /// A parameter of the case.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'a Value> {
        self.case?.case.parameters.get(name)
    }
}
