//! In which unit a trace counts its time.
//!
//! Old ports convert nanoseconds by a shift of ten bits, so that what they call a microsecond is 1.024 µs; before
//! 9i all times were centiseconds. Neither is written in the file: the unit is found by comparing the trace's clock
//! with the wall clock of its stamps, and the profile says it with its evidence.

use std::ops::Range;

use crate::event::{Evidence, Ticks, TimeScale, Unit};
use crate::source::oracle::account::wall_clock::SLACK;
use crate::source::oracle::budget::point;
use crate::source::oracle::record::{Attribute, Batch, Body, CallKind, Mark};
use crate::source::session_clock::TOLERANCE;

/// Looks at some of a file's records, such as the first and the last megabytes, to find its unit and its first stamp.
#[derive(Debug, Default)]
pub struct TimeScaleProbe {
    is_old: bool,
    /// The last stamp, until a timed record follows.
    stamp: Option<i64>,
    /// (stamp, clock of the timed record after it).
    calls: Vec<(i64, i64)>,
    waits: Vec<(i64, i64)>,
    sleeps: u64,
    sleep_units: f64,
    /// The last timed record: whether it is a wait, and its clock.
    last: Option<(bool, i64)>,
    /// Clocks of a call and of a wait, one behind the other, and whether the wait comes second.
    neighbours: Vec<(i64, i64, bool)>,
    first: FirstStamp,
}

/// The first stamp of a file that has lines ahead of it, with the clock at the line behind it, and whether that clock
/// is the one of the lines ahead. Times are in the file's unit.
#[derive(Debug, Default)]
struct FirstStamp {
    /// The last stamp, until a timed line follows.
    stamp: Option<i64>,
    /// The stamp, and the clock at the end of the line behind it.
    pair: Option<(i64, i64)>,
    /// The greatest end of a line so far.
    latest: Option<i64>,
    /// Whether what follows says nothing of it: no line is ahead of the first stamp, or lines were left out, and the
    /// first stamp may be among these.
    is_over: bool,
    /// The longest way back, and the longest time that no line covers.
    back: i64,
    uncovered: i64,
}

impl FirstStamp {
    /// Takes a line that ended then and took this long.
    fn line(&mut self, end: Option<i64>, elapsed: i64) {
        let (Some(end), None, false) = (end, self.pair, self.is_over) else { return };
        let Some(last) = self.latest else {
            self.is_over = self.stamp.is_some();
            self.latest = Some(end);
            return;
        };
        self.latest = Some(last.max(end));
        self.back = self.back.max(last.saturating_sub(end));
        self.uncovered = self.uncovered.max(end.saturating_sub(elapsed).saturating_sub(last));
        self.pair = self.stamp.take().map(|stamp| (stamp, end));
    }
}

/// What is known of the clock of a file before it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileClock {
    /// The unit.
    pub(super) scale: TimeScale,
    /// The first stamp, in µs since 1970, and the clock at the line behind it, by which the lines ahead of it have a
    /// time; `None` where there are none, where no stamp is known, or where the clock is not one up to there.
    pub(super) stamp: Option<(i64, Ticks)>,
}

/// Most pairs of stamp and clock that are kept, the last one aside.
const PAIRS: usize = 4096;

/// Stamps closer together than this say nothing of the slope: each is good for about 10 ms.
const SLOPE_SECONDS: f64 = 3.0;

/// How far the wall clock can be from UTC, in seconds: no time zone is farther.
const ZONE_SECONDS: f64 = 14.0 * 3600.0;

impl TimeScaleProbe {
    /// Looks at the records of a batch. Batches come in the file's order; parts may be left out in between.
    pub fn batch(&mut self, batch: &Batch) {
        (self.stamp, self.last) = (None, None);
        self.first.is_over = true;
        self.records(batch, 0..batch.records.len());
    }

    /// Looks at some of the records of a batch, which follow those before without a gap.
    pub fn records(&mut self, batch: &Batch, records: Range<usize>) {
        for record in &batch.records[records] {
            match &record.body {
                Body::Mark(mark, clock) => self.mark(mark, *clock, &batch.bytes),
                Body::Call(call) if call.kind != CallKind::Rpc => {
                    self.first.line(call.end, call.elapsed);
                    self.neighbour(false, call.end);
                    self.pair(call.end, |probe| &mut probe.calls);
                }
                Body::TransactionEnd { time, .. } => self.first.line(*time, 0),
                Body::Wait(wait) => {
                    self.first.line(wait.end, wait.elapsed);
                    self.neighbour(true, wait.end);
                    self.pair(wait.end, |probe| &mut probe.waits);
                    let name = batch.events.get(usize::from(wait.event));
                    if name.is_some_and(|name| name.event == "PL/SQL lock timer" && is_duration(&name.parameters)) {
                        self.sleep(wait.parameters[0], wait.elapsed);
                    }
                }
                _ => {}
            }
        }
    }

    /// The clock of the file, whose unit is found where it is not given.
    pub(super) fn clock(&self, unit: Option<Unit>) -> FileClock {
        let scale = unit.map_or_else(|| self.decide(), TimeScale::given);
        FileClock { scale, stamp: self.first_stamp(scale) }
    }

