//! The same scan in a child under valgrind: what it executed, where the processor does not count.
//!
//! The child has a smaller table, because valgrind takes some fifty times as long: what a row costs in instructions
//! does not depend on the number of rows. A pass that reads no column costs something for each unit and nothing for a
//! row: it is counted with few units and with many, and what lies between is for units. Only passes are counted, not
//! the making of the table. The simulated last cache is as much smaller than the processor's as the table is, and
//! holds what a pass before left in it.

use std::ffi::{CString, OsString};
use std::process::Stdio;
use std::time::Duration;

use measure::quantity;
use measure::schema::events::findings as events_row;
use serde::{Deserialize, Serialize};
use subjects::access_paths::{AccessPath, AccessPaths, AccessSettings, CountedRows, ScanPass, Watch};
use subjects::{Environment, Opening, Place};
use sys::time::Clock;
use sys::valgrind::{self, Callgrind, Part, Simulated};

use super::parameters::ScanParameters;
use crate::counters::ValgrindRun;
use crate::error::ExperimentError;
use crate::events;
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
    /// Program and arguments: something that calls [`scan_counted`] with [`ScanParameters::counted`] and prints its
    /// result as JSON. The subject and its paths are added: `--on WORD --path PATH,...`.
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
    pub(super) of: CountedRows,
    pub(super) kernel: Option<String>,
    /// Where no column was read.
    pub(super) units: Option<Units>,
}

/// A pass that answered for units and read none: for few of them, and over a table of more.
#[derive(Clone, Debug)]
pub(super) struct Units {
    pub(super) few: u64,
    pub(super) many: u64,
    pub(super) events_of_many: Simulated,
}

/// All paths that were counted.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedPaths(Vec<Counted>);

impl CountedPaths {
    /// What a subject counted by itself.
    pub(super) fn of_rows(counted: Vec<CountedRows>) -> CountedPaths {
        CountedPaths(counted.into_iter().map(|of| Counted { of, kernel: None, units: None }).collect())
    }

    pub(super) fn of(&self, path: AccessPath) -> Option<&Counted> {
        self.0.iter().find(|counted| counted.of.path == path)
    }
}

impl ScanParameters {
    /// The parameters of the child under valgrind, which gets its subject and its paths besides.
    pub fn counted(&self) -> ScanParameters {
        let rows = Some(self.rows().min(COUNTED_ROWS));
        ScanParameters { rows, path: Vec::new(), threads: vec![1], repeat: 1, ..self.clone() }
    }
}

/// The child's part: scans each path once while valgrind counts, and says what was scanned.
///
/// Errors as the subject, and where two paths answer differently.
pub fn scan_counted(
    parameters: &ScanParameters,
    environment: &Environment,
    stop: &Stop,
) -> Result<Vec<CountedPass>, ExperimentError> {
    parameters.check()?;
    let place = parameters.on.iter().next();
    let place = place.ok_or_else(|| ExperimentError::Parameters("--on names nothing to scan".into()))?;
    let child = Child { parameters, place, environment, stop };
    let (mut subject, paths) = child.open(parameters.rows(), 1, &parameters.path)?;
    let mut expected = None;
    let mut passes = Vec::new();
    for path in paths {
        let (pass, count) = child.count_pass(&mut *subject, path, "")?;
        let (other, known) = *expected.get_or_insert((path, count));
        if known != count {
            let paths = [other, path].map(|path| path.name().to_string());
            return Err(ExperimentError::PathsDisagree { paths, counts: [known, count] });
        }
        let is_of_units = pass.units.is_some();
        passes.push(pass);
        if is_of_units {
            let (mut subject, _) = child.open(ROWS_OF_UNITS, UNITS, &[path])?;
            passes.push(child.count_pass(&mut *subject, path, MANY_UNITS)?.0);
        }
    }
    Ok(passes)
}

/// What the child works with.
struct Child<'a> {
    parameters: &'a ScanParameters,
    place: &'a dyn Place,
    environment: &'a Environment,
    stop: &'a Stop,
}

