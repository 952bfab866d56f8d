//! A recording's tables of reads are those of the same reads live, within the width of a row; a time of it has the
//! reads of that time, and a whole one closes to the server's account.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use measure::Parameters;
use measure::random::SplitMix64;
use recording::{Folder, Segment, SegmentName, encode};

use profile::choice::Period;
use profile::event::Ticks;
use profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::source::recorded::{Sums, SumsSettings, name_relations};
use profile::source::sampled::{
    Backend, CLIENT, Observed, Sample, SampledProfile, State, Traced, TracedRead, TracedRequest,
};
use profile::source::{BindValues, ReadOptions, SourceSettings};
use profile::tables::read_tiers::{ByTier, Leaning, Purpose, ReadTier, ReadTiers, Reader};

const SECOND: i64 = 1_000_000;
/// 2026-11-23 10:15:00 UTC.
const BEGIN: i64 = 1_795_428_900 * SECOND;

/// Between two looks, in microseconds.
const LOOK: i64 = 2_000;

/// Sessions, each with a statement of its own, and what runs beside them.
const SESSIONS: u32 = 4;
const CHECKPOINTER: u32 = 90;
/// A process that no sample shows.
const UNSEEN: u32 = 91;

fn sample(pid: u32, look: i64) -> Sample {
    let is_client = pid < CHECKPOINTER;
    let kind = if is_client { CLIENT } else { "checkpointer" };
    let backend = Backend { pid, start: 1, kind: kind.into(), ..Backend::default() };
    Sample {
        backend: Arc::new(backend),
        state: if is_client { State::Active } else { State::Background },
        event: None,
        query_id: is_client.then_some(i64::from(pid) + 70),
        query_start: is_client.then_some(BEGIN + look / 50 * 50 * LOOK),
        text: None,
        processor: None,
    }
}

fn samples(look: i64) -> Vec<Sample> {
    (1..=SESSIONS).chain([CHECKPOINTER]).map(|pid| sample(pid, look)).collect()
}

/// What was traced until a look: reads of all tiers, the slower ones by the later sessions.
fn traced(at: i64, random: &mut SplitMix64) -> Traced {
    let read = |random: &mut SplitMix64| {
        let tier = [ReadTier::PageCache, ReadTier::PageCache, ReadTier::Device, ReadTier::InFlight, ReadTier::NotSeen]
            [random.below(5) as usize];
        let blocks = 1 << random.below(4);
        let micros = if tier == ReadTier::PageCache { 2 + random.below(5) } else { 90 + random.below(400) } as i64;
        let pids = [1, 2, 3, SESSIONS, CHECKPOINTER, UNSEEN];
        TracedRead {
            process: pids[random.below(6) as usize],
            begun: at - 1_000,
            elapsed: Ticks::from_micros(micros),
            tier,
            file: format!("base/5/{}", random.below(3)).into(),
            block: random.below(30_000),
            blocks,
            bytes: 8192 * blocks,
            queue: Ticks::from_micros(micros / 9),
            service: Ticks::from_micros(micros / 2),
        }
    };
    let requests = (0..2).map(|_| TracedRequest {
        process: 1 + random.below(4) as u32,
        begun: at - 900,
        purpose: [Purpose::Waited, Purpose::Ahead, Purpose::Prefetch][random.below(3) as usize],
        bytes: 8192,
        queue: Ticks::from_micros(3),
        service: Ticks::from_micros(70),
    });
    let requests = requests.collect();
    Traced { reads: (0..6).map(|_| read(random)).collect(), requests, records: 60, lost: 1, ..Traced::default() }
}

fn subject() -> Parameters {
    let pairs = [("kind", "postgres"), ("version", "15.14"), ("level", "memory and /proc")];
    let mut subject: Parameters = pairs.into_iter().map(|(key, value)| (key.to_string(), value.into())).collect();
    for (key, value) in [("rate", 500), ("block_bytes", 8192), ("shared_buffers", 1 << 20)] {
        subject.insert(key.into(), value.into());
    }
    subject
}

/// The names of the relations by their files.
fn names() -> BTreeMap<String, String> {
    (0..3).map(|number| (format!("base/5/{number}"), format!("public.t{number}"))).collect()
}

