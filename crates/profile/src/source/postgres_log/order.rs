//! In which order logs are read: by when they begin, so that a session that goes on in another log goes on in time.
//! Names that repeat each week, and lists with the newest log first, say nothing of it.

use std::io::Read;

use measure::sorting;

use super::entry::{Entry, Lines};
use super::format::detect;
use crate::event::Unread;
use crate::input;
use crate::source::contract::Input;

/// Bytes at the beginning of a log in which its first stamp is looked for.
const HEAD_BYTES: u64 = 256 << 10;

/// The logs by their first stamps, and whether their stamps may be in different time zones. One without a stamp, and a
/// pipe, of which nothing can be read twice, keep their places.
pub(super) fn by_first_stamp(inputs: Vec<Input>) -> (Vec<Input>, bool) {
    if inputs.len() < 2 {
        return (inputs, false);
    }
    let (mut stamped, mut places, mut in_utc) = (Vec::new(), Vec::new(), 0);
    for input in inputs {
        match first_stamp(&input) {
            Some((stamp, is_utc)) => {
                stamped.push((stamp, input));
                places.push(None);
                in_utc += usize::from(is_utc);
            }
            None => places.push(Some(input)),
        }
    }
    // A server has one time zone for all its logs, but for seconds since 1970, which are UTC.
    let zones_differ = stamped.len() < places.len() || (in_utc > 0 && in_utc < stamped.len());
    sorting::by_key(&mut stamped, |(stamp, _)| *stamp);
    let mut stamped = stamped.into_iter().map(|(_, input)| input);
    let ordered = places.into_iter().filter_map(|kept| kept.or_else(|| stamped.next())).collect();
    (ordered, zones_differ)
}

/// The first stamp of a log, and whether it is UTC for certain.
fn first_stamp(input: &Input) -> Option<(i64, bool)> {
    if input.bytes.is_some() {
        return None;
    }
    let mut lines = Lines::new(input::open(&input.given).ok()?.take(HEAD_BYTES));
    let mut assembler = detect(lines.head().ok()?)?.assembler();
    let mut first = None;
    let stamp = |entry: &Entry| entry.time.map(|time| (time, entry.is_utc));
    let mut sink = |found: Result<&Entry, Unread>| first = first.or(found.ok().and_then(stamp));
    // A truncated log still has a first stamp.
    while let Ok(Some(line)) = lines.read_line() {
        assembler.line(&line, &mut sink);
    }
    assembler.finish(&mut sink);
    first
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::input::Given;

    #[test]
    fn a_truncated_log_is_read_in_its_turn() {
        let folder = tempfile::tempdir().unwrap();
        let entries = |hour: u32| {
            format!("2026-11-21 {hour}:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms  statement: x\n").repeat(9)
        };
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(entries(12).as_bytes()).unwrap();
        let mut cut = encoder.finish().unwrap();
        cut.truncate(cut.len() - 3);
        let input = |(name, bytes): (&str, Vec<u8>)| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            Input { given: Given::File(path), bytes: None, head_hash: None }
        };
        let inputs = [("later.log.gz", cut), ("earlier.log", entries(11).into_bytes())].map(input);
        let (ordered, zones_differ) = by_first_stamp(inputs.into());
        assert!(!zones_differ);
        let names: Vec<String> = ordered.iter().map(|input| input.given.name()).collect();
        assert!(names[0].ends_with("earlier.log") && names[1].ends_with("later.log.gz"), "{names:?}");
    }

    #[test]
    fn only_seconds_since_1970_are_in_another_time_zone_than_the_other_logs() {
        let folder = tempfile::tempdir().unwrap();
        let (civil, later, seconds) = ("2026-11-21 10:45:02.000 CET", "2026-11-21 11:45:02.000 CET", "1795257902.000");
        let differ = |stamps: [&str; 2]| {
            let inputs = stamps.map(|stamp| {
                let path = folder.path().join(stamp);
                let entry = format!("{stamp} [7] me@shop LOG:  duration: 4.000 ms  statement: x\n");
                std::fs::write(&path, entry).unwrap();
                Input { given: Given::File(path), bytes: None, head_hash: None }
            });
            by_first_stamp(inputs.into()).1
        };
        assert_eq!((differ([civil, later]), differ([civil, seconds])), (false, true));
        // An execution of the next hour that took as long is no copy then.
        assert!(!differ(["2026-11-21 10:45:02.000 UTC", seconds]));
    }
}
