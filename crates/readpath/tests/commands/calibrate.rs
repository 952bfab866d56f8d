//! `readpath calibrate` as a user calls it, on real servers: constants repeat themselves or are withheld, every set is
//! judged by queries whose plans it changes, the user's queries are answered one by one, and nothing stays on a server.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::postgres_announced::{assert_rehearsed, sent};
use crate::user::{DEBIAN, SCHEMAS, User, cases, complaint, has_debian, ids, median as required, metric};
use crate::waiting::TRIES;
use measure::schema::calibrate::SET_CONSTANTS;
use serde_json::Value;
use trial::Trial;

/// A small table, and as few samples as say something.
const SMALL: &str = "--payload 4MiB --repeat 2 --passes 2 --rounds 3";

/// The least table, for tests that judge no constant and no state: no table beyond the buffers is made for it, and what
/// the operating system alone has cached is not measured.
pub(crate) const TINY: &str = "--payload 1MiB --repeat 1 --passes 1 --rounds 3";

/// Buffers that a table of ten times the small payload goes beyond, and one of ten times the least does not.
pub(crate) const SMALL_BUFFERS: &str = "shared_buffers=24MB";

pub(crate) fn part<'a>(document: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    cases(document).filter(move |case| case["parameters"]["part"] == name)
}

fn median(case: &Value, name: &str) -> Option<f64> {
    let metrics = case["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name)?["median"].as_f64()
}

/// Every constant that is given lies within half as much again in all passes; one that is not is named by a finding.
fn check_constants(document: &Value, states: &[&str]) {
    for name in ["seq_page_cost", "random_page_cost"] {
        let of = part(document, "constant").filter(|case| case["parameters"]["constant"] == name);
        let found: Vec<&str> = of.filter_map(|case| case["parameters"]["state"].as_str()).collect();
        assert!(states.iter().all(|state| found.contains(state)), "{name}: {found:?}");
    }
    for case in part(document, "constant").filter(|case| median(case, "time").is_some()) {
        let name = case["parameters"]["constant"].as_str().unwrap();
        match median(case, "given") {
            Some(given) => {
                assert!(given > 0.0 && median(case, "passes_spread").unwrap() <= 1.5, "{case}");
                // One cold sample a pass has no interval.
                let low = median(case, "value_low");
                assert!(low.is_none_or(|low| low > 0.0) || name == "cpu_tuple_cost", "{case}");
            }
            None if SET_CONSTANTS.contains(&name) => {
                assert!(ids(document).contains(&"withheld-constants"), "{case}");
            }
            None => {}
        }
    }
    let kept = part(document, "constant").find(|case| case["parameters"]["constant"] == "cpu_tuple_cost").unwrap();
    let given = part(document, "constant").filter(|case| median(case, "given").is_some()).count();
    assert_eq!(median(kept, "now"), Some(0.01));
    // On a busy machine a row may cost nothing that can be told, and then no multiple of it is given.
    assert!(median(kept, "given") == Some(0.01) || given == 0, "{given} given without {kept}");
}

/// Every set has all constants and the row's at the server's value; one that changes few plans has no verdict.
fn check_sets(document: &Value, state: &str) {
    let of_state = |case: &&Value| case["parameters"]["state"] == state;
    let sets: Vec<&Value> = part(document, "set").filter(of_state).collect();
    assert!(sets.len() > 1, "{sets:?}");
    assert_eq!(sets.iter().filter(|set| set["parameters"]["advice"].is_string()).count(), 1, "{sets:?}");
    for set in sets.iter().filter(|set| set["parameters"]["constants"] != "now") {
        assert!(SET_CONSTANTS.iter().all(|name| required(set, name) > 0.0), "all constants or none: {set}");
        assert_eq!(median(set, "cpu_tuple_cost"), Some(0.01), "{set}");
        let changed = required(set, "changed");
        let queries = part(document, "query").filter(of_state);
        let of_set = queries.filter(|query| query["parameters"]["constants"] == set["parameters"]["constants"]);
        assert_eq!(of_set.count() as f64, changed, "{set}");
        if changed < 4.0 && median(set, "worst").is_none_or(|worst| worst < 1.2) {
            assert_eq!(set["parameters"]["verdict"], "undecided", "{set}");
        }
        let gain = median(set, "gain");
        assert_eq!(gain.is_some(), median(set, "worst").is_some(), "{set}");
        assert!(gain > Some(0.0) || set["parameters"]["verdict"] != "change", "worth nothing: {set}");
    }
    assert!(ids(document).contains(&format!("answer-advice-{state}").as_str()), "{:?}", ids(document));
}

/// Each path to each number of rows in each order has its time, the rows that were asked for and its cost; the planner
/// takes one of them by its own constants.
fn check_crossovers(document: &Value) {
    let of = |order: &str, path: &str| {
        let is_it = |case: &&Value| case["parameters"]["order"] == order && case["parameters"]["path"] == path;
        part(document, "crossover").filter(is_it).collect::<Vec<_>>()
    };
    for order in ["scattered", "clustered"] {
        let mut chosen = Vec::new();
        for path in ["full-scan", "index", "bitmap"] {
            let points = of(order, path);
            assert!(points.len() >= 5, "{order} {path}: {points:?}");
            for point in points {
                let asked = point["parameters"]["asked_rows"].as_f64().unwrap();
                assert!(required(point, "cost_now") > 0.0 && required(point, "share") > 0.0, "{point}");
                match median(point, "path_time") {
                    Some(millis) => assert!(millis > 0.0 && median(point, "rows") == Some(asked), "{point}"),
                    None => assert!(point["parameters"]["verdict"].is_string(), "absent without a reason: {point}"),
                }
                let by = point["parameters"]["chosen_by"].as_str().unwrap_or_default();
                chosen.extend(by.split(", ").any(|set| set == "now").then_some(asked as u64));
            }
        }
        chosen.sort_unstable();
        let asked = of(order, "index").into_iter().map(|point| point["parameters"]["asked_rows"].as_u64().unwrap());
        assert_eq!(chosen, asked.collect::<Vec<_>>(), "one path for each number of rows");
        let switches = part(document, "switch").filter(|case| case["parameters"]["order"] == order);
        let own: Vec<&Value> = switches.filter(|case| case["parameters"]["constants"] == "now").collect();
        assert_eq!(own.len(), 2, "{own:?}");
        assert!(ids(document).contains(&format!("answer-crossover-{order}").as_str()), "{:?}", ids(document));
    }
}

/// What the planner should take for its memory is the buffers and what the page cache held of the database's files,
/// which had this many bytes: no more than that, and than the machine has.
fn check_cache_size(document: &Value, database: f64) {
    let mut constants = part(document, "constant");
    let found = constants.find(|case| case["parameters"]["constant"] == "effective_cache_size");
    let found = found.unwrap_or_else(|| panic!("no effective_cache_size: {document}"));
    let (value, buffers) = (required(found, "value"), f64::from(24 << 20));
    // Pages of the page cache are larger than the smallest of the files.
    assert!((buffers..=buffers + 2.0 * database).contains(&value), "of {database} bytes: {found}");
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let line = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(value <= kibibytes * 1024.0, "of {line}: {found}");
}

#[test]
fn all_constants_are_given_or_none_and_each_set_is_judged_in_the_state_it_is_for() {
    let Some(trial) = Trial::start(&[SMALL_BUFFERS]) else { return };
    let database = trial.value("SELECT pg_database_size(current_database())").parse().unwrap();
    let settings = "SELECT string_agg(name || setting, ',' ORDER BY name) FROM pg_settings";
    let before = (trial.value(settings), trial.value("SELECT count(*) FROM pg_class"));
    let document = User::new().document(&format!("calibrate --on {} {SMALL}", trial.url()));
    assert_eq!((trial.value(settings), trial.value("SELECT count(*) FROM pg_class")), before);
    assert_eq!(trial.value(SCHEMAS), "0");
    check_constants(&document, &["cached", "system"]);
    check_cache_size(&document, database);
    check_sets(&document, "cached");
    check_sets(&document, "system");
    check_crossovers(&document);
    assert!(ids(&document).contains(&"absent-cold"), "{:?}", ids(&document));
}

#[test]
fn a_block_has_a_cost_in_each_tablespace_where_the_role_may_make_tables() {
    let Some(trial) = Trial::start(&[SMALL_BUFFERS, "allow_in_place_tablespaces=on"]) else { return };
    for statement in [
        "CREATE TABLESPACE \"slow disks\" LOCATION ''",
        "CREATE TABLESPACE closed LOCATION ''",
        "ALTER TABLESPACE \"slow disks\" SET (random_page_cost = 7)",
        "CREATE USER clerk; GRANT CREATE ON DATABASE postgres TO clerk; \
         GRANT CREATE ON TABLESPACE \"slow disks\" TO clerk",
    ] {
        trial.run(statement);
    }
    // What a block costs comes from the table that is moved: none beyond the buffers is needed.
    let words = "--payload 1MiB --repeat 2 --passes 2 --rounds 3";
    let document = User::new().document(&format!("calibrate --on {} {words}", trial.url_of("clerk")));
    for (space, random) in [("slow disks", 7.0), ("pg_default", 4.0)] {
        for (constant, now) in [("seq_page_cost", 1.0), ("random_page_cost", random)] {
            let is_it =
                |case: &&Value| case["parameters"]["tablespace"] == space && case["parameters"]["constant"] == constant;
            let found = part(&document, "tablespace").find(is_it);
            let found = found.unwrap_or_else(|| panic!("no {constant} of {space}: {document}"));
            assert_eq!(median(found, "now"), Some(now), "{found}");
            assert!(median(found, "time").is_some(), "{found}");
            // A role that may not see where the files are leaves the page cache as it is, which undoes no constant.
            assert_eq!(found["parameters"]["state"], "system", "{found}");
            assert!(median(found, "given").is_none(), "{found}");
        }
    }
    let message = |id: &str| {
        let found = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == id);
        found.unwrap_or_else(|| panic!("no {id}: {document}"))["message"].as_str().unwrap().to_string()
    };
    assert!(message("one-tablespace").contains("closed (the role may not make tables there)"));
    let said = message("answer-tablespaces");
    assert!(said.contains("in slow disks") && said.contains("those of the page cache"), "{said}");
    assert_eq!(trial.value("SELECT count(*) FROM pg_class WHERE reltablespace > 1664"), "0");
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn a_private_server_is_made_cold_and_its_page_ends_with_statements() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    let words =
        format!("calibrate --on postgres:/usr/lib/postgresql/15 {SMALL} --cold-samples 1 --cold-rounds 1 --sql");
    let output = user.run(&words);
    assert!(output.status.success(), "{}", complaint(&output));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("-- cold") && page.contains("-- cached"), "{page}");
    let kept = user.run("show last --format json");
    let document: Value = serde_json::from_slice(&kept.stdout).unwrap();
    check_constants(&document, &["cold", "system", "cached"]);
    check_sets(&document, "cold");
    check_sets(&document, "cached");
    let time = |state: &str| {
        let is_it = |case: &&Value| {
            case["parameters"]["constant"] == "random_page_cost" && case["parameters"]["state"] == state
        };
        median(part(&document, "constant").find(is_it).unwrap(), "time").unwrap()
    };
    assert!(time("cold") > time("cached"), "a cold block costs no more than a cached one");
    // Seven values of effective_io_concurrency, and four of maintenance_io_concurrency.
    let tried = |name: &'static str| part(&document, "concurrency").filter(move |case| median(case, name).is_some());
    assert_eq!((tried("bitmap_time").count(), tried("analyze_time").count()), (7, 4));
    for case in tried("bitmap_time") {
        assert_eq!(metric(case, "bitmap_time")["n"], 1, "--cold-samples 1: {case}");
    }
}

