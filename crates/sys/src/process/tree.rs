//! The processes that a process has started, and those that these have started, as the kernel lists them.

use std::fs;
use std::path::Path;

/// Where the kernel lists processes.
pub(super) const PROCESSES: &str = "/proc";

/// The processes that a process has started or adopted and that still run, with those that these have started, by the
/// numbers in a folder such as `/proc`.
pub(super) fn descendants(pid: libc::pid_t, processes: &Path) -> Vec<libc::pid_t> {
    with_descendants(children(pid, processes), processes)
}

/// These processes, and those that they have started.
pub(super) fn with_descendants(mut found: Vec<libc::pid_t>, processes: &Path) -> Vec<libc::pid_t> {
    let mut place = 0;
    while let Some(parent) = found.get(place).copied() {
        found.extend(children(parent, processes));
        place += 1;
    }
    found
}

/// The children of a process. None where the folder is not that of this process's namespace but, for one, the host's:
/// its numbers would be those of strangers here.
pub(super) fn children(pid: libc::pid_t, processes: &Path) -> Vec<libc::pid_t> {
    let own = std::process::id().to_string();
    if fs::read_link(processes.join("self")).ok().as_deref() != Some(Path::new(&own)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let tasks = fs::read_dir(processes.join(format!("{pid}/task"))).into_iter().flatten().flatten();
    for task in tasks {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|number| number.parse::<libc::pid_t>().ok()));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn numbers_of_another_namespace_are_not_taken_for_descendants() {
        let found_by = |own: u32| {
            let processes = tempfile::tempdir().unwrap();
            symlink(own.to_string(), processes.path().join("self")).unwrap();
            for (task, children) in [("5/task/5", "7 8 "), ("5/task/6", ""), ("8/task/8", "9 ")] {
                fs::create_dir_all(processes.path().join(task)).unwrap();
                fs::write(processes.path().join(task).join("children"), children).unwrap();
            }
            descendants(5, processes.path())
        };
        assert_eq!(found_by(std::process::id()), [7, 8, 9]);
        assert!(found_by(std::process::id() + 1).is_empty());
    }
}
