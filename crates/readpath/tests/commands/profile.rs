//! `readpath profile` as a user meets it: what is printed, what is kept, and what is said of files that are no traces.

// What stands beside the tests of this file is called by them alone.
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::user::{User, complaint};
use crate::waiting;

/// A trace made for these tests: two pages of a shop, 3.4 s, of it 2.3 s of a person thinking.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/shop_ora_4711.trc");

/// The cases of a table, for the whole or for the sessions.
fn rows<'a>(run: &'a Value, table: &str, of_session: bool) -> Vec<&'a Value> {
    let is_wanted = |case: &&Value| {
        case["parameters"]["table"] == table && case["parameters"].get("session").is_some() == of_session
    };
    run["cases"].as_array().unwrap().iter().filter(is_wanted).collect()
}

fn value(case: &Value, metric: &str) -> f64 {
    let metrics = case["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|known| known["name"] == metric);
    found.unwrap_or_else(|| panic!("no {metric} in {case}"))["median"].as_f64().unwrap()
}

fn findings(run: &Value) -> BTreeSet<&str> {
    run["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn profile_without_arguments_names_a_server_besides_files() {
    let said = User::new().refused("profile", 2);
    assert!(said.contains("FILE") && said.contains("--on"), "{said}");
}

#[test]
fn a_profile_is_printed_kept_shown_and_compared() {
    let user = User::new();
    let page = user.ok(&["profile", TRACE]);
    assert!(page.contains("Largest class: single-block reads"), "{page}");
    assert!(page.contains("think time") && page.contains("what to do"), "{page}");
    assert_eq!(user.ok(&["show", "last"]), page);
    assert!(user.ok(&["runs"]).contains("profile"));
    user.ok(&["profile", TRACE]);
    let comparison = user.document(&["compare", "last~1", "last"]);
    let rows = |part: &str| comparison[part].as_array().unwrap().len();
    assert!(rows("classes") > 3 && rows("statements") > 0, "{comparison}");
    assert_eq!((rows("new"), rows("vanished"), rows("plans")), (0, 0, 0), "{comparison}");
}

/// Lines of a server log around what a test is about.
fn server_log(messages: &str) -> String {
    format!("2026-11-21 10:45:00.000 UTC [7] LOG:  starting PostgreSQL 18.0\n{messages}")
}

#[test]
fn a_log_without_a_plan_is_a_failure_that_names_the_settings_and_no_empty_page() {
    let user = User::new();
    let durations = "2026-11-21 10:45:01.004 UTC [7] LOG:  duration: 4.000 ms  statement: select 1\n\
                     2026-11-21 10:45:02.004 UTC [7] LOG:  duration: 2.000 ms\n";
    let as_text = "2026-11-21 10:45:01.004 UTC [7] LOG:  duration: 4.000 ms  plan:\n\tQuery Text: select 1\n\t\
                   Result  (cost=0.00..0.01 rows=1 width=4)\n";
    for (name, messages) in [("plain.log", ""), ("durations.log", durations), ("text.log", as_text)] {
        let path = user.file(name, server_log(messages).as_bytes());
        let refusal = user.refused(&["profile", &path], 1);
        for part in [name, "auto_explain.log_min_duration", "auto_explain.log_format = json", "track_io_timing"] {
            assert!(refusal.contains(part), "{name}: no {part} in {refusal}");
        }
        assert!(user.refused(&["compare", &path, &path], 1).contains("auto_explain"));
    }
    assert!(!user.store().exists() || fs::read_dir(user.store()).unwrap().count() == 0, "an empty profile is kept");
}

#[test]
fn a_log_whose_plans_lack_figures_is_profiled_and_says_what_to_set() {
    let plan = "2026-11-21 10:45:01.004 UTC [7] LOG:  duration: 4.000 ms  plan:\n\
                \t{ \"Query Text\": \"select 1\", \"Plan\": { \"Node Type\": \"Result\" } }\n";
    let user = User::new();
    let page = user.ok(&["profile", &user.file("some.log", server_log(plan).as_bytes())]);
    assert!(page.contains("set auto_explain.log_analyze") && page.contains("messages without a plan: 1"), "{page}");
}

#[test]
fn the_document_adds_up_exactly_and_has_the_promised_names() {
    let run = User::new().document(&["profile", TRACE]);
    assert_eq!((run["experiment"].as_str(), run["subject"]["kind"].as_str()), (Some("profile"), Some("trace")));
    assert_eq!((run["subject"]["time_scale"].as_f64(), run["subject"]["files"][0].as_str()), (Some(1.0), Some(TRACE)));
    assert_eq!(run["subject"]["versions"][0], "11.2.0.4.0");
    for of_session in [false, true] {
        let [summary] = rows(&run, "summary", of_session)[..] else { panic!("one summary") };
        let parts = ["cpu", "waits", "unaccounted_within", "unaccounted_between"].map(|name| value(summary, name));
        assert!((parts.iter().sum::<f64>() - value(summary, "interval")).abs() < 1e-6);
        let classes: f64 = rows(&run, "class", of_session).iter().map(|class| value(class, "total")).sum();
        assert!((classes - value(summary, "interval")).abs() < 1e-6);
        for event in rows(&run, "event", of_session) {
            let [calls, total, mean] = ["calls", "total", "mean"].map(|name| value(event, name));
            assert!((calls * mean - total).abs() < 1e-6 && value(event, "min") <= value(event, "max"));
            assert!((value(event, "inside") + value(event, "outside") - total).abs() < 1e-6);
        }
        for call in rows(&run, "call", of_session) {
            assert!(call["parameters"]["recursive"].is_boolean());
            for metric in
                ["calls", "rows", "misses", "cpu", "elapsed", "physical_reads", "consistent_gets", "current_gets"]
            {
                value(call, metric);
            }
        }
    }
    let [summary] = rows(&run, "summary", false)[..] else { panic!("one summary") };
    assert_eq!(rows(&run, "summary", true)[0]["parameters"]["session"], "71.4203");
    let statements = rows(&run, "statement", false);
    for (metric, whole) in [("response_time", "response_time"), ("cpu", "cpu"), ("logical_reads", "logical_reads")] {
        let sum: f64 = statements.iter().map(|statement| value(statement, metric)).sum();
        assert!((sum - value(summary, whole)).abs() < 1e-6, "{metric}: {sum}");
    }
}

#[test]
fn think_time_is_apart_and_its_border_can_be_moved() {
    let user = User::new();
    let class = |run: &Value, name: &str| {
        rows(run, "class", false).iter().find(|row| row["parameters"]["class"] == name).map(|row| value(row, "total"))
    };
    let usual = user.document(&["profile", TRACE]);
    assert_eq!(class(&usual, "think-time"), Some(2_300_000.0));
    let none = user.document(&["profile", TRACE, "--think-time", "5s"]);
    assert_eq!(class(&none, "think-time"), None);
    let moved = class(&none, "network").unwrap() - class(&usual, "network").unwrap();
    assert!((moved - 2_300_000.0).abs() < 1e-6);
    let all = user.document(&["profile", TRACE, "--think-time", "0s"]);
    let both = |run: &Value| class(run, "think-time").unwrap() + class(run, "network").unwrap_or(0.0);
    assert!((both(&usual) - both(&all)).abs() < 1e-6, "{} and {}", both(&usual), both(&all));
    assert!(class(&all, "think-time") > class(&usual, "think-time"), "round trips are think time too");
}

#[test]
fn a_response_time_is_not_taken_for_another_one_with_think_time_in_it() {
    let user = User::new();
    let csv = user.ok(&["profile", TRACE, "--format", "csv"]);
    let metrics: Vec<&str> = csv.lines().filter(|line| line.contains(",response_time,")).collect();
    let is_explicit = |line: &&str| line.contains("think time and idle waits included");
    assert!(metrics.len() > 1 && metrics.iter().all(is_explicit), "{metrics:?}");
    let page = user.ok(&["profile", TRACE]);
    assert!(page.contains("statements by response time, without think time"), "{page}");
    // Both can be had from the document.
    let run = user.document(&["profile", TRACE]);
    let summary = rows(&run, "summary", false)[0];
    let think_time = rows(&run, "class", false).into_iter().find(|row| row["parameters"]["class"] == "think-time");
    let without = value(summary, "interval") - value(think_time.unwrap(), "total");
    let with = value(summary, "response_time") + value(summary, "unaccounted_between");
    assert!((with - without - 2_300_000.0).abs() < 1e-3, "{with} with it and {without} without");
    let shown = format!("{:.3}", without / 1e6);
    assert!(page.lines().any(|line| line.starts_with("response time ") && line.contains(&shown)), "{shown}: {page}");
}

#[test]
fn the_help_of_think_time_names_a_unit_what_zero_does_and_what_has_no_such_waits() {
    let user = User::new();
    for command in ["profile", "compare"] {
        let help = user.ok(&[command, "-h"]).split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, own) = help.split_once("--think-time <TIME> ").unwrap();
        let (own, _) = own.split_once("[default: 1s]").unwrap();
        assert!(["500ms", "0s makes all of them", "PostgreSQL log"].iter().all(|part| own.contains(part)), "{own}");
    }
}

#[test]
fn one_statement_has_its_story_and_an_unknown_one_is_refused() {
    let user = User::new();
    let page = user.ok(&["profile", TRACE, "--statement", "9QF3"]);
    assert!(page.contains("statement 9qf3hs81ntb6d") && page.contains("join products p"), "{page}");
    assert!(page.contains("NESTED LOOPS") && page.contains("db file sequential read from"), "{page}");
    let notes = ["note:", "warning:"].iter().filter_map(|word| page.find(word)).min().unwrap();
    assert!(page[..notes].trim_end().ends_with("Of the whole trace:"), "{page}");
    assert!(user.refused(&["profile", TRACE, "--statement", "nothing"], 2).contains("no statement 'nothing'"));
    assert_eq!(user.document(&["runs"])["runs"].as_array().unwrap().len(), 1, "a refused profile is not kept");
}

#[test]
fn statements_are_ranked_as_asked() {
    let user = User::new();
    let page = user.ok(&["profile", TRACE, "--sort", "physical-reads", "--top", "1"]);
    assert!(page.contains("statements by physical reads"), "{page}");
    let ranked = page.split("statements by physical reads").nth(1).unwrap();
    assert!(ranked.lines().nth(2).unwrap().starts_with("4kz7x0w2mfu1q"), "{page}");
    assert!(user.ok(&["profile", TRACE, "--format", "csv"]).lines().count() > 100);
}

#[test]
fn a_ranking_is_refused_where_no_statements_are_ranked() {
    let user = User::new();
    for (words, option) in [
        (&["--by", "event", "--sort", "cpu"][..], "--sort"),
        (&["--where", "latency>5ms", "--sort", "cpu"], "--sort"),
        (&["--statement", "9qf3", "--sort", "cpu"], "--sort"),
        (&["--statement", "9qf3", "--top", "3"], "--top"),
    ] {
        let refusal = user.refused(&[&["profile", TRACE], words].concat(), 2);
        assert!(refusal.contains(&format!("{option} has no effect here")), "{words:?}: {refusal}");
    }
    user.ok(&["profile", TRACE, "--statement", "9qf3", "--by", "event", "--top", "3", "--no-store"]);
}

#[test]
fn a_page_of_no_rows_is_refused_and_not_shown() {
    let user = User::new();
    for more in [&["--by", "event"][..], &[]] {
        let refusal = user.refused(&[&["profile", TRACE, "--top", "0"], more].concat(), 2);
        assert!(refusal.contains("write a whole number from 1"), "{more:?}: {refusal}");
    }
}

#[test]
fn a_unit_of_time_that_the_user_gives_is_used_and_said() {
    let user = User::new();
    let [plain, scaled] = ["1", "1.024"].map(|scale| user.document(&["profile", TRACE, "--time-scale", scale]));
    let waits = |run: &Value| value(rows(run, "summary", false)[0], "waits");
    assert!((waits(&plain) * 1.024 - waits(&scaled)).abs() < 1e-3);
    let cpu = |run: &Value| value(rows(run, "summary", false)[0], "cpu");
    assert_eq!(cpu(&plain), cpu(&scaled), "CPU has a clock of its own");
    assert_eq!(scaled["subject"]["time_scale"].as_f64(), Some(1.024));
    assert!(findings(&scaled).contains("time-unit"));
}

#[test]
fn what_is_no_trace_is_called_what_it_is_and_nothing_is_kept() {
    let user = User::new();
    let samples = [
        (user.file("empty.trc", b""), "empty"),
        (user.file("empty.log", b""), "empty"),
        (user.file("short.trc", b"abc"), "no line of a call"),
        (user.file("short.log", b"abc"), "no line of a call"),
        (user.file("segment.parquet", b"PAR"), "no line of a call"),
        (user.file("binary.trc", b"\x7fELF\x00\x01\x02"), "binary"),
        (user.file("optimizer.trc", b"Trace file x\nQUERY BLOCK SIGNATURE\n"), "10053"),
        (user.home.path().join("missing.trc").to_str().unwrap().into(), "No such file"),
        (user.home.path().join("nothing*.trc").to_str().unwrap().into(), "no file matches"),
    ];
    for (path, word) in &samples {
        let complaint = user.refused(&["profile", path], 1);
        assert!(complaint.contains(word) && complaint.contains("no trace was read"), "{complaint}");
        if Path::new(path).is_file() {
            assert!(user.refused(&["compare", path, TRACE], 1).contains(word), "{path}");
        }
    }
    assert!(user.refused(&["profile"], 2).contains("FILE"));
    assert!(user.refused(&["profile", TRACE, "--workers", "0"], 2).contains("workers"));
    assert!(user.ok(&["runs"]).contains("No runs are kept yet"));
}

#[test]
fn an_input_that_is_named_and_not_read_is_a_failure_whatever_its_name_is() {
    let user = User::new();
    let ends = |name: &[u8]| {
        let mut command = user.command(&["profile", TRACE, "--no-store"]);
        let output = command.arg(OsStr::from_bytes(name)).output().unwrap();
        let page = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(page.contains("where the time went"), "the other one is shown: {page}");
        output.status.code()
    };
    user.file("traces/broken.trc", b"\x00\x01\x02");
    assert_eq!([&b"-"[..], b"missing-\xff.trc", b"missing.trc"].map(ends), [Some(1); 3]);
    assert_eq!(ends(b"traces"), Some(0), "what is within a folder is a matter of the page");
}

#[test]
fn a_folder_is_read_without_what_cannot_be_read_and_says_so() {
    let user = User::new();
    let trace = fs::read(TRACE).unwrap();
    let first = user.file("traces/a.trc", &trace);
    user.file("traces/deeper/b.trc", &trace);
    let broken = user.file("traces/broken.trc", b"\x00\x01\x02");
    let folder = Path::new(&first).parent().unwrap().to_str().unwrap();
    let run = user.document(&["profile", folder]);
    assert_eq!(run["subject"]["files"].as_array().unwrap().len(), 2);
    assert!(findings(&run).contains("file-left-out"));
    assert!(run.to_string().contains(&broken));
    let one = user.document(&["profile", &first]);
    let interval = |run: &Value| value(rows(run, "summary", false)[0], "interval");
    assert!((interval(&run) - 2.0 * interval(&one)).abs() < 1e-6, "two files with the same cursors do not mix");
    assert_eq!(rows(&run, "summary", true).len(), 2);
    let names: BTreeSet<&str> =
        rows(&run, "summary", true).iter().map(|row| row["parameters"]["session"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "sessions of one name stay distinct");
}

/// A log whose entries have durations and no plans.
const WITHOUT_PLANS: &str = "2026-11-21 10:45:01.004 UTC [7] LOG:  duration: 4.000 ms  statement: select 1\n";

#[test]
fn a_trace_is_shown_beside_a_log_without_a_plan_which_is_named() {
    let user = User::new();
    user.file("plain.log", WITHOUT_PLANS.as_bytes());
    user.file("a.trc", &fs::read(TRACE).unwrap());
    let output = user.run("profile plain.log a.trc --no-store");
    let page = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let named = "warning: plain.log is a server log in which nothing can be profiled, and is passed over";
    assert!(page.contains("Largest class: single-block reads") && page.contains(named), "{page}");
    assert_eq!(output.status.code(), Some(1), "a script sees that something is missing");
}

#[test]
fn a_trace_is_shown_of_an_archive_in_which_a_log_without_a_plan_comes_first() {
    let user = User::new();
    user.file("plain.log", WITHOUT_PLANS.as_bytes());
    user.file("a.trc", &fs::read(TRACE).unwrap());
    let pack = format!("tar -C '{}' -cf both.tar plain.log a.trc", user.home.path().display());
    assert!(Command::new("sh").args(["-c", &pack]).current_dir(user.home.path()).status().unwrap().success());
    let run = user.document("profile both.tar");
    assert!(findings(&run).contains("mixed-archive") && !rows(&run, "event", false).is_empty(), "{run}");
    // Standard input cannot be read twice, and is read as the same kind.
    let input = fs::File::open(user.home.path().join("both.tar")).unwrap();
    let output = user.command("profile - --no-store --format json").stdin(input).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let piped: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(findings(&piped).contains("mixed-archive"), "{piped}");
    assert_eq!(piped["cases"].to_string().replace("standard input", "both.tar"), run["cases"].to_string());
    let page = user.ok("profile both.tar --explain-unread --no-store");
    assert!(page.contains("lines of server logs") && page.contains("both.tar/plain.log"), "{page}");
}

#[test]
fn statements_of_a_log_that_were_folded_say_how_to_keep_them_apart() {
    let user = User::new();
    let entry = |query: &str| {
        format!(
            "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:\n\t{{\n\t  \
             \"Query Text\": \"{query}\",\n\t  \"Plan\": {{\"Node Type\": \"Result\", \
             \"Actual Total Time\": 4.000, \"Actual Rows\": 1, \"Actual Loops\": 1}}\n\t}}\n"
        )
    };
    let said = |queries: [&str; 2], option: &str| {
        user.file("a.log", queries.map(entry).concat().as_bytes());
        let run = user.document(&format!("profile a.log --no-store {option}"));
        run["findings"].to_string().contains("1 statement has several texts (other literals, or other comments")
    };
    assert!(said(["select 1", "select 2"], ""));
    assert!(!said(["select 1", "select 1"], "") && !said(["select 1", "select 2"], "--fold-literals=never"));
}

#[test]
fn a_refusal_for_want_of_plans_names_what_else_was_not_read() {
    let user = User::new();
    user.file("plain.log", WITHOUT_PLANS.as_bytes());
    user.file("note.trc", b"a note\n");
    let refusal = user.refused("profile plain.log note.trc missing.trc", 1);
    for part in
        ["nothing in plain.log can be profiled", "Not read either: ", "note.trc is left out", "missing.trc could"]
    {
        assert!(refusal.contains(part), "no {part} in {refusal}");
    }
}

#[test]
fn an_empty_name_of_files_is_refused_and_leaves_no_file_out() {
    let refusal = User::new().refused(&["profile", TRACE, "--name", ""], 2);
    assert!(refusal.contains("no file has an empty name"), "{refusal}");
}

#[test]
fn a_zip_archive_on_standard_input_is_refused_with_what_to_do() {
    let user = User::new();
    let path = user.file("a.zip", b"PK\x03\x04 and so on");
    for is_piped in [false, true] {
        let mut command = user.command("profile -");
        let child = match is_piped {
            false => command.stdin(fs::File::open(&path).unwrap()).spawn().unwrap(),
            true => {
                let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
                child.stdin.take().unwrap().write_all(&fs::read(&path).unwrap()).unwrap();
                child
            }
        };
        let output = child.wait_with_output().unwrap();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let refusal = "standard input could not be read: it is a zip archive, which is read from a file and not from \
                       standard input or a pipe";
        assert!(said.contains(refusal) && said.contains("save it as a file"), "{said}");
    }
}

#[test]
fn the_help_names_the_archives_that_are_read_and_says_that_a_name_is_that_of_the_archive() {
    let help = User::new().ok("profile -h").split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["archives of them (.zip, .tar, .tar.gz and the like)", "an archive counts by its own name"] {
        assert!(help.contains(part), "{help}");
    }
}

#[test]
fn what_is_given_twice_is_said() {
    let user = User::new();
    let trace = fs::read(TRACE).unwrap();
    let first = user.file("a.trc", &trace);
    let linked = first.replace("a.trc", "linked.trc");
    fs::hard_link(&first, &linked).unwrap();
    let run = user.document(&["profile", &first, &linked]);
    assert_eq!(run["subject"]["files"].as_array().unwrap().len(), 1, "one file by two names is read once");
    assert!(run.to_string().contains("which was named before: it is read once"), "{run}");
    let packed = format!("{first}.gz");
    let status = Command::new("sh").args(["-c", &format!("gzip -c '{first}' > '{packed}'")]).status().unwrap();
    assert!(status.success());
    let run = user.document(&["profile", &first, &packed]);
    let said = run["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "same-content").unwrap();
    let message = said["message"].as_str().unwrap();
    assert!(message.contains(&first) && message.contains(&packed), "{message}");
    assert!(!findings(&user.document(&["profile", &first])).contains("same-content"));
}

#[test]
fn an_interrupted_profile_does_not_read_all_that_follows_an_archive() {
    let user = User::new();
    let trace = user.file("a.trc", &fs::read(TRACE).unwrap());
    let archive = format!("{trace}.tar");
    let pack = format!("tar -C '{}' -cf '{archive}' a.trc", user.home.path().display());
    assert!(Command::new("sh").args(["-c", &pack]).status().unwrap().success());
    // A hole, which reads as zeros for longer than a test waits.
    if let Err(error) = fs::File::options().write(true).open(&archive).and_then(|file| file.set_len(1 << 42)) {
        println!("skipped: no file of 4 TiB can be made here: {error}");
        return;
    }
    let mut command = user.command(&["profile", &archive, "--no-store"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    waiting::until_read(child.id(), 64 << 20);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let end = waiting::end_of(&mut child, "a profile of an archive with much behind it");
    assert_eq!(end.code(), Some(130));
}

#[test]
fn standard_input_gives_the_same_profile_as_the_file() {
    let user = User::new();
    let mut child = user
        .command(&["profile", "-", "--no-store", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(TRACE).unwrap()).unwrap();
    let piped: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    let file = user.document(&["profile", TRACE, "--no-store"]);
    assert_eq!(piped["subject"]["files"][0], "standard input");
    assert_eq!(piped["cases"].to_string().replace("standard input", TRACE), file["cases"].to_string());
    let reader_gone = user.command(&["profile", TRACE]).stdout(Stdio::null()).output().unwrap();
    assert_eq!(reader_gone.status.code(), Some(0));
}

#[test]
fn lines_that_were_not_read_are_counted_and_listed_when_asked() {
    let user = User::new();
    let mut trace = fs::read(TRACE).unwrap();
    trace.extend_from_slice(b"a line that is nothing\nWAIT #1: nam='cut off\n");
    let path = user.file("a.trc", &trace);
    let run = user.document(&["profile", &path]);
    assert!(findings(&run).contains("unread-lines"));
    let lines: f64 = rows(&run, "unread", false).iter().map(|row| value(row, "lines")).sum();
    assert_eq!(lines, 2.0);
    assert!(user.ok(&["profile", &path, "--explain-unread"]).contains("first at byte"));
    assert!(user.ok(&["profile", TRACE, "--explain-unread"]).contains("Every line was read."));
}

#[test]
fn texts_that_differ_in_literals_can_be_seen_together() {
    let user = User::new();
    let trace = fs::read_to_string(TRACE).unwrap();
    let other = trace.replace("i.order_id = :1", "i.order_id = 17").replace("9qf3hs81ntb6d", "aaaaaaaaaaaaa");
    let another = trace.replace("i.order_id = :1", "i.order_id = 4").replace("9qf3hs81ntb6d", "bbbbbbbbbbbbb");
    let files = [user.file("1.trc", other.as_bytes()), user.file("2.trc", another.as_bytes())];
    let statements = |flags: &[&str]| {
        let run = user.document(&[&["profile", &files[0], &files[1]], flags].concat());
        rows(&run, "statement", false).len()
    };
    assert_eq!((statements(&[]), statements(&["--fold-literals"])), (6, 5));
}

#[test]
fn statements_of_a_log_that_differ_in_literals_are_kept_apart_where_that_is_asked_for() {
    let user = User::new();
    let plan = |literal: u8| {
        format!(
            "2026-11-21 10:45:01.004 UTC [7] LOG:  duration: 4.000 ms  plan:\n\t{{ \"Query Text\": \
             \"select {literal}\", \"Plan\": {{ \"Node Type\": \"Result\", \"Actual Total Time\": 4.000, \
             \"Actual Rows\": 1, \"Actual Loops\": 1 }} }}\n"
        )
    };
    user.file("some.log", server_log(&(plan(1) + &plan(2))).as_bytes());
    let texts = |words: &str| -> BTreeSet<String> {
        let run = user.document(&format!("profile some.log --no-store{words}"));
        let found = rows(&run, "statement_text", false);
        found.iter().map(|row| row["parameters"]["text"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(texts(""), ["select ?".to_string()].into());
    assert_eq!(texts(" --fold-literals=never"), ["select 1".to_string(), "select 2".to_string()].into());
}

/// Largest real trace that is read here, compressed or not: a test build is slow.
const REAL_TRACE_MAX: u64 = 800_000;

/// Where real traces with values from an independent script may lie.
fn real_traces() -> std::path::PathBuf {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle");
    std::env::var_os("READPATH_TRACES").map_or_else(|| usual.into(), Into::into)
}

#[test]
fn documents_of_real_traces_have_the_values_of_an_independent_script() {
    let folder = real_traces();
    let Ok(listing) = fs::read_dir(folder.join("expected")) else {
        println!("skipped: no real traces are here");
        return;
    };
    let user = User::new();
    let mut checked = 0;
    for entry in listing {
        let path = entry.unwrap().path();
        let expected: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let trace = folder.join(expected["file"].as_str().unwrap());
        if fs::metadata(&trace).is_ok_and(|data| data.len() < REAL_TRACE_MAX) {
            let trace = trace.to_str().unwrap();
            check_expected(&user.document(&["profile", trace, "--no-store", "--time-scale", "1"]), &expected, trace);
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked} traces");
}

/// The expected values are in microseconds, as the traces write them.
fn check_expected(run: &Value, expected: &Value, trace: &str) {
    let near = |ours: f64, theirs: &Value, what: &str| {
        assert!((ours - theirs.as_f64().unwrap()).abs() < 1e-3, "{trace} {what}: {ours} and {theirs}");
    };
    let [summary] = rows(run, "summary", false)[..] else { panic!("one summary") };
    near(value(summary, "cpu"), &expected["total_self"]["c"], "cpu");
    for name in ["interval", "response_time"] {
        let sessions = expected["sessions"].as_object().unwrap().values();
        let sum: f64 = sessions.map(|session| session[name].as_f64().unwrap()).sum();
        near(value(summary, name), &sum.into(), name);
    }
    let find = |table: &str, key: &str, name: &str| {
        let found = rows(run, table, false).into_iter().find(|row| row["parameters"][key] == name);
        found.unwrap_or_else(|| panic!("{trace}: no {name}"))
    };
    for (name, theirs) in expected["events"].as_object().unwrap() {
        let ours = find("event", "event", name);
        for (metric, key) in [("calls", "n"), ("total", "us"), ("min", "min"), ("max", "max"), ("inside", "within_us")]
        {
            near(value(ours, metric), &theirs[key], name);
        }
    }
    for (name, theirs) in expected["calls"].as_object().unwrap() {
        let (recursion, call) = name.split_once('.').unwrap();
        let is_ours =
            |row: &&Value| row["parameters"]["call"] == call && row["parameters"]["recursive"] == (recursion == "rec");
        let ours = rows(run, "call", false).into_iter().find(is_ours).unwrap();
        near(value(ours, "calls"), &theirs["n"], name);
        near(value(ours, "rows"), &theirs["rows"], name);
        for (place, metric) in
            ["cpu", "elapsed", "physical_reads", "consistent_gets", "current_gets"].iter().enumerate()
        {
            near(value(ours, metric), &theirs["self_c_e_p_cr_cu"][place], name);
            near(value(ours, &format!("inclusive_{metric}")), &theirs["incl_c_e_p_cr_cu"][place], name);
        }
    }
}

#[test]
fn an_interrupted_profile_of_an_endless_trace_ends_at_once() {
    for workers in ["1", "2"] {
        let user = User::new();
        let mut command = user.command(&["profile", "-", "--no-store", "--workers", workers]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let trace = fs::read(TRACE).unwrap();
        // It writes until the reader is gone.
        let writer = thread::spawn(move || while stdin.write_all(&trace).is_ok() {});
        waiting::until_read(child.id(), 4 << 20);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let end = waiting::end_of(&mut child, "a profile of an endless trace");
        writer.join().unwrap();
        assert_eq!(end.code(), Some(130), "{workers} threads");
    }
}
