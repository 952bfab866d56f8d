//! `readpath compare` of two traces or logs: what became faster and slower, and what is refused.

use std::fs;

use serde_json::Value;

use crate::user::{User, complaint};

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/shop_ora_4711.trc");

/// A trace of executions of one statement that take these times, by a plan of this hash and these lines.
fn trace(micros: &[u64], hash: u32, lines: &[&str]) -> String {
    let mut text = String::from(
        "*** SESSION ID:(12.345) 2026-11-21 10:00:00.000\n\
         PARSING IN CURSOR #140 len=20 dep=0 uid=83 oct=3 lid=83 tim=1000000 hv=11 ad='7f' sqlid='aaaaaaaaaaaaa'\n\
         select n from orders\nEND OF STMT\n",
    );
    let mut now = 1_000_000;
    for micros in micros {
        now += micros;
        text += &format!("EXEC #140:c={micros},e={micros},p=0,cr=3,cu=0,mis=0,r=0,dep=0,og=1,plh={hash},tim={now}\n");
        now += 10;
        text += &format!("FETCH #140:c=5,e=10,p=0,cr=3,cu=0,mis=0,r=2,dep=0,og=1,plh={hash},tim={now}\n");
    }
    for (place, line) in lines.iter().enumerate() {
        let id = place + 1;
        text += &format!("STAT #140 id={id} cnt=2 pid={place} pos=1 obj=7 op='{line} (cr=3 pr=0 pw=0 time=9 us)'\n");
    }
    text
}

