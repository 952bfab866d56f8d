//! `dashboards/`: what readpath exports and records is loaded as the guide says, and the SQL of every panel finds what
//! it draws.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Map, Value};
use trial::Trial;

use crate::record::{busy, recorder};
use crate::user::{DEBIAN, User, complaint};

pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dashboards");

pub(crate) const DASHBOARDS: [&str; 3] = ["runs.json", "events.json", "recordings.json"];

/// Runs of every experiment, as they were kept.
const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/runs");

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/shop_ora_4711.trc");

/// Asks Grafana's own classes whether they know every key of a dashboard: what they do not know they leave out.
const SCHEMA: &str = "\
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

register_default_plugins()

def unknown(ours, theirs, path):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key in theirs:
                yield from unknown(value, theirs[key], f'{path}.{key}')
            elif value not in (None, {}, [], ''):
                yield f'{path}.{key}'
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs)):
            yield from unknown(one, other, f'{path}[{index}]')
    elif ours != theirs:
        yield path

for path in sys.argv[1:]:
    ours = json.load(open(path))
    theirs = json.loads(JSONEncoder().encode(Dashboard.from_json(json.load(open(path)))))
    print('\\n'.join(unknown(ours, theirs, path)), end='')
";

pub(crate) fn dashboard(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(Path::new(FOLDER).join(name)).unwrap()).unwrap()
}

/// The panels that draw something.
pub(crate) fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row")
}

pub(crate) fn sql(panel: &Value) -> &str {
    panel["targets"][0]["rawSql"].as_str().unwrap()
}

/// What is chosen in Grafana: a time range, and how far apart the points of its width are.
#[derive(Clone, Copy)]
struct Shown {
    from: &'static str,
    to: &'static str,
    step_ms: u32,
}

/// All that there is, second by second.
const ALL: Shown = Shown { from: "2000-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z", step_ms: 1000 };

/// SQL with what Grafana puts into it: the time range, the step, and all values of the variables.
fn expanded(sql: &str, dashboard: &Value, trial: &Trial, Shown { from, to, step_ms }: Shown) -> String {
    let mut text = sql.replace("$__interval_ms", &step_ms.to_string());
    text = text.replace("$__timeFrom()", &format!("'{from}'")).replace("$__timeTo()", &format!("'{to}'"));
    for variable in dashboard["templating"]["list"].as_array().unwrap().iter().filter(|one| one["type"] == "query") {
        let all = format!(
            "SELECT string_agg(quote_literal(one::text), ', ') FROM ({}) AS v (one)",
            variable["query"].as_str().unwrap()
        );
        text = text.replace(&format!("${{{}:sqlstring}}", variable["name"].as_str().unwrap()), &trial.value(&all));
    }
    while let Some(at) = text.find("$__timeFilter(") {
        let (column, rest) = text[at..].split_once('(').unwrap().1.split_once(')').unwrap();
        text = format!("{}{column} BETWEEN '{from}' AND '{to}'{rest}", &text[..at]);
    }
    assert!(!text.contains('$'), "{text}");
    text
}

/// The rows that a panel's SQL gives.
fn rows(panel: &Value, dashboard: &Value, trial: &Trial) -> Vec<Map<String, Value>> {
    rows_of(panel, dashboard, trial, ALL)
}

/// Those of what is shown.
fn rows_of(panel: &Value, dashboard: &Value, trial: &Trial, shown: Shown) -> Vec<Map<String, Value>> {
    let text = expanded(sql(panel), dashboard, trial, shown);
    let all = trial.value(&format!("SELECT coalesce(json_agg(panel), '[]') FROM ({text}) AS panel"));
    serde_json::from_str(&all).unwrap()
}

/// What a column of the panel of this title has, in the order of the rows.
fn column(title: &str, name: &str, dashboard: &Value, trial: &Trial, shown: Shown) -> Vec<Value> {
    let panel = panels(dashboard).find(|panel| panel["title"] == title).unwrap();
    rows_of(panel, dashboard, trial, shown).iter().map(|row| row[name].clone()).collect()
}

