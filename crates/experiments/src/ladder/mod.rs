//! ladder: what one read costs at every level of this machine, from the first cache to the disk.

mod answers;
mod memory;
mod pool;
mod storage;
mod system;

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use measure::{Case, Metric, Parameters, Unit};
use serde_json::json;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Machine, Sensitivity};
use crate::own_cost;

/// Bytes of a database block: the unit in which the rungs are compared.
pub const BLOCK: usize = 8192;

/// About how long the rungs take, on the test file and with two touches on another one.
const TIME: Duration = Duration::from_secs(32);
const TIME_ON: Duration = Duration::from_secs(46);

/// Parameters of the experiment.
#[derive(Clone, Debug)]
pub struct LadderParameters {
    /// Where the test file is made.
    pub dir: PathBuf,
    /// Bytes of the test file.
    pub size: u64,
    /// A file or block device to measure the device rungs on, instead of the test file.
    pub on: Option<PathBuf>,
    /// Picks the order of random accesses and the content of the test file.
    pub seed: u64,
}

/// Runs every rung from the top down.
///
/// The test file has no name, so nothing is left of it however the run ends.
pub fn run(parameters: &LadderParameters, machine: &Machine, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let storage = storage::Storage::open(parameters, machine, journal)?;
    storage.describe(journal);
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    let rungs: [Rungs; 4] = [memory::rungs, pool::rungs, system::rungs, storage::rungs];
    let left = Cell::new(if parameters.on.is_some() { TIME_ON } else { TIME });
    let steps = Steps { parameters, machine, storage: &storage, left, logical: Cell::default() };
    for rung in rungs {
        if machine.stop.requested() {
            return Ok(());
        }
        rung(&steps, journal)?;
    }
    machine.report_disturbances(journal);
    Ok(())
}

/// Measures some rungs and keeps them.
type Rungs = fn(&Steps<'_>, &mut dyn Journal) -> Result<(), ExperimentError>;

/// What every rung is given.
struct Steps<'a> {
    parameters: &'a LadderParameters,
    machine: &'a Machine,
    storage: &'a storage::Storage,
    left: Cell<Duration>,
    /// What the rungs of the buffer pool found, for the ratio to the device's.
    logical: Cell<Option<pool::LogicalCost>>,
}

impl Steps<'_> {
    /// Says what is being measured, and about how long the rest of the ladder takes.
    fn say(&self, what: &str, expected: Duration, journal: &mut dyn Journal) {
        journal.step(what, self.left.get());
        self.left.set(self.left.get().saturating_sub(expected));
    }
}

/// The parameters of a rung.
fn rung(name: &str) -> Parameters {
    let mut parameters = Parameters::new();
    parameters.insert("rung".into(), json!(name));
    parameters
}

/// Takes samples of a rung that is timed in batches, between two looks at the machine, and keeps them.
fn timed_rung(
    steps: &Steps<'_>,
    parameters: Parameters,
    source: &str,
    sample: impl FnOnce() -> Vec<f64>,
    journal: &mut dyn Journal,
) -> Result<Option<f64>, ExperimentError> {
    let name = parameters.get("rung").and_then(|rung| rung.as_str()).unwrap_or_default().to_string();
    steps.say(&format!("rung {name}"), Duration::from_millis(500), journal);
    let conditions = Conditions::now(steps.machine);
    let samples = sample();
    let change = conditions.changed(steps.machine);
    if steps.machine.stop.requested() {
        return Ok(None);
    }
    let mut case = Case::new(parameters);
    let latency = Metric::of_samples("latency", Unit::Nanoseconds, source, &samples);
    let median = latency.as_ref().map(Metric::median);
    case.metrics.extend(latency);
    case.metrics.extend(change.metrics());
    steps.machine.note(&format!("rung {name}"), &change, Sensitivity::Core);
    journal.keep(case)?;
    Ok(median)
}
