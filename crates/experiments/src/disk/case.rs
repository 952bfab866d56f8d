//! One case of a path: announced, measured, kept.

use device::plan::ReadPlan;
use measure::Parameters;
use measure::schema::reads;

use super::setting::{Setting, spans};
use super::workload::Workload;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{self, Job, Measured};

/// One case to be measured.
pub(super) struct Ask {
    /// Its parameters.
    pub(super) case: Parameters,
    /// It in words.
    pub(super) what: String,
    /// One plan a worker.
    pub(super) plans: Vec<ReadPlan>,
    /// Cases that are still to come, this one included: for the time left.
    pub(super) cases_left: u32,
}

/// Measures one case and keeps it.
pub(super) fn measure(
    setting: &Setting<'_>,
    ask: Ask,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    journal.step_of_run(&ask.what, setting.expected(&setting.workload, ask.cases_left));
    setting.evict(&ask.plans)?;
    let (cached_before, regions) = (setting.page_cached(&ask.plans), spans(&ask.plans));
    let mut measured = read_as_it_is(setting, &setting.workload, ask, machine, journal)?;
    if let Some(first) = measured.cases.first_mut() {
        let before = "cachestat or mincore over the region, before the reads";
        first.metrics.extend(cached_before.map(|share| reads::CACHED_BEFORE.single(before, share * 100.0)));
    }
    if let Some(last) = measured.cases.last_mut() {
        let after = "preadv2 with RWF_NOWAIT on a sample of blocks, after the reads";
        last.metrics.extend(
            setting.answered_at_once(&regions).map(|share| reads::NOWAIT_ANSWERED.single(after, share * 100.0)),
        );
    }
    measured.keep(journal)?;
    Ok(measured)
}

/// Reads, and keeps nothing yet.
pub(super) fn read(
    setting: &Setting<'_>,
    workload: &Workload,
    ask: Ask,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    setting.evict(&ask.plans)?;
    read_as_it_is(setting, workload, ask, machine, journal)
}

/// Reads what the page cache holds and what it does not.
fn read_as_it_is(
    setting: &Setting<'_>,
    workload: &Workload,
    ask: Ask,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    let job = Job {
        device: setting.device.as_ref(),
        method: workload.method,
        stored: setting.stored(&ask.plans),
        plans: &ask.plans,
        parameters: ask.case,
        what: ask.what,
        page_cache: setting.page_cache(),
    };
    reading::run(machine, job, journal).map_err(ExperimentError::advised)
}
