//! Two profiles, one against the other: differences add up, and a trace does not differ from itself.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use measure::compare::{ProfileComparison, Spread};
use profile::choice::{Period, WallClock};
use profile::compare::{CompareSettings, Cut, Executions, Interval, Side, compare};
use profile::event::{ProblemKind, Ticks, Unit};
use profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use profile::observe::collector::THINK_TIME;
use profile::source::{BindValues, ReadOptions, SourceSettings};
use profile::tables::{Profile, SessionProfile};

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
    Side { name: path.display().to_string(), ingested, executions, accepted: None }
}

/// The same side once more: a comparison takes it, and to read a real trace again takes longer.
fn copy(side: &Side) -> Side {
    let Ingested { profile, files, begun, findings, .. } = &side.ingested;
    let (profile, files, begun, findings) = (profile.clone(), files.clone(), begun.clone(), findings.clone());
    let ingested = Ingested { profile, files, begun, findings, problems: Vec::new(), ..side.ingested };
    Side { name: side.name.clone(), ingested, executions: side.executions.clone(), accepted: side.accepted }
}

fn compared(before: Side, after: Side) -> ProfileComparison {
    compare(before, after, CompareSettings { top: 10, hides_texts: false })
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

/// A time after the first call of what `end_of_trace` gives.
const SINCE: &str = "2003-05-06 10:00:03";

/// A call that ends at this time of the trace's clock.
fn call_at(micros: i64) -> String {
    format!("EXEC #1:c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim={micros}\n")
}

/// Calls at these seconds of the trace's clock, ahead of the first stamp and behind it: the end of a trace, without the
/// stamps at its beginning.
fn end_of_trace(ahead: &[i64], behind: i64) -> String {
    let ahead: String = ahead.iter().map(|second| call_at(second * 1_000_000)).collect();
    ahead + "*** 2003-05-06 10:00:08.000\n" + &call_at(behind * 1_000_000)
}

/// How many calls and waits of a trace have no time by the wall clock, and how many calls it has since `SINCE`.
fn unplaced_and_calls(path: &Path, unit: Option<Unit>) -> (Option<u64>, u64) {
    let settings = settings();
    let settings = IngestSettings { source: SourceSettings { unit, ..settings.source }, ..settings };
    let since = Some(SINCE.parse::<WallClock>().expect("a time"));
    let mut cut = Cut::new(Interval { since, until: None }, None, THINK_TIME);
    let chosen = Chosen::of(&[path.to_path_buf()]);
    let ingested = ingest(chosen, &settings, &mut cut, &mut |_, _| ControlFlow::Continue(()));
    let profile = cut.finish("a.trc", ingested).expect("calls of this time").ingested.profile;
    let found = profile.problems.iter().find(|problem| problem.kind == ProblemKind::PlacedByNeighbour);
    (found.map(|problem| problem.count), profile.whole.calls.values().map(|sums| sums.calls).sum::<u64>())
}

#[test]
fn what_ended_ahead_of_the_first_stamp_has_its_time_unless_the_clock_was_another_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("end.trc");
    let calls = |ahead: &[i64], behind: i64| {
        std::fs::write(&path, end_of_trace(ahead, behind)).expect("room for a small file");
        unplaced_and_calls(&path, None)
    };
    assert_eq!(calls(&[1, 5], 9), (None, 2), "10:00:00, 10:00:04 and 10:00:08");
    assert_eq!(calls(&[50, 1], 2), (Some(2), 1), "the clock was set back");
    assert_eq!(calls(&[1, 900], 901), (Some(2), 1), "no line covers 15 minutes");
    let ahead = [10_000_000, 9_400_000, 8_800_000].map(call_at).concat();
    std::fs::write(&path, ahead + &end_of_trace(&[], 11)).expect("room for a small file");
    assert_eq!(unplaced_and_calls(&path, None), (Some(3), 1), "the clock was set back in steps");
}

