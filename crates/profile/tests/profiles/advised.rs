//! What to do: the advice follows from counts, names its statement, and the largest saving in seconds comes first.

use std::fmt::Write;
use std::ops::ControlFlow;

use profile::choice::Period;
use profile::document::{Order, Selection};
use profile::ingest::{Chosen, IngestSettings, ingest};
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::outcome::{Outcome, outcome};
use profile::source::{BindValues, ReadOptions, SourceSettings};

use super::borne_out::{Asked, Trace, finding, one, profile, rows, value};
use super::support::traces;

/// The outcome of a real trace; `None` on machines that have none.
fn real(name: &str) -> Option<Outcome> {
    let path = traces()?.join(name);
    let reading = ReadOptions { workers: 1, chunk_bytes: ReadOptions::CHUNK_BYTES };
    let source = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period: Period::default() };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let mut instruments = Instruments::new(None);
    let mut read = ingest(Chosen::of(&[path]), &settings, &mut instruments, &mut |_, _| ControlFlow::Continue(()));
    read.fold_literals_of_once();
    let selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };
    Some(outcome(&mut read, &instruments, &selection))
}

/// The practices in their order: identifier and sentences, with plain spaces between groups of digits.
fn practices(outcome: &Outcome) -> Vec<(&str, String)> {
    let all = outcome.findings.iter().map(|finding| (&*finding.id, plain(&finding.message)));
    all.filter(|(id, _)| id.starts_with("practice-")).collect()
}

fn practice(outcome: &Outcome, class: &str) -> String {
    plain(finding(outcome, &format!("practice-{class}")).expect("the class matters"))
}

fn plain(text: &str) -> String {
    text.replace(|letter: char| letter.is_whitespace(), " ")
}

#[test]
fn keys_that_are_asked_for_one_by_one_get_no_advice_for_arrays() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    for number in 0..300 {
        trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
        trace.call(1, "FETCH", 0, [10, 10, 1, i64::from(number % 3 == 0), 0]);
        trace.client(1, 600);
    }
    let outcome = one(trace.text);
    let said = practice(&outcome, "network");
    let counted = "300 executions of aaaaaaaaaaaaa select aaaaaaaaaaaaa from orders return 0.333 rows each, in 300 \
                   round trips of 600 µs: one statement for many keys saves up to 178 ms.";
    assert!(said.starts_with(counted), "{said}");
    assert!(!said.contains("array"), "an array saves nothing: {said}");
}

#[test]
fn rows_that_are_inserted_one_by_one_get_arrays() {
    let mut trace = Trace::new();
    trace.declare(1, "aaaaaaaaaaaaa", (0, 2, 84), "insert into orders values (:1)");
    for _ in 0..300 {
        trace.call(1, "EXEC", 0, [10, 10, 0, 1, 0]);
        trace.client(1, 600);
    }
    let outcome = one(trace.text);
    let said = practice(&outcome, "network");
    assert!(said.contains("change 1.00 rows each") && said.contains("arrays of 100 for its variables save"), "{said}");
}

/// The same query by arrays of 10, 20, 50 and 100 rows, over two networks.
#[test]
fn what_larger_arrays_saved_in_the_same_program_lies_in_the_range_that_is_said() {
    let files = [
        ("19c_cdb1_ora_15051_PF-0.2ms-010.trc.gz", "19c_cdb1_ora_15125_PF-0.2ms-100.trc.gz"),
        ("19c_cdb1_ora_15076_PF-0.2ms-020.trc.gz", "19c_cdb1_ora_15125_PF-0.2ms-100.trc.gz"),
        ("19c_cdb1_ora_15104_PF-0.2ms-050.trc.gz", "19c_cdb1_ora_15125_PF-0.2ms-100.trc.gz"),
        ("19c_cdb1_ora_26829_PF-12ms-050.trc.gz", "19c_cdb1_ora_26889_PF-12ms-100.trc.gz"),
    ];
    for (small, large) in files {
        let (Some(small), Some(large)) = (real(small), real(large)) else { return };
        let query = |outcome: &Outcome, metric: &str| {
            let found = rows(outcome, "statement").find(|row| row.parameter("id").as_deref() == Some("4y53369cbbaqf"));
            value(found.expect("the query"), metric)
        };
        let took = |outcome: &Outcome| query(outcome, "outside") - query(outcome, "think_time");
        let saved = took(&small) - took(&large);
        let [low, high] = ["array_saving_low", "array_saving_high"].map(|metric| query(&small, metric));
        // Two runs of one program differ by about a fiftieth; nothing was saved at 12 ms.
        let noise = 0.03 * took(&small);
        assert!(low - noise <= saved && saved <= high + noise, "{saved} of {} in {low} to {high}", took(&small));
        let said = practice(&small, "network");
        assert!(said.starts_with("4y53369cbbaqf select id, data from rowcache_test is fetched"), "{said}");
        let assumed = "if a round trip takes the same time for any number of rows (0 to ";
        assert!(said.contains(assumed), "{said}");
    }
}

