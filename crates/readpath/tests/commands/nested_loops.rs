//! `readpath join` as a user calls it: on files and on models, on SQLite, what cannot be, ^C.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::user::{User, complaint, ids};
use crate::waiting::TRIES;

/// A user of `readpath join`.
fn user() -> User {
    User::calling("join --no-store")
}

/// The document of a command that must succeed, on a small table where the words do not say another size.
fn document(user: &User, words: &str) -> Value {
    let rows = if words.contains("--rows") { "" } else { "--rows 14000 --pool 4MiB" };
    user.document(&format!("{words} {rows} --repeat 2"))
}

/// The cases of one method, or of all joins for an empty name.
fn joins<'a>(document: &'a Value, method: &str) -> Vec<&'a Value> {
    let cases = document["cases"].as_array().unwrap().iter().filter(|case| !case["parameters"]["method"].is_null());
    cases.filter(|case| method.is_empty() || case["parameters"]["method"] == method).collect()
}

fn metric(case: &Value, name: &str) -> Option<f64> {
    let metrics = case["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).map(|metric| metric["median"].as_f64().unwrap())
}

#[test]
fn the_methods_read_the_same_blocks_in_fewer_and_fewer_requests() {
    let user = user();
    let document = document(&user, "--outer-rows 600 --buffered");
    assert_eq!((&document["experiment"], &document["subject"]["kind"]), (&"join".into(), &"engine".into()));
    let cases = joins(&document, "");
    let names: Vec<&str> = cases.iter().map(|case| case["parameters"]["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["one-at-a-time", "prefetch", "awaited-batch", "batch", "batched-rowid"]);
    let requests: Vec<f64> = cases.iter().map(|case| metric(case, "requests").unwrap()).collect();
    let [alone, prefetch, awaited, batch, rowid] = requests[..] else { panic!("{requests:?}") };
    assert!(rowid < batch && batch < prefetch && awaited < prefetch && prefetch < alone, "{requests:?}");
    for case in &cases {
        assert_eq!((&case["parameters"]["rand"], &case["parameters"]["direct"]), (&100.into(), &false.into()));
        let blocks = metric(case, "table_blocks").unwrap();
        assert!((350.0..=600.0).contains(&blocks), "{case}");
        assert!(metric(case, "elapsed").unwrap() >= metric(case, "io_time").unwrap(), "{case}");
        assert!(metric(case, "cpu_per_lookup").unwrap() > 0.0);
    }
    assert_eq!(requests[0], metric(cases[0], "table_blocks").unwrap());
    for id in ["answer-gain", "planner-view"] {
        assert!(ids(&document).contains(&id), "{:?}", ids(&document));
    }
}

#[test]
fn on_a_model_a_run_repeats_itself_and_ranks_the_methods() {
    let user = user();
    let of = |words: &str| {
        let document = document(&user, &format!("--outer-rows 500 --on {words}"));
        let cases = joins(&document, "");
        assert!(cases.iter().all(|case| metric(case, "cpu_per_lookup").is_none()), "a model takes no CPU");
        cases.iter().map(|case| metric(case, "elapsed").unwrap()).collect::<Vec<f64>>()
    };
    for name in ["model:ssd", "model:hdd-7200"] {
        let times = of(name);
        assert_eq!(times, of(name), "{name}");
        let [alone, prefetch, awaited, batch, rowid] = times[..] else { panic!("{times:?}") };
        assert!(rowid <= batch && batch <= prefetch.min(awaited) && prefetch.max(awaited) < alone, "{times:?}");
    }
    let serial = document(&user, "--rows 60000 --outer-rows 300 --on model:ssd --io sync");
    assert!(ids(&serial).contains(&"answer-serialized"), "{:?}", ids(&serial));
}

#[test]
fn a_sweep_tells_from_which_size_on_nothing_is_gained() {
    let user = user();
    let words = "--on model:ssd --rand 0,100 --outer-rows 1000 --method one-at-a-time,batch";
    let document = document(&user, &format!("{words} --batch-size 2,32,256,512"));
    assert_eq!(joins(&document, "batch").len(), 8);
    assert!(ids(&document).contains(&"answer-saturation"), "{:?}", ids(&document));
    let blocks: Vec<f64> =
        joins(&document, "one-at-a-time").iter().map(|case| metric(case, "table_blocks").unwrap()).collect();
    assert!(blocks[0] * 5.0 < blocks[1], "rows in order lie seven to a block: {blocks:?}");
}

#[test]
fn an_awaited_batch_gains_on_the_model_what_its_queue_gives_until_it_is_full() {
    let words = "--on model:ssd --method one-at-a-time,awaited-batch --batch-size 1,4,16,64,256";
    let document = document(&user(), &format!("{words} --rows 60000 --outer-rows 3000"));
    let io_time = |method| joins(&document, method).into_iter().map(|case| metric(case, "io_time").unwrap());
    let alone = io_time("one-at-a-time").next().unwrap();
    let gains: Vec<f64> = io_time("awaited-batch").map(|batch| alone / batch).collect();
    let is_near = |(gain, wanted): (&f64, f64)| (gain / wanted - 1.0).abs() < 0.15;
    assert!(gains.len() == 5 && gains.iter().zip([1.00, 2.73, 5.70, 8.16, 9.00]).all(is_near), "{gains:?}");
}

#[test]
fn sqlite_stands_beside_the_engine_with_blocks_and_gains_and_leaves_nothing() {
    let user = user();
    let scratch = user.home.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let words = "--on sqlite?page_size=8192 --rows 14000 --pool 4MiB --outer-rows 200 --repeat 2";
    let output = user.command(words).env("TMPDIR", &scratch).output().unwrap();
    let page = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert!(page.contains("rowid-list") && page.contains("nested-loop") && page.contains("batched-rowid"), "{page}");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}

#[test]
fn buffered_reads_without_a_join_have_a_gain_only_where_the_storage_served_both_passes() {
    let user = user();
    let gain = || {
        let document = document(&user, "--outer-rows 400 --buffered --method one-at-a-time,batch");
        let findings = document["findings"].as_array().unwrap();
        let gain = findings.iter().find(|finding| finding["id"] == "answer-gain").unwrap()["message"].as_str().unwrap();
        gain.split("without a join gain ").nth(1).unwrap().to_string()
    };
    let is_of_storage = |gain: &String| {
        let factor = gain.strip_prefix("a factor of ").and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        // A cache that was not emptied gave 25 to 272.
        gain.contains("is not known, because") || factor.is_some_and(|factor| factor < 20.0)
    };
    // Where a busy machine makes the first pass wait, the second one gains too much once.
    let others: Vec<String> = (0..TRIES).map(|_| gain()).take_while(|gain| !is_of_storage(gain)).collect();
    assert!(others.len() < TRIES, "{others:?}");
}

#[test]
fn more_outer_rows_than_the_table_has_are_joined() {
    let user = user();
    let words = "--rows 500 --pool 1MiB --outer-rows 3000 --method batch --batch-size 100000";
    // Every row six times, and seven rows a block: now and then the next row is in the same one.
    let gets = metric(joins(&document(&user, &format!("--on model:ssd {words}")), "")[0], "table_gets").unwrap();
    assert!((2500.0..=3000.0).contains(&gets), "{gets}");
}

#[test]
fn a_page_stays_within_80_columns_and_stands_beside_the_published_figures() {
    let user = user();
    let output = user.run("--rows 14000 --pool 4MiB --outer-rows 300 --repeat 2 --on model:hdd-7200");
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("hard disk") && page.contains("121") && page.contains("batched-rowid"), "{page}");
    let wide = page.lines().find(|line| line.chars().count() > 80 && !line.contains(".cache/"));
    assert_eq!(wide, None);
}

#[test]
fn what_cannot_be_is_refused_as_wrong_words() {
    let user = user();
    for (words, says) in [
        ("--rand 101", "percentage"),
        ("--rand=-1", "whole percentage"),
        ("--rand 0.5", "whole percentage"),
        ("--pad 9000", "does not fit into a page"),
        ("--rows 0", "--rows"),
        ("--outer-rows 0", "--outer-rows 0 is out of range"),
        ("--outer-rows 4294967296", "--outer-rows"),
        ("--batch-size 0", "--batch-size"),
        ("--look-ahead 0", "--look-ahead"),
        ("--depth 0", "--depth"),
        ("--repeat 0", "--repeat"),
        ("--pool 8KiB", "--pool"),
        ("--pool 900TiB", "--pool"),
        ("--rows 18446744073709551615", "--rows 18446744073709551615: "),
        ("--method index", "batched-rowid"),
        ("--direct --buffered", "--buffered"),
        ("--on model:tape", "hdd-7200"),
        ("--on /nowhere/at/all", "no such directory"),
        ("--on model:ssd --concurrency 16", "--on names no server"),
        ("--on model:ssd --statement-timeout 1s", "--on names none"),
        ("--on model:ssd --buffered", "no page cache"),
        ("--on /tmp --dir /tmp", "both name the directory"),
        ("--method one-at-a-time --batch-size 8", "no --method is a batch"),
        ("--method batch --look-ahead 8", "no --method is prefetch"),
        ("--method batch --fixed-look-ahead", "no --method is prefetch"),
        ("--on sqlite:/etc/passwd", "only read"),
    ] {
        let complaint = user.refused(words, 2);
        assert!(complaint.contains(says), "{words}: {complaint}");
    }
    // A file that is not there is no wrong word, as for `disk`.
    assert!(user.refused("--on model:/nowhere.toml", 1).contains("/nowhere.toml"));
    assert!(!user.home.path().join(".cache").exists(), "a table was made for a wrong command line");
}

#[test]
fn a_dry_run_refuses_what_the_run_refuses() {
    let user = User::new();
    let server = "--on postgres://me@127.0.0.1:1/db --dry-run";
    for (words, says, of_job) in [
        ("join --pool 0", "--pool 0: a buffer pool", "pool = 0: a buffer pool"),
        ("join --rows 18446744073709551615", "is too much for PostgreSQL", "rows = 18446744073709551615"),
        ("scan --memory 1", "--memory gives 1 byte", "'memory' gives 1 byte"),
        ("scan --rows 200000000000", "is not possible", "is not possible"),
    ] {
        let complaint = user.refused(&format!("{words} {server}"), 2);
        assert!(complaint.contains(says), "{words}: {complaint}");
        let (command, options) = words.split_once(" --").unwrap();
        let (key, value) = options.split_once(' ').unwrap();
        user.file("job.toml", format!("[{command}]\n{key} = '{value}'\n").as_bytes());
        let complaint = user.refused("run job.toml --dry-run", 2);
        assert!(complaint.contains(of_job), "{words} in a job file: {complaint}");
    }
    let alone = user.ok(&format!("join --rows 2000 --outer-rows 100 --repeat 1 --pool 0 --alone {server}"));
    assert!(alone.contains("CREATE "), "without the engine its pool does not matter: {alone}");
}

#[test]
fn an_interrupted_run_leaves_nothing_that_is_half_used() {
    let user = user();
    for after in [150, 500, 1200] {
        let child = user.command("--rows 60000 --repeat 1000 --on model:hdd-7200").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(status.success());
        let output = child.wait_with_output().unwrap();
        let code = output.status.code();
        // Before the signal handler is in place, the signal ends the process as it ends any other.
        assert!(code == Some(130) || code.is_none(), "{code:?} {}", complaint(&output));
        assert!(!complaint(&output).contains("panicked"), "{}", complaint(&output));
    }
    assert_eq!(joins(&document(&user, "--rows 60000 --outer-rows 50 --on model:ssd"), "").len(), 5);
}
