//! A device that answers every read after a given time, however many are in flight. What a loop reports over it is
//! known beforehand, which proves the loop and its statistics; so is what a device does that changes meanwhile, or that
//! fetches blocks from a slower place when they are first read.

use std::collections::HashSet;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::bound::{Bounds, BrokenBounds};
use super::event_queue::EventQueue;
use super::timing::{Request, Timing, micros};

/// The times of the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FixedParameters {
    /// A read, in µs. The default is a round number that no real device has.
    pub latency_us: f64,
    /// The first read at an offset, in µs, where that takes another time.
    pub first_touch_us: Option<f64>,
    /// When the latency changes, in ms from the beginning, where it does.
    pub change_at_ms: Option<f64>,
    /// A read from then on, in µs.
    pub changed_us: f64,
}

impl Default for FixedParameters {
    fn default() -> FixedParameters {
        FixedParameters { latency_us: 100.0, first_touch_us: None, change_at_ms: None, changed_us: 100.0 }
    }
}

impl FixedParameters {
    /// Parameters in which no field is absent.
    pub(super) fn all_given() -> FixedParameters {
        FixedParameters { first_touch_us: Some(100.0), change_at_ms: Some(0.0), ..FixedParameters::default() }
    }

    /// Says which fields break which bounds.
    pub fn check(&self) -> Result<(), BrokenBounds> {
        let mut bounds = Bounds::default();
        bounds.within("latency_us", self.latency_us, 0.001, 1e9);
        bounds.within("first_touch_us", self.first_touch_us.unwrap_or(1.0), 0.001, 1e9);
        bounds.within("change_at_ms", self.change_at_ms.unwrap_or(0.0), 0.0, 1e9);
        bounds.within("changed_us", self.changed_us, 0.001, 1e9);
        bounds.finish()
    }
}

/// The device.
#[derive(Debug, Default)]
pub struct FixedLatency {
    parameters: FixedParameters,
    touched: HashSet<u64>,
    in_flight: EventQueue<u64>,
}

impl FixedLatency {
    /// Capacity, in bytes.
    pub const SIZE: u64 = 1 << 40;

    /// A device of these times. The parameters have been checked.
    pub fn new(parameters: FixedParameters) -> FixedLatency {
        FixedLatency { parameters, ..FixedLatency::default() }
    }

    fn latency(&mut self, now: Nanos, offset: u64) -> f64 {
        let FixedParameters { latency_us, first_touch_us, change_at_ms, changed_us } = self.parameters;
        match first_touch_us {
            Some(first) if self.touched.insert(offset) => first,
            _ if change_at_ms.is_some_and(|change| now.as_millis() >= change) => changed_us,
            _ => latency_us,
        }
    }
}

impl Timing for FixedLatency {
    fn submit(&mut self, now: Nanos, request: Request) {
        let latency = self.latency(now, request.offset);
        self.in_flight.enter(now + micros(latency), request.id);
    }

    fn next_event(&mut self) -> Option<Nanos> {
        self.in_flight.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<u64>) {
        while let Some((_, id)) = self.in_flight.due(now) {
            done.push(id);
        }
    }
}
