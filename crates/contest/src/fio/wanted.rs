//! How high the bars of the reader are.

use crate::bars::Wanted;

/// Reads per second, in fio's: a run-to-run spread of 3 % is allowed for, no more.
pub(crate) const IOPS: Wanted = Wanted::AtLeast(0.97);
/// Processor time per read, in fio's.
pub(crate) const CPU: Wanted = Wanted::AtMost(1.0);
/// Latency of one read at a time, in fio's; also that of memory, in the pointer chase's.
pub(crate) const LATENCY: Wanted = Wanted::Between(0.85, 1.15);
/// Resident memory of a run ten times longer, in the short one's. A twentieth is what an allocator moves by itself.
pub(crate) const RESIDENT: Wanted = Wanted::AtMost(1.05);
/// A read of the null device, in ns.
pub(crate) const NULL_READ_NS: Wanted = Wanted::AtMost(120.0);
