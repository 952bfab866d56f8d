//! The paths that these modules had before they were grouped, until all callers have changed.

pub use crate::file::{extents, witness};
pub use crate::process::{affinity, sampler};
pub use crate::time::{core_clock, system_call};

/// See [`crate::process`].
pub mod account {
    pub use crate::process::{
        ContextSwitches, IoCounts, context_switches, peak_memory, process_cpu, process_io, thread_cpu, thread_io,
    };
}

/// See [`crate::memory`].
pub mod allocator {
    pub use crate::memory::use_one_arena;
}

/// See [`crate::memory`].
pub mod arena {
    pub use crate::memory::{Arena, SLOT_ALIGNMENT};
}

/// See [`crate::memory`].
pub mod bandwidth {
    pub use crate::memory::{Stream, StreamResult};
}

/// See [`crate::file`].
pub mod block_device {
    pub use crate::file::{BlockDevice, DeviceCounters as Counters, NoBlockDevice};
}

/// See [`crate::process`].
pub mod bound_child {
    pub use crate::process::{BoundChild, Credentials as Account, bind};
}

/// See [`crate::memory`].
pub mod chase {
    pub use crate::memory::{Chase, LINE};
}

/// See [`crate::time`].
pub mod clock {
    pub use crate::time::{Clock, ClockKind, kernel_clock_source};
}

/// See [`crate::counters`].
pub mod cycles {
    pub use crate::counters::{CycleCounter, NoCycles};
}

/// See [`crate::file`].
pub mod fill {
    pub use crate::file::{Filling, SEGMENT_BYTES, reserve};
}

/// See [`crate::memory`].
pub mod region {
    pub use crate::memory::{HUGE_PAGE, Pages, Region};
}

/// See [`crate::file`].
pub mod target {
    pub use crate::file::{Alignment, Caching, DeviceNumber, Kind, Target, TargetError};
}

/// See [`crate::file`].
pub mod test_file {
    pub use crate::file::{TestFile, TestFileError, expected_block, scratch_file};
}

/// See [`crate::time`].
pub mod timers {
    pub use crate::time::precise_timers;
}
