//! Plans that real servers of 16 and 17 wrote, and what other tools say of them; outside of this repository, so these
//! tests skip where they are not there.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says so")]

use std::fs;
use std::path::{Path, PathBuf};

use profile::event::{Call, Context, Observer, PlanLine, Ticks, Wait};
use profile::source::postgres_log::figures::figures;
use profile::source::postgres_log::format::LogFormat;
use profile::source::postgres_log::plan::read_plan;
use profile::source::postgres_log::source::LogSource;

/// The folder of the plans; `None`, said, where it is absent.
fn plans() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle");
    let traces = std::env::var_os("READPATH_TRACES").unwrap_or_else(|| beside.into());
    let folder = Path::new(&traces).join("../postgres");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: the PostgreSQL plans are not beside the repository");
    None
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[derive(Default)]
struct Sums {
    calls: Vec<Call>,
    waits: Vec<Wait>,
    lines: Vec<PlanLine>,
}

impl Observer for Sums {
    fn call(&mut self, _: &Context, call: &Call) {
        self.calls.push(call.clone());
    }
    fn wait(&mut self, _: &Context, wait: &Wait) {
        self.waits.push(*wait);
    }
    fn plan_line(&mut self, _: &Context, line: &PlanLine) {
        self.lines.push(line.clone());
    }
}

#[test]
fn every_given_plan_is_read_and_its_own_figures_add_up() {
    let Some(folder) = plans() else { return };
    let files = files(&folder);
    assert!(files.len() >= 30, "{}", files.len());
    for path in files {
        let name = path.display();
        let text = fs::read(&path).unwrap();
        let document = read_plan(&text).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
        let said = String::from_utf8_lossy(&text).matches("\"Node Type\"").count();
        assert_eq!(document.nodes.len(), said, "{name}");
        let figures = figures(&document.nodes);
        let own: Ticks = figures.iter().map(|node| node.own.time).sum();
        assert_eq!(own, figures[0].inclusive.time, "{name}");
        assert_eq!(Some(own), document.nodes[0].loop_time.or(Some(Ticks::ZERO)), "{name}");
        let gets: i64 = figures.iter().map(|node| node.own.blocks.gets()).sum();
        assert_eq!(gets, document.nodes[0].blocks.gets(), "{name}");
        let (mut sums, mut source) = (Sums::default(), LogSource::new());
        assert_eq!(source.read_log(&text[..], &mut sums).unwrap(), Some(LogFormat::Plan), "{name}");
        assert_eq!((sums.calls.len(), sums.lines.len()), (1, if document.nodes[0].is_measured { said } else { 0 }));
    }
}

#[test]
fn buffers_and_times_are_those_that_the_text_beside_the_plan_says() {
    let Some(folder) = plans() else { return };
    let mut compared = 0;
    for path in files(&folder.join("pg_explain_joe")) {
        let version = path.parent().unwrap().file_name().unwrap();
        let golden = folder.join("pg_explain_joe/golden").join(version).join(path.file_name().unwrap());
        let Ok(text) = fs::read_to_string(golden.with_extension("txt")) else { continue };
        let document = read_plan(&fs::read(&path).unwrap()).unwrap();
        let root = &document.nodes[0];
        let number = |after: &str| -> Option<i64> {
            let digits: String = text.split(after).nth(1)?.trim().chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        assert_eq!(number("- hits: "), Some(root.blocks.hit), "{}", path.display());
        assert_eq!(number("- reads: "), Some(root.blocks.read), "{}", path.display());
        let execution = text.split("- execution: ").nth(1).unwrap().split(' ').next().unwrap();
        let said = document.execution_time.unwrap().micros() / 1000.0;
        assert_eq!(format!("{said:.3}"), execution, "{}", path.display());
        // The operations stand in the same order.
        let of_text = text.lines().filter(|line| line.contains("(cost=")).map(first_words);
        let of_plan: Vec<String> = document.nodes.iter().map(|node| node.operation.clone()).collect();
        for (text, operation) in of_text.zip(&of_plan) {
            let first = text.split(' ').next().unwrap();
            assert!(operation.contains(first) || operation.contains("Aggregate"), "{text} is not {operation}");
        }
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}

/// What a line of a plan says before its figures.
fn first_words(line: &str) -> &str {
    line.split("  (cost=").next().unwrap_or(line).trim_start_matches([' ', '-', '>'])
}

#[test]
fn reads_that_a_parallel_query_waited_for_are_not_longer_than_the_query() {
    let Some(folder) = plans() else { return };
    let text = fs::read(folder.join("pg_auto_explain_pganalyze/json_parallel_plan.in.json")).unwrap();
    let mut sums = Sums::default();
    let mut source = LogSource::new();
    source.read_log(&text[..], &mut sums).unwrap();
    let waited: Ticks = sums.waits.iter().map(|wait| wait.elapsed).sum();
    assert!(waited > Ticks::ZERO);
    // The processes' times add up to more than the wait of the query, which had to be at most their sum.
    let document = read_plan(&text).unwrap();
    assert!(waited <= document.nodes[0].io.unwrap().read);
}
