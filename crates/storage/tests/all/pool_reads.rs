//! The pool on real files: what is read, what stays, what is counted, and what happens when things go wrong.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use measure::random::SplitMix64;
use storage::page::id::PAGE_SIZE;
use storage::pool::{FRAMES_MIN, GateCounts, Pool, PoolSettings};
use storage::{PageId, SegmentId, StorageError};
use sys::file::{Caching, TestFile, expected_block};

const SEED: u64 = 41;
const PAGES: u32 = 2048;

/// One file for all tests of this process.
fn file() -> &'static TestFile {
    static FILE: OnceLock<TestFile> = OnceLock::new();
    FILE.get_or_init(|| {
        let bytes = u64::from(PAGES) * PAGE_SIZE as u64;
        TestFile::create(Path::new(env!("CARGO_TARGET_TMPDIR")), bytes, SEED, &mut |_| {}, &AtomicBool::new(false))
            .unwrap()
    })
}

fn contents(page: PageId) -> [u8; PAGE_SIZE] {
    let mut bytes = [0; PAGE_SIZE];
    expected_block(SEED, u64::from(page.number) * PAGE_SIZE as u64, &mut bytes);
    bytes
}

/// Accepts what the test file holds, apart from page 13.
fn verify(bytes: &[u8; PAGE_SIZE], page: PageId) -> Result<(), String> {
    match page.number {
        13 => Err("its checksum is wrong".into()),
        _ if *bytes == contents(page) => Ok(()),
        _ => Err("its bytes are another page's".into()),
    }
}

fn settings(frames: usize) -> PoolSettings {
    PoolSettings { read_depth: 8, blocks_per_read: 8, ..PoolSettings::new(frames * PAGE_SIZE) }
}

fn pool(frames: usize) -> (Pool, SegmentId) {
    let pool = Pool::new(settings(frames)).unwrap();
    // Where the file system has no direct I/O the tests hold all the same.
    let target = file().target(Caching::Direct).or_else(|_| file().target(Caching::Buffered)).unwrap();
    let segment = pool.add_segment(target, PAGES, verify).unwrap();
    (pool, segment)
}

fn resident_pages(pool: &Pool, segment: SegmentId) -> usize {
    let session = pool.session();
    (0..PAGES).filter(|number| session.is_cached(at(segment, *number))).count()
}

fn at(segment: SegmentId, number: u32) -> PageId {
    PageId { segment, number }
}

#[test]
fn every_page_is_the_one_asked_for_whatever_the_pool_has_to_throw_out() {
    let (pool, segment) = pool(64);
    let session = pool.session();
    let mut random = SplitMix64::new(1);
    for _ in 0..3000 {
        let page = at(segment, 14 + random.below(500) as u32);
        assert!(*session.get(page).unwrap() == contents(page), "{page}");
    }
    assert!(resident_pages(&pool, segment) <= 64);
}

#[test]
fn every_kind_of_access_is_counted_as_what_it_is() {
    let (pool, segment) = pool(256);
    let session = pool.session();
    let counts = |gets, pinned_revisits, physical_reads, blocks_read| GateCounts {
        gets,
        pinned_revisits,
        physical_reads,
        blocks_read,
    };
    drop(session.get(at(segment, 100)).unwrap());
    drop(session.get(at(segment, 100)).unwrap());
    assert_eq!(session.counts(), counts(2, 0, 1, 1));
    assert_eq!(session.prefetch_range(at(segment, 200), 20).unwrap(), 20);
    assert_eq!(session.counts(), counts(2, 0, 4, 21));
    // Page 100 is there already and parts the range in two.
    assert_eq!(session.prefetch_range(at(segment, 98), 5).unwrap(), 4);
    assert_eq!(session.counts(), counts(2, 0, 6, 25));
    let scattered: Vec<PageId> = (0..40).map(|number| at(segment, 300 + 7 * number)).collect();
    session.load_many(&scattered).unwrap();
    session.load_many(&scattered).unwrap();
    assert_eq!(session.counts(), counts(2, 0, 46, 65));
    for number in [100, 101, 100] {
        assert!(*session.get(at(segment, number)).unwrap() == contents(at(segment, number)));
    }
    (0..2).for_each(|_| session.pinned_revisit());
    assert_eq!(session.counts(), counts(5, 2, 46, 65));
    let other = pool.session();
    drop(other.get(at(segment, 100)).unwrap());
    assert_eq!(pool.counts(), counts(6, 2, 46, 65));
    drop(other);
    assert_eq!(pool.counts(), counts(6, 2, 46, 65));
    assert!(scattered.iter().all(|page| *session.get(*page).unwrap() == contents(*page)));
    assert_eq!(session.counts().physical_reads, 46);
}

