//! What makes CPU time less, by the statement with most of it.

use measure::quantity::{counted, format_nanos, three_digits};

use super::commits::{changes_rows, is_commit};
use super::naming::{by_itself, ended, has_no_text, in_statement, is_of_the_dictionary, nanos, percent};
use super::worth::{Advice, Of, PART};
use crate::event::{CallKind, Cost, Merge, Ticks};
use crate::tables::sampled::Counters;
use crate::tables::{CallSums, Profile, StatementProfile};

/// Executions from which on repeating one is worth a word.
const REPEATED_MIN: u64 = 1_000;

/// Gets of an execution from which on they cost more than the call itself: a key that is looked up in an index takes 3
/// to 5.
const GETS_MANY: f64 = 100.0;

/// Usual cost of a logical I/O at most, in µs.
const LIO_USUAL_MAX: f64 = 10.0;

/// What the counts say of CPU time: many gets, repeated calls, or something other than gets.
pub(super) fn advice(of: &Of<'_>) -> Advice {
    let profile = of.profile;
    let cpu = |one: &StatementProfile| work_calls(profile, one).own.cpu.unwrap_or_default();
    let Some(most) = profile.statements.iter().max_by_key(|one| cpu(one)).filter(|one| cpu(one) > Ticks::ZERO) else {
        return Advice { sentences: uncounted(profile).into_iter().collect(), worth: 0.0 };
    };
    let share = percent(cpu(most).0 as f64, of.sums.total.0 as f64);
    let most_of_one = if of.part(cpu(most)) < PART { ", the most of one statement," } else { "" };
    let begin = format!("{share} % of the CPU{most_of_one} is {}", in_statement(profile, most));
    if let Some(sampled) = &profile.sampled {
        return of_samples(of, begin, (most, sampled.counted(most.statement)), cpu(most));
    }
    let executions = most.calls_of(&profile.context, CallKind::Exec).calls;
    // As the CPU, without those of its parses.
    let Cost { consistent_gets, current_gets, .. } = work_calls(profile, most).own;
    let gets = consistent_gets.saturating_add(current_gets).max(0);
    let text = match executions {
        0 | 1 => format!("{begin}: {} in {}.", format_nanos(nanos(cpu(most))), counted(gets as u64, "get", "gets")),
        _ => of_executions(&begin, executions, cpu(most), gets as f64),
    };
    let what = what_to_do(profile, most, executions, cpu(most).micros() / gets.max(1) as f64, gets);
    Advice { sentences: [text].into_iter().chain(what).collect(), worth: 0.0 }
}

/// The same of samples, which know executions and gets only where the server counts them.
fn of_samples(
    of: &Of<'_>,
    begin: String,
    (most, counted): (&StatementProfile, Option<&Counters>),
    cpu: Ticks,
) -> Advice {
    let Some(counted) = counted.filter(|counted| counted.executions > 0) else {
        let rest = uncounted(of.profile).map_or_else(|| of.of_class(), |sentence| vec![sentence]);
        return Advice { sentences: vec![ended(begin)], worth: 0.0 }.followed_by(rest);
    };
    let gets = counted.hits.saturating_add(counted.reads);
    let text = of_executions(&begin, counted.executions, cpu, gets as f64);
    let micros_per_get = cpu.micros() / gets.max(1) as f64;
    let signed = i64::try_from(gets).unwrap_or(i64::MAX);
    let what = what_to_do(of.profile, most, counted.executions, micros_per_get, signed);
    Advice { sentences: [text].into_iter().chain(what).collect(), worth: 0.0 }
}

/// What is said of samples without the server's counters in place of the practices, which go by gets.
fn uncounted(profile: &Profile) -> Option<String> {
    let sampled = profile.sampled.as_ref()?;
    let sentence = "Executions and gets were not counted: pg_stat_statements counts them. EXPLAIN (ANALYZE, BUFFERS) \
                    shows those of one execution.";
    sampled.counters.is_none().then(|| sentence.into())
}

/// What each of the executions took.
fn of_executions(begin: &str, executions: u64, cpu: Ticks, gets: f64) -> String {
    format!(
        "{begin}: {} of {} CPU and {} gets each.",
        counted(executions, "execution", "executions"),
        format_nanos(nanos(cpu) / executions as f64),
        three_digits(gets / executions as f64)
    )
}

/// By what the statement does; of a commit, the number of commits says it. Executions with many gets each would still
/// be expensive if there were fewer of them. What has no text has no plan either.
fn what_to_do(
    profile: &Profile,
    most: &StatementProfile,
    executions: u64,
    micros_per_get: f64,
    gets: i64,
) -> Option<String> {
    let advice = match () {
        () if is_of_the_dictionary(profile, most) => return Some(by_itself(profile, most)),
        () if is_commit(profile, most) || has_no_text(profile, most) => return None,
        () if executions >= REPEATED_MIN && (gets as f64) < GETS_MANY * executions as f64 => {
            "Execute it less often: one statement for many rows instead of one row at a time."
        }
        () if gets > 0 && micros_per_get <= LIO_USUAL_MAX && gets_to_change(profile, most) => {
            "It gets most of these blocks to change them, and each index whose columns it changes adds to them: drop \
             those that no query uses."
        }
        () if gets > 0 && micros_per_get <= LIO_USUAL_MAX => {
            "Let it touch fewer blocks: a suitable index, rows clustered in the order in which they are read."
        }
        () => return Some(unexplained(profile)),
    };
    Some(advice.into())
}

/// That gets do not explain the CPU, and what it may be instead.
fn unexplained(profile: &Profile) -> String {
    let held = profile.sampled.as_ref().and_then(|sampled| sampled.held_by_cpu());
    let held = held.map_or(String::new(), |held| format!(", which holds {held}"));
    format!(
        "Gets do not explain that much CPU{held}: look at the lines of its plan and at the functions that it calls."
    )
}

/// Whether a statement changes rows and gets most of its blocks for that: no index finds them sooner.
fn gets_to_change(profile: &Profile, one: &StatementProfile) -> bool {
    let Cost { consistent_gets, current_gets, .. } = work_calls(profile, one).own;
    changes_rows(profile, one) && current_gets > consistent_gets
}

/// The calls of a statement but those that parse it.
fn work_calls(profile: &Profile, one: &StatementProfile) -> CallSums {
    let mut sums = CallSums::default();
    let is_parse = |name: u16| profile.context.call_name(name) == CallKind::Parse.name();
    one.calls.iter().filter(|(name, _)| !is_parse(**name)).for_each(|(_, more)| sums.merge(more));
    sums
}
