//! A recording's profile is that of the looks that it was made of, within the second's granularity; its times can be
//! cut out; damage and interruptions are said.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use measure::wait_class::Class;
use measure::{Finding, Parameters};
use recording::{Folder, Own, Segment, SegmentName, encode};

use profile::choice::Period;
use profile::document::{Order, Selection};
use profile::event::Ticks;
use profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use profile::input::Problem;
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::observe::skew::{Dimension, Filter, Skew};
use profile::outcome::outcome;
use profile::source::recorded::{IDENTIFIER, MACHINE, Sums, SumsSettings, add_counters};
use profile::source::sampled::{
    Backend, CLIENT, Observed, ProcessorTime, Sample, SampledProfile, State, Traced, TracedRead,
};
use profile::source::{BindValues, ReadOptions, SourceSettings};
use profile::tables::class_sums::class_sums;
use profile::tables::read_tiers::ReadTier;
use profile::tables::sampled::{Counters, OwnCost};

const SECOND: i64 = 1_000_000;
/// 2026-11-23 10:15:00 UTC.
const BEGIN: i64 = 1_795_428_900 * SECOND;

fn backend(pid: u32) -> Arc<Backend> {
    let (kind, user, database) = (CLIENT.into(), "shop".into(), "orders".into());
    Arc::new(Backend { pid, start: i64::from(pid), kind, user, database, application: format!("till {}", pid % 3) })
}

/// A server that works: some sessions, of which one holds a lock now and then for which another one waits.
struct Server {
    random: measure::random::SplitMix64,
    backends: Vec<Arc<Backend>>,
    look: u64,
}

/// The session that ends, and the look from which on it is gone.
const LEAVING: u32 = 8;
const LEAVES: u64 = 100_400;

impl Server {
    fn new(sessions: u32) -> Server {
        let backends = (1..=sessions).map(backend).collect();
        Server { random: measure::random::SplitMix64::new(17), backends, look: 0 }
    }

    fn look(&mut self) -> (Ticks, Vec<Sample>) {
        self.look += 1;
        let since = Ticks::from_micros(500 + self.random.below(1_000) as i64);
        let (look, random) = (self.look, &mut self.random);
        // One ends in the middle of a second.
        let is_there = |backend: &&Arc<Backend>| backend.pid != LEAVING || look < LEAVES;
        let samples = self.backends.iter().filter(is_there).map(|backend| sample(backend, look, random)).collect();
        (since, samples)
    }
}

fn sample(backend: &Arc<Backend>, look: u64, random: &mut measure::random::SplitMix64) -> Sample {
    let pid = u64::from(backend.pid);
    let execution = look / (20 + pid);
    let id = 1 + execution % 3;
    let events = [None, Some("IO:DataFileRead"), Some("LWLock:WALWrite"), Some("IO:WALSync")];
    let event = events[((look / 3 + pid) % 4) as usize];
    let mut sample = Sample {
        backend: Arc::clone(backend),
        state: State::Active,
        event: event.map(Arc::from),
        query_id: (id != 3).then_some(id as i64),
        query_start: Some(execution as i64),
        text: Some(Arc::from(format!("select {execution} from t{id}"))),
        processor: None,
    };
    match backend.pid {
        // One is always idle, one keeps a transaction open, one waits for it for seconds.
        1 => sample = Sample { state: State::Idle, event: Some("Client:ClientRead".into()), ..sample },
        2 => sample = Sample { state: State::IdleInTransaction, event: Some("Client:ClientRead".into()), ..sample },
        3 if look % 9_000 > 2_000 => sample.event = Some("Lock:transactionid".into()),
        4 if event.is_none() => {
            sample.processor = Some(ProcessorTime { ran: Ticks(300), waited: Ticks(100), ..ProcessorTime::default() })
        }
        5 if random.below(4) == 0 => sample.state = State::Idle,
        6 => {
            let kind = Backend { kind: "checkpointer".into(), ..(**backend).clone() };
            sample = Sample { backend: Arc::new(kind), state: State::Background, ..sample };
        }
        _ => {}
    }
    sample
}

/// Writes segments as a recorder does.
fn write(folder: &Path, segments: impl IntoIterator<Item = Segment>) {
    let mut folder = Folder::open(folder).unwrap();
    for mut segment in segments {
        segment.head.number = folder.next();
        let name = SegmentName::new(folder.next(), segment.head.begin, segment.head.end);
        folder.publish(name, &encode(&segment).unwrap()).unwrap();
    }
}

fn subject() -> Parameters {
    let pairs =
        [("kind", "postgres"), ("server", "postgres://shop"), ("version", "15.14"), ("level", "memory and /proc")];
    let mut subject: Parameters = pairs.into_iter().map(|(key, value)| (key.to_string(), value.into())).collect();
    subject.insert("rate".into(), 1000.0.into());
    subject
}

/// A profile of the looks, and their recording.
fn both(folder: &Path, sessions: u32, seconds: i64) -> Ingested {
    let mut server = Server::new(sessions);
    let mut live = SampledProfile::new(BEGIN, THINK_TIME, Instruments::default());
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let (mut now, mut segments) = (Ticks::ZERO, Vec::new());
    while now < Ticks::from_micros(seconds * SECOND) {
        let (since, samples) = server.look();
        now += since;
        live.look(since, &samples);
        segments.extend(sums.look(BEGIN + now.micros() as i64, since, &samples));
        if server.look.is_multiple_of(500) && samples[2].event.as_deref() == Some("Lock:transactionid") {
            let answer = [(3, vec![2])];
            live.blocking(&answer, &samples);
            sums.blocking(&answer);
        }
    }
    segments.extend(sums.take(BEGIN + now.micros() as i64));
    write(folder, segments);
    live.snapshot(&Observed { subject: subject(), rate: 1000.0, ..Observed::default() }).0
}

fn recorded(folder: &Path, period: &str) -> Ingested {
    heard(folder, period, &mut Instruments::default())
}

fn heard(folder: &Path, period: &str, instruments: &mut Instruments) -> Ingested {
    heard_of(&[PathBuf::from(folder)], period, instruments)
}

fn heard_of(folders: &[PathBuf], period: &str, instruments: &mut Instruments) -> Ingested {
    heard_of_chosen(Chosen::of(folders), period, instruments)
}

fn heard_of_chosen(chosen: Chosen, period: &str, instruments: &mut Instruments) -> Ingested {
    let period = if period.is_empty() { Period::default() } else { period.parse().unwrap() };
    let source =
        SourceSettings { unit: None, reading: ReadOptions::of_this_machine(), binds: BindValues::Dropped, period };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    assert_eq!(chosen.row.kind.noun, "a recording");
    ingest(chosen, &settings, instruments, &mut |_, _| ControlFlow::Continue(()))
}

/// The time of a recording second by second, in seconds.
fn by_second(folder: &Path) -> Vec<f64> {
    let skew = Skew::new(Dimension::parse_list("second").unwrap(), Filter::default(), THINK_TIME);
    let mut instruments = Instruments::new(Some(skew));
    let ingested = heard(folder, "", &mut instruments);
    let cases = instruments.cases(&ingested.profile);
    let rows = cases.iter().filter(|case| case.parameter("second").is_some());
    rows.map(|row| row.metric("total").unwrap().median() / 1e6).collect()
}

fn classes(ingested: &Ingested) -> Vec<(Class, f64)> {
    let sums = class_sums(&ingested.profile.whole, &ingested.profile.context);
    sums.into_iter().map(|(class, sums)| (class, sums.total.micros() / 1e6)).collect()
}

