//! The gate: all counting of the pool happens here, and every block it reads passes here.
//!
//! Each session has counters of its own on cache lines of their own, so that a hit writes to no line that another
//! thread looks at. They are summed on request.

use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::read::{Landing, ReadMethod, ReadRequest};

use crate::page::id::PAGE_SIZE;

/// What passed the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// Requests for a page that ended in a pin (or in an error): logical I/Os.
    pub gets: u64,
    /// Pages used again while still pinned, without a new get.
    pub pinned_revisits: u64,
    /// Read requests handed to the operating system.
    pub physical_reads: u64,
    /// Blocks that those requests asked for.
    pub blocks_read: u64,
}

impl Add for GateCounts {
    type Output = GateCounts;

    fn add(self, other: GateCounts) -> GateCounts {
        self.with(other, |one, other| one + other)
    }
}

impl GateCounts {
    /// What was added since `earlier`.
    pub fn since(self, earlier: GateCounts) -> GateCounts {
        self.with(earlier, |now, earlier| now - earlier)
    }

    fn with(self, other: GateCounts, of_both: fn(u64, u64) -> u64) -> GateCounts {
        GateCounts {
            gets: of_both(self.gets, other.gets),
            pinned_revisits: of_both(self.pinned_revisits, other.pinned_revisits),
            physical_reads: of_both(self.physical_reads, other.physical_reads),
            blocks_read: of_both(self.blocks_read, other.blocks_read),
        }
    }
}

/// The counters of one session. Two lines of 64 bytes, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Gate {
    gets: AtomicU64,
    pinned_revisits: AtomicU64,
    physical_reads: AtomicU64,
    blocks_read: AtomicU64,
}

impl Gate {
    /// Counts a get.
    #[inline]
    pub(super) fn get(&self) {
        add(&self.gets, 1);
    }

    /// Counts the use of a page that was still pinned.
    #[inline]
    pub(super) fn pinned_revisit(&self) {
        add(&self.pinned_revisits, 1);
    }

    /// Hands a read to its method and counts it: the only way to the disk. Where it lands in lent memory, that says.
    pub(super) fn read(&self, method: &mut dyn ReadMethod, request: ReadRequest, landing: Option<Landing>) {
        add(&self.physical_reads, 1);
        add(&self.blocks_read, (request.length / PAGE_SIZE) as u64);
        match landing {
            Some(landing) => method.queue_into(request, landing),
            None => method.queue(request),
        }
    }

    /// The counts so far. From another thread they may be a few behind each other.
    pub(super) fn counts(&self) -> GateCounts {
        GateCounts {
            gets: self.gets.load(Ordering::Relaxed),
            pinned_revisits: self.pinned_revisits.load(Ordering::Relaxed),
            physical_reads: self.physical_reads.load(Ordering::Relaxed),
            blocks_read: self.blocks_read.load(Ordering::Relaxed),
        }
    }
}

/// A session is used by one thread at a time, so a load and a store do what a locked instruction would do at ten times
/// the cost.
#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// The gates of all sessions of a pool.
#[derive(Debug, Default)]
pub(super) struct Gates(Mutex<Ledger>);

#[derive(Debug, Default)]
struct Ledger {
    open: Vec<Arc<Gate>>,
    closed: GateCounts,
}

impl Gates {
    /// A gate for a new session.
    pub(super) fn open(&self) -> Arc<Gate> {
        let gate = Arc::new(Gate::default());
        self.ledger().open.push(Arc::clone(&gate));
        gate
    }

    /// Keeps the counts of a session that ends.
    pub(super) fn close(&self, gate: &Arc<Gate>) {
        let mut ledger = self.ledger();
        ledger.open.retain(|open| !Arc::ptr_eq(open, gate));
        ledger.closed = ledger.closed + gate.counts();
    }

    /// The sum over all sessions, living and ended.
    pub(super) fn sum(&self) -> GateCounts {
        let ledger = self.ledger();
        ledger.open.iter().fold(ledger.closed, |sum, gate| sum + gate.counts())
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
