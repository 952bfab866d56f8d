//! Which of the files that were given and found are read: by their name, and by the time that a trace tells of.
//!
//! A server has one folder for the traces of all its sessions. To look at a few of them no other one is read whole: the
//! stamps of the wall clock near both ends of a file say from when to when it was written.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use glob::Pattern;

pub use crate::source::period::{Period, RecordingTime, WallClock};

use crate::input::{self, Expansion, Given, Problem};
use crate::source::oracle::probe::{Probe, probe};
use crate::source::oracle::record::{Batch, Body};

/// How far the wall clock of a server can be ahead of UTC.
const ZONE: Duration = Duration::from_secs(15 * 3600);

/// A name of files with `*`, `?` and `[..]` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName(Pattern);

impl FromStr for FileName {
    type Err = String;

    fn from_str(text: &str) -> Result<FileName, String> {
        if text.contains('/') {
            return Err("it is the name of a file, without its folders".into());
        }
        if text.is_empty() {
            return Err("no file has an empty name: write a name, or a pattern such as '*_ora_4711*'".into());
        }
        Pattern::new(text).map(FileName).map_err(|error| error.msg.into())
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_str())
    }
}

/// What files are chosen by; everything by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChoice {
    /// Their name.
    pub name: Option<FileName>,
    /// Only traces that were still written at this time.
    pub since: Option<WallClock>,
    /// Only traces that were begun by this time.
    pub until: Option<WallClock>,
}

impl FileChoice {
    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        *self == FileChoice::default()
    }

    /// Takes the others away, and says how many they are.
    pub(crate) fn apply(&self, expansion: &mut Expansion) -> u64 {
        if self.is_everything() {
            return 0;
        }
        let count = |expansion: &Expansion| (expansion.given.len() + expansion.candidates.len()) as u64;
        let before = count(expansion);
        let choose = |all: &mut Vec<Given>, takes: fn(&FileChoice, &Path) -> bool| {
            all.retain(|given| if let Given::File(path) = given { takes(self, path) } else { true });
        };
        choose(&mut expansion.given, FileChoice::has_name);
        choose(&mut expansion.candidates, FileChoice::has_name);
        let had_given = !expansion.given.is_empty();
        choose(&mut expansion.given, FileChoice::takes_times_of);
        choose(&mut expansion.candidates, FileChoice::takes_times_of);
        // A log in a folder is read where no trace is. Traces that their time leaves out are there, and were meant: no
        // log is chosen by its time.
        if had_given && expansion.given.is_empty() {
            expansion.candidates.clear();
        }
        // Of archives in folders, those of another name would not be read either way.
        expansion.problems.retain_mut(|problem| match problem {
            Problem::ArchivesPassedOver { paths } => {
                paths.retain(|path| self.has_name(path));
                !paths.is_empty()
            }
            _ => true,
        });
        before - count(expansion)
    }

    fn has_name(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.name.as_ref().is_none_or(|pattern| pattern.0.matches(&name))
    }

    /// Whether a file has a time in the interval. One that cannot be read is a problem where it is read, and one
    /// without a stamp may have any time.
    fn takes_times_of(&self, path: &Path) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        if self.since.is_some_and(|since| is_older(path, since)) {
            return false;
        }
        // A pipe can be read once only, and not at both ends.
        if !path.is_file() {
            return true;
        }
        let Ok(ends) = probe(path) else { return true };
        let (first, last) = (first_stamp(&ends), last_stamp(&ends));
        let is_late = self.since.zip(last).is_some_and(|(since, last)| last < since.micros());
        let is_early = self.until.zip(first).is_some_and(|(until, first)| first > until.micros());
        // The traces in an archive have times of their own, in any order, and all of them are read.
        let is_archive = || input::open(&Given::File(path.into())).is_ok_and(|bytes| bytes.contents().is_some());
        (!is_late && !is_early) || is_archive()
    }
}

/// Whether a file was last changed before that time, in whatever time zone the server is: it need not be opened.
fn is_older(path: &Path, since: WallClock) -> bool {
    let changed = fs::metadata(path).and_then(|data| data.modified());
    changed.is_ok_and(|changed| is_before(changed, since))
}

