//! A device that answers every read after the same time, however many are in flight. What a loop reports over it is
//! known beforehand, which proves the loop and its statistics.

use std::collections::VecDeque;

use measure::Nanos;

use super::timing::{Request, Timing};

/// The device.
#[derive(Debug)]
pub struct FixedLatency {
    latency: Nanos,
    /// In order of their end, because all take the same time.
    in_flight: VecDeque<(Nanos, u64)>,
}

impl FixedLatency {
    /// Latency of the model in the table: a round number that no real device has.
    pub const LATENCY: Nanos = Nanos::from_micros(100);

    /// Capacity of the model in the table, in bytes.
    pub const SIZE: u64 = 1 << 40;

    /// A device of this latency.
    pub fn new(latency: Nanos) -> FixedLatency {
        FixedLatency { latency, in_flight: VecDeque::new() }
    }
}

impl Timing for FixedLatency {
    fn submit(&mut self, now: Nanos, request: Request) {
        self.in_flight.push_back((now + self.latency, request.id));
    }

    fn next_event(&mut self) -> Option<Nanos> {
        self.in_flight.front().map(|(end, _)| *end)
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<u64>) {
        while let Some((end, id)) = self.in_flight.front().copied()
            && end <= now
        {
            self.in_flight.pop_front();
            done.push(id);
        }
    }
}
