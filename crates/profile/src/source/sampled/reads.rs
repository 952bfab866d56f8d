//! Reads of files by the tier that answered, whose they were, and of what: what the tables of a profile are made of.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use measure::sorting;
use measure::words::Word;

use super::blocks::Blocks;
use super::charging::{Charged, ReadSink};
use super::price::{ByLength, LENGTHS, Price, length};
use super::sketch::{Sketch, spread};
use super::traced::{TracedRead, TracedRequest};
use crate::event::{EventIndex, Merge, StatementIndex, Ticks};
use crate::observe::collector::bucket_of;
use crate::observe::readings::{LatencyDistribution, tiers};
use crate::tables::BlockSums;
use crate::tables::histogram::Histogram;
use crate::tables::read_tiers::{
    ByTier, Hill, Leaning, Purpose, READ_TIERS, ReadSums, ReadTier, ReadTiers, Reader, ReaderRow, RelationRow,
    RequestSums, TierRow, WaitRow,
};

/// Most pairs of a reader and a relation, and most relations, that are kept apart: of some 100 KiB each at most.
const PAIRS_MAX: usize = 1024;
const RELATIONS_MAX: usize = 512;

/// The relation of all further ones.
const OTHERS: &str = "(others)";

/// Requests from which on hills of their latency say something.
const HILL_REQUESTS_MIN: u64 = 100;

/// Part of the requests that a hill has at least.
const HILL_PART_MIN: f64 = 0.02;

/// Relations that a row names.
const RELATIONS_NAMED: usize = 3;

/// Reads of one owner, one relation and one tier that took about as long as each other and are about as large.
#[derive(Clone, Debug)]
pub(in crate::source) struct Alike<'a> {
    pub(in crate::source) owner: Reader,
    pub(in crate::source) file: &'a Arc<str>,
    pub(in crate::source) tier: ReadTier,
    pub(in crate::source) sums: ReadSums,
    /// Those that were charged by an estimate.
    pub(in crate::source) estimated: u64,
}

/// Reads of one owner of one relation, or of one relation.
#[derive(Clone, Debug, Default)]
struct Sums {
    tiers: ByTier,
    estimated: u64,
    cached: ByLength,
    blocks: Blocks,
}

/// Reads of a tier with their latency.
#[derive(Clone, Debug, Default)]
struct Latencies {
    distribution: LatencyDistribution,
    histogram: Histogram,
}

/// All reads so far.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct Reads {
    pairs: HashMap<(Reader, u32), Sums, RandomState>,
    relations: Vec<(Arc<str>, Sums)>,
    numbers: HashMap<Arc<str>, u32, RandomState>,
    latencies: [Latencies; READ_TIERS],
    requests: BTreeMap<Purpose, RequestSums>,
    /// By what their sessions waited for, where that is known of each.
    waits: BTreeMap<Option<EventIndex>, ByTier>,
    /// Bytes that were read ahead for a statement.
    ahead: BTreeMap<StatementIndex, u64>,
    service: LatencyDistribution,
    price: Price,
    records: u64,
    lost: u64,
    is_traced: bool,
}

impl ReadSink for Reads {
    fn read(&mut self, charged: &Charged<'_>) {
        let Charged { owner, is_estimated, read } = charged;
        let alike = Alike {
            owner: owner.clone(),
            file: &read.file,
            tier: read.tier,
            sums: read.sums(),
            estimated: u64::from(*is_estimated),
        };
        let (pair, relation) = self.add(&alike);
        if read.tier.is_of_page_cache() {
            for block in read.block..read.block + read.blocks {
                let hash = spread(block);
                self.relations[relation as usize].1.blocks.add(hash);
                self.pairs.entry(pair.clone()).or_default().blocks.add(hash);
            }
        }
    }

    fn request(&mut self, statement: Option<StatementIndex>, request: &TracedRequest) {
        let TracedRequest { bytes, queue, service, purpose, .. } = *request;
        self.service.record(service);
        self.add_requests(statement, purpose, &RequestSums { requests: 1, bytes, queue, service });
    }
}

impl Reads {
    /// Notes that reads were traced, with the number of records read and of records lost.
    pub(in crate::source) fn count(&mut self, records: u64, lost: u64) {
        self.is_traced = true;
        self.records += records;
        self.lost += lost;
    }

    /// Whether reads were traced.
    pub(in crate::source) fn is_traced(&self) -> bool {
        self.is_traced
    }

    /// Adds a read to those that its session did while it waited for this event, or for none that the server names.
    pub(in crate::source) fn within(&mut self, event: Option<EventIndex>, read: &TracedRead) {
        self.waits.entry(event).or_default().of_mut(read.tier).merge(&read.sums());
    }

    /// Adds requests of one purpose that were sent during a statement, or during none.
    pub(in crate::source) fn add_requests(
        &mut self,
        statement: Option<StatementIndex>,
        purpose: Purpose,
        sums: &RequestSums,
    ) {
        self.requests.entry(purpose).or_default().merge(sums);
        if purpose != Purpose::Waited
            && let Some(statement) = statement
        {
            *self.ahead.entry(statement).or_default() += sums.bytes;
        }
    }

