//! Clocks, the core's frequency, timers, and what a system call and an empty loop cost.

mod clock;
pub mod core_clock;
pub mod system_call;
mod timers;

pub use clock::{Clock, ClockKind, kernel_clock_source};
pub use timers::precise_timers;
