//! Logs of PostgreSQL that are made for a test: their time, whole, in parts, and read in any order.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use profile::choice::{Period, WallClock};
use profile::compare::{CompareSettings, Cut, Interval, compare};
use profile::document::{Order, Selection};
use profile::event::{Observer, Ticks};
use profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::outcome::outcome;
use profile::source::{BindValues, ReadOptions, SourceSettings};
use profile::tables::SessionProfile;
use tempfile::TempDir;

/// A log with an execution of 4 ms that ends at each of these seconds of a minute, all of one session.
fn log(seconds: &[u32]) -> String {
    let entry = |second: &u32| {
        format!(
            "2026-11-21 10:45:{second:02}.000 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:\n\t{{\n\t  \"Query \
             Text\": \"select 1\",\n\t  \"Plan\": {{\"Node Type\": \"Result\", \"Actual Total Time\": 4.0, \
             \"Actual Rows\": 1, \"Actual Loops\": 1}}\n\t}}\n"
        )
    };
    seconds.iter().map(entry).collect()
}

fn read(paths: &[PathBuf], more: &mut (dyn Observer + Send)) -> Ingested {
    let reading = ReadOptions { workers: 1, chunk_bytes: 1 << 20 };
    let source = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period: Period::default() };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    ingest(Chosen::of(paths), &settings, more, &mut |_, _| ControlFlow::Continue(()))
}

/// The logs in a folder, each by its name, and the folder.
fn written(logs: &[(&str, String)]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |(name, text): &(&str, String)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("room for a small file");
        path
    };
    let paths = logs.iter().map(write).collect();
    (folder, paths)
}

fn millis(millis: i64) -> Ticks {
    Ticks::from_micros(1000 * millis)
}

/// What holds for the time of any log of plans.
fn assert_none_is_response_time_between_calls(whole: &SessionProfile) {
    assert!(whole.unaccounted_between > Ticks::ZERO, "{whole:?}");
    assert_eq!(whole.unrecorded, whole.unaccounted_between);
}

#[test]
fn what_a_log_did_not_measure_is_no_zero_in_the_document() {
    let known = |text: &str| {
        let (_folder, paths) = written(&[("pg.log", text.into())]);
        let mut ingested = read(&paths, &mut Instruments::default());
        let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
        let cases = outcome(&mut ingested, &Instruments::default(), &selection).cases;
        let metrics: BTreeSet<&str> =
            cases.iter().flat_map(|case| &case.metrics).map(|metric| metric.name.as_str()).collect();
        ["executions", "rows", "logical_reads", "physical_reads", "inclusive_gets", "inclusive_time"]
            .map(|name| metrics.contains(name))
    };
    let without_blocks = log(&[10, 20]);
    let figures = ", \"Actual Total Time\": 4.0, \"Actual Rows\": 1, \"Actual Loops\": 1";
    let without_figures = without_blocks.replace(figures, "");
    let whole = without_blocks.replace("Loops\": 1", "Loops\": 1, \"Shared Hit Blocks\": 3");
    let without_times = |log: &str| log.replace("\"Actual Total Time\": 4.0, ", "");
    assert_eq!(known(&whole), [true; 6]);
    assert_eq!(known(&without_blocks), [true, true, false, false, false, true]);
    assert_eq!(known(&without_times(&whole)), [true, true, true, true, true, false], "of nodes");
    assert_eq!(known(&without_times(&without_blocks)), [true, true, false, false, false, false]);
    assert_eq!(known(&without_figures), [true, false, false, false, false, false]);
    assert_eq!(known(&(without_figures + &whole)), [true; 6], "of two executions of four");
}

