//! What each worker does next: chunks are read in order, scanned in any order, and consumed in order.
//!
//! Two things there are only one of: the source, and the turn to consume. A worker that needs one takes it out of the
//! queue and puts it back, so that no worker waits for a lock while there is other work. A batch is consumed by the
//! worker that scanned it, in whose processor's cache it is, unless another one has nothing else to do. Measured: to
//! carry the batches to one consumer doubles the time of scanning, to carry the tables to the batches costs little.
//!
//! Nothing here reads, scans or consumes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{hint, io, mem};

use crate::event::Aside;
use crate::source::oracle::chunk::{Chunk, Chunks};
use crate::source::oracle::read::turn::Turn;
use crate::source::oracle::record::Batch;
use crate::source::oracle::scan::Outcome;

/// Most scanned batches of a worker, of about 600 KiB each: with the second and third it scans on while
/// another one has the turn.
const BATCHES_OF_WORKER: usize = 3;

/// Chunks by which the reader of a stream is ahead of the scanning workers.
const CHUNKS_AHEAD: usize = 2;

/// How often a worker looks before it sleeps: some 50 µs, about what it costs to wake it on a virtual machine.
const LOOKS_BEFORE_SLEEP: u32 = 2000;

/// A batch with the records of a chunk, scanned as if it began between constructs.
pub(super) struct Scanned {
    pub(super) batch: Batch,
    pub(super) chunk: Chunk,
    pub(super) outcome: Outcome,
}

/// What a worker is to do next. What it was given goes back by the method that is named.
pub(super) enum Task<'a> {
    /// To read a chunk into the batch: [`Queue::end_reading`].
    Read(Chunks, Batch),
    /// To scan the chunk of this number: [`Queue::end_scanning`].
    Scan(u64, Chunk, Batch),
    /// To consume a batch, or the error of the source: [`Queue::end_turn`].
    Consume(Turn<'a>, io::Result<Scanned>),
    /// To go: there is nothing that others will not do.
    Leave,
}

/// The queue that all workers share.
pub(super) struct Queue<'a> {
    places: Mutex<Places<'a>>,
    changed: Condvar,
    /// Counts the changes, so that they can be looked for without the lock.
    changes: AtomicU64,
    /// What a worker does that would wait else.
    aside: Option<&'a dyn Aside>,
}

/// Where everything is that no worker has in its hands.
struct Places<'a> {
    /// `None` while a worker reads.
    source: Option<Chunks>,
    /// The worker that alone reads a stream: the state of a decompressor is too large to be carried to and fro.
    reader: Option<usize>,
    /// `None` while a worker consumes.
    turn: Option<Turn<'a>>,
    /// The chunks that were read and not consumed, in order.
    chunks: VecDeque<Progress>,
    /// The number of the first of them.
    first: u64,
    /// Batches that are free, each with the worker that used it.
    free: Vec<(usize, Batch)>,
    sleepers: usize,
    /// Nothing more is wanted.
    is_over: bool,
}

/// How far a chunk is, and by which worker.
enum Progress {
    Read(Batch, Chunk),
    InHand,
    Scanned(usize, Scanned),
    Failed(io::Error),
}

