//! Pages in a real browser, on a large screen and on a phone: nothing overlaps, nothing is cut off, nothing is asked of
//! a network, and nothing goes wrong. The pages and their screenshots stay in `target/tmp/pages`, to be looked at.
//! Whether everyone can read them is asked by `accessibility.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use measure::Run;
use report::page::{Chart, Column};
use report::{html, svg};
use serde_json::Value;

use crate::documents;
use crate::pages::{charts, kept};

/// What a page is asked from inside.
const QUESTIONS: &str = include_str!("browser.js");

/// Debian's browser, and the names that others give it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser of this machine; a skip where there is none.
#[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
pub(crate) fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).flat_map(|folder| BROWSERS.map(|name| folder.join(name)));
    let found = all.into_iter().find(|program| program.is_file());
    if found.is_none() {
        println!("skipped: there is no chromium here");
    }
    found
}

/// CSS pixels of the screens that a page is looked at: a large one and a phone.
const WIDTHS: [u32; 2] = [1400, 360];

/// As much of a page as a screenshot shows.
const HEIGHT: u32 = 12_000;

/// The document around a page: a window has a least width that is wider than a phone, a frame has none.
const AROUND: &str = "<pre id=answer></pre><script>const told = []; addEventListener('message', one => { \
                      told.push(JSON.parse(one.data)); document.getElementById('answer').textContent = \
                      JSON.stringify(told); });</script>";

/// A page in a frame of each width beside each other, with further scripts before the questions: what each answers, and
/// what the browser logged. The reader's system asks for light or dark colours.
pub(crate) fn opened(
    browser: &Path,
    (name, page): (&str, &str),
    is_dark: bool,
    scripts: &[&str],
) -> (Vec<Value>, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).unwrap();
    let name = format!("{name}{}", if is_dark { "-dark" } else { "" });
    let (inner, outer) = (format!("{name}.html"), format!("{name}-frames.html"));
    let inside: String = scripts.iter().chain([&QUESTIONS]).map(|text| format!("<script>{text}</script>")).collect();
    let asking = page.replacen("</body>", &format!("{inside}</body>"), 1);
    fs::write(folder.join(&inner), asking).unwrap();
    let frame = |width| format!("<iframe src={inner} width={width} height={HEIGHT} style=border:0></iframe>");
    fs::write(folder.join(&outer), format!("{AROUND}{}", WIDTHS.map(frame).concat())).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(browser);
    command
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"])
        .args(["--virtual-time-budget=10000", "--dump-dom", &format!("--window-size=1800,{HEIGHT}")])
        .arg(format!("--blink-settings=preferredColorScheme={}", if is_dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", profile.path().display()));
    // With a script of others it would show what that made of the page.
    if scripts.is_empty() {
        command.arg(format!("--screenshot={}", folder.join(format!("{name}.png")).display()));
    }
    let output = command.arg(format!("file://{}", folder.join(&outer).display())).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = text.split("<pre id=\"answer\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let answer = answer.unwrap_or_default().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let answers: Vec<Value> = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no answer: {log}"));
    let mut widths: Vec<u64> = answers.iter().filter_map(|answer| answer["width"].as_u64()).collect();
    widths.sort_unstable();
    assert_eq!(widths, [360, 1400], "{log}");
    (answers, log)
}

/// Runs that are shown whole on one page: of more the page has some in charts of several runs alone.
const WHOLE: usize = 20;

/// The name of each chart that a page of these runs has of a single one, with the values in the table under it.
fn wanted(runs: &[Run]) -> Vec<(String, Vec<String>)> {
    let of_run = |(index, run): (usize, &Run)| {
        let charts = charts(run);
        let names: Vec<&str> = charts.iter().map(|chart| chart.name).collect();
        let files: Vec<&str> = svg::files(run).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, files, "{}", run.experiment);
        charts.iter().map(|chart| (format!("run-{}-{}", index + 1, chart.name), values(chart))).collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

/// The values in the table of a chart, row by row, as far as a page has them.
fn values(chart: &Chart) -> Vec<String> {
    let data = chart.data();
    let shown = |column: &&Column| !column.is_optional || column.cells.iter().any(|cell| !cell.text.is_empty());
    let columns: Vec<&Column> = data.columns.iter().filter(shown).collect();
    let of_row = |row: usize| columns.iter().filter_map(move |column| column.cells[row].value).collect::<Vec<f64>>();
    (0..data.rows().min(400)).flat_map(of_row).map(|value| value.to_string()).collect()
}

/// What a browser has of the charts of single runs: each shown once, with its values.
fn found(answer: &Value) -> Vec<(String, Vec<String>)> {
    let figures = answer["figures"].as_array().unwrap().iter();
    let of_runs = figures.filter(|figure| figure["id"].as_str().unwrap().starts_with("run-"));
    let one = |figure: &Value| {
        assert_eq!(figure["shown"], 1, "{}: one picture for the width of the screen", figure["id"]);
        let values = figure["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap().to_string());
        (figure["id"].as_str().unwrap().to_string(), values.collect())
    };
    of_runs.map(one).collect()
}

#[test]
fn a_browser_shows_every_chart_whole_and_with_its_numbers_on_a_screen_and_on_a_phone() {
    let Some(browser) = browser() else { return };
    // One page of each kind of chart; long names come with the profile of a real trace.
    let mut runs = documents::all();
    runs.extend(kept().into_iter().map(|(_, run)| run));
    for (number, runs) in runs.chunks(WHOLE).enumerate() {
        let (name, page) = (format!("charts-{}", number + 1), html::report(runs, &[]));
        let (answers, log) = opened(&browser, (&name, &page), false, &[]);
        assert!(!log.contains("CONSOLE"), "{log}");
        let wanted = wanted(runs);
        for answer in answers {
            assert!(answer["pictures"].as_u64() >= Some(wanted.len() as u64), "{answer}");
            let complaints = answer["complaints"].as_array().unwrap();
            assert!(complaints.is_empty(), "{} px: {complaints:#?}", answer["width"]);
            assert_eq!(answer["loaded"], serde_json::json!([]), "the page asked for something that it does not hold");
            for (found, wanted) in found(&answer).iter().zip(&wanted) {
                assert_eq!(found, wanted, "the numbers of a chart are not those of its run");
            }
            assert_eq!(found(&answer).len(), wanted.len(), "a chart is not there");
        }
    }
}
