//! What a model is: its kind with the parameters, its name, and where the parameters are from.

use serde::{Deserialize, Serialize};

use super::array::{Array, ArrayParameters};
use super::bound::BrokenBounds;
use super::fixed_latency::{FixedLatency, FixedParameters};
use super::hard_disk::{HardDisk, HardDiskParameters};
use super::ssd::{Ssd, SsdParameters};
use super::timing::Timing;

/// A device that is modelled, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ModelKind {
    /// Given times, whatever is asked.
    FixedLatency(FixedParameters),
    /// An arm, platters, a queue, a buffer.
    HardDisk(HardDiskParameters),
    /// Dies, channels, a queue, an interface.
    Ssd(SsdParameters),
    /// A round trip, a cache, disks behind it.
    NetworkArray(ArrayParameters),
}

impl ModelKind {
    /// Says which parameters break which bounds.
    pub fn check(&self) -> Result<(), BrokenBounds> {
        match self {
            ModelKind::FixedLatency(parameters) => parameters.check(),
            ModelKind::HardDisk(parameters) => parameters.check(),
            ModelKind::Ssd(parameters) => parameters.check(),
            ModelKind::NetworkArray(parameters) => parameters.check(),
        }
    }
}

/// A modelled device with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What it is called in run documents.
    pub name: String,
    /// What it is.
    pub kind: ModelKind,
    /// Where its parameters are from, by field; empty for a model of a file.
    pub origins: &'static [(&'static str, &'static str)],
}

impl Model {
    /// Bytes that it holds.
    pub fn size(&self) -> u64 {
        match &self.kind {
            ModelKind::FixedLatency(_) => FixedLatency::SIZE,
            ModelKind::HardDisk(parameters) => parameters.capacity,
            ModelKind::Ssd(parameters) => parameters.capacity,
            ModelKind::NetworkArray(parameters) => parameters.capacity(),
        }
    }

    /// The device at rest, at the beginning of time.
    pub fn timing(&self) -> Box<dyn Timing> {
        match &self.kind {
            ModelKind::FixedLatency(parameters) => Box::new(FixedLatency::new(parameters.clone())),
            ModelKind::HardDisk(parameters) => Box::new(HardDisk::new(parameters.clone())),
            ModelKind::Ssd(parameters) => Box::new(Ssd::new(parameters.clone())),
            ModelKind::NetworkArray(parameters) => Box::new(Array::new(parameters.clone())),
        }
    }
}
