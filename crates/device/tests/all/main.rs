//! The devices and the read loop: every row of the tables, and answers that are known beforehand.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod conformance;
mod known_latency;
mod models;
mod published_disk;

use std::sync::atomic::AtomicBool;

use device::Device;
use device::plan::ReadPlan;
use device::workers::{Reading, Team};
use sys::time::Clock;

/// Reads a device, one worker for each plan.
fn reading(device: &dyn Device, plans: &[ReadPlan]) -> Reading {
    let team = Team::open(device, None, plans).unwrap();
    team.read(&Clock::calibrate(), &AtomicBool::new(false)).unwrap()
}
