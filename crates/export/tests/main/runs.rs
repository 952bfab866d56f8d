//! The rows of real runs, as DuckDB, Arrow and Polars read them, are the numbers of the run documents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use export::folder::Existing;
use export::runs::{RunWriter, RunsError, Words};
use measure::Run;
use measure::store::read_run;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::python::has;

/// The documents that earlier versions kept, of all kinds, and one with what is hard to carry.
fn runs() -> Vec<Run> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/runs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut runs: Vec<Run> = paths.iter().map(|path| read_run(path).unwrap()).collect();
    assert!(runs.len() >= 10, "the documents are gone");
    let mut strange = runs.iter().find(|run| run.experiment == "disk").unwrap().clone();
    strange.id = "strange".into();
    strange.started = "yesterday, about noon".into();
    strange.host.cpu = Some("a \"quoted\", name\nin two lines; ünï".into());
    strange.cases[0].parameters.insert("depth".into(), json!("very deep"));
    strange.cases[1].parameters.insert("depth".into(), json!(1.5));
    runs.push(strange);
    runs
}

fn words(run: &Run) -> Words {
    Words { name: format!("{} {}", run.experiment, run.started), subject: "a place".into() }
}

/// The file of all runs, and how many rows it says to have.
fn written(folder: &TempDir, name: &str, runs: &[Run]) -> (PathBuf, u64) {
    let path = folder.path().join(name);
    let mut writer = RunWriter::begin(&path, Existing::Refuse).unwrap();
    runs.iter().for_each(|run| writer.write(run, &words(run)).unwrap());
    (path, writer.finish().unwrap())
}

