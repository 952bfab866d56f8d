//! Latencies over time, in windows of equal width and flat memory.

use std::ops::Range;

use hdrhistogram::Histogram;
use measure::statistics::ExactSums;
use measure::{Nanos, Timeline};

/// Width of a window before any merging.
pub const WINDOW: Nanos = Nanos::from_millis(100);

/// Most windows kept: one minute at full resolution; beyond, neighbours are merged and the width doubles. With some
/// 300 different latencies in a window this bounds a worker's windows to 1.5 MiB.
const WINDOWS_MAX: usize = 600;

/// Longest latency that a histogram resolves, one hour in nanoseconds; a longer one counts as this.
pub(crate) const LATENCY_MAX: u64 = 3_600_000_000_000;

/// What happened in one window.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Sums and extremes of the latencies in nanoseconds.
    pub exact: ExactSums,
    /// Latencies as ascending (nanoseconds, count) pairs, at two significant digits: 24 bits of mantissa hold them
    /// exactly enough, in half the room of 64-bit numbers.
    pub distribution: Vec<(f32, u32)>,
    /// CPU time of the process meanwhile; `None` where the reads take none of the machine's.
    pub cpu: Option<Nanos>,
}

/// Reads the CPU time of the process; `None` where the reads take none of the machine's.
pub type CpuClock = Option<fn() -> Nanos>;

impl Window {
    /// Reads completed in the window.
    pub fn reads(&self) -> u64 {
        self.distribution.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Median latency; `None` for an empty window.
    pub fn median(&self) -> Option<Nanos> {
        let half = self.reads().div_ceil(2);
        let mut seen = 0;
        self.distribution.iter().find_map(|(value, count)| {
            seen += u64::from(*count);
            (seen >= half.max(1)).then(|| Nanos((*value as u64).clamp(self.exact.min, self.exact.max)))
        })
    }

    /// Mean latency in nanoseconds; `None` for an empty window.
    pub fn mean(&self) -> Option<f64> {
        let reads = self.reads();
        (reads > 0).then(|| self.exact.sum / reads as f64)
    }

    /// Adds the reads of another window; the CPU time is the caller's to add.
    fn merge(&mut self, other: &Window) {
        self.exact.add(&other.exact);
        self.distribution.extend_from_slice(&other.distribution);
        self.distribution.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        self.distribution.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            earlier.1 += if same { later.1 } else { 0 };
            same
        });
    }
}

/// The windows of one worker, or of several merged.
#[derive(Clone, Debug)]
pub struct Windows {
    start: Nanos,
    width: Nanos,
    closed: Vec<Window>,
    current: Histogram<u32>,
    current_exact: ExactSums,
    current_end: Nanos,
    cpu: CpuClock,
    cpu_before: Nanos,
    /// From the start to the end of the last closed window, which may be cut; `None` before the windows are finished.
    covered: Option<Nanos>,
    /// The least of that among the workers that were merged.
    shared: Option<Nanos>,
}

impl Windows {
    /// Windows that have yet to [`begin`](Windows::begin), and take the CPU time by `cpu`.
    pub fn new(cpu: CpuClock) -> Windows {
        let current = Histogram::new_with_bounds(1, LATENCY_MAX, 2).expect("constant bounds are valid");
        Windows {
            start: Nanos::ZERO,
            width: WINDOW,
            closed: Vec::new(),
            current,
            current_exact: ExactSums::default(),
            current_end: WINDOW,
            cpu,
            cpu_before: Nanos::ZERO,
            covered: None,
            shared: None,
        }
    }

    /// Lets the first window begin at `start`, which is now to the CPU's clock.
    pub fn begin(&mut self, start: Nanos) {
        (self.start, self.current_end) = (start, start + WINDOW);
        self.cpu_before = self.cpu.map_or(Nanos::ZERO, |now| now());
    }

    /// Adds a read that ended at `now`. Moments must not run backwards by more than a window.
    #[inline]
    pub fn record(&mut self, now: Nanos, latency: Nanos) {
        if now >= self.current_end {
            self.close_until(now);
        }
        self.current.saturating_record(latency.0.max(1));
        self.current_exact.record(latency.0);
    }

    /// Closes the last window, cut at `end`; one that lasted less than half its width is dropped from the windows,
    /// because a rate cannot be drawn from it.
    pub fn finish(&mut self, end: Nanos) {
        self.close_until(end);
        let lasted = (end + self.width).since(self.current_end);
        let is_kept = lasted.0 * 2 >= self.width.0;
        if is_kept {
            self.close();
        }
        self.covered = Some(if is_kept { end.since(self.start) } else { self.whole(self.closed.len()) });
        self.shared = self.covered;
    }

