//! Time in which nothing was sampled: it is noted, and where it is too long, what the server counts over it is not held
//! against the samples.

use std::time::{Duration, Instant};

use measure::quantity::format_nanos;
use profile::event::Ticks;

use super::Watch;

/// Part of the time that may pass without samples where what the server counts of all of it is held against them.
const LOST_PART_MAX: f64 = 0.01;

impl Watch {
    /// Notes a time in which nothing was sampled. It ends now, and began at this moment of the clock of the looks. That
    /// clock stands still while the machine sleeps.
    pub(super) fn lose(&mut self, begun: Instant, time: Ticks, reason: String) {
        // Where that question took the time, nearly all that the server counts next is of samples.
        let sampled = ticks(begun.saturating_duration_since(self.counted));
        let is_of_question = self.counted >= begun && ticks(self.held_up * 2) >= time;
        self.skips_counters |= !is_of_question && time.0 as f64 > LOST_PART_MAX * sampled.0 as f64;
        if let Some(listener) = &mut self.listener {
            return listener.lose(time, &reason);
        }
        self.profile.lose(time);
        match self.away.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, lost)) => *lost += time,
            None => self.away.push((reason, time)),
        }
    }

    /// The server's account of the watch, where nearly all of its time was sampled, or all sessions were watched in
    /// nearly all of it.
    pub(super) fn of_sampled_time(&self, account: Ticks) -> Result<Ticks, String> {
        let (lost, whole) = (self.lost(), ticks(self.begun.at.elapsed()));
        let is_much = |time: Ticks| time.0 as f64 > LOST_PART_MAX * whole.0 as f64;
        let shown = |time: Ticks| format_nanos(time.micros() * 1e3);
        if is_much(lost) {
            return Err(format!("{} of that time passed without samples", shown(lost)));
        }
        let Some(watching) = &self.watching else { return Ok(account) };
        let unseen = ticks(watching.lost_time);
        match watching.unwatched() {
            Some(why) => Err(why.into()),
            None if is_much(unseen) => Err(format!("changes were lost in {} of that time", shown(unseen))),
            None => Ok(account),
        }
    }

    /// Time without samples.
    pub(super) fn lost(&self) -> Ticks {
        self.away.iter().map(|(_, time)| *time).sum()
    }
}

pub(super) fn ticks(time: Duration) -> Ticks {
    Ticks::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Watching;
    use crate::watch::tests::{ago, watch};

    #[test]
    fn an_account_is_held_against_samples_of_nearly_all_of_its_time_alone() {
        let mut watch = watch();
        let (account, lost) = (Ticks::from_micros(5_000_000), Ticks::from_micros(900_000));
        watch.begun.at = ago(100);
        watch.lose(ago(1), lost, "the server was slow to answer".into());
        assert_eq!(watch.of_sampled_time(account), Ok(account));
        watch.lose(ago(1), lost, "readpath did not run".into());
        let why = watch.of_sampled_time(account).unwrap_err();
        assert_eq!(why, "1.80 s of that time passed without samples");
        let level = watch.level(None).join(" ");
        assert!(level.contains("with those of the time without samples"), "{level}");
    }

    #[test]
    fn an_account_is_held_against_an_exact_watch_that_saw_all_of_it_alone() {
        let account = Ticks::from_micros(5_000_000);
        let held = |watching: Watching| {
            let mut watch = watch();
            (watch.begun.at, watch.watching) = (ago(100), Some(watching));
            watch.of_sampled_time(account)
        };
        let lost = |millis: u64| Watching { lost_time: Duration::from_millis(millis), ..Watching::default() };
        assert_eq!(held(lost(900)), Ok(account));
        assert_eq!(held(lost(1_800)).unwrap_err(), "changes were lost in 1.80 s of that time");
        assert!(held(Watching { is_of_chosen: true, ..Watching::default() }).is_err());
    }
}
