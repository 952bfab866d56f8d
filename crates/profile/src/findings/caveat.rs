//! What spoils or explains a number of a profile: what is wrong, what it means, what to do.

use std::collections::BTreeSet;

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::wait_class::is_known;

use super::naming::{name, nanos};
use crate::event::{CallKind, Problem, ProblemKind, StatementKind, Ticks};
use crate::tables::Profile;

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
    findings.extend(profile.problems.iter().filter_map(|one| problem(one, files)));
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
    let name = profile.context.event_name(*event);
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

/// The wording of a problem: what makes the finding, its id, one and several of what is counted, and the sentence.
type Wording = (ProblemKind, fn(&str, String) -> Finding, &'static str, [&'static str; 2], &'static str);

/// Declares the wordings. `{some}` is the count with its noun, `{at}` where the first one stands; the words in other
/// braces follow the count.
macro_rules! wordings {
    ($($kind:ident = $level:ident, $id:literal, $one:literal, $many:literal, $text:literal;)*) => {
        const WORDINGS: &[Wording] = &[$((ProblemKind::$kind, Finding::$level, $id, [$one, $many], $text)),*];
    };
}

wordings! {
    TooLarge = warning, "number-too-large", "line", "lines", "{some} with numbers too large to be added {was} left \
        out of every sum ({at}): the file is damaged.";
    NegativeElapsed = warning, "negative-elapsed", "line", "lines", "{some} with an elapsed time below zero ({at}) \
        {was} added as written: a clock was set back.";
    ClockWentBack = warning, "clock-went-back", "time", "times", "The clock went back by over a second, {some} \
        ({at}): the interval leaves that out.";
    FoldStraddled = warning, "fold-straddled", "call", "calls", "Children of {some} may be attributed inexactly \
        ({at}): too many calls awaited a parent.";
    PlacedByName = warning, "placed-by-name", "wait", "waits", "{some} {was} put inside or between calls by the \
        event's name and not by time ({at}).";
    SizeLimit = warning, "size-limit", "", "", "The trace reached its greatest size ({at}): what came after is not in \
        it. Raise max_dump_file_size and trace again.";
    Recreated = warning, "file-recreated", "", "", "The trace was removed and begun again ({at}): what stood before \
        is not in it.";
    TextCut = warning, "text-cut", "text of a statement ends", "texts of statements end", "{some} early ({at}): the \
        file was cut there.";
    UnknownCursor = info, "undeclared-cursors", "cursor is", "cursors are", "{some} not declared in the trace ({at}): \
        it was switched on later, or its beginning is missing. Calls of {that cursor} are kept under `unknown \
        cursor`; other profilers drop or double them.";
    UnknownCursorsShared = warning, "undeclared-cursors-shared", "of them share", "of them share", "Too many cursors \
        are undeclared: {some} one row ({at}).";
    StatementsShared = warning, "statements-shared", "declaration of a further one", "declarations of further ones",
        "There are too many statements for rows of their own: {some} share the row `other statements` ({at}).";
    CursorsShared = warning, "cursors-shared", "line", "lines", "Too many cursors were named: {some} of further ones \
        {is} under `other unknown cursors` ({at}).";
    SessionsShared = warning, "sessions-shared", "time", "times", "There are too many sessions to keep apart: further \
        ones, entered {some}, share the session `other sessions`.";
    TextShortened = info, "text-shortened", "text of a statement is", "texts of statements are", "{some} longer than \
        is kept ({at}).";
    RecordInValue = warning, "records-in-bind-values", "bind value has", "bind values have", "{some} a text that does \
        not end before the next record ({at}): lines of the text that look like calls and waits were counted as such.";
    BlocksRefused = warning, "blocks-refused", "wait names", "waits name", "{some} a number of blocks that no read \
        has; these blocks are not counted.";
    PlansLeftOut = info, "plans-left-out", "execution is", "executions are", "{some} missing in the plans: more plans \
        of a statement were in the trace than are kept.";
    FilesShared = info, "files-shared", "wait is", "waits are", "{some} missing in the table of data files: there \
        were more files than are kept apart.";
}

/// What the accounting had to decide or to leave out.
fn problem(problem: &Problem, files: &[String]) -> Option<Finding> {
    let (_, finding, id, [one, many], text) = WORDINGS.iter().find(|(kind, ..)| *kind == problem.kind)?;
    let file = files.get(problem.first_file as usize).map_or("a file", String::as_str);
    let filled = |text: String, place: &str, one, many| text.replace(place, by_number(problem.count, one, many));
    let text = text.replace("{some}", &counted(problem.count, one, many));
    let text = filled(filled(text, "{was}", "was", "were"), "{is}", "is", "are");
    let text = filled(text, "{that cursor}", "that cursor", "such cursors");
    // Last: a file's name may have braces.
    let at = format!("first in {file}, byte {}", grouped(problem.first_offset));
    Some(finding(id, text.replace("{at}", &at)))
}

/// One of two wordings, by a count.
fn by_number<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
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

fn parsed_every_time(profile: &Profile) -> Option<Finding> {
    let repeated = profile.statements.iter().filter_map(|statement| {
        let calls = |kind| statement.calls_of(&profile.context, kind).calls;
        let (parses, executions) = (calls(CallKind::Parse), calls(CallKind::Exec));
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
        let known = profile.context.statement(statement.statement);
        known.is_some_and(|known| known.kind == StatementKind::Declared)
    });
    let (mut all, mut once) = (0_usize, 0_usize);
    for statement in declared {
        all += 1;
        once += usize::from(statement.calls_of(&profile.context, CallKind::Exec).calls == 1);
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
        let fetch = statement.calls_of(&profile.context, CallKind::Fetch);
        let rows = fetch.rows as f64 / fetch.calls.max(1) as f64;
        let depth = profile.context.statement(statement.statement).map_or(0, |known| known.depth);
        let executions = statement.calls_of(&profile.context, CallKind::Exec).calls.max(1);
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
    let names = profile.whole.events.keys().filter_map(|index| profile.context.event(*index));
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
