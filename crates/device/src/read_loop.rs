//! The read loop: keeps reads in flight, times each one, counts it in one place.
//!
//! It runs on any I/O method and any clock, so that the same code that reads a disk also reads the null device (the
//! tool's own cost) and a device of known latency (the proof of the statistics).

use std::sync::atomic::{AtomicBool, Ordering};

use measure::Nanos;
use measure::change_point::{self, Segment};
use sys::read::{Completion, ReadMethod, ReadRequest, Wait};

use crate::meter::Meter;
use crate::pattern::{Offsets, Turn};
use crate::plan::{ReadPlan, StopAfter};
use crate::time_source::TimeSource;
use crate::windows::{CpuClock, WINDOW, Window, Windows};

/// What a loop measured.
#[derive(Debug)]
pub struct LoopOutcome {
    /// Latencies; from the intended start in an open loop, from submission otherwise.
    pub latency: Meter,
    /// Latencies from submission, in an open loop only.
    pub service: Option<Meter>,
    /// Delay between the intended and the real start, in an open loop only.
    pub lateness: Option<Meter>,
    /// Reads of the warm-up.
    pub warm_up: Meter,
    /// Reads that were handed to the kernel in all: warm-up, measured, and those that ended after the time was up.
    pub issued: u64,
    /// Length of the measurement: to the end of the last counted read, or the time that was set.
    pub elapsed: Nanos,
    /// The longest latency of a read that ended after the time was up, and is in no meter; zero where there is none.
    pub late: Nanos,
    /// The read that failed, if one did; what ended before it is counted.
    pub failure: Option<ReadFailure>,
}

impl LoopOutcome {
    /// Adds what another worker measured at the same time, or a later turn, by what `windows` and `elapsed` say.
    pub(crate) fn add(
        &mut self,
        other: LoopOutcome,
        windows: fn(&mut Windows, Windows),
        elapsed: fn(Nanos, Nanos) -> Nanos,
    ) {
        self.latency.add(other.latency, windows);
        self.warm_up.add(other.warm_up, windows);
        let of_open = [(&mut self.service, other.service), (&mut self.lateness, other.lateness)];
        for (one, other) in of_open {
            match (one, other) {
                (Some(one), Some(other)) => one.add(other, windows),
                (one, other) => *one = one.take().or(other),
            }
        }
        self.issued += other.issued;
        self.elapsed = elapsed(self.elapsed, other.elapsed);
        self.late = self.late.max(other.late);
        self.failure = self.failure.take().or(other.failure);
    }

    /// The parts between lasting changes: no experiment draws an average across one. An open loop that keeps up has an
    /// even rate whatever its reads take, so that it is cut by their latency too; from submission, because a queue that
    /// grows is no change of the device. They end where the first of several workers has read its count: one worker
    /// fewer is no change of the device either.
    pub fn segments(&self) -> Vec<Segment> {
        let service = self.service.iter().flat_map(|service| service.windows().closed());
        let latencies: Vec<Option<f64>> = service.map(Window::mean).collect();
        let windows = self.latency.windows();
        change_point::segments_of_both(&windows.rates()[windows.shared()], &latencies)
    }
}

/// A read that failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadFailure {
    /// The kernel answered with an error.
    #[error("read of {length} bytes at offset {offset} failed: {error}")]
    Refused {
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        length: usize,
        /// The kernel's answer.
        error: std::io::Error,
    },
    /// Fewer bytes came than were asked for.
    #[error("read of {length} bytes at offset {offset} gave only {got}: the file may have been cut while it was read")]
    Short {
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        length: usize,
        /// Bytes that came.
        got: usize,
    },
    /// The method itself failed.
    #[error("the I/O method failed: {0}")]
    Method(std::io::Error),
}

/// What ends a loop early.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Raised by the user's wish to stop.
    pub stop: &'a AtomicBool,
    /// Raised by the first of a team's workers whose read fails: the others need not read on.
    pub failed: &'a AtomicBool,
}

