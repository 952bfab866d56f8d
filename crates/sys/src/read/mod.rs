//! I/O methods: ways to ask the kernel for blocks. One file and one row of [`METHODS`] each.
//!
//! A method owns the buffers it reads into, because the kernel writes to them until a read has completed. It does
//! not choose offsets, keep time or count: the read loop above does.

mod slots;
mod sync;
mod threads;
mod uring;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::file::Target;
use crate::memory::Region;

/// One read that the method is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// First byte to read.
    pub offset: u64,
    /// Bytes to read, at most the slot's size.
    pub length: usize,
    /// Which of the method's buffers takes the data, `0..depth`. It must not be in flight.
    pub slot: usize,
}

/// A piece of lent memory that one read may write to.
#[derive(Debug)]
pub struct Landing {
    start: usize,
    length: usize,
}

impl Landing {
    /// `length` bytes from byte `start` of the memory that was lent to the method.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes these bytes until the completion of the read was reaped, or
    /// [`finish`](ReadMethod::finish) returned true, or forever.
    pub unsafe fn new(start: usize, length: usize) -> Landing {
        Landing { start, length }
    }
}

/// One read that has ended.
#[derive(Debug)]
pub struct Completion {
    /// The slot of the request.
    pub slot: usize,
    /// Bytes read (a short read is the caller's to judge), or the kernel's error.
    pub result: io::Result<usize>,
}

/// How long [`ReadMethod::reap`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Return once this many reads have ended (capped by those in flight); 0 only looks.
    pub at_least: usize,
    /// Return after this long in any case.
    pub timeout: Option<Duration>,
}

/// A way to read blocks, with up to [`depth`](ReadMethod::depth) reads in flight.
pub trait ReadMethod: Send {
    /// Number of slots: reads that may be in flight at once.
    fn depth(&self) -> usize;

    /// Takes a request without blocking. It reaches the kernel with the next [`reap`](ReadMethod::reap).
    ///
    /// Panics when the slot is in flight, out of range or smaller than the request: the loop above is broken then.
    fn queue(&mut self, request: ReadRequest);

    /// Hands everything queued to the kernel, waits as told, and appends what has ended to `done`.
    ///
    /// An error here is a failure of the method itself; a failed read is a [`Completion`].
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()>;

    /// What the last completed read put into `slot`. Panics while the slot is in flight.
    fn data(&self, slot: usize) -> &[u8];

    /// Takes memory that reads may also go to, beside the slots; whether [`queue_into`](ReadMethod::queue_into) can be
    /// called from now on. Asked before the first read, and once.
    fn lend(&mut self, _memory: &Arc<Region>) -> bool {
        false
    }

    /// As [`queue`](ReadMethod::queue), but what is read goes to the lent memory and not to the slot, whose
    /// [`data`](ReadMethod::data) then mean nothing.
    ///
    /// Panics where `queue` does, where the landing is shorter than the request, and when no memory was taken.
    fn queue_into(&mut self, _request: ReadRequest, _landing: Landing) {
        panic!("no memory was taken");
    }

    /// Waits for the reads that the kernel has, whose outcome nobody wants, and makes no other; false when not all have
    /// ended: lent memory may still be written to, for as long as this process lives. Nothing is asked of the method
    /// afterwards: queueing panics.
    fn finish(&mut self) -> bool {
        true
    }

    /// What the method has to do without on this system, one sentence each; usually nothing.
    fn fallbacks(&self) -> &[&'static str] {
        &[]
    }
}

/// What a method is opened with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The open file or block device. The method keeps its own reference to the descriptor.
    pub target: &'a Target,
    /// Slots.
    pub depth: usize,
    /// Bytes a slot holds.
    pub slot_bytes: usize,
}

/// A row of the table of methods.
#[derive(Clone, Copy, Debug)]
pub struct MethodRow {
    /// The name on the command line and in run documents.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Most reads in flight that the method can hold; `None` when only memory limits it.
    pub depth_max: Option<usize>,
    /// Opens the method on a target.
    pub open: fn(Setup<'_>) -> Result<Box<dyn ReadMethod>, MethodError>,
}

/// Every I/O method of this system.
pub const METHODS: &[MethodRow] = &[sync::ROW, threads::ROW, uring::ROW];

/// Why a method could not be opened.
#[derive(Debug, Error)]
pub enum MethodError {
    /// The kernel or its administrator does not offer the method.
    #[error("I/O method {method} is not available here ({reason}); use --io-method {instead}")]
    Unavailable {
        /// The method's name.
        method: &'static str,
        /// The kernel's answer.
        reason: io::Error,
        /// A method that works everywhere.
        instead: &'static str,
    },
    /// The method cannot hold that many reads.
    #[error("I/O method {method} holds at most {depth_max} reads in flight, {depth} were asked for")]
    Depth {
        /// The method's name.
        method: &'static str,
        /// What was asked for.
        depth: usize,
        /// What it holds.
        depth_max: usize,
    },
    /// Memory for the buffers could not be had.
    #[error("no memory for {bytes} bytes of read buffers: {reason}")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// The kernel's answer.
        reason: io::Error,
    },
}

/// The name of the method that costs least for this many reads in flight, among those that work here.
///
/// A single read is cheapest as one system call on the calling thread: io_uring adds the hand-over through its rings
/// and saves nothing (8 KiB from the page cache: 1.45 µs by pread, 2.1 by io_uring, on a virtual 3.5 GHz core of 2026).
/// From two on, it spares a thread and two wake-ups for each read.
pub fn best_method(depth: usize) -> &'static str {
    match depth {
        0 | 1 => sync::ROW.name,
        _ if uring::is_available() => uring::ROW.name,
        _ => threads::ROW.name,
    }
}

/// The row of this name.
pub fn method(name: &str) -> Option<&'static MethodRow> {
    METHODS.iter().find(|row| row.name == name)
}
