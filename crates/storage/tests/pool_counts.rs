//! The counts of the pool's gate, audited against what the kernel has booked on this process.
//!
//! One test in a process of its own, because the kernel's counts are those of all threads together.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking and print what they skip")]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;

use measure::random::SplitMix64;
use storage::page::id::PAGE_SIZE;
use storage::pool::{Pool, PoolSettings};
use storage::{PageId, SegmentId};
use sys::file::{Caching, Target, TestFile};
use sys::process::process_fetched;

const PAGES: u32 = 2048;
const THREADS: u64 = 3;
/// The page that the verifier refuses: a page that is not used was read all the same.
const REFUSED: u32 = 13;

/// Reads as often as it takes until the kernel has booked nothing else meanwhile. It also books a page of this program
/// that it had dropped from memory; a block that the gate miscounts is there every time.
#[test]
fn the_blocks_of_the_gate_are_the_bytes_of_the_kernel() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let bytes = u64::from(PAGES) * PAGE_SIZE as u64;
    let file = TestFile::create(directory, bytes, 41, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let mut seen = Vec::new();
    for _ in 0..5 {
        let target = match file.target(Caching::Direct) {
            Ok(target) => target,
            Err(error) => return println!("skipped: {error}"),
        };
        match blocks_and_bytes(target) {
            Some((counted, booked)) if counted == booked => return,
            Some(pair) => seen.push(pair),
            None => return println!("skipped: the kernel does not count reads by process"),
        }
    }
    panic!("bytes that the gate and the kernel count: {seen:?}");
}

/// Bytes that the gate counts and that the kernel has booked on this process; `None` where it books none.
fn blocks_and_bytes(target: Target) -> Option<(u64, u64)> {
    let before = process_fetched()?;
    let usual = PoolSettings::new(128 * PAGE_SIZE);
    let settings = PoolSettings { read_depth: 8, blocks_per_read: 8, blocks_per_gather: 4, ..usual };
    let pool = Pool::new(settings).unwrap();
    let verify = |_: &[u8; PAGE_SIZE], page: PageId| (page.number != REFUSED).then_some(()).ok_or("refused".into());
    let segment = pool.add_segment(target, PAGES, verify).unwrap();
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let pool = &pool;
            scope.spawn(move || read_in_every_way(pool, segment, seed));
        }
    });
    let read_bytes = process_fetched().unwrap() - before;
    let counts = pool.counts();
    assert_eq!(counts.gets, THREADS * 600);
    assert!(counts.blocks_read > counts.physical_reads && counts.physical_reads > 1000, "{counts:?}");
    Some((counts.blocks_read * PAGE_SIZE as u64, read_bytes))
}

fn read_in_every_way(pool: &Pool, segment: SegmentId, seed: u64) {
    let session = pool.session();
    let at = |number| PageId { segment, number };
    let mut random = SplitMix64::new(seed);
    for _ in 0..300 {
        let number = REFUSED + 1 + random.below(1900) as u32;
        drop(session.get(at(number)).unwrap());
        session.prefetch_range(at(number), 9).unwrap();
        session.load_many(&[at(number), at(100), at(number + 90), at(number + 91), at(number + 92)]).unwrap();
        assert!(session.get(at(REFUSED)).is_err());
    }
}
