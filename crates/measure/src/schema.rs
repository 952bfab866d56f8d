//! The schema: for each experiment its parameters, its metrics, its findings and the figures that were published on its
//! question.
//!
//! Experiments make their metrics and findings from it, reports read by it, and the page on the run document is
//! generated from it.

pub mod calibrate;
pub mod check;
pub mod conditions;
pub mod contest;
pub mod counters;
pub mod disk;
pub mod events;
pub mod every;
pub mod finding;
pub mod join;
pub mod ladder;
pub mod lio;
pub mod logs;
pub mod null;
pub mod own_cost;
pub mod page;
pub mod profile;
pub mod reads;
pub mod roundtrip;
pub mod sampled;
pub mod scan;
pub mod sources;
mod spec;
pub mod subjects;
pub mod tiers;

pub use check::{EXPERIMENTS, check, experiment, find};
pub use finding::{FindingGroup, FindingSpec};
pub use spec::{Bound, Experiment, Family, Parameter, Published, Spec, Stems};
