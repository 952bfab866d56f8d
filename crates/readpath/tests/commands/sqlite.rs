//! SQLite as users name it with `--on`: figures of every path, and a given file that nothing happens to.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::user::{User, cases, ids, median, metric};

/// One small table, and as few samples as say something.
const SMALL: &str = "--payload 1MiB --row-length 250 --columns 5 --repeat 3";

/// The cases measured on SQLite.
fn on_sqlite(document: &Value) -> impl Iterator<Item = &Value> {
    cases(document).filter(|case| case["parameters"]["subject"].as_str().unwrap().starts_with("sqlite 3."))
}

#[test]
fn a_logical_read_of_sqlite_stands_beside_the_engines() {
    let user = User::new();
    let document = user.document(&format!("lio --on sqlite,engine {SMALL}"));
    assert_eq!(document["subject"]["kind"], "sqlite");
    let rows = (1_u64 << 20) / 250;
    let found: Vec<_> = on_sqlite(&document).collect();
    assert_eq!(found.len(), 6, "three ways, rows and the last column");
    for case in &found {
        assert_eq!((median(case, "rows"), median(case, "physical_reads")), (rows as f64, 0.0), "{case}");
        assert!(median(case, "lio") > 0.0 && metric(case, "statement_beside")["unit"] == "us", "{case}");
        assert!(metric(case, "gets")["source"].as_str().unwrap().contains("sqlite3_db_status"), "{case}");
    }
    assert_eq!(cases(&document).filter(|case| case["parameters"]["subject"] == "engine").count(), 4);
    assert!(ids(&document).contains(&"answer-random-access"));
    let page = String::from_utf8(user.run("show last").stdout).unwrap();
    assert!(page.contains("sqlite 3."), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn every_path_of_sqlite_counts_what_the_engine_counts() {
    let document = User::new().document("scan --on sqlite --rows 20000 --repeat 2 --no-valgrind");
    let mut counts: Vec<f64> = cases(&document).map(|case| median(case, "count")).collect();
    counts.dedup();
    assert_eq!(counts.len(), 1, "{counts:?}");
    let paths: Vec<&str> = on_sqlite(&document).map(|case| case["parameters"]["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["index-bad-clustering", "index-good-clustering", "full-scan", "index-only-scan"]);
    assert!(ids(&document).contains(&"answer-against-engine"));
}

#[test]
fn a_given_file_is_read_and_stays_as_it_was() {
    let (user, folder) = (User::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("shop.db");
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)";
    let make =
        format!("CREATE TABLE orders (id INTEGER PRIMARY KEY, name); {rows} INSERT INTO orders SELECT i, i FROM n");
    Connection::open(&path).unwrap().execute_batch(&make).unwrap();
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let document = user.document(&format!("lio --on sqlite:{} {SMALL}", path.display()));
    let found: Vec<&Value> = on_sqlite(&document).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["parameters"]["table"], "orders");
    assert_eq!((median(found[0], "rows"), median(found[0], "physical_reads")), (3000.0, 0.0));
    assert!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap()) == before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no journal, no log, no shared memory");
}

#[test]
fn two_files_of_one_name_are_refused_because_their_cases_would_be_alike() {
    let user = User::new();
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)";
    let make = format!("CREATE TABLE orders (id INTEGER PRIMARY KEY); {rows} INSERT INTO orders SELECT i FROM n");
    for name in ["a/shop.db", "b/shop.db", "b/stock.db"] {
        Connection::open(user.file(name, b"")).unwrap().execute_batch(&make).unwrap();
    }
    let of = |second: &str| format!("lio --on sqlite:a/shop.db,sqlite:{second} --repeat 3 --alone --no-store");
    let refusal = user.refused(&of("b/shop.db"), 2);
    assert!(refusal.contains("sqlite:a/shop.db and sqlite:b/shop.db are files of one name, so"), "{refusal}");
    let refusal = user.refused(&of("./a/shop.db"), 2);
    assert!(refusal.contains("sqlite:a/shop.db and sqlite:./a/shop.db are one file: name it once."), "{refusal}");
    let document = user.document(&of("b/stock.db"));
    let names: Vec<&str> = on_sqlite(&document).map(|case| case["parameters"]["subject"].as_str().unwrap()).collect();
    assert!(names.len() == 2 && names[0].ends_with("shop.db") && names[1].ends_with("stock.db"), "{names:?}");
}

#[test]
fn what_names_no_database_is_refused_in_a_sentence() {
    let (user, folder) = (User::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("shop.db");
    let word = format!("lio --on sqlite:{} {SMALL}", path.display());
    // As any file that cannot be read: the command line is right.
    assert!(user.refused(&word, 1).contains("shop.db"));
    fs::write(&path, "no database").unwrap();
    assert!(user.refused(&word, 1).contains("not an SQLite database"));
    assert!(user.refused("lio --on sqlite?page_size=4000", 2).contains("page_size=8192"));
    assert!(user.refused("lio --on sqlite --dry-run", 2).contains("--dry-run"));
    assert!(user.refused(&format!("scan --on sqlite:{}", path.display()), 2).contains("--on sqlite"));
}
