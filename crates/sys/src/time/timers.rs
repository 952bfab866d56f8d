//! How exactly the kernel wakes a thread.

/// Makes the kernel wake the calling thread exactly when requested: by default a wake-up may come 50 us late, so that
/// several can share one. For threads that time an open loop.
///
/// If the kernel refuses, its default stays, and the open loop shows it as lateness.
pub fn precise_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number, in nanoseconds, and changes only the calling thread's timers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}
