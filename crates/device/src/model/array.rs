//! A storage array behind a network: a round trip, a cache that has some blocks, and disks behind it that have all.
//!
//! What it leaves out: other hosts, the array's own queues and processors, mirrors, and blocks that its cache drops.

use std::collections::{HashMap, HashSet};

use measure::Nanos;
use measure::random::SplitMix64;
use serde::{Deserialize, Serialize};

use super::bound::{Bounds, BrokenBounds};
use super::event_queue::{EventQueue, Server, is_last_part};
use super::hard_disk::{HardDisk, HardDiskParameters};
use super::timing::{Request, Timing, micros, transfer};

/// What is said of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayParameters {
    /// From the host's adapter to the array and back, without the data, in µs.
    pub round_trip_us: f64,
    /// The link, in million bytes a second.
    pub link_mb_s: f64,
    /// The array's own time for a stripe that its cache has, in µs.
    pub cache_read_us: f64,
    /// Share of the stripes that the cache has from the start, from 0 to 1. What was read once is in it too.
    pub cache_hit_rate: f64,
    /// Bytes that lie on one disk before the next one has its turn.
    pub stripe_bytes: u64,
    /// Number of disks behind it.
    pub disks: u32,
    /// Each of them.
    pub disk: HardDiskParameters,
}

impl ArrayParameters {
    /// Eight disks behind a 4 Gbit/s Fibre Channel link, nine of ten stripes in the cache.
    pub fn fibre_channel() -> ArrayParameters {
        ArrayParameters {
            round_trip_us: 200.0,
            link_mb_s: 400.0,
            cache_read_us: 50.0,
            cache_hit_rate: 0.9,
            stripe_bytes: 64 << 10,
            disks: 8,
            disk: HardDiskParameters::deskstar_7k250(),
        }
    }

    /// Where the figures of [`fibre_channel`](ArrayParameters::fibre_channel) are from, by field.
    pub const ORIGINS: &'static [(&'static str, &'static str)] = &[
        ("round_trip_us", "assumed: adapters, two switches and the array's front end; give your own"),
        ("link_mb_s", "Fibre Channel: 4GFC, 400 MB/s each way"),
        ("cache_read_us", "assumed: look-up and memory; give your own"),
        ("cache_hit_rate", "assumed: it is a matter of the workload; give your own"),
        ("stripe_bytes", "a usual default of arrays"),
        ("disks", "assumed; give your own"),
        ("disk", "as model:hdd-7200"),
    ];

    /// Bytes of all disks.
    pub fn capacity(&self) -> u64 {
        self.disk.capacity.saturating_mul(u64::from(self.disks))
    }

    /// Says which fields break which bounds.
    pub fn check(&self) -> Result<(), BrokenBounds> {
        let mut bounds = Bounds::default();
        bounds.within("round_trip_us", self.round_trip_us, 0.0, 1e7);
        bounds.within("link_mb_s", self.link_mb_s, 0.001, 1e6);
        bounds.within("cache_read_us", self.cache_read_us, 0.0, 1e6);
        bounds.within("cache_hit_rate", self.cache_hit_rate, 0.0, 1.0);
        bounds.within("stripe_bytes", self.stripe_bytes as f64, 512.0, 1e9);
        bounds.within("disks", f64::from(self.disks), 1.0, 1024.0);
        bounds.of_part("disk", self.disk.check());
        bounds.finish()
    }
}

/// A part of a request that lies in one stripe.
#[derive(Clone, Copy, Debug)]
struct Part {
    id: u64,
    stripe: u64,
    offset: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A request has come to the array.
    Arrived(Request),
    /// A part is in the array's memory.
    Fetched(Part),
    /// A part has passed the link.
    Sent(Part),
    /// A request's answer has come to the host.
    Answered(u64),
}

