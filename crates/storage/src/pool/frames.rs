//! The frames: one region of memory, cut into pages.
//!
//! With `pinned.rs` and `words.rs` the pool's home of unsafe code. It hands out addresses and moves bytes; what may
//! look at which frame is decided by the translation words.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use sys::memory::{Pages, Region, prefetch};

use crate::page::PageBytes;
use crate::page::id::PAGE_SIZE;

/// Bytes of a cache line on every processor the tool is built for, or half a line where they are longer.
const LINE: usize = 64;

/// A frame that belongs to its holder alone: no word names it, and replacement gives it to no other thread.
///
/// Neither `Clone` nor `Copy`: it is made by [`Frames::all`] and by replacement when a word has let go of its frame,
/// and consumed when a word names the frame or the frame returns to replacement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnFrame(u32);

impl OwnFrame {
    /// The frame that a word let go of. The caller must be the one whose `evict` or `discard` the word answered.
    pub(super) fn let_go(frame: u32) -> OwnFrame {
        OwnFrame(frame)
    }

    /// Its number.
    pub(super) fn number(&self) -> u32 {
        self.0
    }
}

/// All frames of a pool.
#[derive(Debug)]
pub(super) struct Frames {
    /// Shared with the methods that read into it, which keep it until their reads have ended.
    region: Arc<Region>,
    count: u32,
}

impl Frames {
    /// Maps and touches `count` frames, on huge pages where the system grants them.
    pub(super) fn new(count: u32) -> io::Result<Frames> {
        let region = Arc::new(Region::new(count as usize * PAGE_SIZE, Pages::Huge)?);
        Ok(Frames { region, count })
    }

    /// Every frame, to be given to replacement once.
    pub(super) fn all(&self) -> impl Iterator<Item = OwnFrame> + use<> {
        (0..self.count).map(OwnFrame)
    }

    /// Number of frames.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Bytes that really stand on huge pages; `None` where the kernel does not tell.
    pub(super) fn huge_bytes(&self) -> Option<u64> {
        self.region.huge_bytes()
    }

    /// Where the bytes of `frame` stand. The address is valid as long as `self`; a right to look comes from a word.
    #[inline]
    pub(super) fn address(&self, frame: u32) -> NonNull<PageBytes> {
        debug_assert!(frame < self.count, "frame {frame} of {}", self.count);
        // SAFETY: frame numbers come from `all` and so are below `count`; the region holds `count` pages.
        unsafe { self.region.start().add(frame as usize * PAGE_SIZE).cast() }
    }

    /// Puts the bytes of a page into a frame that is the caller's own.
    pub(super) fn fill(&self, frame: &mut OwnFrame, bytes: &PageBytes) {
        // SAFETY: an `OwnFrame` is unique and no word names the frame, so no other code reads or writes it meanwhile;
        // the address is that of a whole page within the region, which is why the pages cannot overlap.
        unsafe { self.address(frame.0).copy_from_nonoverlapping(NonNull::from(bytes), 1) };
    }

    /// The region, to be lent to methods that read into frames.
    pub(super) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// The bytes of a frame that is the caller's own.
    pub(super) fn bytes<'frame>(&'frame self, frame: &'frame OwnFrame) -> &'frame PageBytes {
        // SAFETY: an `OwnFrame` is unique and no word names the frame, and filling it takes it mutably: no other code
        // writes to the page while the reference lives. Its bytes are those of the region, written when it was made.
        unsafe { self.address(frame.0).as_ref() }
    }

    /// Puts zeros into a frame that is the caller's own.
    pub(super) fn clear(&self, frame: &mut OwnFrame) {
        // SAFETY: as in `fill`; all-zero bytes are a valid page.
        unsafe { self.address(frame.0).as_ptr().write_bytes(0, 1) };
    }

    /// Asks the processor to fetch the first `lines` cache lines of `frame`; it may decline, and it faults on nothing.
    #[inline]
    pub(super) fn prefetch(&self, frame: u32, lines: usize) {
        let start = self.address(frame).as_ptr().cast::<u8>();
        for line in 0..lines.min(PAGE_SIZE / LINE) {
            prefetch(start.wrapping_add(line * LINE));
        }
    }
}
