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

    /// The server's account of the watch, where nearly all of its time was sampled.
    pub(super) fn of_sampled_time(&self, account: Ticks) -> Result<Ticks, String> {
        let (lost, whole) = (self.lost(), ticks(self.begun.at.elapsed()));
        match lost.0 as f64 > LOST_PART_MAX * whole.0 as f64 {
            true => Err(format!("{} of that time passed without samples", format_nanos(lost.micros() * 1e3))),
            false => Ok(account),
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
}
