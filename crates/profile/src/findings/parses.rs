//! What makes the CPU time of parsing less: one advice, by the counts of parses, hard parses and executions.

use measure::quantity::{counted, format_nanos, grouped};

use super::naming::{by_itself, ended, has_no_text, is_of_several_texts, is_of_the_dictionary, name, nanos, percent};
use super::worth::{Advice, Of, PART};
use crate::event::CallKind;
use crate::tables::{CallSums, StatementProfile};

/// CPU time of a parse from which on the statement is hard to optimize, in ns.
const HARD_PARSE_NANOS: f64 = 100e6;

/// Parses below which there is little to avoid.
const PARSES_MIN: u64 = 100;

/// Executions a parse from which on cursors are kept open.
const KEPT_OPEN: u64 = 10;

/// What the counts say of parsing.
pub(super) fn advice(of: &Of<'_>) -> Advice {
    let context = &of.profile.context;
    let cpu = |one: &StatementProfile| one.calls_of(context, CallKind::Parse).own.cpu.unwrap_or_default();
    let Some(most) = of.profile.statements.iter().max_by_key(|one| cpu(one)) else { return Advice::default() };
    // Those of many statements together are no reason to look at one.
    let is_most = of.part(cpu(most)) >= PART && !has_no_text(of.profile, most);
    let parses = most.calls_of(context, CallKind::Parse).calls;
    let each = nanos(cpu(most)) / parses.max(1) as f64;
    if is_most && each >= HARD_PARSE_NANOS && !is_of_several_texts(of.profile, most) {
        let text = format!(
            "{} % of it is {} of {} at {} each: fewer tables, partitions and views in one text, or a plan that is \
             kept for it.",
            percent(cpu(most).0 as f64, of.sums.total.0 as f64),
            counted(parses, "parse", "parses"),
            name(of.profile, most),
            format_nanos(each)
        );
        return Advice { sentences: vec![text], worth: 0.0 };
    }
    let total = |of_one: fn(&CallSums) -> u64, kind: CallKind| {
        of.profile.statements.iter().map(|one| of_one(one.calls_of(context, kind))).sum::<u64>()
    };
    let counts = Counts {
        parses: total(|sums| sums.calls, CallKind::Parse),
        hard: total(|sums| sums.misses, CallKind::Parse),
        executions: total(|sums| sums.calls, CallKind::Exec),
    };
    let mut advice = if is_most { of_statement(of, most, &counts) } else { of_all(&counts) };
    let are = if counts.hard == 1 { "is" } else { "are" };
    let shares = format!("{} of {} {are} hard.", grouped(counts.hard), counted(counts.parses, "parse", "parses"));
    advice.sentences.insert(0, shares);
    advice
}

/// Parses, hard ones among them, and executions of all statements.
struct Counts {
    parses: u64,
    hard: u64,
    executions: u64,
}

/// Where one statement has most of it.
fn of_statement(of: &Of<'_>, most: &StatementProfile, counts: &Counts) -> Advice {
    let parse = most.calls_of(&of.profile.context, CallKind::Parse);
    let executions = most.calls_of(&of.profile.context, CallKind::Exec).calls;
    let cpu = parse.own.cpu.unwrap_or_default();
    let name = name(of.profile, most);
    let parses = counted(parse.calls, "parse", "parses");
    let of_it = format!("{} of it is {parses} of {name}", format_nanos(nanos(cpu)));
    if is_of_the_dictionary(of.profile, most) {
        return Advice { sentences: vec![ended(of_it), by_itself(of.profile, most)], worth: 0.0 };
    }
    if parse.calls < PARSES_MIN || executions >= KEPT_OPEN * parse.calls {
        return of_all(counts);
    }
    let text = if is_of_several_texts(of.profile, most) {
        format!("{of_it}, whose texts differ in their literals alone: use bind variables.")
    } else if parse.misses * 2 >= parse.calls {
        format!(
            "{of_it}, and {} of them are hard though the text is the same: see why its cursor is lost or not shared.",
            grouped(parse.misses)
        )
    } else {
        let executed = counted(executions, "execution", "executions");
        format!("{of_it} for {executed}: prepare it once, or let the session cache its cursor.")
    };
    // What all parses but one take.
    let worth = cpu.micros() * (1.0 - 1.0 / parse.calls.max(1) as f64);
    Advice { sentences: vec![text], worth }
}

/// Where no statement has most of it.
fn of_all(counts: &Counts) -> Advice {
    let advice = match () {
        () if counts.parses < PARSES_MIN => "There are too few of them to save much.".into(),
        () if counts.hard * 2 >= counts.parses => {
            "Use bind variables where texts differ only in their literals; --fold-literals shows which do.".into()
        }
        () if counts.executions >= KEPT_OPEN * counts.parses => {
            format!("{} executions follow them: cursors are kept open already.", grouped(counts.executions))
        }
        () => "Prepare a statement once and execute it many times; keep cursors open or let the session cache them."
            .into(),
    };
    Advice { sentences: vec![advice], worth: 0.0 }
}
