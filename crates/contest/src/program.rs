//! Runs another program, and takes what it printed or how much memory it needed.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sys::process::peak_memory_of;

/// How often the kernel is asked for the peak of memory so far. The last value before the end counts, so what is missed
/// is at most what the program adds in this time.
const ASKED_EVERY: Duration = Duration::from_millis(2);

/// What one run of a program needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    /// From start to end.
    pub(crate) seconds: f64,
    /// Peak resident memory in bytes.
    pub(crate) peak_bytes: u64,
}

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

/// Runs a program, its output to nowhere.
///
/// The peak of memory is the kernel's `VmHWM`. Waiting with `wait4` would give it after the end, but only through code
/// that the house allows in `sys` alone.
pub(crate) fn needed_by(argv: &[String]) -> Result<Needed, String> {
    let (program, rest) = argv.split_first().ok_or("a command needs a program")?;
    let begin = Instant::now();
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{program} could not be started: {error}"))?;
    let peak_bytes = watch(&mut child).map_err(|why| format!("`{}` {why}", argv.join(" ")))?;
    Ok(Needed { seconds: begin.elapsed().as_secs_f64(), peak_bytes })
}

/// The peak of memory until the program's end.
fn watch(child: &mut Child) -> Result<u64, String> {
    let mut peak = None;
    loop {
        peak = peak_memory_of(child.id()).max(peak);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(end) if end.success() => return peak.ok_or_else(|| "was gone at once".into()),
            Some(end) => return Err(format!("ended with {end}")),
            None => thread::sleep(ASKED_EVERY),
        }
    }
}

/// A command line from parts that are not all of one type.
pub(crate) fn argv<Part: ToString>(parts: impl IntoIterator<Item = Part>) -> Vec<String> {
    parts.into_iter().map(|part| part.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_has_no_peak() {
        assert!(needed_by(&argv(["sh", "-c", "sleep 0.05; exit 3"])).unwrap_err().contains('3'));
    }

    #[test]
    fn a_program_that_runs_has_one() {
        assert!(needed_by(&argv(["sh", "-c", "sleep 0.05"])).unwrap().peak_bytes > 64 << 10);
    }

    #[test]
    fn a_program_that_has_ended_has_no_peak_any_more() {
        let mut child = Command::new("true").spawn().unwrap();
        // Its status stays until it is waited for.
        let is_gone = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            peak_memory_of(child.id()).is_none()
        });
        assert!(is_gone && child.wait().unwrap().success());
    }
}
