//! Where the processor's time goes, function by function.

use std::path::Path;

use crate::program::{argv, output_of};

/// Functions that are named.
const FUNCTIONS: usize = 16;

/// The dearest functions, or why they are not known, in a sentence.
pub(crate) fn note(summary: Result<String, String>) -> String {
    let dearest = summary.unwrap_or_else(|why| format!("not seen: {why}"));
    format!("CPU time of readpath profile on one core, by function: {dearest}.")
}

/// Runs the command under `perf` and gives the dearest functions; or why there is nothing to say: a phrase
/// without the command, whose paths are of this machine alone.
pub(crate) fn summary(command: &[String], folder: &Path) -> Result<String, String> {
    let data = folder.join("perf.data").display().to_string();
    let mut record = argv(["perf", "record", "-q", "-F", "999", "-o", &data, "--"]);
    record.extend_from_slice(command);
    output_of(&record).map_err(|_| "perf could not record")?;
    let report = output_of(&argv(["perf", "report", "--stdio", "-i", &data, "--no-children", "-F", "overhead,sym"]));
    let report = report.map_err(|_| "perf could not report")?;
    let lines: Vec<&str> = report.lines().filter(|line| line.contains('%') && !line.starts_with('#')).collect();
    if lines.is_empty() {
        return Err("perf saw nothing".into());
    }
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(lines.into_iter().take(FUNCTIONS).map(words).collect::<Vec<_>>().join("; "))
}
