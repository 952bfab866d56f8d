//! `readpath profile --on`: a profile of a running server, as users call it.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::record::{HEAVY, busy};
use crate::terminal;
use crate::user::{DEBIAN, User, complaint};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use trial::Trial;

#[test]
fn a_running_server_gets_the_page_and_the_document_of_any_profile() {
    let Some(trial) = Trial::start(&[]) else { return };
    let _busy = busy(&trial, HEAVY);
    let user = User::new();
    let url = trial.url();
    let output = user.run(&format!("profile --on {url} --duration 2s --rate 40 -q"));
    let page = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    for part in [
        "at work on average",
        "where the time went",
        "response time",
        "±",
        "statements by response time",
        "Own cost:",
        "sum(sqrt(n))",
    ] {
        assert!(page.contains(part), "no {part}: {page}");
    }
    let shown = user.run("show last --format json");
    let run: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!((run["experiment"].as_str(), run["subject"]["rate"].as_f64()), (Some("profile"), Some(40.0)));
    assert_eq!(run["subject"]["kind"], "postgres");
    let shares: f64 = run["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["parameters"]["table"] == "summary")
        .filter(|case| case["parameters"].get("session").is_none())
        .map(|case| {
            let value = |name: &str| {
                case["metrics"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|one| one["name"] == name)
                    .map_or(0.0, |one| one["median"].as_f64().unwrap())
            };
            value("interval")
                - value("cpu")
                - value("waits")
                - value("unaccounted_within")
                - value("unaccounted_between")
        })
        .sum();
    assert!(shares.abs() < 1.0, "{shares} µs are missing");
    let hidden = user.run(&format!("profile --on {url} --duration 1s -q --no-text"));
    assert!(!String::from_utf8(hidden.stdout).unwrap().contains("sqrt"));
}

#[test]
fn a_profile_that_leaves_tiers_out_has_none_and_says_why() {
    let Some(trial) = Trial::start(&[]) else { return };
    let _busy = busy(&trial, HEAVY);
    let user = User::new();
    let words = format!("profile --on {} --duration 1s -q", trial.url());
    let without = user.document(&format!("{words} --no-tiers"));
    let tables: Vec<&Value> =
        without["cases"].as_array().unwrap().iter().map(|case| &case["parameters"]["table"]).collect();
    assert!(tables.iter().any(|table| *table == "sampling") && !tables.iter().any(|table| *table == "tracing"));
    let findings = without["findings"].as_array().unwrap();
    let level = findings.iter().find(|finding| finding["id"] == "sampled-level").unwrap();
    assert!(level["message"].as_str().unwrap().ends_with("tracepoints would tell: --no-tiers was given."), "{level}");
    let refused = user.refused(&format!("{words} --no-tiers --exact all"), 2);
    assert!(refused.contains("cannot be used with"), "{refused}");
    for command in ["profile", "top", "record --to recording"] {
        let sent = |more: &str| user.ok(&format!("{command} --on postgres://me@nowhere.example/db --dry-run {more}"));
        let files = "pg_filenode_relation";
        assert!(sent("").contains(files) && !sent("--no-tiers").contains(files), "{command}");
    }
}

#[test]
fn a_profile_for_which_no_sample_was_taken_is_no_success() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let output = user.run(&format!("profile --on {} --duration 1ns -q", trial.url()));
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("No sample was taken"), "{page}");
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
}

#[test]
fn an_interrupt_is_how_a_profile_ends_and_another_signal_is_not() {
    let Some(trial) = Trial::start(&[]) else { return };
    let _busy = busy(&trial, HEAVY);
    for (signal, code) in [(Signal::INT, 0), (Signal::TERM, 143)] {
        let user = User::new();
        let words = format!("profile --on {} --duration 60s -q", trial.url());
        let mut command = user.command(&words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        trial.wait_for("SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'readpath'", "t");
        // The first page is due two seconds after the sampling has begun.
        thread::sleep(Duration::from_secs(4));
        let begun = Instant::now();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", complaint(&output));
        assert!(begun.elapsed() < Duration::from_secs(40), "it went on for all of its minute");
        let page = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(page.contains("where the time went"), "{page}");
        let said = format!("{page}{}", complaint(&output));
        assert_eq!(said.contains("interrupted by SIGTERM"), code != 0, "{said}");
        assert!(!said.contains("interrupted by ^C"), "{said}");
        assert_eq!(user.ok("runs").contains("unfinished"), code != 0);
    }
}

#[test]
fn an_interrupt_before_the_first_page_is_an_interruption() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let until_sessions = |are: &str| {
        let own = "FROM pg_stat_activity WHERE application_name = 'readpath'";
        trial.wait_for(&format!("SELECT count(*) {are} 0 {own}"), "t");
    };
    let interrupted = |_| {
        until_sessions("=");
        let begun = Instant::now();
        let mut command = user.command(&format!("profile --on {} --duration 60s -q", trial.url()));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until_sessions(">");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        // Where the machine is busy, the signal may come behind the two seconds.
        let is_early = begun.elapsed() < Duration::from_secs(1);
        let output = child.wait_with_output().unwrap();
        is_early.then_some(output)
    };
    let Some(output) = (0..5).find_map(interrupted) else { return println!("skipped: the machine is too busy") };
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), complaint(&output));
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted by ^C"), "{said}");
}

