//! Windows: what a thread passes from the call of a read to its return tells which tier answered the read.
//!
//! A read by an io_uring has a window too: from its submission to its completion, whichever threads work on it. One
//! that a call did not complete at once waited as if its thread had slept.
//!
//! A request of its own that ended within the window: a device. A sleep in the kernel without one: a request of another
//! process that was in flight. Neither: the page cache; a request that it sent and did not wait for was read-ahead.

use std::collections::HashMap;

use profile::event::Ticks;
use profile::source::sampled::TracedRequest;
use profile::tables::read_tiers::{Purpose, ReadTier};
use sys::tracepoint::{Loss, TraceRecord};

use super::events::{
    COMPLETE, ENTER_PREAD, ENTER_PREADV, EXIT_PREAD, EXIT_PREADV, EXIT_RING, GET_PAGES, ISSUE, RING_COMPLETE,
    RING_FILE, RING_QUEUE, RING_SUBMIT, SLEEP, START,
};
use super::rings::Rings;
use super::window::{Ended, Served, Window};

/// Most requests that are under way at once; and how long one may be, in ns: one that another absorbed never ends.
const REQUESTS_MAX: usize = 1 << 16;
const REQUEST_NANOS_MAX: u64 = 60_000_000_000;

/// How long a call may go on, in ns, as on a device that hangs: the return of a longer one was lost, and its thread,
/// which makes no other call, has ended.
const CALL_NANOS_MAX: u64 = 600_000_000_000;

/// How long a request may be at its device, in ns, until its end is taken to be one that was not recorded.
const OVERDUE_NANOS: u64 = 2_000_000_000;

/// From this many such requests on, and from this part of those whose end was recorded, ends are known to be lacking:
/// of an idle processor some kernels record nothing, and there most requests end.
const LACKING_MIN: u64 = 10;
const LACKING_PART: u64 = 10;

/// How long the lost records are remembered, in ns.
const LOSS_NANOS: u64 = 10_000_000_000;

/// What a read is: a call of this thread, or this request of an io_uring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Call(u32),
    Ring(u64),
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    process: u32,
    /// The window within which it was started, and its number.
    window: Option<(Within, u64)>,
    start: u64,
    issue: Option<u64>,
    bytes: u64,
}

/// The state of all threads.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Bytes of the kernel's pages.
    page_bytes: u64,
    threads: HashMap<u32, Window>,
    rings: Rings,
    requests: HashMap<(u64, u64), Request>,
    count: u64,
    losses: Vec<Loss>,
    /// Requests so far whose end was recorded, and those whose end was not.
    ended: u64,
    pub(super) endless: u64,
    /// Reads of the last batch: what the next one has lost may belong to them.
    held: Vec<Ended>,
}

impl Windows {
    /// None yet, on a kernel with pages of this size.
    pub(super) fn with_pages_of(page_bytes: u64) -> Windows {
        Windows { page_bytes, ..Windows::default() }
    }

    /// Takes records in the order of their times, with what was lost meanwhile. Gives the reads that had ended before
    /// them.
    pub(super) fn take(
        &mut self,
        records: &[TraceRecord],
        lost: &[Loss],
        requests: &mut Vec<TracedRequest>,
    ) -> Vec<Ended> {
        self.losses.extend(lost);
        let mut ended = std::mem::take(&mut self.held);
        for record in records {
            self.record(record, requests);
        }
        for read in &mut ended {
            self.doubt(read);
        }
        if let Some(last) = records.last() {
            self.sweep(last.time);
            self.rings.sweep(last.time);
        }
        ended
    }

    /// Gives the last reads.
    pub(super) fn end(&mut self) -> Vec<Ended> {
        let mut ended = std::mem::take(&mut self.held);
        ended.iter_mut().for_each(|read| self.doubt(read));
        ended
    }

    /// A read while records were lost may have lost some of its own.
    fn doubt(&self, read: &mut Ended) {
        if self.losses.iter().any(|loss| loss.from <= read.end && read.begun <= loss.until) {
            (read.tier, read.queue, read.service) = (ReadTier::NotSeen, Ticks::ZERO, Ticks::ZERO);
        }
    }

