//! The turn to consume: what is handed from chunk to chunk.

use std::io;
use std::ops::ControlFlow;

use crate::source::oracle::record::Batch;
use crate::source::oracle::scan::State;

/// Takes batches, and says whether it wants another one. It may keep what is in a batch.
pub type Consumer<'a> = dyn FnMut(&mut Batch) -> ControlFlow<()> + Send + 'a;

/// What a chunk begins with.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) state: State,
    /// The bytes of a construct that goes on in the chunk.
    pub(super) begun: Vec<u8>,
}

impl Entry {
    pub(super) fn is_between(&self) -> bool {
        self.begun.is_empty() && self.state == State::Between
    }
}

/// What is handed from chunk to chunk.
pub(super) struct Turn<'a> {
    pub(super) entry: Entry,
    pub(super) failure: Option<io::Error>,
    /// Nothing more is consumed.
    pub(super) is_over: bool,
    pub(super) consumer: &'a mut Consumer<'a>,
}
