//! Every row of the table of models: repeatable, ordered, and nothing lost.

use std::io::Write;

use device::model::clients::{Placement, SharedModel};
use device::model::fixed_latency::{FixedLatency, FixedParameters};
use device::model::{self, MODELS, Model, ModelKind};
use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use device::time_source::TimeSource;
use device::workers::Reading;
use measure::Nanos;
use measure::schema::reads;
use sys::read::{ReadMethod, ReadRequest, Wait};

use crate::reading;

fn plan(seed: u64, depth: usize, reads: u64) -> ReadPlan {
    ReadPlan {
        pattern: Pattern::Random,
        block_size: 8192,
        pages: sys::memory::Pages::Huge,
        span: Span { offset: 0, length: 64 << 30 },
        seed,
        working_set: None,
        depth,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after: StopAfter::Reads(reads),
        rate: None,
    }
}

fn models() -> impl Iterator<Item = Model> {
    MODELS.iter().map(|row| model::named(row.name).unwrap())
}

fn read(model: &Model, plans: &[ReadPlan]) -> Reading {
    reading(model, plans)
}

fn mean_micros(reading: &Reading) -> f64 {
    reading.outcome.latency.metric(&reads::READ_LATENCY, "test").unwrap().statistics.mean
}

#[test]
fn a_run_repeats_itself_whatever_the_threads_do() {
    for model in models() {
        let plans: Vec<ReadPlan> = (0..3).map(|seed| plan(seed, 4, 300)).collect();
        let of = |reading: Reading| (reading.outcome.elapsed, reading.worker_elapsed.clone(), mean_micros(&reading));
        let first = of(read(&model, &plans));
        for _ in 0..5 {
            assert_eq!(of(read(&model, &plans)), first, "{}", model.name);
        }
    }
}

#[test]
fn a_worker_that_has_read_its_count_is_no_change_of_the_device() {
    let kind = ModelKind::FixedLatency(FixedParameters { latency_us: 1000.0, ..FixedParameters::default() });
    let model = Model { name: "steady".into(), kind, origins: &[] };
    let reading = read(&model, &[plan(1, 1, 1500), plan(2, 1, 3000)]);
    assert_eq!(reading.worker_elapsed, [Nanos::from_millis(1500), Nanos::from_millis(3000)]);
    assert_eq!(reading.outcome.latency.reads(), 4500);
    assert_eq!(reading.outcome.segments().len(), 1, "{:?}", reading.outcome.segments());
}

#[test]
fn a_deeper_queue_never_makes_the_whole_take_longer() {
    for model in models() {
        let elapsed = |depth| read(&model, &[plan(5, depth, 2000)]).outcome.elapsed;
        let times: Vec<Nanos> = [1, 2, 4, 8, 16, 32].map(elapsed).to_vec();
        assert!(times.windows(2).all(|pair| pair[1].0 <= pair[0].0 * 101 / 100), "{}: {times:?}", model.name);
    }
}

#[test]
fn every_read_is_answered_by_every_model() {
    for model in models() {
        let reading = read(&model, &[plan(1, 8, 500), plan(2, 1, 100)]);
        assert_eq!((reading.outcome.latency.reads(), reading.outcome.issued), (600, 600), "{}", model.name);
    }
}

#[test]
fn the_ssd_answers_as_its_parts_add_up() {
    let ssd = model::named("ssd").unwrap();
    // 75 us to the register, 8 KiB over 200 MB/s and over 600 MB/s.
    let alone = mean_micros(&read(&ssd, &[plan(1, 1, 500)]));
    assert!((alone - (75.0 + 40.96 + 13.65)).abs() < 0.02, "{alone}");
    // With 32 in flight the interface is what limits, but for the dies that have two pages to read.
    let reading = read(&ssd, &[plan(1, 32, 20_000)]);
    let per_read = reading.outcome.elapsed.as_micros() / 20_000.0;
    assert!((13.65..16.5).contains(&per_read), "{per_read}");
}

#[test]
fn the_array_answers_from_its_cache_what_was_read_before() {
    let ModelKind::NetworkArray(mut parameters) = model::named("network-array").unwrap().kind else {
        panic!("an array");
    };
    parameters.cache_hit_rate = 0.0;
    let array = Model { name: "cold".into(), kind: ModelKind::NetworkArray(parameters.clone()), origins: &[] };
    let twice = ReadPlan { working_set: Some(200), stop_after: StopAfter::Reads(400), ..plan(3, 1, 0) };
    let statistics = read(&array, &[twice]).outcome.latency.metric(&reads::READ_LATENCY, "test").unwrap().statistics;
    // The round trip, the array's own time, and 8 KiB over 400 MB/s.
    let cached = 200.0 + 50.0 + 20.48;
    assert!(statistics.min >= cached - 50.0 && statistics.min < cached + 1.0, "{statistics:?}");
    assert!(statistics.max > 5_000.0, "a disk was asked: {statistics:?}");
    parameters.cache_hit_rate = 1.0;
    let array = Model { name: "warm".into(), kind: ModelKind::NetworkArray(parameters), origins: &[] };
    assert!((mean_micros(&read(&array, &[plan(3, 1, 100)])) - cached).abs() < 0.1);
}