#[test]
fn the_largest_saving_comes_first_though_another_class_is_larger() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "EXEC", 0, [600_000, 600_000, 10, 0, 0]);
    for _ in 0..200 {
        trace.call(1, "FETCH", 0, [0, 0, 1, 10, 0]);
        trace.client(1, 1000);
    }
    let outcome = one(trace.text);
    assert!(finding(&outcome, "answer-class").expect("classes").starts_with("Largest class: CPU"));
    let practices = practices(&outcome);
    assert_eq!(practices.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["practice-network", "practice-cpu"]);
    assert!(practices[0].1.contains("aaaaaaaaaaaaa") && practices[0].1.contains("180 ms"), "{practices:?}");
}

#[test]
fn what_was_not_traced_between_calls_has_its_row_and_its_statement() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.call(1, "EXEC", 0, [10, 10, 0, 0, 0]);
    for _ in 0..2000 {
        trace.now += 100;
        trace.call(1, "FETCH", 0, [10, 10, 1, 1, 0]);
    }
    let outcome = one(trace.text);
    let said = practice(&outcome, "unaccounted-between");
    assert!(said.contains("It holds round trips to the") && said.contains("after each of 2 001 calls"), "{said}");
    assert!(said.contains("aaaaaaaaaaaaa") && said.contains("arrays of 100 save 1 980 of these gaps"), "{said}");
}

#[test]
fn a_statement_of_the_dictionary_is_neither_prepared_nor_executed_less_often() {
    let mut trace = Trace::new();
    trace.declare(1, "aaaaaaaaaaaaa", (0, 47, 84), "begin p; end;");
    trace.declare(2, "bbbbbbbbbbbbb", (1, 3, 0), "select obj# from obj$ where name=:1");
    let begin = trace.now;
    for _ in 0..1500 {
        trace.call(2, "PARSE", 1, [200, 200, 0, 0, 0]);
        trace.call(2, "EXEC", 1, [90, 90, 0, 0, 0]);
    }
    let elapsed = trace.now - begin;
    trace.now = begin;
    trace.call(1, "EXEC", 0, [elapsed + 10, elapsed + 10, 0, 1, 0]);
    let outcome = one(trace.text);
    for class in ["cpu", "cpu-parse"] {
        let said = practice(&outcome, class);
        assert!(said.contains("The database runs it by itself, most of it for aaaaaaaaaaaaa begin p; end;."), "{said}");
        assert!(!said.to_lowercase().contains("prepare") && !said.contains("less often"), "{said}");
    }
}

#[test]
fn two_parses_are_not_told_to_be_fewer() {
    let mut trace = Trace::new();
    for (cursor, id) in [(1, "aaaaaaaaaaaaa"), (2, "bbbbbbbbbbbbb")] {
        trace.query(cursor, id);
        trace.call(cursor, "PARSE", 0, [1000, 1000, 0, 0, 0]);
        trace.call(cursor, "EXEC", 0, [10, 10, 0, 1, 0]);
        trace.client(cursor, 1000);
    }
    let outcome = one(trace.text);
    let said = practice(&outcome, "cpu-parse");
    assert!(said.starts_with("0 of 2 parses are hard. There are too few of them"), "{said}");
}

#[test]
fn texts_that_differ_in_literals_get_one_advice_with_its_statement_and_its_cpu() {
    let mut trace = Trace::new();
    for number in 0..120 {
        trace.declare(1, &format!("a{number:012}"), (0, 3, 84), &format!("select a from t where id = {number}"));
        trace.call(1, "PARSE", 0, [500, 500, 0, 0, 1]);
        trace.call(1, "EXEC", 0, [10, 10, 0, 1, 0]);
        trace.client(1, 100);
    }
    let outcome = profile(&[("a.trc", trace.text)], &Asked { folds: true, ..Asked::default() });
    let said = practice(&outcome, "cpu-parse");
    let counted = "60.0 ms of it is 120 parses of a000000000000 select a from t where id = ?, whose texts differ";
    assert!(said.contains(counted) && said.contains("use bind variables"), "{said}");
    assert!(!said.contains("--fold-literals"), "they are folded: {said}");
    assert_eq!(finding(&outcome, "parsed-at-every-execution"), None, "bind variables come first");
}

