//! A breakdown of calls and waits by the dimensions that were asked for.

use measure::schema::profile::findings::SKEW_EMPTY;
use measure::schema::profile::parameters::{MINUTE, REST, TABLE};
use measure::sorting;
use measure::wait_class::Class;
use measure::{Case, Metric, Run};
use serde_json::Value;

use super::amount::{Scale, count, scale, share};
use super::row::{is_of, rows, summary};
use super::sampled::sampling;
use super::time::name_of_whole;
use crate::page::number::grouped;
use crate::page::{Align, Section, Table};

/// Lines that are shown where the run does not say how many; the others are added up in the last one.
const LINES: usize = 20;

/// What is added up.
const TIME: &str =
    "Time is the own CPU of calls and the elapsed time of waits, think time among them; % is of their sum.";

/// What the number of calls is.
const COUNTED: &str = "The column calls counts calls and waits.";

/// Why there is no number of calls.
const UNCOUNTED: &str = "Samples do not tell how many calls and waits there were.";

/// In which second one counts.
const ENDED: &str = "A call and a wait count in the second in which they end.";

/// The dimension that this is about.
const SECOND: &str = "second";

/// What the rows are in which a trace had no stamp yet.
const UNDATED: &str =
    "Rows without a date are in seconds of the trace's own clock: no stamp of the wall clock says when they passed.";

/// The dimensions that have a date where it is known.
const DATED: [&str; 2] = [SECOND, MINUTE.name];

/// Parameters that are no dimension.
const OTHER_PARAMETERS: [&str; 2] = [TABLE.name, REST.name];

/// One line: a case, all others, or the sum.
struct Line<'a> {
    names: Vec<String>,
    total: f64,
    /// None where the source does not count them.
    calls: Option<f64>,
    case: Option<&'a Case>,
    is_sum: bool,
}

/// Whether the run was asked for a breakdown: the page is then of nothing else.
pub(super) fn is_asked_for(run: &Run) -> bool {
    section(run).is_some()
}

/// The breakdown, or that nothing passes its filter; none where none was asked for.
pub(super) fn section(run: &Run) -> Option<Section> {
    let empty = run.findings.iter().find(|finding| SKEW_EMPTY.made(finding));
    empty.map(|finding| Section::Text(finding.message.clone())).or_else(|| table(run).map(Section::Table))
}

fn table(run: &Run) -> Option<Table> {
    let cases: Vec<&Case> = run.cases.iter().filter(|case| is_of(case, "skew")).collect();
    let is_dimension = |name: &&String| !OTHER_PARAMETERS.contains(&name.as_str());
    let dimensions: Vec<&String> = cases.first()?.parameters.keys().filter(is_dimension).collect();
    let most = run.subject.get("top").and_then(Value::as_u64).map_or(LINES, |top| top as usize);
    let lines = lines(&cases, &dimensions, most);
    let total: f64 = cases.iter().map(|case| value(case, "total")).sum();
    let scale = scale(total);
    let is_counted = lines.iter().any(|line| line.calls.is_some());
    let condition = run.subject.get("where").and_then(Value::as_str).filter(|condition| !condition.is_empty());
    let calls = if is_counted { COUNTED } else { UNCOUNTED };
    let ended = is_counted && dimensions.iter().any(|dimension| *dimension == SECOND);
    let ended = ended.then(|| ENDED.to_string());
    // A filter leaves out more than that.
    let rest = if condition.is_none() { unaccounted(run, total, scale) } else { None };
    let is_undated =
        |case: &Case| DATED.iter().any(|name| case.parameter(name).is_some_and(|second| second.parse::<i64>().is_ok()));
    // What is added up in the last line has no date to miss.
    let undated = lines.iter().filter_map(|line| line.case).any(is_undated).then(|| UNDATED.to_string());
    let notes = [Some(TIME.into()), Some(calls.into()), ended, undated, rest];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let table = Table::over(&lines)
        .each(dimensions.iter().enumerate(), |table, (index, dimension)| {
            table.column(format!("by {dimension}"), Align::Left, |line| {
                line.names.get(index).cloned().unwrap_or_default()
            })
        })
        .column(scale.heading, Align::Right, |line| scale.cell(line.total))
        .column("%", Align::Right, |line| share(line.total, total))
        .column("calls", Align::Right, |line| line.calls.map(count))
        .only_where(is_counted)
        .times("mean", |line| nanos(line.case?, "mean"))
        .blank(|line| line.case.is_none())
        .only_where(is_counted)
        .optional_times("max", |line| nanos(line.case?, "max"))
        .blank(|line| line.case.is_none())
        .optional_times("min", |line| nanos(line.case?, "min"))
        .blank(|line| line.case.is_none())
        .rules(|line| line.is_sum)
        .noted(notes.join(" "))
        .done();
    Some(Table { title: condition.map(|condition| format!("where {condition}")), ..table })
}

