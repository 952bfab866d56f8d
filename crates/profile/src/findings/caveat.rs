//! What spoils or explains a number of a profile: what is wrong, what it means, what to do.

use std::collections::BTreeSet;

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::wait_class::is_known;

use super::naming::{name, nanos};
use crate::event::{Problem, ProblemKind, StatementKind, Ticks};
use crate::tables::{CallSums, Profile, StatementProfile};

/// Executions from which on parsing at each of them is worth a word.
const EXECUTIONS_MIN: u64 = 20;

/// Fetches from which on fetching row by row is worth a word.
const FETCHES_MIN: u64 = 100;

/// Statements from which on executing each only once is worth a word.
const STATEMENTS_MIN: usize = 100;

/// Unaccounted time below zero is worth a word from this share of the interval on: below, it is the steps of clocks.
const NEGATIVE_SHARE: f64 = 0.005;

/// All that is worth a word.
pub(super) fn findings(profile: &Profile, files: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(waits_not_traced(profile));
    findings.extend(estimated(profile));
    findings.extend(unrecorded(profile));
    findings.extend(negative(profile));
    findings.extend(profile.problems.iter().map(|one| problem(one, files)));
    findings.extend(overlapping_sessions(profile));
    findings.extend(orphans(profile));
    findings.extend(parsed_every_time(profile));
    findings.extend(executed_once(profile));
    findings.extend(row_by_row(profile));
    findings.extend(unknown_events(profile));
    findings.extend(errors(profile));
    findings
}

fn waits_not_traced(profile: &Profile) -> Option<Finding> {
    let whole = &profile.whole;
    let has_calls = !whole.calls.is_empty();
    (has_calls && !whole.waits_are_traced).then(|| {
        let message = "Waits were not traced: what is unaccounted for holds them, reads included. Trace again with \
                       waits (level 8 or 12).";
        Finding::warning("waits-not-traced", message)
    })
}

/// Times that the source estimated, the most uncertain event by name.
fn estimated(profile: &Profile) -> Option<Finding> {
    let (event, error) = profile.estimated.iter().max_by_key(|(_, error)| **error)?;
    let name = profile.context.events.get(event.0 as usize).map_or("", |event| event.name.as_str());
    let total = profile.whole.events.get(event).map_or(Ticks::ZERO, |sums| sums.total);
    let message = format!(
        "Times of {} are estimates: the most uncertain is {name}, {} with a standard error of {}.",
        counted(profile.estimated.len() as u64, "event", "events"),
        format_nanos(nanos(total)),
        format_nanos(nanos(*error)),
    );
    Some(Finding::info("estimated-times", message))
}

fn unrecorded(profile: &Profile) -> Option<Finding> {
    let unrecorded = profile.whole.unrecorded;
    (unrecorded > Ticks::ZERO).then(|| {
        let message = format!(
            "{} lie between the end of one file and the beginning of the next of the same session: a file in between \
             is missing, or tracing was off. They have a row of their own and are no part of the response time.",
            format_nanos(nanos(unrecorded))
        );
        Finding::warning("unrecorded", message)
    })
}

fn negative(profile: &Profile) -> Vec<Finding> {
    let whole = &profile.whole;
    let matters = |value: Ticks| (value.0 as f64) < -NEGATIVE_SHARE * whole.interval.0.max(1) as f64;
    let shown = |value: Ticks| format!("-{}", format_nanos(-nanos(value)));
    let mut findings = Vec::new();
    if matters(whole.unaccounted_within) {
        let amount = shown(whole.unaccounted_within);
        let message = format!(
            "Unaccounted for within calls is {amount}: CPU that was burned inside timed waits is in both, and the \
             clock of CPU moves in steps. It is shown so that the rows add up; the rows of waits stand as they are."
        );
        findings.push(Finding::info("negative-unaccounted-within", message));
    }
    if matters(whole.unaccounted_between) {
        let amount = shown(whole.unaccounted_between);
        let message = format!(
            "Unaccounted for between calls is {amount}: calls and waits overlap in the trace, because a call's time \
             was written too long or two processes share a session's name. Read shares with that in mind."
        );
        findings.push(Finding::warning("negative-unaccounted-between", message));
    }
    findings
}

/// What the accounting had to decide or to leave out.
fn problem(problem: &Problem, files: &[String]) -> Finding {
    let file = files.get(problem.first_file as usize).map_or("a file", String::as_str);
    let at = format!("first in {file}, byte {}", grouped(problem.first_offset));
    let (id, is_warning, text) = match problem.kind {
        ProblemKind::TooLarge
        | ProblemKind::NegativeElapsed
        | ProblemKind::ClockWentBack
        | ProblemKind::FoldStraddled
        | ProblemKind::PlacedByName => wrong_number(problem, &at),
        ProblemKind::SizeLimit | ProblemKind::Recreated | ProblemKind::TextCut | ProblemKind::UnknownCursor => {
            cut(problem, &at)
        }
        _ => beyond_limit(problem, &at),
    };
    if is_warning { Finding::warning(id, text) } else { Finding::info(id, text) }
}

