//! The buffer pool alone: a get and release beside the dependent load of as much memory.

use std::path::Path;

use measure::statistics::median;
use measure::{Statistics, Unit};

use crate::bars::{Bar, Wanted, figure};
use crate::postgres::pool_speed::{
    DEPENDENT_LOAD, IN_ORDER, IN_ORDER_PREFETCHED, ONE_CPU, ONE_WALL, PoolSpeed, RANDOM, RANDOM_DEPENDENT,
    RANDOM_TOUCHED, TWO_CPU, TWO_WALL, measure,
};

/// Far beyond any last-level cache.
const POOL_MIB: usize = 1024;
const ROUNDS: usize = 9;

/// A random get, in the dependent load.
const RANDOM_GET: Wanted = Wanted::AtMost(1.5);
/// A get in page order, in ns.
const IN_ORDER_NS: Wanted = Wanted::AtMost(25.0);
/// Two threads on distinct pages, in one.
const TWO_THREADS: Wanted = Wanted::AtLeast(1.8);

/// What the pool's cases gave: a page of their own, and the bars.
pub(crate) struct PoolFindings {
    pub(crate) page: String,
    pub(crate) bars: Vec<Bar>,
}

/// Measures the pool with a file in `directory`.
pub(crate) fn findings(directory: &Path) -> Result<PoolFindings, String> {
    let speed =
        measure(POOL_MIB, ROUNDS, directory).map_err(|error| format!("the pool could not be measured: {error}"))?;
    let huge = |bytes: Option<u64>| bytes.map_or("unknown".into(), |bytes| format!("{} MiB", bytes >> 20));
    let (pool, chase) = (huge(speed.pool_huge_bytes), huge(speed.chase_huge_bytes));
    let page = format!(
        "The pool alone, {POOL_MIB} MiB, {ROUNDS} rounds; on huge pages {pool} of it and {chase} of the chase\n{}\n",
        speed.table()
    );
    Ok(PoolFindings { page, bars: bars(&speed) })
}

fn bars(speed: &PoolSpeed) -> Vec<Bar> {
    let bar = |name: String, unit, wanted, word, samples: &[f64]| Bar {
        name,
        wanted,
        word,
        unit,
        measured: Statistics::of_samples(samples).ok_or_else(|| "a round gave no number".into()),
    };
    let random = [RANDOM, RANDOM_TOUCHED, RANDOM_DEPENDENT].map(|case| {
        let ratios = speed.ratios(case, DEPENDENT_LOAD);
        bar(format!("pool, {case}: a get in a dependent load"), Unit::Ratio, RANDOM_GET, "dearer", &ratios)
    });
    let in_order = [IN_ORDER, IN_ORDER_PREFETCHED].map(|case| {
        bar(format!("pool, {case}: ns a get"), Unit::Nanoseconds, IN_ORDER_NS, "dearer", speed.samples(case))
    });
    // Where the second core is taken away by others, only processor time still tells what the threads cost each other.
    let by_cpu = median(&speed.ratios(ONE_CPU, TWO_CPU)).map_or("unknown".into(), |ratio| figure(2.0 * ratio));
    let name = format!("pool, gets of two threads in those of one ({by_cpu} by processor time)");
    let threads = bar(name, Unit::Ratio, TWO_THREADS, "slower", &speed.ratios(ONE_WALL, TWO_WALL));
    random.into_iter().chain(in_order).chain([threads]).collect()
}
