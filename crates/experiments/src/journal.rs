//! Where an experiment puts what it measures: the command layer keeps it, shows progress and watches for ^C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(test)]
pub(crate) use kept::Kept;
use measure::{Case, Finding, Metric, Parameters};
use subjects::Forecast;
use thiserror::Error;

/// Takes finished cases, findings and progress while an experiment runs.
pub trait Journal {
    /// Says what the run takes of a server that is in use, before anything is made there.
    fn announce(&mut self, _forecast: &Forecast) {}

    /// Says what is being measured now and about how long it takes; zero where that is not known.
    fn step(&mut self, what: &str, expected: Duration);

    /// The same where the time is that of all that is still to come, and not of this step alone.
    fn step_of_run(&mut self, what: &str, left: Duration) {
        self.step(what, left);
    }

    /// Keeps a finished case at once, so that an interruption loses only the case under way.
    fn keep(&mut self, case: Case) -> Result<(), KeepError>;

    /// Keeps cases that are finished together.
    fn keep_all(&mut self, cases: Vec<Case>) -> Result<(), KeepError> {
        cases.into_iter().try_for_each(|case| self.keep(case))
    }

    /// Changes cases that were kept, and what findings with the ids of these say, where what came later says more of
    /// them. Kept at once.
    fn revise(&mut self, _change: &mut dyn FnMut(&mut Case), _said: Vec<Finding>) -> Result<(), KeepError> {
        Ok(())
    }

    /// Adds a finding to the run; the same id and message twice is kept once.
    fn find(&mut self, finding: Finding);

    /// Names the files or devices, of several, that are not measured yet, for the message of a run that a signal ends.
    /// Replaces what was named before.
    fn leave_unmeasured(&mut self, _names: &[String]) {}

    /// Adds a measurement of the tool's own cost.
    fn own_cost(&mut self, metric: Metric);

    /// Adds to the description of the run's subject; a key given again is replaced.
    fn describe_subject(&mut self, key: &str, value: serde_json::Value);
}

impl dyn Journal + '_ {
    /// Adds those findings that stand.
    pub fn find_all(&mut self, found: impl IntoIterator<Item = Finding>) {
        found.into_iter().for_each(|finding| self.find(finding));
    }

    /// Adds all of this to the description of the run's subject.
    pub fn describe_all(&mut self, description: Parameters) {
        description.into_iter().for_each(|(key, value)| self.describe_subject(&key, value));
    }

    /// What could be done; why something cannot be done is a finding.
    pub fn unless_absent<T>(&mut self, outcome: Result<T, Finding>) -> Option<T> {
        outcome.map_err(|absence| self.find(absence)).ok()
    }
}

/// Keeps forecasts and nothing else, for a dry run and where parameters are only checked.
#[derive(Clone, Debug, Default)]
pub struct NullJournal {
    /// What the run would take of servers that are in use, in the order in which it was announced.
    pub forecasts: Vec<Forecast>,
}

impl Journal for NullJournal {
    fn announce(&mut self, forecast: &Forecast) {
        self.forecasts.push(forecast.clone());
    }

    fn step(&mut self, _what: &str, _expected: Duration) {}

    fn keep(&mut self, _case: Case) -> Result<(), KeepError> {
        Ok(())
    }

    fn find(&mut self, _finding: Finding) {}

    fn own_cost(&mut self, _metric: Metric) {}

    fn describe_subject(&mut self, _key: &str, _value: serde_json::Value) {}
}

/// A case that was measured but could not be kept.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct KeepError(pub String);

/// The user asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// A flag that ^C raises; every loop that can last looks at it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag over a variable that a signal handler sets.
    pub fn new(flag: Arc<AtomicBool>) -> Stop {
        Stop(flag)
    }

    /// Whether the user asked to stop.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Leaves a procedure by `?` when the user asked to stop.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.requested() { Err(Stopped) } else { Ok(()) }
    }

    /// The variable itself, for loops in crates below.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// A share of the variable, for threads in crates below.
    pub fn share(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

#[cfg(test)]
mod kept {
    //! A journal that keeps everything, for tests.

    use super::*;

    #[derive(Debug, Default)]
    pub(crate) struct Kept {
        pub(crate) cases: Vec<Case>,
        pub(crate) findings: Vec<Finding>,
        /// What was measured, and the time that was expected then.
        pub(crate) steps: Vec<(String, Duration)>,
        pub(crate) unmeasured: Vec<String>,
        pub(crate) subject: measure::Parameters,
    }

    impl Journal for Kept {
        fn step(&mut self, what: &str, expected: Duration) {
            self.steps.push((what.into(), expected));
        }

        fn keep(&mut self, case: Case) -> Result<(), KeepError> {
            self.cases.push(case);
            Ok(())
        }

        fn find(&mut self, finding: Finding) {
            self.findings.push(finding);
        }

        fn leave_unmeasured(&mut self, names: &[String]) {
            self.unmeasured = names.to_vec();
        }

        fn own_cost(&mut self, _metric: Metric) {}

        fn describe_subject(&mut self, key: &str, value: serde_json::Value) {
            self.subject.insert(key.into(), value);
        }
    }

    impl Kept {
        /// What a report finds.
        pub(crate) fn found(report: impl FnOnce(&mut dyn Journal)) -> Vec<Finding> {
            let mut kept = Kept::default();
            report(&mut kept);
            kept.findings
        }

        pub(crate) fn ids(&self) -> Vec<&str> {
            self.findings.iter().map(|finding| finding.id.as_str()).collect()
        }

        pub(crate) fn message(&self, id: &str) -> Option<&str> {
            self.findings.iter().find(|finding| finding.id == id).map(|finding| finding.message.as_str())
        }
    }
}
