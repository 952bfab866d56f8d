//! `readpath profile --by --where`, readings and the miss curve, as a user meets them.

// What stands beside the tests of this file is called by them alone.
use std::fmt::Write;

use serde_json::Value;

use crate::user::User;

/// A trace whose fetches read 200 blocks of file 4 twice, from memory, and 100 of file 5 once, from a disk.
fn trace() -> String {
    let mut trace = String::from(
        "Trace file /tmp/shop_ora_1.trc\n\
         *** SESSION ID:(7.11) 2026-01-31 12:00:00.000\n\
         =====================\n\
         PARSING IN CURSOR #1 len=31 dep=0 uid=9 oct=3 lid=9 tim=1000000 hv=1 ad='0' sqlid='5ncdvm4r9w3cx'\n\
         SELECT * FROM stock WHERE id=:1\n\
         END OF STMT\n",
    );
    let mut clock = 1_000_000;
    let mut read = |file: i64, block: i64, micros: i64| {
        clock += micros + 10;
        let place = format!("file#={file} block#={block} blocks=1 obj#={}", file * 100);
        let line = format!("WAIT #1: nam='db file sequential read' ela= {micros} {place} tim={clock}");
        writeln!(trace, "{line}").unwrap();
    };
    for pass in 0..2 {
        (0..200).for_each(|block| read(4, 1000 + block, 36 + (block + pass) % 9));
    }
    (0..100).for_each(|block| read(5, 77 * block, 7000 + 31 * (block % 60)));
    let end = clock + 100;
    let elapsed = end - 1_000_000;
    writeln!(trace, "FETCH #1:c=50000,e={elapsed},p=500,cr=2000,cu=0,mis=0,r=400,dep=0,og=1,plh=1,tim={end}").unwrap();
    trace
}

#[test]
fn sessions_that_no_line_names_have_a_name_in_a_breakdown() {
    let user = User::new();
    for (name, time) in [("a.trc", 1_000_000), ("b.trc", 9_000_000)] {
        let line = format!("EXEC #1:c=100,e=200,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=0,tim={time}\n");
        user.file(name, line.as_bytes());
    }
    let page = user.ok("profile a.trc b.trc --by session --no-store");
    let (rest, count) = (page.replace("unnamed (2)", ""), page.matches("unnamed (2)").count());
    assert!(count > 0 && rest.contains("unnamed"), "{page}");
}

/// A user with the trace in the home, which each command line profiles.
fn user() -> User {
    let user = User::calling("profile shop.trc --no-store");
    user.file("shop.trc", trace().as_bytes());
    user
}

/// The cases of a table.
fn table(user: &User, table: &str, words: &[&str]) -> Vec<Value> {
    let run = user.document(words);
    run["cases"].as_array().unwrap().iter().filter(|case| case["parameters"]["table"] == table).cloned().collect()
}

fn value(case: &Value, metric: &str) -> f64 {
    let metrics = case["metrics"].as_array().unwrap();
    metrics.iter().find(|one| one["name"] == metric).unwrap()["median"].as_f64().unwrap()
}

#[test]
fn one_event_is_followed_to_the_file_and_the_sums_are_those_of_the_profile() {
    let user = user();
    let rows = table(&user, "skew", &["--by", "file", "--where", "event=db file sequential read"]);
    let files: Vec<&Value> = rows.iter().map(|row| &row["parameters"]["file"]).collect();
    assert_eq!(files, ["5", "4"]);
    assert_eq!((value(&rows[0], "calls"), value(&rows[1], "calls")), (100.0, 400.0));
    let total: f64 = rows.iter().map(|row| value(row, "total")).sum();
    let event = table(&user, "event", &[]).into_iter().find(|row| row["parameters"].get("session").is_none()).unwrap();
    assert_eq!(total, value(&event, "total"));
    let everything = table(&user, "skew", &["--by", "event"]);
    assert_eq!(everything.len(), 2);
    assert_eq!(value(&everything[1], "total"), 50_000.0, "CPU");
}