/// One of two wordings, by a count.
fn by_number<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// Numbers that are wrong in the trace, and sums that are not exact for it.
fn wrong_number(problem: &Problem, at: &str) -> (&'static str, bool, String) {
    let count = problem.count;
    let some = counted(count, "line", "lines");
    let was = by_number(count, "was", "were");
    match problem.kind {
        ProblemKind::TooLarge => (
            "number-too-large",
            true,
            format!(
                "{some} with numbers too large to be added {was} left out of every sum ({at}): the file is damaged."
            ),
        ),
        ProblemKind::NegativeElapsed => (
            "negative-elapsed",
            true,
            format!("{some} with an elapsed time below zero ({at}) {was} added as written: a clock was set back."),
        ),
        ProblemKind::ClockWentBack => (
            "clock-went-back",
            true,
            format!(
                "The clock went back by over a second, {} ({at}): the interval leaves that out.",
                counted(count, "time", "times")
            ),
        ),
        ProblemKind::FoldStraddled => (
            "fold-straddled",
            true,
            format!(
                "Children of {} may be attributed inexactly ({at}): too many calls awaited a parent.",
                counted(count, "call", "calls")
            ),
        ),
        _ => (
            "placed-by-name",
            true,
            format!(
                "{} {was} put inside or between calls by the event's name and not by time ({at}).",
                counted(count, "wait", "waits")
            ),
        ),
    }
}

/// What is missing because the trace was cut, or began too late.
fn cut(problem: &Problem, at: &str) -> (&'static str, bool, String) {
    let count = problem.count;
    match problem.kind {
        ProblemKind::SizeLimit => (
            "size-limit",
            true,
            format!(
                "The trace reached its greatest size ({at}): what came after is not in it. Raise max_dump_file_size \
                 and trace again."
            ),
        ),
        ProblemKind::Recreated => (
            "file-recreated",
            true,
            format!("The trace was removed and begun again ({at}): what stood before is not in it."),
        ),
        ProblemKind::TextCut => (
            "text-cut",
            true,
            format!(
                "{} early ({at}): the file was cut there.",
                counted(count, "text of a statement ends", "texts of statements end")
            ),
        ),
        _ => (
            "undeclared-cursors",
            false,
            format!(
                "{} not declared in the trace ({at}): it was switched on later, or its beginning is missing. Calls of \
                 {} are kept under `unknown cursor`; other profilers drop or double them.",
                counted(count, "cursor is", "cursors are"),
                by_number(count, "that cursor", "such cursors")
            ),
        ),
    }
}

/// What is not kept apart, or not kept, because there is too much of it.
fn beyond_limit(problem: &Problem, at: &str) -> (&'static str, bool, String) {
    let count = problem.count;
    match problem.kind {
        ProblemKind::UnknownCursorsShared => (
            "undeclared-cursors-shared",
            true,
            format!("Too many cursors are undeclared: {} of them share one row ({at}).", grouped(count)),
        ),
        ProblemKind::StatementsShared => (
            "statements-shared",
            true,
            format!(
                "There are too many statements for rows of their own: {} share the row `other statements` ({at}).",
                counted(count, "declaration of a further one", "declarations of further ones")
            ),
        ),
        ProblemKind::CursorsShared => (
            "cursors-shared",
            true,
            format!(
                "Too many cursors were named: {} of further ones {} under `other unknown cursors` ({at}).",
                counted(count, "line", "lines"),
                by_number(count, "is", "are")
            ),
        ),
        ProblemKind::SessionsShared => (
            "sessions-shared",
            true,
            format!(
                "There are too many sessions to keep apart: further ones, entered {}, share the session `other \
                 sessions`.",
                counted(count, "time", "times")
            ),
        ),
        ProblemKind::TextShortened => {
            let some = counted(count, "text of a statement is", "texts of statements are");
            ("text-shortened", false, format!("{some} longer than is kept ({at})."))
        }
        ProblemKind::BlocksRefused => (
            "blocks-refused",
            true,
            format!(
                "{} a number of blocks that no read has; these blocks are not counted.",
                counted(count, "wait names", "waits name")
            ),
        ),
        ProblemKind::PlansLeftOut => (
            "plans-left-out",
            false,
            format!(
                "{} missing in the plans: more plans of a statement were in the trace than are kept.",
                counted(count, "execution is", "executions are")
            ),
        ),
        _ => (
            "files-shared",
            false,
            format!(
                "{} missing in the table of data files: there were more files than are kept apart.",
                counted(count, "wait is", "waits are")
            ),
        ),
    }
}

fn overlapping_sessions(profile: &Profile) -> Option<Finding> {
    let count = profile.sessions.len();
    (count > 1).then(|| {
        let message = format!(
            "{} sessions are added up: the interval of the whole is the sum of theirs, and can be longer than \
             the time by the clock on the wall.",
            grouped(count as u64)
        );
        Finding::info("several-sessions", message)
    })
}

