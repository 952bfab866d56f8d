//! One blocking `pread` at a time, on the calling thread: the way most databases read a single block.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::method::{Completion, MethodError, MethodRow, ReadMethod, ReadRequest, Setup, Wait};
use super::slots::Slots;

pub(super) const ROW: MethodRow = MethodRow { name: "sync", depth_max: Some(1), open };

/// `pread` rather than `preadv2`: with neither a vector nor flags to hand over it does the same work and spares
/// the kernel the copy of the vector.
struct Sync {
    descriptor: Arc<OwnedFd>,
    slots: Slots,
    queued: Option<ReadRequest>,
}

fn open(setup: Setup<'_>) -> Result<Box<dyn ReadMethod>, MethodError> {
    if setup.depth > 1 {
        return Err(MethodError::Depth { method: ROW.name, depth: setup.depth, depth_max: 1 });
    }
    let slots = Slots::new(&setup)?;
    Ok(Box::new(Sync { descriptor: setup.target.descriptor(), slots, queued: None }))
}

impl ReadMethod for Sync {
    fn depth(&self) -> usize {
        self.slots.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        self.slots.begin(&request);
        self.queued = Some(request);
    }

    /// Reads what was queued. Neither `at_least` nor the timeout can cut a blocking system call short.
    fn reap(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let Some(request) = self.queued.take() else { return Ok(()) };
        // SAFETY: `begin` marked the slot as in flight, so `data` does not show it, and this is the only thread.
        let buffer = unsafe { self.slots.arena().exclusive(request.slot, request.length) };
        let result = rustix::io::retry_on_intr(|| rustix::io::pread(&self.descriptor, &mut *buffer, request.offset));
        let completion = Completion { slot: request.slot, result: result.map_err(io::Error::from) };
        self.slots.end(&completion);
        done.push(completion);
        Ok(())
    }

    fn data(&self, slot: usize) -> &[u8] {
        self.slots.data(slot)
    }
}
