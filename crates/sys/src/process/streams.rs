//! Whether standard output was open when this process began.
//!
//! A process that is started without one gets the null device in its place before `main`, so that no file of its own
//! becomes standard output. From then on it looks as if the user had asked for the null device.

use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before the standard library opens the null device.
// SAFETY: what stands in this section is called with arguments that a function in C may ignore, on the first thread.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: fcntl takes two numbers here and touches no memory of ours.
    let answer = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(answer == -1, Ordering::Relaxed);
}

/// Whether this process was started without a standard output (`>&-`).
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}
