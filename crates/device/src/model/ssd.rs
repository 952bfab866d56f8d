//! A solid-state disk: dies that read pages into their registers, channels that carry them, a queue, an interface.
//!
//! What it leaves out: the controller's own time, the map from blocks to pages and its cache, garbage collection, wear,
//! reads that are repeated with other thresholds, and reading ahead.

use std::collections::{HashMap, VecDeque};

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::bound::{Bounds, BrokenBounds};
use super::event_queue::{EventQueue, Server, is_last_part};
use super::timing::{Request, Timing, micros, transfer};

/// What data sheets say of a solid-state disk and of its flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdParameters {
    /// Bytes.
    pub capacity: u64,
    /// Channels from the controller to the flash.
    pub channels: u32,
    /// Dies on a channel; each reads one page at a time.
    pub dies_per_channel: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// From the cells of a page to the die's register, in µs.
    pub page_read_us: f64,
    /// A channel, in million bytes a second.
    pub channel_mb_s: f64,
    /// Commands that the disk holds at once.
    pub queue_depth: u32,
    /// The interface, in million bytes a second.
    pub interface_mb_s: f64,
    /// Time of the controller for each command, in µs, spent one command after the other.
    pub controller_us: f64,
}

impl SsdParameters {
    /// A disk of 256 GB of about 2011 on SATA: 8 channels with 4 dies each of 25 nm flash of 64 Gbit.
    pub fn sata_2011() -> SsdParameters {
        SsdParameters {
            capacity: 256 << 30,
            channels: 8,
            dies_per_channel: 4,
            page_bytes: 8192,
            page_read_us: 75.0,
            channel_mb_s: 200.0,
            queue_depth: 32,
            interface_mb_s: 600.0,
            controller_us: 0.0,
        }
    }

    /// Where the figures of [`sata_2011`](SsdParameters::sata_2011) are from, by field.
    pub const ORIGINS: &'static [(&'static str, &'static str)] = &[
        ("capacity", "32 dies of 64 Gbit"),
        ("channels", "data sheets of SATA controllers of these years: 8"),
        ("dies_per_channel", "256 GB over 8 channels"),
        ("page_bytes", "flash data sheet (MT29F64G08CBAAA), without the spare bytes"),
        ("page_read_us", "flash data sheet (MT29F64G08CBAAA), longest"),
        ("channel_mb_s", "flash data sheet: ONFI 2 synchronous mode 5, 200 MT/s of a byte"),
        ("queue_depth", "SATA: native command queuing, 32"),
        ("interface_mb_s", "SATA revision 3: 6 Gbit/s, 8b/10b"),
        ("controller_us", "in no data sheet: left out"),
    ];

    /// Says which fields break which bounds.
    pub fn check(&self) -> Result<(), BrokenBounds> {
        let mut bounds = Bounds::default();
        bounds.within("capacity", self.capacity as f64, 1e6, 1e15);
        bounds.within("channels", f64::from(self.channels), 1.0, 1024.0);
        bounds.within("dies_per_channel", f64::from(self.dies_per_channel), 1.0, 1024.0);
        bounds.within("page_bytes", f64::from(self.page_bytes), 512.0, 1e7);
        bounds.within("page_read_us", self.page_read_us, 0.0, 1e6);
        bounds.within("channel_mb_s", self.channel_mb_s, 0.001, 1e6);
        bounds.within("queue_depth", f64::from(self.queue_depth), 1.0, 65_536.0);
        bounds.within("interface_mb_s", self.interface_mb_s, 0.001, 1e6);
        bounds.within("controller_us", self.controller_us, 0.0, 1e6);
        bounds.finish()
    }
}

/// A page of a request, or the part of it that was asked for.
#[derive(Clone, Copy, Debug)]
struct Page {
    id: u64,
    die: usize,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The controller passes a command's pages to their dies.
    Passed(Request),
    /// A page is in its die's register.
    InRegister(Page),
    /// A page has come over its channel.
    Carried(Page),
    /// A page has come over the interface.
    Delivered(Page),
}

