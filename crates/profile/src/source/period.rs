//! Times on the wall: as stamps show them, and from when to when a recording is read.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use measure::quantity::parse_time;

/// Why a time on the wall has no offset.
const AS_WRITTEN: &str = "stamps of a trace or a log count as they are written: write the time without the offset";

/// A time on the wall, as stamps show it: microseconds since 1970 as if it were UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallClock(pub(crate) i64);

impl WallClock {
    /// Microseconds since 1970 as if it were UTC.
    pub(crate) fn micros(self) -> i64 {
        self.0
    }
}

impl FromStr for WallClock {
    type Err = String;

    fn from_str(text: &str) -> Result<WallClock, String> {
        let text = text.trim();
        let time: DateTime =
            text.parse().map_err(|_| "write a date, or a date and a time: 2026-11-22 09:00".to_string())?;
        // The parser skips an offset and the name of a zone: the time would be hours away.
        let behind_date = text.find(['T', 't', ' ']).map_or("", |at| &text[at..]);
        if text.contains('[') || behind_date.contains(['+', '-']) {
            return Err(AS_WRITTEN.into());
        }
        let clock = time.to_zoned(TimeZone::UTC).map_err(|error| error.to_string())?;
        Ok(WallClock(clock.timestamp().as_microsecond()))
    }
}

impl fmt::Display for WallClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(time) => formatter.write_str(time.to_string().trim_end_matches('Z')),
            Err(_) => write!(formatter, "{} µs", self.0),
        }
    }
}

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;

/// The second in which a time lies, from its begin.
pub(crate) fn begin_of_second(micros: i64) -> i64 {
    micros.saturating_sub(micros.rem_euclid(SECOND))
}

/// The first begin of a second that does not lie before a time.
pub(crate) fn end_of_second(micros: i64) -> i64 {
    begin_of_second(micros.saturating_add(SECOND - 1))
}

/// A time in a recording, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingTime {
    /// A time of a day, as a clock shows it.
    At(WallClock),
    /// A time of a day that was given with its offset, in UTC.
    WithOffset(WallClock),
    /// A time of the last day that has it, in microseconds since midnight.
    TimeOfDay(i64),
    /// Microseconds before the recording's end: that of the second in which its last segment ends, as its name says.
    BeforeEnd(i64),
}

impl RecordingTime {
    /// The same at a border of seconds: of the clock by one function, and before the end by the other.
    fn at_border(self, of_clock: fn(i64) -> i64, before_end: fn(i64) -> i64) -> RecordingTime {
        match self {
            RecordingTime::At(clock) => RecordingTime::At(WallClock(of_clock(clock.micros()))),
            RecordingTime::WithOffset(clock) => RecordingTime::WithOffset(WallClock(of_clock(clock.micros()))),
            RecordingTime::TimeOfDay(time) => RecordingTime::TimeOfDay(of_clock(time)),
            RecordingTime::BeforeEnd(time) => RecordingTime::BeforeEnd(before_end(time)),
        }
    }

    /// Whether it is certain that it does not lie before another one. Of a time of day the recording says which day is
    /// meant.
    fn is_at_or_behind(self, other: RecordingTime) -> bool {
        match (self, other) {
            (
                RecordingTime::At(own) | RecordingTime::WithOffset(own),
                RecordingTime::At(other) | RecordingTime::WithOffset(other),
            ) => own >= other,
            (RecordingTime::BeforeEnd(own), RecordingTime::BeforeEnd(other)) => own <= other,
            _ => false,
        }
    }
}

impl FromStr for RecordingTime {
    type Err = String;

    fn from_str(text: &str) -> Result<RecordingTime, String> {
        let text = text.trim();
        if let Some(time) = text.strip_prefix('-') {
            return time_before(time).map(RecordingTime::BeforeEnd);
        }
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(RecordingTime::WithOffset(WallClock(time.as_microsecond())));
        }
        // The parsers skip the name of a zone, and the offset of a time of day: the time would be taken for one in UTC.
        let has_zone = text.contains('[');
        if let Some(clock) = text.parse::<WallClock>().ok().filter(|_| !has_zone) {
            return Ok(RecordingTime::At(clock));
        }
        // The parser takes an hour alone, and digits without colons.
        let has_minutes = text.contains(':');
        if let Some(time) = text.parse::<Time>().ok().filter(|_| has_minutes && !has_zone && !text.contains(['+', '-']))
        {
            let midnight = time.duration_since(Time::midnight());
            return Ok(RecordingTime::TimeOfDay((midnight.as_nanos() / 1_000) as i64));
        }
        let how = "write a time of day in UTC (10:00), a date and a time (2026-11-22 10:00, 2026-11-22T10:00+01:00), \
                   or a time before the recording's end (-1h)";
        Err(how.into())
    }
}

