//! Whose a traced read was: it is charged once a sample behind it shows what its process did then. What is charged is
//! summed up elsewhere.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::executions::{Doing, Executions};
use super::names::Names;
use super::sample::Sample;
use super::traced::{Traced, TracedRead, TracedRequest};
use super::waiters::{WORKER, Waiters, WorkerRead};
use crate::event::StatementIndex;
use crate::tables::read_tiers::Reader;

/// Most reads that wait for a sample.
const PENDING_MAX: usize = 1 << 18;

/// How often reads are charged, and how long one waits for a sample of its process: of one that has just begun there is
/// none for a while. In µs.
const CHARGED_EVERY_MICROS: i64 = 20_000;
const PATIENCE_MICROS: i64 = 1_000_000;

/// Looks between two sweeps of processes that are gone.
const LOOKS_BETWEEN_SWEEPS: u64 = 4096;

/// The number of relations kept apart where workers read for others.
const RELATIONS_MAX: usize = 1 << 12;

/// A read whose owner is known.
#[derive(Clone, Debug)]
pub(in crate::source) struct Charged<'a> {
    pub(in crate::source) owner: Reader,
    /// Whether that is an estimate.
    pub(in crate::source) is_estimated: bool,
    pub(in crate::source) read: &'a TracedRead,
}

/// What sums up reads and requests.
pub(in crate::source) trait ReadSink {
    fn read(&mut self, charged: &Charged<'_>);

    /// A request, with the statement during which it was sent.
    fn request(&mut self, statement: Option<StatementIndex>, request: &TracedRequest);
}

/// Reads that wait for a sample, and what samples have shown of late.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct Charging {
    executions: Executions,
    waiters: Waiters,
    pending: Vec<TracedRead>,
    requests: Vec<TracedRequest>,
    /// The moment of the last look.
    at: i64,
    next_charge: i64,
    last_read: i64,
    looks: u64,
    relations: HashMap<Arc<str>, u32, RandomState>,
}

impl Charging {
    /// Takes a look at all processes at a moment in µs since 1970, and what was traced until then.
    pub(in crate::source) fn take(
        &mut self,
        (at, samples): (i64, &[Sample]),
        traced: Traced,
        names: &mut Names,
        sink: &mut dyn ReadSink,
    ) {
        self.looks += 1;
        if at < self.at - PATIENCE_MICROS {
            self.begin_again(at, &mut *sink);
        }
        self.at = at;
        if !traced.reads.is_empty() || !traced.requests.is_empty() {
            self.last_read = at;
        }
        // Where nothing is read, nothing has to be known of statements.
        if at - self.last_read <= PATIENCE_MICROS {
            self.see(at, samples, names);
        }
        self.requests.extend(traced.requests);
        for awaited in &traced.waiting {
            let relation = self.relation(&awaited.file);
            // The answer may have come many looks later.
            if let Some(statement) = self.executions.statement_at(awaited.process, awaited.at) {
                self.waiters.learn(statement, relation);
            }
            self.waiters.ask(awaited.at, awaited.process, relation, awaited.blocks);
        }
        self.pending.extend(traced.reads);
        if at >= self.next_charge || self.pending.len() > PENDING_MAX {
            self.next_charge = at + CHARGED_EVERY_MICROS;
            self.charge_all(at, sink);
        }
        if self.looks.is_multiple_of(LOOKS_BETWEEN_SWEEPS) {
            let there: HashSet<u32> = samples.iter().map(|sample| sample.backend.pid).collect();
            self.executions.sweep(|process| there.contains(&process));
        }
    }

    /// Goes on at an earlier time, because the clock was set back: what samples showed was by the clock as it was, and
    /// all that waits would wait until it shows that time again.
    fn begin_again(&mut self, at: i64, sink: &mut dyn ReadSink) {
        self.end(sink);
        self.executions = Executions::default();
        self.waiters.forget_looks();
        (self.next_charge, self.last_read) = (at, at);
    }

    fn see(&mut self, at: i64, samples: &[Sample], names: &mut Names) {
        let mut has_worker = false;
        for sample in samples {
            has_worker |= sample.backend.kind == WORKER;
            self.executions.see(at, sample, |known| {
                let is_told = sample.query_id.is_some() || sample.text.is_some();
                if is_told { Some(names.statement(sample, known)) } else { known }
            });
        }
        if has_worker {
            self.waiters.see(at, samples);
        }
    }

    /// Charges what samples show; what none shows yet waits for a while.
    fn charge_all(&mut self, at: i64, sink: &mut dyn ReadSink) {
        let is_over = self.pending.len() > PENDING_MAX;
        let latest = at.saturating_sub(PATIENCE_MICROS);
        for read in std::mem::take(&mut self.pending) {
            match is_over || read.begun < latest || self.executions.has_seen(read.process, read.begun) {
                true => self.charge(&read, sink),
                false => self.pending.push(read),
            }
        }
        for request in std::mem::take(&mut self.requests) {
            match request.begun < latest || self.executions.has_seen(request.process, request.begun) {
                true => sink.request(self.executions.statement_at(request.process, request.begun), &request),
                false => self.requests.push(request),
            }
        }
    }

    /// Charges what no sample is behind.
    pub(in crate::source) fn end(&mut self, sink: &mut dyn ReadSink) {
        self.charge_all(i64::MAX, sink);
    }

    fn charge(&mut self, read: &TracedRead, sink: &mut dyn ReadSink) {
        let relation = self.relation(&read.file);
        let (owner, is_estimated) = self.owner(read, relation);
        sink.read(&Charged { owner, is_estimated, read });
    }

    fn relation(&mut self, file: &Arc<str>) -> u32 {
        if let Some(number) = self.relations.get(file) {
            return *number;
        }
        let number = self.relations.len() as u32;
        if self.relations.len() < RELATIONS_MAX {
            self.relations.insert(Arc::clone(file), number);
        }
        number
    }

    /// Whose a read was, and whether that is an estimate.
    fn owner(&mut self, read: &TracedRead, relation: u32) -> (Reader, bool) {
        match self.executions.at(read.process, read.begun) {
            Doing::Statement(statement) => {
                self.waiters.learn(statement, relation);
                (Reader::Statement(statement), false)
            }
            Doing::Background(kind) if &*kind == WORKER => self.of_worker(read, relation, kind),
            Doing::Background(kind) => (Reader::Process(kind), false),
            Doing::Unmet => self.of_gap(read, relation),
        }
    }

    /// A read between two samples goes to the statement that the one before showed at work, where that statement is
    /// known to read the relation: a short statement that no sample met may have come and gone there, so it is an
    /// estimate.
    fn of_gap(&self, read: &TracedRead, relation: u32) -> (Reader, bool) {
        let before = self.executions.cut_off(read.process, read.begun);
        match before.filter(|statement| self.waiters.reads(*statement, relation)) {
            Some(statement) => (Reader::Statement(statement), true),
            None => (Reader::Unmet, false),
        }
    }

    fn of_worker(&mut self, read: &TracedRead, relation: u32, kind: Arc<str>) -> (Reader, bool) {
        let from = read.begun;
        let by_worker = WorkerRead {
            time: (from, from + read.elapsed.micros() as i64),
            relation,
            blocks: (read.block, read.block + read.blocks.max(1) - 1),
        };
        let executions = &self.executions;
        let statement_of = |process| executions.statement_at(process, from);
        let process = self.waiters.of_read(&by_worker, statement_of);
        match process.and_then(statement_of) {
            Some(statement) => (Reader::Statement(statement), true),
            None => (Reader::Process(kind), false),
        }
    }
}
