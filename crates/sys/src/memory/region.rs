//! Anonymous memory straight from the kernel, on small or on huge pages, touched before it is used.

use std::fs;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Size of a huge page on x86-64 and on aarch64 with 4 KiB pages.
pub const HUGE_PAGE: usize = 2 << 20;

/// The page size that a region asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The base page size; huge pages are declined.
    Small,
    /// Transparent huge pages, if the system grants them.
    Huge,
}

/// A piece of zeroed memory, every page of it touched, aligned to [`HUGE_PAGE`].
///
/// Touching matters: the first access to a fresh page takes microseconds, which would be part of whatever is timed.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    length: usize,
    mapping: NonNull<u8>,
    mapping_length: usize,
}

// SAFETY: a region owns its mapping alone; nothing in it is tied to a thread.
unsafe impl Send for Region {}
// SAFETY: shared references give `&[u8]` views and an address. Who writes through the address, as the pool's frames and
// the kernel do, has these bytes to itself and makes no view meanwhile; all other writing needs `&mut`.
unsafe impl Sync for Region {}

impl Region {
    /// Maps and touches `length` bytes (rounded up to whole huge pages).
    ///
    /// Errors when the kernel has no room for the mapping.
    pub fn new(length: usize, pages: Pages) -> io::Result<Region> {
        Region::new_unless_stopped(length, pages, &AtomicBool::new(false))
    }

    /// As [`new`](Region::new); gives up with [`io::ErrorKind::Interrupted`] when `stop` is raised meanwhile: the first
    /// touch of memory that a hypervisor has not backed takes seconds a GiB.
    pub fn new_unless_stopped(length: usize, pages: Pages, stop: &AtomicBool) -> io::Result<Region> {
        let length = length.max(1).next_multiple_of(HUGE_PAGE);
        let mapping_length = length + HUGE_PAGE;
        // SAFETY: a null hint and an anonymous private mapping: no existing memory is replaced.
        let mapping = unsafe {
            mmap_anonymous(std::ptr::null_mut(), mapping_length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        let mapping = NonNull::new(mapping.cast::<u8>()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let offset = mapping.as_ptr().align_offset(HUGE_PAGE);
        // SAFETY: `offset` is below HUGE_PAGE and the mapping is HUGE_PAGE longer than `length`.
        let start = unsafe { mapping.add(offset) };
        let mut region = Region { start, length, mapping, mapping_length };
        let advice = match pages {
            Pages::Small => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: the range lies within the mapping that `region` owns; the advice changes no contents. A kernel
        // without huge pages refuses, which is no error here: `huge_bytes` returns what was granted.
        let _ = unsafe { madvise(start.as_ptr().cast(), length, advice) };
        region.touch(stop)?;
        Ok(region)
    }

    /// Bytes of the region.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the range is mapped, initialised by the kernel with zeros, and lives as long as `self`. Owners that
        // write through `start` make no view.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// Bytes of the region, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes this the only view.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Address of the first byte, for owners that hand parts of the region to the kernel.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the region has no bytes; it always has some.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many bytes of the region are on huge pages, as the kernel reports; `None` if `/proc/self/smaps` lacks it.
    pub fn huge_bytes(&self) -> Option<u64> {
        let smaps = fs::read("/proc/self/smaps").ok()?;
        anonymous_huge_bytes(&smaps, self.start.as_ptr() as u64, (self.start.as_ptr() as usize + self.length) as u64)
    }

    fn touch(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let base_page = rustix::param::page_size();
        for piece in self.bytes_mut().chunks_mut(HUGE_PAGE) {
            if stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            for byte in piece.iter_mut().step_by(base_page) {
                // SAFETY: `byte` is a valid reference; the volatile write keeps the compiler from dropping it.
                unsafe { std::ptr::write_volatile(byte, 0) };
            }
        }
        Ok(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned by `self` and no view outlives it.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapping_length) };
    }
}

/// Sum of `AnonHugePages` over the mappings of `smaps` that overlap `start..end`. The files that are mapped may have
/// names of any bytes.
fn anonymous_huge_bytes(smaps: &[u8], start: u64, end: u64) -> Option<u64> {
    let smaps = String::from_utf8_lossy(smaps);
    let mut inside = false;
    let mut found = None;
    for line in smaps.lines() {
        if let Some((low, high)) = mapping_range(line) {
            inside = low < end && start < high;
        } else if inside && let Some(rest) = line.strip_prefix("AnonHugePages:") {
            let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
            found = Some(found.unwrap_or(0) + kib * 1024);
        }
    }
    found
}

/// The address range when `line` opens a mapping in smaps (`7f00-7f10 rw-p ...`).
fn mapping_range(line: &str) -> Option<(u64, u64)> {
    let (low, high) = line.split_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(low, 16).ok()?, u64::from_str_radix(high, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_aligned_zeroed_and_writable() {
        let mut region = Region::new(3 << 20, Pages::Small).unwrap();
        assert_eq!(region.start().as_ptr() as usize % HUGE_PAGE, 0);
        assert_eq!(region.len(), 4 << 20);
        assert!(region.bytes().iter().all(|byte| *byte == 0));
        region.bytes_mut()[4 << 20 >> 1] = 7;
        assert_eq!(region.bytes()[4 << 20 >> 1], 7);
    }

    #[test]
    fn declined_huge_pages_are_not_reported_as_huge() {
        let region = Region::new(8 << 20, Pages::Small).unwrap();
        assert_eq!(region.huge_bytes().unwrap_or(0), 0);
    }

    #[test]
    fn only_overlapping_mappings_count_as_huge() {
        let smaps = b"1000-3000 rw-p 0 00:00 0\nAnonHugePages:      2048 kB\n\
                     3000-9000 rw-p 0 00:00 0\nAnonHugePages:      4096 kB\n";
        assert_eq!(anonymous_huge_bytes(smaps, 0x3000, 0x4000), Some(4096 * 1024));
        assert_eq!(anonymous_huge_bytes(smaps, 0x1000, 0x9000), Some(6144 * 1024));
        assert_eq!(anonymous_huge_bytes(smaps, 0x9000, 0xa000), None);
    }

    #[test]
    fn a_program_in_a_folder_whose_name_is_no_utf_8_knows_its_huge_pages_too() {
        let smaps = b"1000-3000 r-xp 0 08:01 7 /home/J\xfcrgen/readpath\nAnonHugePages:         0 kB\n\
                     3000-9000 rw-p 0 00:00 0\nAnonHugePages:      4096 kB\n";
        assert_eq!(anonymous_huge_bytes(smaps, 0x3000, 0x9000), Some(4096 * 1024));
    }
}
