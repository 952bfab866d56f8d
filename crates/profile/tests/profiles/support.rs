//! What the tests of the accounting share: traces read from start to end, and the place of the real ones.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use profile::event::{TimeScale, Unit};
use profile::input::{self, Given};
use profile::observe::collector::{Collector, THINK_TIME};
use profile::source::oracle::account::Accounting;
use profile::source::oracle::read::{self as reader, ReadOptions};
use profile::source::oracle::record::Batch;
use profile::source::oracle::scan::{ChunkEnd, Scanner, State};
use profile::source::oracle::time_scale::TimeScaleProbe;
use profile::tables::Profile;

/// The folder of the real traces; `None` on machines that have none.
pub(crate) fn traces() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle");
    let folder = std::env::var_os("READPATH_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    folder.join("expected").is_dir().then_some(folder)
}

/// A file's bytes, uncompressed.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    if path.extension().is_some_and(|extension| extension == "gz") {
        let output = Command::new("gzip").arg("-dc").arg(path).output().expect("gzip runs");
        assert!(output.status.success(), "{}", path.display());
        return output.stdout;
    }
    std::fs::read(path).expect("the file is readable")
}

/// The records of a trace, in one batch.
pub(crate) fn scan(bytes: &[u8]) -> Batch {
    let mut batch = Batch { bytes: bytes.to_vec(), ..Batch::default() };
    Scanner::default().scan(&mut batch, State::Between, ChunkEnd::File);
    batch
}

/// The profile of some files that stand for one another's continuation or not, each in the unit that is found.
pub(crate) fn profile(files: &[&[u8]]) -> Profile {
    account(files, |batch| {
        let mut probe = TimeScaleProbe::default();
        probe.batch(batch);
        probe.decide()
    })
}

/// The profile of some files whose unit is given.
pub(crate) fn profile_in(unit: Unit, files: &[&[u8]]) -> Profile {
    account(files, |_| TimeScale::given(unit))
}

/// The profile of a real trace whose unit is the microsecond. It is made once for all tests that ask for it: that takes
/// longer than what they do with it.
pub(crate) fn real_profile(trace: &Path) -> &'static Profile {
    static MADE: Mutex<BTreeMap<PathBuf, &'static OnceLock<Profile>>> = Mutex::new(BTreeMap::new());
    let made: &'static OnceLock<Profile> = {
        let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(trace.into()).or_insert_with(|| &*Box::leak(Box::new(OnceLock::new())))
    };
    made.get_or_init(|| profile_in(Unit::Microsecond, &[&read(trace)]))
}

/// The profile of a file that is read in parts of about this size by two workers.
pub(crate) fn profile_in_parts(unit: Unit, bytes: &[u8], chunk_bytes: usize) -> Profile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a small file");
    let source = input::open(&Given::File(file.path().into())).expect("the file is readable");
    let (mut collector, mut accounting) = (Collector::new(THINK_TIME), Accounting::new());
    accounting.begin_file(TimeScale::given(unit));
    let options = ReadOptions { workers: 2, chunk_bytes };
    reader::read(source, options, &mut |batch| accounting.batch(batch, &mut collector)).expect("readable");
    accounting.end_file(&mut collector);
    let accounted = accounting.finish(&mut collector);
    collector.finish(accounted)
}

fn account(files: &[&[u8]], scale: impl Fn(&Batch) -> TimeScale) -> Profile {
    let mut collector = Collector::new(THINK_TIME);
    let mut accounting = Accounting::new();
    for bytes in files {
        let batch = scan(bytes);
        accounting.begin_file(scale(&batch));
        accounting.batch(&batch, &mut collector);
        accounting.end_file(&mut collector);
    }
    let accounted = accounting.finish(&mut collector);
    let profile = collector.finish(accounted);
    assert_adds_up(&profile);
    profile
}

/// Holds what every profile promises, whatever it was made of.
pub(crate) fn assert_adds_up(profile: &Profile) {
    for session in profile.sessions.iter().chain([&profile.whole]) {
        let parts = session.cpu + session.waits + session.unaccounted_within + session.unaccounted_between;
        assert_eq!(session.interval, parts, "{:?}", session.session);
        for sums in session.events.values() {
            assert_eq!(sums.count, sums.inside_count + sums.between_count);
            assert_eq!(sums.total, sums.inside + sums.between);
            assert_eq!(sums.count, sums.histogram.iter().map(|(_, bucket)| bucket.count).sum::<u64>());
        }
    }
    let calls: u64 = profile.statements.iter().flat_map(|statement| statement.calls.values()).map(|s| s.calls).sum();
    assert_eq!(calls, profile.whole.calls.values().map(|sums| sums.calls).sum::<u64>());
    let waits: u64 = profile.statements.iter().flat_map(|statement| statement.waits.values()).map(|s| s.count).sum();
    assert_eq!(waits, profile.whole.events.values().map(|sums| sums.count).sum::<u64>());
    assert_eq!(calls, profile.scopes.values().map(|sums| sums.calls).sum::<u64>());
    assert_eq!(waits, profile.scopes.values().map(|sums| sums.waits).sum::<u64>());
}

/// Lets an observer see all of a trace, in true microseconds.
pub(crate) fn observe<O: profile::event::Observer>(bytes: &[u8], observer: &mut O) -> profile::event::Context {
    let mut accounting = Accounting::new();
    accounting.begin_file(TimeScale::given(Unit::Microsecond));
    accounting.batch(&scan(bytes), observer);
    accounting.end_file(observer);
    accounting.finish(observer).context
}
