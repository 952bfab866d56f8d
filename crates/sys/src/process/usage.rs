//! What the kernel has charged to this process and this thread: processor time, reads, memory, context switches.

use std::fs;

use measure::Nanos;
use rustix::time::ClockId;

use crate::time::kernel_time;

/// The kernel's counts of the calling thread's reads, and the line of such a file with what came from storage.
const OF_THREAD: &str = "/proc/thread-self/io";
const FETCHED: &str = "read_bytes:";

/// Processor time of all threads of the process, in user and kernel mode together.
///
/// Source: `CLOCK_PROCESS_CPUTIME_ID`, exact to the scheduler's clock. A system call of some 0.5 µs: never call it
/// around a single read.
pub fn process_cpu() -> Nanos {
    kernel_time(ClockId::ProcessCPUTime)
}

/// Processor time of the calling thread, in user and kernel mode together.
///
/// Source: `CLOCK_THREAD_CPUTIME_ID`. A system call of some 0.5 µs: never call it around a single read.
pub fn thread_cpu() -> Nanos {
    kernel_time(ClockId::ThreadCPUTime)
}

/// Bytes that all threads of the process have fetched from storage: every direct read, and buffered ones where the
/// page cache missed (`read_bytes` of `/proc/self/io`; see proc(5)). `None` if the kernel was built without the counts.
pub fn process_fetched() -> Option<u64> {
    number_after(&fs::read_to_string("/proc/self/io").ok()?, FETCHED)
}

/// The same of the calling thread.
pub fn thread_fetched() -> Option<u64> {
    number_after(&fs::read_to_string(OF_THREAD).ok()?, FETCHED)
}

/// Peak memory of the process in bytes (`VmHWM` of `/proc/self/status`); `None` if the kernel does not report it.
pub fn peak_memory() -> Option<u64> {
    peak_in("self")
}

/// The same of another process; `None` also where there is no such process.
pub fn peak_memory_of(process: u32) -> Option<u64> {
    peak_in(&process.to_string())
}

fn peak_in(process: &str) -> Option<u64> {
    // The name of the process, which stands there too, may be cut within a letter and so be no UTF-8.
    let status = fs::read(format!("/proc/{process}/status")).ok()?;
    number_after(&String::from_utf8_lossy(&status), "VmHWM:").map(|kib| kib * 1024)
}

/// The number that follows `name` at the start of a line.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_grows_with_work_and_the_thread_is_part_of_the_process() {
        let (process, thread) = (process_cpu(), thread_cpu());
        while thread_cpu().since(thread) < Nanos::from_millis(5) {}
        assert!(process_cpu().since(process) >= Nanos::from_millis(5));
    }

    #[test]
    fn a_read_is_charged_to_the_thread_that_made_it() {
        let counts = || ["rchar:", "syscr:"].map(|name| number_after(&fs::read_to_string(OF_THREAD).unwrap(), name));
        let before = counts();
        let bytes = fs::read("/proc/self/status").unwrap().len() as u64;
        let after = counts();
        let [read, calls] = [0, 1].map(|place| after[place].unwrap() - before[place].unwrap());
        assert!(read >= bytes && calls >= 1, "{read} {calls}");
    }

    #[test]
    fn a_kernel_without_the_counts_gives_none_rather_than_zeros() {
        assert_eq!(number_after("rchar: 5\nsyscr: 6\n", FETCHED), None);
        assert_eq!(number_after("rchar: 5\nwchar: 1\nsyscr: 6\nread_bytes: 7\n", FETCHED), Some(7));
    }

    #[test]
    fn the_peak_holds_what_was_touched() {
        let memory = vec![1_u8; 64 << 20];
        assert!(peak_memory().unwrap() > memory.len() as u64);
        assert!(peak_memory_of(std::process::id()).unwrap() > memory.len() as u64);
        assert_eq!(peak_memory_of(u32::MAX), None);
    }

    #[test]
    fn a_process_whose_name_was_cut_within_a_letter_has_a_peak_too() {
        let named = std::thread::spawn(|| {
            // SAFETY: the name ends with a zero and is read during the call, which changes the calling thread alone.
            let done = unsafe { libc::prctl(libc::PR_SET_NAME, c"gr\xc3".as_ptr()) };
            (done, peak_memory_of(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()))
        });
        let (done, peak) = named.join().unwrap();
        assert!(done == 0 && peak.is_some(), "{done} {peak:?}");
    }
}
