//! The benchmark of the profile, tested without a benchmark's time: what it computes, and that it notices a slow one.
//!
//! The modules are those of `benches/profile`; their unit tests run here, as cargo runs none inside a bench.

#[path = "../benches/profile/arguments.rs"]
mod arguments;
#[path = "../benches/profile/command.rs"]
mod command;
#[path = "../benches/profile/compressed.rs"]
mod compressed;
#[path = "../benches/profile/contender.rs"]
mod contender;
#[path = "../benches/contest/mod.rs"]
#[allow(dead_code, reason = "each benchmark has contenders and bars of some kinds only")]
mod contest;
#[path = "../benches/profile/cpu_profile.rs"]
mod cpu_profile;
#[path = "../benches/profile/page.rs"]
mod page;
#[path = "../benches/profile/scanner.rs"]
mod scanner;
#[path = "../benches/profile/trace_file.rs"]
mod trace_file;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::Parser;

use arguments::Arguments;

/// A program that takes its time and answers like a profile.
fn slow_profile(folder: &Path) -> String {
    let document = r#"{"started": "2026-11-20T00:00:00Z", "host": {"cpu": "none"}, "cases": []}"#;
    let program = folder.join("slow");
    fs::write(&program, format!("#!/bin/sh\nsleep 0.2\necho '{document}'\n")).expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable script");
    program.display().to_string()
}

#[test]
fn a_slow_profile_is_called_slower_and_the_report_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().display().to_string();
    let program = slow_profile(folder.path());
    let words = ["profile", "--size=1MiB", "--compressed-size=0", "--traces=/nowhere", "--rounds=1", "--fail-on-miss"];
    let more = ["--without-cpu-profile", "--bench", "--readpath", &program, "--results", &results];
    let arguments = Arguments::try_parse_from(words.iter().chain(&more)).expect("known arguments");
    let mut page = Vec::new();
    let status = command::run(&arguments, &mut page).expect("a benchmark that runs");
    let page = String::from_utf8(page).expect("a page of text");
    assert_eq!(status, 1, "{page}");
    assert!(page.contains("one core: GB/s") && page.contains("slower by"), "{page}");
    assert!(page.contains("a synthetic trace, repeated") && page.contains("a trial, not a result"), "{page}");
    let kept = fs::read_to_string(folder.path().join("2026-11-20-none/profile.json")).expect("a report");
    assert!(kept.contains("peak_bytes"), "{kept}");
}
