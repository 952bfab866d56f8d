//! A course of time in steps: when each step began, and the round times beside an axis of them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use measure::Unit;

use super::cell::Cell;

/// Seconds of a minute, an hour and a day.
const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

/// Seconds between the times beside an axis.
const APART: [i64; 21] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
    2_419_200,
];

/// Steps of the same width one behind the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// When the first begins, in seconds since 1970 as if the wall clock showed UTC; `None` where no wall clock is
    /// known.
    pub first_second: Option<i64>,
    /// Width of a step in seconds.
    pub step_seconds: i64,
    /// How many there are.
    pub steps: usize,
}

impl Course {
    /// What stands over its times.
    pub(crate) fn heading(&self) -> &'static str {
        if self.first_second.is_some() { "from" } else { "since the first line" }
    }

    /// What an axis of it measures.
    pub(crate) fn label(&self) -> String {
        let what = if self.first_second.is_some() { "time of day" } else { "time since the first line" };
        format!("{what}, in steps of {}", duration(self.step_seconds))
    }

    /// All of its seconds.
    pub(crate) fn seconds(&self) -> i64 {
        self.step_seconds.saturating_mul(self.steps as i64)
    }

    /// When a step begins.
    pub(crate) fn cell(&self, step: usize) -> Cell {
        let since = self.step_seconds.saturating_mul(step as i64);
        let text = match self.first_second {
            Some(first) => clock(first.saturating_add(since), IN_FULL),
            None if since == 0 => "0 s".into(),
            None => duration(since),
        };
        Cell::number(text, since as f64 * 1e9, Unit::Nanoseconds)
    }

    /// At most about `most` round times, in seconds since the first step begins, with their words.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(i64, String)> {
        let most = most.max(1) as i64;
        let rough = self.seconds().saturating_add(most - 1) / most;
        let apart = APART.iter().copied().find(|apart| *apart >= rough).unwrap_or(rough.max(1));
        let first = self.first_second.unwrap_or(0);
        let begin = first.saturating_add(apart - 1).div_euclid(apart).saturating_mul(apart);
        let times = (0..=most + 1).map(|number| begin.saturating_add(apart.saturating_mul(number)));
        let times = times.filter(|time| (0..=self.seconds()).contains(&time.saturating_sub(first)));
        let form = form(apart, clock_day(first) != clock_day(first.saturating_add(self.seconds())));
        let words = |time: i64| match (self.first_second, time) {
            (Some(_), time) => clock(time, form),
            (None, 0) => "0".into(),
            (None, time) => duration(time),
        };
        times.map(|time| (time.saturating_sub(first), words(time))).collect()
    }
}

/// How a time by the wall clock is written in full.
const IN_FULL: &str = "%Y-%m-%d %H:%M:%S";

/// How times are written that stand `apart` seconds apart: without what all of them have in common.
fn form(apart: i64, is_of_several_days: bool) -> &'static str {
    match (is_of_several_days, apart) {
        (true, ..MINUTE) => IN_FULL,
        (true, ..DAY) => "%Y-%m-%d %H:%M",
        (true, _) => "%Y-%m-%d",
        (false, ..MINUTE) => "%H:%M:%S",
        (false, ..DAY) => "%H:%M",
        (false, _) => "",
    }
}

fn clock_day(seconds: i64) -> i64 {
    seconds.div_euclid(DAY)
}

/// A time by the wall clock, such as `2026-11-22 10:00:05`. One beyond the calendar, as a damaged document can have, is
/// written as the calendar's end.
fn clock(seconds: i64, form: &str) -> String {
    let end = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(seconds).unwrap_or(end).strftime(form).to_string()
}

/// Seconds since 1970 of a time as [`clock`] writes it in full, as if the wall clock showed UTC; of a number, which
/// stands where no wall clock is known, the number.
pub(crate) fn second_of(text: &str) -> Option<i64> {
    if let Ok(second) = text.parse() {
        return Some(second);
    }
    let moment = DateTime::strptime(IN_FULL, text).ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(moment.timestamp().as_second())
}

/// A number of seconds in the largest unit that it is a whole number of.
fn duration(seconds: i64) -> String {
    let units = [(DAY, "d"), (HOUR, "h"), (MINUTE, "min")];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length && seconds % length == 0);
    let (length, word) = unit.unwrap_or((1, "s"));
    format!("{} {word}", seconds / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(first_second: Option<i64>, step_seconds: i64, steps: usize, most: usize) -> Vec<String> {
        let course = Course { first_second, step_seconds, steps };
        course.ticks(most).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn an_axis_of_time_has_round_times_of_the_wall_clock() {
        let ten = Some(1_795_341_600 - 3);
        assert_eq!(words(ten, 1, 60, 4), ["10:00:00", "10:00:15", "10:00:30", "10:00:45"]);
        assert_eq!(words(ten, 30, 240, 5), ["10:00", "10:30", "11:00", "11:30"]);
        let days = words(ten, 10_800, 40, 6);
        assert_eq!(days, ["2026-11-23", "2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27"]);
        let night = words(Some(1_795_391_000), 10, 180, 3);
        assert_eq!(night, ["2026-11-22 23:50", "2026-11-23 00:00", "2026-11-23 00:10"]);
    }

    #[test]
    fn without_a_wall_clock_it_has_the_time_since_the_first_line() {
        assert_eq!(words(None, 1, 12, 6), ["0", "2 s", "4 s", "6 s", "8 s", "10 s", "12 s"]);
        let to_the_end = words(None, 1, 15, 10);
        assert_eq!((to_the_end.len(), to_the_end[7].as_str()), (8, "14 s"));
        assert_eq!(words(None, 60, 200, 4), ["0", "1 h", "2 h", "3 h"]);
        assert_eq!(words(None, 5, 30, 3), ["0", "1 min", "2 min"]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let dates = [0, 59, 11_016, 20_779, -1].map(|day| clock(day * DAY, "%Y-%m-%d"));
        assert_eq!(dates, ["1970-01-01", "1970-03-01", "2000-02-29", "2026-11-22", "1969-12-31"]);
    }

    #[test]
    fn a_time_is_read_as_it_was_written() {
        for day in [-1, 0, 59, 60, 11_016, 11_017, 20_453, 20_454, 20_779, 47_540] {
            for second in [0, 1, 86_399] {
                let at = day * DAY + second;
                assert_eq!(second_of(&clock(at, IN_FULL)), Some(at));
            }
        }
        assert_eq!([second_of("42"), second_of("-7")], [Some(42), Some(-7)]);
        for text in ["", "–", "2026-11-22", "2026-13-01 00:00:00", "99999-01-01 00:00:00", "2026-01-01 24:00:00"] {
            assert_eq!(second_of(text), None, "{text}");
        }
    }

    #[test]
    fn no_course_is_too_strange_for_an_axis() {
        for first_second in [None, Some(0), Some(-5), Some(i64::MAX / 2), Some(i64::MIN / 2)] {
            for (step_seconds, steps) in [(1, 1), (1, 240), (604_800, 240), (1 << 40, 240), (i64::MAX / 4, 2)] {
                let course = Course { first_second, step_seconds, steps };
                let ticks = course.ticks(6);
                assert!(ticks.len() <= 8 && ticks.iter().all(|(at, _)| (0..=course.seconds()).contains(at)));
                assert!(!course.cell(steps - 1).text.is_empty());
            }
        }
    }
}
