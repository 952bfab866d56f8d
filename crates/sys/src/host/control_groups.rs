//! The control groups that limit this process: those that it is in, and all groups above them.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted by convention.
const MOUNT: &str = "/sys/fs/cgroup";

/// The versions of control groups, whose files have other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// A tree for each controller.
    One,
    /// One tree for all controllers.
    Two,
}

/// A control group.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Where its files are, which may be missing here.
    pub(super) folder: PathBuf,
    /// The version of its tree.
    pub(super) version: Version,
}

/// The groups in which a controller, such as `memory`, limits this process. None where the kernel names none.
pub(super) fn groups_of(controller: &str) -> Vec<Group> {
    groups_below(Path::new(MOUNT), &fs::read_to_string("/proc/self/cgroup").unwrap_or_default(), controller)
}

/// The same of what `/proc/self/cgroup` says, with the control groups mounted there.
pub(super) fn groups_below(mount: &Path, text: &str, controller: &str) -> Vec<Group> {
    text.lines().filter_map(|line| groups_of_line(mount, line, controller)).flatten().collect()
}

/// The group of a line, `4:memory:/path` (version 1) or `0::/path` (version 2), and all groups above it.
///
/// Inside a container the path may name directories that only the host sees. They are missing here; the root of the
/// tree is the container's own group then.
fn groups_of_line(mount: &Path, line: &str, controller: &str) -> Option<Vec<Group>> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (tree, version) = match controllers.split(',').any(|word| word == controller) {
        true => (mount.join(controller), Version::One),
        false if controllers.is_empty() => (mount.to_owned(), Version::Two),
        false => return None,
    };
    let above = Path::new(path.trim_start_matches('/')).ancestors();
    Some(above.map(|path| Group { folder: tree.join(path), version }).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_found_with_all_groups_above() {
        let found = groups_below(Path::new("/g"), "8:pids:/\n4:cpu,memory:/a/b\n0::/c\n", "memory");
        let group = |folder: &str, version| Group { folder: folder.into(), version };
        let first = ["/g/memory/a/b", "/g/memory/a", "/g/memory"].map(|folder| group(folder, Version::One));
        let second = ["/g/c", "/g"].map(|folder| group(folder, Version::Two));
        assert_eq!(found, first.into_iter().chain(second).collect::<Vec<Group>>());
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|([a-z]|memory|[:,/\n0-9 ])*") {
            let _ = groups_below(Path::new("/nowhere"), &text, "memory");
        }
    }
}
