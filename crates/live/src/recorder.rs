//! The flight recorder: what a watch sees, summed up and written as segments of a recording.
//!
//! A thread of its own writes: looks go on while a disk is slow or full. What it cannot write is said and counted as
//! lost, and the next segment is tried again.

mod news;
mod settings;
mod writer;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use measure::{Nanos, Parameters};
use profile::event::Ticks;
use profile::source::recorded::{Sums, add_counters, name_relations, rename_event};
use profile::source::sampled::{Sample, Traced};
use profile::tables::sampled::Counters;
use recording::{ACCOUNT_MAX, Folder, Own, Segment, segments};
use sys::process::process_cpu;

use crate::listener::Listener;
pub use news::News;
use news::say;
pub use settings::RecorderSettings;
use writer::Writer;

/// Segments that wait for what the server has counted meanwhile: this many of a minute, and as many short ones as end
/// in this time, in microseconds. A server that works for an answer as long as a statement of ours may take, 5 s, is
/// asked again after 50 s, and what it has counted is then of all the segments in between. A minute is a few MiB at
/// most while it waits.
const OVER_MIN: usize = 3;
const OVER_MAX: usize = 64;
const ANSWER_MAX: i64 = 60_000_000;

/// Why no segment is written any more.
const WRITER_ENDED: &str = "the thread that writes has ended";

/// A segment that is over.
struct Over {
    segment: Segment,
    /// Whether it waits for what the server has counted meanwhile, and not for those before it alone.
    wants_counters: bool,
}

/// How many segments of this length, in microseconds, wait for what the server has counted meanwhile.
fn over_max(segment: i64) -> usize {
    usize::try_from(ANSWER_MAX / segment.max(1) + 1).unwrap_or(OVER_MAX).clamp(OVER_MIN, OVER_MAX)
}

/// Records what a watch sees.
pub struct Recorder {
    sums: Sums,
    /// Segments that are over and wait, the oldest first, which waits for what the server has counted meanwhile. The
    /// answer may take longer than a segment.
    over: VecDeque<Over>,
    over_max: usize,
    /// How many of them, from the oldest on, were over when the server was asked: its answer is of them all.
    asked: usize,
    /// Since when the server has been away, by the wall clock, and whether that was said.
    away: Option<i64>,
    is_unreached: bool,
    /// Whether anything was sampled since the server's last answer, and since the last time without samples.
    is_sampled: bool,
    /// How many sessions the server did not show last, and most since the last segment was cut.
    hidden: (u64, u64),
    /// The names of relations by the paths of their files.
    names: BTreeMap<String, String>,
    /// The CPU time of this process when the last segment was cut.
    cpu: Nanos,
    settings: RecorderSettings,
    outbox: Option<SyncSender<Segment>>,
    writer: Option<JoinHandle<()>>,
    news: Arc<Mutex<News>>,
}

impl Recorder {
    /// Begins to record to this folder.
    ///
    /// # Errors
    /// Where the thread that writes cannot be started.
    pub fn start(folder: Folder, settings: RecorderSettings) -> io::Result<Recorder> {
        let over_max = over_max(settings.sums.segment);
        // When the server goes away, all that are over come at once, and the last one.
        let (outbox, inbox) = sync_channel(over_max + 1);
        let news: Arc<Mutex<News>> = Arc::default();
        let told = Arc::clone(&news);
        let newest = segments(folder.path())?.last().map(|(name, _)| name.end);
        let writer = Writer::new(folder, settings, told, newest);
        let writer = thread::Builder::new().name("recorder".into()).spawn(move || writer.run(&inbox))?;
        let sums = Sums::new((settings.clock)(), Parameters::new(), settings.sums);
        Ok(Recorder {
            sums,
            over: VecDeque::new(),
            over_max,
            asked: 0,
            away: None,
            is_unreached: false,
            is_sampled: false,
            hidden: (0, 0),
            names: BTreeMap::new(),
            cpu: process_cpu(),
            settings,
            outbox: Some(outbox),
            writer: Some(writer),
            news,
        })
    }

    /// What was done so far, for a listener that is given away.
    pub fn news(&self) -> Arc<Mutex<News>> {
        Arc::clone(&self.news)
    }

    fn now(&self) -> i64 {
        (self.settings.clock)()
    }

