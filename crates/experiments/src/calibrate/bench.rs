//! What each step of the experiment works with, and what all steps do with the server.

use std::time::Duration;

use measure::quantity::three_digits;
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::parameters::{PART, SUBJECT};
use measure::{Case, Finding, Parameters, Unit};
use serde_json::Value;
use subjects::postgres::calibration::Calibration;
use subjects::{Recorder, Subject};

use super::parameters::CalibrateParameters;
use super::sets::CONSTANTS;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::subject_run;

/// Share of pages that may stay in the page cache after it was emptied.
const WARM_SHARE_MAX: f64 = 0.01;

/// What is in the caches when a query begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Cold,
    /// All in the operating system's page cache, nothing in the server's buffers.
    System,
    /// All in the server's buffers.
    Cached,
    /// What the user's own use leaves there.
    AsFound,
    /// Nothing, for the user's own queries on a copy of a data directory.
    OwnCold,
}

impl State {
    /// The states whose blocks have a cost.
    pub(super) const OF_BLOCKS: [State; 3] = [State::Cold, State::System, State::Cached];

    pub(super) fn name(self) -> &'static str {
        match self {
            State::Cold => "cold",
            State::OwnCold => "own-cold",
            State::System => "system",
            State::Cached => "cached",
            State::AsFound => "as-found",
        }
    }

    /// Whether the queries in it are the user's own.
    pub(super) fn is_own(self) -> bool {
        matches!(self, State::AsFound | State::OwnCold)
    }

    /// Whether nothing is cached, so that each run takes a restart.
    pub(super) fn is_cold(self) -> bool {
        matches!(self, State::Cold | State::OwnCold)
    }

    /// The state in a sentence.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            State::Cold | State::OwnCold => "with nothing cached",
            State::System => "cached by the operating system",
            State::Cached => "cached by the server",
            State::AsFound => "as the server is",
        }
    }
}

/// The finding about a share of the server's files that stayed in the page cache when it was emptied.
pub(super) fn not_cold(left: f64) -> Option<Finding> {
    let message = || {
        format!(
            "{} % of the pages of the server's files stayed in the page cache after it was emptied: cold costs contain \
             reads from memory. Put the folder for temporary files (TMPDIR), or the copy, on a disk.",
            three_digits(left * 100.0)
        )
    };
    (left > WARM_SHARE_MAX).then(|| row::NOT_COLD.of(message()).with("left", left * 100.0, Unit::Percent))
}

/// What each step works with.
pub(super) struct Bench<'a> {
    pub(super) parameters: &'a CalibrateParameters,
    pub(super) machine: &'a Machine,
    /// Where a rehearsal notes what it would send.
    pub(super) recorder: Option<Recorder>,
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

    /// How long a query of the user may take, in whole milliseconds, as the server counts them: no longer than any
    /// statement may.
    pub(super) fn time_limit(&mut self) -> Duration {
        let limit = self.parameters.time_limit().min(self.tables.statement_limit());
        Duration::from_millis(limit.as_millis().max(1) as u64)
    }

    /// Looks for what disturbs, such as other sessions at work; between measurements.
    pub(super) fn look(&mut self, journal: &mut dyn Journal) {
        subject_run::keep_findings(self.tables, journal);
    }

    /// Empties all caches of a private server.
    pub(super) fn cool(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        journal.find_all(not_cold(self.tables.cool()?));
        Ok(())
    }

    /// Sets these constants, and resets all others.
    pub(super) fn set_constants(&mut self, constants: &[(&'static str, f64)]) -> Result<(), ExperimentError> {
        self.constants = constants.to_vec();
        Ok(self.tables.set_constants(&CONSTANTS, constants)?)
    }
}
