//! In which order logs are read: by when they begin, so that a session that goes on in another log goes on in time.
//! Names that repeat each week, and lists with the newest log first, say nothing of it.

use std::io::Read;

use measure::sorting;

use super::entry::{Entry, Lines};
use super::format::{LogFormat, detect};
use crate::event::Unread;
use crate::input;
use crate::source::contract::Input;

/// Bytes at the beginning of a log in which its first stamp is looked for.
const HEAD_BYTES: u64 = 256 << 10;

/// The logs by their first stamps; of those that begin together, one in plain text last, since the others name sessions
/// by their identifiers. One without a stamp, and a pipe, of which nothing can be read twice, keep their places.
pub(super) fn by_first_stamp(inputs: Vec<Input>) -> Vec<Input> {
    if inputs.len() < 2 {
        return inputs;
    }
    let (mut stamped, mut places) = (Vec::new(), Vec::new());
    for input in inputs {
        match first_stamp(&input) {
            Some(stamp) => {
                stamped.push((stamp, input));
                places.push(None);
            }
            None => places.push(Some(input)),
        }
    }
    sorting::by_key(&mut stamped, |(stamp, _)| *stamp);
    let mut stamped = stamped.into_iter().map(|(_, input)| input);
    places.into_iter().filter_map(|kept| kept.or_else(|| stamped.next())).collect()
}

/// The first stamp of a log, and whether the log is in plain text.
fn first_stamp(input: &Input) -> Option<(i64, bool)> {
    if input.bytes.is_some() {
        return None;
    }
    let mut lines = Lines::new(input::open(&input.given).ok()?.take(HEAD_BYTES));
    let format = detect(lines.head().ok()?)?;
    let mut assembler = format.assembler();
    let mut first = None;
    let mut sink = |found: Result<&Entry, Unread>| first = first.or(found.ok().and_then(|entry| entry.time));
    // A truncated log still has a first stamp.
    while let Ok(Some(line)) = lines.read_line() {
        assembler.line(&line, &mut sink);
    }
    assembler.finish(&mut sink);
    first.map(|stamp| (stamp, format == LogFormat::Stderr))
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
        let ordered = by_first_stamp(inputs.into());
        let names: Vec<String> = ordered.iter().map(|input| input.given.name()).collect();
        assert!(names[0].ends_with("earlier.log") && names[1].ends_with("later.log.gz"), "{names:?}");
    }

    #[test]
    fn the_order_in_which_logs_that_begin_together_are_given_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let stderr = "2026-11-21 10:45:01.001 UTC [7] me@shop LOG:  duration: 4.000 ms  statement: x\n";
        let csv = "2026-11-21 10:45:01.001 UTC,\"me\",\"shop\",7,\"[local]\",69.7,3,\"SELECT\",2026-11-21 10:00:00 UTC,\
                   3/4,0,LOG,00000,\"x\",,,,,,,,,\"psql\",\"client backend\",,-42\n";
        let logs = [("a", stderr), ("b", csv)].map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        });
        for order in [[0, 1], [1, 0]] {
            let inputs = order.map(|at| Input { given: Given::File(logs[at].clone()), bytes: None, head_hash: None });
            let ordered = by_first_stamp(inputs.into());
            assert!(ordered[0].given.name().ends_with('b'), "{order:?}");
        }
    }
}
