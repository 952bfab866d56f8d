//! A model behind the interface of an I/O method, for one worker or for several in the same virtual time, or for one
//! with several ways to it.
//!
//! The time stands still while any worker does something, and moves when all of them wait: then it goes to the next
//! event, and at most one worker is let on at a time, always in the same order. So a run repeats itself exactly,
//! however the threads are scheduled.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use measure::Nanos;
use sys::read::{Completion, ReadMethod, ReadRequest, Wait};

use super::timing::{Request, Timing};
use crate::time_source::{TimeSource, VirtualClock};

/// What fills a slot with the bytes that lie at an offset.
pub type Content = dyn Fn(u64, &mut [u8]) -> io::Result<()> + Send + Sync;

/// What a client reads: bytes that begin at an offset of the model. Its own offsets count from there.
#[derive(Clone)]
pub struct Placement {
    /// The bytes.
    pub content: Arc<Content>,
    /// Where they begin.
    pub start: u64,
}

/// Bits of a request's id that number the slot; the bits above number the client.
const SLOT_BITS: u32 = 32;

/// A model and the clock that it moves.
#[derive(Clone, Debug)]
pub struct SharedModel {
    state: Arc<State>,
    clock: VirtualClock,
}

#[derive(Debug)]
struct State {
    inner: Mutex<Inner>,
    moved: Condvar,
}

#[derive(Debug)]
struct Inner {
    timing: Box<dyn Timing>,
    clients: Vec<ClientState>,
    /// Whether the time goes on without those who do something of their own.
    is_solo: bool,
    /// Who was let on last: the next one has its turn first.
    last: usize,
}

#[derive(Debug, Default)]
enum Doing {
    /// Something of its own; the time stands still.
    #[default]
    Working,
    /// It waits for `at_least` of its reads, or until a time.
    Waiting { at_least: usize, until: Option<Nanos> },
    /// It has gone.
    Gone,
}

#[derive(Debug, Default)]
struct ClientState {
    doing: Doing,
    /// Reads that reach the model when all wait, so that their order does not depend on the threads.
    handed: Vec<Request>,
    in_flight: usize,
    done: Vec<usize>,
}

impl ClientState {
    fn is_satisfied(&self, now: Nanos) -> bool {
        match self.doing {
            Doing::Waiting { at_least, until } => {
                self.done.len() >= at_least.min(self.in_flight) || until.is_some_and(|until| until <= now)
            }
            _ => false,
        }
    }
}

impl SharedModel {
    /// A model for `clients` clients. Each of them has to be taken by [`client`](SharedModel::client): the time waits
    /// for all.
    pub fn new(timing: Box<dyn Timing>, clients: usize) -> SharedModel {
        let clients = (0..clients).map(|_| ClientState::default()).collect();
        SharedModel::of(Inner { timing, clients, is_solo: false, last: 0 })
    }

    /// A model for one thread, which may have several ways to it, each by [`another`](SharedModel::another): to wait
    /// on one of them waits for none of the others.
    pub fn solo(timing: Box<dyn Timing>) -> SharedModel {
        SharedModel::of(Inner { timing, clients: Vec::new(), is_solo: true, last: 0 })
    }

    fn of(inner: Inner) -> SharedModel {
        let state = State { inner: Mutex::new(inner), moved: Condvar::new() };
        SharedModel { state: Arc::new(state), clock: VirtualClock::default() }
    }

    /// The clock that the model moves.
    pub fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    /// A further client, as [`client`](SharedModel::client) gives them. In a model of [`new`](SharedModel::new) the
    /// others wait for it from now on.
    pub fn another(&self, depth: usize, slot_bytes: usize, placed: Option<Placement>) -> Client {
        let mut inner = self.state.lock();
        inner.clients.push(ClientState::default());
        let index = inner.clients.len() - 1;
        drop(inner);
        self.client(index, depth, slot_bytes, placed)
    }