/// What a Python program prints as JSON, started with one word.
fn asked(program: &str, word: &Path) -> Value {
    let output = Command::new("python3").args(["-c", program]).arg(word).output().unwrap();
    assert!(output.status.success(), "{program}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What stands in the documents, in the order and the shape in which the programs below print rows.
fn expected(runs: &[Run]) -> Vec<Value> {
    let mut rows = Vec::new();
    for run in runs {
        for (number, case) in run.cases.iter().enumerate() {
            let depth = case.parameters.get("depth").and_then(Value::as_i64);
            for metric in &case.metrics {
                let statistics = &metric.statistics;
                rows.push(json!([
                    run.id,
                    number,
                    depth,
                    metric.name,
                    metric.unit.symbol(),
                    statistics.median,
                    statistics.n,
                    statistics.p99,
                    metric.source,
                    null
                ]));
            }
        }
        for metric in &run.own_cost {
            let (median, n, p99) = (metric.statistics.median, metric.statistics.n, metric.statistics.p99);
            rows.push(json!([
                run.id,
                null,
                null,
                metric.name,
                metric.unit.symbol(),
                median,
                n,
                p99,
                metric.source,
                null
            ]));
        }
        for finding in run.findings.iter().filter(|finding| finding.id.starts_with("absent-")) {
            rows.push(json!([run.id, null, null, null, null, null, null, null, null, finding.message]));
        }
    }
    rows
}

const NAMES: &str = "run, case_number, depth, metric, unit, median, n, p99, source, absent";

fn assert_rows(found: &Value, runs: &[Run]) {
    let expected = expected(runs);
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().any(|row| !row[9].is_null()), "no run says why a number is absent");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn duckdb_reads_the_numbers_of_the_runs_to_the_last_digit() {
    if !has("duckdb") {
        return;
    }
    let (folder, runs) = (TempDir::new().unwrap(), runs());
    let (path, rows) = written(&folder, "rows.parquet", &runs);
    assert_eq!(rows, expected(&runs).len() as u64);
    let program = format!(
        "import duckdb, json, sys\nprint(json.dumps(duckdb.sql(f\"SELECT {NAMES} FROM '{{sys.argv[1]}}'\").fetchall()))"
    );
    assert_rows(&asked(&program, &path), &runs);
}

#[test]
fn arrow_reads_the_numbers_of_the_runs_to_the_last_digit() {
    if !has("pyarrow") {
        return;
    }
    let (folder, runs) = (TempDir::new().unwrap(), runs());
    let (path, _) = written(&folder, "rows.parquet", &runs);
    let program = format!(
        "import json, sys, pyarrow.parquet\ntable = pyarrow.parquet.read_table(sys.argv[1])\n\
         names = '{NAMES}'.split(', ')\n\
         print(json.dumps([[row[name] for name in names] for row in table.to_pylist()]))"
    );
    assert_rows(&asked(&program, &path), &runs);
}

#[test]
fn polars_reads_the_numbers_of_the_runs_to_the_last_digit() {
    if !has("polars") {
        return;
    }
    let (folder, runs) = (TempDir::new().unwrap(), runs());
    let (path, _) = written(&folder, "rows.parquet", &runs);
    let program = format!(
        "import json, sys, polars\nframe = polars.read_parquet(sys.argv[1])\n\
         print(json.dumps(frame.select('{NAMES}'.split(', ')).rows()))"
    );
    assert_rows(&asked(&program, &path), &runs);
}

#[test]
fn csv_and_parquet_hold_the_same_rows() {
    if !has("duckdb") {
        return;
    }
    let (folder, runs) = (TempDir::new().unwrap(), runs());
    let (_, rows) = written(&folder, "rows.parquet", &runs);
    assert_eq!(written(&folder, "rows.csv", &runs).1, rows);
    let program = "import duckdb, json, os, sys\nos.chdir(sys.argv[1])\n\
                   duckdb.sql(\"CREATE TABLE read AS SELECT * FROM 'rows.parquet' LIMIT 0\")\n\
                   duckdb.sql(\"COPY read FROM 'rows.csv' (HEADER, DELIMITER ',', NULLSTR '')\")\n\
                   ask = lambda sql: duckdb.sql(sql).fetchall()[0][0]\n\
                   print(json.dumps([ask('SELECT count(*) FROM read'),\n\
                   ask(\"SELECT count(*) FROM (FROM read EXCEPT ALL FROM 'rows.parquet')\"),\n\
                   ask(\"SELECT count(started) FROM read WHERE run <> 'strange'\"),\n\
                   ask(\"SELECT count(started) FROM read WHERE run = 'strange'\")]))";
    let found = asked(program, folder.path());
    let strange = expected(&runs).iter().filter(|row| row[0] == "strange").count() as u64;
    assert_eq!(found, json!([rows, 0, rows - strange, 0]));
}

#[test]
fn a_text_that_ends_with_a_nul_does_not_keep_the_rows_out_of_postgresql() {
    let (folder, mut runs) = (TempDir::new().unwrap(), runs());
    runs[0].cases[0].parameters.insert("text".into(), "select seq\0".into());
    runs[0].host.cpu = Some("a name\0".into());
    let (path, _) = written(&folder, "rows.csv", &runs);
    let csv = fs::read_to_string(path).unwrap();
    assert!(csv.contains("select seq\u{fffd}") && csv.contains("a name\u{fffd}"));
    assert!(!csv.contains('\0') && !csv.contains("\\u0000"));
}

/// The module that reads the rows in Python.
const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/python");

#[test]
fn a_statement_of_a_megabyte_does_not_keep_the_python_module_from_all_other_rows() {
    if !has("csv") {
        return;
    }
    let (folder, mut runs) = (TempDir::new().unwrap(), runs());
    runs[0].cases[0].parameters.insert("text".into(), "x".repeat(1 << 20).into());
    let (_, rows) = written(&folder, "rows.csv", &runs);
    // In the place of the program, which writes such a file.
    let program = "import os, readpath, shutil, sys\n\
                   table = os.path.join(sys.argv[1], 'rows.csv')\n\
                   readpath._call = lambda words, _: shutil.copy(table, words[words.index('--output') + 1])\n\
                   texts = readpath.rows()['parameters']\n\
                   print(len(texts), max(len(text or '') for text in texts) >> 20)";
    let mut python = Command::new("python3");
    let python = python.args(["-c", program]).arg(folder.path()).env("PYTHONPATH", MODULE);
    let output = python.env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{rows} 1\n"));
}

#[test]
fn a_case_has_one_text_of_its_parameters_whatever_their_order_and_an_interval_around_its_value() {
    if !has("duckdb") {
        return;
    }
    let (folder, mut runs) = (TempDir::new().unwrap(), runs());
    let is_modelled = |run: &Run| run.subject.get("kind").is_some_and(|kind| kind == "model");
    runs.retain(|run| run.experiment == "disk" && run.id != "strange" && is_modelled(run));
    let mut other = runs[0].clone();
    other.id = "other".into();
    for case in &mut other.cases {
        case.parameters = case.parameters.clone().into_iter().rev().collect();
    }
    runs.push(other);
    written(&folder, "rows.parquet", &runs);
    let program = "import duckdb, json, os, sys\nos.chdir(sys.argv[1])\n\
                   ask = lambda sql: duckdb.sql(sql + \" FROM 'rows.parquet'\").fetchall()[0][0]\n\
                   print(json.dumps([ask('SELECT count(DISTINCT parameters)'),\n\
                   ask('SELECT count(*) FILTER (low <= value AND value <= high) = count(low)'),\n\
                   ask('SELECT count(low) > 0'), ask(\"SELECT min(device)\"), ask(\"SELECT min(subject)\")]))";
    let found = asked(program, folder.path());
    assert_eq!(found, json!([runs[0].cases.len(), true, true, "model:hdd-7200", "a place"]));
}

#[test]
fn a_file_that_does_not_come_to_an_end_leaves_nothing_and_what_is_there_stays() {
    let folder = TempDir::new().unwrap();
    let begin = |name: &str, existing| RunWriter::begin(&folder.path().join(name), existing);
    let files = || fs::read_dir(folder.path()).unwrap().count();
    let mut writer = begin("rows.csv", Existing::Refuse).unwrap();
    writer.write(&runs()[0], &Words::default()).unwrap();
    drop(writer);
    assert_eq!(files(), 0);
    fs::write(folder.path().join("rows.csv"), "years of work").unwrap();
    assert!(matches!(begin("rows.csv", Existing::Refuse), Err(RunsError::Exists(_))));
    drop(begin("rows.csv", Existing::Replace).unwrap());
    assert_eq!(fs::read_to_string(folder.path().join("rows.csv")).unwrap(), "years of work");
    assert_eq!(begin("rows.csv", Existing::Replace).unwrap().finish().unwrap(), 0);
    assert!(fs::read_to_string(folder.path().join("rows.csv")).unwrap().starts_with("run,name,job,experiment,"));
    let late = begin("late.csv", Existing::Refuse).unwrap();
    fs::write(folder.path().join("late.csv"), "another's").unwrap();
    assert!(matches!(late.finish(), Err(RunsError::Exists(_))), "it appeared meanwhile");
    assert_eq!(fs::read_to_string(folder.path().join("late.csv")).unwrap(), "another's");
    fs::remove_file(folder.path().join("late.csv")).unwrap();
    assert!(matches!(begin("rows.json", Existing::Refuse), Err(RunsError::Ending(_))));
    assert!(matches!(begin("rows", Existing::Refuse), Err(RunsError::Ending(_))));
    assert!(matches!(begin("none/rows.csv", Existing::Refuse), Err(RunsError::NotWritten { .. })));
    fs::create_dir(folder.path().join("folder.csv")).unwrap();
    assert!(matches!(begin("folder.csv", Existing::Replace), Err(RunsError::Folder(_))));
    assert_eq!(files(), 2);
}
