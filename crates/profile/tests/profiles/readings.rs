//! Readings, miss curve and breakdowns of the real traces, against values that an independent script computed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use profile::event::block_wait::{BlockWait, BlockWaitKind};
use profile::event::{Accounted, Context, Observer, Ticks, TimeScale, Unit, Wait};
use profile::observe::miss_curve::MissCurve;
use profile::observe::readings::{Readings, TierLabel, logical_io};
use profile::observe::skew::{Breakdown, Dimension, Filter, Skew};
use profile::source::oracle::account::Accounting;
use serde_json::Value;

/// Hands a trace to an observer, in its own unit.
fn observe(path: &Path, observer: &mut dyn Observer) -> Accounted {
    let batch = crate::support::scan(&crate::support::read(path));
    let mut accounting = Accounting::new();
    accounting.begin_file(TimeScale::given(Unit::Microsecond));
    accounting.batch(&batch, observer);
    accounting.end_file(observer);
    accounting.finish(observer)
}

/// A trace with its expected values, and its time by three sets of dimensions.
struct Seen {
    path: PathBuf,
    values: Value,
    by_file: Breakdown,
    by_block: Breakdown,
    by_event: Breakdown,
}

/// Every trace that has expected values. Each is read once for all tests.
fn seen() -> Option<&'static [Seen]> {
    static ALL: OnceLock<Option<Vec<Seen>>> = OnceLock::new();
    ALL.get_or_init(|| crate::support::traces().map(|folder| all_seen(&folder))).as_deref()
}

fn all_seen(folder: &Path) -> Vec<Seen> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder.join("expected")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let values = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").replace(".expected.json", "");
        let path = folder.join(name);
        let [mut by_file, mut by_block, mut by_event] = ["event,file", "event,block", "event"].map(|by| {
            let by = Dimension::parse_list(by).expect("dimensions");
            Skew::new(by, Filter::parse::<&str>(&[]).expect("a filter"), Ticks::from_micros(1_000_000))
        });
        let accounted = observe(&path, &mut (&mut by_file, &mut (&mut by_block, &mut by_event)));
        let [by_file, by_block, by_event] =
            [by_file, by_block, by_event].map(|skew| skew.breakdown(&accounted.context));
        all.push(Seen { path, values, by_file, by_block, by_event });
    }
    assert!(!all.is_empty(), "no expected values");
    all
}