    /// Client number `index` with `depth` slots of `slot_bytes`. Its reads return what is placed for it, or zeros.
    pub fn client(&self, index: usize, depth: usize, slot_bytes: usize, placed: Option<Placement>) -> Client {
        let slots = if placed.is_some() { depth } else { 1 };
        Client {
            model: self.clone(),
            index,
            depth,
            slots: vec![vec![0; slot_bytes]; slots],
            queued: Vec::with_capacity(depth),
            requests: vec![ReadRequest { offset: 0, length: 0, slot: 0 }; depth],
            placed,
        }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Lets the time pass until a client may go on, when all of them wait; then lets that one on.
    fn let_one_on(&mut self, clock: &VirtualClock) {
        let is_working = |client: &ClientState| matches!(client.doing, Doing::Working);
        if !self.is_solo && self.clients.iter().any(is_working) {
            return;
        }
        for client in &mut self.clients {
            for request in client.handed.drain(..) {
                client.in_flight += 1;
                self.timing.submit(clock.now(), request);
            }
        }
        loop {
            let now = clock.now();
            let count = self.clients.len();
            let next = (1..=count).map(|step| (self.last + step) % count.max(1));
            if let Some(index) = next.into_iter().find(|index| self.clients[*index].is_satisfied(now)) {
                self.last = index;
                self.clients[index].doing = Doing::Working;
                return;
            }
            let is_waiting = |client: &ClientState| matches!(client.doing, Doing::Waiting { .. });
            let is_needed = !self.is_solo || self.clients.iter().any(is_waiting);
            let Some(next) = self.next_event().filter(|_| is_needed) else { return };
            clock.advance_to(next);
            self.pass_to(next);
        }
    }

    /// The model's next event, or the first timeout of a client that waits.
    fn next_event(&mut self) -> Option<Nanos> {
        let timeouts = self.clients.iter().filter_map(|client| match client.doing {
            Doing::Waiting { until, .. } => until,
            _ => None,
        });
        timeouts.chain(self.timing.next_event()).min()
    }

    fn pass_to(&mut self, now: Nanos) {
        let mut ended = Vec::new();
        self.timing.advance(now, &mut ended);
        for id in ended {
            let client = &mut self.clients[(id >> SLOT_BITS) as usize];
            client.done.push((id & ((1 << SLOT_BITS) - 1)) as usize);
        }
    }
}

/// One worker's way to the model.
pub struct Client {
    model: SharedModel,
    index: usize,
    depth: usize,
    slots: Vec<Vec<u8>>,
    queued: Vec<ReadRequest>,
    /// The last request of each slot.
    requests: Vec<ReadRequest>,
    placed: Option<Placement>,
}

impl Client {
    fn complete(&mut self, slot: usize) -> Completion {
        let ReadRequest { offset, length, .. } = self.requests[slot];
        let fill = |placed: &Placement| (placed.content)(offset, &mut self.slots[slot][..length]);
        let filled = self.placed.as_ref().map_or(Ok(()), fill);
        Completion { slot, result: filled.map(|()| length) }
    }
}

impl ReadMethod for Client {
    fn depth(&self) -> usize {
        self.depth
    }

    fn queue(&mut self, request: ReadRequest) {
        self.queued.push(request);
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let model = self.model.clone();
        let mut inner = model.state.lock();
        let now = model.clock.now();
        let client = &mut inner.clients[self.index];
        let start = self.placed.as_ref().map_or(0, |placed| placed.start);
        for request in self.queued.drain(..) {
            self.requests[request.slot] = request;
            let id = (self.index as u64) << SLOT_BITS | request.slot as u64;
            client.handed.push(Request { id, offset: start + request.offset, length: request.length as u64 });
        }
        let until = wait.timeout.map(|timeout| now + Nanos::from(timeout));
        client.doing = Doing::Waiting { at_least: wait.at_least, until };
        inner.let_one_on(&model.clock);
        model.state.moved.notify_all();
        while matches!(inner.clients[self.index].doing, Doing::Waiting { .. }) {
            inner = model.state.moved.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        let client = &mut inner.clients[self.index];
        client.in_flight -= client.done.len();
        let ended = std::mem::take(&mut client.done);
        drop(inner);
        done.extend(ended.into_iter().map(|slot| self.complete(slot)));
        Ok(())
    }

    fn data(&self, slot: usize) -> &[u8] {
        &self.slots[slot.min(self.slots.len() - 1)]
    }
}

impl Drop for Client {
    /// The others go on without this one.
    fn drop(&mut self) {
        let mut inner = self.model.state.lock();
        inner.clients[self.index].doing = Doing::Gone;
        inner.let_one_on(&self.model.clock);
        drop(inner);
        self.model.state.moved.notify_all();
    }
}
