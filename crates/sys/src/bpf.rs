//! The kernel's maps and programs (bpf(2)), as far as watches and tracepoints need them.

pub(crate) mod instruction;
mod map;
mod ring;

pub(crate) use map::{Array, RunAt, load, passed_over};
pub(crate) use ring::{HEAD_BYTES, Ring, writing};
