//! Two profiles side by side: what became faster and slower, and whether that is more than the executions' own spread.

use std::borrow::Cow;

use measure::compare::{
    Amount, LineSide, PlanChange, PlanLineChange, ProfileComparison, ProfileSide, Spread, StatementAlone, TimeChange,
};
use measure::quantity::{counted, grouped};
use measure::schema::sources::words_of;
use measure::wait_class::Class;
use measure::{Finding, Unit};

use crate::differences::warnings_apart;
use crate::page::number::{ratio, time};
use crate::page::wording::one_line;
use crate::page::{Align, Cell, Page, Section, Table};

/// Part of the longer response time under which the difference of a class or an event has no row.
const MATTERS: f64 = 0.001;

/// Lines of a plan that are shown of each side.
const PLAN_LINES_MAX: usize = 30;

/// What the columns mean, once for the page: of every table, and of times of an execution and of a row.
const OF_CHANGES: &str = "A change is second minus first; × is second divided by first.";
const OF_PARTS: &str = "The time of an execution is the total divided by the executions: for a statement, its own; \
                        otherwise, the client's. The time of a row is calculated in the same way.";

/// What a spread means, with what is in none.
const OF_SPREAD: &str = "Spread: beyond where the time of an execution differs by more than the executions among \
                         themselves explain (95 %, Welch's test), within where it lies within the executions' own \
                         spread, – where that is not known: a side has no execution, neither has two, or the time \
                         passed between calls and no line says which execution it belongs to.";

/// Why there is none of kept runs.
const OF_KEPT: &str = "Kept runs do not hold how executions spread, so that no difference is held against it: compare \
                       the traces or logs themselves for that.";

/// What two profiles cannot tell.
const OF_REST: &str = "What else differs between the two (load, data, caches) is not in it.";

/// The heading of the column of spreads.
const SPREAD: &str = "spread";

/// What is said where a side is of samples.
const NO_EXECUTIONS: &str = "Samples count no executions: a side of samples has no number of them and no time of one.";

/// What is said of two sides that were sampled unequally long.
const RATES: &str = "The lengths are unequal: below, all times but those of an execution and of a row are divided by \
                     the seconds that were sampled.";

/// The page of a comparison of profiles.
pub(crate) fn page(comparison: &ProfileComparison) -> Page {
    let mut sections = vec![head(comparison)];
    if comparison.passes_nothing || comparison.is_same() {
        let sentence = match comparison.passes_nothing {
            true => "No call and no wait passes the filter.",
            false => "Nothing changed: both have the same times, statements and plans.",
        };
        sections.push(Section::Text(sentence.into()));
        // What was executed does not depend on the filter, and neither do its plans.
        sections.extend(of_one_side_and_plans(comparison));
        sections.extend(warnings(comparison));
        return Page { sections };
    }
    sections.push(Section::lines(answers(comparison)));
    sections.extend(tables(&times(comparison), "where the time went", "an execution by the client"));
    sections.extend(statements(comparison));
    sections.extend(of_one_side_and_plans(comparison));
    let legend = legend(comparison, sections.iter().any(has_spread));
    sections.push(Section::Note(legend));
    let is_sampled = [&comparison.before, &comparison.after].iter().any(|side| side.sampled_us.is_some());
    sections.extend(is_sampled.then(|| Section::Note(NO_EXECUTIONS.into())));
    sections.extend(left_out(comparison));
    sections.extend(warnings(comparison));
    Page { sections }
}

/// What the columns mean that are shown.
fn legend(comparison: &ProfileComparison, has_spread: bool) -> String {
    let parts: &[&str] = match (is_divided(comparison), comparison.lacks_spread) {
        (false, _) => &[OF_CHANGES, OF_REST],
        (true, true) => &[OF_CHANGES, OF_PARTS, OF_KEPT],
        (true, false) if has_spread => &[OF_CHANGES, OF_PARTS, OF_SPREAD, OF_REST],
        (true, false) => &[OF_CHANGES, OF_PARTS, OF_REST],
    };
    parts.join(" ")
}

/// Whether a section is a table with a column of spreads.
fn has_spread(section: &Section) -> bool {
    matches!(section, Section::Table(table) if table.columns.iter().any(|column| column.heading == SPREAD))
}

