//! The program that the kernel runs at each store: it copies parts of the process's memory into a ring.

use std::io;
use std::os::fd::OwnedFd;

use crate::bpf::instruction::{
    A_NUMBER, ADD_NUMBER, CALL, EXIT, KTIME_GET_NS, MOVE, MOVE_NUMBER, PROBE_READ_USER, R0, R1, R2, R3, STACK, STORE,
    STORE_NUMBER, one, wide,
};
use crate::bpf::{self, Array, Ring, RunAt};

/// Most parts that are copied.
pub const PARTS_MAX: usize = 5;

/// A part of a process's memory that is copied with each store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Where it begins, by that process's addresses.
    pub address: u64,
    /// How many bytes: 1 to 8.
    pub bytes: u32,
}

/// A record: the time, the watch's number, the parts.
pub(super) const RECORD_BYTES: usize = 8 * (2 + PARTS_MAX);

/// Loads the program of a watch.
pub(super) fn load(ring: &Ring, lost: &Array, watch: u32, copied: &[Copied]) -> io::Result<OwnedFd> {
    if copied.len() > PARTS_MAX || copied.iter().any(|part| !(1..=8).contains(&part.bytes)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "at most 5 parts of 1 to 8 bytes are copied"));
    }
    bpf::load(RunAt::PerfEvent, &instructions((ring.number(), lost.number()), watch, copied))
}

fn instructions(maps: (i32, i32), watch: u32, copied: &[Copied]) -> Vec<u64> {
    let base = -(RECORD_BYTES as i16);
    let at = |word: usize| base + 8 * word as i16;
    let mut program = vec![
        one(CALL, 0, 0, 0, KTIME_GET_NS),
        one(STORE, STACK, R0, at(0), 0),
        one(STORE_NUMBER, STACK, 0, at(1), watch.cast_signed()),
    ];
    program.extend((0..PARTS_MAX).map(|part| one(STORE_NUMBER, STACK, 0, at(2 + part), 0)));
    for (part, Copied { address, bytes }) in copied.iter().enumerate() {
        program.extend([
            one(MOVE, R1, STACK, 0, 0),
            one(ADD_NUMBER, R1, 0, 0, i32::from(at(2 + part))),
            one(MOVE_NUMBER, R2, 0, 0, bytes.cast_signed()),
        ]);
        program.extend(wide(R3, A_NUMBER, *address));
        program.push(one(CALL, 0, 0, 0, PROBE_READ_USER));
    }
    program.extend(bpf::writing(maps, base, RECORD_BYTES));
    program.extend([
        // 0: the event itself is not kept.
        one(MOVE_NUMBER, R0, 0, 0, 0),
        one(EXIT, 0, 0, 0, 0),
    ]);
    program
}