/// A die: it reads one page at a time, and its register is taken until the channel has emptied it.
#[derive(Clone, Debug, Default)]
struct Die {
    is_busy: bool,
    waiting: VecDeque<Page>,
}

/// The disk at work.
#[derive(Debug)]
pub struct Ssd {
    parameters: SsdParameters,
    events: EventQueue<Event>,
    /// Commands that the disk's queue had no room for.
    outside: VecDeque<Request>,
    /// Pages left of each command in the queue.
    inside: HashMap<u64, u32>,
    controller: Server,
    dies: Vec<Die>,
    channels: Vec<Server>,
    interface: Server,
}

impl Ssd {
    /// An idle disk. The parameters have been checked.
    pub fn new(parameters: SsdParameters) -> Ssd {
        let channels = parameters.channels as usize;
        Ssd {
            events: EventQueue::default(),
            outside: VecDeque::new(),
            inside: HashMap::new(),
            controller: Server::default(),
            dies: vec![Die::default(); channels * parameters.dies_per_channel as usize],
            channels: vec![Server::default(); channels],
            interface: Server::default(),
            parameters,
        }
    }

    /// Takes commands into the queue while there is room.
    fn admit(&mut self, now: Nanos) {
        while self.inside.len() < self.parameters.queue_depth as usize
            && let Some(request) = self.outside.pop_front()
        {
            let passed = self.controller.serve(now, micros(self.parameters.controller_us));
            self.inside.insert(request.id, 0);
            self.events.enter(passed, Event::Passed(request));
        }
    }

    /// Consecutive pages lie on consecutive channels, then on the next die of each.
    fn pass(&mut self, now: Nanos, request: Request) {
        let page_bytes = u64::from(self.parameters.page_bytes);
        let end = request.offset + request.length.max(1);
        let pages = request.offset / page_bytes..end.div_ceil(page_bytes);
        self.inside.insert(request.id, (pages.end - pages.start) as u32);
        for number in pages {
            let from = request.offset.max(number * page_bytes);
            let bytes = end.min((number + 1) * page_bytes) - from;
            let page = Page { id: request.id, die: (number % self.dies.len() as u64) as usize, bytes };
            self.dies[page.die].waiting.push_back(page);
            self.sense(now, page.die);
        }
    }

    /// Begins the next page of a die that has an empty register.
    fn sense(&mut self, now: Nanos, index: usize) {
        let die = &mut self.dies[index];
        if !die.is_busy
            && let Some(page) = die.waiting.pop_front()
        {
            die.is_busy = true;
            self.events.enter(now + micros(self.parameters.page_read_us), Event::InRegister(page));
        }
    }

    fn happen(&mut self, now: Nanos, event: Event, done: &mut Vec<u64>) {
        match event {
            Event::Passed(request) => self.pass(now, request),
            Event::InRegister(page) => {
                let channel = page.die % self.channels.len();
                let carried = self.channels[channel].serve(now, transfer(page.bytes, self.parameters.channel_mb_s));
                self.events.enter(carried, Event::Carried(page));
            }
            Event::Carried(page) => {
                self.dies[page.die].is_busy = false;
                self.sense(now, page.die);
                let delivered = self.interface.serve(now, transfer(page.bytes, self.parameters.interface_mb_s));
                self.events.enter(delivered, Event::Delivered(page));
            }
            Event::Delivered(page) => {
                if is_last_part(&mut self.inside, page.id) {
                    done.push(page.id);
                    self.admit(now);
                }
            }
        }
    }
}

impl Timing for Ssd {
    fn submit(&mut self, now: Nanos, request: Request) {
        self.outside.push_back(request);
        self.admit(now);
    }

    fn next_event(&mut self) -> Option<Nanos> {
        self.events.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<u64>) {
        while let Some((at, event)) = self.events.due(now) {
            self.happen(at, event, done);
        }
    }
}
