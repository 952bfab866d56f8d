//! Each store of another process to an address, with what its memory held then: a hardware watchpoint and a small
//! program in the kernel that copies the memory.
//!
//! A store costs the process a debug exception: about 1 µs on a machine of its own, about 10 µs under a hypervisor. It
//! takes the rights CAP_PERFMON and CAP_BPF, which root has.

mod program;

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use perf_event::events::Breakpoint;
use perf_event::{Builder, Counter};
use rustix::param::page_size;
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};

use self::program::RECORD_BYTES;
pub use self::program::{Copied, PARTS_MAX};
use crate::bpf::{Array, HEAD_BYTES, Ring};
pub use crate::time::monotonic_nanos as now;

/// How often two clocks are read to be held against each other.
const READINGS: u32 = 5;

/// A store that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// When: nanoseconds of CLOCK_MONOTONIC.
    pub at: u64,
    /// Which watch saw it, by the number that it was given.
    pub watch: u32,
    /// What each part held right after it, in little endian; 0 where it could not be read.
    pub parts: [u64; PARTS_MAX],
}

/// Watches over addresses of processes. Dropping it ends them.
#[derive(Debug)]
pub struct Watches {
    ring: Ring,
    lost: Array,
    counters: Vec<(u32, Counter)>,
}

impl Watches {
    /// None yet; this many stores are kept until they are taken.
    ///
    /// # Errors
    /// The kernel's: it has no such programs, or this process may not use them.
    pub fn open(stores_max: u32) -> io::Result<Watches> {
        let bytes = stores_max as usize * (HEAD_BYTES + RECORD_BYTES);
        let ring = Ring::of(bytes.max(page_size()).next_power_of_two())?;
        Ok(Watches { ring, lost: Array::of_one()?, counters: Vec::new() })
    }

    /// Watches the four bytes at an address of a process, as number `watch`, and copies these parts with each store, at
    /// most [`PARTS_MAX`].
    ///
    /// # Errors
    /// The kernel's: the process has ended, its debug registers are taken, or it may not be watched.
    pub fn watch(&mut self, watch: u32, process: u32, address: u64, copied: &[Copied]) -> io::Result<()> {
        let process = libc::pid_t::try_from(process).map_err(|_| io::ErrorKind::InvalidInput)?;
        let program = program::load(&self.ring, &self.lost, watch, copied)?;
        let mut counter =
            Builder::new(Breakpoint::write(address, 4)).observe_pid(process).any_cpu().sample_period(1).build()?;
        counter.set_bpf(program.as_raw_fd())?;
        counter.enable()?;
        self.counters.push((watch, counter));
        Ok(())
    }

    /// Ends a watch.
    pub fn unwatch(&mut self, watch: u32) {
        self.counters.retain(|(number, _)| *number != watch);
    }

    /// The oldest store that was not taken yet. No call is made: while one on a map goes on, stores are not seen on
    /// that processor.
    pub fn take(&mut self) -> Option<Store> {
        let mut record = [0_u64; RECORD_BYTES / 8];
        self.ring.take(&mut record)?;
        let mut parts = [0; PARTS_MAX];
        parts.copy_from_slice(&record[2..]);
        Some(Store { at: record[0], watch: record[1] as u32, parts })
    }

    /// Stores that found no room.
    pub fn lost(&self) -> u64 {
        self.lost.value()
    }
}

/// Nanoseconds from the clock of the stores to the time since 1970, as it is now.
pub fn since_1970() -> i64 {
    let read = || {
        let (before, wall, after) = (now(), clock_gettime(ClockId::Realtime), now());
        let wall = wall.tv_sec.saturating_mul(1_000_000_000).saturating_add(wall.tv_nsec);
        (after - before, wall.saturating_sub((before + (after - before) / 2).cast_signed()))
    };
    // Of several readings the one in which the thread lost its processor for the shortest time.
    (0..READINGS).map(|_| read()).min().map_or(0, |(_, offset)| offset)
}

/// What a watched store takes from its process, by some of our own: the median of their times.
///
/// # Errors
/// The kernel's, as of a watch over another process; also where it saw none of them.
pub fn cost_of_a_store(stores: u32) -> io::Result<Duration> {
    let watched = AtomicU32::new(0);
    let address = watched.as_ptr() as u64;
    let mut watches = Watches::open(stores)?;
    // A watch is on one thread: this one.
    let own = gettid().as_raw_nonzero().get().cast_unsigned();
    watches.watch(0, own, address, &[Copied { address, bytes: 4 }; PARTS_MAX])?;
    let mut times: Vec<u64> = (0..stores)
        .map(|store| {
            let begun = now();
            watched.store(store, Ordering::SeqCst);
            now() - begun
        })
        .collect();
    if watches.take().is_none() {
        return Err(io::Error::other("the machine's watchpoints see nothing"));
    }
    times.sort_unstable();
    Ok(Duration::from_nanos(times.get(times.len() / 2).copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests;
