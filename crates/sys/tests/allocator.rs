//! The allocator's setting, in a process of its own: threads of other tests would have arenas already.

#![cfg(target_env = "gnu")]

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

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
    // The first arena, and that of the thread that this test runs on.
    assert!(arenas.len() <= 2, "{} arenas", arenas.len());
}
