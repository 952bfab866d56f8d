//! What every step of the experiment works on: one subject, and what is known of all of them.

use measure::Nanos;
use subjects::AccessPaths;
use subjects::access_paths::AccessPath;
use sys::memory::{Pages, Stream};

use super::counted::CountedPaths;
use super::parameters::ScanParameters;
use crate::machine::Machine;

/// Memory that is read in sequence to learn its bandwidth: many times the last cache of most processors.
pub(super) const STREAM_BYTES: u64 = 512 << 20;

/// The subject that is measured, and what is known of all.
pub(super) struct Bench<'a> {
    pub(super) parameters: &'a ScanParameters,
    pub(super) machine: &'a Machine,
    pub(super) subject: &'a mut dyn AccessPaths,
    /// The subject's name.
    pub(super) name: String,
    /// Whether no other subject is measured in this run.
    pub(super) is_alone: bool,
    /// The answer that all paths must give, and the path that gave it.
    pub(super) expected: Option<(String, u64)>,
    /// What valgrind counted; nothing where the processor counts.
    pub(super) counted: CountedPaths,
    stream: Option<Stream>,
}

impl<'a> Bench<'a> {
    /// A bench for a subject; `expected` is what the subjects before it counted.
    pub(super) fn new(
        (parameters, machine): (&'a ScanParameters, &'a Machine),
        subject: &'a mut dyn AccessPaths,
        is_alone: bool,
        expected: Option<(String, u64)>,
    ) -> Bench<'a> {
        let name = subject.name().to_string();
        let counted = CountedPaths::default();
        Bench { parameters, machine, subject, name, is_alone, expected, counted, stream: None }
    }

    /// A case in words.
    pub(super) fn label(&self, path: AccessPath, threads: usize) -> String {
        let subject = if self.is_alone { String::new() } else { format!("{} by ", self.name) };
        match threads {
            1 => format!("{subject}{}", path.name()),
            _ => format!("{subject}{} by {threads} threads", path.name()),
        }
    }

    /// Bytes a second that this many threads read in sequence; none where there is no memory for it.
    pub(super) fn bandwidth(&mut self, threads: usize) -> Vec<f64> {
        if self.stream.is_none() {
            self.stream = Stream::new(STREAM_BYTES as usize, Pages::Huge).ok();
        }
        let measure = |stream: &Stream| stream.measure(&self.machine.clock, threads, Nanos::ZERO).bytes_per_second;
        self.stream.as_ref().map(measure).unwrap_or_default()
    }
}
