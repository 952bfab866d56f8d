//! Files as they lie on a real disk: what they stand on, what the page cache holds of them, which device is under them.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rustix::fs::FallocateFlags;
use sys::file::extents::{Extents, ExtentsError, coverage};
use sys::file::witness::{Cached, WitnessError, cached, evict, nowait_hits};
use sys::file::{BlockDevice, Caching, Target, TestFile};

const MIB: u64 = 1 << 20;

fn directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn test_file(bytes: u64) -> TestFile {
    TestFile::create(directory(), bytes, 5, &mut |_| (), &AtomicBool::new(false)).unwrap()
}

/// Page numbers of a target's whole length.
fn pages(target: &Target) -> u64 {
    cached(target, 0, target.size()).unwrap().pages
}

#[test]
fn written_unwritten_and_missing_blocks_are_told_apart() {
    let file = tempfile::NamedTempFile::new_in(directory()).unwrap();
    file.as_file().set_len(8 * MIB).unwrap();
    let mut handle = File::options().write(true).open(file.path()).unwrap();
    handle.write_all(&vec![1; MIB as usize]).unwrap();
    handle.sync_all().unwrap();
    let target = Target::open(file.path(), Caching::Buffered).unwrap();
    let all = match coverage(&target, 0..u64::MAX) {
        Err(ExtentsError::NotSupported) => return println!("skipped: the file system does not report extents"),
        all => all.unwrap(),
    };
    assert_eq!((all.data, all.hole, all.unwritten, all.delayed), (MIB, 7 * MIB, 0, 0));
    rustix::fs::fallocate(&handle, FallocateFlags::empty(), 4 * MIB, 2 * MIB).unwrap();
    let all = coverage(&target, 0..8 * MIB).unwrap();
    assert_eq!((all.data, all.hole, all.unwritten), (MIB, 5 * MIB, 2 * MIB));
    let part = coverage(&target, MIB / 2..5 * MIB).unwrap();
    assert_eq!((part.data, part.hole, part.unwritten), (MIB / 2, 3 * MIB, MIB));
}

#[test]
fn bytes_that_only_memory_holds_are_not_taken_for_data_on_the_disk() {
    let mut file = tempfile::NamedTempFile::new_in(directory()).unwrap();
    file.write_all(&vec![1; MIB as usize]).unwrap();
    let target = Target::open(file.path(), Caching::Buffered).unwrap();
    let Ok(before) = coverage(&target, 0..MIB) else { return println!("skipped: extents are not reported") };
    // The kernel may write it out at any time, so both results are right; no other is.
    assert_eq!(before.data + before.delayed, MIB, "{before:?}");
    file.as_file().sync_all().unwrap();
    assert_eq!(coverage(&target, 0..MIB).unwrap().data, MIB);
}

#[test]
fn a_file_in_more_pieces_than_one_answer_holds_is_counted_whole() {
    let file = tempfile::NamedTempFile::new_in(directory()).unwrap();
    let pieces = 1000;
    for piece in 0..pieces {
        rustix::io::pwrite(file.as_file(), &[1; 4096], piece * 8192).unwrap();
    }
    file.as_file().sync_all().unwrap();
    let target = Target::open(file.path(), Caching::Buffered).unwrap();
    let Ok(all) = coverage(&target, 0..target.size()) else { return println!("skipped: extents are not reported") };
    let expected = Extents { data: pieces * 4096, hole: (pieces - 1) * 4096, count: pieces, ..Extents::default() };
    assert_eq!(all, expected);
}

#[test]
fn a_test_file_stands_on_data_and_not_on_promises() {
    let file = test_file(32 * MIB + 5);
    let target = file.target(Caching::Buffered).unwrap();
    let Ok(all) = coverage(&target, 0..target.size()) else { return println!("skipped: extents are not reported") };
    assert_eq!(all.data, target.size(), "{all:?}");
}

