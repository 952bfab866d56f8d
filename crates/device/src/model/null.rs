//! The null device: every read ends at once and moves no data. What a loop over it costs is the tool's own cost.

use std::io;

use sys::read::{Completion, ReadMethod, ReadRequest, Wait};

/// An I/O method that reads nothing.
#[derive(Debug)]
pub struct Null {
    depth: usize,
    queued: Vec<ReadRequest>,
}

impl Null {
    /// A null device with `depth` slots.
    pub fn new(depth: usize) -> Null {
        Null { depth, queued: Vec::with_capacity(depth) }
    }
}

impl ReadMethod for Null {
    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn queue(&mut self, request: ReadRequest) {
        self.queued.push(request);
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        done.extend(self.queued.drain(..).map(|read| Completion { slot: read.slot, result: Ok(read.length) }));
        Ok(())
    }

    fn data(&self, _slot: usize) -> &[u8] {
        &[]
    }
}
