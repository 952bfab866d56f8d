//! Its findings, read on both sides of their conditions.

use std::time::Duration;

use measure::schema::events;
use sides::proptest::option;
use sides::proptest::prelude::any;
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use sys::counters::{Absence, HARDWARE_EVENTS, Raw, Rings, SOFTWARE_EVENTS, Tally};
use sys::process::{Ended, Usage, UsageDelta};

use super::*;
use crate::counters::metrics::Times;
use crate::journal::Kept;
use crate::machine::Change;

/// Instructions a cycle, processor time and misses of the last cache, as far as they were counted.
type Counted = (Option<f64>, Option<f64>, Option<f64>);

fn answer() -> Reading {
    let values = (option::weighted(0.9, 0.1..3.0), option::of(1e6..20e6), option::of(0.0..1000.0));
    let of = |(per_cycle, nanos, misses): &Counted| {
        let events = [("instructions", Some(5e6)), ("cache_misses", misses.map(f64::floor))].into_iter();
        let events = events.filter_map(|(name, count)| Some(schema::EVENT.of(name).single("counter", count?)));
        let per_cycle = per_cycle.map(|ratio| counters::IPC.single("counter", ratio));
        let clock = nanos.map(|nanos| counters::TASK_CLOCK.single("counter", nanos));
        ipc(&Case { metrics: events.chain(per_cycle).chain(clock).collect(), ..Case::default() })
    };
    reading(row::ANSWER_IPC, values, of, |(per_cycle, nanos, misses)| {
        let ipc = per_cycle.filter(|_| nanos.is_none_or(|nanos| nanos >= 10e6))?;
        let meaning = match () {
            () if ipc < 0.7 => "mostly waited",
            () if ipc > 1.5 => "mostly worked.",
            () => "the processor worked and waited.",
        };
        let misses = misses.map(f64::floor).filter(|misses| *misses > 0.0);
        let once = misses.map(|misses| format!("once in {} instructions.", three_digits(5e6 / misses)));
        let said = [format!("{} instructions a cycle: ", three_digits(ipc)), meaning.into()];
        Some(said.into_iter().chain(once).collect())
    })
}

#[test]
fn what_a_command_and_its_counts_say_follows_from_them() {
    let ended = |(is_there, millis): &(bool, u64)| process_ended(*is_there, Nanos::from_millis(*millis));
    let ended = reading(row::PROCESS_ENDED, (any::<bool>(), 1..9999_u64), ended, |(is_there, millis)| {
        (!is_there).then(|| says![format!("ended after {} s.", three_digits(*millis as f64 / 1e3))])
    });
    // As the kernel gives it: the exit code in the second byte, a signal in the first.
    let failed = |(code, signal): &(i32, i32)| {
        command_failed("The command", ExitStatus::from_raw(if *signal > 0 { *signal } else { code << 8 }))
    };
    let failed = reading(row::COMMAND_FAILED, (0..3, 0..3), failed, |(code, signal)| match (code, signal) {
        (0, 0) => None,
        (code, 0) => Some(says![format!("The command ended with exit code {code};")]),
        (_, signal) => Some(says![format!("The command was ended by signal {signal};")]),
    });
    let endings = select(vec![Ending::ByItself, Ending::Stopped]);
    let interrupted = |(ending, millis): &(Ending, u64)| command_interrupted(*ending, Nanos::from_millis(*millis));
    let interrupted = reading(row::COMMAND_INTERRUPTED, (endings, 1..9999_u64), interrupted, |(ending, millis)| {
        let after = || says![format!("interrupted after {} s;", three_digits(*millis as f64 / 1e3))];
        (*ending == Ending::Stopped).then(after)
    });
    both_sides(&counters::findings::ALL, [answer(), ended, failed, interrupted]);
}

/// What was seen of a command of which some events were not counted.
fn observed(absent: &[(&str, Absence)]) -> Observed {
    let mut tally = Tally::default();
    for event in SOFTWARE_EVENTS.iter().chain(HARDWARE_EVENTS) {
        match absent.iter().find(|(name, _)| *name == event.name) {
            Some((_, reason)) => tally.add_absent(*event, *reason),
            None => tally.add(*event, Raw { value: 9, enabled: 9, running: 9 }),
        }
    }
    let elapsed = Nanos::from_millis(5);
    let times = Times { elapsed, user: None, booked: UsageDelta::default(), account: "wait4" };
    let change = Change { core_ghz: None, additions: None, stolen: None, throttled: None, elapsed };
    Observed { tally, rings: Rings::User, times, change, simulated: None, may_ask_valgrind: true }
}

