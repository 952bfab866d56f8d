//! How much memory there is, and how much of it may still be used: the kernel's own estimate and the limits of the
//! control groups that this process is in.

use std::fs;
use std::path::Path;

use super::control_groups::{Group, Version, groups_of};

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
    Some(narrowest_room(&groups_of("memory")).map_or(available, |room| room.min(available)))
}

/// A line of `/proc/meminfo`, such as `MemTotal:  24683520 kB`, in bytes.
fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Names of the files in which one version of control groups keeps a group's memory.
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

/// The least room among groups; `None` when nothing is limited.
fn narrowest_room(groups: &[Group]) -> Option<u64> {
    let room_of = |group: &Group| match group.version {
        Version::One => room(&group.folder, &FILES_1),
        Version::Two => room(&group.folder, &FILES_2),
    };
    groups.iter().filter_map(room_of).min()
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

    use super::super::control_groups::groups_below;
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
    fn a_limit_further_up_counts_and_an_unlimited_group_does_not() {
        let tree = tempfile::tempdir().unwrap();
        write_group(&tree.path().join("above"), "5000\n", "3000\n", "anon 1000\ninactive_file 500\n");
        write_group(&tree.path().join("above/below"), "max\n", "3000\n", "");
        let room =
            |path: &str| narrowest_room(&groups_below(tree.path(), format!("0::/{path}\n").as_bytes(), "memory"));
        assert_eq!(room("above/below"), Some(2500));
        assert_eq!(room("elsewhere"), None);
    }

    #[test]
    fn a_limit_of_the_first_version_counts_too() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("memory/slice")).unwrap();
        let files = [
            ("memory.limit_in_bytes", "5000\n"),
            ("memory.usage_in_bytes", "3000\n"),
            ("memory.stat", "inactive_file 100\ntotal_inactive_file 500\n"),
        ];
        for (name, text) in files {
            fs::write(tree.path().join("memory/slice").join(name), text).unwrap();
        }
        assert_eq!(narrowest_room(&groups_below(tree.path(), b"4:memory:/slice\n0::/\n", "memory")), Some(2500));
    }

    #[test]
    fn a_group_that_is_throttled_before_its_limit_has_room_up_to_there() {
        let tree = tempfile::tempdir().unwrap();
        let groups = groups_below(tree.path(), b"0::/slice\n", "memory");
        let rooms = [("max", "4000\n", Some(1000)), ("3500", "4000\n", Some(500)), ("max", "max\n", None)];
        for (limit, high, room) in rooms {
            write_group(&tree.path().join("slice"), limit, "3000\n", "");
            fs::write(tree.path().join("slice/memory.high"), high).unwrap();
            assert_eq!(narrowest_room(&groups), room, "{limit}, {high}");
        }
    }

    #[test]
    fn a_container_whose_path_is_the_hosts_still_finds_its_limit_at_the_root() {
        let tree = tempfile::tempdir().unwrap();
        write_group(tree.path(), "5000", "6000", "");
        assert_eq!(narrowest_room(&groups_below(tree.path(), b"0::/docker/1234\n", "memory")), Some(0));
    }

    #[test]
    fn available_memory_does_not_exceed_physical() {
        assert!(available_memory().unwrap() <= physical_memory().unwrap());
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|([a-z]|MemTotal|[:\n0-9 ]| kB)*") {
            let _ = meminfo_bytes(&text, "MemTotal");
            let _ = stat_bytes(&text, "inactive_file");
        }
    }
}