    /// The closed windows.
    pub fn closed(&self) -> &[Window] {
        &self.closed
    }

    /// Width of a window.
    pub fn width(&self) -> Nanos {
        self.width
    }

    /// Adds the windows of another worker that started at the same moment. Either's CPU time is the whole process's.
    pub fn merge(&mut self, mut other: Windows) {
        self.widen_with(&mut other);
        for (index, window) in other.closed.iter().enumerate() {
            match self.closed.get_mut(index) {
                Some(own) => own.merge(window),
                None => self.closed.push(window.clone()),
            }
        }
        self.covered = self.covered.max(other.covered);
        self.shared = self.shared.into_iter().chain(other.shared).min();
    }

    /// Adds the windows of a later turn as if it had followed at once. Windows of this one in which not all workers
    /// read to the end are dropped: in the middle they would pass for whole ones.
    pub fn append(&mut self, mut later: Windows) {
        self.widen_with(&mut later);
        if let Some(shared) = self.shared {
            self.closed.truncate((shared.0 / self.width.0) as usize);
        }
        let before = self.whole(self.closed.len());
        self.closed.extend(later.closed);
        [self.covered, self.shared] = [later.covered, later.shared].map(|end| end.map(|end| before + end));
        while self.closed.len() > WINDOWS_MAX {
            self.halve();
        }
    }

    /// Gives both the width of the wider ones.
    fn widen_with(&mut self, other: &mut Windows) {
        while self.width < other.width {
            self.halve();
        }
        while other.width < self.width {
            other.halve();
        }
    }

    /// The closed windows in which all workers read. A worker that has read its count is gone from those behind, whose
    /// rates are lower for that alone.
    pub fn shared(&self) -> Range<usize> {
        let whole = |shared: Nanos| shared.0.div_ceil(self.width.0) as usize;
        0..self.shared.map_or(self.closed.len(), whole).min(self.closed.len())
    }

    /// Reads per second in each closed window.
    pub fn rates(&self) -> Vec<f64> {
        let rate = |(at, window): (usize, &Window)| window.reads() as f64 / self.elapsed(at..at + 1).as_seconds();
        self.closed.iter().enumerate().map(rate).collect()
    }

    /// How long these closed windows lasted: their width each, but for the last one of all, which is cut where the
    /// reads ended.
    pub fn elapsed(&self, windows: Range<usize>) -> Nanos {
        let end = self.whole(windows.end);
        let cut = self.covered.filter(|_| windows.end == self.closed.len());
        cut.map_or(end, |covered| covered.min(end)).since(self.whole(windows.start))
    }

    /// What this number of windows lasts that are not cut.
    fn whole(&self, windows: usize) -> Nanos {
        Nanos(self.width.0 * windows as u64)
    }

    /// Some of the windows as the run document carries them; `None` when there is none.
    pub fn timeline(&self, windows: Range<usize>) -> Option<Timeline> {
        let median_us = |window: &Window| window.median().map_or(0.0, Nanos::as_micros);
        let max_us = |window: &Window| Nanos(window.exact.max).as_micros();
        let shown = &self.closed[windows];
        (!shown.is_empty()).then(|| Timeline {
            window_ms: self.width.as_millis(),
            reads: shown.iter().map(Window::reads).collect(),
            median_us: shown.iter().map(median_us).collect(),
            max_us: shown.iter().map(max_us).collect(),
        })
    }

    #[cold]
    fn close_until(&mut self, now: Nanos) {
        while now >= self.current_end {
            self.close();
        }
    }

    fn close(&mut self) {
        let distribution =
            self.current.iter_recorded().map(|step| (step.value_iterated_to() as f32, step.count_at_value())).collect();
        let cpu = self.cpu.map(|now| {
            let before = std::mem::replace(&mut self.cpu_before, now());
            self.cpu_before.since(before)
        });
        self.closed.push(Window { exact: self.current_exact, distribution, cpu });
        self.current.reset();
        self.current_exact = ExactSums::default();
        if self.closed.len() == WINDOWS_MAX {
            self.halve();
        }
        self.current_end = self.start + Nanos(self.width.0 * (self.closed.len() as u64 + 1));
    }

