//! The extents under a range of a file: blocks with data, blocks allocated and never written, holes.
//!
//! Reads of the last two never reach the disk, so they measure how fast memory is cleared. The FIEMAP request does not
//! touch the file; it is sent without `FIEMAP_FLAG_SYNC`, which would write out data that other programs have in
//! flight, and a measured file may not be ours.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::io::Errno;
use thiserror::Error;

use super::target::Target;

/// Extents fetched by one request: a reply of 14 KiB. A file in a million pieces takes 4000 requests.
const EXTENTS_PER_REQUEST: usize = 256;

/// `FS_IOC_FIEMAP` of `linux/fs.h`: read and write, 32 bytes of header, group 'f', number 11.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;

/// `FIEMAP_EXTENT_LAST` of `linux/fiemap.h`: no extent follows in the file.
const LAST: u32 = 0x0001;
/// `FIEMAP_EXTENT_DELALLOC`: written to memory, no place on the disk yet.
const DELAYED: u32 = 0x0004;
/// `FIEMAP_EXTENT_ENCODED`: compressed, so that reading it reads fewer bytes and decodes them.
const ENCODED: u32 = 0x0008;
/// `FIEMAP_EXTENT_UNWRITTEN`: allocated, reads as zeros.
const UNWRITTEN: u32 = 0x0800;

/// Bytes of a range by kind of extent. The first four add up to the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// Bytes on the disk.
    pub data: u64,
    /// Bytes allocated and never written: they read as zeros, without the disk.
    pub unwritten: u64,
    /// Bytes in memory that have no place on the disk yet: a direct read first writes them.
    pub delayed: u64,
    /// Bytes in holes: they read as zeros, without the disk.
    pub hole: u64,
    /// The part of `data` that is compressed by the file system.
    pub encoded: u64,
    /// Number of extents that the range touches.
    pub count: u64,
}

/// Why the extents are unknown.
#[derive(Debug, Error)]
pub enum ExtentsError {
    /// The file system, or a block device, has no such request.
    #[error("the extents of the file are unknown: its file system does not report them (FIEMAP)")]
    NotSupported,
    /// Any other error of the kernel.
    #[error("the extents of the file are not known: {0}")]
    Failed(io::Error),
}

/// `struct fiemap` of `linux/fiemap.h` with room for the reply.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS_PER_REQUEST],
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved_wide: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// The extents under the bytes in `range` of the target. The range is cut to the target's size.
pub fn coverage(target: &Target, range: Range<u64>) -> Result<Extents, ExtentsError> {
    let range = range.start.min(target.size())..range.end.min(target.size());
    let mut coverage = Coverage::of(range);
    let mut request = Box::new(Request::new());
    while let Some(rest) = coverage.rest() {
        let extents = request.ask(target.as_fd(), rest).map_err(|errno| match errno {
            Errno::OPNOTSUPP | Errno::NOTTY => ExtentsError::NotSupported,
            other => ExtentsError::Failed(other.into()),
        })?;
        if !coverage.add(extents) {
            return Err(ExtentsError::Failed(io::Error::other("its file system names others than were asked for")));
        }
    }
    Ok(coverage.found)
}

impl Request {
    fn new() -> Request {
        Request {
            start: 0,
            length: 0,
            flags: 0,
            mapped_extents: 0,
            extent_count: EXTENTS_PER_REQUEST as u32,
            reserved: 0,
            extents: [Extent::default(); EXTENTS_PER_REQUEST],
        }
    }

    /// The first extents that touch `range`; empty when there is none.
    fn ask(&mut self, descriptor: BorrowedFd<'_>, range: Range<u64>) -> Result<&[Extent], Errno> {
        self.start = range.start;
        self.length = range.end - range.start;
        // SAFETY: the structure has the layout of `struct fiemap` followed by as many extents as `extent_count` says;
        // the kernel writes within it and keeps no pointer.
        let answer = unsafe { libc::ioctl(descriptor.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut *self) };
        if answer < 0 {
            return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
        }
        Ok(&self.extents[..(self.mapped_extents as usize).min(EXTENTS_PER_REQUEST)])
    }
}

