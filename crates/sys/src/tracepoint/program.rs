//! The program that the kernel runs where a tracepoint is passed: it writes the time, the thread and some fields to a
//! ring, also while the processor is idle.

use std::io;
use std::os::fd::OwnedFd;

use super::format::Field;
use super::record::VALUES_MAX;
use crate::bpf::instruction::{
    CALL, EXIT, GET_PID_TGID, JUMP_UNLESS_EQUAL, KTIME_GET_NS, MOVE, MOVE_NUMBER, R0, R1, R2, R6, STACK, STORE,
    STORE_NUMBER, load, one,
};
use crate::bpf::{self, RunAt};

/// Words of a record: the time, process and thread, the fields.
pub(super) const WORDS: usize = 2 + VALUES_MAX;

/// The kernel keeps its own first word of a tracepoint from programs.
const HIDDEN_BYTES: usize = 8;

/// Loads the program: it writes to this ring and counts in this map what found no room there.
pub(super) fn loaded(
    maps: (i32, i32),
    fields: &[Option<Field>; VALUES_MAX],
    first: (Field, u8),
) -> io::Result<OwnedFd> {
    let program = instructions(maps, fields, first);
    let program =
        program.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "a field is not where one can be"))?;
    bpf::load(RunAt::Tracepoint, &program)
}

/// `None` where a field stands where programs cannot read it.
fn instructions(
    maps: (i32, i32),
    fields: &[Option<Field>; VALUES_MAX],
    (first, byte): (Field, u8),
) -> Option<Vec<u64>> {
    let base = -(8 * WORDS as i16);
    let at = |word: usize| base + 8 * word as i16;
    let mut body = vec![
        one(CALL, 0, 0, 0, KTIME_GET_NS),
        one(STORE, STACK, R0, at(0), 0),
        one(CALL, 0, 0, 0, GET_PID_TGID),
        one(STORE, STACK, R0, at(1), 0),
    ];
    for (place, field) in fields.iter().enumerate() {
        match field {
            Some(field) => body.extend([loading(field)?, one(STORE, STACK, R2, at(2 + place), 0)]),
            None => body.push(one(STORE_NUMBER, STACK, 0, at(2 + place), 0)),
        }
    }
    body.extend(bpf::writing(maps, base, 8 * WORDS));
    let past = i16::try_from(body.len()).ok()?;
    // The helpers of the kernel change the first registers.
    let mut program = vec![one(MOVE, R6, R1, 0, 0), loading(&first)?];
    program.push(one(JUMP_UNLESS_EQUAL, R2, 0, past, i32::from(byte)));
    program.extend(body);
    // 1: other tracers of this tracepoint get their records as before.
    program.extend([one(MOVE_NUMBER, R0, 0, 0, 1), one(EXIT, 0, 0, 0, 0)]);
    Some(program)
}

/// Loads a field; `None` for one that programs cannot read, or whose sign would be lost.
fn loading(field: &Field) -> Option<u64> {
    let (offset, bytes) = field.place();
    let can_be_read = offset >= HIDDEN_BYTES && offset.is_multiple_of(bytes.max(1));
    let is_whole = bytes == 8 || !field.is_signed();
    load(R2, R6, i16::try_from(offset).ok()?, bytes).filter(|_| can_be_read && is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::Format;

    #[test]
    fn a_field_that_programs_cannot_read_is_refused_before_the_kernel_is_asked() {
        let text = "ID: 9\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
                    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
                    \tfield:long odd;\toffset:12;\tsize:8;\tsigned:1;\n\
                    \tfield:int error;\toffset:24;\tsize:4;\tsigned:1;\n\
                    \tfield:char rwbs[10];\toffset:30;\tsize:10;\tsigned:0;\n";
        let format = Format::parse(text).unwrap();
        let first = (format.first_byte("rwbs").unwrap(), b'R');
        let with = |name: &str| instructions((3, 4), &[format.field(name).ok(), None, None, None], first);
        assert!(with("dev").is_some());
        for refused in ["common_pid", "odd", "error"] {
            assert!(with(refused).is_none(), "{refused}");
        }
    }
}
