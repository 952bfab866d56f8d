//! Reads of files as a tracer reports them: by the tier that answered, whose they were, and of what.
//!
//! A read is charged once a sample behind it shows what its process did then.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::distinct::{Distinct, spread};
use super::executions::{Doing, Executions};
use super::names::Names;
use super::price::{ByLength, LENGTHS, Price, length};
use super::sample::Sample;
use super::traced::{Traced, TracedRead, TracedRequest};
use super::waiters::{WORKER, Waiters};
use crate::event::{Merge, StatementIndex, Ticks};
use crate::observe::collector::bucket_of;
use crate::observe::readings::{LatencyDistribution, tiers};
use crate::tables::BlockSums;
use crate::tables::histogram::Histogram;
use crate::tables::read_tiers::{
    ByTier, Hill, Leaning, Purpose, READ_TIERS, ReadSums, ReadTier, ReadTiers, Reader, ReaderRow, RelationRow,
    RequestSums, TierRow,
};

/// Most pairs of a reader and a relation, and most relations, that are kept apart: of some 100 KiB each at most.
const PAIRS_MAX: usize = 1024;
const RELATIONS_MAX: usize = 512;

/// The relation of all further ones.
const OTHERS: &str = "(others)";

/// Most reads that wait for a sample.
const PENDING_MAX: usize = 1 << 18;

/// How often reads are charged, and how long one waits for a sample of its process: of one that has just begun there is
/// none for a while. In µs.
const CHARGED_EVERY_MICROS: i64 = 20_000;
const PATIENCE_MICROS: i64 = 1_000_000;

/// Requests from which on hills of their latency say something.
const HILL_REQUESTS_MIN: u64 = 100;

/// Part of the requests that a hill has at least.
const HILL_PART_MIN: f64 = 0.02;

/// Relations that a row names.
const RELATIONS_NAMED: usize = 3;

/// Looks between two sweeps of processes that are gone.
const LOOKS_BETWEEN_SWEEPS: u64 = 4096;

/// Whose a read was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Owner {
    Statement(StatementIndex),
    Process(u32),
    Unmet,
    Others,
}

/// Reads of one owner of one relation, or of one relation.
#[derive(Clone, Debug, Default)]
struct Sums {
    tiers: ByTier,
    estimated: u64,
    cached: ByLength,
    blocks: Distinct,
}

/// Reads of a tier with their latency.
#[derive(Clone, Debug, Default)]
struct Latencies {
    distribution: LatencyDistribution,
    histogram: Histogram,
}

/// All reads so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    executions: Executions,
    waiters: Waiters,
    pending: Vec<TracedRead>,
    next_charge: i64,
    last_read: i64,
    looks: u64,
    pairs: HashMap<(Owner, u32), Sums, RandomState>,
    relations: Vec<(Arc<str>, Sums)>,
    numbers: HashMap<Arc<str>, u32, RandomState>,
    kinds: Vec<Arc<str>>,
    latencies: [Latencies; READ_TIERS],
    requests: BTreeMap<Purpose, RequestSums>,
    waiting_requests: Vec<TracedRequest>,
    /// Bytes that were read ahead for an owner.
    ahead: BTreeMap<Owner, u64>,
    service: LatencyDistribution,
    price: Price,
    records: u64,
    lost: u64,
    is_traced: bool,
}