/// The statements with their response times in seconds, by their texts.
fn statements(ingested: &Ingested) -> Vec<(String, String, f64)> {
    let profile = &ingested.profile;
    let mut all: Vec<(String, String, f64)> = profile
        .statements
        .iter()
        .map(|one| {
            let known = profile.context.statement(one.statement).unwrap();
            let served = one.response_time() - one.think_time.total - one.idle;
            (known.id.clone(), known.text.clone(), served.micros() / 1e6)
        })
        .filter(|(.., seconds)| *seconds > 0.0)
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn assert_near(one: f64, other: f64, what: &str) {
    assert!((one - other).abs() < 0.01 + 1e-3 * one.abs(), "{what}: {one} and {other}");
}

#[test]
fn the_profile_of_a_recording_is_that_of_the_same_looks_live() {
    let folder = tempfile::tempdir().unwrap();
    let live = both(folder.path(), 8, 150);
    let read = recorded(folder.path(), "");
    assert!(read.problems.is_empty() && read.files.len() == 3, "{:?} {:?}", read.problems, read.files);
    assert_eq!(read.source, live.source);
    let (expected, found) = (classes(&live), classes(&read));
    assert_eq!(expected.len(), found.len(), "{expected:?} {found:?}");
    for ((class, seconds), (other, found)) in expected.into_iter().zip(found) {
        assert_eq!(class, other);
        assert_near(seconds, found, class.key());
    }
    let (expected, found) = (statements(&live), statements(&read));
    assert_eq!(expected.len(), found.len(), "{expected:?} {found:?}");
    for ((id, text, seconds), (other, other_text, found)) in expected.into_iter().zip(found) {
        assert_eq!((&id, &text), (&other, &other_text));
        assert_near(seconds, found, &id);
    }
    let whole = &read.profile.whole;
    assert_eq!(whole.interval, whole.cpu + whole.waits + whole.unaccounted_within + whole.unaccounted_between);
    let [of_live, of_read] = [&live, &read].map(|one| one.profile.sampled.as_ref().unwrap());
    assert_eq!((of_live.looks, of_live.samples), (of_read.looks, of_read.samples));
    assert_eq!(of_live.on_processor, of_read.on_processor);
    assert_near(of_live.db_time.micros() / 1e6, of_read.db_time.micros() / 1e6, "time at work");
    assert_near(of_live.active.mean, of_read.active.mean, "sessions at work");
    assert_near(of_live.active.p95.unwrap(), of_read.active.p95.unwrap(), "p95");
    let background = |of: &profile::tables::sampled::Sampled| of.background.iter().map(|row| row.samples).sum::<u64>();
    assert_eq!(background(of_live), background(of_read));
    let tree = |of: &profile::tables::sampled::Sampled| {
        of.blockers.iter().map(|row| (row.level, row.process.clone(), row.event.clone())).collect::<Vec<_>>()
    };
    assert_eq!(tree(of_live), tree(of_read));
    let blocked = |of: &profile::tables::sampled::Sampled| of.blockers[0].time.micros() / 1e6;
    assert!((blocked(of_live) - blocked(of_read)).abs() < 1.0, "{} and {}", blocked(of_live), blocked(of_read));
    assert_eq!(live.profile.sessions.len(), read.profile.sessions.len());
}

#[test]
fn a_time_is_cut_out_to_the_second_and_parts_add_up() {
    let folder = tempfile::tempdir().unwrap();
    both(folder.path(), 8, 150);
    let interval = |period: &str| recorded(folder.path(), period).profile.whole.interval;
    let all = interval("");
    let parts = interval("..10:16:10") + interval("10:16:10..10:16:20") + interval("10:16:20..");
    assert_eq!(all, parts);
    let ten = recorded(folder.path(), "10:16:10..10:16:20");
    let sampled = ten.profile.sampled.as_ref().unwrap();
    assert!((sampled.time.micros() / 1e6 - 10.0).abs() < 0.01, "{:?}", sampled.time);
    assert_eq!(ten.files.len(), 1, "only the segment of that minute is read");
    assert_eq!(ten.profile.first_clock, Some(BEGIN + 70 * SECOND));
    assert_eq!(ten.profile.last_clock, Some(BEGIN + 80 * SECOND));
    // The sum of the looks from there on would end beside it, elsewhere for each beginning.
    let ends = ["", "10:15:10..", "10:16:10..", "10:16:20..", "10:17:05.."];
    let ends = ends.map(|period| recorded(folder.path(), period).profile.last_clock.unwrap());
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    let none = recorded(folder.path(), "2026-11-22 10:00..2026-11-22 11:00");
    assert!(none.files.is_empty());
    let sentence = none.problems[0].to_string();
    assert!(sentence.starts_with("nothing was recorded from 2026-11-22 10:00:00 to 2026-11-22 11:00:00"), "{sentence}");
    assert!(sentence.contains("from 2026-11-23 10:15:00 to 2026-11-23 10:17:3"), "{sentence}");
    // Times of day are said with their day.
    let sentence = recorded(folder.path(), "07:00..07:10").problems[0].to_string();
    assert!(
        sentence.starts_with("nothing was recorded from 2026-11-23 07:00:00 to 2026-11-23 07:10:00: "),
        "{sentence}"
    );
    // One alone is behind the recording's end as well as ahead of its begin.
    for (period, time) in [("..23:07", "23:07:00"), ("..09:00", "09:00:00")] {
        let sentence = recorded(folder.path(), period).problems[0].to_string();
        assert!(sentence.starts_with(&format!("no day of the recording has the time {time}: ")), "{sentence}");
    }
}

#[test]
fn times_that_were_exchanged_are_told_from_a_time_that_was_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    write_of(folder.path(), "", &[0, 3], &[]);
    let is_backwards = |period: &str| match &recorded(folder.path(), period).problems[..] {
        [Problem::NotRecorded { is_backwards, .. }] => *is_backwards,
        others => panic!("{period}: {others:?}"),
    };
    assert!(is_backwards("10:15:05..10:15:02"));
    assert!(!is_backwards("07:00..07:10") && !is_backwards("..09:00"));
}

#[test]
fn the_time_of_samples_stands_in_the_second_in_which_it_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    // 33 or 34 looks a second, which stand for 0.99 s or 1.02 s.
    let (since, mut segments, mut spent) = (30_000, Vec::new(), vec![0.0; 91]);
    let backend = backend(3);
    for look in 1..=3_000_i64 {
        let event = if look % 4 < 2 { "IO:DataFileRead" } else { "IO:WALSync" };
        let working = Sample {
            backend: Arc::clone(&backend),
            state: State::Active,
            event: Some(event.into()),
            query_id: Some(7),
            query_start: Some(BEGIN),
            text: None,
            processor: None,
        };
        segments.extend(sums.look(BEGIN + look * since, Ticks::from_micros(since), &[working]));
        spent[(look * since / SECOND) as usize] += since as f64 / 1e6;
    }
    segments.extend(sums.take(BEGIN + 3_000 * since));
    write(folder.path(), segments);
    let found = by_second(folder.path());
    assert_eq!(found.len(), spent.len(), "{found:?}");
    for (second, (spent, found)) in spent.into_iter().zip(found).enumerate() {
        assert_near(spent, found, &format!("second {second}"));
    }
}

