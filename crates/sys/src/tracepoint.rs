//! Tracepoints of the kernel, as they are passed on all processors: what happens inside a read of any process.
//!
//! Where the fields of a tracepoint stand is read from the kernel's own description of it. The records of a processor
//! lie in a ring that the kernel fills; [`Tracer::drain`] empties all rings and puts what was in them in the order of
//! time. Of an idle processor some kernels write no such records: there a small program in the kernel, where it takes
//! one, writes them to a ring of its own. What found no room in a ring is lost, and is counted, on kernels before 6.0
//! but for the last of it.

mod absence;
mod folder;
mod format;
mod losses;
mod opening;
mod program;
mod programmed;
mod record;
mod ring;
mod tracer;

pub use absence::NoTracing;
pub use format::{Field, Format, FormatError};
pub use record::{Loss, TraceRecord, VALUES_MAX};
pub use tracer::{Batch, FirstByte, Tracer, Wanted};
