//! From which value on a setting of reads ahead makes cold work no faster.

use std::time::{Duration, Instant};

use measure::schema::FindingSpec;
use measure::schema::calibrate;
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::parameters::{EFFECTIVE_IO_CONCURRENCY, MAINTENANCE_IO_CONCURRENCY};
use measure::statistics::median;
use measure::words::Word;
use measure::{Case, Finding};
use subjects::postgres::calibration::own_queries::name_to_paste;
use subjects::postgres::calibration::tablespaces::Tablespace;
use subjects::postgres::calibration::{ChosenPlan, Clustering, Probe, Ways};

use super::bench::Bench;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::sampling::{each, time_left};

/// A setting is as good as the best one within this part of its time.
const NEAR: f64 = 0.1;

/// Larger settings that take this many times as long show that something else determined the times.
const NOISE: f64 = 1.5;

/// One of this many blocks is read: the kernel would read neighbours together.
const BLOCKS_A_ROW: u64 = 4;

/// About how long a value takes in the first round, for which the server is restarted.
const VALUE_TIME: Duration = Duration::from_secs(1);

measure::words! {
    /// A setting of how many blocks are asked for ahead.
    pub(super) enum ReadAhead ("setting") {
        /// Of queries.
        Effective = "effective_io_concurrency",
        /// Of maintenance.
        Maintenance = "maintenance_io_concurrency",
    }
}

impl ReadAhead {
    /// The work that is timed, at the beginning of a sentence.
    pub(super) fn work(self) -> &'static str {
        match self {
            ReadAhead::Effective => "A cold bitmap scan",
            ReadAhead::Maintenance => "ANALYZE of a cold table",
        }
    }

    /// The finding where no values are known to be as good.
    pub(super) fn absent(self) -> FindingSpec {
        match self {
            ReadAhead::Effective => row::ABSENT_CONCURRENCY,
            ReadAhead::Maintenance => row::ABSENT_MAINTENANCE,
        }
    }

    /// The values, up to what keeps today's devices busy. Each takes a restart of the server; maintenance is worth
    /// fewer of them.
    pub(super) fn values(self) -> &'static [u32] {
        match self {
            ReadAhead::Effective => &[1, 2, 4, 8, 16, 32, 64],
            ReadAhead::Maintenance => &[1, 4, 16, 64],
        }
    }

    /// Microseconds of the work, with the table in no cache.
    fn micros(self, bench: &mut Bench<'_>, rows: u64) -> Result<f64, ExperimentError> {
        match self {
            ReadAhead::Effective => {
                let ways = Ways::Only(ChosenPlan::Bitmap);
                bench.tables.allow(ways)?;
                Ok(bench.tables.execute(Probe::Fetch { clustering: Clustering::Random, rows }, ways)?.micros)
            }
            ReadAhead::Maintenance => Ok(bench.tables.sample_micros(rows)?),
        }
    }

    /// Brings what is not to be read from the disk into the buffers: the part of the index that a bitmap scan needs.
    fn prepare(self, bench: &mut Bench<'_>, rows: u64) -> Result<(), ExperimentError> {
        if self == ReadAhead::Effective {
            bench.tables.allow(Ways::IndexOnly)?;
            bench.tables.execute(Probe::Count { clustering: Clustering::Random, rows }, Ways::IndexOnly)?;
        }
        Ok(())
    }

    /// The case of a value with its times.
    fn case(self, bench: &Bench<'_>, value: u32, millis: &[f64], rows: u64) -> Case {
        let (parameter, time) = match self {
            ReadAhead::Effective => {
                let source =
                    "execution time by EXPLAIN of a bitmap scan, the table in no cache and the index in the buffers";
                (EFFECTIVE_IO_CONCURRENCY.of(value), calibrate::BITMAP_TIME.of_samples(source, millis))
            }
            ReadAhead::Maintenance => {
                let source = "client's clock around ANALYZE, which samples rows of a table that is in no cache";
                (MAINTENANCE_IO_CONCURRENCY.of(value), calibrate::ANALYZE_TIME.of_samples(source, millis))
            }
        };
        let mut case = bench.case("concurrency", [parameter]);
        case.metrics.extend(time);
        if self == ReadAhead::Effective {
            case.metrics.push(calibrate::ROWS.count("rows fetched, each from a block of its own", rows));
        }
        case
    }
}