#[test]
fn a_pause_of_a_minute_within_a_transaction_is_think_time_in_each_of_its_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    // 33 or 34 looks a second, which stand for 0.99 s or 1.02 s: for less than a second, or more.
    let (since, mut segments) = (30_000, Vec::new());
    let pausing = Sample {
        backend: backend(3),
        state: State::IdleInTransaction,
        event: Some("Client:ClientRead".into()),
        query_id: Some(7),
        query_start: Some(BEGIN),
        text: None,
        processor: None,
    };
    for look in 1..=3_000_i64 {
        segments.extend(sums.look(BEGIN + look * since, Ticks::from_micros(since), std::slice::from_ref(&pausing)));
    }
    segments.extend(sums.take(BEGIN + 3_000 * since));
    write(folder.path(), segments);
    let found = classes(&recorded(folder.path(), ""));
    assert!(!found.iter().any(|(class, _)| *class == Class::Network), "{found:?}");
    let think = found.iter().find(|(class, _)| *class == Class::ThinkTime).unwrap();
    assert_near(think.1, 90.0, "across the ends of segments");
    let seconds = by_second(folder.path());
    assert_eq!(seconds.len(), 91, "{seconds:?}");
    assert!(seconds.iter().all(|one| *one < 1.03), "each stands where it was spent: {seconds:?}");
}

#[test]
fn a_clock_that_is_slewed_back_cuts_no_segment_into_pieces() {
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let working = Sample {
        backend: backend(3),
        state: State::Active,
        event: None,
        query_id: Some(7),
        query_start: Some(BEGIN),
        text: None,
        processor: None,
    };
    // Ten minutes, in which the wall clock loses half a millisecond each second.
    let (since, mut segments) = (10_000, 0);
    for look in 1..=60_000_i64 {
        let passed = look * since;
        let wall_clock = BEGIN + passed - passed / 2_000;
        segments +=
            usize::from(sums.look(wall_clock, Ticks::from_micros(since), std::slice::from_ref(&working)).is_some());
    }
    assert!((9..=11).contains(&segments), "{segments} segments of a minute in ten minutes");
}

fn said<'a>(findings: &'a [Finding], id: &str) -> Vec<&'a str> {
    findings.iter().filter(|finding| finding.id == id).map(|finding| finding.message.as_str()).collect()
}

/// A look with this event of one session at work, once in each ms of three seconds, as a recorder's sums.
fn sums_of(event: &str) -> Sums {
    sums_at(BEGIN, subject(), event)
}

/// The same from this time on, of this server.
fn sums_at(begin: i64, subject: Parameters, event: &str) -> Sums {
    sums_doing(begin, subject, Some(event.into()))
}

/// The same of a session that waits for this event, or is on a processor.
fn sums_doing(begin: i64, subject: Parameters, event: Option<Arc<str>>) -> Sums {
    let mut sums = Sums::new(begin, subject, SumsSettings::default());
    let working = Sample {
        backend: backend(3),
        state: State::Active,
        event,
        query_id: Some(7),
        query_start: Some(BEGIN),
        text: None,
        processor: None,
    };
    for look in 1..=3_000 {
        let over = sums.look(begin + look * 1_000, Ticks::from_micros(1_000), std::slice::from_ref(&working));
        assert!(over.is_none());
    }
    sums
}

/// Writes segments of three seconds each, which begin at these seconds, into the folder of this name; its path.
fn write_from(parent: &Path, name: &str, seconds: &[i64], server: &str) -> PathBuf {
    write_of(parent, name, seconds, &[("server", server)])
}

/// The same of a server of which the recorder says this.
fn write_of(parent: &Path, name: &str, seconds: &[i64], said: &[(&str, &str)]) -> PathBuf {
    let mut subject = subject();
    subject.extend(said.iter().map(|(key, value)| (key.to_string(), (*value).into())));
    let segment = |seconds: &i64| {
        let begin = BEGIN + seconds * SECOND;
        sums_at(begin, subject.clone(), "IO:DataFileRead").take(begin + 3 * SECOND).unwrap()
    };
    let folder = parent.join(name);
    write(&folder, seconds.iter().map(segment));
    folder
}

/// The recording of a day, of two segments; its folder.
fn write_day(parent: &Path, day: i64, server: &str) -> PathBuf {
    write_from(parent, &format!("day{day}"), &[0, 3].map(|seconds| 86_400 * day + seconds), server)
}

/// The folder of each file, in the order in which they were read.
fn folders(read: &Ingested) -> Vec<String> {
    let folder = |name: &str| Path::new(name).parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    read.files.iter().map(|file| folder(&file.name)).collect()
}

#[test]
fn recordings_of_two_days_are_read_one_behind_the_other_though_both_are_numbered_from_1() {
    let folder = tempfile::tempdir().unwrap();
    let days = [1, 0].map(|day| write_day(folder.path(), day, "postgres://shop"));
    let read = heard_of(&days, "", &mut Instruments::default());
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    assert_eq!(folders(&read), ["day0", "day0", "day1", "day1"]);
    let lost = read.profile.sampled.as_ref().unwrap().lost;
    assert_near(lost.micros() / 1e6, 86_394.0, "between the two days");
}

#[test]
fn recordings_of_two_servers_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let days = [(0, "postgres://shop/a"), (1, "postgres://stock/a")].map(|(day, at)| write_day(folder.path(), day, at));
    let read = heard_of(&days, "", &mut Instruments::default());
    assert_eq!(folders(&read), ["day0", "day0"]);
    let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("was recorded on postgres://stock/a, and others on"), "{said:?}");
    assert!(!read.has_all_named(&days), "a folder is left out as a whole");
    // Another user and another database are those of the same server, and its usual port need not be written.
    let other = tempfile::tempdir().unwrap();
    let days = [(0, "postgres://shop/a"), (1, "postgres://me@shop/b"), (2, "postgres://shop:5432/a")];
    let days = days.map(|(day, at)| write_day(other.path(), day, at));
    let read = heard_of(&days, "", &mut Instruments::default());
    assert!(read.problems.is_empty() && read.files.len() == 6, "{:?}", read.problems);
}

#[test]
fn servers_of_two_machines_that_are_reached_by_one_socket_path_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let server = ("server", "postgres://postgres@/postgres?host=/var/run/postgresql");
    let write = |name: &str, seconds: i64, machine: &[(&str, &str)]| {
        write_of(folder.path(), name, &[seconds], &[&[server][..], machine].concat())
    };
    let first = write("first", 0, &[(MACHINE, "db1")]);
    let again = write("again", 60, &[(MACHINE, "db1")]);
    let earlier = write("earlier", 120, &[]);
    let other = write("other", 180, &[(MACHINE, "db2")]);
    let read = heard_of(&[first.clone(), again, other], "", &mut Instruments::default());
    assert_eq!(folders(&read), ["first", "again"]);
    let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    let is_said = said[0].contains("/var/run/postgresql of the machine db2, and others on");
    assert!(said.len() == 1 && is_said && said[0].contains("of the machine db1: profile its folder"), "{said:?}");
    assert!(!read.profile.sampled.as_ref().unwrap().subject.contains_key(MACHINE));
    // A recording of an earlier version names no machine.
    let read = heard_of(&[first, earlier], "", &mut Instruments::default());
    assert!(read.problems.is_empty() && folders(&read) == ["first", "earlier"], "{:?}", read.problems);
}

