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

/// The least value that is as good as the best, with both times in microseconds: its own and that of the value 1.
/// `None` where larger values are much worse.
pub(super) fn enough(sweep: &Sweep) -> Option<(u32, f64, f64)> {
    let times: Vec<(u32, f64)> = sweep.iter().filter_map(|(value, micros)| Some((*value, median(micros)?))).collect();
    let best = times.iter().map(|(_, time)| *time).min_by(f64::total_cmp)?;
    let at = times.iter().position(|(_, time)| *time <= best * (1.0 + NEAR))?;
    let (value, time) = times[at];
    // More reads at a time may gain nothing; where they seem to cost much, something else used the device.
    if times[at..].iter().any(|(_, later)| *later > time * NOISE) {
        return None;
    }
    Some((value, time, times.first()?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_nearly_as_good_is_enough() {
        let sweep = vec![(1, vec![100.0]), (2, vec![51.0, 49.0, 90.0]), (4, vec![50.0]), (8, vec![48.0])];
        assert_eq!(enough(&sweep), Some((2, 51.0, 100.0)));
        assert_eq!(enough(&Vec::new()), None);
    }

    #[test]
    fn times_that_go_up_and_down_give_no_setting() {
        assert_eq!(enough(&vec![(1, vec![1094.0]), (2, vec![153.0]), (4, vec![1319.0])]), None);
    }
}
