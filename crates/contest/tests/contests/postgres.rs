//! The engine's logical reads against PostgreSQL's: a dear engine is noticed.

use std::path::{Path, PathBuf};

use measure::schema::lio::LIO;
use measure::{Case, Metric};
use serde_json::json;

use crate::program::{Outcome, contest, kept, run_document, script};

/// One short pair of two small tables, of which one has rows too long for PostgreSQL to leave them whole by itself.
const SHORT: [&str; 7] = [
    "postgres",
    "--pairs=1",
    "--payload=8MiB",
    "--row-length=2500,25",
    "--columns=5",
    "--without-pool",
    "--fail-on-miss",
];

/// A program that answers like the engine, with this time a block.
fn engine_that_answers(folder: &Path, lio_us: f64) -> PathBuf {
    let case = |row_length: u32, touch: &str| {
        let parameters = json!({
            "row_length": row_length, "columns": 5, "touch": touch,
            "access": "full-scan", "threads": 1, "changed_rows": 0,
        });
        let mut case = Case::new(parameters.as_object().expect("parameters").clone());
        case.metrics.push(LIO.single("test", lio_us));
        case
    };
    let cases = [2500, 25].into_iter().flat_map(|length| ["rows", "column-5"].map(|touch| case(length, touch)));
    let document = run_document("lio", cases.collect());
    script(folder, "engine", &format!("cat <<'END'\n{document}\nEND"))
}

/// A short contest against an engine that takes this time a block; `None` where there is no PostgreSQL.
fn short_with(folder: &Path, lio_us: f64) -> Option<Outcome> {
    let engine = engine_that_answers(folder, lio_us);
    let more = [format!("--readpath={}", engine.display()), format!("--results={}", folder.join("results").display())];
    contest(SHORT.map(String::from).iter().chain(&more)).unless_a_peer_is_missing()
}

#[test]
fn a_dear_engine_is_called_dearer() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(outcome) = short_with(folder.path(), 1e6) else { return };
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.page.contains("The bars: dearer (0 of 4 met)."), "{outcome:?}");
}

#[test]
fn a_cheap_engine_is_not_called_dearer_and_the_report_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(outcome) = short_with(folder.path(), 1e-6) else { return };
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.page.contains("The bars: met (4 of 4 met)."), "{outcome:?}");
    let run = kept(&folder.path().join("results"), "postgres");
    let of = |name| run.cases.iter().filter_map(move |case| case.metric(name)).map(Metric::median);
    // Three rows of 2500 bytes stand in a block, and none was moved out of it.
    assert!(of("rows_per_block").next().is_some_and(|rows| (2.9..=3.0).contains(&rows)), "{run:?}");
    assert!(of("lio").count() == 8 && of("lio").all(|us| us > 0.0), "{run:?}");
}

#[test]
fn a_cell_that_cannot_be_says_what_to_ask_for() {
    let refusal = |words: [&str; 2]| contest(["postgres", words[0], words[1]]).complaint;
    assert!(refusal(["--row-length=10", "--columns=25"]).contains("ask for rows of 25 bytes"));
    assert!(refusal(["--payload=100", "--row-length=250"]).contains("holds no row of 250 x 1"));
}
