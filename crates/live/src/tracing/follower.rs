//! The thread that empties the kernel's rings and makes reads of their records.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use profile::event::Ticks;
use profile::source::sampled::{Traced, TracedRead};
use server::ServerFacts;
use sys::process::ShortSlice;
use sys::tracepoint::{Batch, NoTracing, TraceRecord, Tracer};
use sys::watchpoint::since_1970;

use super::events::{self, By, FORK, Starts};
use super::family::Family;
use super::files::Files;
use super::window::Ended;
use super::windows::Windows;
use crate::process::postmaster;

/// Between two looks into the rings; they hold several times more.
const NAP: Duration = Duration::from_millis(10);

/// Records in a batch from which on the next one is read at once.
const BATCH_LARGE: usize = 20_000;

/// Most reads, and most requests, that wait to be taken: those of several seconds.
const WAITING_MAX: usize = 1 << 20;

/// The wall clock, in µs since 1970, at moments of the monotonic one, in ns: it is this far ahead, in ns.
#[derive(Clone, Copy, Debug)]
struct Clock {
    ahead: i64,
}

impl Clock {
    fn micros(self, nanos: u64) -> i64 {
        nanos.cast_signed().saturating_add(self.ahead).div_euclid(1_000)
    }
}

/// Follows the reads of a server's processes until it is dropped.
pub(crate) struct Follower {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Whether the kernel counts all records that it loses.
    pub(super) counts_last_losses: bool,
    /// Whether reads by an io_uring are seen.
    pub(super) sees_rings: bool,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    found: Mutex<Found>,
}

/// What was found and not taken yet.
#[derive(Default)]
struct Found {
    traced: Traced,
    files: Vec<Arc<str>>,
}

/// Adds what was traced to what waits, or is kept: at most this number of reads, and of requests. Those that find no
/// room count as lost records.
pub(crate) fn add_traced(known: &mut Traced, mut more: Traced, most: usize) {
    known.records += more.records;
    known.lost += more.lost;
    if known.reads.len() + more.reads.len() > most || known.requests.len() + more.requests.len() > most {
        known.lost += (more.reads.len() + more.requests.len()) as u64;
        return;
    }
    known.reads.append(&mut more.reads);
    known.requests.append(&mut more.requests);
}

impl Follower {
    /// Opens the tracepoints for the server of this session. `Err` holds the reason why there are none, which is no
    /// failure. `by` says by what it reads.
    pub(crate) fn open(facts: &ServerFacts, is_local: bool, by: By) -> Result<Follower, String> {
        if !is_local {
            return Err("the server runs on another machine".into());
        }
        if facts.process == 0 {
            return Err("nothing is sent".into());
        }
        let clock = Clock { ahead: since_1970() };
        let postmaster = postmaster(facts.process, &facts.user)?;
        let program = sys::process::name(postmaster).unwrap_or_default();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if program.is_empty() || !program.chars().all(is_plain) {
            return Err("the server's processes cannot be seen from here".into());
        }
        let files = Files::of(postmaster, facts.block_bytes)?;
        // A kernel whose tracepoints of an io_uring are others shows the calls at least.
        let (tracer, by) = match open(&program, postmaster, by) {
            Err(NoTracing::Missing(_) | NoTracing::Format { .. }) if by == By::Ring => {
                (open(&program, postmaster, By::Calls), By::Calls)
            }
            opened => (opened, by),
        };
        let tracer = tracer.map_err(|reason| reason.to_string())?;
        let counts_last_losses = tracer.counts_last_losses();
        let shared = Arc::new(Shared::default());
        let work = Work {
            tracer,
            windows: Windows::with_pages_of(sys::host::page_bytes()),
            family: Family::of(postmaster),
            files,
            clock,
            block_bytes: facts.block_bytes.max(512),
            shared: Arc::clone(&shared),
        };
        let thread = Builder::new()
            .name("tracepoints".into())
            .spawn(move || work.run())
            .map_err(|error| format!("a thread could not be started: {error}"))?;
        Ok(Follower { shared, thread: Some(thread), counts_last_losses, sees_rings: by == By::Ring })
    }