#[test]
fn a_folder_that_two_versions_recorded_to_is_of_the_machine_that_the_later_one_names() {
    let folder = tempfile::tempdir().unwrap();
    let server = ("server", "postgres://postgres@localhost/postgres");
    let earlier = |name: &str, seconds: i64| write_of(folder.path(), name, &[seconds], &[server]);
    let later = |name: &str, seconds: i64, machine: &str| {
        write_of(folder.path(), name, &[seconds], &[server, (MACHINE, machine)])
    };
    let first = earlier("first", 0);
    later("first", 60, "db1");
    let folders_given = [first, earlier("second", 120), later("third", 180, "db1"), later("other", 240, "db2")];
    let read = heard_of(&folders_given, "", &mut Instruments::default());
    assert_eq!(folders(&read), ["first", "first", "second", "third"]);
    assert_eq!(read.problems.len(), 1, "{:?}", read.problems);
}

#[test]
fn a_server_that_had_two_addresses_in_one_folder_has_both_in_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name, seconds, server| write_from(folder.path(), name, &[seconds], server);
    let first = write("first", 0, "postgres://shop/a");
    write("first", 3, "postgres://10.0.0.5/a");
    let read = heard_of(&[first, write("second", 60, "postgres://shop/a")], "", &mut Instruments::default());
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    assert_eq!(folders(&read), ["first", "first", "second"]);
}

#[test]
fn two_servers_that_were_recorded_into_one_folder_are_not_merged() {
    let read = |said: [&[(&str, &str)]; 2]| {
        let folder = tempfile::tempdir().unwrap();
        let path = write_of(folder.path(), "one", &[0], said[0]);
        write_of(folder.path(), "one", &[3], said[1]);
        heard_of(&[path], "", &mut Instruments::default())
    };
    let [first, second] = ["741", "742"].map(|identifier| (IDENTIFIER, identifier));
    let two = read([&[first], &[second]]);
    let said: Vec<String> = two.problems.iter().map(ToString::to_string).collect();
    assert_eq!((two.files.len(), said.len()), (1, 1), "{said:?}");
    assert!(said[0].contains("postgres://shop, system identifier 742, and others on postgres://shop, system "));
    assert!(said[0].contains("the time of each (--from, --to)"), "{said:?}");
    assert!(!two.profile.sampled.as_ref().unwrap().subject.contains_key(IDENTIFIER));
    // It has two addresses, or an earlier version recorded it, or it was upgraded.
    let other = ("server", "postgres://10.0.0.5");
    let [upgraded, to_beta] = ["16.2", "19beta1"].map(|version| [second, ("version", version)]);
    let one: [[&[(&str, &str)]; 2]; 4] =
        [[&[first], &[first, other]], [&[first], &[]], [&[first], &upgraded], [&[first], &to_beta]];
    for said in one {
        let read = read(said);
        assert!(read.problems.is_empty() && read.files.len() == 2, "{said:?}: {:?}", read.problems);
    }
    let moved = read([&[first], &[second, other, ("version", "16.2")]]);
    assert_eq!(moved.files.len(), 1, "no upgrade of the first");
}

#[test]
fn a_recording_in_an_archive_is_said_to_be_one_to_unpack() {
    let folder = tempfile::tempdir().unwrap();
    let one = write_of(folder.path(), "one", &[0], &[]);
    let segment = fs::read_dir(one).unwrap().next().unwrap().unwrap().path();
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_path_with_name(&segment, segment.file_name().unwrap()).unwrap();
    let path = folder.path().join("one.tar");
    fs::write(&path, archive.into_inner().unwrap()).unwrap();
    let said = heard_of(&[path], "", &mut Instruments::default()).problems[0].to_string();
    assert!(said.contains("unpack it first if it is an archive of segments"), "{said}");
}

#[test]
fn a_time_within_a_second_of_a_recording_takes_all_of_that_second() {
    let folder = tempfile::tempdir().unwrap();
    write_of(folder.path(), "", &[0], &[]);
    let times = |period: &str| {
        let profile = recorded(folder.path(), period).profile;
        (profile.first_clock, profile.last_clock, profile.sampled.unwrap().time)
    };
    for period in ["10:15:01.5..10:15:01.7", "-1.5s..-1.2s"] {
        assert_eq!(times(period), times("10:15:01..10:15:02"), "{period}");
    }
    assert_eq!(times("..10:15:01.5"), times("..10:15:02"));
}

#[test]
fn a_time_before_the_end_counts_from_the_whole_second_in_which_the_last_segment_ends() {
    let folder = tempfile::tempdir().unwrap();
    let begin = BEGIN + 400_000;
    write(folder.path(), sums_doing(begin, subject(), None).take(begin + 3 * SECOND));
    let seconds = |period: &str| {
        let read = recorded(folder.path(), period);
        read.profile.sampled.as_ref().unwrap().time.micros() / 1e6
    };
    assert_near(seconds(""), 3.0, "from 10:15:00.4 to 10:15:03.4");
    assert_near(seconds("-2s.."), 1.4, "from 10:15:02 on, two seconds before 10:15:04");
}

#[test]
fn a_log_or_a_trace_in_the_folder_of_a_recording_does_not_take_its_place_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let monday = write_from(folder.path(), "monday", &[0], "postgres://shop");
    let plan = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:\n\t{\n\t  \
                \"Query Text\": \"select 1\",\n\t  \"Plan\": {\"Node Type\": \"Result\", \
                \"Actual Total Time\": 4.000, \"Actual Rows\": 1, \"Actual Loops\": 1}\n\t}\n";
    let call = "EXEC #1:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=1000\n";
    fs::write(monday.join("pg.log"), plan).unwrap();
    let left_out = |read: &Ingested, name: &str| {
        let said = format!("{name} is left out because the inputs are read as recordings: profile it separately");
        read.profile.sampled.is_some() && read.problems.iter().any(|problem| problem.to_string().ends_with(&said))
    };
    let read = recorded(&monday, "");
    assert!(left_out(&read, "/pg.log"), "{:?} {:?}", read.source, read.problems);
    fs::write(monday.join("a.trc"), call).unwrap();
    let read = recorded(&monday, "");
    assert!(left_out(&read, "/pg.log") && left_out(&read, "/a.trc"), "{:?} {:?}", read.source, read.problems);
    // A log that is named is what was meant.
    assert_eq!(Chosen::of(&[monday.join("pg.log"), monday]).row.kind.noun, "a server log");
}

#[test]
fn recordings_that_were_written_in_turn_are_read_in_turn_and_end_with_the_last_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, seconds: &[i64]| write_from(folder.path(), name, seconds, "postgres://shop");
    let days = [write("monday", &[0, 600]), write("tuesday", &[300])];
    let read = heard_of(&days, "", &mut Instruments::default());
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    assert_eq!(folders(&read), ["monday", "tuesday", "monday"]);
    let lost = read.profile.sampled.as_ref().unwrap().lost;
    assert_near(lost.micros() / 1e6, 2.0 * 297.0, "between the segments");
    let read = heard_of(&days, "-10s..", &mut Instruments::default());
    assert_eq!(folders(&read), ["monday"], "ten seconds before the end of all of them");
}

