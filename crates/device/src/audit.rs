//! Which level served the reads, by the kernel's own counts: what this process fetched from storage, and what the
//! device delivered.

use sys::file::{BlockDevice, DeviceCounters};
use sys::process;

/// Counts taken before a reading.
#[derive(Clone, Debug)]
pub struct Audit<'a> {
    device: Option<&'a BlockDevice>,
    device_before: Option<DeviceCounters>,
    process_before: Option<process::IoCounts>,
}

/// What the kernel counted during a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditCounts {
    /// Bytes that this process caused to be fetched from storage (`read_bytes` of /proc/self/io). No other
    /// process's reads are in it. `None` where the kernel does not count them.
    pub fetched_by_process: Option<u64>,
    /// Bytes that the block device delivered, to all processes. `None` where there is no block device or no counter.
    pub delivered_by_device: Option<u64>,
    /// Read requests that the block device completed, for all processes.
    pub device_reads: Option<u64>,
}

impl<'a> Audit<'a> {
    /// Takes the counts before.
    pub fn begin(device: Option<&'a BlockDevice>) -> Audit<'a> {
        Audit { device, device_before: device.and_then(BlockDevice::counters), process_before: process::process_io() }
    }

    /// Takes the counts after, and gives the differences.
    pub fn end(self) -> AuditCounts {
        let device_after = self.device.and_then(BlockDevice::counters);
        let delivered = self.device_before.zip(device_after).map(|(before, after)| after.since(before));
        let process = self.process_before.zip(process::process_io()).map(|(before, after)| after.since(before));
        AuditCounts {
            fetched_by_process: process.map(|counts| counts.read_bytes),
            delivered_by_device: delivered.map(|counts| counts.bytes_read),
            device_reads: delivered.map(|counts| counts.reads),
        }
    }
}