#[test]
fn one_text_with_a_question_mark_is_advised_to_be_prepared_and_not_to_use_bind_variables() {
    let mut trace = Trace::new();
    trace.declare(1, "aaaaaaaaaaaaa", (0, 3, 84), "select a from t where regexp_like(b, 'colou?r')");
    for _ in 0..120 {
        trace.call(1, "PARSE", 0, [500, 500, 0, 0, 0]);
        trace.call(1, "EXEC", 0, [10, 10, 0, 1, 0]);
        trace.client(1, 100);
    }
    let outcome = one(trace.text);
    let said = practice(&outcome, "cpu-parse");
    assert!(said.contains("prepare it once") && !said.contains("bind variables"), "{said}");
    assert!(finding(&outcome, "parsed-at-every-execution").is_some());
}

#[test]
fn executions_with_many_gets_each_get_advice_for_blocks_however_many_there_are() {
    for (gets, advice) in [(50_000, "Let it touch fewer blocks"), (5, "Execute it less often")] {
        let mut trace = Trace::new();
        trace.query(1, "aaaaaaaaaaaaa");
        (0..1000).for_each(|_| trace.call(1, "EXEC", 0, [gets, gets, gets, 1, 0]));
        let outcome = one(trace.text);
        let said = practice(&outcome, "cpu");
        assert!(said.contains(advice), "{said}");
    }
}

#[test]
fn blocks_that_are_got_to_be_changed_get_no_advice_for_an_index() {
    let mut trace = Trace::new();
    trace.declare(1, "aaaaaaaaaaaaa", (0, 2, 84), "insert into orders values (:1)");
    for _ in 0..20 {
        trace.now += 50_000;
        let of_array = "c=50000,e=50000,p=0,cr=400,cu=9000,mis=0,r=1000,dep=0,og=1,plh=0";
        let _ = writeln!(trace.text, "EXEC #1:{of_array},tim={}", trace.now);
    }
    let said = practice(&one(trace.text), "cpu");
    assert!(
        said.contains("each index whose columns it changes adds to them") && !said.contains("suitable index"),
        "{said}"
    );
}

#[test]
fn operations_on_large_objects_get_no_advice_for_a_plan_that_they_do_not_have() {
    let mut trace = Trace::new();
    for _ in 0..20 {
        trace.now += 5_000;
        let of_one = "type=PERSISTENT LOB,bytes=8132,c=5000,e=5000,p=0,cr=900,cu=0";
        let _ = writeln!(trace.text, "LOBREAD: {of_one},tim={}", trace.now);
    }
    let said = practice(&one(trace.text), "cpu");
    assert!(said.contains("is in LOB operations") && !said.contains("index") && !said.contains("plan"), "{said}");
}

#[test]
fn sixty_texts_that_were_executed_once_each_are_seen_together() {
    let mut trace = Trace::new();
    for number in 0..60 {
        trace.declare(1, &format!("a{number:012}"), (0, 3, 84), &format!("select a from t where id = {number}"));
        trace.call(1, "EXEC", 0, [10, 10, 0, 1, 0]);
    }
    let outcome = profile(&[("a.trc", trace.text)], &Asked { folds: true, ..Asked::default() });
    assert!(finding(&outcome, "folded-by-itself").expect("one text").starts_with("60 of 60 statements"));
    assert_eq!(rows(&outcome, "statement").count(), 1);
}

#[test]
fn the_start_of_a_process_is_no_hot_block_and_a_segment_header_is_no_data_block() {
    let said = |event: &str, parameters: &str| {
        let mut trace = Trace::new();
        trace.query(1, "aaaaaaaaaaaaa");
        for _ in 0..40 {
            trace.execution_with(1, &[(event, 900, parameters)]);
        }
        practice(&one(trace.text), "concurrency")
    };
    let started = said("os thread startup", "p1=0 p2=0 p3=0 obj#=-1");
    assert!(started.contains("a process that the database starts") && !started.contains("block"), "{started}");
    let header = said("buffer busy waits", "file#=4 block#=130 class#=4 obj#=74521");
    assert!(header.starts_with("Block 4:130 (segment header)") && header.contains("ASSM"), "{header}");
    assert!(!header.contains("fewer rows in a block"), "{header}");
    assert!(said("buffer busy waits", "file#=4 block#=131 class#=1 obj#=74521").contains("fewer rows in a block"));
}

