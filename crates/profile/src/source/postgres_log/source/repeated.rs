//! Executions that logs of two formats hold: a server that writes both logs each execution twice, and each counts once.

use std::hash::BuildHasher;

use super::state::{Known, LogSource};
use crate::event::Ticks;
use crate::source::postgres_log::entry::Entry;
use crate::source::postgres_log::format::LogFormat;

/// Executions that are known by their plans; the logs of a server that repeat later ones count them again.
const KNOWN_MAX: usize = 1_000_000;

impl LogSource {
    /// Whether a log of another format held this execution: the same plan, to its last figure, in the same second. A
    /// server may well run a statement twice in a second: it is repeated as often as the other log has it.
    pub(super) fn is_repeated(&mut self, entry: &Entry, plan: (Option<Ticks>, &[u8]), format: LogFormat) -> bool {
        let (Some(known), Some(time)) = (&mut self.known, entry.time) else { return false };
        let second = time.div_euclid(1_000_000);
        // One log may have the time in UTC and the other in a time zone: zones differ by quarters of an hour. Elsewhere
        // a statement that takes as long in the next log is another execution.
        let second = if self.zones_differ { second.rem_euclid(15 * 60) } else { second };
        let key = self.hasher.hash_one((second, plan));
        if known.len() >= KNOWN_MAX && !known.contains_key(&key) {
            return false;
        }
        let one = known.entry(key).or_insert(Known { format, counted: 0, here: 0, repeated: 0 });
        if one.format != format {
            (one.format, one.here) = (format, 0);
        }
        one.here += 1;
        let is_repeated = one.here <= one.counted;
        if is_repeated && one.here > one.repeated {
            one.repeated = one.here;
            self.summary.repeated += 1;
        }
        one.counted = one.counted.max(one.here);
        is_repeated
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::source::postgres_log::source::samples::{Kept, csv, jsonlog};

    #[test]
    fn entries_that_two_formats_hold_are_counted_once_and_as_often_as_they_happened() {
        let stderr = |millis| {
            format!(
                "2026-11-21 10:45:{:02}.{:03} UTC [7] me@shop LOG:  duration: 1.0 ms  plan:\n\t{{\n\t  \"Query Text\": \
                 \"select outer\",\n\t  \"Plan\": {{\"Node Type\": \"Result\"}}\n\t}}\n",
                millis / 1000,
                millis % 1000
            )
        };
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        source.known = Some(HashMap::new());
        let text: String = [1001, 1002, 2000].map(stderr).concat();
        let table: String = [1001, 1002, 2000, 3000].map(|millis| csv(millis, "1.0", "")).concat();
        let json: String = [1001, 1002, 2000, 3000].map(jsonlog).concat();
        source.read_log(text.as_bytes(), &mut kept).unwrap();
        source.read_log(table.as_bytes(), &mut kept).unwrap();
        assert_eq!((kept.calls.len(), source.summary().repeated), (4, 3));
        source.read_log(json.as_bytes(), &mut kept).unwrap();
        assert_eq!((kept.calls.len(), source.summary().repeated), (4, 4), "executions, and not their copies");
    }

    #[test]
    fn a_plan_that_no_log_has_in_a_form_that_is_read_is_no_execution_with_a_copy() {
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        source.known = Some(HashMap::new());
        for (log, quote) in [(csv(1001, "1.0", ""), "\"\""), (jsonlog(1001), "\\\"")] {
            let name = format!("{quote}Result{quote}");
            let beyond = format!("{name}, {quote}Actual Loops{quote}: 2000000000000");
            for unread in [log.replace("Plan", "Plans"), log.replace(&name, &beyond)] {
                source.read_log(unread.as_bytes(), &mut kept).unwrap();
            }
        }
        assert_eq!((kept.calls.len(), source.summary().repeated), (0, 0));
        let (accounted, _) = source.end(&mut kept);
        let kinds: Vec<&str> = accounted.unread.iter().map(|one| one.kind).collect();
        let expected = ["plans that are no JSON or have no node", "plans with implausible figures"];
        assert!(kinds.len() == 2 && expected.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    }

    #[test]
    fn an_execution_in_the_log_of_the_next_hour_is_no_copy_of_one_that_took_as_long() {
        let at = |hour: &str, entry: String| entry.replacen("10:45", hour, 1);
        let counted = |logs: &[String], zones_differ: bool| {
            let (mut kept, mut source) = (Kept::default(), LogSource::new());
            (source.known, source.zones_differ) = (Some(HashMap::new()), zones_differ);
            for log in logs {
                source.read_log(log.as_bytes(), &mut kept).unwrap();
            }
            (kept.calls.len(), source.summary().repeated)
        };
        let hour = |hour: &str| [at(hour, csv(1001, "1.0", "")), at(hour, jsonlog(1001))];
        assert_eq!(counted(&[hour("10:45"), hour("11:45")].concat(), false), (2, 2));
        assert_eq!(counted(&[at("10:45", csv(1001, "1.0", "")), at("12:45", jsonlog(1001))], true), (1, 1));
    }
}
