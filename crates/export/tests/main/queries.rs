//! The shipped SQL gives the profile's own numbers, to the nanosecond, when DuckDB runs it over the exported files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use export::events::{EventWriter, Written};
use export::folder::{Existing, Folder};
use export::queries::{QUERIES, query};
use measure::wait_class::class_of;
use profile::choice::Period;
use profile::event::Ticks;
use profile::ingest::{Chosen, IngestSettings, ingest};
use profile::observe::collector::THINK_TIME;
use profile::source::{BindValues, ReadOptions, SourceSettings};
use profile::tables::Profile;

use crate::python::{has, rows};

/// A trace of our own with recursion, waits inside and between calls, two statements and a read of several blocks.
const TRACE: &str = "\
*** 2026-11-21 10:00:00.000
*** SESSION ID:(12.345) 2026-11-21 10:00:00.000
*** MODULE NAME:(batch) 2026-11-21 10:00:00.000
=====================
PARSING IN CURSOR #140 len=24 dep=0 uid=83 oct=3 lid=83 tim=1000000 hv=11 ad='7f' sqlid='aaaaaaaaaaaaa'
select * from orders o, x
END OF STMT
PARSE #140:c=1000,e=1500,p=0,cr=4,cu=0,mis=1,r=0,dep=0,og=1,plh=77,tim=1001500
PARSING IN CURSOR #141 len=11 dep=1 uid=0 oct=3 lid=0 tim=1002000 hv=12 ad='7e' sqlid='bbbbbbbbbbbbb'
select seq
END OF STMT
WAIT #141: nam='db file sequential read' ela= 400 file#=4 block#=100 blocks=1 obj#=55 tim=1002500
EXEC #141:c=100,e=700,p=1,cr=3,cu=1,mis=0,r=1,dep=1,og=4,plh=78,tim=1002700
WAIT #140: nam='db file scattered read' ela= 2000 file#=5 block#=200 blocks=8 obj#=56 tim=1005000
EXEC #140:c=2000,e=5000,p=9,cr=30,cu=1,mis=0,r=0,dep=0,og=1,plh=77,tim=1007000
WAIT #140: nam='SQL*Net message to client' ela= 3 driver id=1413697536 #bytes=1 p3=0 obj#=56 tim=1007010
WAIT #140: nam='SQL*Net message from client' ela= 90000 driver id=1413697536 #bytes=1 p3=0 obj#=56 tim=1097100
FETCH #140:c=10,e=40,p=0,cr=2,cu=0,mis=0,r=15,dep=0,og=1,plh=77,tim=1097200
STAT #140 id=1 cnt=15 pid=0 pos=1 obj=55 op='TABLE ACCESS FULL ORDERS (cr=30 pr=9 pw=0 time=4000 us)'
CLOSE #140:c=5,e=9,dep=0,type=0,tim=1097300
";