#[test]
fn sums_that_some_executions_of_a_log_are_missing_from_are_not_said_to_be_whole() {
    let whole = log(&[10, 20]).replace("Loops\": 1", "Loops\": 1, \"Shared Hit Blocks\": 3");
    let said = |lacking: &str, id: &str, is_mixed: bool| {
        let without = whole.replace(lacking, "");
        let text = if is_mixed { without + &whole } else { without };
        let (_folder, paths) = written(&[("pg.log", text)]);
        let found = read(&paths, &mut Instruments::default()).findings;
        found.into_iter().find(|finding| finding.id == id).expect("a warning").message
    };
    let figures = ", \"Actual Total Time\": 4.0, \"Actual Rows\": 1, \"Actual Loops\": 1, \"Shared Hit Blocks\": 3";
    for (lacking, id, sums) in [
        (figures, "no-figures", "Rows, gets and reads are those of the other executions: there were at least as many."),
        (", \"Shared Hit Blocks\": 3", "no-blocks", "Gets and reads are those of the other executions"),
        ("\"Actual Total Time\": 4.0, ", "no-node-times", "Times of plan lines are those of the other executions"),
    ] {
        let (some, all) = (said(lacking, id, true), said(lacking, id, false));
        assert!(some.starts_with("2 of 4 executions") && some.contains(sums), "{some}");
        assert!(all.starts_with("2 of 2 executions") && !all.contains(sums), "{all}");
    }
}

#[test]
fn rows_that_a_log_did_not_measure_are_not_compared_as_none() {
    let side = |text: String| {
        let (_folder, paths) = written(&[("pg.log", text)]);
        let mut cut = Cut::new(Interval::default(), None, THINK_TIME);
        let ingested = read(&paths, &mut cut);
        cut.finish("pg.log", ingested).expect("calls")
    };
    let measured = log(&[10, 20]);
    let unmeasured = measured.replace("\"Actual Rows\": 1, \"Actual Loops\": 1", "\"Plan Rows\": 1");
    let found = compare(side(measured), side(unmeasured), CompareSettings { top: 10, hides_texts: false });
    assert_eq!((found.before.executions, found.before.rows), (Some(2), Some(2)));
    assert_eq!((found.after.executions, found.after.rows), (Some(2), None));
}

#[test]
fn time_before_a_clock_was_set_back_is_no_response_time() {
    let (_folder, paths) = written(&[("pg.log", log(&[30, 40, 41, 5, 6, 9]))]);
    let whole = read(&paths, &mut Instruments::default()).profile.whole;
    assert_eq!((whole.interruptions, whole.interval), (1, millis(11_004 + 4_004)));
    assert_none_is_response_time_between_calls(&whole);
}

#[test]
fn executions_without_a_time_overlap_nothing_and_their_time_is_all_there_is() {
    let text = log(&[10, 20, 30]);
    let without_time = |line: &str| format!("{}\n", line.split_once(" UTC ").map_or(line, |(_, rest)| rest));
    let untimed: String = text.lines().map(without_time).collect();
    let (_folder, paths) = written(&[("pg.log", untimed.clone())]);
    let ingested = read(&paths, &mut Instruments::default());
    let whole = &ingested.profile.whole;
    assert_eq!((whole.interval, whole.response_time), (millis(12), millis(12)), "{untimed}");
    assert_eq!((whole.unaccounted_between, whole.unrecorded), (Ticks::ZERO, Ticks::ZERO));
    let said: Vec<&str> = ingested.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(said.contains(&"no-times"), "{said:?}");
    // In a session with times too.
    let (_folder, paths) = written(&[("a.log", log(&[10, 20])), ("b.log", untimed)]);
    let whole = read(&paths, &mut Instruments::default()).profile.whole;
    assert_eq!((whole.interval, whole.response_time), (millis(10_004 + 12), millis(8 + 12)));
    assert_none_is_response_time_between_calls(&whole);
}

#[test]
fn time_in_a_part_of_a_log_is_no_response_time() {
    let (_folder, paths) = written(&[("pg.log", log(&[10, 20, 22, 25, 40]))]);
    let at = |second: u32| Some(format!("2026-11-21T10:45:{second}").parse::<WallClock>().expect("a time"));
    let mut cut = Cut::new(Interval { since: at(15), until: at(30) }, None, THINK_TIME);
    let ingested = read(&paths, &mut cut);
    assert_eq!(ingested.profile.whole.interval, millis(30_004));
    let part = cut.finish("pg.log", ingested).expect("calls of these times").ingested.profile.whole;
    assert_eq!((part.interval, part.response_time), (millis(15_000), millis(12)));
    assert_none_is_response_time_between_calls(&part);
}

