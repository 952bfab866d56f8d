//! The journal of a measuring command: keeps each case in the run and in the store, and shows what goes on.

use std::time::Duration;

use experiments::journal::{Journal, KeepError};
use measure::schema::every::findings as row;
use measure::store::Store;
use measure::{Case, Finding, Metric, Run};
use serde_json::Value;
use subjects::Forecast;

use crate::announcement::{Rehearsed, screen};
use crate::output;
use crate::progress::Progress;

/// A run under way.
pub(crate) struct RunJournal {
    run: Run,
    store: Option<Store>,
    progress: Progress,
    not_kept: Option<String>,
    /// What is not measured yet, of several files or devices.
    unmeasured: Vec<String>,
    /// Whether ^C is how it ends.
    ends_by_interrupt: bool,
    /// What the run takes of servers that are in use, as far as that is to be announced.
    expected: Vec<Rehearsed>,
}

impl RunJournal {
    /// A journal over `run`, which is saved to `store` after each case, or once after cases that are finished together.
    pub(crate) fn new(run: Run, store: Option<Store>, progress: Progress) -> RunJournal {
        let (unmeasured, expected) = (Vec::new(), Vec::new());
        RunJournal { run, store, progress, not_kept: None, unmeasured, ends_by_interrupt: false, expected }
    }

    /// Takes what the run is expected to take of servers that are in use, to be announced before it begins there.
    pub(crate) fn rehearsed(&mut self, rehearsed: impl IntoIterator<Item = Rehearsed>) {
        self.expected.extend(rehearsed);
    }

    /// The run as it stands.
    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// The run, at its end.
    pub(crate) fn into_run(self) -> Run {
        self.run
    }

    /// Whether the cases go to a store.
    pub(crate) fn keeps(&self) -> bool {
        self.store.is_some()
    }

    /// Why a case could not be kept; absent while all could.
    pub(crate) fn not_kept(&self) -> Option<&str> {
        self.not_kept.as_deref()
    }

    /// What is not measured yet, of several files or devices.
    pub(crate) fn unmeasured(&self) -> &[String] {
        &self.unmeasured
    }

    /// Takes ^C for the end that its user chose: what it was made for is in it, however long it went on.
    pub(crate) fn end_by_interrupt(&mut self) {
        self.ends_by_interrupt = true;
    }

    /// Whether ^C is how it ends, and nothing is unfinished then. In a run of a job file it is not: it ends them all.
    pub(crate) fn ends_by_interrupt(&self) -> bool {
        self.ends_by_interrupt && self.run.job.is_none()
    }

    /// Marks the run as complete at `moment`, RFC 3339 in UTC.
    pub(crate) fn complete(&mut self, moment: String) {
        self.run.finished = Some(moment);
    }

    /// Makes the run what it was `before`; gives what it has come to since.
    pub(crate) fn begin_again(&mut self, before: &Run) -> Run {
        std::mem::replace(&mut self.run, before.clone())
    }

    /// Takes the progress line away.
    pub(crate) fn clear_progress(&self) {
        self.progress.clear();
    }

    /// Shows no progress from now on: something else writes to the terminal.
    pub(crate) fn end_progress(&mut self) {
        self.progress.clear();
        self.progress = Progress::none();
    }

    /// Saves the run as it stands; remembers and gives the reason where it cannot be.
    pub(crate) fn save(&mut self) -> Result<(), KeepError> {
        let Some(store) = &self.store else { return Ok(()) };
        store.save(&self.run).map(drop).map_err(|error| {
            self.not_kept = Some(error.to_string());
            KeepError(error.to_string())
        })
    }

    /// Takes cases that are finished together, without saving in between.
    pub(crate) fn take(&mut self, cases: Vec<Case>) {
        for mut case in cases {
            self.drop_spoilt_metrics(&mut case);
            self.run.cases.push(case);
        }
    }

    /// Takes a metric out that is not a number and leaves a finding in its place: one spoilt value must not cost
    /// the run.
    fn drop_spoilt_metrics(&mut self, case: &mut Case) {
        for metric in case.take_spoilt() {
            let name = &metric.name;
            let message = format!("{name} came out as something that is not a number and is left out of its case.");
            self.find(row::NOT_A_NUMBER.of(message));
        }
    }
}

