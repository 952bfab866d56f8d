//! What would make a number a lie must be said: on real files of the build's own disk.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use disks::LoopDevice;
use experiments::disk::{self, DiskParameters, Order, Zone};
use experiments::journal::KeepError;
use experiments::ladder::{self, LadderParameters};
use experiments::roundtrip::{self, RoundtripParameters};
use experiments::{ExperimentError, Journal, Machine, Stop};
use measure::random::SplitMix64;
use measure::{Case, Finding, Metric, Nanos, Size};
use tempfile::TempDir;

type BeforeStep = Box<dyn FnMut(&str)>;

/// Keeps everything that an experiment says.
#[derive(Default)]
struct Notebook {
    cases: Vec<Case>,
    findings: Vec<Finding>,
    own_cost: Vec<Metric>,
    /// Does something before a step.
    before_step: Option<BeforeStep>,
    /// How long each step was said to take.
    expected: Vec<Duration>,
}

impl Journal for Notebook {
    fn step(&mut self, what: &str, expected: Duration) {
        self.expected.push(expected);
        self.before_step.iter_mut().for_each(|before| before(what));
    }

    fn keep(&mut self, case: Case) -> Result<(), KeepError> {
        self.cases.push(case);
        Ok(())
    }

    fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn own_cost(&mut self, metric: Metric) {
        self.own_cost.push(metric);
    }

    fn describe_subject(&mut self, _key: &str, _value: serde_json::Value) {}
}

impl Notebook {
    fn found(&self, id: &str) -> Option<&str> {
        self.findings.iter().find(|finding| finding.id == id).map(|finding| finding.message.as_str())
    }

    /// Whether the build's folder is on a file system of whose reads the kernel's counts say nothing.
    fn is_uncounted(&self) -> bool {
        self.found("tier-unknown").is_some_and(|message| message.contains("does not count what a process reads"))
    }

    fn ids(&self) -> Vec<&str> {
        self.findings.iter().map(|finding| finding.id.as_str()).collect()
    }
}

/// The kernel counts the bytes of the whole process: readings of this file must not overlap.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn folder() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Numbers that never repeat, eight bytes at a time: byte by byte, in code that nothing optimises, making them took
/// seconds.
fn random_data(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    let mut data = vec![0_u8; bytes];
    data.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
    data
}

/// A file of `mebibytes` of numbers that never repeat, on the disk.
fn file_of_random_data(folder: &TempDir, mebibytes: usize) -> PathBuf {
    let path = folder.path().join("random");
    let mut file = File::create(&path).unwrap();
    file.write_all(&random_data(mebibytes as u64, mebibytes << 20)).unwrap();
    file.sync_all().unwrap();
    path
}

fn parameters(path: &Path) -> DiskParameters {
    let paths = vec![path.into()];
    DiskParameters { paths, count: Some(500), seed: Some(7), ..DiskParameters::default() }
}

fn read(parameters: &DiskParameters) -> (Notebook, Result<(), ExperimentError>) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    read_in_turn(parameters)
}

fn read_in_turn(parameters: &DiskParameters) -> (Notebook, Result<(), ExperimentError>) {
    let mut notebook = Notebook::default();
    let outcome = disk::run(parameters, &Machine::observe(Stop::default()), &mut notebook);
    (notebook, outcome)
}

fn value(case: &Case, metric: &str) -> f64 {
    case.metric(metric).unwrap_or_else(|| panic!("no metric {metric}")).median()
}

#[test]
fn direct_reads_are_counted_as_the_kernel_counts_them() {
    let folder = folder();
    let (notebook, outcome) = read(&parameters(&file_of_random_data(&folder, 16)));
    outcome.unwrap();
    let case = &notebook.cases[0];
    assert_eq!(case.metric("read_latency").unwrap().statistics.n, 500);
    assert_eq!(value(case, "bytes_issued"), 500.0 * 8192.0);
    if notebook.found("direct-io-ignored").is_some() || notebook.found("tier-unknown").is_some() {
        println!("skipped: the build's file system does no direct I/O that the kernel counts");
        return;
    }
    assert!(notebook.found("answer-read").unwrap().contains("Storage served the reads"), "{:?}", notebook.ids());
}

