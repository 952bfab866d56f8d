//! The table of models.

use std::path::Path;

use super::array::ArrayParameters;
use super::description;
use super::error::ModelError;
use super::fixed_latency::FixedParameters;
use super::hard_disk::HardDiskParameters;
use super::kind::{Model, ModelKind};
use super::ssd::SsdParameters;

/// A row of the table of models.
#[derive(Clone, Copy, Debug)]
pub struct ModelRow {
    /// The name behind `model:` on the command line.
    pub name: &'static str,
    /// Makes it.
    pub kind: fn() -> ModelKind,
    /// Where its parameters are from, by field.
    pub origins: &'static [(&'static str, &'static str)],
}

/// Every model.
pub const MODELS: &[ModelRow] = &[
    ModelRow { name: "fixed-latency", kind: || ModelKind::FixedLatency(FixedParameters::default()), origins: &[] },
    ModelRow {
        name: "hdd-7200",
        kind: || ModelKind::HardDisk(HardDiskParameters::deskstar_7k250()),
        origins: HardDiskParameters::ORIGINS,
    },
    ModelRow { name: "ssd", kind: || ModelKind::Ssd(SsdParameters::sata_2011()), origins: SsdParameters::ORIGINS },
    ModelRow {
        name: "network-array",
        kind: || ModelKind::NetworkArray(ArrayParameters::fibre_channel()),
        origins: ArrayParameters::ORIGINS,
    },
];

/// The model that a word names: `NAME` of the table, or `FILE.toml` with a description.
pub fn named(name: &str) -> Result<Model, ModelError> {
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        return description::read(Path::new(name));
    }
    let known: Vec<String> = MODELS.iter().map(|row| format!("model:{}", row.name)).collect();
    let unknown = || ModelError::Unknown { name: name.into(), known: known.join(", ") };
    let made = |row: &ModelRow| Model { name: row.name.into(), kind: (row.kind)(), origins: row.origins };
    MODELS.iter().find(|row| row.name == name).map(made).ok_or_else(unknown)
}
