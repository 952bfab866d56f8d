//! `ladder`, whose runs take half a minute: they are looked at while they run, and ended.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::children::interrupt;
use crate::user::{User, complaint};

/// The options that are tried here; `--huge-pages` is where a ladder runs to its end, in `examples.rs`.
pub(super) const TRIED: [&str; 9] =
    ["--dir", "--size", "--on", "--seed", "--huge-pages", "--format", "--store", "--no-store", "--quiet"];

/// How long something may take on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(60);

/// A test file: its size and its first bytes.
type TestFile = (u64, Vec<u8>);

/// The files without a name in a folder that a process has open.
fn unnamed(process: u32, folder: &Path) -> Vec<PathBuf> {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let name = fs::read_link(path).unwrap_or_default();
        name.starts_with(folder) && name.to_string_lossy().ends_with("(deleted)")
    };
    open.filter(is_ours).collect()
}

/// The test file of a ladder in a folder, once it has this size.
fn test_file(child: &Child, folder: &Path, bytes: u64) -> TestFile {
    let start = Instant::now();
    loop {
        for path in unnamed(child.id(), folder) {
            let Ok(file) = File::open(path) else { continue };
            let mut head = vec![0; 4096];
            let is_whole = file.metadata().is_ok_and(|file| file.size() == bytes);
            // Its room is taken before it is written.
            if is_whole && file.read_exact_at(&mut head, 0).is_ok() && head.iter().any(|byte| *byte > 0) {
                return (bytes, head);
            }
        }
        assert!(start.elapsed() < LIMIT, "no test file of {bytes} bytes in {}", folder.display());
        thread::sleep(Duration::from_millis(10));
    }
}

/// The test file of a ladder with these words, which is ended then.
fn test_file_of(user: &User, words: &str, bytes: u64) -> TestFile {
    let folder = user.home.path().join("files");
    fs::create_dir_all(&folder).unwrap();
    let mut child = user.command(&format!("ladder --dir {} {words}", folder.display())).spawn().unwrap();
    let found = test_file(&child, &folder, bytes);
    child.kill().unwrap();
    child.wait().unwrap();
    found
}

#[test]
fn the_test_file_of_a_ladder_has_the_size_the_place_and_the_seed_that_are_asked_for() {
    let user = User::new();
    let data = user.home.path().join("data");
    fs::write(&data, vec![7; 16 << 20]).unwrap();
    let plain = test_file_of(&user, "--size 16MiB --seed 1", 16 << 20);
    for on in [String::new(), format!("--on {}", data.display()), "--on model:ssd".into(), "--on null:".into()] {
        let of = |words: &str, bytes| test_file_of(&user, &format!("{on} {words}"), bytes);
        assert_eq!(of("--size 16MiB --seed 1", 16 << 20), plain, "{on}");
        assert_ne!(of("--size 17MiB --seed 2", 17 << 20).1, plain.1, "{on}: another seed");
        if !on.is_empty() {
            let refused = user.refused(&format!("ladder {on} --size 129MiB"), 2);
            assert!(refused.contains("no effect beyond 128 MiB with --on"), "{on}: {refused}");
        }
    }
}

#[test]
fn an_interrupted_ladder_is_kept_and_printed_as_it_was_asked_for() {
    let user = User::new();
    let store = user.home.path().join("runs");
    let words = format!("ladder --size 16MiB --format csv --store {} --quiet", store.display());
    let child = user.command(&words).spawn().unwrap();
    let start = Instant::now();
    let kept = || fs::read_dir(&store).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_kept = |path: PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("\"rung\""));
    while !kept().any(is_kept) {
        assert!(start.elapsed() < LIMIT, "no rung was kept");
        thread::sleep(Duration::from_millis(10));
    }
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.starts_with("run,experiment,"), "{printed:.300} {}", complaint(&output));
    assert_eq!(complaint(&output).lines().count(), 1, "its end and nothing else: {}", complaint(&output));
    assert!(!user.home.path().join(".local").exists());
    let before = kept().count();
    test_file_of(&user, "--size 16MiB --no-store", 16 << 20);
    assert!(!user.home.path().join(".local").exists() && kept().count() == before);
}
