//! The kernel's edge: everything that asks the machine directly, and the home of unsafe code; the engine's frames and
//! column kernels are the only others.
//!
//! It provides clocks, memory probes, files opened for reading, methods to read them, and witnesses of where data came
//! from. It knows no experiment, keeps no statistics and prints nothing.

mod bpf;
pub mod counters;
pub mod file;
pub mod host;
pub mod memory;
pub mod process;
pub mod read;
pub mod threads;
pub mod time;
pub mod tracepoint;
pub mod valgrind;
pub mod watchpoint;
