//! What every step of the experiment works on: one subject, and what is known of all of them.

use measure::Nanos;
use subjects::AccessPaths;
use subjects::access_paths::AccessPath;
use sys::memory::{Pages, Stream};

use super::counted::{CountedChild, CountedPaths};
use super::parameters::{STREAM_BYTES, ScanParameters};
use crate::machine::Machine;

/// The subject that is measured, and what is known of all.
pub(super) struct Bench<'a> {
    pub(super) parameters: &'a ScanParameters,
    pub(super) machine: &'a Machine,
    /// Counts instructions where the processor counts none.
    pub(super) child: Option<&'a CountedChild>,
    pub(super) subject: &'a mut dyn AccessPaths,
    /// The subject's name.
    pub(super) name: String,
    /// Whether no other subject is measured in this run.
    pub(super) is_alone: bool,
    /// The answer that all paths must give, and the path that gave it.
    pub(super) expected: &'a mut Option<(String, u64)>,
    /// What valgrind counted; nothing where the processor counts.
    pub(super) counted: CountedPaths,
    /// What is read to learn the memory's bandwidth, made when it is first asked for.
    pub(super) stream: Option<Stream>,
}

impl Bench<'_> {
    /// The subject's name as a sentence adds it, where there are several.
    pub(super) fn on(&self) -> String {
        if self.is_alone { String::new() } else { format!(" on {}", self.name) }
    }

    /// A case in words.
    pub(super) fn label(&self, path: AccessPath, threads: usize) -> String {
        let subject = if self.is_alone { String::new() } else { format!("{} by ", self.name) };
        match threads {
            1 => format!("{subject}{}", path.name()),
            _ => format!("{subject}{} by {threads} threads", path.name()),
        }
    }

    /// Bytes a second that this many threads read in sequence; none where there is no memory for it or no thread.
    pub(super) fn bandwidth(&mut self, threads: usize) -> Vec<f64> {
        if self.stream.is_none() {
            self.stream = Stream::new(STREAM_BYTES as usize, Pages::Huge).ok();
        }
        let measure = |stream: &Stream| stream.measure(&self.machine.clock, threads, Nanos::ZERO).ok();
        self.stream.as_ref().and_then(measure).map(|result| result.bytes_per_second).unwrap_or_default()
    }
}
