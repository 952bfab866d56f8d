//! How exactly the kernel wakes a thread.

/// Asks the kernel to wake the calling thread at the moment it asked for: by default a wake-up may come 50 us late,
/// so that several can share one. Threads that time an open loop want it.
///
/// A kernel that refuses leaves its default, which the open loop then shows as lateness.
pub fn precise_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number, in nanoseconds, and changes only the calling thread's timers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}