    fn record(&mut self, record: &TraceRecord, requests: &mut Vec<TracedRequest>) {
        let [first, second, third, _] = record.values;
        match record.kind {
            ENTER_PREAD | ENTER_PREADV => self.enter(record, first as u32, second),
            EXIT_PREAD | EXIT_PREADV => self.exit(record, first.cast_signed()),
            GET_PAGES => {
                if let Some(window) = self.threads.get_mut(&record.thread) {
                    window.inode.get_or_insert((first, second));
                } else if let Some(window) = self.rings.worked_on(record.thread).filter(|one| one.inode.is_none()) {
                    // A ring's request does not tell its place: the first page that was found does.
                    (window.inode, window.position) = (Some((first, second)), third.saturating_mul(self.page_bytes));
                }
            }
            SLEEP => {
                let window = self.threads.get_mut(&record.thread);
                if let Some(window) = window.or_else(|| self.rings.worked_on(record.thread)) {
                    window.slept = true;
                }
            }
            RING_SUBMIT => {
                self.count += 1;
                let (number, process, begun) = (self.count, record.process, record.time);
                self.rings.submit(record.thread, first, Window { number, process, begun, ..Window::default() });
            }
            RING_FILE => self.rings.take_up(record.thread, first, second as u32),
            RING_QUEUE => self.rings.hand_on(record.thread, first),
            EXIT_RING => self.rings.leave(record.thread),
            RING_COMPLETE => {
                if let Some(window) = self.rings.complete(first) {
                    self.ended(window, record.time, second.cast_signed());
                }
            }
            START => self.start(record, (first, second), third),
            ISSUE => {
                if let Some(request) = self.requests.get_mut(&(first, second)) {
                    request.issue = Some(record.time);
                    // Others may have joined it meanwhile.
                    request.bytes = third;
                }
            }
            COMPLETE => self.complete(record.time, (first, second), requests),
            _ => {}
        }
    }

    fn enter(&mut self, record: &TraceRecord, descriptor: u32, position: u64) {
        self.count += 1;
        let (number, process, begun) = (self.count, record.process, record.time);
        let window = Window { number, process, begun, descriptor, position, ..Window::default() };
        if let Some(before) = self.threads.insert(record.thread, window) {
            // Its return was lost: when it ended is not known, and neither is what it brought.
            let tier = ReadTier::NotSeen;
            self.held.push(before.ended(before.begun, 0, tier));
        }
    }

    /// The window of a read that goes on.
    fn window(&mut self, within: Within) -> Option<&mut Window> {
        match within {
            Within::Call(thread) => self.threads.get_mut(&thread),
            Within::Ring(request) => self.rings.window(request),
        }
    }

    fn lacks_ends(&self) -> bool {
        self.endless >= LACKING_MIN && self.endless >= self.ended / LACKING_PART
    }

    fn exit(&mut self, record: &TraceRecord, result: i64) {
        // A read whose call was not recorded had begun before the tracing did, or its record was lost.
        let Some(window) = self.threads.remove(&record.thread) else { return };
        self.ended(window, record.time, result);
    }

    fn ended(&mut self, window: Window, time: u64, result: i64) {
        let Some(bytes) = u64::try_from(result).ok().filter(|bytes| *bytes > 0) else { return };
        let tier = match (window.served.is_empty(), window.slept) {
            (false, _) => ReadTier::Device,
            // It may have slept until a request of its own ended, or one of another process.
            (true, true) if window.sent > 0 && self.lacks_ends() => ReadTier::NotSeen,
            (true, true) => ReadTier::InFlight,
            (true, false) => ReadTier::PageCache,
        };
        self.held.push(window.ended(time, bytes, tier));
    }

    fn start(&mut self, record: &TraceRecord, place: (u64, u64), bytes: u64) {
        if self.requests.len() >= REQUESTS_MAX {
            return;
        }
        let of_ring = || self.rings.request_of(record.thread);
        let within = match self.threads.contains_key(&record.thread) {
            true => Some(Within::Call(record.thread)),
            false => of_ring().map(Within::Ring),
        };
        let window = within.and_then(|within| {
            let window = self.window(within)?;
            window.sent += 1;
            Some((within, window.number))
        });
        let request = Request { process: record.process, window, start: record.time, issue: None, bytes };
        self.requests.insert(place, request);
    }