/// Times of a setting's values in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sweep {
    pub(super) setting: ReadAhead,
    pub(super) times: Vec<(u32, Vec<f64>)>,
}

/// Runs the sweep of each setting, values in turn, and keeps a case for each. A setting that has no effect is left out.
pub(super) fn measure(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Vec<Sweep>, ExperimentError> {
    // The tablespace of a server that was made for the run has no options.
    let spaces = if bench.tables.is_on_copy() { bench.tables.tablespaces()? } else { Vec::new() };
    let mut sweeps = Vec::new();
    for setting in ReadAhead::all() {
        match spaces.iter().find_map(|space| overridden(setting, space)) {
            Some(finding) => journal.find(finding),
            None => sweeps.push(sweep(bench, setting, journal)?),
        }
    }
    bench.tables.restore_statistics()?;
    Ok(sweeps)
}

/// The finding where the tablespace of the run's tables has the setting of its own: all times would be of that value.
///
/// Source: PostgreSQL, `get_tablespace_io_concurrency` in src/backend/utils/cache/spccache.c.
fn overridden(setting: ReadAhead, space: &Tablespace) -> Option<Finding> {
    let name = setting.name();
    let own = space.option(name).filter(|_| space.is_home)?;
    Some(setting.absent().of(format!(
        "{name} was not tried, because the tablespace {} has {own} of its own, which overrides the session's. ALTER \
         TABLESPACE {} RESET ({name}) on the copy lets a run try it.",
        space.name,
        name_to_paste(&space.name)
    )))
}

fn sweep(bench: &mut Bench<'_>, setting: ReadAhead, journal: &mut dyn Journal) -> Result<Sweep, ExperimentError> {
    let rows = (bench.tables.sizes().blocks / BLOCKS_A_ROW).max(1);
    let mut times: Vec<(u32, Vec<f64>)> = setting.values().iter().map(|value| (*value, Vec::new())).collect();
    let (rounds, begun) = (bench.parameters.cold_samples(), Instant::now());
    for round in 0..rounds {
        let assumed = VALUE_TIME.saturating_mul(times.len() as u32);
        let left = time_left(each(begun.elapsed(), round, assumed), (round, rounds));
        journal.step(setting.name(), left);
        for (value, micros) in &mut times {
            bench.cool(journal)?;
            setting.prepare(bench, rows)?;
            bench.tables.set(setting.name(), &value.to_string())?;
            micros.push(setting.micros(bench, rows)?);
        }
    }
    bench.tables.reset(setting.name())?;
    let case = |(value, micros): &(u32, Vec<f64>)| {
        let millis: Vec<f64> = micros.iter().map(|micros| micros / 1e3).collect();
        setting.case(bench, *value, &millis, rows)
    };
    journal.keep_all(times.iter().map(case).collect())?;
    Ok(Sweep { setting, times })
}

/// The values around the best one that are as good: a plateau is a range and not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plateau {
    /// Its ends.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Microseconds at the lower end, and with the value 1.
    pub(super) micros: f64,
    pub(super) alone: f64,
}

/// The plateau, without a gap; `None` where values above the first good one are much worse.
pub(super) fn plateau(sweep: &Sweep) -> Option<Plateau> {
    let times: Vec<(u32, f64)> =
        sweep.times.iter().filter_map(|(value, micros)| Some((*value, median(micros)?))).collect();
    let best = times.iter().map(|(_, time)| *time).min_by(f64::total_cmp)?;
    let is_good = |(_, time): &&(u32, f64)| *time <= best * (1.0 + NEAR);
    let first = times.iter().find(is_good)?;
    // More reads at a time may gain nothing; where they seem to cost much, something else used the device.
    if times.iter().any(|(value, later)| *value > first.0 && *later > first.1 * NOISE) {
        return None;
    }
    // A value between two good ones can take longer than both, and is none of the range.
    let fastest = times.iter().position(|(_, time)| *time == best)?;
    let (from, micros) = *times[..=fastest].iter().rev().take_while(is_good).last()?;
    let (to, _) = *times[fastest..].iter().take_while(is_good).last()?;
    Some(Plateau { from, to, micros, alone: times.first()?.1 })
}

