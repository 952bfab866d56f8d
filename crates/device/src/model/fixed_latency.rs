//! A device that answers every read after the same time, however many are in flight. What a loop reports over it is
//! known beforehand, which proves the loop and its statistics.

use std::collections::VecDeque;
use std::io;

use measure::Nanos;
use sys::read::{Completion, ReadMethod, ReadRequest, Wait};

use super::ModelRow;
use crate::time_source::{TimeSource, VirtualClock};

/// Latency of the model in the table: a round number that no real device has.
const LATENCY: Nanos = Nanos::from_micros(100);

/// The row of the table.
pub const ROW: ModelRow = ModelRow {
    name: "fixed-latency",
    summary: "every read takes 100 us, in virtual time",
    size: 1 << 40,
    open: |clock, depth, slot_bytes| Box::new(FixedLatency::new(clock.clone(), LATENCY, depth, slot_bytes)),
};

/// The model's state.
#[derive(Debug)]
pub struct FixedLatency {
    clock: VirtualClock,
    latency: Nanos,
    depth: usize,
    zeros: Vec<u8>,
    queued: Vec<ReadRequest>,
    /// In order of their end, because all take the same time.
    in_flight: VecDeque<(Nanos, ReadRequest)>,
}

impl FixedLatency {
    /// A device of this latency with `depth` slots of `slot_bytes`, which moves `clock`.
    pub fn new(clock: VirtualClock, latency: Nanos, depth: usize, slot_bytes: usize) -> FixedLatency {
        let (queued, in_flight) = (Vec::with_capacity(depth), VecDeque::with_capacity(depth));
        FixedLatency { clock, latency, depth, zeros: vec![0; slot_bytes], queued, in_flight }
    }

    fn complete_due(&mut self, done: &mut Vec<Completion>) {
        while let Some((end, read)) = self.in_flight.front().copied() {
            if end > self.clock.now() {
                return;
            }
            self.in_flight.pop_front();
            done.push(Completion { slot: read.slot, result: Ok(read.length) });
        }
    }
}

impl ReadMethod for FixedLatency {
    fn depth(&self) -> usize {
        self.depth
    }

    fn queue(&mut self, request: ReadRequest) {
        self.queued.push(request);
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let now = self.clock.now();
        let end = now + self.latency;
        self.in_flight.extend(self.queued.drain(..).map(|read| (end, read)));
        let wanted = wait.at_least.min(self.in_flight.len());
        if let Some((end, _)) = wanted.checked_sub(1).and_then(|index| self.in_flight.get(index)) {
            let limit = wait.timeout.map_or(*end, |timeout| now + Nanos::from(timeout));
            self.clock.advance_to((*end).min(limit));
        }
        self.complete_due(done);
        Ok(())
    }

    fn data(&self, _slot: usize) -> &[u8] {
        &self.zeros
    }
}