/// Queries of all kinds that a user's file can hold, with what has to be said of each.
const ODD: [(&str, &str, &str); 33] = [
    ("writes", "DELETE FROM shop", "it writes"),
    ("writes inside", "WITH gone AS (DELETE FROM shop RETURNING 1) SELECT * FROM gone", "it writes"),
    ("makes a table", "SELECT n INTO copied FROM shop", "makes a table"),
    ("locks", "SELECT * FROM shop FOR UPDATE", "locks rows"),
    ("sleeps", "SELECT pg_sleep(60)", "pg_sleep"),
    ("takes forever", "SELECT count(*) FROM shop a, shop b WHERE a.n + b.n = -1", "takes longer than 1 s"),
    ("counts on", "SELECT nextval('numbers')", "nextval"),
    ("hides it", "SELECT shout(n) FROM shop", "shout"),
    ("needs values", "SELECT * FROM shop WHERE n = $1", "parameters"),
    ("is cut", "SELECT * FROM shop WHERE", "cut"),
    ("is nowhere", "SELECT * FROM warehouse", "not found"),
    ("is forbidden", "SELECT * FROM secret", "may not read"),
    ("drops", "DROP TABLE shop", "not one statement"),
    ("fails at run time", "SELECT count(*) FROM shop WHERE 1 / (n - 70) > 0", "when it is run (division by zero)"),
    ("is elsewhere", "SELECT * FROM shelf", "not found"),
    ("has a typed literal", "SELECT n FROM shop WHERE now() > timestamp $1", "INTERVAL $1"),
    ("sums aloud", "SELECT loud_sum(n) FROM shop", "loud_sum"),
    ("casts aloud", "SELECT n::tone FROM shop", "shout"),
    ("casts aloud to a domain", "SELECT n::toned FROM shop", "shout"),
    ("checks aloud", "SELECT n::heard FROM shop", "heard"),
    ("checks aloud unseen", "SELECT x.n FROM json_to_record('{\"n\": 1}') AS x(n heard)", "heard"),
    ("casts aloud to a range", "SELECT note::heard_span FROM shop", "heard_span, a check"),
    ("fills a row aloud", "SELECT json_populate_record(t, '{\"n\": 1}') FROM told t", "json_populate_record"),
    ("has a parameter of no type", "SELECT n FROM shop WHERE $1 IS NULL OR n = $2", "type is lost"),
    ("is written with two parameters", "SELECT kind % $1 FROM shop GROUP BY kind % $2", "for the same value"),
    ("limits aloud", "SELECT n FROM shop LIMIT \"Loud $1\"(5)", "Loud $1"),
    ("limits aloud in a view of a view", "SELECT n FROM fewer", "shout"),
    ("limits aloud in a function", "SELECT n FROM first_of(3)", "shout"),
    ("limits aloud by default", "SELECT n FROM shop LIMIT most_of()", "shout"),
    ("limits aloud by an operator", "SELECT n FROM shop LIMIT 2 <+> 3", "<+>"),
    ("compares aloud", "SELECT count(*) FROM shop WHERE shout(n) NOT IN (SELECT kind FROM shop)", "shout"),
    ("lacks partitions", "SELECT count(*) FROM sales WHERE year = $1", "partitions"),
    ("lacks them all in a join", "SELECT s.year FROM shop JOIN sales s USING (n) WHERE s.year = $1", "partitions"),
];

