//! The kernel's edge: everything that asks the machine directly, and the only home of unsafe code besides the
//! engine's frames and kernels.
//!
//! It gives clocks, memory probes, files opened for reading, methods to read them, and witnesses of who answered.
//! It knows no experiment, keeps no statistics and prints nothing.

pub mod account;
pub mod affinity;
mod alignment;
pub mod allocator;
pub mod arena;
pub mod bandwidth;
pub mod block_device;
pub mod bound_child;
pub mod chase;
pub mod clock;
pub mod core_clock;
pub mod counters;
pub mod cycles;
pub mod extents;
pub mod fill;
pub mod host;
mod mount;
pub mod process;
pub mod read;
pub mod region;
pub mod sampler;
pub mod system_call;
pub mod target;
pub mod test_file;
pub mod timers;
pub mod valgrind;
pub mod witness;
