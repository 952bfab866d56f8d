//! A profile of a trace that is being written: it goes on where it was, and can be looked at at any time.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use measure::Finding;
use measure::schema::profile::findings as row;

use crate::ingest::{IngestSettings, Ingested, is_recognised};
use crate::input::Problem;
use crate::observe::collector::Collector;
use crate::observe::instruments::Instruments;
use crate::source::oracle::tail::{TraceTail, can_grow};
use crate::source::{Progress, Reading, SOURCES};

pub use crate::source::oracle::tail::Growth;

/// The profile so far.
pub struct Followed {
    path: PathBuf,
    settings: IngestSettings,
    tail: TraceTail,
    collector: Collector,
    instruments: Instruments,
    begun: Vec<String>,
}

impl Followed {
    /// The one plain trace that the arguments name; `None` where they name anything else, which can only be read as a
    /// whole each time.
    pub fn trace(arguments: &[PathBuf]) -> Option<&Path> {
        match arguments {
            [path] if can_grow(path) && !is_recognised(path) => Some(path),
            _ => None,
        }
    }

    /// Nothing read yet. `instruments` hear the same calls and waits as the profile.
    pub fn open(path: &Path, settings: IngestSettings, instruments: Instruments) -> Result<Followed, Problem> {
        let tail = TraceTail::open(path, settings.source)?;
        let collector = Collector::new(settings.think_time);
        Ok(Followed { path: path.into(), settings, tail, collector, instruments, begun: Vec::new() })
    }

    /// Begins again, with instruments that have heard nothing.
    pub fn begin_again(&mut self, instruments: Instruments) -> Result<(), Problem> {
        *self = Followed::open(&self.path, self.settings, instruments)?;
        Ok(())
    }

    /// Reads the lines that were added.
    pub fn read_on<'p>(&mut self, progress: &'p mut Progress<'p>) -> Result<Growth, Problem> {
        let mut reading = Reading::new((&mut self.collector, &mut self.instruments), progress);
        let growth = self.tail.read_on(&mut reading);
        self.begun.extend(reading.into_parts().1);
        // What was empty may become anything.
        let is_log = || self.tail.is_without_calls() && is_recognised(&self.path);
        if matches!(growth, Ok(Growth::Lines)) && is_log() { Ok(Growth::ServerLog) } else { growth }
    }

    /// The profile of what was read, as if the trace ended there, and what heard it. It has no file as long as there is
    /// no call and no wait.
    pub fn snapshot(&self) -> (Ingested, Instruments) {
        let (mut collector, mut instruments) = (self.collector.clone(), self.instruments.clone());
        let progress = &mut |_: &str, _: u64| ControlFlow::Continue(());
        let mut reading = Reading::new((&mut collector, &mut instruments), progress);
        let (mut files, accounting) = self.tail.finished(&mut reading);
        let (mut listeners, more) = reading.into_parts();
        let accounted = accounting.finish(&mut listeners);
        if files.iter().all(|file| file.timed_records == 0) {
            files.clear();
        }
        let ingested = Ingested {
            source: SOURCES.last().and_then(|row| row.name),
            files,
            begun: self.begun.iter().cloned().chain(more).collect(),
            ..Ingested::of(collector.finish(accounted))
        };
        (ingested, instruments)
    }
}

/// Why pages read all of what is followed.
const WHOLE: &str = "Each page reads all of what is followed again: only one plain trace is read on where the page \
                     before ended, and not several files, a compressed one, or a server's log.";

/// Most times that a trace begins anew which a page names.
const ANEW_MAX: usize = 8;

/// What a page of something that is followed has to say: why it began anew, and whether each page reads all of it.
pub fn findings(anew: &[String], way: Reread) -> Vec<Finding> {
    let sentence = |why: &String| format!("While it was followed, {why}: it was read from its beginning.");
    let mut findings: Vec<Finding> =
        anew.iter().take(ANEW_MAX).map(|why| row::FOLLOWED_ANEW.of(sentence(why))).collect();
    findings.extend((way == Reread::Whole).then(|| row::FOLLOWED_WHOLE.of(WHOLE)));
    findings
}

