//! What the counts say, and what could not be counted and why.

use measure::quantity::three_digits;
use measure::schema::{counters, events as schema};
use measure::{Case, Finding, Unit};

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
    ipc(case, journal);
    absences(case, observed, journal);
    if let Some(simulated) = &observed.simulated {
        let caches = simulated.caches().join("; ");
        journal.find(Finding::info(
            "valgrind",
            format!(
                "Counts under valgrind come from a second run, in user mode only. Valgrind does not know AVX-512: a \
                 program that chooses its instructions uses AVX2 there. It simulates caches ({caches}) without \
                 prefetching."
            ),
        ));
    }
}

fn ipc(case: &Case, journal: &mut dyn Journal) {
    let event = |name: &str| schema::EVENT.of(name).median(case);
    let Some(ipc) = counters::IPC.median(case) else { return };
    // Loading a program is most of such a run, and its times are of the size of their errors.
    if counters::TASK_CLOCK.median(case).is_some_and(|nanos| nanos < SHORT_NS) {
        return;
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
    journal.find(Finding::info("answer-ipc", message).with("ipc", ipc, Unit::Ratio));
}

/// One finding for each reason, with the counters that are absent for it.
fn absences(case: &Case, observed: &Observed, journal: &mut dyn Journal) {
    for (reason, names) in events::absences(&observed.tally, |name| case.metric(name).is_some()) {
        let advice = if schema::EVENT.of("instructions").in_case(case).is_none()
            && case.parameters.contains_key("command")
        {
            " With --valgrind the command is run a second time under valgrind, which counts instructions and simulates \
             caches."
        } else {
            ""
        };
        let message = format!("Not counted, because {reason}: {}.{advice}", events::in_words(&names));
        journal.find(Finding::info("absent-counters", message));
    }
}
