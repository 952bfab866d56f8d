//! How many sessions are at work: on average, and in the seconds with most.

use crate::event::Ticks;
use crate::tables::sampled::ActiveSessions;

/// A window of time whose mean is kept.
const SECOND: Ticks = Ticks::from_micros(1_000_000);

/// Most windows that are kept: a week of seconds.
const WINDOWS_MAX: usize = 7 * 86_400;

/// The sessions at work so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    /// Time of all windows, and that of the sessions at work in it.
    pub(super) time: Ticks,
    pub(super) db_time: Ticks,
    window: Ticks,
    in_window: Ticks,
    seconds: Vec<f32>,
    /// The same two times of the last of these seconds.
    last: (Ticks, Ticks),
}

impl Load {
    /// Adds a look that stands for `time`, and the time of the sessions that it saw at work.
    pub(super) fn add(&mut self, time: Ticks, of_sessions: Ticks) {
        self.time += time;
        self.db_time += of_sessions;
        self.window += time;
        self.in_window += of_sessions;
        if self.window >= SECOND {
            self.end_window();
        }
    }

    /// Ends a second that was recorded, whose looks stand for a little more or less time: put together with the next
    /// one, it would halve what that has most.
    pub(super) fn end_second(&mut self) {
        if self.window.0 > SECOND.0 / 2 {
            self.end_window();
        }
    }

    fn end_window(&mut self) {
        if self.seconds.len() < WINDOWS_MAX {
            self.seconds.push(mean(self.window, self.in_window));
            self.last = (self.window, self.in_window);
        }
        (self.window, self.in_window) = (Ticks::ZERO, Ticks::ZERO);
    }

    /// What it came to; no quantiles before the first second is over. What is left behind the last whole second is part
    /// of that one: left out, it could lift the mean above every second.
    pub(super) fn active_sessions(&self) -> ActiveSessions {
        let mut seconds = self.seconds.clone();
        let is_kept = seconds.len() < WINDOWS_MAX;
        if let Some(last) = seconds.last_mut().filter(|_| is_kept) {
            *last = mean(self.last.0 + self.window, self.last.1 + self.in_window);
        }
        seconds.sort_by(f32::total_cmp);
        ActiveSessions {
            mean: self.db_time.0 as f64 / self.time.0.max(1) as f64,
            seconds: seconds.len() as u64,
            p95: quantile(&seconds, 0.95),
            p99: quantile(&seconds, 0.99),
            max: quantile(&seconds, 1.0),
        }
    }
}

/// The mean number of sessions at work in a time.
fn mean(time: Ticks, of_sessions: Ticks) -> f32 {
    of_sessions.0 as f32 / time.0 as f32
}

/// The least of the ascending values that this part of them does not exceed.
fn quantile(ascending: &[f32], part: f64) -> Option<f64> {
    let place = (part * ascending.len() as f64).ceil() as usize;
    ascending.get(place.max(1) - 1).map(|value| f64::from(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_of_a_second_is_in_the_quantiles_and_not_in_the_mean() {
        let mut load = Load::default();
        for tenth in 0..1000 {
            let active = if (500..510).contains(&tenth) { 40 } else { 1 };
            load.add(Ticks::from_micros(100_000), Ticks::from_micros(100_000 * active));
        }
        let active = load.active_sessions();
        assert_eq!((active.seconds, active.p95, active.p99, active.max), (100, Some(1.0), Some(1.0), Some(40.0)));
        assert!((active.mean - 1.39).abs() < 1e-9, "{active:?}");
        assert_eq!(Load::default().active_sessions().p95, None);
    }

    #[test]
    fn a_spike_of_a_recorded_second_is_not_halved_by_the_one_beside_it() {
        let mut load = Load::default();
        for second in 0..10 {
            let (millis, active) = if second == 4 { (1_010, 40) } else { (990, 1) };
            load.add(Ticks::from_micros(millis * 1_000), Ticks::from_micros(millis * 1_000 * active));
            load.end_second();
        }
        let active = load.active_sessions();
        assert_eq!((active.seconds, active.p95, active.max), (10, Some(40.0), Some(40.0)));
    }

    #[test]
    fn the_mean_is_not_above_every_second_because_of_the_rest_behind_the_last_one() {
        let mut load = Load::default();
        for tenth in 0..28 {
            let active = if tenth < 20 { 1 } else { 10 };
            load.add(Ticks::from_micros(100_000), Ticks::from_micros(100_000 * active));
        }
        let ActiveSessions { mean, seconds, p99, max, .. } = load.active_sessions();
        assert_eq!((seconds, p99), (2, max));
        assert!((mean - 10.0 / 2.8).abs() < 1e-9 && max.is_some_and(|max| max >= mean), "{mean} and {max:?}");
        assert!((max.unwrap() - 9.0 / 1.8).abs() < 1e-6, "{max:?}");
    }
}
