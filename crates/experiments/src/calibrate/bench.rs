//! What each step of the experiment works with, and what all steps do with the server.

use measure::schema::calibrate::parameters::{PART, SUBJECT};
use measure::{Case, Finding, Parameters, Unit};
use serde_json::Value;
use subjects::Subject;
use subjects::postgres::calibration::Calibration;

use super::parameters::CalibrateParameters;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::subject_run;

/// Share of pages that may stay in the page cache after it was emptied.
const WARM_SHARE_MAX: f64 = 0.01;

/// Settings that a set of constants may change; a set resets those that it does not have.
pub(super) const PLANNER_SETTINGS: [&str; 6] = [
    "seq_page_cost",
    "random_page_cost",
    "cpu_tuple_cost",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "effective_cache_size",
];

/// What is in the caches when a query begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Cold,
    Cached,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Cold => "cold",
            State::Cached => "cached",
        }
    }

    /// Percent of the blocks.
    pub(super) fn cached_percent(self) -> u32 {
        match self {
            State::Cold => 0,
            State::Cached => 100,
        }
    }
}

/// What each step works with.
pub(super) struct Bench<'a> {
    pub(super) parameters: &'a CalibrateParameters,
    pub(super) machine: &'a Machine,
    pub(super) tables: &'a mut Calibration,
    /// The constants that are set in the session.
    pub(super) constants: Vec<(&'static str, f64)>,
}

impl Bench<'_> {
    /// The server in the document: `postgres 18.6`.
    pub(super) fn name(&self) -> &str {
        self.tables.name()
    }

    /// An empty case of a part of the document, with more parameters.
    pub(super) fn case<const N: usize>(&self, part: &str, more: [(String, Value); N]) -> Case {
        let parameters = [SUBJECT.of(self.name()), PART.of(part)];
        Case::new(Parameters::from_iter(parameters.into_iter().chain(more)))
    }

    /// Runs of each plan in a state.
    pub(super) fn rounds(&self, state: State) -> usize {
        match state {
            State::Cold => self.parameters.cold_rounds(),
            State::Cached => self.parameters.repeat,
        }
    }

    /// Looks for what disturbs, such as other sessions at work; between measurements.
    pub(super) fn look(&mut self, journal: &mut dyn Journal) {
        subject_run::keep_findings(self.tables, journal);
    }

    /// Empties all caches of a private server.
    pub(super) fn cool(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let left = self.tables.cool()?;
        if left > WARM_SHARE_MAX {
            let message = "Pages of the server's files stayed in the page cache after it was emptied: cold costs \
                           contain reads from memory. Put the folder for temporary files (TMPDIR) on a disk.";
            journal.find(Finding::warning("not-cold", message).with("left", left * 100.0, Unit::Percent));
        }
        Ok(())
    }

    /// Sets these constants, and resets all others.
    pub(super) fn set_constants(&mut self, constants: &[(&'static str, f64)]) -> Result<(), ExperimentError> {
        self.constants = constants.to_vec();
        Ok(self.tables.set_constants(&PLANNER_SETTINGS, constants)?)
    }
}
