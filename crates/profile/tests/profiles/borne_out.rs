//! What a profile says is what its trace bears out: advice by event and by counts, the hot block, what larger arrays
//! save, and breakdowns by the words of a person who looks for the cause.

use std::fmt::Write;
use std::fs;
use std::ops::ControlFlow;

use measure::{Case, Finding};
use profile::choice::Period;
use profile::document::{Order, Selection, find_statement};
use profile::ingest::{Chosen, IngestSettings, ingest};
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::observe::skew::{Dimension, Filter, Skew};
use profile::outcome::{Outcome, outcome};
use profile::source::{BindValues, ReadOptions, SourceSettings};

/// How a trace is looked at.
#[derive(Default)]
pub(super) struct Asked<'a> {
    pub(super) by: &'a str,
    pub(super) filter: &'a str,
    pub(super) statement: &'a str,
    pub(super) hides_texts: bool,
    pub(super) folds: bool,
}

pub(super) fn profile(files: &[(&str, String)], asked: &Asked<'_>) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let paths: Vec<_> = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("room for a small file");
            path
        })
        .collect();
    let skew = (!asked.by.is_empty()).then(|| {
        let filter: Vec<&str> = Some(asked.filter).filter(|filter| !filter.is_empty()).into_iter().collect();
        Skew::new(
            Dimension::parse_list(asked.by).expect("dimensions"),
            Filter::parse(&filter).expect("a filter"),
            THINK_TIME,
        )
    });
    let mut instruments = Instruments::new(skew);
    let reading = ReadOptions { workers: 1, chunk_bytes: ReadOptions::CHUNK_BYTES };
    let settings = IngestSettings {
        think_time: THINK_TIME,
        source: SourceSettings { unit: None, reading, binds: BindValues::Kept, period: Period::default() },
    };
    let mut read = ingest(Chosen::of(&paths), &settings, &mut instruments, &mut |_, _| ControlFlow::Continue(()));
    if asked.folds {
        read.fold_literals_of_once();
    }
    let statement =
        find_statement(&read.profile, asked.statement).first().copied().filter(|_| !asked.statement.is_empty());
    let selection = Selection { order: Order::ResponseTime, top: 10, statement, hides_texts: asked.hides_texts };
    outcome(&mut read, &instruments, &selection)
}

pub(super) fn one(text: String) -> Outcome {
    profile(&[("a.trc", text)], &Asked::default())
}

pub(super) fn finding<'a>(outcome: &'a Outcome, id: &str) -> Option<&'a str> {
    outcome.findings.iter().find(|finding: &&Finding| finding.id == id).map(|finding| &*finding.message)
}

pub(super) fn rows<'a>(outcome: &'a Outcome, table: &'a str) -> impl Iterator<Item = &'a Case> {
    outcome.cases.iter().filter(move |case| case.parameter("table").as_deref() == Some(table))
}

pub(super) fn value(case: &Case, metric: &str) -> f64 {
    case.metric(metric).unwrap_or_else(|| panic!("no {metric} in {case:?}")).median()
}

/// A trace as it grows, in µs.
pub(super) struct Trace {
    pub(super) text: String,
    pub(super) now: i64,
}

impl Trace {
    pub(super) fn new() -> Trace {
        let text = "Trace file /u01/shop_ora_7.trc\n\
                    Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\n\
                    Node name:\tdb1\nInstance name: shop\nUnix process pid: 7, image: oracle@db1\n\n\
                    *** 2024-01-31T10:00:00.000000+00:00\n*** SESSION ID:(9.1) 2024-01-31T10:00:00.000000+00:00\n\
                    *** SERVICE NAME:(shop.web) 2024-01-31T10:00:00.000000+00:00\n";
        Trace { text: text.into(), now: 1_000_000 }
    }

    /// Declares cursor `cursor` as a statement with this command and user.
    pub(super) fn declare(&mut self, cursor: u64, id: &str, (depth, command, user): (u16, i64, i64), text: &str) {
        let (length, now) = (text.len(), self.now);
        let _ = writeln!(
            self.text,
            "=====================\nPARSING IN CURSOR #{cursor} len={length} dep={depth} uid={user} oct={command} \
             lid={user} tim={now} hv=1 ad='1' sqlid='{id}'\n{text}\nEND OF STMT"
        );
    }

    pub(super) fn query(&mut self, cursor: u64, id: &str) {
        self.declare(cursor, id, (0, 3, 84), &format!("select {id} from orders"));
    }