/// A server with the empty tables of a script.
fn with_tables_of(script: &str) -> Option<Trial> {
    let trial = Trial::start(&[])?;
    let text = fs::read_to_string(Path::new(FOLDER).join(script)).unwrap();
    trial.run(&text[text.find("CREATE TABLE").unwrap()..text.find("TRUNCATE").unwrap()]);
    Some(trial)
}

/// Each panel has rows, and in them the columns that it names.
fn assert_drawn(dashboard: &Value, trial: &Trial) {
    assert_panels_drawn(dashboard, panels(dashboard), trial);
}

fn assert_panels_drawn<'a>(dashboard: &Value, panels: impl Iterator<Item = &'a Value>, trial: &Trial) {
    for panel in panels {
        let (title, rows) = (&panel["title"], rows(panel, dashboard, trial));
        assert!(!rows.is_empty(), "{title} shows nothing");
        let has = |column: &str| rows.iter().any(|row| row.get(column).is_some_and(|value| !value.is_null()));
        if panel["targets"][0]["format"] == "time_series" {
            assert!(has("time") && has("metric") && has("value"), "{title}: {:?}", rows[0]);
            let points: BTreeSet<String> =
                rows.iter().map(|row| format!("{} {}", row["time"], row["metric"])).collect();
            assert_eq!(points.len(), rows.len(), "{title}: two numbers have one name at one time: {rows:#?}");
        }
        for transformation in panel["transformations"].as_array().into_iter().flatten() {
            for field in ["rowField", "columnField", "valueField"] {
                assert!(has(transformation["options"][field].as_str().unwrap()), "{title}: {field}");
            }
        }
        if let Some(field) = panel["options"]["xField"].as_str() {
            assert!(field.split('\\').all(has), "{title}: {field}");
        }
        for matcher in panel["fieldConfig"]["overrides"].as_array().unwrap() {
            assert!(has(matcher["matcher"]["options"].as_str().unwrap()), "{title}: {matcher}");
        }
    }
}

/// Loads what lies in the user's home, with one more folder to find programs in.
fn load(user: &User, script: &str, trial: &Trial, programs: &Path) {
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let output = Command::new(format!("{DEBIAN}/bin/psql"))
        .args(["--no-psqlrc", "--quiet", "--file"])
        .arg(Path::new(FOLDER).join(script))
        .arg(trial.url())
        .current_dir(user.home.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", complaint(&output));
}

#[test]
fn every_panel_of_runs_shows_what_real_runs_hold() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    for depth in ["1", "4", "32", "4"] {
        user.ok(&["disk", "model:hdd-7200", "--count", "400", "--seed", depth, "--depth", depth, "-q"]);
    }
    let of = |folder: &Path| fs::read_dir(folder).unwrap().map(|file| file.unwrap().path().display().to_string());
    let files: Vec<String> = of(Path::new(RUNS)).chain(of(&user.store())).collect();
    let words = ["export", "--output", "rows.csv", "--runs"].into_iter().chain(files.iter().map(String::as_str));
    user.ok(&words.collect::<Vec<_>>());
    for _ in 0..2 {
        load(&user, "rows.sql", &trial, Path::new("/bin"));
    }
    let lines = fs::read_to_string(user.home.path().join("rows.csv")).unwrap().lines().count();
    assert_eq!(trial.value("SELECT count(*) FROM readpath_rows"), (lines - 1).to_string(), "loaded twice");
    assert_drawn(&dashboard("runs.json"), &trial);
}

/// A folder with a `duckdb`: the program itself, or one that is Python's package.
fn duckdb(user: &User) -> Option<PathBuf> {
    let folder = user.home.path().join("programs");
    fs::create_dir(&folder).unwrap();
    let python = "import duckdb, sys\nduckdb.sql(sys.argv[2])\n";
    let finds = |program: &str, words: &[&str]| {
        Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
    };
    let script = if finds("duckdb", &["-c", "SELECT 1"]) {
        format!("#!/bin/sh\nPATH='{}' exec duckdb \"$@\"\n", std::env::var("PATH").unwrap())
    } else if finds("python3", &["-c", "import duckdb"]) {
        let python = format!("PATH='{}' exec python3 -c '{python}' \"$@\"", std::env::var("PATH").unwrap());
        format!("#!/bin/sh\n{python}\n")
    } else {
        println!("skipped: neither duckdb nor python3 with the duckdb package is installed");
        return None;
    };
    let program = folder.join("duckdb");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Some(folder)
}

