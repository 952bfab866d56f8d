//! The same scan in a child under valgrind: what it executed, where the processor does not tell.
//!
//! The child has a smaller table, because valgrind takes some fifty times as long: what a row costs in instructions
//! does not depend on the number of rows, but for what a scan or a unit costs once. Only the passes are counted, not
//! the making of the table. Their simulated caches are cold, as they are to a table that is larger than any cache, and
//! the last one is as much smaller than the processor's as the table is.

use std::ffi::{CString, OsString};
use std::process::Stdio;
use std::time::Duration;

use measure::Finding;
use serde::{Deserialize, Serialize};
use subjects::AccessPaths;
use subjects::access_engine::{AccessEngine, AccessSettings};
use subjects::access_paths::{AccessPath, Kernel, ScanPass, Watch};
use sys::clock::Clock;
use sys::valgrind::{self, Callgrind, Part, Simulated};

use super::ScanParameters;
use crate::counters::ValgrindRun;
use crate::error::ExperimentError;
use crate::journal::{Journal, Stop};
use crate::machine::Machine;

/// Rows of the table that is scanned under valgrind, at most. Making it and six passes take 10 s, on a busy machine 25;
/// what a pass or a unit of columns costs once, some hundred instructions, is a thousandth of one a row.
pub const COUNTED_ROWS: u64 = 1 << 18;

/// About how long the child takes for each row, in all: for the progress line.
const CHILD_TIME_PER_ROW: Duration = Duration::from_micros(60);

/// The command that scans under valgrind, and how it is run.
#[derive(Clone, Debug)]
pub struct CountedChild {
    /// Program and arguments: something that calls [`scan_counted`] with [`ScanParameters::counted`] and prints what
    /// that gives as JSON.
    pub words: Vec<OsString>,
    /// Folder for valgrind's files, and the longest time that it may take.
    pub valgrind: ValgrindRun,
}

/// A path that was scanned while it was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedPass {
    /// Name of the path, and of the part of valgrind's counts.
    pub path: String,
    /// Rows that the pass looked at or answered for.
    pub rows: u64,
    /// Gets of the pass.
    pub gets: u64,
    /// The machine instructions that scanned columns, where codes of columns were read.
    pub kernel: Option<String>,
}

/// What valgrind counted of one path.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) rows: u64,
    pub(super) gets: u64,
    pub(super) kernel: Option<Kernel>,
    pub(super) events: Simulated,
}

/// All paths that were counted.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedPaths(Vec<(AccessPath, Counted)>);

impl CountedPaths {
    pub(super) fn of(&self, path: AccessPath) -> Option<&Counted> {
        self.0.iter().find(|(of, _)| *of == path).map(|(_, counted)| counted)
    }
}

impl ScanParameters {
    /// The parameters of the child under valgrind.
    pub fn counted(&self) -> ScanParameters {
        ScanParameters {
            rows: self.rows.min(COUNTED_ROWS),
            paths: self.chosen(),
            threads: vec![1],
            repeat: 1,
            child: None,
            ..self.clone()
        }
    }
}

/// The child's part: scans each path once while valgrind counts, and tells what was scanned.
///
/// Errors as the engine, and where two paths answer differently.
pub fn scan_counted(parameters: &ScanParameters, stop: &Stop) -> Result<Vec<CountedPass>, ExperimentError> {
    let paths = parameters.chosen();
    let settings = AccessSettings {
        rows: parameters.rows,
        seed: parameters.seed,
        level: parameters.level,
        paths: paths.clone(),
        builders: 1,
        column_bytes_max: u64::MAX,
    };
    let mut engine = AccessEngine::new(settings, Clock::calibrate())?;
    let pass = ScanPass {
        asked: parameters.asked,
        threads: 1,
        laps: 1,
        zone_maps: parameters.zone_maps,
        kernel: None,
        watch: Watch::Valgrind,
    };
    let mut expected = None;
    let mut passes = Vec::new();
    for path in paths {
        let facts = engine.prepare(path, stop.flag())?;
        let cost = engine.scan(&pass)?;
        let name = CString::new(path.name()).map_err(|error| ExperimentError::Process(error.to_string()))?;
        valgrind::dump_stats_as(&name);
        let (other, count) = *expected.get_or_insert((path, cost.count));
        if count != cost.count {
            let paths = [other.name(), path.name()];
            return Err(ExperimentError::PathsDisagree { paths, counts: [count, cost.count] });
        }
        // A count without a predicate reads no code.
        let kernel = facts.kernel.filter(|_| path == AccessPath::ColumnScan).map(|kernel| kernel.name().to_string());
        passes.push(CountedPass { path: path.name().into(), rows: cost.rows, gets: cost.gets, kernel });
    }
    Ok(passes)
}

