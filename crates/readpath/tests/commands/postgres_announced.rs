//! What a given server is sent and asked for is said before: on one screen, by a dry run to the letter, and nothing is
//! measured elsewhere where the server would refuse.

use std::collections::BTreeSet;
use std::thread;

use crate::user::{DEBIAN, SCHEMAS, User, cases, complaint, has_debian, ids, median};
use serde_json::Value;
use trial::Trial;

/// Every experiment that works on a given server, with little to do.
const EXPERIMENTS: [&str; 5] = [
    "lio --payload 2MiB --row-length 250 --columns 5 --repeat 3 --access full-scan,index",
    "scan --rows 20000 --repeat 2 --no-valgrind",
    "join --rows 14000 --outer-rows 200 --repeat 1 --concurrency 0,16",
    "roundtrip --blocks 64",
    "calibrate --payload 4MiB --repeat 2 --passes 2 --rounds 3",
];

/// The same, in this order, with the least to do and without the engine.
const LEAST: [&str; 5] = [
    "lio --payload 1MiB --row-length 250 --columns 5 --repeat 1 --access full-scan --alone",
    "scan --rows 10000 --repeat 1 --path full-scan --alone",
    "join --rows 2000 --outer-rows 200 --repeat 1 --concurrency 0,16 --alone",
    "roundtrip --blocks 64",
    "calibrate --payload 1MiB --repeat 1 --passes 1 --rounds 1",
];

/// The experiments without the engine, where they can leave it out: nothing of it is sent to a server.
fn without_engine() -> Vec<String> {
    let alone = |(words, least): (&str, &str)| {
        // What runs under valgrind is the engine.
        if least.ends_with(" --alone") {
            format!("{} --alone", words.replace(" --no-valgrind", ""))
        } else {
            words.into()
        }
    };
    EXPERIMENTS.into_iter().zip(LEAST).map(alone).collect()
}

/// Commands that fire event triggers: those that runs send, and others that one may come to send.
const COMMANDS: [&str; 21] = [
    "CREATE SCHEMA",
    "CREATE TABLE",
    "CREATE TABLE AS",
    "CREATE INDEX",
    "CREATE SEQUENCE",
    "CREATE STATISTICS",
    "CREATE VIEW",
    "CREATE FUNCTION",
    "CREATE EXTENSION",
    "SELECT INTO",
    "COMMENT",
    "ALTER SCHEMA",
    "ALTER TABLE",
    "ALTER INDEX",
    "GRANT",
    "REVOKE",
    "DROP SCHEMA",
    "DROP TABLE",
    "DROP INDEX",
    "DROP STATISTICS",
    "DROP VIEW",
];

/// The statements in a server's log.
pub(crate) fn sent(log: &str) -> Vec<String> {
    let statement = |line: &str| Some(line.split_once("statement: ")?.1.to_string());
    log.lines().filter_map(statement).collect()
}

/// A statement without what a measurement decides, its numbers, and without its texts; and these.
fn shape(statement: &str) -> (String, Vec<String>) {
    // Behind a statement of a long script stands how often it is sent.
    let statement = statement.split(";  -- ").next().unwrap();
    let parts = statement.trim().trim_end_matches(';').split('\'').map(without_numbers);
    let (texts, between): (Vec<_>, Vec<_>) = parts.enumerate().partition(|(number, _)| number % 2 == 1);
    let between: Vec<String> = between.into_iter().map(|(_, part)| part).collect();
    (between.join("''"), texts.into_iter().map(|(_, text)| text).collect())
}

fn without_numbers(text: &str) -> String {
    let mut shape = String::new();
    for character in text.chars() {
        let is_number = character.is_ascii_digit() || (character == '.' && shape.ends_with('#'));
        match is_number {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(character),
        }
    }
    shape
}

