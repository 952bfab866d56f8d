//! Reads in flight whose bytes come straight into frames.
//!
//! The kernel, or the device, writes to a frame from the moment its read is queued until the read's completion is
//! reaped. Until then the frame stands here and nowhere else, out of reach. A method that cannot read into frames reads
//! into slots of its own, and the reaper copies.

use std::io;

use sys::read::{Completion, Landing, ReadMethod, ReadRequest, Wait};

use super::buffer_pool::Pool;
use super::frames::OwnFrame;
use super::gate::Gate;
use crate::page::id::PAGE_SIZE;

/// An I/O method with the frames that it reads into.
pub(super) struct Flights<'pool> {
    pool: &'pool Pool,
    method: Box<dyn ReadMethod>,
    /// Whether the method took the frames.
    reads_into_frames: bool,
    /// The frame of each slot whose read goes to one.
    frames: Vec<Option<OwnFrame>>,
}

/// A read that has ended.
pub(super) struct Landed {
    /// Its slot, which holds the bytes unless `frame` does.
    pub(super) slot: usize,
    /// Bytes that were read, or the kernel's error.
    pub(super) result: io::Result<usize>,
    /// The frame that it went to.
    pub(super) frame: Option<OwnFrame>,
}

impl<'pool> Flights<'pool> {
    /// With nothing in flight yet.
    pub(super) fn new(pool: &'pool Pool, mut method: Box<dyn ReadMethod>) -> Flights<'pool> {
        let reads_into_frames = method.lend(pool.frames.region());
        let frames = (0..method.depth()).map(|_| None).collect();
        Flights { pool, method, reads_into_frames, frames }
    }

    /// Slots.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Whether [`queue_into`](Flights::queue_into) may be called.
    pub(super) fn reads_into_frames(&self) -> bool {
        self.reads_into_frames
    }

    /// Queues a read into the method's slot.
    pub(super) fn queue(&mut self, gate: &Gate, request: ReadRequest) {
        gate.read(self.method.as_mut(), request, None);
    }

    /// Queues a read of one page into a frame.
    pub(super) fn queue_into(&mut self, gate: &Gate, request: ReadRequest, frame: OwnFrame) {
        assert!(request.length == PAGE_SIZE && self.frames[request.slot].is_none(), "one page, into one frame");
        let start = frame.number() as usize * PAGE_SIZE;
        self.frames[request.slot] = Some(frame);
        // SAFETY: an `OwnFrame` is unique and no word names its frame, so no other code looks at these bytes; it stands
        // in `frames` from here on, and leaves only for a completion of its slot or after `finish` has said that no
        // read is in flight.
        let landing = unsafe { Landing::new(start, PAGE_SIZE) };
        gate.read(self.method.as_mut(), request, Some(landing));
    }

    /// Hands over what is queued, waits as `wait` says, and appends what has ended to `landed`. Errors are the method's
    /// own.
    pub(super) fn reap(&mut self, wait: Wait, landed: &mut Vec<Landed>) -> io::Result<()> {
        let mut done = Vec::with_capacity(self.depth());
        // Where it fails, the frames of those that have ended stay here, and return to the pool with the others.
        self.method.reap(wait, &mut done)?;
        let frames = &mut self.frames;
        landed.extend(done.into_iter().map(|Completion { slot, result }| Landed {
            slot,
            result,
            frame: frames[slot].take(),
        }));
        Ok(())
    }

    /// What the last read put into `slot`, where it went to no frame.
    pub(super) fn data(&self, slot: usize) -> &[u8] {
        self.method.data(slot)
    }
}

impl Drop for Flights<'_> {
    /// Frames return to the pool when their reads have ended. Where the device does not answer they are given up:
    /// only memory that is never used again may still receive a late read. The method keeps the region.
    fn drop(&mut self) {
        let frames: Vec<OwnFrame> = self.frames.iter_mut().filter_map(Option::take).collect();
        if frames.is_empty() {
            return;
        }
        let have_ended = self.method.finish();
        let mut replacement = self.pool.replacement();
        match have_ended {
            true => replacement.give_back(frames),
            false => replacement.give_up(frames),
        }
    }
}
