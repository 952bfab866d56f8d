//! For how long the CPU quotas of control groups kept the processes of these groups from running.

use std::fs;
use std::path::{Path, PathBuf};

use measure::Nanos;

use super::memory::CONTROL_GROUPS;

/// Time for which CPU quotas (`cpu.max`, `cpu.cfs_quota_us`) stopped the processes of this process's control group and
/// of the groups above it, summed over processors.
///
/// It counts from the creation of each group. `None` where the kernel shows no group that counts it.
pub fn throttled() -> Option<Nanos> {
    throttled_below(&fs::read_to_string("/proc/self/cgroup").ok()?, Path::new(CONTROL_GROUPS))
}

fn throttled_below(text: &str, mount: &Path) -> Option<Nanos> {
    let counted = |folder: PathBuf| throttled_time(&fs::read_to_string(folder.join("cpu.stat")).ok()?);
    let times = text.lines().flat_map(|line| folders(line, mount)).filter_map(counted);
    times.reduce(|one, other| Nanos(one.0.saturating_add(other.0)))
}

/// The folders of a group that `/proc/self/cgroup` names for processors, `1:cpu:/path` (version 1) or `0::/path`
/// (version 2), and of all groups above it.
///
/// Inside a container the path may name directories that only the host sees; the root is the container's own group
/// then.
fn folders(line: &str, mount: &Path) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let tree = match controllers.split(',').any(|controller| controller == "cpu") {
        true => mount.join("cpu"),
        false if controllers.is_empty() => mount.to_owned(),
        false => return Vec::new(),
    };
    Path::new(path.trim_start_matches('/')).ancestors().map(|path| tree.join(path)).collect()
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
    use proptest::prelude::*;

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
        let of = |text: &str| throttled_below(text, tree.path());
        assert_eq!(of("0::/above/below\n"), Some(Nanos::from_micros(7)));
        assert_eq!(of("4:cpu,cpuacct:/slice\n3:cpuset:/above\n0::/\n"), Some(Nanos(900)));
        assert_eq!(of("3:cpuset:/above\n2:memory:/slice\n"), None);
    }

    #[test]
    fn a_container_whose_path_is_the_hosts_still_finds_its_quota_at_the_root() {
        let tree = tempfile::tempdir().unwrap();
        write_stat(tree.path(), "throttled_usec 3\n");
        assert_eq!(throttled_below("0::/docker/1234\n", tree.path()), Some(Nanos::from_micros(3)));
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|([a-z]|throttled_usec |cpu|[:,/\n0-9 ])*") {
            let _ = (throttled_time(&text), folders(&text, Path::new("/nowhere")));
        }
    }
}
