//! What a method says it has read, audited against what the kernel has booked on this process.
//!
//! One test in a process of its own, because the kernel's counts are those of all threads together.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking and print what they skip")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use sys::file::{Caching, Target, TestFile};
use sys::memory::Pages;
use sys::process::process_fetched;
use sys::read::{METHODS, MethodError, ReadMethod, ReadRequest, Setup, Wait};

const BLOCK: usize = 8192;
const READS: u64 = 2000;

/// Reads whole blocks in turn until `READS` have ended; returns the bytes that the method says it read.
fn read_all(reader: &mut dyn ReadMethod, blocks: u64) -> u64 {
    let mut next = 0;
    let mut request = |slot| {
        next += 1;
        ReadRequest { offset: next * 37 % blocks * BLOCK as u64, length: BLOCK, slot }
    };
    let depth = reader.depth() as u64;
    (0..depth).for_each(|slot| reader.queue(request(slot as usize)));
    let (mut ended, mut bytes) = (0, 0);
    let mut done = Vec::new();
    while ended < READS {
        reader.reap(Wait { at_least: 1, timeout: None }, &mut done).unwrap();
        for completion in done.drain(..) {
            ended += 1;
            bytes += completion.result.unwrap() as u64;
            if ended + depth <= READS {
                reader.queue(request(completion.slot));
            }
        }
    }
    bytes
}

/// Bytes that the method says and bytes that the kernel fetched for them; `None` where there is no such method.
fn audit(open: impl Fn() -> Result<Box<dyn ReadMethod>, MethodError>, target: &Target) -> Option<(u64, u64)> {
    let mut reader = match open() {
        Err(error @ MethodError::Unavailable { .. }) => {
            println!("skipped: {error}");
            return None;
        }
        opened => opened.unwrap(),
    };
    let before = process_fetched()?;
    let said = read_all(reader.as_mut(), target.size() / BLOCK as u64);
    Some((said, process_fetched()? - before))
}

/// Reads as often as it takes until the kernel has booked nothing else meanwhile: it also books a page of this program
/// that it had dropped from memory. Bytes that a method miscounts are there every time.
#[test]
fn direct_reads_are_booked_by_the_kernel_to_the_byte() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = TestFile::create(directory, 8 << 20, 3, &mut |_| (), &AtomicBool::new(false)).unwrap();
    let target = match file.target(Caching::Direct) {
        Ok(target) => target,
        Err(error) => return println!("skipped: {error}"),
    };
    if process_fetched().is_none() {
        return println!("skipped: the kernel does not count reads by process");
    }
    for row in METHODS {
        for depth in [1, 32] {
            if row.depth_max.is_some_and(|depth_max| depth > depth_max) {
                continue;
            }
            let open = || (row.open)(Setup { target: &target, depth, slot_bytes: BLOCK, pages: Pages::Huge });
            let mut seen = Vec::new();
            while seen.last().is_none_or(|(said, booked)| said != booked) {
                let Some((said, booked)) = audit(open, &target) else { break };
                assert_eq!(said, READS * BLOCK as u64, "{} depth {depth}", row.name);
                seen.push((said, booked));
                assert!(seen.len() < 6 || said == booked, "{} depth {depth}: said and booked {seen:?}", row.name);
            }
        }
    }
}
