//! Pages in a real browser, on a large screen and on a phone: nothing overlaps, nothing is cut off, nothing is asked of
//! a network, and nothing goes wrong. The pages and their screenshots stay in `target/tmp/pages`, to be looked at.
//! Whether everyone can read them is asked by `accessibility.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use report::html;
use serde_json::Value;

use crate::documents;
use crate::pages::kept;

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

/// A screen that a page is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// CSS pixels.
    pub(crate) width: u32,
    /// Whether the reader's system asks for dark colours.
    pub(crate) is_dark: bool,
}

/// As much of a page as a screenshot shows.
const HEIGHT: u32 = 12_000;

/// The document around a page: a window has a least width that is wider than a phone, a frame has none.
const AROUND: &str = "<pre id=answer></pre><script>addEventListener('message', told => { \
                      document.getElementById('answer').textContent = told.data; });</script>";

/// A page in a frame on a screen, with further scripts before the questions: its answer, and what the browser logged.
pub(crate) fn opened(browser: &Path, (name, page): (&str, &str), screen: Screen, scripts: &[&str]) -> (Value, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).unwrap();
    let (width, colors) = (screen.width, if screen.is_dark { "-dark" } else { "" });
    let name = format!("{name}-{width}{colors}");
    let (inner, outer) = (format!("{name}.html"), format!("{name}-frame.html"));
    let inside: String = scripts.iter().chain([&QUESTIONS]).map(|text| format!("<script>{text}</script>")).collect();
    let asking = page.replacen("</body>", &format!("{inside}</body>"), 1);
    fs::write(folder.join(&inner), asking).unwrap();
    let frame = format!("{AROUND}<iframe src={inner} width={width} height={HEIGHT} style=border:0></iframe>");
    fs::write(folder.join(&outer), frame).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let run = |what: String| {
        Command::new(browser)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"])
            .args(["--virtual-time-budget=10000", &what, &format!("--window-size=1600,{HEIGHT}")])
            .arg(format!("--blink-settings=preferredColorScheme={}", if screen.is_dark { 0 } else { 1 }))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", folder.join(&outer).display()))
            .output()
            .unwrap()
    };
    // With a script of others it would show what that made of the page.
    if scripts.is_empty() {
        run(format!("--screenshot={}", folder.join(format!("{name}.png")).display()));
    }
    let output = run("--dump-dom".into());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = text.split("<pre id=\"answer\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let answer = answer.unwrap_or_default().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    (serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no answer: {log}")), log)
}

#[test]
fn a_browser_shows_every_chart_whole_on_a_screen_and_on_a_phone() {
    let Some(browser) = browser() else { return };
    // One page of each kind of chart; long names come with the profile of a real trace.
    let mut runs = documents::all();
    runs.extend(kept().into_iter().map(|(_, run)| run));
    let pages = [("made", html::report(&runs[..20], &[])), ("kept", html::report(&runs[20..], &[]))];
    for ((name, page), width) in pages.iter().flat_map(|page| [(page, 1400), (page, 360)]) {
        let (answer, log) = opened(&browser, (name, page), Screen { width, is_dark: false }, &[]);
        assert!(answer["pictures"].as_u64() > Some(10), "{answer}");
        let complaints = answer["complaints"].as_array().unwrap();
        assert!(complaints.is_empty(), "{width} px: {complaints:#?}");
        assert!(!log.contains("CONSOLE"), "{log}");
        assert_eq!(answer["loaded"], serde_json::json!([]), "the page asked for something that it does not hold");
        assert_eq!(answer["width"], width);
    }
}
