//! The buffers that reads land in: equal slots in one region of memory, touched before the first read.

use std::io;
use std::ptr::NonNull;

use super::region::{Pages, Region};

/// Every slot starts on a multiple of this. No block device in use asks for more than a 4096-byte sector.
pub const SLOT_ALIGNMENT: usize = 4096;

/// A number of buffers of one size.
///
/// Huge pages keep the page tables, the kernel's list of pages for a registered buffer, and the device's list of places
/// to write to, short: a large read becomes one request.
#[derive(Debug)]
pub struct Arena {
    region: Region,
    slots: usize,
    slot_bytes: usize,
    stride: usize,
}

impl Arena {
    /// Maps and touches `slots` buffers of `slot_bytes` each, rounded up to [`SLOT_ALIGNMENT`].
    ///
    /// Errors when the kernel has no room, or when the size exceeds the address space.
    pub fn new(slots: usize, slot_bytes: usize) -> io::Result<Arena> {
        Arena::on(Pages::Huge, slots, slot_bytes)
    }

    /// As [`new`](Arena::new), on pages of this size.
    pub fn on(pages: Pages, slots: usize, slot_bytes: usize) -> io::Result<Arena> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let stride = slot_bytes.max(1).checked_next_multiple_of(SLOT_ALIGNMENT).ok_or_else(too_large)?;
        // Half the address space is far beyond any memory, and keeps the region's own rounding from overflowing.
        let length = stride.checked_mul(slots).filter(|length| *length < usize::MAX / 2).ok_or_else(too_large)?;
        let region = Region::new(length, pages)?;
        Ok(Arena { region, slots, slot_bytes, stride })
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Bytes that a slot holds, as requested.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Bytes from the start of one slot to the start of the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Address of the first byte of `slot`, to hand to the kernel. Panics when there is no such slot.
    ///
    /// The caller who writes through it must keep all readers off the slot meanwhile.
    pub fn pointer(&self, slot: usize) -> NonNull<u8> {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: the region holds at least `slots * stride` bytes, and `slot < slots`.
        unsafe { self.region.start().add(slot * self.stride) }
    }

    /// The bytes of `slot`. Panics when there is no such slot.
    pub fn slot(&self, slot: usize) -> &[u8] {
        // SAFETY: the slot lies within the region, which lives as long as `self` and was zeroed by the kernel.
        // Writers reach it through `&mut self`, `exclusive` or `pointer`; the latter two demand that nothing
        // reads it meanwhile.
        unsafe { std::slice::from_raw_parts(self.pointer(slot).as_ptr(), self.slot_bytes) }
    }

    /// The bytes of `slot`, to write. Panics when there is no such slot.
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        // SAFETY: `&mut self` excludes every other view.
        unsafe { self.exclusive(slot, self.slot_bytes) }
    }

    /// The first `length` bytes of `slot`, to write, while other slots are in use elsewhere.
    ///
    /// Panics when there is no such slot or it is smaller.
    ///
    /// # Safety
    ///
    /// Until the returned slice is dropped, nothing else may read or write the slot, the kernel included.
    #[expect(clippy::mut_from_ref, reason = "slots are disjoint, and the caller vouches for this one")]
    pub(crate) unsafe fn exclusive(&self, slot: usize, length: usize) -> &mut [u8] {
        assert!(length <= self.slot_bytes, "{length} bytes in a slot of {}", self.slot_bytes);
        // SAFETY: the range lies within the region; that it is unshared is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot).as_ptr(), length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_do_not_overlap() {
        let mut arena = Arena::new(3, 5000).unwrap();
        for slot in 0..3 {
            assert_eq!(arena.pointer(slot).as_ptr() as usize % SLOT_ALIGNMENT, 0);
            arena.slot_mut(slot).fill(slot as u8 + 1);
        }
        for slot in 0..3 {
            assert_eq!(arena.slot(slot).len(), 5000);
            assert!(arena.slot(slot).iter().all(|byte| *byte == slot as u8 + 1));
        }
    }

    #[test]
    fn sizes_beyond_the_address_space_are_an_error() {
        assert!(Arena::new(usize::MAX / 2, 8192).is_err());
        assert!(Arena::new(1, usize::MAX).is_err());
    }
}
