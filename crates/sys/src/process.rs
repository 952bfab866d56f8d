//! This process and others: what the kernel has charged to them, waiting for their end, and where their time goes.

pub mod affinity;
mod bound_child;
mod child;
mod foreign_memory;
mod orphans;
pub mod sampler;
mod shared_mapping;
mod shared_segment;
mod slice;
mod snapshot;
mod streams;
mod tree;
mod usage;
mod watch;

pub use rustix::process::Signal;

pub use bound_child::{BoundChild, Credentials, bind, end_with_this_thread};
pub use child::{Ended, Ending, Usage, wait};
pub use foreign_memory::{Part, read_memory};
pub use orphans::Adoption;
pub use shared_mapping::SharedMapping;
pub use shared_segment::{SegmentRemoval, remove_segment};
pub use slice::ShortSlice;
pub use snapshot::{UsageDelta, UsageSnapshot};
pub use streams::stdout_was_closed;
pub use usage::{peak_memory, peak_memory_of, process_cpu, process_fetched, thread_cpu, thread_fetched};
pub(crate) use watch::poll;
pub use watch::{is_there, name, watch};
