//! What a run document says of the files that a profile was made of.

use std::collections::HashMap;

use ::measure::quantity::{counted, grouped};
use ::measure::{Case, Finding, Metric, Parameters, Unit};
use ::profile::input::Problem;
use ::profile::oracle::time_scale::{self, Evidence, TimeScale};
use ::profile::survey::{Survey, SurveyedFile};
use experiments::Journal;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::run_journal::RunJournal;

/// Files that are named one by one where something is in their way.
const NAMED_MAX: usize = 5;

/// Describes the subject: files, releases, unit of time, wall clock.
pub(super) fn describe(survey: &Survey, journal: &mut RunJournal) {
    let files: Vec<&str> = survey.files.iter().map(|file| file.name.as_str()).collect();
    let mut versions: Vec<&str> = survey.files.iter().filter_map(|file| file.version.as_deref()).collect();
    versions.sort_unstable();
    versions.dedup();
    journal.describe_subject("kind", "trace".into());
    if survey.logs.is_some() {
        journal.describe_subject("source", "PostgreSQL server log".into());
    }
    if let [file] = files.as_slice() {
        journal.describe_subject("path", (*file).into());
    }
    journal.describe_subject("files", files.into());
    journal.describe_subject("bytes", survey.files.iter().map(|file| file.bytes).sum::<u64>().into());
    journal.describe_subject("versions", versions.into());
    journal.describe_subject("time_scale", scale(&survey.files));
    let moment = |micros: i64| Timestamp::from_microsecond(micros).ok().map(|moment| moment.to_string());
    for (key, clock) in [("first_clock", survey.profile.first_clock), ("last_clock", survey.profile.last_clock)] {
        if let Some(moment) = clock.and_then(moment) {
            // The stamps are in the server's local time, whatever that is.
            journal.describe_subject(key, moment.trim_end_matches('Z').into());
        }
    }
}

/// By how much times were multiplied; a list in the order of the files where they differ.
fn scale(files: &[SurveyedFile]) -> Value {
    let scales: Vec<f64> = files.iter().map(|file| file.scale.calls.micros()).collect();
    match scales.as_slice() {
        [first, rest @ ..] if rest.iter().all(|scale| scale == first) => json!(first),
        _ => json!(scales),
    }
}

/// A row for each file and kind of line that was not read.
pub(super) fn unread(survey: &Survey) -> Vec<Case> {
    let rows = survey.files.iter().flat_map(|file| file.unread.iter().map(move |unread| (file, unread)));
    let case = rows.map(|(file, unread)| {
        let parameters =
            [("table", "unread".into()), ("file", file.name.as_str().into()), ("kind", unread.kind.into())];
        let parameters: Parameters =
            parameters.into_iter().map(|(name, value): (_, Value)| (name.into(), value)).collect();
        let count = |name: &str, value: u64| Metric::single(name, Unit::Count, "scanner", value as f64);
        let metrics = vec![
            count("lines", unread.lines),
            count("bytes", unread.bytes),
            count("first_offset", unread.first_offset),
        ];
        Case { parameters, metrics, timeline: None }
    });
    case.collect()
}

/// What is to be said of the files.
pub(super) fn findings(survey: &Survey) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let lost = survey.problems.iter().take(NAMED_MAX);
    findings.extend(lost.map(|problem| Finding::warning("file-left-out", sentence(problem))));
    if survey.problems.len() > NAMED_MAX {
        let more = (survey.problems.len() - NAMED_MAX) as u64;
        let message = counted(more, "further file was", "further files were") + " left out.";
        findings.push(Finding::warning("files-left-out", message));
    }
    for file in survey.files.iter().filter(|file| file.cut_short.is_some()) {
        let reason = file.cut_short.as_deref().unwrap_or_default();
        let message = format!("{} was read up to byte {} only: {reason}.", file.name, grouped(file.bytes));
        findings.push(Finding::warning("file-cut-short", message));
    }
    findings.extend(same_content(&survey.files));
    findings.extend(unit(&survey.files));
    findings.extend(survey.logs.iter().flat_map(::profile::postgres::findings::findings));
    findings.extend(unread_lines(&survey.files));
    findings
}

