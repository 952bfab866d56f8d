//! I/O methods: ways to ask the kernel for blocks. One file and one row of [`METHODS`] each.

mod method;
mod slots;
mod sync;
mod threads;
mod uring;

pub use method::{Completion, Landing, MethodError, MethodRow, ReadMethod, ReadRequest, Setup, Wait};

/// Most bytes that the kernel reads at once: the rest of a longer read is missing (`MAX_RW_COUNT` of
/// `include/linux/fs.h`, with pages of 4 KiB).
pub const READ_BYTES_MAX: u64 = 0x7FFF_F000;

/// Every I/O method of this system.
pub const METHODS: &[MethodRow] = &[sync::ROW, threads::ROW, uring::ROW];

/// The method that costs least for this many reads in flight, among those that work here.
///
/// A single read is cheapest as one system call on the calling thread: io_uring adds the hand-over through its rings
/// and saves nothing (8 KiB from the page cache: 1.45 µs by pread, 2.1 by io_uring, on a virtual 3.5 GHz core of 2026).
/// From two on, it spares a thread and two wake-ups for each read.
pub fn best_method(depth: usize) -> &'static MethodRow {
    match depth {
        0 | 1 => &sync::ROW,
        _ if uring::is_available() => &uring::ROW,
        _ => &threads::ROW,
    }
}

/// The row of this name.
pub fn method(name: &str) -> Option<&'static MethodRow> {
    METHODS.iter().find(|row| row.name == name)
}
