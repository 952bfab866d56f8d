//! The list of kept runs.

use measure::Severity;
use measure::store::{Listing, Summary};
use serde_json::Value;

use crate::number::grouped;
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Characters of an identifier that are shown: a version 7 UUID begins with its time in milliseconds, 12 digits and a
/// hyphen. More are shown where two runs share these.
const ID_LENGTH: usize = 13;

/// The list as text for people, newest first, ending in a newline.
pub fn render(listing: &Listing, style: &Style) -> String {
    let list = if listing.runs.is_empty() {
        "No runs are kept yet. A measuring command keeps one: try `readpath ladder`.".into()
    } else {
        table(&listing.runs, style)
    };
    style.finish(&crate::join_sections(&[list, unreadable(listing, style)]))
}

fn table(runs: &[Summary], style: &Style) -> String {
    let mut table = Table::new()
        .column("run", Align::Word)
        .column("started (UTC)", Align::Word)
        .column("experiment", Align::Left)
        .column("on", Align::Path)
        .column("cases", Align::Right)
        .column("", Align::Word);
    let length = id_length(runs);
    for run in runs {
        table.row([
            run.id.chars().take(length).collect(),
            moment(&run.started),
            run.experiment.clone(),
            subject(run),
            grouped(run.cases),
            state(run),
        ]);
    }
    table.render(style)
}

/// The shortest length, not under [`ID_LENGTH`], at which all identifiers differ.
fn id_length(runs: &[Summary]) -> usize {
    let shared = |left: &str, right: &str| left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count();
    // The list is sorted, so that the longest common beginnings are those of neighbours.
    let longest = runs.windows(2).map(|pair| shared(&pair[0].id, &pair[1].id)).max().unwrap_or(0);
    ID_LENGTH.max(longest + 1)
}

/// What to know before using the run: that it did not end, or how many warnings it gives.
fn state(run: &Summary) -> String {
    let warnings = run.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    match (&run.finished, warnings) {
        (None, _) => "unfinished".into(),
        (_, 0) => String::new(),
        (_, 1) => "1 warning".into(),
        (_, count) => format!("{count} warnings"),
    }
}

/// `2026-01-31T12:34:56.789Z` as `2026-01-31 12:34`.
fn moment(started: &str) -> String {
    started.chars().take(16).collect::<String>().replace('T', " ")
}

fn subject(run: &Summary) -> String {
    let text = |key: &str| run.subject.get(key).and_then(Value::as_str).map(String::from);
    // A server's tables and a model's lie in files of ours, which are not what was measured.
    let server = text("kind").filter(|kind| kind == "postgres").zip(text("version"));
    let server = server.map(|(kind, version)| format!("{kind} {version}"));
    server
        .or_else(|| text("model"))
        .or_else(|| text("path"))
        .or_else(|| text("device"))
        .or_else(|| text("kind"))
        .unwrap_or_default()
}

fn unreadable(listing: &Listing, style: &Style) -> String {
    let line = |path: &std::path::Path, reason: &str| {
        wrap(&format!("warning: {} is not read: {reason}.", path.display()), style.width, 2)
    };
    let lines: Vec<String> = listing.unreadable.iter().map(|file| line(&file.path, &file.reason)).collect();
    lines.join("\n")
}
