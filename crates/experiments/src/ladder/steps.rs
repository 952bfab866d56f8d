//! What every rung is given, and how a rung that is timed in batches is measured and kept.

use std::cell::Cell;
use std::time::Duration;

use measure::schema::ladder;
use measure::{Case, Parameters};

use super::parameters::LadderParameters;
use super::storage::Storage;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Machine, Sensitivity};

/// About how long a rung takes that is timed in batches.
const TIMED_RUNG: Duration = Duration::from_millis(500);

/// What a logical I/O costs, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogicalCost {
    /// Blocks in random order.
    pub(super) random: f64,
    /// Blocks in the order of the table, by a scan.
    pub(super) in_order: f64,
}

/// What every rung is given.
pub(super) struct Steps<'a> {
    pub(super) parameters: &'a LadderParameters,
    pub(super) machine: &'a Machine,
    pub(super) storage: &'a Storage,
    pub(super) left: Cell<Duration>,
    /// What the rungs of the buffer pool found, for the ratio to the device's.
    pub(super) logical: Cell<Option<LogicalCost>>,
}

impl Steps<'_> {
    /// The parameters that every rung has: its name, and the seed that repeats its order.
    pub(super) fn rung(&self, name: &str) -> Parameters {
        use ladder::parameters::{RUNG, SEED};
        Parameters::from_iter([RUNG.of(name), SEED.of(self.parameters.seed())])
    }

    /// Says what is being measured, and about how long the rest of the ladder takes.
    pub(super) fn say(&self, what: &str, expected: Duration, journal: &mut dyn Journal) {
        journal.step_of_run(what, self.left.get());
        self.left.set(self.left.get().saturating_sub(expected));
    }

    /// Takes samples of a rung that is timed in batches, and keeps them.
    pub(super) fn timed_rung(
        &self,
        name: &str,
        parameters: Parameters,
        source: &str,
        sample: impl FnOnce() -> Vec<f64>,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        self.say(&ladder::in_words(name), TIMED_RUNG, journal);
        let measured = self.kept_rung(name, parameters, journal, |case, _| {
            case.metrics.extend(ladder::LATENCY.of_samples(source, &sample()));
            Ok(())
        });
        measured.map(drop)
    }

    /// Has the metrics of a rung measured between two looks at the machine, and keeps them. `None` when the user asked
    /// to stop, and where there are none.
    pub(super) fn kept_rung<T>(
        &self,
        name: &str,
        parameters: Parameters,
        journal: &mut dyn Journal,
        measure: impl FnOnce(&mut Case, &mut dyn Journal) -> Result<T, ExperimentError>,
    ) -> Result<Option<T>, ExperimentError> {
        let mut case = Case::new(parameters);
        let conditions = Conditions::now(self.machine);
        let measured = measure(&mut case, journal)?;
        let change = conditions.changed(self.machine);
        if self.machine.stop.requested() || case.metrics.is_empty() {
            return Ok(None);
        }
        case.metrics.extend(change.metrics());
        self.machine.note(&ladder::in_words(name), &change, Sensitivity::Core);
        journal.keep(case)?;
        Ok(Some(measured))
    }
}