#[test]
fn small_gaps_are_counted_and_are_no_matter_of_the_machine() {
    let with = |calls: i64, gap: i64, name: &str| {
        let mut trace = Trace::new();
        trace.query(1, "aaaaaaaaaaaaa");
        for _ in 0..calls {
            trace.now += gap;
            trace.call(1, "EXEC", 0, [20, 20, 0, 1, 0]);
            trace.client(1, 20);
        }
        practice(&profile(&[(name, trace.text)], &Asked::default()), "unaccounted-between")
    };
    let small = with(3000, 61, "shop_ora_7.trc");
    assert!(small.contains("after each of 3 000 calls: small gaps") && small.contains("fewer calls"), "{small}");
    assert!(small.contains("All calls belong to aaaaaaaaaaaaa") && !small.contains("machine"), "{small}");
    assert!(with(300, 5000, "shop_ora_7.trc").contains("look at the machine"));
    let shared = with(300, 5000, "shop_s000_7.trc");
    assert!(shared.contains("a shared server") && !shared.contains("machine"), "{shared}");
}

#[test]
fn the_kinds_of_calls_that_are_counted_add_up_to_all_of_them_closes_included() {
    let mut trace = Trace::new();
    trace.query(1, "aaaaaaaaaaaaa");
    trace.query(2, "bbbbbbbbbbbbb");
    for number in 0..800 {
        trace.now += 61;
        trace.call(1, "EXEC", 0, [20, 20, 0, 1, 0]);
        trace.client(1, 20);
        if number % 8 == 0 {
            trace.now += 61;
            trace.call(1, "UNMAP", 0, [20, 20, 0, 0, 0]);
        }
        trace.now += 81;
        let now = trace.now;
        let _ = writeln!(trace.text, "CLOSE #1:c=20,e=20,dep=0,type=0,tim={now}");
    }
    for _ in 0..300 {
        trace.now += 61;
        trace.call(2, "EXEC", 0, [20, 20, 0, 1, 0]);
    }
    let said = practice(&one(trace.text), "unaccounted-between");
    let counts = ": 800 executions, 800 closes, 100 other calls.";
    assert!(said.contains("85.0 % of the calls belong to aaaaaaaaaaaaa") && said.contains(counts), "{said}");
}

#[test]
fn statements_with_next_to_no_time_make_no_headline() {
    let with = |elapsed: i64| {
        let mut trace = Trace::new();
        trace.query(1, "aaaaaaaaaaaaa");
        trace.query(2, "bbbbbbbbbbbbb");
        trace.call(1, "EXEC", 0, [elapsed, elapsed, 0, 1, 0]);
        trace.call(2, "EXEC", 0, [0, 10, 0, 1, 0]);
        trace.now += 1_000_000;
        trace.call(2, "EXEC", 0, [0, 0, 0, 1, 0]);
        finding(&one(trace.text), "answer-statements").map(str::to_owned)
    };
    assert_eq!(with(5_000), None);
    assert!(with(50_000).is_some());
}

#[test]
fn commits_of_a_row_each_come_first_with_their_seconds() {
    let mut trace = Trace::new();
    trace.declare(1, "aaaaaaaaaaaaa", (0, 6, 84), "update t set d = sysdate where id = :1");
    trace.declare(2, "bbbbbbbbbbbbb", (0, 44, 84), "COMMIT");
    for _ in 0..200 {
        trace.call(1, "EXEC", 0, [50, 50, 5, 1, 0]);
        trace.call(2, "EXEC", 0, [40, 100, 0, 0, 0]);
        let now = trace.now;
        let _ = writeln!(trace.text, "XCTEND rlbk=0, rd_only=0, tim={now}");
    }
    trace.client(2, 10);
    let outcome = one(trace.text);
    let (id, said) = &practices(&outcome)[0];
    assert_eq!(*id, "practice-cpu");
    assert!(said.starts_with("200 commits, one a row: 20.0 ms. Commit once a unit of work."), "{said}");
}

#[test]
fn real_traces_lead_with_what_their_counts_say() {
    let first = |name: &str| real(name).map(|outcome| practices(&outcome)[0].1.clone());
    let Some(commits) = first("10203_j000_8468_buffer_busy.trc.gz") else { return };
    assert!(commits.starts_with("10 000 commits, one a row: 1.05 s."), "{commits}");
    let keys = first("11203_ora_2443_ParsingTest2.trc.gz").expect("it is there");
    assert!(
        keys.starts_with("10 000 executions of ac9gap7r80bcr") && keys.contains("return 0.305 rows each"),
        "{keys}"
    );
    assert!(keys.contains("656 µs") && !keys.contains("array"), "{keys}");
    let untraced = first("18300_ora_6884_job_1_LOB.trc.gz").expect("it is there");
    assert!(untraced.contains("It holds round trips to the") && untraced.contains("9hk9mvkz24khr"), "{untraced}");
    let literals = real("11203_ora_2441_ParsingTest1.trc.gz").expect("it is there");
    assert!(practice(&literals, "cpu-parse").contains("whose texts differ in their literals alone"));
}
