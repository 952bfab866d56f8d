//! The clock that everything is timed with: the processor's time stamp counter where it can be trusted, else the
//! kernel's monotonic clock.
//!
//! It gives moments; differences, statistics and the decision what to time belong to the callers. A clock is
//! calibrated once and copied to wherever it is needed, because nothing in it changes afterwards.

use std::fs;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use measure::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Where the kernel names the clock that it keeps time by.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Half the calibration. Two anchors 25 ms apart, each known to about 50 ns, give the rate to 4 parts in a million.
const HALF_CALIBRATION: Duration = Duration::from_millis(25);

/// Attempts for one anchor. One undisturbed attempt is enough; thirty-two in a row are hardly all preempted.
const ANCHOR_ATTEMPTS: usize = 32;

/// Largest relative difference between the rates of the two halves of a calibration. A counter that changes its
/// speed with the core's frequency differs by far more, a good one by a few parts in a million.
const RATE_TOLERANCE: f64 = 0.001;

/// Binary places of the factor from ticks to nanoseconds: an error below 1e-9 for counters of up to 4 GHz.
const FRACTION_BITS: u32 = 32;

/// Batches for the cost of a read, and reads in each: 1000 reads make the two that bracket them negligible.
const COST_BATCHES: usize = 100;
const READS_PER_BATCH: u32 = 1000;

/// Pairs of reads among which the smallest step is looked for.
const RESOLUTION_READS: usize = 100_000;

/// Why a counter is not used whose halves of a calibration differ.
const RATE_CHANGES: &str = "the rate of the time stamp counter changed during calibration";

/// A calibrated clock. Moments of one clock and its copies are comparable, also between threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// The time stamp counter of x86-64, calibrated.
    Tsc(Scale),
    /// `clock_gettime(CLOCK_MONOTONIC)`, and why the time stamp counter is not used, as a part of a sentence.
    Monotonic(&'static str),
}

impl Clock {
    /// Chooses and calibrates the clock; this takes about 50 ms when the time stamp counter is used.
    ///
    /// The counter is used when the processor calls it invariant (CPUID leaf 0x8000_0007, EDX bit 8; what Linux
    /// shows as `nonstop_tsc`), when the kernel keeps its own time by it, and when its rate stays the same over
    /// the calibration. The paravirtual sources `kvm-clock` and `hyperv_clocksource_tsc_page` count as keeping
    /// time by it: both are the counter, scaled by factors that the hypervisor publishes, and older guest kernels
    /// prefer them even where the counter is sound. `xen`, `hpet` and `acpi_pm` are a kernel's sign that the
    /// counter failed its tests or is trapped.
    pub fn calibrate() -> Clock {
        let source = match trusted_scale() {
            Ok(scale) => Source::Tsc(scale),
            Err(reason) => Source::Monotonic(reason),
        };
        Clock { source }
    }

    /// The present moment, counted from the calibration (time stamp counter) or from the boot (monotonic clock).
    ///
    /// The counter is read by plain `rdtsc`. It may execute some tens of instructions earlier or later than it
    /// stands in the program; `rdtscp` or fences would prevent that, at the price of draining the pipeline, which
    /// distorts the very code that is timed. Callers time batches of at least a thousand times the cost of a read,
    /// against which the slip is nothing.
    #[inline]
    pub fn now(&self) -> Nanos {
        match self.source {
            Source::Tsc(scale) => scale.nanos(ticks()),
            Source::Monotonic(_) => kernel_time(ClockId::Monotonic),
        }
    }

    /// Why the time stamp counter is not used, as a part of a sentence; `None` where it is.
    pub fn without_counter(&self) -> Option<&'static str> {
        match self.source {
            Source::Tsc(_) => None,
            Source::Monotonic(reason) => Some(reason),
        }
    }

    /// The clock in a few words for a run document: `tsc 2.596 GHz` or `clock_gettime (why not tsc)`.
    pub fn name(&self) -> String {
        match self.source {
            Source::Tsc(scale) => format!("tsc {:.3} GHz", scale.ghz()),
            Source::Monotonic(reason) => format!("clock_gettime ({reason})"),
        }
    }

    /// Cost of one read in nanoseconds: 100 samples, each the mean of 1000 reads in a row.
    pub fn read_cost_ns(&self) -> Vec<f64> {
        (0..COST_BATCHES).map(|_| self.mean_read_ns()).collect()
    }

    /// The smallest step other than zero between two reads in a row; what is shorter cannot be timed singly.
    pub fn resolution(&self) -> Nanos {
        (0..RESOLUTION_READS).filter_map(|_| self.step()).min().unwrap_or(Nanos::ZERO)
    }

    fn mean_read_ns(&self) -> f64 {
        let start = self.now();
        for _ in 0..READS_PER_BATCH {
            black_box(self.now());
        }
        self.now().since(start).0 as f64 / f64::from(READS_PER_BATCH)
    }

    fn step(&self) -> Option<Nanos> {
        let first = self.now();
        let step = self.now().since(first);
        (step > Nanos::ZERO).then_some(step)
    }
}