#[test]
fn lines_ahead_of_the_first_stamp_have_their_time_in_a_given_unit_in_a_second_file_and_in_a_pipe() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trc");
    let (text, given) = (end_of_trace(&[1, 5], 9), Some(Unit::Microsecond));
    std::fs::write(&path, &text).expect("room for a small file");
    assert_eq!(unplaced_and_calls(&path, given), (None, 2));
    let of_process = |process: u32| {
        format!(
            "Trace file /u/x.trc\nOracle Database 12c Release 12.2.0.1.0 - 64bit Production\nNode name:\thost\n\
             Instance name: one\nUnix process pid: {process}, image: oracle@host\n\n{text}"
        )
    };
    std::fs::write(&path, of_process(5) + &of_process(6)).expect("room for a small file");
    assert_eq!(unplaced_and_calls(&path, None), (None, 4), "two files, one behind the other");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    for unit in [None, given] {
        let (into, text) = (pipe.clone(), text.clone());
        let writer = thread::spawn(move || std::fs::write(into, text));
        assert_eq!(unplaced_and_calls(&pipe, unit), (None, 2), "a pipe, {unit:?}");
        writer.join().expect("no panic").expect("a reader");
    }
}

#[test]
fn no_line_has_its_time_by_a_stamp_that_need_not_be_the_first_one_or_is_of_another_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("long.trc");
    // Calls a millisecond apart: what stands between the first MiB and the last one is not looked at.
    let calls = 50_000;
    let ahead: String = (1..=calls).map(|number| call_at(number * 1_000)).collect();
    assert!(ahead.len() > 3 << 20);
    let text = ahead + "*** 2003-05-06 10:00:08.000\n" + &call_at((calls + 1) * 1_000);
    std::fs::write(&path, text).expect("room for some MiB");
    assert_eq!(unplaced_and_calls(&path, None), (Some(50_000), 1));
    let mut archive = tar::Builder::new(Vec::new());
    let without_stamp = call_at(1_000_000) + &call_at(5_000_000);
    for (name, text) in [("a.trc", without_stamp), ("b.trc", end_of_trace(&[], 9))] {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).expect("a file of the archive");
    }
    let path = folder.path().join("both.tar");
    std::fs::write(&path, archive.into_inner().expect("an archive")).expect("room for a small file");
    assert_eq!(unplaced_and_calls(&path, None), (Some(2), 1));
}

#[test]
fn what_follows_a_clock_that_was_set_has_no_time_by_a_stamp_before_that() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("set.trc");
    let before = "*** 2003-05-06 10:00:04.000\n".to_string() + &call_at(100_000_000);
    std::fs::write(&path, before + &end_of_trace(&[50], 51)).expect("room for a small file");
    assert_eq!(unplaced_and_calls(&path, None), (Some(1), 3), "the second call goes with the first one");
}

/// The parts of a trace before `SINCE` and from then on.
fn parts_of(text: &str) -> [Profile; 2] {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trc");
    let begin = "*** SESSION ID:(9.1) 2003-05-06 10:00:00.000\n".to_string();
    std::fs::write(&path, begin + text).expect("room for a small file");
    let border = Some(SINCE.parse::<WallClock>().expect("a time"));
    [Interval { since: None, until: border }, Interval { since: border, until: None }].map(|interval| {
        let mut cut = Cut::new(interval, None, THINK_TIME);
        let chosen = Chosen::of(std::slice::from_ref(&path));
        let ingested = ingest(chosen, &settings(), &mut cut, &mut |_, _| ControlFlow::Continue(()));
        cut.finish("a.trc", ingested).expect("calls of this time").ingested.profile
    })
}

/// The same of calls that end at these seconds of the trace's clock, where 1 is 10:00:00, and have these depths; each
/// takes a second, of which 0.4 s on a processor.
fn parts(calls: &[(i64, u32)]) -> [SessionProfile; 2] {
    let call = |(second, depth): &(i64, u32)| {
        format!(
            "*** 2003-05-06 10:00:{:02}.000\n\
             EXEC #1:c=400000,e=1000000,p=0,cr=0,cu=0,mis=0,r=0,dep={depth},og=4,tim={}\n",
            second - 1,
            second * 1_000_000
        )
    };
    parts_of(&calls.iter().map(call).collect::<String>()).map(|part| part.whole)
}