/// Files that hold the same: every call of them is counted as often.
fn same_content(files: &[SurveyedFile]) -> Vec<Finding> {
    let mut first: HashMap<(u64, u64), &str> = HashMap::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.bytes > 0) {
        let Some(hash) = file.head_hash else { continue };
        let known = *first.entry((hash, file.bytes)).or_insert(&file.name);
        if known != file.name && findings.len() < NAMED_MAX {
            let message = format!(
                "{known} and {} begin alike and have as many bytes: they seem to be the same, and each call and wait \
                 is counted twice. Give one of them.",
                file.name
            );
            findings.push(Finding::warning("same-content", message));
        }
    }
    findings
}

/// The unit of time, where it is not the plain one: one sentence for all files that have it.
fn unit(files: &[SurveyedFile]) -> Vec<Finding> {
    let mut groups: Vec<(String, Vec<&SurveyedFile>)> = Vec::new();
    for file in files.iter().filter(|file| is_special(&file.scale)) {
        let TimeScale { calls, waits, .. } = file.scale;
        let of = if calls == waits {
            words(calls)
        } else {
            format!("{} in calls and {} in waits", words(calls), words(waits))
        };
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, files)) => files.push(file),
            None => groups.push((of, vec![file])),
        }
    }
    groups.iter().map(|(of, files)| unit_of(of, files)).collect()
}

fn unit_of(of: &str, files: &[&SurveyedFile]) -> Finding {
    let first = files[0];
    let what = match files {
        [_] => first.name.clone(),
        _ => format!("{} files (the first is {})", grouped(files.len() as u64), first.name),
    };
    let message = format!(
        "Times in {what} are in units of {of} ({}) and were converted. CPU time has a clock of its own. Other \
         profilers do not convert; --time-scale 1 takes the times as they stand.",
        evidence(&first.scale)
    );
    Finding::info("time-unit", message)
}

/// How the unit was found.
fn evidence(scale: &TimeScale) -> String {
    match scale.evidence {
        Evidence::Assumed => "assumed".into(),
        Evidence::Given => "as given on the command line".into(),
        Evidence::Version => "its release is older than 9".into(),
        Evidence::Epoch { .. } => "only so does the clock agree with a stamp of the wall clock".into(),
        Evidence::Slope { seconds, ratio } => {
            format!("against the wall clock a unit lasts {ratio:.4} µs, over {seconds:.0} s")
        }
        Evidence::LockTimer { waits, mean } => {
            format!("{waits} sleeps of whole seconds last {} units each", grouped(mean as u64))
        }
    }
}

fn is_special(scale: &TimeScale) -> bool {
    let plain = time_scale::Unit::Microsecond;
    scale.calls != plain || scale.waits != plain
}

fn words(unit: time_scale::Unit) -> String {
    match unit {
        time_scale::Unit::Microsecond => "1 µs".into(),
        time_scale::Unit::Shifted => "1.024 µs".into(),
        time_scale::Unit::Centisecond => "10 ms".into(),
    }
}

/// Lines that were not read, in one sentence.
fn unread_lines(files: &[SurveyedFile]) -> Option<Finding> {
    let all = || files.iter().flat_map(|file| &file.unread);
    let lines: u64 = all().map(|unread| unread.lines).sum();
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for unread in all() {
        match kinds.iter_mut().find(|(kind, _)| *kind == unread.kind) {
            Some((_, lines)) => *lines += unread.lines,
            None => kinds.push((unread.kind, unread.lines)),
        }
    }
    kinds.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    let some: Vec<String> = kinds.iter().take(3).map(|(kind, lines)| format!("{kind}: {}", grouped(*lines))).collect();
    (lines > 0).then(|| {
        let lines = counted(lines, "line was", "lines were");
        let message = format!("{lines} not read ({}). --explain-unread lists them by file.", some.join(", "));
        Finding::info("unread-lines", message)
    })
}

/// What is in the way of a file, as a sentence. One that begins with the file's name keeps it as it is written.
fn sentence(problem: &Problem) -> String {
    let text = format!("{problem}.");
    match problem {
        Problem::Unreadable { .. } | Problem::NotATrace { .. } | Problem::Repeated { .. } => text,
        Problem::NoLogs { .. } | Problem::Unlisted { .. } | Problem::NoMatch { .. } | Problem::NoTraces { .. } => {
            capital(&text)
        }
    }
}

fn capital(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}
