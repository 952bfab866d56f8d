//! Run documents as bytes: written in one shape, read with suspicion.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::error::{StoreError, stem};
use crate::finding::Finding;
use crate::run::{Run, SCHEMA};

/// Largest file that is read. A run of an hour with its timelines stays under 10 MiB; what is larger is not ours.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// What a list of runs shows of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run's identifier.
    pub id: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// End, RFC 3339 in UTC; absent for a run that was stopped or still goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// Which experiment.
    pub experiment: String,
    /// On what.
    pub subject: Map<String, Value>,
    /// The command line as given.
    pub command: Vec<String>,
    /// Number of cases.
    #[serde(deserialize_with = "count_of_list")]
    pub cases: u64,
    /// What the run says by itself.
    pub findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// The bytes that are kept for `run`: JSON with a final newline.
///
/// They are read back before they are trusted: JSON has no word for a value that is not finite and would carry `null`
/// in its place, which no reader takes for a number.
pub(super) fn text_of(run: &Run) -> Result<Vec<u8>, StoreError> {
    text_within(FILE_BYTES_MAX, run)
}

/// The same of a run whose document takes at most this number of bytes: a larger one would lie in the store unread.
fn text_within(bytes_max: u64, run: &Run) -> Result<Vec<u8>, StoreError> {
    let refused = |reason: String| StoreError::NotADocument { id: run.id.clone(), reason };
    let mut text = serde_json::to_vec_pretty(run).map_err(|error| refused(error.to_string()))?;
    text.push(b'\n');
    if text.len() as u64 > bytes_max {
        return Err(refused(format!("its document takes over {} MiB, and would not be read again", bytes_max >> 20)));
    }
    serde_json::from_slice::<Run>(&text)
        .map_err(|error| refused(format!("its document could not be read back ({error}); is a value not finite?")))?;
    Ok(text)
}

/// Reads the run document in a file.
pub fn read_run(path: &Path) -> Result<Run, StoreError> {
    parse(path, &read_checked(path)?)
}

/// Reads what a list shows of the run in a file of the store, whose name must be the run's identifier.
pub(super) fn read_summary(path: &Path) -> Result<Summary, StoreError> {
    let summary: Summary = parse(path, &read_checked(path)?)?;
    if stem(path).as_deref() != Some(summary.id.as_str()) {
        return Err(unreadable(path, format!("its name is not that of the run in it ({})", summary.id)));
    }
    Ok(summary)
}

/// The bytes of a file that is regular, not too large, and holds a run of this schema.
fn read_checked(path: &Path) -> Result<Vec<u8>, StoreError> {
    let failed = |error: std::io::Error| unreadable(path, error.to_string());
    // A pipe or a device would block or never end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(unreadable(path, "it is not a regular file".into()));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(path, format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    check_schema(path, &bytes)?;
    Ok(bytes)
}

fn check_schema(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let split = |what: &str, filter: &str| {
        format!(
            "it holds {what}, and one document is read from a file: split it with jq (jq -c {filter} FILE | split -l 1 \
             --additional-suffix=.json - run-)"
        )
    };
    let head: Head = serde_json::from_slice(bytes).map_err(|error| {
        let reason = match error.is_data() {
            true if serde_json::from_slice::<Vec<IgnoredAny>>(bytes).is_ok() => split("a list", "'.[]'"),
            true => "it is JSON without the schema of a run document".into(),
            false if holds_several(bytes) => split("several documents", "."),
            false => format!("it is not whole JSON ({error})"),
        };
        unreadable(path, reason)
    })?;
    if head.schema == SCHEMA {
        return Ok(());
    }
    let number = |schema: &str| schema.strip_prefix("readpath.run/")?.parse::<u64>().ok();
    let reason = match (number(&head.schema), number(SCHEMA)) {
        (Some(of_file), Some(ours)) => {
            let age = if of_file < ours { "an older" } else { "a newer" };
            format!("its schema {} is of {age} readpath; this one reads {SCHEMA}", head.schema)
        }
        _ => format!("its schema {} is not a run document's", head.schema),
    };
    Err(unreadable(path, reason))
}

/// Whether more than one document begins here, as where a job's runs were printed into one file.
fn holds_several(bytes: &[u8]) -> bool {
    serde_json::Deserializer::from_slice(bytes).into_iter::<Head>().take(2).filter(Result::is_ok).count() == 2
}

fn parse<'de, T: Deserialize<'de>>(path: &Path, bytes: &'de [u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| unreadable(path, format!("it is not a run document ({error})")))
}

fn unreadable(path: &Path, reason: String) -> StoreError {
    StoreError::Unreadable { path: path.into(), reason }
}

/// Counts a list without keeping what is in it; a count that was written as a number is taken as it is.
fn count_of_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(ListCounter)
}

struct ListCounter;

impl<'de> Visitor<'de> for ListCounter {
    type Value = u64;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("a list or its length")
    }

    fn visit_u64<E>(self, count: u64) -> Result<u64, E> {
        Ok(count)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<u64, A::Error> {
        let mut count = 0;
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_several_documents_is_not_called_damaged() {
        let one = format!("{{\"schema\": \"{SCHEMA}\"}}\n");
        let said = |text: &str| check_schema(Path::new("g.json"), text.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(said(&one), Ok(()));
        let several = said(&one.repeat(2)).unwrap_err();
        assert!(several.contains("it holds several documents") && several.contains("jq -c . FILE"), "{several}");
        let list = said(&format!("[{one}, {one}]")).unwrap_err();
        assert!(list.contains("it holds a list") && list.contains("jq -c '.[]' FILE"), "{list}");
        let torn = said(&format!("{one}{{\"sch")).unwrap_err();
        assert!(torn.contains("it is not whole JSON"), "{torn}");
    }

    #[test]
    fn a_document_that_would_be_too_large_to_be_read_again_is_not_kept() {
        let run = Run { schema: SCHEMA.into(), id: "aa-1".into(), ..Run::default() };
        let bytes = text_of(&run).unwrap().len() as u64;
        assert!(text_within(bytes, &run).is_ok());
        let refused = text_within(bytes - 1, &run).unwrap_err().to_string();
        assert!(refused.starts_with("the run aa-1 cannot be kept: its document takes over 0 MiB"), "{refused}");
    }
}