    /// A call: kind, depth, CPU and elapsed time, gets, rows, misses.
    pub(super) fn call(&mut self, cursor: u64, kind: &str, depth: u16, figures: [i64; 5]) {
        let [cpu, elapsed, gets, rows, misses] = figures;
        self.now += elapsed;
        let now = self.now;
        let _ = writeln!(
            self.text,
            "{kind} #{cursor}:c={cpu},e={elapsed},p=0,cr={gets},cu=0,mis={misses},r={rows},dep={depth},og=1,plh=811,\
             tim={now}"
        );
    }

    pub(super) fn wait(&mut self, cursor: u64, event: &str, elapsed: i64, parameters: &str) {
        self.now += elapsed;
        let now = self.now;
        let _ = writeln!(self.text, "WAIT #{cursor}: nam='{event}' ela= {elapsed} {parameters} tim={now}");
    }

    pub(super) fn client(&mut self, cursor: u64, elapsed: i64) {
        self.wait(cursor, "SQL*Net message from client", elapsed, "driver id=1 #bytes=1 p3=0 obj#=-1");
    }

    fn plan(&mut self, cursor: u64, lines: &[(&str, i64, i64)]) {
        for (place, (operation, object, micros)) in lines.iter().enumerate() {
            let id = place + 1;
            let _ = writeln!(
                self.text,
                "STAT #{cursor} id={id} cnt=100 pid={place} pos=1 obj={object} op='{operation} (cr=10 pr=1 pw=0 str=1 \
                 time={micros} us cost=4 size=120 card=5)'"
            );
        }
    }

    /// Waits inside an execution, which ends behind them.
    pub(super) fn execution_with(&mut self, cursor: u64, waits: &[(&str, i64, &str)]) {
        let begin = self.now;
        for (event, elapsed, parameters) in waits {
            self.wait(cursor, event, *elapsed, parameters);
        }
        let elapsed = self.now - begin;
        self.now = begin;
        self.call(cursor, "EXEC", 0, [0, elapsed, 0, 1, 0]);
    }
}

const BUSY: &str = "buffer busy waits";

#[test]
fn a_hot_block_is_named_with_its_object_its_class_and_the_breakdown_that_shows_it() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.plan(1, &[("TABLE ACCESS FULL ORDERS", 74521, 100)]);
    for number in 0..100 {
        let hot = "file#=4 block#=1317 class#=1 obj#=74521";
        let cold = format!("file#=4 block#={} class#=1 obj#=74521", 2000 + number);
        trace.execution_with(1, &[(BUSY, 800, hot), (BUSY, 100, &cold)]);
    }
    let outcome = one(trace.text);
    let practice = finding(&outcome, "practice-concurrency").expect("the class matters");
    assert!(
        practice.starts_with(
            "Block 4:1317 (data block) of object 74521 ORDERS has 88.9 % of it, 80.0 ms, in 100 waits. --by \
             block,statement --where class=concurrency shows the rest."
        ),
        "{practice}"
    );
    assert!(practice.contains("Spread what is hot"), "{practice}");
}

#[test]
fn an_object_that_holds_most_reads_is_named_where_no_block_does() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    for number in 0..200 {
        let read = format!("file#=4 block#={number} blocks=1 obj#={}", if number % 5 == 0 { 9 } else { 55 });
        trace.execution_with(1, &[("db file sequential read", 500, &read)]);
    }
    let outcome = one(trace.text);
    let practice = finding(&outcome, "practice-single-block-reads").expect("the class matters");
    assert!(
        practice.starts_with("Object 55 has 80.0 % of it, 80.0 ms, in 160 waits. --by object,statement"),
        "{practice}"
    );
}

#[test]
fn a_wait_for_a_parse_of_another_session_gets_no_advice_for_hot_blocks() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.execution_with(1, &[("cursor: pin S wait on X", 900_000, "idn=1 value=2 where=3 obj#=-1")]);
    let outcome = one(trace.text);
    let practice = finding(&outcome, "practice-concurrency").expect("the class matters");
    assert!(practice.contains("cursor: pin S wait on X: Another session was parsing"), "{practice}");
    assert!(!practice.contains("hot"), "{practice}");
}

