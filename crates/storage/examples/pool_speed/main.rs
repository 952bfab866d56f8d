//! What a get of the buffer pool costs, beside the dependent load of the same memory it is held against.
//!
//! `cargo run --release -p storage --example pool_speed [POOL_MIB [ROUNDS [DIRECTORY]]]`; 1024 MiB, 9 rounds and the
//! current directory unless told. A nameless file of the pool's size is made in the directory and read into the pool.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

mod cases;

use std::path::Path;

use cases::{Failure, ONE_CPU, ONE_WALL, TWO_CPU, TWO_WALL};
use measure::statistics::median;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mib: usize = arguments.first().map_or(Ok(1024), |text| text.parse())?;
    let rounds: usize = arguments.get(1).map_or(Ok(9), |text| text.parse())?;
    let directory = arguments.get(2).map_or(".", String::as_str);
    let speed = cases::measure(mib, rounds, Path::new(directory))?;
    println!("{}", speed.loading);
    let (pool, chase) = (speed.pool_huge_bytes, speed.chase_huge_bytes);
    println!("pool {mib} MiB, {pool:?} bytes of it on huge pages; chase {chase:?}");
    print!("{}", speed.table());
    let by_wall = speed.ratios(ONE_WALL, TWO_WALL);
    let by_cpu: Vec<f64> = speed.ratios(ONE_CPU, TWO_CPU).iter().map(|ratio| 2.0 * ratio).collect();
    let middle = |ratios: &[f64]| median(ratios).unwrap_or(f64::NAN);
    let best = by_wall.iter().fold(0_f64, |max, at| max.max(*at));
    println!(
        "two threads on distinct pages: {:.2} times one thread (best round {best:.2}), {:.2} by CPU time",
        middle(&by_wall),
        middle(&by_cpu)
    );
    Ok(())
}