impl<'a> Queue<'a> {
    /// A queue of what is left of the source. The worker 0 has consumed so far, and leaves its batch.
    pub(super) fn new(
        source: Chunks,
        turn: Turn<'a>,
        batch: Batch,
        workers: usize,
        aside: Option<&'a dyn Aside>,
    ) -> Queue<'a> {
        let places = Places {
            reader: (source.is_stream() && workers > 1).then_some(workers - 1),
            source: Some(source),
            turn: Some(turn),
            chunks: VecDeque::new(),
            first: 0,
            free: vec![(0, batch)],
            sleepers: 0,
            is_over: false,
        };
        Queue { places: Mutex::new(places), changed: Condvar::new(), changes: AtomicU64::new(0), aside }
    }

    /// Leaves everything to the first `workers`, where no more could be started.
    pub(super) fn make_do_with(&self, workers: usize) {
        let mut places = self.lock();
        // The reader was to be the last of all, so that nothing has been read yet.
        places.reader = places.reader.and((workers > 1).then_some(workers - 1));
        self.tell(places);
    }

    /// The next task of a worker: does what there is to do beside, or waits, until there is one.
    pub(super) fn task(&self, worker: usize) -> Task<'a> {
        let mut places = self.lock();
        loop {
            if let Some(task) = places.task(worker) {
                return task;
            }
            drop(places);
            while self.work_aside() {}
            places = self.lock();
            // One may have come meanwhile.
            match places.task(worker) {
                Some(task) => return task,
                None => places = self.wait(places),
            }
        }
    }

    /// Does what there is to do beside; whether there was anything.
    pub(super) fn work_aside(&self) -> bool {
        self.aside.is_some_and(Aside::work)
    }

    /// Puts the source back, with what it gave: a chunk with its number that the worker scans next, while it is in the
    /// cache, or nothing.
    pub(super) fn end_reading(
        &self,
        source: Chunks,
        chunk: io::Result<Option<Chunk>>,
        batch: Batch,
    ) -> Option<(u64, Chunk, Batch)> {
        let mut places = self.lock();
        places.source = Some(source);
        let number = places.first + places.chunks.len() as u64;
        let mut next = None;
        match chunk {
            Ok(Some(chunk)) if places.reader.is_some() => places.chunks.push_back(Progress::Read(batch, chunk)),
            Ok(Some(chunk)) => {
                places.chunks.push_back(Progress::InHand);
                next = Some((number, chunk, batch));
            }
            Ok(None) => {}
            Err(error) => places.chunks.push_back(Progress::Failed(error)),
        }
        self.tell(places);
        next
    }

    /// Puts the chunk of this number in its place, to be consumed.
    pub(super) fn end_scanning(&self, worker: usize, number: u64, scanned: Scanned) {
        let mut places = self.lock();
        let place = (number - places.first) as usize;
        places.chunks[place] = Progress::Scanned(worker, scanned);
        self.tell(places);
    }

    /// Puts the turn back, and the batch that was consumed.
    pub(super) fn end_turn(&self, worker: usize, turn: Turn<'a>, batch: Option<Batch>) {
        let mut places = self.lock();
        places.is_over |= turn.is_over;
        places.turn = Some(turn);
        places.free.extend(batch.map(|batch| (worker, batch)));
        self.tell(places);
    }

    /// Lets all workers go, whatever is left to be done.
    pub(super) fn break_off(&self) {
        let mut places = self.lock();
        places.is_over = true;
        self.tell(places);
    }

    /// The turn, when all workers have gone.
    pub(super) fn into_turn(self) -> Option<Turn<'a>> {
        self.places.into_inner().unwrap_or_else(PoisonError::into_inner).turn
    }

    /// No worker panics while it has the lock.
    fn lock(&self) -> MutexGuard<'_, Places<'a>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait that something changed.
    fn tell(&self, places: MutexGuard<'_, Places<'a>>) {
        self.changes.fetch_add(1, Ordering::Release);
        let is_awaited = places.sleepers > 0;
        drop(places);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    /// Waits for a change: first awake, then asleep.
    fn wait<'q>(&'q self, places: MutexGuard<'q, Places<'a>>) -> MutexGuard<'q, Places<'a>> {
        let seen = self.changes.load(Ordering::Acquire);
        drop(places);
        for _ in 0..LOOKS_BEFORE_SLEEP {
            if self.changes.load(Ordering::Acquire) != seen {
                return self.lock();
            }
            hint::spin_loop();
        }
        let mut places = self.lock();
        // Changes are counted under the lock: one that comes from here on wakes the sleeper.
        if self.changes.load(Ordering::Acquire) == seen {
            places.sleepers += 1;
            places = self.changed.wait(places).unwrap_or_else(PoisonError::into_inner);
            places.sleepers -= 1;
        }
        places
    }
}

impl<'a> Places<'a> {
    /// What is best for a worker to do now; `None` when it has to wait.
    fn task(&mut self, worker: usize) -> Option<Task<'a>> {
        if self.is_over {
            return Some(Task::Leave);
        }
        let is_mine = matches!(self.chunks.front(), Some(Progress::Scanned(owner, _)) if *owner == worker);
        let task = if is_mine { self.consume() } else { None };
        task.or_else(|| self.read(worker))
            .or_else(|| self.scan(worker))
            .or_else(|| self.consume())
            .or_else(|| self.is_read().then_some(Task::Leave))
    }

    /// Whether the source has no more, and every chunk is with a worker that will do the rest.
    fn is_read(&self) -> bool {
        let is_left = |chunk: &Progress| matches!(chunk, Progress::Read(..));
        self.source.as_ref().is_some_and(Chunks::is_over) && !self.chunks.iter().any(is_left)
    }

    fn read(&mut self, worker: usize) -> Option<Task<'a>> {
        let ahead = self.chunks.iter().filter(|chunk| matches!(chunk, Progress::Read(..))).count();
        let is_wanted = match self.reader {
            Some(reader) => worker == reader && ahead < CHUNKS_AHEAD,
            None => self.has_room(worker),
        };
        if !is_wanted {
            return None;
        }
        let source = self.source.take_if(|source| !source.is_over())?;
        let own = self.free.iter().rposition(|(user, _)| *user == worker);
        let batch = match own {
            Some(place) => self.free.remove(place).1,
            None => self.free.pop().map(|(_, batch)| batch).unwrap_or_default(),
        };
        Some(Task::Read(source, batch))
    }

    fn scan(&mut self, worker: usize) -> Option<Task<'a>> {
        if !self.has_room(worker) {
            return None;
        }
        let place = self.chunks.iter().position(|chunk| matches!(chunk, Progress::Read(..)))?;
        match mem::replace(&mut self.chunks[place], Progress::InHand) {
            Progress::Read(batch, chunk) => Some(Task::Scan(self.first + place as u64, chunk, batch)),
            _ => None,
        }
    }

    /// Whether a worker may scan one more chunk before it consumes one.
    fn has_room(&self, worker: usize) -> bool {
        let is_its = |chunk: &&Progress| matches!(chunk, Progress::Scanned(owner, _) if *owner == worker);
        self.chunks.iter().filter(is_its).count() < BATCHES_OF_WORKER
    }

    fn consume(&mut self) -> Option<Task<'a>> {
        if !matches!(self.chunks.front(), Some(Progress::Scanned(..) | Progress::Failed(_))) {
            return None;
        }
        let turn = self.turn.take()?;
        let chunk = match self.chunks.pop_front()? {
            Progress::Failed(error) => Err(error),
            Progress::Scanned(_, scanned) => Ok(scanned),
            // It was seen above that it is neither.
            Progress::Read(..) | Progress::InHand => return None,
        };
        self.first += 1;
        Some(Task::Consume(turn, chunk))
    }
}
