//! What a data sheet says of a hard disk, and where each figure of the known one is from.

use serde::{Deserialize, Serialize};

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;

/// What a data sheet says of a hard disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardDiskParameters {
    /// Bytes.
    pub capacity: u64,
    /// Revolutions a minute.
    pub rpm: f64,
    /// Surfaces with a head.
    pub heads: u32,
    /// Bands of cylinders with as many sectors a track.
    pub zones: u32,
    /// Sectors of 512 bytes on an outermost track.
    pub outer_sectors_per_track: u32,
    /// Sectors of 512 bytes on an innermost track.
    pub inner_sectors_per_track: u32,
    /// Shortest seek, settling included, in ms.
    pub track_to_track_ms: f64,
    /// Mean over all pairs of cylinders, in ms.
    pub average_seek_ms: f64,
    /// From the first cylinder to the last, in ms.
    pub full_stroke_ms: f64,
    /// Change to the next track, in ms; tracks begin as much later.
    pub track_switch_ms: f64,
    /// From a command to the start of the arm, in ms.
    pub command_overhead_ms: f64,
    /// The same where the buffer answers, in ms.
    pub buffer_overhead_ms: f64,
    /// Commands that the disk chooses among.
    pub queue_depth: u32,
    /// Bytes of the buffer.
    pub buffer_bytes: u64,
    /// Segments that it is divided into.
    pub buffer_segments: u32,
    /// The interface, in million bytes a second.
    pub interface_mb_s: f64,
}

impl HardDiskParameters {
    /// The Deskstar 7K250 of 2003 with 250 GB, a disk of 7200 revolutions a minute of the years in which its
    /// predecessors were measured.
    pub fn deskstar_7k250() -> HardDiskParameters {
        HardDiskParameters {
            capacity: 488_397_168 * SECTOR,
            rpm: 7200.0,
            heads: 6,
            zones: 30,
            outer_sectors_per_track: 1170,
            inner_sectors_per_track: 567,
            track_to_track_ms: 1.1,
            average_seek_ms: 8.5,
            full_stroke_ms: 15.1,
            track_switch_ms: 1.42,
            command_overhead_ms: 0.5,
            buffer_overhead_ms: 0.1,
            queue_depth: 32,
            buffer_bytes: 8 << 20,
            buffer_segments: 16,
            interface_mb_s: 100.0,
        }
    }

    /// Where the figures of [`deskstar_7k250`](HardDiskParameters::deskstar_7k250) are from, by field.
    pub const ORIGINS: &'static [(&'static str, &'static str)] = &[
        ("capacity", "data sheet, from memory: 488 397 168 sectors"),
        ("rpm", "data sheet, from memory"),
        ("heads", "data sheet, from memory: 3 disks"),
        ("zones", "data sheet, from memory: zones 0 to 29"),
        ("outer_sectors_per_track", "OEM specification, from memory, sectors per track"),
        ("inner_sectors_per_track", "OEM specification, from memory, sectors per track"),
        ("track_to_track_ms", "data sheet, from memory, typical read"),
        ("average_seek_ms", "data sheet, from memory, typical read"),
        ("full_stroke_ms", "data sheet, from memory, typical read"),
        (
            "track_switch_ms",
            "from the data sheet's (from memory) sustained 61.4 MB/s and the 71.9 MB/s of 1170 sectors a revolution: \
             what is lost at the end of each track",
        ),
        ("command_overhead_ms", "OEM specification, from memory, read, buffer not hit, typical"),
        ("buffer_overhead_ms", "OEM specification, from memory, read, buffer hit, typical"),
        ("queue_depth", "ATA: 32 tagged commands"),
        ("buffer_bytes", "data sheet, from memory"),
        ("buffer_segments", "assumed: no data sheet says it, and random reads do not depend on it"),
        ("interface_mb_s", "data sheet, from memory: Ultra ATA/100"),
    ];

    pub(super) fn revolution_ms(&self) -> f64 {
        60_000.0 / self.rpm
    }
}