/// `90s`, `1.5s`, `5m`, `1h` or `2d` in microseconds.
fn time_before(text: &str) -> Result<i64, String> {
    let time = parse_time(text).ok().filter(|_| text.starts_with(|first: char| first.is_ascii_digit()));
    let micros = time.and_then(|time| i64::try_from(time.0 / 1_000).ok()).filter(|micros| *micros < 36_525 * DAY);
    micros.ok_or_else(|| "write a time before the recording's end with its unit: -90s, -5m, -1h, -2d".into())
}

impl fmt::Display for RecordingTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingTime::At(clock) | RecordingTime::WithOffset(clock) => {
                write!(formatter, "{}", clock.to_string().replacen('T', " ", 1))
            }
            RecordingTime::TimeOfDay(micros) => {
                let clock = WallClock(*micros).to_string();
                formatter.write_str(clock.rsplit('T').next().unwrap_or_default())
            }
            RecordingTime::BeforeEnd(micros) => write!(formatter, "{} s before its end", *micros as f64 / 1e6),
        }
    }
}

/// From when to when a recording is read; the end is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// From this time on; from the beginning without one.
    pub from: Option<RecordingTime>,
    /// Before this time; to the end without one.
    pub to: Option<RecordingTime>,
}

impl Period {
    /// Whether it is certain that it ends before it begins, whatever recording is read.
    pub fn is_backwards(&self) -> bool {
        self.from.zip(self.to).is_some_and(|(from, to)| from.is_at_or_behind(to))
    }

    /// The same in whole seconds, as a recording is read.
    #[must_use]
    pub fn in_whole_seconds(self) -> Period {
        Period {
            from: self.from.map(|from| from.at_border(begin_of_second, end_of_second)),
            to: self.to.map(|to| to.at_border(end_of_second, begin_of_second)),
        }
    }

    /// The same by the wall clock of a recording with this begin and this end, in microseconds since 1970. What no day
    /// of the recording has is a span outside it, and one that ends before it begins is empty.
    pub(crate) fn span(&self, first: i64, last: i64) -> Range<i64> {
        let midnight = |micros: i64| micros.saturating_sub(micros.rem_euclid(DAY));
        let today = |time: i64| midnight(last).saturating_add(time);
        let on_last_day = |time: i64| if today(time) > last { today(time).saturating_sub(DAY) } else { today(time) };
        let start = self.from.map(|from| match from {
            RecordingTime::At(clock) | RecordingTime::WithOffset(clock) => clock.micros(),
            // Without an end the day before would begin before the recording does, and all of it would be meant.
            RecordingTime::TimeOfDay(time) if self.to.is_none() && on_last_day(time) < midnight(first) => today(time),
            RecordingTime::TimeOfDay(time) => on_last_day(time),
            RecordingTime::BeforeEnd(time) => last.saturating_sub(time),
        });
        let end = self.to.map(|to| match (to, start) {
            (RecordingTime::At(clock) | RecordingTime::WithOffset(clock), _) => clock.micros(),
            (RecordingTime::BeforeEnd(time), _) => last.saturating_sub(time),
            (RecordingTime::TimeOfDay(time), Some(start)) => {
                let same_day = midnight(start).saturating_add(time);
                // The first such time from there on, if the recording goes on beyond the midnight between them.
                let next = midnight(same_day).saturating_add(DAY);
                if same_day > start || next > last { same_day } else { same_day.saturating_add(DAY) }
            }
            (RecordingTime::TimeOfDay(time), None) => on_last_day(time),
        });
        match (self.from, self.to, start, end) {
            // More than half a day over a midnight, and all of the recording in it: rather the times were exchanged.
            (Some(RecordingTime::TimeOfDay(from)), Some(RecordingTime::TimeOfDay(to)), Some(start), Some(end))
                if from >= to && start < first && end > last && end.saturating_sub(start) > DAY / 2 =>
            {
                // As they were given: of one day, which is refused.
                start..end.saturating_sub(DAY)
            }
            _ => start.unwrap_or(i64::MIN)..end.unwrap_or(i64::MAX),
        }
    }

