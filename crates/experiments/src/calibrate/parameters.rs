//! The parameters of the experiment, with their defaults and what they refuse.

use std::time::Duration;

use measure::Size;
use subjects::place::Place;
use subjects::postgres::calibration::own_queries::{self, OwnQuery, QuerySource};
use subjects::postgres::calibration::{Calibration, CalibrationAsked};
use subjects::{Opener, Places, SubjectError};

use super::judgement::RUNS_MIN;
use crate::error::{ExperimentError, refuse};
use crate::journal::NullJournal;
use crate::subject_run;
use crate::with_defaults::with_defaults;

/// Least bytes of the table: with fewer blocks a sample is a few reads.
const PAYLOAD_MIN: u64 = 1 << 20;

/// Most of them: row numbers have four bytes.
const PAYLOAD_MAX: u64 = 128 << 30;

/// Times that each plan of the user's own queries is run cold. What a cold run takes differs more from run to run than
/// what a cached one does, and with three, two runs in a row decided differently.
const OWN_COLD_ROUNDS: usize = 5;

/// Most rounds: no run ends that has more.
const ROUNDS_MAX: usize = 1_000_000;

/// Most samples of a cost, all passes together. A rehearsal notes the statements of each: with hundreds of times as
/// many, they would not fit in memory.
const SAMPLES_MAX: usize = 10_000;

with_defaults! {
    /// Parameters of the experiment.
    pub struct CalibrateParameters {
        /// The server.
        pub on: Places = Places::default(),
        /// Bytes of the table; the default depends on the server.
        pub payload: Option<Size> = None,
        /// The user's queries: a file, a folder, or `pg_stat_statements:N`.
        pub queries: Option<String> = None,
        /// Whether they are run: in turns those whose plan changes, and all that can be with planner methods disabled.
        pub run: bool = false,
        /// Seconds that one of them may take.
        pub time_limit: f64 = 10.0,
        /// How many times all costs are measured, each time with new tables.
        pub passes: usize = 3,
        /// Samples of what is cached, in a pass.
        pub repeat: usize = 5,
        /// How often each plan of a query is run, after once that is not counted.
        pub rounds: usize = 5,
        /// Samples of what is not cached, each after a restart of a private server.
        pub cold_samples: Option<usize> = None,
        /// Times that each plan of each query is run cold on a private server; 0: not at all. A verdict takes three.
        pub cold_rounds: Option<usize> = None,
        /// Picks the order of the rows.
        pub seed: u64 = 1,
        /// Whether the page ends with the constants as SQL.
        pub sql: bool = false,
    }
}

impl CalibrateParameters {
    /// Samples of what is not cached.
    pub(super) fn cold_samples(&self) -> usize {
        self.cold_samples.unwrap_or(3)
    }

    /// The same of one pass.
    pub(super) fn cold_samples_a_pass(&self) -> usize {
        self.cold_samples().div_ceil(self.passes.max(1))
    }

    /// How long a query of the user may take.
    pub(super) fn time_limit(&self) -> Duration {
        Duration::from_secs_f64(self.time_limit)
    }

    /// Where the user's queries come from.
    pub(super) fn source(&self) -> Result<Option<QuerySource>, ExperimentError> {
        self.queries.as_deref().map(QuerySource::parse).transpose().map_err(ExperimentError::Parameters)
    }

    /// Times that each plan of each query is run cold.
    pub(super) fn cold_rounds(&self) -> usize {
        self.cold_rounds.unwrap_or(if self.run { OWN_COLD_ROUNDS } else { RUNS_MIN })
    }

    /// The user's queries where they come from files.
    pub(super) fn queries_of_files(&self) -> Result<Option<Vec<OwnQuery>>, ExperimentError> {
        match self.source()? {
            // The command line is right, and the file is not.
            Some(QuerySource::Files(path)) => Ok(Some(own_queries::of_files(&path).map_err(SubjectError::Failed)?)),
            _ => Ok(None),
        }
    }

    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.opener().map(drop)
    }

    /// The server's, after the parameters are checked.
    pub(super) fn opener(&self) -> Result<Opener<'_, Calibration>, ExperimentError> {
        if self.payload.is_some_and(|payload| !(PAYLOAD_MIN..=PAYLOAD_MAX).contains(&payload.0)) {
            return refuse("--payload takes 1MiB to 128GiB");
        }
        if self.repeat == 0 || self.passes == 0 || self.rounds == 0 || self.cold_samples == Some(0) {
            return refuse("--passes, --repeat, --rounds and --cold-samples count from 1");
        }
        if self.passes.saturating_mul(self.repeat).max(self.cold_samples()) > SAMPLES_MAX {
            return refuse("--passes multiplied by --repeat is 10000 at most, and so is --cold-samples");
        }
        if self.rounds.max(self.cold_rounds()) > ROUNDS_MAX {
            return refuse("--rounds and --cold-rounds take 1000000 at most");
        }
        if !(0.001..=86_400.0).contains(&self.time_limit) {
            return refuse("--time-limit takes a time from 1ms to 24h, or a number of seconds");
        }
        self.source()?;
        if self.queries.is_some() && !self.on.iter().any(Place::has_own_tables) {
            return refuse(
                "--queries asks a given server, such as --on postgres://me@host/db, or one on a copy of a data \
                 directory, postgres:copy:DIRECTORY?dbname=NAME: a private one has none of your tables",
            );
        }
        if self.run && self.queries.is_none() {
            return refuse("--run is for your own queries: name them with --queries");
        }
        if (self.cold_samples.is_some() || self.cold_rounds.is_some()) && self.on.in_use().next().is_some() {
            return refuse(
                "--cold-samples and --cold-rounds are for a private server, such as --on postgres:18: the caches of a \
                 given one are not emptied, because its other users would pay for it",
            );
        }
        let is_copy = |place: &dyn Place| place.has_own_tables() && !place.is_in_use();
        if self.on.iter().any(is_copy) {
            if self.run && self.cold_rounds == Some(0) {
                return refuse(
                    "--cold-rounds 0 runs none of your queries: on a copy of a data directory they run cold",
                );
            }
            if matches!(self.source()?, Some(QuerySource::Listed(_))) {
                return refuse(
                    "--queries pg_stat_statements asks a running server: on a copy of a data directory it is not \
                     loaded. Write its queries with values to a file",
                );
            }
        }
        let (payload, has_queries) = (self.payload.map(|payload| payload.0), self.queries.is_some());
        let asked = CalibrationAsked { has_queries, payload, seed: self.seed };
        let mut openers =
            subject_run::openers(&self.on, |place| place.calibration(asked), &mut NullJournal::default())?;
        match (openers.pop(), openers.is_empty()) {
            (Some(opener), true) => Ok(opener),
            _ => refuse("calibrate measures one server: give --on one word"),
        }
    }
}
