//! From which `effective_io_concurrency` on a cold bitmap scan gets no faster.

use std::time::Duration;

use measure::schema::calibrate;
use measure::schema::calibrate::parameters::EFFECTIVE_IO_CONCURRENCY;
use measure::statistics::median;
use subjects::postgres::calibration::{ChosenPlan, Clustering, Probe, Ways};

use super::bench::Bench;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// The setting.
const SETTING: &str = "effective_io_concurrency";

/// Its values, doubled up to what keeps today's devices busy.
pub(super) const VALUES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// A setting is as good as the best one within this part of its time.
const NEAR: f64 = 0.1;

/// Larger settings that take this many times as long show that something else determined the times.
const NOISE: f64 = 1.5;

/// One of this many blocks is read: the kernel would read neighbours together.
const BLOCKS_A_ROW: u64 = 4;

/// Times of a setting in microseconds.
pub(super) type Sweep = Vec<(u32, Vec<f64>)>;

/// Runs the sweep, values in turn, and keeps a case for each.
pub(super) fn measure(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Sweep, ExperimentError> {
    let rows = (bench.tables.sizes().blocks / BLOCKS_A_ROW).max(1);
    let probe = Probe::Fetch { clustering: Clustering::Random, rows };
    let ways = Ways::Only(ChosenPlan::Bitmap);
    let mut sweep: Sweep = VALUES.map(|value| (value, Vec::new())).into();
    for round in 0..bench.parameters.cold_samples() {
        let left = (bench.parameters.cold_samples() - round) * VALUES.len();
        journal.step(SETTING, Duration::from_secs(left as u64));
        for (value, micros) in &mut sweep {
            bench.cool(journal)?;
            // The part of the index is cached and no block of the table is.
            bench.tables.allow(Ways::IndexOnly)?;
            bench.tables.execute(Probe::Count { clustering: Clustering::Random, rows }, Ways::IndexOnly)?;
            bench.tables.allow(ways)?;
            bench.tables.set(SETTING, &value.to_string())?;
            micros.push(bench.tables.execute(probe, ways)?.micros);
        }
    }
    bench.tables.reset(SETTING)?;
    for (value, micros) in &sweep {
        let mut case = bench.case("concurrency", [EFFECTIVE_IO_CONCURRENCY.of(*value)]);
        let millis: Vec<f64> = micros.iter().map(|micros| micros / 1e3).collect();
        let source = "execution time by EXPLAIN of a bitmap scan, the table in no cache and the index in the buffers";
        case.metrics.extend(calibrate::BITMAP_TIME.of_samples(source, &millis));
        case.metrics.push(calibrate::ROWS.count("rows fetched, each from a block of its own", rows));
        journal.keep(case)?;
    }
    Ok(sweep)
}

/// The values that are as good as the best one: a plateau is a range and not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plateau {
    /// Its ends.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Microseconds at the lower end, and with the value 1.
    pub(super) micros: f64,
    pub(super) alone: f64,
}

/// The plateau; `None` where larger values are much worse.
pub(super) fn plateau(sweep: &Sweep) -> Option<Plateau> {
    let times: Vec<(u32, f64)> = sweep.iter().filter_map(|(value, micros)| Some((*value, median(micros)?))).collect();
    let best = times.iter().map(|(_, time)| *time).min_by(f64::total_cmp)?;
    let is_good = |(_, time): &(u32, f64)| *time <= best * (1.0 + NEAR);
    let (at, last) = (times.iter().position(is_good)?, times.iter().rposition(is_good)?);
    let (from, micros) = times[at];
    // More reads at a time may gain nothing; where they seem to cost much, something else used the device.
    if times[at..].iter().any(|(_, later)| *later > micros * NOISE) {
        return None;
    }
    Some(Plateau { from, to: times[last].0, micros, alone: times.first()?.1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_as_good_are_a_range() {
        let sweep =
            vec![(1, vec![100.0]), (2, vec![51.0, 49.0, 90.0]), (4, vec![50.0]), (8, vec![48.0]), (16, vec![60.0])];
        assert_eq!(plateau(&sweep), Some(Plateau { from: 2, to: 8, micros: 51.0, alone: 100.0 }));
        assert_eq!(plateau(&Vec::new()), None);
    }

    #[test]
    fn times_that_go_up_and_down_give_no_setting() {
        assert_eq!(plateau(&vec![(1, vec![1094.0]), (2, vec![153.0]), (4, vec![1319.0])]), None);
    }
}
