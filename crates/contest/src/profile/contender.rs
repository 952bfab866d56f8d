//! One program's turn on a file: how long it took, and how much memory it needed.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often the kernel is asked for the peak of memory so far. The last answer before the end counts.
const ASKED_EVERY: Duration = Duration::from_millis(2);

/// What a turn came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// From start to end.
    pub(crate) seconds: f64,
    /// Peak resident memory in bytes.
    pub(crate) peak_bytes: u64,
}

/// Runs a program, its output to nowhere.
pub(crate) fn take_turn(argv: &[String]) -> Result<Turn, String> {
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
    Ok(Turn { seconds: begin.elapsed().as_secs_f64(), peak_bytes })
}

/// The peak of memory until the program's end.
fn watch(child: &mut Child) -> Result<u64, String> {
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        peak = peak_of_status(&fs::read_to_string(&status_file).unwrap_or_default()).unwrap_or(0).max(peak);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(end) if end.success() => return Ok(peak),
            Some(end) => return Err(format!("ended with {end}")),
            None => thread::sleep(ASKED_EVERY),
        }
    }
}

/// The peak in a `/proc/PID/status`, in bytes; `None` where the process has no memory any more.
fn peak_of_status(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}
