//! The parameters of the experiment, and what they refuse.

use server::{Address, Limits};

use crate::error::ExperimentError;

/// Least bytes of the table: with fewer blocks a sample is a few reads.
const PAYLOAD_MIN: u64 = 1 << 20;

/// Most of them: row numbers have four bytes.
const PAYLOAD_MAX: u64 = 128 << 30;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct CalibrateParameters {
    /// How to reach the server.
    pub address: Address,
    /// How long things may take there.
    pub limits: Limits,
    /// Bytes of the table.
    pub payload: u64,
    /// Samples of what is cached.
    pub repeat: usize,
    /// Samples of what is not, each after a restart.
    pub cold_samples: usize,
    /// Times that each plan of each query is run cold; 0: not at all.
    pub cold_rounds: usize,
    /// Picks the order of the rows.
    pub seed: u64,
    /// Whether the page ends with the constants as SQL.
    pub sql: bool,
}

impl CalibrateParameters {
    /// Errors when the parameters cannot be, with what to write instead.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let refuse = |sentence: &str| Err(ExperimentError::Parameters(sentence.into()));
        if !(PAYLOAD_MIN..=PAYLOAD_MAX).contains(&self.payload) {
            return refuse("--payload takes 1MiB to 128GiB");
        }
        if self.repeat == 0 || self.cold_samples == 0 {
            return refuse("--repeat and --cold-samples count from 1");
        }
        Ok(())
    }
}