#[test]
fn one_long_parse_is_not_told_to_be_prepared_once() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "PARSE", 0, [21_000_000, 21_000_000, 0, 0, 1]);
    trace.call(1, "EXEC", 0, [100, 100, 0, 0, 0]);
    trace.client(1, 100);
    let outcome = one(trace.text);
    let practice = finding(&outcome, "practice-cpu-parse").expect("the class matters");
    assert!(practice.contains("1 parse of aaaaaaaaaaaaa") && practice.contains("at 21.0 s each"), "{practice}");
    assert!(!practice.contains("Prepare"), "{practice}");
}

#[test]
fn parses_of_the_dictionary_s_own_statements_are_no_fault_of_the_program() {
    let parsed = |depth: u16, user: i64| {
        let mut trace = Trace::new();
        trace.declare(1, "aaaaaaaaaaaaa", (depth, 3, user), "select obj# from obj$");
        for _ in 0..40 {
            trace.call(1, "PARSE", depth, [10, 10, 0, 0, 0]);
            trace.call(1, "EXEC", depth, [10, 10, 0, 0, 0]);
        }
        finding(&one(trace.text), "parsed-at-every-execution").map(str::to_owned)
    };
    assert_eq!(parsed(1, 0), None);
    assert!(parsed(0, 84).expect("a program's").contains("Prepare it once"));
    let recursive = parsed(1, 84).expect("a procedure's");
    assert!(recursive.contains("static SQL") && !recursive.contains("Prepare"), "{recursive}");
}

#[test]
fn a_cost_a_get_is_of_queries_alone_and_called_what_it_is() {
    let with = |command: i64, micros_per_get: i64| {
        let mut trace = Trace::new();
        trace.declare(1, "aaaaaaaaaaaaa", (0, command, 84), "a statement");
        trace.call(1, "EXEC", 0, [2000 * micros_per_get, 2000 * micros_per_get, 2000, 1, 0]);
        trace.client(1, 100);
        finding(&one(trace.text), "answer-logical-read").map(str::to_owned)
    };
    assert!(with(3, 5).expect("a query").contains("within the usual"));
    assert!(with(3, 11).expect("a query").contains("above the usual"));
    assert!(with(3, 20).expect("a query").contains("not all of the CPU is in gets"));
    assert_eq!((with(6, 50), with(44, 50)), (None, None), "an update, a commit");
}

#[test]
fn times_of_a_plan_that_contradict_each_other_are_said_and_left_out() {
    let with = |child: i64| {
        let mut trace = Trace::new();
        trace.query(1, "aaaaaaaaaaaaa");
        trace.call(1, "EXEC", 0, [100, 100, 10, 0, 0]);
        trace.plan(1, &[("SORT ORDER BY", 0, 1000), ("TABLE ACCESS FULL ORDERS", 7, child)]);
        one(trace.text)
    };
    let (sound, contradicting) = (with(900), with(99_000));
    assert!(finding(&sound, "plan-times-contradict").is_none());
    assert!(finding(&contradicting, "plan-times-contradict").is_some());
    for (outcome, has_times) in [(&sound, true), (&contradicting, false)] {
        for line in rows(outcome, "plan_line") {
            assert_eq!((value(line, "estimated_rows"), value(line, "rows")), (5.0, 100.0));
            assert_eq!(line.metric("time").is_some(), has_times);
        }
    }
}

#[test]
fn a_class_has_the_source_of_its_numbers_and_not_of_another_class() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "EXEC", 0, [10, 30, 0, 0, 0]);
    trace.client(1, 100);
    trace.call(1, "FETCH", 0, [10, 10, 0, 0, 0]);
    let outcome = one(trace.text);
    let sources = |class: &str| {
        let row = rows(&outcome, "class").find(|row| row.parameter("class").as_deref() == Some(class));
        let row = row.unwrap_or_else(|| panic!("no {class} in {:?}", outcome.cases));
        ["calls", "total"].map(|name| row.metric(name).expect("every class has both").source.clone())
    };
    assert_eq!(sources("cpu"), ["trace: call lines"; 2]);
    assert_eq!(sources("network"), ["trace: wait lines"; 2]);
    assert_eq!(sources("unaccounted-within"), ["difference of the others"; 2]);
}

