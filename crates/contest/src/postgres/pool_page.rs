//! `readpath-contest pool`: what a get of the buffer pool costs, beside the dependent load of as much memory.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use measure::statistics::median;

use crate::postgres::pool_speed::{ONE_CPU, ONE_WALL, TWO_CPU, TWO_WALL, measure};

/// What a get of the buffer pool costs, beside a dependent load of as much memory.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Size of the pool in MiB.
    #[arg(long, default_value_t = 1024)]
    mib: usize,
    /// How often all cases run in turn.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Where a nameless file of the pool's size is made and read into the pool.
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

/// Measures the pool and writes the table of its cases.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { mib, rounds, directory } = arguments;
    let speed =
        measure(*mib, *rounds, directory).map_err(|error| format!("the pool could not be measured: {error}"))?;
    let (pool, chase) = (speed.pool_huge_bytes, speed.chase_huge_bytes);
    let by_wall = speed.ratios(ONE_WALL, TWO_WALL);
    let by_cpu: Vec<f64> = speed.ratios(ONE_CPU, TWO_CPU).iter().map(|ratio| 2.0 * ratio).collect();
    let middle = |ratios: &[f64]| median(ratios).unwrap_or(f64::NAN);
    let best = by_wall.iter().fold(0_f64, |max, at| max.max(*at));
    let page = format!(
        "{}\npool {mib} MiB, {pool:?} bytes of it on huge pages; chase {chase:?}\n{}\
         two threads on distinct pages: {:.2} times one thread (best round {best:.2}), {:.2} by CPU time\n",
        speed.loading,
        speed.table(),
        middle(&by_wall),
        middle(&by_cpu)
    );
    out.write_all(page.as_bytes()).map_err(|error| error.to_string())?;
    Ok(0)
}
