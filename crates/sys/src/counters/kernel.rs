//! Counters of the kernel: the system call perf_event_open and its file descriptors.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::absence::Absence;
use super::event::Event;
use super::groups::{Counting, Pmu, Refusal};
use super::rings::Rings;
use super::tally::Raw;

/// The first published version of `struct perf_event_attr`: 64 bytes, all that is needed here, in every kernel.
#[repr(C)]
#[derive(Default)]
pub(crate) struct EventAttributes {
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

impl EventAttributes {
    /// An event by its type and number, with flags.
    pub(crate) fn new(kind: u32, config: u64, flags: u64) -> EventAttributes {
        // The members of a group are read one by one: older kernels refuse a reading of the whole group where a
        // counter is passed on to children.
        let (size, read_format) = (size_of::<EventAttributes>() as u32, TOTAL_TIMES);
        EventAttributes { kind, size, config, flags, read_format, ..EventAttributes::default() }
    }
}

const _: () = assert!(size_of::<EventAttributes>() == 64);

// From include/uapi/linux/perf_event.h.
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TOTAL_TIMES: u64 = 1 | 1 << 1;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const IOCTL_ENABLE: u64 = 0x2400;
const IOCTL_DISABLE: u64 = 0x2401;

/// When a counter counts, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// One thread.
    OneThread,
    /// A thread and all that it starts.
    WithDescendants,
    /// What a thread starts, from its `exec` on.
    FromExec,
}

/// The kernel's counters of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    /// Number of the thread; 0 for the calling one.
    pub(super) thread: u32,
    pub(super) life: Life,
    pub(super) rings: Rings,
}

impl Kernel {
    fn flags(&self, is_leader: bool) -> u64 {
        let rings = if self.rings == Rings::User { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR } else { 0 };
        let life = match self.life {
            Life::OneThread => 0,
            Life::WithDescendants => INHERIT,
            Life::FromExec if is_leader => INHERIT | ENABLE_ON_EXEC,
            Life::FromExec => INHERIT,
        };
        rings | life | if is_leader { DISABLED } else { 0 }
    }
}

impl Pmu for Kernel {
    type Counter = KernelCounter;

    fn open(&self, event: Event, leader: Option<&KernelCounter>) -> Result<KernelCounter, Refusal> {
        if self.rings == Rings::User && event.is_of_the_kernel() {
            return Err(Refusal::Absent(Absence::Forbidden));
        }
        let attributes = EventAttributes::new(event.kind, event.config, self.flags(leader.is_none()));
        let thread = libc::pid_t::try_from(self.thread).map_err(|_| Refusal::Absent(Absence::Gone))?;
        let group = leader.map_or(-1, |leader| leader.descriptor.as_raw_fd());
        let descriptor = open(&attributes, thread, group).map_err(|error| match error.raw_os_error() {
            // EINVAL and, from some drivers, EBUSY or ENOSPC say that the group cannot take it.
            Some(libc::EINVAL | libc::EBUSY | libc::ENOSPC) if leader.is_some() => Refusal::DoesNotFit,
            errno => Refusal::Absent(Absence::of(errno.unwrap_or(0))),
        })?;
        Ok(KernelCounter { descriptor })
    }
}

/// An open counter.
#[derive(Debug)]
pub(super) struct KernelCounter {
    descriptor: File,
}

impl KernelCounter {
    fn ask(&self, request: u64) {
        // SAFETY: both requests take a number and no pointer. A counter whose thread is gone refuses them, which
        // changes nothing: it counts no more.
        unsafe { libc::ioctl(self.descriptor.as_raw_fd(), request as _, 0) };
    }
}

impl Counting for KernelCounter {
    fn start(&self) {
        self.ask(IOCTL_ENABLE);
    }

    fn stop(&self) {
        self.ask(IOCTL_DISABLE);
    }

    fn read(&self) -> Option<Raw> {
        let mut bytes = [0; 24];
        (&self.descriptor).read_exact(&mut bytes).ok()?;
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        Some(Raw { value: word(0), enabled: word(1), running: word(2) })
    }
}

/// Opens a counter on any processor; `thread` 0 is the calling one, `group` -1 none.
pub(crate) fn open(attributes: &EventAttributes, thread: libc::pid_t, group: RawFd) -> io::Result<File> {
    let any_cpu: libc::c_int = -1;
    // SAFETY: the kernel reads `size` bytes of the attributes, which live across the call, and writes only their
    // size field, and only when it does not know that size: it knows this one since its first version.
    let descriptor = unsafe {
        libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(attributes), thread, any_cpu, group, CLOSE_ON_EXEC)
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just opened this descriptor for us, and nothing else knows it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) }))
}
