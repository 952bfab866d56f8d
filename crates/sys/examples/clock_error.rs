//! How far the clock and the core frequency can be off: the figures of docs/method.md.
//!
//! `cargo run --release -p sys --example clock_error`: thirty clocks, each calibrated anew, against
//! `CLOCK_MONOTONIC_RAW` over half a second, and the core frequency taken as often.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sys::time::Clock;
use sys::time::core_clock::core_ghz;

/// Calibrations.
const ROUNDS: usize = 30;

/// How long each clock is held against the kernel's.
const INTERVAL: Duration = Duration::from_millis(500);

fn main() {
    let mut rate_errors = Vec::new();
    let mut frequencies = Vec::new();
    for _ in 0..ROUNDS {
        let clock = Clock::calibrate();
        let (ours, kernels) = (clock.now(), raw_ns());
        std::thread::sleep(INTERVAL);
        let elapsed = (clock.now().0 - ours.0) as f64;
        rate_errors.push((elapsed / (raw_ns() - kernels) - 1.0) * 1e6);
        frequencies.extend(core_ghz(&clock));
    }
    println!("clock {}", Clock::calibrate().name());
    println!("rate against CLOCK_MONOTONIC_RAW, parts in a million: {}", spread(&mut rate_errors, 1.0));
    let Some(&first) = frequencies.first() else { return println!("no core frequency on this processor") };
    println!("core frequency, per cent of the first ({first:.3} GHz): {}", spread(&mut frequencies, first / 100.0));
}

fn raw_ns() -> f64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn spread(values: &mut [f64], unit: f64) -> String {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values[((values.len() - 1) as f64 * part) as usize] / unit;
    format!("min {:.3}, median {:.3}, max {:.3} of {}", at(0.0), at(0.5), at(1.0), values.len())
}
