//! A row of the table of devices.

use std::path::Path;

use sys::file::Caching;

use crate::device::{Device, DeviceError};

/// What a word on the command line asks of its row.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// The word without the row's prefix.
    pub rest: &'a Path,
    /// How the page cache is treated, where there is one.
    pub page_cache: PageCache,
}

/// How the page cache is treated by a device that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCache {
    /// Reads go past it or through it, as asked; a device that cannot do that is not opened.
    As(Caching),
    /// Reads go past it, or through it where its file system refuses direct I/O.
    AvoidedWherePossible,
}

/// Files with the bytes of each that are read.
pub type Files<'a> = &'a [(&'a Path, u64)];

/// Devices for files, one each; or why there are none.
pub type Placed = Result<Vec<Box<dyn Device>>, DeviceError>;

/// A kind of device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRow {
    /// How words that name it begin.
    pub prefix: &'static str,
    /// Words that open one on any machine, for the conformance tests; none where something must be there first.
    pub examples: fn() -> Vec<String>,
    /// Why no kernel reads it, as the end of a sentence that its name begins; `None` where a kernel does. What asks for
    /// a way of the kernel's to read is refused there with this reason.
    pub without_kernel: Option<&'static str>,
    /// Opens the device that a word names.
    pub open: fn(Word<'_>) -> Result<Box<dyn Device>, DeviceError>,
    /// Places files of this machine on the device, one behind the other: one device for each, with the time of the
    /// device and the bytes of the file.
    pub place: fn(Word<'_>, Files<'_>) -> Placed,
}