    fn complete(&mut self, time: u64, place: (u64, u64), requests: &mut Vec<TracedRequest>) {
        let Some(request) = self.requests.remove(&place) else { return };
        self.ended += 1;
        let served = Served { start: request.start, issue: request.issue.unwrap_or(request.start), end: time };
        let window = request.window.and_then(|(within, number)| {
            let window = self.window(within)?;
            (window.number == number).then_some(window)
        });
        let purpose = match (window, request.window) {
            (Some(window), _) => {
                window.served.push(served);
                Purpose::Waited
            }
            (None, Some(_)) => Purpose::Ahead,
            (None, None) => Purpose::Prefetch,
        };
        let (queue, service) = served.times();
        let Request { process, bytes, start, .. } = request;
        // By the same clock as the reads: who takes it puts it on the wall's.
        requests.push(TracedRequest { process, begun: start.cast_signed(), purpose, bytes, queue, service });
    }

    /// Forgets what never ended.
    fn sweep(&mut self, now: u64) {
        let before = self.requests.len();
        self.requests.retain(|_, request| request.issue.is_none_or(|issue| now.saturating_sub(issue) < OVERDUE_NANOS));
        self.endless += (before - self.requests.len()) as u64;
        self.requests.retain(|_, request| now.saturating_sub(request.start) < REQUEST_NANOS_MAX);
        self.losses.retain(|loss| now.saturating_sub(loss.until) < LOSS_NANOS);
        let overdue = self.threads.extract_if(|_, window| now.saturating_sub(window.begun) >= CALL_NANOS_MAX);
        self.held.extend(overdue.map(|(_, window)| window.ended(window.begun, 0, ReadTier::NotSeen)));
    }
}

#[cfg(test)]
mod tests {
    use sys::file::{Caching, Target};
    use sys::memory::Pages;
    use sys::read::{ReadRequest, Setup, Wait};
    use sys::tracepoint::{Batch, Tracer};

    use super::super::events::{By, Starts, wanted};
    use super::*;

    const DISK: (u64, u64) = (254 << 20, 4096);

    fn at(time: u64, thread: u32, kind: u16, values: &[u64]) -> TraceRecord {
        let mut record = TraceRecord { time, process: 7, thread, kind, values: [0; 4] };
        record.values[..values.len()].copy_from_slice(values);
        record
    }

    fn request(time: u64, kind: u16, bytes: u64) -> TraceRecord {
        at(time, 7, kind, &[DISK.0, DISK.1, bytes])
    }

    fn traced(records: &[TraceRecord], lost: &[Loss]) -> (Vec<Ended>, Vec<TracedRequest>) {
        let (mut windows, mut requests) = (Windows::with_pages_of(4096), Vec::new());
        assert!(windows.take(records, lost, &mut requests).is_empty());
        (windows.end(), requests)
    }

    fn read(inside: &[TraceRecord]) -> Ended {
        let mut records = vec![at(1_000, 7, ENTER_PREAD, &[5, 8192])];
        records.extend(inside);
        records.push(at(901_000, 7, EXIT_PREAD, &[8192]));
        let (mut ended, _) = traced(&records, &[]);
        assert_eq!(ended.len(), 1);
        ended.remove(0)
    }

    #[test]
    fn a_read_that_neither_sleeps_nor_sends_a_request_comes_from_the_page_cache() {
        let ended = read(&[at(1_500, 7, GET_PAGES, &[77, 3])]);
        assert_eq!(
            (ended.tier, ended.inode, ended.bytes, ended.position),
            (ReadTier::PageCache, Some((77, 3)), 8192, 8192)
        );
        assert_eq!((ended.begun, ended.end, ended.queue + ended.service), (1_000, 901_000, Ticks::ZERO));
    }