fn head(comparison: &ProfileComparison) -> Section {
    let (before, after) = (&comparison.before, &comparison.after);
    let response = &comparison.response_time;
    Section::Head {
        title: format!("readpath compare   first {}", before.name),
        facts: vec![format!("{:17}  second {}", "", after.name)],
        settings: [
            format!("first: {}", described(before, &response.before)),
            format!("second: {}", described(after, &response.after)),
        ]
        .into_iter()
        .chain(is_rate(comparison).then(|| RATES.into()))
        .collect(),
    }
}

fn described(side: &ProfileSide, response: &Amount) -> String {
    let parts = [
        Some(format!("{} of response time", shown(response.total_us))),
        side.sampled_us.map(|sampled| format!("sampled for {}", shown(sampled))),
        side.executions.map(|count| counted(count, "client execution", "client executions")),
        side.rows.map(|rows| counted(rows, "row", "rows")),
        side.files.filter(|files| *files > 1).map(|files| counted(files, "file", "files")),
    ];
    parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

/// What matters most, in sentences.
fn answers(comparison: &ProfileComparison) -> Vec<String> {
    let response = &comparison.response_time;
    let compared = |change: &TimeChange| compared(change, comparison.lacks_spread);
    let each = if is_rate(comparison) { ", for each second" } else { "" };
    let mut sentences: Vec<String> = without_samples(comparison).collect();
    sentences.push(format!("Response time{each}: {}.", compared(response)));
    // What executions differ by among themselves, and what is next to nothing of the whole, is no answer.
    let least = least(comparison);
    let matters = |one: &&TimeChange| one.spread != Spread::Within && one.change_us().abs() > least;
    let slower = comparison.statements.iter().filter(|one| one.change_us() > 0.0).find(matters);
    let faster = comparison.statements.iter().filter(|one| one.change_us() < 0.0).find(matters);
    let first = |word: &str, one: &TimeChange| format!("{word} most{each}: statement {}, {}.", one.name, compared(one));
    sentences.extend(slower.map(|one| first("Slowed", one)));
    sentences.extend(faster.map(|one| first("Sped up", one)));
    let changed = comparison.plans.len() as u64;
    if changed > 0 {
        let verb = if changed == 1 { "has" } else { "have" };
        sentences.push(format!("{} {verb} a different plan.", counted(changed, "statement", "statements")));
    }
    sentences
}

/// The sides of samples that have none of the response time, in sentences: a change says little then.
fn without_samples(comparison: &ProfileComparison) -> impl Iterator<Item = String> {
    let response = &comparison.response_time;
    let sides = [("first", &comparison.before, &response.before), ("second", &comparison.after, &response.after)];
    let lack = sides.into_iter().filter(|(_, side, amount)| side.sampled_us.is_some() && amount.total_us <= 0.0);
    lack.map(|(name, ..)| format!("Nothing was sampled of the {name} that counts as response time."))
}

/// `3.40 s first, 2.10 s second (0.62 ×); an execution 162 ms and 100 ms, within the executions' own spread`.
fn compared(change: &TimeChange, lacks_spread: bool) -> String {
    let (before, after) = (&change.before, &change.after);
    let mut text = format!("{} first, {} second", shown(before.compared_us()), shown(after.compared_us()));
    if let Some(ratio_of) = ratio_of(before, after) {
        text += &format!(" ({} ×)", ratio(ratio_of));
    }
    if let (Some(first), Some(second)) = (before.execution_us, after.execution_us) {
        let spread = match change.spread {
            Spread::Beyond => ", more than the executions' own spread",
            Spread::Within => ", within the executions' own spread",
            Spread::Unknown if lacks_spread => "",
            Spread::Unknown => ", with too few executions to know their spread",
            Spread::None => "",
        };
        text += &format!("; an execution {} and {}{spread}", shown(first), shown(second));
    }
    text
}

fn ratio_of(before: &Amount, after: &Amount) -> Option<f64> {
    let (before, after) = (before.compared_us(), after.compared_us());
    (before > 0.0 && after > 0.0).then(|| after / before)
}

/// Whether times are shown for each second, because the lengths of the sides are unequal.
fn is_rate(comparison: &ProfileComparison) -> bool {
    comparison.response_time.before.second_us.is_some()
}

/// Whether both sides are of samples.
fn are_sampled(comparison: &ProfileComparison) -> bool {
    [&comparison.before, &comparison.after].iter().all(|side| side.sampled_us.is_some())
}

/// Whether a time is divided by executions or rows anywhere on the page.
fn is_divided(comparison: &ProfileComparison) -> bool {
    let changes = comparison.classes.iter().chain(&comparison.events).chain(&comparison.statements);
    let changes = changes.chain([&comparison.response_time]).flat_map(|change| [&change.before, &change.after]);
    let alone = comparison.new.iter().chain(&comparison.vanished).map(|one| &one.amount);
    changes.chain(alone).any(|amount| amount.execution_us.is_some() || amount.row_us.is_some())
}

/// A class as the page names it: samples meet no calls that time could lie between, and what was not recorded has the
/// name that the page of a profile of this source gives it.
fn title_of<'a>(comparison: &ProfileComparison, class: &'a str) -> &'a str {
    let unrecorded = words_of(comparison.source.as_deref()).unrecorded;
    match Class::with_key(class) {
        Some(Class::UnaccountedBetween) if are_sampled(comparison) => "unaccounted for",
        Some(Class::Unrecorded) => unrecorded.unwrap_or(Class::Unrecorded.row().title),
        Some(known) => known.row().title,
        None => class,
    }
}