#[test]
fn a_file_in_the_page_cache_is_not_passed_off_as_a_device() {
    // Some kernels drop what the page cache has not used for a while, as when a test waits for its turn.
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let cached = (0..5).find_map(|_| {
        fs::read(&path).unwrap();
        let (notebook, outcome) = read_in_turn(&DiskParameters { buffered: true, ..parameters(&path) });
        outcome.unwrap();
        // Others drop it in the middle: the kernel's own count of what came from storage shows it.
        let [fetched, issued] = ["bytes_fetched", "bytes_issued"].map(|name| value(&notebook.cases[0], name));
        (fetched < issued / 100.0).then_some(notebook)
    });
    let Some(notebook) = cached else {
        return println!(
            "skipped: this kernel drops pages from its cache while they are read, in each of five readings"
        );
    };
    if notebook.is_uncounted() {
        return println!("skipped: the kernel does not count the reads of the build's file system");
    }
    let message = notebook.found("served-from-page-cache").expect("no finding names the page cache");
    assert!(message.contains("This is memory, not the device"), "{message}");
    assert!(value(&notebook.cases[0], "cached_before") > 90.0);
    assert!(value(&notebook.cases[0], "nowait_answered") > 90.0);
}

#[test]
fn unwritten_extents_are_caught_before_they_are_measured() {
    let folder = folder();
    let path = folder.path().join("allocated");
    let file = File::create(&path).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 16 << 20).unwrap();
    let (notebook, outcome) = read(&parameters(&path));
    outcome.unwrap();
    if notebook.found("extents-unknown").is_none() {
        let message = notebook.found("unwritten-extents").expect("unwritten extents were not noticed");
        assert!(message.contains("100 %"), "{message}");
    }
    assert!(notebook.found("zero-blocks").is_some(), "{:?}", notebook.ids());
}

#[test]
fn holes_and_copies_are_caught_before_they_are_measured() {
    let folder = folder();
    let sparse = folder.path().join("sparse");
    File::create(&sparse).unwrap().set_len(16 << 20).unwrap();
    assert!(read(&parameters(&sparse)).0.found("zero-blocks").is_some());
    let copies = folder.path().join("copies");
    fs::write(&copies, vec![0xA5; 16 << 20]).unwrap();
    File::open(&copies).unwrap().sync_all().unwrap();
    assert!(read(&parameters(&copies)).0.found("repeated-blocks").is_some());
}

#[test]
fn a_hole_is_held_against_the_zones_that_have_it_and_no_others() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    OpenOptions::new().write(true).open(&path).unwrap().set_len(32 << 20).unwrap();
    let of = |zone: Zone| {
        let zones = DiskParameters { zones: vec![zone], workers: Some(1), ..parameters(&path) };
        let (notebook, outcome) = read(&DiskParameters { span: Some(Size(4 << 20)), ..zones });
        outcome.unwrap();
        notebook
    };
    let [outer, inner] = [Zone::Outer, Zone::Inner].map(of);
    if outer.found("extents-unknown").is_some() {
        return println!("skipped: the build's file system does not tell holes");
    }
    assert_eq!((outer.found("unwritten-extents"), outer.found("zero-blocks")), (None, None));
    let message = inner.found("unwritten-extents").expect("the hole was not noticed");
    assert!(message.starts_with("100 % of the region"), "{message}");
}

#[test]
fn honest_data_raises_no_suspicion() {
    let folder = folder();
    let (notebook, outcome) = read(&parameters(&file_of_random_data(&folder, 16)));
    outcome.unwrap();
    for suspicion in ["unwritten-extents", "zero-blocks", "repeated-blocks", "served-from-page-cache"] {
        assert_eq!(notebook.found(suspicion), None);
    }
}