    #[test]
    fn a_request_of_its_own_that_ends_within_makes_it_the_devices_and_its_time_is_divided() {
        let sleep = at(30_000, 7, SLEEP, &[]);
        let inside = [request(10_000, START, 4096), request(20_000, ISSUE, 8192), sleep, request(820_000, COMPLETE, 0)];
        let ended = read(&inside);
        assert_eq!(ended.tier, ReadTier::Device);
        assert_eq!((ended.queue, ended.service), (Ticks::from_micros(10), Ticks::from_micros(800)));
    }

    #[test]
    fn where_ends_of_requests_are_not_recorded_a_read_that_slept_after_its_own_has_no_tier() {
        let place = |number: u64| [DISK.0, number, 8192];
        let round = |number: u64| {
            let time = number * 1_000_000_000;
            [
                at(time, 7, ENTER_PREAD, &[5, 0]),
                at(time + 1_000, 7, START, &place(number)),
                at(time + 2_000, 7, ISSUE, &place(number)),
                at(time + 3_000, 7, SLEEP, &[]),
                at(time + 900_000, 7, EXIT_PREAD, &[8192]),
            ]
        };
        let (mut windows, mut requests) = (Windows::with_pages_of(4096), Vec::new());
        let mut tiers = Vec::new();
        for number in 1..=20 {
            tiers.extend(windows.take(&round(number), &[], &mut requests).iter().map(|read| read.tier));
        }
        assert_eq!((tiers[0], tiers[18], windows.endless), (ReadTier::InFlight, ReadTier::NotSeen, 18));
        assert!(requests.is_empty());
    }

    #[test]
    fn read_ahead_that_is_not_waited_for_leaves_a_read_to_the_page_cache() {
        let records = [
            at(1_000, 7, ENTER_PREAD, &[5, 0]),
            request(2_000, START, 4096),
            request(3_000, ISSUE, 65_536),
            at(9_000, 7, EXIT_PREAD, &[8192]),
            request(90_000, COMPLETE, 0),
        ];
        let (ended, requests) = traced(&records, &[]);
        assert_eq!(ended[0].tier, ReadTier::PageCache);
        assert_eq!((requests[0].purpose, requests[0].bytes), (Purpose::Ahead, 65_536));
    }

    #[test]
    fn a_sleep_without_a_request_that_ends_is_a_request_of_another_process() {
        assert_eq!(read(&[at(2_000, 7, SLEEP, &[])]).tier, ReadTier::InFlight);
        // What it sent itself was for what it reads next.
        let ahead = [request(2_000, START, 4096), request(2_100, ISSUE, 4096), at(3_000, 7, SLEEP, &[])];
        assert_eq!(read(&ahead).tier, ReadTier::InFlight);
        assert_eq!(read(&[at(2_000, 8, SLEEP, &[])]).tier, ReadTier::PageCache, "the sleep of another thread");
    }

    #[test]
    fn reads_that_may_have_lost_records_are_set_apart_even_those_that_ended_before_it_was_noticed() {
        let (mut windows, mut requests) = (Windows::with_pages_of(4096), Vec::new());
        let pair = |from: u64| [at(from, 7, ENTER_PREAD, &[5, 0]), at(from + 100, 7, EXIT_PREAD, &[8192])];
        let first: Vec<TraceRecord> = [pair(1_000), pair(2_000)].concat();
        assert!(windows.take(&first, &[], &mut requests).is_empty());
        let loss = Loss { from: 2_050, until: 3_000, records: 9 };
        let tiers = |ended: Vec<Ended>| ended.iter().map(|read| read.tier).collect::<Vec<_>>();
        let ended = windows.take(&[pair(2_900), pair(4_000)].concat(), &[loss], &mut requests);
        assert_eq!(tiers(ended), [ReadTier::PageCache, ReadTier::NotSeen]);
        assert_eq!(tiers(windows.end()), [ReadTier::NotSeen, ReadTier::PageCache]);
    }