    /// Adds reads that are alike; gives the row that they are in and the number of their relation.
    pub(in crate::source) fn add(&mut self, alike: &Alike<'_>) -> ((Reader, u32), u32) {
        let Alike { owner, file, tier, sums, estimated } = alike;
        let relation = self.relation(file);
        let length = length(sums.blocks / sums.reads.max(1));
        if *tier == ReadTier::Device {
            self.price.add(length, sums.reads, sums.time);
        }
        let latencies = &mut self.latencies[*tier as usize];
        latencies.distribution.record_alike(sums.reads, sums.time);
        let bucket = bucket_of(Ticks(sums.time.0 / sums.reads.max(1).cast_signed()));
        let filled = BlockSums { count: sums.reads, total: sums.time, blocks: sums.blocks };
        latencies.histogram.add(bucket, &filled);
        let pair = self.pair(owner, relation);
        for of in [self.pairs.entry(pair.clone()).or_default(), &mut self.relations[relation as usize].1] {
            of.tiers.of_mut(*tier).merge(sums);
            of.estimated += estimated;
            if tier.is_of_page_cache() {
                of.cached[length] += sums.reads;
            }
        }
        (pair, relation)
    }

    /// Adds the blocks that the page cache gave an owner of a relation, as a sketch of them.
    pub(in crate::source) fn add_blocks(&mut self, owner: &Reader, file: &Arc<str>, blocks: &Sketch) {
        let relation = self.relation(file);
        let pair = self.pair(owner, relation);
        self.relations[relation as usize].1.blocks.merge(blocks);
        self.pairs.entry(pair).or_default().blocks.merge(blocks);
    }

    /// The row of an owner's reads of a relation.
    fn pair(&self, owner: &Reader, relation: u32) -> (Reader, u32) {
        let pair = (owner.clone(), relation);
        let has_room = self.pairs.len() < PAIRS_MAX || self.pairs.contains_key(&pair);
        if has_room { pair } else { (Reader::Others, relation) }
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

    /// All that was traced; `None` where nothing was. `name` gives a relation its name.
    pub(in crate::source) fn tables(&self, name: &dyn Fn(&str) -> String) -> Option<ReadTiers> {
        if !self.is_traced {
            return None;
        }
        let mut relations: Vec<RelationRow> = self.relations.iter().map(|of| self.relation_row(of, name)).collect();
        relations.retain(|row| row.tiers.all().reads > 0);
        sorting::by_key(&mut relations, |row| std::cmp::Reverse(row.tiers.all().time));
        Some(ReadTiers {
            tiers: ReadTier::all().filter_map(|tier| self.tier(tier)).collect(),
            requests: self.requests.iter().map(|(purpose, sums)| (*purpose, *sums)).collect(),
            hills: self.hills(),
            readers: self.readers(name),
            relations,
            waits: self.waits(),
            records: self.records,
            lost: self.lost,
            block_bytes: 0,
            buffer_bytes: 0,
        })
    }

    fn waits(&self) -> Vec<WaitRow> {
        let mut rows: Vec<WaitRow> =
            self.waits.iter().map(|(event, tiers)| WaitRow { event: *event, tiers: *tiers }).collect();
        sorting::by_key(&mut rows, |row| std::cmp::Reverse(row.tiers.all().time));
        rows
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
        let mut owners: BTreeMap<Reader, Vec<(u32, &Sums)>> = BTreeMap::new();
        for ((owner, relation), sums) in &self.pairs {
            owners.entry(owner.clone()).or_default().push((*relation, sums));
        }
        let mut rows: Vec<ReaderRow> = owners.into_iter().map(|(owner, of)| self.reader(owner, of, name)).collect();
        sorting::by_key(&mut rows, |row| std::cmp::Reverse(row.tiers.all().time));
        rows
    }

    fn reader(&self, owner: Reader, mut of: Vec<(u32, &Sums)>, name: &dyn Fn(&str) -> String) -> ReaderRow {
        let cached = |sums: &Sums| sums.tiers.of_page_cache().reads;
        sorting::by_key(&mut of, |(relation, sums)| (std::cmp::Reverse(cached(sums)), *relation));
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
        let ahead = match &owner {
            Reader::Statement(statement) => self.ahead.get(statement).copied().unwrap_or(0),
            _ => 0,
        };
        ReaderRow {
            reader: owner,
            leaning: self.leaning(&tiers, &lengths, (blocks, squares.sqrt() as u64)).map(|leaning| {
                let mean = (tiers.of_page_cache().bytes / leaning.reads.max(1)).max(1);
                Leaning { ahead: (ahead / mean).min(leaning.reads), relations: named, ..leaning }
            }),
            tiers,
            estimated,
        }
    }

    fn leaning(&self, tiers: &ByTier, cached: &ByLength, (blocks, blocks_error): (u64, u64)) -> Option<Leaning> {
        let of_cache = tiers.of_page_cache();
        (of_cache.reads > 0).then(|| Leaning {
            reads: of_cache.reads,
            time: of_cache.time,
            from_device: self.price.of(cached),
            // Different ones are no more than all, whatever an estimate says, or a sketch of a longer time.
            blocks: blocks.min(of_cache.blocks),
            blocks_error,
            ahead: 0,
            relations: Vec::new(),
        })
    }

    /// Reads that the device answered, and the mean time of one.
    pub(in crate::source) fn device(&self) -> (u64, Option<Ticks>) {
        self.price.mean()
    }
}

#[cfg(test)]
mod tests;
