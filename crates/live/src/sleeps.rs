//! Whether this machine slept between two looks. The clock of the looks stands still meanwhile; a server on another
//! machine goes on to work, and counts.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sys::watchpoint::{now, since_1970};

/// From this step of the wall clock on, in nanoseconds, the machine may have slept. It does not tell: a clock is also
/// set.
const STEP_NANOS: i64 = 1_000_000_000;

/// The shortest sleep that counts.
const SLEEP_MIN: Duration = Duration::from_millis(500);

/// The clocks as they were last.
#[derive(Debug)]
pub(crate) struct Sleeps {
    /// How far the wall clock was ahead of the clock of the looks, in nanoseconds.
    ahead: i64,
    /// How long the machine had slept since it was started; `None` where the kernel does not say.
    slept: Option<Duration>,
}

impl Sleeps {
    /// From now on.
    pub(crate) fn new() -> Sleeps {
        Sleeps { ahead: since_1970(), slept: slept() }
    }

    /// How long the machine has slept since this was asked last, where it did.
    pub(crate) fn since(&mut self) -> Option<Duration> {
        self.since_with(since_1970(), slept)
    }

    /// The same with the clocks of the moment. That of the sleep is read where the wall clock has made a step.
    fn since_with(&mut self, ahead: i64, slept: impl FnOnce() -> Option<Duration>) -> Option<Duration> {
        let step = ahead.saturating_sub(std::mem::replace(&mut self.ahead, ahead));
        if step < STEP_NANOS {
            return None;
        }
        let before = std::mem::replace(&mut self.slept, slept());
        self.slept?.checked_sub(before?).filter(|slept| *slept >= SLEEP_MIN)
    }
}

/// How long the machine has slept since it was started.
fn slept() -> Option<Duration> {
    // The clock of the looks, and the time of sleep too.
    let boot = clock_gettime(ClockId::Boottime);
    let boot = Duration::new(u64::try_from(boot.tv_sec).ok()?, u32::try_from(boot.tv_nsec).ok()?);
    Some(boot.saturating_sub(Duration::from_nanos(now())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_sleep_is_told_from_a_clock_that_was_set() {
        let slept = |seconds: u64| move || Some(Duration::from_secs(seconds));
        let mut sleeps = Sleeps { ahead: 100 * SECOND, slept: Some(Duration::from_secs(7)) };
        assert_eq!(sleeps.since_with(100 * SECOND + 30_000, slept(999)), None, "no step");
        assert_eq!(sleeps.since_with(3_700 * SECOND, slept(3_607)), Some(Duration::from_secs(3_600)));
        assert_eq!(sleeps.since_with(3_700 * SECOND, slept(3_607)), None, "once");
        assert_eq!(sleeps.since_with(7_300 * SECOND, slept(3_607)), None, "the clock was set ahead");
        assert_eq!(sleeps.since_with(100 * SECOND, slept(3_607)), None, "and back");
        assert_eq!(sleeps.since_with(200 * SECOND, || None), None, "the kernel does not say");
    }

    #[test]
    fn a_machine_that_does_not_sleep_between_two_questions_has_slept_as_long_at_both() {
        let (before, after) = (slept().unwrap(), slept().unwrap());
        assert!(before.abs_diff(after) < SLEEP_MIN, "{before:?} {after:?}");
        assert_eq!(Sleeps::new().since(), None);
    }
}
