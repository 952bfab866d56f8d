//! The conformance suite of I/O methods: every row of the table, direct and buffered, at several depths.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use measure::random::SplitMix64;
use sys::file::{Caching, Target, TestFile, expected_block};
use sys::memory::{Pages, Region};
use sys::read::{
    Completion, Landing, METHODS, MethodError, MethodRow, ReadMethod, ReadRequest, Setup, Wait, best_method, method,
};

const BLOCK: usize = 8192;
const MIB: usize = 1 << 20;
const SEED: u64 = 11;
const DEPTHS: [usize; 4] = [1, 2, 7, 64];
const FOREVER: Option<Duration> = None;

fn test_file(bytes: u64) -> TestFile {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    TestFile::create(directory, bytes, SEED, &mut |_| (), &AtomicBool::new(false)).unwrap()
}

/// One combination of the suite.
struct Combination<'a> {
    row: &'static MethodRow,
    target: &'a Target,
    depth: usize,
}

impl Combination<'_> {
    /// The method opened; `None`, said aloud, where this system does not offer it.
    fn open(&self, slot_bytes: usize) -> Option<Box<dyn ReadMethod>> {
        match (self.row.open)(Setup { target: self.target, depth: self.depth, slot_bytes, pages: Pages::Huge }) {
            Err(error @ MethodError::Unavailable { .. }) => {
                println!("skipped: {error}");
                None
            }
            opened => Some(opened.unwrap()),
        }
    }
}

/// Runs `check` for every method, caching and depth that this system has.
fn for_each(file: &TestFile, check: impl Fn(&Combination)) {
    for caching in [Caching::Direct, Caching::Buffered] {
        let target = match file.target(caching) {
            Ok(target) => target,
            Err(error) => {
                println!("skipped {caching}: {error}");
                continue;
            }
        };
        for row in METHODS {
            for depth in DEPTHS.into_iter().filter(|depth| *depth <= row.depth_max.unwrap_or(usize::MAX)) {
                println!("{} {caching} depth {depth}", row.name);
                check(&Combination { row, target: &target, depth });
            }
        }
    }
}

fn reap(reader: &mut dyn ReadMethod, at_least: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    reader.reap(Wait { at_least, timeout: FOREVER }, &mut done).unwrap();
    done
}

fn read_one(reader: &mut dyn ReadMethod, offset: u64, length: usize) -> Completion {
    reader.queue(ReadRequest { offset, length, slot: 0 });
    let mut done = reap(reader, 1);
    assert_eq!(done.len(), 1);
    done.remove(0)
}

fn assert_holds(reader: &dyn ReadMethod, slot: usize, offset: u64, length: usize) {
    let mut expected = vec![0; length];
    expected_block(SEED, offset, &mut expected);
    assert!(reader.data(slot) == expected, "slot {slot} does not hold what stands at {offset}");
}

#[test]
fn every_byte_is_the_one_that_was_asked_for_in_whatever_order_slots_are_reused() {
    let file = test_file(4 * MIB as u64);
    let blocks = file.size() / BLOCK as u64;
    for_each(&file, |combination| {
        let Some(mut reader) = combination.open(BLOCK) else { return };
        let mut random = SplitMix64::new(combination.depth as u64);
        let mut offsets = vec![0; combination.depth];
        let mut free: Vec<usize> = (0..combination.depth).collect();
        let mut ended = 0;
        while ended < 300 {
            // Some of the free slots, in random order, so that the number in flight varies.
            for _ in 0..random.below(free.len() as u64 + 1) {
                let slot = free.swap_remove(random.below(free.len() as u64) as usize);
                offsets[slot] = random.below(blocks) * BLOCK as u64;
                reader.queue(ReadRequest { offset: offsets[slot], length: BLOCK, slot });
            }
            for completion in reap(reader.as_mut(), random.below(combination.depth as u64 + 1) as usize) {
                assert_eq!(completion.result.unwrap(), BLOCK);
                assert_holds(reader.as_ref(), completion.slot, offsets[completion.slot], BLOCK);
                free.push(completion.slot);
                ended += 1;
            }
        }
    });
}

#[test]
fn reads_past_the_end_are_short_and_no_error() {
    let size = MIB as u64 + 1000;
    let file = test_file(size);
    for_each(&file, |combination| {
        let Some(mut reader) = combination.open(BLOCK) else { return };
        assert_eq!(read_one(reader.as_mut(), MIB as u64, BLOCK).result.unwrap(), 1000);
        assert_holds(reader.as_ref(), 0, MIB as u64, 1000);
        assert_eq!(read_one(reader.as_mut(), 2 * MIB as u64, BLOCK).result.unwrap(), 0);
        assert_eq!(reader.data(0), b"");
    });
}

