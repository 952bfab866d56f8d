//! Where blocks come from, and the read loop that asks for them with a queue depth.
//!
//! Files and block devices are opened by `sys`; models answer in virtual time. The loop measures and returns data:
//! it knows no experiment, and prints nothing.

pub mod audit;
pub mod content;
pub mod meter;
pub mod model;
pub mod own_cost;
pub mod pattern;
pub mod plan;
pub mod read_loop;
pub mod tier;
pub mod time_source;
pub mod windows;
pub mod workers;