/// Runs the child. What it did not count is a finding, because everything else can still be measured.
pub(super) fn under_valgrind(
    parameters: &ScanParameters,
    child: &CountedChild,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> CountedPaths {
    let rows = parameters.rows.min(COUNTED_ROWS);
    journal.step("counting instructions under valgrind", CHILD_TIME_PER_ROW * rows as u32);
    let last_cache = machine.host.caches.iter().map(|cache| cache.bytes).max();
    let last_cache =
        last_cache.map(|bytes| (u128::from(bytes) * u128::from(rows) / u128::from(parameters.rows)) as u64);
    let callgrind = Callgrind {
        words: &child.words,
        part: Part::BetweenRequests,
        scratch: &child.valgrind.scratch,
        limit: Some(child.valgrind.limit),
        last_cache,
    };
    let counted = match callgrind.run(Stdio::piped(), machine.stop.flag()) {
        Ok(counted) => paths_of(&counted),
        Err(_) if machine.stop.requested() => return CountedPaths::default(),
        Err(error) => Err(error.to_string()),
    };
    match counted {
        Ok(counted) => {
            tell(&counted, rows, journal);
            counted
        }
        Err(reason) => {
            let message = format!("Instructions, branches and cache misses were not counted under valgrind: {reason}.");
            journal.find(Finding::warning("absent-valgrind", message));
            CountedPaths::default()
        }
    }
}

/// What the child said of its passes, beside what valgrind counted of them.
fn paths_of(counted: &valgrind::Counted) -> Result<CountedPaths, String> {
    if !counted.ended.status.success() {
        return Err(format!("the scan ended there with {}", counted.ended.status));
    }
    let passes: Vec<CountedPass> =
        serde_json::from_slice(&counted.output).map_err(|error| format!("what it scanned cannot be read: {error}"))?;
    let mut paths = Vec::new();
    for pass in passes {
        let path = AccessPath::ALL.into_iter().find(|path| path.name() == pass.path);
        let events = counted.parts.iter().find(|part| part.name() == Some(&pass.path));
        let Some((path, events)) = path.zip(events).filter(|_| pass.rows > 0) else {
            return Err(format!("it counted nothing of {}", pass.path));
        };
        let kernel = pass.kernel.as_deref().and_then(Kernel::named);
        paths.push((path, Counted { rows: pass.rows, gets: pass.gets, kernel, events: events.clone() }));
    }
    Ok(CountedPaths(paths))
}

/// How the counts came about, once in a run.
fn tell(counted: &CountedPaths, rows: u64, journal: &mut dyn Journal) {
    let Some((_, first)) = counted.0.first() else { return };
    let kernel = counted.0.iter().find_map(|(_, counted)| counted.kernel);
    let kernel = kernel.map_or(String::new(), |kernel| {
        format!(
            " It knows no AVX-512: instructions and cycles of column-scan are those of the {} kernel, the cycles \
             measured without valgrind.",
            kernel.name()
        )
    });
    journal.find(Finding::info(
        "valgrind",
        format!(
            "Instructions are of the same scan of {rows} rows by one thread in a child under valgrind, in user mode; \
             cycles are CPU time at the core's measured frequency.{kernel} It simulates branch prediction and cold \
             caches without prefetching ({}); the last one is as much smaller than the processor's as the table.",
            first.events.caches().join("; ")
        ),
    ));
}