impl Reads {
    /// Takes a look at all processes at a moment in µs since 1970, and what was traced until then.
    pub(super) fn take(&mut self, at: i64, samples: &[Sample], traced: Traced, names: &mut Names) {
        self.is_traced = true;
        self.looks += 1;
        if !traced.reads.is_empty() || !traced.requests.is_empty() {
            self.last_read = at;
        }
        // Where nothing is read, nothing has to be known of statements.
        if at - self.last_read <= PATIENCE_MICROS {
            self.see(at, samples, names);
        }
        self.records += traced.records;
        self.lost += traced.lost;
        self.waiting_requests.extend(traced.requests);
        for (process, file) in &traced.waiting {
            if let Doing::Statement(statement) = self.executions.at(*process, at) {
                let relation = self.relation(file);
                self.waiters.learn(statement, relation);
            }
        }
        self.pending.extend(traced.reads);
        if at >= self.next_charge || self.pending.len() > PENDING_MAX {
            self.next_charge = at + CHARGED_EVERY_MICROS;
            self.charge_all(at);
        }
        if self.looks.is_multiple_of(LOOKS_BETWEEN_SWEEPS) {
            let there: HashSet<u32> = samples.iter().map(|sample| sample.backend.pid).collect();
            self.executions.sweep(|process| there.contains(&process));
        }
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
    fn charge_all(&mut self, at: i64) {
        let is_over = self.pending.len() > PENDING_MAX;
        let latest = at - PATIENCE_MICROS;
        for read in std::mem::take(&mut self.pending) {
            match is_over || read.begun < latest || self.executions.has_seen(read.process, read.begun) {
                true => self.charge(&read),
                false => self.pending.push(read),
            }
        }
        for request in std::mem::take(&mut self.waiting_requests) {
            match request.begun < latest || self.executions.has_seen(request.process, request.begun) {
                true => self.request(&request),
                false => self.waiting_requests.push(request),
            }
        }
    }

    /// Charges what no sample is behind.
    pub(super) fn end(&mut self) {
        self.charge_all(i64::MAX);
    }

    fn request(&mut self, request: &TracedRequest) {
        let TracedRequest { bytes, queue, service, purpose, .. } = *request;
        self.requests.entry(purpose).or_default().merge(&RequestSums { requests: 1, bytes, queue, service });
        self.service.record(service);
        if purpose != Purpose::Waited
            && let Doing::Statement(statement) = self.executions.at(request.process, request.begun)
        {
            *self.ahead.entry(Owner::Statement(statement)).or_default() += bytes;
        }
    }

    fn charge(&mut self, read: &TracedRead) {
        let relation = self.relation(&read.file);
        let (owner, is_estimated) = self.owner(read, relation);
        let (blocks, elapsed) = (read.blocks, read.elapsed);
        let TracedRead { bytes, queue, service, .. } = *read;
        let sums = ReadSums { reads: 1, blocks, bytes, time: elapsed, queue, service };
        if read.tier == ReadTier::Device {
            self.price.add(blocks, elapsed);
        }
        let latencies = &mut self.latencies[read.tier as usize];
        latencies.distribution.record(elapsed);
        latencies.histogram.add(bucket_of(elapsed), &BlockSums { count: 1, total: elapsed, blocks });
        let has_room = self.pairs.len() < PAIRS_MAX || self.pairs.contains_key(&(owner, relation));
        let owner = if has_room { owner } else { Owner::Others };
        let pair = self.pairs.entry((owner, relation)).or_default();
        for of in [pair, &mut self.relations[relation as usize].1] {
            of.tiers.of_mut(read.tier).merge(&sums);
            of.estimated += u64::from(is_estimated);
            if read.tier == ReadTier::PageCache {
                of.cached[length(read.blocks)] += 1;
                (read.block..read.block + read.blocks).for_each(|block| of.blocks.add(spread(relation, block)));
            }
        }
    }

    /// The number of a relation.
    fn relation(&mut self, file: &Arc<str>) -> u32 {
        if let Some(number) = self.numbers.get(file) {
            return *number;
        }
        let is_last = self.relations.len() + 1 >= RELATIONS_MAX;
        let name = if is_last { Arc::from(OTHERS) } else { Arc::clone(file) };
        if self.relations.len() >= RELATIONS_MAX {
            return RELATIONS_MAX as u32 - 1;
        }
        let number = self.relations.len() as u32;
        self.relations.push((name, Sums::default()));
        self.numbers.insert(Arc::clone(file), number);
        number
    }

    /// Whose a read was, and whether that is an estimate.
    fn owner(&mut self, read: &TracedRead, relation: u32) -> (Owner, bool) {
        match self.executions.at(read.process, read.begun) {
            Doing::Statement(statement) => {
                self.waiters.learn(statement, relation);
                (Owner::Statement(statement), false)
            }
            Doing::Background(kind) if &*kind == WORKER => self.of_worker(read, relation, &kind),
            Doing::Background(kind) => (self.process(&kind), false),
            Doing::Unmet => (Owner::Unmet, false),
        }
    }

    fn of_worker(&mut self, read: &TracedRead, relation: u32, kind: &Arc<str>) -> (Owner, bool) {
        let (from, until) = (read.begun, read.begun + read.elapsed.micros() as i64);
        let executions = &self.executions;
        let statement_of = |process| match executions.at(process, from) {
            Doing::Statement(statement) => Some(statement),
            _ => None,
        };
        let process = self.waiters.of_read((from, until), relation, statement_of);
        match process.and_then(statement_of) {
            Some(statement) => (Owner::Statement(statement), true),
            None => (self.process(kind), false),
        }
    }

    fn process(&mut self, kind: &Arc<str>) -> Owner {
        let place = self.kinds.iter().position(|known| known == kind).unwrap_or_else(|| {
            self.kinds.push(Arc::clone(kind));
            self.kinds.len() - 1
        });
        Owner::Process(place as u32)
    }

    /// All that was traced; `None` where nothing was. `name` gives a relation its name.
    pub(super) fn tables(&self, name: &dyn Fn(&str) -> String) -> Option<ReadTiers> {
        if !self.is_traced {
            return None;
        }
        let mut relations: Vec<RelationRow> = self.relations.iter().map(|of| self.relation_row(of, name)).collect();
        relations.retain(|row| row.tiers.all().reads > 0);
        relations.sort_by_key(|row| std::cmp::Reverse(row.tiers.all().time));
        let rows = [ReadTier::PageCache, ReadTier::Device, ReadTier::InFlight, ReadTier::NotSeen];
        Some(ReadTiers {
            tiers: rows.into_iter().filter_map(|tier| self.tier(tier)).collect(),
            requests: self.requests.iter().map(|(purpose, sums)| (*purpose, *sums)).collect(),
            hills: self.hills(),
            readers: self.readers(name),
            relations,
            records: self.records,
            lost: self.lost,
            block_bytes: 0,
            buffer_bytes: 0,
        })
    }

    fn tier(&self, tier: ReadTier) -> Option<TierRow> {
        let Latencies { distribution, histogram } = &self.latencies[tier as usize];
        let mut sums = ReadSums::default();
        self.relations.iter().for_each(|(_, of)| sums.merge(of.tiers.of(tier)));
        Some(TierRow { tier, sums, latency: distribution.statistics()?, histogram: histogram.clone() })
    }

    /// The hills of the device's latency, where there are really two: each with a part of the requests that counts.
    fn hills(&self) -> Vec<Hill> {
        if self.service.count() < HILL_REQUESTS_MIN {
            return Vec::new();
        }
        let hill = |tier: &crate::observe::readings::Tier| Hill {
            requests: tier.count,
            service: tier.time,
            mode_micros: tier.mode_micros,
            below_micros: tier.below_micros,
        };
        let found: Vec<Hill> = tiers(&self.service, 1.0).iter().map(hill).collect();
        let is_large = |hill: &Hill| hill.requests as f64 >= HILL_PART_MIN * self.service.count() as f64;
        if found.len() > 1 && found.iter().all(is_large) { found } else { Vec::new() }
    }

    fn relation_row(&self, (file, of): &(Arc<str>, Sums), name: &dyn Fn(&str) -> String) -> RelationRow {
        RelationRow {
            name: name(file),
            tiers: of.tiers,
            leaning: self.leaning(&of.tiers, &of.cached, (of.blocks.count(), of.blocks.error())),
        }
    }

    /// Rows by owner, those with most time first.
    fn readers(&self, name: &dyn Fn(&str) -> String) -> Vec<ReaderRow> {
        let mut owners: BTreeMap<Owner, Vec<(u32, &Sums)>> = BTreeMap::new();
        for ((owner, relation), sums) in &self.pairs {
            owners.entry(*owner).or_default().push((*relation, sums));
        }
        let mut rows: Vec<ReaderRow> = owners.into_iter().map(|(owner, of)| self.reader(owner, of, name)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.tiers.all().time));
        rows
    }

