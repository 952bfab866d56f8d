//! ladder: what one read costs at every level of this machine, from the first cache to the disk.

mod block_reads;
mod device_rungs;
mod findings;
mod memory;
mod parameters;
mod pool;
mod steps;
mod storage;
mod system;

use std::cell::Cell;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
pub use parameters::{CACHED_PART, FILE, LadderParameters};
use steps::Steps;
use storage::Storage;

/// Measures some rungs and keeps them.
type Rungs = fn(&Steps<'_>, &mut dyn Journal) -> Result<(), ExperimentError>;

/// Runs every rung from the top down.
///
/// The test file has no name, so nothing is left of it however the run ends.
pub fn run(parameters: &LadderParameters, machine: &Machine, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let storage = Storage::open(parameters, machine, journal)?;
    storage.describe(&parameters.dir, journal);
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    let rungs: [Rungs; 4] = [memory::rungs, pool::rungs, system::rungs, device_rungs::rungs];
    let left = Cell::new(parameters.time_of_rungs());
    let steps = Steps { parameters, machine, storage: &storage, left, logical: Cell::default() };
    for rung in rungs {
        machine.stop.check()?;
        rung(&steps, journal)?;
    }
    Ok(())
}

/// Refuses what a run would refuse of the device that `--on` names, such as a file that is too small. Of what is not
/// there or may not be read nothing is known.
pub fn check_device(parameters: &LadderParameters) -> Result<(), ExperimentError> {
    let Some(path) = &parameters.on else { return Ok(()) };
    match device::open_direct_or_buffered(path) {
        Ok(_) => storage::open(path).map(drop),
        Err(error) if error.is_of_what_is_there() => Err(error.into()),
        Err(_) => Ok(()),
    }
}
