//! Observers: what a profile is made of while calls and waits pass.

mod activity;
pub mod collector;
pub mod hot_spots;
pub mod instruments;
mod listeners;
pub mod miss_curve;
mod notes;
mod plans;
pub mod readings;
mod sessions;
pub mod skew;
#[cfg(test)]
pub(crate) mod tests;
mod work;

pub use listeners::Listeners;