/// The clock source that the kernel uses now (`tsc`, `kvm-clock`, ...); `None` if it names none.
pub fn kernel_clock_source() -> Option<String> {
    let name = fs::read_to_string(CLOCK_SOURCE).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// From ticks to nanoseconds: `(ticks - origin) * factor / 2^FRACTION_BITS`.
///
/// A multiplication of 64 by 64 bits and a shift take one nanosecond; a division would take ten.
#[derive(Clone, Copy, Debug)]
struct Scale {
    origin: u64,
    factor: u64,
}

impl Scale {
    fn new(origin: u64, nanos_per_tick: f64) -> Scale {
        Scale { origin, factor: (nanos_per_tick * f64::from(FRACTION_BITS).exp2()).round() as u64 }
    }

    #[inline]
    fn nanos(self, ticks: u64) -> Nanos {
        // A core whose counter lags behind the calibrating core's could come out below the origin.
        let elapsed = ticks.saturating_sub(self.origin);
        Nanos(((u128::from(elapsed) * u128::from(self.factor)) >> FRACTION_BITS) as u64)
    }

    fn ghz(self) -> f64 {
        f64::from(FRACTION_BITS).exp2() / self.factor as f64
    }
}

/// The same moment on both clocks.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ticks: u64,
    nanos: u64,
    /// Ticks between the two counter reads around the kernel's clock: twice the anchor's largest error.
    width: u64,
}

/// The scale of the time stamp counter, or why it is not trusted.
fn trusted_scale() -> Result<Scale, &'static str> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err("this architecture has no time stamp counter");
    }
    if !counter_is_invariant() {
        return Err("the processor does not promise a constant rate of its time stamp counter");
    }
    if let Some(reason) = refusal_by_kernel(kernel_clock_source().as_deref()) {
        return Err(reason);
    }
    let start = anchor();
    thread::sleep(HALF_CALIBRATION);
    let middle = anchor();
    thread::sleep(HALF_CALIBRATION);
    scale_of(start, middle, anchor())
}

/// Why the counter is not trusted where this is the kernel's clock source; `None` where the kernel reads the counter to
/// tell the time. A container may have no /sys to read the source from.
fn refusal_by_kernel(source: Option<&str>) -> Option<&'static str> {
    match source {
        Some("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page") => None,
        Some(_) => Some("the kernel keeps its time without the time stamp counter"),
        None => Some("/sys does not say which clock the kernel keeps its time by"),
    }
}

/// The scale over both halves, provided that the halves agree.
fn scale_of(start: Anchor, middle: Anchor, end: Anchor) -> Result<Scale, &'static str> {
    let first = nanos_per_tick(start, middle).ok_or(RATE_CHANGES)?;
    let second = nanos_per_tick(middle, end).ok_or(RATE_CHANGES)?;
    let whole = nanos_per_tick(start, end).ok_or(RATE_CHANGES)?;
    let steady = (first / second - 1.0).abs() <= RATE_TOLERANCE;
    if steady { Ok(Scale::new(start.ticks, whole)) } else { Err(RATE_CHANGES) }
}

/// `None` when either clock did not advance.
fn nanos_per_tick(earlier: Anchor, later: Anchor) -> Option<f64> {
    let ticks = later.ticks.checked_sub(earlier.ticks).filter(|ticks| *ticks > 0)?;
    let nanos = later.nanos.checked_sub(earlier.nanos).filter(|nanos| *nanos > 0)?;
    Some(nanos as f64 / ticks as f64)
}

/// The best of several attempts. A preempted or interrupted one shows as a wide bracket and loses.
fn anchor() -> Anchor {
    let mut best = anchor_attempt();
    for _ in 1..ANCHOR_ATTEMPTS {
        let attempt = anchor_attempt();
        if attempt.width < best.width {
            best = attempt;
        }
    }
    best
}

/// `CLOCK_MONOTONIC_RAW`, because time synchronisation bends the other clocks by up to 500 parts in a million.
fn anchor_attempt() -> Anchor {
    let before = ticks();
    let nanos = kernel_time(ClockId::MonotonicRaw).0;
    let width = ticks().saturating_sub(before);
    Anchor { ticks: before + width / 2, nanos, width }
}

