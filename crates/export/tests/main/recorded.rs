//! The shipped SQL over a recording gives what its profile has, when DuckDB runs it in the recording's folder.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use export::queries::{QUERIES_OF_RECORDINGS, query};
use measure::Parameters;
use profile::choice::Period;
use profile::event::Ticks;
use profile::ingest::{Chosen, IngestSettings, ingest};
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::source::recorded::{Sums, SumsSettings, add_counters};
use profile::source::sampled::{Backend, CLIENT, ProcessorTime, Sample, State};
use profile::source::{BindValues, ReadOptions, SourceSettings};
use profile::tables::Profile;
use profile::tables::sampled::Counters;
use recording::{Folder, Segment, SegmentName, encode};

use crate::python::{self, has};

/// 2026-11-23 10:15:00 UTC, in microseconds.
const BEGIN: i64 = 1_795_428_900_000_000;

/// The rows that DuckDB gives for a query in a folder, as texts; null is `-`.
fn rows(folder: &Path, name: &str) -> Vec<Vec<String>> {
    python::rows(folder, query(name).unwrap())
}

fn sample(pid: u32, look: i64, event: Option<&str>) -> Sample {
    let (kind, user, database) = (CLIENT.into(), "shop".into(), "orders".into());
    let backend = Backend { pid, start: BEGIN - 1, kind, user, database, application: String::new() };
    Sample {
        backend: Arc::new(backend),
        state: State::Active,
        event: event.map(Arc::from),
        query_id: Some(i64::from(pid % 3)),
        query_start: Some(look / 40),
        text: Some(Arc::from(format!("select {}", pid % 3))),
        processor: event.is_none().then_some(ProcessorTime {
            ran: Ticks(3),
            waited: Ticks(1),
            ..ProcessorTime::default()
        }),
    }
}

fn write(folder: &mut Folder, segment: Option<Segment>) {
    let Some(mut segment) = segment else { return };
    segment.head.number = folder.next();
    let counted = (Counters { executions: 10, rows: 20, hits: 300, reads: 4 }, "select $1".to_string());
    add_counters(&mut segment, &[(1, counted)].into_iter().collect());
    let name = SegmentName::new(folder.next(), segment.head.begin, segment.head.end);
    folder.publish(name, &encode(&segment).unwrap()).unwrap();
}

/// Records 90 seconds at 20 looks each: sessions that work, one that waits for a lock, one that is idle.
fn record(path: &Path) {
    let subject: Parameters = [("rate".to_string(), 20.0.into())].into_iter().collect();
    let mut folder = Folder::open(path).unwrap();
    let mut sums = Sums::new(BEGIN, subject, SumsSettings::default());
    for look in 1..=1_800_i64 {
        let events = [None, Some("IO:DataFileRead"), Some("LWLock:WALWrite")];
        let mut samples: Vec<Sample> =
            (1..=6).map(|pid| sample(pid, look, events[(look / 5 + i64::from(pid)) as usize % 3])).collect();
        samples.push(sample(7, look, Some("Lock:tuple")));
        samples.push(Sample { state: State::Idle, ..sample(8, look, Some("Client:ClientRead")) });
        let over = sums.look(BEGIN + look * 50_000, Ticks::from_micros(50_000), &samples);
        write(&mut folder, over);
        if look % 10 == 0 {
            sums.blocking(&[(7, vec![1])]);
        }
    }
    write(&mut folder, sums.take(BEGIN + 90_000_000));
}

fn profile_of(folder: &Path) -> Profile {
    let (reading, period) = (ReadOptions::of_this_machine(), Period::default());
    let source = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let chosen = Chosen::of(&[PathBuf::from(folder)]);
    let ingested = ingest(chosen, &settings, &mut Instruments::default(), &mut |_, _| ControlFlow::Continue(()));
    assert!(ingested.problems.is_empty(), "{:?}", ingested.problems);
    ingested.profile
}

fn ns(time: Ticks) -> i64 {
    time.nanos().unwrap()
}

