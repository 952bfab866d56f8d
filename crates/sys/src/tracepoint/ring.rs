//! The ring of one processor: its tracepoints write to it, and we read what they wrote.

use std::io;
use std::os::fd::AsRawFd;

use perf_event::{Counter, Sampler};

use super::absence::NoTracing;
use super::losses::Losses;
use super::opening;
use super::record::{self, Known, LOST, Loss, SAMPLE, TraceRecord};
use crate::time::monotonic_nanos;

/// Bytes of a ring: at 100,000 records a second on one processor those of 200 ms. Where the kernel gives less, a half,
/// a quarter and so on, down to the last.
const BYTES: usize = 2 << 20;
const BYTES_MIN: usize = 64 << 10;

/// The header of a record.
const HEADER_BYTES: usize = 8;

/// The tracepoints of a processor.
pub(super) struct Ring {
    sampler: Sampler,
    others: Vec<Counter>,
    bytes: usize,
    /// Bytes that were taken since the kernel's counters of lost records were read.
    taken: usize,
    losses: Losses,
    /// The time of the last record.
    last: u64,
}

/// A tracepoint as it is to be opened.
pub(super) struct Opened<'a> {
    pub(super) name: &'a str,
    pub(super) number: u16,
    pub(super) filter: &'a str,
}

impl Opened<'_> {
    /// It on a processor, standing still.
    fn on(&self, processor: usize) -> Result<Counter, NoTracing> {
        let counter = opening::open(self.name, self.number, processor)?;
        if !self.filter.is_empty() {
            opening::set_filter(self.name, &counter, self.filter)?;
        }
        Ok(counter)
    }
}

impl Ring {
    /// Opens these tracepoints, of which there is one at least, standing still, with one ring for all.
    pub(super) fn open(wanted: &[Opened<'_>], processor: usize, bytes: Option<usize>) -> Result<Ring, NoTracing> {
        let (first, others) = wanted.split_first().ok_or_else(|| NoTracing::Missing("at all".into()))?;
        let (sampler, bytes) = match bytes {
            Some(bytes) => (first.on(processor)?.sampled(bytes).map_err(|error| unmapped(&error))?, bytes),
            None => mapped(first, processor)?,
        };
        let into_its_ring = |one: &Opened<'_>| {
            let counter = one.on(processor)?;
            opening::set_output(one.name, &counter, sampler.as_raw_fd())?;
            Ok(counter)
        };
        let others = others.iter().map(into_its_ring).collect::<Result<Vec<Counter>, NoTracing>>()?;
        Ok(Ring { sampler, others, bytes, taken: 0, losses: Losses::default(), last: 0 })
    }

    /// Starts the tracepoints, or stops them.
    pub(super) fn set_running(&mut self, is_running: bool) -> io::Result<()> {
        let first = self.sampler.as_counter_mut();
        for counter in std::iter::once(first).chain(&mut self.others) {
            if is_running { counter.enable()? } else { counter.disable()? }
        }
        Ok(())
    }

    /// Takes what was written before `until`, and little more.
    pub(super) fn drain(&mut self, until: u64, known: &[Known], records: &mut Vec<TraceRecord>, lost: &mut Vec<Loss>) {
        self.take(until, known, records, lost);
        // A record finds no room in a full ring alone, whose bytes are all taken after it: reading the counters once
        // for each half of them misses no loss, and interrupts other processors seldom.
        if self.taken >= self.bytes / 2 {
            self.count_lost(lost);
        }
    }

    /// Reads what the kernel has counted of lost records, those included behind which none has found room yet.
    pub(super) fn count_lost(&mut self, lost: &mut Vec<Loss>) {
        self.taken = 0;
        if let Some(count) = self.counted_lost() {
            lost.extend(self.losses.count(count, (self.last, monotonic_nanos())));
        }
    }

    /// Records that were lost since the ring was opened; `None` where the kernel does not count them.
    pub(super) fn counted_lost(&mut self) -> Option<u64> {
        let first = self.sampler.as_counter_mut();
        std::iter::once(first).chain(&mut self.others).map(|counter| counter.read_full().ok()?.lost()).sum()
    }

    fn take(&mut self, until: u64, known: &[Known], records: &mut Vec<TraceRecord>, lost: &mut Vec<Loss>) {
        while let Some(found) = self.sampler.next_record() {
            let bytes = found.to_contiguous();
            self.taken += HEADER_BYTES + bytes.len();
            match found.ty() {
                SAMPLE => {
                    let Some(record) = record::sample(&bytes, known) else { continue };
                    self.last = self.last.max(record.time);
                    records.push(record);
                    if record.time > until {
                        return;
                    }
                }
                LOST => {
                    let Some((count, time)) = record::lost(&bytes) else { continue };
                    lost.extend(self.losses.record(count, (self.last, time.max(self.last))));
                }
                _ => {}
            }
        }
    }
}

/// Maps the ring of the first tracepoint: as large as the kernel lets it be.
fn mapped(first: &Opened<'_>, processor: usize) -> Result<(Sampler, usize), NoTracing> {
    let mut bytes = BYTES;
    loop {
        // A counter that cannot be mapped is gone with its error.
        match first.on(processor)?.sampled(bytes) {
            Ok(sampler) => return Ok((sampler, bytes)),
            Err(error) if bytes <= BYTES_MIN => return Err(unmapped(&error)),
            Err(_) => bytes /= 2,
        }
    }
}

fn unmapped(error: &io::Error) -> NoTracing {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOMEM) => NoTracing::NoMemory,
        _ => opening::refusal("of the first ring", error),
    }
}
