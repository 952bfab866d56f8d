//! Why an event is not counted.

use thiserror::Error;

/// Why there is no count of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Absence {
    /// There is no counter, or it opens and stays at zero, as under some hypervisors.
    #[error("this machine hides the processor's counters, as most virtual machines do")]
    Hidden,
    /// The kernel's settings, another user's process or a sandbox forbid it.
    #[error(
        "the kernel forbids it (kernel.perf_event_paranoid, a process of another user, or a sandbox); root or the \
         capability CAP_PERFMON may count it"
    )]
    Forbidden,
    /// This processor lacks the event, or the kernel does not map it there.
    #[error("this processor has no such event")]
    Unsupported,
    /// The counter got no turn while the task ran, or none in threads that ran for too much of the time.
    #[error("it got no turn, or none in some threads: other programs held the processor's counters, or too little ran")]
    NeverRan,
    /// The thread has ended.
    #[error("the thread had ended")]
    Gone,
    /// Each counter of each thread is a file, and the limit is reached.
    #[error("too many files would be open; raise the limit with `ulimit -n`")]
    TooManyFiles,
    /// The kernel refused for another reason.
    #[error("the kernel refused with error {0}")]
    Refused(i32),
}

impl Absence {
    /// The reason behind an error number of perf_event_open(2).
    pub(super) fn of(errno: i32) -> Absence {
        match errno {
            libc::EACCES | libc::EPERM => Absence::Forbidden,
            libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL | libc::ENOSYS => Absence::Unsupported,
            libc::ESRCH => Absence::Gone,
            // Another counter has the processor's for itself.
            libc::EBUSY => Absence::NeverRan,
            libc::EMFILE | libc::ENFILE => Absence::TooManyFiles,
            other => Absence::Refused(other),
        }
    }
}
