//! The flight recorder: what a watch sees, summed up and written as segments of a recording.
//!
//! A thread of its own writes: looks go on while a disk is slow or full. What it cannot write is said and counted as
//! lost, and the next segment is tried again.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use measure::{Nanos, Parameters};
use profile::event::Ticks;
use profile::source::recorded::{Sums, SumsSettings, add_counters, name_relations, rename_event};
use profile::source::sampled::{Sample, Traced};
use profile::tables::sampled::Counters;
use recording::{Folder, Limits, NotRemoved, Own, Segment, SegmentName, encode, segments};
use sys::process::process_cpu;

use crate::listener::Listener;

/// Segments that wait for what the server has counted meanwhile. A segment is a few MiB at most while it waits.
const OVER_MAX: usize = 3;

/// Segments that wait for the disk: when the server goes away, all that are over come at once, and the last one.
const WAITING_MAX: usize = OVER_MAX + 1;

/// Sentences that wait to be said.
const SAID_MAX: usize = 64;

/// Where a segment ends so much later than the one before, in microseconds, the clock may have been set: then no
/// segment is removed for its age until as many further ones are written as hold an hour, which are this number at
/// least. A clock that is wrong for an hour empties no folder.
const STEP: i64 = 3_600_000_000;
const HELD_MIN: u32 = 60;

/// How a recorder records.
#[derive(Clone, Copy, Debug)]
pub struct RecorderSettings {
    /// How much is kept.
    pub limits: Limits,
    /// What is written, and how long a segment is.
    pub sums: SumsSettings,
    /// The wall clock, in microseconds since 1970, UTC.
    pub clock: fn() -> i64,
}

/// What a recorder has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Segments that were written.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Segments that were removed because of the limits.
    pub removed: u64,
    /// Segments that could not be written.
    pub lost: u64,
    /// What is to be said, each once.
    pub said: Vec<String>,
}

/// A segment that is over.
struct Over {
    segment: Segment,
    /// Whether it waits for what the server has counted meanwhile, and not for those before it alone.
    wants_counters: bool,
}

