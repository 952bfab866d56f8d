//! What spoils or explains a number of a profile: what is wrong, what it means, what to do.

use measure::quantity::{counted, format_nanos, grouped};
use measure::schema::FindingSpec;
use measure::schema::profile::findings as row;
use measure::sorting;
use measure::wait_class::is_known;
use measure::{Finding, Unit};

use super::arrays;
use super::naming::{has_no_text, is_of_several_texts, is_of_the_dictionary, name, nanos};
use crate::event::{CallKind, Problem, ProblemKind, Ticks};
use crate::tables::class_sums::work;
use crate::tables::{Profile, SessionProfile, StatementProfile, folding};

/// Executions from which on parsing at each of them is worth a word.
const EXECUTIONS_MIN: u64 = 20;

/// Events without a class that are named.
const EVENTS_NAMED: usize = 5;

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
    findings.extend(arrays::larger(profile));
    findings.extend(plan_times(profile));
    findings.extend(unknown_events(profile));
    findings.extend(errors(profile));
    findings
}

/// Whether waits are in the source as far as it can have them. One that does not know CPU time, such as a log of plans,
/// has no level at which it could be traced again: its own findings say what it lacks.
pub(super) fn is_traced(profile: &Profile) -> bool {
    let whole = &profile.whole;
    whole.waits_are_traced || (!whole.calls.is_empty() && work(whole).cpu.is_none())
}

/// Whether the profile is made of a log of plans, whose own findings say which of its time is not recorded and which
/// statements have no caller in it.
fn is_of_plans(profile: &Profile) -> bool {
    let whole = &profile.whole;
    profile.sampled.is_none() && !whole.calls.is_empty() && work(whole).cpu.is_none()
}

