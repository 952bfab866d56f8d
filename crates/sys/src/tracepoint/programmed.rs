//! A tracepoint whose records a program of ours writes, on all processors, idle ones included.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use perf_event::Counter;

use super::absence::NoTracing;
use super::format::Field;
use super::losses::Losses;
use super::opening;
use super::program::{self, WORDS};
use super::record::{Known, Loss, TraceRecord, VALUES_MAX};
use crate::bpf::{self, Array, Ring};
use crate::time::monotonic_nanos;

/// Bytes of the ring: at 100,000 records a second those of 180 ms.
const BYTES: usize = 1 << 20;

/// The program at work, which ends with this.
pub(super) struct Programmed {
    kind: u16,
    ring: Ring,
    lost: Array,
    losses: Losses,
    /// Those that the kernel passed over, and when they were counted last.
    passed_over: Losses,
    counted: u64,
    /// The time of the last record.
    last: u64,
    program: OwnedFd,
    /// What the program is tied to.
    _holder: Counter,
}

impl Programmed {
    /// Ties a program to a tracepoint: it records those whose field `first` begins with this byte. Once on one
    /// processor is enough: it is run on all.
    pub(super) fn open(name: &str, known: &Known, first: (Field, u8), processor: usize) -> io::Result<Programmed> {
        let (ring, lost) = (Ring::of(BYTES)?, Array::of_one()?);
        let program = program::loaded((ring.number(), lost.number()), &known.fields, first)?;
        let opened = opening::open(name, known.number, processor);
        let mut holder = opened.map_err(|reason: NoTracing| io::Error::other(reason.to_string()))?;
        holder.set_bpf(program.as_raw_fd())?;
        Ok(Programmed {
            kind: known.kind,
            ring,
            lost,
            losses: Losses::default(),
            passed_over: Losses::default(),
            counted: monotonic_nanos(),
            last: 0,
            program,
            _holder: holder,
        })
    }

    /// Whether it records the tracepoint in this place of the list that was wanted.
    pub(super) fn is_of(&self, kind: usize) -> bool {
        usize::from(self.kind) == kind
    }

    /// Takes all that is there.
    pub(super) fn drain(&mut self, records: &mut Vec<TraceRecord>, lost: &mut Vec<Loss>) {
        let mut words = [0_u64; WORDS];
        while self.ring.take(&mut words).is_some() {
            let [time, thread, rest @ ..] = words;
            let mut values = [0; VALUES_MAX];
            values.copy_from_slice(&rest);
            self.last = self.last.max(time);
            records.push(TraceRecord {
                time,
                process: (thread >> 32) as u32,
                thread: thread as u32,
                kind: self.kind,
                values,
            });
        }
        lost.extend(self.losses.count(self.lost.value(), (self.last, monotonic_nanos())));
    }

    /// Counts the records that the kernel passed over: as long as another program is at work on a processor, or a call
    /// of any process on a map, it runs none there.
    pub(super) fn count_passed_over(&mut self, lost: &mut Vec<Loss>) {
        let now = monotonic_nanos();
        if let Some(count) = bpf::passed_over(&self.program) {
            lost.extend(self.passed_over.count(count, (self.counted, now)));
        }
        self.counted = now;
    }
}
