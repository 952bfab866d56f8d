//! The column libraries as contenders: a Python that holds the columns and answers in turn.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use crate::scan::question::Reading;

/// What the Python runs.
const SCRIPT: &str = include_str!("peers.py");

/// A library that is not there, and why.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Absent {
    /// Its name.
    pub(crate) name: String,
    /// Why.
    pub(crate) reason: String,
}

/// What the Python says when it is ready.
#[derive(Debug, Deserialize)]
struct Ready {
    versions: serde_json::Map<String, serde_json::Value>,
    absent: Vec<Absent>,
}

/// A Python with the columns. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Peers {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Library and version, of those that are there.
    pub(crate) versions: Vec<(String, String)>,
    /// Libraries that are not there.
    pub(crate) absent: Vec<Absent>,
}

impl Peers {
    /// Starts a Python over the columns in `folder`.
    pub(crate) fn start(python: &Path, folder: &Path, rows: u64) -> Result<Peers, String> {
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(folder)
            .arg(rows.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // ^C is for the benchmark, which then ends the Python.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", python.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a Python without input and output".into());
        };
        let mut peers =
            Peers { child, input, output: BufReader::new(output), versions: Vec::new(), absent: Vec::new() };
        let ready: Ready = peers.line()?;
        let version = |(name, version): (String, serde_json::Value)| {
            (name, version.as_str().unwrap_or("of no version").to_string())
        };
        peers.versions = ready.versions.into_iter().map(version).collect();
        peers.absent = ready.absent;
        Ok(peers)
    }

    /// One turn of all libraries and questions.
    pub(crate) fn take_turn(&mut self) -> Result<Vec<Reading>, String> {
        self.input.write_all(b"turn\n").map_err(|error| format!("the Python is gone: {error}"))?;
        self.line()
    }

    fn line<T: for<'a> Deserialize<'a>>(&mut self) -> Result<T, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| format!("the Python does not answer: {error}"))?;
        serde_json::from_str(&line).map_err(|error| format!("the Python answered `{}`: {error}", line.trim()))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_that_is_not_there_is_named() {
        let error = Peers::start(Path::new("/no/such/python"), Path::new("/"), 1).unwrap_err();
        assert!(error.contains("/no/such/python"), "{error}");
    }
}
