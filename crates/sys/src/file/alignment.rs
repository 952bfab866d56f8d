//! Alignment of direct reads: what their offsets, lengths and buffers must be multiples of.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, StatxFlags};

use super::caching::Caching;
use crate::memory::Arena;

/// Alignments to try if the kernel reports none: from the smallest sector to the largest page in use.
const CANDIDATES: [u32; 5] = [512, 1024, 4096, 16_384, 65_536];

/// `STATX_DIO_READ_ALIGN` of `linux/stat.h` (Linux 6.14): the alignment of reads, if writes need a coarser one.
const STATX_DIO_READ_ALIGN: u32 = 0x0002_0000;

/// Alignment of reads in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Of the offset and the length of a read.
    pub offset: u32,
    /// Of the buffer's address.
    pub memory: u32,
    /// How the alignment was found.
    pub source: &'static str,
}

impl Alignment {
    /// The alignment of an open file; `None` if it has no direct I/O although the open succeeded, as on ext4 with
    /// encrypted or journalled data.
    pub(crate) fn of(descriptor: BorrowedFd<'_>, caching: Caching) -> Option<Alignment> {
        if caching == Caching::Buffered {
            return Some(Alignment { offset: 1, memory: 1, source: "buffered" });
        }
        match reported(descriptor) {
            Some(Alignment { offset: 0, .. }) => None,
            Some(alignment) => Some(alignment),
            None => probed(descriptor),
        }
    }
}

/// The alignment that `statx` reports; `None` on kernels before 6.1 and on file systems without it.
fn reported(descriptor: BorrowedFd<'_>) -> Option<Alignment> {
    let read_align = StatxFlags::from_bits_retain(STATX_DIO_READ_ALIGN);
    let wanted = StatxFlags::DIOALIGN | read_align;
    let statx = rustix::fs::statx(descriptor, "", AtFlags::EMPTY_PATH, wanted).ok()?;
    let given = StatxFlags::from_bits_retain(statx.stx_mask);
    if !given.contains(StatxFlags::DIOALIGN) {
        return None;
    }
    let memory = statx.stx_dio_mem_align;
    if given.contains(read_align) && statx.stx_dio_read_offset_align != 0 {
        return Some(Alignment {
            offset: statx.stx_dio_read_offset_align,
            memory,
            source: "statx(STATX_DIO_READ_ALIGN)",
        });
    }
    Some(Alignment { offset: statx.stx_dio_offset_align, memory, source: "statx(STATX_DIOALIGN)" })
}

/// The smallest candidate at which a read succeeds that starts, ends and lands on an odd multiple of it.
fn probed(descriptor: BorrowedFd<'_>) -> Option<Alignment> {
    let source = "the smallest read that succeeds";
    let mut arena = Arena::new(1, 4 * CANDIDATES[CANDIDATES.len() - 1] as usize).ok()?;
    let accepted = CANDIDATES.into_iter().find(|candidate| {
        let start = *candidate as usize;
        let buffer = &mut arena.slot_mut(0)[start..2 * start];
        rustix::io::pread(descriptor, buffer, u64::from(*candidate)).is_ok()
    })?;
    Some(Alignment { offset: accepted, memory: accepted, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn probing_finds_no_less_than_the_kernel_reports() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let target = match crate::file::Target::open(&path, Caching::Direct) {
            Ok(target) => target,
            Err(error) => return println!("skipped: {error}"),
        };
        let probed = probed(target.as_fd()).unwrap();
        assert!(probed.offset >= target.alignment().offset.min(512), "{probed:?} {:?}", target.alignment());
        assert!(probed.offset <= 4096);
    }
}