/// Numbers of a line of the screen, and the line.
fn numbers(screen: &str, word: &str) -> Vec<f64> {
    let line = screen.lines().find(|line| line.trim_start().starts_with(word)).unwrap_or_else(|| panic!("{screen}"));
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Each statement that a run sent stands in the script of its dry run, which can be read.
pub(crate) fn assert_rehearsed(words: &str, script: &str, sent: &[String]) {
    let rehearsed: Vec<(String, String)> = script.lines().map(|line| (shape(line).0, without_numbers(line))).collect();
    for statement in sent {
        let (shape, texts) = shape(statement);
        let has = |(known, line): &(String, String)| {
            *known == shape && texts.iter().all(|text| line.contains(&format!("'{text}'")))
        };
        assert!(rehearsed.iter().any(has), "{words}: not in the dry run: {statement}\n{script}");
    }
    assert!(sent.len() > 30, "{words}: {sent:?}");
    // In a long script, each query of a file has two lines in which its text is prepared.
    assert!(script.lines().count() < 300, "{words} cannot be read: {} lines", script.lines().count());
}

/// The screen says what a run takes of the server, and about how many statements it sent.
fn assert_announced(words: &str, screen: &str, sent: usize) {
    // On a busy machine a line of progress follows the screen each 15 seconds.
    let lines = screen.lines().filter(|line| !line.starts_with("readpath: ")).count();
    assert!(lines < 24 && screen.lines().all(|line| line.chars().count() <= 80), "{words}: {screen}");
    let text = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "of 128 MiB of shared buffers (",
        "and it is all",
        "readpath clean --on 'postgres://postgres@:",
        "?host=/",
        "by ^C",
    ] {
        assert!(text.contains(part), "{words}: no {part} in {screen}");
    }
    let (said, sent) = (numbers(screen, "sends")[0], sent as f64);
    // Rounded to two digits; where plans decide what is run, the most is announced.
    let share = said / sent;
    let is_true = if text.contains(" sends up to ") { share > 0.98 } else { (0.8..1.25).contains(&share) };
    assert!(is_true, "{words}: {said} announced, {sent} sent");
}

