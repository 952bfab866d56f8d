//! Processes of this machine, as /proc shows them.

use std::fs;

/// The number of a process's parent.
pub(crate) fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it stands in brackets and may hold any letter.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_under_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        assert_eq!(parent(child.id()), Some(std::process::id()));
        assert_eq!(parent(u32::MAX), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