/// Whether a time of change lies before the time on the wall in every zone. A file system may give any time, even the
/// last one that there is.
fn is_before(changed: SystemTime, since: WallClock) -> bool {
    let Ok(since) = u64::try_from(since.micros()) else { return false };
    let since = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(since));
    since.zip(changed.checked_add(ZONE)).is_some_and(|(since, latest)| latest < since)
}

fn stamps(batch: &Batch) -> impl DoubleEndedIterator<Item = i64> + '_ {
    batch.records.iter().filter_map(|record| if let Body::Mark(_, clock) = &record.body { *clock } else { None })
}

fn first_stamp(ends: &Probe) -> Option<i64> {
    stamps(&ends.head).next()
}

/// The last stamp, where the end of the file was seen.
fn last_stamp(ends: &Probe) -> Option<i64> {
    let last = ends.tail.as_ref().or(Some(&ends.head).filter(|_| ends.is_whole));
    last.and_then(|batch| stamps(batch).next_back())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::expand;

    fn clock(text: &str) -> Option<WallClock> {
        Some(text.parse().unwrap())
    }

    /// The names of the files of a folder that are taken.
    fn taken(folder: &Path, choice: &FileChoice) -> (Vec<String>, u64) {
        let mut expansion = expand(&[folder.to_path_buf()]);
        let left_out = choice.apply(&mut expansion);
        let name = |given: &Given| given.name().rsplit('/').next().unwrap_or_default().to_string();
        (expansion.given.iter().map(name).collect(), left_out)
    }

    fn trace(hours: &[u32]) -> String {
        let line = |hour: &u32| format!("*** 2026-11-22 {hour:02}:00:00.000\nEXEC #1:c=1,e=2,dep=0,tim={hour}\n");
        hours.iter().map(line).collect()
    }

    #[test]
    fn files_are_chosen_by_name_and_by_the_stamps_within() {
        let folder = tempfile::tempdir().unwrap();
        for (name, hours) in [("a_1.trc", &[8, 9][..]), ("a_2.trc", &[10, 12]), ("b_3.trc", &[13]), ("a_4.trc", &[])] {
            fs::write(folder.path().join(name), trace(hours)).unwrap();
        }
        let names = |choice: FileChoice| taken(folder.path(), &choice).0;
        let named = FileChoice { name: Some("a_*".parse().unwrap()), ..FileChoice::default() };
        assert_eq!(names(named.clone()), ["a_1.trc", "a_2.trc", "a_4.trc"]);
        let since = FileChoice { since: clock("2026-11-22 11:00"), ..FileChoice::default() };
        assert_eq!(names(since.clone()), ["a_2.trc", "a_4.trc", "b_3.trc"], "one without a stamp may have any time");
        let until = FileChoice { until: clock("2026-11-22T12:30"), ..since.clone() };
        assert_eq!(names(until), ["a_2.trc", "a_4.trc"]);
        assert_eq!(taken(folder.path(), &FileChoice { ..since }).1, 1);
        assert_eq!(taken(folder.path(), &FileChoice::default()), (names(FileChoice::default()), 0));
        let tomorrow = FileChoice { since: clock("2199-01-01"), ..FileChoice::default() };
        assert!(names(tomorrow).is_empty(), "what was last changed before need not be opened");
    }

    #[test]
    fn a_log_is_not_read_in_place_of_the_traces_of_its_folder_that_their_time_leaves_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.trc"), trace(&[8])).unwrap();
        fs::write(folder.path().join("postgresql.log"), "").unwrap();
        let left_out = |choice: &FileChoice| taken(folder.path(), choice).1;
        let until = FileChoice { until: clock("2025-01-01"), ..FileChoice::default() };
        assert_eq!(left_out(&until), 2, "no file fits");
        let late = FileChoice { until: clock("2026-11-23"), ..FileChoice::default() };
        assert_eq!(left_out(&late), 0);
        let of_log = FileChoice { name: Some("*.log".parse().unwrap()), ..until };
        assert_eq!(left_out(&of_log), 1, "the log is what was named, and its times are refused");
    }

    #[test]
    fn an_archive_is_not_left_out_by_the_time_of_its_first_trace() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = tar::Builder::new(Vec::new());
        for (name, hours) in [("b.trc", [13]), ("c.trc", [8])] {
            let (text, mut header) = (trace(&hours), tar::Header::new_ustar());
            header.set_size(text.len() as u64);
            archive.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        let path = folder.path().join("a.tar");
        fs::write(&path, archive.into_inner().unwrap()).unwrap();
        let choice = FileChoice { until: clock("2026-11-22 12:30"), ..FileChoice::default() };
        let mut expansion = expand(std::slice::from_ref(&path));
        assert_eq!((choice.apply(&mut expansion), expansion.given), (0, vec![Given::File(path)]));
    }

    #[test]
    fn archives_in_a_folder_of_another_name_are_not_said_to_be_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a_1.trc", "a_2.zip", "b_3.zip", "b_4.tar"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let said = |name: &str| -> Vec<String> {
            let mut expansion = expand(&[folder.path().to_path_buf()]);
            FileChoice { name: Some(name.parse().unwrap()), ..FileChoice::default() }.apply(&mut expansion);
            expansion.problems.iter().map(ToString::to_string).collect()
        };
        let [one] = &said("a_*")[..] else { panic!("{:?}", said("a_*")) };
        assert!(one.starts_with("1 archive in a folder was passed over") && one.ends_with("a_2.zip)"), "{one}");
        assert!(said("b_*")[0].starts_with("2 archives in folders were passed over"), "{:?}", said("b_*"));
        assert!(said("*.trc").is_empty(), "{:?}", said("*.trc"));
    }

    #[test]
    fn a_packed_trace_whose_end_is_not_looked_at_is_not_left_out_by_the_stamps_of_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let calls: String = (0..30_000).map(|time| format!("EXEC #1:c=1,e=2,dep=0,mis=0,r=0,tim={time}\n")).collect();
        assert!(calls.len() > crate::source::oracle::probe::PROBE_BYTES);
        let text = trace(&[8]) + &calls + &trace(&[12]);
        let path = folder.path().join("a.trc.zst");
        fs::write(path, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
        let names = |since: &str| taken(folder.path(), &FileChoice { since: clock(since), ..FileChoice::default() }).0;
        assert_eq!(names("2026-11-22 11:00"), ["a.trc.zst"], "it goes on until 12:00");
        // One that the beginning holds whole is still left out.
        fs::write(folder.path().join("b.trc.zst"), zstd::encode_all(trace(&[8, 9]).as_bytes(), 1).unwrap()).unwrap();
        assert_eq!(names("2026-11-22 11:00"), ["a.trc.zst"]);
    }

    #[test]
    fn a_time_of_change_at_the_end_of_all_times_is_not_before_any() {
        let since = clock("2026-11-22 11:00").unwrap();
        let last = SystemTime::UNIX_EPOCH + Duration::from_secs(i64::MAX.unsigned_abs());
        assert!(!is_before(last, since) && is_before(SystemTime::UNIX_EPOCH, since));
        let first = SystemTime::UNIX_EPOCH - Duration::from_secs(i64::MAX.unsigned_abs());
        assert!(is_before(first, since) && !is_before(first, WallClock(-1)));
    }

    #[test]
    fn a_time_that_is_none_is_refused_with_how_to_write_one() {
        assert!("yesterday".parse::<WallClock>().unwrap_err().contains("2026-11-22 09:00"));
        assert!("trace/*.trc".parse::<FileName>().is_err() && "[".parse::<FileName>().is_err());
        assert!("".parse::<FileName>().unwrap_err().contains("empty"), "it would leave out every file");
        assert_eq!("1970-01-01 00:00:01".parse(), Ok(WallClock(1_000_000)));
    }

    #[test]
    fn a_time_with_an_offset_is_not_taken_for_one_without() {
        for zone in ["2026-11-22T09:00+01:00", "2026-11-22 09:00:00-05:00", "2026-11-22T09:00+00:00[UTC]"] {
            let refused = zone.parse::<WallClock>().unwrap_err();
            assert!(refused.contains("without the offset"), "{zone}: {refused}");
        }
        assert_eq!("2026-11-22T09:00".parse::<WallClock>(), "2026-11-22 09:00".parse());
        assert!("2026-11-22".parse::<WallClock>().is_ok());
    }
}