/// A server with a table to ask, and a role that may read most of it.
pub(crate) fn shop() -> Option<Trial> {
    let trial = Trial::start(&[SMALL_BUFFERS])?;
    trial.run(
        "CREATE TABLE shop AS SELECT n, n % 1000 AS kind, hashint4(n) AS place, repeat('x', 50) AS note \
         FROM generate_series(1, 60000) n; CREATE INDEX shop_n ON shop (n); CREATE INDEX shop_place ON shop (place); \
         CREATE SEQUENCE numbers; CREATE TABLE secret (n integer); \
         CREATE FUNCTION shout(n integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN n; END'; \
         CREATE FUNCTION shout_both(a integer, b integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN b; END'; \
         CREATE AGGREGATE loud_sum(integer) (SFUNC = shout_both, STYPE = integer); CREATE TYPE tone AS (n integer); \
         CREATE FUNCTION shout_tone(n integer) RETURNS tone LANGUAGE plpgsql AS 'BEGIN RETURN ROW(n); END'; \
         CREATE CAST (integer AS tone) WITH FUNCTION shout_tone(integer); CREATE DOMAIN toned AS tone; \
         CREATE DOMAIN heard AS integer CHECK (shout(VALUE) > 0); CREATE TYPE heard_span AS RANGE (SUBTYPE = heard); \
         CREATE FUNCTION add_heard(a heard, b heard) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT a + b'; \
         CREATE OPERATOR <+> (LEFTARG = heard, RIGHTARG = heard, FUNCTION = add_heard); CREATE TABLE told (n heard); \
         CREATE FUNCTION most_of(most integer DEFAULT shout(5)) RETURNS integer LANGUAGE sql IMMUTABLE AS \
         'SELECT most'; \
         CREATE FUNCTION \"Loud $1\"(n integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN n; END'; \
         CREATE VIEW few AS SELECT n FROM shop LIMIT shout(5); CREATE VIEW fewer AS SELECT n FROM few; \
         CREATE VIEW plenty AS SELECT n, row_number() OVER (ORDER BY n) AS place FROM shop; \
         CREATE FUNCTION first_of(most integer) RETURNS SETOF shop LANGUAGE sql STABLE AS \
         'SELECT * FROM shop ORDER BY n LIMIT shout(most)'; \
         CREATE TABLE sales (n integer, year integer) PARTITION BY LIST (year); \
         CREATE TABLE sales_1 PARTITION OF sales FOR VALUES IN (1); \
         CREATE TABLE sales_2 PARTITION OF sales FOR VALUES IN (2); \
         CREATE SCHEMA hall; \
         CREATE TABLE hall.shelf AS SELECT n, hashint4(n) AS place FROM generate_series(1, 9000) n; \
         CREATE INDEX shelf_place ON hall.shelf (place); ANALYZE hall.shelf; \
         ANALYZE shop; CREATE USER clerk; GRANT CREATE ON DATABASE postgres TO clerk; \
         GRANT SELECT, DELETE, UPDATE ON shop TO clerk; \
         GRANT SELECT ON sales, hall.shelf, fewer, plenty, told TO clerk; \
         CREATE FUNCTION hall.round(n double precision) RETURNS double precision LANGUAGE plpgsql AS \
         'BEGIN RETURN n; END'; \
         CREATE FUNCTION round(n double precision, digits integer) RETURNS double precision LANGUAGE plpgsql AS \
         'BEGIN RETURN n; END'; \
         GRANT USAGE ON SCHEMA hall TO clerk; GRANT USAGE ON SEQUENCE numbers TO clerk",
    );
    Some(trial)
}

#[test]
fn what_an_earlier_run_read_is_not_taken_for_the_databases_own_reads() {
    let Some(trial) = shop() else { return };
    let user = User::new();
    let has_no_state = |run: &str, size: &str| {
        let document = user.document(&format!("calibrate --on {} {size}", trial.url()));
        assert!(ids(&document).contains(&"absent-state"), "{run}: {:?}", ids(&document));
    };
    has_no_state("the first", SMALL);
    let all = "SELECT (blks_hit + blks_read > 100000)::text FROM pg_stat_database WHERE datname = current_database()";
    trial.wait_for(all, "true");
    has_no_state("the second", TINY);
}

