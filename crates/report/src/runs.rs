//! The list of kept runs.

use measure::Severity;
use measure::quantity::counted;
use measure::store::{Listing, Summary, Unreadable};
use serde_json::Value;

use crate::beside::minute;
use crate::body::{database, path, without_storage};
use crate::page::{Align, Cell, Page, Section, Table};

/// Characters of an identifier that are shown: a version 7 UUID begins with its time in milliseconds, 12 digits and a
/// hyphen. More are shown where two runs share these.
const ID_LENGTH: usize = 13;

/// Stands before what is said of each file, where runs were kept and none of them can be read.
const NONE_READ: &str = "No run can be read.";

/// The page of the list, newest first.
pub(crate) fn page(listing: &Listing) -> Page {
    let none = "No runs are kept yet. A measuring command keeps one: try `readpath ladder`.";
    let list = match listing.runs.as_slice() {
        [] if listing.unreadable.is_empty() => Section::Text(none.into()),
        [] => Section::Text(NONE_READ.into()),
        runs => Section::Table(table(runs)),
    };
    Page { sections: vec![list, Section::lines(unreadable(listing))] }
}

fn table(runs: &[Summary]) -> Table {
    let length = id_length(runs);
    Table::over(runs)
        .column("run", Align::Word, |run| run.id.chars().take(length).collect::<String>())
        .column("started (UTC)", Align::Word, |run| minute(&run.started))
        .column("experiment", Align::Left, |run| run.experiment.clone())
        .column("on", Align::Path, subject)
        .column("cases", Align::Right, |run| Cell::count(run.cases as f64))
        .column("", Align::Word, state)
        .done()
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
        (_, count) => counted(count as u64, "warning", "warnings"),
    }
}

/// What was measured, in a few words.
pub(crate) fn subject(run: &Summary) -> String {
    let text = |key: &str| run.subject.get(key).and_then(Value::as_str).map(String::from);
    // A server's tables and a model's lie in files of ours, which are not what was measured.
    let is_in_file = text("path").is_some() && text("server").is_none();
    let database = database(&run.subject).filter(|_| !is_in_file);
    database
        .map(|(kind, version)| format!("{kind} {version}"))
        .or_else(|| text("model"))
        .or_else(|| without_storage(&run.subject))
        .or_else(|| path(&run.subject).map(String::from))
        .or_else(|| text("device"))
        .or_else(|| {
            let command = text("command")?;
            // Of a process it is its name, and no command line.
            Some(if run.subject.contains_key("pid") { command } else { program(&command).into() })
        })
        .or_else(|| text("kind"))
        .unwrap_or_default()
}

/// The program of a command line, without its folder and its arguments.
fn program(command: &str) -> &str {
    // A word with a blank in it stands in quotes.
    let (word, end) = command.strip_prefix('\'').map_or((command, ' '), |quoted| (quoted, '\''));
    let word = word.split(end).next().unwrap_or(word);
    word.rsplit('/').next().unwrap_or(word)
}

fn unreadable(listing: &Listing) -> Vec<String> {
    let line = |file: &Unreadable| format!("warning: {} is not read: {}.", file.path.display(), file.reason);
    listing.unreadable.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_damaged_runs_alone_is_not_said_to_be_without_runs_and_each_is_named() {
        let damaged = Unreadable { path: "/runs/torn.json".into(), reason: "it is not whole JSON".into() };
        let listed = page(&Listing { runs: Vec::new(), unreadable: vec![damaged] });
        let named = "warning: /runs/torn.json is not read: it is not whole JSON.";
        assert_eq!(listed.sections, [Section::Text(NONE_READ.into()), Section::lines(vec![named.into()])]);
    }

    #[test]
    fn a_program_of_a_blank_or_a_folder_is_named_without_its_arguments() {
        let lines = ["/usr/bin/gzip -k /data/big.log", "'my scan' 'a b'", "sh -c 'exit 3'", "postgres"];
        assert_eq!(lines.map(program), ["gzip", "my scan", "sh", "postgres"]);
    }
}