fn said(case: &Case, observed: &Observed) -> Vec<Finding> {
    let mut journal = Kept::default();
    say(case, observed, &mut journal);
    journal.findings
}

/// Why cycles and instructions were not counted, whether instructions were under valgrind, and whether that can be
/// asked for.
fn absent_counters() -> Reading {
    let reasons = || option::of(select(vec![Absence::Unsupported, Absence::TooManyFiles]));
    let of = |(cycles, instructions, is_known, may_ask): &(Option<Absence>, Option<Absence>, bool, bool)| {
        let named = [("cycles", *cycles), ("instructions", *instructions)].into_iter();
        let absent: Vec<(&str, Absence)> = named.filter_map(|(name, reason)| Some((name, reason?))).collect();
        let known = is_known.then(|| schema::EVENT.of("instructions").single("valgrind", 5e6));
        let case = Case { metrics: known.into_iter().collect(), ..Case::default() };
        said(&case, &Observed { may_ask_valgrind: *may_ask, ..observed(&absent) })
    };
    let values = (reasons(), reasons(), any::<bool>(), any::<bool>());
    reading(events::findings::ABSENT_COUNTERS, values, of, |(cycles, instructions, is_known, may_ask)| {
        let instructions = instructions.filter(|_| !is_known);
        let advice = if *may_ask { " With --valgrind the command is run a second time" } else { "" };
        let sentence =
            |reason: Absence, names: &str, advice: &str| format!("Not counted, because {reason}: {names}.{advice}");
        let found: Vec<String> = match (*cycles, instructions) {
            (Some(both), Some(other)) if both == other => vec![sentence(both, "cycles, instructions", advice)],
            (cycles, instructions) => {
                let cycles = cycles.map(|reason| sentence(reason, "cycles", ""));
                let instructions = instructions.map(|reason| sentence(reason, "instructions", advice));
                cycles.into_iter().chain(instructions).collect()
            }
        };
        (!found.is_empty()).then_some(found)
    })
}

/// Valgrind's answer, or why there is none.
fn under_valgrind() -> [Reading; 2] {
    let counted = || sys::valgrind::Counted {
        simulated: Simulated::default(),
        parts: Vec::new(),
        output: Vec::new(),
        ended: Ended { status: ExitStatus::from_raw(0), usage: Usage::default(), ending: Ending::ByItself },
    };
    let second = move |number: &usize| match number {
        0 => Err(ValgrindError::NotInstalled),
        1 => Err(ValgrindError::TimedOut(Duration::from_secs(60))),
        2 => Err(ValgrindError::GaveUp("I cannot go on.".into())),
        _ => Ok(counted()),
    };
    let found = move |number: &usize| {
        let mut journal = Kept::default();
        let simulated = second_run(second(number), &mut journal);
        journal.findings.extend(said(&Case::default(), &Observed { simulated, ..observed(&[]) }));
        journal.findings
    };
    let absent = reading(events::findings::ABSENT_VALGRIND, 0..6_usize, found, |number| {
        let reason = match number {
            0 => "valgrind is not installed; install it with `apt install valgrind` or `dnf install valgrind`.",
            1 => "under valgrind the command had not ended after 60 s and was stopped.",
            2 => "valgrind gave up: I cannot go on.",
            _ => return None,
        };
        Some(says![format!("Instructions were not counted under valgrind: {reason}")])
    });
    let counts = reading(events::findings::VALGRIND, 0..6_usize, found, |number| {
        (*number > 2)
            .then(|| says!["come from a second run, in user mode only.", "It simulates caches without prefetching."])
    });
    [absent, counts]
}

#[test]
fn what_was_not_counted_is_said_with_the_reason_and_what_can_be_done() {
    both_sides(&events::findings::ALL, under_valgrind().into_iter().chain([absent_counters()]));
}