#[test]
fn neighbours_that_are_asked_for_together_are_one_read_up_to_the_limit() {
    let pool = Pool::new(PoolSettings { blocks_per_gather: 4, ..settings(256) }).unwrap();
    let segment = pool.add_segment(file().target(Caching::Buffered).unwrap(), PAGES, verify).unwrap();
    let session = pool.session();
    let reads_of = |numbers: &[u32]| {
        let before = session.counts();
        session.load_many(&numbers.iter().map(|number| at(segment, *number)).collect::<Vec<_>>()).unwrap();
        let counts = session.counts().since(before);
        (counts.physical_reads, counts.blocks_read)
    };
    assert_eq!(reads_of(&[100, 101, 102]), (1, 3));
    assert_eq!(reads_of(&(200..210).collect::<Vec<_>>()), (3, 10), "four at most");
    assert_eq!(reads_of(&[99, 100, 101, 102, 103]), (2, 2), "what is there parts a run");
    assert_eq!(reads_of(&[301, 300, 302, 302, 304]), (4, 4), "an order of its own is kept, and a block read once");
    for number in (99..104).chain(200..210).chain(300..303) {
        assert!(*session.get(at(segment, number)).unwrap() == contents(at(segment, number)));
    }
    // Page 13 is refused: those before it in its read are there, and nothing waits for those behind.
    assert!(session.load_many(&[at(segment, 11), at(segment, 12), at(segment, 13), at(segment, 14)]).is_err());
    for number in [11, 12, 14] {
        assert!(*session.get(at(segment, number)).unwrap() == contents(at(segment, number)));
    }
    let without = Pool::new(PoolSettings { blocks_per_gather: 0, ..settings(256) });
    assert!(without.unwrap_err().to_string().contains("at least 1"));
}

#[test]
fn pages_that_are_asked_for_ahead_are_there_when_they_are_used_however_full_the_pool_is() {
    let (pool, segment) = pool(200);
    let session = pool.session();
    let numbers: Vec<u32> = (14..2000).collect();
    assert_eq!(pool.pages_ahead(), 20);
    for ahead in numbers.chunks(pool.pages_ahead()) {
        let pages: Vec<PageId> = ahead.iter().map(|number| at(segment, *number)).collect();
        session.load_many(&pages).unwrap();
        pages.iter().for_each(|page| drop(session.get(*page).unwrap()));
    }
    assert_eq!(session.counts().blocks_read, numbers.len() as u64, "none was read a second time");
}

#[test]
fn a_scan_of_ten_times_the_pool_leaves_the_hot_pages_where_they_are() {
    let (pool, segment) = pool(200);
    let session = pool.session();
    let hot = |number: u32| at(segment, 20 + number);
    for number in (0..120).chain(0..120) {
        drop(session.get(hot(number)).unwrap());
    }
    for first in (48..PAGES).step_by(8).chain((48..PAGES).step_by(8)) {
        session.prefetch_range(at(segment, first), 8).unwrap();
        for number in first..first + 8 {
            drop(session.get_scan(at(segment, number)).unwrap());
        }
    }
    let before = pool.counts();
    for number in 0..120 {
        drop(session.get(hot(number)).unwrap());
    }
    assert_eq!(pool.counts().since(before).physical_reads, 0);
}

#[test]
fn a_bad_page_is_named_and_never_used_and_costs_nothing_else() {
    let (pool, segment) = pool(64);
    let session = pool.session();
    let bad = at(segment, 13);
    let complaints: Vec<String> = (0..100).map(|_| session.get(bad).unwrap_err().to_string()).collect();
    assert!(complaints[0].contains("page 13") && complaints[0].contains("its checksum is wrong"), "{}", complaints[0]);
    assert!(complaints[0].starts_with(&file().path().display().to_string()), "{}", complaints[0]);
    assert!(complaints.iter().all(|complaint| *complaint == complaints[0]));
    assert_eq!(resident_pages(&pool, segment), 0);
    assert!(session.get_mut(bad).is_err());
    // Batches name it too, bring what stands before it, and leave nothing behind that waits.
    assert!(session.prefetch_range(at(segment, 10), 8).is_err());
    assert_eq!(resident_pages(&pool, segment), 3);
    let around: Vec<PageId> = (5..30).map(|number| at(segment, number)).collect();
    assert!(session.load_many(&around).is_err());
    for page in around.iter().filter(|page| **page != bad) {
        assert!(*session.get(*page).unwrap() == contents(*page));
    }
}

