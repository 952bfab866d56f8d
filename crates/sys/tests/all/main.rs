//! The tests of the crate against the kernel, in one program.
//!
//! Programs of their own are `allocator`, whose setting holds for a whole process, and `io_counts`, which audits the
//! kernel's counts of a whole process.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking and print what they skip")]

mod full_disk;
mod io_methods;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod known_loop;
mod targets;
mod witnesses;
