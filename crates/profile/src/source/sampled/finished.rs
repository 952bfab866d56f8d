//! The profile of a server that is being sampled: it can be looked at at any time.

use super::accounting::Accounting;
use super::charging::{Charging, ReadSink};
use super::ending::Ending;
use super::observed::Observed;
use super::reads::Reads;
use super::sample::Sample;
use super::traced::{Traced, TracedRead, TracedRequest};
use crate::event::Ticks;
use crate::ingest::Ingested;
use crate::observe::collector::Collector;
use crate::observe::instruments::Instruments;
use crate::source::{FileHeader, SourceFile};
use crate::tables::Profile;

/// The source as a run document names it.
pub const SAMPLED_SOURCE: &str = "PostgreSQL, sampled";

/// Everything that was sampled so far.
#[derive(Clone, Debug)]
pub struct SampledProfile {
    accounting: Accounting,
    collector: Collector,
    instruments: Instruments,
    charging: Charging,
    reads: Reads,
}

impl SampledProfile {
    /// Nothing sampled yet. `wall_clock` is in microseconds since 1970; a pause within a transaction of `think_time` or
    /// longer is think time. `instruments` hear the same calls and waits as the profile.
    pub fn new(wall_clock: i64, think_time: Ticks, instruments: Instruments) -> SampledProfile {
        let (accounting, collector) = (Accounting::new(wall_clock), Collector::new(think_time));
        SampledProfile { accounting, collector, instruments, charging: Charging::default(), reads: Reads::default() }
    }

    /// Has it begin at this time of the wall clock, in microseconds since 1970, ahead of all that it takes.
    pub fn begin_at(&mut self, wall_clock: i64) {
        self.accounting.begin_at(wall_clock);
    }

    /// Takes a look at all processes, which stands for the time `since` the look before; none for the first.
    pub fn look(&mut self, since: Ticks, samples: &[Sample]) {
        self.look_at_changes(since, samples, &[]);
    }

    /// The same where `rest` says of each sample whether its process has gone on to do nothing since the look before,
    /// whose sample stood in the same place. Where it is shorter, processes may have done anything.
    pub fn look_at_changes(&mut self, since: Ticks, samples: &[Sample], rest: &[bool]) {
        self.accounting.look(since, samples, rest, &mut (&mut self.collector, &mut self.instruments));
    }

    /// Takes what one session did in an interval, in ticks since the wall clock's zero, all of it.
    pub fn interval(&mut self, interval: (Ticks, Ticks), sample: &Sample) {
        self.accounting.interval(interval, sample, &mut (&mut self.collector, &mut self.instruments));
    }

    /// Takes how many sessions there were for a time, and how many of them at work.
    pub fn pass(&mut self, time: Ticks, active: u64, sessions: u64) {
        self.accounting.pass(time, active, sessions);
    }

    /// Takes what was traced of the server's reads, with a look at its processes at a moment in µs since 1970.
    pub fn trace(&mut self, at: i64, samples: &[Sample], traced: Traced) {
        self.reads.count(traced.records, traced.lost);
        self.charging.take((at, samples), traced, &mut self.accounting.names, &mut self.reads);
    }

    /// Takes reads, each with what its session did when it began, where that is known of every moment; `None` where the
    /// session was not watched then.
    pub fn trace_within(&mut self, (records, lost): (u64, u64), reads: &[(Option<Sample>, TracedRead)]) {
        self.reads.count(records, lost);
        for (sample, read) in reads {
            self.accounting.read_within(sample.as_ref(), read, &mut self.reads);
        }
    }

    /// Takes requests in the same way.
    pub fn requested_within(&mut self, requests: &[(Option<Sample>, TracedRequest)]) {
        for (sample, request) in requests {
            let statement = sample.as_ref().and_then(|sample| self.accounting.statement_of(sample));
            self.reads.request(statement, request);
        }
    }

    /// A time in which nothing could be sampled.
    pub fn lose(&mut self, time: Ticks) {
        self.accounting.lose(time, &mut (&mut self.collector, &mut self.instruments));
    }

    /// Takes an answer to who blocks whom, with the samples of the last look before it came.
    pub fn blocking(&mut self, answer: &[(u32, Vec<u32>)], samples: &[Sample]) {
        self.accounting.blocking(answer, samples);
    }

    /// Takes down that an event that had one name, as long as the server had not said its own, has another one.
    pub fn rename(&mut self, was: &str, is: &str) {
        self.accounting.names.rename(was, is);
    }

    /// Whether the texts of all statements are wanted with the next look.
    pub fn takes_texts(&mut self) -> bool {
        self.accounting.takes_texts()
    }

    /// Times that all sessions were looked at so far.
    pub fn looks(&self) -> u64 {
        self.accounting.looks
    }

    /// Time that the looks stand for so far.
    pub fn time(&self) -> Ticks {
        self.accounting.load.time
    }

    /// The profile of what was sampled, as if it ended here, and what heard it.
    pub fn snapshot(&self, observed: &Observed) -> (Ingested, Instruments) {
        let SampledProfile { mut accounting, mut collector, mut instruments, mut charging, mut reads } = self.clone();
        charging.end(&mut reads);
        accounting.end(&mut (&mut collector, &mut instruments));
        let mut ending = Ending::new(accounting, reads, observed.clone());
        let mut profile = collector.finish(ending.accounted());
        ending.complete(&mut profile);
        (ingested(profile, observed), instruments)
    }
}

fn ingested(profile: Profile, observed: &Observed) -> Ingested {
    let header = FileHeader { version: Some(observed.version.clone()), ..FileHeader::default() };
    let samples = profile.sampled.as_ref().map_or(0, |sampled| sampled.samples);
    let file = SourceFile { name: observed.server.clone(), header, timed_records: samples, ..SourceFile::default() };
    let findings = profile.sampled.as_ref().map_or_else(Vec::new, |sampled| sampled.findings.clone());
    Ingested {
        source: Some(SAMPLED_SOURCE),
        begun: vec![file.name.clone()],
        files: vec![file],
        findings,
        ..Ingested::of(profile)
    }
}