impl Child<'_> {
    /// Opens the subject over a table that this many threads make, and gives its paths that can answer the question.
    fn open(
        &self,
        rows: u64,
        builders: usize,
        paths: &[AccessPath],
    ) -> Result<(Box<dyn AccessPaths>, Vec<AccessPath>), ExperimentError> {
        let settings = AccessSettings {
            rows,
            paths: paths.to_vec(),
            builders: Some(builders),
            watch: Watch::Valgrind,
            ..self.parameters.settings(None)
        };
        let offer = self.place.access_paths(&settings);
        let opener = offer.map_err(ExperimentError::Parameters)?;
        let mut subject = opener.open(&mut Opening {
            environment: self.environment,
            clock: Clock::calibrate(),
            stop: self.stop.share(),
            progress: &mut |_, _| {},
        })?;
        let offers = subject.paths(self.parameters.question()).into_iter();
        let offers =
            offers.filter(|offer| offer.absence.is_none() && (paths.is_empty() || paths.contains(&offer.path)));
        let paths: Vec<AccessPath> = offers.map(|offer| offer.path).collect();
        subject.plan(&paths)?;
        Ok((subject, paths))
    }

    /// One pass that is counted under the path's name and what stands behind it, and its answer.
    fn count_pass(
        &self,
        subject: &mut dyn AccessPaths,
        path: AccessPath,
        behind: &str,
    ) -> Result<(CountedPass, u64), ExperimentError> {
        let facts = subject.prepare(path, self.parameters.question(), &mut |_, _| {})?;
        let facts = facts.map_err(|absence| ExperimentError::Parameters(absence.message))?;
        let cost = subject.scan(&ScanPass { threads: 1, laps: 1, kernel: None })?;
        let name = format!("{}{behind}", path.name());
        let part = CString::new(name.as_str()).map_err(|error| ExperimentError::Process(error.to_string()))?;
        valgrind::dump_stats_as(&part);
        let of_units = cost.units.filter(|units| units.read == 0 && units.unread > 0);
        let kernel = facts.kernel.filter(|_| of_units.is_none()).map(String::from);
        let units = of_units.map(|units| units.unread);
        Ok((CountedPass { path: name, rows: cost.rows, gets: cost.gets, kernel, units }, cost.count))
    }
}

/// Runs the child on the subject of this word of `--on`. What it did not count is a finding, because everything else
/// can still be measured.
pub(super) fn in_child(
    parameters: &ScanParameters,
    (on, paths): (&str, &[AccessPath]),
    child: &CountedChild,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> CountedPaths {
    let rows = parameters.rows().min(COUNTED_ROWS);
    journal.step("counting instructions under valgrind", CHILD_TIME_PER_ROW * rows as u32);
    let last_cache = machine.host.caches.iter().map(|cache| cache.bytes).max();
    let last_cache =
        last_cache.map(|bytes| (u128::from(bytes) * u128::from(rows) / u128::from(parameters.rows())) as u64);
    let names = paths.iter().map(|path| path.name()).collect::<Vec<_>>().join(",");
    let words: Vec<OsString> =
        child.words.iter().cloned().chain(["--on", on, "--path", &names].map(OsString::from)).collect();
    let callgrind = Callgrind {
        words: &words,
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
    counted_or_absent(counted, rows, journal)
}

/// Says how the counts came about, or why there are none.
fn counted_or_absent(counted: Result<CountedPaths, String>, rows: u64, journal: &mut dyn Journal) -> CountedPaths {
    match counted {
        Ok(counted) => {
            report(&counted, rows, journal);
            counted
        }
        Err(reason) => {
            journal.find(events::absent_valgrind("Instructions, branches and cache misses", &reason));
            CountedPaths::default()
        }
    }
}

/// What the child said of its passes, with what valgrind counted of them.
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
        let Ok(path) = pass.path.parse::<AccessPath>() else { continue };
        let many = passes.iter().find(|other| other.path == format!("{}{MANY_UNITS}", pass.path));
        let units = match many.and_then(|pass_of_many| Some((pass_of_many, pass.units?, pass_of_many.units?))) {
            Some((of_many, few, many)) if many > few => {
                Some(Units { few, many, events_of_many: events(&of_many.path)? })
            }
            _ => None,
        };
        if pass.rows == 0 {
            return Err(format!("{} scanned no row there", pass.path));
        }
        let of = CountedRows { path, rows: pass.rows, gets: pass.gets, how: "", events: events(&pass.path)? };
        paths.push(Counted { of, kernel: pass.kernel.clone(), units });
    }
    Ok(CountedPaths(paths))
}

/// How the counts came about, once in a run.
fn report(counted: &CountedPaths, rows: u64, journal: &mut dyn Journal) {
    let Some(first) = counted.0.first() else { return };
    let kernel = counted.0.iter().find_map(|counted| counted.kernel.as_ref());
    let kernel = kernel.map_or(String::new(), |kernel| {
        format!(
            " It knows no AVX-512: instructions and cycles of column-scan are those of the {kernel} kernel, the cycles \
             measured without valgrind."
        )
    });
    journal.find(events_row::VALGRIND.of(format!(
        "Instructions are of the same scan of {} by one thread in a child under valgrind, in user mode; \
             cycles are CPU time at the core's measured frequency.{kernel} It simulates branch prediction and caches \
             without prefetching{}; the last one has the processor's size, scaled by the rows of this scan over those \
             of the table.",
        quantity::counted(rows, "row", "rows"),
        events::caches(&first.of.events)
    )));
}

#[cfg(test)]
mod tests;
