//! Memory from the kernel, and probes of its latency and bandwidth.

mod allocator;
mod arena;
mod bandwidth;
mod chase;
mod prefetch;
mod region;

pub use allocator::{Allocator, end_at_once, use_one_arena, use_one_arena_under_a_limit};
pub use arena::{Arena, SLOT_ALIGNMENT};
pub use bandwidth::{Stream, StreamResult};
pub use chase::{Chase, LINE};
pub use prefetch::prefetch;
pub use region::{HUGE_PAGE, Pages, Region};
