//! Clocks, the core's frequency, timers, and what a system call and an empty loop cost.

mod clock;
pub mod core_clock;
pub mod system_call;
mod timers;

pub(crate) use clock::kernel_time;
pub use clock::{Clock, kernel_clock_source, monotonic_nanos};
pub use timers::precise_timers;