#[test]
fn what_larger_arrays_save_is_said_with_its_range() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    for number in 0..200 {
        trace.call(1, "FETCH", 0, [10, 20, 1, 10, 0]);
        trace.client(1, if number == 7 { 5_000_000 } else { 900 + number % 3 * 100 });
    }
    let outcome = one(trace.text);
    let said = finding(&outcome, "small-arrays").expect("a saving");
    assert!(said.contains("Rows are fetched 10.0 at a time (200 fetches: aaaaaaaaaaaaa"), "{said}");
    let saved = "Arrays of 100 save 180 round trips of 999 µs: 180 ms if a round trip takes the same time";
    assert!(said.contains(saved), "{said}");
    assert!(said.contains("(0 to 182 ms: nothing if its time grows with the rows)"), "{said}");
    let row =
        rows(&outcome, "statement").find(|row| row.parameter("id").as_deref() == Some("aaaaaaaaaaaaa")).expect("it");
    let [low, saving, high] = ["array_saving_low", "array_saving", "array_saving_high"].map(|name| value(row, name));
    assert!(low < saving && saving < high && (saving - 180_000.0).abs() < 500.0, "{low} {saving} {high}");
    assert_eq!(low, 0.0, "a larger message may take longer in each round trip");
    assert!(high - saving < 0.05 * saving, "a pause of a person is no round trip");
}

#[test]
fn larger_arrays_save_no_more_than_was_waited_for_the_client() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    for number in 0..200 {
        trace.call(1, "FETCH", 0, [10, 20, 1, 10, 0]);
        if number % 4 == 0 {
            trace.client(1, 1000);
        }
    }
    let outcome = one(trace.text);
    let said = finding(&outcome, "small-arrays").expect("a saving");
    let saved = "Arrays of 100 save 180 round trips of 1.00 ms: 50.0 ms, all of its waits for the client, if";
    assert!(said.contains(saved) && said.contains("(0 to 50.0 ms:"), "{said}");
    let row = rows(&outcome, "statement").find(|row| row.metric("array_saving").is_some()).expect("it");
    assert_eq!((value(row, "array_saving"), value(row, "array_saving_high")), (50_000.0, 50_000.0));
}

#[test]
fn sleeping_ranks_no_statement() {
    let mut trace = Trace::new();
    trace.declare(1, "aaaaaaaaaaaaa", (0, 47, 84), "begin dbms_lock.sleep(5); end;");
    trace.execution_with(1, &[("PL/SQL lock timer", 5_000_000, "duration=500 p2=0 p3=0 obj#=-1")]);
    trace.query(2, "bbbbbbbbbbbbb");
    trace.call(2, "EXEC", 0, [400_000, 400_000, 10, 0, 0]);
    trace.client(2, 100);
    let outcome = one(trace.text);
    let said = finding(&outcome, "answer-statements").expect("two statements");
    let share = "1 statement accounts for 100.0 % of the response time: bbbbbbbbbbbbb";
    assert!(said.starts_with(share), "{said}");
    let idle: f64 = rows(&outcome, "statement").map(|row| value(row, "idle")).sum();
    assert_eq!(idle, 5e6);
}

#[test]
fn all_failed_calls_are_in_the_list_of_errors() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    for code in [1, 1, 1, 942, 942, 60, 60, 1017, 12154] {
        trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
        let now = trace.now;
        let _ = writeln!(trace.text, "ERROR #1:err={code} tim={now}");
    }
    let said = one(trace.text);
    let said = finding(&said, "failed-calls").expect("errors");
    assert!(said.starts_with("9 calls failed (error 1: 3, error 60: 2, error 942: 2, others: 2)"), "{said}");
}

#[test]
fn a_statement_knows_who_called_it_and_what_it_called() {
    let mut trace = Trace::new();
    trace.declare(1, "aaaaaaaaaaaaa", (0, 47, 84), "begin report; end;");
    trace.declare(2, "bbbbbbbbbbbbb", (1, 3, 84), "select count(*) from orders");
    trace.declare(3, "ccccccccccccc", (2, 3, 0), "select obj# from obj$");
    let begin = trace.now;
    trace.call(3, "EXEC", 2, [10, 100, 1, 0, 0]);
    trace.now = begin;
    trace.call(2, "EXEC", 1, [20, 300, 2, 0, 0]);
    trace.call(2, "FETCH", 1, [20, 200, 2, 1, 0]);
    trace.now = begin;
    trace.call(1, "EXEC", 0, [100, 1000, 9, 1, 0]);
    let outcome = profile(&[("a.trc", trace.text)], &Asked { statement: "bbbb", ..Asked::default() });
    let mut edges: Vec<(String, String, f64, f64)> = rows(&outcome, "call_tree")
        .map(|row| {
            let text = |name: &str| row.parameter(name).unwrap_or_default();
            (text("parent"), text("id"), value(row, "calls"), value(row, "inclusive_elapsed"))
        })
        .collect();
    edges.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    let edge = |parent: &str, id: &str, calls, elapsed| (parent.repeat(13), id.repeat(13), calls, elapsed);
    assert_eq!(edges, [edge("a", "b", 2.0, 500.0), edge("b", "c", 1.0, 100.0)]);
    let text = rows(&outcome, "statement_text").find(|row| row.parameter("id") == Some("b".repeat(13))).expect("it");
    assert_eq!((text.parameter("goal").as_deref(), text.parameter("user").as_deref()), (Some("ALL_ROWS"), Some("84")));
}