#[test]
fn more_pins_than_frames_are_an_error_and_not_a_deadlock() {
    let (pool, segment) = pool(FRAMES_MIN);
    let session = pool.session();
    let held: Vec<_> = (20..36).map(|number| session.get(at(segment, number)).unwrap()).collect();
    let error = session.get(at(segment, 40)).unwrap_err();
    assert!(matches!(error, StorageError::PoolExhausted { frames: FRAMES_MIN }), "{error}");
    assert!(matches!(session.prefetch_range(at(segment, 40), 4), Err(StorageError::PoolExhausted { .. })));
    assert!(matches!(session.load_many(&[at(segment, 40)]), Err(StorageError::PoolExhausted { .. })));
    assert!(*held[3] == contents(at(segment, 23)), "what is pinned stays");
    drop(held);
    assert!(*session.get(at(segment, 40)).unwrap() == contents(at(segment, 40)));
}

#[test]
fn a_pool_too_small_for_its_reads_is_refused_with_the_size_it_needs() {
    let refused = |frames, depth| {
        let settings = PoolSettings { read_depth: depth, blocks_per_read: 1, ..PoolSettings::new(frames * PAGE_SIZE) };
        Pool::new(settings).unwrap_err().to_string()
    };
    assert!(refused(15, 1).contains(&format!("give it {} bytes", 16 * PAGE_SIZE)));
    assert!(refused(100, 64).contains(&format!("give it {} bytes", 128 * PAGE_SIZE)));
    assert!(refused(100, 0).contains("at least 1"));
    assert!(Pool::new(PoolSettings::new(FRAMES_MIN * PAGE_SIZE)).is_ok());
}

#[test]
fn pages_and_segments_that_do_not_exist_are_errors() {
    let (pool, segment) = pool(32);
    let session = pool.session();
    assert!(session.get(at(segment, PAGES)).unwrap_err().to_string().contains("2048 pages"));
    assert!(session.prefetch_range(at(segment, PAGES - 1), 2).is_err());
    assert!(session.get(at(SegmentId(7), 0)).unwrap_err().to_string().contains("no segment 7"));
    session.prefetch(at(SegmentId(7), 0));
    let target = file().target(Caching::Buffered).unwrap();
    let error = pool.add_segment(target, PAGES + 1, verify).unwrap_err().to_string();
    assert!(error.contains("2049 pages"), "{error}");
}

#[test]
fn changed_pages_stay_changed_through_a_scan_until_their_segment_is_discarded() {
    let (pool, segment) = pool(64);
    let session = pool.session();
    for number in 20..30 {
        session.get_mut(at(segment, number)).unwrap().fill(number as u8);
    }
    for number in 48..1000 {
        drop(session.get(at(segment, number)).unwrap());
    }
    for number in 20..30 {
        assert!(session.get(at(segment, number)).unwrap().iter().all(|byte| *byte == number as u8));
    }
    let held = session.get(at(segment, 25)).unwrap();
    assert!(matches!(pool.discard(segment), Err(StorageError::PageBusy { .. })));
    drop(held);
    pool.discard(segment).unwrap();
    assert_eq!(resident_pages(&pool, segment), 0);
    assert!(*session.get(at(segment, 20)).unwrap() == contents(at(segment, 20)));
}

#[test]
fn a_pool_full_of_changed_pages_is_exhausted_and_discarding_helps() {
    let (pool, _) = pool(FRAMES_MIN);
    let scratch = pool.add_volatile_segment("scratch", 100).unwrap();
    let session = pool.session();
    for round in 0..3 {
        for number in 0..FRAMES_MIN as u32 {
            let mut page = session.create(at(scratch, number)).unwrap();
            assert!(page.iter().all(|byte| *byte == 0), "frames are used again, their bytes are not");
            page[0] = round + 1;
        }
        assert!(matches!(session.create(at(scratch, 50)), Err(StorageError::PoolExhausted { .. })));
        assert_eq!(session.get(at(scratch, 3)).unwrap()[0], round + 1);
        pool.discard(scratch).unwrap();
    }
}

