//! The same scan in a child under valgrind: what it executed, where the processor does not tell.
//!
//! The child has a smaller table, because valgrind takes some fifty times as long: what a row costs in instructions
//! does not depend on the number of rows. A pass that reads no column costs something for each unit and nothing for a
//! row: it is counted with few units and with many, and what lies between is for units. Only passes are counted, not
//! the making of the table. The simulated last cache is as much smaller than the processor's as the table is, and
//! holds what a pass before left in it.

use std::ffi::{CString, OsString};
use std::process::Stdio;
use std::time::Duration;

use measure::Finding;
use serde::{Deserialize, Serialize};
use subjects::AccessPaths;
use subjects::access_engine::{AccessEngine, AccessSettings};
use subjects::access_paths::{AccessPath, Kernel, ScanPass, Watch};
use sys::time::Clock;
use sys::valgrind::{self, Callgrind, Part, Simulated};

use super::ScanParameters;
use crate::counters::ValgrindRun;
use crate::error::ExperimentError;
use crate::journal::{Journal, Stop};
use crate::machine::Machine;

/// Rows of the table that is scanned under valgrind, at most. Making it and six passes take 10 s, on a busy machine 25;
/// what a pass costs once, some hundred instructions, is a thousandth of one a row.
pub const COUNTED_ROWS: u64 = 1 << 18;

/// Units of columns, and rows in all, of the table that shows what a unit costs.
const UNITS: usize = 32;
const ROWS_OF_UNITS: u64 = 1 << 12;

/// What stands behind a path's name where it was scanned over that table.
const MANY_UNITS: &str = " by many units";

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
    /// Units of columns that were answered for, where none was read.
    pub units: Option<u64>,
}

/// What valgrind counted of one path.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) rows: u64,
    pub(super) gets: u64,
    pub(super) kernel: Option<Kernel>,
    /// How it came about, behind the name of the tool; empty where it was this program's own child.
    pub(super) how: &'static str,
    pub(super) events: Simulated,
    /// Where no column was read: how many units were answered for, and the same over a table of more of them.
    pub(super) units: Option<(u64, ManyUnits)>,
}

/// A pass that answered for units and read none.
#[derive(Clone, Debug)]
pub(super) struct ManyUnits {
    pub(super) units: u64,
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
    let mut engine = engine(parameters, parameters.rows, &paths, 1)?;
    let mut expected = None;
    let mut passes = Vec::new();
    for path in paths {
        let (pass, count) = count_pass(parameters, &mut engine, path, "", stop)?;
        let (other, known) = *expected.get_or_insert((path, count));
        if known != count {
            let paths = [other.name(), path.name()];
            return Err(ExperimentError::PathsDisagree { paths, counts: [known, count] });
        }
        let is_of_units = pass.units.is_some();
        passes.push(pass);
        if is_of_units {
            let mut engine = self::engine(parameters, ROWS_OF_UNITS, &[path], UNITS)?;
            passes.push(count_pass(parameters, &mut engine, path, MANY_UNITS, stop)?.0);
        }
    }
    Ok(passes)
}

fn engine(
    parameters: &ScanParameters,
    rows: u64,
    paths: &[AccessPath],
    builders: usize,
) -> Result<AccessEngine, ExperimentError> {
    let (seed, level, paths) = (parameters.seed, parameters.level, paths.to_vec());
    let settings = AccessSettings { rows, seed, level, paths, builders, column_bytes_max: u64::MAX };
    Ok(AccessEngine::new(settings, Clock::calibrate())?)
}

/// One pass that is counted under the path's name and what stands behind it, and its answer.
fn count_pass(
    parameters: &ScanParameters,
    engine: &mut AccessEngine,
    path: AccessPath,
    behind: &str,
    stop: &Stop,
) -> Result<(CountedPass, u64), ExperimentError> {
    let facts = engine.prepare(path, stop.flag())?;
    let cost = engine.scan(&ScanPass {
        asked: parameters.asked,
        threads: 1,
        laps: 1,
        zone_maps: parameters.zone_maps,
        kernel: None,
        watch: Watch::Valgrind,
    })?;
    let name = format!("{}{behind}", path.name());
    let part = CString::new(name.as_str()).map_err(|error| ExperimentError::Process(error.to_string()))?;
    valgrind::dump_stats_as(&part);
    let is_of_units = cost.units_read == 0 && cost.units_unread > 0;
    let kernel = facts.kernel.filter(|_| !is_of_units).map(|kernel| kernel.name().to_string());
    let units = is_of_units.then_some(cost.units_unread);
    Ok((CountedPass { path: name, rows: cost.rows, gets: cost.gets, kernel, units }, cost.count))
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
    let events = |name: &str| {
        let part = counted.parts.iter().find(|part| part.name() == Some(name));
        part.cloned().ok_or_else(|| format!("it counted nothing of {name}"))
    };
    let mut paths = Vec::new();
    for pass in &passes {
        let Some(path) = AccessPath::ALL.into_iter().find(|path| path.name() == pass.path) else { continue };
        let many = passes.iter().find(|other| other.path == format!("{}{MANY_UNITS}", pass.path));
        let units = match many.and_then(|many| Some((many, pass.units?, many.units?))) {
            Some((many, few, units)) if units > few => Some((few, ManyUnits { units, events: events(&many.path)? })),
            _ => None,
        };
        if pass.rows == 0 {
            return Err(format!("{} scanned no row there", pass.path));
        }
        let kernel = pass.kernel.as_deref().and_then(Kernel::named);
        let (rows, gets) = (pass.rows, pass.gets);
        paths.push((path, Counted { rows, gets, kernel, how: "", events: events(&pass.path)?, units }));
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
             cycles are CPU time at the core's measured frequency.{kernel} It simulates branch prediction and caches \
             without prefetching ({}); the last one is as much smaller than the processor's as the table.",
            first.events.caches().join("; ")
        ),
    ));
}