#[test]
fn every_panel_of_events_shows_what_a_real_trace_holds() {
    let user = User::new();
    let Some(programs) = duckdb(&user) else { return };
    let Some(trial) = Trial::start(&[]) else { return };
    user.ok(&["export", "--events", TRACE, "--output", "events"]);
    for _ in 0..2 {
        load(&user, "events.sql", &trial, &programs);
    }
    let dashboard = dashboard("events.json");
    assert_drawn(&dashboard, &trial);
    // A profile's own number: the dashboard is held against the page.
    let document = user.document(&["profile", TRACE, "--no-store"]);
    let summary = document["cases"].as_array().unwrap().iter().find(|case| case["parameters"]["table"] == "summary");
    let cpu = crate::user::median(summary.unwrap(), "cpu");
    let sessions = panels(&dashboard).find(|panel| panel["title"] == "Sessions").unwrap();
    let shown: f64 = rows(sessions, &dashboard, &trial).iter().map(|row| row["CPU"].as_f64().unwrap()).sum();
    assert_eq!(shown / 1e3, cpu, "CPU time in microseconds");
}

const HELD: &str = "BEGIN; LOCK TABLE held; SELECT pg_sleep(0.2); COMMIT";
const SCAN: &str = "SELECT count(*) FROM large";

/// A server whose buffers are smaller than a table, recorded for some seconds, during which two sessions wait for each
/// other's lock and a third reads that table. The recording is loaded twice.
fn with_a_recording(user: &User, programs: &Path) -> Option<Trial> {
    let trial = Trial::start(&["compute_query_id=on", "shared_buffers=1MB"])?;
    trial.run("CREATE TABLE held (); CREATE TABLE large AS SELECT repeat('x', 1000) FROM generate_series(1, 8000)");
    let work = [HELD, HELD, SCAN].map(|statement| busy(&trial, statement));
    let mut recorder = recorder(user, &trial, "");
    recorder.wait_for(4);
    let output = recorder.end(Signal::TERM);
    assert!(output.status.success(), "{}", complaint(&output));
    drop(work);
    for _ in 0..2 {
        load(user, "recordings.sql", &trial, programs);
    }
    Some(trial)
}

/// The panels above the heading about reads, and those below it.
fn panels_of_recordings(dashboard: &Value) -> (Vec<&Value>, Vec<&Value>) {
    let top = |panel: &Value| panel["gridPos"]["y"].as_u64().unwrap();
    let heading = dashboard["panels"].as_array().unwrap().iter().find(|panel| panel["type"] == "row").unwrap();
    panels(dashboard).partition(|panel| top(panel) < top(heading))
}