#[test]
fn a_file_cut_while_it_is_read_is_an_error_with_its_offset() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let file = path.clone();
    let cut = move |what: &str| {
        if what.contains("reads of") {
            let file = file.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(700));
                OpenOptions::new().write(true).open(&file).unwrap().set_len(4096).unwrap();
            });
        }
    };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut notebook = Notebook { before_step: Some(Box::new(cut)), ..Notebook::default() };
    let (warm_up, duration) = (Some(Nanos::ZERO), Some(Nanos::from_millis(60_000)));
    let lasting = DiskParameters { count: None, warm_up, duration, ..parameters(&path) };
    let outcome = disk::run(&lasting, &Machine::observe(Stop::default()), &mut notebook);
    let message = outcome.expect_err("reads past the end were taken for reads").to_string();
    assert!(message.contains("offset") && message.contains("random"), "{message}");
}

#[test]
fn zones_lie_at_both_edges_and_share_the_workers() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let zones = vec![Zone::Outer, Zone::Inner, Zone::Both];
    let (notebook, outcome) =
        read(&DiskParameters { zones, workers: Some(2), span: Some(Size(4 << 20)), ..parameters(&path) });
    outcome.unwrap();
    let offsets: Vec<_> = notebook.cases.iter().map(|case| case.parameter("offset").unwrap()).collect();
    assert_eq!(offsets, ["0", (12 << 20).to_string().as_str(), "0"]);
    assert!(notebook.cases.iter().all(|case| case.metric("read_latency").unwrap().statistics.n == 1000));
    assert!(notebook.found("answer-zones").is_some());
}

#[test]
fn what_one_case_left_in_the_page_cache_does_not_serve_the_next_one() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let zones = vec![Zone::Outer, Zone::Inner, Zone::Both];
    let span = Some(Size(4 << 20));
    let (notebook, outcome) = read(&DiskParameters { zones, span, buffered: true, evict: true, ..parameters(&path) });
    outcome.unwrap();
    let cached = |case: &Case| case.metric("cached_before").map(Metric::median);
    let before: Vec<f64> = notebook.cases.iter().filter_map(cached).collect();
    if before.first().is_none_or(|first| *first > 10.0) {
        return println!("skipped: the build's file system keeps pages in memory that it is asked to drop");
    }
    // The third case reads the blocks of the first two.
    assert!(before.len() == 3 && before.iter().all(|share| *share <= 10.0), "{before:?}");
}

#[test]
fn a_sweep_goes_from_the_first_byte_to_the_last() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let (notebook, outcome) = read(&DiskParameters { sweep: Some(4), count: Some(50), ..parameters(&path) });
    outcome.unwrap();
    let positions: Vec<_> = notebook.cases.iter().map(|case| case.parameters["position"].as_f64().unwrap()).collect();
    assert_eq!(positions.first(), Some(&0.0));
    assert_eq!(positions.last(), Some(&1.0));
    let last = notebook.cases.last().unwrap();
    let end = last.parameters["offset"].as_u64().unwrap() + last.parameters["span"].as_u64().unwrap();
    assert!(end > (16 << 20) - (1 << 20), "the last place ends at {end}");
    assert!(notebook.cases.iter().all(|case| case.metric("bandwidth").is_some()));
}

#[test]
fn every_method_reads_at_depth_and_counts_the_same() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    for row in sys::read::METHODS {
        let depth = row.depth_max.unwrap_or(8).min(8);
        let (notebook, outcome) =
            read(&DiskParameters { io_method: row.name.parse().unwrap(), depth, ..parameters(&path) });
        if let Err(ExperimentError::Device(error)) = &outcome {
            println!("skipped: {error}");
            continue;
        }
        outcome.unwrap();
        assert_eq!(value(&notebook.cases[0], "reads"), 500.0, "{}", row.name);
        assert_eq!(value(&notebook.cases[0], "bytes_issued"), 500.0 * 8192.0, "{}", row.name);
    }
}