#[test]
fn a_time_that_two_recordings_have_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = |read: &Ingested| read.profile.whole.interval.micros() / 1e6;
    let whole = write_day(folder.path(), 0, "postgres://shop");
    let copy = folder.path().join("second");
    fs::create_dir(&copy).unwrap();
    for (name, _) in recording::segments(&whole).unwrap() {
        fs::copy(whole.join(name.to_string()), copy.join(name.to_string())).unwrap();
    }
    let both = [whole.clone(), copy];
    let read = heard_of(&both, "", &mut Instruments::default());
    assert_near(seconds(&read), 6.0, "a copy adds nothing");
    assert!(read.has_all_named(&both), "and nothing is missing");
    assert_eq!(folders(&read), ["day0", "day0"]);
    let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("/second/") && said[0].contains("is a copy of"), "{said:?}");
    // What was recorded at the same time and is no copy may be another server's.
    let same = [whole.clone(), write_from(folder.path(), "same", &[1], "postgres://shop")];
    let read = heard_of(&same, "", &mut Instruments::default());
    assert!(read.problems[0].to_string().contains("counts once") && !read.has_all_named(&same), "{:?}", read.problems);
    // Of one that goes on beyond the other, the rest counts.
    let later = write_from(folder.path(), "third", &[4, 7], "postgres://shop");
    let read = heard_of(&[whole, later], "", &mut Instruments::default());
    assert!(read.problems.is_empty() && read.files.len() == 4, "{:?}", read.problems);
    // The second in which the one ends is not cut more finely than the rows of the other are.
    let seconds = seconds(&read);
    assert!((9.5..11.0).contains(&seconds), "from the begin of the one to the end of the other: {seconds}");
}

#[test]
fn of_a_second_that_two_recordings_have_that_counts_which_has_gone_on_without_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, seconds: &[i64]| write_from(folder.path(), name, seconds, "postgres://shop");
    let read = |recordings: &[PathBuf]| folders(&heard_of(recordings, "", &mut Instruments::default()));
    let paused = [write("paused", &[0, 3, 12]), write("steady", &[3, 6, 9, 12])];
    let expected = ["paused", "paused", "steady", "steady", "steady"];
    assert_eq!(read(&paused), expected);
    assert_eq!(read(&[paused[1].clone(), paused[0].clone()]), expected, "however they are named");
    let together = [write("second", &[100]), write("first", &[100, 103])];
    assert_eq!(read(&together), ["first", "first"], "of equals the first by its path");
}

#[test]
fn a_segment_in_the_place_of_a_damaged_one_of_another_recording_does_not_end_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, seconds: &[i64]| write_from(folder.path(), name, seconds, "postgres://shop");
    let both = [write("damaged", &[0, 3, 6]), write("whole", &[3])];
    let middle = recording::segments(&both[0]).unwrap()[1].0.to_string();
    fs::write(both[0].join(middle), "").unwrap();
    let read = heard_of(&both, "10:15:00..10:15:09", &mut Instruments::default());
    assert_eq!(folders(&read), ["damaged", "damaged", "whole"]);
    assert_eq!(read.profile.last_clock, Some(BEGIN + 9 * SECOND));
    let away = said(&read.findings, "server-went-away").join(" ");
    assert!(!away.contains("the last part of the time asked for"), "{away}");
}

#[test]
fn a_clock_that_was_set_back_and_another_name_of_a_folder_lose_no_segment() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, seconds: &[i64]| write_from(folder.path(), name, seconds, "postgres://shop");
    // The first segment is of a clock that was ahead by 1000 s; the other folder has a time of its own.
    let days = [write("ahead", &[1000, 0, 100, 200]), write("between", &[700])];
    let read = heard_of(&days, "", &mut Instruments::default());
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    assert_eq!(read.files.len(), 5);
    let again = folder.path().join("between").join("..").join("ahead");
    let files: Vec<PathBuf> =
        recording::segments(&days[0]).unwrap().iter().map(|(name, _)| name.to_string().into()).collect();
    let read = heard_of(&[days[0].join(&files[0]), again], "", &mut Instruments::default());
    let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    assert!(!said.iter().any(|one| one.contains("counts once")) && read.files.len() == 4, "{said:?}");
}

#[test]
fn a_recordings_profile_says_what_the_recording_took() {
    let folder = tempfile::tempdir().unwrap();
    let mut segment = sums_of("IO:DataFileRead").take(BEGIN + 3 * SECOND).unwrap();
    let without = recorded_of(folder.path(), segment.clone());
    assert_eq!((without.cpu, without.session), (None, None));
    segment.own = Some(Own { cpu: 60_000_000, session: Some(15_000_000) });
    let own = recorded_of(folder.path(), segment);
    assert_near(own.cpu.unwrap(), 0.02, "CPU of the recorder");
    assert_near(own.session.unwrap(), 0.005, "its session's time");
}

#[test]
fn no_time_is_divided_by_what_the_server_counted_in_a_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let counted = |seconds: i64| {
        let begin = BEGIN + seconds * SECOND;
        let mut segment = sums_doing(begin, subject(), None).take(begin + 3 * SECOND).unwrap();
        let counters = Counters { executions: 300, rows: 300, hits: 3_000, reads: 0 };
        add_counters(&mut segment, &[(7, (counters, "select $1".to_string()))].into());
        segment
    };
    write(folder.path(), [0, 3].map(counted));
    let all_said = |period: &str| {
        let mut read = recorded(folder.path(), period);
        let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
        outcome(&mut read, &Instruments::default(), &selection).findings
    };
    let whole = all_said("");
    assert!(said(&whole, "practice-cpu")[0].contains("600 executions of 10.0 ms CPU"), "{whole:?}");
    assert_eq!(said(&whole, "answer-logical-read").len(), 1, "{whole:?}");
    // Four seconds, and what was counted in the last three of them.
    let part = all_said("-4s..");
    let of_cpu = said(&part, "practice-cpu");
    assert!(of_cpu.len() == 1 && !of_cpu[0].contains("executions of"), "{of_cpu:?}");
    assert!(said(&part, "answer-logical-read").is_empty(), "{part:?}");
    assert!(said(&part, "sampled-level")[0].contains("no time is divided by them"), "{part:?}");
    // What was counted in no whole segment was recorded all the same.
    let within = all_said("-2s..");
    assert!(said(&within, "sampled-level")[0].contains("of whole minutes: the profile's time has none"), "{within:?}");
}

#[test]
fn no_time_is_divided_by_what_the_server_counted_where_a_whole_segment_has_no_counters() {
    let folder = tempfile::tempdir().unwrap();
    let of = |seconds: i64, is_counted: bool, account: Option<i64>| {
        let begin = BEGIN + seconds * SECOND;
        let mut segment = sums_doing(begin, subject(), None).take(begin + 3 * SECOND).unwrap();
        if is_counted {
            let counters = Counters { executions: 300, rows: 300, hits: 3_000, reads: 0 };
            add_counters(&mut segment, &[(7, (counters, "select $1".to_string()))].into());
        }
        Segment { account, ..segment }
    };
    let all_said = |segments: [Segment; 2]| {
        fs::read_dir(folder.path()).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
        write(folder.path(), segments);
        let mut read = recorded(folder.path(), "");
        let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
        outcome(&mut read, &Instruments::default(), &selection).findings
    };
    // The recorder ended before the server was asked: a half of the time has no executions.
    let ended = all_said([of(0, true, Some(3_000_000_000)), of(3, false, None)]);
    assert!(!said(&ended, "practice-cpu")[0].contains("executions of"), "{ended:?}");
    let level = said(&ended, "sampled-level")[0];
    assert!(level.contains("ended with their recorder") && level.contains("no time is divided"), "{level}");
    // It was asked, and nothing had ended meanwhile.
    let asked = all_said([of(0, true, Some(3_000_000_000)), of(3, false, Some(3_000_000_000))]);
    assert!(said(&asked, "practice-cpu")[0].contains("300 executions of"), "{asked:?}");
}