#[test]
fn the_header_names_what_was_traced_and_the_part_that_is_missing() {
    let mut trace = Trace::new();
    trace.text += "*** TRACE CONTINUED FROM FILE /u01/shop_ora_7_old.trc ***\n";
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    let outcome = profile(&[("shop_ora_7.trc", trace.text.clone())], &Asked::default());
    let list = |key: &str| outcome.subject[key][0].as_str().expect("a name").to_owned();
    assert_eq!(["hosts", "instances", "services", "versions"].map(list), ["db1", "shop", "shop.web", "19.0.0.0.0"]);
    let said = finding(&outcome, "other-part-missing").expect("a part is missing");
    assert!(said.contains("continues shop_ora_7_old.trc, which was not given"), "{said}");
    let mut first = Trace::new();
    first.query(1, "aaaaaaaaaaaaa");
    first.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    let both = [("shop_ora_7_old.trc", first.text), ("shop_ora_7.trc", trace.text)];
    assert!(finding(&profile(&both, &Asked::default()), "other-part-missing").is_none());
}

#[test]
fn parts_of_a_trace_in_one_archive_or_one_behind_the_other_are_not_said_to_be_missing() {
    let part = |now: i64, begin: &str, end: &str| {
        let mut trace = Trace::new();
        trace.now = now;
        trace.text += begin;
        trace.query(1, "aaaaaaaaaaaaa");
        trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
        trace.text + end
    };
    let first = ("shop_ora_7.trc", part(1_000_000, "", "*** TRACE CONTINUES IN FILE /u01/shop_ora_7_1.trc ***\n"));
    let second = ("b/shop_ora_7_1.trc", part(2_000_000, "*** TRACE CONTINUED FROM FILE /u01/shop_ora_7.trc ***\n", ""));
    let archive = |files: &[&(&str, String)]| {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            archive.append_data(&mut header, name, text.as_bytes()).expect("a file of the archive");
        }
        String::from_utf8(archive.into_inner().expect("an archive")).expect("an archive of texts")
    };
    let said = |name: &str, text: String| {
        let outcome = profile(&[(name, text)], &Asked::default());
        finding(&outcome, "other-part-missing").map(str::to_owned)
    };
    assert_eq!(said("both.tar", archive(&[&first, &second])), None);
    assert_eq!(said("both.trc", first.1.clone() + &second.1), None);
    let of_marks = Trace::new().text + "*** TRACE CONTINUES IN FILE /u01/shop_ora_7_1.trc ***\n";
    assert_eq!(said("both.trc", of_marks + &second.1), None, "the first one has no line but marks");
    for (name, text) in [("one.tar", archive(&[&first])), ("one.trc", first.1.clone())] {
        let said = said(name, text).expect("the second part is missing");
        assert!(said.contains("goes on in shop_ora_7_1.trc, which was not given"), "{said}");
    }
}

/// The first value of each row of a breakdown.
fn by(trace: &str, by: &str, filter: &str) -> Vec<String> {
    let outcome = profile(&[("a.trc", trace.into())], &Asked { by, filter, ..Asked::default() });
    rows(&outcome, "skew").map(|row| row.parameter(by).unwrap_or_default()).collect()
}