#[test]
fn a_condition_alone_breaks_down_by_event_and_stands_on_the_page() {
    let user = user();
    let page = user.ok(&["--where", "file=4 and latency<40us", "--where", "block>1100"]);
    assert!(page.contains("where file=4 and latency<40us and block>1100"), "{page}");
    assert!(page.contains("by event"), "{page}");
    assert!(!page.contains("where the time went"), "a breakdown stands alone: {page}");
    let empty = user.ok(&["--by", "block", "--where", "file=99"]);
    assert!(empty.contains("--by file without --where"), "{empty}");
    let place = empty.find("No call and no wait passes the filter").expect("said");
    assert!(empty[..place].lines().count() <= 5, "said first: {empty}");
    assert_eq!(empty.matches("passes the filter").count(), 1, "{empty}");
}

#[test]
fn a_histogram_stands_in_the_order_of_its_values_and_top_says_how_many_rows() {
    let user = user();
    let rows = table(&user, "skew", &["--by", "latency"]);
    let means: Vec<f64> = rows.iter().map(|row| value(row, "mean")).collect();
    assert!(means.is_sorted() && means.len() > 1, "{means:?}");
    let page = user.ok(&["--by", "block", "--top", "3"]);
    assert!(page.contains(" others"), "{page}");
    let rows = page.lines().skip_while(|line| !line.starts_with("by block")).skip(1);
    assert_eq!(rows.take_while(|line| !line.contains(" others")).count(), 3, "{page}");
}

#[test]
fn the_help_does_not_promise_a_csv_of_the_breakdown_alone() {
    let user = user();
    let rows = user.ok(&["--by", "event,file", "--format", "csv"]);
    let columns: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    assert!(["table", "event", "file"].iter().all(|name| columns.contains(name)), "{columns:?}");
    assert!(rows.contains(",skew,") && rows.contains(",summary,"), "{rows}");
    let help = User::new().ok("profile --help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("JSON and CSV keep all tables: the breakdown is the one that is called skew"), "{help}");
}

#[test]
fn what_cannot_be_read_is_refused_with_what_to_write() {
    let user = user();
    for (words, said) in [
        (["--by", "colour"], "'colour' is not a dimension: write one of event, class, file"),
        (["--by", "file,file"], "twice"),
        (["--where", "event"], "no operator"),
        (["--where", "latency>5"], "500us"),
        (["--where", "file=four"], "'four' is not a number"),
        (["--where", "file~4"], "'~' is no operator for file, which is a number: write =, !=, <, <=, > or >="),
        (["--where", "file=4 or file=5"], "join them with 'and'"),
    ] {
        let complaint = user.refused(&words, 2);
        assert!(complaint.contains(said), "{words:?}: {complaint}");
    }
}

#[test]
fn a_plain_profile_tells_tiers_the_cost_of_a_get_and_what_a_larger_cache_saves() {
    let user = user();
    let tiers = table(&user, "tier", &[]);
    let names: Vec<&Value> = tiers.iter().map(|tier| &tier["parameters"]["tier"]).collect();
    assert_eq!(names, ["file-system-cache", "disk"]);
    assert_eq!((value(&tiers[0], "calls"), value(&tiers[1], "calls")), (400.0, 100.0));
    let readings = table(&user, "reading", &[]);
    let reading = |name: &str| readings.iter().find(|row| row["parameters"]["reading"] == name).unwrap();
    assert_eq!(value(reading("logical-io"), "lio"), 25.0);
    assert_eq!(value(reading("re-read-blocks"), "share_of_reads"), 40.0);
    let curve = table(&user, "miss_curve", &[]);
    assert_eq!(curve.len(), 1, "a loop over 200 blocks is saved by 256 and by nothing less");
    assert_eq!(curve[0]["parameters"]["extra_blocks"], 256);
    assert_eq!((value(&curve[0], "reads_avoided"), value(&curve[0], "share_error")), (200.0, 0.0));
    assert!(table(&user, "skew", &[]).is_empty());
    let page = user.ok("");
    assert!(page.contains("were as fast as memory"), "{page}");
    assert!(page.contains("more cache") && page.contains("A block has 8 KiB, which is assumed"), "{page}");
}
