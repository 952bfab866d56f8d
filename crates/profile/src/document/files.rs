//! What a run document says of the files that a profile was made of.

use std::collections::HashMap;

use jiff::Timestamp;
use measure::schema::profile::{self as schema, parameters as named};
use measure::sorting;
use measure::{Case, Parameters};
use serde_json::{Value, json};

use crate::document::metrics::case;
use crate::event::Unread;
use crate::ingest::Ingested;
use crate::source::{FileHeader, SourceFile};

/// How the metrics of unread lines were obtained.
const FROM_SCANNER: &str = "scanner";

/// The subject: files, releases, unit of time, wall clock.
pub(crate) fn subject(ingested: &Ingested) -> Parameters {
    let files: Vec<&str> = ingested.files.iter().map(|file| file.name.as_str()).collect();
    let of_files = |of: fn(&FileHeader) -> &Option<String>| -> Value {
        let named = sorting::set(ingested.files.iter().filter_map(|file| of(&file.header).as_deref()));
        named.into_iter().collect()
    };
    let sampled = ingested.profile.sampled.as_ref();
    let mut subject = sampled.map(|sampled| sampled.subject.clone()).unwrap_or_default();
    let mut add = |key: &str, value: Value| subject.insert(key.to_owned(), value);
    if let Some(source) = ingested.source {
        add("source", source.into());
    }
    if sampled.is_none() {
        add("kind", "trace".into());
        if let [file] = files.as_slice() {
            add("path", (*file).into());
        }
        add("files", files.into());
        add("bytes", ingested.files.iter().map(|file| file.bytes).sum::<u64>().into());
        add("versions", of_files(|header| &header.version));
        add("hosts", of_files(|header| &header.host));
        add("instances", of_files(|header| &header.instance));
    }
    let context = &ingested.profile.context;
    let scopes = ingested.profile.scopes.keys().filter_map(|index| context.scopes.get(index.0 as usize));
    let services = sorting::set(scopes.map(|scope| scope.service.as_str()).filter(|name| !name.is_empty()));
    add("services", services.into_iter().collect());
    if sampled.is_none() {
        add("time_scale", scale(&ingested.files));
    }
    // Stamps have milliseconds; the microseconds of an end are computed from the first one.
    let rounded = |micros: i64| micros.saturating_add(500).div_euclid(1_000) * 1_000;
    let clock = |micros: i64| Timestamp::from_microsecond(rounded(micros)).ok().map(|clock| clock.to_string());
    for (key, micros) in [("first_clock", ingested.profile.first_clock), ("last_clock", ingested.profile.last_clock)] {
        if let Some(clock) = micros.and_then(clock) {
            // The stamps are in the server's local time, whatever that is.
            add(key, clock.trim_end_matches('Z').into());
        }
    }
    if let Some(folded) = ingested.folded {
        add("folded_statements", folded.into());
    }
    subject
}

/// By how much times were multiplied; a list in the order of the files where they differ.
fn scale(files: &[SourceFile]) -> Value {
    let scales: Vec<f64> = files.iter().map(|file| file.scale.calls.micros()).collect();
    match scales.as_slice() {
        [first, rest @ ..] if rest.iter().all(|scale| scale == first) => json!(first),
        _ => json!(scales),
    }
}

/// A row for each file and kind of line that was not read; of an archive for each of its files.
pub(crate) fn unread(ingested: &Ingested) -> Vec<Case> {
    let mut rows: Vec<(&str, Unread)> = Vec::new();
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    for file in &ingested.files {
        let within = file.unread_within.iter().map(|(name, unread)| (name.as_str(), unread.clone()));
        let others = file.unread.iter().filter_map(|unread| Some((file.name.as_str(), elsewhere(file, unread)?)));
        // A file of an archive may hold several traces, one behind the other.
        for (name, unread) in within.chain(others) {
            match places.get(&(name, unread.kind)) {
                Some(place) => {
                    rows[*place].1.lines += unread.lines;
                    rows[*place].1.bytes += unread.bytes;
                }
                None => {
                    places.insert((name, unread.kind), rows.len());
                    rows.push((name, unread));
                }
            }
        }
    }
    let case = rows.iter().map(|(file, unread)| {
        let parameters = [named::TABLE.of("unread"), named::FILE.of(*file), named::KIND.of(unread.kind)];
        let metrics = vec![
            schema::LINES.count(FROM_SCANNER, unread.lines),
            schema::BYTES.count(FROM_SCANNER, unread.bytes),
            schema::FIRST_OFFSET.count(FROM_SCANNER, unread.first_offset),
        ];
        case(parameters, metrics)
    });
    case.collect()
}

/// The lines of a kind that stand in no file of an archive whose name is known. Their place is that of the first one in
/// the whole archive.
fn elsewhere(file: &SourceFile, unread: &Unread) -> Option<Unread> {
    let mut left = unread.clone();
    for (_, one) in file.unread_within.iter().filter(|(_, one)| one.kind == unread.kind) {
        left.lines = left.lines.saturating_sub(one.lines);
        left.bytes = left.bytes.saturating_sub(one.bytes);
    }
    (left.lines > 0).then_some(left)
}
