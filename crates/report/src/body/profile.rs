//! Where the time went: the answers first, then the classes with their events, what to do, and the statements.
//!
//! All of it comes from the rows of the run document: a case a row, distinguished by the parameter `table`.

mod amount;
mod by_second;
mod calls;
pub(super) mod chart;
mod class_order;
mod miss_curve;
mod read_chart;
mod read_tiers;
mod readings;
mod row;
mod sampled;
mod session;
mod skew;
mod statements;
mod story;
mod time;
mod timeline;
mod unread;

use measure::schema::profile::findings::{EXECUTED_ONCE, FOLDED_BY_ITSELF, NO_TIMELINE, SEVERAL_SESSIONS, SKEW_EMPTY};
use measure::schema::sampled::findings::STOLEN_TIME;
use measure::{Finding, Run, Severity};
use serde_json::Value;

use crate::page::Section;
use crate::page::number::grouped;
use row::{Row, rows, summary};

/// Names of one kind that the header has at most.
const NAMES_MAX: usize = 3;

/// Letters of a day with the space behind it: `2026-01-31 `.
const DAY_LENGTH: usize = 11;

/// What the name of a file ends with to which further ones are added: see `AND_BEHIND` of the source of traces.
const AND_BEHIND: &str = " and all behind it";

/// Prefix of the ids of findings whose sentences stand on top.
const ANSWER_PREFIX: &str = "answer-";

/// Prefix of the ids of findings about the tiers of a kind of reads; the kind follows.
const TIERS_PREFIX: &str = "tiers-";

/// Prefix of the ids of findings that say what makes a class smaller; the class follows.
const PRACTICE_PREFIX: &str = "practice-";

/// Prefix of the ids of findings about a breakdown.
const SKEW_PREFIX: &str = "skew-";

/// Whether the page itself gives this finding.
pub(super) fn gives(run: &Run, id: &str) -> bool {
    let is_in_table = id.strip_prefix(TIERS_PREFIX).is_some_and(|kind| readings::has_tiers(run, kind));
    // Next to a breakdown alone, what is worth knowing of the other tables is of no use; what spoils a figure is. A
    // breakdown folds no statements.
    let is_of_tables = !is_warning(run, id) || FOLDED_BY_ITSELF.has(id) || EXECUTED_ONCE.has(id);
    let is_of_others = skew::is_asked_for(run) && !id.starts_with(SKEW_PREFIX) && is_of_tables;
    let is_of_page = id.starts_with(ANSWER_PREFIX) || id.starts_with(PRACTICE_PREFIX) || SKEW_EMPTY.has(id);
    // Without work there is no time that a hypervisor could have taken from it.
    let is_of_work = STOLEN_TIME.has(id) && !has_work(run);
    is_of_page || NO_TIMELINE.has(id) || is_of_work || is_in_table || is_of_others
}

/// Whether a session called or waited.
fn has_work(run: &Run) -> bool {
    rows(run, "call").chain(rows(run, "event")).next().is_some()
}

fn is_warning(run: &Run, id: &str) -> bool {
    run.findings.iter().any(|finding| finding.id == id && finding.severity == Severity::Warning)
}

/// The page of a profile; of a breakdown, or of one statement, where the run was asked for one.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(summary) = summary(run) else {
        return vec![Section::Text("No call and no wait was read.".into())];
    };
    let head = || Section::lines([overview(run, &summary)].into_iter().chain(header(run)).collect());
    if !has_work(run) {
        // What is missing, and what to set, is a finding, as is that no sample found a session at work.
        return match sampled::sampling(run) {
            Some(sampling) => idle(run, head(), &sampling),
            None => {
                vec![Section::Text("What was read holds no call and no wait, so that there is no time to show.".into())]
            }
        };
    }
    let mut sections = vec![head()];
    sections.extend(skew::section(run));
    if let Some(id) = run.subject.get("statement").and_then(Value::as_str) {
        sections.extend(story::sections(run, id, &summary));
    } else if !skew::is_asked_for(run) {
        sections.push(answers(run));
        sections.extend(rows(run, "class").next().map(|_| Section::Table(time::table(run, &summary))));
        sections.extend(sampled::blockers(run).map(Section::Table));
        sections.extend(practices(run, &summary));
        let sampling = sampled::sampling(run);
        // The calls of samples are executions that were met, and not all that there were.
        let calls: Vec<Row> = rows(run, "call").filter(|_| sampling.is_none()).collect();
        let calls = calls::table(&calls);
        sections.extend(statements::unranked(run));
        let tables = statements::tables(run, &summary).into_iter().chain(read_tiers::tables(run));
        let tables = tables.chain(readings::tables(run));
        let tables = tables.chain(miss_curve::table(run)).chain(calls);
        let tables = tables.chain(session::table(run, sessions(run))).chain(session::scopes(run, &summary));
        let background = sampling.as_ref().and_then(|sampling| sampled::background(run, sampling));
        sections.extend(tables.chain(background).map(Section::Table));
        sections.extend(sampling.as_ref().and_then(sampled::own_cost));
    }
    sections.extend(unread::section(run));
    sections
}