    /// A segment that was just cut, with what it took to record it.
    fn cut(&mut self, segment: Option<Segment>) -> Option<Segment> {
        let mut segment = segment?;
        let now = process_cpu();
        let cpu = now.since(std::mem::replace(&mut self.cpu, now));
        segment.own = Some(Own { cpu: i64::try_from(cpu.0).unwrap_or(i64::MAX), session: None });
        segment.hidden = std::mem::replace(&mut self.hidden.1, self.hidden.0);
        Some(segment)
    }

    /// Has a segment wait for those before it, and for what it wants itself.
    fn hold(&mut self, over: Over) {
        self.over.push_back(over);
        self.write_settled();
    }

    /// Writes the segments that wait for nothing any more. The oldest of too many is written without counters.
    fn write_settled(&mut self) {
        while self.over.front().is_some_and(|first| !first.wants_counters || self.over.len() > self.over_max) {
            let first = self.over.pop_front();
            self.asked = self.asked.saturating_sub(1);
            self.write(first.map(|over| over.segment));
        }
    }

    fn write(&mut self, segment: Option<Segment>) {
        let (Some(mut segment), Some(outbox)) = (segment, &self.outbox) else { return };
        name_relations(&mut segment, &self.names);
        match outbox.try_send(segment) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.lose_segment("the disk does not take what is recorded"),
            Err(TrySendError::Disconnected(_)) => self.lose_segment(WRITER_ENDED),
        }
    }

    /// Counts a segment that is not written, for this reason.
    fn lose_segment(&self, why: &str) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.lost += 1;
        say(&mut news, format!("{why}: a segment is lost."));
    }
}