impl Ends<'_> {
    fn raised(self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// Runs `plan`: first its warm-up, then the measurement. `stop` ends either early; what was counted stays.
pub fn run<M, T>(method: &mut M, clock: &T, plan: &ReadPlan, stop: &AtomicBool) -> LoopOutcome
where
    M: ReadMethod + ?Sized,
    T: TimeSource,
{
    let mut reading = ReadLoop::new((plan, Turn::ONLY), method.depth(), clock.cpu());
    let end = reading.read(method, clock, plan, Ends { stop, failed: &AtomicBool::new(false) });
    reading.outcome(end)
}

/// A loop with all that it takes to read: to make its meters takes as long as some reads do, and is no part of these.
pub struct ReadLoop {
    state: State,
    warm_up: Phase,
    measured: Phase,
}

impl ReadLoop {
    /// The loop of a plan, in one of its turns, by a method that holds `depth` reads.
    pub fn new((plan, turn): (&ReadPlan, Turn), depth: usize, cpu: CpuClock) -> ReadLoop {
        let mut offsets = Offsets::new(plan.pattern, plan.span, plan.block_size, plan.seed, plan.working_set);
        offsets.go_to(turn);
        let depth = plan.depth.min(depth);
        let (slots, free) = (vec![SlotTimes::default(); depth], (0..depth).collect());
        ReadLoop {
            state: State { offsets, slots, free, done: Vec::with_capacity(depth), issued: 0 },
            warm_up: Phase::new(plan.warm_up, (plan.rate, None)),
            measured: Phase { is_turn: turn.of > 1, ..Phase::new(plan.stop_after, (plan.rate, cpu)) },
        }
    }

    /// Reads what the plan says, as one of a team's workers.
    pub fn read<M, T>(&mut self, method: &mut M, clock: &T, plan: &ReadPlan, ends: Ends<'_>) -> Result<(), ReadFailure>
    where
        M: ReadMethod + ?Sized,
        T: TimeSource,
    {
        let mut reader = Reader { method, clock, plan, ends, state: &mut self.state };
        self.warm_up.begin(clock.now());
        let warmed_up = reader.run(&mut self.warm_up);
        self.measured.begin(clock.now());
        let end = warmed_up.and_then(|()| reader.run(&mut self.measured));
        end.inspect_err(|_| ends.failed.store(true, Ordering::Relaxed))
    }

    /// What it measured, once its reads ended so.
    pub fn outcome(self, end: Result<(), ReadFailure>) -> LoopOutcome {
        self.measured.outcome(self.warm_up.latency, self.state.issued, end.err())
    }
}

/// A stretch of reads with its own limit and meters.
struct Phase {
    start: Nanos,
    limit: StopAfter,
    issued: u64,
    latency: Meter,
    open: Option<OpenLoop>,
    last_end: Nanos,
    /// The longest read that ended after the deadline.
    late: Nanos,
    /// Whether the time that was set has passed.
    ran_out: bool,
    /// Whether it is one of several turns. These count all reads: their ends would leave out long ones too often.
    is_turn: bool,
}

/// What an open loop keeps besides.
struct OpenLoop {
    interval: f64,
    service: Meter,
    lateness: Meter,
}

impl OpenLoop {
    /// When read number `index` is meant to start.
    fn intended(&self, start: Nanos, index: u64) -> Nanos {
        // A rate of next to nothing puts a read beyond the end of the clock.
        Nanos(start.0.saturating_add((index as f64 * self.interval) as u64))
    }
}

impl Phase {
    fn new(limit: StopAfter, (rate, cpu): (Option<f64>, CpuClock)) -> Phase {
        let open =
            rate.map(|rate| OpenLoop { interval: 1e9 / rate, service: Meter::new(None), lateness: Meter::new(None) });
        let [start, last_end, late] = [Nanos::ZERO; 3];
        let latency = Meter::new(cpu);
        Phase { start, limit, issued: 0, latency, open, last_end, late, ran_out: false, is_turn: false }
    }

    fn begin(&mut self, start: Nanos) {
        (self.start, self.last_end) = (start, start);
        self.meters().for_each(|meter| meter.begin(start));
    }

    fn meters(&mut self) -> impl Iterator<Item = &mut Meter> {
        let of_open = self.open.iter_mut().flat_map(|open| [&mut open.service, &mut open.lateness]);
        of_open.chain([&mut self.latency])
    }

    /// From when on reads that end are not counted.
    fn deadline(&self) -> Option<Nanos> {
        match self.limit {
            StopAfter::Time(time) if !self.is_turn => Some(self.start + time),
            _ => None,
        }
    }

    fn may_issue(&self, now: Nanos) -> bool {
        match self.limit {
            StopAfter::Reads(reads) => self.issued < reads,
            StopAfter::Time(time) => now < self.start + time,
        }
    }

    /// Counts a read, unless it ended after the time was up: the queue drains then, and its rate is no rate.
    #[inline]
    fn record(&mut self, now: Nanos, slot: &SlotTimes) {
        if self.deadline().is_some_and(|deadline| now > deadline) {
            self.late = self.late.max(now.since(slot.submitted));
            return;
        }
        self.last_end = now;
        match &mut self.open {
            None => self.latency.record(now, now.since(slot.submitted)),
            Some(open) => {
                self.latency.record(now, now.since(slot.intended));
                open.service.record(now, now.since(slot.submitted));
                open.lateness.record(now, slot.submitted.since(slot.intended));
            }
        }
    }

    fn outcome(mut self, warm_up: Meter, issued: u64, failure: Option<ReadFailure>) -> LoopOutcome {
        let has_stalled = failure.is_none() && self.late > Nanos::ZERO;
        let end = match self.deadline() {
            // An open loop waits on purpose, and a read that stalls until after the end is no shorter run: the time is
            // the time that was set.
            Some(deadline) if self.ran_out && (self.open.is_some() || has_stalled) => deadline,
            Some(deadline) if self.ran_out && failure.is_none() && self.last_end + WINDOW >= deadline => deadline,
            _ => self.last_end,
        };
        self.meters().for_each(|meter| meter.finish(end));
        let (service, lateness) = self.open.map(|open| (open.service, open.lateness)).unzip();
        LoopOutcome {
            latency: self.latency,
            service,
            lateness,
            warm_up,
            issued,
            elapsed: end.since(self.start),
            late: self.late,
            failure,
        }
    }
}

/// When a slot's read was meant to start and when it did.
#[derive(Clone, Copy, Debug, Default)]
struct SlotTimes {
    intended: Nanos,
    submitted: Nanos,
    offset: u64,
}

/// What one worker's loop keeps: the order of the blocks, and its slots.
struct State {
    offsets: Offsets,
    slots: Vec<SlotTimes>,
    free: Vec<usize>,
    done: Vec<Completion>,
    issued: u64,
}

/// One worker's loop as it reads.
struct Reader<'a, M: ?Sized, T> {
    method: &'a mut M,
    clock: &'a T,
    plan: &'a ReadPlan,
    ends: Ends<'a>,
    state: &'a mut State,
}

impl<M: ReadMethod + ?Sized, T: TimeSource> Reader<'_, M, T> {
    /// Runs one phase to its limit and until nothing is in flight.
    fn run(&mut self, phase: &mut Phase) -> Result<(), ReadFailure> {
        if phase.limit.is_nothing() {
            return Ok(());
        }
        let mut failure = None;
        loop {
            let now = self.clock.now();
            phase.ran_out = phase.deadline().is_some_and(|deadline| now >= deadline);
            let issuing = failure.is_none() && !self.ends.raised() && phase.may_issue(now);
            if issuing {
                self.queue(phase, now);
            }
            if self.in_flight() == 0 {
                if !issuing {
                    return failure.map_or(Ok(()), Err);
                }
                // An open loop ahead of its time: nothing to do until the next read is meant to start.
                self.wait_for_next(phase);
                continue;
            }
            let wait = self.wait(phase, issuing, now);
            self.method.reap(wait, &mut self.state.done).map_err(ReadFailure::Method)?;
            let result = self.count(phase);
            failure = failure.or(result.err());
        }
    }

    fn in_flight(&self) -> usize {
        self.state.slots.len() - self.state.free.len()
    }

    /// Fills the free slots with the reads that are due.
    #[inline]
    fn queue(&mut self, phase: &mut Phase, now: Nanos) {
        let State { offsets, slots, free, issued, .. } = &mut *self.state;
        let first = free.len();
        let mut left = first;
        while left > 0 && phase.may_issue(now) {
            let intended = phase.open.as_ref().map(|open| open.intended(phase.start, phase.issued));
            if intended.is_some_and(|intended| intended > now) {
                break;
            }
            left -= 1;
            let slot = free[left];
            let offset = offsets.advance();
            slots[slot] = SlotTimes { intended: intended.unwrap_or(now), submitted: now, offset };
            self.method.queue(ReadRequest { offset, length: self.plan.block_size, slot });
            phase.issued += 1;
            *issued += 1;
        }
        // Choosing offsets took time that is ours, not the device's: the clock of these reads starts here.
        let submitted = self.clock.now();
        for slot in free.drain(left..first) {
            slots[slot].submitted = submitted;
        }
    }

    #[inline]
    fn wait(&self, phase: &Phase, issuing: bool, now: Nanos) -> Wait {
        let at_least = self.plan.reap_batch.min(self.in_flight());
        match &phase.open {
            Some(open) if issuing && !self.state.free.is_empty() => {
                let until_next = open.intended(phase.start, phase.issued).since(now);
                Wait { at_least: 1, timeout: Some(until_next.into()) }
            }
            Some(_) => Wait { at_least: 1, timeout: None },
            None => Wait { at_least, timeout: None },
        }
    }

    fn wait_for_next(&self, phase: &Phase) {
        if let Some(open) = &phase.open {
            let next = open.intended(phase.start, phase.issued);
            // A slow rate must not make ^C wait, nor run past the time that was set.
            let patience = self.clock.now() + WINDOW;
            let deadline = phase.deadline().unwrap_or(next);
            self.clock.wait_until(next.min(patience).min(deadline));
        }
    }

    /// Counts what has ended and frees its slots.
    #[inline]
    fn count(&mut self, phase: &mut Phase) -> Result<(), ReadFailure> {
        let now = self.clock.now();
        let State { slots, free, done, .. } = &mut *self.state;
        let mut result = Ok(());
        for completion in done.drain(..) {
            let slot = &slots[completion.slot];
            match completion.result {
                Ok(got) if got == self.plan.block_size => phase.record(now, slot),
                other => result = Err(failure(slot.offset, self.plan.block_size, other)),
            }
            free.push(completion.slot);
        }
        result
    }
}

#[cold]
fn failure(offset: u64, length: usize, result: std::io::Result<usize>) -> ReadFailure {
    match result {
        Ok(got) => ReadFailure::Short { offset, length, got },
        Err(error) => ReadFailure::Refused { offset, length, error },
    }
}