    #[test]
    fn a_return_that_was_lost_is_noticed_at_the_next_call_and_failed_reads_are_none() {
        let records = [
            at(1_000, 7, ENTER_PREAD, &[5, 0]),
            at(5_000, 7, ENTER_PREADV, &[5, 0]),
            at(6_000, 7, EXIT_PREADV, &[16_384]),
            at(7_000, 7, ENTER_PREAD, &[5, 0]),
            at(8_000, 7, EXIT_PREAD, &[(-5_i64).cast_unsigned()]),
            at(9_000, 9, EXIT_PREAD, &[8192]),
        ];
        let (ended, _) = traced(&records, &[]);
        let found: Vec<(ReadTier, u64)> = ended.iter().map(|read| (read.tier, read.bytes)).collect();
        assert_eq!(found, [(ReadTier::NotSeen, 0), (ReadTier::PageCache, 16_384)]);
    }

    #[test]
    fn a_call_whose_return_was_lost_is_not_kept_when_its_thread_makes_no_other() {
        let (mut windows, mut requests) = (Windows::with_pages_of(4096), Vec::new());
        windows.take(&[at(1_000, 7, ENTER_PREAD, &[5, 0])], &[], &mut requests);
        let later = [at(CALL_NANOS_MAX, 9, ENTER_PREAD, &[5, 0]), at(2 * CALL_NANOS_MAX, 9, EXIT_PREAD, &[8192])];
        windows.take(&later[..1], &[], &mut requests);
        assert_eq!(windows.threads.len(), 2, "it may go on");
        windows.take(&later[1..], &[], &mut requests);
        assert!(windows.threads.is_empty());
        let found: Vec<(u64, ReadTier)> = windows.end().iter().map(|read| (read.begun, read.tier)).collect();
        assert_eq!(found, [(CALL_NANOS_MAX, ReadTier::PageCache), (1_000, ReadTier::NotSeen)]);
    }

    /// A request of an io_uring: number 5 of thread 7, which completes with 16 KiB.
    fn by_ring(inside: &[TraceRecord]) -> Ended {
        let mut records = vec![at(1_000, 7, RING_SUBMIT, &[5]), at(1_500, 7, RING_FILE, &[5, 33])];
        records.extend(inside);
        records.push(at(901_000, 7, RING_COMPLETE, &[5, 16_384]));
        let (mut ended, _) = traced(&records, &[]);
        assert_eq!(ended.len(), 1);
        ended.remove(0)
    }

    #[test]
    fn a_read_by_a_ring_that_its_call_completes_comes_from_the_page_cache_and_has_its_place() {
        let ended = by_ring(&[at(2_000, 7, GET_PAGES, &[77, 3, 10]), at(2_100, 7, GET_PAGES, &[77, 3, 11])]);
        assert_eq!((ended.tier, ended.bytes, ended.descriptor), (ReadTier::PageCache, 16_384, 33));
        assert_eq!((ended.inode, ended.position, ended.process), (Some((77, 3)), 10 * 4096, 7));
    }

    #[test]
    fn a_request_of_a_rings_read_makes_it_the_devices_also_where_a_thread_of_the_kernel_sends_it() {
        let by_call = [request(3_000, START, 16_384), request(4_000, ISSUE, 16_384), at(5_000, 7, EXIT_RING, &[])];
        let ended = by_ring(&[&by_call[..], &[request(800_000, COMPLETE, 0)]].concat());
        assert_eq!((ended.tier, ended.service), (ReadTier::Device, Ticks::from_micros(796)));
        let on_worker = |time, kind, values: &[u64]| at(time, 9, kind, values);
        let place = [DISK.0, DISK.1, 16_384];
        let ended = by_ring(&[
            at(2_000, 7, RING_QUEUE, &[5]),
            at(2_100, 7, EXIT_RING, &[]),
            on_worker(3_000, RING_FILE, &[5, 33]),
            on_worker(4_000, START, &place),
            on_worker(4_100, ISSUE, &place),
            on_worker(700_000, COMPLETE, &place),
        ]);
        assert_eq!((ended.tier, ended.process), (ReadTier::Device, 7));
    }