/// The array at work.
#[derive(Debug)]
pub struct Array {
    parameters: ArrayParameters,
    events: EventQueue<Event>,
    link: Server,
    disks: Vec<HardDisk>,
    /// Parts that a disk is reading, by the number that the disk knows them by.
    reading: HashMap<u64, Part>,
    next_number: u64,
    /// Parts left of each request.
    left: HashMap<u64, u32>,
    /// Stripes that were read.
    cached: HashSet<u64>,
}

impl Array {
    /// An idle array. The parameters have been checked.
    pub fn new(parameters: ArrayParameters) -> Array {
        Array {
            events: EventQueue::default(),
            link: Server::default(),
            disks: (0..parameters.disks).map(|_| HardDisk::new(parameters.disk.clone())).collect(),
            reading: HashMap::new(),
            next_number: 0,
            left: HashMap::new(),
            cached: HashSet::new(),
            parameters,
        }
    }

    fn half_trip(&self) -> Nanos {
        micros(self.parameters.round_trip_us / 2.0)
    }

    /// Whether the cache has a stripe: it was read, or it is of the share that is there from the start, which the
    /// stripe's number decides, so that a run repeats itself.
    fn has(&self, stripe: u64) -> bool {
        let drawn = SplitMix64::new(stripe).below(1 << 53) as f64 / (1_u64 << 53) as f64;
        drawn < self.parameters.cache_hit_rate || self.cached.contains(&stripe)
    }

    fn arrive(&mut self, now: Nanos, request: Request) {
        let size = self.parameters.stripe_bytes;
        let end = request.offset + request.length.max(1);
        let stripes = request.offset / size..end.div_ceil(size);
        self.left.insert(request.id, (stripes.end - stripes.start) as u32);
        for stripe in stripes {
            let from = request.offset.max(stripe * size);
            let bytes = end.min((stripe + 1) * size) - from;
            let part = Part { id: request.id, stripe, offset: from, bytes };
            if self.has(stripe) {
                self.events.enter(now + micros(self.parameters.cache_read_us), Event::Fetched(part));
            } else {
                self.fetch(now, part);
            }
        }
    }

    fn fetch(&mut self, now: Nanos, part: Part) {
        let disks = self.disks.len() as u64;
        let offset = part.stripe / disks * self.parameters.stripe_bytes + part.offset % self.parameters.stripe_bytes;
        let id = self.next_number;
        self.next_number += 1;
        self.reading.insert(id, part);
        let disk = &mut self.disks[(part.stripe % disks) as usize];
        disk.submit(now, Request { id, offset, length: part.bytes });
    }

    fn happen(&mut self, now: Nanos, event: Event, done: &mut Vec<u64>) {
        match event {
            Event::Arrived(request) => self.arrive(now, request),
            Event::Fetched(part) => {
                self.cached.insert(part.stripe);
                let sent = self.link.serve(now, transfer(part.bytes, self.parameters.link_mb_s));
                self.events.enter(sent, Event::Sent(part));
            }
            Event::Sent(part) => {
                if is_last_part(&mut self.left, part.id) {
                    self.events.enter(now + self.half_trip(), Event::Answered(part.id));
                }
            }
            Event::Answered(id) => done.push(id),
        }
    }
}

impl Timing for Array {
    fn submit(&mut self, now: Nanos, request: Request) {
        self.events.enter(now + self.half_trip(), Event::Arrived(request));
    }

    fn next_event(&mut self) -> Option<Nanos> {
        let disks = self.disks.iter_mut().filter_map(Timing::next_event).min();
        [self.events.next(), disks].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<u64>) {
        while let Some((at, event)) = self.events.due(now) {
            self.happen(at, event, done);
        }
        let mut read = Vec::new();
        self.disks.iter_mut().for_each(|disk| disk.advance(now, &mut read));
        for id in read {
            if let Some(part) = self.reading.remove(&id) {
                self.happen(now, Event::Fetched(part), done);
            }
        }
    }
}