#[test]
fn a_round_trip_says_who_answered_each_pass() {
    let folder = folder();
    let path = file_of_random_data(&folder, 64);
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let parameters =
        RoundtripParameters { paths: vec![path], blocks: 64, seed: Some(3), ..RoundtripParameters::default() };
    let mut found = Vec::new();
    // Others that read the device meanwhile make a tier unknown, as a kernel does that drops pages of its cache.
    for _ in 0..5 {
        let mut notebook = Notebook::default();
        roundtrip::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap();
        if notebook.found("no-direct-io").is_some() || notebook.found("direct-io-ignored").is_some() {
            println!("skipped: the build's file system does no direct I/O");
            return;
        }
        if notebook.is_uncounted() {
            return println!("skipped: the kernel does not count the reads of the build's file system");
        }
        let of = |case: &Case| (case.parameter("pass").unwrap(), case.parameter("tier").unwrap());
        let tiers: Vec<(String, String)> = notebook.cases.iter().map(of).collect();
        assert_eq!(tiers.len(), 9, "{tiers:?}");
        let is_known = |(pass, tier): &(String, String)| {
            tier.as_str() == if pass == "page-cached" { "page-cache" } else { "storage" }
        };
        let answer = notebook.found("answer-roundtrip").unwrap_or_default();
        if tiers.iter().all(is_known) && answer.contains("No cache of this host served it") {
            return;
        }
        found.push((tiers, answer.to_string()));
    }
    panic!("a pass was not answered by what it asks for: {found:#?}");
}

#[test]
fn a_file_that_is_named_twice_has_no_second_first_touch() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let paths = vec![path, folder.path().join("./random")];
    let parameters = RoundtripParameters { paths, seed: Some(3), ..RoundtripParameters::default() };
    let mut notebook = Notebook::default();
    let error = roundtrip::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap_err();
    assert!(error.to_string().ends_with("would not be the first: name it once"), "{error}");
    assert!(notebook.cases.is_empty());
}

#[test]
fn a_stopped_experiment_returns_without_its_unfinished_case() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let machine = Machine::observe(Stop::new(flag.clone()));
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let raiser = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(400));
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let mut notebook = Notebook::default();
    let lasting = Nanos::from_millis(60_000);
    let parameters = DiskParameters { count: None, duration: Some(lasting), ..parameters(&path) };
    disk::run(&parameters, &machine, &mut notebook).unwrap();
    raiser.join().unwrap();
    assert!(notebook.cases.is_empty());
}

#[test]
fn a_device_that_fails_in_the_middle_is_named_with_its_offset() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let device = match LoopDevice::new(&path) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: a loop device needs root: {reason}"),
    };
    let sequential =
        DiskParameters { pattern: Order::Sequential, count: Some(2048), ..parameters(Path::new(&device.device)) };
    let (notebook, outcome) = read(&sequential);
    outcome.unwrap();
    assert_eq!(value(&notebook.cases[0], "reads"), 2048.0);
    OpenOptions::new().write(true).open(&path).unwrap().set_len(8 << 20).unwrap();
    let message = read(&sequential).1.expect_err("reads of lost blocks were taken for reads").to_string();
    assert!(message.contains(&device.device), "{message}");
    assert!(message.contains("offset"), "{message}");
}

#[test]
fn the_file_under_test_is_the_same_afterwards() {
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    let before = fs::read(&path).unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    read(&DiskParameters { depth: 8, workers: Some(2), ..parameters(&path) }).1.unwrap();
    let mut after = vec![0; before.len()];
    File::open(&path).unwrap().read_exact_at(&mut after, 0).unwrap();
    assert!(before == after, "the content changed");
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
}

/// Writes a modelled device of known times into a folder.
fn model(folder: &TempDir, times: &str) -> PathBuf {
    let path = folder.path().join("scripted.toml");
    fs::write(&path, format!("kind = 'fixed-latency'\n{times}\n")).unwrap();
    format!("model:{}", path.display()).into()
}

/// A device that answers in 100 us for a second, and in 400 us from then on.
fn changing(folder: &TempDir) -> PathBuf {
    model(folder, "change_at_ms = 1000\nchanged_us = 400.0")
}

