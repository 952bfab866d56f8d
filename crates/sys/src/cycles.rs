//! Core cycles of a thread, counted by the processor: a third clock beside the wall and the CPU clock.
//!
//! Most virtual machines hide the counter. It is absent then, with the reason; nothing is put in its place.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use thiserror::Error;

/// Why cycles are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCycles {
    /// The kernel's settings or a sandbox forbid it.
    #[error("the kernel forbids performance counters (kernel.perf_event_paranoid above 2, or a sandbox)")]
    Forbidden,
    /// There is no counter, or it opens and stays at zero, as some hypervisors have it.
    #[error("this machine hides the processor's counters, as most virtual machines do")]
    Hidden,
}

/// Cycles that one thread has spent in user mode.
#[derive(Debug)]
pub struct CycleCounter {
    descriptor: File,
}

impl CycleCounter {
    /// A counter of the calling thread, proven to count.
    pub fn of_this_thread() -> Result<CycleCounter, NoCycles> {
        let descriptor = open_cycles().map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => NoCycles::Forbidden,
            _ => NoCycles::Hidden,
        })?;
        let counter = CycleCounter { descriptor };
        let mut work = 0u64;
        for step in 0..10_000 {
            work = black_box(work.wrapping_add(step));
        }
        match counter.read() {
            Some(cycles) if cycles > 0 => Ok(counter),
            _ => Err(NoCycles::Hidden),
        }
    }

    /// Cycles so far; a system call of about half a microsecond.
    pub fn read(&self) -> Option<u64> {
        let mut value = [0; 8];
        (&self.descriptor).read_exact(&mut value).ok()?;
        Some(u64::from_ne_bytes(value))
    }
}

/// The first published version of `struct perf_event_attr`: 64 bytes, all that is needed here, in every kernel.
#[repr(C)]
#[derive(Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const _: () = assert!(size_of::<EventAttributes>() == 64);

// From include/uapi/linux/perf_event.h.
const TYPE_HARDWARE: u32 = 0;
const HARDWARE_CPU_CYCLES: u64 = 0;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Opens a counter of this thread's cycles in user mode, which asks for the least permission.
fn open_cycles() -> io::Result<File> {
    let attributes = EventAttributes {
        kind: TYPE_HARDWARE,
        size: size_of::<EventAttributes>() as u32,
        config: HARDWARE_CPU_CYCLES,
        flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        ..EventAttributes::default()
    };
    let (this_thread, any_cpu, no_group) = (0 as libc::pid_t, -1 as libc::c_int, -1 as libc::c_int);
    // SAFETY: the kernel reads `size` bytes of the attributes, which live across the call, and writes only their
    // size field, and only when it does not know that size.
    let descriptor = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, this_thread, any_cpu, no_group, CLOSE_ON_EXEC)
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just opened this descriptor for us, and nothing else knows it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_grow_or_are_absent_with_a_reason() {
        match CycleCounter::of_this_thread() {
            Ok(counter) => assert!(counter.read() < counter.read()),
            Err(reason) => assert!(reason.to_string().len() > 20),
        }
    }
}