/// Microseconds in the unit that suits them.
fn shown(micros: f64) -> String {
    if micros == 0.0 { "0".into() } else { time(micros * 1e3) }
}

fn cell(micros: f64) -> Cell {
    Cell::number(shown(micros), micros * 1e3, Unit::Nanoseconds)
}

/// A line of the tables: the whole, a class, an event or a statement.
struct Line<'a> {
    name: String,
    change: Cow<'a, TimeChange>,
    /// What stands over the first of several lines.
    group: &'static str,
    is_sum: bool,
}

/// The difference below which a class, an event or a statement hardly matters.
fn least(comparison: &ProfileComparison) -> f64 {
    let response = &comparison.response_time;
    MATTERS * response.before.compared_us().max(response.after.compared_us())
}

/// Served classes with their events, the response time, and idle classes; what hardly differs is one line each.
fn times(comparison: &ProfileComparison) -> Vec<Line<'_>> {
    let response = &comparison.response_time;
    let least = least(comparison);
    let is_idle = |change: &TimeChange| Class::with_key(&change.name).is_some_and(Class::is_idle);
    let line = |name: String, change| Line { name, change, group: "", is_sum: false };
    let mut lines = Vec::new();
    for wants_idle in [false, true] {
        let classes = comparison.classes.iter().filter(|class| is_idle(class) == wants_idle);
        let (classes, others) = mattering(classes, least);
        for class in classes {
            lines.push(line(title_of(comparison, &class.name).into(), Cow::Borrowed(class)));
            let events = comparison.events.iter().filter(|event| event.class.as_ref() == Some(&class.name));
            let (events, others) = mattering(events, least);
            lines.extend(events.into_iter().map(|event| line(format!("  {}", event.name), Cow::Borrowed(event))));
            lines.extend(others.map(|(name, sum)| line(format!("  {name}"), Cow::Owned(sum))));
        }
        lines.extend(others.map(|(name, sum)| line(name, Cow::Owned(sum))));
        if !wants_idle {
            lines.push(Line { is_sum: true, ..line("response time".into(), Cow::Borrowed(response)) });
        }
    }
    lines
}

/// Those that differ by more than the least, and all others with their name and their sum. One other stands for
/// itself: a line without its name would be no shorter.
fn mattering<'a>(
    all: impl Iterator<Item = &'a TimeChange>,
    least: f64,
) -> (Vec<&'a TimeChange>, Option<(String, TimeChange)>) {
    let has_time = |one: &&TimeChange| one.before.total_us != 0.0 || one.after.total_us != 0.0;
    let matters = |one: &TimeChange| one.change_us().abs() > least;
    let all: Vec<&TimeChange> = all.filter(|one| matters(one) || has_time(one)).collect();
    let others: Vec<&TimeChange> = all.iter().filter(|one| !matters(one)).copied().collect();
    if others.len() < 2 {
        return (all, None);
    }
    let shown = all.into_iter().filter(|one| matters(one)).collect();
    (shown, Some((format!("{} others", grouped(others.len() as u64)), together(&others))))
}

/// Several times as one, of the same executions and rows.
fn together(changes: &[&TimeChange]) -> TimeChange {
    let sum = |side: fn(&TimeChange) -> &Amount| {
        let part = |of: fn(&Amount) -> Option<f64>| changes.iter().map(|one| of(side(one))).sum::<Option<f64>>();
        Amount {
            total_us: changes.iter().map(|one| side(one).total_us).sum(),
            second_us: part(|amount| amount.second_us),
            count: changes.iter().map(|one| side(one).count).sum(),
            execution_us: part(|amount| amount.execution_us),
            row_us: part(|amount| amount.row_us),
        }
    };
    let (before, after) = (sum(|one| &one.before), sum(|one| &one.after));
    let difference_us = after.total_us - before.total_us;
    TimeChange { before, after, difference_us, spread: Spread::None, ..TimeChange::default() }
}