    fn halve(&mut self) {
        self.width = Nanos(self.width.0 * 2);
        let merge_pair = |pair: &[Window]| {
            let mut window = pair[0].clone();
            pair[1..].iter().for_each(|other| window.merge(other));
            window.cpu = pair.iter().filter_map(|window| window.cpu).reduce(|one, other| one + other);
            window
        };
        self.closed = self.closed.chunks(2).map(merge_pair).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_shows_as_empty_windows() {
        let mut windows = Windows::new(None);
        windows.begin(Nanos(5));
        windows.record(Nanos::from_millis(50), Nanos::from_micros(80));
        windows.record(Nanos::from_millis(350), Nanos::from_micros(120));
        windows.finish(Nanos::from_millis(400));
        let timeline = windows.timeline(0..4).unwrap();
        assert_eq!(timeline.reads, [1, 0, 0, 1]);
        assert_eq!(timeline.median_us, [80.0, 0.0, 0.0, 120.0]);
    }

    #[test]
    fn a_window_that_is_cut_has_the_rate_of_the_time_that_it_lasted() {
        let of = |reads: u64| {
            let mut windows = Windows::new(None);
            (1..=reads).for_each(|read| windows.record(Nanos::from_micros(read * 100), Nanos::from_micros(100)));
            windows.finish(Nanos::from_micros(reads * 100));
            windows
        };
        let close = |rates: Vec<f64>| rates.iter().all(|rate| (rate / 10_000.0 - 1.0).abs() < 0.002);
        // 560 and 540 ms: the last window is kept in one and dropped in the other.
        for (reads, windows, elapsed) in [(5_600, 6, 560), (5_400, 5, 500)] {
            let all = of(reads);
            assert_eq!((all.closed().len(), all.elapsed(0..windows)), (windows, Nanos::from_millis(elapsed)));
            assert!(close(all.rates()), "{:?}", all.rates());
        }
        let mut halved = of(656_060);
        assert!(halved.width() > WINDOW && close(halved.rates()), "{:?}", halved.rates());
        halved.merge(of(656_060));
        assert!(halved.rates().iter().all(|rate| (rate / 20_000.0 - 1.0).abs() < 0.002), "{:?}", halved.rates());
    }

    #[test]
    fn a_long_run_keeps_every_read_in_bounded_windows() {
        let mut windows = Windows::new(None);
        for second in 0..4000u64 {
            windows.record(Nanos::from_millis(second * 1000), Nanos(100));
        }
        windows.finish(Nanos::from_millis(4_000_000));
        assert!(windows.closed().len() <= WINDOWS_MAX);
        assert_eq!(windows.closed().iter().map(Window::reads).sum::<u64>(), 4000);
        assert!(windows.width() > WINDOW);
    }

    #[test]
    fn workers_merge_window_by_window() {
        let mut one = Windows::new(None);
        let mut two = Windows::new(None);
        one.record(Nanos(1), Nanos(100));
        two.record(Nanos(2), Nanos(100));
        two.record(Nanos::from_millis(120), Nanos(300));
        one.finish(Nanos::from_millis(100));
        two.finish(Nanos::from_millis(200));
        one.merge(two);
        assert_eq!(one.timeline(0..2).unwrap().reads, [2, 1]);
        assert_eq!((one.closed().len(), one.shared()), (2, 0..1));
    }

    #[test]
    fn turns_stand_behind_each_other_and_no_cut_window_between_them() {
        // A read each millisecond.
        let of = |millis: u64| {
            let mut windows = Windows::new(None);
            (1..=millis).for_each(|read| windows.record(Nanos::from_millis(read), Nanos::from_millis(1)));
            windows.finish(Nanos::from_millis(millis));
            windows
        };
        let mut all = of(370);
        all.append(of(300));
        assert_eq!((all.closed().len(), all.shared()), (6, 0..6));
        assert_eq!(all.elapsed(0..6), Nanos::from_millis(600));
        all.append(of(260));
        assert_eq!((all.closed().len(), all.elapsed(0..9)), (9, Nanos::from_millis(860)));
        let rates = all.rates();
        assert!(rates.iter().all(|rate| (rate / 1000.0 - 1.0).abs() < 0.02), "{rates:?}");
        let mut of_two = of(370);
        of_two.merge(of(480));
        of_two.append(of(300));
        assert_eq!(of_two.closed().len(), 6, "one of the two did not read to the end of the fourth");
        let mut long = of(50_000);
        long.append(of(50_000));
        assert!(long.closed().len() <= WINDOWS_MAX && long.width() > WINDOW);
        assert!(long.rates().iter().all(|rate| (rate / 1000.0 - 1.0).abs() < 0.02));
        let mut empty = of(10);
        empty.append(of(100));
        assert_eq!(empty.closed().len(), 1);
    }
}
