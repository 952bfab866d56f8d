//! The report as it grows, and the folder that keeps it.
#![allow(clippy::print_stderr, reason = "a benchmark is a program for people")]

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The page as it grows: shown at once, and remembered to be kept.
pub(crate) struct Report<'a> {
    out: &'a mut dyn Write,
    text: String,
}

impl<'a> Report<'a> {
    /// An empty page.
    pub(crate) fn new(out: &'a mut dyn Write) -> Report<'a> {
        Report { out, text: String::new() }
    }

    /// All that was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds to the page.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), String> {
        self.text += text;
        self.out.write_all(text.as_bytes()).map_err(|error| format!("the report could not be written: {error}"))
    }
}

/// One line on standard error, where a person may be waiting.
pub(crate) fn progress(sentence: &str) {
    if io::stderr().is_terminal() {
        eprintln!("{sentence}");
    }
}

/// Writes both reports to `DIR/<date>-<cpu>/<name>` and says where. Date and processor are those of a run document, so
/// that the folder and what lies in it agree.
pub(crate) fn keep(folder: &Path, name: &str, run: &Value, text: &str, findings: &Value) -> Result<PathBuf, String> {
    let folder = folder.join(folder_name(run));
    let sentence = |error: std::io::Error| format!("the report could not be kept in {}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(sentence)?;
    fs::write(folder.join(format!("{name}.txt")), text).map_err(sentence)?;
    fs::write(folder.join(format!("{name}.json")), format!("{findings:#}\n")).map_err(sentence)?;
    Ok(folder)
}

fn folder_name(run: &Value) -> String {
    let date = run["started"].as_str().and_then(|started| started.get(..10)).unwrap_or("undated");
    let cpu = run["host"]["cpu"].as_str().unwrap_or("unknown processor");
    let lower = cpu.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    format!("{date}-{}", words.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_folder_is_named_by_date_and_processor() {
        let run = json!({ "started": "2026-11-20T10:00:00Z", "host": { "cpu": "AMD EPYC(tm) 9R14" } });
        assert_eq!(folder_name(&run), "2026-11-20-amd-epyc-tm-9r14");
        assert_eq!(folder_name(&json!({})), "undated-unknown-processor");
    }

    #[test]
    fn both_reports_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let kept = keep(folder.path(), "fio", &json!({}), "text\n", &json!({ "bars": [] })).unwrap();
        assert_eq!(fs::read_to_string(kept.join("fio.txt")).unwrap(), "text\n");
        assert!(fs::read_to_string(kept.join("fio.json")).unwrap().contains("bars"));
    }
}