#[test]
fn cached_and_evicted_are_told_apart() {
    let file = test_file(4 * MIB);
    let target = file.target(Caching::Buffered).unwrap();
    assert_eq!(pages(&target), 0, "a fresh test file is not in the page cache");
    // Without read-ahead, whose pages could still be on their way when they are to be evicted.
    rustix::fs::fadvise(&target, 0, None, rustix::fs::Advice::Random).unwrap();
    // A kernel that reclaims memory may drop a page that was read a moment ago, but not in each of five looks.
    let read_and_look = || {
        let mut block = vec![0; MIB as usize];
        rustix::io::pread(&target, &mut block, 0).unwrap();
        cached(&target, 0, MIB).unwrap()
    };
    let looks: Vec<_> = (0..5).map(|_| read_and_look()).collect();
    let is_whole = |look: &Cached| (look.pages, look.of) == (MIB / 4096, MIB / 4096);
    assert!(looks.iter().any(is_whole), "{looks:?}");
    // A range that begins and ends inside a page means the pages around it.
    assert_eq!(cached(&target, 4095, 2).unwrap().of, 2);
    assert_eq!(cached(&target, 100 * MIB, 5).unwrap().of, 0);
    evict(&target, 0, 0).unwrap();
    assert_eq!(cached(&target, 0, MIB).unwrap().pages, MIB / 4096, "an empty range evicts nothing");
    evict(&target, 0, target.size()).unwrap();
    assert_eq!(pages(&target), 0);
}

#[test]
fn direct_reads_leave_no_trace_in_the_page_cache() {
    let file = test_file(MIB);
    let target = match file.target(Caching::Direct) {
        Ok(target) => target,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut arena = sys::memory::Arena::new(1, MIB as usize).unwrap();
    assert_eq!(rustix::io::pread(&target, arena.slot_mut(0), 0).unwrap(), MIB as usize);
    assert_eq!(pages(&target), 0);
}

#[test]
fn a_read_that_may_not_wait_hits_what_is_cached_and_perturbs_only_what_it_asked_for() {
    let file = test_file(16 * MIB);
    let target = file.target(Caching::Direct).or_else(|_| file.target(Caching::Buffered)).unwrap();
    let buffered = target.reopen(Caching::Buffered).unwrap();
    let offsets: Vec<u64> = (0..16).map(|number| number * MIB).collect();
    let cold = match nowait_hits(&target, &offsets, 8192) {
        Err(WitnessError::NotSupported) => return println!("skipped: the file system has no RWF_NOWAIT"),
        cold => cold.unwrap(),
    };
    println!("{cold:?} of a cold file, and then {} pages of it are cached", pages(&target));
    assert_eq!((cold.answered, cold.refused + cold.fetched), (0, 16), "nothing was cached");
    assert!(pages(&target) <= 2 * 16, "read-ahead went beyond the blocks asked for");
    // As above, some pages may be dropped between the read and the question.
    let warm = |_| {
        let mut block = vec![0; 8192];
        for offset in &offsets {
            rustix::io::pread(&buffered, &mut block, *offset).unwrap();
        }
        nowait_hits(&target, &offsets, 8192).unwrap()
    };
    let warm: Vec<_> = (0..5).map(warm).collect();
    assert!(warm.iter().any(|hits| (hits.answered, hits.refused, hits.fetched) == (16, 0, 0)), "{warm:?}");
}

#[test]
fn the_device_under_a_file_counts_its_reads() {
    let file = test_file(MIB);
    let target = file.target(Caching::Direct).or_else(|_| file.target(Caching::Buffered)).unwrap();
    let device = match BlockDevice::under(&target) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let Some(before) = device.counters() else { return println!("skipped: {} does not count", device.name) };
    let mut arena = sys::memory::Arena::new(1, 65_536).unwrap();
    for block in 0..16 {
        rustix::io::pread(target.as_fd(), arena.slot_mut(0), block * 65_536).unwrap();
    }
    let read = device.counters().unwrap().since(before);
    assert!(read.reads >= 1 && read.bytes_read >= MIB, "{device:?} {read:?}");
}

#[test]
fn a_file_in_memory_has_no_device_and_no_direct_reads() {
    let shared_memory = Path::new("/dev/shm");
    let Ok(file) = tempfile::NamedTempFile::new_in(shared_memory) else { return println!("skipped: no /dev/shm") };
    file.as_file().set_len(MIB).unwrap();
    let target = Target::open(file.path(), Caching::Buffered).unwrap();
    if target.filesystem().as_deref() != Some("tmpfs") {
        return println!("skipped: /dev/shm is {:?}", target.filesystem());
    }
    assert!(BlockDevice::under(&target).unwrap_err().to_string().contains("tmpfs"));
    let refusal = Target::open(file.path(), Caching::Direct).unwrap_err().to_string();
    assert!(refusal.contains("--buffered"), "{refusal}");
}
