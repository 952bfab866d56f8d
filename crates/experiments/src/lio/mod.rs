//! lio: the cost of a logical I/O, by the shape of the rows, the way to the block and what is touched of it.
//!
//! Everything is cached before anything is measured. The cost of a get and of walking the rows are told apart by a
//! second pass in the same order that touches nothing.

mod answers;
mod checks;
mod measuring;
mod server;

pub use self::server::OnServer;
pub(crate) use answers::{DOCUMENT_RANGED_RATIO, FOLKLORE_RATIO, MILLSAP_RATIO};

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use measure::quantity::{format_size, size_in_words};
use measure::{Finding, Parameters};
use serde_json::json;
use subjects::LogicalReads;
use subjects::engine::{Engine, EngineSettings, check_cell};
use subjects::logical_reads::{Access, Cell, Moment, Population, TableFacts, Touch};
use sys::sampler::{self, Sampler};

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;

/// The nine cells of the document: bytes of a row, and columns.
pub const ROW_LENGTHS: [u32; 3] = [2500, 250, 25];
/// Columns of the nine cells.
pub const COLUMNS: [u32; 3] = [1, 5, 25];

/// Most threads of a pass.
const THREADS_MAX: usize = 1024;

/// What is touched, as it is asked for: the last column depends on the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchAxis {
    /// The same in every table.
    Every(Touch),
    /// The last column.
    LastColumn,
}

impl TouchAxis {
    fn of(self, cell: &Cell) -> Touch {
        match self {
            TouchAxis::Every(touch) => touch,
            TouchAxis::LastColumn => Touch::Column(cell.columns as u8),
        }
    }
}

/// Parameters of the experiment; every list multiplies the cases.
#[derive(Clone, Debug)]
pub struct LioParameters {
    /// Where the tables lie.
    pub directory: PathBuf,
    /// Bytes of all columns of all rows of a table.
    pub payload: u64,
    /// Bytes of a row.
    pub row_lengths: Vec<u32>,
    /// Columns of a row.
    pub columns: Vec<u32>,
    /// Ways to the block.
    pub accesses: Vec<Access>,
    /// What is touched.
    pub touches: Vec<TouchAxis>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Percentages of rows that changed since the reader's moment.
    pub changed_rows: Vec<u32>,
    /// Samples of a case.
    pub repeat: usize,
    /// Picks random orders.
    pub seed: u64,
    /// Whether tables that are there are loaded again.
    pub reload: bool,
    /// Whether the stacks of the readers are sampled.
    pub sampled: bool,
    /// The server on which it is run as well; the engine then stands beside it.
    pub on: Option<OnServer>,
}

/// Names of functions, the outermost first.
pub type Stack = Vec<String>;

impl LioParameters {
    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let refuse = |sentence: String| Err(ExperimentError::Parameters(sentence));
        if self.repeat == 0 {
            return refuse("--repeat must be at least 1".into());
        }
        if let Some(threads) = self.threads.iter().find(|threads| !(1..=THREADS_MAX).contains(*threads)) {
            return refuse(format!("--threads {threads} cannot be: give 1 to {THREADS_MAX}"));
        }
        if let Some(percent) = self.changed_rows.iter().find(|percent| **percent > 100) {
            return refuse(format!("--changed-rows {percent} cannot be: it is a percentage, 0 to 100"));
        }
        if let Some(on) = &self.on {
            on.check(self)?;
        }
        let changed = self.changes();
        for cell in self.cells() {
            check_cell(&cell, changed).map_err(|error| ExperimentError::Parameters(error.to_string()))?;
            for touch in &self.touches {
                if let Touch::Column(number) = touch.of(&cell)
                    && u32::from(number) > cell.columns
                {
                    return refuse(format!(
                        "column {number} cannot be touched in rows of {}: give --columns {number}, or --touch \
                         column-last",
                        shape(&cell)
                    ));
                }
                if touch.of(&cell) == Touch::Column(0) {
                    return refuse("columns are counted from 1: give --touch column-1".into());
                }
            }
        }
        Ok(())
    }

    fn cells(&self) -> Vec<Cell> {
        let of_length = |row_length: &u32| {
            let row_length = *row_length;
            self.columns.iter().map(move |columns| Cell { row_length, columns: *columns, payload: self.payload })
        };
        self.row_lengths.iter().flat_map(of_length).collect()
    }

    /// Whether any reader looks at what was before a change.
    fn changes(&self) -> bool {
        self.changed_rows.iter().any(|percent| *percent > 0)
    }
}

/// What every step is given.
struct Bench<'a> {
    parameters: &'a LioParameters,
    machine: &'a Machine,
    engine: Engine,
    sampler: Option<Sampler>,
}

