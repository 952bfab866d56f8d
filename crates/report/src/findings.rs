//! What a run says by itself: first the answers, as plain sentences, then what to beware of.

use measure::{Finding, Run, Severity};

use crate::style::Style;
use crate::text::wrap;

/// How the ids of findings begin that answer what the experiment asked.
const ANSWER_PREFIX: &str = "answer-";

/// How the ids of findings begin that say why a case is not there; the rest of the id is the case's name.
pub(crate) const ABSENT_PREFIX: &str = "absent-";

/// Most lines of answers under a table; further ones stand among the findings. Lines of the usual width count, so that
/// a narrow terminal shows the same answers.
const ANSWER_LINES_MAX: usize = 5;
const WIDTH_USUAL: usize = 80;

/// Answers and findings, wrapped to the style's width; empty when the run has nothing to say.
pub(crate) fn findings(run: &Run, style: &Style) -> String {
    let shown = |finding: &&Finding| !is_told_by_table(run, finding);
    let (answers, others): (Vec<&Finding>, Vec<&Finding>) =
        run.findings.iter().filter(shown).partition(|f| is_answer(f));
    let mut lines = 0;
    let (first, late): (Vec<&Finding>, Vec<&Finding>) = answers.into_iter().partition(|answer| {
        lines += wrap(&answer.message, style.width.max(WIDTH_USUAL), 2).lines().count();
        lines <= ANSWER_LINES_MAX
    });
    let answers: Vec<String> = first.into_iter().map(|answer| sentence(answer, style)).collect();
    let unfinished = unfinished(run).map(|finding| labelled(&finding, style));
    let others = unfinished.into_iter().chain(late.into_iter().chain(others).map(|finding| labelled(finding, style)));
    let others: Vec<String> = others.collect();
    // On the page of one statement a reader would take them for that statement's.
    let heading = if is_of_one_statement(run) && !others.is_empty() { "Of the whole trace:\n" } else { "" };
    crate::join_sections(&[answers.join("\n"), format!("{heading}{}", others.join("\n"))])
}

/// Whether the page tells the story of one statement alone.
fn is_of_one_statement(run: &Run) -> bool {
    run.experiment == "profile" && run.subject.contains_key("statement")
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

/// Whether the page above already gives this finding: the ladder its absent rungs, a profile its answers.
fn is_told_by_table(run: &Run, finding: &Finding) -> bool {
    match run.experiment.as_str() {
        "ladder" => crate::ladder::tells(&finding.id),
        "profile" => crate::profile::tells(&finding.id),
        _ => false,
    }
}

fn sentence(finding: &Finding, style: &Style) -> String {
    wrap(&finding.message, style.width, 2)
}

/// A finding behind the word of its severity.
fn labelled(finding: &Finding, style: &Style) -> String {
    let word = match finding.severity {
        Severity::Info => "note:",
        Severity::Warning => "warning:",
    };
    let text = wrap(&format!("{word} {}", finding.message), style.width, 2);
    match finding.severity {
        Severity::Info => text.replacen(word, &style.dim(word), 1),
        Severity::Warning => text.replacen(word, &style.bold(word), 1),
    }
}
