//! A model from a file: TOML with the kind of the device and its parameters, each of them checked.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sys::file::plain;

use super::array::ArrayParameters;
use super::error::ModelError;
use super::fixed_latency::FixedParameters;
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
    let bytes = plain::read(path, FILE_MAX).map_err(|error| refuse(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| refuse(error.to_string()))?;
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
        "fixed-latency" => fields(table, &FixedParameters::all_given()).map(ModelKind::FixedLatency),
        "hard-disk" => fields(table, &HardDiskParameters::deskstar_7k250()).map(ModelKind::HardDisk),
        "ssd" => fields(table, &SsdParameters::sata_2011()).map(ModelKind::Ssd),
        "network-array" => fields(table, &ArrayParameters::fibre_channel()).map(ModelKind::NetworkArray),
        _ => Err(format!("there is no kind '{kind}'; known: {}", KINDS.join(", "))),
    }
    .map_err(refuse)?;
    described.check().map_err(|broken| refuse(broken.to_string()))?;
    let from_path = || path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(from_path);
    Ok(Model { name, kind: described, origins: &[] })
}

/// A refusal without the names that Rust has for numbers.
fn in_words(refusal: &str) -> String {
    let words = [("f64", "a number"), ("u64", "a whole number"), ("u32", "a whole number below 2^32")];
    words.into_iter().fold(refusal.to_string(), |refusal, (name, words)| {
        refusal.replace(&format!("expected {name}"), &format!("expected {words}"))
    })
}

/// The parameters that a table gives. Otherwise every field that is wrong, found by putting one after the other into
/// the table of `sound` parameters.
fn fields<T: DeserializeOwned + Serialize>(given: toml::Table, sound: &T) -> Result<T, String> {
    let unreadable = |error: toml::de::Error| in_words(error.message());
    let parsed = given.clone().try_into::<T>();
    let Err(first) = parsed else { return parsed.map_err(unreadable) };
    let sound = toml::Table::try_from(sound).map_err(|error| error.to_string())?;
    let refusal = |table: toml::Table| table.try_into::<T>().err().map(unreadable);
    let wrong = given.iter().filter_map(|(field, value)| {
        let mut table = sound.clone();
        let is_known = table.insert(field.clone(), value.clone()).is_some();
        let reason = refusal(table)?;
        Some(if is_known { format!("{field}: {reason}") } else { format!("there is no field {field}") })
    });
    let missing = sound.keys().filter(|field| !given.contains_key(*field)).filter_map(|field| {
        let mut table = sound.clone();
        table.remove(field);
        refusal(table).map(|_| format!("{field} is missing"))
    });
    let all: Vec<String> = wrong.chain(missing).collect();
    Err(if all.is_empty() { unreadable(first) } else { all.join("; ") })
}
