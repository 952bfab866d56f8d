//! Where the time went: the answers first, then the classes with their events, what to do, and the statements.
//!
//! All of it comes from the rows of the run document: a case a row, told apart by the parameter `table`.

mod amount;
mod calls;
mod miss_curve;
mod readings;
mod row;
mod session;
mod skew;
mod statements;
mod story;
mod time;
mod unread;

use measure::{Finding, Run};
use serde_json::Value;

use crate::number::{grouped, three_digits};
use crate::style::Style;
use crate::text::{shorten, wrap};
use row::{Row, rows, summary};

/// How the ids of findings begin whose sentences stand on top.
const ANSWER_PREFIX: &str = "answer-";

/// How the ids of findings begin that say what makes a class smaller; the rest of the id is the class.
const PRACTICE_PREFIX: &str = "practice-";

/// Whether the page itself gives this finding.
pub(crate) fn tells(id: &str) -> bool {
    id.starts_with(ANSWER_PREFIX) || id.starts_with(PRACTICE_PREFIX)
}

/// The page of a profile, or of one statement of it where the run was asked for one.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let Some(summary) = summary(run) else {
        return "No call and no wait was read.".into();
    };
    if let Some(id) = run.subject.get("statement").and_then(Value::as_str) {
        let story = story::page(run, id, &summary, style);
        let breakdown = skew::table(run, style);
        return crate::join_sections(&[overview(run, &summary, style), breakdown, story, unread::table(run, style)]);
    }
    crate::join_sections(&[
        overview(run, &summary, style),
        answers(run, style),
        skew::table(run, style),
        time::table(run, &summary, style),
        practices(run, &summary, style),
        statements::tables(run, style),
        readings::tables(run, style),
        miss_curve::table(run, style),
        calls::table(run, &summary, style),
        session::table(run, style),
        session::scopes(run, style),
        unread::table(run, style),
    ])
}

/// What was traced, in one line: files, sessions, interval, calls.
fn overview(run: &Run, summary: &Row, style: &Style) -> String {
    let files = run.subject.get("files").and_then(Value::as_array).map_or(0, Vec::len);
    let sessions = run.cases.iter().filter(|case| row::is_of(case, "summary") && row::has_session(case)).count();
    let calls = |recursive: bool| {
        let named = rows(run, "call").filter(|row| row.truth("recursive") == Some(recursive));
        named.map(|row| row.value("calls").unwrap_or(0.0)).sum::<f64>()
    };
    let interval = summary.value("interval").unwrap_or(0.0);
    let noun = |count: f64, one: &str, many: &str| {
        format!("{} {}", grouped(count as u64), if count == 1.0 { one } else { many })
    };
    let parts = [
        (files > 1).then(|| noun(files as f64, "file", "files")),
        Some(noun(sessions as f64, "session", "sessions")),
        Some(amount::exact_time(interval)),
        Some(noun(calls(false), "client call", "client calls")),
        Some(format!("{} recursive", grouped(calls(true) as u64))),
    ];
    wrap(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "), style.width, 2)
}

fn answers(run: &Run, style: &Style) -> String {
    let answers = run.findings.iter().filter(|finding| finding.id.starts_with(ANSWER_PREFIX));
    answers.map(|finding| wrap(&finding.message, style.width, 2)).collect::<Vec<_>>().join("\n")
}

/// The practices of the classes that matter, each behind its class and share.
fn practices(run: &Run, summary: &Row, style: &Style) -> String {
    let served = time::served(run, summary);
    let line = |finding: &Finding| {
        let class = finding.id.strip_prefix(PRACTICE_PREFIX)?;
        let total = rows(run, "class").find(|row| row.text("class") == class)?.value("total")?;
        let share = if served > 0.0 { three_digits(100.0 * total / served) } else { return None };
        let text = format!("{} ({share} %): {}", time::title(class), finding.message);
        Some(wrap(&text, style.width, 2))
    };
    let lines: Vec<String> = run.findings.iter().filter_map(line).collect();
    if lines.is_empty() { String::new() } else { format!("{}\n{}", style.bold("what to do"), lines.join("\n")) }
}

/// A statement's identifier in at most as many columns as the longest sqlid has.
fn short_id(id: &str) -> String {
    shorten(id, 20)
}