    /// What was traced since this was asked last, and the files that were met for the first time.
    pub(crate) fn take(&self) -> (Traced, Vec<Arc<str>>) {
        let mut found = self.shared.found.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut found.traced), std::mem::take(&mut found.files))
    }

    /// Has the tracing end. That takes a moment, which [`Follower::finish`] waits for.
    pub(crate) fn halt(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the tracing; gives the rest.
    pub(crate) fn finish(mut self) -> (Traced, Vec<Arc<str>>) {
        self.end();
        self.take()
    }

    fn end(&mut self) {
        self.halt();
        if let Some(thread) = self.thread.take() {
            // A panic there has said so already.
            let _ = thread.join();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.end();
    }
}

/// The tracepoints, on older kernels too.
fn open(program: &str, postmaster: u32, by: By) -> Result<Tracer, NoTracing> {
    match Tracer::open(&events::wanted(program, postmaster, Starts::Newer, by)) {
        Err(NoTracing::Missing(name)) if events::is_newer_start(&name) => {
            Tracer::open(&events::wanted(program, postmaster, Starts::Older, by))
        }
        other => other,
    }
}

/// The work of the thread.
struct Work {
    tracer: Tracer,
    windows: Windows,
    family: Family,
    files: Files,
    clock: Clock,
    block_bytes: u64,
    shared: Arc<Shared>,
}

impl Work {
    fn run(mut self) {
        let mut batch = Batch::default();
        // On busy processors, the rings would be full before this thread has its turn.
        let _short = ShortSlice::begin();
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.tracer.drain(&mut batch);
            self.take(&batch);
            if batch.records.len() < BATCH_LARGE {
                sleep(NAP);
            }
        }
        // One that refuses to stop goes on until it is closed, a moment later.
        let _ = self.tracer.set_running(false);
        self.tracer.drain_rest(&mut batch);
        self.take(&batch);
        let ended = self.windows.end();
        self.hand_over(&ended, Traced::default());
    }

    fn take(&mut self, batch: &Batch) {
        for record in batch.records.iter().filter(|record| record.kind == FORK) {
            self.family.born(record.values[0] as u32, record.time);
        }
        let mut traced = Traced {
            records: batch.records.len() as u64,
            lost: batch.lost.iter().map(|loss| loss.records).sum(),
            ..Traced::default()
        };
        let records: &[TraceRecord] = &batch.records;
        let endless = self.windows.endless;
        let ended = self.windows.take(records, &batch.lost, &mut traced.requests);
        // The end of a request that never came is a record that was lost.
        traced.lost += self.windows.endless - endless;
        self.hand_over(&ended, traced);
    }

    fn hand_over(&mut self, ended: &[Ended], mut traced: Traced) {
        // It may have been set.
        self.clock.ahead = since_1970();
        self.family.retain_own(&mut traced.requests);
        traced.requests.iter_mut().for_each(|one| one.begun = self.clock.micros(one.begun.cast_unsigned()));
        traced.reads = ended.iter().filter_map(|read| self.read(read)).collect();
        let files = self.files.take_fresh();
        let mut found = self.shared.found.lock().unwrap_or_else(PoisonError::into_inner);
        add_traced(&mut found.traced, traced, WAITING_MAX);
        found.files.extend(files);
    }

    /// The read of a file of the server; `None` where it is none.
    fn read(&mut self, ended: &Ended) -> Option<TracedRead> {
        if !self.family.has(ended.process, ended.end) {
            return None;
        }
        let place = self.files.place(ended)?;
        let first = ended.position / self.block_bytes;
        let last = ended.position.saturating_add(ended.bytes.max(1) - 1) / self.block_bytes;
        Some(TracedRead {
            process: ended.process,
            begun: self.clock.micros(ended.begun),
            elapsed: Ticks::from_nanos(ended.end.saturating_sub(ended.begun)),
            tier: ended.tier,
            file: place.file,
            block: place.first_block + first,
            blocks: last.saturating_sub(first) + 1,
            bytes: ended.bytes,
            queue: ended.queue,
            service: ended.service,
        })
    }
}

#[cfg(test)]
mod tests {
    use profile::source::sampled::TracedRequest;
    use profile::tables::read_tiers::Purpose;

    use super::*;

    #[test]
    fn prefetch_that_no_look_takes_does_not_fill_memory_and_counts_as_lost() {
        let (queue, service) = (Ticks::ZERO, Ticks::ZERO);
        let one = TracedRequest { process: 7, begun: 0, purpose: Purpose::Prefetch, bytes: 8192, queue, service };
        let of = |count: usize| Traced { requests: vec![one; count], records: 3 * count as u64, ..Traced::default() };
        let mut known = Traced::default();
        for count in [WAITING_MAX - 1, 2, 1, 3] {
            add_traced(&mut known, of(count), WAITING_MAX);
        }
        let Traced { requests, records, lost, .. } = &known;
        assert_eq!((requests.len(), *lost, *records), (WAITING_MAX, 5, 3 * (WAITING_MAX as u64 + 5)));
    }

    #[test]
    fn reads_are_placed_by_the_wall_clock_as_it_is_now() {
        let mut clock = Clock { ahead: 1_000_000_000 };
        assert_eq!(clock.micros(8_999), 1_000_008);
        // Set forward by a second, and then back by two.
        clock.ahead = 2_000_000_000;
        assert_eq!(clock.micros(8_000), 2_000_008);
        clock.ahead = 0;
        assert_eq!(clock.micros(8_000), 8);
    }
}