/// How what is followed is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reread {
    /// Only what was added.
    Added,
    /// All of it each time.
    Whole,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::event::Unit;
    use crate::observe::collector::THINK_TIME;
    use crate::source::oracle::scan::LINE_MAX;
    use crate::source::period::Period;
    use crate::source::{BindValues, ReadOptions, SourceSettings};
    use crate::tables::active_over_time::ActiveOverTime;

    const CALL: &str = "EXEC #1:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=3\n";

    fn followed(path: &Path) -> Followed {
        followed_in(path, None)
    }

    fn followed_in(path: &Path, unit: Option<Unit>) -> Followed {
        let reading = ReadOptions { workers: 1, chunk_bytes: 4096 };
        let source = SourceSettings { unit, reading, binds: BindValues::Dropped, period: Period::default() };
        Followed::open(path, IngestSettings { think_time: THINK_TIME, source }, Instruments::default()).unwrap()
    }

    #[test]
    fn a_trace_that_is_cut_while_it_is_read_is_read_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trc");
        fs::write(&path, CALL.repeat(5000)).unwrap();
        let mut followed = followed(&path);
        let mut cut = |_: &str, _: u64| {
            fs::write(&path, CALL).unwrap();
            ControlFlow::Continue(())
        };
        assert!(matches!(followed.read_on(&mut cut), Ok(Growth::Anew(_))));
        followed.begin_again(Instruments::default()).unwrap();
        let mut progress = |_: &str, _: u64| ControlFlow::Continue(());
        assert!(matches!(followed.read_on(&mut progress), Ok(Growth::Lines)));
        assert_eq!(followed.snapshot().0.files[0].timed_records, 1);
    }

    #[test]
    fn a_reading_that_a_signal_breaks_off_goes_on_where_it_was_and_skips_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trc");
        fs::write(&path, CALL.repeat(5000)).unwrap();
        let mut followed = followed(&path);
        let mut parts = 0;
        let mut break_off = |_: &str, _: u64| {
            parts += 1;
            if parts < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        assert_eq!(followed.read_on(&mut break_off).unwrap(), Growth::Nothing, "no page has a part of it");
        fs::write(&path, CALL.repeat(5001)).unwrap();
        assert_eq!(read_on(&mut followed), Growth::Lines);
        assert_eq!(followed.snapshot().0.files[0].timed_records, 5001);
        // The signal came behind all that there was.
        fs::write(&path, CALL.repeat(5002)).unwrap();
        assert_eq!(followed.read_on(&mut |_: &str, _: u64| ControlFlow::Break(())).unwrap(), Growth::Lines);
        assert_eq!(followed.snapshot().0.files[0].timed_records, 5002);
    }

    #[test]
    fn a_line_that_is_too_long_is_counted_once_however_it_is_written_and_costs_no_call_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!("{}\n", "x".repeat(5 * LINE_MAX / 2));
        for part in [LINE_MAX / 2, LINE_MAX, 2 * LINE_MAX, long.len()] {
            let path = folder.path().join(format!("{part}.trc"));
            fs::write(&path, format!("{CALL}{}", &long[..part])).unwrap();
            let mut followed = followed(&path);
            assert_eq!(read_on(&mut followed), Growth::Lines);
            let whole = format!("{CALL}{long}{CALL}");
            fs::write(&path, &whole).unwrap();
            assert_eq!(read_on(&mut followed), Growth::Lines);
            let file = &followed.snapshot().0.files[0];
            let unread: Vec<_> = file.unread.iter().map(|one| (one.kind, one.lines, one.bytes)).collect();
            assert_eq!((file.timed_records, file.bytes), (2, whole.len() as u64), "{part}");
            assert_eq!(unread, [("overlong line", 1, long.len() as u64)], "{part}");
        }
    }

    #[test]
    fn an_empty_file_that_becomes_a_log_is_not_read_as_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        for (text, is_log) in [("2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  x\n", true), ("Trace file x\n", false)] {
            let path = folder.path().join(format!("{is_log}"));
            fs::write(&path, "").unwrap();
            let mut followed = followed(&path);
            fs::write(&path, text).unwrap();
            let mut progress = |_: &str, _: u64| ControlFlow::Continue(());
            let growth = followed.read_on(&mut progress).unwrap();
            assert_eq!(growth, if is_log { Growth::ServerLog } else { Growth::Lines });
        }
    }

    /// A call of a second, all of it CPU time, that ends then.
    fn second(end: i64) -> String {
        format!("EXEC #1:c=1000000,e=1000000,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim={end}000000\n")
    }

    fn read_on(followed: &mut Followed) -> Growth {
        followed.read_on(&mut |_: &str, _: u64| ControlFlow::Continue(())).unwrap()
    }

    /// Whether all that was read has a time by the wall clock.
    fn is_by_wall_clock(followed: &Followed) -> bool {
        matches!(followed.snapshot().0.profile.active, ActiveOverTime::Known { is_wall_clock: true, .. })
    }

    #[test]
    fn lines_ahead_of_the_first_stamp_have_their_time_whenever_that_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let ahead: String = (1..=4).map(second).collect();
        let whole = format!("{ahead}*** 2003-05-06 10:00:05.000\n{}", second(5));
        for unit in [None, Some(Unit::Microsecond)] {
            for is_read in [false, true] {
                let path = folder.path().join(format!("{is_read}{}", unit.is_some()));
                fs::write(&path, &ahead).unwrap();
                let mut followed = followed_in(&path, unit);
                if is_read {
                    assert_eq!(read_on(&mut followed), Growth::Lines);
                }
                fs::write(&path, &whole).unwrap();
                if is_read {
                    assert!(matches!(read_on(&mut followed), Growth::Anew(_)), "{unit:?}");
                    followed.begin_again(Instruments::default()).unwrap();
                }
                assert_eq!(read_on(&mut followed), Growth::Lines, "{unit:?}, read before: {is_read}");
                assert!(is_by_wall_clock(&followed), "{unit:?}, read before: {is_read}");
            }
        }
    }

    #[test]
    fn a_trace_is_not_read_again_for_a_stamp_that_comes_ahead_of_all_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trc");
        let header = "Trace file x\n";
        fs::write(&path, header).unwrap();
        let mut followed = followed(&path);
        assert_eq!(read_on(&mut followed), Growth::Lines);
        let calls: String = (1..=5).map(second).collect();
        fs::write(&path, format!("{header}*** 2003-05-06 10:00:01.000\n{calls}")).unwrap();
        assert_eq!(read_on(&mut followed), Growth::Lines);
        assert!(is_by_wall_clock(&followed));
    }
}
