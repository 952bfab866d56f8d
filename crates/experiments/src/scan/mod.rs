//! scan: one question, asked of the same rows by six access paths, with everything in memory.
//!
//! Blocks of rows with an index, columnar units and columns are in memory one after the other. All paths must give the
//! same count: a run in which they do not ends with an error.

mod answers;
mod counted;
mod counters;
mod measuring;
mod server;

use std::time::Duration;

use measure::quantity::size_in_words;
use measure::{Finding, Nanos, Parameters};
use serde_json::json;
use storage::column::UNIT_ROWS;
use storage::unit::Level;
use subjects::AccessPaths;
use subjects::access_engine::{AccessEngine, AccessSettings};
use subjects::access_paths::{AccessPath, Asked, MemoryNeed, PathFacts, Structure, ZoneMaps};
use sys::counters as machine_counters;
use sys::host;
use sys::memory::{Pages, Stream};

pub use self::server::{Beside, OnServer, rehearse, run_beside};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
use counted::CountedPaths;
pub use counted::{COUNTED_ROWS, CountedChild, CountedPass, scan_counted};
use measuring::Measured;

/// Rows unless the user says otherwise, and rows of the published table.
pub const ROWS: u64 = 7_000_000;
/// Rows of the published table.
pub const PUBLISHED_ROWS: u64 = 69_642_625;

/// Most threads of a scan.
const THREADS_MAX: usize = 1024;

/// Memory that is read in sequence to learn its bandwidth: many times the last cache of most processors.
const STREAM_BYTES: u64 = 512 << 20;

/// Share of the available memory that a run may take, in percent: the rest of the machine wants some too.
const MEMORY_SHARE: u64 = 95;

/// Threads that build columns, at most: each collects a unit of its own.
const BUILDERS_MAX: usize = 8;

/// Parameters of the experiment.
#[derive(Clone, Debug)]
pub struct ScanParameters {
    /// Rows of the table.
    pub rows: u64,
    /// Ways to the rows; empty: all that can answer the question.
    pub paths: Vec<AccessPath>,
    /// What is asked.
    pub asked: Asked,
    /// Numbers of threads, for the paths that can be shared.
    pub threads: Vec<usize>,
    /// Whether units of columns may be skipped.
    pub zone_maps: ZoneMaps,
    /// How hard columnar units are compressed.
    pub level: Level,
    /// Samples of a case.
    pub repeat: usize,
    /// Bytes that the run may take; `None`: what is free.
    pub memory: Option<u64>,
    /// What the rows depend on.
    pub seed: u64,
    /// The same scan under valgrind, for machines whose processor counts nothing; `None`: no instructions there.
    pub child: Option<CountedChild>,
}

impl ScanParameters {
    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let refuse = |sentence: String| Err(ExperimentError::Parameters(sentence));
        if self.rows == 0 {
            return refuse("--rows 0: a table without rows has nothing to scan; give 1 or more".into());
        }
        if self.repeat == 0 {
            return refuse("--repeat must be at least 1".into());
        }
        if self.threads.is_empty() {
            return refuse("--threads needs a number: give 1, or a list such as 1,2".into());
        }
        if let Some(threads) = self.threads.iter().find(|threads| !(1..=THREADS_MAX).contains(*threads)) {
            return refuse(format!("--threads {threads} cannot be: give 1 to {THREADS_MAX}"));
        }
        match self.paths.iter().find_map(|path| Some((path, unfit(*path, self.asked)?))) {
            Some((path, reason)) => refuse(format!(
                "--path {} cannot answer --question {}: {reason}; leave one of the two out",
                path.name(),
                self.asked.name()
            )),
            None => Ok(()),
        }
    }

    /// The paths to be measured, each once, in the order of the document.
    fn chosen(&self) -> Vec<AccessPath> {
        let is_chosen = |path: &AccessPath| match self.paths.is_empty() {
            true => unfit(*path, self.asked).is_none(),
            false => self.paths.contains(path),
        };
        AccessPath::ALL.into_iter().filter(is_chosen).collect()
    }
}

/// Why a path does not answer a question; `None` where it does.
fn unfit(path: AccessPath, asked: Asked) -> Option<&'static str> {
    match (path, asked) {
        (AccessPath::ColumnCount, Asked::HalfPass) => Some("it counts without a predicate"),
        (AccessPath::ColumnScan, Asked::NoPredicate) => {
            Some("it is the scan with a predicate, and column-count without")
        }
        (path, Asked::HalfPass) if path.is_index() => Some("an index scan compares its key and no other column"),
        _ => None,
    }
}

/// A path whose structure is in memory.
struct Prepared {
    facts: PathFacts,
    /// What making it took; hardly anything where another path had made it.
    time: Nanos,
}

/// What every step is given.
struct Bench<'a> {
    parameters: &'a ScanParameters,
    machine: &'a Machine,
    /// The name of the engine where a server is measured beside it.
    subject: Option<&'static str>,
    engine: AccessEngine,
    /// Memory for the ceiling of every scan; `None` where there is none for it.
    stream: Option<Stream>,
    /// The answer that all paths must give, and the path that gave it.
    expected: Option<(AccessPath, u64)>,
    /// What valgrind counted; nothing where the processor counts.
    counted: CountedPaths,
}