    #[test]
    fn a_rings_read_that_waits_without_a_request_of_its_own_waits_for_that_of_another() {
        assert_eq!(by_ring(&[at(5_000, 7, EXIT_RING, &[])]).tier, ReadTier::InFlight);
        let on_worker =
            [at(2_000, 7, RING_QUEUE, &[5]), at(2_100, 7, EXIT_RING, &[]), at(3_000, 9, RING_FILE, &[5, 33])];
        assert_eq!(by_ring(&on_worker).tier, ReadTier::PageCache, "one that a thread of the kernel copies at once");
        assert_eq!(by_ring(&[&on_worker[..], &[at(3_500, 9, SLEEP, &[])]].concat()).tier, ReadTier::InFlight);
        // The next request of the thread is no part of it.
        let next = [at(2_000, 7, RING_SUBMIT, &[6]), request(3_000, START, 4096), request(9_000, COMPLETE, 0)];
        assert_eq!(by_ring(&next).tier, ReadTier::PageCache);
    }

    /// Blocks of a file that a thread of this name reads by an io_uring, one after the other, cold and then warm; the
    /// reads that were traced meanwhile. `None` where this kernel or this user cannot; says why.
    fn read_by_ring(name: &str, path: &std::path::Path, blocks: &[u64]) -> Option<Vec<Ended>> {
        let mut tracer = match Tracer::open(&wanted(name, 1, Starts::Newer, By::Ring)) {
            Ok(tracer) => tracer,
            Err(reason) => {
                println!("skipped: {reason}");
                return None;
            }
        };
        let read = || {
            let file = std::fs::File::open(path).unwrap();
            file.sync_all().unwrap();
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            let target = Target::open(path, Caching::Buffered).unwrap();
            let setup = Setup { target: &target, depth: 1, slot_bytes: 8192, pages: Pages::Small };
            let mut ring = (sys::read::method("io_uring").unwrap().open)(setup).map_err(|error| error.to_string())?;
            for block in blocks.iter().chain(blocks) {
                ring.queue(ReadRequest { offset: 8192 * block, length: 8192, slot: 0 });
                let mut done = Vec::new();
                ring.reap(Wait { at_least: 1, timeout: None }, &mut done).unwrap();
                assert_eq!(done[0].result.as_ref().unwrap(), &8192);
            }
            Ok::<(), String>(())
        };
        let done = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name(name.into()).spawn_scoped(scope, read);
            thread.unwrap().join().unwrap()
        });
        if let Err(reason) = done {
            println!("skipped: {reason}");
            return None;
        }
        tracer.set_running(false).unwrap();
        let mut batch = Batch::default();
        tracer.drain_rest(&mut batch);
        let (mut windows, mut requests) = (Windows::with_pages_of(sys::host::page_bytes()), Vec::new());
        windows.take(&batch.records, &batch.lost, &mut requests);
        Some(windows.end())
    }

    #[test]
    fn reads_by_an_io_uring_of_this_kernel_have_their_blocks_and_the_tier_that_answered() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("blocks");
        std::fs::write(&path, vec![7_u8; 8 << 20]).unwrap();
        let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&path).unwrap());
        // Far apart, and not in order: the kernel reads little ahead.
        let blocks: Vec<u64> = (0..64).map(|number| number * 37 % 64 * 16).collect();
        let of = |reads: &[Ended], tier| reads.iter().filter(|read| read.tier == tier).count();
        let is_known = |ended: &[Ended]| {
            let found: Vec<u64> = ended.iter().map(|read| read.position / 8192).collect();
            let is_of_file = |read: &Ended| read.bytes == 8192 && read.inode.is_some_and(|(number, _)| number == inode);
            let is_whole = found == [&blocks[..], &blocks[..]].concat() && ended.iter().all(is_of_file);
            let (cold, warm) = ended.split_at(blocks.len().min(ended.len()));
            is_whole && of(cold, ReadTier::Device) > 10 && of(warm, ReadTier::PageCache) == blocks.len()
        };
        let mut seen = Vec::new();
        // Records find no room on a busy machine, and a kernel may drop pages of its cache.
        for _ in 0..5 {
            let Some(ended) = read_by_ring("~ring-reads", &path, &blocks) else { return };
            if is_known(&ended) {
                return;
            }
            seen.push(ended);
        }
        panic!("reads without their blocks or tiers: {seen:?}");
    }
}