#[test]
fn a_page_on_a_terminal_is_renewed_in_its_place() {
    let Some(trial) = Trial::start(&[]) else { return };
    let _busy = busy(&trial, HEAVY);
    let user = User::new();
    let Some(script) = terminal::begin(&user, &format!("profile --on {} --for 6s", trial.url())) else { return };
    let screen = terminal::Screen::of(script);
    screen.check(user.ok("show last").lines().count());
}

#[test]
fn a_private_server_is_profiled_for_as_long_as_its_load_runs() {
    if !std::path::Path::new(DEBIAN).join("bin/pgbench").is_file() {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
        return;
    }
    let user = User::new();
    let load = user.temporary.path().join("load.sh");
    let pgbench = format!("{DEBIAN}/bin/pgbench");
    let script = format!("set -e\n{pgbench} -i -q -s 1\n{pgbench} -c 2 -T $1 -n\necho told $DATABASE_URL\nexit $2\n");
    std::fs::write(&load, script).unwrap();
    let words = |seconds: u8, code: u8| {
        format!("--format json profile --on postgres:{DEBIAN} -q -- sh {} {seconds} {code}", load.display())
    };
    // By these, PostgreSQL's programs would go elsewhere, whatever PGHOST says.
    let mut command = user.command(&words(3, 0));
    let output = command.env("PGSERVICE", "elsewhere").env("PGHOSTADDR", "192.0.2.7").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let texts: Vec<&str> =
        run["cases"].as_array().unwrap().iter().filter_map(|case| case["parameters"]["text"].as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("pgbench_accounts")), "{texts:?}");
    assert!(complaint(&output).contains("told postgresql://"), "what it prints is no part of the document");
    let failed = user.run(&words(1, 7));
    assert_eq!(failed.status.code(), Some(7), "{}", complaint(&failed));
    assert!(String::from_utf8_lossy(&failed.stdout).contains("load-failed"));
}

#[test]
fn a_dry_run_prints_what_would_be_sent_and_sends_nothing() {
    let user = User::new();
    let script = String::from_utf8(user.run("profile --on postgres://me:s3cret@nowhere.example/db --dry-run").stdout);
    let script = script.unwrap();
    for part in [
        "PREPARE readpath_sample",
        "EXECUTE readpath_sample",
        "pg_blocking_pids",
        "active_time",
        "pg_stat_statements",
        "default_transaction_read_only",
        "statement_timeout",
        "50 times a second",
    ] {
        assert!(script.contains(part), "no {part}: {script}");
    }
    assert!(!script.contains("s3cret"));
}

#[test]
fn a_server_that_cannot_be_profiled_is_one_sentence() {
    let user = User::new();
    let refused = |words: &str, code: i32, part: &str| {
        let output = user.run(words);
        assert_eq!(output.status.code(), Some(code), "{words}: {}", complaint(&output));
        assert!(complaint(&output).contains(part), "{words}: {}", complaint(&output));
    };
    refused("profile --on postgres://me@127.0.0.1:1/db", 1, "does not respond");
    refused("profile --on postgres:18", 2, "a private server does nothing by itself");
    refused("profile --on postgres://me@127.0.0.1:1/db -- true", 2, "is the load of a private server");
    refused("profile --on postgres://me@127.0.0.1:1/db a.trc", 2, "cannot be used");
    refused("profile --on oracle:19", 2, "names no server");
    refused("profile", 2, "FILE");
    refused("profile -- --no-such-file.trc", 1, "--no-such-file.trc");
    refused("profile -- sh -c true", 2, "`readpath profile --on postgres:18 -- sh ...`");
}
