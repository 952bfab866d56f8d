//! Stores of a child that are known: each is seen, in its order, with what memory held.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::*;

/// Stores of the child.
const STORES: u64 = 1000;

/// A Python that prints where its numbers lie, waits for a line, and counts the first one up.
const CHILD: &str = "\
import ctypes, sys
numbers = (ctypes.c_uint32 * 4)(0, 7, 8, 9)
print(ctypes.addressof(numbers), flush=True)
sys.stdin.readline()
for number in range(1000):
    numbers[0] = number + 1
sys.stdin.readline()
";

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn every_store_of_another_process_is_seen_with_what_its_memory_held() {
    let mut watches = match Watches::open(1 << 12) {
        Ok(watches) => watches,
        Err(error) => return println!("skipped: the kernel takes no programs from this user: {error}"),
    };
    let child = Command::new("python3").args(["-c", CHILD]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return println!("skipped: there is no python3") };
    let (mut keyboard, mut said) = (child.stdin.take().unwrap(), String::new());
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let address: u64 = said.trim().parse().unwrap();
    let copied = [Copied { address, bytes: 4 }, Copied { address: address + 4, bytes: 8 }];
    let watched = watches.watch(3, child.id(), address, &copied);
    if let Err(error) = watched {
        child.kill().unwrap();
        child.wait().unwrap();
        return println!("skipped: the machine has no watchpoints for other processes: {error}");
    }
    keyboard.write_all(b"go\n").unwrap();
    let (mut stores, begun) = (Vec::new(), std::time::Instant::now());
    while stores.len() < STORES as usize && begun.elapsed() < std::time::Duration::from_secs(60) {
        stores.extend(watches.take());
    }
    drop(keyboard);
    child.wait().unwrap();
    let values: Vec<u64> = stores.iter().map(|store| store.parts[0]).collect();
    assert_eq!(values, (1..=STORES).collect::<Vec<u64>>());
    assert!(stores.is_sorted_by_key(|store| store.at));
    assert!(stores.iter().all(|store| store.watch == 3 && store.parts[1..] == [7 + (8 << 32), 0, 0, 0]));
    assert_eq!(watches.lost(), 0);
    assert_eq!(watches.take(), None);
}

#[test]
fn a_process_that_is_gone_and_parts_that_are_too_large_are_refused() {
    let Ok(mut watches) = Watches::open(8) else { return };
    assert!(watches.watch(0, 0x3fff_ffff, 4096, &[]).is_err());
    let own = std::process::id();
    assert!(watches.watch(0, own, 4096, &[Copied { address: 0, bytes: 9 }]).is_err());
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn a_store_that_is_seen_takes_more_than_one_that_is_not() {
    match cost_of_a_store(500) {
        Ok(cost) => assert!(cost > std::time::Duration::from_nanos(200), "{cost:?}"),
        Err(error) => println!("skipped: {error}"),
    }
}
