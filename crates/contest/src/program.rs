//! Runs another program and takes what it printed.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where a program stands that cargo built into the same folder as this one.
pub(crate) fn beside_this_program(name: &str) -> PathBuf {
    let folder = env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    folder.unwrap_or_default().join(name)
}

/// The folder for large files that a contest makes and removes: cargo's, which stands on a real disk. The system's
/// folder for temporary files may stand in memory, where nothing can be read past the page cache.
pub(crate) fn scratch_folder() -> Result<PathBuf, String> {
    let folder = beside_this_program("../tmp");
    fs::create_dir_all(&folder).map_err(|error| format!("{} could not be made: {error}", folder.display()))?;
    folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))
}

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
