//! What stands between the buffer pool and a file: it measures how long is waited for reads, and how many are in flight
//! meanwhile; and it can put a modelled device below the pool, whose reads take virtual time and return the file.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use device::model::clients::{Content, SharedModel};
use device::time_source::{TimeSource, VirtualClock};
use measure::Nanos;
use storage::pool::PageSource;
use sys::clock::Clock;
use sys::read::{Completion, Landing, MethodError, MethodRow, ReadMethod, ReadRequest, Wait};
use sys::region::Region;
use sys::target::Target;

use crate::nested_loops::ReadCost;

/// The clock of a device.
#[derive(Clone, Debug)]
pub(super) enum DeviceClock {
    /// Of a real one.
    Machine(Clock),
    /// Of a model.
    Virtual(VirtualClock),
}

impl DeviceClock {
    pub(super) fn now(&self) -> Nanos {
        match self {
            DeviceClock::Machine(clock) => clock.now(),
            DeviceClock::Virtual(clock) => clock.now(),
        }
    }
}

/// Counts of one file. One thread writes them.
#[derive(Debug, Default)]
pub(super) struct Meter {
    nanos: AtomicU64,
    reads: AtomicU64,
    bytes: AtomicU64,
    /// Nanoseconds times reads in flight.
    flights: AtomicU64,
}

impl Meter {
    /// Everything since the last time, in blocks of so many bytes.
    pub(super) fn take(&self, block: usize) -> ReadCost {
        let counters = [&self.nanos, &self.reads, &self.bytes, &self.flights];
        let [nanos, reads, bytes, flights] = counters.map(|counter| counter.swap(0, Ordering::Relaxed));
        let in_flight = (nanos > 0).then(|| flights as f64 / nanos as f64);
        ReadCost { time: Nanos(nanos), reads, blocks: bytes / block as u64, in_flight }
    }
}

/// Where the bytes of a file come from.
#[derive(Clone)]
pub(super) enum Below {
    /// From the file.
    File(Target),
    /// From the file too, but when a model says.
    Model(Modelled),
}

/// A file that lies on a model.
#[derive(Clone)]
pub(super) struct Modelled {
    path: PathBuf,
    bytes: u64,
    model: SharedModel,
    /// Where on the device it begins.
    start: u64,
    content: Arc<Content>,
}

impl Modelled {
    /// The first `bytes` of a file, which begin at byte `start` of the device. Errors when it cannot be opened.
    pub(super) fn open(path: &Path, bytes: u64, model: SharedModel, start: u64) -> io::Result<Modelled> {
        let file = File::open(path)?;
        let content = move |offset: u64, slot: &mut [u8]| file.read_exact_at(slot, offset - start);
        Ok(Modelled { path: path.into(), bytes, model, start, content: Arc::new(content) })
    }
}

/// A file under a meter.
pub(super) struct Metered {
    pub(super) below: Below,
    pub(super) meter: Arc<Meter>,
    pub(super) clock: DeviceClock,
}

impl fmt::Debug for Metered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metered").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl PageSource for Metered {
    fn path(&self) -> &Path {
        match &self.below {
            Below::File(target) => target.path(),
            Below::Model(modelled) => &modelled.path,
        }
    }

    fn size(&self) -> u64 {
        match &self.below {
            Below::File(target) => target.size(),
            Below::Model(modelled) => modelled.bytes,
        }
    }

    fn check_pages(&self) -> Result<(), String> {
        match &self.below {
            Below::File(target) => target.check_pages(),
            Below::Model(_) => Ok(()),
        }
    }

    fn open(&self, row: &MethodRow, depth: usize, slot_bytes: usize) -> Result<Box<dyn ReadMethod>, MethodError> {
        let (method, start): (Box<dyn ReadMethod>, u64) = match &self.below {
            Below::File(target) => (target.open(row, depth, slot_bytes)?, 0),
            Below::Model(Modelled { model, start, content, .. }) => {
                let depth = depth.min(row.depth_max.unwrap_or(depth));
                (Box::new(model.another(depth, slot_bytes, Some(Arc::clone(content)))), *start)
            }
        };
        let (meter, clock) = (Arc::clone(&self.meter), self.clock.clone());
        Ok(Box::new(MeteredMethod { method, start, meter, clock, in_flight: 0 }))
    }
}

/// A method under a meter.
struct MeteredMethod {
    method: Box<dyn ReadMethod>,
    start: u64,
    meter: Arc<Meter>,
    clock: DeviceClock,
    in_flight: u64,
}

impl MeteredMethod {
    /// The request as the device hears it.
    fn counted(&mut self, request: ReadRequest) -> ReadRequest {
        self.in_flight += 1;
        self.meter.reads.fetch_add(1, Ordering::Relaxed);
        self.meter.bytes.fetch_add(request.length as u64, Ordering::Relaxed);
        ReadRequest { offset: request.offset + self.start, ..request }
    }
}

impl ReadMethod for MeteredMethod {
    fn depth(&self) -> usize {
        self.method.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        let request = self.counted(request);
        self.method.queue(request);
    }

    fn lend(&mut self, memory: &Arc<Region>) -> bool {
        self.method.lend(memory)
    }

    fn queue_into(&mut self, request: ReadRequest, landing: Landing) {
        let request = self.counted(request);
        self.method.queue_into(request, landing);
    }

    fn finish(&mut self) -> bool {
        self.method.finish()
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let (before, begun) = (done.len(), self.clock.now());
        let outcome = self.method.reap(wait, done);
        let waited = self.clock.now().since(begun);
        self.meter.nanos.fetch_add(waited.0, Ordering::Relaxed);
        self.meter.flights.fetch_add(waited.0 * self.in_flight, Ordering::Relaxed);
        self.in_flight -= (done.len() - before) as u64;
        outcome
    }

    fn data(&self, slot: usize) -> &[u8] {
        self.method.data(slot)
    }

    fn fallbacks(&self) -> &[&'static str] {
        self.method.fallbacks()
    }
}