#[test]
fn reads_by_file_are_those_of_the_script() {
    let Some(all) = seen() else { return println!("skipped: the real traces are not here") };
    let mut compared = 0;
    for Seen { path, values, by_file, .. } in all {
        let rows: BTreeMap<String, (u64, f64)> =
            by_file.rows.iter().map(|row| (row.values.join("|"), (row.sums.count, row.sums.total.micros()))).collect();
        for (key, file) in values["io_by_file"].as_object().into_iter().flatten() {
            let theirs = (file["n"].as_u64().expect("n"), file["us"].as_f64().expect("us"));
            assert_eq!(rows.get(key), Some(&theirs), "{}: {key}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 16, "only {compared} files compared");
}

#[test]
fn the_slowest_blocks_are_those_of_the_script() {
    let Some(all) = seen() else { return println!("skipped: the real traces are not here") };
    let mut compared = 0;
    for Seen { path, values, by_block, .. } in all {
        let rows: BTreeMap<String, (u64, f64)> =
            by_block.rows.iter().map(|row| (row.values.join("|"), (row.sums.count, row.sums.total.micros()))).collect();
        for hot in values["hot_blocks_top10"].as_array().into_iter().flatten() {
            let key = format!("{}|{}:{}", hot["event"].as_str().expect("event"), hot["file"], hot["block"]);
            let theirs = (hot["n"].as_u64().expect("n"), hot["us"].as_f64().expect("us"));
            assert_eq!(rows.get(&key), Some(&theirs), "{}: {key}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 50, "only {compared} blocks compared");
}

#[test]
fn everything_by_event_is_the_cpu_and_the_waits_of_the_trace() {
    let Some(all) = seen() else { return println!("skipped: the real traces are not here") };
    for Seen { path, values, by_event, .. } in all {
        let rows = &by_event.rows;
        let total = |event: &str| {
            rows.iter()
                .find(|row| row.values == [event])
                .map_or((0, 0.0), |row| (row.sums.count, row.sums.total.micros()))
        };
        assert_eq!(total("CPU").1, values["total_self"]["c"].as_f64().expect("c"), "{}", path.display());
        let events = values["events"].as_object().expect("events");
        for (event, sums) in events {
            let theirs = (sums["n"].as_u64().expect("n"), sums["us"].as_f64().expect("us"));
            assert_eq!(total(event), theirs, "{}: {event}", path.display());
        }
        let calls = usize::from(total("CPU").0 > 0);
        assert_eq!(rows.len(), events.len() + calls, "{}", path.display());
    }
}

/// Hears waits for blocks.
struct Blocks<F>(F);

impl<F: FnMut(&BlockWait, Ticks)> Observer for Blocks<F> {
    fn wait(&mut self, context: &Context, wait: &Wait) {
        if let Some(block_wait) = BlockWait::of(context, wait) {
            (self.0)(&block_wait, wait.elapsed);
        }
    }
}

fn observe_blocks(path: &Path, add: impl FnMut(&BlockWait, Ticks)) {
    observe(path, &mut Blocks(add));
}

#[test]
fn random_reads_of_a_cluster_show_a_storage_cache_and_a_disk() {
    let Some(folder) = crate::support::traces() else { return println!("skipped: the real traces are not here") };
    let path = folder.join("12101_rac_random_reads.trc.gz");
    let (mut readings, mut curve) = (Readings::default(), MissCurve::default());
    observe_blocks(&path, |wait, time| {
        readings.add(wait, time);
        curve.add(wait, time);
    });
    let reads = readings.accesses(BlockWaitKind::SingleBlock).expect("reads");
    let statistics = reads.latency.statistics().expect("statistics");
    assert_eq!((statistics.n, reads.latency.time().micros()), (29_249, 174_948_112.0));
    assert_eq!((statistics.min, statistics.max), (307.0, 101_870.0));
    let tiers = readings.tiers(BlockWaitKind::SingleBlock);
    let labels: Vec<TierLabel> = tiers.iter().map(|tier| tier.label).collect();
    assert_eq!(labels, [TierLabel::StorageCache, TierLabel::Disk], "{tiers:?}");
    // The script counts 6 367 reads below 1 024 µs and 7 530 below 2 048 µs: the valley lies between.
    assert!((6367..=7530).contains(&tiers[0].count), "{tiers:?}");
    assert_eq!(tiers.iter().map(|tier| tier.count).sum::<u64>(), 29_249);
    assert_eq!(tiers.iter().map(|tier| tier.time).sum::<Ticks>(), reads.latency.time());
    assert_eq!((curve.reads(), curve.sampled_share()), (29_249, 1.0));
}

#[test]
fn a_scan_reads_as_many_blocks_a_request_as_its_lines_say() {
    let Some(folder) = crate::support::traces() else { return println!("skipped: the real traces are not here") };
    let (mut readings, mut curve) = (Readings::default(), MissCurve::default());
    observe_blocks(&folder.join("11203_ora_28030.trc.gz"), |wait, time| {
        readings.add(wait, time);
        curve.add(wait, time);
    });
    let scattered = readings.accesses(BlockWaitKind::MultiBlock).expect("scattered reads");
    assert_eq!((scattered.sizes.count(), scattered.sizes.blocks()), (530, 38_462));
    assert_eq!(scattered.latency.time().micros(), 2_791_697.0);
    let mean = scattered.sizes.statistics().expect("statistics").mean;
    assert!((mean - 38_462.0 / 530.0).abs() < 1e-9);
    let temporary = readings.accesses(BlockWaitKind::DirectReadTemporary).expect("temporary reads");
    assert_eq!((temporary.sizes.count(), temporary.sizes.blocks()), (24_015, 24_015));
    assert_eq!((curve.reads(), curve.past_cache.requests), (38_462 + 72, 24_015));
}

#[test]
fn the_cost_of_a_logical_read_is_that_of_queries_without_parse_calls() {
    let Some(folder) = crate::support::traces() else { return println!("skipped: the real traces are not here") };
    let bytes = crate::support::read(&folder.join("11203_ora_28030.trc.gz"));
    let profile = crate::support::profile_in(Unit::Microsecond, &[&bytes]);
    let cost = logical_io(&profile::observe::readings::statement_works(&profile)).expect("a cost");
    // Summed from the values of the script over the statements of command type 3.
    assert_eq!((cost.gets, cost.cpu.micros()), (38_840, 6_506_003.0));
    assert!((cost.micros_per_get() - 167.5).abs() < 0.1);
}

#[test]
fn the_miss_curve_of_a_real_trace_is_that_of_caches_played_through() {
    let Some(folder) = crate::support::traces() else { return println!("skipped: the real traces are not here") };
    for name in ["12101_rac_random_reads.trc.gz", "11203_ora_30282_no_outline.trc.gz"] {
        let mut played = PlayedThrough { blocks: Vec::new() };
        let mut curve = MissCurve::default();
        observe_blocks(&folder.join(name), |wait, time| curve.add(wait, time));
        observe(&folder.join(name), &mut played);
        assert_eq!(curve.reads(), played.blocks.len() as u64, "{name}");
        for row in curve.rows().iter().filter(|row| row.blocks <= 2048) {
            assert_eq!(row.reads, played.hits(row.blocks as usize) as f64, "{name}, {} blocks", row.blocks);
        }
        let distinct: std::collections::HashSet<&(i64, i64)> = played.blocks.iter().collect();
        assert_eq!(curve.distinct_blocks(), distinct.len() as f64, "{name}");
    }
}

/// The single-block reads of a trace, for a cache that is played through.
struct PlayedThrough {
    blocks: Vec<(i64, i64)>,
}

impl Observer for PlayedThrough {
    fn wait(&mut self, context: &profile::event::Context, wait: &profile::event::Wait) {
        if context.events[wait.event.0 as usize].name == "db file sequential read" {
            self.blocks.push((wait.parameters[0], wait.parameters[1]));
        }
    }
}

impl PlayedThrough {
    fn hits(&self, size: usize) -> usize {
        let mut cached: Vec<(i64, i64)> = Vec::new();
        let mut hits = 0;
        for block in &self.blocks {
            match cached.iter().rposition(|other| other == block) {
                Some(position) => {
                    cached.remove(position);
                    hits += 1;
                }
                None if cached.len() == size => drop(cached.remove(0)),
                None => {}
            }
            cached.push(*block);
        }
        hits
    }
}