    fn reader(&self, owner: Owner, mut of: Vec<(u32, &Sums)>, name: &dyn Fn(&str) -> String) -> ReaderRow {
        let cached = |sums: &Sums| sums.tiers.of(ReadTier::PageCache).reads;
        of.sort_by_key(|(relation, sums)| (std::cmp::Reverse(cached(sums)), *relation));
        let (mut tiers, mut estimated, mut lengths) = (ByTier::default(), 0, [0; LENGTHS]);
        let (mut blocks, mut squares) = (0, 0.0);
        for (_, sums) in &of {
            tiers.merge(&sums.tiers);
            estimated += sums.estimated;
            lengths.iter_mut().zip(&sums.cached).for_each(|(whole, part)| *whole += part);
            blocks += sums.blocks.count();
            squares += (sums.blocks.error() as f64).powi(2);
        }
        let named = of.iter().filter(|(_, sums)| cached(sums) > 0).take(RELATIONS_NAMED);
        let named = named.map(|(relation, _)| name(&self.relations[*relation as usize].0)).collect();
        ReaderRow {
            reader: self.named(owner),
            leaning: self.leaning(&tiers, &lengths, (blocks, squares.sqrt() as u64)).map(|leaning| {
                let mean = (tiers.of(ReadTier::PageCache).bytes / leaning.reads.max(1)).max(1);
                let ahead = self.ahead.get(&owner).copied().unwrap_or(0) / mean;
                Leaning { ahead: ahead.min(leaning.reads), relations: named, ..leaning }
            }),
            tiers,
            estimated,
        }
    }

    fn named(&self, owner: Owner) -> Reader {
        match owner {
            Owner::Statement(index) => Reader::Statement(index),
            Owner::Process(place) => Reader::Process(self.kinds[place as usize].to_string()),
            Owner::Unmet => Reader::Unmet,
            Owner::Others => Reader::Others,
        }
    }

    fn leaning(&self, tiers: &ByTier, cached: &ByLength, (blocks, blocks_error): (u64, u64)) -> Option<Leaning> {
        let of_cache = tiers.of(ReadTier::PageCache);
        (of_cache.reads > 0).then(|| Leaning {
            reads: of_cache.reads,
            time: of_cache.time,
            from_device: self.price.of(cached),
            blocks,
            blocks_error,
            ahead: 0,
            relations: Vec::new(),
        })
    }

    /// Reads that the device answered, and the mean time of one.
    pub(super) fn device(&self) -> (u64, Option<Ticks>) {
        self.price.mean()
    }
}

#[cfg(test)]
mod tests;
