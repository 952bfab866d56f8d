//! The buffer pool alone: a get and release against the dependent load of as much memory. Also a command of its own.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use measure::Unit;
use measure::quantity::three_digits;
use measure::schema::contest::GET_TIME;
use measure::statistics::median;

use crate::bars::{Bar, Judged, Wanted};
use crate::conductor::Conductor;
use crate::ledger::Ledger;
use crate::postgres::pool_speed::{
    DEPENDENT_LOAD, IN_ORDER, IN_ORDER_PREFETCHED, ONE_CPU, ONE_WALL, RANDOM, RANDOM_DEPENDENT, RANDOM_TOUCHED,
    TWO_CPU, TWO_WALL, measure,
};

/// Far beyond any last-level cache.
const POOL_MIB: usize = 1024;
const ROUNDS: usize = 9;

/// A random get, in the dependent load.
const RANDOM_GET: Judged = Judged::ratio(Wanted::AtMost(1.5), "dearer");
/// A get in page order, in ns.
const IN_ORDER_NS: Judged = Judged { wanted: Wanted::AtMost(25.0), word: "dearer", unit: Unit::Nanoseconds };
/// Two threads on distinct pages, in one.
const TWO_THREADS: Judged = Judged::ratio(Wanted::AtLeast(1.8), "slower");

/// Why a bar of a pool that was measured has no figure.
const NO_NUMBER: &str = "a round gave no number";

/// The question that all cases of the pool answer.
const QUESTION: &str = "the pool alone";

/// Shows what a get of the buffer pool costs, next to a dependent load of as much memory.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Size of the pool in MiB.
    #[arg(long, default_value_t = POOL_MIB)]
    mib: usize,
    /// How often all cases run in turn.
    #[arg(long, default_value_t = ROUNDS)]
    rounds: usize,
    /// Where a nameless file of the pool's size is made and read into the pool.
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

/// Measures the pool and shows its cases and bars.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { mib, rounds, directory } = arguments;
    let what = format!("Gets of a pool of {mib} MiB and dependent loads of as much memory, {rounds} rounds in turn.");
    let mut conductor = Conductor::begin("pool", *rounds as u64, what)?;
    measure_cases(*mib, *rounds, directory, &mut conductor)?;
    conductor.judge_by(|ledger| bars(ledger, NO_NUMBER));
    conductor.show(out)
}

/// Measures the pool with a file in `directory`; its bars. Where that cannot be, as on a disk that is full, they say
/// so: what was measured before took minutes.
pub(crate) fn measure_and_judge(directory: &Path, conductor: &mut Conductor) -> Vec<Bar> {
    let measured = measure_cases(POOL_MIB, ROUNDS, directory, conductor);
    let reason = measured.err().unwrap_or_else(|| NO_NUMBER.into());
    bars(&conductor.ledger, &reason)
}

fn measure_cases(mib: usize, rounds: usize, directory: &Path, conductor: &mut Conductor) -> Result<(), String> {
    let speed = measure(mib, rounds, directory).map_err(|error| format!("the pool could not be measured: {error}"))?;
    for (name, samples) in &speed.samples {
        samples.iter().for_each(|ns| conductor.ledger.add(QUESTION, name, &GET_TIME, *ns));
    }
    conductor.note("huge-pages", huge_pages(mib, speed.pool_huge_bytes, speed.chase_huge_bytes));
    conductor.note("loading", speed.loading.to_string());
    Ok(())
}

/// What huge pages hold, as far as the system tells, of a pool of this many MiB and of the chase.
pub(crate) fn huge_pages(mib: usize, pool: Option<u64>, chase: Option<u64>) -> String {
    let held = |bytes: Option<u64>| bytes.map_or("an unknown part".into(), |bytes| format!("{} MiB", bytes >> 20));
    format!("Huge pages hold {} of the pool of {mib} MiB and {} of the chase.", held(pool), held(chase))
}

/// The bars of what stands in the ledger; where nothing does, with the reason.
fn bars(ledger: &Ledger, no_number: &str) -> Vec<Bar> {
    let ratios = |case, other| ledger.ratios(QUESTION, (case, &GET_TIME), (other, &GET_TIME));
    let random = [RANDOM, RANDOM_TOUCHED, RANDOM_DEPENDENT].map(|case| {
        let name = format!("pool, {case}: a get in a dependent load");
        Bar::of_samples(name, RANDOM_GET, &ratios(case, DEPENDENT_LOAD), no_number).from("one ratio a round")
    });
    let in_order = [IN_ORDER, IN_ORDER_PREFETCHED].map(|case| {
        let name = format!("pool, {case}: ns a get");
        let samples = ledger.samples(QUESTION, case, &GET_TIME);
        Bar::of_samples(name, IN_ORDER_NS, samples, no_number).from("one figure a round")
    });
    // Where other work takes the second core away, only CPU time still shows what the threads cost each other.
    let by_cpu = median(&ratios(ONE_CPU, TWO_CPU)).map_or("unknown".into(), |ratio| three_digits(2.0 * ratio));
    let name = "pool, gets of two threads in those of one";
    let threads = Bar::of_samples(name, TWO_THREADS, &ratios(ONE_WALL, TWO_WALL), no_number);
    random.into_iter().chain(in_order).chain([threads.from(format!("{by_cpu} by CPU time"))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    #[test]
    fn a_pool_that_could_not_be_measured_says_why_in_all_its_bars() {
        let bars = bars(&Ledger::default(), "the disk is full");
        assert_eq!(bars.len(), 6);
        for bar in bars {
            assert_eq!(bar.outcome(), Outcome::NotJudged);
            assert!(bar.sentence().ends_with(": not judged, the disk is full."), "{}", bar.sentence());
        }
    }
}
