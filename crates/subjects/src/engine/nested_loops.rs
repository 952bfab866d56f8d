//! The embedded engine as a subject of the experiment on nested loops.

mod device_reads;
mod metered;
mod passes;
pub(super) mod subject;

pub use metered::ReadCost;
pub use passes::{JoinEngine, PassCost, Scanned};
pub use subject::{BATCH_SIZE, EngineLoops, ROWID_BATCH_SIZE};
