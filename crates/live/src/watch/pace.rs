//! The pace of a watch: how many looks a second it takes, and its sleep from one look to the next.

use std::thread;
use std::time::{Duration, Instant};

use super::Watch;
use super::settings::{NAP, RATE, RATE_MAX, RATE_OF_MEMORY};

/// How many intervals late a look may be that is made up for: more are lost, and would come one right behind the other.
const INTERVALS_LATE_MAX: f64 = 2.0;

impl Watch {
    /// Looks a second.
    pub(super) fn rate(&self) -> f64 {
        match self.memory {
            Ok(_) => self.settings.rate.unwrap_or(RATE_OF_MEMORY),
            Err(_) => self.settings.rate.unwrap_or(RATE).min(RATE_MAX),
        }
    }

    /// The looks a second that were asked for and those that are taken, where these are fewer because each of them is a
    /// query.
    pub fn rate_cut(&self) -> Option<(f64, f64)> {
        let asked = self.settings.rate.filter(|_| self.watching.is_none() && self.former.is_none())?;
        (asked > self.rate()).then(|| (asked, self.rate()))
    }

    /// Sleeps until the next look. The lengths of the intervals vary, so that no work that is done at regular times
    /// stands always at the same place between two looks. An interval begins where the look was due: each comes a
    /// little late, by the clock's own slack.
    pub(super) fn sleep(&mut self, begun: Instant, end: Instant) {
        let (varied, rate) = (0.5 + self.random.below(1 << 20) as f64 / f64::from(1 << 20), self.rate());
        let late_max = Duration::from_secs_f64(INTERVALS_LATE_MAX / rate);
        let due = self.due.filter(|due| begun.saturating_duration_since(*due) < late_max).unwrap_or(begun);
        let next = due + Duration::from_secs_f64(varied / rate);
        self.due = Some(next);
        // Looks at the memory go on while the server rests.
        let rested = if self.memory.is_ok() { next } else { self.rested };
        let next = next.max(rested).min(end);
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
    }
}
