//! A closed loop of random reads over one I/O method: what the method alone costs, to compare with fio.
//!
//! `read_speed PATH METHOD DEPTH AT_LEAST SECONDS [BLOCK_BYTES [direct|buffered]]`

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use measure::random::SplitMix64;
use sys::file::{Caching, Target};
use sys::memory::Pages;
use sys::read::{Completion, ReadMethod, ReadRequest, Setup, Wait, method};

struct Load {
    at_least: usize,
    block: usize,
    blocks: u64,
    time: Duration,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, depth, at_least, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("read_speed PATH METHOD DEPTH AT_LEAST SECONDS [BLOCK_BYTES [direct|buffered]]".into());
    };
    let block: usize = rest.first().map_or(Ok(8192), |text| text.parse())?;
    let caching = if rest.get(1).is_some_and(|text| text == "buffered") { Caching::Buffered } else { Caching::Direct };
    let target = Target::open(Path::new(path), caching)?;
    target.check_block_size(block as u64)?;
    let row = method(name).ok_or("no such method")?;
    let mut reader =
        (row.open)(Setup { target: &target, depth: depth.parse()?, slot_bytes: block, pages: Pages::Huge })?;
    let load = Load {
        at_least: at_least.parse()?,
        block,
        blocks: target.size() / block as u64,
        time: Duration::from_secs_f64(seconds.parse()?),
    };
    for fallback in reader.fallbacks() {
        println!("{fallback}");
    }
    run(reader.as_mut(), &load)?;
    Ok(())
}

fn run(reader: &mut dyn ReadMethod, load: &Load) -> Result<(), Box<dyn Error>> {
    let mut random = SplitMix64::new(Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id()));
    let mut done: Vec<Completion> = Vec::with_capacity(reader.depth());
    let mut request =
        |slot| ReadRequest { offset: random.below(load.blocks) * load.block as u64, length: load.block, slot };
    let wait = Wait { at_least: load.at_least, timeout: Some(Duration::from_secs(1)) };
    let (start, cpu, user) = (Instant::now(), sys::process::process_cpu(), user_seconds());
    let (mut reads, mut calls) = (0_u64, 0_u64);
    for slot in 0..reader.depth() {
        reader.queue(request(slot));
    }
    while start.elapsed() < load.time {
        reader.reap(wait, &mut done)?;
        calls += 1;
        for completion in done.drain(..) {
            assert_eq!(completion.result?, load.block);
            reads += 1;
            reader.queue(request(completion.slot));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = sys::process::process_cpu().since(cpu).as_micros();
    println!(
        "{:.0} IOPS, {:.2} us CPU a read ({:.2} in user mode), {:.1} reads a call",
        reads as f64 / seconds,
        cpu / reads as f64,
        (user_seconds() - user) * 1e6 / reads as f64,
        reads as f64 / calls as f64
    );
    Ok(())
}

/// Time in user mode so far, from `/proc/self/stat`; its ticks of 10 ms suit seconds of running.
fn user_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(f64::NAN) / 100.0
}
