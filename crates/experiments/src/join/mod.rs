//! join: what gathering the look-ups of a nested loop is worth on this storage.
//!
//! Outer rows in the order of their keys are joined with a table whose rows lie in that order or not. Every join begins
//! with an empty buffer pool; the methods take turns, so that whatever changes meanwhile changes for all of them.

mod answers;
mod measuring;
mod planner;
mod server;

use std::path::PathBuf;
use std::time::Duration;

use dataset::DataSet;
use dataset::keyed::KeyedShape;
use device::Device;
use measure::quantity::size_in_words;
use measure::{Finding, Parameters};
use serde_json::json;
pub use storage::exec::nested_loop::Distance;
use storage::exec::nested_loop::Method;
use storage::manifest::TableSpec;
use subjects::NestedLoops;
use subjects::join_engine::{Io, JoinEngine, JoinSettings};
use subjects::nested_loops::{InnerFacts, InnerTable};
use sys::file::Caching;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
use answers::Gain;
pub use server::{CONCURRENCIES, OnServer, rehearse, run_beside, table_size};

/// Rows of the inner table where nobody asks for another number: 28 572 blocks of seven rows, seven times the pool.
pub const ROWS: u64 = 200_000;

/// Bytes of filler of a row, as published.
pub const PAD: u32 = 1000;

/// Reads in flight where nobody asks for another number.
pub const DEPTH: usize = 64;

/// Rows that prefetching looks ahead at most: twice what is in flight, because the end of each request waits for the
/// last of its reads with fewer and fewer beside it.
pub const LOOK_AHEAD: usize = 2 * DEPTH;

/// Outer rows of a batch.
pub const BATCH_SIZE: usize = 2 * LOOK_AHEAD;

/// Rows of a batch that is sorted: larger, because its order is not that of the outer rows anyway.
pub const ROWID_BATCH_SIZE: usize = 4 * BATCH_SIZE;

/// Most reads in flight.
const DEPTH_MAX: usize = 4096;

/// How the inner rows are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinMethod {
    /// Not at all.
    OneAtATime,
    /// By looking ahead.
    Prefetch,
    /// By batches of outer rows.
    Batch,
    /// By batches of rows in the order of their blocks.
    BatchedRowid,
}

impl JoinMethod {
    /// All of them, the published order.
    pub const ALL: [JoinMethod; 4] =
        [JoinMethod::OneAtATime, JoinMethod::Prefetch, JoinMethod::Batch, JoinMethod::BatchedRowid];

    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            JoinMethod::OneAtATime => "one-at-a-time",
            JoinMethod::Prefetch => "prefetch",
            JoinMethod::Batch => "batch",
            JoinMethod::BatchedRowid => "batched-rowid",
        }
    }
}

/// Parameters of the experiment.
#[derive(Clone, Debug)]
pub struct JoinParameters {
    /// Where the tables lie.
    pub directory: PathBuf,
    /// Rows of the inner table.
    pub rows: u64,
    /// Per cents of its rows that lie out of the order of the keys.
    pub rands: Vec<u8>,
    /// Bytes of filler of a row.
    pub pad: u32,
    /// Outer rows of a join.
    pub outer_rows: u64,
    /// Methods; all where there are none.
    pub methods: Vec<JoinMethod>,
    /// Sizes of batches; the usual ones where there are none.
    pub batch_sizes: Vec<usize>,
    /// How far prefetching looks ahead.
    pub look_ahead: Distance,
    /// How reads are handed over.
    pub io: Io,
    /// Through the page cache or not.
    pub caching: Caching,
    /// Bytes of the buffer pool.
    pub pool: u64,
    /// Reads in flight at most.
    pub depth: usize,
    /// Joins of each case.
    pub repeat: usize,
    /// The device that the tables are placed on, such as `model:ssd`; empty: they are read where they are.
    pub device: PathBuf,
    /// Whether tables that are there are loaded again.
    pub reload: bool,
}

