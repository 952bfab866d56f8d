//! What an I/O method is: the requests it takes, how it is waited for, and how it is opened.
//!
//! A method owns the buffers it reads into, because the kernel writes to them until a read has completed. It neither
//! chooses offsets nor keeps time nor counts: the read loop above does.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::file::Target;
use crate::memory::{Pages, Region};

/// One read to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// First byte to read.
    pub offset: u64,
    /// Bytes to read, at most the slot's size.
    pub length: usize,
    /// Which of the method's buffers takes the data, `0..depth`. It must not be in flight.
    pub slot: usize,
}

/// The part of the lent memory that one read may write to.
#[derive(Debug)]
pub struct Landing {
    pub(super) start: usize,
    pub(super) length: usize,
}

impl Landing {
    /// `length` bytes from byte `start` of the memory that was lent to the method.
    ///
    /// # Safety
    ///
    /// No other code reads or writes these bytes until the completion of the read was reaped, or
    /// [`finish`](ReadMethod::finish) returned true; otherwise forever.
    pub unsafe fn new(start: usize, length: usize) -> Landing {
        Landing { start, length }
    }
}

/// One read that has ended.
#[derive(Debug)]
pub struct Completion {
    /// Slot of the request.
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

    /// Hands everything queued to the kernel, waits as `wait` says, and appends the completed reads to `done`.
    ///
    /// An error here is a failure of the method itself; a failed read is a [`Completion`].
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()>;

    /// What the last completed read put into `slot`. Panics while the slot is in flight.
    fn data(&self, slot: usize) -> &[u8];

    /// Offers memory that reads may also go to; true if [`queue_into`](ReadMethod::queue_into) can be called from now
    /// on. Called once, before the first read.
    fn lend(&mut self, _memory: &Arc<Region>) -> bool {
        false
    }

    /// As [`queue`](ReadMethod::queue), but reads into the lent memory instead of the slot, whose
    /// [`data`](ReadMethod::data) is then meaningless.
    ///
    /// Panics where `queue` does, where the landing is shorter than the request, and when no memory was taken.
    fn queue_into(&mut self, _request: ReadRequest, _landing: Landing) {
        panic!("no memory was taken");
    }

    /// Waits for the reads that the kernel holds, discards their results and starts no other; false if some are still
    /// running: lent memory may then be written to for as long as this process lives. Queueing panics afterwards.
    fn finish(&mut self) -> bool {
        true
    }

    /// Features that the method lacks on this system, one sentence each; usually none.
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
    /// The pages that the slots stand on.
    pub pages: Pages,
}

/// A row of the table of methods.
#[derive(Clone, Copy, Debug)]
pub struct MethodRow {
    /// The name on the command line and in run documents.
    pub name: &'static str,
    /// Most reads in flight; `None` if only memory limits them.
    pub depth_max: Option<usize>,
    /// Opens the method on a target.
    pub open: fn(Setup<'_>) -> Result<Box<dyn ReadMethod>, MethodError>,
}

/// Why a method could not be opened.
#[derive(Debug, Error)]
pub enum MethodError {
    /// The kernel lacks the method, or its administrator disabled it.
    #[error("I/O method {method} is not available here ({reason}); use --io-method {instead}")]
    Unavailable {
        /// The method's name.
        method: &'static str,
        /// The kernel's answer.
        reason: io::Error,
        /// A method that works everywhere.
        instead: &'static str,
    },
    /// The method cannot hold as many reads.
    #[error("I/O method {method} holds at most {depth_max} reads in flight, {depth} were asked for")]
    Depth {
        /// The method's name.
        method: &'static str,
        /// The depth that was requested.
        depth: usize,
        /// The most it holds.
        depth_max: usize,
    },
    /// The kernel refused a thread. It gives one answer for too many threads and for too little memory for a stack.
    #[error(
        "I/O method {method} takes a thread for each read in flight, and one of {depth} could not be started \
         ({reason}): use a smaller depth, or raise the limit on processes (ulimit -u, pids.max) or on memory \
         (ulimit -v)"
    )]
    NotStarted {
        /// The method's name.
        method: &'static str,
        /// The depth that was requested.
        depth: usize,
        /// The kernel's answer.
        reason: io::Error,
    },
    /// There was no memory for the buffers.
    #[error("no memory for {bytes} bytes of read buffers: {reason}")]
    Memory {
        /// Bytes requested.
        bytes: usize,
        /// The kernel's answer.
        reason: io::Error,
    },
}