/// Runs the experiment. ^C ends it after the pass under way; what was kept is kept.
pub fn run(parameters: &ScanParameters, machine: &Machine, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    measure_engine(parameters, None, machine, journal)?;
    if !machine.stop.requested() {
        machine.report_disturbances(journal);
    }
    Ok(())
}

/// Measures the engine, under this name where it is not alone. What was measured, and the answer of all paths.
fn measure_engine(
    parameters: &ScanParameters,
    subject: Option<&'static str>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(Vec<Measured>, Option<u64>), ExperimentError> {
    parameters.check()?;
    let paths = parameters.chosen();
    let available = host::available_memory();
    let limit = limit(parameters, available);
    let settings = AccessSettings {
        rows: parameters.rows,
        seed: parameters.seed,
        level: parameters.level,
        paths: paths.clone(),
        builders: builders(parameters.rows, machine),
        column_bytes_max: limit.unwrap_or(u64::MAX),
    };
    let engine = engine(settings, machine)?;
    let counted = CountedPaths::default();
    let mut bench = Bench { parameters, machine, subject, engine, stream: None, expected: None, counted };
    let mut found = Vec::new();
    match bench.measure_all(&paths, limit, &mut found, journal) {
        Err(ExperimentError::Stopped) => return Ok((found, None)),
        outcome => outcome?,
    }
    if !machine.stop.requested() {
        answers::report(&found, parameters, machine, journal);
    }
    Ok((found, bench.expected.map(|(_, count)| count)))
}

/// Threads that make the structures. A part of less than a unit of columns would have its own dictionaries for nothing.
fn builders(rows: u64, machine: &Machine) -> usize {
    let units = usize::try_from(rows.div_ceil(UNIT_ROWS as u64)).unwrap_or(usize::MAX);
    (machine.host.cores.unwrap_or(1) as usize).clamp(1, BUILDERS_MAX).min(units.max(1))
}

fn engine(settings: AccessSettings, machine: &Machine) -> Result<AccessEngine, ExperimentError> {
    let rows = settings.rows;
    AccessEngine::new(settings, machine.clock)
        .map_err(|error| ExperimentError::Parameters(format!("--rows {rows} cannot be: {error}")))
}

/// Bytes that the run may take: what the user gives, and no more than there is.
fn limit(parameters: &ScanParameters, available: Option<u64>) -> Option<u64> {
    let free = available.map(|bytes| bytes / 100 * MEMORY_SHARE);
    match (parameters.memory, free) {
        (Some(given), Some(free)) => Some(given.min(free)),
        (given, free) => given.or(free),
    }
}

