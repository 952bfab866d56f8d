//! Which level served the reads, by the kernel's own counts: what this process fetched from storage, and what the
//! devices that hold the data delivered.

use sys::file::{BlockDevice, DeviceCounters};
use sys::process::process_fetched;

/// Counts taken before a reading.
#[derive(Clone, Debug)]
pub struct Audit<'a> {
    devices: &'a [BlockDevice],
    devices_before: Option<Vec<DeviceCounters>>,
    fetched_before: Option<u64>,
}

/// What the kernel counted during a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditCounts {
    /// Bytes that this process caused to be fetched from storage (`read_bytes` of /proc/self/io). No other
    /// process's reads are in it. `None` where the kernel does not count them.
    pub fetched_by_process: Option<u64>,
    /// Bytes that the block devices under all layers delivered, to all processes. `None` where there is no block device
    /// or no counter.
    pub delivered_by_device: Option<u64>,
    /// Read requests that they completed, for all processes.
    pub device_reads: Option<u64>,
}

impl AuditCounts {
    /// These and those of a later reading; none where one of the two has none.
    pub fn plus(self, later: AuditCounts) -> AuditCounts {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        AuditCounts {
            fetched_by_process: sum(self.fetched_by_process, later.fetched_by_process),
            delivered_by_device: sum(self.delivered_by_device, later.delivered_by_device),
            device_reads: sum(self.device_reads, later.device_reads),
        }
    }
}

impl<'a> Audit<'a> {
    /// Takes the counts before.
    pub fn begin(devices: &'a [BlockDevice]) -> Audit<'a> {
        Audit { devices, devices_before: counters(devices), fetched_before: process_fetched() }
    }

    /// Takes the counts after, and gives the differences.
    pub fn end(self) -> AuditCounts {
        let fetched = self.fetched_before.zip(process_fetched());
        let delivered = self.devices_before.zip(counters(self.devices)).and_then(|(before, after)| {
            // Some devices count nothing, such as those of several paths on older kernels: no witness against reads.
            let counts = after.iter().all(|device| device.reads > 0);
            let each = || after.iter().zip(&before).map(|(after, before)| after.since(*before));
            counts.then(|| (each().map(|device| device.bytes_read).sum(), each().map(|device| device.reads).sum()))
        });
        AuditCounts {
            fetched_by_process: fetched.map(|(before, after)| after.saturating_sub(before)),
            delivered_by_device: delivered.map(|(bytes, _)| bytes),
            device_reads: delivered.map(|(_, reads)| reads),
        }
    }
}

/// The counters of all devices; `None` where there is none, or one does not count.
fn counters(devices: &[BlockDevice]) -> Option<Vec<DeviceCounters>> {
    if devices.is_empty() { None } else { devices.iter().map(BlockDevice::counters).collect() }
}
