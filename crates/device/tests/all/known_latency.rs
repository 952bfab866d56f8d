//! The read loop over a device whose answers are known beforehand: what it reports must be exactly that.

use std::sync::atomic::{AtomicBool, Ordering};

use device::model::clients::{Client, SharedModel};
use device::model::fixed_latency::{FixedLatency, FixedParameters};
use device::null::Null;
use device::pattern::{Pattern, Span, Turn};
use device::plan::{ReadPlan, StopAfter};
use device::read_loop::{self, Ends, LoopOutcome, ReadFailure, ReadLoop};
use device::time_source::VirtualClock;
use measure::Nanos;
use measure::schema::reads;
use sys::read::{Completion, ReadMethod, ReadRequest, Wait};

const LATENCY: Nanos = Nanos::from_micros(100);

fn plan(depth: usize, stop_after: StopAfter) -> ReadPlan {
    ReadPlan {
        pattern: Pattern::Random,
        block_size: 8192,
        pages: sys::memory::Pages::Huge,
        span: Span { offset: 0, length: 1 << 30 },
        seed: 1,
        working_set: None,
        depth,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after,
        rate: None,
    }
}

fn known(depth: usize) -> (Client, VirtualClock) {
    let shared = SharedModel::new(Box::new(FixedLatency::new(FixedParameters::default())), 1);
    (shared.client(0, depth, 8192, None), shared.clock().clone())
}

fn run(plan: &ReadPlan) -> LoopOutcome {
    let (mut method, clock) = known(plan.depth);
    read_loop::run(&mut method, &clock, plan, &AtomicBool::new(false))
}

#[test]
fn a_known_latency_is_reported_exactly_at_any_depth() {
    for depth in [1, 2, 7, 32, 128] {
        let outcome = run(&plan(depth, StopAfter::Reads(12_800)));
        let latency = outcome.latency.metric(&reads::READ_LATENCY, "test").unwrap().statistics;
        assert_eq!((latency.n, latency.min, latency.mean, latency.max), (12_800, 100.0, 100.0, 100.0));
        assert_eq!(outcome.elapsed.0, 12_800_u64.div_ceil(depth as u64) * LATENCY.0, "depth {depth}");
    }
}

#[test]
fn a_set_time_counts_the_reads_that_ended_within_it() {
    let outcome = run(&plan(4, StopAfter::Time(Nanos::from_millis(10))));
    assert_eq!(outcome.latency.reads(), 400);
    assert_eq!(outcome.elapsed, Nanos::from_millis(10));
}

#[test]
fn a_read_that_stalls_until_after_the_end_is_in_no_rate_and_leaves_a_trace() {
    let parameters = FixedParameters { latency_us: 700_000.0, ..FixedParameters::default() };
    let shared = SharedModel::new(Box::new(FixedLatency::new(parameters)), 1);
    let (mut method, clock) = (shared.client(0, 1, 8192, None), shared.clock().clone());
    let plan = plan(1, StopAfter::Time(Nanos::from_millis(1000)));
    let outcome = read_loop::run(&mut method, &clock, &plan, &AtomicBool::new(false));
    assert_eq!((outcome.latency.reads(), outcome.late), (1, Nanos::from_millis(700)));
    assert_eq!(outcome.elapsed, Nanos::from_millis(1000));
}

