//! A meter between the buffer pool and a device: how long a join waits for reads, and how many are in flight meanwhile.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use device::time_source::DeviceClock;
use device::{Description, Device, DeviceError, Opened, Slots, Witnesses};
use measure::Nanos;
use sys::file::Alignment;
use sys::memory::Region;
use sys::read::{Completion, Landing, ReadMethod, ReadRequest, Wait};
use sys::time::Clock;

/// What a pass waited for reads of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadCost {
    /// Time spent waiting for reads, handing them over included.
    pub time: Nanos,
    /// Reads of the operating system or device.
    pub reads: u64,
    /// Blocks that were read.
    pub blocks: u64,
    /// Reads in flight while waiting, on average; `None` without reads.
    pub in_flight: Option<f64>,
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
    /// Everything since the last time, in blocks of `block` bytes.
    pub(super) fn take(&self, block: usize) -> ReadCost {
        let counters = [&self.nanos, &self.reads, &self.bytes, &self.flights];
        let [nanos, reads, bytes, flights] = counters.map(|counter| counter.swap(0, Ordering::Relaxed));
        let in_flight = (nanos > 0).then(|| flights as f64 / nanos as f64);
        ReadCost { time: Nanos(nanos), reads, blocks: bytes / block as u64, in_flight }
    }
}

/// A device under a meter.
#[derive(Debug)]
pub(super) struct Metered {
    pub(super) device: Box<dyn Device>,
    pub(super) meter: Arc<Meter>,
    pub(super) clock: Clock,
}

impl Device for Metered {
    fn name(&self) -> String {
        self.device.name()
    }

    fn size(&self) -> u64 {
        self.device.size()
    }

    fn alignment(&self) -> Alignment {
        self.device.alignment()
    }

    fn describe(&self) -> Description {
        self.device.describe()
    }

    fn open(&self, team: &[Slots]) -> Result<Opened, DeviceError> {
        let opened = self.device.open(team)?;
        let clock = match &opened.clock {
            Some(clock) => DeviceClock::Virtual(clock.clone()),
            None => DeviceClock::Machine(self.clock),
        };
        let metered = |method| {
            let (meter, clock) = (Arc::clone(&self.meter), clock.clone());
            Box::new(MeteredMethod { method, meter, clock, in_flight: 0 }) as Box<dyn ReadMethod>
        };
        Ok(Opened { methods: opened.methods.into_iter().map(metered).collect(), ..opened })
    }

    fn witnesses(&self) -> Witnesses<'_> {
        self.device.witnesses()
    }
}

/// A method under a meter.
struct MeteredMethod {
    method: Box<dyn ReadMethod>,
    meter: Arc<Meter>,
    clock: DeviceClock,
    in_flight: u64,
}

impl MeteredMethod {
    fn count(&mut self, request: &ReadRequest) {
        self.in_flight += 1;
        self.meter.reads.fetch_add(1, Ordering::Relaxed);
        self.meter.bytes.fetch_add(request.length as u64, Ordering::Relaxed);
    }
}

impl ReadMethod for MeteredMethod {
    fn depth(&self) -> usize {
        self.method.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        self.count(&request);
        self.method.queue(request);
    }

    fn lend(&mut self, memory: &Arc<Region>) -> bool {
        self.method.lend(memory)
    }

    fn queue_into(&mut self, request: ReadRequest, landing: Landing) {
        self.count(&request);
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
