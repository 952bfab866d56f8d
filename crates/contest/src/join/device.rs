//! fio as a contender: random blocks of the engine's file at several depths.

use std::path::Path;

use measure::schema::contest::BLOCKS_PER_SECOND;
use serde_json::Value;

use crate::fio::peer::{Engine, LIBAIO, URING, URING_FIXED, filename, fio, job};
use crate::join::question::READS;
use crate::ledger::Ledger;
use crate::program::output_of;

/// How its names among the contenders begin.
pub(crate) const FIO: &str = "fio ";

/// Reads in flight.
const DEPTHS: [u32; 5] = [16, 32, 64, 128, 256];

/// Ways to read.
const ENGINES: [Engine; 3] = [URING, URING_FIXED, LIBAIO];

/// What every run reads. Of the settings that fio has in each contest, one clock pair a read is what it does at least;
/// the random map of places is left out, because a join keeps none.
const RANDOM_BLOCKS: [&str; 3] = ["--direct=1", "--rw=randread", "--bs=8k"];

/// Reads at every depth in every way, and adds the rates.
pub(crate) fn take_turn(file: &Path, milliseconds: u64, seed: u64, ledger: &mut Ledger) -> Result<(), String> {
    for depth in DEPTHS {
        for (engine, Engine { name, options }) in (0..).zip(ENGINES) {
            let of_turn = [
                filename(file),
                format!("--iodepth={depth}"),
                format!("--runtime={milliseconds}ms"),
                format!("--randseed={}", places(seed, depth, engine)),
            ];
            let command = fio(&[&RANDOM_BLOCKS[..], options].concat(), of_turn);
            let contender = format!("{FIO}{name}, depth {depth}");
            ledger.add(READS, &contender, &BLOCKS_PER_SECOND, rate(&output_of(&command)?)?);
        }
    }
    Ok(())
}

/// The seed of the places that an engine reads at a depth. One that read those of the engine before it would find them
/// in the storage's cache.
fn places(seed: u64, depth: u32, engine: u64) -> u64 {
    (seed * 1000 + u64::from(depth)) * ENGINES.len() as u64 + engine
}

/// Reads per second in fio's JSON.
fn rate(output: &str) -> Result<f64, String> {
    job(output)?.pointer("/read/iops").and_then(Value::as_f64).ok_or_else(|| "fio's job has no rate".into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_engine_reads_the_places_of_another_one() {
        let engines = || 0..ENGINES.len() as u64;
        let of_depth = |depth: u32| engines().map(move |engine| (1..4).map(move |seed| places(seed, depth, engine)));
        let all: Vec<u64> = DEPTHS.into_iter().flat_map(of_depth).flatten().collect();
        let different: HashSet<&u64> = all.iter().collect();
        assert_eq!((all.len(), different.len()), (45, 45));
    }

    #[test]
    fn a_failed_job_is_no_rate() {
        let output = r#"note {"jobs": [{"error": 0, "read": {"iops": 5.5}}]}"#;
        assert_eq!(rate(output), Ok(5.5));
        assert!(rate(&output.replace("\"error\": 0", "\"error\": 22")).unwrap_err().contains("22"));
        assert!(rate("fio: no such engine").is_err());
    }
}