/// The last segment is written before it is gone.
impl Drop for Recorder {
    fn drop(&mut self) {
        let last = self.sums.take(self.now());
        let last = self.cut(last);
        if let Some(outbox) = self.outbox.take() {
            let over = std::mem::take(&mut self.over);
            for mut segment in over.into_iter().map(|over| over.segment).chain(last) {
                name_relations(&mut segment, &self.names);
                // It may wait for the disk here.
                if outbox.send(segment).is_err() {
                    self.lose_segment(WRITER_ENDED);
                }
            }
        }
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Listener for Recorder {
    fn begin(&mut self, subject: Parameters, untraced: Option<&str>) {
        if self.sums.set_subject(subject, untraced) {
            self.say(
                "another server answers now, by its system identifier: a profile of the folder reads one of them, that \
                 of the first segment of its time (--from, --to)."
                    .into(),
            );
        }
    }

    fn look(&mut self, since: Ticks, samples: &[Sample]) {
        self.is_sampled |= since > Ticks::ZERO;
        let over = self.sums.look(self.now(), since, samples);
        if let Some(segment) = self.cut(over) {
            self.hold(Over { segment, wants_counters: true });
        }
    }

    fn rename(&mut self, was: &str, is: &str) {
        for over in &mut self.over {
            rename_event(&mut over.segment, was, is);
        }
        self.sums.rename(was, is);
    }

    fn trace(&mut self, (at, samples): (i64, &[Sample]), traced: Traced, names: &BTreeMap<String, String>) {
        self.sums.trace(at, samples, traced);
        // They only become more.
        if names.len() != self.names.len() {
            self.names.clone_from(names);
        }
    }

    fn wants_counters(&mut self) -> bool {
        self.asked = self.over.len();
        self.asked > 0
    }

    fn hidden(&mut self, sessions: u64) {
        self.hidden = (sessions, self.hidden.1.max(sessions));
    }

    fn counted(&mut self, counted: &BTreeMap<i64, (Counters, String)>, account: Option<Ticks>, own: Duration) {
        self.is_sampled = false;
        // Where the server's clock was set ahead, each statement under way has run for as long.
        let account = account.and_then(Ticks::nanos).filter(|account| *account <= ACCOUNT_MAX);
        let own = i64::try_from(own.as_nanos()).ok();
        // A reader takes a segment with none of the time of our session for one whose answer stands in a later one. An
        // answer that says nothing is none of theirs either.
        let least = i64::from(account.is_none() && counted.is_empty());
        // Where several were over when the server was asked, the last one gets all of it: so their sum is right, and a
        // server that is slow is asked once.
        let of_answer = self.over.iter_mut().take(std::mem::take(&mut self.asked)).filter(|over| over.wants_counters);
        for (place, over) in of_answer.rev().enumerate() {
            let (is_last, segment) = (place == 0, &mut over.segment);
            if is_last {
                add_counters(segment, counted);
            }
            segment.account = account.map(|account| if is_last { account } else { 0 });
            if let Some(of_recording) = &mut segment.own {
                of_recording.session = own.map(|own| if is_last { own } else { least });
            }
            over.wants_counters = false;
        }
        self.write_settled();
    }

    fn blocking(&mut self, answer: &[(u32, Vec<u32>)]) {
        self.sums.blocking(answer);
    }

    fn takes_texts(&mut self) -> bool {
        self.sums.takes_texts()
    }

    fn say(&mut self, sentence: String) {
        say(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner), sentence);
    }

    fn away(&mut self) {
        let now = self.now();
        self.away.get_or_insert(now);
        self.asked = 0;
        while let Some(over) = self.over.pop_front() {
            self.write(Some(over.segment));
        }
        let over = self.sums.take(self.now());
        let over = self.cut(over);
        self.write(over);
    }

    fn unreached(&mut self, reason: &str) {
        let since = time_of_day(self.away.unwrap_or_else(|| self.now()));
        self.is_unreached = true;
        self.say(format!(
            "the server has been unreachable since {since}: {reason}. It is tried again until it answers, and nothing \
             is recorded meanwhile."
        ));
    }

    fn back(&mut self) {
        self.away = None;
        if std::mem::take(&mut self.is_unreached) {
            self.say("the server can be reached again.".into());
        }
    }

    fn lose(&mut self, time: Ticks, reason: &str) {
        let over = self.sums.lose(self.now(), time, reason);
        // Where the time was that of the server's last answer, it is not asked once more: the next answer would take as
        // long, and end in another time without samples, and so on. Segments are written in their order all the same.
        let wants_counters = std::mem::take(&mut self.is_sampled);
        if let Some(segment) = self.cut(over) {
            self.hold(Over { segment, wants_counters });
        }
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        say(&mut news, format!("nothing was recorded for {:.1} s: {reason}.", time.micros() / 1e6));
    }
}

/// A time of day of the wall clock, UTC as everywhere in readpath.
fn time_of_day(micros: i64) -> String {
    let second = micros.div_euclid(1_000_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use profile::source::recorded::{IDENTIFIER, SumsSettings};
    use recording::{Head, Limits, SegmentName};

    use super::*;

    pub(super) const MINUTE: i64 = 60_000_000;
    pub(super) const BEGIN: i64 = 1_795_428_900_000_000;

    fn wanting(segment: Segment) -> Over {
        Over { segment, wants_counters: true }
    }

    #[test]
    fn a_server_that_answers_so_late_that_nothing_is_sampled_meanwhile_is_not_asked_at_once_again() {
        let place = tempfile::tempdir().unwrap();
        let mut recorder = started(place.path());
        let (look, gap) = (Ticks::from_micros(20_000), Ticks::from_micros(2_000_000));
        let lose = |recorder: &mut Recorder| {
            recorder.lose(gap, "the server was slow to answer");
            recorder.wants_counters()
        };
        recorder.look(look, &[]);
        let head = Head { begin: BEGIN, end: BEGIN, ..Head::default() };
        recorder.hold(wanting(Segment { head, ..Segment::default() }));
        assert!(recorder.wants_counters());
        // The answer comes two seconds later, and with the next look they are lost.
        recorder.counted(&BTreeMap::new(), None, Duration::ZERO);
        assert!(!lose(&mut recorder) && !lose(&mut recorder), "each answer would cost two seconds more");
        recorder.look(look, &[]);
        assert!(lose(&mut recorder), "a pause of another reason");
        drop(recorder);
        assert_eq!(segments(place.path()).unwrap().len(), 5, "all of them are written");
    }

    fn started(place: &std::path::Path) -> Recorder {
        let limits = Limits { age: None, bytes: None };
        let settings = RecorderSettings { limits, sums: SumsSettings::default(), clock: || BEGIN };
        Recorder::start(Folder::open(place).unwrap(), settings).unwrap()
    }

    #[test]
    fn the_last_segments_are_not_lost_without_a_word_where_the_thread_that_writes_has_ended() {
        let place = tempfile::tempdir().unwrap();
        let mut recorder = started(place.path());
        let news = recorder.news();
        recorder.outbox = Some(sync_channel(1).0);
        recorder.over.push_back(wanting(Segment::default()));
        drop(recorder);
        let news = news.lock().unwrap();
        assert_eq!((news.lost, news.said.len()), (1, 1), "{:?}", news.said);
    }

    #[test]
    fn segments_that_wait_for_an_answer_which_says_nothing_do_not_count_as_answered_by_a_later_one() {
        let place = tempfile::tempdir().unwrap();
        let mut recorder = started(place.path());
        for minute in 0..2 {
            let begin = BEGIN + minute * MINUTE;
            let head = Head { begin, end: begin + MINUTE, ..Head::default() };
            recorder.hold(wanting(Segment { head, own: Some(Own::default()), ..Segment::default() }));
        }
        assert!(recorder.wants_counters());
        recorder.counted(&BTreeMap::new(), None, Duration::from_nanos(5));
        drop(recorder);
        let read = |(name, _): &(SegmentName, u64)| recording::read(&place.path().join(name.to_string())).unwrap().0;
        let written: Vec<Segment> = segments(place.path()).unwrap().iter().map(read).collect();
        let sessions: Vec<Option<i64>> = written.iter().map(|one| one.own?.session).collect();
        assert_eq!(sessions, [Some(1), Some(5)]);
    }

    #[test]
    fn a_server_whose_clock_was_set_ahead_by_months_leaves_no_segment_that_no_reader_takes() {
        let place = tempfile::tempdir().unwrap();
        let mut recorder = started(place.path());
        let head = Head { begin: BEGIN, end: BEGIN, ..Head::default() };
        recorder.hold(wanting(Segment { head, own: Some(Own::default()), ..Segment::default() }));
        assert!(recorder.wants_counters());
        let months = Ticks::from_micros(90 * 86_400_000_000);
        recorder.counted(&BTreeMap::new(), Some(months), Duration::from_nanos(5));
        drop(recorder);
        let (name, _) = segments(place.path()).unwrap()[0];
        let (written, _) = recording::read(&place.path().join(name.to_string())).unwrap();
        assert_eq!((written.account, written.own.and_then(|own| own.session)), (None, Some(5)));
    }

    #[test]
    fn another_server_at_the_same_address_is_not_recorded_without_a_word() {
        let place = tempfile::tempdir().unwrap();
        let mut recorder = started(place.path());
        let said = ["741", "741", "742"].map(|identifier| {
            recorder.begin([(IDENTIFIER.to_string(), identifier.into())].into_iter().collect(), None);
            recorder.news.lock().unwrap().said.len()
        });
        assert_eq!(said, [0, 0, 1]);
    }

    #[test]
    fn each_segment_says_how_many_sessions_of_its_time_the_server_did_not_show() {
        let place = tempfile::tempdir().unwrap();
        let mut recorder = started(place.path());
        let mut cut = |counts: &[u64]| {
            counts.iter().for_each(|sessions| recorder.hidden(*sessions));
            recorder.cut(Some(Segment::default())).map(|segment| segment.hidden)
        };
        // Until the server is asked again, those of the last answer are still there.
        assert_eq!([cut(&[3, 9, 2]), cut(&[]), cut(&[0]), cut(&[])], [Some(9), Some(2), Some(2), Some(0)]);
    }

    #[test]
    fn segments_before_and_after_a_pause_are_written_in_their_order() {
        let place = tempfile::tempdir().unwrap();
        let clock = || BEGIN + 2 * MINUTE;
        let limits = Limits { age: None, bytes: None };
        let settings = RecorderSettings { limits, sums: SumsSettings::default(), clock };
        let mut recorder = Recorder::start(Folder::open(place.path()).unwrap(), settings).unwrap();
        let head = |begin: i64| Head { begin, end: begin + MINUTE, ..Head::default() };
        // This one waits for what the server has counted meanwhile.
        recorder.hold(wanting(Segment { head: head(BEGIN), ..Segment::default() }));
        recorder.look(Ticks::from_micros(1_000), &[]);
        recorder.lose(Ticks::from_micros(2_000_000), "readpath did not run");
        drop(recorder);
        let begins: Vec<i64> = segments(place.path()).unwrap().iter().map(|(name, _)| name.begin).collect();
        assert!(begins.len() > 1 && begins.is_sorted() && begins[0] == BEGIN, "{begins:?}");
    }

    #[test]
    fn an_answer_that_takes_longer_than_a_segment_goes_to_the_segment_for_which_the_server_was_asked() {
        let place = tempfile::tempdir().unwrap();
        let limits = Limits { age: None, bytes: None };
        let settings = RecorderSettings { limits, sums: SumsSettings::default(), clock: || BEGIN + 9 * MINUTE };
        let mut recorder = Recorder::start(Folder::open(place.path()).unwrap(), settings).unwrap();
        let segment = |minute: i64| {
            let begin = BEGIN + minute * MINUTE;
            Segment { head: Head { begin, end: begin + MINUTE, ..Head::default() }, ..Segment::default() }
        };
        recorder.hold(wanting(segment(0)));
        assert!(recorder.wants_counters());
        recorder.hold(wanting(segment(1)));
        recorder.counted(&BTreeMap::new(), Some(Ticks::from_micros(7)), Duration::ZERO);
        let left: Vec<(i64, bool)> =
            recorder.over.iter().map(|over| (over.segment.head.begin, over.segment.account.is_some())).collect();
        assert_eq!((left.as_slice(), recorder.wants_counters()), ([(BEGIN + MINUTE, false)].as_slice(), true));
        (2..6).for_each(|minute| recorder.hold(wanting(segment(minute))));
        assert_eq!(recorder.over.len(), OVER_MIN, "the oldest are written without an answer");
        drop(recorder);
        let begins: Vec<i64> = segments(place.path()).unwrap().iter().map(|(name, _)| name.begin).collect();
        assert_eq!(begins, (0..6).map(|minute| BEGIN + minute * MINUTE).collect::<Vec<i64>>());
    }

    #[test]
    fn an_answer_that_takes_many_short_segments_goes_to_the_one_for_which_the_server_was_asked() {
        assert_eq!([60, 10, 5, 1].map(|seconds| over_max(seconds * 1_000_000)), [3, 7, 13, 61]);
        let place = tempfile::tempdir().unwrap();
        let limits = Limits { age: None, bytes: None };
        let sums = SumsSettings { segment: 1_000_000, ..SumsSettings::default() };
        let settings = RecorderSettings { limits, sums, clock: || BEGIN + MINUTE };
        let mut recorder = Recorder::start(Folder::open(place.path()).unwrap(), settings).unwrap();
        let hold = |recorder: &mut Recorder, seconds: std::ops::Range<i64>| {
            for second in seconds {
                let begin = BEGIN + second * 1_000_000;
                let head = Head { begin, end: begin + 1_000_000, ..Head::default() };
                recorder.hold(wanting(Segment { head, own: Some(Own::default()), ..Segment::default() }));
            }
            assert!(recorder.wants_counters());
        };
        let answer = |recorder: &mut Recorder, micros: i64| {
            recorder.counted(&BTreeMap::new(), Some(Ticks::from_micros(micros)), Duration::from_nanos(5));
        };
        hold(&mut recorder, 0..1);
        // The server answers after 14 further ones, and is asked for them all together.
        let asked = recorder.asked;
        hold(&mut recorder, 1..15);
        recorder.asked = asked;
        answer(&mut recorder, 7);
        assert!(recorder.wants_counters() && recorder.over.len() == 14);
        answer(&mut recorder, 9);
        assert!(!recorder.wants_counters());
        drop(recorder);
        let read = |(name, _): &(SegmentName, u64)| recording::read(&place.path().join(name.to_string())).unwrap().0;
        let written: Vec<Segment> = segments(place.path()).unwrap().iter().map(read).collect();
        let accounts: Vec<Option<i64>> = written.iter().map(|one| one.account).collect();
        let expected: Vec<Option<i64>> = [vec![Some(7_000)], vec![Some(0); 13], vec![Some(9_000)]].concat();
        assert_eq!(accounts, expected);
        let sessions: i64 = written.iter().filter_map(|one| one.own?.session).sum();
        assert_eq!(sessions, 10);
    }

    #[test]
    fn a_long_outage_is_said_with_its_begin_and_its_end_and_a_short_one_with_its_length_alone() {
        let place = tempfile::tempdir().unwrap();
        let mut recorder = started(place.path());
        let reason = "the server closed the connection";
        let mut said_of = |is_long: bool| {
            recorder.away();
            if is_long {
                recorder.unreached(reason);
            }
            recorder.back();
            recorder.lose(Ticks::from_micros(3_000_000), reason);
            std::mem::take(&mut recorder.news.lock().unwrap().said)
        };
        let length = format!("nothing was recorded for 3.0 s: {reason}.");
        assert_eq!(said_of(false), std::slice::from_ref(&length));
        let begin = format!("the server has been unreachable since 10:15:00Z: {reason}. It is tried again");
        let said = said_of(true);
        assert!(said[0].starts_with(&begin), "{said:?}");
        assert_eq!(said[1..], ["the server can be reached again.".to_string(), length]);
    }
}