#[test]
fn a_statement_of_an_hour_of_a_session_that_memory_shows_and_the_server_does_not_is_no_unaccounted_time() {
    let refused = |hidden: u64| {
        let folder = tempfile::tempdir().unwrap();
        let segment = sums_doing(BEGIN, subject(), None).take(BEGIN + 3 * SECOND).unwrap();
        write(folder.path(), [Segment { account: Some(3_600_000_000_000), hidden, ..segment }]);
        let mut read = recorded(folder.path(), "");
        let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
        let found = outcome(&mut read, &Instruments::default(), &selection).findings;
        said(&found, "no-db-time").iter().any(|one| one.contains("sessions that may not be seen"))
    };
    assert_eq!([0, 1].map(refused), [false, true]);
}

#[test]
fn a_time_that_begins_or_ends_among_segments_with_one_answer_has_no_account_and_no_executions() {
    let folder = tempfile::tempdir().unwrap();
    // The server answered for the second and the third segment together.
    let of = |(seconds, micros): (i64, i64)| {
        let begin = BEGIN + seconds * SECOND;
        let mut segment = sums_doing(begin, subject(), None).take(begin + 3 * SECOND).unwrap();
        if micros > 0 {
            let counters = Counters { executions: 300, rows: 300, hits: 3_000, reads: 0 };
            add_counters(&mut segment, &[(7, (counters, "select $1".to_string()))].into());
        }
        let own = Some(Own { cpu: 1, session: Some(micros) });
        Segment { account: Some(1_000 * micros), own, ..segment }
    };
    write(folder.path(), [(0, 3_000_000), (3, 0), (6, 6_000_000), (9, 3_000_000)].map(of));
    let all_said = |period: &str| {
        let mut read = recorded(folder.path(), period);
        let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
        outcome(&mut read, &Instruments::default(), &selection).findings
    };
    for whole in ["", "10:15:03..10:15:09", "10:15:09.."] {
        let found = all_said(whole);
        assert!(said(&found, "no-db-time").is_empty(), "{whole}: {found:?}");
        assert!(!said(&found, "sampled-level")[0].contains("no time is divided"), "{whole}: {found:?}");
    }
    for cut in ["..10:15:06", "10:15:06..", "10:15:03..10:15:06", "10:15:06..10:15:09"] {
        let found = all_said(cut);
        assert!(said(&found, "no-db-time")[0].contains("have one account together"), "{cut}: {found:?}");
        assert!(said(&found, "practice-cpu").iter().all(|one| !one.contains("executions of")), "{cut}: {found:?}");
    }
    let cut = all_said("..10:15:06");
    assert!(said(&cut, "sampled-level")[0].contains("begins or ends among them"), "{cut:?}");
}

#[test]
fn whether_running_was_told_from_waiting_for_a_processor_is_said_of_all_segments_and_not_of_the_last_alone() {
    let of = |levels: [&str; 2]| {
        let folder = tempfile::tempdir().unwrap();
        let segment = |(seconds, level): (i64, &str)| {
            let (begin, mut subject) = (BEGIN + seconds * SECOND, subject());
            subject.extend([("level".to_string(), level.into())]);
            sums_doing(begin, subject, None).take(begin + 3 * SECOND).unwrap()
        };
        write(folder.path(), [(0, levels[0]), (3, levels[1])].map(segment));
        let mut read = recorded(folder.path(), "");
        let holds_waits = read.profile.sampled.as_ref().unwrap().held_by_cpu().is_some();
        let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
        let found = outcome(&mut read, &Instruments::default(), &selection).findings;
        (said(&found, "sampled-level")[0].to_string(), holds_waits)
    };
    let (with, without) = ("memory and /proc", "memory");
    let (level, holds_waits) = of([with, with]);
    assert!(!level.contains("not distinguished") && !holds_waits, "{level}");
    let (level, holds_waits) = of([without, without]);
    assert!(level.contains("Running was not distinguished") && holds_waits, "{level}");
    for levels in [[with, without], [without, with]] {
        let (level, holds_waits) = of(levels);
        assert!(level.contains("In a part of the time, running was not") && holds_waits, "{levels:?}: {level}");
    }
}

#[test]
fn a_recorder_that_was_started_anew_with_another_rate_is_not_said_to_have_missed_it_before() {
    let folder = tempfile::tempdir().unwrap();
    // A thousand looks a second each.
    let of = |(seconds, rate, level): (i64, f64, &str)| {
        let begin = BEGIN + seconds * SECOND;
        let mut subject = subject();
        subject.extend([("rate".to_string(), rate.into()), ("level".to_string(), level.into())]);
        sums_at(begin, subject, "IO:DataFileRead").take(begin + 3 * SECOND).unwrap()
    };
    write(folder.path(), [(0, 250.0, "sql and /proc"), (3, 1500.0, "memory and /proc")].map(of));
    let mut read = recorded(folder.path(), "");
    let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
    let findings = outcome(&mut read, &Instruments::default(), &selection).findings;
    let level = said(&findings, "sampled-level")[0];
    assert!(level.contains("samples of the server's shared memory and of pg_stat_activity, 875 a second"), "{level}");
    assert!(said(&findings, "sampling-rate-not-reached").is_empty(), "{findings:?}");
}

#[test]
fn a_segment_that_its_recorder_removes_while_the_folder_is_read_is_no_failure() {
    let parent = tempfile::tempdir().unwrap();
    let folder = write_from(parent.path(), "shop", &[0, 3], "postgres://shop");
    let oldest = recording::segments(&folder).unwrap()[0].0.to_string();
    let chosen = Chosen::of(std::slice::from_ref(&folder));
    fs::remove_file(folder.join(&oldest)).unwrap();
    let read = heard_of_chosen(chosen, "", &mut Instruments::default());
    assert!(read.files.len() == 1 && read.problems.is_empty(), "{:?}", read.problems);
    // One that is named and was never there is another matter.
    let read = heard_of(&[folder.join(&oldest), folder], "", &mut Instruments::default());
    assert!(read.files.len() == 1 && read.problems.len() == 1, "{:?}", read.problems);
}

#[test]
fn a_time_that_begins_or_ends_where_nothing_was_recorded_is_not_taken_for_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = sums_of("IO:DataFileRead");
    let before = sums.lose(BEGIN + 13 * SECOND, Ticks::from_micros(10 * SECOND), "the server was away");
    for look in 1..=3_000 {
        assert!(sums.look(BEGIN + 13 * SECOND + look * 1_000, Ticks::from_micros(1_000), &[]).is_none());
    }
    write(folder.path(), before.into_iter().chain(sums.take(BEGIN + 16 * SECOND)));
    let told = |period: &str| {
        let read = recorded(folder.path(), period);
        said(&read.findings, "server-went-away").into_iter().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(told("10:15:01..10:15:03"), Vec::<String>::new(), "all of it is there");
    let [ahead, behind] = <[String; 2]>::try_from(told("10:15:05..10:15:30")).unwrap();
    assert!(ahead.starts_with("There are no samples of 8.00 s: the server was away."), "{ahead}");
    assert!(behind.contains("14.0 s: the last part of the time asked for was not recorded."), "{behind}");
    let early = told("10:14:50..10:15:03");
    assert!(early.len() == 1 && early[0].contains("10.0 s: the first part of the time asked for was"), "{early:?}");
    // The limits of the recorder have removed what came before the server was away.
    let oldest = recording::segments(folder.path()).unwrap()[0].0.to_string();
    fs::remove_file(folder.path().join(oldest)).unwrap();
    let removed = told("10:14:50..10:15:16");
    assert!(removed.len() == 1 && removed[0].contains("23.0 s: the first part of the time"), "{removed:?}");
}

