//! The parameters of the experiment, with their defaults and what they refuse.

use std::path::PathBuf;

use dataset::keyed::KeyedShape;
use measure::quantity::Size;
use serde::{Deserialize, Serialize};
use subjects::Places;
use subjects::nested_loops::{Asked, Io, JoinMethod};

use crate::error::ExperimentError;
use crate::journal::NullJournal;
use crate::subject_run;

/// Joins of each case, with the engine alone, and where something else is measured, which empties more caches before
/// each.
const REPEAT: usize = 20;
const REPEAT_BESIDE: usize = 3;

/// Most reads in flight.
const DEPTH_MAX: usize = 4096;

/// Parameters of the experiment; see [`Asked`] for those that are handed on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JoinParameters {
    /// What is measured.
    pub on: Places,
    /// Where the engine's tables lie.
    pub directory: PathBuf,
    /// The device that they are placed on, such as `model:ssd`; empty: they are read where they are.
    pub device: PathBuf,
    /// Rows of the inner table.
    pub rows: u64,
    /// Per cents of its rows that lie out of the order of the keys.
    pub rands: Vec<u8>,
    /// Bytes of filler of a row.
    pub pad: u32,
    /// Outer rows of a join.
    pub outer_rows: u64,
    /// Methods of the engine; empty: all.
    pub methods: Vec<JoinMethod>,
    /// Rows of a batch; empty: the usual ones.
    pub batch_sizes: Vec<usize>,
    /// Rows that prefetching looks ahead at most.
    pub look_ahead: usize,
    /// Whether it always looks ahead that far.
    pub fixed_look_ahead: bool,
    /// How reads are handed over.
    pub io: Io,
    /// Whether reads go through the page cache, which is emptied before each join.
    pub buffered: bool,
    /// Bytes of the buffer pool.
    pub pool: Size,
    /// Reads in flight at most.
    pub depth: usize,
    /// How many reads a server that reads ahead by itself may have in flight.
    pub concurrencies: Vec<u32>,
    /// Joins of each case; the default depends on what is measured.
    pub repeat: Option<usize>,
    /// Whether tables that are there are loaded again.
    pub reload: bool,
}

impl Default for JoinParameters {
    fn default() -> JoinParameters {
        let usual = Asked::default();
        JoinParameters {
            on: Places::default(),
            directory: usual.directory,
            device: usual.device,
            rows: usual.rows,
            rands: vec![100],
            pad: usual.pad,
            outer_rows: 2000,
            methods: usual.methods,
            batch_sizes: usual.batch_sizes,
            look_ahead: usual.look_ahead,
            fixed_look_ahead: usual.fixed_look_ahead,
            io: usual.io,
            buffered: usual.buffered,
            pool: usual.pool,
            depth: usual.depth,
            concurrencies: usual.concurrencies,
            repeat: None,
            reload: usual.reload,
        }
    }
}

impl JoinParameters {
    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.check_values()?;
        let asked = self.asked();
        subject_run::openers(&self.on, |place| place.nested_loops(&asked), &mut NullJournal).map(drop)
    }

    pub(super) fn check_values(&self) -> Result<(), ExperimentError> {
        let refuse = |sentence: String| Err(ExperimentError::Parameters(sentence));
        if self.repeat() == 0 {
            return refuse("--repeat must be at least 1".into());
        }
        if self.rows == 0 {
            return refuse("--rows must be at least 1".into());
        }
        if self.outer_rows == 0 || u32::try_from(self.outer_rows).is_err() {
            return refuse(format!("--outer-rows {} cannot be: give 1 to {}", self.outer_rows, u32::MAX));
        }
        if let Some(rand) = self.rands.iter().find(|rand| **rand > 100) {
            return refuse(format!("--rand {rand} cannot be: it is a percentage, 0 to 100"));
        }
        if self.batch_sizes.contains(&0) {
            return refuse("--batch-size must be at least 1".into());
        }
        if self.look_ahead == 0 {
            return refuse("--look-ahead must be at least 1".into());
        }
        if !(1..=DEPTH_MAX).contains(&self.depth) {
            return refuse(format!("--depth {} cannot be: give 1 to {DEPTH_MAX}", self.depth));
        }
        let shape = KeyedShape { rand: 0, pad: self.pad };
        shape.check().map_err(|error| ExperimentError::Parameters(format!("--pad {}: {error}", self.pad)))
    }

    pub(super) fn asked(&self) -> Asked {
        Asked {
            rows: self.rows,
            pad: self.pad,
            methods: self.methods.clone(),
            batch_sizes: self.batch_sizes.clone(),
            look_ahead: self.look_ahead,
            fixed_look_ahead: self.fixed_look_ahead,
            io: self.io,
            buffered: self.buffered,
            pool: self.pool,
            depth: self.depth,
            concurrencies: self.concurrencies.clone(),
            directory: self.directory.clone(),
            device: self.device.clone(),
            reload: self.reload,
        }
    }

    /// Joins of each case.
    pub(super) fn repeat(&self) -> usize {
        self.repeat.unwrap_or(if self.on.is_engine_alone() { REPEAT } else { REPEAT_BESIDE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_names_some_parameters_leaves_the_others_at_their_defaults() {
        let text = r#"{"on": ["postgres:18"], "rands": [0, 100], "pool": "4MiB", "methods": ["batch"], "io": "sync"}"#;
        let parameters: JoinParameters = serde_json::from_str(text).unwrap();
        assert_eq!((parameters.repeat(), parameters.rows, parameters.io), (3, 200_000, Io::Sync));
        assert_eq!((parameters.pool, parameters.methods), (Size(4 << 20), vec![JoinMethod::Batch]));
        assert!(serde_json::from_str::<JoinParameters>(r#"{"row": 1}"#).is_err(), "a slip is not a default");
    }
}
