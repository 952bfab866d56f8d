//! What a run says by itself: first what the experiment asked, answered in sentences, then what to beware of.

use measure::{Finding, Run, Severity};

use crate::page::{Findings, Section};

/// Prefix of the ids of findings that answer what the experiment asked.
const ANSWER_PREFIX: &str = "answer-";

/// The subject that is measured beside a server, and what an answer about the server names.
const ENGINE: &str = "engine";
const SERVER: [&str; 2] = ["server", "postgres"];

/// The answer that stands before the tables of a run on a server, and the findings behind them, but for those that the
/// page `gives` already.
pub(super) fn findings(run: &Run, gives: fn(&str) -> bool) -> (Option<Section>, Section) {
    let shown = run.findings.iter().filter(|finding| !gives(&finding.id)).cloned();
    let (mut answers, others): (Vec<Finding>, Vec<Finding>) = shown.partition(is_answer);
    // The question was about the server: what it says comes before what the engine does beside it.
    let is_on_server = run.subject.get("kind").is_some_and(|kind| kind == "postgres");
    if is_on_server && run.cases.iter().any(|case| case.parameter("subject").is_some_and(|name| name == ENGINE)) {
        answers.sort_by_key(|answer| !SERVER.iter().any(|word| answer.message.contains(word)));
    }
    let first: Vec<Finding> = answers.drain(..usize::from(is_on_server && !answers.is_empty())).collect();
    let first = (!first.is_empty()).then(|| Section::Findings(Findings { answers: first, ..Findings::default() }));
    let others: Vec<Finding> = unfinished(run).into_iter().chain(others).collect();
    // On the page of one statement a reader would take them for that statement's.
    let is_of_one_statement = run.experiment == "profile" && run.subject.contains_key("statement");
    let heading = is_of_one_statement.then(|| "Of the whole trace:".into());
    (first, Section::Findings(Findings { answers, others, heading }))
}

/// A word about a run that ended without saying so, as one that was killed does.
fn unfinished(run: &Run) -> Option<Finding> {
    let says_so = run.findings.iter().any(|finding| finding.id == "interrupted" || finding.id == "failed");
    let message = "The run did not end: it goes on, or it was killed. The cases that it finished are shown.";
    (run.finished.is_none() && !says_so).then(|| Finding::warning("unfinished", message))
}

fn is_answer(finding: &Finding) -> bool {
    finding.severity == Severity::Info && finding.id.starts_with(ANSWER_PREFIX)
}
