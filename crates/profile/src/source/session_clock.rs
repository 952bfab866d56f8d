//! The time of a session from its first line to its last one, by a clock that may be set.
//!
//! A line of another clock's time, or a damaged one, leaps out of the session's time and the next line leaps back. What
//! such lines say lies within the time of their neighbours, so that it adds nothing.

use crate::event::Ticks;

/// A clock that moves back by more than this was set; less is the usual disorder of lines, and of stamps that are
/// written a while after what they tell of. A leap ahead is longer too.
pub(crate) const TOLERANCE: Ticks = Ticks::from_micros(1_100_000);

/// The clock of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionClock {
    /// From the first start to the last end since the clock was last set.
    segment: Option<(Ticks, Ticks)>,
    /// The last end before the clock moved ahead and no line covers the time in between.
    before_leap: Option<Ticks>,
    /// The last end before the clock moved back.
    before_return: Option<Ticks>,
    /// Segments that ended where the clock leapt ahead though no time passed.
    left: Vec<(Ticks, Ticks)>,
}

/// Most segments that are left by leaps and kept: a damaged file could leap at every line.
const LEFT_MAX: usize = 64;

impl SessionClock {
    /// The last end.
    pub(crate) fn last(&self) -> Option<Ticks> {
        self.segment.map(|(_, last)| last)
    }

    /// Extends the segment by a line if nothing is odd about its time: the clock neither moves back nor leaps. That
    /// holds for nearly all lines.
    #[inline]
    pub(crate) fn goes_on(&mut self, start: Ticks, end: Ticks) -> bool {
        let Some((first, last)) = &mut self.segment else { return false };
        if end < *last - TOLERANCE || start > *last + TOLERANCE {
            return false;
        }
        (*first, *last) = ((*first).min(start), (*last).max(end));
        true
    }

    /// Whether a line that ends at `end` shows that the clock moved back.
    pub(crate) fn moves_back(&self, end: Ticks) -> bool {
        self.last().is_some_and(|last| end < last - TOLERANCE)
    }

    /// Moves back to `end`. Gives the segment that ends; `None` where the clock only leaves a leap ahead, and the
    /// segment goes on as if the leap had not been.
    pub(crate) fn move_back(&mut self, end: Ticks) -> Option<(Ticks, Ticks)> {
        let (first, last) = self.segment?;
        if let Some(before) = self.before_leap.take().filter(|before| end >= *before - TOLERANCE) {
            self.segment = Some((first, before));
            return None;
        }
        if self.left.last().is_some_and(|(_, before)| end >= *before - TOLERANCE) {
            self.segment = self.left.pop();
            return None;
        }
        self.before_return = self.before_return.max(Some(last));
        self.segment.take()
    }

    /// Whether a line that begins at `start` shows that the clock moved ahead, and no line covers the time in between.
    #[inline]
    pub(crate) fn leaps(&self, start: Ticks) -> bool {
        self.last().is_some_and(|last| start > last + TOLERANCE)
    }

    /// Begins another segment with a line to which the clock leapt though no time passed. Where it moves back, the
    /// segment before goes on.
    pub(crate) fn leap(&mut self, start: Ticks, end: Ticks) {
        if self.left.len() < LEFT_MAX {
            self.left.extend(self.segment.replace((start, end)));
            self.before_leap = None;
        }
    }

    /// Takes the segments that were left by leaps.
    pub(crate) fn take_left(&mut self) -> Vec<(Ticks, Ticks)> {
        std::mem::take(&mut self.left)
    }

    /// Extends the segment by a line from `start` to `end`.
    pub(crate) fn extend(&mut self, start: Ticks, end: Ticks) {
        let (first, last) = self.segment.unwrap_or((start, end));
        let is_leap = start > last + TOLERANCE;
        let returned = self.before_return.filter(|left| {
            // What took longer than that clock shows has a time of its own: in autumn, an hour of local time repeats.
            let is_part = last < *left && last - first <= end - *left + TOLERANCE;
            is_leap && end >= *left - TOLERANCE && is_part
        });
        if let Some(left) = returned {
            // The clock that was left goes on: the lines since then are part of the time that it shows.
            self.segment = Some((left, end.max(left)));
            (self.before_return, self.before_leap) = (None, None);
            return;
        }
        if is_leap {
            self.before_leap = Some(last);
        }
        self.segment = Some((first.min(start), last.max(end)));
    }

    /// Ends the segment: its first and last time.
    pub(crate) fn end(&mut self) -> Option<(Ticks, Ticks)> {
        (self.before_leap, self.before_return) = (None, None);
        self.segment.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the segments of lines of 100 ms that end at these seconds.
    fn seconds(ends: &[i64]) -> f64 {
        let (mut clock, mut sum) = (SessionClock::default(), Ticks::ZERO);
        let mut add =
            |segment: Option<(Ticks, Ticks)>| sum += segment.map_or(Ticks::ZERO, |(first, last)| last - first);
        for end in ends {
            let end = Ticks::from_micros(end * 1_000_000);
            if clock.moves_back(end) {
                add(clock.move_back(end));
            }
            clock.extend(end - Ticks::from_micros(100_000), end);
        }
        add(clock.end());
        sum.micros() / 1e6
    }

    #[test]
    fn a_clock_that_moves_back_and_returns_adds_no_more_than_passed() {
        assert_eq!(seconds(&[1000, 1005, 400, 1006, 1012]), 12.1);
        assert_eq!(seconds(&[1000, 1005, 400, 401, 402, 1012]), 12.1, "for a while");
        assert_eq!(seconds(&[1000, 1005, 400, 200, 1012]), 12.2, "twice: the first one's own time");
    }

    #[test]
    fn the_hour_that_repeats_in_autumn_is_no_part_of_a_minute() {
        assert_eq!(seconds(&[1000, 4240, 4540, 1000, 1300, 4300, 4600, 4900]), 7440.2);
        assert_eq!(seconds(&[1000, 4240, 4540, 1000, 1300, 4300, 4600, 20_000]), 22_540.2, "and a pause");
    }

    #[test]
    fn a_clock_that_moves_ahead_and_returns_adds_nothing() {
        assert_eq!(seconds(&[1000, 1005, 9000, 1006, 1012]), 12.1);
        assert_eq!(seconds(&[1000, 9000, 1001]), 1.1);
    }

    #[test]
    fn a_leap_in_which_no_time_passed_adds_none() {
        let mut clock = SessionClock::default();
        let seconds = |seconds: i64| Ticks::from_micros(seconds * 1_000_000);
        clock.extend(seconds(10), seconds(12));
        assert!(clock.leaps(seconds(6000)) && !clock.leaps(seconds(13)));
        clock.leap(seconds(6000), seconds(6000));
        assert!(clock.moves_back(seconds(14)) && clock.move_back(seconds(14)).is_none());
        clock.extend(seconds(13), seconds(14));
        assert_eq!((clock.segment, clock.left.len()), (Some((seconds(10), seconds(14))), 0), "it returns");
        clock.leap(seconds(7000), seconds(7001));
        assert_eq!(clock.take_left(), [(seconds(10), seconds(14))], "it stays");
        assert_eq!(clock.end(), Some((seconds(7000), seconds(7001))));
    }

    #[test]
    fn a_clock_that_was_set_back_for_good_begins_another_segment() {
        assert_eq!(seconds(&[1000, 1005, 400, 410]), 5.1 + 10.1);
        assert_eq!(seconds(&[1000, 1005, 1030]), 30.1, "and a pause is a part of the time");
    }
}