/// The segments of cases with their median latency and reads.
fn segments(cases: &[Case]) -> Vec<(String, f64, f64)> {
    let of = |case: &Case| {
        (case.parameter("segment").unwrap_or_default(), value(case, "read_latency"), value(case, "reads"))
    };
    cases.iter().map(of).collect()
}

fn assert_cut(notebook: &Notebook, cases: &[Case]) {
    let expected = [("before-change".into(), 100.0, 10_000.0), ("after-change".into(), 400.0, 5_000.0)];
    let close = |(is, wanted): (&(String, f64, f64), &(String, f64, f64))| {
        is.0 == wanted.0 && (is.1 / wanted.1 - 1.0).abs() < 0.02 && (is.2 / wanted.2 - 1.0).abs() < 0.02
    };
    let found = segments(cases);
    assert!(found.len() == 2 && found.iter().zip(&expected).all(close), "{found:?}");
    assert!(notebook.found("rate-changed").is_some(), "{:?}", notebook.ids());
}

#[test]
fn no_reading_of_any_experiment_is_averaged_across_a_lasting_change() {
    let folder = folder();
    let path = changing(&folder);
    let lasting = DiskParameters { count: None, duration: Some(Nanos::from_millis(3000)), ..parameters(&path) };
    let whole = DiskParameters { warm_up: Some(Nanos::ZERO), ..lasting.clone() };
    let (notebook, outcome) = read(&whole);
    outcome.unwrap();
    assert_cut(&notebook, &notebook.cases);
    let (notebook, outcome) = read(&DiskParameters { sweep: Some(2), ..whole.clone() });
    outcome.unwrap();
    assert_cut(&notebook, &notebook.cases[..2]);
    let (notebook, outcome) = read(&DiskParameters { seek_distances: true, ..whole });
    outcome.unwrap();
    assert_cut(&notebook, &notebook.cases[..2]);
    let mut notebook = Notebook::default();
    let on = RoundtripParameters { paths: vec![path.clone()], blocks: 15_000, ..RoundtripParameters::default() };
    roundtrip::run(&on, &Machine::observe(Stop::default()), &mut notebook).unwrap();
    assert_cut(&notebook, &notebook.cases[..2]);
    assert!(notebook.cases[..2].iter().all(|case| case.parameter("tier").as_deref() == Some("model")));
}

/// A ladder whose rungs of memory, which no test here asks about, are short.
fn small_ladder(dir: PathBuf) -> LadderParameters {
    let (size, memory_max) = (Some(Size(16 << 20)), Some(Size(64 << 20)));
    LadderParameters { dir, size, memory_max, seed: Some(7), ..LadderParameters::default() }
}

#[test]
fn no_rung_is_averaged_across_a_lasting_change() {
    let folder = folder();
    let dir = folder.path().to_path_buf();
    let on = Some(changing(&folder));
    let parameters = LadderParameters { on, ..small_ladder(dir) };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut notebook = Notebook::default();
    ladder::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap();
    let of = |case: &&Case| case.parameter("rung").as_deref() == Some("device-random-depth-1");
    let rungs: Vec<Case> = notebook.cases.iter().filter(of).cloned().collect();
    assert_cut(&notebook, &rungs[..2]);
    assert_eq!(value(&rungs[0], "latency"), 100_000.0);
    assert_eq!(value(&rungs[1], "latency"), 400_000.0);
}

#[test]
fn an_open_loop_that_changes_keeps_what_is_measured_from_submission() {
    let folder = folder();
    let lasting =
        DiskParameters { count: None, duration: Some(Nanos::from_millis(3000)), ..parameters(&changing(&folder)) };
    // At depth 1 the device holds 5000 reads a second until it changes, and half of that from then on.
    let (notebook, outcome) = read(&DiskParameters { rate: Some(5000.0), warm_up: Some(Nanos::ZERO), ..lasting });
    outcome.unwrap();
    assert_eq!(notebook.cases.len(), 2, "{:?}", segments(&notebook.cases));
    let service: Vec<f64> = notebook.cases.iter().map(|case| value(case, "service_time")).collect();
    assert!((service[0] / 100.0 - 1.0).abs() < 0.02 && (service[1] / 400.0 - 1.0).abs() < 0.02, "{service:?}");
    assert!(
        value(&notebook.cases[1], "read_latency") > 10_000.0,
        "the queue grows: latency is from the intended start"
    );
    assert!(notebook.cases[1].metric("read_latency").unwrap().source.contains("intended start"));
}