#[test]
fn a_run_says_before_it_begins_what_it_takes_and_sends_what_its_dry_run_prints_and_nothing_else() {
    let Some(trial) = Trial::start(&["log_statement=all", "log_line_prefix="]) else { return };
    let (user, alone) = (User::new(), without_engine());
    for words in [EXPERIMENTS[0]].into_iter().chain(alone[1..].iter().map(String::as_str)) {
        // The version is known, so that the statements are those for 15.
        let script = user.ok(&format!("{words} --on postgres:{DEBIAN} --dry-run"));
        let before = trial.log().len();
        let output = user.run(&format!("{words} --on {} --format json", trial.url()));
        let screen = complaint(&output);
        assert!(output.status.success(), "{words}: {screen}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap();
        let sent = sent(&trial.log()[before..]);
        assert_rehearsed(words, &script, &sent);
        assert_announced(words, &screen, sent.len());
        let script = user.ok(&format!("{words} --on {} --dry-run", trial.url()));
        assert!(script.starts_with("-- This run works on"), "{script:.300}");
    }
    let quiet = user.run(&format!("{} --on {} --quiet --no-store", EXPERIMENTS[3], trial.url()));
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", complaint(&quiet));
    // The first thing that is made takes too long: the screen stands before the complaint.
    let output = user.run(&format!("lio --on {} --statement-timeout 1ms", trial.url()));
    let said = complaint(&output);
    assert!(said.find("This run works on") < said.find("--statement-timeout"), "{said}");
}

#[test]
fn a_dry_run_of_two_servers_counts_for_each_only_what_is_sent_to_it() {
    let user = User::new();
    let sends = |words: &str, on: &str| -> Vec<String> {
        let script = user.ok(&format!("{words} --on {on} --dry-run"));
        script.lines().filter(|line| line.starts_with("--   sends ")).map(String::from).collect()
    };
    for words in &EXPERIMENTS[..4] {
        let one = sends(words, "postgres://me@a.example/db");
        assert_eq!(one.len(), 1, "{words}: {one:?}");
        let two = sends(words, "postgres://me@a.example/db,postgres://me@b.example/db");
        assert_eq!(two, [one.clone(), one.clone()].concat(), "{words}");
        assert_eq!(sends(words, "postgres:18,postgres://me@a.example/db"), one, "{words}");
    }
}

#[test]
fn a_dry_run_of_two_servers_lists_the_statements_of_each_below_its_own_name() {
    let user = User::new();
    let (given, private) = ("postgres://me@a.example/db", "postgres:15");
    for words in &EXPERIMENTS[..4] {
        // Without a seed, the blocks that statements name are others in each run.
        let seed = if words.starts_with("roundtrip") { "--seed 7" } else { "" };
        let script = |on: &str| user.ok(&format!("{words} {seed} --on {on} --dry-run"));
        let both = script(&format!("{given},{private}"));
        let (_, lists) = both.split_once(&format!("-- Sent to {given}:\n")).unwrap_or_else(|| panic!("{both}"));
        let (first, second) = lists.split_once(&format!("-- Sent to {private}:\n")).unwrap_or_else(|| panic!("{both}"));
        for (on, list) in [(given, first), (private, second)] {
            let alone = script(on);
            assert!(list.contains("CREATE SCHEMA readpath"), "{words}: {list}");
            assert!(alone.ends_with(list) && !alone.contains("-- Sent to"), "{words}: {list}\n{alone}");
        }
    }
}

#[test]
fn the_event_triggers_that_runs_fire_are_those_that_they_announce() {
    let Some(trial) = Trial::start(&["allow_in_place_tablespaces=on", "log_line_prefix="]) else { return };
    // With a second tablespace, calibrate moves a table.
    trial.run("CREATE TABLESPACE other LOCATION ''");
    trial.run(
        "CREATE FUNCTION noted() RETURNS event_trigger LANGUAGE plpgsql AS \
         'BEGIN RAISE LOG ''fired by %'', tg_tag; END'",
    );
    let name = |command: &str| format!("on_{}", command.to_lowercase().replace(' ', "_"));
    for command in COMMANDS {
        let event = format!("ddl_command_start WHEN TAG IN ('{command}')");
        trial.run(&format!("CREATE EVENT TRIGGER {} ON {event} EXECUTE FUNCTION noted()", name(command)));
    }
    let (user, mut announced) = (User::new(), BTreeSet::new());
    for words in LEAST {
        let output = user.run(&format!("{words} --on {}", trial.url()));
        let screen = complaint(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.success(), "{words}: {screen}");
        let names = screen.split_once("fires event triggers, by CREATE, ALTER or DROP: ").unwrap().1;
        announced.extend(names.split_once(" stops by").unwrap().0.split(", ").map(String::from));
    }
    let log = trial.log();
    let fired: BTreeSet<String> = log.lines().filter_map(|line| Some(name(line.split_once("fired by ")?.1))).collect();
    assert_eq!(announced, fired);
}

#[test]
fn a_server_that_would_refuse_is_asked_before_the_engine_is_measured() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run(
        "CREATE USER shop; CREATE USER reader; GRANT CREATE ON DATABASE postgres TO reader; \
         ALTER USER reader SET default_transaction_read_only = on",
    );
    let user = User::new();
    let engine_first = ["scan --rows 20000 --no-valgrind", "lio --payload 1MiB", "join --rows 14000"];
    for words in engine_first {
        let refused = |role: &str| user.refused(&format!("{words} --on engine,{}", trial.url_of(role)), 1);
        assert!(refused("shop").contains("GRANT CREATE ON DATABASE"), "{words}");
        assert!(refused("reader").contains("read-only"), "{words}");
    }
    trial.run("CREATE SCHEMA readpath");
    for words in engine_first {
        let refused = user.refused(&format!("{words} --on engine,{}", trial.url()), 1);
        assert!(refused.contains("did not make") && !refused.contains("This run"), "{words}: {refused}");
    }
    assert_eq!(trial.value(SCHEMAS), "1");
}