impl Journal for RunJournal {
    fn announce(&mut self, forecast: &Forecast) {
        if let Some(rehearsed) = self.expected.iter().find(|rehearsed| rehearsed.is_of(forecast)) {
            self.progress.above(|| output::warn(&screen(forecast, rehearsed, "")));
        }
    }

    fn step(&mut self, what: &str, expected: Duration) {
        self.progress.step(what, expected);
    }

    fn step_of_run(&mut self, what: &str, left: Duration) {
        self.progress.step_of_run(what, left);
    }

    fn keep(&mut self, mut case: Case) -> Result<(), KeepError> {
        self.drop_spoilt_metrics(&mut case);
        self.run.cases.push(case);
        self.save()
    }

    fn keep_all(&mut self, cases: Vec<Case>) -> Result<(), KeepError> {
        let is_any = !cases.is_empty();
        self.take(cases);
        if is_any { self.save() } else { Ok(()) }
    }

    fn revise(&mut self, change: &mut dyn FnMut(&mut Case), said: Vec<Finding>) -> Result<(), KeepError> {
        self.run.cases.iter_mut().for_each(change);
        for finding in said {
            match self.run.findings.iter_mut().find(|known| known.id == finding.id) {
                Some(known) => *known = finding,
                None => self.find(finding),
            }
        }
        self.save()
    }

    fn find(&mut self, finding: Finding) {
        let is_same = |known: &Finding| known.id == finding.id && known.message == finding.message;
        if !self.run.findings.iter().any(is_same) {
            self.run.findings.push(finding);
        }
    }

    fn leave_unmeasured(&mut self, names: &[String]) {
        self.unmeasured = names.to_vec();
    }

    fn own_cost(&mut self, metric: Metric) {
        self.run.own_cost.push(metric);
    }

    fn describe_subject(&mut self, key: &str, value: Value) {
        self.run.subject.insert(key.into(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Parameters;
    use measure::schema::lio;

    fn journal() -> RunJournal {
        let run =
            Run { schema: measure::run::SCHEMA.into(), id: "a".into(), experiment: "null".into(), ..Run::default() };
        RunJournal::new(run, None, Progress::none())
    }

    #[test]
    fn the_same_finding_twice_is_kept_once() {
        let mut journal = journal();
        for message in ["a", "a", "b"] {
            journal.find(row::FAILED.of(message));
        }
        assert_eq!(journal.run().findings.len(), 2);
    }

    #[test]
    fn what_came_later_changes_kept_cases_and_what_was_said_of_them() {
        let mut journal = journal();
        journal.keep(Case::new(Parameters::from_iter([("set".to_string(), "between".into())]))).unwrap();
        [row::FAILED.of("of the set between"), row::NOT_KEPT.of("a")].into_iter().for_each(|one| journal.find(one));
        let mut rename = |case: &mut Case| drop(case.parameters.insert("set".into(), "safe".into()));
        journal.revise(&mut rename, vec![row::FAILED.of("of the set safe")]).unwrap();
        assert_eq!(journal.run().cases[0].parameters["set"], "safe");
        let said: Vec<&str> = journal.run().findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(said, ["of the set safe", "a"], "in its place");
    }

    #[test]
    fn cases_that_are_finished_together_are_saved() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut journal = RunJournal { store: Store::open(folder.path()).ok(), ..journal() };
        journal.keep_all(Vec::new()).unwrap();
        assert!(!store.holds("a"), "nothing to save");
        journal.keep_all(vec![Case::default(); 3]).unwrap();
        assert_eq!(store.load_passing("a", &mut Vec::new()).unwrap().cases.len(), 3);
    }

    #[test]
    fn a_metric_that_is_not_a_number_becomes_a_finding() {
        let case = || {
            let metrics = vec![lio::GETS.single("test", 1.0), lio::LIO.single("test", f64::NAN)];
            Case { metrics, ..Case::default() }
        };
        let [mut alone, mut together] = [journal(), journal()];
        alone.keep(case()).unwrap();
        together.keep_all(vec![Case::default(), case()]).unwrap();
        for journal in [alone, together] {
            assert_eq!(journal.run().cases.last().unwrap().metrics.len(), 1);
            assert_eq!(journal.run().findings[0].id, "not-a-number");
            assert!(journal.run().findings[0].message.starts_with("lio "));
        }
    }
}