/// The headings of what is compared: totals, or times for each second.
const HEADINGS: [&str; 3] = ["first", "second", "change"];
const RATE_HEADINGS: [&str; 3] = ["first /s", "second /s", "change /s"];

/// The totals of lines, and the same divided by executions and rows where a line has either.
fn tables(lines: &[Line], what: &str, title: &str) -> Vec<Section> {
    let is_rate = lines.iter().any(|line| line.change.before.second_us.is_some());
    let [first, second, change] = if is_rate { RATE_HEADINGS } else { HEADINGS };
    let has_text = lines.iter().any(|line| line.change.text.is_some());
    let totals = Table::over(lines)
        .column(what, Align::Left, |line| line.name.clone())
        .column(first, Align::Decimal, |line| cell(line.change.before.compared_us()))
        .column(second, Align::Decimal, |line| cell(line.change.after.compared_us()))
        .column(change, Align::Decimal, |line| signed(line.change.change_us()))
        .column("×", Align::Decimal, |line| {
            let value = ratio_of(&line.change.before, &line.change.after);
            value.map(|value| Cell::number(ratio(value), value, Unit::Ratio))
        })
        .column("text", Align::Left, |line| one_line(line.change.text.as_deref().unwrap_or_default()))
        .only_where(has_text)
        .groups(|line| line.group.into())
        .rules(|line| line.is_sum);
    [totals.done()].into_iter().chain(divided(lines, what, title)).map(Section::Table).collect()
}

/// Times divided by executions and rows, without the columns that would be empty; none where all of them would be.
fn divided(lines: &[Line], what: &str, title: &str) -> Option<Table> {
    let sides = || lines.iter().flat_map(|line| [&line.change.before, &line.change.after]);
    let has_executions = sides().any(|side| side.execution_us.is_some());
    let has_rows = sides().any(|side| side.row_us.is_some());
    let has_spread = lines.iter().any(|line| matches!(line.change.spread, Spread::Beyond | Spread::Within));
    let table = Table::over(lines)
        .column(if has_executions { title } else { what }, Align::Left, |line| line.name.clone())
        .column("first", Align::Decimal, |line| line.change.before.execution_us.map(cell))
        .only_where(has_executions)
        .column("second", Align::Decimal, |line| line.change.after.execution_us.map(cell))
        .only_where(has_executions)
        .column(SPREAD, Align::Left, |line| spread(line.change.spread))
        .only_where(has_spread)
        .column("a row first", Align::Decimal, |line| line.change.before.row_us.map(cell))
        .only_where(has_rows)
        .column("second", Align::Decimal, |line| line.change.after.row_us.map(cell))
        .only_where(has_rows)
        .rules(|line| line.is_sum);
    (has_executions || has_rows).then(|| table.done())
}

fn signed(micros: f64) -> Cell {
    let cell = cell(micros);
    if micros > 0.0 { Cell { text: format!("+{}", cell.text), ..cell } } else { cell }
}

fn spread(spread: Spread) -> &'static str {
    match spread {
        Spread::Beyond => "beyond",
        Spread::Within => "within",
        Spread::Unknown => "–",
        Spread::None => "",
    }
}

/// The statements of both that became slower, and those that became faster.
fn statements(comparison: &ProfileComparison) -> Vec<Section> {
    let lines = |group: &'static str, is_shown: fn(&TimeChange) -> bool| {
        let found = comparison.statements.iter().filter(move |one| is_shown(one)).take(comparison.top as usize);
        found.map(move |one| Line { name: one.name.clone(), change: Cow::Borrowed(one), group, is_sum: false })
    };
    let slower = lines("slower:", |one| one.change_us() > 0.0);
    let lines: Vec<Line> = slower.chain(lines("faster:", |one| one.change_us() < 0.0)).collect();
    if lines.is_empty() { Vec::new() } else { tables(&lines, "statement", "an execution") }
}

/// The statements that one side alone has, and those of both whose plan is another one.
fn of_one_side_and_plans(comparison: &ProfileComparison) -> Vec<Section> {
    let new = alone("new statements", &comparison.new, comparison.top);
    let vanished = alone("statements that vanished", &comparison.vanished, comparison.top);
    new.into_iter().chain(vanished).chain(plans(comparison)).collect()
}

