//! The measuring commands as a user calls them: real files, wrong words, ^C and kill at any moment.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::user::{User, complaint, ids, random_data};
use crate::waiting::{LIMIT, TRIES};

/// A file of this many mebibytes of random data.
fn file(user: &User, mebibytes: usize) -> PathBuf {
    let path = user.home.path().join("data");
    fs::write(&path, random_data(5, mebibytes << 20)).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    path
}

fn kept_runs(user: &User) -> Vec<PathBuf> {
    let entries = fs::read_dir(user.store()).map(|entries| entries.map(|entry| entry.unwrap().path()).collect());
    entries.unwrap_or_default()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// That the ladder which was kept last, with small pages for its reads, names every rung or says why not. It is the one
/// of the pages, which `examples.rs` types: a ladder fills gigabytes of memory, and one is enough.
pub(crate) fn assert_every_rung_is_named(user: &User) {
    let document = user.document("show last");
    assert_eq!(document["experiment"], "ladder");
    let rungs: Vec<&str> =
        document["cases"].as_array().unwrap().iter().map(|case| case["parameters"]["rung"].as_str().unwrap()).collect();
    let all = [
        "l1",
        "l2",
        "l3",
        "dram",
        "dram-huge",
        "dram-sequential",
        "pool-get",
        "lio",
        "system-call",
        "page-cache-read",
        "storage-round-trip",
        "device-random-depth-1",
        "device-random-best-depth",
        "device-sequential",
    ];
    let caches = document["host"]["caches"].as_array().unwrap().len();
    for rung in all {
        let absent = ids(&document).contains(&format!("absent-{rung}").as_str());
        let cache_that_is_not_there = rung.starts_with('l') && rung.len() == 2 && caches < 3;
        assert!(rungs.contains(&rung) || absent || cache_that_is_not_there, "{rung} is neither there nor absent");
    }
    for case in document["cases"].as_array().unwrap() {
        let latency = case["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "latency").unwrap();
        assert_eq!(latency["unit"], "ns");
        assert!(latency["median"].as_f64().unwrap() > 0.0 && latency["n"].as_u64().unwrap() > 1, "{latency}");
    }
    let mut reads = document["cases"].as_array().unwrap().iter().map(|case| &case["parameters"]);
    let seed = document["cases"][0]["parameters"]["seed"].as_u64().expect("the seed that the run drew");
    assert!(reads.clone().all(|parameters| parameters["seed"] == seed), "a rung has another seed, or none");
    assert!(user.ok("show last --job").contains(&format!("\n# seed = {seed}  #")), "what repeats the run lacks it");
    assert!(reads.all(|parameters| parameters.get("io_method").is_none() || parameters["huge_pages"] == false));
    for cost in ["clock_read", "empty_loop", "null_device_read"] {
        assert!(document["own_cost"].as_array().unwrap().iter().any(|metric| metric["name"] == cost), "{cost}");
    }
    for rung in ["pool-get", "lio"] {
        assert!(rungs.contains(&rung), "{rung}");
    }
    assert!(ids(&document).contains(&"answer-ratio"), "{:?}", ids(&document));
    assert!(nothing_left(user.home.path()), "the test file was left");
}

/// Whether no file larger than a run document lies anywhere under `folder`.
fn nothing_left(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).all(|entry| {
        let kind = entry.metadata().unwrap();
        if kind.is_dir() { nothing_left(&entry.path()) } else { kind.len() < 8 << 20 }
    })
}

#[test]
fn a_run_on_a_file_is_kept_and_shown_again() {
    let user = User::new();
    let path = file(&user, 8);
    let document = user.document(&["disk", text(&path), "--count", "200", "--depth", "4", "--seed", "11"]);
    let parameters = &document["cases"][0]["parameters"];
    for (name, value) in [("seed", 11), ("depth", 4), ("block_size", 8192), ("count", 200), ("workers", 1)] {
        assert_eq!(parameters[name], value, "{name}");
    }
    let again = user.document(&["show", "last"]);
    assert_eq!(again["id"], document["id"]);
    assert_eq!(again["cases"], document["cases"]);
}

#[test]
fn every_view_of_a_disk_renders_within_80_columns() {
    let user = User::new();
    let path = file(&user, 32);
    let path = text(&path);
    for view in
        [vec!["--zones", "outer,inner,both"], vec!["--sweep", "4"], vec!["--seek-distances"], vec!["--rate", "500"]]
    {
        let output = user.run(&[&["disk", path, "--count", "100"], &view[..]].concat());
        assert!(output.status.success(), "{view:?}: {}", complaint(&output));
        let page = String::from_utf8(output.stdout).unwrap();
        let wide = page.lines().find(|line| line.chars().count() > 80 && !line.contains(path));
        assert_eq!(wide, None, "{view:?}");
    }
}

#[test]
fn an_open_loop_tells_latency_service_and_lateness_apart() {
    let user = User::new();
    let path = file(&user, 8);
    let document = user.document(&["disk", text(&path), "--rate", "1000", "--depth", "4", "--duration", "2s"]);
    let metrics: Vec<&str> = document["cases"][0]["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|metric| metric["name"].as_str().unwrap())
        .collect();
    for name in ["read_latency", "service_time", "submission_lateness"] {
        assert!(metrics.contains(&name), "{metrics:?}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_a_sentence() {
    let user = User::new();
    let empty = user.home.path().join("empty");
    File::create(&empty).unwrap();
    let path = file(&user, 1);
    for command in ["disk", "roundtrip"] {
        assert!(user.refused(&[command, "/nowhere/at/all"], 1).contains("does not exist"));
        assert!(user.refused(&[command, text(user.home.path())], 1).contains("directory"));
        assert!(user.refused(&[command, text(&empty)], 1).contains("empty"));
        assert!(user.refused(&[command, "/dev/null"], 1).contains("only regular files and block devices"));
        assert!(user.refused(&[command], 2).contains("required"));
    }
    assert!(user.refused(&["ladder", "--on", "/nowhere/at/all"], 1).contains("does not exist"));
    assert!(user.refused(&["disk", text(&path), "--span", "1GiB"], 2).contains("--span"));
    assert!(user.refused(&["disk", text(&path), "--offset", "2MiB"], 2).contains("--offset"));
    assert!(user.refused(&["disk", text(&path), "--block-size", "1000"], 2).contains("multiple"));
    assert!(
        user.refused(&["disk", text(&path), "--block-size", "1MiB", "--duration", "1ns"], 1).contains("--duration")
    );
    assert!(user.refused(&["roundtrip", text(&path)], 2).contains("too small"));
    assert!(user.refused(&["disk", "model:nothing"], 2).contains("known: model:fixed-latency, model:hdd-7200, "));
    assert!(user.refused(&["disk", "null"], 2).contains("null does not exist: write null: if you mean"));
    assert!(user.refused(&["disk", "model:/nowhere/at/all.toml"], 1).contains("/nowhere/at/all.toml"));
    let rated = ["disk", "model:ssd", "--workers", "2", "--rate", "100"];
    assert!(user.refused(&rated, 2).contains("give --workers 1"));
}

#[test]
fn parameters_that_cannot_be_are_refused_as_wrong_words() {
    let user = User::new();
    let path = file(&user, 1);
    let impossible: [&[&str]; 16] = [
        &["--depth", "-1"],
        &["--span", "0"],
        &["--workers", "100000"],
        &["--workers", "256", "--depth", "1024", "--block-size", "1MiB"],
        &["--depth", "0"],
        &["--workers", "0"],
        &["--block-size", "0"],
        &["--count", "0"],
        &["--duration", "0s"],
        &["--rate", "0"],
        &["--rate", "-5"],
        &["--depth", "4", "--io-method", "sync"],
        &["--zones", "both", "--workers", "1"],
        &["--sweep", "1"],
        &["--zones", "outer", "--sweep", "4"],
        &["--reap-batch", "9", "--depth", "8"],
    ];
    for words in impossible {
        let complaint = user.refused(&[&["disk", text(&path)], words].concat(), 2);
        assert!(complaint.len() > 20, "{words:?}: {complaint}");
    }
    user.refused(&["disk", text(&path), "--block-size", "8QB"], 2);
    assert!(user.run(&["disk", text(&path), "--block-size", "8KB", "--count", "9"]).status.success());
    user.refused(&["roundtrip", text(&path), "--blocks", "0"], 2);
    // The kernel would give 2 GiB less a page, and the read would pass for one of a file that was cut.
    let huge = user.home.path().join("huge");
    File::create(&huge).unwrap().set_len(64 << 30).unwrap();
    for (command, size, most) in [("disk", "2GiB", "1GiB"), ("roundtrip", "16MiB", "8MiB")] {
        let complaint = user.refused(&[command, text(&huge), "--block-size", size], 2);
        assert!(complaint.contains(&format!("give --block-size {most} or less")), "{complaint}");
    }
    user.refused(&["ladder", "--size", "huge"], 2);
    user.refused(&["ladder", "--size", "1"], 2);
}

#[test]
fn a_file_without_permission_is_refused_with_a_sentence() {
    let user = User::new();
    let path = file(&user, 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        println!("skipped: this user may read everything (root)");
        return;
    }
    assert!(user.refused(&["disk", text(&path)], 1).contains("permission"));
}

#[test]
fn a_file_in_memory_is_not_read_as_a_device() {
    let user = User::new();
    let Ok(folder) = TempDir::new_in("/dev/shm") else {
        println!("skipped: there is no /dev/shm to try tmpfs on");
        return;
    };
    let path = folder.path().join("data");
    fs::copy(file(&user, 4), &path).unwrap();
    assert!(user.refused(&["disk", text(&path)], 1).contains("--buffered"));
    let document = user.document(&["disk", text(&path), "--buffered", "--count", "100"]);
    assert!(ids(&document).contains(&"served-from-page-cache"), "{:?}", ids(&document));
    let document = user.document(&["roundtrip", text(&path), "--blocks", "16"]);
    assert!(ids(&document).contains(&"no-direct-io"), "{:?}", ids(&document));
}

#[test]
fn no_finding_advises_an_option_that_its_command_does_not_have() {
    let user = User::new();
    let on_disk = file(&user, 4);
    let mut paths = vec![on_disk.clone()];
    let folder = TempDir::new_in("/dev/shm");
    paths.extend(folder.iter().map(|folder| folder.path().join("data")));
    for path in &paths[1..] {
        fs::copy(&on_disk, path).unwrap();
    }
    let mut named = 0;
    for path in paths.iter().map(|path| text(path)) {
        let runs: [&[&str]; 4] = [
            &["disk", path, "--buffered", "--count", "100"],
            &["disk", path, "--buffered", "--count", "100", "--evict"],
            &["roundtrip", path, "--blocks", "16"],
            &["roundtrip", path, "--blocks", "16", "--evict"],
        ];
        for words in runs {
            fs::read(path).unwrap();
            let output = user.run(&[words, &["--format", "json"]].concat());
            // Where there is direct I/O, roundtrip evicts nothing.
            let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else { continue };
            let help = user.run(&[words[0], "--help"]).stdout;
            let help = String::from_utf8(help).unwrap();
            let findings = document["findings"].as_array().unwrap();
            for message in findings.iter().map(|finding| finding["message"].as_str().unwrap()) {
                let options = message.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
                for option in options.filter(|word| word.starts_with("--")) {
                    assert!(help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")), "{message}");
                    named += 1;
                }
            }
        }
    }
    assert!(named > 0, "no option is advised: {paths:?}");
}

#[test]
fn a_disk_too_small_for_the_test_file_is_refused_before_anything_is_written() {
    let user = User::new();
    let complaint = user.refused(&["ladder", "--size", "4096TiB"], 1);
    assert!(complaint.contains("free") || complaint.contains("room"), "{complaint}");
    let file = file(&user, 1);
    user.refused(&["ladder", "--dir", text(&file)], 1);
}

#[test]
fn a_store_that_cannot_be_written_is_told_before_measuring() {
    let user = User::new();
    let path = file(&user, 1);
    let start = Instant::now();
    let inside_a_file = path.join("runs");
    let complaint = user.refused(&["disk", text(&path), "--duration", "60s", "--store", text(&inside_a_file)], 3);
    assert!(complaint.contains("--store"), "{complaint}");
    assert!(start.elapsed() < Duration::from_secs(60), "it measured first");
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn an_interrupted_ladder_keeps_its_rungs_and_leaves_no_file() {
    let user = User::new();
    for (name, code, after) in [("INT", 130, 1500), ("TERM", 143, 4000), ("INT", 130, 50)] {
        let child = user.command(&["ladder", "--size", "512MiB", "--format", "json"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        signal(&child, name);
        let start = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < LIMIT, "it took {:?} to stop", start.elapsed());
        let complaint = complaint(&output);
        // Before the signal handler is in place, the signal ends the process as it ends any other.
        let ended_at_once = output.status.code().is_none();
        assert!(output.status.code() == Some(code) || ended_at_once, "{:?} {complaint}", output.status);
        assert!(!complaint.contains("panicked"), "{complaint}");
        if !output.stdout.is_empty() {
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(ids(&document).contains(&"interrupted") && document["finished"].is_null());
        }
        assert!(nothing_left(user.home.path()), "the test file was left after SIG{name}");
    }
}

#[test]
fn a_killed_run_leaves_neither_a_test_file_nor_half_a_document() {
    let user = User::new();
    for after in [20, 200, 700, 1600, 3000] {
        let mut child = user.command(&["ladder", "--size", "128MiB"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        signal(&child, "KILL");
        child.wait().unwrap();
        assert!(nothing_left(user.home.path()), "the test file was left after {after} ms");
        for run in kept_runs(&user).iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
            let document: Value = serde_json::from_slice(&fs::read(run).unwrap()).unwrap();
            assert_eq!(document["schema"], "readpath.run/1");
        }
    }
    user.document(&["runs"]);
}

#[test]
fn memory_stays_flat_whatever_the_count_of_reads() {
    let user = User::new();
    let path = file(&user, 8);
    fs::read(&path).unwrap();
    let peak = |count: &str| -> u64 {
        let words = ["disk", text(&path), "--buffered", "--count", count, "--no-store", "--format", "json"];
        let mut child = user.command(&words).stdout(Stdio::null()).spawn().unwrap();
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line.and_then(|text| text.trim().split(' ').next()?.parse().ok()).unwrap_or(peak);
            std::thread::sleep(Duration::from_millis(2));
        }
        peak
    };
    // The peak of a short run is missed where a busy machine does not look for it in time.
    let tries = (0..TRIES).map(|_| (peak("20000"), peak("1000000")));
    let grown: Vec<(u64, u64)> = tries.take_while(|(few, many)| *many > few + 2048).collect();
    assert!(grown.len() < TRIES, "KiB for 20 000 reads and for 1 000 000: {grown:?}");
}

#[test]
fn a_model_of_known_latency_is_reported_as_it_is() {
    let user = User::new();
    let document = user.document(&["disk", "model:fixed-latency", "--depth", "8", "--count", "8000"]);
    let metrics = document["cases"][0]["metrics"].as_array().unwrap();
    let latency = metrics.iter().find(|metric| metric["name"] == "read_latency").unwrap();
    assert_eq!((latency["min"].as_f64(), latency["max"].as_f64()), (Some(100.0), Some(100.0)));
    assert_eq!(document["subject"]["kind"], "model");
}

#[test]
fn a_modelled_disk_repeats_itself_and_says_where_its_figures_are_from() {
    let user = User::new();
    let words = ["disk", "model:hdd-7200", "--zones", "outer,inner,both", "--count", "300", "--seed", "13"];
    let (first, again) = (user.document(&words), user.document(&words));
    let metrics = |document: &serde_json::Value| -> Vec<serde_json::Value> {
        document["cases"].as_array().unwrap().iter().map(|case| case["metrics"].clone()).collect()
    };
    assert_eq!(metrics(&first), metrics(&again));
    assert_eq!(first["cases"].as_array().unwrap().len(), 3);
    assert!(first["subject"]["origins"]["full_stroke_ms"].as_str().unwrap().contains("data sheet"));
    let findings = first["findings"].to_string();
    assert!(findings.contains("answer-model-published") && findings.contains("answer-outer-half"), "{findings}");
}

#[test]
fn a_round_trip_to_a_modelled_array_has_the_passes_that_a_model_has() {
    let user = User::new();
    let document = user.document(&["roundtrip", "model:network-array"]);
    let passes: Vec<&str> =
        document["cases"].as_array().unwrap().iter().map(|case| case["parameters"]["pass"].as_str().unwrap()).collect();
    assert_eq!(passes, ["first-touch", "storage-cached"].repeat(3));
    assert_eq!(document["cases"][1]["parameters"]["tier"], "model");
    assert!(document["findings"].to_string().contains("absent-page-cached"));
}
