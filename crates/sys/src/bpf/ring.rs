//! A ring that programs of the kernel write to (`Documentation/bpf/ringbuf.rst`), mapped here: what is in it is taken
//! without a call.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

use super::instruction::{
    A_MAP, A_MAPS_VALUE, ADD_ATOMICALLY, ADD_NUMBER, CALL, JUMP_IF_EQUAL, MOVE, MOVE_NUMBER, R0, R1, R2, R3, R4,
    RING_OUTPUT, STACK, one, wide,
};
use super::map::{MapCreate, RING, create};

/// The head of a record: its length in four bytes, whose highest bits say that it is being written, or is given up; and
/// four more.
pub(crate) const HEAD_BYTES: usize = 8;
const IS_BUSY: u32 = 1 << 31;
const IS_DISCARDED: u32 = 1 << 30;

/// The kernel wakes up no one at a record: the ring is looked into at times.
const NO_WAKEUP: i32 = 1;

/// The steps of a program that write `bytes` of its stack, from `base` on, to the ring of this number. Where there is
/// no room, they count one in the array of the other number.
pub(crate) fn writing((ring, lost): (i32, i32), base: i16, bytes: usize) -> Vec<u64> {
    let mut steps = wide(R1, A_MAP, u64::from(ring.cast_unsigned())).to_vec();
    steps.extend([
        one(MOVE, R2, STACK, 0, 0),
        one(ADD_NUMBER, R2, 0, 0, i32::from(base)),
        one(MOVE_NUMBER, R3, 0, 0, bytes as i32),
        one(MOVE_NUMBER, R4, 0, 0, NO_WAKEUP),
        one(CALL, 0, 0, 0, RING_OUTPUT),
        // Where there was room, the count of lost ones is passed over.
        one(JUMP_IF_EQUAL, R0, 0, 4, 0),
    ]);
    steps.extend(wide(R1, A_MAPS_VALUE, u64::from(lost.cast_unsigned())));
    steps.extend([one(MOVE_NUMBER, R2, 0, 0, 1), one(ADD_ATOMICALLY, R1, R2, 0, 0)]);
    steps
}

/// A ring. The kernel maps its bytes twice, one behind the other, so that a record never ends at the ring's end.
#[derive(Debug)]
pub(crate) struct Ring {
    map: OwnedFd,
    bytes: usize,
    /// The page with the place up to which records were taken.
    taken: NonNull<AtomicU64>,
    /// The page with the place up to which records were written, and behind it the records.
    written: NonNull<AtomicU64>,
}

// SAFETY: a ring owns its places in memory alone; nothing in it is tied to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Of this many bytes: whole pages, and a power of two.
    pub(crate) fn of(bytes: usize) -> io::Result<Ring> {
        let map = create(MapCreate { kind: RING, max_entries: bytes as u32, ..Default::default() })?;
        let (page, both) = (page_size(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a null hint and a new mapping: no existing memory is replaced.
        let taken = unsafe { mmap(ptr::null_mut(), page, both, MapFlags::SHARED, &map, 0) }?;
        let length = page + 2 * bytes;
        // SAFETY: as above.
        let written = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, &map, page as u64) };
        let (Some(taken), Ok(Some(written))) = (NonNull::new(taken.cast()), written.map(|at| NonNull::new(at.cast())))
        else {
            // SAFETY: the mapping was made above, and nothing else knows it.
            let _ = unsafe { munmap(taken, page) };
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        Ok(Ring { map, bytes, taken, written })
    }

    /// Its number, by which programs name it.
    pub(crate) fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }

    /// Takes the oldest record; `None` where there is none, or it is still being written. A record of another length
    /// than `record` is cut, or leaves its end as it was.
    pub(crate) fn take(&mut self, record: &mut [u64]) -> Option<()> {
        // SAFETY: both words begin a mapped page that lasts as long as `self`; others change them only as atomics. What
        // the kernel writes is mapped to be read alone, which allows relaxed loads; a fence orders what follows.
        let (taken, written) = unsafe { (self.taken.as_ref(), self.written.as_ref()) };
        loop {
            let at = taken.load(Ordering::Relaxed);
            let end = written.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if at >= end {
                return None;
            }
            let offset = page_size() + (at as usize & (self.bytes - 1));
            // SAFETY: the kernel has begun a record at this place, which is within the mapping and a multiple of eight.
            let head = unsafe { &*self.written.as_ptr().cast::<u8>().add(offset).cast::<AtomicU32>() };
            let head = head.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if head & IS_BUSY != 0 {
                return None;
            }
            let length = (head & !IS_DISCARDED) as usize;
            let is_kept = head & IS_DISCARDED == 0;
            if is_kept {
                for (place, word) in record.iter_mut().take(length.min(self.bytes) / 8).enumerate() {
                    let from = offset + HEAD_BYTES + 8 * place;
                    // SAFETY: the record is whole and lies within the mapping, the second copy of the ring's bytes
                    // included; the kernel does not write to it before `taken` has passed it.
                    *word = unsafe { self.written.as_ptr().cast::<u8>().add(from).cast::<u64>().read() };
                }
            }
            taken.store(at + (HEAD_BYTES + length).next_multiple_of(8) as u64, Ordering::Release);
            if is_kept {
                return Some(());
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mappings are this object's own, and references into them end with it.
        unsafe {
            let _ = munmap(self.taken.as_ptr().cast(), page_size());
            let _ = munmap(self.written.as_ptr().cast(), page_size() + 2 * self.bytes);
        }
    }
}
