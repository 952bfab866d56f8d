//! Runs another program and takes what it printed.

use std::process::{Command, Stdio};

/// The standard output of a program that ended well; otherwise a sentence with what it complained about.
pub(crate) fn output_of(argv: &[String]) -> Result<String, String> {
    let (program, rest) = argv.split_first().ok_or("a command needs a program")?;
    let output = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` ended with {}: {}", argv.join(" "), output.status, complaint.trim()))
}

/// A command line from parts that are not all of one type.
pub(crate) fn argv<Part: ToString>(parts: impl IntoIterator<Item = Part>) -> Vec<String> {
    parts.into_iter().map(|part| part.to_string()).collect()
}