#[test]
fn a_role_that_may_not_sort_on_the_disk_is_refused_before_the_engine_is_measured() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop; ALTER ROLE shop SET temp_file_limit = 0");
    let user = User::new();
    for (words, least) in EXPERIMENTS.into_iter().zip(LEAST) {
        // Those that can leave the engine out are those that measure it.
        let engine = if least.ends_with(" --alone") { "engine," } else { "" };
        let refused = user.refused(&format!("{words} --on {engine}{}", trial.url_of("shop")), 1);
        assert!(refused.contains("shop may have 0 kB (temp_file_limit)"), "{words}: {refused}");
        assert!(!refused.contains("This run"), "{words}: {refused}");
    }
    assert_eq!(trial.value(SCHEMAS), "0");
}

/// The largest temporary file of a session in a server's log, in bytes.
fn largest_temporary(log: &str) -> u64 {
    let size = |line: &str| line.split_once("temporary file: path")?.1.rsplit_once("size ")?.1.trim().parse().ok();
    log.lines().filter_map(size).max().unwrap_or(0)
}

#[test]
fn no_experiment_needs_temporary_tables_or_larger_temporary_files_than_it_announces() {
    let Some(trial) = Trial::start(&["log_temp_files=0", "work_mem=64kB"]) else { return };
    trial.run(
        "CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop; \
         REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
    );
    let user = User::new();
    for words in without_engine().into_iter().map(|words| words.replace("--payload 4MiB", "--payload 1MiB")) {
        let before = trial.log().len();
        let output = user.run(&format!("{words} --on {} --format json", trial.url_of("shop")));
        assert!(output.status.success(), "{words}: {}", complaint(&output));
        let announced = numbers(&complaint(&output), "sorts")[0] * f64::from(1 << 20);
        let largest = largest_temporary(&trial.log()[before..]);
        assert!(largest as f64 <= announced, "{words}: {largest} bytes, {announced} announced");
        assert!(largest > 0 || !words.starts_with("calibrate"), "{words}: nothing was sorted on disk");
    }
}

#[test]
fn a_busy_server_is_noticed_by_every_experiment_or_the_run_says_what_hides_it() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop");
    let mut other = trial.client();
    let busy = thread::spawn(move || {
        // Until its session is ended. Short transactions: a long one would hide the run's rows from its own scans.
        let _ = other.batch_execute("DO $$ BEGIN LOOP COMMIT; END LOOP; END $$");
    });
    let user = User::new();
    for words in LEAST {
        let document = user.document(&format!("{words} --on {}", trial.url()));
        assert!(ids(&document).contains(&"server-busy"), "{words}: {:?}", ids(&document));
    }
    // What a role may not see is said whether there is work or not.
    trial.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO %'");
    busy.join().unwrap();
    for words in LEAST {
        let document = user.document(&format!("{words} --on {}", trial.url_of("shop")));
        assert!(ids(&document).contains(&"absent-activity"), "{words}: {:?}", ids(&document));
    }
}

#[test]
fn what_left_the_buffers_of_others_is_counted_where_it_can_be() {
    let Some(trial) = Trial::start(&["shared_buffers=16MB"]) else { return };
    let user = User::new();
    let words = "lio --payload 16MiB --row-length 250 --columns 5 --repeat 1 --access full-scan";
    let words = format!("{words} --on {}", trial.url());
    let finding = |document: &Value| {
        let all = document["findings"].as_array().unwrap();
        all.iter().find(|finding| finding["id"] == "displaced").unwrap_or_else(|| panic!("{document}")).clone()
    };
    let unknown = finding(&user.document(&words)).to_string();
    assert!(unknown.contains("no extension pg_buffercache") && unknown.contains("100 %"), "{unknown}");
    trial.run("CREATE EXTENSION pg_buffercache; CREATE TABLE others AS SELECT n FROM generate_series(1, 300000) n");
    trial.value("SELECT count(*) FROM others WHERE ctid >= '(0,0)'");
    let known = finding(&user.document(&words)).to_string();
    assert!(known.contains("are gone (pg_buffercache)"), "{known}");
}

