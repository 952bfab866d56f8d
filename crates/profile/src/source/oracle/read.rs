//! Reads a trace in parallel: chunks are scanned on several processors, and their records are taken in order.
//!
//! A worker reads the next chunk and scans it as if it began between constructs, or takes the turn and hands the next
//! batch to the consumer; the queue says which. If the chunk before ended within a construct, the batch is scanned once
//! more in its turn, with what is known then. Nothing is held but a few chunks.

mod queue;
mod turn;

use std::io;
use std::mem;
use std::ops::ControlFlow;
use std::thread;

use sys::threads::start;

use crate::event::Aside;
use crate::input::bytes::Bytes;
use crate::source::oracle::chunk::{Chunk, Chunks};
use crate::source::oracle::read::queue::{Queue, Scanned, Task};
use crate::source::oracle::read::turn::{Entry, Turn};
use crate::source::oracle::record::Batch;
use crate::source::oracle::scan::{ChunkEnd, Outcome, Scanner, State};

use crate::source::contract::BindValues;
pub use crate::source::contract::ReadOptions;
pub use turn::Consumer;

/// Reads one file and hands its batches to `consumer`, in order.
///
/// A batch may have bytes behind its last record that come again in the next one. An error of the source ends the
/// reading; what was read before it was consumed.
pub fn read(source: Bytes, options: ReadOptions, consumer: &mut (dyn FnMut(&Batch) + Send)) -> io::Result<()> {
    read_with(source, How { options, binds: BindValues::Dropped, aside: None }, &mut |batch| {
        consumer(batch);
        ControlFlow::Continue(())
    })
}

/// How a file is read.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    pub(crate) options: ReadOptions,
    pub(crate) binds: BindValues,
    /// What there is to do beside the reading that can wait.
    pub(crate) aside: Option<&'a dyn Aside>,
}

/// The same in all its ways, as long as `consumer` wants more: what comes behind the batch at which it breaks off is
/// not read.
pub(crate) fn read_with(
    source: Bytes,
    How { options, binds, aside }: How<'_>,
    consumer: &mut Consumer<'_>,
) -> io::Result<()> {
    let mut source = Chunks::by_file(source, options.chunk_bytes);
    let mut worker = Worker::new(binds);
    let mut turn = Turn { entry: Entry::default(), failure: None, is_over: false, consumer };
    let mut batch = Batch::default();
    if let Some(chunk) = source.next(&mut batch.bytes)? {
        let scanned = worker.scan(batch, chunk);
        batch = worker.consume(scanned, &mut turn);
    }
    if turn.is_over {
        return Ok(());
    }
    let workers = if source.is_over() { 1 } else { options.workers.max(1) };
    let queue = Queue::new(source, turn, batch, workers, aside);
    thread::scope(|scope| {
        for number in 1..workers {
            let queue = &queue;
            if start(scope, move || Worker::new(binds).work(number, queue)).is_err() {
                // What comes out does not depend on how many there are.
                queue.make_do_with(number);
                break;
            }
        }
        worker.work(0, &queue);
    });
    queue.into_turn().and_then(|turn| turn.failure).map_or(Ok(()), Err)
}

/// Reads a file that grows part by part, as if it were read at once.
pub(crate) struct Growing {
    worker: Worker,
    entry: Entry,
    options: ReadOptions,
}

impl Growing {
    /// Nothing read yet.
    pub(crate) fn new(options: ReadOptions, binds: BindValues) -> Growing {
        Growing { worker: Worker::new(binds), entry: Entry::default(), options }
    }

    /// Reads the next part of the file: whole lines that begin at `offset`, behind which more may come.
    pub(crate) fn read(&mut self, part: Bytes, offset: u64, consumer: &mut Consumer<'_>) -> io::Result<()> {
        let mut turn = Turn { entry: mem::take(&mut self.entry), failure: None, is_over: false, consumer };
        let mut chunks = Chunks::new(part, self.options.chunk_bytes);
        let mut batch = Batch::default();
        while let Some(Chunk { offset: within, end }) = chunks.next(&mut batch.bytes)? {
            // The part ends here, and the file does not.
            let end = if end == ChunkEnd::File { ChunkEnd::Line } else { end };
            let scanned = self.worker.scan(batch, Chunk { offset: offset + within, end });
            batch = self.worker.consume(scanned, &mut turn);
            if turn.is_over {
                break;
            }
        }
        self.entry = turn.entry;
        Ok(())
    }
}

/// What a thread has of its own.
struct Worker {
    scanner: Scanner,
    /// Room to put what is left of a chunk before the next one.
    joined: Vec<u8>,
}

impl Worker {
    fn new(binds: BindValues) -> Worker {
        Worker { scanner: Scanner::new(binds), joined: Vec::new() }
    }

    /// Does what the queue says until there is nothing more to do.
    fn work(&mut self, number: usize, queue: &Queue<'_>) {
        let _alarm = Alarm { queue };
        loop {
            match queue.task(number) {
                Task::Read(mut source, mut batch) => {
                    let chunk = source.next(&mut batch.bytes);
                    if let Some((place, chunk, batch)) = queue.end_reading(source, chunk, batch) {
                        queue.end_scanning(number, place, self.scan(batch, chunk));
                    }
                }
                Task::Scan(place, chunk, batch) => queue.end_scanning(number, place, self.scan(batch, chunk)),
                Task::Consume(mut turn, Ok(scanned)) => {
                    let batch = self.consume(scanned, &mut turn);
                    queue.end_turn(number, turn, Some(batch));
                    queue.work_aside();
                }
                Task::Consume(turn, Err(error)) => {
                    queue.end_turn(number, Turn { failure: Some(error), is_over: true, ..turn }, None);
                }
                Task::Leave => return,
            }
        }
    }

    /// Scans the chunk in a batch as if it began between constructs.
    fn scan(&mut self, mut batch: Batch, chunk: Chunk) -> Scanned {
        batch.offset = chunk.offset;
        let outcome = self.scanner.scan(&mut batch, State::Between, chunk.end);
        Scanned { batch, chunk, outcome }
    }

    /// Hands a batch on, scanned once more where its chunk begins within a construct.
    fn consume(&mut self, scanned: Scanned, turn: &mut Turn<'_>) -> Batch {
        let Scanned { mut batch, chunk, mut outcome } = scanned;
        if !turn.entry.is_between() {
            outcome = self.scan_again(&mut batch, chunk, &mut turn.entry);
        }
        turn.entry.begun.clear();
        turn.entry.begun.extend_from_slice(&batch.bytes[outcome.consumed..]);
        turn.entry.state = outcome.state;
        turn.is_over |= (turn.consumer)(&mut batch).is_break();
        batch
    }

    fn scan_again(&mut self, batch: &mut Batch, chunk: Chunk, entry: &mut Entry) -> Outcome {
        self.joined.clear();
        self.joined.extend_from_slice(&entry.begun);
        self.joined.extend_from_slice(&batch.bytes);
        mem::swap(&mut self.joined, &mut batch.bytes);
        batch.offset = chunk.offset - entry.begun.len() as u64;
        self.scanner.scan(batch, mem::take(&mut entry.state), chunk.end)
    }
}

/// Lets the others go when a thread panics: they would wait for ever for what it has in its hands.
struct Alarm<'q, 'a> {
    queue: &'q Queue<'a>,
}

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.queue.break_off();
        }
    }
}

#[cfg(test)]
mod tests;