#[test]
fn every_panel_of_recordings_shows_what_a_real_recording_holds() {
    let user = User::new();
    let Some(programs) = duckdb(&user) else { return };
    let Some(trial) = with_a_recording(&user, &programs) else { return };
    let dashboard = dashboard("recordings.json");
    assert_panels_drawn(&dashboard, panels_of_recordings(&dashboard).0.into_iter(), &trial);
    // The query that is shipped for recordings says the same of the files themselves.
    let query = user.ok("export --sql recorded-events").trim_end().trim_end_matches(';').to_string();
    let copy = format!("COPY (SELECT sum(total_ns) FROM ({query})) TO '/dev/stdout' (FORMAT csv, HEADER false)");
    let folder = user.home.path().join("recording");
    let output = Command::new(programs.join("duckdb")).args(["-c", &copy]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let events = panels(&dashboard).find(|panel| panel["title"] == "Events").unwrap();
    let shown: i64 = rows(events, &dashboard, &trial).iter().map(|row| row["time"].as_i64().unwrap()).sum();
    assert_eq!(shown.to_string(), said, "{}", complaint(&output));
}

#[test]
fn panels_of_reads_show_what_the_kernel_said_while_it_was_recorded() {
    let user = User::new();
    let Some(programs) = duckdb(&user) else { return };
    let Some(trial) = with_a_recording(&user, &programs) else { return };
    if trial.value("SELECT count(*) FROM readpath_recording WHERE record = 'read'") == "0" {
        println!("skipped: reads cannot be traced here");
        return;
    }
    let dashboard = dashboard("recordings.json");
    assert_panels_drawn(&dashboard, panels_of_recordings(&dashboard).1.into_iter(), &trial);
    let relations = panels(&dashboard).find(|panel| panel["title"] == "Reads by relation").unwrap();
    let rows = rows(relations, &dashboard, &trial);
    assert!(rows.iter().any(|row| row["relation"].as_str().unwrap().ends_with("large")), "{rows:?}");
}

/// Ten minutes in which a session waits for a lock and a process writes, in rows of a minute, and in which the device
/// answers 100 reads a second, in rows of ten seconds.
const RECORDING: &str = "\
INSERT INTO readpath_recording (record, moment, looks, time_ns)
    SELECT 'looks', timestamptz '2026-11-23T10:00:00Z' + n * interval '1 second', 100, 1000000000
    FROM generate_series(0, 599) AS n;
INSERT INTO readpath_recording
    (record, moment, seconds, looks, time_ns, queued_ns, state, event, statement_id, pid, process, database)
    SELECT 'sample', timestamptz '2026-11-23T10:00:00Z' + n * interval '1 minute', 60, 6000, 60000000000, 0, 'active',
           event, '7', pid, process, 'shop'
    FROM generate_series(0, 9) AS n,
         (VALUES ('Lock:relation', 7, 'client backend'),
                 ('IO:DataFileWrite', 9, 'checkpointer')) AS p (event, pid, process);
INSERT INTO readpath_recording (record, moment, pid, blocker)
    VALUES ('blocked', '2026-11-23T10:00:30Z', 7, 8);
INSERT INTO readpath_recording (record, moment, seconds, tier, calls, read_time_ns)
    SELECT 'read', timestamptz '2026-11-23T10:00:00Z' + n * interval '10 seconds', 10, 'device', 1000, 1000000
    FROM generate_series(0, 59) AS n";

#[test]
fn what_began_before_the_time_that_is_shown_is_in_it_with_the_part_that_lies_in_it() {
    let Some(trial) = with_tables_of("recordings.sql") else { return };
    trial.run(RECORDING);
    let dashboard = dashboard("recordings.json");
    let shown = Shown { from: "2026-11-23T10:00:20Z", to: "2026-11-23T10:00:50Z", step_ms: 1000 };
    let of = |title, name| column(title, name, &dashboard, &trial, shown);
    let (half_a_minute, second) = (30_000_000_000_i64, 1_000_000_000_i64);
    for (title, name) in
        [("Events", "time"), ("Sessions", "at work"), ("Statements", "time"), ("Background processes", "I/O")]
    {
        assert_eq!(of(title, name), [half_a_minute], "{title}");
    }
    assert_eq!(of("Events", "samples"), [3000]);
    assert_eq!(of("Who waited for whose lock", "waited"), [second]);
    for title in ["Sessions at work on average, by what they did", "The ten largest events"] {
        let at_work: Vec<f64> = of(title, "value").iter().map(|value| value.as_f64().unwrap()).collect();
        assert_eq!(at_work, [1.0; 31], "{title}");
    }
}

#[test]
fn a_steady_rate_has_no_steps_and_no_edges() {
    let Some(trial) = with_tables_of("recordings.sql") else { return };
    trial.run(RECORDING);
    let dashboard = dashboard("recordings.json");
    let steady = [("Reads a second by the tier that answered", 100.0), ("How much of the time was sampled", 1.0)];
    for (title, steady) in steady {
        for step_ms in [15_000, 60_000] {
            let shown = Shown { from: "2026-11-23T10:01:25Z", to: "2026-11-23T10:08:35Z", step_ms };
            let values = column(title, "value", &dashboard, &trial, shown);
            let differs = |value: &Value| (value.as_f64().unwrap() - steady).abs() > 1e-9;
            assert!(values.len() > 5 && !values.iter().any(differs), "{title}, {step_ms} ms: {values:?}");
        }
    }
}

#[test]
fn a_wait_of_a_power_of_two_lies_above_it() {
    let Some(trial) = with_tables_of("events.sql") else { return };
    trial.run(
        "INSERT INTO readpath_sessions (session_number, session, interval_ns) VALUES (0, '7.1', 1); \
         INSERT INTO readpath_waits (session, event, class, elapsed_ns) \
         SELECT '7.1', 'db file sequential read', 'disk', ns FROM unnest(ARRAY[999, 1000, 7999, 8000]) AS ns",
    );
    let times = column("How long single waits took", "time", &dashboard("events.json"), &trial, ALL);
    assert_eq!(times, ["under 1 µs", "under 2 µs", "under 8 µs", "under 16 µs"]);
}

#[test]
fn reads_from_the_page_cache_and_those_at_a_given_rate_are_not_taken_for_the_devices() {
    let Some(trial) = with_tables_of("rows.sql") else { return };
    let run = |minute: u32, iops: u32, (depth, workers, method): (u32, u32, &str), direct: &str, rate: &str| {
        trial.run(&format!(
            "INSERT INTO readpath_rows (run, experiment, started, device, case_number, parameters, depth, block_size, \
             pattern, io_method, direct, workers, metric, unit, value) VALUES ('{minute}', 'disk', \
             '2026-11-23T10:{minute:02}:00Z', 'vda', 1, '{{\"path\": \"a.dat\"{rate}}}', {depth}, 8192, 'random', \
             '{method}', {direct}, {workers}, 'iops', 'per_second', {iops})"
        ));
    };
    run(0, 9_000, (4, 1, "io_uring"), "true", "");
    run(1, 900_000, (4, 1, "io_uring"), "false", "");
    run(2, 500, (4, 1, "io_uring"), "true", ", \"rate\": 500.0");
    run(3, 4_000, (1, 1, "sync"), "true", "");
    run(4, 8_000, (4, 1, "threads"), "true", "");
    run(5, 15_000, (1, 8, "sync"), "true", "");
    run(6, 100, (2, 1, "model"), "NULL", "");
    let dashboard = dashboard("runs.json");
    let of = |title, name| column(title, name, &dashboard, &trial, ALL);
    let names = |title, name| -> BTreeSet<String> { of(title, name).iter().map(Value::to_string).collect() };
    let bars = of("Reads a second by depth (disk)", "value");
    assert_eq!(bars.iter().map(|value| value.as_f64().unwrap()).sum::<f64>(), 936_100.0, "{bars:?}");
    let series = names("Reads a second by depth (disk)", "series");
    assert_eq!(series.len(), 3, "each depth of a worker is read by the method that suits it: {series:?}");
    assert_eq!(names("Reads a second over time (disk)", "metric").len(), 7);
}

#[test]
fn dashboards_hold_nothing_that_grafana_does_not_know() {
    let files = DASHBOARDS.map(|name| Path::new(FOLDER).join(name));
    let found = Command::new("python3").args(["-c", "import grafana_foundation_sdk"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 with the grafana-foundation-sdk package is not installed");
        return;
    }
    let checked = |files: &[PathBuf]| {
        let output = Command::new("python3").args(["-c", SCHEMA]).args(files).output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(checked(&files), "");
    let user = User::new();
    let mistaken = fs::read_to_string(&files[0]).unwrap().replacen("\"showPoints\"", "\"showDots\"", 1);
    let mistaken = user.file("mistaken.json", mistaken.as_bytes());
    assert!(checked(&[mistaken.into()]).ends_with(".showDots"), "a key that is unknown is not found");
}

#[test]
fn panels_of_a_dashboard_have_a_place_and_a_source_of_their_own() {
    for name in DASHBOARDS {
        let dashboard = dashboard(name);
        let all = dashboard["panels"].as_array().unwrap();
        let ids: BTreeSet<u64> = all.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), all.len(), "{name}");
        let mut taken = BTreeSet::new();
        for panel in all {
            let side = |side: &str| panel["gridPos"][side].as_u64().unwrap();
            assert!(side("x") + side("w") <= 24, "{}", panel["title"]);
            let cells = (side("x")..side("x") + side("w"))
                .flat_map(|x| (side("y")..side("y") + side("h")).map(move |y| (x, y)));
            assert!(cells.into_iter().all(|cell| taken.insert(cell)), "{} lies on another", panel["title"]);
        }
        for panel in panels(&dashboard) {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
            assert!(panel["description"].as_str().is_some_and(|text| text.len() > 20), "{}", panel["title"]);
        }
    }
}
