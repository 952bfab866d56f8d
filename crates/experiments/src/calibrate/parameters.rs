//! The parameters of the experiment, with their defaults and what they refuse.

use measure::Size;
use serde::{Deserialize, Serialize};
use subjects::postgres::calibration::{Calibration, CalibrationAsked};
use subjects::{Opener, Places};

use crate::error::ExperimentError;
use crate::journal::NullJournal;
use crate::subject_run;

/// Least bytes of the table: with fewer blocks a sample is a few reads.
const PAYLOAD_MIN: u64 = 1 << 20;

/// Most of them: row numbers have four bytes.
const PAYLOAD_MAX: u64 = 128 << 30;

/// Parameters of the experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CalibrateParameters {
    /// The server.
    pub on: Places,
    /// Bytes of the table; the default depends on the server.
    pub payload: Option<Size>,
    /// Samples of what is cached.
    pub repeat: usize,
    /// Samples of what is not, each after a restart of a private server.
    pub cold_samples: Option<usize>,
    /// Times that each plan of each query is run cold on a private server; 0: not at all.
    pub cold_rounds: Option<usize>,
    /// Picks the order of the rows.
    pub seed: u64,
    /// Whether the page ends with the constants as SQL.
    pub sql: bool,
}

impl Default for CalibrateParameters {
    fn default() -> CalibrateParameters {
        CalibrateParameters {
            on: Places::default(),
            payload: None,
            repeat: 9,
            cold_samples: None,
            cold_rounds: None,
            seed: 1,
            sql: false,
        }
    }
}

impl CalibrateParameters {
    /// Samples of what is not cached.
    pub(super) fn cold_samples(&self) -> usize {
        self.cold_samples.unwrap_or(3)
    }

    /// Times that each plan of each query is run cold.
    pub(super) fn cold_rounds(&self) -> usize {
        self.cold_rounds.unwrap_or(1)
    }

    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.opener().map(drop)
    }

    /// The server's, after the parameters are checked.
    pub(super) fn opener(&self) -> Result<Opener<'_, Calibration>, ExperimentError> {
        let refuse = |sentence: &str| Err(ExperimentError::Parameters(sentence.into()));
        if self.payload.is_some_and(|payload| !(PAYLOAD_MIN..=PAYLOAD_MAX).contains(&payload.0)) {
            return refuse("--payload takes 1MiB to 128GiB");
        }
        if self.repeat == 0 || self.cold_samples == Some(0) {
            return refuse("--repeat and --cold-samples count from 1");
        }
        if (self.cold_samples.is_some() || self.cold_rounds.is_some()) && self.on.in_use().next().is_some() {
            return refuse(
                "--cold-samples and --cold-rounds are for a private server, such as --on postgres:18: the caches of a \
                 given one are not emptied, because its other users would pay for it",
            );
        }
        let asked = CalibrationAsked { payload: self.payload.map(|payload| payload.0), seed: self.seed };
        let mut openers = subject_run::openers(&self.on, |place| place.calibration(asked), &mut NullJournal)?;
        match (openers.pop(), openers.is_empty()) {
            (Some(opener), true) => Ok(opener),
            _ => refuse("calibrate measures one server: give --on one word"),
        }
    }
}