    /// The first stamp and the clock at the line behind it, if that clock is the one of all lines ahead of it.
    fn first_stamp(&self, scale: TimeScale) -> Option<(i64, Ticks)> {
        let (stamp, end) = self.first.pair?;
        // Lines of two units cannot be held against each other here.
        if scale.calls != scale.waits {
            return None;
        }
        let ticks = |units: i64| point(units, scale.calls.ticks());
        let is_within = |units: i64, limit: Ticks| ticks(units).is_some_and(|time| time <= limit);
        // One clock runs on as long as it goes back by no more than this, and no longer time passes without a line: the
        // accounting's limits. It allows more where a stamp confirms the time.
        let uncovered_max = Ticks::from_micros(SLACK * 1_000_000);
        let is_one = is_within(self.first.back, TOLERANCE) && is_within(self.first.uncovered, uncovered_max);
        ticks(end).filter(|_| is_one).map(|at| (stamp, at))
    }

    /// What was found.
    pub fn decide(&self) -> TimeScale {
        let same = |unit, evidence| TimeScale { calls: unit, waits: unit, evidence };
        if self.is_old {
            return same(Unit::Centisecond, Evidence::Version);
        }
        match (epoch(&self.calls), epoch(&self.waits)) {
            (Some((calls, evidence)), waits) => {
                let waits = waits.map_or(calls, |(waits, _)| waits);
                // Two units that make the clock run to and fro are none.
                let is_worse = self.steps_back(calls, waits) > self.steps_back(calls, calls);
                return TimeScale { calls, waits: if is_worse { calls } else { waits }, evidence };
            }
            (None, Some((waits, evidence))) => return same(waits, evidence),
            (None, None) => {}
        }
        let mut pairs: Vec<(i64, i64)> = self.calls.iter().chain(&self.waits).copied().collect();
        pairs.sort_unstable();
        if let Some((unit, evidence)) = slope(&pairs) {
            return same(unit, evidence);
        }
        let mean = self.sleep_units / self.sleeps.max(1) as f64;
        if self.sleeps >= 3 && (0.972..0.982).contains(&mean) {
            return same(Unit::Shifted, Evidence::LockTimer { waits: self.sleeps, mean: mean * 1e6 });
        }
        TimeScale::default()
    }

    fn mark(&mut self, mark: &Mark, clock: Option<i64>, bytes: &[u8]) {
        self.stamp = clock.or(self.stamp);
        self.first.stamp = clock.or(self.first.stamp);
        if let Mark::Attribute(Attribute::Version, span) = mark {
            let text = bytes.get(span.clone()).unwrap_or_default();
            let major = text.split(|byte| *byte == b'.').next().unwrap_or_default();
            self.is_old = matches!(major, b"7" | b"8");
        }
    }

    fn neighbour(&mut self, is_wait: bool, end: Option<i64>) {
        let Some(end) = end else { return };
        match self.last.replace((is_wait, end)) {
            Some((was_wait, before)) if was_wait != is_wait && self.neighbours.len() < PAIRS => {
                let (call, wait) = if is_wait { (before, end) } else { (end, before) };
                self.neighbours.push((call, wait, is_wait));
            }
            _ => {}
        }
    }

    /// How often the clock goes back by more than a second between a call and a wait in these units.
    fn steps_back(&self, calls: Unit, waits: Unit) -> usize {
        let goes_back = |(call, wait, is_wait_second): &&(i64, i64, bool)| {
            let ahead = *wait as f64 * waits.micros() - *call as f64 * calls.micros();
            (if *is_wait_second { ahead } else { -ahead }) < -1e6
        };
        self.neighbours.iter().filter(goes_back).count()
    }

    fn pair(&mut self, end: Option<i64>, list: fn(&mut TimeScaleProbe) -> &mut Vec<(i64, i64)>) {
        let (Some(stamp), Some(end)) = (self.stamp, end) else {
            return;
        };
        self.stamp = None;
        let list = list(self);
        if list.len() >= PAIRS {
            list.pop();
        }
        list.push((stamp, end));
    }

    fn sleep(&mut self, hundredths: i64, elapsed: i64) {
        // The event is written a second time with a few microseconds where the sleep was interrupted or over.
        if (100..=100_000).contains(&hundredths) && elapsed > hundredths * 5_000 {
            self.sleeps += 1;
            self.sleep_units += elapsed as f64 / (hundredths as f64 * 1e4);
        }
    }
}

fn is_duration(parameters: &[String]) -> bool {
    parameters.first().is_some_and(|name| name == "duration")
}

/// The unit in which the clock counts from 1970, if it does.
fn epoch(pairs: &[(i64, i64)]) -> Option<(Unit, Evidence)> {
    let &(stamp, clock) = pairs.first()?;
    [Unit::Microsecond, Unit::Shifted].into_iter().find_map(|unit| {
        let difference_s = (stamp as f64 - clock as f64 * unit.micros()) / 1e6;
        let quarters = difference_s / 900.0;
        let is_zone = difference_s.abs() <= ZONE_SECONDS && (quarters - quarters.round()).abs() * 900.0 <= 30.0;
        is_zone.then_some((unit, Evidence::Epoch))
    })
}

/// The unit in which the clock runs as fast as the wall clock, if there is one.
fn slope(pairs: &[(i64, i64)]) -> Option<(Unit, Evidence)> {
    let (first, last) = (pairs.first()?, pairs.last()?);
    let seconds = (last.0 as f64 - first.0 as f64) / 1e6;
    let units = last.1 as f64 - first.1 as f64;
    if seconds < SLOPE_SECONDS || units <= 0.0 {
        return None;
    }
    let ratio = seconds * 1e6 / units;
    let tolerance = 0.02 / seconds + 0.001;
    [Unit::Microsecond, Unit::Shifted]
        .into_iter()
        .find(|unit| (ratio - unit.micros()).abs() <= tolerance)
        .map(|unit| (unit, Evidence::Slope { seconds, ratio }))
}
