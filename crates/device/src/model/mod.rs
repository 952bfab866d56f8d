//! Modelled devices: answers of known cost, in virtual time or in none. One file and one row of [`MODELS`] each.

mod agenda;
pub mod array;
pub mod bound;
pub mod clients;
mod description;
pub mod fixed_latency;
pub mod hard_disk;
pub mod null;
pub mod ssd;
pub mod timing;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::array::{Array, ArrayParameters};
use self::bound::Bound;
use self::fixed_latency::FixedLatency;
use self::hard_disk::{HardDisk, HardDiskParameters};
use self::ssd::{Ssd, SsdParameters};
use self::timing::Timing;

/// A device that is modelled, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Device {
    /// Every read takes as long.
    FixedLatency,
    /// An arm, platters, a queue, a buffer.
    HardDisk(HardDiskParameters),
    /// Dies, channels, a queue, an interface.
    Ssd(SsdParameters),
    /// A round trip, a cache, disks behind it.
    NetworkArray(ArrayParameters),
}

impl Device {
    /// Says which parameter breaks which bound, if one does.
    pub fn check(&self) -> Result<(), Bound> {
        match self {
            Device::FixedLatency => Ok(()),
            Device::HardDisk(parameters) => parameters.check(),
            Device::Ssd(parameters) => parameters.check(),
            Device::NetworkArray(parameters) => parameters.check(),
        }
    }
}

/// A modelled device with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What it is called in run documents.
    pub name: String,
    /// What it is.
    pub device: Device,
    /// Where its parameters are from, by field; empty for a model of a file.
    pub origins: &'static [(&'static str, &'static str)],
}

impl Model {
    /// Bytes that it holds.
    pub fn size(&self) -> u64 {
        match &self.device {
            Device::FixedLatency => FixedLatency::SIZE,
            Device::HardDisk(parameters) => parameters.capacity,
            Device::Ssd(parameters) => parameters.capacity,
            Device::NetworkArray(parameters) => parameters.capacity(),
        }
    }

    /// The device at rest, at the beginning of time.
    pub fn timing(&self) -> Box<dyn Timing> {
        match &self.device {
            Device::FixedLatency => Box::new(FixedLatency::new(FixedLatency::LATENCY)),
            Device::HardDisk(parameters) => Box::new(HardDisk::new(parameters.clone())),
            Device::Ssd(parameters) => Box::new(Ssd::new(parameters.clone())),
            Device::NetworkArray(parameters) => Box::new(Array::new(parameters.clone())),
        }
    }
}

/// A row of the table of models.
#[derive(Clone, Copy, Debug)]
pub struct ModelRow {
    /// The name behind `model:` on the command line.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Makes it.
    pub device: fn() -> Device,
    /// Where its parameters are from, by field.
    pub origins: &'static [(&'static str, &'static str)],
}

/// Every model.
pub const MODELS: &[ModelRow] = &[
    ModelRow {
        name: "fixed-latency",
        summary: "every read takes 100 us",
        device: || Device::FixedLatency,
        origins: &[],
    },
    ModelRow {
        name: "hdd-7200",
        summary: "a disk of 250 GB with 7200 revolutions a minute",
        device: || Device::HardDisk(HardDiskParameters::deskstar_7k250()),
        origins: HardDiskParameters::ORIGINS,
    },
    ModelRow {
        name: "ssd",
        summary: "a solid-state disk of 256 GB on SATA",
        device: || Device::Ssd(SsdParameters::sata_2011()),
        origins: SsdParameters::ORIGINS,
    },
    ModelRow {
        name: "network-array",
        summary: "eight such disks behind a cache and a round trip",
        device: || Device::NetworkArray(ArrayParameters::fibre_channel()),
        origins: ArrayParameters::ORIGINS,
    },
];

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The table has no such name.
    #[error("there is no model '{name}'; known: {known}, or a description in a file (model:FILE.toml)")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A file that describes none.
    #[error("{} describes no model: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// The model that `path` names as `model:NAME` or `model:FILE.toml`; `None` when it names no model, known or not.
pub fn named(path: &str) -> Option<Result<Model, ModelError>> {
    let name = path.strip_prefix("model:")?;
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        return Some(description::read(Path::new(name)));
    }
    let known: Vec<&str> = MODELS.iter().map(|row| row.name).collect();
    let unknown = || ModelError::Unknown { name: name.into(), known: known.join(", ") };
    let made = |row: &ModelRow| Model { name: row.name.into(), device: (row.device)(), origins: row.origins };
    Some(MODELS.iter().find(|row| row.name == name).map(made).ok_or_else(unknown))
}
