//! How much memory there is, and how much of it may still be used: the kernel's own estimate and the limits of the
//! control groups that this process is in.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted by convention.
pub(super) const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Physical memory in bytes, less what the kernel kept for itself at boot.
pub(super) fn physical_memory() -> Option<u64> {
    meminfo_bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")
}

/// Bytes that can be allocated without swapping and without meeting a limit: the kernel's `MemAvailable`, or what the
/// narrowest control group above this process still has room for, whichever is less.
///
/// The estimate holds for this moment; other processes allocate too. `None` if `/proc/meminfo` lacks it.
pub fn available_memory() -> Option<u64> {
    let available = meminfo_bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")?;
    Some(group_room().map_or(available, |room| room.min(available)))
}

/// A line of `/proc/meminfo`, such as `MemTotal:  24683520 kB`, in bytes.
fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Names of the files in which one version of control groups keeps a group's memory.
#[derive(Debug, PartialEq, Eq)]
struct GroupFiles {
    limit: &'static str,
    /// Above it the kernel takes memory back and lets the group wait for that: no limit, but as good as one.
    throttle: Option<&'static str>,
    usage: &'static str,
    /// Line of `memory.stat` with the page cache that the kernel gives back first.
    reclaimable: &'static str,
}

const FILES_1: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    throttle: None,
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
};

const FILES_2: GroupFiles = GroupFiles {
    limit: "memory.max",
    throttle: Some("memory.high"),
    usage: "memory.current",
    reclaimable: "inactive_file",
};

/// A control group that this process stands in: the mount point of its tree, and its path in it.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    tree: PathBuf,
    path: String,
    files: &'static GroupFiles,
}

/// The least room among the groups of this process and all groups above them; `None` when nothing is limited.
fn group_room() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups(&text, Path::new(CONTROL_GROUPS)).iter().filter_map(narrowest_room).min()
}

/// The groups that `/proc/self/cgroup` names for memory: `4:memory:/path` (version 1), `0::/path` (version 2).
fn groups(text: &str, mount: &Path) -> Vec<Group> {
    text.lines().filter_map(|line| group(line, mount)).collect()
}

fn group(line: &str, mount: &Path) -> Option<Group> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let path = path.trim_start_matches('/').to_owned();
    if controllers.split(',').any(|controller| controller == "memory") {
        return Some(Group { tree: mount.join("memory"), path, files: &FILES_1 });
    }
    controllers.is_empty().then(|| Group { tree: mount.to_owned(), path, files: &FILES_2 })
}

/// Walks from the group up to the root of its tree. Inside a container the path may name directories that only the
/// host sees; they are missing here, and the walk arrives at the root, which then is the container's own group.
fn narrowest_room(group: &Group) -> Option<u64> {
    Path::new(&group.path).ancestors().filter_map(|path| room(&group.tree.join(path), group.files)).min()
}

/// What a group may still use: limit - usage + page cache that would be given back. `None` where nothing limits it.
fn room(folder: &Path, files: &GroupFiles) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let limit = [Some(files.limit), files.throttle].into_iter().flatten().filter_map(number).min()?;
    let usage = number(files.usage)?;
    let reclaimable = read("memory.stat").and_then(|stat| stat_bytes(&stat, files.reclaimable)).unwrap_or(0);
    Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
}

/// A line of `memory.stat`, such as `inactive_file 4096`.
fn stat_bytes(stat: &str, name: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write_group(folder: &Path, limit: &str, usage: &str, stat: &str) {
        fs::create_dir_all(folder).unwrap();
        for (name, text) in [("memory.max", limit), ("memory.current", usage), ("memory.stat", stat)] {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn meminfo_counts_in_kibibytes() {
        let meminfo =
            "MemTotal:       24683520 kB\nMemFree:         1 kB\nMemAvailable:   2048 kB\nHugePages_Total: 0\n";
        assert_eq!(meminfo_bytes(meminfo, "MemAvailable"), Some(2 << 20));
        assert_eq!(meminfo_bytes(meminfo, "HugePages_Total"), None);
        assert_eq!(meminfo_bytes(meminfo, "Mem"), None);
    }

    #[test]
    fn both_versions_of_control_groups_are_found() {
        let found = groups("8:pids:/\n4:cpu,memory:/a/b\n0::/c\n", Path::new("/g"));
        let first = Group { tree: "/g/memory".into(), path: "a/b".to_owned(), files: &FILES_1 };
        let second = Group { tree: "/g".into(), path: "c".to_owned(), files: &FILES_2 };
        assert_eq!(found, [first, second]);
    }

    #[test]
    fn a_limit_further_up_counts_and_an_unlimited_group_does_not() {
        let tree = tempfile::tempdir().unwrap();
        write_group(&tree.path().join("above"), "5000\n", "3000\n", "anon 1000\ninactive_file 500\n");
        write_group(&tree.path().join("above/below"), "max\n", "3000\n", "");
        let group = |path: &str| Group { tree: tree.path().to_owned(), path: path.to_owned(), files: &FILES_2 };
        assert_eq!(narrowest_room(&group("above/below")), Some(2500));
        assert_eq!(narrowest_room(&group("elsewhere")), None);
    }

    #[test]
    fn a_group_that_is_throttled_before_its_limit_has_room_up_to_there() {
        let tree = tempfile::tempdir().unwrap();
        let group = Group { tree: tree.path().to_owned(), path: "slice".to_owned(), files: &FILES_2 };
        let rooms = [("max", "4000\n", Some(1000)), ("3500", "4000\n", Some(500)), ("max", "max\n", None)];
        for (limit, high, room) in rooms {
            write_group(&tree.path().join("slice"), limit, "3000\n", "");
            fs::write(tree.path().join("slice/memory.high"), high).unwrap();
            assert_eq!(narrowest_room(&group), room, "{limit}, {high}");
        }
    }

    #[test]
    fn a_container_whose_path_is_the_hosts_still_finds_its_limit_at_the_root() {
        let tree = tempfile::tempdir().unwrap();
        write_group(tree.path(), "5000", "6000", "");
        let group = Group { tree: tree.path().to_owned(), path: "docker/1234".to_owned(), files: &FILES_2 };
        assert_eq!(narrowest_room(&group), Some(0));
    }

    #[test]
    fn available_memory_does_not_exceed_physical() {
        assert!(available_memory().unwrap() <= physical_memory().unwrap());
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|([a-z]|MemTotal|memory|[:,/\n0-9 ]| kB)*") {
            let _ = meminfo_bytes(&text, "MemTotal");
            let _ = groups(&text, Path::new("/"));
            let _ = stat_bytes(&text, "inactive_file");
        }
    }
}
