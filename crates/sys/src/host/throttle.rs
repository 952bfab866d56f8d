//! For how long the CPU quotas of control groups kept the processes of these groups from running.

use std::fs;

use measure::Nanos;

use super::control_groups::{Group, groups_of};

/// Time for which CPU quotas (`cpu.max`, `cpu.cfs_quota_us`) stopped the processes of this process's control group and
/// of the groups above it, summed over processors.
///
/// It counts from the creation of each group. `None` where the kernel shows no group that counts it.
pub fn throttled() -> Option<Nanos> {
    throttled_in(&groups_of("cpu"))
}

fn throttled_in(groups: &[Group]) -> Option<Nanos> {
    let counted = |group: &Group| throttled_time(&fs::read_to_string(group.folder.join("cpu.stat")).ok()?);
    groups.iter().filter_map(counted).reduce(|one, other| Nanos(one.0.saturating_add(other.0)))
}

/// The line of `cpu.stat`: `throttled_usec 4096` (version 2), or `throttled_time 4096000` in nanoseconds (version 1).
fn throttled_time(stat: &str) -> Option<Nanos> {
    let number = |name: &str| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
    };
    let nanos = number("throttled_usec").map(|micros| micros.saturating_mul(1000));
    nanos.or_else(|| number("throttled_time")).map(Nanos)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::control_groups::groups_below;
    use super::*;

    fn write_stat(folder: &Path, stat: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("cpu.stat"), stat).unwrap();
    }

    #[test]
    fn both_versions_of_control_groups_say_how_long_they_were_stopped() {
        assert_eq!(throttled_time("nr_throttled 3\nthrottled_usec 4096\n"), Some(Nanos::from_micros(4096)));
        assert_eq!(throttled_time("nr_throttled 3\nthrottled_time 4096\n"), Some(Nanos(4096)));
        assert_eq!(throttled_time("usage_usec 7\n"), None, "the root of the host has no quota");
    }

    #[test]
    fn a_quota_further_up_counts_and_another_controller_does_not() {
        let tree = tempfile::tempdir().unwrap();
        write_stat(&tree.path().join("above"), "throttled_usec 5\n");
        write_stat(&tree.path().join("above/below"), "throttled_usec 2\n");
        write_stat(&tree.path().join("cpu/slice"), "throttled_time 900\n");
        let of = |text: &str| throttled_in(&groups_below(tree.path(), text.as_bytes(), "cpu"));
        assert_eq!(of("0::/above/below\n"), Some(Nanos::from_micros(7)));
        assert_eq!(of("4:cpu,cpuacct:/slice\n3:cpuset:/above\n0::/\n"), Some(Nanos(900)));
        assert_eq!(of("3:cpuset:/above\n2:memory:/slice\n"), None);
    }

    #[test]
    fn a_container_whose_path_is_the_hosts_still_finds_its_quota_at_the_root() {
        let tree = tempfile::tempdir().unwrap();
        write_stat(tree.path(), "throttled_usec 3\n");
        let groups = groups_below(tree.path(), b"0::/docker/1234\n", "cpu");
        assert_eq!(throttled_in(&groups), Some(Nanos::from_micros(3)));
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|([a-z]|throttled_usec |[\n0-9 ])*") {
            let _ = throttled_time(&text);
        }
    }
}
