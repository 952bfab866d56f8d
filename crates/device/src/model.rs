//! Modelled devices: answers of known cost, in virtual time. One file and one row of [`MODELS`] each.

pub mod array;
pub mod bound;
pub mod clients;
mod description;
pub mod error;
mod event_queue;
pub mod fixed_latency;
pub mod hard_disk;
mod kind;
mod modelled;
pub mod ssd;
mod table;
pub mod timing;

pub use error::ModelError;
pub use kind::{Model, ModelKind};
pub(crate) use modelled::ROW;
pub use table::{MODELS, ModelRow, named};
