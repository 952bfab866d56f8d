//! Children of a process that a test started: whether there is one, and whether it went with its parent.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::waiting::{LIMIT, has_ended};

/// The number of the first child that a process starts; `None` where it ends without one.
pub(crate) fn first_child(parent: u32) -> Option<u32> {
    let start = Instant::now();
    while start.elapsed() < LIMIT && !has_ended(parent) {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
        if let Some(child) = children.split_whitespace().next().and_then(|number| number.parse().ok()) {
            return Some(child);
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

/// Sends what ^C sends, to this process alone.
pub(crate) fn interrupt(process: u32) {
    let sent = Command::new("/bin/sh").args(["-c", &format!("kill -INT {process}")]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

/// Whether there is a process of this number.
pub(crate) fn is_running(process: u32) -> bool {
    fs::exists(format!("/proc/{process}")).unwrap_or(false)
}
