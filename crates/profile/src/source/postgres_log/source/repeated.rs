//! Executions that logs of two formats hold: a server that writes both logs each execution twice, and each counts once.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::event::Ticks;
use crate::source::postgres_log::entry::Entry;
use crate::source::postgres_log::format::LogFormat;

/// Executions that are known by their plans; the logs of a server that repeat later ones count them again.
const KNOWN_MAX: usize = 1_000_000;

/// The executions of several logs: the same plan, to its last figure, in the same second. A server may well run a
/// statement twice in a second: it counts as often as the logs of one format have it, whichever has it most often.
#[derive(Debug, Default)]
pub(super) struct Executions {
    /// How often the logs of each format have one, apart for local time and UTC.
    by_zone: HashMap<u64, [u32; 4]>,
    /// The same over all zones. One log may have the time in UTC and the other in a time zone: zones differ by quarters
    /// of an hour.
    known: HashMap<u64, Known>,
    hasher: RandomState,
}

/// An execution.
#[derive(Debug, Default)]
struct Known {
    /// How often it is in logs of local time, and in those of UTC.
    counted: [u32; 2],
    /// How many of them logs of two formats have.
    repeated: [u32; 2],
    /// The formats of these logs, a bit each.
    formats: [u8; 2],
    /// The session of the last one that counted.
    session: u32,
}

impl Known {
    /// How often it happened, and how many of these several logs have.
    fn sums(&self) -> [u32; 2] {
        let ([local, utc], [of_local, of_utc]) = (self.counted, self.repeated);
        match self.formats[0] & self.formats[1] {
            0 => [local.max(utc), local.min(utc).max(of_local).max(of_utc)],
            // A log has each execution once: where one format is in both zones, these are of two servers.
            _ => [local + utc, of_local + of_utc],
        }
    }
}

/// What an execution is to those before it.
pub(super) struct Added {
    /// Where its session is kept.
    pub(super) key: u64,
    /// Whether it is none of a log of another format.
    pub(super) is_new: bool,
    /// How many executions more are in several logs.
    pub(super) repeated: u32,
}

impl Executions {
    /// Takes an execution of a log of this format; `None` where it has no time, or there is no room for it.
    pub(super) fn add(&mut self, entry: &Entry, plan: (Option<Ticks>, &[u8]), format: LogFormat) -> Option<Added> {
        let second = entry.time?.div_euclid(1_000_000);
        // Logs of tables and of objects are text when they are read; one in plain text may have other bytes than UTF-8.
        let plan = self.hasher.hash_one((plan.0, String::from_utf8_lossy(plan.1)));
        let of_zone = self.hasher.hash_one((plan, second, entry.is_utc()));
        if self.by_zone.len() >= KNOWN_MAX && !self.by_zone.contains_key(&of_zone) {
            return None;
        }
        let formats = self.by_zone.entry(of_zone).or_default();
        let before = first_two(formats);
        formats[format as usize] += 1;
        let after = first_two(formats);
        let key = self.hasher.hash_one((plan, second.rem_euclid(15 * 60)));
        let known = self.known.entry(key).or_default();
        let [counted, repeated] = known.sums();
        let zone = usize::from(entry.is_utc());
        known.formats[zone] |= 1 << (format as u8);
        known.counted[zone] += after[0] - before[0];
        known.repeated[zone] += after[1] - before[1];
        let sums = known.sums();
        Some(Added { key, is_new: sums[0] > counted, repeated: sums[1].saturating_sub(repeated) })
    }

    /// The session of an execution.
    pub(super) fn session(&mut self, key: u64) -> Option<&mut u32> {
        self.known.get_mut(&key).map(|known| &mut known.session)
    }
}