/// The statements of one side alone.
fn alone(title: &str, statements: &[StatementAlone], top: u64) -> Option<Section> {
    let shown: Vec<&StatementAlone> = statements.iter().take(top as usize).collect();
    let note = match (statements.len() - shown.len()) as u64 {
        0 => String::new(),
        more => format!("{} in --format json.", counted(more, "more, with less time, is", "more, with less time, are")),
    };
    let total = if shown.iter().any(|one| one.amount.second_us.is_some()) { "total /s" } else { "total" };
    let has = |is_there: fn(&Amount) -> bool| shown.iter().any(|one| is_there(&one.amount));
    let table = Table::over(&shown)
        .titled(title)
        .column("statement", Align::Left, |one| one.id.clone())
        .column(total, Align::Decimal, |one| cell(one.amount.compared_us()))
        .column("executions", Align::Right, |one| one.amount.count.map(|count| Cell::count(count as f64)))
        .only_where(has(|amount| amount.count.is_some()))
        .column("an execution", Align::Decimal, |one| one.amount.execution_us.map(cell))
        .only_where(has(|amount| amount.execution_us.is_some()))
        .column("a row", Align::Decimal, |one| one.amount.row_us.map(cell))
        .only_where(has(|amount| amount.row_us.is_some()))
        .column("text", Align::Left, |one| one_line(one.text.as_deref().unwrap_or_default()))
        .only_where(shown.iter().any(|one| one.text.is_some()))
        .noted(note);
    table.unless_empty().map(Section::Table)
}

/// The plans that changed: their hashes, and the lines that differ.
fn plans(comparison: &ProfileComparison) -> Vec<Section> {
    let shown = comparison.plans.iter().take(comparison.top as usize);
    let mut sections: Vec<Section> = shown.map(plan).collect();
    let more = comparison.plans.len().saturating_sub(comparison.top as usize);
    let verb = if more == 1 { "has" } else { "have" };
    let others = counted(more as u64, "more statement", "more statements");
    let sentence = format!("{others} {verb} a different plan: --format json has them all.");
    sections.extend((more > 0).then_some(Section::Note(sentence)));
    sections
}

fn plan(change: &PlanChange) -> Section {
    let hashes = |hashes: &[u64]| match hashes {
        [] => "one without a hash".to_owned(),
        some => some.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    };
    let heading = format!("plan of {}: first {}, second {}", change.id, hashes(&change.before), hashes(&change.after));
    let differing: Vec<&PlanLineChange> = change.lines.iter().filter(|line| line.side != LineSide::Both).collect();
    let items = match (change.lines.is_empty(), differing.is_empty()) {
        (true, _) => vec!["The lines of the plan are in one of the two alone, or in neither.".into()],
        (_, true) => vec!["The lines are the same: the plans differ in what no line shows.".into()],
        _ => plan_lines(&differing),
    };
    Section::List { heading: Some(heading), items, indent: 2 }
}

fn plan_lines(differing: &[&PlanLineChange]) -> Vec<String> {
    let line = |line: &&PlanLineChange| {
        let sign = if line.side == LineSide::Before { '-' } else { '+' };
        format!("{}{sign} {}", "  ".repeat(line.level.min(20) as usize), line.operation)
    };
    let mut items: Vec<String> = differing.iter().take(PLAN_LINES_MAX).map(line).collect();
    if differing.len() > PLAN_LINES_MAX {
        let more = (differing.len() - PLAN_LINES_MAX) as u64;
        items.push(format!("({})", counted(more, "more line differs", "more lines differ")));
    }
    items
}

fn left_out(comparison: &ProfileComparison) -> Option<Section> {
    let count = comparison.left_out;
    let sentence = format!("{} that differ least are in no list.", counted(count, "statement", "statements"));
    (count > 0).then_some(Section::Note(sentence))
}

/// What a profile warned of holds for its figures here too.
fn warnings(comparison: &ProfileComparison) -> Vec<Section> {
    let titles = ["Warnings of both:", "Warnings of the first:", "Warnings of the second:"];
    let list = |(title, list): (&str, Vec<&Finding>)| {
        Section::list(title, list.into_iter().map(|warning| warning.message.clone()).collect())
    };
    titles.into_iter().zip(warnings_apart(&comparison.warnings)).filter_map(list).collect()
}