#[test]
fn the_reads_of_a_statement_whose_caller_is_not_logged_are_in_its_part_of_a_log() {
    let inner = "2026-11-21 10:45:20.000 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:\n\t{\n\t  \"Query Text\": \
                 \"select 2\",\n\t  \"Plan\": {\"Node Type\": \"Seq Scan\", \"Relation Name\": \"orders\", \"Actual \
                 Total Time\": 4.0, \"Actual Rows\": 1, \"Actual Loops\": 1, \"Shared Hit Blocks\": 0, \"Shared Read \
                 Blocks\": 10, \"I/O Read Time\": 3.000, \"I/O Write Time\": 0.000}\n\t}\n2026-11-21 10:45:20.000 UTC \
                 [7] me@shop CONTEXT:  PL/pgSQL function f() line 3 at PERFORM\n";
    let (_folder, paths) = written(&[("pg.log", log(&[10]) + inner + &log(&[40]))]);
    let border = |second: u32| Some(format!("2026-11-21T10:45:{second}").parse::<WallClock>().expect("a time"));
    let [first, second] = [(None, border(30)), (border(30), None)].map(|(since, until)| {
        let mut cut = Cut::new(Interval { since, until }, None, THINK_TIME);
        let ingested = read(&paths, &mut cut);
        cut.finish("pg.log", ingested).expect("calls of these times").ingested.profile
    });
    let times = [&first, &second].map(|part| (part.whole.response_time, part.whole.waits));
    assert_eq!(times, [(millis(8), millis(3)), (millis(4), Ticks::ZERO)]);
    assert!(first.problems.is_empty() && second.problems.is_empty(), "{:?}", first.problems);
}

#[test]
fn logs_that_are_given_newest_first_are_read_in_the_order_of_their_times() {
    let (_folder, paths) = written(&[
        ("postgresql-Fri.log", log(&[20, 21])),
        ("postgresql-Sat.log", log(&[40, 41])),
        ("postgresql-Thu.log", log(&[5, 6])),
    ]);
    for turn in 0..paths.len() {
        let given: Vec<PathBuf> = paths.iter().cycle().skip(turn).take(paths.len()).cloned().collect();
        let whole = read(&given, &mut Instruments::default()).profile.whole;
        assert_eq!((whole.interruptions, whole.interval), (0, millis(36_004)), "{given:?}");
    }
}

#[test]
fn a_packed_log_that_cannot_be_unpacked_is_a_problem_and_no_log_of_another_kind() {
    let (folder, mut paths) = written(&[("pg.log", log(&[10, 20]))]);
    let damaged = folder.path().join("pg.log.1.gz");
    std::fs::write(&damaged, b"\x1f\x8b\x09\0\0\0\0\0\0\0\0\0").expect("room for a small file");
    paths.push(damaged);
    let ingested = read(&paths, &mut Instruments::default());
    let said: Vec<String> = ingested.problems.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("could not be read: the gzip data is damaged"), "{said:?}");
    assert_eq!((ingested.files.len(), ingested.has_all_named(&paths)), (1, false));
}

#[test]
fn a_packed_log_that_begins_within_a_long_plan_is_one() {
    let rest_of_plan = "\t    \"Output\": [\"a\"]\n".repeat(100);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all((rest_of_plan + &log(&[10, 20])).as_bytes()).expect("room in memory");
    let (folder, _) = written(&[]);
    let path = folder.path().join("pg.log.gz");
    std::fs::write(&path, packed.finish().expect("room in memory")).expect("room for a small file");
    let ingested = read(&[path], &mut Instruments::default());
    let read: Vec<u64> = ingested.files.iter().map(|file| file.timed_records).collect();
    assert_eq!(read, [2], "{:?}", ingested.problems);
}
