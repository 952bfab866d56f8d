//! The kinds of cores of a hybrid processor, such as the fast and the frugal ones of recent laptops.

use std::fs;
use std::path::Path;

use measure::sorting;

use super::processor_list::listed;

/// Where the kernel lists what counts events, one folder each.
const EVENT_SOURCES: &str = "/sys/bus/event_source/devices";

/// Cores of one kind, which have counters of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreKind {
    /// The kernel's name for their counters: `cpu_core`, `cpu_atom`.
    pub name: String,
    /// Numbers of their processors, as the kernel and `taskset -c` write them: `0-7,16`.
    pub processors: String,
}

/// The kinds of cores among these processors. One at most where all cores are alike.
pub(super) fn core_kinds_of(cpus: &[usize]) -> Vec<CoreKind> {
    listed_kinds(Path::new(EVENT_SOURCES), cpus)
}

/// The file `cpus` is only in the folders of counters of cores; those of other parts of a processor have `cpumask`.
fn listed_kinds(sources: &Path, cpus: &[usize]) -> Vec<CoreKind> {
    let kind = |folder: fs::DirEntry| {
        let processors = fs::read_to_string(folder.path().join("cpus")).ok()?.trim().to_owned();
        let is_ours = listed(&processors).iter().any(|processor| cpus.contains(processor));
        is_ours.then(|| CoreKind { name: folder.file_name().to_string_lossy().into_owned(), processors })
    };
    let mut kinds: Vec<CoreKind> = fs::read_dir(sources).into_iter().flatten().flatten().filter_map(kind).collect();
    sorting::by(&mut kinds, |one, other| one.name.cmp(&other.name));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_cores_counts_only_where_one_of_its_processors_may_be_used() {
        let sources = tempfile::tempdir().unwrap();
        for (name, file, list) in
            [("cpu_core", "cpus", "0-7\n"), ("cpu_atom", "cpus", "8-11,14\n"), ("uncore_imc", "cpumask", "0\n")]
        {
            fs::create_dir(sources.path().join(name)).unwrap();
            fs::write(sources.path().join(name).join(file), list).unwrap();
        }
        let names = |cpus: &[usize]| -> Vec<String> {
            listed_kinds(sources.path(), cpus).into_iter().map(|kind| kind.name).collect()
        };
        assert_eq!(names(&[0, 1, 14]), ["cpu_atom", "cpu_core"]);
        assert_eq!([names(&[7]), names(&[8]), names(&[12])], [vec!["cpu_core"], vec!["cpu_atom"], vec![]]);
        assert_eq!(listed_kinds(sources.path(), &[8])[0].processors, "8-11,14");
    }
}
