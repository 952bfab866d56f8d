//! What each step of the experiment works with, and what all steps do with the server.

use std::time::Duration;

use measure::quantity::three_digits;
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::parameters::{PART, SUBJECT};
use measure::{Case, Finding, Parameters, Unit};
use serde_json::Value;
use subjects::postgres::calibration::server_caches::ServerCaches;
use subjects::postgres::calibration::{Calibration, StillCached};
use subjects::{Recorder, Subject};

use super::parameters::CalibrateParameters;
use super::sets::CONSTANTS;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::subject_run;

/// Share of the pages of all files, and of one, that may stay in the page cache after it was emptied.
const WARM_SHARE_MAX: f64 = 0.01;
const WARM_SHARE_OF_ONE_MAX: f64 = 0.1;

/// The file system that has a cache of its own, which the kernel neither empties nor shows.
const WITH_OWN_CACHE: &str = "zfs";

measure::words! {
    /// What is in the caches when a query begins.
    pub(super) enum State ("state") {
        /// Nothing.
        Cold = "cold",
        /// All in the operating system's page cache, nothing in the server's buffers.
        System = "system",
        /// All in the server's buffers.
        Cached = "cached",
        /// What the user's own use leaves there.
        AsFound = "as-found",
        /// Nothing, for the user's own queries on a copy of a data directory.
        OwnCold = "own-cold",
    }
}

impl State {
    /// The states whose blocks have a cost.
    pub(super) const OF_BLOCKS: [State; 3] = [State::Cold, State::System, State::Cached];

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

    /// The same with the name that it has in the tables, where no word of it is that name.
    pub(super) fn introduced(self) -> &'static str {
        match self {
            State::Cold | State::OwnCold => "with nothing cached (cold)",
            State::System => "cached by the operating system (system)",
            State::Cached | State::AsFound => self.in_words(),
        }
    }
}

/// The finding about what of the server's files was still in memory when all caches had been emptied.
pub(super) fn not_cold(left: &StillCached) -> Option<Finding> {
    let stayed = |share: f64, files: &str, advice: &str| {
        let message = format!(
            "{} % of the pages of {files} stayed in the page cache after it was emptied: cold costs contain reads from \
             memory. {advice}",
            three_digits(share * 100.0)
        );
        row::NOT_COLD.of(message).with("left", share * 100.0, Unit::Percent)
    };
    if left.of_all > WARM_SHARE_MAX {
        let advice = "Put the folder for temporary files (TMPDIR), or the copy, on a disk.";
        return Some(stayed(left.of_all, "the server's files", advice));
    }
    if left.of_one > WARM_SHARE_OF_ONE_MAX {
        let advice = "End the program that reads this file or holds it in memory, and repeat the run.";
        return Some(stayed(left.of_one, "one of the server's files", advice));
    }
    let message = "The server's files lie on zfs, whose own cache is not emptied and cannot be seen: cold costs may \
                   contain reads from memory. Put the folder for temporary files (TMPDIR), or the copy, on another \
                   file system, or set primarycache=metadata for it.";
    (left.filesystem.as_deref() == Some(WITH_OWN_CACHE)).then(|| row::NOT_COLD.of(message))
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
    /// Whether something was found in memory when all caches had been emptied.
    pub(super) is_warm: bool,
    /// What a given server found cached before anything was made there.
    pub(super) caches: ServerCaches,
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
        // What stays differs from run to run: once is enough.
        let found = not_cold(&self.tables.cool()?).filter(|_| !self.is_warm);
        self.is_warm |= found.is_some();
        journal.find_all(found);
        Ok(())
    }

    /// Sets these constants, and resets all others.
    pub(super) fn set_constants(&mut self, constants: &[(&'static str, f64)]) -> Result<(), ExperimentError> {
        self.constants = constants.to_vec();
        Ok(self.tables.set_constants(&CONSTANTS, constants)?)
    }
}