#[test]
fn an_open_loop_of_few_reads_shows_no_higher_rate_than_it_was_asked_for() {
    let folder = folder();
    let path = model(&folder, "");
    let limits = [(Some(5), None), (None, Some(Nanos::from_millis(5000))), (None, Some(Nanos::from_millis(6000)))];
    for (count, duration) in limits {
        let slow = DiskParameters { rate: Some(0.5), count, duration, warm_up: Some(Nanos::ZERO), ..parameters(&path) };
        let (notebook, outcome) = read(&slow);
        outcome.unwrap();
        let rate = |metric: &str| notebook.cases[0].metric(metric).unwrap().statistics.mean;
        assert!((rate("iops") - 0.5).abs() < 1e-6, "{count:?} {duration:?}: {}", rate("iops"));
        assert!((rate("bandwidth") - 0.5 / 128.0).abs() < 1e-8, "{count:?} {duration:?}: {}", rate("bandwidth"));
    }
}

#[test]
fn an_open_loop_that_keeps_up_is_cut_where_its_latency_changes() {
    let folder = folder();
    let path = model(&folder, "change_at_ms = 1500\nchanged_us = 3000.0");
    let lasting = DiskParameters { count: None, duration: Some(Nanos::from_millis(3000)), ..parameters(&path) };
    let rate = DiskParameters { rate: Some(2000.0), depth: 32, warm_up: Some(Nanos::ZERO), ..lasting };
    let (notebook, outcome) = read(&rate);
    outcome.unwrap();
    let medians: Vec<f64> = notebook.cases.iter().map(|case| value(case, "read_latency")).collect();
    let close = |wanted: [f64; 2]| medians.iter().zip(wanted).all(|(is, wanted)| (is / wanted - 1.0).abs() < 0.02);
    assert!(medians.len() == 2 && close([100.0, 3000.0]), "{medians:?}");
    let message = notebook.found("latency-changed").unwrap();
    assert!(message.starts_with("1.50 s into") && notebook.found("rate-changed").is_none(), "{message}");
}

#[test]
fn a_volume_whose_first_touch_is_slow_is_called_lazily_loaded() {
    let folder = folder();
    let mut notebook = Notebook::default();
    let paths = vec![model(&folder, "first_touch_us = 5000.0")];
    let parameters = RoundtripParameters { paths, ..RoundtripParameters::default() };
    roundtrip::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap();
    let message = notebook.found("lazily-loaded").unwrap();
    assert!(message.contains("50.0 times at the median, 50.0 times on average"), "{message}");
}

#[test]
fn a_model_with_room_for_fewer_blocks_than_were_asked_for_says_so() {
    let folder = folder();
    let path = folder.path().join("small.toml");
    let fields = "kind = 'ssd'\ncapacity = 16000000\nchannels = 8\ndies_per_channel = 4\npage_bytes = 8192\n\
                  page_read_us = 75.0\nchannel_mb_s = 200.0\nqueue_depth = 32\ninterface_mb_s = 600.0\n\
                  controller_us = 0.0\n";
    fs::write(&path, fields).unwrap();
    let paths = vec![format!("model:{}", path.display()).into()];
    let parameters = RoundtripParameters { paths, blocks: 1024, ..RoundtripParameters::default() };
    let mut notebook = Notebook::default();
    roundtrip::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap();
    let message = notebook.found("fewer-blocks").unwrap();
    assert!(message.contains("has room for 640 separate requests of 1 block; 1\u{202f}024 were"), "{message}");
}