impl JoinParameters {
    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let refuse = |sentence: String| Err(ExperimentError::Parameters(sentence));
        if self.repeat == 0 {
            return refuse("--repeat must be at least 1".into());
        }
        if self.rows == 0 {
            return refuse("--rows must be at least 1".into());
        }
        if u32::try_from(self.outer_rows).is_err() {
            return refuse(format!("--outer-rows {} cannot be: give at most {}", self.outer_rows, u32::MAX));
        }
        if let Some(rand) = self.rands.iter().find(|rand| **rand > 100) {
            return refuse(format!("--rand {rand} cannot be: it is a percentage, 0 to 100"));
        }
        if self.batch_sizes.contains(&0) {
            return refuse("--batch-size must be at least 1".into());
        }
        if matches!(self.look_ahead, Distance::UpTo(0) | Distance::Fixed(0)) {
            return refuse("--look-ahead must be at least 1".into());
        }
        if !(1..=DEPTH_MAX).contains(&self.depth) {
            return refuse(format!("--depth {} cannot be: give 1 to {DEPTH_MAX}", self.depth));
        }
        let shape = KeyedShape { rand: 0, pad: self.pad };
        shape.check().map_err(|error| ExperimentError::Parameters(format!("--pad {}: {error}", self.pad)))
    }

    /// Every method with every size.
    fn plans(&self) -> Vec<Plan> {
        let sizes = |usual: usize| if self.batch_sizes.is_empty() { vec![usual] } else { self.batch_sizes.clone() };
        let of = |method: JoinMethod| match method {
            JoinMethod::OneAtATime => vec![Method::OneAtATime],
            JoinMethod::Prefetch => vec![Method::Prefetch(self.look_ahead)],
            JoinMethod::Batch => sizes(BATCH_SIZE).into_iter().map(Method::Batch).collect(),
            JoinMethod::BatchedRowid => sizes(ROWID_BATCH_SIZE).into_iter().map(Method::BatchedRowid).collect(),
        };
        let is_chosen = |method: &JoinMethod| self.methods.is_empty() || self.methods.contains(method);
        let plans = |name: JoinMethod| of(name).into_iter().map(move |method| Plan { name, method });
        JoinMethod::ALL.into_iter().filter(is_chosen).flat_map(plans).collect()
    }
}

/// A way to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    name: JoinMethod,
    method: Method,
}

impl Plan {
    /// Rows of a batch, or that are looked ahead at; none of one at a time.
    fn size(&self) -> Option<usize> {
        match self.method {
            Method::OneAtATime => None,
            Method::Prefetch(Distance::UpTo(rows) | Distance::Fixed(rows)) => Some(rows),
            Method::Batch(rows) | Method::BatchedRowid(rows) => Some(rows),
        }
    }
}

/// What every step is given.
struct Bench<'a> {
    parameters: &'a JoinParameters,
    machine: &'a Machine,
    engine: JoinEngine,
    /// The device that the tables are placed on, where they are placed on one.
    on: Option<Box<dyn Device>>,
    /// Its name among several subjects.
    subject: Option<&'static str>,
}

/// Runs the experiment. ^C ends it after the join under way; what was kept is kept.
pub fn run(parameters: &JoinParameters, machine: &Machine, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    parameters.check()?;
    let mut bench = begin_engine(parameters, None, machine, journal)?;
    match bench.measure_all(journal) {
        Err(ExperimentError::Stopped) => Ok(()),
        outcome => {
            outcome.map_err(ExperimentError::advised)?;
            machine.report_disturbances(journal);
            Ok(())
        }
    }
}

/// Opens the engine, and says on what is measured. `subject` is its name where it is not alone.
fn begin_engine<'a>(
    parameters: &'a JoinParameters,
    subject: Option<&'static str>,
    machine: &'a Machine,
    journal: &mut dyn Journal,
) -> Result<Bench<'a>, ExperimentError> {
    let settings = JoinSettings {
        directory: parameters.directory.clone(),
        pool_bytes: usize::try_from(parameters.pool).unwrap_or(usize::MAX),
        io: parameters.io,
        depth: parameters.depth,
        caching: parameters.caching,
        device: parameters.device.clone(),
        reload: parameters.reload,
    };
    let engine = JoinEngine::new(settings, machine.clock)
        .map_err(|error| ExperimentError::Parameters(format!("--pool {}: {error}", parameters.pool)))?;
    let is_placed = device::has_prefix(&parameters.device);
    let on = is_placed.then(|| device::open(&parameters.device, parameters.caching)).transpose();
    let on = on.map_err(|error| ExperimentError::Parameters(error.to_string()))?;
    let bench = Bench { parameters, machine, engine, on, subject };
    bench.describe(journal);
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    Ok(bench)
}