#[test]
fn a_server_that_was_upgraded_is_not_said_to_have_had_its_last_version_all_the_time() {
    let level = |versions: [&str; 2]| {
        let folder = tempfile::tempdir().unwrap();
        let of = |(seconds, version): (i64, &str)| {
            let begin = BEGIN + seconds * SECOND;
            let mut subject = subject();
            subject.extend([("version".to_string(), version.into())]);
            sums_at(begin, subject, "IO:DataFileRead").take(begin + 3 * SECOND).unwrap()
        };
        write(folder.path(), [(0, versions[0]), (3, versions[1])].map(of));
        let mut read = recorded(folder.path(), "");
        let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
        let found = outcome(&mut read, &Instruments::default(), &selection).findings;
        said(&found, "sampled-level")[0].to_string()
    };
    let upgraded = level(["17.4", "18.1"]);
    assert!(upgraded.contains("of several versions: 17.4, then 18.1."), "{upgraded}");
    assert!(!level(["18.1"; 2]).contains("several versions"));
}

/// The cost in the profile of a folder that has this segment alone.
fn recorded_of(folder: &Path, segment: Segment) -> OwnCost {
    fs::read_dir(folder).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    write(folder, [segment]);
    recorded(folder, "").profile.sampled.unwrap().own
}

#[test]
fn a_wait_whose_name_was_learned_while_it_was_recorded_has_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = sums_of("IO:#7");
    sums.rename("IO:#7", "IO:DataFileRead");
    write(folder.path(), sums.take(BEGIN + 3 * SECOND));
    let profile = recorded(folder.path(), "").profile;
    let names: Vec<&str> = profile.whole.events.keys().map(|event| profile.context.event_name(*event)).collect();
    assert_eq!(names, ["IO:DataFileRead"]);
}

#[test]
fn a_segment_that_is_damaged_is_a_sentence_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    both(folder.path(), 8, 150);
    let all = recording::segments(folder.path()).unwrap();
    let second = folder.path().join(all[1].0.to_string());
    let whole = fs::read(&second).unwrap();
    fs::write(&second, &whole[..whole.len() / 2]).unwrap();
    let read = recorded(folder.path(), "");
    let said = read.problems[0].to_string();
    assert!(read.problems.len() == 1 && said.contains("could not be read: it is damaged"), "{said}");
    let sampled = read.profile.sampled.as_ref().unwrap();
    let (time, lost) = (sampled.time.micros() / 1e6, sampled.lost.micros() / 1e6);
    assert!((85.0..95.0).contains(&time) && (59.0..61.0).contains(&lost), "{time} s, {lost} s lost");
    // One that has lost its first bytes, or all of them, is still named like a segment.
    for (left, says) in [(&b""[..], "it is damaged"), (&whole[8..], "it is not a segment")] {
        fs::write(&second, left).unwrap();
        let read = recorded(folder.path(), "");
        let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains(&format!("could not be read: {says}")), "{said:?}");
        assert_eq!(read.files.len(), 2);
    }
    all.iter().for_each(|(name, _)| fs::write(folder.path().join(name.to_string()), "").unwrap());
    let read = recorded(folder.path(), "");
    assert!(read.files.is_empty() && read.problems.len() == all.len(), "{:?}", read.problems);
}

#[test]
fn a_time_of_segments_that_were_left_out_is_not_said_to_have_had_no_recorder() {
    let away = |identifier: &str, is_damaged: bool| {
        let folder = tempfile::tempdir().unwrap();
        let first = [(IDENTIFIER, "741")];
        let path = write_of(folder.path(), "one", &[0], &first);
        write_of(folder.path(), "one", &[60], &[(IDENTIFIER, identifier)]);
        write_of(folder.path(), "one", &[120], &first);
        if is_damaged {
            let middle = recording::segments(&path).unwrap()[1].0.to_string();
            fs::write(path.join(middle), "").unwrap();
        }
        said(&recorded(&path, "").findings, "server-went-away").join(" ")
    };
    for (identifier, is_damaged) in [("742", false), ("741", true)] {
        let away = away(identifier, is_damaged);
        assert!(away.contains("or segments of that time were left out, as damaged or another server's"), "{away}");
    }
    let all = away("741", false);
    assert!(all.contains("no recorder ran") && !all.contains("left out"), "{all}");
}

#[test]
fn a_recording_of_the_same_server_is_not_said_to_be_another_ones_perhaps() {
    let told = |said: [&[(&str, &str)]; 2]| {
        let folder = tempfile::tempdir().unwrap();
        let long = write_of(folder.path(), "long", &[0, 3], said[0]);
        let same = write_of(folder.path(), "same", &[1], said[1]);
        heard_of(&[long, same], "", &mut Instruments::default()).problems[0].to_string()
    };
    let known = [(IDENTIFIER, "741")];
    let same = told([&known, &known]);
    assert!(same.ends_with("that time counts once"), "{same}");
    for said in [[&known[..], &known[..0]], [&known[..0], &known[..]]] {
        assert!(told(said).ends_with("if it is another server's, profile its folder separately"), "{said:?}");
    }
}

#[test]
fn a_restart_of_the_server_a_pause_and_a_clock_that_is_set_are_told_and_lose_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::new(7);
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let (mut wall, mut segments) = (BEGIN, Vec::new());
    let mut record = |sums: &mut Sums, wall: &mut i64, seconds: i64, segments: &mut Vec<Segment>| {
        let end = *wall + seconds * SECOND;
        while *wall < end {
            let (since, samples) = server.look();
            *wall += since.micros() as i64;
            segments.extend(sums.look(*wall, since, &samples));
        }
    };
    record(&mut sums, &mut wall, 20, &mut segments);
    segments.extend(sums.take(wall));
    wall += 30 * SECOND;
    segments.extend(sums.lose(wall, Ticks::from_micros(30 * SECOND), "the server went away"));
    record(&mut sums, &mut wall, 20, &mut segments);
    // The clock is set back by an hour: the segments keep their order.
    wall -= 3_600 * SECOND;
    record(&mut sums, &mut wall, 20, &mut segments);
    segments.extend(sums.take(wall));
    let numbers: Vec<i64> = segments.iter().map(|segment| segment.head.begin).collect();
    assert!(numbers.windows(2).any(|pair| pair[1] < pair[0]), "{numbers:?}");
    write(folder.path(), segments);
    let read = recorded(folder.path(), "");
    let sampled = read.profile.sampled.as_ref().unwrap();
    let (time, lost) = (sampled.time.micros() / 1e6, sampled.lost.micros() / 1e6);
    assert!((59.0..61.0).contains(&time) && (29.0..31.0).contains(&lost), "{time} s, {lost} s lost");
    let away = said(&read.findings, "server-went-away");
    assert!(away.len() == 1 && away[0].contains("the server went away"), "{away:?}");
}

/// Three seconds of a session at work that were recorded this many years after 2026, about.
fn segment_after(years: i64) -> Segment {
    let mut segment = sums_of("IO:DataFileRead").take(BEGIN + 3 * SECOND).unwrap();
    let by = years * 365 * 86_400 * SECOND;
    let Segment { head, looks, samples, .. } = &mut segment;
    let times = looks.iter_mut().map(|one| &mut one.at).chain(samples.iter_mut().map(|one| &mut one.at));
    times.chain([&mut head.begin, &mut head.end]).for_each(|at| *at += by);
    segment
}

