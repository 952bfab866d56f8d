//! What the cheapest system call costs, and what an empty loop costs: the floor under every I/O method.
//!
//! Both are returned as samples; the caller chooses which to show.

use std::hint::black_box;

use super::clock::Clock;

/// Samples of each cost.
const SAMPLES: usize = 100;

/// Calls in one sample: about 0.1 ms, ten thousand times the cost of a clock read.
const CALLS_PER_SAMPLE: u32 = 1000;

/// Turns in one sample of the empty loop: a turn takes about a cycle, a sample about 30 µs.
const TURNS_PER_SAMPLE: u32 = 100_000;

/// Cost of one system call in nanoseconds: 100 samples, each the mean of 1000 calls less the median empty turn.
///
/// The call is `getppid`: the kernel does next to nothing for it, so this is the price of entering and leaving. It
/// goes by number, because a C library is free to answer some such questions from memory (glibc kept the process
/// identifier until 2.25). What the kernel does against speculation attacks is in the price.
pub fn cost_ns(clock: &Clock) -> Vec<f64> {
    let loop_ns = measure::statistics::median(&empty_loop_ns(clock)).unwrap_or(0.0);
    (0..SAMPLES).map(|_| mean_ns(clock, CALLS_PER_SAMPLE, parent_process) - loop_ns).collect()
}

/// Cost of one turn of an empty loop in nanoseconds: 100 samples, each the mean of 100,000 turns.
pub fn empty_loop_ns(clock: &Clock) -> Vec<f64> {
    (0..SAMPLES).map(|_| mean_ns(clock, TURNS_PER_SAMPLE, || 0)).collect()
}

/// Mean time of one turn of a loop around `call`, whose result the compiler may not drop.
#[inline]
fn mean_ns(clock: &Clock, turns: u32, call: impl Fn() -> i64) -> f64 {
    let start = clock.now();
    for _ in 0..turns {
        black_box(call());
    }
    clock.now().since(start).0 as f64 / f64::from(turns)
}

fn parent_process() -> i64 {
    // SAFETY: `getppid` takes no arguments, touches no memory of ours and cannot fail.
    unsafe { libc::syscall(libc::SYS_getppid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_reaches_the_kernel() {
        assert_eq!(parent_process(), i64::from(std::os::unix::process::parent_id()));
    }

    #[test]
    fn a_system_call_costs_more_than_an_empty_turn() {
        let clock = Clock::calibrate();
        let call = measure::statistics::median(&cost_ns(&clock)).unwrap();
        let turn = measure::statistics::median(&empty_loop_ns(&clock)).unwrap();
        assert!(call > turn, "{call} ns a call, {turn} ns a turn");
    }
}