/// A profile of looks and reads, and their recording with the account of each segment.
fn both(folder: &Path, seconds: i64, account: Option<i64>) -> Ingested {
    let mut random = SplitMix64::new(5);
    let mut live = SampledProfile::new(BEGIN, THINK_TIME, Instruments::default());
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    let mut segments: Vec<Segment> = Vec::new();
    for look in 1..seconds * SECOND / LOOK {
        let (at, since, samples) = (BEGIN + look * LOOK, Ticks::from_micros(LOOK), samples(look));
        live.look(since, &samples);
        segments.extend(sums.look(at, since, &samples));
        let traced = traced(at, &mut random);
        live.trace(at, &samples, traced.clone());
        sums.trace(at, &samples, traced);
    }
    segments.extend(sums.take(BEGIN + seconds * SECOND));
    for segment in &mut segments {
        name_relations(segment, &names());
        segment.account = account;
    }
    write(folder, segments);
    let observed = Observed {
        subject: subject(),
        relations: names(),
        block_bytes: 8192,
        buffer_bytes: 1 << 20,
        ..Observed::default()
    };
    live.snapshot(&observed).0
}

fn write(folder: &Path, segments: Vec<Segment>) {
    let mut folder = Folder::open(folder).unwrap();
    for mut segment in segments {
        segment.head.number = folder.next();
        let name = SegmentName::new(folder.next(), segment.head.begin, segment.head.end);
        folder.publish(name, &encode(&segment).unwrap()).unwrap();
    }
}

fn recorded(folder: &Path, period: &str) -> Ingested {
    let period = if period.is_empty() { Period::default() } else { period.parse().unwrap() };
    let source =
        SourceSettings { unit: None, reading: ReadOptions::of_this_machine(), binds: BindValues::Dropped, period };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let chosen = Chosen::of(&[PathBuf::from(folder)]);
    ingest(chosen, &settings, &mut Instruments::default(), &mut |_, _| ControlFlow::Continue(()))
}

fn reads(of: &Ingested) -> &ReadTiers {
    of.profile.sampled.as_ref().unwrap().reads.as_ref().expect("reads were traced")
}

/// Rows by who read: names and sums, with what leans on the page cache.
fn readers(of: &Ingested) -> BTreeMap<String, (ByTier, Option<Leaning>)> {
    let name = |reader: &Reader| match reader {
        Reader::Statement(index) => of.profile.context.statement_id(*index).to_string(),
        other => format!("{other:?}"),
    };
    reads(of).readers.iter().map(|row| (name(&row.reader), (row.tiers, row.leaning.clone()))).collect()
}

fn said(of: &Ingested, id: &str) -> Option<String> {
    of.findings.iter().find(|finding| finding.id == id).map(|finding| finding.message.clone())
}

#[test]
fn the_reads_of_a_recording_are_those_of_the_same_reads_live() {
    let folder = tempfile::tempdir().unwrap();
    let live = both(folder.path(), 90, None);
    let read = recorded(folder.path(), "");
    assert!(read.problems.is_empty() && read.files.len() == 2, "{:?}", read.problems);
    let [of_live, of_read] = [&live, &read].map(reads);
    assert_eq!(of_live.whole(), of_read.whole());
    assert_eq!((of_live.records, of_live.lost), (of_read.records, of_read.lost));
    assert_eq!(of_live.requests, of_read.requests);
    let (expected, found) = (readers(&live), readers(&read));
    assert!(expected.keys().eq(found.keys()) && expected.len() == 6, "{:?} {:?}", expected.keys(), found.keys());
    for (name, (sums, leaning)) in &expected {
        let (other, other_leaning) = &found[name];
        // At the end of a segment some reads have no sample behind them yet.
        let off = sums.all().reads.abs_diff(other.all().reads);
        assert!(off <= 6, "{name}: {} and {}", sums.all().reads, other.all().reads);
        let (Some(one), Some(other)) = (leaning, other_leaning) else { panic!("{name}: {leaning:?}") };
        let share = |one: f64, other: f64| (one / other - 1.0).abs();
        let times = [one, other].map(|of| of.from_device.unwrap().micros());
        assert!(share(times[0], times[1]) < 0.01, "{name}: {times:?}");
        assert!(one.blocks.abs_diff(other.blocks) <= one.blocks_error + 2 * other.blocks_error, "{one:?} {other:?}");
        assert!(other.blocks_error > 0 && other.relations.iter().all(|name| name.starts_with("public.t")));
    }
    let relations = |of: &ReadTiers| {
        of.relations.iter().map(|row| (row.name.clone(), row.tiers)).collect::<BTreeMap<String, ByTier>>()
    };
    assert_eq!(relations(of_live), relations(of_read));
    for (one, other) in of_live.tiers.iter().zip(&of_read.tiers) {
        assert_eq!((one.tier, one.latency.n), (other.tier, other.latency.n));
        assert!((one.latency.median / other.latency.median - 1.0).abs() < 0.5, "{one:?} {other:?}");
        let buckets = |row: &profile::tables::read_tiers::TierRow| {
            row.histogram.iter().map(|(bucket, filled)| (bucket, filled.count)).collect::<Vec<_>>()
        };
        assert_eq!(buckets(one), buckets(other));
    }
    assert!(of_read.hills.is_empty() && of_read.block_bytes == 8192 && of_read.buffer_bytes == 1 << 20);
    let level = said(&read, "sampled-level").unwrap();
    assert!(level.contains("told which tier answered each read of a file, as sums of 10 s"), "{level}");
}

