//! The allocator's settings, in processes of their own: threads of other tests would have arenas already.

#![cfg(target_env = "gnu")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::process::Command;
use std::sync::Barrier;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// All arenas but the first begin at multiples of this.
const ARENA: usize = 64 << 20;

#[test]
fn threads_at_the_same_time_share_the_arenas_that_are_there() {
    assert!(sys::memory::use_one_arena());
    let all_have = Barrier::new(12);
    let block = || {
        let block = vec![1_u8; 1 << 14];
        all_have.wait();
        block.as_ptr() as usize / ARENA
    };
    let arenas: BTreeSet<usize> = thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(block)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that allocates")).collect()
    });
    // The first arena, and those of the threads that the tests here run on.
    assert!(arenas.len() <= 3, "{} arenas", arenas.len());
}

/// Address space in bytes that the child may take from its limit on: less than an arena, more than its blocks.
const ROOM: u64 = 32 << 20;

/// Small blocks that a thread of the child allocates: 80 MiB if each takes a page, less than 1 MiB if none does.
const BLOCKS: usize = 20_000;

#[test]
#[ignore = "not a test: the child that `a_thread_under_a_limit_takes_no_page_for_each_small_block` starts"]
fn child_that_allocates_under_a_limit() {
    assert!(!sys::memory::use_one_arena_under_a_limit(), "no limit yet");
    let pages: u64 = fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let taken = pages * rustix::param::page_size() as u64;
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(Resource::As, Rlimit { current: Some(taken + ROOM), maximum }).unwrap();
    assert!(sys::memory::use_one_arena_under_a_limit());
    let blocks = thread::spawn(|| (0..BLOCKS).map(|block| Box::new([block; 4])).collect::<Vec<_>>());
    assert_eq!(blocks.join().unwrap().len(), BLOCKS);
}

#[test]
fn a_thread_under_a_limit_takes_no_page_for_each_small_block() {
    let mut child = Command::new(env::current_exe().unwrap());
    let ended = child.args(["--exact", "child_that_allocates_under_a_limit", "--ignored"]).output().unwrap();
    assert!(ended.status.success(), "{}{}", ended.status, String::from_utf8_lossy(&ended.stderr));
}