/// A loop device whose file lies in the page cache of this host, as it does unless the loop reads it directly.
fn cached_loop(folder: &TempDir, mebibytes: usize) -> Result<LoopDevice, String> {
    let path = file_of_random_data(folder, mebibytes);
    let device = LoopDevice::new(&path)?;
    fs::read(&path).map_err(|error| error.to_string())?;
    Ok(device)
}

#[test]
fn the_page_cache_under_a_loop_device_is_not_called_storage() {
    // Some kernels drop what the page cache has not used for a while, as when a test waits for its turn.
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    let device = match cached_loop(&folder, 64) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: a loop device needs root: {reason}"),
    };
    // Others read the device under the loop too, which makes the tier unknown. Only where they read as much as this one
    // in the same moment is it taken for storage. Ten readings are over in less than others need for one file.
    let (mut found, mut mistaken, mut readings) = (None, 0, 0);
    let began = Instant::now();
    while readings < 10 || found.is_none() && began.elapsed() < Duration::from_secs(60) {
        let (notebook, outcome) = read_in_turn(&parameters(device.path()));
        outcome.unwrap();
        readings += 1;
        mistaken += usize::from(notebook.found("answer-read").unwrap().contains("Storage served"));
        found = found.or(notebook.found("device-saw-fewer-reads").map(String::from));
        if readings >= 10 {
            std::thread::sleep(Duration::from_millis(500));
            // What the page cache has not used for a while, some kernels drop.
            fs::read(folder.path().join("random")).unwrap();
        }
    }
    assert!(mistaken * 5 <= readings, "{mistaken} of {readings} readings");
    assert!(found.expect("a minute of readings that others disturbed").contains("this host's memory"));
    let is_right = (0..5).any(|_| {
        let mut notebook = Notebook::default();
        let parameters =
            RoundtripParameters { paths: vec![device.path().into()], blocks: 64, ..RoundtripParameters::default() };
        roundtrip::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap();
        notebook.cases.iter().all(|case| case.parameter("tier").unwrap() != "storage")
            && !notebook.found("answer-roundtrip").unwrap().contains("No cache of this host")
            && notebook.found("lazily-loaded").is_none()
            && notebook.found("answer-published").is_none()
    });
    assert!(is_right, "the way to the page cache was taken for the way to the storage each time");
}

#[test]
fn a_loop_device_that_begins_to_read_its_file_past_the_page_cache_is_cut_there() {
    let folder = folder();
    let device = match cached_loop(&folder, 64) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: a loop device needs root: {reason}"),
    };
    let name = device.device.clone();
    let toggle = move |what: &str| {
        if what.contains("reads of") {
            let name = name.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(2000));
                Command::new("losetup").args(["--direct-io=on", &name]).status()
            });
        }
    };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut notebook = Notebook { before_step: Some(Box::new(toggle)), ..Notebook::default() };
    let lasting = DiskParameters { count: None, duration: Some(Nanos::from_millis(4000)), ..parameters(device.path()) };
    disk::run(&lasting, &Machine::observe(Stop::default()), &mut notebook).unwrap();
    if notebook.found("rate-changed").is_none() {
        return println!(
            "skipped: the loop device cannot read its file directly, or as fast as the page cache serves it"
        );
    }
    for case in &notebook.cases {
        let reads = value(case, "reads");
        assert_eq!(value(case, "bytes_issued"), reads * 8192.0);
        let of_rate = value(case, "elapsed") * case.metric("iops").unwrap().statistics.mean;
        assert!((reads / of_rate - 1.0).abs() < 0.01, "the read count is the segment's own");
        assert!(case.metric("cpu_per_read").is_some());
        assert!(case.metric("bytes_fetched").is_none(), "what the kernel counted spans the change");
    }
}

/// An overlay over a file system in memory, which takes direct I/O and does none.
struct Overlay {
    memory: TempDir,
    mount: TempDir,
}