/// How far samples of the same value are apart: the largest over the least, the most of all values; `None` where each
/// has one sample.
pub(super) fn spread(sweep: &Sweep) -> Option<f64> {
    let of_value = |micros: &Vec<f64>| {
        let least = micros.iter().copied().fold(f64::INFINITY, f64::min);
        let most = micros.iter().copied().fold(0.0, f64::max);
        (micros.len() > 1 && least > 0.0).then_some(most / least)
    };
    sweep.times.iter().filter_map(|(_, micros)| of_value(micros)).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(times: Vec<(u32, Vec<f64>)>) -> Sweep {
        Sweep { setting: ReadAhead::Effective, times }
    }

    #[test]
    fn a_setting_that_the_tablespace_overrides_is_not_swept_as_if_all_its_values_were_as_good() {
        let options = "effective_io_concurrency=200, random_page_cost=1.1".to_string();
        let home = Tablespace { name: "pg_default".into(), options, is_home: true, ..Tablespace::default() };
        let said = overridden(ReadAhead::Effective, &home).unwrap();
        assert!(said.message.contains("pg_default has 200 of its own"), "{}", said.message);
        assert_eq!(overridden(ReadAhead::Maintenance, &home), None, "it has none of its own");
        assert_eq!(overridden(ReadAhead::Effective, &Tablespace { is_home: false, ..home }), None, "no table is there");
    }

    #[test]
    fn values_that_are_as_good_are_a_range() {
        let times =
            vec![(1, vec![100.0]), (2, vec![51.0, 49.0, 90.0]), (4, vec![50.0]), (8, vec![48.0]), (16, vec![60.0])];
        assert_eq!(plateau(&sweep(times)), Some(Plateau { from: 2, to: 8, micros: 51.0, alone: 100.0 }));
        assert_eq!(plateau(&sweep(Vec::new())), None);
    }

    #[test]
    fn a_slow_value_between_two_good_ones_is_in_no_range() {
        let ends = |[two, four, eight, sixteen]: [f64; 4]| {
            let times = [(1, 100.0), (2, two), (4, four), (8, eight), (16, sixteen)];
            let found = plateau(&sweep(times.map(|(value, time)| (value, vec![time])).into()));
            found.map(|Plateau { from, to, micros, .. }| (from, to, micros))
        };
        assert_eq!(ends([50.0, 70.0, 49.0, 60.0]), Some((8, 8, 49.0)), "4 takes 43 % longer");
        assert_eq!(ends([49.0, 70.0, 52.0, 50.0]), Some((2, 2, 49.0)));
        assert_eq!(ends([50.0, 51.0, 49.0, 70.0]), Some((2, 8, 50.0)));
        assert_eq!(ends([50.0, 80.0, 49.0, 60.0]), None, "that is noise");
    }

    #[test]
    fn the_spread_is_that_of_the_value_whose_samples_are_furthest_apart() {
        let times = vec![(1, vec![100.0, 110.0]), (2, vec![40.0, 50.0, 80.0]), (4, vec![9.0])];
        assert_eq!(spread(&sweep(times)), Some(2.0));
        assert_eq!(spread(&sweep(vec![(1, vec![100.0])])), None);
    }

    #[test]
    fn times_that_go_up_and_down_give_no_setting() {
        assert_eq!(plateau(&sweep(vec![(1, vec![1094.0]), (2, vec![153.0]), (4, vec![1319.0])])), None);
    }
}
