//! A process of the server, with what is known of it between looks.

use std::sync::Arc;
use std::time::Instant;

use profile::source::sampled::{Backend, ProcessorTime};

/// One process of the server.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) number: u32,
    /// Where it says for what it waits, and where its entry stands.
    pub(super) wait: u64,
    pub(super) entry: u64,
    /// What stays the same, and whether the server has told it.
    pub(super) backend: Option<Arc<Backend>>,
    pub(super) is_told: bool,
    /// The execution whose text was read last.
    pub(super) text: Option<(Option<i64>, Arc<str>)>,
    pub(super) processor: Option<(Instant, Option<ProcessorTime>)>,
    /// The wait and the count of changes of its last sample, where another one would be the same as long as these are.
    pub(super) resting: Option<(u32, i32)>,
}

impl Process {
    pub(super) fn new(number: u32, wait: u64, entry: u64) -> Process {
        Process { number, wait, entry, backend: None, is_told: false, text: None, processor: None, resting: None }
    }
}