fn orphans(profile: &Profile) -> Option<Finding> {
    let (orphans, roots) = (profile.whole.orphans, profile.whole.roots);
    (orphans > 0).then(|| {
        let message = format!(
            "{} of {} {}: a job, or tracing that began or ended inside a call. {} of {} own.",
            grouped(orphans),
            counted(roots, "outermost call", "outermost calls"),
            by_number(
                orphans,
                "is a recursive one whose parent is not in the trace",
                "are recursive ones whose parent is not in the trace"
            ),
            by_number(orphans, "It counts as a call", "They count as calls"),
            by_number(orphans, "its", "their"),
        );
        Finding::info("orphan-calls", message)
    })
}

/// Sums of a statement's calls of one name.
fn calls(profile: &Profile, statement: &StatementProfile, wanted: &str) -> CallSums {
    let named = |name: &u16| profile.context.call_names.get(usize::from(*name)).is_some_and(|known| known == wanted);
    statement.calls.iter().find(|(name, _)| named(name)).map_or(CallSums::default(), |(_, sums)| *sums)
}

fn parsed_every_time(profile: &Profile) -> Option<Finding> {
    let repeated = profile.statements.iter().filter_map(|statement| {
        let (parses, executions) = (calls(profile, statement, "PARSE").calls, calls(profile, statement, "EXEC").calls);
        (executions >= EXECUTIONS_MIN && parses >= executions - executions / 10)
            .then_some((statement, parses, executions))
    });
    let mut repeated: Vec<_> = repeated.collect();
    repeated.sort_by_key(|(_, parses, _)| std::cmp::Reverse(*parses));
    let (first, parses, executions) = repeated.first()?;
    let others = match repeated.len() - 1 {
        0 => String::new(),
        1 => ", and so is one other statement".into(),
        count => format!(", and so are {} other statements", grouped(count as u64)),
    };
    let message = format!(
        "A statement is parsed at every execution ({}, {}: {}){others}. Prepare it \
         once, or let the session cache its cursor.",
        counted(*parses, "parse", "parses"),
        counted(*executions, "execution", "executions"),
        name(profile, first)
    );
    Some(Finding::warning("parsed-at-every-execution", message))
}

fn executed_once(profile: &Profile) -> Option<Finding> {
    let declared = profile.statements.iter().filter(|statement| {
        let known = profile.context.statements.get(statement.statement.0 as usize);
        known.is_some_and(|known| known.kind == StatementKind::Declared)
    });
    let (mut all, mut once) = (0_usize, 0_usize);
    for statement in declared {
        all += 1;
        once += usize::from(calls(profile, statement, "EXEC").calls == 1);
    }
    (all >= STATEMENTS_MIN && once * 10 >= all * 9).then(|| {
        let message = format!(
            "{} of {} statements were executed once: texts may differ only in their literals. See them \
             together with --fold-literals; use bind variables if so.",
            grouped(once as u64),
            grouped(all as u64)
        );
        Finding::warning("executed-once", message)
    })
}

fn row_by_row(profile: &Profile) -> Option<Finding> {
    let slow = profile.statements.iter().filter_map(|statement| {
        let fetch = calls(profile, statement, "FETCH");
        let rows = fetch.rows as f64 / fetch.calls.max(1) as f64;
        let depth = profile.context.statements.get(statement.statement.0 as usize).map_or(0, |known| known.depth);
        let executions = calls(profile, statement, "EXEC").calls.max(1);
        // A query that returns one row an execution has nothing to fetch in arrays.
        let is_long = fetch.rows / executions >= 20;
        (fetch.calls >= FETCHES_MIN && rows < 2.0 && is_long && depth == 0).then_some((statement, fetch.calls, rows))
    });
    let (statement, fetches, rows) = slow.max_by_key(|(_, fetches, _)| *fetches)?;
    let message = format!(
        "Rows are fetched almost one by one ({} fetches, {} rows each: {}): each fetch is a round trip. Fetch \
         arrays of 100 or more.",
        grouped(fetches),
        three_digits(rows),
        name(profile, statement)
    );
    Some(Finding::warning("row-by-row", message))
}

fn unknown_events(profile: &Profile) -> Option<Finding> {
    let names = profile.whole.events.keys().filter_map(|index| profile.context.events.get(index.0 as usize));
    let unknown: BTreeSet<&str> = names.map(|event| event.name.as_str()).filter(|name| !is_known(name)).collect();
    let first = unknown.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    (!unknown.is_empty()).then(|| {
        let count = unknown.len() as u64;
        let some = counted(count, "event has", "events have");
        let are = by_number(count, "is", "are");
        let message = format!("{some} no class in this version and {are} under `other`: {first}.");
        Finding::info("events-without-class", message)
    })
}

fn errors(profile: &Profile) -> Option<Finding> {
    let total = profile.errors.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let mut codes: Vec<(&i64, &u64)> = profile.errors.iter().collect();
    codes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let first: Vec<String> =
        codes.iter().take(3).map(|(code, count)| format!("error {code}: {}", grouped(**count))).collect();
    (total > 0).then(|| {
        Finding::info(
            "failed-calls",
            format!("{} failed ({}); the time is in the profile.", counted(total, "call", "calls"), first.join(", ")),
        )
    })
}
