//! Two profiles, one against the other: differences add up, and a trace does not differ from itself.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use measure::compare::{ProfileComparison, Spread};
use profile::choice::{Period, WallClock};
use profile::compare::{CompareSettings, Cut, Executions, Interval, Side, compare};
use profile::event::ProblemKind;
use profile::ingest::{Chosen, IngestSettings, ingest};
use profile::observe::collector::THINK_TIME;
use profile::source::{BindValues, ReadOptions, SourceSettings};

fn settings() -> IngestSettings {
    let reading = ReadOptions { workers: 1, chunk_bytes: 1 << 20 };
    let source = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period: Period::default() };
    IngestSettings { think_time: THINK_TIME, source }
}

fn side(path: &Path) -> Side {
    let settings = settings();
    let mut executions = Executions::new(THINK_TIME);
    let chosen = Chosen::of(&[path.to_path_buf()]);
    let ingested = ingest(chosen, &settings, &mut executions, &mut |_, _| ControlFlow::Continue(()));
    Side { name: path.display().to_string(), ingested, executions }
}

fn compared(before: &Path, after: &Path) -> ProfileComparison {
    compare(side(before), side(after), CompareSettings { top: 10, hides_texts: false })
}

/// What holds for any two traces.
fn assert_adds_up(comparison: &ProfileComparison) {
    let name = &comparison.after.name;
    let interval = comparison.after.interval_us - comparison.before.interval_us;
    let of_classes: f64 = comparison.classes.iter().map(|class| class.difference_us).sum();
    assert!((of_classes - interval).abs() < 1e-3, "{name}: {of_classes} of {interval}");
    for class in &comparison.classes {
        let of_class = comparison.events.iter().filter(|event| event.class.as_ref() == Some(&class.name));
        let (count, sum) = of_class.fold((0, 0.0), |(count, sum), event| (count + 1, sum + event.difference_us));
        assert!(count == 0 || (sum - class.difference_us).abs() < 1e-3, "{name}, {}", class.name);
    }
    let changes = comparison.classes.iter().chain(&comparison.events).chain(&comparison.statements);
    for change in changes.chain([&comparison.response_time]) {
        let numbers = [change.before.total_us, change.after.total_us, change.difference_us];
        assert!(numbers.iter().all(|number| number.is_finite()), "{change:?}");
        let interval = change.execution_interval_us.zip(change.execution_difference_us);
        assert!(interval.is_none_or(|((low, high), of)| low <= of && of <= high), "{change:?}");
        assert!(change.spread != Spread::None || change.difference_us == 0.0, "{change:?}");
    }
}

#[test]
fn waits_that_an_interval_cannot_place_by_their_own_time_are_counted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("9i.trc");
    let line = |second: i64| {
        format!(
            "EXEC #1:c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim={}\n\
             WAIT #1: nam='SQL*Net message from client' ela= 500 p1=1 p2=1 p3=0\n",
            second * 1_000_000
        )
    };
    let begin = "*** 2003-05-06 10:00:00.000\n*** SESSION ID:(9.1) 2003-05-06 10:00:00.000\n".to_string();
    std::fs::write(&path, begin + &[1, 5, 9].map(line).concat()).expect("room for a small file");
    let unplaced = |since: &str| {
        let since = Some(since.parse::<WallClock>().expect("a time"));
        let mut cut = Cut::new(Interval { since, until: None }, None, THINK_TIME);
        let chosen = Chosen::of(std::slice::from_ref(&path));
        let ingested = ingest(chosen, &settings(), &mut cut, &mut |_, _| ControlFlow::Continue(()));
        let profile = cut.finish("9i.trc", ingested).expect("calls of this time").ingested.profile;
        let found = profile.problems.iter().find(|problem| problem.kind == ProblemKind::PlacedByNeighbour);
        (found.map(|problem| problem.count), profile.whole.events.values().map(|sums| sums.count).sum::<u64>())
    };
    // Each wait goes with the execution before it: the first execution lies before the interval.
    assert_eq!(unplaced("2003-05-06 10:00:03"), (Some(3), 2));
}

#[test]
fn what_ended_ahead_of_the_first_stamp_has_its_time_unless_the_clock_was_another_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("end.trc");
    let line = |second: &i64| {
        let tim = second * 1_000_000;
        format!("EXEC #1:c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim={tim}\n")
    };
    // The end of a trace: the stamps at its beginning are not in it.
    let calls = |ahead: &[i64], behind: i64| {
        let ahead: String = ahead.iter().map(line).collect();
        let text = ahead + "*** 2003-05-06 10:00:08.000\n" + &line(&behind);
        std::fs::write(&path, text).expect("room for a small file");
        let since = Some("2003-05-06 10:00:03".parse::<WallClock>().expect("a time"));
        let mut cut = Cut::new(Interval { since, until: None }, None, THINK_TIME);
        let chosen = Chosen::of(std::slice::from_ref(&path));
        let ingested = ingest(chosen, &settings(), &mut cut, &mut |_, _| ControlFlow::Continue(()));
        let profile = cut.finish("end.trc", ingested).expect("calls of this time").ingested.profile;
        let found = profile.problems.iter().find(|problem| problem.kind == ProblemKind::PlacedByNeighbour);
        (found.map(|problem| problem.count), profile.whole.calls.values().map(|sums| sums.calls).sum::<u64>())
    };
    assert_eq!(calls(&[1, 5], 9), (None, 2), "10:00:00, 10:00:04 and 10:00:08");
    assert_eq!(calls(&[50, 1], 2), (Some(2), 1), "the clock was set back");
    assert_eq!(calls(&[1, 900], 901), (Some(2), 1), "the clock leapt");
}

#[test]
fn a_part_of_a_trace_is_named_with_its_time_and_no_letter_of_its_name_is_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trc");
    let begin = "*** 2003-05-06 10:00:00.000\n*** SESSION ID:(9.1) 2003-05-06 10:00:00.000\n";
    let call = "EXEC #1:c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim=1000000\n";
    std::fs::write(&path, [begin, call].concat()).expect("room for a small file");
    let since = Some("2003-05-06 10:00".parse::<WallClock>().expect("a time"));
    let mut cut = Cut::new(Interval { since, until: None }, None, THINK_TIME);
    let chosen = Chosen::of(std::slice::from_ref(&path));
    let ingested = ingest(chosen, &settings(), &mut cut, &mut |_, _| ControlFlow::Continue(()));
    let side = cut.finish("/TRACES/T.trc where event=enq: TX - contention", ingested).expect("a call of this time");
    assert_eq!(side.name, "/TRACES/T.trc where event=enq: TX - contention from 2003-05-06 10:00:00");
}

#[test]
fn real_traces_differ_from_each_other_by_sums_and_from_themselves_not_at_all() {
    let Some(folder) = crate::support::traces() else {
        println!("skipped: there are no real traces");
        return;
    };
    let listing = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_small = |path: &PathBuf| path.metadata().is_ok_and(|data| data.len() < 1_000_000);
    let is_trace =
        |path: &PathBuf| path.to_string_lossy().ends_with(".trc.gz") || path.extension().is_some_and(|e| e == "trc");
    let mut traces: Vec<PathBuf> = listing.filter(is_trace).filter(is_small).collect();
    traces.sort();
    traces.retain(|path| !side(path).ingested.files.is_empty());
    assert!(traces.len() > 10);
    for path in &traces {
        let same = compared(path, path);
        assert!(same.is_same(), "{}", path.display());
        assert_adds_up(&same);
    }
    for pair in traces.windows(2) {
        assert_adds_up(&compared(&pair[0], &pair[1]));
    }
}
