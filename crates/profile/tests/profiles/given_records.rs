//! The records of the given traces, counted by an independent script, are the records that are read.

// What stands beside the tests of this file is called by them alone.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use profile::input::{self, Given};
use profile::source::oracle::read::{ReadOptions, read};
use profile::source::oracle::record::{Batch, Body, CallKind};
use serde_json::Value;

/// The folder of the given traces, unless it is not on this machine.
fn given() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle");
    let folder = std::env::var_os("READPATH_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    folder.is_dir().then_some(folder)
}

fn count(batch: &Batch, counts: &mut BTreeMap<String, u64>) {
    for record in &batch.records {
        let name = match &record.body {
            Body::Call(call) => match call.kind {
                CallKind::Parse => "PARSE",
                CallKind::Exec => "EXEC",
                CallKind::Fetch => "FETCH",
                CallKind::Close => "CLOSE",
                CallKind::Lob => batch.names[usize::from(call.name)].as_str(),
                CallKind::Unmap | CallKind::SortUnmap | CallKind::Rpc => "other",
            },
            Body::Wait(_) => "WAIT",
            Body::Declaration(index) => {
                assert!(!batch.declarations[*index as usize].is_cut);
                "PARSING IN CURSOR"
            }
            Body::PlanLine(_) => "STAT",
            Body::Binds { .. } => "BINDS",
            Body::TransactionEnd { .. } => "XCTEND",
            Body::Error { .. } => "ERROR",
            Body::ParseError { .. } => "PARSE ERROR",
            Body::Mark(..) => continue,
        };
        *counts.entry(name.into()).or_default() += 1;
    }
}

fn records_of(path: &Path) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let options = ReadOptions { workers: 2, chunk_bytes: ReadOptions::CHUNK_BYTES };
    let mut unread = Vec::new();
    read(input::open(&Given::File(path.into())).unwrap(), options, &mut |batch| {
        count(batch, &mut counts);
        unread.extend(batch.unread.iter().cloned());
    })
    .unwrap();
    let known = ["log writer warning"];
    unread.retain(|unread| !known.contains(&unread.kind));
    assert!(unread.is_empty(), "{}: {unread:?}", path.display());
    counts
}

#[test]
fn no_record_of_a_given_trace_is_missed_and_none_is_made_up() {
    let Some(folder) = given() else {
        println!("skipped: the given traces are not here");
        return;
    };
    let mut compared = 0;
    for entry in fs::read_dir(folder.join("expected")).unwrap() {
        let expected: Value = serde_json::from_str(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        let name = expected["file"].as_str().unwrap();
        let path = [name.to_string(), format!("{name}.gz")].map(|name| folder.join(name));
        let path = path.iter().find(|path| path.exists()).unwrap();
        let found = records_of(path);
        let wanted = expected["records"].as_object().unwrap();
        for (kind, count) in wanted.iter().filter(|(kind, _)| !kind.starts_with("***")) {
            assert_eq!(found.get(kind).copied(), count.as_u64(), "{name}: {kind}");
        }
        compared += 1;
    }
    assert!(compared > 30, "only {compared} files were compared");
}