#[test]
fn an_ordinary_role_learns_what_a_block_takes_at_most() {
    let Some(trial) = Trial::start(&["shared_buffers=512MB"]) else { return };
    trial.run("CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop");
    let user = User::new();
    let document = user.document(&format!("roundtrip --on {} --blocks 512", trial.url_of("shop")));
    let pass = cases(&document).next().unwrap();
    assert!(median(pass, "read_latency_at_most") > 0.0, "{pass}");
    assert!(!pass["metrics"].to_string().contains("\"read_latency\""), "a bound is no latency: {pass}");
    assert!(ids(&document).contains(&"answer-roundtrip-first-touch"), "{:?}", ids(&document));
    let page = String::from_utf8(user.run("show last").stdout).unwrap();
    let (answer, table) = (page.find("A block takes at most").unwrap(), page.find("at most ").unwrap());
    assert!(answer < page.find("served by").unwrap() && table > 0, "the answer stands first: {page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn what_a_given_server_cannot_be_asked_is_refused_with_the_reason() {
    let user = User::new();
    let words = "calibrate --on postgres://me@127.0.0.1:1/db";
    for option in ["--cold-samples 2", "--cold-rounds 0"] {
        let refused = user.refused(&format!("{words} {option}"), 2);
        assert!(refused.contains("private server") && refused.contains("not emptied"), "{refused}");
    }
    assert!(user.refused("scan --on postgres:14", 2).contains("only of 15, 16, 17 and 18"));
    if has_debian() {
        let script = user.run(&format!("calibrate --on postgres:{DEBIAN} --dry-run")).stdout;
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("force_parallel_mode") && !script.contains("debug_parallel_query"), "{script:.2000}");
        assert!(script.contains("is restarted with empty caches"), "{script:.2000}");
    }
    assert!(user.refused("clean --on postgres://me@127.0.0.1:1/db --dry-run", 1).contains("does not respond"));
}

#[test]
fn a_rehearsed_removal_names_what_lies_on_the_server_in_the_order_in_which_it_goes() {
    let Some(trial) = Trial::start(&["log_statement=all", "log_line_prefix="]) else { return };
    let user = User::new();
    let rehearsed = || user.ok(&format!("clean --on {} --dry-run", trial.url()));
    let statements = |script: &str| -> Vec<String> {
        let lines = script.lines().filter(|line| !line.starts_with("--"));
        lines.map(|line| line.trim_end_matches(';').to_string()).collect()
    };
    let nothing = rehearsed();
    assert!(nothing.contains("there is no schema readpath") && !nothing.contains("\nDROP"), "{nothing}");
    let mark = "made by readpath for a measurement; `readpath clean --on ...` removes it";
    trial.run(&format!("CREATE SCHEMA readpath; COMMENT ON SCHEMA readpath IS '{mark}'"));
    for table in ["stars", "a table"] {
        trial.run(&format!("CREATE TABLE readpath.\"{table}\" (); COMMENT ON TABLE readpath.\"{table}\" IS '{mark}'"));
    }
    let script = rehearsed();
    let drops: Vec<&str> = script.lines().filter(|line| line.starts_with("DROP")).collect();
    let wanted = ["DROP TABLE readpath.\"a table\";", "DROP TABLE readpath.\"stars\";", "DROP SCHEMA readpath;"];
    assert_eq!(drops, wanted, "{script}");
    assert_eq!(trial.value(SCHEMAS), "1", "a dry run changes nothing");
    let before = trial.log().len();
    user.ok(&format!("clean --on {}", trial.url()));
    let sent: Vec<String> = sent(&trial.log()[before..]);
    // What opens a connection stands there in folded lines.
    let shapes = |statements: &[String]| -> Vec<(String, Vec<String>)> {
        statements.iter().skip_while(|one| !one.contains("advisory_lock")).map(|one| shape(one)).collect()
    };
    assert_eq!(shapes(&sent), shapes(&statements(&script)), "{script}");
    trial.run("CREATE SCHEMA readpath");
    let refusal = user.refused(&format!("clean --on {} --dry-run", trial.url()), 1);
    assert!(refusal.contains("does not carry this program's comment"), "{refusal}");
}