#[test]
fn turns_do_not_leave_out_the_reads_that_their_ends_find_in_flight() {
    let parameters = FixedParameters { latency_us: 700_000.0, ..FixedParameters::default() };
    let shared = SharedModel::new(Box::new(FixedLatency::new(parameters)), 1);
    let (mut method, clock) = (shared.client(0, 1, 8192, None), shared.clock().clone());
    let plan = plan(1, StopAfter::Time(Nanos::from_millis(1000)));
    let mut reading = ReadLoop::new((&plan, Turn { index: 0, of: 10 }), 1, None);
    let (stop, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let end = reading.read(&mut method, &clock, &plan, Ends { stop: &stop, failed: &failed });
    let outcome = reading.outcome(end);
    assert_eq!((outcome.latency.reads(), outcome.late), (2, Nanos::ZERO));
    assert_eq!(outcome.elapsed, Nanos::from_millis(1400));
}

#[test]
fn warm_up_reads_are_kept_apart() {
    let mut plan = plan(4, StopAfter::Reads(100));
    plan.warm_up = StopAfter::Reads(40);
    let outcome = run(&plan);
    assert_eq!((outcome.warm_up.reads(), outcome.latency.reads(), outcome.issued), (40, 100, 140));
}

#[test]
fn an_overloaded_open_loop_counts_the_waiting_from_the_intended_start() {
    // 20 000 reads a second on a device that answers 10 000 at depth 1: read k starts k x 50 us late.
    let mut plan = plan(1, StopAfter::Reads(1000));
    plan.rate = Some(20_000.0);
    let outcome = run(&plan);
    let latency = outcome.latency.metric(&reads::READ_LATENCY, "test").unwrap().statistics;
    assert_eq!(latency.max, 100.0 + 999.0 * 50.0);
    assert_eq!(outcome.service.unwrap().metric(&reads::SERVICE_TIME, "test").unwrap().statistics.max, 100.0);
}

#[test]
fn an_open_loop_below_capacity_keeps_its_rate_and_its_latency() {
    let mut plan = plan(8, StopAfter::Reads(1000));
    plan.rate = Some(5_000.0);
    let outcome = run(&plan);
    let latency = outcome.latency.metric(&reads::READ_LATENCY, "test").unwrap().statistics;
    assert_eq!((latency.min, latency.max), (100.0, 100.0));
    assert_eq!(outcome.elapsed, Nanos(999 * 200_000) + LATENCY);
}

#[test]
fn an_open_loop_warms_up_at_its_rate_and_not_at_full_load() {
    let mut plan = plan(32, StopAfter::Reads(100));
    (plan.rate, plan.warm_up) = (Some(1000.0), StopAfter::Time(Nanos::from_millis(50)));
    let outcome = run(&plan);
    assert_eq!((outcome.warm_up.reads(), outcome.latency.reads()), (50, 100));
}

#[test]
fn a_raised_stop_flag_ends_the_loop_with_what_it_has() {
    let (mut method, clock) = known(4);
    let stopped = AtomicBool::new(true);
    let outcome = read_loop::run(&mut method, &clock, &plan(4, StopAfter::Time(Nanos::from_millis(10_000))), &stopped);
    assert_eq!((outcome.issued, outcome.latency.reads()), (0, 0));
}

#[test]
fn a_rate_of_next_to_nothing_begins_one_read_and_waits() {
    let mut plan = plan(1, StopAfter::Time(Nanos::from_millis(10)));
    (plan.rate, plan.warm_up) = (Some(1e-12), StopAfter::Reads(1));
    let outcome = run(&plan);
    assert_eq!((outcome.latency.reads(), outcome.elapsed), (1, Nanos::from_millis(10)));
}

/// Raises the stop flag when `left` more reads have ended.
struct Stopping<'a> {
    inner: Client,
    stop: &'a AtomicBool,
    left: usize,
}

impl ReadMethod for Stopping<'_> {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        self.inner.queue(request);
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> std::io::Result<()> {
        self.inner.reap(wait, done)?;
        self.left = self.left.saturating_sub(done.len());
        self.stop.store(self.left == 0, Ordering::Relaxed);
        Ok(())
    }

    fn data(&self, slot: usize) -> &[u8] {
        self.inner.data(slot)
    }
}

#[test]
fn a_loop_that_is_stopped_shortly_before_its_end_has_not_lasted_the_whole_time() {
    let (inner, clock) = known(1);
    let stop = AtomicBool::new(false);
    let mut method = Stopping { inner, stop: &stop, left: 500 };
    let outcome = read_loop::run(&mut method, &clock, &plan(1, StopAfter::Time(Nanos::from_millis(100))), &stop);
    assert_eq!((outcome.latency.reads(), outcome.elapsed), (500, Nanos::from_millis(50)));
}

/// Fails one read, by its number.
struct Failing {
    inner: Null,
    fail_at: u64,
    seen: u64,
    short: Option<usize>,
}

impl ReadMethod for Failing {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        self.inner.queue(request);
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> std::io::Result<()> {
        self.inner.reap(wait, done)?;
        for completion in done.iter_mut() {
            self.seen += 1;
            if self.seen == self.fail_at {
                completion.result = self.short.ok_or_else(|| std::io::Error::from_raw_os_error(5));
            }
        }
        Ok(())
    }

    fn data(&self, slot: usize) -> &[u8] {
        self.inner.data(slot)
    }
}

#[test]
fn a_failed_read_names_its_offset_and_keeps_what_ended_before() {
    let mut method = Failing { inner: Null::new(1), fail_at: 51, seen: 0, short: None };
    let plan = plan(1, StopAfter::Reads(100));
    let outcome = read_loop::run(&mut method, &VirtualClock::default(), &plan, &AtomicBool::new(false));
    assert_eq!(outcome.latency.reads(), 50);
    let mut offsets = device::pattern::Offsets::new(plan.pattern, plan.span, plan.block_size, plan.seed, None);
    let expected = (0..51).map(|_| offsets.advance()).last();
    assert!(matches!(outcome.failure, Some(ReadFailure::Refused { offset, .. }) if Some(offset) == expected));
}

#[test]
fn a_short_read_is_an_error_not_a_fast_read() {
    let mut method = Failing { inner: Null::new(8), fail_at: 20, seen: 0, short: Some(4096) };
    let plan = plan(8, StopAfter::Reads(100));
    let outcome = read_loop::run(&mut method, &VirtualClock::default(), &plan, &AtomicBool::new(false));
    assert!(matches!(outcome.failure, Some(ReadFailure::Short { got: 4096, length: 8192, .. })));
}
