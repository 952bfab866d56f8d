//! The vocabulary of readpath: what a measurement is called, what it is measured in, and how a run is kept.
//!
//! This crate stands at the bottom and imports nothing of ours. It reads no clock, prints nothing and holds no
//! unsafe code. Measuring code returns these types; reports are rendered from them alone.

pub mod atomic_file;
pub mod case;
pub mod change_point;
pub mod compare;
pub mod finding;
pub mod metric;
pub mod nanos;
pub mod quantity;
pub mod random;
pub mod run;
pub mod schema;
pub mod sentence;
pub mod sorting;
pub mod statistics;
pub mod store;
pub mod timeline;
pub mod unit;
pub mod wait_class;
pub mod words;

pub use case::{Case, Parameters};
pub use finding::{Finding, Severity};
pub use metric::Metric;
pub use nanos::Nanos;
pub use quantity::Size;
pub use run::{Build, Host, Run};
pub use statistics::Statistics;
pub use timeline::Timeline;
pub use unit::Unit;

#[doc(hidden)]
pub use serde;
