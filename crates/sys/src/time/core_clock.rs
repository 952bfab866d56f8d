//! The core's frequency, measured without hardware counters: a chain of additions of which each takes one cycle.
//!
//! The time stamp counter ticks at a constant rate and says nothing about the core. Virtual machines mostly hide the
//! counter of core cycles, so the cycles are made instead of counted. It says how fast the core ran while it was
//! asked; whether that spoils a measurement is for the caller to judge, by asking before and after.

use super::clock::Clock;

/// Additions between two steps of the loop's counter. The counter's own chain runs in parallel with the additions
/// and is sixty-four times shorter, so it costs nothing.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const ADDITIONS_PER_ROUND: u64 = 64;

/// 6400 rounds are 0.4 million additions: 0.1 ms at 4 GHz, ten thousand times the cost of a clock read.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const ROUNDS: u64 = 6400;

/// Twenty repetitions take about 2 ms. Most fit between two ticks of the scheduler, and the best one counts.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const REPETITIONS: usize = 20;

/// Frequency of the core that this thread runs on, in GHz: the best of twenty repetitions within about 2 ms.
///
/// The best is right because everything that disturbs (preemption, interrupts, a hypervisor taking the processor
/// away) makes a chain longer and nothing makes it shorter. `None` on architectures without such a chain.
///
/// The additions are from register to register. Recent cores (Intel since Golden Cove) carry out additions of small
/// constants while renaming registers, several a cycle, and would seem to run at many times their frequency.
///
/// Source of the method: Downs, avx-turbo, whose calibration loop is such a chain; latency of one cycle for ADD r64,
/// r64 on every x86-64 core in the tables of uops.info and of Fog, "Instruction tables"; for aarch64 the ADD
/// (shifted register, no shift) entry of Arm's Cortex-A and Neoverse software optimisation guides.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn core_ghz(clock: &Clock) -> Option<f64> {
    let fastest = (0..REPETITIONS).map(|_| chain_ns(clock)).min()?;
    (fastest > 0).then(|| (ROUNDS * ADDITIONS_PER_ROUND) as f64 / fastest as f64)
}

/// Always `None`: no chain of known length is written down for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn core_ghz(_clock: &Clock) -> Option<f64> {
    None
}

/// Additions that do not wait for each other, a cycle of a core that runs at `ghz`: the median of ten repetitions
/// within about half a millisecond.
///
/// A core alone carries out as many as it has units for, 3 to 6. A core that two threads share divides them: a
/// neighbour whose thread runs on the same core, often of another virtual machine, shows here and neither in the
/// frequency nor in stolen time. What it took is the difference to the best that was seen. `None` on architectures
/// without such a loop.
///
/// Source of the units: uops.info and Fog, "Instruction tables", reciprocal throughput of ADD r64, r64; for aarch64 the
/// integer units of Arm's Cortex-A and Neoverse software optimisation guides.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn additions_per_cycle(clock: &Clock, ghz: f64) -> Option<f64> {
    let mut times: Vec<u64> = (0..SIDE_BY_SIDE_REPETITIONS)
        .map(|_| {
            let start = clock.now();
            side_by_side(SIDE_BY_SIDE_ROUNDS);
            clock.now().since(start).0
        })
        .collect();
    times.sort_unstable();
    let cycles = times[times.len() / 2] as f64 * ghz;
    (cycles > 0.0).then(|| (SIDE_BY_SIDE_ROUNDS * ADDITIONS_PER_ROUND) as f64 / cycles)
}

/// Always `None`: no such loop is written down for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn additions_per_cycle(_clock: &Clock, _ghz: f64) -> Option<f64> {
    None
}

/// 8000 rounds are half a million additions: some 40 µs.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const SIDE_BY_SIDE_ROUNDS: u64 = 8000;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const SIDE_BY_SIDE_REPETITIONS: usize = 10;

/// Relative difference of two frequencies taken before and after a measurement, never negative: 0.02 and more
/// means that the measurement saw two different machines.
pub fn drift(before: f64, after: f64) -> f64 {
    (after - before).abs() / before
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn chain_ns(clock: &Clock) -> u64 {
    let start = clock.now();
    chain(ROUNDS);
    clock.now().since(start).0
}

/// Runs `$rounds` rounds, at least one, in each of which every named register is added to `$times` times. Additions to
/// one register wait for each other, those to different registers do not.
#[cfg(target_arch = "x86_64")]
macro_rules! additions {
    ($rounds:expr, $times:literal, $($sum:ident)+) => {
        // SAFETY: only the named registers and the flags change; no memory is touched, and with at least one round the
        // loop ends.
        unsafe {
            std::arch::asm!(
                "2:",
                concat!(".rept ", $times),
                $(concat!("add {", stringify!($sum), "}, {addend}"),)+
                ".endr",
                "dec {rounds}",
                "jnz 2b",
                $($sum = inout(reg) 1u64 => _,)+
                addend = in(reg) 3u64,
                rounds = inout(reg) $rounds => _,
                options(nomem, nostack),
            );
        }
    };
}

/// As on x86-64, in the instructions of this architecture.
#[cfg(target_arch = "aarch64")]
macro_rules! additions {
    ($rounds:expr, $times:literal, $($sum:ident)+) => {
        // SAFETY: only the named registers and the flags change; no memory is touched, and with at least one round the
        // loop ends.
        unsafe {
            std::arch::asm!(
                "2:",
                concat!(".rept ", $times),
                $(concat!("add {", stringify!($sum), "}, {", stringify!($sum), "}, {addend}"),)+
                ".endr",
                "subs {rounds}, {rounds}, #1",
                "b.ne 2b",
                $($sum = inout(reg) 1u64 => _,)+
                addend = in(reg) 3u64,
                rounds = inout(reg) $rounds => _,
                options(nomem, nostack),
            );
        }
    };
}

/// A loop whose instructions are known: 64 dependent additions a round, and the loop's own two instructions.
/// Panics without a round.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn chain(rounds: u64) {
    assert!(rounds > 0, "a loop without rounds would not end");
    additions!(rounds, 64, sum);
}

/// Eight chains of eight additions a round.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn side_by_side(rounds: u64) {
    additions!(rounds, 8, a b c d e f g h);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn a_core_adds_more_than_one_and_no_more_than_a_dozen_pairs_a_cycle() {
        let clock = Clock::calibrate();
        let ghz = core_ghz(&clock).unwrap();
        let additions = additions_per_cycle(&clock, ghz).unwrap();
        assert!((0.8..12.0).contains(&additions), "{additions} at {ghz} GHz");
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_core_runs_at_a_believable_frequency() {
        let ghz = core_ghz(&Clock::calibrate()).unwrap();
        assert!((0.4..8.0).contains(&ghz), "{ghz} GHz");
    }

    #[test]
    fn drift_is_relative_and_never_negative() {
        assert!((drift(4.0, 3.0) - 0.25).abs() < 1e-12);
        assert!((drift(4.0, 5.0) - 0.25).abs() < 1e-12);
    }
}
