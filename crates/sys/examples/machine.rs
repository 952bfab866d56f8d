//! Prints what `sys` finds out about this machine: a check by hand, and the shortest tour of its interface.
//!
//! `cargo run --release -p sys --example machine [LARGEST_MIB]`; the largest footprint of the pointer chase is 1024 MiB
//! by default.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use measure::Nanos;
use measure::statistics::median;
use sys::host;
use sys::memory::{Chase, LINE, Pages, Stream};
use sys::time::{Clock, core_clock, system_call};

fn main() -> std::io::Result<()> {
    let largest_mib = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1024);
    let clock = Clock::calibrate();
    let stolen = host::stolen();
    println!("{:#?}\navailable memory {:?} bytes", host::describe(), host::available_memory());
    print_costs(&clock);
    print_latencies(&clock, largest_mib << 20)?;
    print_bandwidth(&clock)?;
    println!(
        "core {:?} GHz, stolen meanwhile {:?}",
        core_clock::core_ghz(&clock),
        host::stolen().zip(stolen).map(|(now, before)| now.since(before))
    );
    Ok(())
}

fn print_costs(clock: &Clock) {
    let middle = |samples: Vec<f64>| median(&samples).unwrap_or(f64::NAN);
    println!("clock {}, steps of {} ns", clock.name(), clock.resolution().0);
    println!("core {:?} GHz", core_clock::core_ghz(clock));
    println!("clock read  {:8.2} ns", middle(clock.read_cost_ns()));
    println!("empty turn  {:8.2} ns", middle(system_call::empty_loop_ns(clock)));
    println!("system call {:8.2} ns", middle(system_call::cost_ns(clock)));
}

fn print_latencies(clock: &Clock, largest: usize) -> std::io::Result<()> {
    for pages in [Pages::Small, Pages::Huge] {
        for footprint in [16 << 10, 256 << 10, 768 << 10, 4 << 20, 8 << 20, 256 << 20, largest] {
            let start = Instant::now();
            let mut chase = Chase::new(footprint, pages, 1)?;
            let built = start.elapsed().as_secs_f64();
            let loads = ((footprint / LINE) as u64).clamp(1 << 16, 1 << 21);
            chase.latency_ns(clock, loads);
            let samples: Vec<f64> = (0..5).map(|_| chase.latency_ns(clock, loads)).collect();
            let latency = median(&samples).unwrap_or(f64::NAN);
            let (kib, huge) = (footprint >> 10, chase.huge_bytes());
            println!("load in {kib:8} KiB, {pages:?} {latency:7.2} ns (huge {huge:?}, built in {built:.2} s)");
        }
    }
    Ok(())
}

fn print_bandwidth(clock: &Clock) -> std::io::Result<()> {
    for pages in [Pages::Small, Pages::Huge] {
        let stream = Stream::new(1 << 30, pages)?;
        for threads in 1..=host::allowed_cpus().len() {
            let result = stream.measure(clock, threads, Nanos::from_millis(500))?;
            let rate = median(&result.bytes_per_second).unwrap_or(f64::NAN) / 1e9;
            let block = median(&result.ns_per_block(8192)).unwrap_or(f64::NAN);
            let rounds = result.bytes_per_second.len();
            println!("{threads} threads, {pages:?}: {rate:.1} GB/s in {rounds} rounds, {block:.0} ns a block of 8 KiB");
        }
    }
    Ok(())
}