#[test]
fn a_plan_of_a_statement_that_a_job_ran_is_in_the_part_of_its_execution() {
    let executed = |(second, operation): (i64, &str)| {
        let (stamp, end) = (second - 1, second * 1_000_000);
        format!(
            "*** 2003-05-06 10:00:{stamp:02}.000\nPARSING IN CURSOR #1 len=8 dep=1 uid=5 oct=3 lid=5 tim={end} hv=7 \
             ad='a'\nselect 1\nEND OF STMT\nEXEC #1:c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=1,og=4,tim={end}\n\
             STAT #1 id=1 cnt=1 pid=0 pos=1 obj=0 op='{operation}'\n"
        )
    };
    let job = [(1, "FAST DUAL "), (9, "INDEX FULL SCAN I ")].map(executed).concat();
    let client = "*** 2003-05-06 10:00:30.000\nEXEC #2:c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim=31000000\n";
    let operations = |text: &str| {
        parts_of(text).map(|part| {
            let lines = part.statements.iter().flat_map(|one| &one.plans).flat_map(|plan| &plan.lines);
            lines.map(|line| line.operation.to_string()).collect::<Vec<String>>()
        })
    };
    for text in [job.clone(), job + client] {
        assert_eq!(operations(&text), [["FAST DUAL"], ["INDEX FULL SCAN I"]]);
    }
    let early = executed((2, "FAST DUAL ")) + client;
    assert_eq!(operations(&early), [vec!["FAST DUAL"], vec![]], "the client's call is in the other part");
}

#[test]
fn cursors_that_two_traces_do_not_declare_have_no_plan_that_changed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let traced = |name: &str, hash: u64| {
        let executed = |cursor: u64| {
            let figures = "c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4";
            format!("EXEC #{cursor}:{figures},plh={hash},tim={cursor}000000\n")
        };
        let declared = "PARSING IN CURSOR #2 len=8 dep=0 uid=5 oct=3 lid=5 tim=1500000 hv=7 ad='a'\n\
                        select 1\nEND OF STMT\n";
        let path = folder.path().join(name);
        std::fs::write(&path, executed(1) + declared + &executed(2)).expect("room for a small file");
        side(&path)
    };
    let found = compared(traced("a.trc", 11), traced("b.trc", 12));
    let changed: Vec<&str> = found.plans.iter().map(|plan| plan.id.as_str()).collect();
    assert_eq!((found.statements.len(), changed), (2, vec!["7"]));
}

#[test]
fn what_the_tables_of_a_part_leave_out_is_counted_of_that_part_and_once() {
    let read = |second: i64| {
        let end = second * 1_000_000;
        format!(
            "*** 2003-05-06 10:00:{:02}.000\n\
             WAIT #1: nam='db file scattered read' ela= 50 file#=4 block#=1 blocks=-1 obj#=1 tim={end}\n",
            second - 1
        ) + &call_at(end)
    };
    let refused = parts_of(&[1, 8, 9].map(read).concat()).map(|part| {
        let refused = part.problems.iter().filter(|problem| problem.kind == ProblemKind::BlocksRefused);
        refused.map(|problem| problem.count).collect::<Vec<u64>>()
    });
    assert_eq!(refused, [vec![1], vec![2]]);
}

#[test]
fn a_part_of_a_trace_without_a_call_of_the_client_has_the_time_of_its_own_calls_and_of_no_others() {
    let times = parts(&[(1, 1), (5, 1), (9, 1)]).map(|part| (part.response_time, part.cpu, part.unaccounted_within));
    let millis = |millis: i64| Ticks::from_micros(1_000 * millis);
    assert_eq!(times, [1, 2].map(|calls| (millis(1_000 * calls), millis(400 * calls), millis(600 * calls))));
}

#[test]
fn a_call_without_a_caller_is_not_in_the_part_of_the_clients_next_call() {
    let calls = parts(&[(1, 1), (2, 1), (9, 0)]).map(|part| part.calls.values().map(|sums| sums.calls).sum::<u64>());
    assert_eq!(calls, [2, 1]);
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
    let (mut read, mut before) = (0, None);
    for path in &traces {
        let one = side(path);
        if one.ingested.files.is_empty() {
            continue;
        }
        let (after, next) = (copy(&one), copy(&one));
        let same = compared(one, side(path));
        assert!(same.is_same(), "{}", path.display());
        assert_adds_up(&same);
        if let Some(before) = before.replace(next) {
            assert_adds_up(&compared(before, after));
        }
        read += 1;
    }
    assert!(read > 10);
}
