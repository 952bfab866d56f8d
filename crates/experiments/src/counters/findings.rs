//! What the counts say, and what could not be counted and why.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use measure::quantity::three_digits;
use measure::schema::counters::findings as row;
use measure::schema::events::findings as events_row;
use measure::schema::{counters, events as schema};
use measure::{Case, Finding, Nanos, Unit};
use sys::process::Ending;
use sys::valgrind::{Counted, Simulated, ValgrindError};

use super::metrics::Observed;
use crate::events;
use crate::journal::Journal;

/// Processor time below which instructions a cycle say nothing of a program, in nanoseconds.
const SHORT_NS: f64 = 10e6;

/// Instructions a cycle below which a processor of this century mostly waits, and above which it mostly works.
const IPC_LOW: f64 = 0.7;
const IPC_HIGH: f64 = 1.5;

/// Adds what the counts say, and the absences, to the run.
pub(super) fn say(case: &Case, observed: &Observed, journal: &mut dyn Journal) {
    journal.find_all(ipc(case));
    absences(case, observed, journal);
    if let Some(simulated) = &observed.simulated {
        let caches = events::caches(simulated);
        journal.find(events_row::VALGRIND.of(format!(
            "Counts under valgrind come from a second run, in user mode only. Valgrind does not know AVX-512: a \
                 program that chooses its instructions uses AVX2 there. It simulates caches{caches} without \
                 prefetching."
        )));
    }
}

fn ipc(case: &Case) -> Option<Finding> {
    let event = |name: &str| schema::EVENT.of(name).median(case);
    let ipc = counters::IPC.median(case)?;
    // Loading a program is most of such a run, and its times are of the size of their errors.
    if counters::TASK_CLOCK.median(case).is_some_and(|nanos| nanos < SHORT_NS) {
        return None;
    }
    let meaning = match ipc {
        ipc if ipc < IPC_LOW => "the processor mostly waited, as it does for memory or after wrong guesses",
        ipc if ipc > IPC_HIGH => "the processor mostly worked",
        _ => "the processor worked and waited",
    };
    let per_miss = event("instructions").zip(event("cache_misses").filter(|misses| *misses > 0.0));
    let misses = per_miss.map_or(String::new(), |(instructions, misses)| {
        format!(" It missed the last-level cache once in {} instructions.", three_digits(instructions / misses))
    });
    let message = format!("{} instructions a cycle: {meaning}.{misses}", three_digits(ipc));
    Some(row::ANSWER_IPC.of(message).with("ipc", ipc, Unit::Ratio))
}

/// That the process ended while it was counted.
pub(super) fn process_ended(is_there: bool, elapsed: Nanos) -> Option<Finding> {
    let message = format!(
        "The process ended after {} s. The kernel's account of it ended too; counts are those up to its end.",
        three_digits(elapsed.as_seconds())
    );
    (!is_there).then(|| row::PROCESS_ENDED.of(message))
}

/// How a command ended that did not succeed.
pub(super) fn command_failed(who: &str, status: ExitStatus) -> Option<Finding> {
    let how = match (status.code(), status.signal()) {
        (Some(0), _) => return None,
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended in an unknown way".into(),
    };
    Some(row::COMMAND_FAILED.of(format!("{who} {how}; the counts are those up to there.")))
}

/// That the command did not end by itself, but because the run was interrupted.
pub(super) fn command_interrupted(ending: Ending, elapsed: Nanos) -> Option<Finding> {
    let seconds = three_digits(elapsed.as_seconds());
    let message = format!(
        "The command was interrupted after {seconds} s; the counts are those up to there. The kernel's account lacks \
         processes for which the command had not waited."
    );
    (ending != Ending::ByItself).then(|| row::COMMAND_INTERRUPTED.of(message))
}

/// What was counted in a second run, under valgrind; its failure is a finding, because the rest was counted.
pub(super) fn second_run(counted: Result<Counted, ValgrindError>, journal: &mut dyn Journal) -> Option<Simulated> {
    match counted {
        Ok(counted) => {
            journal.find_all(command_failed("Under valgrind the command", counted.ended.status));
            Some(counted.simulated)
        }
        Err(error) => {
            journal.find(events::absent_valgrind("Instructions", &error.to_string()));
            None
        }
    }
}

/// One finding for each reason, with the counters that are absent for it.
fn absences(case: &Case, observed: &Observed, journal: &mut dyn Journal) {
    for (reason, names) in events::absences(&observed.tally, |name| case.metric(name).is_some()) {
        let advice = if names.contains(&"instructions") && observed.may_ask_valgrind {
            " With --valgrind the command is run a second time under valgrind, which counts instructions and simulates \
             caches."
        } else {
            ""
        };
        let message = format!("Not counted, because {reason}: {}.{advice}", events::in_words(&names));
        journal.find(events_row::ABSENT_COUNTERS.of(message));
    }
}

#[cfg(test)]
mod tests;
