//! Why tracepoints cannot be read.

use thiserror::Error;

use super::format::FormatError;

/// Why tracepoints cannot be read here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoTracing {
    /// The folder is not mounted, and the kernel does not let this process mount it for itself.
    #[error(
        "the kernel's folder of tracepoints (tracefs) is not mounted, and only root may mount it: \
         `mount -t tracefs nodev /sys/kernel/tracing`"
    )]
    NotMounted,
    /// The folder is there, and this process may not read it.
    #[error("the kernel's folder of tracepoints, {0}, may be read by root alone")]
    FolderForbidden(String),
    /// The kernel refuses to open a tracepoint.
    #[error(
        "the kernel lets this process trace no other one (kernel.perf_event_paranoid is {paranoid}); root and the \
         capability CAP_PERFMON may, outside a container that takes them away"
    )]
    Forbidden {
        /// The setting that decides it.
        paranoid: String,
    },
    /// This kernel lacks a tracepoint.
    #[error("this kernel has no tracepoint {0}")]
    Missing(String),
    /// The kernel's description of a tracepoint is not as expected.
    #[error("the kernel's description of the tracepoint {name} is not understood: {why}")]
    Format {
        /// Which one.
        name: String,
        /// What is wrong with it.
        why: FormatError,
    },
    /// Each tracepoint on each processor is a file, and the limit is reached.
    #[error("too many files would be open; raise the limit with `ulimit -n`")]
    TooManyFiles,
    /// There is no memory for the rings.
    #[error("the kernel gives no memory for the records (kernel.perf_event_mlock_kb, `ulimit -l`)")]
    NoMemory,
    /// The kernel refused for another reason.
    #[error("the kernel refused the tracepoint {name}: {why}")]
    Refused {
        /// Which one.
        name: String,
        /// What it said.
        why: String,
    },
}