/// Nanoseconds of the kernel's monotonic clock, from which what the kernel records has its times.
pub fn monotonic_nanos() -> u64 {
    kernel_time(ClockId::Monotonic).0
}

/// What a clock of the kernel shows.
#[inline]
pub(crate) fn kernel_time(id: ClockId) -> Nanos {
    let time = clock_gettime(id);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: `rdtsc` reads a counter and touches no memory. A kernel may forbid it to a process
    // (PR_SET_TSC), which this process never asks for.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ticks() -> u64 {
    0
}

/// CPUID leaf 0x8000_0007, EDX bit 8: the counter runs at a constant rate in all power states.
///
/// Source: AMD64 Architecture Programmer's Manual volume 3, appendix E.4.6; Intel SDM volume 3, 19.17.1.
#[cfg(target_arch = "x86_64")]
fn counter_is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    const POWER_LEAF: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= POWER_LEAF && __cpuid(POWER_LEAF).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    fn monotonic() -> Clock {
        Clock { source: Source::Monotonic("it is not asked") }
    }

    /// Relative difference from `Instant` over 200 ms, the better of three tries: between the reads of the two
    /// clocks the thread may be preempted.
    fn difference_from_instant(clock: Clock) -> f64 {
        let differences = (0..3).map(|_| {
            let (instant, start) = (Instant::now(), clock.now());
            thread::sleep(Duration::from_millis(200));
            let (by_instant, by_clock) = (instant.elapsed(), clock.now().since(start));
            (by_clock.as_seconds() / by_instant.as_secs_f64() - 1.0).abs()
        });
        differences.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_clock_agrees_with_the_standard_library() {
        assert!(difference_from_instant(Clock::calibrate()) < 0.001);
        assert!(difference_from_instant(monotonic()) < 0.001);
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        for clock in [Clock::calibrate(), monotonic()] {
            let mut last = clock.now();
            for _ in 0..1_000_000 {
                let now = clock.now();
                assert!(now >= last);
                last = now;
            }
        }
    }

    #[test]
    fn a_moment_handed_to_another_thread_is_past_there() {
        let clock = Clock::calibrate();
        let (to_echo, from_main) = mpsc::sync_channel::<Nanos>(0);
        let (to_main, from_echo) = mpsc::sync_channel::<Nanos>(0);
        let echo = thread::spawn(move || {
            for sent in from_main {
                let now = clock.now();
                assert!(now >= sent);
                to_main.send(now).unwrap();
            }
        });
        for _ in 0..10_000 {
            to_echo.send(clock.now()).unwrap();
            assert!(from_echo.recv().unwrap() <= clock.now());
        }
        drop(to_echo);
        echo.join().unwrap();
    }

    #[test]
    fn a_scale_keeps_its_rate_over_a_year() {
        let scale = Scale::new(1000, 1.0 / 2.596);
        assert_eq!(scale.nanos(500), Nanos::ZERO);
        let year = 365.0 * 24.0 * 3600.0 * 1e9;
        let by_scale = scale.nanos(1000 + (year * 2.596) as u64).0 as f64;
        assert!((by_scale / year - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_counter_that_changes_its_rate_is_refused() {
        let at = |ticks, nanos| Anchor { ticks, nanos, width: 0 };
        assert!(scale_of(at(0, 0), at(1000, 500), at(2000, 1000)).is_ok());
        assert_eq!(scale_of(at(0, 0), at(1000, 500), at(2000, 1010)).unwrap_err(), RATE_CHANGES);
        assert_eq!(scale_of(at(0, 0), at(0, 500), at(0, 1000)).unwrap_err(), RATE_CHANGES);
    }

    #[test]
    fn a_kernel_that_distrusts_the_counter_is_believed() {
        assert_eq!([Some("tsc"), Some("kvm-clock")].map(refusal_by_kernel), [None; 2]);
        let avoids = "the kernel keeps its time without the time stamp counter";
        assert_eq!([Some("hpet"), Some("xen")].map(refusal_by_kernel), [Some(avoids); 2]);
    }

    #[test]
    fn a_kernel_that_names_no_clock_source_is_not_said_to_avoid_the_counter() {
        let reason = refusal_by_kernel(None).unwrap();
        assert!(reason.contains("does not say"), "{reason}");
    }

    #[test]
    fn a_read_costs_something_and_steps_are_seen() {
        for clock in [Clock::calibrate(), monotonic()] {
            assert!(clock.read_cost_ns().iter().all(|cost| *cost > 0.0));
            assert!(clock.resolution() > Nanos::ZERO);
        }
    }
}