#[test]
fn pages_in_memory_are_made_once_and_found_only_when_made() {
    let (pool, segment) = pool(32);
    let undo = pool.add_volatile_segment("undo", 10).unwrap();
    let session = pool.session();
    let error = session.get(at(undo, 0)).unwrap_err().to_string();
    assert!(error.starts_with("undo: page 0") && error.contains("never written"), "{error}");
    session.create(at(undo, 0)).unwrap()[17] = 5;
    assert_eq!(session.get(at(undo, 0)).unwrap()[17], 5);
    assert!(session.create(at(undo, 0)).unwrap_err().to_string().contains("exists already"));
    assert!(session.create(at(segment, 1)).unwrap_err().to_string().contains("belongs to a file"));
    assert!(session.create(at(undo, 10)).is_err());
    assert_eq!(pool.counts().physical_reads, 0);
}

#[test]
fn a_thread_that_waits_for_itself_gets_an_error() {
    let (pool, segment) = pool(32);
    let session = pool.session();
    let held = session.get(at(segment, 20)).unwrap();
    assert!(matches!(session.get_mut(at(segment, 20)), Err(StorageError::PageBusy { .. })));
    drop(held);
    let held = session.get_mut(at(segment, 20)).unwrap();
    assert!(matches!(session.get(at(segment, 20)), Err(StorageError::PageBusy { .. })));
    drop(held);
    assert!(session.get(at(segment, 20)).is_ok());
}

#[test]
fn a_page_that_many_threads_miss_is_read_once() {
    const THREADS: usize = 8;
    let (pool, segment) = pool(256);
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let session = pool.session();
                for number in 20..120 {
                    start.wait();
                    assert!(*session.get(at(segment, number)).unwrap() == contents(at(segment, number)));
                }
            });
        }
    });
    let counts = pool.counts();
    assert_eq!((counts.gets, counts.physical_reads), (800, 100));
}

/// Threads that read, scan, read ahead, gather and change pages of a pool that holds a tenth of them. A changed page
/// holds its own number in every 8-byte word, so a torn or misplaced page shows.
#[test]
fn many_threads_in_a_small_pool_see_whole_pages_only() {
    let (pool, segment) = pool(128);
    let changes = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..6 {
            let (pool, changes) = (&pool, &changes);
            scope.spawn(move || mixed_work(pool, segment, changes, number));
        }
    });
    let counts = pool.counts();
    assert!(counts.physical_reads > 0 && counts.blocks_read >= counts.physical_reads, "{counts:?}");
    pool.discard(segment).unwrap();
}

fn mixed_work(pool: &Pool, segment: SegmentId, changes: &AtomicU32, seed: u64) {
    let session = pool.session();
    let mut random = SplitMix64::new(seed);
    for _ in 0..1500 {
        let page = at(segment, 14 + random.below(1200) as u32);
        match random.below(20) {
            0 => drop(session.prefetch_range(page, 8).unwrap()),
            1 => session.load_many(&[page, at(segment, page.number + 100), at(segment, page.number / 2 + 14)]).unwrap(),
            // At most 40 pages become dirty, so that the pool keeps frames to read into.
            2 if changes.fetch_add(1, Ordering::Relaxed) < 40 => {
                let mut bytes = session.get_mut(page).unwrap();
                for word in bytes.as_chunks_mut::<8>().0 {
                    *word = u64::from(page.number).to_le_bytes();
                }
            }
            3..8 => check(&session.get_scan(page).unwrap(), page),
            _ => check(&session.get(page).unwrap(), page),
        }
    }
}

fn check(bytes: &[u8; PAGE_SIZE], page: PageId) {
    let is_changed = bytes.as_chunks::<8>().0.iter().all(|word| *word == u64::from(page.number).to_le_bytes());
    assert!(is_changed || *bytes == contents(page), "{page}");
}