/// Records what a watch sees.
pub struct Recorder {
    sums: Sums,
    /// Segments that are over and wait, the oldest first, which waits for what the server has counted meanwhile. The
    /// answer may take longer than a segment.
    over: VecDeque<Over>,
    /// Whether anything was sampled since the server's last answer, and since the last time without samples.
    is_sampled: bool,
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
        let (outbox, inbox) = sync_channel(WAITING_MAX);
        let news: Arc<Mutex<News>> = Arc::default();
        let told = Arc::clone(&news);
        let newest = segments(folder.path())?.last().map(|(name, _)| name.end);
        let writer = Writer { folder, settings, news: told, is_failing: false, unremoved: None, newest, held: 0 };
        let writer = thread::Builder::new().name("recorder".into()).spawn(move || writer.run(&inbox))?;
        let sums = Sums::new((settings.clock)(), Parameters::new(), settings.sums);
        Ok(Recorder {
            sums,
            over: VecDeque::new(),
            is_sampled: false,
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
        Some(segment)
    }

    /// Has a segment wait for those before it, and for what it wants itself.
    fn hold(&mut self, over: Over) {
        self.over.push_back(over);
        self.write_settled();
    }

    /// Writes the segments that wait for nothing any more. The oldest of too many is written without counters.
    fn write_settled(&mut self) {
        while self.over.front().is_some_and(|first| !first.wants_counters || self.over.len() > OVER_MAX) {
            let first = self.over.pop_front();
            self.write(first.map(|over| over.segment));
        }
    }

    fn write(&mut self, segment: Option<Segment>) {
        let (Some(mut segment), Some(outbox)) = (segment, &self.outbox) else { return };
        name_relations(&mut segment, &self.names);
        let refused = match outbox.try_send(segment) {
            Ok(()) => return,
            Err(TrySendError::Full(_)) => "the disk does not take what is recorded",
            Err(TrySendError::Disconnected(_)) => "the thread that writes has ended",
        };
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.lost += 1;
        say(&mut news, format!("{refused}: a segment is lost."));
    }
}

/// The last segment is written before it is gone.
impl Drop for Recorder {
    fn drop(&mut self) {
        let last = self.sums.take(self.now());
        let last = self.cut(last);
        if let Some(outbox) = self.outbox.take() {
            for mut segment in self.over.drain(..).map(|over| over.segment).chain(last) {
                name_relations(&mut segment, &self.names);
                // It may wait for the disk here.
                let _ = outbox.send(segment);
            }
        }
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Listener for Recorder {
    fn begin(&mut self, subject: Parameters, untraced: Option<&str>) {
        self.sums.set_subject(subject, untraced);
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

    fn wants_counters(&self) -> bool {
        !self.over.is_empty()
    }

    fn counted(&mut self, counted: &BTreeMap<i64, (Counters, String)>, account: Option<Ticks>, own: Duration) {
        self.is_sampled = false;
        // The first that waits is the one for which the server was asked.
        let Some(Over { mut segment, .. }) = self.over.pop_front() else { return };
        add_counters(&mut segment, counted);
        segment.account = account.and_then(Ticks::nanos);
        if let Some(of_recording) = &mut segment.own {
            of_recording.session = i64::try_from(own.as_nanos()).ok();
        }
        self.write(Some(segment));
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
        while let Some(over) = self.over.pop_front() {
            self.write(Some(over.segment));
        }
        let over = self.sums.take(self.now());
        let over = self.cut(over);
        self.write(over);
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

/// What writes segments.
struct Writer {
    folder: Folder,
    settings: RecorderSettings,
    news: Arc<Mutex<News>>,
    is_failing: bool,
    /// Why old segments could not be removed the last time.
    unremoved: Option<String>,
    /// Where the newest segment ended.
    newest: Option<i64>,
    /// Segments that are to be written before one is removed for its age.
    held: u32,
}

impl Writer {
    fn run(mut self, inbox: &Receiver<Segment>) {
        while let Ok(segment) = inbox.recv() {
            self.write(segment);
        }
    }

    fn write(&mut self, mut segment: Segment) {
        let number = self.folder.next();
        segment.head.number = number;
        let head = &segment.head;
        let (name, end) = (SegmentName::new(number, head.begin, head.end), head.end);
        let written = encode(&segment).and_then(|bytes| {
            let published = self.folder.publish(name, &bytes);
            published.map(|()| bytes.len() as u64).map_err(|error| error.to_string())
        });
        drop(segment);
        let removed = self.keep(end);
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(bytes) => {
                news.segments += 1;
                news.bytes += bytes;
                if std::mem::take(&mut self.is_failing) {
                    say(&mut news, format!("{} takes segments again.", self.folder.path().display()));
                }
            }
            Err(reason) => {
                news.lost += 1;
                // It is said once, and not each minute.
                if !std::mem::replace(&mut self.is_failing, true) {
                    say(&mut news, format!("{reason}: a segment is lost; each next one is tried again."));
                }
            }
        }
        let unremoved = match removed {
            Ok((removed, refused)) => {
                news.removed += removed;
                refused.map(|refused| format!("an old segment stays: {refused}."))
            }
            Err(error) => Some(format!("old segments could not be removed: {error}.")),
        };
        if unremoved != self.unremoved {
            self.unremoved.clone_from(&unremoved);
            unremoved.into_iter().for_each(|sentence| say(&mut news, sentence));
        }
    }

    /// Removes what is beyond the limits. By its age nothing is removed while the clock has just been set ahead.
    fn keep(&mut self, end: i64) -> io::Result<(u64, Option<NotRemoved>)> {
        let is_set_ahead = self.newest.replace(end).is_some_and(|before| end - before > STEP);
        self.held = if is_set_ahead { held(self.settings.sums.segment) } else { self.held.saturating_sub(1) };
        let age = self.settings.limits.age.filter(|_| self.held == 0);
        self.folder.keep(Limits { age, ..self.settings.limits }, end)
    }
}

/// How many segments of this length, in microseconds, are to be written before one is removed for its age.
fn held(segment: i64) -> u32 {
    let segment = segment.max(1);
    u32::try_from((STEP + segment - 1) / segment).unwrap_or(u32::MAX).max(HELD_MIN)
}

/// Adds a sentence, unless it waits to be said already.
fn say(news: &mut News, sentence: String) {
    if news.said.len() < SAID_MAX && !news.said.contains(&sentence) {
        news.said.push(sentence);
    }
}

#[cfg(test)]
mod tests {
    use recording::Head;

    use super::*;

    const MINUTE: i64 = 60_000_000;
    const BEGIN: i64 = 1_795_428_900_000_000;

    fn writer(folder: &std::path::Path) -> Writer {
        let limits = Limits { age: Some(120 * MINUTE), bytes: None };
        let settings = RecorderSettings { limits, sums: SumsSettings::default(), clock: || BEGIN };
        let folder = Folder::open(folder).unwrap();
        let news = Arc::default();
        Writer { folder, settings, news, is_failing: false, unremoved: None, newest: None, held: 0 }
    }

    /// Writes a segment that ends at this minute; gives how many have been removed so far.
    fn write(writer: &mut Writer, minute: i64) -> u64 {
        let end = BEGIN + minute * MINUTE;
        let head = Head { begin: end - MINUTE, end, ..Head::default() };
        writer.write(Segment { head, ..Segment::default() });
        let news = writer.news.lock().unwrap();
        assert_eq!((news.lost, &news.said), (0, &Vec::new()));
        news.removed
    }

    fn wanting(segment: Segment) -> Over {
        Over { segment, wants_counters: true }
    }

    #[test]
    fn a_server_that_answers_so_late_that_nothing_is_sampled_meanwhile_is_not_asked_at_once_again() {
        let place = tempfile::tempdir().unwrap();
        let limits = Limits { age: None, bytes: None };
        let settings = RecorderSettings { limits, sums: SumsSettings::default(), clock: || BEGIN };
        let mut recorder = Recorder::start(Folder::open(place.path()).unwrap(), settings).unwrap();
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
        (0..2).for_each(|minute| recorder.hold(wanting(segment(minute))));
        recorder.counted(&BTreeMap::new(), Some(Ticks::from_micros(7)), Duration::ZERO);
        let left: Vec<(i64, bool)> =
            recorder.over.iter().map(|over| (over.segment.head.begin, over.segment.account.is_some())).collect();
        assert_eq!((left.as_slice(), recorder.wants_counters()), ([(BEGIN + MINUTE, false)].as_slice(), true));
        (2..6).for_each(|minute| recorder.hold(wanting(segment(minute))));
        assert_eq!(recorder.over.len(), OVER_MAX, "the oldest are written without an answer");
        drop(recorder);
        let begins: Vec<i64> = segments(place.path()).unwrap().iter().map(|(name, _)| name.begin).collect();
        assert_eq!(begins, (0..6).map(|minute| BEGIN + minute * MINUTE).collect::<Vec<i64>>());
    }

    #[test]
    fn a_folder_that_is_gone_is_said_once_and_not_with_each_segment() {
        let place = tempfile::tempdir().unwrap();
        let mut writer = writer(place.path());
        place.close().unwrap();
        let said = [(); 3].map(|()| {
            writer.write(Segment::default());
            std::mem::take(&mut writer.news.lock().unwrap().said).len()
        });
        assert_eq!(said, [2, 0, 0], "that it cannot be written to, and not be listed");
    }

    #[test]
    fn what_is_older_than_the_limit_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path());
        let removed: Vec<u64> = (0..6).map(|half_hour| write(&mut writer, 30 * half_hour)).collect();
        assert_eq!(removed, [0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_clock_that_is_wrong_for_an_hour_empties_no_folder_of_short_segments_either() {
        assert_eq!([60, 10, 7, 1].map(|seconds| held(seconds * 1_000_000)), [60, 360, 515, 3_600]);
    }

    #[test]
    fn a_clock_that_is_set_ahead_removes_nothing_until_sixty_further_segments_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path());
        (0..3).for_each(|minute| assert_eq!(write(&mut writer, minute), 0));
        let ahead = 600;
        assert_eq!(write(&mut writer, ahead), 0, "the clock was set ahead");
        for further in 1..60 {
            assert_eq!(write(&mut writer, ahead + further), 0, "{further} further segments");
        }
        assert_eq!(write(&mut writer, ahead + 60), 3);
        // Set back within that time, the recording before it is all there.
        assert_eq!(write(&mut writer, 3), 3);
    }
}