impl Bench<'_> {
    fn measure_all(&mut self, journal: &mut dyn Journal) -> Result<Vec<Gain>, ExperimentError> {
        let plans = self.parameters.plans();
        let (mut scanned, mut gains): (Option<planner::Costs>, _) = (None, Vec::new());
        for rand in &self.parameters.rands {
            let facts = self.prepare(*rand, journal)?;
            let costs = match scanned {
                Some(costs) => costs,
                None => planner::measure(self, facts, *rand, journal)?,
            };
            scanned = Some(costs);
            let measured = measuring::cases(self, *rand, &plans, costs, journal)?;
            let device = measuring::device(self, journal)?;
            answers::report(self, *rand, &measured, device, journal);
            planner::report(self, *rand, &measured, costs, journal);
            gains.extend(answers::gain(*rand, &measured));
        }
        Ok(gains)
    }

    fn prepare(&mut self, rand: u8, journal: &mut dyn Journal) -> Result<InnerFacts, ExperimentError> {
        let name = format!("the table with {rand} % of its rows out of order");
        journal.step(&format!("preparing {name}"), Duration::from_secs(2));
        let mut shown = 0;
        let mut progress = |written: u64, of: u64| {
            // A line a tenth; more would be drawn for nobody.
            if written * 10 / of.max(1) > shown {
                shown = written * 10 / of.max(1);
                let left = Duration::from_millis((of - written.min(of)) >> 19);
                journal.step(&format!("loading {name}, {} of {} MiB", written >> 20, of >> 20), left);
            }
        };
        let table = InnerTable { rows: self.parameters.rows, pad: self.parameters.pad, rand };
        let facts = self.engine.prepare(table, &mut progress, self.machine.stop.flag())?;
        journal.describe_subject("table_blocks", json!(facts.table_blocks));
        journal.describe_subject("index_blocks", json!(facts.index_blocks));
        Ok(facts)
    }

    fn describe(&self, journal: &mut dyn Journal) {
        let JoinParameters { directory, pool, rows, .. } = self.parameters;
        journal.describe_subject("kind", json!(if self.on.is_some() { "model" } else { "engine" }));
        journal.describe_subject("path", json!(directory.display().to_string()));
        journal.describe_subject("rows", json!(rows));
        journal.describe_subject("pool_bytes", json!(pool));
        journal.describe_subject("io_method", json!(self.engine.method()));
        if let Some(device) = &self.on {
            journal.describe_subject("model", json!(device.name()));
            journal.describe_subject("model_parameters", device.describe().subject["parameters"].clone());
            journal.find(Finding::info(
                "virtual-time",
                format!(
                    "Times are those of the model {}, which takes none of this machine's: the processor's part of a \
                     join is not in them.",
                    device.name()
                ),
            ));
        }
        if self.on.is_none() && self.parameters.io == Io::Async && self.engine.method() == "threads" {
            journal.find(Finding::warning(
                "io-uring-refused",
                "The kernel or its administrator refuses io_uring: each read in flight has a thread of its own, which \
                 costs processor time and may limit what gathering gains. See /proc/sys/kernel/io_uring_disabled.",
            ));
        }
        let data = DataSet::keyed(KeyedShape { rand: 0, pad: self.parameters.pad }, *rows, 0);
        let table = *rows / u64::from(TableSpec::new("", data).rows_per_page().max(1)) * 8192;
        if table < 2 * pool {
            journal.find(Finding::warning(
                "table-fits-pool",
                format!(
                    "The table takes about {} and the buffer pool {}: within a join most blocks are read once at most, \
                     whatever the method is. Ask for more --rows or a smaller --pool.",
                    size_in_words(table),
                    size_in_words(*pool)
                ),
            ));
        }
    }

    /// The parameters that all cases have.
    fn case_parameters(&self, rand: u8) -> Parameters {
        let JoinParameters { pad, rows, outer_rows, io, caching, depth, .. } = self.parameters;
        let mut parameters = Parameters::new();
        if let Some(subject) = self.subject {
            parameters.insert("subject".into(), json!(subject));
        }
        parameters.insert("rand".into(), json!(rand));
        parameters.insert("pad".into(), json!(pad));
        parameters.insert("rows".into(), json!(rows));
        parameters.insert("outer_rows".into(), json!(outer_rows));
        parameters.insert("io".into(), json!(io.name()));
        parameters.insert("direct".into(), json!(*caching == Caching::Direct));
        parameters.insert("depth".into(), json!(depth));
        if let Some(device) = &self.on {
            parameters.insert("on".into(), json!(format!("model:{}", device.name())));
        }
        parameters
    }

    fn is_virtual(&self) -> bool {
        self.on.is_some()
    }

    /// Ends the experiment when the user asked for that.
    fn check_stop(&self) -> Result<(), ExperimentError> {
        Ok(self.machine.stop.check()?)
    }
}
