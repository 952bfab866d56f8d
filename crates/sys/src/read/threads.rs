//! A pool of threads, each blocking in one `pread`: what there was before io_uring, and what remains where that is
//! forbidden.
//!
//! As many threads as slots wait on one queue, so that a request never waits for a thread. Handing a read over and
//! back costs two wake-ups; that cost belongs to the method and is measured with it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use super::method::{Completion, MethodError, MethodRow, ReadMethod, ReadRequest, Setup, Wait};
use super::slots::Slots;
use crate::memory::Arena;

pub(super) const ROW: MethodRow = MethodRow { name: "threads", depth_max: None, open };

/// A worker calls one system call and little else; the default of 2 MiB would be 2 GiB of addresses at depth 1024.
const STACK_BYTES: usize = 64 << 10;

struct Threads {
    slots: Slots,
    queued: Vec<ReadRequest>,
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// What the workers and the method have in common.
struct Shared {
    descriptor: Arc<OwnedFd>,
    arena: Arc<Arena>,
    requests: Mutex<Requests>,
    /// Notified when a request was added or the pool closes.
    requested: Condvar,
    results: Mutex<Results>,
    /// Notified when as many reads have ended as the method waits for.
    enough: Condvar,
}

struct Requests {
    waiting: VecDeque<ReadRequest>,
    closing: bool,
}

struct Results {
    ended: Vec<Completion>,
    wanted: usize,
}

fn open(setup: Setup<'_>) -> Result<Box<dyn ReadMethod>, MethodError> {
    let slots = Slots::new(&setup)?;
    let shared = Arc::new(Shared::new(&setup, Arc::clone(slots.arena())));
    let workers = Vec::with_capacity(setup.depth);
    // The pool is built before its threads: if one of them cannot start, dropping the pool ends those that run.
    let mut pool = Threads { slots, queued: Vec::with_capacity(setup.depth), shared, workers };
    for number in 0..setup.depth {
        let refused = |reason| MethodError::NotStarted { method: ROW.name, depth: setup.depth, reason };
        pool.workers.push(pool.start_worker(number).map_err(refused)?);
    }
    Ok(Box::new(pool))
}

impl Threads {
    fn start_worker(&self, number: usize) -> io::Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        Builder::new().name(format!("read-{number}")).stack_size(STACK_BYTES).spawn(move || shared.work())
    }

    /// Gives the queued requests to the pool, one wake-up each: waking all would make the idle ones contend.
    fn hand_over(&mut self) {
        if self.queued.is_empty() {
            return;
        }
        let count = self.queued.len();
        lock(&self.shared.requests).waiting.extend(self.queued.drain(..));
        for _ in 0..count {
            self.shared.requested.notify_one();
        }
    }
}

impl ReadMethod for Threads {
    fn depth(&self) -> usize {
        self.slots.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        self.slots.begin(&request);
        self.queued.push(request);
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.hand_over();
        let first = done.len();
        self.shared.collect(wait, self.slots.in_flight(), done);
        for completion in &done[first..] {
            self.slots.end(completion);
        }
        Ok(())
    }

    fn data(&self, slot: usize) -> &[u8] {
        self.slots.data(slot)
    }
}

impl Drop for Threads {
    /// Waits for the reads that a thread is in; what no thread has taken is forgotten.
    fn drop(&mut self) {
        let mut requests = lock(&self.shared.requests);
        requests.closing = true;
        drop(requests);
        self.shared.requested.notify_all();
        for worker in self.workers.drain(..) {
            // A worker's panic was reported when it happened.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn new(setup: &Setup<'_>, arena: Arc<Arena>) -> Shared {
        let depth = setup.depth;
        Shared {
            descriptor: setup.target.descriptor(),
            arena,
            requests: Mutex::new(Requests { waiting: VecDeque::with_capacity(depth), closing: false }),
            requested: Condvar::new(),
            results: Mutex::new(Results { ended: Vec::with_capacity(depth), wanted: 0 }),
            enough: Condvar::new(),
        }
    }

    /// The life of a worker.
    fn work(&self) {
        while let Some(request) = self.next_request() {
            let result = self.read(&request);
            self.finish(Completion { slot: request.slot, result });
        }
    }

    /// Waits for a request; `None` when the pool closes.
    fn next_request(&self) -> Option<ReadRequest> {
        let mut requests = lock(&self.requests);
        loop {
            if requests.closing {
                return None;
            }
            if let Some(request) = requests.waiting.pop_front() {
                return Some(request);
            }
            requests = self.requested.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn read(&self, request: &ReadRequest) -> io::Result<usize> {
        // SAFETY: the slot is in flight from `queue` until the method sees its completion, which is only handed over
        // after this; a request is taken from the queue by one worker. So no other thread touches the slot.
        let buffer = unsafe { self.arena.exclusive(request.slot, request.length) };
        let bytes = rustix::io::retry_on_intr(|| rustix::io::pread(&self.descriptor, &mut *buffer, request.offset))?;
        Ok(bytes)
    }

    fn finish(&self, completion: Completion) {
        let mut results = lock(&self.results);
        results.ended.push(completion);
        if results.ended.len() >= results.wanted {
            drop(results);
            self.enough.notify_one();
        }
    }

    /// Waits until enough reads have ended or the time is up, and moves what has ended to `done`.
    fn collect(&self, wait: Wait, in_flight: usize, done: &mut Vec<Completion>) {
        let deadline = wait.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut results = lock(&self.results);
        results.wanted = wait.at_least.min(in_flight);
        while results.ended.len() < results.wanted {
            let Some(deadline) = deadline else {
                results = self.enough.wait(results).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            results = self.enough.wait_timeout(results, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // Until the next wait no notification is needed.
        results.wanted = usize::MAX;
        done.append(&mut results.ended);
    }
}

/// Locks, also after a panic elsewhere: every state these locks guard is whole between two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
