//! Client requests: how a program that runs under valgrind talks to it. Outside of valgrind they do nothing.
//!
//! A request is a documented sequence of instructions that changes no register; valgrind knows it when it sees it.
//! Source: valgrind.h ("The following defines the macros that put the magic instruction sequence") and callgrind.h.

use std::ffi::CStr;

/// First of callgrind's requests: the letters C and T in the upper half.
const CALLGRIND: u64 = (b'C' as u64) << 24 | (b'T' as u64) << 16;
const DUMP_STATS_AT: u64 = CALLGRIND + 3;
const ZERO_STATS: u64 = CALLGRIND + 1;
const START_INSTRUMENTATION: u64 = CALLGRIND + 4;
const STOP_INSTRUMENTATION: u64 = CALLGRIND + 5;

/// Begins to instrument: callgrind counts from here on, with cold caches. Slows the program down.
pub fn start_instrumentation() {
    request(START_INSTRUMENTATION, 0);
}

/// Ends the instrumentation: nothing is counted, and the program runs at valgrind's least slow speed.
pub fn stop_instrumentation() {
    request(STOP_INSTRUMENTATION, 0);
}

/// Sets all counts to zero.
pub fn zero_stats() {
    request(ZERO_STATS, 0);
}

/// Writes the counts so far to a file of their own, under a name that stands in it, and sets them to zero.
pub fn dump_stats_as(name: &CStr) {
    request(DUMP_STATS_AT, name.as_ptr() as u64);
}

/// Does `work` counted. `warm_up` goes before it, uncounted, but fills the simulated caches and teaches the simulated
/// branch prediction; leave it empty for cold ones.
///
/// All threads count. The requests themselves add some tens of instructions.
pub fn counted<R>(warm_up: impl FnOnce(), work: impl FnOnce() -> R) -> R {
    start_instrumentation();
    warm_up();
    zero_stats();
    let result = work();
    stop_instrumentation();
    result
}

/// Makes a request with one argument, a number or the address of a text that lives across the call. It does nothing
/// outside of valgrind, nor on an architecture for which no sequence is written down here.
fn request(code: u64, argument: u64) {
    let block: [u64; 6] = [code, argument, 0, 0, 0, 0];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the four rotations add up to two full turns of `rdi`, and the exchange of a register with itself changes
    // nothing, so that outside of valgrind the sequence does nothing but set flags. Valgrind reads the block, which
    // lives across it, and writes only `rdx`.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") block.as_ptr(),
            inout("rdx") 0_u64 => _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the four rotations add up to two full turns of `x12`, and a register's union with itself changes nothing,
    // so that outside of valgrind the sequence does nothing. Valgrind reads the block, which lives across it, and
    // writes only `x3`.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3",
            "ror x12, x12, #13",
            "ror x12, x12, #51",
            "ror x12, x12, #61",
            "orr x10, x10, x10",
            in("x4") block.as_ptr(),
            inout("x3") 0_u64 => _,
            options(nostack),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = block;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_valgrind_requests_do_nothing() {
        assert_eq!(counted(|| {}, || 7), 7);
        dump_stats_as(c"nothing");
    }
}
