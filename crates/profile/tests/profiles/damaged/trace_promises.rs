//! What is promised of every trace, whatever its bytes; the fuzz target holds the same.

use std::io::Cursor;

use profile::event::{TimeScale, Unit};
use profile::input::bytes::Bytes;
use profile::observe::collector::{Collector, THINK_TIME};
use profile::source::oracle::account::Accounting;
use profile::source::oracle::read::{ReadOptions, read};
use profile::source::oracle::record::Batch;
use profile::source::oracle::scan::{ChunkEnd, Scanner, State};
use profile::tables::Profile;

/// In one of this many inputs the bytes are read a second time, cut into small chunks.
const CUT_EVERY: u64 = 4;

/// What a trace came to, as far as it can be compared in passing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Story {
    /// Records.
    pub(crate) records: u64,
    /// Lines that were not read.
    pub(crate) unread_lines: u64,
    bytes: u64,
    offsets: u64,
}

impl Story {
    fn add(&mut self, batch: &Batch) {
        self.records += batch.records.len() as u64;
        self.bytes += batch.read_bytes;
        for unread in &batch.unread {
            self.unread_lines += unread.lines;
            self.bytes += unread.bytes;
        }
        self.offsets += batch.records.iter().map(|record| record.offset).sum::<u64>();
    }
}

/// Scans the bytes and accounts for them; panics when a promise is broken: every byte belongs to something, a profile
/// adds up, and chunks change nothing.
///
/// `turn` decides how the bytes are cut, and the unit of the times.
pub(crate) fn feed(bytes: &[u8], turn: u64, scanner: &mut Scanner, batch: &mut Batch) -> Story {
    batch.bytes.clear();
    batch.bytes.extend_from_slice(bytes);
    let outcome = scanner.scan(batch, State::Between, ChunkEnd::File);
    assert_eq!(outcome.consumed, bytes.len(), "the scanner stopped before the file's end");
    let mut story = Story::default();
    story.add(batch);
    assert_eq!(story.bytes, bytes.len() as u64, "bytes that belong to nothing");
    let unit = [Unit::Microsecond, Unit::Shifted, Unit::Centisecond][(turn % 3) as usize];
    let whole = account(batch, unit);
    assert_adds_up(&whole);
    if turn.is_multiple_of(CUT_EVERY) {
        let cut = story_of_chunks(bytes, 1 + (turn / CUT_EVERY % 300) as usize);
        assert_eq!(cut, story, "chunks change what is read");
    }
    story
}

fn story_of_chunks(bytes: &[u8], chunk_bytes: usize) -> Story {
    let mut story = Story::default();
    let source = Bytes::from_reader(Cursor::new(bytes.to_vec()));
    let answer = read(source, ReadOptions { workers: 1, chunk_bytes }, &mut |batch| story.add(batch));
    assert!(answer.is_ok(), "memory has no errors");
    story
}

fn account(batch: &Batch, unit: Unit) -> Profile {
    let mut collector = Collector::new(THINK_TIME);
    let mut accounting = Accounting::new();
    accounting.begin_file(TimeScale::given(unit));
    accounting.batch(batch, &mut collector);
    accounting.end_file(&mut collector);
    let accounted = accounting.finish(&mut collector);
    collector.finish(accounted)
}

fn assert_adds_up(profile: &Profile) {
    for session in profile.sessions.iter().chain([&profile.whole]) {
        let parts = session.cpu + session.waits + session.unaccounted_within + session.unaccounted_between;
        assert_eq!(session.interval, parts, "a profile does not add up");
        for sums in session.events.values() {
            assert_eq!(sums.count, sums.inside_count + sums.between_count, "a wait has no place");
        }
    }
    let calls: u64 = profile.statements.iter().flat_map(|statement| statement.calls.values()).map(|s| s.calls).sum();
    assert_eq!(calls, profile.whole.calls.values().map(|sums| sums.calls).sum::<u64>(), "a call has no statement");
}
