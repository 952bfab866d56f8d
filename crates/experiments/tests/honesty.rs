//! What would make a number a lie must be said: on real files of the build's own disk.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

#[path = "../../sys/tests/support/mod.rs"]
mod support;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use experiments::disk::{self, DiskParameters, Order, Zone};
use experiments::journal::KeepError;
use experiments::roundtrip::{self, RoundtripParameters};
use experiments::{ExperimentError, Journal, Machine, Stop};
use measure::random::SplitMix64;
use measure::{Case, Finding, Metric, Nanos, Size};
use support::LoopDevice;
use tempfile::TempDir;

/// Keeps everything that an experiment says.
#[derive(Default)]
struct Notebook {
    cases: Vec<Case>,
    findings: Vec<Finding>,
    own_cost: Vec<Metric>,
}

impl Journal for Notebook {
    fn step(&mut self, _what: &str, _expected: Duration) {}

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

    fn ids(&self) -> Vec<&str> {
        self.findings.iter().map(|finding| finding.id.as_str()).collect()
    }
}

/// The kernel counts the bytes of the whole process: readings of this file must not overlap.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn folder() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A file of `mebibytes` of numbers that never repeat, on the disk.
fn file_of_random_data(folder: &TempDir, mebibytes: u64) -> PathBuf {
    let path = folder.path().join("random");
    let mut file = File::create(&path).unwrap();
    let mut random = SplitMix64::new(mebibytes);
    for _ in 0..mebibytes {
        let words: Vec<u8> = (0..1 << 17).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        file.write_all(&words).unwrap();
    }
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
    let folder = folder();
    let path = file_of_random_data(&folder, 16);
    fs::read(&path).unwrap();
    let (notebook, outcome) = read(&DiskParameters { buffered: true, ..parameters(&path) });
    outcome.unwrap();
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
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let cutter = {
        let path = path.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(700));
            OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
        })
    };
    let lasting = Nanos::from_millis(3000);
    let (_, outcome) = read_in_turn(&DiskParameters { count: None, duration: Some(lasting), ..parameters(&path) });
    cutter.join().unwrap();
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
    let mut notebook = Notebook::default();
    let parameters =
        RoundtripParameters { paths: vec![path], blocks: 64, seed: Some(3), ..RoundtripParameters::default() };
    roundtrip::run(&parameters, &Machine::observe(Stop::default()), &mut notebook).unwrap();
    if notebook.found("no-direct-io").is_some() || notebook.found("direct-io-ignored").is_some() {
        println!("skipped: the build's file system does no direct I/O");
        return;
    }
    let tiers: Vec<(String, String)> =
        notebook.cases.iter().map(|case| (case.parameter("pass").unwrap(), case.parameter("tier").unwrap())).collect();
    assert_eq!(tiers.len(), 9, "{tiers:?}");
    for (pass, tier) in tiers {
        assert_eq!(tier, if pass == "page-cached" { "page-cache" } else { "storage" }, "{pass}");
    }
    assert!(notebook.found("answer-roundtrip").unwrap().contains("No cache of this host served it"));
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