#[test]
fn the_sql_over_a_recording_gives_its_profile_to_the_nanosecond() {
    if !has("duckdb") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let profile = profile_of(folder.path());
    let number = |text: &String| text.parse::<i64>().unwrap();

    let mut events: BTreeMap<String, i64> = BTreeMap::new();
    for (index, sums) in &profile.whole.events {
        let name = profile.context.event_name(*index);
        let name = if name == "Processor:RunQueue" { "" } else { name };
        *events.entry(name.to_string()).or_default() += ns(sums.inside);
    }
    *events.entry(String::new()).or_default() += ns(profile.whole.cpu);
    events.retain(|_, time| *time > 0);
    let found: BTreeMap<String, i64> =
        rows(folder.path(), "recorded-events").iter().map(|row| (row[0].clone(), number(&row[2]))).collect();
    assert_eq!(found, events);

    let mut statements: BTreeMap<String, i64> = BTreeMap::new();
    for one in profile.statements.iter().filter(|one| !one.calls.is_empty()) {
        statements.insert(profile.context.statement_id(one.statement).to_string(), ns(one.own.elapsed));
    }
    let rows_of_statements = rows(folder.path(), "recorded-statements");
    let found: BTreeMap<String, i64> = rows_of_statements.iter().map(|row| (row[0].clone(), number(&row[2]))).collect();
    assert_eq!(found, statements);
    let counted = rows_of_statements.iter().find(|row| row[0] == "1").unwrap();
    assert_eq!(counted[4..], ["20", "40", "600", "8", "select $1"].map(String::from), "of two segments");
    let counters = profile.sampled.as_ref().unwrap().counters.as_ref().unwrap();
    assert_eq!(counters.values().map(|one| one.reads).sum::<u64>(), 8);

    let minutes = rows(folder.path(), "recorded-minutes");
    assert_eq!(
        minutes.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(),
        ["2026-11-23 10:15:00", "2026-11-23 10:16:00"]
    );
    let db_time: i64 = minutes.iter().map(|row| number(&row[2])).sum();
    assert_eq!(db_time, ns(profile.sampled.as_ref().unwrap().db_time));
    let sessions = rows(folder.path(), "recorded-sessions");
    assert_eq!((sessions.len(), number(&sessions[7][5])), (8, 0), "the idle one is last");
    assert!(number(&sessions[7][7]) > 89_900_000_000);
    let blockers = rows(folder.path(), "recorded-blockers");
    assert_eq!((blockers.len(), &blockers[0][..3]), (1, &["1", "7", "Lock:tuple"].map(String::from)[..]));
    let waited = number(&blockers[0][5]);
    assert!((88_000_000_000..=90_000_000_000).contains(&waited), "{waited}");
}

#[test]
fn a_session_that_waits_for_two_others_within_a_second_has_its_time_once_in_all() {
    if !has("duckdb") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    let mut sums = Sums::new(BEGIN, Parameters::new(), SumsSettings::default());
    for look in 1..=400_i64 {
        let waiting = sample(7, look, Some("Lock:tuple"));
        sums.look(BEGIN + look * 50_000, Ticks::from_micros(50_000), &[waiting]);
        // Each second has an answer that names the one, and an answer that names the other.
        if look % 10 == 5 {
            sums.blocking(&[(7, vec![if look % 20 == 5 { 1 } else { 2 }])]);
        }
    }
    write(&mut folder, sums.take(BEGIN + 20_000_000));
    let blockers = rows(place.path(), "recorded-blockers");
    let waited: Vec<f64> = blockers.iter().map(|row| row[5].parse::<f64>().unwrap() / 1e9).collect();
    assert!(waited.len() == 2 && waited.iter().all(|seconds| (9.5..10.5).contains(seconds)), "{blockers:?}");
}

#[test]
fn every_query_over_recordings_runs_where_there_is_one_look_alone() {
    if !has("duckdb") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    let mut sums = Sums::new(BEGIN, Parameters::new(), SumsSettings::default());
    sums.look(BEGIN, Ticks::from_micros(1_000), &[]);
    let mut segment = sums.take(BEGIN).unwrap();
    segment.head.number = 1;
    folder.publish(SegmentName::new(1, BEGIN, BEGIN), &encode(&segment).unwrap()).unwrap();
    for (name, _) in QUERIES_OF_RECORDINGS {
        assert_eq!(rows(place.path(), name).is_empty(), name != "recorded-minutes", "{name}");
    }
}
