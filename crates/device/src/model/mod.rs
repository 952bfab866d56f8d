//! Modelled devices: answers of known cost, in virtual time or in none. One file and one row of [`MODELS`] each.

pub mod fixed_latency;
pub mod null;

use sys::read::ReadMethod;

use crate::time_source::VirtualClock;

/// A row of the table of models.
#[derive(Clone, Copy, Debug)]
pub struct ModelRow {
    /// The name behind `model:` on the command line.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Capacity in bytes.
    pub size: u64,
    /// Opens the model with so many slots of so many bytes, on a clock that it moves.
    pub open: fn(&VirtualClock, usize, usize) -> Box<dyn ReadMethod>,
}

/// Every model.
pub const MODELS: &[ModelRow] = &[fixed_latency::ROW];

/// The model that `path` names as `model:NAME`; `None` when it names no model, known or not.
pub fn named(path: &str) -> Option<Result<&'static ModelRow, String>> {
    let name = path.strip_prefix("model:")?;
    let known: Vec<&str> = MODELS.iter().map(|row| row.name).collect();
    let unknown = || format!("there is no model '{name}'; known: {}", known.join(", "));
    Some(MODELS.iter().find(|row| row.name == name).ok_or_else(unknown))
}