#[test]
fn a_time_of_a_recording_has_the_reads_of_that_time_and_parts_add_up() {
    let folder = tempfile::tempdir().unwrap();
    both(folder.path(), 60, None);
    let of = |period: &str| reads(&recorded(folder.path(), period)).whole().all().reads;
    let (all, middle) = (of(""), of("10:15:20..10:15:40"));
    assert_eq!(all, of("..10:15:20") + middle + of("10:15:40.."));
    assert!(middle.abs_diff(all / 3) < all / 50, "{middle} of {all}");
}

#[test]
fn a_time_of_a_recording_has_no_blocks_that_were_read_outside_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut random, mut sums) = (SplitMix64::new(7), Sums::new(BEGIN, subject(), SumsSettings::default()));
    for look in 1..55 * SECOND / LOOK {
        let (at, samples) = (BEGIN + look * LOOK, samples(look));
        assert!(sums.look(at, Ticks::from_micros(LOOK), &samples).is_none());
        // The first session reads all the time, the second one in the first ten seconds alone.
        let process = if look < 5_000 { 1 + random.below(2) as u32 } else { 1 };
        let read = TracedRead {
            process,
            begun: at - 1_000,
            elapsed: Ticks::from_micros(3),
            tier: ReadTier::PageCache,
            file: format!("base/5/{process}").into(),
            block: random.below(1 << 30),
            blocks: 1,
            bytes: 8192,
            queue: Ticks::ZERO,
            service: Ticks::ZERO,
        };
        sums.trace(at, &samples, Traced { reads: vec![read], records: 3, ..Traced::default() });
    }
    write(folder.path(), vec![sums.take(BEGIN + 55 * SECOND).unwrap()]);
    let whole = readers(&recorded(folder.path(), ""));
    assert!(["71", "72"].iter().all(|id| whole.contains_key(*id)), "{:?}", whole.keys());
    let found = readers(&recorded(folder.path(), "10:15:40..10:15:50"));
    assert!(!found.contains_key("72"), "what read nothing then has no row: {:?}", found.keys());
    let (tiers, leaning) = &found["71"];
    let (read, different) = (tiers.of(ReadTier::PageCache).blocks, leaning.as_ref().unwrap().blocks);
    assert!((4_900..5_100).contains(&read) && different <= read, "{different} different ones of {read}");
}

#[test]
fn a_whole_recording_closes_to_the_servers_account_and_a_part_of_a_segment_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let account = 5 * 60 * 1_000_000_000;
    both(folder.path(), 60, Some(account));
    let whole = recorded(folder.path(), "");
    let sampled = whole.profile.sampled.as_ref().unwrap();
    assert_eq!(sampled.db_time_of_server, Some(Ticks::from_nanos(account.cast_unsigned())));
    let missed = whole.profile.whole.unaccounted_between.micros() / 1e6;
    assert!((59.0..61.0).contains(&missed), "four sessions were sampled, the server counts five: {missed} s");
    let part = recorded(folder.path(), "10:15:10..10:15:20");
    assert!(said(&part, "no-db-time").unwrap().contains("within a segment"), "{:?}", part.findings);
    let folder = tempfile::tempdir().unwrap();
    both(folder.path(), 10, None);
    assert!(said(&recorded(folder.path(), ""), "no-db-time").unwrap().contains("recorded without it"));
}

#[test]
fn a_recording_without_reads_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = Sums::new(BEGIN, subject(), SumsSettings::default());
    sums.set_subject(subject(), Some("the server runs on another machine"));
    for look in 1..=500 {
        assert!(sums.look(BEGIN + look * LOOK, Ticks::from_micros(LOOK), &samples(look)).is_none());
    }
    write(folder.path(), vec![sums.take(BEGIN + SECOND).unwrap()]);
    let read = recorded(folder.path(), "");
    assert!(read.profile.sampled.as_ref().unwrap().reads.is_none());
    let level = said(&read, "sampled-level").unwrap();
    assert!(level.contains("was not recorded: the server runs on another machine."), "{level}");
}