/// The time that is in no row, because neither a call nor a wait has it, and the whole that it adds up to.
fn unaccounted(run: &Run, total: f64, of: Scale) -> Option<String> {
    let whole = summary(run)?.value("interval")?;
    let rest = whole - total;
    let of_whole = scale(whole);
    let of = if of_whole.is_longer_than(of) { of_whole } else { of };
    let (name, amount, whole) = (name_of_whole(run), of.with_unit(rest.abs()), of.with_unit(whole));
    // Less than the last digit of the rows is no amount.
    let is_shown = amount.contains(|digit: char| ('1'..='9').contains(&digit));
    let has_holes = rows(run, "class").any(|row| row.text("class") == Class::Unrecorded.key());
    let what = if has_holes { "unaccounted for or not recorded" } else { "unaccounted for" };
    let why = if sampling(run).is_some() {
        "the samples found more than the server's own account has"
    } else {
        "the times of some calls and waits overlap"
    };
    is_shown.then(|| match rest > 0.0 {
        true => format!("The {name} is {whole}: {amount} of it is {what}, and in no row."),
        false => format!("The {name} is {whole}, and the rows have {amount} more: {why}."),
    })
}

/// The rows with most time, at most `most`, in the order of the run; then all others, and the sum.
fn lines<'a>(cases: &[&'a Case], dimensions: &[&String], most: usize) -> Vec<Line<'a>> {
    let (rows, rest): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| !case.parameters.contains_key(REST.name));
    let mut ranked: Vec<usize> = (0..rows.len()).collect();
    sorting::by(&mut ranked, |one, other| value(rows[*other], "total").total_cmp(&value(rows[*one], "total")));
    let (top, below) = ranked.split_at_mut(rows.len().min(most));
    sorting::ascending(top);
    let of = |places: &[usize]| places.iter().map(|place| rows[*place]).collect::<Vec<&Case>>();
    let (shown, hidden) = (of(top), of(below));
    let names = |case: &Case| dimensions.iter().map(|name| case.parameter(name).unwrap_or_default()).collect();
    let total = |case: &Case| value(case, "total");
    let calls = |case: &Case| case.metric("calls").map(Metric::median);
    let line = |case: &&'a Case| Line {
        names: names(case),
        total: total(case),
        calls: calls(case),
        case: Some(case),
        is_sum: false,
    };
    let together = |name: String, of: &[&Case], is_sum| Line {
        names: vec![name],
        total: of.iter().map(|case| total(case)).sum(),
        calls: of.iter().map(|case| calls(case)).sum(),
        case: None,
        is_sum,
    };
    let mut lines: Vec<Line> = shown.iter().map(line).collect();
    let others: Vec<&Case> = hidden.iter().chain(&rest).copied().collect();
    if !others.is_empty() {
        let values = hidden.len() as u64 + rest.iter().map(|case| value(case, "values") as u64).sum::<u64>();
        let noun = if values == 1 { "other" } else { "others" };
        lines.push(together(format!("{} {noun}", grouped(values)), &others, false));
    }
    lines.push(together("sum".into(), cases, true));
    lines
}

fn value(case: &Case, name: &str) -> f64 {
    case.metric(name).map_or(0.0, |metric| metric.median())
}

fn nanos(case: &Case, name: &str) -> Option<f64> {
    case.metric(name)?.nanos()
}

#[cfg(test)]
mod tests {
    use measure::Parameters;
    use measure::schema::profile;

    use super::*;

    #[test]
    fn rows_without_a_date_are_not_taken_for_times_of_day() {
        let of_top = |minutes: &[&str], top: u64| {
            let case = |minute: &&str| {
                let mut case = Case::new(Parameters::from_iter([TABLE.of("skew"), MINUTE.of(*minute)]));
                case.metrics = vec![profile::TOTAL.single("trace", 1e6)];
                case
            };
            let subject = [("top".to_string(), top.into())].into_iter().collect();
            let run = Run { subject, cases: minutes.iter().map(case).collect(), ..Run::default() };
            table(&run).and_then(|table| table.note).unwrap_or_default()
        };
        let note = |minutes: &[&str]| of_top(minutes, 20);
        let dated = "2026-11-22 10:00:00";
        assert!(note(&["1740", dated]).contains(UNDATED), "{}", note(&["1740", dated]));
        assert!(!note(&[dated, "–"]).contains(UNDATED), "{}", note(&[dated, "–"]));
        let hidden = of_top(&[dated, "1740"], 1);
        assert!(!hidden.contains(UNDATED), "no line that is shown lacks a date: {hidden}");
    }
}
