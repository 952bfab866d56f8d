//! Processes of this machine, as /proc shows them.

use std::fs;

use server::session::is_serving;

/// Why the server's processes are of no use where they cannot be seen.
const UNSEEN: &str = "the server's processes cannot be seen from here";

/// Checks that a process of this machine is the one that serves our session as this user. Behind a port that is passed
/// on, or from another namespace of processes, the server's numbers are those of other processes here, with other
/// titles.
pub(crate) fn check_session(process: u32, user: &str) -> Result<(), String> {
    if is_serving(process, user) { Ok(()) } else { Err(UNSEEN.into()) }
}

/// The first process of the server whose process serves our session as this user.
pub(crate) fn postmaster(process: u32, user: &str) -> Result<u32, String> {
    check_session(process, user)?;
    parent(process).ok_or_else(|| UNSEEN.into())
}

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
    fn a_process_of_the_servers_number_with_another_title_is_not_the_servers() {
        let own = std::process::id();
        assert_eq!(postmaster(own, ""), Err(UNSEEN.into()));
        assert_eq!(postmaster(u32::MAX, ""), Err(UNSEEN.into()));
        let titled = |title: &str| {
            let mut command = std::process::Command::new("sh");
            std::os::unix::process::CommandExt::arg0(command.args(["-c", "read line; exit"]), title);
            command.stdin(std::process::Stdio::piped()).spawn().unwrap()
        };
        let mut child = titled("postgres: shop shop [local] SELECT");
        // The title is there once the program has taken the place of this one.
        let begun = std::time::Instant::now();
        while check_session(child.id(), "shop").is_err() && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(postmaster(child.id(), "shop"), Ok(own));
        assert_eq!(postmaster(child.id(), "other"), Err(UNSEEN.into()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_found_under_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        assert_eq!(parent(child.id()), Some(std::process::id()));
        assert_eq!(parent(u32::MAX), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
