//! readpath's own scans as a contender: its engine as `readpath scan` uses it, through the library.

use std::sync::Arc;

use measure::Nanos;
use subjects::AccessPaths;
use subjects::access_paths::{AccessPath, AccessSettings, Asked, Level, ScanCost, ScanPass, Watch};
use subjects::engine::access_paths::AccessEngine;
use sys::time::Clock;

use crate::scan::question::{Reading, SEED};

/// A sample lasts at least this long, as those of the libraries do.
pub(crate) const SAMPLE_TIME: Nanos = Nanos::from_millis(50);

/// Two threads and one take turns this often, for this long each, and the middle of each counts: next to other work one
/// of the threads waits for a processor now and then.
const SHORT_SAMPLES: usize = 25;
const SHORT_SAMPLE_TIME: Nanos = Nanos::from_millis(4);

/// Most laps of a sample: a count of columns takes less than a microsecond.
const LAPS_MAX: u64 = 1 << 18;

/// The engine's names among the contenders.
pub(crate) const COLUMN_SCAN: &str = "readpath column-scan";
/// See [`COLUMN_SCAN`].
pub(crate) const COLUMN_COUNT: &str = "readpath column-count";
/// The elapsed time of one thread and of two, whose ratio is what two threads bring.
pub(crate) const BY_CLOCK: [&str; 2] = ["readpath column-scan, elapsed", "readpath column-scan, elapsed, two threads"];

/// The paths over blocks of rows.
pub(crate) const ROW_PATHS: [AccessPath; 3] =
    [AccessPath::FullScan, AccessPath::IndexGoodClustering, AccessPath::IndexBadClustering];

/// The name of a path over blocks of rows.
pub(crate) fn row_path_name(path: AccessPath) -> String {
    format!("readpath {}", path.name())
}

/// The engine twice: blocks of rows and columns are both in memory.
pub(crate) struct Engine {
    rows: AccessEngine,
    columns: AccessEngine,
}

/// An engine for these paths, with nothing in memory yet, which reads every code.
pub(crate) fn access_engine(rows: u64, paths: &[AccessPath], clock: Clock) -> Result<AccessEngine, String> {
    let builders = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = AccessSettings {
        rows,
        seed: SEED,
        asked: Asked::AllPass,
        paths: paths.to_vec(),
        level: Level::QueryLow,
        zone_maps: false,
        builders: Some(builders),
        memory: None,
        watch: Watch::Counters,
    };
    let mut engine = AccessEngine::new(settings, clock, Arc::default()).map_err(|error| error.to_string())?;
    engine.plan(paths).map_err(|error| error.to_string())?;
    Ok(engine)
}

impl Engine {
    /// Makes the table in both forms.
    pub(crate) fn new(rows: u64, clock: Clock) -> Result<Engine, String> {
        let mut engine = Engine {
            rows: access_engine(rows, &ROW_PATHS, clock)?,
            columns: access_engine(rows, &[AccessPath::ColumnScan], clock)?,
        };
        turn_to(&mut engine.columns, AccessPath::ColumnScan, Asked::AllPass)?;
        turn_to(&mut engine.rows, AccessPath::FullScan, Asked::AllPass)?;
        Ok(engine)
    }

    /// One turn over all paths. The index of a path takes the place of the one before, outside of what is measured.
    pub(crate) fn take_turn(&mut self) -> Result<Vec<Reading>, String> {
        let mut readings = self.columns()?;
        for path in ROW_PATHS {
            turn_to(&mut self.rows, path, Asked::AllPass)?;
            let sample = sample(&mut self.rows, 1, SAMPLE_TIME)?;
            readings.push(sample.by_processor(&row_path_name(path), Asked::AllPass));
        }
        Ok(readings)
    }

    fn columns(&mut self) -> Result<Vec<Reading>, String> {
        let mut readings = Vec::new();
        for asked in [Asked::AllPass, Asked::HalfPass] {
            turn_to(&mut self.columns, AccessPath::ColumnScan, asked)?;
            let alone = sample(&mut self.columns, 1, SAMPLE_TIME)?;
            readings.push(alone.by_processor(COLUMN_SCAN, asked));
            readings.extend(self.by_clock(asked)?);
        }
        turn_to(&mut self.columns, AccessPath::ColumnCount, Asked::NoPredicate)?;
        let count = sample(&mut self.columns, 1, SAMPLE_TIME)?;
        readings.push(count.by_processor(COLUMN_COUNT, Asked::NoPredicate));
        Ok(readings)
    }

    /// One thread and two in turn, by the clock: the middle reading of each. The least of many gave two threads more
    /// than twice the speed of one.
    fn by_clock(&mut self, asked: Asked) -> Result<[Reading; 2], String> {
        let mut readings = [Vec::new(), Vec::new()];
        for _ in 0..SHORT_SAMPLES {
            for (at, name) in BY_CLOCK.into_iter().enumerate() {
                readings[at].push(sample(&mut self.columns, at + 1, SHORT_SAMPLE_TIME)?.by_clock(name, asked));
            }
        }
        Ok(readings.map(|mut all| {
            all.sort_by(|one, other| one.row_ns.total_cmp(&other.row_ns));
            all.swap_remove(all.len() / 2)
        }))
    }
}

/// Turns an engine to a path and a question.
pub(crate) fn turn_to(engine: &mut AccessEngine, path: AccessPath, asked: Asked) -> Result<(), String> {
    let prepared = engine.prepare(path, asked, &mut |_, _| {}).map_err(|error| error.to_string())?;
    prepared.map(drop).map_err(|absence| absence.message)
}

/// Some laps of a path.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    cost: ScanCost,
    laps: f64,
}

/// Every code read, as often as it takes to fill `time`.
pub(crate) fn sample(engine: &mut AccessEngine, threads: usize, time: Nanos) -> Result<Sample, String> {
    let mut scan = |laps: u64| {
        let pass = ScanPass { threads, laps: laps as u32, kernel: None };
        engine.scan(&pass).map_err(|error| error.to_string())
    };
    // The first one warms the caches and is not looked at.
    scan(1)?;
    let lap = scan(1)?.elapsed.0.max(1);
    let laps = time.0.div_ceil(lap).clamp(1, LAPS_MAX);
    Ok(Sample { cost: scan(laps)?, laps: laps as f64 })
}

impl Sample {
    /// Processor time.
    fn by_processor(&self, contender: &str, asked: Asked) -> Reading {
        self.reading(contender, asked, self.cost.cpu)
    }

    /// Elapsed time.
    fn by_clock(&self, contender: &str, asked: Asked) -> Reading {
        self.reading(contender, asked, self.cost.elapsed)
    }

    /// Bytes of columns that were read in a second.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.cost.touched.unwrap_or(0) as f64 / self.cost.elapsed.as_seconds()
    }

    /// Bytes of columns that one lap read.
    pub(crate) fn bytes(&self) -> f64 {
        self.cost.touched.unwrap_or(0) as f64 / self.laps
    }

    fn reading(&self, contender: &str, asked: Asked, time: Nanos) -> Reading {
        let row_ns = time.0 as f64 / self.laps / self.cost.rows.max(1) as f64;
        Reading { contender: contender.into(), asked, row_ns, count: self.cost.count }
    }
}
