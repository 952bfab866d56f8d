//! The schema: for each experiment its parameters, its metrics and the figures that were published on its question.
//!
//! Experiments make their metrics from it, reports read by it, and the page on the run document is generated from it.

pub mod calibrate;
pub mod check;
pub mod conditions;
pub mod contest;
pub mod counters;
pub mod disk;
pub mod document;
pub mod events;
pub mod join;
pub mod ladder;
pub mod lio;
pub mod null;
pub mod own_cost;
pub mod profile;
pub mod reads;
pub mod roundtrip;
pub mod scan;
mod spec;

pub use check::{EXPERIMENTS, check, experiment, find};
pub use spec::{Bound, Experiment, Family, Parameter, Published, Spec, Stems};
