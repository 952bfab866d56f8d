//! The processor's hint to fetch a cache line ahead of its use.

/// Starts to fetch the cache line at `address` into all levels; a hint that the processor may decline.
///
/// The address may be anything: no value is read and no address faults. The pointer need not be valid for reads, so a
/// frame that another thread is writing can be fetched as well.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses nothing in the language's sense and faults on no address; every x86-64 processor has
    // the instruction.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above; `prfm` is the hint of this architecture.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
