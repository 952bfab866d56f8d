//! The program that the kernel runs at each store: it copies parts of the process's memory into a queue.

use std::io;
use std::os::fd::OwnedFd;

use super::bpf::{self, Array, Queue};

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

/// Registers: the result, the arguments, one that calls keep, and the end of the stack.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const STACK: u8 = 10;

/// Operations (`Documentation/bpf/standardization/instruction-set.rst`).
const MOVE_NUMBER: u8 = 0xb7;
const MOVE: u8 = 0xbf;
const ADD_NUMBER: u8 = 0x07;
const STORE_NUMBER: u8 = 0x7a;
const STORE: u8 = 0x7b;
const ADD_ATOMICALLY: u8 = 0xdb;
const LOAD_WIDE: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JUMP_IF_EQUAL: u8 = 0x15;

/// What the address of a wide load is: a map, and the first value of a map.
const A_NUMBER: u8 = 0;
const A_MAP: u8 = 1;
const A_MAPS_VALUE: u8 = 2;

/// Helpers of the kernel.
const KTIME_GET_NS: i32 = 5;
const MAP_PUSH: i32 = 87;
const PROBE_READ_USER: i32 = 112;

/// Loads the program of a watch.
pub(super) fn load(queue: &Queue, lost: &Array, watch: u32, copied: &[Copied]) -> io::Result<OwnedFd> {
    if copied.len() > PARTS_MAX || copied.iter().any(|part| !(1..=8).contains(&part.bytes)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "at most 5 parts of 1 to 8 bytes are copied"));
    }
    bpf::load(&instructions((queue.number(), lost.number()), watch, copied))
}

fn instructions((queue, lost): (i32, i32), watch: u32, copied: &[Copied]) -> Vec<u64> {
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
    program.extend(wide(R1, A_MAP, queue as u32 as u64));
    program.extend([
        one(MOVE, R2, STACK, 0, 0),
        one(ADD_NUMBER, R2, 0, 0, i32::from(base)),
        one(MOVE_NUMBER, R3, 0, 0, 0),
        one(CALL, 0, 0, 0, MAP_PUSH),
        // Where there was room, the count of lost ones is passed over.
        one(JUMP_IF_EQUAL, R0, 0, 4, 0),
    ]);
    program.extend(wide(R1, A_MAPS_VALUE, lost as u32 as u64));
    program.extend([
        one(MOVE_NUMBER, R2, 0, 0, 1),
        one(ADD_ATOMICALLY, R1, R2, 0, 0),
        // 0: the event itself is not kept.
        one(MOVE_NUMBER, R0, 0, 0, 0),
        one(EXIT, 0, 0, 0, 0),
    ]);
    program
}

/// One instruction: operation, destination and source, offset, number.
fn one(operation: u8, to: u8, from: u8, offset: i16, number: i32) -> u64 {
    u64::from(operation)
        | u64::from(to | from << 4) << 8
        | u64::from(offset.cast_unsigned()) << 16
        | u64::from(number.cast_unsigned()) << 32
}

/// A load of 64 bits, which takes the place of two.
fn wide(to: u8, what: u8, value: u64) -> [u64; 2] {
    [one(LOAD_WIDE, to, what, 0, (value as u32).cast_signed()), one(0, 0, 0, 0, ((value >> 32) as u32).cast_signed())]
}
