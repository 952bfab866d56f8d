//! Description of this machine: processor, caches, memory, kernel, hypervisor, and whether hardware counters count.
//!
//! It describes and judges nothing: what a small cache or a missing counter means for a result is said elsewhere. What
//! the machine does not report stays absent.

mod control_groups;
mod core_kinds;
mod memory;
mod processor;
pub(crate) mod processor_list;
mod throttle;

use std::fs;
use std::thread;

use measure::{Host, Nanos};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::time::kernel_clock_source;

pub use core_kinds::CoreKind;
pub use memory::available_memory;
pub use throttle::throttled;

/// Describes the machine. `core_ghz` and `clock` stay absent: they belong to a run, and its caller knows them.
///
/// `cores` counts the processors in this process's affinity mask, by `sched_getaffinity`. A quota of a control group
/// is ignored, because it limits time, not processors: [`throttled`] says what it took.
pub fn describe() -> Host {
    let cpus = allowed_cpus();
    Host {
        cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| processor::model_name(&text)),
        cores: Some(cpus.len() as u64),
        core_ghz: None,
        caches: processor::caches(&cpus),
        memory: memory::physical_memory(),
        kernel: rustix::system::uname().release().to_str().ok().map(str::to_owned),
        hypervisor: processor::hypervisor(),
        clock: None,
        clock_source: kernel_clock_source(),
        pmu: processor::counters_answer(),
        huge_pages: huge_page_setting(),
    }
}

/// The name of this machine in its network; of a container its own. `None` where it is no text.
pub fn name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// Numbers of the processors that this process may use, in ascending order.
///
/// If the kernel refuses (a machine of more than 1024 processors does not fit the mask), the first ones, as many as the
/// standard library counts.
pub fn allowed_cpus() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(mask) => (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).collect(),
        Err(_) => (0..thread::available_parallelism().map_or(1, usize::from)).collect(),
    }
}

/// The kinds of cores among the processors that this process may use; one at most where they are alike.
pub fn core_kinds() -> Vec<CoreKind> {
    core_kinds::core_kinds_of(&allowed_cpus())
}

/// Bytes of the kernel's pages.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Time that the hypervisor took since the boot from the processors that this process may use, summed over them: those
/// that [`describe`] counts.
///
/// The kernel counts it in ticks of mostly 10 ms; a smaller difference means nothing. `None` if `/proc/stat` lacks it.
/// A physical machine, and one whose hypervisor hides it, always reports zero.
pub fn stolen() -> Option<Nanos> {
    stolen_ticks(&fs::read_to_string("/proc/stat").ok()?, &allowed_cpus()).map(of_ticks)
}

/// Time that this machine's processors worked since the boot, summed over all of them, the hypervisor's part included.
///
/// Counted in ticks of mostly 10 ms, as [`stolen`] is. `None` if `/proc/stat` lacks it.
pub fn busy() -> Option<Nanos> {
    busy_ticks(&fs::read_to_string("/proc/stat").ok()?).map(of_ticks)
}

fn of_ticks(ticks: u64) -> Nanos {
    let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
    Nanos((u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second)) as u64)
}

/// Eighth number of the lines of these processors in `/proc/stat`, such as `cpu0`: user, nice, system, idle, iowait,
/// irq, softirq, steal (proc(5)). Where one of them has no line, as in a container that numbers its own from 0, that of
/// the line `cpu`, which is the sum of all. The numbers ascend.
fn stolen_ticks(stat: &str, cpus: &[usize]) -> Option<u64> {
    let of_cpu = |line: &str| -> Option<u64> {
        let (number, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
        cpus.binary_search(&number.parse().ok()?).ok()?;
        steal(rest)
    };
    let own: Vec<u64> = stat.lines().filter_map(of_cpu).collect();
    match own.is_empty() || own.len() < cpus.len() {
        true => steal(stat.lines().find_map(|line| line.strip_prefix("cpu "))?),
        false => own.into_iter().try_fold(0, u64::checked_add),
    }
}

/// Eighth of the numbers behind the name of a line.
fn steal(numbers: &str) -> Option<u64> {
    numbers.split_whitespace().nth(7)?.parse().ok()
}

/// The first eight numbers of the line `cpu` of `/proc/stat` without the fourth and fifth, which are idle and waiting.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let numbers: Vec<u64> = line.split_whitespace().take(8).map_while(|number| number.parse().ok()).collect();
    let [user, nice, system, _idle, _waiting, interrupts, soft, stolen] = numbers[..] else { return None };
    [user, nice, system, interrupts, soft, stolen].into_iter().try_fold(0_u64, u64::checked_add)
}

fn huge_page_setting() -> Option<String> {
    bracketed(&fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?)
}

/// The chosen word of a setting such as `always [madvise] never`.
pub(crate) fn bracketed(setting: &str) -> Option<String> {
    let (_, rest) = setting.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steal_is_the_eighth_number() {
        let stat = "cpu  6168 19271 5262 177741 670 0 67 183 0 0\ncpu0 2650 7919 2232 91699 63 0 7 94 0 0\n";
        assert_eq!(stolen_ticks(stat, &[]), Some(183));
        assert_eq!(stolen_ticks("cpu  1 2 3 4\n", &[0]), None);
        assert_eq!(busy_ticks(stat), Some(6168 + 19271 + 5262 + 67 + 183));
        assert_eq!(busy_ticks("cpu  1 2 3 4\n"), None);
    }

    #[test]
    fn what_was_taken_from_processors_that_are_not_ours_is_not_counted() {
        let stat = "cpu  9 9 9 9 9 9 9 60 0 0\ncpu0 1 1 1 1 1 1 1 10 0 0\ncpu1 1 1 1 1 1 1 1 20 0 0\n\
                    cpu12 1 1 1 1 1 1 1 30 0 0\nintr 1 2 3 4 5 6 7 8 9\n";
        let of = |cpus: &[usize]| stolen_ticks(stat, cpus);
        assert_eq!([of(&[1]), of(&[0, 12]), of(&[2, 3])], [Some(20), Some(40), Some(60)]);
        assert_eq!(of(&[1, 2, 3]), Some(60), "the lines are not of the processors that have their numbers");
    }

    #[test]
    fn the_chosen_word_stands_in_brackets() {
        assert_eq!(bracketed("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(bracketed("always madvise never"), None);
    }

    #[test]
    fn this_machine_can_be_described() {
        let host = describe();
        assert!(host.cores > Some(0));
        assert!(host.memory.is_some_and(|bytes| bytes > 1 << 20));
        assert!(host.kernel.is_some());
        assert_eq!((host.core_ghz, host.clock), (None, None));
    }

    #[test]
    fn stolen_time_only_grows() {
        let before = stolen();
        assert!(stolen() >= before);
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|(cpu |[\\[\\]\n0-9 ])*") {
            let _ = (stolen_ticks(&text, &[0, 1]), busy_ticks(&text));
            let _ = bracketed(&text);
        }
    }
}