fn waits_not_traced(profile: &Profile) -> Option<Finding> {
    let whole = &profile.whole;
    if !whole.calls.is_empty() && !is_traced(profile) {
        let message = "Waits were not traced: what is unaccounted for holds them, reads included. Trace again with \
                       waits (level 8 or 12).";
        return Some(row::WAITS_NOT_TRACED.of(message));
    }
    // A job without a client may have none, if it did little.
    let is_untraced =
        |one: &&SessionProfile| !one.waits_are_traced && one.calls.keys().any(|(_, is_recursive)| !is_recursive);
    let untraced: Vec<&SessionProfile> = profile.sessions.iter().filter(is_untraced).collect();
    let hidden: Ticks = untraced.iter().map(|one| one.unaccounted_within + one.unaccounted_between).sum();
    let can_hide = whole.waits_are_traced && work(whole).cpu.is_some();
    // The last row stands for all that share it: where one of them has a wait, how many have none is not known.
    let are_shared_untraced = profile.sessions_folded > 0 && profile.sessions.last().as_ref().is_some_and(is_untraced);
    let more = if are_shared_untraced { profile.sessions_folded.saturating_sub(1) } else { 0 };
    let least = if profile.sessions_folded > 0 && !are_shared_untraced { "At least " } else { "" };
    (can_hide && hidden > Ticks::ZERO).then(|| {
        let count = untraced.len() as u64 + more;
        let message = format!(
            "{least}{} of {} sessions {} no wait in the trace: {} of what is unaccounted for is {}, and holds {} \
             waits.",
            grouped(count),
            grouped(profile.session_count()),
            by_number(count, "has", "have"),
            format_nanos(nanos(hidden)),
            by_number(count, "its own", "theirs"),
            by_number(count, "its", "their"),
        );
        row::SESSIONS_NOT_TRACED.of(message)
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
    Some(row::ESTIMATED_TIMES.of(message))
}

fn unrecorded(profile: &Profile) -> Option<Finding> {
    let unrecorded = profile.whole.unrecorded;
    (unrecorded > Ticks::ZERO && !is_of_plans(profile)).then(|| {
        let message = format!(
            "{} of the sessions' time is not recorded. It lies between the end of one file and the beginning of the \
             next: a file in between is missing, or tracing was off. It has a row of its own. It is not part of the \
             response time.",
            format_nanos(nanos(unrecorded))
        );
        row::UNRECORDED.of(message)
    })
}

fn negative(profile: &Profile) -> Vec<Finding> {
    let whole = &profile.whole;
    let matters = |value: Ticks| (value.0 as f64) < -NEGATIVE_SHARE * whole.interval.0.max(1) as f64;
    let shown = |value: Ticks| format!("-{}", format_nanos(-nanos(value)));
    let mut findings = Vec::new();
    if matters(whole.unaccounted_within) {
        let amount = shown(whole.unaccounted_within);
        let why = match is_of_plans(profile) {
            true => "the times of I/O in some plans are longer than their executions.",
            false => "CPU that was burned inside timed waits is in both, and the clock of CPU moves in steps.",
        };
        let message = format!(
            "Unaccounted for within calls is {amount}: {why} It is shown so that the rows add up; the rows of waits \
             stand as they are."
        );
        findings.push(row::NEGATIVE_WITHIN.of(message));
    }
    // Of samples the server's own account is held against them in words of its own.
    if matters(whole.unaccounted_between) && profile.sampled.is_none() {
        let amount = shown(whole.unaccounted_between);
        let why = match is_of_plans(profile) {
            true => {
                "executions overlap, because a log has their ends to the millisecond or the second alone, cursors were \
                 open side by side, sessions share a name, or the input holds the same entries twice."
            }
            false => {
                "calls and waits overlap, because a call's time was written too long, two processes share a session's \
                 name, or the input holds the same lines twice."
            }
        };
        let message = format!("Unaccounted for between calls is {amount}: {why} Read shares with that in mind.");
        findings.push(row::NEGATIVE_BETWEEN.of(message));
    }
    findings
}

/// The wording of a problem: the row of its finding, one and several of what is counted, and the sentence.
type Wording = (ProblemKind, FindingSpec, [&'static str; 2], &'static str);

/// Declares the wordings. `{some}` is the count with its noun, ` ({at})` where the first one stands, if that is known;
/// the words in other braces follow the count.
macro_rules! wordings {
    ($($kind:ident = $row:ident, $one:literal, $many:literal, $text:literal;)*) => {
        const WORDINGS: &[Wording] = &[$((ProblemKind::$kind, row::$row, [$one, $many], $text)),*];
    };
}

wordings! {
    TooLarge = NUMBER_TOO_LARGE, "line", "lines", "{some} with numbers too large to be added {was} left \
        out of every sum ({at}): the file is damaged.";
    TimeTooLarge = NUMBER_TOO_LARGE, "part of a session's time that is", "parts of sessions' time that are", "The \
        interval lacks {some} too long to be added: the clock leapt by years.";
    NegativeElapsed = NEGATIVE_ELAPSED, "line", "lines", "{some} with an elapsed time below zero ({at}) \
        {was} added as written: a clock was set back.";
    ClockWentBack = CLOCK_WENT_BACK, "time", "times", "The clock went back by over a second, {some} \
        ({at}): the interval leaves that out.";
    ClockLeapt = CLOCK_LEAPT, "time", "times", "The clock leapt ahead {some} where no stamp of the wall clock \
        does ({at}): a time is damaged, and the interval leaves the leap out.";
    FoldStraddled = FOLD_STRADDLED, "call", "calls", "Children of {some} may be attributed inexactly \
        ({at}): too many calls awaited a parent.";
    PlacedByName = PLACED_BY_NAME, "wait", "waits", "{some} {was} put inside or between calls by the \
        event's name and not by time ({at}).";
    PlacedByNeighbour = PLACED_BY_NEIGHBOUR, "call or wait has", "calls and waits have", "{some} no time by the wall \
        clock, as waits of Oracle 8i and 9i and lines before the first stamp: each went with the line before it in its \
        session, into the interval or not.";
    SizeLimit = SIZE_LIMIT, "", "", "The trace reached its greatest size ({at}): what came after is not in \
        it. Raise max_dump_file_size and trace again.";
    Recreated = FILE_RECREATED, "", "", "The trace was removed and begun again ({at}): what stood before \
        is not in it.";
    TextCut = TEXT_CUT, "text of a statement ends", "texts of statements end", "{some} early ({at}): the \
        file was cut there.";
    UnknownCursor = UNDECLARED_CURSORS, "cursor is", "cursors are", "{some} not declared in the trace ({at}): \
        it was switched on later, or its beginning is missing. Calls of {that cursor} are kept, under \
        identifiers that begin with `undeclared-`.";
    UnknownCursorsShared = UNDECLARED_SHARED, "of them shares", "of them share", "Too many cursors \
        are undeclared: {some} one row ({at}).";
    StatementsShared = STATEMENTS_SHARED, "declaration of a further one shares", "declarations of further ones share",
        "There are too many statements for rows of their own: {some} a row with those that differ in literals alone \
        (`folded-`), or the row `other statements` ({at}).";
    FurtherStatements = STATEMENTS_SHARED, "time", "times", "There are too many statements for rows of their own: \
        further ones, met {some}, share the row `other statements`.";
    CursorsShared = CURSORS_SHARED, "line", "lines", "Too many cursors were named: {some} of further ones \
        {is} under `other unknown cursors` ({at}).";
    SessionsShared = SESSIONS_SHARED, "time", "times", "There are too many sessions to keep apart: further \
        ones, entered {some}, share the session `other sessions`.";
    SessionsFolded = SESSIONS_FOLDED, "session with less response time is", "sessions with less response time \
        are", "{some} added up as `other sessions`: there are too many for rows of their own.";
    TextShortened = TEXT_SHORTENED, "text of a statement is", "texts of statements are", "{some} longer than \
        is kept ({at}).";
    RecordInValue = RECORDS_IN_BIND_VALUES, "bind value has", "bind values have", "{some} a text that does \
        not end before the next record ({at}): lines of the text that look like calls and waits were counted as such.";
    BlocksRefused = BLOCKS_REFUSED, "wait names", "waits name", "{some} a number of blocks that no read \
        has; these blocks are not counted.";
    PlansLeftOut = PLANS_LEFT_OUT, "execution is", "executions are", "{some} missing in the plans: more plans \
        of a statement were found than are kept.";
    FilesShared = FILES_SHARED, "wait is", "waits are", "{some} missing in the table of data files: there \
        were more files than are kept apart.";
}

/// What the accounting had to decide or to leave out.
fn problem(problem: &Problem, files: &[String]) -> Option<Finding> {
    let (_, row, [one, many], text) = WORDINGS.iter().find(|(kind, ..)| *kind == problem.kind)?;
    let file = files.get(problem.first_file as usize).map_or("a file", String::as_str);
    let filled = |text: String, place: &str, one, many| text.replace(place, by_number(problem.count, one, many));
    let text = text.replace("{some}", &counted(problem.count, one, many));
    let text = filled(filled(text, "{was}", "was", "were"), "{is}", "is", "are");
    let text = filled(text, "{that cursor}", "that cursor", "such cursors");
    // Last: a file's name may have braces.
    let at = match problem.first_file {
        Problem::NOWHERE => String::new(),
        _ => format!(" (first in {file}, byte {})", grouped(problem.first_offset)),
    };
    Some(row.of(text.replace(" ({at})", &at)))
}

/// One of two wordings, by a count.
fn by_number<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn overlapping_sessions(profile: &Profile) -> Option<Finding> {
    let count = profile.session_count();
    (count > 1).then(|| {
        let message = format!(
            "{} sessions are added up: the interval of the whole is the sum of theirs, and can be longer than \
             the time by the clock on the wall.",
            grouped(count)
        );
        row::SEVERAL_SESSIONS.of(message).with("sessions", count as f64, Unit::Count)
    })
}

fn orphans(profile: &Profile) -> Option<Finding> {
    let (orphans, roots) = (profile.whole.orphans, profile.whole.roots);
    (orphans > 0 && !is_of_plans(profile)).then(|| {
        let message = format!(
            "{} of {} {} whose parent is not in the trace: a job, or tracing that began or ended inside a call. {} of \
             {} own.",
            grouped(orphans),
            counted(roots, "outermost call", "outermost calls"),
            by_number(orphans, "is a recursive one", "are recursive ones"),
            by_number(orphans, "It counts as a call", "They count as calls"),
            by_number(orphans, "its", "their"),
        );
        row::ORPHAN_CALLS.of(message)
    })
}

fn parsed_every_time(profile: &Profile) -> Option<Finding> {
    let repeated = profile.statements.iter().filter_map(|statement| {
        let calls = |kind| statement.calls_of(&profile.context, kind).calls;
        let (parses, executions) = (calls(CallKind::Parse), calls(CallKind::Exec));
        let is_repeated = executions >= EXECUTIONS_MIN && parses >= executions - executions / 10;
        // Last, since it goes through the text.
        (is_repeated && can_be_prepared(profile, statement)).then_some((statement, parses, executions))
    });
    let mut repeated: Vec<_> = repeated.collect();
    sorting::by_key(&mut repeated, |(_, parses, _)| std::cmp::Reverse(*parses));
    let (first, parses, executions) = repeated.first()?;
    let others = match repeated.len() - 1 {
        0 => String::new(),
        1 => ", and so is one other statement".into(),
        count => format!(", and so are {} other statements", grouped(count as u64)),
    };
    let is_recursive = profile.context.statement(first.statement).is_some_and(|known| known.depth > 0);
    let advice = if is_recursive {
        "It is called from another statement: write it as static SQL there, or keep its cursor open."
    } else {
        "Prepare it once, or let the session cache its cursor."
    };
    let every = if parses < executions { "nearly every" } else { "every" };
    let message = format!(
        "A statement is parsed at {every} execution ({}, {}: {}){others}. {advice}",
        counted(*parses, "parse", "parses"),
        counted(*executions, "execution", "executions"),
        name(profile, first)
    );
    Some(row::PARSED_EVERY_TIME.of(message))
}

/// Whether a program can prepare a statement once. Texts that differ in their literals cannot be: bind variables come
/// first. A row of many statements is none.
fn can_be_prepared(profile: &Profile, statement: &StatementProfile) -> bool {
    let is_several = is_of_several_texts(profile, statement) || has_no_text(profile, statement);
    !is_several && !is_of_the_dictionary(profile, statement)
}

fn executed_once(profile: &Profile) -> Option<Finding> {
    if profile.sampled.is_some() {
        // How often a statement was executed no sample knows.
        return None;
    }
    let (once, all) = folding::executed_once(profile).filter(|_| folding::is_worth_it(profile))?;
    let message = format!(
        "{} of {} statements were executed once, and most differ in their literals alone: --fold-literals adds them \
         up, bind variables make them one.",
        grouped(once as u64),
        grouped(all as u64)
    );
    Some(row::EXECUTED_ONCE.of(message))
}

/// Plans whose lines have times that contradict each other.
fn plan_times(profile: &Profile) -> Option<Finding> {
    let contradicts = |one: &&StatementProfile| one.plans.iter().any(|plan| !plan.has_sound_times());
    let count = profile.statements.iter().filter(contradicts).count() as u64;
    (count > 0).then(|| {
        let message = format!(
            "The plans of {} have lines that took longer than the lines above them: their times \
             cannot be used and are not shown. Rows, gets and reads can.",
            counted(count, "statement", "statements")
        );
        row::PLAN_TIMES_CONTRADICT.of(message)
    })
}

fn unknown_events(profile: &Profile) -> Option<Finding> {
    let names = profile.whole.events.keys().filter_map(|index| profile.context.event(*index));
    let unknown = sorting::set(names.map(|event| event.name.as_str()).filter(|name| !is_known(name)));
    let mut first = unknown.iter().take(EVENTS_NAMED).copied().collect::<Vec<_>>().join(", ");
    if unknown.len() > EVENTS_NAMED {
        first += &format!(" and {} more", grouped((unknown.len() - EVENTS_NAMED) as u64));
    }
    (!unknown.is_empty()).then(|| {
        let count = unknown.len() as u64;
        let some = counted(count, "event has", "events have");
        let are = by_number(count, "is", "are");
        let message = format!("{some} no class in this version and {are} under `other`: {first}.");
        row::EVENTS_WITHOUT_CLASS.of(message)
    })
}

fn errors(profile: &Profile) -> Option<Finding> {
    let total = profile.errors.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
    // The numbers that are counted together are among the others.
    let mut codes: Vec<(i64, u64)> =
        profile.errors.iter().filter_map(|(code, count)| Some(((*code)?, *count))).collect();
    sorting::by_key(&mut codes, |(_, count)| std::cmp::Reverse(*count));
    let mut first: Vec<String> =
        codes.iter().take(3).map(|(code, count)| format!("error {code}: {}", grouped(*count))).collect();
    let named: u64 = codes.iter().take(3).map(|(_, count)| *count).sum();
    let rest = total.saturating_sub(named);
    first.extend((rest > 0).then(|| format!("others: {}", grouped(rest))));
    (total > 0).then(|| {
        row::FAILED_CALLS.of(format!(
            "{} failed ({}); the time is in the profile.",
            counted(total, "call", "calls"),
            first.join(", ")
        ))
    })
}