#[test]
fn an_unaligned_direct_read_is_an_error_of_that_read_alone() {
    let file = test_file(MIB as u64);
    for_each(&file, |combination| {
        if combination.target.alignment().offset == 1 {
            return;
        }
        let Some(mut reader) = combination.open(BLOCK) else { return };
        let slots = combination.depth;
        for slot in 0..slots {
            let offset = if slot == 0 { 1 } else { (slot * BLOCK) as u64 };
            reader.queue(ReadRequest { offset, length: BLOCK, slot });
        }
        let mut done = reap(reader.as_mut(), slots);
        done.sort_by_key(|completion| completion.slot);
        assert_eq!(done.len(), slots);
        assert_eq!(done[0].result.as_ref().unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(reader.data(0), b"");
        assert!(done[1..].iter().all(|completion| *completion.result.as_ref().unwrap() == BLOCK));
        assert_eq!(read_one(reader.as_mut(), 0, BLOCK).result.unwrap(), BLOCK);
    });
}

#[test]
fn each_request_ends_exactly_once() {
    let file = test_file(MIB as u64);
    for_each(&file, |combination| {
        let Some(mut reader) = combination.open(BLOCK) else { return };
        assert_eq!(reader.depth(), combination.depth);
        assert!(reap(reader.as_mut(), 1).is_empty(), "nothing is in flight, so there is nothing to wait for");
        for slot in 0..combination.depth {
            reader.queue(ReadRequest { offset: 0, length: BLOCK, slot });
        }
        let mut ended = HashSet::new();
        while ended.len() < combination.depth {
            for completion in reap(reader.as_mut(), usize::MAX) {
                assert!(ended.insert(completion.slot));
            }
        }
        assert!(reap(reader.as_mut(), 0).is_empty());
    });
}

/// How many waits of 50 us it takes to read a MiB into every slot.
fn waits_for_a_mebibyte_a_slot(reader: &mut dyn ReadMethod) -> usize {
    let depth = reader.depth();
    for slot in 0..depth {
        reader.queue(ReadRequest { offset: (slot * MIB) as u64, length: MIB, slot });
    }
    let mut done = Vec::new();
    let mut calls = 0;
    while done.len() < depth {
        let wait = Wait { at_least: usize::MAX, timeout: Some(Duration::from_micros(50)) };
        reader.reap(wait, &mut done).unwrap();
        calls += 1;
    }
    assert!(done.iter().all(|completion| *completion.result.as_ref().unwrap() == MIB));
    calls
}

#[test]
fn a_wait_ends_when_its_time_is_up() {
    let file = test_file(64 * MIB as u64);
    for_each(&file, |combination| {
        if combination.depth < 64 || combination.target.caching() == Caching::Buffered {
            return;
        }
        let Some(mut reader) = combination.open(MIB) else { return };
        // 64 MiB took 20 to 130 ms on the disk this was tried on; at 14 GB/s, the limit of a PCIe 5 drive, they take 5.
        // A thread that loses its processor for as long finds all of them after one wait, so a few attempts are made.
        let calls = (0..5).map(|_| waits_for_a_mebibyte_a_slot(reader.as_mut())).max();
        assert!(calls > Some(1), "64 MiB cannot be read in 50 us");
    });
}

#[test]
fn dropping_a_method_with_reads_in_flight_lets_no_read_land_in_memory_of_others() {
    let file = test_file(64 * MIB as u64);
    for_each(&file, |combination| {
        for submitted in [true, false] {
            let Some(mut reader) = combination.open(MIB) else { return };
            for slot in 0..combination.depth {
                reader.queue(ReadRequest { offset: (slot * MIB) as u64, length: MIB, slot });
            }
            if submitted && combination.depth > 1 {
                reap(reader.as_mut(), 0);
            }
            drop(reader);
            let successor = Region::new(combination.depth * MIB, Pages::Huge).unwrap();
            thread::sleep(Duration::from_millis(5));
            assert!(successor.bytes().iter().all(|byte| *byte == 0), "a read landed after its method was dropped");
        }
    });
}

#[test]
fn a_method_may_be_opened_on_one_thread_and_used_and_dropped_on_others() {
    let file = test_file(64 * MIB as u64);
    for_each(&file, |combination| {
        let Some(mut reader) = combination.open(MIB) else { return };
        let depth = combination.depth;
        let reader = thread::spawn(move || {
            assert_eq!(read_one(reader.as_mut(), 0, MIB).result.unwrap(), MIB);
            for slot in 0..depth {
                reader.queue(ReadRequest { offset: (slot * MIB) as u64, length: MIB, slot });
            }
            if depth > 1 {
                reap(reader.as_mut(), 0);
            }
            reader
        });
        let mut reader = reader.join().unwrap();
        // A ring may refuse another thread, with an error and not with a hang or a crash.
        if let Err(error) = reader.reap(Wait { at_least: depth, timeout: FOREVER }, &mut Vec::new()) {
            assert!(error.to_string().contains("thread"), "{error}");
        }
    });
}

#[test]
fn misuse_by_the_loop_above_is_a_panic_and_not_a_corrupted_buffer() {
    let file = test_file(MIB as u64);
    for_each(&file, |combination| {
        let Some(mut reader) = combination.open(BLOCK) else { return };
        let mut refuses = |request: ReadRequest| catch_unwind(AssertUnwindSafe(|| reader.queue(request))).is_err();
        assert!(refuses(ReadRequest { offset: 0, length: BLOCK + 1, slot: 0 }), "more than a slot holds");
        assert!(refuses(ReadRequest { offset: 0, length: BLOCK, slot: combination.depth }), "no such slot");
        assert!(!refuses(ReadRequest { offset: 0, length: BLOCK, slot: 0 }));
        assert!(refuses(ReadRequest { offset: 0, length: BLOCK, slot: 0 }), "in flight");
        assert!(catch_unwind(AssertUnwindSafe(|| reader.data(0).len())).is_err(), "in flight");
        assert_eq!(reap(reader.as_mut(), 1).len(), 1);
    });
}

#[test]
fn a_depth_that_a_method_cannot_hold_is_refused_with_a_sentence() {
    let file = test_file(MIB as u64);
    let target = file.target(Caching::Buffered).unwrap();
    let Err(error) =
        (method("sync").unwrap().open)(Setup { target: &target, depth: 2, slot_bytes: BLOCK, pages: Pages::Huge })
    else {
        panic!("sync holds one read");
    };
    assert_eq!(error.to_string(), "I/O method sync holds at most 1 reads in flight, 2 were asked for");
    for row in METHODS {
        let Err(error) =
            (row.open)(Setup { target: &target, depth: 1, slot_bytes: usize::MAX / 2, pages: Pages::Huge })
        else {
            panic!("no machine has that much memory");
        };
        assert!(matches!(error, MethodError::Memory { .. }), "{error}");
    }
}

#[test]
fn the_method_chosen_by_itself_exists_and_holds_the_depth() {
    assert_eq!(best_method(1).name, "sync");
    for depth in [1, 2, 128] {
        assert!(best_method(depth).depth_max.is_none_or(|depth_max| depth <= depth_max));
    }
    assert!(method("none").is_none());
}

#[test]
fn what_is_read_into_lent_memory_stands_there_and_nowhere_else() {
    let file = test_file(4 * MIB as u64);
    for_each(&file, |combination| {
        let Some(mut reader) = combination.open(BLOCK) else { return };
        let memory = Arc::new(Region::new(2 * MIB, Pages::Huge).unwrap());
        if !reader.lend(&memory) {
            return;
        }
        let places = (memory.len() / BLOCK) as u64;
        let mut random = SplitMix64::new(3);
        let mut into = vec![None; combination.depth];
        for round in 0..(40 / combination.depth as u64).max(2) {
            for (slot, into) in into.iter_mut().enumerate() {
                let offset = (round * combination.depth as u64 + slot as u64) % 512 * BLOCK as u64;
                let request = ReadRequest { offset, length: BLOCK, slot };
                // Places of one round differ, and all its reads have ended before the next one begins.
                let place = (random.below(places / 64) * 64 + slot as u64) as usize * BLOCK;
                *into = (slot % 3 != 0).then_some((offset, place));
                match *into {
                    // SAFETY: nothing reads the memory before the completions of the round are reaped.
                    Some((_, place)) => reader.queue_into(request, unsafe { Landing::new(place, BLOCK) }),
                    None => reader.queue(request),
                }
            }
            let done = reap(reader.as_mut(), combination.depth);
            assert!(done.len() == combination.depth && done.iter().all(|one| matches!(one.result, Ok(BLOCK))));
            for (offset, place) in into.iter().flatten() {
                let mut expected = [0; BLOCK];
                expected_block(SEED, *offset, &mut expected);
                assert!(memory.bytes()[*place..*place + BLOCK] == expected);
            }
            assert_holds(reader.as_ref(), 0, round * combination.depth as u64 % 512 * BLOCK as u64, BLOCK);
        }
        let beyond = ReadRequest { offset: 0, length: BLOCK, slot: 0 };
        // SAFETY: the read is refused.
        let landing = unsafe { Landing::new(memory.len() - BLOCK / 2, BLOCK) };
        assert!(catch_unwind(AssertUnwindSafe(|| reader.queue_into(beyond, landing))).is_err());
    });
}
