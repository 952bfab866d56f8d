//! What writes segments: it encodes and publishes each, removes what is beyond the limits, and says once what it could
//! not do. It runs on a thread of its own and knows nothing of samples.

use std::io;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use measure::quantity::counted;
use recording::{Folder, Limits, NotRemoved, Segment, SegmentName, encode};

use super::news::{News, say};
use super::settings::RecorderSettings;

/// Most bytes of the texts of a segment's statements: ten thousand of them, each with as much of its text as a server
/// shows by default, have ten MiB. A reader takes four times as much, and no segment with more.
const TEXTS_MAX: usize = 64 << 20;

/// Where a segment ends so much later than the one before, in microseconds, the clock may have been set: then no
/// segment is removed for its age until as many further ones are written as hold an hour, which are this number at
/// least. A clock that is wrong for an hour empties no folder.
const STEP: i64 = 3_600_000_000;
const HELD_MIN: u32 = 60;

/// A folder is listed for what is beyond the limits with each segment that is written, and less often where it has more
/// segments than this: to list hundreds of thousands takes longer than a short segment.
const LISTED_AT_ONCE: usize = 10_000;

/// What writes segments.
pub(super) struct Writer {
    folder: Folder,
    settings: RecorderSettings,
    news: Arc<Mutex<News>>,
    is_failing: bool,
    /// Whether texts were left out of the last segment, which had too many bytes of them.
    is_leaving_out: bool,
    /// Why old segments could not be removed the last time.
    unremoved: Option<String>,
    /// Where the newest segment ended.
    newest: Option<i64>,
    /// Segments that are to be written before one is removed for its age.
    held: u32,
    /// Segments that were written since the folder was listed.
    unlisted: usize,
}

impl Writer {
    pub(super) fn new(
        folder: Folder,
        settings: RecorderSettings,
        news: Arc<Mutex<News>>,
        newest: Option<i64>,
    ) -> Writer {
        let (is_failing, is_leaving_out, unremoved, held, unlisted) = (false, false, None, 0, 0);
        Writer { folder, settings, news, is_failing, is_leaving_out, unremoved, newest, held, unlisted }
    }

    pub(super) fn run(mut self, inbox: &Receiver<Segment>) {
        while let Ok(segment) = inbox.recv() {
            self.write(segment);
        }
    }

    fn write(&mut self, mut segment: Segment) {
        let number = self.folder.next();
        segment.head.number = number;
        let head = &segment.head;
        let (name, end) = (SegmentName::new(number, head.begin, head.end), head.end);
        let left_out = segment.leave_out_texts(TEXTS_MAX);
        let written = encode(&segment).and_then(|bytes| {
            let published = self.folder.publish(name, &bytes);
            published.map(|()| bytes.len() as u64).map_err(|error| error.to_string())
        });
        drop(segment);
        let removed = self.keep(end);
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        // It is said once, and not each minute.
        if left_out > 0 && !self.is_leaving_out {
            say(&mut news, texts_left_out(left_out));
        }
        self.is_leaving_out = left_out > 0;
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
                if !std::mem::replace(&mut self.is_failing, true) {
                    say(&mut news, format!("{reason}: a segment is lost; each next one is tried again."));
                }
            }
        }
        let unremoved = match removed {
            None => return,
            Some(Ok((removed, refused))) => {
                news.removed += removed;
                refused.map(|refused| format!("an old segment stays: {refused}."))
            }
            Some(Err(error)) => Some(format!("old segments could not be removed: {error}.")),
        };
        if unremoved != self.unremoved {
            self.unremoved.clone_from(&unremoved);
            unremoved.into_iter().for_each(|sentence| say(&mut news, sentence));
        }
    }

    /// Removes what is beyond the limits; `None` where it is not time to look for that. By its age nothing is removed
    /// while the clock has just been set ahead.
    fn keep(&mut self, end: i64) -> Option<io::Result<(u64, Option<NotRemoved>)>> {
        let is_set_ahead = self.newest.replace(end).is_some_and(|before| end - before > STEP);
        self.held = if is_set_ahead { held(self.settings.sums.segment) } else { self.held.saturating_sub(1) };
        self.unlisted += 1;
        if self.unlisted < listed_each(self.folder.listed()) {
            return None;
        }
        self.unlisted = 0;
        let age = self.settings.limits.age.filter(|_| self.held == 0);
        Some(self.folder.keep(Limits { age, ..self.settings.limits }, end))
    }
}

/// How many segments of this length, in microseconds, are to be written before one is removed for its age.
fn held(segment: i64) -> u32 {
    let segment = segment.max(1);
    u32::try_from((STEP + segment - 1) / segment).unwrap_or(u32::MAX).max(HELD_MIN)
}

/// After how many written segments a folder that has this number of them is listed.
fn listed_each(segments: usize) -> usize {
    segments / LISTED_AT_ONCE + 1
}

fn texts_left_out(statements: usize) -> String {
    let statements = counted(statements as u64, "statement", "statements");
    let most = TEXTS_MAX >> 20;
    format!("a segment lacks the texts of {statements} that took the least time: it holds {most} MiB of texts at most.")
}

#[cfg(test)]
mod tests {
    use profile::source::recorded::SumsSettings;
    use recording::{Head, segments};

    use super::*;
    use crate::recorder::tests::{BEGIN, MINUTE};

    fn writer(folder: &std::path::Path) -> Writer {
        let limits = Limits { age: Some(120 * MINUTE), bytes: None };
        let settings = RecorderSettings { limits, sums: SumsSettings::default(), clock: || BEGIN };
        let folder = Folder::open(folder).unwrap();
        Writer::new(folder, settings, Arc::default(), None)
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

    #[test]
    fn a_segment_with_more_text_than_is_read_of_one_is_written_without_some_and_that_is_said_once() {
        let place = tempfile::tempdir().unwrap();
        let mut writer = writer(place.path());
        let statement = |number: usize| {
            let text = "x".repeat(33 << 20).into();
            recording::Statement { id: number.to_string().into(), text, counted: None }
        };
        for minute in 0..2 {
            let begin = BEGIN + minute * MINUTE;
            let head = Head { begin, end: begin + MINUTE, ..Head::default() };
            writer.write(Segment { head, statements: vec![statement(1), statement(2)], ..Segment::default() });
        }
        let news = writer.news.lock().unwrap();
        assert_eq!((news.segments, news.said.len()), (2, 1), "{:?}", news.said);
        assert!(news.said[0].starts_with("a segment lacks the texts of 1 statement that took "), "{:?}", news.said);
        let (name, _) = segments(place.path()).unwrap()[0];
        let (segment, _) = recording::read(&place.path().join(name.to_string())).unwrap();
        assert_eq!(segment.statements.iter().filter(|one| one.text.is_empty()).count(), 1);
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
    fn a_folder_of_hundreds_of_thousands_of_segments_is_not_listed_with_each_that_is_written() {
        assert_eq!([0, 9_999, 10_000, 525_000].map(listed_each), [1, 1, 2, 53]);
        let folder = tempfile::tempdir().unwrap();
        for number in 1..=20_000 {
            let end = BEGIN + 600 * MINUTE;
            std::fs::write(folder.path().join(SegmentName::new(number, end - MINUTE, end).to_string()), "").unwrap();
        }
        let mut writer = writer(folder.path());
        let unlisted = [0, 1, 2, 3].map(|minute| {
            write(&mut writer, minute);
            writer.unlisted
        });
        assert_eq!(unlisted, [1, 2, 0, 1]);
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
