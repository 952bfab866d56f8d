//! Signals and kills at random moments: the store can be read after each, nothing is left, and the first signal ends a
//! run soon.
//!
//! `READPATH_KILLS=1000 cargo test --release -p readpath --test commands random_moments -- --nocapture` does it a
//! thousand times; the tests do it fifty times.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use measure::random::SplitMix64;
use serde_json::Value;

use crate::user::{DEBIAN, User, complaint};
use crate::waiting;

/// The latest moment of a kill after the start, in milliseconds.
const LATEST_MS: u64 = 600;

/// What is killed; `HOME` stands for the user's.
const COMMANDS: [&str; 10] = [
    "disk HOME/a.dat --duration 10s -q",
    "lio --payload 4MiB --row-length 250 --columns 5 --threads 1,2 -q",
    "lio --payload 4MiB --row-length 250 --columns 5 --reload -q",
    "lio --on sqlite --payload 2MiB --row-length 250 --columns 5 -q",
    "scan --rows 200000 --path full-scan,column-scan -q",
    "join --rows 20000 -q",
    "profile HOME/shop_ora_4711.trc -q",
    "export --events HOME/shop_ora_4711.trc --output HOME/events --force",
    "run HOME/jobs.toml -q",
    "export --runs --output HOME/rows.parquet --force",
];

/// Jobs of which one keeps files of its own, and one runs long.
const JOBS: &str = "\
[defaults]
payload = '2MiB'
row-length = 250
columns = 5

[first]
experiment = 'lio'
on = 'sqlite'

[second]
experiment = 'disk'
paths = 'null:'
duration = '10s'
";

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn send(child: &Child, signal: &str) {
    // A child that has ended by itself is a zombie until it is waited for: its number is still its own.
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
}

/// Waits for the end of a command after its first signal.
fn assert_ends(child: &mut Child, words: &str, signal: &str) {
    waiting::end_of(child, &format!("{words} after {signal}"));
}

/// Every run that was kept can be read.
fn assert_readable(user: &User, words: &str, signal: &str) {
    let output = user.run("runs --format json");
    assert!(output.status.success(), "{words} {signal}: {}", complaint(&output));
    let listing: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listing["unreadable"], serde_json::json!([]), "{words} {signal}");
}

#[test]
fn signals_and_kills_at_random_moments_leave_a_readable_store_and_nothing_else() {
    let times: u64 = env::var("READPATH_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut random = SplitMix64::new(seed);
    let user = User::new();
    let home = user.home.path();
    fs::write(home.join("a.dat"), vec![7; 8 << 20]).unwrap();
    fs::write(home.join("jobs.toml"), JOBS).unwrap();
    fs::write(home.join("shop_ora_4711.trc"), include_str!("../traces/shop_ora_4711.trc")).unwrap();
    let mut commands: Vec<String> =
        COMMANDS.iter().map(|words| words.replace("HOME", home.to_str().unwrap())).collect();
    if Path::new(DEBIAN).is_dir() {
        commands.push(format!("lio --on postgres:{DEBIAN} --payload 1MiB --row-length 250 --columns 5 -q"));
    }
    for _ in 0..times {
        let words = &commands[(random.next_u64() % commands.len() as u64) as usize];
        let signal = ["-INT", "-TERM", "-KILL"][(random.next_u64() % 3) as usize];
        let before = names(user.temporary.path());
        let mut child = user.command(words).spawn().unwrap();
        thread::sleep(Duration::from_millis(random.next_u64() % LATEST_MS));
        send(&child, signal);
        assert_ends(&mut child, words, signal);
        let left: Vec<String> = names(user.temporary.path()).difference(&before).cloned().collect();
        assert!(signal == "-KILL" || left.is_empty(), "{words} {signal} left {left:?}");
        assert_readable(&user, words, signal);
    }
    assert!(user.run("clean").status.success());
    // What an export that was killed has left goes with the next one.
    commands.iter().filter(|words| words.starts_with("export")).for_each(|words| drop(user.run(words)));
    assert_eq!(names(user.temporary.path()), BTreeSet::new());
    let hidden: Vec<String> = names(home).into_iter().filter(|name| name.starts_with(".readpath")).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn a_command_that_waits_for_a_pipe_ends_at_the_first_signal() {
    let user = User::new();
    let pipe = user.home.path().join("g");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let waiting = [
        "profile - -q",
        "profile g -q",
        "profile --since 2026-11-22 g -q",
        "export --events g --output events",
        "export --events - --output others",
    ];
    for has_writer in [false, true] {
        // Both ends in one descriptor: the pipe has a writer, which stays silent.
        let _writer = has_writer.then(|| fs::File::options().read(true).write(true).open(&pipe).unwrap());
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut begun: Vec<Child> =
                waiting.iter().map(|words| user.command(*words).stdin(Stdio::piped()).spawn().unwrap()).collect();
            let _silent: Vec<_> = begun.iter_mut().map(|child| child.stdin.take()).collect();
            begun.iter().for_each(|child| waiting::until_signals_are_handled(child.id()));
            thread::sleep(Duration::from_millis(500));
            for (words, mut child) in waiting.iter().zip(begun) {
                send(&child, signal);
                assert_ends(&mut child, words, signal);
                let output = child.wait_with_output().unwrap();
                let said = complaint(&output);
                assert_eq!(output.status.code(), Some(code), "{words} {signal}: {said}");
                assert!(said.lines().count() == 1 && said.contains("interrupted"), "{words} {signal}: {said}");
                let is_left = ["events", "others"].iter().any(|name| user.home.path().join(name).exists());
                assert!(!is_left, "{words}");
            }
        }
    }
}

#[test]
fn a_signal_ends_a_command_whose_output_is_not_read() {
    let user = User::new();
    for before_printing in [false, true] {
        // Far more than a pipe holds.
        let words = if before_printing { "null --cases 500 --pause 5ms" } else { "null --cases 500" };
        let mut child = user.command(&format!("{words} --format json -q --no-store")).spawn().unwrap();
        waiting::until_signals_are_handled(child.id());
        if before_printing {
            // It measures for 2.5 s, and then prints.
            thread::sleep(Duration::from_millis(1500));
        } else {
            let pipe = child.stdout.as_ref().unwrap();
            waiting::until("it prints", || rustix::io::ioctl_fionread(pipe).unwrap() > 0);
        }
        send(&child, "-TERM");
        assert_ends(&mut child, words, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(143), "{words}");
    }
}

#[test]
fn a_pipe_is_read_to_its_end_when_its_writer_comes_late() {
    let user = User::new();
    let pipe = user.home.path().join("g");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = user.command("profile g -q").spawn().unwrap();
    thread::sleep(Duration::from_millis(300));
    let (beginning, end) = include_str!("../traces/shop_ora_4711.trc").split_at(1000);
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    writer.write_all(beginning.as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(300));
    writer.write_all(end.as_bytes()).unwrap();
    drop(writer);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let of_file = user.ok(&["profile", &user.file("t.trc", include_bytes!("../traces/shop_ora_4711.trc")), "-q"]);
    let table = |page: &str| -> Vec<String> {
        let rows = page.lines().skip_while(|line| !line.contains("seconds")).take_while(|line| !line.is_empty());
        rows.map(String::from).collect()
    };
    assert_eq!(table(&String::from_utf8(output.stdout).unwrap()), table(&of_file));
}