impl Overlay {
    fn new() -> Result<Overlay, String> {
        let memory = TempDir::new_in("/dev/shm").map_err(|error| error.to_string())?;
        let mount = TempDir::new().unwrap();
        for layer in ["lower", "other"] {
            fs::create_dir(memory.path().join(layer)).unwrap();
        }
        let at = memory.path().display();
        let layers = format!("lowerdir={at}/lower:{at}/other");
        let mounted =
            Command::new("mount").args(["-t", "overlay", "overlay", "-o", &layers]).arg(mount.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Ok(Overlay { memory, mount }),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.mount.path()).status();
    }
}

#[test]
fn a_file_system_that_takes_direct_io_and_does_none_is_found_out() {
    let overlay = match Overlay::new() {
        Ok(overlay) => overlay,
        Err(reason) => return println!("skipped: an overlay over memory cannot be mounted: {reason}"),
    };
    fs::write(overlay.memory.path().join("lower/data"), random_data(3, 8 << 20)).unwrap();
    let (notebook, outcome) = read(&parameters(&overlay.mount.path().join("data")));
    outcome.unwrap();
    let message = notebook.found("direct-io-ignored").unwrap_or_else(|| panic!("{:?}", notebook.ids()));
    assert!(message.contains("reads of memory"), "{message}");
}

#[test]
fn no_headline_of_the_ladder_comes_from_blocks_that_were_never_written() {
    let folder = folder();
    let path = folder.path().join("allocated");
    let file = File::create(&path).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 64 << 20).unwrap();
    let dir = folder.path().to_path_buf();
    let parameters = LadderParameters { on: Some(path), ..small_ladder(dir) };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut notebook = Notebook::default();
    ladder::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap();
    if notebook.found("no-direct-io").is_some() || notebook.found("absent-device-sequential").is_some() {
        return println!("skipped: the build's file system does no direct I/O");
    }
    let answers: Vec<&str> = notebook.ids().into_iter().filter(|id| id.starts_with("answer-")).collect();
    assert!(answers.is_empty(), "{answers:?}");
}

#[test]
fn two_paths_are_compared_before_each_is_told() {
    let folder = folder();
    let slow = model(&folder, "latency_us = 200.0");
    let (notebook, outcome) =
        read(&DiskParameters { paths: vec!["model:fixed-latency".into(), slow], ..parameters(Path::new("-")) });
    outcome.unwrap();
    let answers: Vec<&str> = notebook.ids().into_iter().filter(|id| id.starts_with("answer-")).collect();
    assert_eq!(answers, ["answer-paths", "answer-read", "answer-read"]);
    let message = notebook.found("answer-paths").unwrap();
    assert!(message.contains("takes 2.00 times as long") && message.contains("gives 0.500 times"), "{message}");
}

#[test]
fn the_time_left_is_never_that_of_a_models_clock() {
    let folder = folder();
    let file = file_of_random_data(&folder, 1);
    for (path, is_known) in [(Path::new("model:hdd-7200"), false), (&file, true)] {
        for view in [DiskParameters { sweep: Some(2), ..parameters(path) }, parameters(path)] {
            let (notebook, outcome) = read(&view);
            outcome.unwrap();
            let expected = notebook.expected;
            assert!(!expected.is_empty() && expected.iter().all(|time| time.is_zero() != is_known), "{expected:?}");
        }
    }
}

#[test]
fn options_that_a_view_would_ignore_are_refused() {
    let of = |parameters: DiskParameters| parameters.check().unwrap_err().to_string();
    let usual = parameters(Path::new("model:ssd"));
    let sequential = DiskParameters { pattern: Order::Sequential, ..usual.clone() };
    assert!(of(DiskParameters { sweep: Some(4), ..sequential.clone() }).contains("leave out --pattern"));
    assert!(of(DiskParameters { seek_distances: true, ..sequential }).contains("leave out --pattern"));
    assert!(of(DiskParameters { sweep: Some(u32::MAX), ..usual.clone() }).contains("--sweep 1000 or fewer"));
    let batched = DiskParameters { depth: 32, reap_batch: Some(8), rate: Some(100.0), ..usual };
    assert!(of(batched).contains("leave out --reap-batch"));
}