#[test]
fn a_clock_that_leaps_by_centuries_overflows_no_time() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), [0, 3_000, -100].map(segment_after));
    let read = recorded(folder.path(), "");
    let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    assert!(said.len() == 2 && said.iter().all(|one| one.contains("before 1970 or after 2199")), "{said:?}");
    assert_near(read.profile.whole.interval.micros() / 1e6, 3.0, "the rest is read");
    // From about 1972 to 2196 and back, at each start of the recorder.
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), (0..12).flat_map(|start| [start - 54, 170 - start]).map(segment_after));
    let read = recorded(folder.path(), "");
    assert!(read.problems.is_empty() && read.files.len() == 24, "{:?}", read.problems);
    assert_near(read.profile.whole.interval.micros() / 1e6, 72.0, "all of it");
}

#[test]
fn slow_looks_across_the_ends_of_segments_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let (since, mut segments) = (900_000, Vec::new());
    let backend = backend(3);
    for look in 1..=400 {
        let samples = [sample(&backend, 1, &mut measure::random::SplitMix64::new(1))];
        segments.extend(sums.look(BEGIN + look * since, Ticks::from_micros(since), &samples));
    }
    segments.extend(sums.take(BEGIN + 400 * since));
    assert!(segments.len() > 5, "{}", segments.len());
    let gaps = segments.windows(2).map(|pair| pair[1].head.begin - pair[0].head.end);
    assert_eq!(gaps.filter(|gap| *gap != 0).count(), 0);
    write(folder.path(), segments);
    let read = recorded(folder.path(), "");
    let sampled = read.profile.sampled.as_ref().unwrap();
    assert_eq!(sampled.lost, Ticks::ZERO);
    assert!(said(&read.findings, "server-went-away").is_empty());
}

#[test]
fn idle_sessions_take_next_to_no_room_and_memory_has_its_bounds() {
    let backends: Vec<Arc<Backend>> = (1..=500).map(backend).collect();
    let idle = |backend: &Arc<Backend>| Sample {
        backend: Arc::clone(backend),
        state: State::Idle,
        event: Some("Client:ClientRead".into()),
        query_id: None,
        query_start: None,
        text: None,
        processor: None,
    };
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let (since, mut over) = (Ticks::from_micros(50_000), None);
    for look in 1..=1_200 {
        let samples: Vec<Sample> = backends.iter().map(idle).collect();
        over = over.or(sums.look(BEGIN + look * 50_000, since, &samples));
    }
    let segment = over.or_else(|| sums.take(BEGIN + 60 * SECOND)).unwrap();
    assert_eq!(segment.samples.len(), 500, "one row for a session that does one thing for a minute");
    assert_eq!(segment.samples[0].seconds, 60);
    // Sessions that come and go, each with a statement of its own, end a segment early.
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let (mut rows, mut segments) = (0, 0);
    for look in 1..=60_i64 {
        let pids = (0..12_000).map(|number| look as u32 * 12_000 + number);
        let samples: Vec<Sample> = pids
            .map(|pid| Sample {
                state: State::Active,
                query_id: Some(i64::from(pid)),
                text: Some(Arc::from(format!("select {pid}"))),
                ..idle(&backend(pid))
            })
            .collect();
        if let Some(segment) = sums.look(BEGIN + look * SECOND, Ticks::from_micros(SECOND), &samples) {
            assert!(segment.rows() < 600_000 && segment.statements.len() < 20_000, "{}", segment.rows());
            (rows, segments) = (rows + segment.samples.len(), segments + 1);
        }
    }
    assert!(segments >= 1 && rows >= 500_000, "{segments} segments, {rows} rows");
}

#[test]
fn texts_are_left_out_where_that_is_asked_for_and_statements_are_told_apart_all_the_same() {
    let mut server = Server::new(8);
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings { keeps_texts: false, ..SumsSettings::default() });
    let mut now = BEGIN;
    for _ in 0..3_000 {
        let (since, samples) = server.look();
        now += since.micros() as i64;
        assert!(sums.look(now, since, &samples).is_none());
    }
    let segment = sums.take(now).unwrap();
    assert!(segment.statements.len() > 3 && segment.statements.iter().all(|one| one.text.is_empty()));
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), [segment]);
    let read = recorded(folder.path(), "");
    assert_eq!(statements(&read).len(), 3, "{:?}", statements(&read));
}

/// Some 1600 reads a second of 50 sessions: of a table and its index by each of seven statements, from the page cache
/// and from the device.
fn traced(now: i64, random: &mut measure::random::SplitMix64) -> Traced {
    let read = |random: &mut measure::random::SplitMix64| {
        let is_cached = random.below(3) > 0;
        let micros = if is_cached { 2 + random.below(7) } else { 80 + random.below(900) } as i64;
        TracedRead {
            process: 1 + random.below(50) as u32,
            begun: now - 400,
            elapsed: Ticks::from_micros(micros),
            tier: if is_cached { ReadTier::PageCache } else { ReadTier::Device },
            file: format!("base/5/{}", random.below(2)).into(),
            block: random.below(40_000),
            blocks: 1,
            bytes: 8192,
            queue: Ticks::from_micros(micros / 20),
            service: Ticks::from_micros(micros / 2),
        }
    };
    Traced { reads: (0..8).map(|_| read(random)).collect(), records: 40, ..Traced::default() }
}

#[test]
fn an_hour_of_fifty_busy_sessions_takes_ten_megabytes_at_most() {
    // Seven statements of a transaction, each with its waits: some 12 rows a session and second.
    let events = [None, Some("IO:WALSync"), Some("LWLock:WALWrite"), Some("Lock:transactionid"), Some("Lock:tuple")];
    let backends: Vec<Arc<Backend>> = (1..=50).map(backend).collect();
    let mut random = measure::random::SplitMix64::new(7);
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let (mut bytes, mut segments, mut reads, mut now) = (0, 0, 0, BEGIN);
    let text = |id| Arc::from(format!("UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE {id}"));
    let texts: Vec<Arc<str>> = (0..=7).map(text).collect();
    // Two minutes at 200 looks a second: as many rows as at 1000.
    while now < BEGIN + 120 * SECOND {
        let micros = 2_500 + random.below(5_000) as i64;
        now += micros;
        let samples: Vec<Sample> = backends
            .iter()
            .map(|backend| {
                let id = 1 + random.below(7) as i64;
                let event = match id {
                    7 => events[1 + random.below(2) as usize],
                    3 | 4 => events[random.below(2) as usize * (2 + random.below(3) as usize)],
                    _ => None,
                };
                let state = if random.below(4) == 0 { State::IdleInTransaction } else { State::Active };
                Sample {
                    backend: Arc::clone(backend),
                    state,
                    event: event.map(Arc::from),
                    query_id: Some(id),
                    query_start: Some(now),
                    text: Some(Arc::clone(&texts[id as usize])),
                    processor: Some(ProcessorTime {
                        ran: Ticks(random.below(900) as i64),
                        waited: Ticks(100),
                        ..ProcessorTime::default()
                    }),
                }
            })
            .collect();
        if let Some(segment) = sums.look(now, Ticks::from_micros(micros), &samples) {
            bytes += encode(&segment).unwrap().len();
            (segments, reads) = (segments + segment.samples.len(), reads + segment.reads.len());
        }
        sums.trace(now, &samples, traced(now, &mut random));
    }
    bytes += sums.take(now).map_or(0, |segment| encode(&segment).unwrap().len());
    let an_hour = bytes as f64 * 30.0 / 1e6;
    let a_slice = reads as f64 / 12.0;
    println!(
        "{an_hour:.2} MB an hour, {:.1} rows a session and second, {a_slice:.1} rows of reads in 10 s",
        segments as f64 / 50.0 / 120.0
    );
    assert!(an_hour < 10.0, "{an_hour} MB an hour");
}