#[test]
fn every_odd_query_gets_a_sentence_and_the_others_are_answered() {
    let Some(trial) = shop() else { return };
    let user = User::new();
    let file = user.temporary.path().join("queries.sql");
    let mut text: String = ODD.iter().map(|(name, query, _)| format!("-- name: {name}\n{query};\n")).collect();
    text += "-- name: good\nSELECT count(*) FROM shop WHERE place BETWEEN 0 AND 90000000;\n";
    text += "-- name: good elsewhere\nSELECT count(*) FROM hall.shelf WHERE place BETWEEN 0 AND 90000000;\n";
    text += "-- name: good limited\nSELECT round(n::double precision), (n) FROM shop ORDER BY note, n LIMIT 10;\n";
    text += "-- name: good view\nSELECT n FROM plenty WHERE place < 90 LIMIT 10;\n";
    text += "-- name: good columns\nWITH heard(a) AS (SELECT n FROM shop), shout(a) AS (SELECT a FROM heard) \
             SELECT a FROM shout LIMIT 10;\n";
    fs::write(&file, text).unwrap();
    let words = format!("calibrate --on {} {TINY} --queries {} --run", trial.url_of("clerk"), file.display());
    let document = user.document(&format!("{words} --time-limit 1"));
    for (name, _, sentence) in ODD {
        let found = part(&document, "refused").find(|case| case["parameters"]["query"] == name);
        let found = found.unwrap_or_else(|| panic!("nothing is said of `{name}`: {document}"));
        assert!(found["parameters"]["verdict"].as_str().unwrap().contains(sentence), "{found}");
    }
    let refused = part(&document, "refused").filter_map(|case| case["parameters"]["query"].as_str());
    assert!(refused.into_iter().all(|name| !name.starts_with("good")));
    assert_eq!(trial.value("SELECT count(*) FROM shop"), "60000");
    assert_eq!(trial.value("SELECT last_value FROM numbers"), "1");
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn a_query_that_reaches_the_time_limit_by_its_current_plan_alone_gets_the_quick_one() {
    let Some(trial) = Trial::start(&[SMALL_BUFFERS]) else { return };
    for statement in [
        "CREATE TABLE shop AS SELECT n, hashint4(n) AS place FROM generate_series(1, 2000000) n",
        "CREATE INDEX shop_place ON shop (place)",
        "VACUUM ANALYZE shop",
        // No index is worth it by these.
        "ALTER DATABASE postgres SET random_page_cost = 100000; ALTER DATABASE postgres SET enable_bitmapscan = off",
        "ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0",
    ] {
        trial.run(statement);
    }
    let user = User::new();
    let file = user.temporary.path().join("queries.sql");
    let quick = |number: u32| format!("SELECT count(n) FROM shop WHERE place BETWEEN {number}000 AND {number}900;\n");
    let long = "-- name: long by any plan\nSELECT count(one.n) FROM shop one, shop two \
                WHERE two.place > one.place AND one.place BETWEEN 1000 AND 900000;\n";
    fs::write(&file, (1..12).map(quick).chain([long.to_string()]).collect::<String>()).unwrap();
    let words = format!("calibrate --on {} {TINY} --queries {} --run --time-limit 0.04", trial.url(), file.display());
    let document = user.document(&words);
    let by_set = |case: &&Value| case["parameters"]["constants"] == "random-1.1";
    let (ended, others): (Vec<&Value>, Vec<&Value>) =
        part(&document, "query").filter(by_set).partition(|case| case["parameters"]["query"] == "long by any plan");
    assert_eq!(others.len(), 11, "{document}");
    for case in others {
        let verdict = case["parameters"]["verdict"].as_str().unwrap();
        assert_eq!(verdict, "faster, the current plan ended after 40.0 ms", "{case}");
        assert!(required(case, "time_now") == 40.0 && required(case, "ratio_high") < 0.8, "{case}");
        assert!(median(case, "ratio").is_none(), "an upper bound is no ratio: {case}");
    }
    for case in ended {
        assert_eq!(case["parameters"]["verdict"], "undecided, both plans ended after 40.0 ms", "{case}");
        assert!(["time_now", "time_then", "ratio"].iter().all(|name| median(case, name).is_none()), "{case}");
    }
    let findings = document["findings"].as_array().unwrap().iter();
    let mut advice = findings.filter(|one| one["id"] == "answer-advice-as-found");
    let message = advice.next().unwrap()["message"].as_str().unwrap();
    assert!(message.contains(": set ") && message.contains("11 queries were ended at the time limit"), "{message}");
    let refused = part(&document, "refused").find(|case| case["parameters"]["query"] == "long by any plan");
    let why = refused.unwrap()["parameters"]["verdict"].as_str().unwrap();
    assert_eq!(why, "it takes longer than 0.04 s, and no plan that was timed is quicker");
    assert_eq!(trial.value(SCHEMAS), "0");
}

/// Goes on with a server until it is dropped, in a thread of its own.
pub(crate) struct Meanwhile {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meanwhile {
    pub(crate) fn run(trial: &Trial, statements: &'static [&str]) -> Meanwhile {
        let (mut client, ends) = (trial.client(), Arc::new(AtomicBool::new(false)));
        let until = Arc::clone(&ends);
        let work = move || {
            while !until.load(Ordering::Relaxed) {
                for statement in statements {
                    // One that waits for a lock too long is tried again.
                    let _ = client.batch_execute(statement);
                }
            }
        };
        Meanwhile { ends, thread: Some(thread::spawn(work)) }
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn plans_that_change_between_explain_and_the_run_end_in_a_sentence() {
    let Some(trial) = shop() else { return };
    let user = User::new();
    let file = user.temporary.path().join("queries.sql");
    let query = |number: u32| format!("SELECT count(note) FROM shop WHERE place BETWEEN 0 AND {number}00000;\n");
    fs::write(&file, (50..70).map(query).collect::<String>()).unwrap();
    const OTHERS: [&str; 3] = [
        "SET lock_timeout = '100ms'; DROP INDEX IF EXISTS shop_place",
        "ANALYZE shop",
        "CREATE INDEX IF NOT EXISTS shop_place ON shop (place)",
    ];
    let meanwhile = Meanwhile::run(&trial, &OTHERS);
    let words = format!("calibrate --on {} {TINY} --queries {} --run", trial.url(), file.display());
    let has_changed = |document: &Value| {
        let verdicts = part(document, "refused").filter_map(|case| case["parameters"]["verdict"].as_str());
        verdicts.into_iter().any(|verdict| verdict.contains("its plan changed between EXPLAIN and the run"))
    };
    // It can happen that no index comes or goes between the two in a whole run.
    assert!((0..9).any(|_| has_changed(&user.document(&words))), "no plan changed in between");
    drop(meanwhile);
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn under_load_the_verdict_is_withheld() {
    let Some(trial) = Trial::start(&[SMALL_BUFFERS]) else { return };
    let meanwhile = Meanwhile::run(&trial, &["SELECT count(*) FROM generate_series(1, 3000000)"]);
    let document = User::new().document(&format!("calibrate --on {} {TINY}", trial.url()));
    drop(meanwhile);
    let advised: Vec<&str> = part(&document, "set").filter_map(|set| set["parameters"]["advice"].as_str()).collect();
    assert!(!advised.is_empty() && advised.iter().all(|advice| *advice == "undecided"), "{advised:?}");
    assert!(ids(&document).contains(&"server-busy"), "{:?}", ids(&document));
    let findings = document["findings"].as_array().unwrap().iter();
    let mut advice = findings.filter(|one| one["id"].as_str().unwrap().starts_with("answer-advice-"));
    assert!(advice.all(|one| one["message"].as_str().unwrap().contains("other sessions were at work")), "{document}");
}

/// Every set leaves a row at the server's cost of it, so that the limits of compilation and the costs of workers and
/// functions keep their meaning; what is advised everywhere is meant for half of this cost.
fn check_scale(document: &Value, row: f64) {
    let mut usual = 0;
    for set in part(document, "set").filter(|set| set["parameters"]["constants"] != "now") {
        assert_eq!(median(set, "cpu_tuple_cost"), Some(row), "{set}");
        if set["parameters"]["constants"] == "random-1.1" {
            assert_eq!(["seq_page_cost", "random_page_cost"].map(|name| required(set, name)), [2.0, 2.2], "{set}");
            usual += 1;
        }
    }
    assert!(usual > 0, "{document}");
    let found = part(document, "constant").find(|case| case["parameters"]["constant"] == "cpu_tuple_cost").unwrap();
    assert_eq!(median(found, "now"), Some(row), "{found}");
    assert!(median(found, "given").is_none_or(|given| given == row), "{found}");
}

#[test]
fn advice_is_undone_by_what_was_set_before_keeps_the_cost_of_a_row_and_counts_texts_of_other_roles() {
    if !Path::new(DEBIAN).join("lib/pg_stat_statements.so").exists() {
        println!("skipped: the server has no library pg_stat_statements");
        return;
    }
    let Some(trial) = Trial::start(&[SMALL_BUFFERS, "shared_preload_libraries=pg_stat_statements"]) else { return };
    for statement in [
        "CREATE EXTENSION pg_stat_statements; CREATE TABLE shop AS SELECT n FROM generate_series(1, 20000) n",
        "ALTER DATABASE postgres SET random_page_cost = 2.5",
        "ALTER DATABASE postgres SET effective_cache_size = '3GB'",
        "ALTER SYSTEM SET seq_page_cost = 1.5",
        "CREATE USER clerk; GRANT CREATE ON DATABASE postgres TO clerk; GRANT SELECT ON shop TO clerk",
        "ALTER ROLE clerk IN DATABASE postgres SET cpu_operator_cost = 0.002",
        "ALTER ROLE clerk SET application_name = 'till'",
        "ALTER ROLE ALL SET cpu_tuple_cost = 0.02",
        "SELECT count(*) FROM shop",
    ] {
        trial.run(statement);
    }
    let words = |user: &str| format!("calibrate --on {} {TINY} --queries pg_stat_statements", trial.url_of(user));
    let document = User::new().document(&words("clerk"));
    let of_database = &document["subject"]["database_settings"];
    assert_eq!(of_database["random_page_cost"], "2.5", "{of_database}");
    assert_eq!(of_database["effective_cache_size"], "3GB", "{of_database}");
    assert!(document["subject"]["server_settings"].is_null(), "{}", document["subject"]);
    let of_roles = document["subject"]["role_settings"].as_array().unwrap();
    let named = |name: &'static str| of_roles.iter().map(|one| one[name].clone()).collect::<Vec<_>>();
    assert_eq!(named("setting"), ["cpu_operator_cost", "cpu_tuple_cost"], "{of_roles:?}");
    assert_eq!(named("is_own"), [true, false], "{of_roles:?}");
    assert_eq!(named("in_database"), [true, false], "{of_roles:?}");
    assert!(of_roles[0]["role"] == "clerk" && of_roles[1]["role"].is_null(), "{of_roles:?}");
    assert!(ids(&document).contains(&"listed-hidden"), "{:?}", ids(&document));
    assert!(ids(&document).contains(&"absent-activity"), "{:?}", ids(&document));
    check_scale(&document, 0.02);
    let document = User::new().document(&format!("calibrate --on {} {TINY}", trial.url()));
    check_scale(&document, 0.02);
    assert_eq!(document["subject"]["server_settings"]["seq_page_cost"], "1.5", "{}", document["subject"]);
    assert_eq!(document["subject"]["role_settings"][0]["is_own"], false, "{}", document["subject"]);
}

#[test]
fn a_run_that_is_ended_while_queries_run_knows_what_undoes_its_advice() {
    let Some(trial) = shop() else { return };
    trial.run("ALTER DATABASE postgres SET random_page_cost = 2.5");
    // Enough for the database's counters to show its state.
    trial.run("DO $$ BEGIN FOR lap IN 1..250 LOOP PERFORM count(*) FROM shop; END LOOP; END $$");
    let counted = "SELECT (sum(heap_blks_hit + heap_blks_read) > 100000)::text FROM pg_statio_user_tables";
    trial.wait_for(counted, "true");
    let user = User::new();
    let file = user.temporary.path().join("queries.sql");
    let query = |part: u32| format!("SELECT count(note) FROM shop WHERE place BETWEEN 0 AND {part}0000000;\n");
    fs::write(&file, (1..=9).map(query).collect::<String>()).unwrap();
    // As many rounds as the time for them holds.
    let sizes = "--payload 1MiB --repeat 1 --passes 1 --rounds 1000";
    let words = format!("calibrate --on {} {sizes} --queries {} --run --sql", trial.url(), file.display());
    let child = user.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = "SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE query LIKE '%EXECUTE readpath\\_%' \
                 AND pid <> pg_backend_pid()";
    trial.wait_for(begun, "true");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    let document: Value = serde_json::from_slice(&user.run("show last --format json").stdout).unwrap();
    assert_eq!(document["subject"]["database"], "postgres", "{}", document["subject"]);
    assert_eq!(document["subject"]["database_settings"]["random_page_cost"], "2.5", "{}", document["subject"]);
    // By the state, --sql chooses which statements stand as they are.
    assert_eq!(part(&document, "state").count(), 1, "{document}");
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn without_run_no_query_of_the_user_is_executed() {
    let Some(trial) = shop() else { return };
    let user = User::new();
    let file = user.temporary.path().join("queries.sql");
    fs::write(&file, "SELECT count(note) FROM shop WHERE place > 5; SELECT count(*) FROM shop WHERE kind = $1;")
        .unwrap();
    // A session adds what it scanned when it ends, which may be after its client has gone on.
    let others = "SELECT count(*) FROM pg_stat_activity \
                  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    trial.wait_for(others, "0");
    trial.run("SELECT pg_stat_reset()");
    let document = user.document(&format!("calibrate --on {} {TINY} --queries {}", trial.url(), file.display()));
    trial.wait_for("SELECT coalesce(sum(seq_scan + idx_scan), 0) FROM pg_stat_user_tables WHERE relname = 'shop'", "0");
    let of_own = |set: &&Value| set["parameters"]["state"] == "as-found";
    let own: Vec<&Value> = part(&document, "set").filter(of_own).collect();
    assert!(own.len() > 1 && own.iter().all(|set| required(set, "queries") == 2.0), "{own:?}");
    let advice = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == "answer-advice-as-found");
    assert!(advice.unwrap()["message"].as_str().unwrap().contains("nothing was run"), "{advice:?}");
}

/// The document of a calibration beside which another session works from when the first query of the file is timed.
fn with_work_while_timed(trial: &Trial, user: &User, file: &Path) -> Value {
    let words = format!("calibrate --on {} {TINY} --queries {} --run --format json", trial.url(), file.display());
    let mut other = trial.client();
    let child = user.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let begun = "SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE query LIKE '%EXECUTE readpath\\_%' \
                 AND pid <> pg_backend_pid()";
    trial.wait_for(begun, "true");
    let work = thread::spawn(move || other.batch_execute("SELECT pg_sleep(600)"));
    let asleep = "FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'";
    trial.wait_for(&format!("SELECT count(*) {asleep}"), "1");
    let output = child.wait_with_output().unwrap();
    trial.run(&format!("SELECT pg_terminate_backend(pid) {asleep}"));
    work.join().unwrap().unwrap_err();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_verdict_is_withheld_where_others_work_only_while_queries_are_timed() {
    let Some(trial) = shop() else { return };
    let user = User::new();
    let file = user.temporary.path().join("queries.sql");
    let query = |part: u32| format!("SELECT count(note) FROM shop WHERE place BETWEEN 0 AND {part}0000000;\n");
    fs::write(&file, (1..=9).map(query).collect::<String>()).unwrap();
    let mut found = Vec::new();
    // On a busy machine the work may begin when the last query was timed.
    for _ in 0..TRIES {
        let document = with_work_while_timed(&trial, &user, &file);
        let advised = part(&document, "set").find_map(|set| set["parameters"]["advice"].as_str());
        let advice = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == "answer-advice-as-found");
        let advice = advice.unwrap()["message"].as_str().unwrap();
        if advised == Some("undecided") && advice.contains("other sessions were at work") {
            return;
        }
        found.push(format!("{advised:?}: {advice}"));
    }
    panic!("a verdict beside the work of others: {found:#?}");
}

#[test]
fn a_file_of_queries_or_a_list_that_is_not_there_is_a_sentence_before_anything_is_made() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let words = format!("calibrate --on {}", trial.url());
    // As any file that cannot be read: the command line is right.
    assert!(user.refused(&format!("{words} --queries /nonexistent.sql"), 1).contains("cannot be read"));
    let empty = user.temporary.path().join("empty.sql");
    fs::write(&empty, "-- nothing\n;").unwrap();
    assert!(user.refused(&format!("{words} --queries {}", empty.display()), 1).contains("holds no query"));
    let folder = user.temporary.path().join("queries");
    fs::create_dir(&folder).unwrap();
    let refused = user.refused(&format!("{words} --queries {}", folder.display()), 1);
    assert!(refused.contains("no file whose name ends in .sql"), "{refused}");
    for (blank, said) in [("", "a folder of such files"), ("pg_stat_statements:-1", "from 1 to 1000")] {
        let refused = user.refused(&["calibrate", "--on", &trial.url(), "--queries", blank], 2);
        assert!(refused.contains(said), "{refused}");
    }
    // The command line is right, and the server lacks the list.
    let refused = user.refused(&format!("{words} --queries pg_stat_statements:5"), 1);
    assert!(refused.contains("CREATE EXTENSION"), "{refused}");
    assert_eq!(trial.value(SCHEMAS), "0");
}

/// Whether a script has a set with these costs of blocks in sequence and at random on a server where nothing is set: in
/// a statement of its own, or in a long script among the other values of one.
fn has_set(script: &str, page: &str, random: &str) -> bool {
    let statement = format!("SET seq_page_cost = {page}; SET random_page_cost = {random}; SET cpu_tuple_cost = 0.01;");
    let values = ["also with ", "; "].map(|before| format!("{before}{page}, {random}"));
    let are_whole = |(at, values): (usize, &str)| script[at + values.len()..].starts_with([',', ';', '\n']);
    script.contains(&statement) || values.iter().any(|values| script.match_indices(values).any(are_whole))
}

/// The script explains a query with two parameters, by its generic plan, and does not run it.
fn check_parameters(script: &str) {
    for part in [
        "EXPLAIN (GENERIC_PLAN, VERBOSE, FORMAT JSON) EXECUTE readpath_2(NULL, NULL);",
        "EXPLAIN (GENERIC_PLAN, FORMAT JSON) EXECUTE readpath_2(NULL, NULL);",
    ] {
        assert!(script.contains(part), "no {part}: {script}");
    }
    assert!(!script.contains("EXECUTE readpath_2;"), "{script}");
    assert!(!script.contains("TIMING OFF, FORMAT JSON) EXECUTE readpath_2"), "{script}");
}

#[test]
fn a_dry_run_sends_nothing_and_shows_what_is_made_and_removed_and_what_becomes_of_the_users_queries() {
    let Some(trial) = Trial::start(&["log_statement=all"]) else { return };
    let before = trial.log().len();
    let user = User::new();
    let file = user.file(
        "queries.sql",
        b"SELECT count(*) FROM shop WHERE n < 5;\nSELECT max(n) FROM shop;\n\
          SELECT max(n) FROM shop WHERE n < $1 AND n <> $2 AND note <> '$3';\n",
    );
    let queries = format!(" --queries {file}");
    let dry = |more: &str| user.ok(&format!("calibrate --on {} --dry-run{more}", trial.url()));
    let [script, explained, run] = [String::new(), queries.clone(), queries + " --run"].map(|more| dry(&more));
    assert_eq!(trial.log().len(), before, "{}", trial.log());
    for part in [
        "SET TABLESPACE \"another\"",
        "CREATE SCHEMA readpath",
        "SET random_page_cost",
        "EXPLAIN (FORMAT JSON)",
        "WHERE scattered <= ",
        "WHERE in_order <= ",
        "DROP SCHEMA readpath;",
    ] {
        assert!(script.contains(part), "no {part}: {script}");
    }
    assert!(!script.contains("ALTER SYSTEM") && !script.contains("CREATE EXTENSION"), "{script}");
    for part in [
        "PREPARE readpath_0 AS SELECT count(*) FROM shop WHERE n < 5;",
        "PREPARE readpath_1 AS SELECT max(n) FROM shop;",
        "BEGIN READ ONLY; RESET search_path; SET LOCAL statement_timeout = ",
        "EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE readpath_1;",
        "SET random_page_cost",
        "EXPLAIN (FORMAT JSON) EXECUTE readpath_0;",
        "ROLLBACK;",
        // What is asked where a domain has a volatile check.
        "unnest('{16384}'::oid[])",
        "DROP SCHEMA readpath;",
    ] {
        assert!([&explained, &run].iter().all(|script| script.contains(part)), "no {part}: {explained}\n{run}");
    }
    let run_alone =
        ["EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE readpath_0;", "SET enable_nestloop = 'off'"];
    for part in run_alone {
        assert!(run.contains(part) && !explained.contains(part), "{part}: {run}\n{explained}");
    }
    for script in [&explained, &run] {
        check_parameters(script);
    }
    // The sets are those of a server where nothing is set.
    for script in [&script, &explained, &run] {
        assert!(has_set(script, "1", "1.1") && !has_set(script, "100", "110"), "{script}");
    }
    for (page, random) in [("0.125", "0.5"), ("0.25", "0.275")] {
        assert!(has_set(&run, page, random) && !has_set(&explained, page, random), "{page}: {run}\n{explained}");
    }
}

#[test]
fn a_dry_run_names_the_queries_that_are_not_run_and_runs_none_of_them_and_keeps_queries_apart() {
    let user = User::new();
    let odd = [
        ("gone", "DELETE FROM shop WHERE n = 1", "is not run, as far as its text shows: it writes"),
        (
            "gone inside",
            "WITH gone AS (DELETE FROM shop RETURNING n) SELECT n FROM gone",
            "is not run, as far as its text shows: it writes",
        ),
        ("asleep", "SELECT pg_sleep(60)", "is not run, as far as its text shows: it calls pg_sleep, which is volatile"),
        ("kept", "SELECT n FROM shop FOR UPDATE", "is not run, as far as its text shows: it locks rows"),
        (
            "open",
            "SELECT n FROM shop WHERE n = $1",
            "is not run, as far as its text shows: its parameters have no values",
        ),
        ("dropped", "DROP TABLE shop", "is not compared: it is not one statement that can be prepared"),
        ("copied", "SELECT n INTO copied FROM shop", "is not compared: it makes a table"),
    ];
    let of_odd: String = odd.iter().map(|(name, query, _)| format!("-- name: {name}\n{query};\n")).collect();
    let good = "SELECT max(n) FROM shop WHERE n < 5;\nSELECT max(n) FROM shop WHERE n < 6;\n";
    let file = user.file("queries.sql", (of_odd + good).as_bytes());
    let words = format!("calibrate --on postgres://me@127.0.0.1:1/shop --dry-run --queries {file}");
    let (script, explained) = (user.ok(&format!("{words} --run")), user.ok(&words));
    let runs = |number: usize| script.contains(&format!("TIMING OFF, FORMAT JSON) EXECUTE readpath_{number}"));
    for (number, (name, _, why)) in odd.iter().enumerate() {
        let line = format!("-- `{name}` {why}");
        for script in [&script, &explained] {
            assert!(script.lines().any(|one| one.trim_start().starts_with(&line)), "no {line}: {script}");
        }
        assert!(!runs(number), "{name} is run: {script}");
    }
    // A server whose plan drops or hides the call is asked what the query reads and calls.
    let asked = "PREPARE readpath_read AS SELECT pg_sleep(60);";
    assert!(script.contains(asked) && explained.contains(asked), "no {asked}: {script}\n{explained}");
    for (number, value) in [(7, 5), (8, 6)] {
        assert!(runs(number), "{script}");
        assert!(!script.contains(&format!("-- `queries {}`", number + 1)), "{script}");
        for name in [format!("readpath_{number}"), "readpath_read".into()] {
            let prepared = format!("PREPARE {name} AS SELECT max(n) FROM shop WHERE n < {value};");
            assert!(script.contains(&prepared), "no {prepared}: {script}");
        }
    }
    let head = |script: &str| script.replace("-- ", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let tried = "Of up to 40 sets of constants, those that are only tried";
    assert!(head(&script).contains(tried) && !head(&explained).contains(tried), "{script}");
}

#[test]
fn no_constants_are_advised_where_an_older_transaction_keeps_indexes_from_doing_alone() {
    let Some(trial) = Trial::start(&[]) else { return };
    let mut other = trial.client();
    other.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").unwrap();
    let document = User::new().document(&format!("calibrate --on {} {TINY}", trial.url()));
    assert!(ids(&document).contains(&"not-all-visible"), "{:?}", ids(&document));
    let advised: Vec<&Value> = part(&document, "set").map(|set| &set["parameters"]["advice"]).collect();
    assert!(advised.iter().any(|advice| *advice == "undecided"), "{advised:?}");
    assert!(advised.iter().all(|advice| advice.is_null() || *advice == "undecided"), "{advised:?}");
}

/// A server whose own constants are right: each query of the shelf reads half of its rows, which lie scattered, and the
/// only other way that is open, by the index, asks for a block a row. And two tables that no constants help: three
/// columns say the same, so that the planner expects a few visits where there are thousands.
fn with_right_constants() -> Option<Trial> {
    let trial = Trial::start(&[SMALL_BUFFERS, "log_statement=all"])?;
    for statement in [
        "CREATE TABLE shelf AS SELECT n, hashint4(n) AS place FROM generate_series(1, 40000) n",
        "CREATE TABLE visits AS SELECT n, hashint4(n) & 63 AS item, n % 25 AS city, n % 25 AS region, n % 25 AS \
         country FROM generate_series(1, 60000) n",
        "CREATE TABLE stock AS SELECT n AS number, n / 500 AS item FROM generate_series(0, 49999) n",
        "CREATE INDEX ON shelf (place); CREATE INDEX ON stock (item); ANALYZE shelf, visits, stock",
        // A bitmap scan of half of the rows may take less than a scan of all.
        "ALTER DATABASE postgres SET enable_bitmapscan = off",
    ] {
        trial.run(statement);
    }
    Some(trial)
}

/// The queries of that server.
fn queries_of_right_constants() -> String {
    let half = |part: u32| format!("SELECT count(n) FROM shelf WHERE place > -{part}0000000;\n");
    let correlated = "-- name: correlated\nSELECT count(*) FROM visits JOIN stock ON stock.item = visits.item AND \
                      stock.number = visits.n WHERE city = 7 AND region = 7 AND country = 7;\n";
    (12..18).map(half).chain([correlated.to_string()]).collect()
}

/// The query has a faster plan that no set leads to, with the step whose rows are off, by how much, and what helps.
fn check_remedy(document: &Value) {
    let found = part(document, "remedy").find(|case| case["parameters"]["query"] == "correlated");
    let found = found.unwrap_or_else(|| panic!("no remedy: {document}"));
    assert_eq!(found["parameters"]["node_now"], "Nested Loop", "{found}");
    assert!(required(found, "time_then") < 0.75 * required(found, "time_now"), "{found}");
    // 2400 rows, of which a twenty-fifth of a twenty-fifth are expected: about 4.
    assert!((100.0..=2400.0).contains(&required(found, "estimate_off")), "{found}");
    let advice = found["parameters"]["advice"].as_str().unwrap();
    assert!(advice.starts_with("the row estimate of Seq Scan on visits is off by a factor of "), "{advice}");
    assert!(advice.contains("CREATE STATISTICS over columns that depend on each other"), "{advice}");
}

#[test]
fn with_rows_hidden_by_an_older_transaction_right_constants_are_kept_and_what_none_help_has_its_reason() {
    let Some(trial) = with_right_constants() else { return };
    let user = User::new();
    let file = user.file("queries.sql", queries_of_right_constants().as_bytes());
    let mut other = trial.client();
    other.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").unwrap();
    let words = format!("calibrate --on {} {TINY} --queries {file} --run", trial.url());
    let script = user.ok(&format!("{words} --dry-run"));
    let before = trial.log().len();
    let document = user.document(&words);
    assert!(ids(&document).contains(&"not-all-visible"), "{:?}", ids(&document));
    let advice = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == "answer-advice-as-found");
    let advice = advice.unwrap()["message"].as_str().unwrap();
    assert!(advice.contains(": keep the server's own constants, because"), "{advice}");
    let sets: Vec<&Value> = part(&document, "set").collect();
    assert!(sets.iter().any(|set| set["parameters"]["advice"] == "keep"), "{sets:?}");
    assert!(sets.iter().all(|set| set["parameters"]["verdict"] != "change"), "{sets:?}");
    check_remedy(&document);
    // What is sent before the first query depends on the version, which a dry run does not ask for.
    let statements = sent(&trial.log()[before..]).into_iter();
    let of_queries: Vec<String> = statements.skip_while(|one| !one.contains("EXECUTE readpath_0")).collect();
    assert_rehearsed(&words, &script, &of_queries);
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn an_interrupted_calibration_leaves_no_schema() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let words = format!("calibrate --on {} --payload 2MiB --repeat 500 --format json", trial.url());
    let child = user.command(&words).spawn().unwrap();
    // Rows are counted once the tables are loaded.
    trial.wait_for(
        "SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE query LIKE '%SELECT count(*) FROM readpath.%' AND pid \
         <> pg_backend_pid()",
        "true",
    );
    thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn what_cannot_be_is_one_sentence_and_leaves_nothing() {
    let user = User::new();
    let refused = |words: &str, code: i32| user.refused(&format!("calibrate {words}"), code);
    assert!(refused("", 2).contains("--on"));
    assert!(refused("--on postgres://me@127.0.0.1:1/db", 1).contains("does not respond"));
    assert!(refused("--on postgres://me@127.0.0.1:1/db --payload 1KiB", 2).contains("--payload"));
    assert!(refused("--on postgres://me@127.0.0.1:1/db --dry-run --sql", 2).contains("no advice to print"));
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop");
    assert!(refused(&format!("--on {}", trial.url_of("shop")), 1).contains("GRANT CREATE ON DATABASE"));
    assert!(refused(&format!("--on {} --payload 64GiB", trial.url()), 1).contains("smaller --payload"));
    assert!(refused(&format!("--on {} --statement-timeout 1ms", trial.url()), 1).contains("--statement-timeout"));
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn statements_that_a_format_has_no_place_for_are_not_left_out_in_silence() {
    let user = User::new();
    // Nothing listens there: what is refused is refused before.
    let refused = |words: &str, code: i32| {
        user.refused(&format!("calibrate --on postgres://me@127.0.0.1:1/db --sql {words}"), code)
    };
    assert!(refused("--format csv", 2).contains("--sql has no effect here: --format csv has no place for statements"));
    let said = refused("--format json", 1);
    assert!(said.contains("JSON has no statements of --sql: `readpath show FILE`"), "{said}");
    let silent = refused("--format json --quiet", 1);
    assert!(silent.contains("does not respond") && !silent.contains("--sql"), "{silent}");
    assert!(!refused("", 1).contains("--sql"));
}

#[test]
fn the_servers_list_is_the_users_queries_and_not_this_programs_own() {
    if !Path::new(DEBIAN).join("lib/pg_stat_statements.so").exists() {
        println!("left out: the server has no library pg_stat_statements");
        return;
    }
    let Some(trial) = Trial::start(&["shared_preload_libraries=pg_stat_statements"]) else { return };
    trial.run(
        "CREATE EXTENSION pg_stat_statements; CREATE TABLE shop AS SELECT n, n * 7 AS place FROM generate_series(1, \
         20000) n; CREATE INDEX shop_place ON shop (place); ANALYZE shop; CREATE USER clerk; \
         GRANT SELECT ON shop TO clerk",
    );
    let long = format!("SELECT count(*) FROM shop WHERE place + n > 3 AND n NOT IN ({})", vec!["7"; 900].join(", "));
    // Libraries name their queries in a comment, which may be the first line of each.
    let named = "-- name: Places :one\nSELECT count(place) FROM shop";
    for query in ["SELECT count(n) FROM shop WHERE place > 5", "SELECT count(*) FROM shop", named, &long] {
        trial.run(query);
    }
    // The list has a row for each role; together they are one query.
    trial.run("SET ROLE clerk; SELECT count(*) FROM shop");
    let user = User::new();
    let document = |number: u32| {
        user.document(&format!("calibrate --on {} {TINY} --run --queries pg_stat_statements:{number}", trial.url()))
    };
    // The second run finds the statements of the first in the list.
    let (first, second) = (document(2), document(30));
    let explained = |document: &Value| {
        let own = part(document, "set").find(|set| set["parameters"]["state"] == "as-found").unwrap();
        required(own, "queries")
    };
    assert_eq!((explained(&first), explained(&second)), (2.0, 4.0), "{second}");
    let names: Vec<&str> = part(&second, "refused").map(|case| case["parameters"]["query"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "those with parameters are not run: {names:?}");
    assert!(names.iter().all(|name| name.contains("FROM shop") && name.chars().count() < 90), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with('…')), "{names:?}");
    let said = second["findings"].as_array().unwrap().iter().find(|one| one["id"] == "listed-without-tables");
    assert!(said.unwrap()["message"].as_str().unwrap().contains("are left out"), "{said:?}");
    // A list that the server does not keep is no list of queries that read no table.
    trial.run("ALTER DATABASE postgres SET pg_stat_statements.track = 'none'");
    trial.run("SELECT pg_stat_statements_reset()");
    let refused = user.run(&format!("calibrate --on {} {TINY} --queries pg_stat_statements", trial.url()));
    assert!(!refused.status.success(), "{}", complaint(&refused));
    let words = complaint(&refused).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not even of this run's own") && words.contains("compute_query_id"), "{words}");
    assert_eq!(trial.value(SCHEMAS), "0");
}
