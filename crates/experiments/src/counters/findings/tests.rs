//! Its findings, read on both sides of their conditions.

use sides::proptest::option;
use sides::proptest::prelude::any;
use sides::{Reading, both_sides, reading, says};

use super::*;

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
    both_sides(&counters::findings::ALL, [answer(), ended, failed]);
}