/// The greatest count, and the next one.
fn first_two(counts: &[u32]) -> [u32; 2] {
    counts.iter().fold([0_u32, 0], |[first, next], count| [first.max(*count), next.max(first.min(*count))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::postgres_log::source::registry::NAME_BYTES_MAX;
    use crate::source::postgres_log::source::state::LogSource;
    use crate::source::postgres_log::source::tests::samples::{Kept, csv, jsonlog};

    /// A source that has read these logs, one after the other.
    fn read(logs: &[String]) -> (Kept, LogSource) {
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        source.known = Some(Executions::default());
        for log in logs {
            source.read_log(log.as_bytes(), &mut kept).unwrap();
        }
        (kept, source)
    }

    fn stderr(millis: u32) -> String {
        format!(
            "2026-11-21 10:45:{:02}.{:03} UTC [7] me@shop LOG:  duration: 1.0 ms  plan:\n\t{{\n\t  \"Query Text\": \
             \"select outer\",\n\t  \"Plan\": {{\"Node Type\": \"Result\"}}\n\t}}\n",
            millis / 1000,
            millis % 1000
        )
    }

    /// How many executions count, and how many of them are in several logs.
    fn counted(logs: &[String]) -> (usize, u64) {
        let (kept, source) = read(logs);
        (kept.calls.len(), source.summary.repeated)
    }

    #[test]
    fn entries_that_two_formats_hold_are_counted_once_and_as_often_as_they_happened() {
        let text: String = [1001, 1002, 2000].map(stderr).concat();
        let table: String = [1001, 1002, 2000, 3000].map(|millis| csv(millis, "1.0", "")).concat();
        let json: String = [1001, 1002, 2000, 3000].map(jsonlog).concat();
        assert_eq!(counted(&[text.clone(), table.clone()]), (4, 3));
        assert_eq!(counted(&[text, table, json]), (4, 4), "executions, and not their copies");
    }

    #[test]
    fn a_copy_of_a_log_counts_twice_whichever_of_the_logs_is_read_first() {
        let logs = [csv(1001, "1.0", ""), csv(1001, "1.0", ""), jsonlog(1001), stderr(1001)];
        for order in [[0, 1, 2, 3], [0, 2, 1, 3], [2, 0, 3, 1], [3, 2, 0, 1]] {
            assert_eq!(counted(&order.map(|at| logs[at].clone())), (2, 1), "{order:?}");
        }
    }

    #[test]
    fn a_log_in_local_time_and_one_in_seconds_since_1970_hold_the_same_executions() {
        let local = |hour: &str| csv(1001, "1.0", "").replacen("10:45", hour, 1).replacen("UTC", "CET", 1);
        let seconds = stderr(1001).replace("2026-11-21 10:45:01.001 UTC", "1795257901.001");
        for logs in [[local("11:45"), seconds.clone()], [seconds.clone(), local("11:45")]] {
            assert_eq!(counted(&logs), (1, 1));
        }
        let three = [local("11:45"), seconds.clone(), local("11:45")];
        assert_eq!(counted(&three), (2, 1), "and a copy");
        assert_eq!(counted(&[local("11:45"), csv(1001, "1.0", "")]), (2, 0), "of two servers");
        // Where both are in UTC, an execution of the next hour that took as long is no copy.
        let next = csv(1001, "1.0", "").replacen("10:45", "11:45", 1);
        assert_eq!(counted(&[seconds, next]), (2, 0));
    }

    #[test]
    fn an_execution_in_another_encoding_than_utf_8_counts_once_in_two_formats() {
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        source.known = Some(Executions::default());
        for log in [stderr(1001), csv(1001, "1.0", "")] {
            let mut bytes = log.into_bytes();
            let at = memchr::memmem::find(&bytes, b"outer").unwrap();
            // A letter in LATIN1.
            bytes[at] = 0xfc;
            source.read_log(bytes.as_slice(), &mut kept).unwrap();
        }
        assert_eq!((kept.calls.len(), source.summary.repeated), (1, 1));
    }

    #[test]
    fn a_session_that_two_formats_name_in_their_ways_is_one() {
        for logs in [[stderr(1001) + &stderr(2000), csv(1001, "1.0", "")], [csv(1001, "1.0", ""), stderr(1001)]] {
            let more = if logs[0].contains("69.7") { stderr(3000) } else { csv(3000, "1.0", "") };
            let [first, second] = logs;
            let (kept, mut source) = read(&[first, second + &more]);
            let sessions: Vec<u32> = kept.calls.iter().map(|call| call.session.0).collect();
            assert!(sessions.len() >= 2 && sessions.iter().all(|session| *session == 0), "{sessions:?}");
            assert_eq!(source.session("69.8").0, 1, "another process");
        }
        // Two identifiers are two sessions, also where an execution of one is taken for that of the other.
        let (kept, mut source) = read(&[csv(1001, "1.0", ""), jsonlog(1001).replace("69.7", "6a.7")]);
        assert_eq!((kept.calls.len(), source.session("69.7").0, source.session("6a.7").0), (1, 0, 1));
        let long = jsonlog(1001).replace("\"69.7", &format!("\"{}.7", "f".repeat(NAME_BYTES_MAX)));
        let (_, source) = read(&[stderr(1001), long]);
        assert_eq!((source.summary.repeated, source.sessions.len()), (1, 1), "a name without end fills no memory");
        // Another session may have had the number of the process before.
        let (kept, _) = read(&[stderr(1001), csv(2000, "1.0", "")]);
        assert_eq!(kept.calls.iter().map(|call| call.session.0).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_plan_that_no_log_has_in_a_form_that_is_read_is_no_execution_with_a_copy() {
        let unread = [(csv(1001, "1.0", ""), "\"\""), (jsonlog(1001), "\\\"")].map(|(log, quote)| {
            let name = format!("{quote}Result{quote}");
            let beyond = format!("{name}, {quote}Actual Loops{quote}: 2000000000000");
            [log.replace("Plan", "Plans"), log.replace(&name, &beyond)]
        });
        let (mut kept, source) = read(unread.as_flattened());
        assert_eq!((kept.calls.len(), source.summary.repeated), (0, 0));
        let (accounted, _) = source.end(&mut kept);
        let kinds: Vec<&str> = accounted.unread.iter().map(|one| one.kind).collect();
        let expected = ["plans that are no JSON or have no node", "plans with implausible figures"];
        assert!(kinds.len() == 2 && expected.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    }

    #[test]
    fn an_execution_in_the_log_of_the_next_hour_is_no_copy_of_one_that_took_as_long() {
        let hour = |hour: &str| [csv(1001, "1.0", ""), jsonlog(1001)].map(|entry| entry.replacen("10:45", hour, 1));
        assert_eq!(counted(&[hour("10:45"), hour("11:45")].concat()), (2, 2));
        let [[first, _], [_, second]] = [hour("10:45"), hour("11:45")];
        assert_eq!(counted(&[first, second]), (2, 0), "each in a log of its own");
    }
}
