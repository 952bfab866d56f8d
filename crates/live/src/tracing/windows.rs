//! Windows: what a thread passes from the call of a read to its return tells which tier answered the read.
//!
//! A request of its own that ended within the window: a device. A sleep in the kernel without one: a request of another
//! process that was in flight. Neither: the page cache; a request that it sent and did not wait for was read-ahead.

use std::collections::HashMap;

use profile::event::Ticks;
use profile::source::sampled::TracedRequest;
use profile::tables::read_tiers::{Purpose, ReadTier};
use sys::tracepoint::{Loss, TraceRecord};

use super::events::{COMPLETE, ENTER_PREAD, ENTER_PREADV, EXIT_PREAD, EXIT_PREADV, GET_PAGES, ISSUE, SLEEP, START};

/// Most requests that are under way at once; and how long one may be, in ns: one that another absorbed never ends.
const REQUESTS_MAX: usize = 1 << 16;
const REQUEST_NANOS_MAX: u64 = 60_000_000_000;

/// How long a request may be at its device, in ns, until its end is taken to be one that was not recorded.
const OVERDUE_NANOS: u64 = 2_000_000_000;

/// From this many such requests on, and from this part of those whose end was recorded, ends are known to be lacking:
/// of an idle processor some kernels record nothing, and there most requests end.
const LACKING_MIN: u64 = 10;
const LACKING_PART: u64 = 10;

/// How long the lost records are remembered, in ns.
const LOSS_NANOS: u64 = 10_000_000_000;

/// A read that goes on.
#[derive(Clone, Debug, Default)]
struct Window {
    number: u64,
    process: u32,
    begun: u64,
    descriptor: u32,
    position: u64,
    inode: Option<(u64, u64)>,
    slept: bool,
    /// Requests that it sent, and those of them that ended.
    sent: usize,
    served: Vec<Served>,
}

/// A request that ended: when it was started, issued to the device, and complete.
#[derive(Clone, Copy, Debug)]
struct Served {
    start: u64,
    issue: u64,
    end: u64,
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    process: u32,
    thread: u32,
    /// The window within which it was started.
    window: Option<u64>,
    start: u64,
    issue: Option<u64>,
    bytes: u64,
}

/// A read that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) process: u32,
    /// In nanoseconds of the monotonic clock.
    pub(super) begun: u64,
    pub(super) end: u64,
    pub(super) descriptor: u32,
    pub(super) position: u64,
    /// The number of the file, and that of its file system.
    pub(super) inode: Option<(u64, u64)>,
    pub(super) bytes: u64,
    pub(super) tier: ReadTier,
    pub(super) queue: Ticks,
    pub(super) service: Ticks,
}

/// The state of all threads.
#[derive(Debug, Default)]
pub(super) struct Windows {
    threads: HashMap<u32, Window>,
    requests: HashMap<(u64, u64), Request>,
    count: u64,
    losses: Vec<Loss>,
    /// Requests whose end was recorded, and those whose end was not.
    ended: u64,
    endless: u64,
    /// Reads of the last batch: what the next one has lost may belong to them.
    held: Vec<Ended>,
}

impl Windows {
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
                }
            }
            SLEEP => {
                if let Some(window) = self.threads.get_mut(&record.thread) {
                    window.slept = true;
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

    /// Requests so far whose end was not recorded.
    pub(super) fn endless(&self) -> u64 {
        self.endless
    }

    fn lacks_ends(&self) -> bool {
        self.endless >= LACKING_MIN && self.endless >= self.ended / LACKING_PART
    }

    fn exit(&mut self, record: &TraceRecord, result: i64) {
        // A read whose call was not recorded had begun before the tracing did, or its record was lost.
        let Some(window) = self.threads.remove(&record.thread) else { return };
        let Some(bytes) = u64::try_from(result).ok().filter(|bytes| *bytes > 0) else { return };
        let tier = match (window.served.is_empty(), window.slept) {
            (false, _) => ReadTier::Device,
            // It may have slept until a request of its own ended, or one of another process.
            (true, true) if window.sent > 0 && self.lacks_ends() => ReadTier::NotSeen,
            (true, true) => ReadTier::InFlight,
            (true, false) => ReadTier::PageCache,
        };
        self.held.push(window.ended(record.time, bytes, tier));
    }

    fn start(&mut self, record: &TraceRecord, place: (u64, u64), bytes: u64) {
        if self.requests.len() >= REQUESTS_MAX {
            return;
        }
        let window = self.threads.get_mut(&record.thread);
        let window = window.map(|window| {
            window.sent += 1;
            window.number
        });
        let (process, thread) = (record.process, record.thread);
        let request = Request { process, thread, window, start: record.time, issue: None, bytes };
        self.requests.insert(place, request);
    }

    fn complete(&mut self, time: u64, place: (u64, u64), requests: &mut Vec<TracedRequest>) {
        let Some(request) = self.requests.remove(&place) else { return };
        self.ended += 1;
        let served = Served { start: request.start, issue: request.issue.unwrap_or(request.start), end: time };
        let window = self.threads.get_mut(&request.thread).filter(|window| Some(window.number) == request.window);
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
    }
}

impl Served {
    fn times(&self) -> (Ticks, Ticks) {
        let time = |from: u64, until: u64| Ticks::from_nanos(until.saturating_sub(from));
        (time(self.start, self.issue), time(self.issue, self.end))
    }
}

impl Window {
    fn ended(&self, end: u64, bytes: u64, tier: ReadTier) -> Ended {
        let (queue, service) = times(&self.served);
        Ended {
            process: self.process,
            begun: self.begun,
            end,
            descriptor: self.descriptor,
            position: self.position,
            inode: self.inode,
            bytes,
            tier,
            queue,
            service,
        }
    }
}

/// Time in which a request was served, and in which none was and one waited for the queue.
fn times(served: &[Served]) -> (Ticks, Ticks) {
    let service = covered(served.iter().map(|one| (one.issue, one.end)));
    let whole = covered(served.iter().map(|one| (one.start, one.end)));
    (Ticks::from_nanos(whole.saturating_sub(service)), Ticks::from_nanos(service))
}

/// How much of time these spans cover.
fn covered(spans: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut spans: Vec<(u64, u64)> = spans.collect();
    spans.sort_unstable();
    let (mut covered, mut reached) = (0, 0);
    for (from, until) in spans {
        covered += until.saturating_sub(from.max(reached));
        reached = reached.max(until);
    }
    covered
}

#[cfg(test)]
mod tests {
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
        let (mut windows, mut requests) = (Windows::default(), Vec::new());
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
        let (mut windows, mut requests) = (Windows::default(), Vec::new());
        let mut tiers = Vec::new();
        for number in 1..=20 {
            tiers.extend(windows.take(&round(number), &[], &mut requests).iter().map(|read| read.tier));
        }
        assert_eq!((tiers[0], tiers[18], windows.endless()), (ReadTier::InFlight, ReadTier::NotSeen, 18));
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
        let (mut windows, mut requests) = (Windows::default(), Vec::new());
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
    fn time_that_two_requests_share_counts_once() {
        let one = |start, issue, end| Served { start, issue, end };
        let micros = |served: &[Served]| {
            let (queue, service) = times(served);
            (queue.micros(), service.micros())
        };
        assert_eq!(micros(&[one(0, 1_000, 5_000), one(2_000, 3_000, 8_000)]), (1.0, 7.0));
        assert_eq!(micros(&[one(0, 1_000, 2_000), one(4_000, 6_000, 7_000)]), (3.0, 2.0));
        assert_eq!(micros(&[]), (0.0, 0.0));
    }
}