#[test]
fn time_is_broken_down_by_the_words_of_who_looks_for_the_cause() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    trace.execution_with(
        1,
        &[
            ("enq: TX - row lock contention", 300, "name|mode=1415053318 usn<<16 | slot=1 sequence=2 obj#=7"),
            (BUSY, 200, "file#=4 block#=9 class#=4 obj#=7"),
            ("latch free", 100, "address=5 number=150 tries=1 obj#=7"),
        ],
    );
    assert_eq!(by(&trace.text, "p1", "class=application"), ["TX mode 6"]);
    assert_eq!(by(&trace.text, "p2", "event=latch free"), ["150"]);
    assert_eq!(by(&trace.text, "block_class", "event=buffer busy waits"), ["4 segment header"]);
    assert_eq!(by(&trace.text, "plan_hash", "class!=cpu"), ["811"]);
    assert_eq!(by(&trace.text, "user", ""), ["84"]);
    assert_eq!(by(&trace.text, "latency", "class=cpu"), ["–"], "the CPU time of a call is no latency");
}

#[test]
fn seconds_and_minutes_are_those_of_the_wall_clock_in_order() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    for pause in [100, 59_000_000, 2_000_000] {
        trace.client(1, pause);
        trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    }
    assert_eq!(by(&trace.text, "minute", ""), ["2024-01-31 10:00:00", "2024-01-31 10:01:00"]);
    let seconds = by(&trace.text, "second", "");
    assert_eq!(seconds, ["2024-01-31 10:00:00", "2024-01-31 10:00:59", "2024-01-31 10:01:01"]);
    assert_eq!(by(&trace.text, "second", "second>=2024-01-31 10:01:00"), ["2024-01-31 10:01:01"]);
}

#[test]
fn bind_values_are_shown_of_the_statement_that_was_asked_for_alone() {
    let mut trace = Trace::new();
    for (cursor, id) in [(1, "aaaaaaaaaaaaa"), (2, "bbbbbbbbbbbbb")] {
        trace.query(cursor, id);
        for value in ["17", "\"O'Neil\""] {
            let _ = writeln!(
                trace.text,
                "BINDS #{cursor}:\n Bind#0\n  oacdty=02 mxl=22(21) mxlc=00 mal=00 scl=00\n  value={value}\n Bind#1\n  \
                 oacdty=01 mxl=32(04)\n  kxsbbbfp=7f  bln=32  avl=00  flg=01"
            );
            trace.call(cursor, "EXEC", 0, [10, 10, 0, 0, 0]);
        }
    }
    let with = |statement| {
        let outcome = profile(&[("a.trc", trace.text.clone())], &Asked { statement, ..Asked::default() });
        rows(&outcome, "binds").map(|row| row.parameter("text").unwrap_or_default()).collect::<Vec<String>>()
    };
    assert_eq!(with("bbbb"), [":1 = 17, :2 = NULL", ":1 = \"O'Neil\", :2 = NULL"]);
    assert!(with("").is_empty(), "they were not asked for");
}

#[test]
fn a_file_without_waits_beside_one_with_waits_is_said() {
    let mut with = Trace::new();
    with.query(1, "aaaaaaaaaaaaa");
    with.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    with.client(1, 100);
    let mut without = Trace::new();
    without.query(1, "aaaaaaaaaaaaa");
    without.call(1, "EXEC", 0, [10, 500_010, 0, 0, 0]);
    let both = [("a.trc", with.text), ("b.trc", without.text.replace("(9.1)", "(10.1)"))];
    let outcome = profile(&both, &Asked::default());
    let said = finding(&outcome, "waits-of-sessions-not-traced").expect("one session has none");
    assert!(said.starts_with("1 of 2 sessions has no wait in the trace: 500 ms"), "{said}");
}

#[test]
fn statements_that_differ_in_literals_fold_by_themselves_and_hidden_texts_are_nowhere() {
    let mut trace = Trace::new();
    for number in 0..150 {
        let text = format!("select * from orders where id = 4711{number}");
        trace.declare(1, &format!("{number:0>13}"), (0, 3, 84), &text);
        trace.call(1, "EXEC", 0, [10, 10, 1, 0, 0]);
    }
    let asked = Asked { folds: true, ..Asked::default() };
    let outcome = profile(&[("a.trc", trace.text.clone())], &asked);
    assert_eq!(rows(&outcome, "statement").count(), 1);
    assert!(finding(&outcome, "folded-by-itself").expect("it did").starts_with("150 of 150 statements"));
    let hidden = profile(&[("a.trc", trace.text)], &Asked { hides_texts: true, ..Asked::default() });
    let said = format!("{:?} {:?}", hidden.cases, hidden.findings);
    assert!(!said.contains("4711") && !said.contains("orders"), "a literal is left");
}
