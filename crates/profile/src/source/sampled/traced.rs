//! What a tracer of the kernel reports of a server: reads of files, and requests to devices.

use std::sync::Arc;

use crate::event::Ticks;
use crate::tables::read_tiers::{Purpose, ReadSums, ReadTier};

/// A read of a file by a process of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedRead {
    /// The process.
    pub process: u32,
    /// When it was asked for, in microseconds since 1970.
    pub begun: i64,
    /// From call to return.
    pub elapsed: Ticks,
    /// What answered it.
    pub tier: ReadTier,
    /// The relation by the path of its file below the data directory (`base/5/16384`), or a word for other files.
    pub file: Arc<str>,
    /// The first block of the relation that it brought.
    pub block: u64,
    /// How many blocks it touched.
    pub blocks: u64,
    /// Bytes that it brought.
    pub bytes: u64,
    /// Time in which requests of its own waited for the device's queue, and in which the device served them.
    pub queue: Ticks,
    /// The same, served.
    pub service: Ticks,
}

impl TracedRead {
    /// Alone as a sum.
    pub fn sums(&self) -> ReadSums {
        let TracedRead { blocks, bytes, elapsed, queue, service, .. } = *self;
        ReadSums { reads: 1, blocks, bytes, time: elapsed, queue, service }
    }
}

/// A request to a device that a process of the server sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    /// The process.
    pub process: u32,
    /// When it was sent, in microseconds since 1970.
    pub begun: i64,
    /// For what.
    pub purpose: Purpose,
    /// Its bytes.
    pub bytes: u64,
    /// Time in the queue.
    pub queue: Ticks,
    /// Time on the device.
    pub service: Ticks,
}

/// A read under way that another process does for one that waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwaitedRead {
    /// The process that waits.
    pub process: u32,
    /// When the server was asked, in microseconds since 1970.
    pub at: i64,
    /// The relation by the path of its file.
    pub file: Arc<str>,
    /// The first and the last block of the relation that it brings.
    pub blocks: (u64, u64),
}

/// What was traced since the report before.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// Reads that have ended, in the order of their ends.
    pub reads: Vec<TracedRead>,
    /// Requests that have ended.
    pub requests: Vec<TracedRequest>,
    /// Reads that other processes do for those that wait for them, as they were under way when the server was asked.
    pub waiting: Vec<AwaitedRead>,
    /// Records that were read, and those that were lost.
    pub records: u64,
    /// The same, lost.
    pub lost: u64,
}
