//! The C library's allocator: its settings, and what becomes of a process that it has no memory for.

use std::alloc::{GlobalAlloc, Layout, System};

use rustix::process::{Resource, getrlimit};

/// The system's allocator for a whole program, which calls `out_of_memory` with the bytes that were refused, where the
/// standard library would abort. That function ends the process and allocates nothing on the way.
///
/// A refusal is final: nothing of ours asks for memory to find out whether there is some. What is large comes from
/// [`crate::memory::Region`], whose refusal is an error.
pub struct Allocator {
    /// Says what happened and ends the process.
    pub out_of_memory: fn(usize) -> !,
}

impl Allocator {
    fn check(&self, block: *mut u8, bytes: usize) -> *mut u8 {
        if block.is_null() { (self.out_of_memory)(bytes) } else { block }
    }
}

// SAFETY: every call goes to the system's allocator with the arguments of the caller, who keeps its contract, and its
// answer goes back as it is; where that is none, nothing goes back. The function that ends the process does not unwind
// into the caller, because the program that gives it makes it end the process.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this very function.
        self.check(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; the block is the system's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        self.check(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the block is the system's.
        self.check(unsafe { System.realloc(block, layout, size) }, size)
    }
}

/// Ends the process with this exit code and nothing else: no handler of the program or of the standard library runs.
/// One of these may wait for a lock that the very thread holds which got no memory.
pub fn end_at_once(code: i32) -> ! {
    // SAFETY: `_exit` takes a number, touches no memory of ours and does not return.
    unsafe { libc::_exit(code) }
}

/// Makes all threads allocate from one arena where the address space of this process is limited (`ulimit -v`); `false`
/// where it is not, or the allocator has no such setting.
///
/// An arena of a thread reserves 64 MiB of address space. Where the limit refuses that, the C library takes a page for
/// each block that the thread allocates, however small. The address space then ends in the middle of its own work,
/// which aborts the process ("failed to register TLS destructor"), before [`Allocator::out_of_memory`] could say so.
pub fn use_one_arena_under_a_limit() -> bool {
    getrlimit(Resource::As).current.is_some() && use_one_arena()
}

/// Makes all threads allocate from one arena; `false` if the allocator has no such setting.
///
/// By default each thread has its own arena, and a table that grows on one thread and then on another leaves holes in
/// both: a profile read by two threads took 3.5 MiB of 78 more, and no less time.
pub fn use_one_arena() -> bool {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: mallopt takes two numbers and touches no memory of ours.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) == 1 }
    }
    #[cfg(not(target_env = "gnu"))]
    false
}
