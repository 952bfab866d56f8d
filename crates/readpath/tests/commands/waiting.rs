//! How far a process has come: a busy machine may begin it, or go on with it, seconds later than a test that only
//! sleeps would expect.

use std::fs;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use trial::TRIES;

/// How long something may take on a machine that does other things too. A wait ends with what is waited for.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until this is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "it was not so for {LIMIT:?}: {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// Waits until readpath handles signals itself: one that comes before is handled by the kernel, which ends the process.
/// The thread that watches for signals is started after the last of them was taken over.
pub(crate) fn until_signals_are_handled(process: u32) {
    let watches = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| is_watcher(&name));
    until("readpath handles signals", || {
        assert!(!has_ended(process), "it ended before it handled a signal");
        fs::read_dir(format!("/proc/{process}/task")).is_ok_and(|tasks| tasks.flatten().any(watches))
    });
}

fn is_watcher(name: &str) -> bool {
    name.trim_end() == "signals"
}

/// Waits until a process has read this many bytes in all.
pub(crate) fn until_read(process: u32, bytes: u64) {
    until(&format!("{bytes} bytes were read"), || has_ended(process) || bytes_read(process) >= bytes);
    assert!(bytes_read(process) >= bytes, "it ended after {} of {bytes} bytes", bytes_read(process));
}

/// How many bytes a process has read in all.
pub(crate) fn bytes_read(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.trim().parse().unwrap()
}

/// Whether a process has ended, also where its parent has not waited for it yet.
pub(crate) fn has_ended(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_none_or(|state| state.trim_start().starts_with('Z'))
}

/// Waits for the end of a process. One that does not end is killed, and the test fails.
pub(crate) fn end_of(child: &mut Child, what: &str) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("it does not end: {what}");
        }
        thread::sleep(LOOK_EVERY);
    }
}