/// A log of our own with an inner statement and a parallel plan.
const LOG: &str = "\
2026-11-21 10:45:01.004 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:
\t{ \"Query Text\": \"select inner\", \"Plan\": { \"Node Type\": \"Seq Scan\", \"Relation Name\": \"t\", \
\"Actual Total Time\": 3.5, \"Actual Rows\": 3, \"Actual Loops\": 1, \
\"Shared Hit Blocks\": 3, \"Shared Read Blocks\": 2, \"I/O Read Time\": 1.250 } }
2026-11-21 10:45:01.004 UTC [7] me@shop CONTEXT:  PL/pgSQL function f() line 3 at PERFORM
2026-11-21 10:45:01.006 UTC [7] me@shop LOG:  duration: 9.000 ms  plan:
\t{ \"Query Text\": \"select f()\", \"Plan\": { \"Node Type\": \"Result\", \
\"Actual Total Time\": 8.5, \"Actual Rows\": 1, \
\"Actual Loops\": 1, \"Shared Hit Blocks\": 9, \"Shared Read Blocks\": 2, \"I/O Read Time\": 1.250 } }
";

/// Exports files and gives the profile that was made on the way.
pub(crate) fn export(files: &[PathBuf], place: &Path) -> (Profile, Written) {
    let mut writer = EventWriter::new(Folder::begin(place, Existing::Refuse).unwrap()).unwrap();
    let source = SourceSettings {
        unit: None,
        reading: ReadOptions::of_this_machine(),
        binds: BindValues::Dropped,
        period: Period::default(),
    };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let ingested = ingest(Chosen::of(files), &settings, &mut writer, &mut |_, _| ControlFlow::Continue(()));
    assert!(ingested.problems.is_empty(), "{:?}", ingested.problems);
    let written = writer.finish(&ingested.profile.context).unwrap();
    (ingested.profile, written)
}

fn ns(time: Ticks) -> String {
    (time.0 * 8).to_string()
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

/// Columns of a query's rows, the rows sorted.
fn columns<const N: usize>(folder: &Path, name: &str, wanted: [usize; N]) -> Vec<Vec<String>> {
    let rows = rows(folder, query(name).unwrap());
    sorted(rows.into_iter().map(|row| wanted.map(|at| row[at].clone()).to_vec()).collect())
}

fn assert_summary(profile: &Profile, folder: &Path) {
    let expected = profile.sessions.iter().map(|session| {
        let times = [
            session.interval,
            session.response_time,
            session.cpu,
            session.waits,
            session.unaccounted_within,
            session.unaccounted_between,
        ];
        let number = session.session.unwrap().0.to_string();
        [vec![number], times.map(ns).to_vec()].concat()
    });
    // A session without any time is in no file of sessions.
    let expected = expected.filter(|row| row[1] != "0").collect();
    assert_eq!(columns(folder, "summary", [0, 2, 3, 4, 5, 6, 7]), sorted(expected));
}

fn assert_events(profile: &Profile, folder: &Path) {
    let name = |index: &profile::event::EventIndex| profile.context.events[index.0 as usize].name.clone();
    let mut by_name: std::collections::BTreeMap<String, (u64, Ticks, Ticks, Ticks, Ticks, Ticks)> = Default::default();
    // Two shapes of one event, with other names of parameters, are one row of the SQL.
    for (index, sums) in &profile.whole.events {
        let row = by_name.entry(name(index)).or_insert((0, Ticks(0), sums.min, sums.max, Ticks(0), Ticks(0)));
        *row = (
            row.0 + sums.count,
            row.1 + sums.total,
            row.2.min(sums.min),
            row.3.max(sums.max),
            row.4 + sums.inside,
            row.5 + sums.between,
        );
    }
    let expected = by_name.iter().map(|(name, row)| {
        // Of a sum no extreme is known.
        let [min, max] = [row.2, row.3].map(|time| if name.starts_with("IO:") { "-".into() } else { ns(time) });
        vec![name.clone(), row.0.to_string(), ns(row.1), min, max, ns(row.4), ns(row.5)]
    });
    assert_eq!(columns(folder, "events", [0, 1, 2, 3, 4, 5, 6]), sorted(expected.collect()));
    let mut classes: std::collections::BTreeMap<&str, (u64, Ticks)> = Default::default();
    for (name, row) in &by_name {
        let class = classes.entry(class_of(name).key()).or_default();
        *class = (class.0 + row.0, class.1 + row.1);
    }
    let expected = classes.iter().map(|(name, row)| vec![name.to_string(), row.0.to_string(), ns(row.1)]);
    assert_eq!(columns(folder, "classes", [0, 1, 2]), sorted(expected.collect()));
}

fn assert_calls(profile: &Profile, folder: &Path) {
    let expected = profile.whole.calls.iter().map(|((name, is_recursive), sums)| {
        let own = &sums.own;
        let flag = if *is_recursive { "True" } else { "False" };
        let mut row = vec![profile.context.call_names[usize::from(*name)].clone(), flag.into()];
        row.extend([sums.calls, sums.rows, sums.misses].map(|count| count.to_string()));
        row.extend([own.cpu.map_or("-".into(), ns), ns(own.elapsed)]);
        row.extend([own.physical_reads, own.consistent_gets, own.current_gets].map(|count| count.to_string()));
        row
    });
    assert_eq!(columns(folder, "calls", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), sorted(expected.collect()));
}

fn assert_statements(profile: &Profile, folder: &Path) {
    let expected = profile.statements.iter().filter(|one| !one.calls.is_empty() || one.between != Ticks::ZERO);
    let expected = expected.map(|one| {
        let calls: u64 = one.calls.values().map(|sums| sums.calls).sum();
        let rows: u64 = one.calls.values().map(|sums| sums.rows).sum();
        vec![
            one.statement.0.to_string(),
            profile.context.statements[one.statement.0 as usize].id.clone(),
            calls.to_string(),
            ns(one.response_time()),
            one.own.cpu.filter(|_| calls > 0).map_or("-".into(), ns),
            one.own.physical_reads.to_string(),
            one.logical_reads().to_string(),
            rows.to_string(),
        ]
    });
    let found = columns(folder, "statements", [0, 1, 2, 3, 4, 5, 6, 7]);
    // A statement that only waited between calls, for no time at all, is a row of the SQL alone.
    let found: Vec<_> = found.into_iter().filter(|row| row[2] != "0" || row[3] != "0").collect();
    assert_eq!(found, sorted(expected.collect()));
}

fn assert_files(profile: &Profile, folder: &Path) {
    let found = columns(folder, "files", [0, 1, 2, 3]);
    for ((event, file), sums) in &profile.files {
        let name = &profile.context.events[event.0 as usize].name;
        let row = vec![name.clone(), file.to_string(), sums.count.to_string(), ns(sums.total)];
        assert!(found.contains(&row), "{row:?} in {found:?}");
    }
}

fn assert_same(files: &[PathBuf]) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("events");
    let (profile, written) = export(files, &folder);
    assert_summary(&profile, &folder);
    assert_events(&profile, &folder);
    assert_calls(&profile, &folder);
    assert_statements(&profile, &folder);
    assert_files(&profile, &folder);
    let counts = rows(&folder, "SELECT (SELECT count(*) FROM 'calls.parquet'), (SELECT count(*) FROM 'waits.parquet')");
    assert_eq!(counts, [[written.calls.to_string(), written.waits.to_string()].to_vec()]);
}

fn file_of(text: &str, name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn the_sql_gives_a_trace_s_profile_to_the_nanosecond() {
    if !has("duckdb") {
        return;
    }
    let (_folder, path) = file_of(TRACE, "a.trc");
    assert_same(&[path]);
}

#[test]
fn the_sql_gives_a_log_s_profile_to_the_nanosecond() {
    if !has("duckdb") {
        return;
    }
    let (_folder, path) = file_of(LOG, "postgresql.log");
    assert_same(&[path]);
}

#[test]
fn the_sql_gives_the_profiles_of_real_traces_to_the_nanosecond() {
    if !has("duckdb") {
        return;
    }
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle");
    let folder = std::env::var_os("READPATH_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let names = [
        "10203_s000_24374.trc",
        "10203_ora_24433.trc",
        "11203_ora_28030.trc.gz",
        "12201_js122a1_ora_9850.trc",
        "18300_ora_6884_job_1_LOB.trc.gz",
        "19c_cdb1_ora_15144_PF-0.2ms-200.trc.gz",
    ];
    let files: Vec<PathBuf> = names.map(|name| folder.join(name)).into_iter().filter(|path| path.is_file()).collect();
    if files.is_empty() {
        println!("skipped: the real traces are not beside the repository");
        return;
    }
    files.iter().for_each(|file| assert_same(std::slice::from_ref(file)));
    // Together, each row still knows its file.
    assert_same(&files);
}

/// The panels of exported events.
const PANELS: &str = include_str!("../../../../dashboards/events.json");

#[test]
fn a_panel_of_events_does_not_take_the_think_time_of_the_client_for_network() {
    if !has("duckdb") {
        return;
    }
    let thought = "WAIT #140: nam='SQL*Net message from client' ela= 2000000 driver id=1413697536 #bytes=1 p3=0 \
                   obj#=56 tim=3097300\n";
    let (_folder, path) = file_of(&format!("{TRACE}{thought}"), "a.trc");
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("events");
    export(&[path], &folder);
    let dashboard: serde_json::Value = serde_json::from_str(PANELS).unwrap();
    let mut panels = dashboard["panels"].as_array().unwrap().iter();
    let panel = panels.find(|panel| panel["title"] == "Where the response time went").unwrap();
    let sql = panel["targets"][0]["rawSql"].as_str().unwrap();
    let tables = [("readpath_calls", "'calls.parquet'"), ("readpath_waits", "'waits.parquet'")];
    let values = tables.into_iter().chain([("${session:sqlstring}", "'12.345'")]);
    let sql = values.fold(sql.to_string(), |sql, (name, value)| sql.replace(name, value));
    let found = rows(&folder, &sql);
    for class in [["think-time", "2000000000"], ["network", "90003000"]] {
        assert!(found.contains(&class.map(String::from).to_vec()), "{class:?}: {found:?}");
    }
}

#[test]
fn a_text_that_ends_with_a_nul_does_not_keep_the_events_out_of_postgresql() {
    if !has("duckdb") {
        return;
    }
    let (_folder, path) = file_of(&TRACE.replacen("select seq\n", "select seq\0\n", 1), "a.trc");
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("events");
    export(&[path], &folder);
    let sql = "SELECT length(text), unicode(right(text, 1)) FROM 'statements.parquet' WHERE depth = 1";
    assert_eq!(rows(&folder, sql), [["11", "65533"]]);
}

#[test]
fn a_row_group_has_rows_of_one_file_only() {
    if !has("duckdb") {
        return;
    }
    let (_first, first) = file_of(TRACE, "a.trc");
    let (_second, second) = file_of(TRACE, "b.trc");
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("events");
    export(&[first, second], &folder);
    let sql = "SELECT row_group_id, stats_min_value = stats_max_value FROM parquet_metadata('calls.parquet') \
               WHERE path_in_schema = 'file' ORDER BY 1";
    assert_eq!(rows(&folder, sql), [["0", "True"], ["1", "True"]].map(|row| row.map(String::from).to_vec()));
}

#[test]
fn a_wait_that_a_call_of_the_next_file_settles_has_the_name_of_the_file_in_which_it_stands() {
    if !has("duckdb") {
        return;
    }
    let ends = TRACE.find("CLOSE #140").unwrap();
    let (begin, end) = TRACE.split_at(ends);
    let wait = "WAIT #140: nam='SQL*Net message to client' ela= 3 driver id=1413697536 #bytes=1 p3=0 obj#=56 \
                tim=1097250\n";
    let (_first, first) = file_of(&format!("{begin}{wait}*** TRACE CONTINUES IN FILE b.trc ***\n"), "a.trc");
    let mark = "*** TRACE CONTINUED FROM FILE a.trc ***\n*** SESSION ID:(12.345) 2026-11-21 10:00:01.000\n";
    let (_second, second) = file_of(&format!("{mark}{end}"), "b.trc");
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("events");
    let (profile, written) = export(&[first, second], &folder);
    assert_eq!((profile.sessions.len(), written.waits), (1, 5));
    let sql = "SELECT right(file, 5), count(*) FROM 'waits.parquet' GROUP BY 1";
    assert_eq!(rows(&folder, sql), [["a.trc", "5"]].map(|row| row.map(String::from).to_vec()));
}

#[test]
fn every_query_runs_over_an_export_without_a_row_of_its_own() {
    if !has("duckdb") {
        return;
    }
    let call = "EXEC #1:c=0,e=5,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=0,tim=100\n";
    let (_folder, path) = file_of(call, "a.trc");
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("events");
    export(&[path], &folder);
    for (name, text) in QUERIES {
        let found = rows(&folder, text);
        assert_eq!(found.is_empty(), !matches!(name, "summary" | "calls" | "statements"), "{name}");
    }
}
