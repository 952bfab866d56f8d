//! The name of a segment's file: its number, and from when to when it was recorded.

use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// How the names begin and end.
const PREFIX: &str = "readpath-";
const SUFFIX: &str = ".parquet";

/// A time of day in a name, in UTC and whole seconds.
const TIME: &str = "%Y%m%dT%H%M%SZ";

/// `readpath-0000000042-20261123T101500Z-20261123T101600Z.parquet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentName {
    /// The segment's number: segments are in this order.
    pub number: u64,
    /// From when on it was recorded, in microseconds since 1970: the second in which it begins.
    pub begin: i64,
    /// Until when: the end of the second in which it ends.
    pub end: i64,
}

impl SegmentName {
    /// The name of a segment that was recorded from `begin` to `end`, in microseconds since 1970.
    pub fn new(number: u64, begin: i64, end: i64) -> SegmentName {
        let seconds = |micros: i64| micros.div_euclid(1_000_000);
        SegmentName { number, begin: seconds(begin) * 1_000_000, end: seconds(end + 999_999) * 1_000_000 }
    }

    /// What a path's last part names; `None` where it is no segment's name.
    pub fn of(path: &Path) -> Option<SegmentName> {
        let name = path.file_name()?.to_str()?;
        let mut parts = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split('-');
        let number = parts.next().filter(|digits| digits.len() >= 10)?;
        let (begin, end) = (micros(parts.next()?)?, micros(parts.next()?)?);
        let named = SegmentName { number: number.parse().ok()?, begin, end };
        (parts.next().is_none() && named.to_string() == name).then_some(named)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |micros: i64| {
            let time = Timestamp::from_microsecond(micros).unwrap_or_default();
            time.strftime(TIME).to_string()
        };
        write!(formatter, "{PREFIX}{:010}-{}-{}{SUFFIX}", self.number, time(self.begin), time(self.end))
    }
}

fn micros(text: &str) -> Option<i64> {
    let time = DateTime::strptime("%Y%m%dT%H%M%S", text.strip_suffix('Z')?).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_place_and_its_time_and_any_other_name_is_none_of_ours() {
        let named = SegmentName::new(42, 1_795_428_900_250_000, 1_795_428_960_000_000);
        let text = named.to_string();
        assert_eq!(text, "readpath-0000000042-20261123T101500Z-20261123T101600Z.parquet");
        assert_eq!(SegmentName::of(Path::new(&format!("/var/lib/{text}"))), Some(named));
        for other in [
            "readpath-42-20261123T101500Z-20261123T101600Z.parquet",
            "readpath-0000000042-20261123T101500Z-20261123T101600Z.parquet.old",
            "readpath-0000000042-20261123T101500Z.parquet",
            "readpath-0000000042-20261340T101500Z-20261123T101600Z.parquet",
            "calls.parquet",
        ] {
            assert_eq!(SegmentName::of(Path::new(other)), None, "{other}");
        }
    }
}
