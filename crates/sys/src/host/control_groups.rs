//! The control groups that limit this process: those that it is in, and all groups above them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
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
    groups_below(Path::new(MOUNT), &fs::read("/proc/self/cgroup").unwrap_or_default(), controller)
}

/// The same of what `/proc/self/cgroup` says, with the control groups mounted there. A path may be of any bytes.
pub(super) fn groups_below(mount: &Path, text: &[u8], controller: &str) -> Vec<Group> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(|line| groups_of_line(mount, line, controller)).flatten().collect()
}

/// The group of a line, `4:memory:/path` (version 1) or `0::/path` (version 2), and all groups above it.
///
/// Inside a container the path may name directories that only the host sees. They are missing here; the root of the
/// tree is the container's own group then.
fn groups_of_line(mount: &Path, line: &[u8], controller: &str) -> Option<Vec<Group>> {
    let mut fields = line.splitn(3, |byte| *byte == b':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (tree, version) = match controllers.split(|byte| *byte == b',').any(|word| word == controller.as_bytes()) {
        true => (mount.join(controller), Version::One),
        false if controllers.is_empty() => (mount.to_owned(), Version::Two),
        false => return None,
    };
    let begin = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    let above = Path::new(OsStr::from_bytes(&path[begin..])).ancestors();
    Some(above.map(|path| Group { folder: tree.join(path), version }).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_found_with_all_groups_above() {
        let found = groups_below(Path::new("/g"), b"8:pids:/\n4:cpu,memory:/a/b\n0::/c\n", "memory");
        let group = |folder: &str, version| Group { folder: folder.into(), version };
        let first = ["/g/memory/a/b", "/g/memory/a", "/g/memory"].map(|folder| group(folder, Version::One));
        let second = ["/g/c", "/g"].map(|folder| group(folder, Version::Two));
        assert_eq!(found, first.into_iter().chain(second).collect::<Vec<Group>>());
    }

    #[test]
    fn a_group_whose_name_is_no_utf_8_is_found_and_hides_no_other() {
        let found = groups_below(Path::new("/g"), b"4:memory:/gr\xfcn/a\n0::/c\n", "memory");
        let folder = |path: &[u8]| PathBuf::from(OsStr::from_bytes(path));
        let expected: [&[u8]; 5] = [b"/g/memory/gr\xfcn/a", b"/g/memory/gr\xfcn", b"/g/memory", b"/g/c", b"/g"];
        assert_eq!(found.into_iter().map(|group| group.folder).collect::<Vec<_>>(), expected.map(folder));
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|([a-z]|memory|[:,/\n0-9 ])*") {
            let _ = groups_below(Path::new("/nowhere"), text.as_bytes(), "memory");
        }
    }
}