    /// What is said of a trace, which has no last day: each time with its date. The offset of a stamp is not kept, so
    /// that a time in UTC could be hours away from what its stamps show.
    pub fn times(&self) -> Result<[Option<WallClock>; 2], String> {
        let clock = |moment: Option<RecordingTime>| match moment {
            Some(RecordingTime::At(clock)) => Ok(Some(clock)),
            None => Ok(None),
            Some(RecordingTime::WithOffset(_)) => Err(AS_WRITTEN.into()),
            Some(_) => Err("a trace is divided by dates and times: 2026-11-22 09:00".to_string()),
        };
        Ok([clock(self.from)?, clock(self.to)?])
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Period, String> {
        let Some((from, to)) = text.split_once("..") else {
            return Err("write two times with .. between them: '2026-11-22 09:00..2026-11-22 10:00'".into());
        };
        let time = |text: &str| -> Result<Option<RecordingTime>, String> {
            if text.trim().is_empty() { Ok(None) } else { text.parse().map(Some) }
        };
        let period = Period { from: time(from)?, to: time(to)? };
        match (period.from, period.to) {
            (None, None) => Err("write at least one time: '2026-11-22 09:00..' for all from then on".into()),
            _ if period.is_backwards() => Err("it ends before it begins".into()),
            _ => Ok(period),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.to) {
            (Some(from), Some(to)) => write!(formatter, "from {from} to {to}"),
            (Some(from), None) => write!(formatter, "from {from} on"),
            (None, Some(to)) => write!(formatter, "until {to}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_that_of_the_last_day_that_has_it() {
        let at = |text: &str| text.parse::<WallClock>().unwrap().micros();
        let (first, last) = (at("2026-11-20 08:00"), at("2026-11-22 09:30"));
        let span = |text: &str| {
            let span = text.parse::<Period>().unwrap().span(first, last);
            [span.start, span.end].map(|micros| WallClock(micros).to_string())
        };
        assert_eq!(span("09:00..09:05"), ["2026-11-22T09:00:00", "2026-11-22T09:05:00"]);
        assert_eq!(span("10:00..10:05"), ["2026-11-21T10:00:00", "2026-11-21T10:05:00"], "the last day ends before it");
        assert_eq!(span("23:50..00:10"), ["2026-11-21T23:50:00", "2026-11-22T00:10:00"]);
        assert_eq!(span("-1h..-30m"), ["2026-11-22T08:30:00", "2026-11-22T09:00:00"]);
        assert_eq!(span("2026-11-20T10:00+01:00..2026-11-20 10:00"), ["2026-11-20T09:00:00", "2026-11-20T10:00:00"]);
        assert_eq!(span("2026-11-20 10:00..11:00")[1], "2026-11-20T11:00:00");
        assert_eq!("..11:00".parse::<Period>().unwrap().span(first, last), i64::MIN..at("2026-11-21 11:00"));
        let backwards = ["2026-11-22 10:00..2026-11-22 09:00", "2026-11-22T10:00Z..2026-11-22 10:00", "-30m..-1h"];
        for wrong in ["10:00", "..", "noon..", "-1x..", "-.."].into_iter().chain(backwards) {
            assert!(wrong.parse::<Period>().is_err(), "{wrong}");
        }
        // Times of day may lie on both sides of a midnight.
        assert!(["23:50..00:10", "2026-11-22 10:00..09:00"].iter().all(|text| text.parse::<Period>().is_ok()));
        // The recorder began after its day did.
        assert_eq!(span("07:00..09:00"), ["2026-11-22T07:00:00", "2026-11-22T09:00:00"]);
        assert!("10:00..".parse::<Period>().unwrap().times().unwrap_err().contains("2026-11-22 09:00"));
    }

    #[test]
    fn times_that_were_exchanged_are_said_as_they_were_given() {
        let at = |text: &str| text.parse::<WallClock>().unwrap().micros();
        let span = |text: &str, first: &str, last: &str| {
            let span = text.parse::<Period>().unwrap().span(at(first), at(last));
            [span.start, span.end].map(|micros| WallClock(micros).to_string())
        };
        let exchanged = ["2026-11-29T10:00:00", "2026-11-29T09:00:00"];
        assert_eq!(span("10:00..09:00", "2026-11-30 00:05", "2026-11-30 00:13"), exchanged, "over a midnight");
        assert_eq!(span("10:00..09:00", "2026-11-29 08:00", "2026-11-29 11:00"), exchanged);
    }

    #[test]
    fn a_part_of_a_second_before_the_end_is_a_time() {
        let before = |text: &str| text.parse::<RecordingTime>().unwrap();
        assert_eq!([before("-1.5s"), before("-500ms")], [1_500_000, 500_000].map(RecordingTime::BeforeEnd));
        let shown = [before("-1.5s"), before("-3s")].map(|time| time.to_string());
        assert_eq!(shown, ["1.5 s before its end", "3 s before its end"]);
        assert!(["-", "-s", "--5s", "-5", "-36525d"].iter().all(|text| text.parse::<RecordingTime>().is_err()));
    }

    #[test]
    fn a_part_of_a_second_is_not_said_to_be_the_border_where_the_whole_second_is_read() {
        let said = |text: &str| text.parse::<Period>().unwrap().in_whole_seconds().to_string();
        assert_eq!(said("..22:07:55.5"), "until 22:07:56");
        assert_eq!(said("22:07:55.5.."), "from 22:07:55 on");
        let dated = said("2026-11-22 10:00:01.5..2026-11-22T10:00:03Z");
        assert_eq!(dated, "from 2026-11-22 10:00:01 to 2026-11-22 10:00:03");
        assert_eq!(said("-2.5s..-1.5s"), "from 3 s before its end to 1 s before its end");
    }

    #[test]
    fn an_hour_without_minutes_is_no_time_of_day() {
        for text in ["10", "1000", "T10", "100000"] {
            let said = text.parse::<RecordingTime>().unwrap_err();
            assert!(said.contains("a time of day in UTC (10:00)"), "{text}: {said}");
        }
        assert_eq!("10:00:30".parse(), Ok(RecordingTime::TimeOfDay(36_030_000_000)));
    }

    #[test]
    fn a_time_with_an_offset_is_not_held_against_the_stamps_of_a_trace() {
        let times = |text: &str| text.parse::<Period>().unwrap().times();
        for text in ["2019-11-06T13:10:13-05:00..", "..2019-11-06T13:10:13.148529-05:00", "2019-11-06T13:10:13Z.."] {
            assert!(times(text).unwrap_err().contains("without the offset"), "{text}");
        }
        let written = "2019-11-06 13:10:13".parse::<WallClock>().unwrap();
        assert_eq!(times("2019-11-06T13:10:13..").unwrap(), [Some(written), None]);
    }

    #[test]
    fn a_zone_that_would_be_skipped_is_refused() {
        for skipped in ["10:00+01:00", "10:00-05:00", "10:00[Europe/Berlin]", "2026-11-22T10:00[Europe/Berlin]"] {
            let said = skipped.parse::<RecordingTime>().unwrap_err();
            assert!(said.contains("2026-11-22T10:00+01:00"), "{skipped}: {said}");
        }
        let known = "2026-11-22T10:00+01:00[Europe/Berlin]".parse::<RecordingTime>();
        assert_eq!(known, Ok(RecordingTime::WithOffset("2026-11-22 09:00".parse().unwrap())));
        assert_eq!("10:00".parse(), Ok(RecordingTime::TimeOfDay(36_000_000_000)));
    }

    #[test]
    fn a_time_that_no_day_has_is_not_taken_for_the_whole_recording() {
        let at = |text: &str| text.parse::<WallClock>().unwrap().micros();
        let (first, last) = (at("2026-11-24 00:32:43"), at("2026-11-24 00:33:02"));
        let holds = |text: &str| {
            let span = text.parse::<Period>().unwrap().span(first, last);
            span.start < span.end && span.start < last && span.end > first
        };
        let times = ["10:00..10:10", "23:00..", "..10:10", "..00:10", "09:00..09:30", "00:33..00:32", "00:34.."];
        for outside in times.into_iter().chain(["10:00..09:00", "10:00..10:00"]) {
            assert!(!holds(outside), "{outside}");
        }
        for inside in
            ["00:32..00:33", "00:33..", "..00:33", "23:50..00:33", "00:10..", "-5s..", "00:00..10:00", "23:00..01:00"]
        {
            assert!(holds(inside), "{inside}");
        }
    }
}
