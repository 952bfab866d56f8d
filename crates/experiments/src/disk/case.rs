//! One case of a path: announced, measured, kept.

use device::pattern::Turn;
use device::plan::ReadPlan;
use measure::Parameters;
use measure::schema::reads;

use super::setting::{Setting, spans};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{self, Job, Measured, Taken};

/// What every case of a path is measured with.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) setting: &'a Setting<'a>,
    pub(super) machine: &'a Machine,
}

/// One case to be measured.
pub(super) struct Ask {
    /// Its parameters.
    pub(super) case: Parameters,
    /// It in words.
    pub(super) what: String,
    /// One plan a worker.
    pub(super) plans: Vec<ReadPlan>,
}

/// A case that was begun, and may go on in later turns.
pub(super) struct Begun {
    ask: Ask,
    cached_before: Option<f64>,
    pub(super) taken: Taken,
}

/// Measures one case and keeps it. `left` are the cases that are still to come, this one included.
pub(super) fn measure(
    bench: Bench<'_>,
    (ask, left): (Ask, u32),
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    journal.step_of_run(&ask.what, bench.setting.expected(&bench.setting.workload, left));
    begin(bench, ask, Turn::ONLY)?.keep(bench, journal)
}

/// Reads one turn of a case.
pub(super) fn begin(Bench { setting, machine }: Bench<'_>, ask: Ask, turn: Turn) -> Result<Begun, ExperimentError> {
    setting.evict(&ask.plans)?;
    let cached_before = setting.page_cached(&ask.plans);
    let (device, method) = (setting.device.as_ref(), setting.workload.method);
    let taken = reading::take(machine, device, (method, &ask.plans[..]), turn);
    Ok(Begun { taken: taken.map_err(ExperimentError::advised)?, ask, cached_before })
}

impl Begun {
    /// This and a later turn of the same case.
    pub(super) fn and(self, later: Begun) -> Begun {
        Begun { taken: self.taken.and(later.taken), ..self }
    }

    /// Keeps the case.
    pub(super) fn keep(self, bench: Bench<'_>, journal: &mut dyn Journal) -> Result<Measured, ExperimentError> {
        let Bench { setting, machine } = bench;
        let Begun { ask, cached_before, taken } = self;
        let measured = reading::conclude(machine, &job(setting, &ask), taken, journal);
        let mut measured = measured.map_err(ExperimentError::advised)?;
        if let Some(first) = measured.cases.first_mut() {
            let before = "cachestat or mincore over the region, before the reads";
            first.metrics.extend(cached_before.map(|share| reads::CACHED_BEFORE.single(before, share * 100.0)));
        }
        if let Some(last) = measured.cases.last_mut() {
            let after = "preadv2 with RWF_NOWAIT on a sample of blocks, after the reads";
            let answered = setting.answered_at_once(&spans(&ask.plans));
            last.metrics.extend(answered.map(|share| reads::NOWAIT_ANSWERED.single(after, share * 100.0)));
        }
        measured.keep(journal)?;
        Ok(measured)
    }
}

/// Reads, and keeps nothing yet.
pub(super) fn read(bench: Bench<'_>, ask: &Ask, journal: &mut dyn Journal) -> Result<Measured, ExperimentError> {
    bench.setting.evict(&ask.plans)?;
    reading::run(bench.machine, job(bench.setting, ask), journal).map_err(ExperimentError::advised)
}

/// The reading of a case.
fn job<'a>(setting: &'a Setting<'_>, ask: &'a Ask) -> Job<'a> {
    Job {
        device: setting.device.as_ref(),
        method: setting.workload.method,
        stored: setting.stored(&ask.plans),
        plans: &ask.plans,
        parameters: ask.case.clone(),
        what: ask.what.clone(),
        page_cache: setting.page_cache(),
    }
}