#[test]
fn pages_asked_for_ahead_come_while_others_are_got_and_are_read_once() {
    for frames in [FRAMES_MIN, 64, 512] {
        let pool = Pool::new(PoolSettings { read_depth: 8, ..settings(frames) }).unwrap();
        let target = file().target(Caching::Direct).or_else(|_| file().target(Caching::Buffered)).unwrap();
        let segment = pool.add_segment(target, PAGES, verify).unwrap();
        let session = pool.session();
        let mut random = SplitMix64::new(7);
        for _ in 0..60 {
            let ahead: Vec<PageId> = (0..6).map(|_| at(segment, 14 + random.below(900) as u32)).collect();
            let absent = session.ask_ahead(&ahead).unwrap();
            let again = session.ask_ahead(&ahead).unwrap();
            assert!(absent <= 6 && again <= 6 - absent, "{frames} frames: {absent}, then {again} of {ahead:?}");
            let other = at(segment, 1000 + random.below(900) as u32);
            assert!(*session.get(other).unwrap() == contents(other));
            session.advance().unwrap();
            for page in ahead {
                assert!(*session.get(page).unwrap() == contents(page), "{page}");
            }
        }
        session.settle();
        pool.discard(segment).unwrap();
    }
    let (pool, segment) = pool(512);
    let session = pool.session();
    let pages: Vec<PageId> = (0..100).map(|number| at(segment, 100 + 3 * number)).collect();
    assert_eq!(session.ask_ahead(&pages).unwrap(), 100);
    assert!(pages.iter().all(|page| *session.get(*page).unwrap() == contents(*page)));
    let counts = session.counts();
    assert_eq!((counts.gets, counts.physical_reads, counts.blocks_read), (100, 100, 100));
}

#[test]
fn two_sessions_that_wait_for_what_the_other_asked_for_both_go_on() {
    for round in 0..40 {
        let (pool, segment) = pool(512);
        let barrier = Barrier::new(2);
        let pages = |half: u32| (0..60).map(move |number| at(segment, 20 + half * 700 + round + 9 * number));
        thread::scope(|scope| {
            for half in 0..2 {
                let (pool, barrier) = (&pool, &barrier);
                scope.spawn(move || {
                    let session = pool.session();
                    let own: Vec<PageId> = pages(half).collect();
                    session.ask_ahead(&own).unwrap();
                    barrier.wait();
                    for (own, other) in own.iter().zip(pages(1 - half)) {
                        assert!(*session.get(other).unwrap() == contents(other));
                        assert!(*session.get(*own).unwrap() == contents(*own));
                    }
                    session.settle();
                });
            }
        });
    }
}

#[test]
fn a_bad_page_asked_for_ahead_is_named_by_whoever_finds_out_and_nothing_is_lost() {
    let (pool, segment) = pool(64);
    let session = pool.session();
    let asked = session.ask_ahead(&[at(segment, 12), at(segment, 13), at(segment, 14)]);
    let mut told: Vec<String> = asked.err().iter().map(ToString::to_string).collect();
    for number in [12, 14, 12, 14] {
        match session.get(at(segment, number)) {
            Ok(page) => assert!(*page == contents(at(segment, number))),
            Err(error) => told.push(error.to_string()),
        }
    }
    assert!(told.len() <= 1 && told.iter().all(|sentence| sentence.contains("checksum is wrong")), "{told:?}");
    session.settle();
    assert!(session.get(at(segment, 13)).unwrap_err().to_string().contains("checksum is wrong"));
    // Every frame is still there: the pool takes as many pages as it has frames.
    for number in 100..164 {
        drop(session.get(at(segment, number)).unwrap());
    }
    assert_eq!(resident_pages(&pool, segment), 64);
}

#[test]
fn a_session_that_ends_with_reads_under_way_gives_back_frames_and_pages() {
    let (pool, segment) = pool(64);
    for round in 0..20 {
        let session = pool.session();
        let pages: Vec<PageId> = (0..30).map(|number| at(segment, 20 + 31 * round + number)).collect();
        session.ask_ahead(&pages).unwrap();
        drop(session);
        let other = pool.session();
        assert!(pages.iter().all(|page| *other.get(*page).unwrap() == contents(*page)));
    }
    pool.discard(segment).unwrap();
    // Reads from the page cache end at once, so that others stand in the ring and were never handed over: their end is
    // not waited for.
    let pool = Pool::new(settings(64)).unwrap();
    let segment = pool.add_segment(file().target(Caching::Buffered).unwrap(), PAGES, verify).unwrap();
    let pages: Vec<PageId> = (0..60).map(|number| at(segment, 20 + 2 * number)).collect();
    pool.session().load_many(&pages[..8]).unwrap();
    pool.discard(segment).unwrap();
    let (session, start) = (pool.session(), Instant::now());
    session.ask_ahead(&pages).unwrap();
    drop(session);
    assert!(start.elapsed() < Duration::from_secs(60), "it waited for reads that no thread makes");
    let session = pool.session();
    let pinned: Vec<_> = (0..64).map(|number| session.get(at(segment, 900 + number)).unwrap()).collect();
    assert_eq!(pinned.len(), 64);
}