fn file(user: &User, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = user.home.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The page of a command that must succeed.
fn page(user: &User, words: &str) -> String {
    let output = user.run(words);
    assert!(output.status.success(), "{words}: {}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn named<'a>(rows: &'a Value, name: &str) -> &'a Value {
    rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows}"))
}

#[test]
fn a_trace_compared_with_itself_has_not_changed() {
    let shown = page(&User::new(), &format!("compare {SHOP} {SHOP}"));
    assert!(shown.contains("Nothing changed"), "{shown}");
    assert!(!shown.contains("slower"), "{shown}");
}

#[test]
fn a_statement_with_another_plan_is_named_with_the_lines_that_differ() {
    let user = User::new();
    let fast: Vec<u64> = (0..30).map(|number| 100 + number % 3).collect();
    let slow: Vec<u64> = (0..30).map(|number| 900 + number % 3).collect();
    let before = file(&user, "before.trc", trace(&fast, 811, &["SORT AGGREGATE", "INDEX RANGE SCAN ORDERS_PK"]));
    let after = file(&user, "after.trc", trace(&slow, 902, &["SORT AGGREGATE", "TABLE ACCESS FULL ORDERS"]));
    let shown = page(&user, &format!("compare {before} {after}"));
    for text in [
        "plan of aaaaaaaaaaaaa: first 811, second 902",
        "  - INDEX RANGE SCAN ORDERS_PK",
        "  + TABLE ACCESS FULL ORDERS",
        "more than the executions' own spread",
    ] {
        assert!(shown.contains(text), "no {text}:\n{shown}");
    }
    assert!(!shown.contains("+ SORT AGGREGATE"), "{shown}");
    let document = user.document(&format!("compare {before} {after}"));
    let statement = named(&document["statements"], "aaaaaaaaaaaaa");
    assert_eq!(statement["spread"], "beyond");
    let difference = statement["execution_difference_us"].as_f64().unwrap();
    assert!((difference - 800.0).abs() < 1e-6, "{difference}");
    assert_eq!(statement["before"]["count"], 30);
    assert_eq!(named(&document["classes"], "cpu")["spread"], "beyond");
}

#[test]
fn a_difference_that_executions_show_among_themselves_is_called_that() {
    let user = User::new();
    let times = |seed: u64| -> Vec<u64> { (0..20).map(|number| 100 + (number * seed * 7919) % 4_000).collect() };
    let before = file(&user, "a.trc", trace(&times(3), 1, &["INDEX FULL SCAN I"]));
    let after = file(&user, "b.trc", trace(&times(5), 1, &["INDEX FULL SCAN I"]));
    let shown = page(&user, &format!("compare {before} {after}"));
    assert!(shown.contains("within the executions' own spread"), "{shown}");
    assert!(!shown.contains("plan of"), "{shown}");
}

#[test]
fn statements_that_are_new_or_gone_are_listed_and_no_text_hides_theirs() {
    let user = User::new();
    let other = trace(&[5, 6], 1, &[]).replace("aaaaaaaaaaaaa", "bbbbbbbbbbbbb").replace("from orders", "from secret");
    let (before, after) = (file(&user, "a.trc", trace(&[5, 6], 1, &[])), file(&user, "b.trc", other));
    let shown = page(&user, &format!("compare {before} {after}"));
    assert!(shown.contains("new statements") && shown.contains("statements that vanished"), "{shown}");
    assert!(shown.contains("bbbbbbbbbbbbb") && shown.contains("from secret"), "{shown}");
    let shown = page(&user, &format!("compare {before} {after} --no-text"));
    assert!(shown.contains("bbbbbbbbbbbbb") && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_statement_without_sqlid_is_held_against_the_same_text_with_one() {
    let user = User::new();
    let old = trace(&[500, 510], 0, &[]).replace(" sqlid='aaaaaaaaaaaaa'", "");
    let (before, after) = (file(&user, "10g.trc", old), file(&user, "11g.trc", trace(&[100, 110], 0, &[])));
    let document = user.document(&format!("compare {before} {after}"));
    assert_eq!(document["statements"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!((document["new"].as_array().unwrap().len(), document["vanished"].as_array().unwrap().len()), (0, 0));
}

#[test]
fn folders_and_patterns_are_compared_as_one_each() {
    let user = User::new();
    file(&user, "monday/a.trc", trace(&[100; 5], 1, &[]));
    file(&user, "monday/b.trc", trace(&[100; 5], 1, &[]));
    file(&user, "tuesday/a.trc", trace(&[300; 5], 1, &[]));
    let home = user.home.path().display();
    let document = user.document(&format!("compare {home}/monday {home}/tue*/*.trc"));
    assert_eq!((&document["before"]["files"], &document["after"]["files"]), (&2.into(), &1.into()));
    assert_eq!((&document["before"]["executions"], &document["after"]["executions"]), (&10.into(), &5.into()));
}

#[test]
fn two_times_of_one_trace_add_up_to_the_whole() {
    let user = User::new();
    let whole = user.document(&format!("compare {SHOP} {SHOP}"))["before"].clone();
    let number = |value: &Value, field: &str| value[field].as_f64().unwrap();
    for at in ["2026-01-01T09:00:00.100", "2026-01-01T09:00:00.550", "2026-01-01T09:00:01", "2026-01-01T09:00:02.868"] {
        let document = user.document(&format!("compare {SHOP} --at {at}"));
        for field in ["interval_us", "executions", "rows"] {
            let sum = number(&document["before"], field) + number(&document["after"], field);
            assert!((sum - number(&whole, field)).abs() < 1e-3, "{at}, {field}: {sum} of {}", whole[field]);
        }
        assert!(number(&document["after"], "executions") > 0.0, "{at}");
        let between = named(&document["classes"], "unaccounted-between");
        let sums = [&between["before"], &between["after"]].map(|side| number(side, "total_us"));
        assert!(sums.iter().all(|sum| *sum >= -1e-3), "{at}: a border cut a call in two: {between}");
        let halves = format!("--first ..{at} --second {at}..");
        let by_both = user.document(&format!("compare {SHOP} {halves}"));
        assert_eq!(by_both["classes"], document["classes"], "{halves}");
    }
    for (words, sentence) in [
        (format!("compare {SHOP}"), "two periods of one trace"),
        (format!("compare {SHOP} --first ..2026-01-01 --second ..2026-01-01"), "the same period"),
        (format!("compare {SHOP} {SHOP} --first 2026-01-01"), "two times with .. between"),
        (format!("compare {SHOP} --at 2026-01-01T09:00:01-05:00"), "write the time without the offset"),
        ("compare - --at 2026-01-01".into(), "read once"),
    ] {
        let output = user.run(&words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", complaint(&output));
        assert!(complaint(&output).contains(sentence), "{words}: {}", complaint(&output));
    }
    let output = user.run(&format!("compare {SHOP} --at 2030-01-01"));
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    let nothing = "there is no call and no wait from 2030-01-01 00:00:00 on in ";
    assert!(complaint(&output).contains(nothing), "{}", complaint(&output));
}

#[test]
fn files_are_chosen_on_both_sides_by_name_and_by_time() {
    let user = User::new();
    for day in ["monday", "tuesday"] {
        file(&user, &format!("{day}/a.trc"), trace(&[100; 5], 1, &[]));
        file(&user, &format!("{day}/b.trc"), trace(&[100; 5], 1, &[]).replace("2026-11-21", "2026-11-23"));
    }
    let home = user.home.path().display();
    let files = |words: &str| {
        let document = user.document(&format!("compare {home}/monday {home}/tuesday {words}"));
        (document["before"]["files"].as_u64(), document["after"]["executions"].as_u64())
    };
    assert_eq!(files(""), (Some(2), Some(10)));
    for words in ["--name a*", "--until 2026-11-22"] {
        assert_eq!(files(words), (Some(1), Some(5)), "{words}");
    }
    // What was last written before that time need not be opened, and these files were written just now.
    let output = user.run(&format!("compare {home}/monday {home}/tuesday --since 2199-01-01"));
    assert!(complaint(&output).contains("no file fits what --name, --since"), "{}", complaint(&output));
}

#[test]
fn conditions_leave_the_time_that_passes_them_and_all_executions() {
    let user = User::new();
    let whole = user.document(&format!("compare {SHOP} {SHOP}"));
    let nothing = user.document(&format!("compare {SHOP} {SHOP} --where event=none"));
    assert_eq!(nothing["response_time"]["before"]["total_us"], 0.0);
    let nothing = page(&user, &format!("compare {SHOP} {SHOP} --where class=foo"));
    let is_said = nothing.contains("No call and no wait passes the filter.");
    assert!(is_said && !nothing.contains("Nothing changed"), "{nothing}");
    let same = page(&user, &format!("compare {SHOP} {SHOP} --where class=cpu"));
    assert!(same.contains("Nothing changed") && !same.contains("passes the filter"), "{same}");
    let condition = "class=cpu";
    let document = user.document(&format!("compare {SHOP} {SHOP} --where {condition}"));
    let times = [&document, &whole].map(|document| named(&document["classes"], "cpu")["before"]["total_us"].as_f64());
    assert_eq!(times[0], times[1]);
    assert_eq!(document["response_time"]["before"]["total_us"].as_f64(), times[0], "nothing is unaccounted for");
    assert_eq!(document["before"]["executions"], whole["before"]["executions"]);
}

#[test]
fn two_kept_profiles_give_the_page_of_two_traces() {
    let user = User::new();
    let before = file(&user, "before.trc", trace(&[900; 30], 811, &["INDEX RANGE SCAN ORDERS_PK"]));
    let after = file(&user, "after.trc", trace(&[100; 30], 902, &["TABLE ACCESS FULL ORDERS"]));
    let of_files = user.document(&format!("compare {before} {after}"));
    page(&user, &format!("profile {before}"));
    page(&user, &format!("profile {after}"));
    let of_runs = user.document("compare last~1 last");
    for part in ["response_time", "classes", "statements"] {
        let totals = |document: &Value| -> Vec<Value> {
            let rows = document[part].as_array().cloned().unwrap_or_else(|| vec![document[part].clone()]);
            rows.iter().map(|row| serde_json::json!([row["name"], row["before"], row["after"]])).collect()
        };
        assert_eq!(totals(&of_runs), totals(&of_files), "{part}");
    }
    assert_eq!(of_runs["plans"], of_files["plans"]);
    assert!(page(&user, "compare last~1 last").contains("where the time went"));
    assert!(!page(&user, "compare last~1 last --no-text").contains("from orders"));
}

#[test]
fn what_kept_profiles_warn_of_quotes_no_text_where_texts_are_left_out() {
    let user = User::new();
    let trace = file(&user, "some.trc", trace(&[900; 30], 811, &["INDEX RANGE SCAN ORDERS_PK"]));
    page(&user, &format!("profile {trace}"));
    let mut quoting = user.document("show last");
    let message = "Rows are fetched one by one (300 fetches: aaaaaaaaaaaaa select n from orders).";
    let warning = serde_json::json!({"severity": "warning", "id": "row-by-row", "message": message});
    quoting["findings"].as_array_mut().unwrap().push(warning);
    let quoting = file(&user, "quoting.json", quoting.to_string());
    assert!(page(&user, &format!("compare last {quoting}")).contains("select"));
    let hidden = page(&user, &format!("compare last {quoting} --no-text"));
    assert!(hidden.contains("Warnings of the second:") && !hidden.contains("select"), "{hidden}");
}

#[test]
fn a_run_and_a_trace_or_a_trace_and_a_log_also_where_their_runs_were_kept_are_refused_in_one_sentence() {
    let user = User::new();
    let run = file(&user, "run.json", user.run("null --cases 1 --format json --no-store").stdout);
    let log = "2026-11-21 10:45:01.004 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:\n\
               \t{ \"Query Text\": \"select 1\", \"Plan\": { \"Node Type\": \"Seq Scan\" } }\n";
    let log = file(&user, "server.log", log);
    let kept = |name: &str, of: &str| file(&user, name, user.document(&format!("profile {of} --no-store")).to_string());
    let (of_trace, of_log) = (kept("of-trace.json", SHOP), kept("of-log.json", &log));
    for (words, sentence) in [
        (format!("compare {run} {SHOP}"), "is a run and"),
        (format!("compare {SHOP} {run}"), "is a run and"),
        (format!("compare {SHOP} {log}"), "cannot be compared"),
        (format!("compare {of_trace} {of_log}"), "is a trace of Oracle and"),
        (format!("profile {SHOP} --since 2026-02-01 --until 2026-01-01"), "no file was written then"),
        (format!("compare {SHOP} {SHOP} --since 2026-02-01 --until 2026-01-01"), "no file was written then"),
    ] {
        let output = user.run(&words);
        let said = complaint(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{words}: {said}");
        assert!(said.contains(sentence), "{said}");
    }
}

#[test]
fn what_cannot_be_read_is_said_and_damaged_traces_do_no_harm() {
    let user = User::new();
    let text = file(&user, "notes.trc", "no trace at all\n");
    let output = user.run(&format!("compare {SHOP} {text}"));
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("no trace was read"), "{}", complaint(&output));
    let sound = trace(&[100, 200, 300], 7, &["INDEX FULL SCAN I"]);
    let greatest = "9223372036854775807";
    let damages = [
        sound.replace("e=200", &format!("e={greatest}")),
        sound.replace("e=200", "e=-900000"),
        sound.replace("plh=7", "plh=18446744073709551615"),
        sound.replace("id=1", "id=4294967295"),
        sound[..sound.len() / 2].to_string(),
        sound.replace("select n", "\u{1b}[2Jselect"),
    ];
    for damage in damages {
        let damaged = file(&user, "damaged.trc", damage);
        for words in [format!("compare {SHOP} {damaged}"), format!("compare {damaged} {SHOP}")] {
            let shown = page(&user, &words);
            assert!(!shown.contains('\u{1b}') && !shown.contains("NaN"), "{shown}");
        }
    }
}