fn described(text: &str) -> Result<Model, String> {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    model::named(&file.path().display().to_string()).map_err(|error| error.to_string())
}

/// One thread has an index and a table on the same device: while it waits for one, no thread waits for the other.
#[test]
fn a_thread_with_two_accesses_to_a_model_waits_for_the_one_that_it_asked() {
    let model = SharedModel::solo(Box::new(FixedLatency::new(FixedParameters::default())));
    let twice = |offset: u64, bytes: &mut [u8]| {
        bytes.fill((offset >> 13) as u8);
        Ok(())
    };
    let placed = Placement { content: std::sync::Arc::new(twice), start: 1 << 20 };
    let mut index = model.another(1, 8192, Some(placed.clone()));
    let mut table = model.another(2, 8192, Some(placed));
    let mut done = Vec::new();
    let request = |slot, block: u64| ReadRequest { offset: block << 13, length: 8192, slot };
    table.queue(request(0, 7));
    table.reap(Wait { at_least: 0, timeout: None }, &mut done).unwrap();
    assert!(done.is_empty() && model.clock().now() == Nanos::ZERO);
    index.queue(request(0, 5));
    index.reap(Wait { at_least: 1, timeout: None }, &mut done).unwrap();
    assert_eq!((done.len(), index.data(0)[0], model.clock().now()), (1, 5, Nanos::from_micros(100)));
    drop(index);
    table.queue(request(1, 9));
    table.reap(Wait { at_least: 2, timeout: None }, &mut done).unwrap();
    assert_eq!((done.len(), table.data(0)[0], table.data(1)[0]), (3, 7, 9));
    assert_eq!(model.clock().now(), Nanos::from_micros(200));
    // Reads in flight are abandoned when their access is dropped, and do not stop the others.
    table.queue(request(0, 1));
    table.reap(Wait { at_least: 0, timeout: None }, &mut done).unwrap();
    drop(table);
    let mut last = model.another(1, 8192, None);
    last.queue(request(0, 2));
    last.reap(Wait { at_least: 1, timeout: None }, &mut done).unwrap();
    assert_eq!(model.clock().now(), Nanos::from_micros(300));
}

#[test]
fn a_model_of_a_file_is_the_one_that_it_describes() {
    for model in models() {
        let text = toml::to_string(&model.kind).unwrap();
        let again = described(&format!("name = \"mine\"\n{text}")).unwrap();
        assert_eq!((again.name.as_str(), &again.kind), ("mine", &model.kind));
    }
}

#[test]
fn nonsense_in_a_file_is_refused_by_the_name_of_the_field() {
    let disk = toml::to_string(&model::named("hdd-7200").unwrap().kind).unwrap();
    let array = toml::to_string(&model::named("network-array").unwrap().kind).unwrap();
    for (text, expected) in [
        (disk.replace("rpm = 7200.0", "rpm = 0.0"), "rpm is 0: it must lie between 60 and 1000000"),
        (disk.replace("rpm = 7200.0", "rpm = nan"), "rpm is NaN"),
        (disk.replace("heads = 6", "heads = -6"), "heads"),
        (disk.replace("heads = 6", "haeds = 6"), "haeds"),
        (array.replace("cache_hit_rate = 0.9", "cache_hit_rate = 1.5"), "cache_hit_rate is 1.5"),
        (array.replace("zones = 30", "zones = 0"), "disk.zones is 0"),
        ("kind = \"tape\"".into(), "tape"),
        (String::new(), "kind"),
        ("kind =".into(), "describes no model"),
    ] {
        let error = described(&text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let five = "kind = 'ssd'\ncapacity = 'much'\nchannels = -1\npage_bytes = 1.5\nrpm = 7200\nqueue_depth = 32\n";
    let error = described(five).unwrap_err();
    for field in ["capacity", "channels", "page_bytes", "no field rpm", "dies_per_channel is missing"] {
        assert!(error.contains(field), "{field}: {error}");
    }
    assert!(error.contains("expected a whole number") && !error.contains("u64") && !error.contains("u32"), "{error}");
    let error = described(&disk.replace("rpm = 7200.0", "rpm = 0.0").replace("heads = 6", "heads = 0")).unwrap_err();
    assert!(error.contains("rpm is 0") && error.contains("heads is 0"), "{error}");
    assert!(model::named("/nowhere/x.toml").unwrap_err().to_string().contains("/nowhere/x.toml"));
    assert!(model::named("floppy").unwrap_err().to_string().contains("hdd-7200"));
}
