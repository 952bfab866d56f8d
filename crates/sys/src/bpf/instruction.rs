//! Instructions of the kernel's programs (`Documentation/bpf/standardization/instruction-set.rst`).

/// Registers: the result, the arguments, one that calls keep, and the end of the stack.
pub(crate) const R0: u8 = 0;
pub(crate) const R1: u8 = 1;
pub(crate) const R2: u8 = 2;
pub(crate) const R3: u8 = 3;
pub(crate) const R4: u8 = 4;
pub(crate) const R6: u8 = 6;
pub(crate) const STACK: u8 = 10;

/// Operations.
pub(crate) const MOVE_NUMBER: u8 = 0xb7;
pub(crate) const MOVE: u8 = 0xbf;
pub(crate) const ADD_NUMBER: u8 = 0x07;
pub(crate) const STORE_NUMBER: u8 = 0x7a;
pub(crate) const STORE: u8 = 0x7b;
pub(crate) const ADD_ATOMICALLY: u8 = 0xdb;
pub(crate) const LOAD_WIDE: u8 = 0x18;
pub(crate) const CALL: u8 = 0x85;
pub(crate) const EXIT: u8 = 0x95;
pub(crate) const JUMP_IF_EQUAL: u8 = 0x15;
pub(crate) const JUMP_UNLESS_EQUAL: u8 = 0x55;

/// What the address of a wide load is: a map, and the first value of a map.
pub(crate) const A_NUMBER: u8 = 0;
pub(crate) const A_MAP: u8 = 1;
pub(crate) const A_MAPS_VALUE: u8 = 2;

/// Helpers of the kernel.
pub(crate) const KTIME_GET_NS: i32 = 5;
pub(crate) const GET_PID_TGID: i32 = 14;
pub(crate) const PROBE_READ_USER: i32 = 112;
pub(crate) const RING_OUTPUT: i32 = 130;

/// One instruction: operation, destination and source, offset, number.
pub(crate) fn one(operation: u8, to: u8, from: u8, offset: i16, number: i32) -> u64 {
    u64::from(operation)
        | u64::from(to | from << 4) << 8
        | u64::from(offset.cast_unsigned()) << 16
        | u64::from(number.cast_unsigned()) << 32
}

/// A load of 64 bits, which takes the place of two.
pub(crate) fn wide(to: u8, what: u8, value: u64) -> [u64; 2] {
    [one(LOAD_WIDE, to, what, 0, (value as u32).cast_signed()), one(0, 0, 0, 0, ((value >> 32) as u32).cast_signed())]
}

/// The load of a number of this many bytes from memory; `None` where a register takes no such number.
pub(crate) fn load(to: u8, from: u8, offset: i16, bytes: usize) -> Option<u64> {
    let operation = match bytes {
        1 => 0x71,
        2 => 0x69,
        4 => 0x61,
        8 => 0x79,
        _ => return None,
    };
    Some(one(operation, to, from, offset, 0))
}
