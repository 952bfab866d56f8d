//! A model from a file: TOML with the kind of the device and its parameters, each of them checked.

use std::path::Path;

use serde::Deserialize;

use super::array::ArrayParameters;
use super::error::ModelError;
use super::hard_disk::HardDiskParameters;
use super::kind::{Model, ModelKind};
use super::ssd::SsdParameters;

/// Largest file that is read: a description takes less than a KiB.
const FILE_MAX: u64 = 1 << 20;

/// What a device can be: the names that [`ModelKind`] is written with.
const KINDS: [&str; 4] = ["fixed-latency", "hard-disk", "ssd", "network-array"];

/// Reads the model that a file describes.
pub(super) fn read(path: &Path) -> Result<Model, ModelError> {
    let refuse = |reason: String| ModelError::File { path: path.into(), reason };
    let size = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?.len();
    if size > FILE_MAX {
        return Err(refuse("it is larger than 1 MiB".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let unreadable = |error: toml::de::Error| refuse(error.to_string().trim().into());
    let mut table: toml::Table = toml::from_str(&text).map_err(unreadable)?;
    let mut text_of = |field: &str| match table.remove(field) {
        Some(toml::Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(refuse(format!("{field} is no text"))),
        None => Ok(None),
    };
    let name = text_of("name")?;
    let kind = text_of("kind")?.ok_or_else(|| refuse(format!("it gives no kind; known: {}", KINDS.join(", "))))?;
    // One kind after the other, and not serde's own tag: that one forgets which field was wrong.
    let described = match kind.as_str() {
        "fixed-latency" if table.is_empty() => Ok(ModelKind::FixedLatency),
        "fixed-latency" => return Err(refuse("a device of fixed latency has no parameters: it takes 100 us".into())),
        "hard-disk" => HardDiskParameters::deserialize(table).map(ModelKind::HardDisk),
        "ssd" => SsdParameters::deserialize(table).map(ModelKind::Ssd),
        "network-array" => ArrayParameters::deserialize(table).map(ModelKind::NetworkArray),
        _ => return Err(refuse(format!("there is no kind '{kind}'; known: {}", KINDS.join(", ")))),
    }
    .map_err(unreadable)?;
    described.check().map_err(|bound| refuse(bound.to_string()))?;
    let from_path = || path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(from_path);
    Ok(Model { name, kind: described, origins: &[] })
}