/// The page of samples of which none found a session that waited or worked.
fn idle(run: &Run, head: Section, sampling: &Row) -> Vec<Section> {
    let background = sampled::background(run, sampling).map(Section::Table);
    [head].into_iter().chain(background).chain(sampled::own_cost(sampling)).collect()
}

/// What was traced or sampled, in one line: files, sessions, interval, calls.
fn overview(run: &Run, summary: &Row) -> String {
    if let Some(sampling) = sampled::sampling(run) {
        return sampled::overview(run, &sampling, sessions(run));
    }
    let files = run.subject.get("files").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let sessions = sessions(run);
    let calls = |recursive: bool| {
        let named = rows(run, "call").filter(|row| row.truth("recursive") == Some(recursive));
        named.map(|row| row.value("calls").unwrap_or(0.0)).sum::<f64>()
    };
    let parts = [
        (files.len() > 1).then(|| count_of_files(files)),
        Some(amount::counted(sessions, "session", "sessions")),
        Some(
            amount::exact_time(summary.value("interval").unwrap_or(0.0))
                + if sessions > 1.0 { " added up" } else { "" },
        ),
        Some(amount::counted(calls(false), "client call", "client calls")),
        Some(format!("{} recursive", grouped(calls(true) as u64))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How many files were read; of one input, those beyond a number have a place with the last one before them.
fn count_of_files(files: &[Value]) -> String {
    let has_others = |file: &Value| file.as_str().is_some_and(|name| name.ends_with(AND_BEHIND));
    let more = if files.iter().any(has_others) { " and more (further ones are added to the last)" } else { "" };
    amount::counted(files.len() as f64, "file", "files") + more
}

/// How many sessions there were; of many, those with least time share a row.
fn sessions(run: &Run) -> f64 {
    let said = run.findings.iter().find(|finding| SEVERAL_SESSIONS.made(finding));
    let rows = || run.cases.iter().filter(|case| row::is_of(case, "summary") && row::has_session(case)).count();
    said.and_then(|finding| finding.values.get("sessions")).map_or_else(|| rows() as f64, |count| count.value)
}

/// Where it was traced and when: release, instance, host, service, and both ends by the wall clock.
fn header(run: &Run) -> Option<String> {
    let list = |key: &str| {
        let values = run.subject.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
        match values.len() {
            0 => None,
            1..=NAMES_MAX => Some(values.join(", ")),
            all => {
                let more = grouped((all - NAMES_MAX) as u64);
                Some(format!("{} and {more} more", values[..NAMES_MAX].join(", ")))
            }
        }
    };
    let clock = |key: &str| {
        let text = run.subject.get(key).and_then(Value::as_str)?.replace('T', " ");
        // Cut to a second, a time just before a full one would be a second early.
        let (second, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let fraction = fraction.get(..fraction.len().min(3)).filter(|digits| digits.contains(|digit| digit != '0'));
        Some(fraction.map_or(second.to_string(), |fraction| format!("{second}.{fraction:0<3}")))
    };
    let parts = [
        list("versions").map(|versions| format!("release {versions}")),
        match (list("instances"), list("hosts")) {
            (Some(instances), Some(hosts)) => Some(format!("instance {instances} on {hosts}")),
            (instances, hosts) => instances.map(|names| format!("instance {names}")).or(hosts),
        },
        list("services").map(|names| format!("service {names}")),
        clock("first_clock").zip(clock("last_clock")).map(|(first, last)| {
            let of_one_day = first.get(..DAY_LENGTH).and_then(|day| last.strip_prefix(day));
            // Stamps of a trace or a log are in the server's time zone, whatever that is.
            let zone = if sampled::sampling(run).is_some() { " UTC" } else { "" };
            format!("{first} to {}{zone}", of_one_day.unwrap_or(&last))
        }),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    (!text.is_empty()).then_some(text)
}

fn answers(run: &Run) -> Section {
    let answers = run.findings.iter().filter(|finding| finding.id.starts_with(ANSWER_PREFIX));
    Section::lines(answers.map(|finding| finding.message.clone()).collect())
}

/// The practices of the classes that matter, each behind its class and share.
fn practices(run: &Run, summary: &Row) -> Option<Section> {
    let served = time::served(run, summary);
    let line = |finding: &Finding| {
        let class = finding.id.strip_prefix(PRACTICE_PREFIX)?;
        let total = rows(run, "class").find(|row| row.text("class") == class)?.value("total")?;
        let share = amount::share(total, served)?.text;
        Some(format!("{} ({share} %): {}", time::title_in(run, class), finding.message))
    };
    let items: Vec<String> = run.findings.iter().filter_map(line).collect();
    (!items.is_empty()).then(|| Section::List { heading: Some("what to do".into()), items, indent: 0 })
}
