//! Counters of the kernel, opened by perf_event_open(2).

use std::cell::RefCell;

use perf_event::events::Software;
use perf_event::{Builder, Counter};

use super::absence::Absence;
use super::event::Event;
use super::groups::{Counting, Pmu, Refusal};
use super::rings::Rings;
use super::tally::Raw;

/// Which threads a counter counts, and from when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// One thread.
    OneThread,
    /// A thread and everything it starts.
    WithDescendants,
    /// Everything a thread starts, from its `exec` on.
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
    /// A counter that stands still until its leader starts. Members of a group are read one by one, the crate's
    /// default: older kernels refuse to read a whole group whose counters are inherited.
    fn builder(&self, event: Event, is_leader: bool) -> Result<Builder<'static>, Absence> {
        let mut builder = Builder::new(Software::DUMMY);
        builder.attrs_mut().type_ = event.kind;
        builder.attrs_mut().config = event.config;
        let is_user = self.rings == Rings::User;
        builder.exclude_kernel(is_user).exclude_hv(is_user);
        builder.inherit(self.life != Life::OneThread).enable_on_exec(self.life == Life::FromExec && is_leader);
        builder.enabled(!is_leader);
        builder.observe_pid(libc::pid_t::try_from(self.thread).map_err(|_| Absence::Gone)?);
        Ok(builder)
    }
}

impl Pmu for Kernel {
    type Counter = KernelCounter;

    fn open(&self, event: Event, leader: Option<&KernelCounter>) -> Result<KernelCounter, Refusal> {
        if self.rings == Rings::User && event.is_of_the_kernel() {
            return Err(Refusal::Absent(Absence::Forbidden));
        }
        let builder = self.builder(event, leader.is_none()).map_err(Refusal::Absent)?;
        let opened = match leader {
            Some(leader) => builder.build_with_group(&mut *leader.0.borrow_mut()),
            None => builder.build(),
        };
        let counter = opened.map_err(|error| match error.raw_os_error() {
            // EINVAL and, from some drivers, EBUSY or ENOSPC mean that the group cannot take it.
            Some(libc::EINVAL | libc::EBUSY | libc::ENOSPC) if leader.is_some() => Refusal::DoesNotFit,
            // The crate keeps the number of every error but of this one.
            errno => Refusal::Absent(Absence::of(errno.unwrap_or(libc::E2BIG))),
        })?;
        Ok(KernelCounter(RefCell::new(counter)))
    }
}

/// An open counter. The crate takes it mutably for each request, although only the kernel's state changes.
#[derive(Debug)]
pub(super) struct KernelCounter(RefCell<Counter>);

impl Counting for KernelCounter {
    fn start(&self) {
        // A counter whose thread is gone refuses, and counts no more.
        let _ = self.0.borrow_mut().enable();
    }

    fn stop(&self) {
        let _ = self.0.borrow_mut().disable();
    }

    fn read(&self) -> Option<Raw> {
        let read = self.0.borrow_mut().read_full().ok()?;
        let (enabled, running) = (read.time_enabled()?, read.time_running()?);
        Some(Raw { value: read.count(), enabled: enabled.as_nanos() as u64, running: running.as_nanos() as u64 })
    }
}