/// The sum as it grows from the start of the range to its end.
struct Coverage {
    found: Extents,
    reached: u64,
    end: u64,
}

impl Coverage {
    fn of(range: Range<u64>) -> Coverage {
        Coverage { found: Extents::default(), reached: range.start, end: range.end.max(range.start) }
    }

    /// The rest to request; `None` at the end.
    fn rest(&self) -> Option<Range<u64>> {
        (self.reached < self.end).then_some(self.reached..self.end)
    }

    /// Adds one reply of the kernel: extents in ascending order, the first from where the last reply ended. Whether it
    /// went on: some file system may answer again and again with what lies before the range.
    fn add(&mut self, extents: &[Extent]) -> bool {
        let before = self.reached;
        for extent in extents {
            self.add_extent(extent);
        }
        // What follows the file's last extent, and a range without any, is a hole.
        if extents.last().is_none_or(|extent| extent.flags & LAST != 0) {
            self.found.hole += self.end - self.reached;
            self.reached = self.end;
        }
        self.reached > before
    }

    fn add_extent(&mut self, extent: &Extent) {
        let start = extent.logical.clamp(self.reached, self.end);
        let end = extent.logical.saturating_add(extent.length).clamp(start, self.end);
        let bytes = end - start;
        self.found.hole += start - self.reached;
        self.reached = end;
        self.found.count += u64::from(bytes > 0);
        match extent.flags {
            flags if flags & UNWRITTEN != 0 => self.found.unwritten += bytes,
            flags if flags & DELAYED != 0 => self.found.delayed += bytes,
            _ => self.found.data += bytes,
        }
        if extent.flags & ENCODED != 0 {
            self.found.encoded += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent(logical: u64, length: u64, flags: u32) -> Extent {
        Extent { logical, length, flags, ..Extent::default() }
    }

    #[test]
    fn gaps_before_between_and_after_extents_are_holes() {
        let mut coverage = Coverage::of(50..1000);
        coverage.add(&[extent(0, 100, 0), extent(200, 100, UNWRITTEN)]);
        assert_eq!(coverage.rest(), Some(300..1000));
        coverage.add(&[extent(400, 100, ENCODED), extent(600, 100, DELAYED | LAST)]);
        assert_eq!(coverage.rest(), None);
        let expected = Extents { data: 150, unwritten: 100, delayed: 100, hole: 600, encoded: 100, count: 4 };
        assert_eq!(coverage.found, expected);
    }

    #[test]
    fn a_file_system_that_answers_with_what_lies_before_the_range_is_not_asked_for_ever() {
        let mut coverage = Coverage::of(300..1000);
        assert!(!coverage.add(&[extent(0, 100, 0), extent(200, 100, 0)]) && !coverage.add(&[extent(300, 0, 0)]));
        assert_eq!((coverage.rest(), coverage.found), (Some(300..1000), Extents::default()));
        assert!(coverage.add(&[extent(200, 101, 0)]) && coverage.add(&[]));
        assert_eq!(coverage.rest(), None);
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_range_whatever_the_kernel_says(
            start in 0u64..1000,
            length in 0u64..1000,
            extents in proptest::collection::vec((0u64..3000, 0u64..u64::MAX, 0u32..0x4000), 0..20),
        ) {
            let mut coverage = Coverage::of(start..start + length);
            let extents: Vec<Extent> =
                extents.into_iter().map(|(logical, length, flags)| extent(logical, length, flags)).collect();
            coverage.add(&extents);
            coverage.add(&[]);
            let found = coverage.found;
            prop_assert_eq!(found.data + found.unwritten + found.delayed + found.hole, length);
            prop_assert_eq!(coverage.rest(), None);
        }
    }
}