impl Bench<'_> {
    fn measure_all(
        &mut self,
        paths: &[AccessPath],
        limit: Option<u64>,
        found: &mut Vec<Measured>,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        self.check_memory(paths, limit, journal)?;
        self.describe(paths, journal);
        self.machine.report_absences(journal);
        own_cost::measure(self.machine, journal);
        if let (Some(child), Some(_)) = (&self.parameters.child, machine_counters::hardware_absence()) {
            self.counted = counted::under_valgrind(self.parameters, child, self.machine, journal);
            self.check_stop()?;
        }
        self.stream = Stream::new(STREAM_BYTES as usize, Pages::Huge).ok();
        for path in paths {
            let prepared = self.prepare(*path, journal)?;
            describe_columns(&prepared.facts, journal);
            for threads in self.thread_numbers(*path) {
                found.push(measuring::case(self, *path, &prepared, threads, journal)?);
            }
        }
        Ok(())
    }

    /// One thread where the path cannot be shared.
    fn thread_numbers(&self, path: AccessPath) -> Vec<usize> {
        if path.is_shared_by_threads() { self.parameters.threads.clone() } else { vec![1] }
    }

    /// Says what the run takes, and refuses it where that is not there: better told before anything is made.
    fn check_memory(
        &mut self,
        paths: &[AccessPath],
        limit: Option<u64>,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        journal.step("computing what the table takes", Duration::from_secs(2));
        let needs = self.engine.memory_needed(paths, self.machine.stop.flag())?;
        let sentence = needs.iter().map(in_words).collect::<Vec<_>>().join(", ");
        let most = needs.iter().map(|need| need.bytes).max().unwrap_or(0) + STREAM_BYTES;
        journal.describe_subject("memory_needed", json!(most));
        journal.describe_subject("memory_limit", json!(limit));
        let rows = self.parameters.rows;
        if let Some(limit) = limit.filter(|limit| most > *limit) {
            let given = match self.parameters.memory {
                Some(given) if given == limit => "--memory gives",
                _ => "can be had here (95 % of what is free)",
            };
            return Err(ExperimentError::Parameters(format!(
                "{rows} rows need {} of memory at one time ({sentence}, one after the other, and {} to measure the \
                 bandwidth), and {} is what {given}: give fewer --rows, or leave the largest --path out",
                whole_mebibytes(most),
                whole_mebibytes(STREAM_BYTES),
                whole_mebibytes(limit)
            )));
        }
        journal.find(Finding::info(
            "memory-needed",
            format!("{rows} rows were forecast to take {sentence}, one after the other."),
        ));
        Ok(())
    }

    fn describe(&self, paths: &[AccessPath], journal: &mut dyn Journal) {
        journal.describe_subject("kind", json!("engine"));
        journal.describe_subject("rows", json!(self.parameters.rows));
        journal.describe_subject("row_bytes", json!(self.engine.row_bytes()));
        if let Ok(blocks) = self.engine.row_blocks() {
            journal.describe_subject("row_blocks", json!(blocks));
        }
        for path in AccessPath::ALL.into_iter().filter(|path| !paths.contains(path)) {
            if let Some(reason) = unfit(path, self.parameters.asked) {
                let asked = self.parameters.asked.name();
                let message = format!("{} was not asked the question {asked}: {reason}.", path.name());
                journal.find(Finding::info(&format!("absent-{}", path.name()), message));
            }
        }
    }

    /// Brings the structure of a path into memory.
    fn prepare(&mut self, path: AccessPath, journal: &mut dyn Journal) -> Result<Prepared, ExperimentError> {
        let rows = self.parameters.rows;
        // Nanoseconds a row, as measured on one core of an EPYC.
        let expected = match path.structure() {
            Structure::Rows => Duration::from_nanos(rows * 500),
            Structure::Units => Duration::from_nanos(rows * 1500),
            Structure::Columns => Duration::from_nanos(rows * 1500),
        };
        journal.step(&format!("making {} for {}", path.structure().name(), path.name()), expected);
        let start = self.machine.clock.now();
        let facts = self.engine.prepare(path, self.machine.stop.flag())?;
        let time = self.machine.clock.now().since(start);
        self.check_stop()?;
        if let Some(pool) = self.engine.pool() {
            self.report_huge_pages(pool.settings().bytes as u64, pool.huge_bytes(), journal);
        }
        Ok(Prepared { facts, time })
    }

    fn report_huge_pages(&self, bytes: u64, huge: Option<u64>, journal: &mut dyn Journal) {
        if huge.is_none_or(|huge| huge < bytes / 2) {
            journal.find(Finding::warning(
                "huge-pages-not-granted",
                format!(
                    "A buffer pool was to stand on 2 MiB pages, but the system granted {} of {}: every get of a \
                     block elsewhere contains a miss of the page table cache. Set \
                     /sys/kernel/mm/transparent_hugepage/enabled to madvise or always.",
                    huge.map_or("an unknown part".into(), whole_mebibytes),
                    whole_mebibytes(bytes)
                ),
            ));
        }
    }

    /// Ends the experiment when the user asked for that.
    fn check_stop(&self) -> Result<(), ExperimentError> {
        Ok(self.machine.stop.check()?)
    }
}

/// A size as a sentence writes it, to the mebibyte from one on.
fn whole_mebibytes(bytes: u64) -> String {
    size_in_words(if bytes >= 1 << 20 { bytes >> 20 << 20 } else { bytes })
}

fn in_words(need: &MemoryNeed) -> String {
    format!("{} for {}", whole_mebibytes(need.bytes), need.structure.name())
}

/// How each column came out, once in a run.
fn describe_columns(facts: &PathFacts, journal: &mut dyn Journal) {
    if facts.columns.is_empty() {
        return;
    }
    let encodings = |column: &subjects::access_paths::ColumnFacts| {
        let shares = column.encodings.iter().map(|(way, units)| format!("{units} × {way}"));
        shares.collect::<Vec<_>>()
    };
    let columns: Vec<_> = facts
        .columns
        .iter()
        .map(|column| {
            json!({
                "name": column.name, "encodings": encodings(column), "bytes": column.bytes,
                "compression_ratio": column.compression_ratio,
            })
        })
        .collect();
    journal.describe_subject("columns", json!(columns));
}

/// The parameters of a case.
fn case_parameters(bench: &Bench<'_>, path: AccessPath, threads: usize) -> Parameters {
    let asked = if path == AccessPath::ColumnCount { Asked::NoPredicate } else { bench.parameters.asked };
    let mut parameters = Parameters::new();
    if let Some(subject) = bench.subject {
        parameters.insert("subject".into(), json!(subject));
    }
    parameters.insert("path".into(), json!(path.name()));
    parameters.insert("question".into(), json!(asked.name()));
    parameters.insert("threads".into(), json!(threads));
    parameters.insert("table_rows".into(), json!(bench.parameters.rows));
    if path == AccessPath::ColumnScan {
        parameters.insert("zone_maps".into(), json!(bench.parameters.zone_maps == ZoneMaps::On));
    }
    if path == AccessPath::FullScanCompressed {
        parameters.insert("level".into(), json!(bench.parameters.level.name()));
    }
    parameters
}
