//! `readpath export` and profiles of server logs, as a user would call them.

use std::fs;
use std::process::{Command, Output};

use crate::user::User;

const TRACE: &str = "\
*** SESSION ID:(12.345) 2026-11-21 10:00:00.000
PARSING IN CURSOR #140 len=8 dep=0 uid=83 oct=3 lid=83 tim=1000000 hv=11 ad='7f' sqlid='aaaaaaaaaaaaa'
select 1
END OF STMT
EXEC #140:c=2000,e=5000,p=9,cr=30,cu=1,mis=0,r=0,dep=0,og=1,plh=77,tim=1007000
WAIT #140: nam='SQL*Net message from client' ela= 90000 driver id=1 #bytes=1 p3=0 obj#=56 tim=1097100
";

const LOG: &str = "\
2026-11-21 10:45:01.004 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:
\t{ \"Query Text\": \"select inner\", \"Plan\": { \"Node Type\": \"Seq Scan\", \"Relation Name\": \"orders\", \
\"Actual Total Time\": 3.5, \"Actual Rows\": 3, \"Actual Loops\": 1, \"Shared Hit Blocks\": 3, \
\"Shared Read Blocks\": 2, \"I/O Read Time\": 1.250 } }
2026-11-21 10:45:01.005 UTC [7] me@shop LOG:  checkpoint starting: time
";

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A user with a trace and a log.
fn user() -> User {
    let user = User::new();
    user.file("a.trc", TRACE.as_bytes());
    user.file("server.log", LOG.as_bytes());
    user
}

#[test]
fn an_export_is_made_once_and_replaced_only_when_asked() {
    let user = user();
    let export = |words: &[&str]| user.run(&[&["export", "--events", "a.trc", "--output", "events"], words].concat());
    let first = export(&[]);
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    assert!(said(&first).contains("events: 1 call, 1 wait, 1 statement, 1 session, 0 plan lines"), "{}", said(&first));
    let again = export(&[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("--force"), "{}", said(&again));
    assert_eq!(export(&["--force"]).status.code(), Some(0));
    let names = fs::read_dir(user.home.path().join("events")).unwrap().count();
    assert_eq!((names, fs::read_dir(user.home.path()).unwrap().count()), (5, 3));
}

#[test]
fn an_export_that_reads_nothing_leaves_nothing() {
    let user = user();
    for file in ["missing.trc", "/bin/sh"] {
        let output = user.run(&["export", "--events", file, "--output", "events"]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(file), "{}", said(&output));
        assert_eq!(fs::read_dir(user.home.path()).unwrap().count(), 2);
    }
    let output = user.run(&["export", "--events", "a.trc", "--output", "no/such/place"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("no/such/place"), "{}", said(&output));
}

#[test]
fn of_files_that_are_left_out_the_first_are_named_and_the_rest_counted() {
    let user = user();
    for (missing, rest) in [(6, "readpath: 1 further file was left out."), (7, "2 further files were left out.")] {
        let names: Vec<String> = (0..missing).map(|at| format!("missing{at}.trc")).collect();
        let names = names.iter().map(String::as_str);
        let words = ["export", "--events", "a.trc"].into_iter().chain(names).chain(["--output", "events", "--force"]);
        let text = said(&user.run(&words.collect::<Vec<&str>>()));
        assert!(text.contains(rest) && text.matches("missing").count() == 5, "{text}");
    }
}

#[test]
fn an_export_of_a_log_without_a_plan_says_what_to_set_and_leaves_nothing() {
    let user = User::new();
    let log = "2026-11-21 10:45:00.000 UTC [7] LOG:  starting PostgreSQL 18.0\n\
               2026-11-21 10:45:01.004 UTC [7] LOG:  duration: 4.000 ms  statement: select 1\n";
    user.file("plain.log", log.as_bytes());
    let complaint = user.refused("export --events plain.log --output events", 1);
    assert!(complaint.contains("plain.log") && complaint.contains("auto_explain.log_format = json"), "{complaint}");
    assert_eq!(fs::read_dir(user.home.path()).unwrap().count(), 1);
}

#[test]
fn an_export_takes_the_unit_of_time_that_it_is_given() {
    let user = user();
    let words = ["export", "--events", "a.trc", "--output", "events", "--time-scale"];
    assert_eq!(user.run(&[&words[..], &["2"]].concat()).status.code(), Some(2));
    assert_eq!(user.run(&[&words[..], &["1"]].concat()).status.code(), Some(0));
    let plain = fs::read(user.home.path().join("events/waits.parquet")).unwrap();
    assert_eq!(user.run(&[&words[..], &["1.024", "--force"]].concat()).status.code(), Some(0));
    assert_ne!(fs::read(user.home.path().join("events/waits.parquet")).unwrap(), plain, "times are in other units");
}

#[test]
fn the_sql_is_printed_by_name() {
    let user = user();
    let output = user.run(&["export", "--sql", "summary"]);
    assert!(output.status.success() && said(&output).contains("FROM 'calls.parquet'"));
    let output = user.run(&["export", "--sql", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("statements"), "{}", said(&output));
    assert_eq!(user.run(&["export", "--events", "a.trc"]).status.code(), Some(2));
}

#[test]
fn a_server_log_is_profiled_by_its_content_and_says_what_it_cannot_know() {
    let user = user();
    let output = user.run(&["profile", "server.log", "--no-store", "--format", "json"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for wanted in ["IO:DataFileRead", "log-of-plans", "Seq Scan on orders", "time-per-block", "messages without a plan"]
    {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    let page = user.run(&["profile", "server.log", "--no-store"]);
    assert!(page.status.success() && said(&page).contains("IO:DataFileRead"), "{}", said(&page));
}

#[test]
fn the_cpu_time_that_a_log_does_not_know_is_not_shown_as_zero() {
    let user = user();
    let page = said(&user.run(&["profile", "server.log", "--no-store"]));
    assert!(!page.lines().any(|line| line.starts_with("CPU")), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("CPU, locks and all other waits are in the time unaccounted"), "no reason: {page}");
}

#[test]
fn a_folder_of_server_logs_is_read_with_what_is_rotated_and_packed() {
    let user = user();
    let logs = user.home.path().join("logs");
    fs::create_dir(&logs).unwrap();
    fs::write(logs.join("postgresql.log.1"), LOG).unwrap();
    let later = LOG.replace("10:45", "10:46");
    fs::write(logs.join("postgresql.log"), &later).unwrap();
    fs::write(logs.join("other.json"), "{\"not\": \"a log\"}").unwrap();
    let run = user.run(&["profile", "logs", "--no-store", "--format", "json"]);
    let run: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let files: Vec<&str> =
        run["subject"]["files"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(files, ["logs/postgresql.log.1", "logs/postgresql.log"]);
    fs::write(logs.join("a.trc"), TRACE).unwrap();
    let mixed = said(&user.run(&["profile", "logs", "--no-store"]));
    assert!(mixed.contains("a.trc") || mixed.contains("1 session"), "{mixed}");
    let words = mixed.split_whitespace().collect::<Vec<_>>().join(" ");
    let left_out = "postgresql.log is left out because the inputs are read as traces: profile it separately";
    assert!(words.contains(left_out), "{mixed}");
    fs::remove_file(logs.join("a.trc")).unwrap();
    fs::remove_file(logs.join("postgresql.log")).unwrap();
    fs::remove_file(logs.join("postgresql.log.1")).unwrap();
    let none = user.run(&["profile", "logs", "--no-store"]);
    assert!(!none.status.success() && said(&none).contains("logs/other.json"), "{}", said(&none));
}

#[test]
fn a_log_comes_through_a_pipe_as_well() {
    let user = user();
    let command = format!("cat server.log | {} profile - --no-store --format csv", env!("CARGO_BIN_EXE_readpath"));
    let output = Command::new("sh").args(["-c", &command]).current_dir(user.home.path()).output().unwrap();
    assert!(output.status.success() && said(&output).contains("IO:DataFileRead"), "{}", said(&output));
}

#[test]
fn a_trace_among_logs_is_named_and_left_out() {
    let user = user();
    user.file("traces/a.trc", TRACE.as_bytes());
    // As a shell gives the names, as a pattern that no shell has replaced, and as a folder.
    for others in [&["a.trc", "server.log"][..], &["[as]*.[tl]*"], &["server.log", "traces"]] {
        let output = user.run(&[&["profile", "--no-store"], others].concat());
        let text = said(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(1) && text.contains("profile it separately"), "{others:?}: {text}");
    }
}

#[test]
fn a_file_that_is_left_out_is_named_as_it_is_written() {
    let user = user();
    let output = user.run(&["profile", "a.trc", "missing.trc", "--no-store"]);
    let text = said(&output);
    assert!(text.contains("warning: missing.trc could not be") && text.contains("response time"), "{text}");
    assert_eq!(output.status.code(), Some(1), "a script sees that something is missing");
    let output = user.run(&["export", "--events", "missing.trc", "a.trc", "--output", "parquet"]);
    assert!(user.home.path().join("parquet/calls.parquet").exists(), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1), "a script sees that something is missing");
}

/// A user with two runs that take no time.
fn user_with_runs() -> User {
    let user = User::new();
    for seed in ["1", "2"] {
        user.ok(&["disk", "model:hdd-7200", "--count", "20", "--seed", seed, "-q"]);
    }
    user
}

fn rows_of(user: &User, name: &str) -> Vec<String> {
    let text = fs::read_to_string(user.home.path().join(name)).unwrap();
    text.lines().skip(1).map(String::from).collect()
}

#[test]
fn runs_are_rows_of_one_table_in_either_format() {
    let user = user_with_runs();
    let all = user.ok("export --runs --output rows.csv");
    let rows = rows_of(&user, "rows.csv");
    assert_eq!(all, format!("rows.csv: {} rows of 2 runs\n", rows.len()));
    assert!(rows.len() > 10 && rows.iter().any(|row| row.contains(",iops,1/s,")), "{rows:#?}");
    assert!(rows.iter().any(|row| row.contains("model hdd-7200") && row.contains("model:hdd-7200")), "{rows:#?}");
    let same = user.ok("export --runs --output rows.parquet");
    assert_eq!(same.split_once(": ").unwrap().1, all.split_once(": ").unwrap().1);
    assert!(fs::read(user.home.path().join("rows.parquet")).unwrap().starts_with(b"PAR1"));
    user.ok("export --runs last --output one.csv");
    let one = rows_of(&user, "one.csv");
    assert_eq!(one[..], rows[rows.len() / 2..], "the oldest run stands first");
}

#[test]
fn a_run_that_cannot_be_read_is_named_and_the_others_are_exported() {
    let user = user_with_runs();
    fs::write(user.store().join("0197c0de-0000-7000-8000-000000000001.json"), "{\"schema\": \"readpath.run/1\"")
        .unwrap();
    let newer = user.file("newer.json", br#"{"schema": "readpath.run/9", "id": "x"}"#);
    let output = user.run("export --runs --output rows.csv");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(3), "a run in the store cannot be used: {text}");
    assert!(
        text.contains("0197c0de-0000-7000-8000-000000000001.json is not read") && text.contains("of 2 runs"),
        "{text}"
    );
    let output = user.run(&["export", "--runs", "last", &newer, "last", "--output", "some.csv"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("of a newer readpath") && text.contains("written already"), "{text}");
    assert!(text.contains("of 1 run\n"), "{text}");
    let complaint = user.refused(&["export", "--runs", &newer, "--output", "none.csv"], 1);
    assert!(complaint.contains("no run was read, so nothing was written"), "{complaint}");
    let complaint = user.refused("export --runs last nowhere --output none.csv", 2);
    assert!(complaint.contains("no run 'nowhere'"), "{complaint}");
    assert!(!user.home.path().join("none.csv").exists());
}

#[test]
fn rows_go_only_where_they_are_wanted_and_a_failure_leaves_nothing() {
    let user = user_with_runs();
    let precious = user.file("rows.csv", b"years of work");
    let complaint = user.refused("export --runs --output rows.csv", 2);
    assert!(complaint.contains("is there already") && complaint.contains("--force"), "{complaint}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years of work");
    user.ok("export --runs --output rows.csv --force");
    assert!(fs::read_to_string(&precious).unwrap().starts_with("run,name,job,experiment,started,"));
    let complaint = user.refused("export --runs --output no/such/place.csv", 1);
    assert!(complaint.contains("no/such/place.csv could not be written"), "{complaint}");
    for name in ["rows.json", "rows", "rows.parquet.gz"] {
        let complaint = user.refused(&["export", "--runs", "--output", name], 2);
        assert!(complaint.contains(name) && complaint.contains(".parquet or .csv"), "{complaint}");
    }
    fs::create_dir(user.home.path().join("folder.csv")).unwrap();
    let complaint = user.refused("export --runs --output folder.csv --force", 2);
    assert!(complaint.contains("is a folder"), "{complaint}");
    user.refused("export --runs", 2);
    assert!(user.refused("export last", 2).contains("give --runs last where it is a run"));
    user.refused("export --output rows.parquet", 2);
    let newcomer = User::new();
    let complaint = newcomer.refused("export --runs --output rows.csv", 1);
    assert!(complaint.contains("no runs are kept in") && complaint.contains("--store DIR"), "{complaint}");
    assert_eq!(fs::read_dir(newcomer.home.path()).unwrap().count(), 0);
    let full = user.refused("export --runs --output /dev/full", 2);
    assert!(full.contains("not a regular file"), "{full}");
}

#[test]
fn rows_take_the_place_of_no_socket_and_of_no_link() {
    let user = user_with_runs();
    let (socket, link) = (user.home.path().join("socket.csv"), user.home.path().join("link.csv"));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let complaint = user.refused("export --runs --output socket.csv --force", 2);
    assert!(complaint.contains("not a regular file"), "{complaint}");
    // The link's own name says what is written.
    let target = user.file("target", b"before");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    user.ok("export --runs --output link.csv --force");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().starts_with("run,name,"));
}
