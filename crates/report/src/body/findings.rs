//! What a run says by itself: first what the experiment asked, answered in sentences, then what to beware of.

use measure::schema::every::findings as every;
use measure::schema::page::findings as row;
use measure::sorting;
use measure::{Finding, Run, Severity};

use super::head::database;
use super::source::source_words;
use super::subjects::{FIRST, SUBJECT};
use crate::page::{Findings, Section};

/// Prefix of the ids of findings that answer what the experiment asked.
const ANSWER_PREFIX: &str = "answer-";

/// The answer that stands before the tables of a run on a database, and the findings behind them, but for those that
/// the page `gives` already.
pub(super) fn findings(run: &Run, gives: fn(&Run, &str) -> bool) -> (Option<Section>, Section) {
    let shown = run.findings.iter().filter(|finding| !gives(run, &finding.id)).cloned();
    let (mut answers, others): (Vec<Finding>, Vec<Finding>) = shown.partition(is_answer);
    // The question was about the database: what it says comes before what the engine does beside it.
    let database = database(&run.subject);
    let is_beside = run.cases.iter().any(|case| case.is(SUBJECT, FIRST));
    if let Some((kind, _)) = database.filter(|_| is_beside) {
        sorting::by_key(&mut answers, |answer| !["server", kind].iter().any(|word| answer.message.contains(word)));
    }
    let first: Vec<Finding> = answers.drain(..usize::from(database.is_some() && !answers.is_empty())).collect();
    let first = (!first.is_empty()).then(|| Section::Findings(Findings { answers: first, ..Findings::default() }));
    let others: Vec<Finding> = unfinished(run).into_iter().chain(others).collect();
    // On the page of one statement a reader would take them for that statement's.
    let is_of_one_statement = run.experiment == "profile" && run.subject.contains_key("statement");
    let heading = is_of_one_statement.then(|| format!("Of the whole {}:", source_words(run).whole));
    (first, Section::Findings(Findings { answers, others, heading }))
}

/// A word about a run that ended without saying so, as one that was killed does.
fn unfinished(run: &Run) -> Option<Finding> {
    let says_so = run.findings.iter().any(ends);
    let message = "The run did not end: it goes on, or it was killed. The cases that it finished are shown.";
    (run.finished.is_none() && !says_so).then(|| row::UNFINISHED.of(message))
}

/// Whether it says that the run did not come to its end.
pub(super) fn ends(finding: &Finding) -> bool {
    every::INTERRUPTED.made(finding) || every::FAILED.made(finding)
}

fn is_answer(finding: &Finding) -> bool {
    finding.severity == Severity::Info && finding.id.starts_with(ANSWER_PREFIX)
}

#[cfg(test)]
mod tests;