/// A table that is in the pool, and the state that its readers see.
#[derive(Clone, Copy, Debug)]
struct Setting<'a> {
    cell: Cell,
    facts: &'a TableFacts,
    changed_rows: u32,
    as_of: Option<Moment>,
}

/// Runs the experiment. ^C ends it after the pass under way; what was kept is kept.
///
/// Gives the stacks that were sampled during the passes: none where that was not asked for, or after ^C.
pub fn run(
    parameters: &LioParameters,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Vec<Stack>, ExperimentError> {
    parameters.check()?;
    let on_server = match &parameters.on {
        Some(on) => match server::run(on, parameters, machine, journal) {
            Err(ExperimentError::Stopped) => return Ok(Vec::new()),
            outcome => outcome?,
        },
        None => Vec::new(),
    };
    let settings = EngineSettings {
        directory: parameters.directory.clone(),
        cells: parameters.cells(),
        changed_rows_max: parameters.changed_rows.iter().copied().max().unwrap_or(0),
        seed: parameters.seed,
        reload: parameters.reload,
    };
    journal.step("preparing the buffer pool", Duration::from_secs(1));
    let engine = Engine::new(settings, machine.clock).map_err(|error| ExperimentError::from(error).advised())?;
    let sampler = parameters.sampled.then(Sampler::new).transpose().map_err(|error| {
        ExperimentError::Parameters(format!("the readers cannot be sampled: {error}; leave out --flamegraph"))
    })?;
    let mut bench = Bench { parameters, machine, engine, sampler };
    match &parameters.on {
        // The server is the subject, and the engine only stands beside it.
        Some(_) => report_pool(&bench, journal),
        None => describe(&bench, journal),
    }
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    let mut found = Vec::new();
    match bench.measure_all(&mut found, journal) {
        Err(ExperimentError::Stopped) => return Ok(Vec::new()),
        outcome => outcome.map_err(ExperimentError::advised)?,
    }
    if !machine.stop.requested() {
        match &parameters.on {
            Some(_) => server::compare(&on_server, &found, journal),
            None => answers::report(&found, journal),
        }
        machine.report_disturbances(journal);
    }
    Ok(bench.sampler.map_or(Vec::new(), |sampler| names(&sampler.stacks())))
}

/// Notes every statement that a run would send to its server, and sends none.
pub fn rehearse(
    parameters: &LioParameters,
    machine: &Machine,
    statements: &::server::Statements,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    match &parameters.on {
        Some(on) => server::rehearse(on, parameters, machine, statements),
        None => Err(ExperimentError::Parameters("--dry-run says what is sent to a server: name one with --on".into())),
    }
}

/// The names at an address without their types, which are longer than any box.
fn short_names(address: usize) -> Stack {
    let without_types = |name: &String| {
        let mut depth = 0_i32;
        let kept = name.chars().filter(|letter| {
            depth += i32::from(*letter == '<');
            let is_kept = depth == 0;
            depth -= i32::from(*letter == '>');
            is_kept
        });
        Some(kept.collect::<String>()).filter(|short| !short.is_empty()).unwrap_or_else(|| name.clone())
    };
    sampler::names(address).iter().map(without_types).collect()
}

/// The stacks in words. One address occurs in many of them and is looked up once.
fn names(stacks: &[Vec<usize>]) -> Vec<Stack> {
    let mut known: HashMap<usize, Stack> = HashMap::new();
    let mut name = |address: &usize| known.entry(*address).or_insert_with(|| short_names(*address)).clone();
    let words = |stack: &Vec<usize>| {
        let inside_out: Stack = stack.iter().flat_map(&mut name).collect();
        // What starts a thread says nothing about reading.
        let outermost = inside_out.iter().position(|name| name.contains("__rust_begin_short_backtrace"));
        let kept = outermost.unwrap_or(inside_out.len());
        inside_out[..kept].iter().rev().cloned().collect()
    };
    stacks.iter().map(words).collect()
}

/// The shape of a table in words.
fn shape(cell: &Cell) -> String {
    let noun = if cell.columns == 1 { "column" } else { "columns" };
    format!("{} bytes in {} {noun}", cell.row_length, cell.columns)
}

fn describe(bench: &Bench<'_>, journal: &mut dyn Journal) {
    let pool = bench.engine.pool();
    let bytes = pool.settings().bytes as u64;
    let huge = pool.huge_bytes();
    journal.describe_subject("kind", json!("engine"));
    journal.describe_subject("path", json!(bench.engine.directory().display().to_string()));
    journal.describe_subject("pool_bytes", json!(bytes));
    journal.describe_subject("pool_huge_bytes", json!(huge));
    report_pool(bench, journal);
}

/// What the machine did not grant the engine.
fn report_pool(bench: &Bench<'_>, journal: &mut dyn Journal) {
    let pool = bench.engine.pool();
    let bytes = pool.settings().bytes as u64;
    let huge = pool.huge_bytes();
    report_small_tables(bench, journal);
    if huge.is_none_or(|huge| huge < bytes / 2) {
        journal.find(Finding::warning(
            "huge-pages-not-granted",
            format!(
                "The buffer pool was to stand on 2 MiB pages, but the system granted {} of {}: every get of a random \
                 block contains a miss of the page table cache. Set /sys/kernel/mm/transparent_hugepage/enabled to \
                 madvise or always.",
                huge.map_or("an unknown part".into(), size_in_words),
                size_in_words(bytes)
            ),
        ));
    }
}

/// A table that a cache of the processor holds says nothing of a buffer pool, which no such cache holds.
fn report_small_tables(bench: &Bench<'_>, journal: &mut dyn Journal) {
    let payload = bench.parameters.payload;
    let Some(cache) = bench.machine.host.caches.iter().max_by_key(|cache| cache.bytes) else { return };
    if payload > cache.bytes {
        return;
    }
    journal.find(Finding::warning(
        "tables-fit-cache",
        format!(
            "Tables of {} fit into the processor's cache of level {} ({}): their logical I/Os read that cache, where \
             those of a real pool read memory. Ask for --payload {} or more.",
            size_in_words(payload),
            cache.level,
            size_in_words(cache.bytes),
            format_size((cache.bytes * 8).next_power_of_two())
        ),
    ));
}

impl Bench<'_> {
    fn measure_all(
        &mut self,
        found: &mut Vec<measuring::Measured>,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        for cell in self.parameters.cells() {
            let facts = self.prepare(cell, journal)?;
            for (index, changed_rows) in self.parameters.changed_rows.iter().enumerate() {
                if index > 0 {
                    self.populate(Population::FullScan, journal)?;
                }
                let as_of = match self.parameters.changes() {
                    true => Some(self.engine.change_rows(*changed_rows)?),
                    false => None,
                };
                self.axes(Setting { cell, facts: &facts, changed_rows: *changed_rows, as_of }, found, journal)?;
            }
        }
        match &self.parameters.on {
            Some(_) => Ok(()),
            None => checks::run(self, found, journal),
        }
    }

    /// The parameter that tells the engine from the server beside it; none where the engine is alone.
    fn subject(&self) -> Parameters {
        let is_beside = self.parameters.on.is_some();
        is_beside.then(|| ("subject".to_string(), json!("engine"))).into_iter().collect()
    }

    /// Every way to the blocks, every touch and every number of threads.
    fn axes(
        &mut self,
        setting: Setting<'_>,
        found: &mut Vec<measuring::Measured>,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        let LioParameters { accesses, touches, threads, .. } = self.parameters;
        for access in accesses {
            for touch in touches {
                for threads in threads {
                    let touch = touch.of(&setting.cell);
                    let plan = measuring::Plan { access: *access, touch, threads: *threads };
                    found.extend(measuring::case(self, setting, plan, self.subject(), journal)?);
                }
            }
        }
        Ok(())
    }

    /// Brings the table of a cell into the pool.
    fn prepare(&mut self, cell: Cell, journal: &mut dyn Journal) -> Result<TableFacts, ExperimentError> {
        let name = format!("the table of {}", shape(&cell));
        journal.step(&format!("preparing {name}"), Duration::from_secs(1));
        let mut shown = 0;
        let mut progress = |written: u64, of: u64| {
            // A line a tenth; more would be drawn for nobody.
            if written * 10 / of.max(1) > shown {
                shown = written * 10 / of.max(1);
                let left = Duration::from_millis((of - written.min(of)) >> 19);
                journal.step(&format!("loading {name}, {} of {} MiB", written >> 20, of >> 20), left);
            }
        };
        let facts = self.engine.prepare(cell, &mut progress, self.machine.stop.flag())?;
        self.populate(Population::FullScan, journal)?;
        Ok(facts)
    }

    fn populate(&mut self, population: Population, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        journal.step("bringing the table into the buffer pool", Duration::from_secs(1));
        Ok(self.engine.populate(population, self.machine.stop.flag())?)
    }

    /// Ends the experiment when the user asked for that.
    fn check_stop(&self) -> Result<(), ExperimentError> {
        Ok(self.machine.stop.check()?)
    }
}
