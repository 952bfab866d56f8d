//! The wall clock of a file's stamps beside the trace's own: what the time of day was, and which leaps of the trace's
//! clock are damage.
//!
//! A database writes a stamp about every second, and always before a line that comes later than a second after the one
//! before it. So a leap ahead that no stamp tells of is no time that passed.

use crate::event::Ticks;

const SECOND: Ticks = Ticks::from_micros(1_000_000);

/// How far the two clocks may be apart, in seconds: stamps are written a while after what they tell of.
pub(crate) const SLACK: i64 = 60;

/// By how much the wall clock is set for summer.
const SUMMER: i64 = 3600;

/// A leap that is taken as it stands where the file has no stamps at all, in seconds: ten days.
const UNSTAMPED_MAX: i64 = 10 * 86_400;

/// Wall clock and trace's clock of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct WallClock {
    /// The last stamp, until a timed line follows.
    stamp: Option<i64>,
    has_stamps: bool,
    /// The first stamp of the file as it is known before that is read, until its lines begin.
    expected: Option<(i64, Ticks)>,
    /// The first stamp, with the trace's clock at the line behind it: times are computed from this pair. Then the last
    /// one.
    first: Option<(i64, Ticks)>,
    last: Option<(i64, Ticks)>,
    /// The end of the last line, whichever session's.
    latest: Option<Ticks>,
}

impl WallClock {
    /// The stamps that come are another file's.
    pub(super) fn begin_file(&mut self) {
        (self.stamp, self.has_stamps, self.expected) = (None, false, None);
    }

    /// Says what the file's first stamp is, and the clock at the line behind it.
    pub(super) fn expect(&mut self, first: Option<(i64, Ticks)>) {
        self.expected = first;
    }

    /// The lines of the file begin, and those before are settled where they are of another clock. Whether that gives
    /// the first pair.
    pub(super) fn begin_lines(&mut self) -> bool {
        let is_first = self.first.is_none() && self.expected.is_some();
        self.first = self.first.or(self.expected.take());
        is_first
    }

    /// The trace's clock that comes is another one, or was set.
    pub(super) fn restart(&mut self) {
        (self.first, self.last, self.latest) = (None, None, None);
    }

    /// Takes a stamp.
    pub(super) fn stamp(&mut self, micros: i64) {
        (self.stamp, self.has_stamps) = (Some(micros), true);
    }

    /// Takes a timed line; whether it gives the first pair.
    #[inline]
    pub(super) fn line(&mut self, end: Ticks) -> bool {
        self.latest = Some(end);
        let Some(stamp) = self.stamp.take() else { return false };
        self.last = Some((stamp, end));
        let is_first = self.first.is_none();
        self.first = self.first.or(self.last);
        is_first
    }

    /// The first pair.
    pub(super) fn first(&self) -> Option<(i64, Ticks)> {
        self.first
    }

    /// Whether the time up to `start`, which no line covers, passed by the wall clock too.
    pub(super) fn tells_of(&self, start: Ticks) -> bool {
        let Some(latest) = self.latest else { return true };
        let leap = seconds(start - latest);
        match (self.stamp, self.last) {
            (Some(stamp), Some((before, at))) => {
                let expected = (stamp - before) / 1_000_000;
                let ahead = seconds(start - at) - expected;
                ahead <= SLACK || (ahead - SUMMER).abs() <= SLACK
            }
            (None, _) if self.has_stamps => leap <= SLACK,
            _ => leap <= UNSTAMPED_MAX,
        }
    }

    /// The wall clock at both ends of a segment of the trace's clock, computed from the first stamp, so that neither
    /// depends on how much is read: what the wall clock was set by after that stamp is missing at the end. Where the
    /// first stamp stands outside the segment, from the last one. `None` where neither stands in it.
    pub(super) fn ends_of(&self, first: Ticks, last: Ticks) -> Option<(i64, i64)> {
        let is_in = |(_, at): &(i64, Ticks)| (first - SECOND..=last + SECOND).contains(at);
        let (stamp, at) = [self.first, self.last].into_iter().flatten().find(is_in)?;
        let micros = |time: Ticks| stamp + (time - at).0.div_euclid(Ticks::PER_MICROSECOND);
        Some((micros(first), micros(last)))
    }
}

fn seconds(ticks: Ticks) -> i64 {
    ticks.0 / SECOND.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Ticks {
        Ticks::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_leap_is_held_against_the_stamps() {
        let mut clock = WallClock::default();
        clock.line(at(0));
        assert!(clock.tells_of(at(9 * 86_400)), "no stamp speaks against it");
        assert!(!clock.tells_of(at(6_000_000_000)));
        clock.stamp(1_000_000_000);
        assert!(clock.line(at(50)));
        assert!(clock.tells_of(at(60)), "stamps and lines may be a while apart");
        assert!(!clock.tells_of(at(150)), "no stamp tells of the time");
        clock.stamp(1_100_000_000);
        assert!(clock.tells_of(at(150)));
        assert!(!clock.tells_of(at(400)));
        assert!(clock.tells_of(at(150 + 3600)), "the wall clock was set back for winter");
    }

    #[test]
    fn the_ends_of_a_segment_are_computed_from_the_first_stamp_however_much_is_read() {
        let mut clock = WallClock::default();
        clock.stamp(1_000_000_000);
        clock.line(at(50));
        assert_eq!(clock.ends_of(at(48), at(53)), Some((998_000_000, 1_003_000_000)));
        let a_tick_later = at(48) + Ticks(1);
        assert_eq!(clock.ends_of(a_tick_later, at(53)), Some((998_000_000, 1_003_000_000)), "rounded down");
        assert_eq!(clock.ends_of(at(480), at(530)), None);
        // The next stamp was written a while after what it tells of.
        clock.stamp(1_010_300_000);
        clock.line(at(60));
        assert_eq!(clock.ends_of(at(48), at(63)), Some((998_000_000, 1_013_000_000)));
        assert_eq!(clock.ends_of(at(58), at(63)), Some((1_008_300_000, 1_013_300_000)), "the first stamp is not in it");
        clock.restart();
        assert_eq!(clock.ends_of(at(48), at(53)), None);
    }
}
