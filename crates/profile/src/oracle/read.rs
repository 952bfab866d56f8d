//! Reads a trace in parallel: chunks are scanned on several processors, and their records are taken in order.
//!
//! Each worker takes the next chunk, scans it as if it began between constructs, and waits for its turn. If the chunk
//! before it ended within a construct, it scans once more with what is known then. In its turn it hands the batch to
//! the consumer; meanwhile the others scan. Nothing travels between threads but the turn, and nothing is held but one
//! chunk a worker.

use std::io;
use std::mem;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::input::bytes::Bytes;
use crate::oracle::chunk::{Chunk, Chunks};
use crate::oracle::record::Batch;
use crate::oracle::scan::{Outcome, Scanner, State};

/// How a trace is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// How many threads scan; at least 1.
    pub workers: usize,
    /// About how many bytes a chunk has. It does not change what comes out.
    pub chunk_bytes: usize,
}

impl ReadOptions {
    /// Bytes of a chunk and its records that stay in a processor's own cache: measured, half and double are slower.
    pub const CHUNK_BYTES: usize = 256 << 10;

    /// Threads for all processors of the machine that this process may use.
    pub fn of_this_machine() -> ReadOptions {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        ReadOptions { workers, chunk_bytes: ReadOptions::CHUNK_BYTES }
    }
}

/// Reads one file and hands its batches to `consumer`, in order.
///
/// A batch may have bytes behind its last record that come again in the next one. An error of the source ends the
/// reading; what was read before it was consumed.
pub fn read(source: Bytes, options: ReadOptions, consumer: &mut (dyn FnMut(&Batch) + Send)) -> io::Result<()> {
    read_while(source, options, &mut |batch| {
        consumer(batch);
        ControlFlow::Continue(())
    })
}

/// Who takes batches, and says whether it wants another one.
pub type Consumer<'a> = dyn FnMut(&Batch) -> ControlFlow<()> + Send + 'a;

/// Reads one file like [`read`], as long as `consumer` wants more: what comes behind the batch at which it breaks off
/// is not read.
pub fn read_while(source: Bytes, options: ReadOptions, consumer: &mut Consumer<'_>) -> io::Result<()> {
    let mut chunks = Chunks::new(source, options.chunk_bytes);
    let mut worker = Worker::default();
    let first = chunks.next(&mut worker.batch.bytes)?;
    let is_small = chunks.is_over();
    let mut turn = Turn { next: 0, entry: Entry::default(), failure: None, is_over: false, consumer };
    if let Some(chunk) = first {
        let outcome = worker.scan(chunk);
        worker.take_turn(chunk, outcome, &mut turn);
    }
    if turn.is_over {
        return Ok(());
    }
    let shared = Shared { numbered: Mutex::new((0, chunks)), turn: Mutex::new(turn), passed_on: Condvar::new() };
    if is_small || options.workers <= 1 {
        shared.work(&mut worker);
    } else {
        thread::scope(|scope| {
            for _ in 1..options.workers {
                scope.spawn(|| shared.work(&mut Worker::default()));
            }
            shared.work(&mut worker);
        });
    }
    let turn = shared.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    turn.failure.map_or(Ok(()), Err)
}

/// What a chunk begins with.
#[derive(Default)]
struct Entry {
    state: State,
    /// The bytes of a construct that goes on in the chunk.
    begun: Vec<u8>,
}

impl Entry {
    fn is_between(&self) -> bool {
        self.begun.is_empty() && self.state == State::Between
    }
}

/// What is handed from chunk to chunk.
struct Turn<'a> {
    /// The number of the chunk whose turn it is, counted from the second.
    next: u64,
    entry: Entry,
    failure: Option<io::Error>,
    /// Nothing more is consumed.
    is_over: bool,
    consumer: &'a mut Consumer<'a>,
}

/// What a thread has of its own.
#[derive(Default)]
struct Worker {
    scanner: Scanner,
    batch: Batch,
    /// Room to put what is left of a chunk before the next one.
    joined: Vec<u8>,
}

impl Worker {
    /// Scans the chunk in the batch as if it began between constructs.
    fn scan(&mut self, chunk: Chunk) -> Outcome {
        self.batch.offset = chunk.offset;
        self.scanner.scan(&mut self.batch, State::Between, chunk.end)
    }

    /// Hands the batch on, scanned once more where the chunk begins within a construct.
    fn take_turn(&mut self, chunk: Chunk, ahead: Outcome, turn: &mut Turn<'_>) {
        let outcome = if turn.entry.is_between() { ahead } else { self.scan_again(chunk, &mut turn.entry) };
        turn.is_over |= (turn.consumer)(&self.batch).is_break();
        turn.entry.begun.clear();
        turn.entry.begun.extend_from_slice(&self.batch.bytes[outcome.consumed..]);
        turn.entry.state = outcome.state;
    }

    fn scan_again(&mut self, chunk: Chunk, entry: &mut Entry) -> Outcome {
        self.joined.clear();
        self.joined.extend_from_slice(&entry.begun);
        self.joined.extend_from_slice(&self.batch.bytes);
        mem::swap(&mut self.joined, &mut self.batch.bytes);
        self.batch.offset = chunk.offset - entry.begun.len() as u64;
        self.scanner.scan(&mut self.batch, mem::take(&mut entry.state), chunk.end)
    }
}

/// What the threads share.
struct Shared<'a> {
    /// The number of the next chunk, counted from the second, and where chunks come from.
    numbered: Mutex<(u64, Chunks)>,
    turn: Mutex<Turn<'a>>,
    passed_on: Condvar,
}

impl<'a> Shared<'a> {
    /// Takes chunk after chunk until there are no more.
    fn work(&self, worker: &mut Worker) {
        let _alarm = Alarm { shared: self };
        while let Some((number, chunk)) = self.take(&mut worker.batch.bytes) {
            let scanned = chunk.map(|chunk| (chunk, worker.scan(chunk)));
            let Some(mut turn) = self.wait_for(number) else { return };
            match scanned {
                Ok((chunk, outcome)) => worker.take_turn(chunk, outcome, &mut turn),
                Err(error) => {
                    turn.failure = Some(error);
                    turn.is_over = true;
                }
            }
            turn.next += 1;
            let is_over = turn.is_over;
            drop(turn);
            self.passed_on.notify_all();
            if is_over {
                return;
            }
        }
    }

    /// The next chunk with its number; `None` after the last, and after an error.
    fn take(&self, bytes: &mut Vec<u8>) -> Option<(u64, io::Result<Chunk>)> {
        let mut numbered = lock(&self.numbered);
        let chunk = numbered.1.next(bytes).transpose()?;
        numbered.0 += 1;
        Some((numbered.0 - 1, chunk))
    }

    /// Waits for the turn of a chunk; `None` when nothing more is consumed.
    fn wait_for(&self, number: u64) -> Option<MutexGuard<'_, Turn<'a>>> {
        let mut turn = lock(&self.turn);
        while turn.next != number && !turn.is_over {
            turn = self.passed_on.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        (!turn.is_over).then_some(turn)
    }
}

/// A panic poisons the lock and goes on to the caller; whoever sees the lock meanwhile only has to stop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the others when a thread panics in its turn: they would wait for ever.
struct Alarm<'shared, 'a> {
    shared: &'shared Shared<'a>,
}

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.shared.turn).is_over = true;
            self.shared.passed_on.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
