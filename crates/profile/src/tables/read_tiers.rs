//! Which tier answered the reads of files: the page cache, a device, or a request of another process in flight.

use std::sync::Arc;

use measure::Statistics;
use measure::words::Word;

use crate::event::{EventIndex, Merge, StatementIndex, Ticks, merged};
use crate::tables::histogram::Histogram;

measure::words! {
    /// What answered a read of a file.
    pub enum ReadTier ("tier") {
        /// The kernel's page cache
        PageCache = "page-cache",
        /// A device, by a request of the reader's own
        Device = "device",
        /// A device, by a request of another process that was under way already
        InFlight = "in-flight",
        /// It cannot be said: records of the read were lost
        NotSeen = "not-seen-whole",
    }
}

impl ReadTier {
    /// Whether the kernel's page cache had the bytes. Such reads lean on it: without it they would wait for a device.
    pub fn is_of_page_cache(self) -> bool {
        match self {
            ReadTier::PageCache => true,
            ReadTier::Device | ReadTier::InFlight | ReadTier::NotSeen => false,
        }
    }
}

/// How many tiers there are.
pub const READ_TIERS: usize = ReadTier::ALL.len();

/// Reads of one tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSums {
    /// Calls of the kernel.
    pub reads: u64,
    /// Blocks that they brought.
    pub blocks: u64,
    /// Bytes that they brought.
    pub bytes: u64,
    /// Their time, from call to return.
    pub time: Ticks,
    /// The part of it in which a request of theirs waited for the device's queue.
    pub queue: Ticks,
    /// The part of it in which the device served them.
    pub service: Ticks,
}

merged! {
    ReadSums: reads, blocks, bytes, time, queue, service;
}

/// Reads by tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByTier([ReadSums; READ_TIERS]);

impl ByTier {
    /// Those of one tier.
    pub fn of(&self, tier: ReadTier) -> &ReadSums {
        &self.0[tier as usize]
    }

    /// The same, to be added to.
    pub fn of_mut(&mut self, tier: ReadTier) -> &mut ReadSums {
        &mut self.0[tier as usize]
    }

    /// Those that the page cache answered.
    pub fn of_page_cache(&self) -> ReadSums {
        let mut answered = ReadSums::default();
        let tiers = ReadTier::all().filter(|tier| tier.is_of_page_cache());
        tiers.for_each(|tier| answered.merge(self.of(tier)));
        answered
    }

    /// What they are more than `before`, which they once were.
    pub fn since(&self, before: &ByTier) -> ByTier {
        let mut since = *self;
        for (sums, before) in since.0.iter_mut().zip(&before.0) {
            sums.reads = sums.reads.saturating_sub(before.reads);
            sums.blocks = sums.blocks.saturating_sub(before.blocks);
            sums.bytes = sums.bytes.saturating_sub(before.bytes);
            sums.time -= before.time;
            sums.queue -= before.queue;
            sums.service -= before.service;
        }
        since
    }

    /// All of them.
    pub fn all(&self) -> ReadSums {
        let mut all = ReadSums::default();
        self.0.iter().for_each(|sums| all.merge(sums));
        all
    }

    /// Those whose tier is known.
    pub fn known(&self) -> u64 {
        self.all().reads - self.of(ReadTier::NotSeen).reads
    }
}

impl Merge for ByTier {
    fn merge(&mut self, other: &ByTier) {
        self.0.iter_mut().zip(&other.0).for_each(|(sums, other)| sums.merge(other));
    }
}

/// The reads of a tier with their latency.
#[derive(Clone, Debug, PartialEq)]
pub struct TierRow {
    /// Which tier.
    pub tier: ReadTier,
    /// Its reads.
    pub sums: ReadSums,
    /// Their latency in µs.
    pub latency: Statistics,
    /// The same in powers of two.
    pub histogram: Histogram,
}

measure::words! {
    /// For what a request was sent to a device.
    pub enum Purpose ("purpose") {
        /// A read waited for it
        Waited = "waited",
        /// The kernel read ahead: no read waited for it
        Ahead = "read-ahead",
        /// It was sent outside of a read, as posix_fadvise does
        Prefetch = "prefetch",
    }
}

/// Requests of one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestSums {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time in the queue.
    pub queue: Ticks,
    /// Time on the device.
    pub service: Ticks,
}

merged! {
    RequestSums: requests, bytes, queue, service;
}

/// A hill of the device's latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hill {
    /// Requests in it.
    pub requests: u64,
    /// Their time on the device.
    pub service: Ticks,
    /// The most frequent latency in µs.
    pub mode_micros: f64,
    /// Where the next hill begins, in µs.
    pub below_micros: Option<f64>,
}

/// What read a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reader {
    /// A statement.
    Statement(StatementIndex),
    /// A process of the server that serves no client, by its kind.
    Process(Arc<str>),
    /// An execution, or a process, that no sample met.
    Unmet,
    /// Those that found no row of their own.
    Others,
}

/// The reads of a statement or of a kind of process.
#[derive(Clone, Debug, PartialEq)]
pub struct ReaderRow {
    /// Whose.
    pub reader: Reader,
    /// Its reads.
    pub tiers: ByTier,
    /// Those that were charged to it by an estimate.
    pub estimated: u64,
    /// What those that the page cache answered would cost.
    pub leaning: Option<Leaning>,
}

/// The reads that sessions did while they waited for an event, where every wait was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// What was waited for; `None` where the server named nothing.
    pub event: Option<EventIndex>,
    /// The reads within.
    pub tiers: ByTier,
}

/// The reads of a table, an index or another file.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationRow {
    /// Its name, or its path where it has none.
    pub name: String,
    /// Its reads.
    pub tiers: ByTier,
    /// What those that the page cache answered would cost.
    pub leaning: Option<Leaning>,
}

/// What leans on the page cache: the reads that it answered, and what would replace it.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaning {
    /// Reads that the page cache answered, and their time.
    pub reads: u64,
    /// About how many of these the kernel had read ahead from the device meanwhile.
    pub ahead: u64,
    /// Their time.
    pub time: Ticks,
    /// Their time if the device answered them; `None` where too few reads showed what it takes.
    pub from_device: Option<Ticks>,
    /// Different blocks among them: what the buffers would have to hold.
    pub blocks: u64,
    /// How far that number may be off, 19 of 20 times; 0 where all were counted.
    pub blocks_error: u64,
    /// Of which relations, those with most reads first.
    pub relations: Vec<String>,
}

impl Leaning {
    /// Reads that the page cache answered from what it had before.
    pub fn held(&self) -> u64 {
        self.reads - self.ahead.min(self.reads)
    }

    /// How much longer the reads would take.
    pub fn more(&self) -> Option<Ticks> {
        self.from_device.map(|from_device| from_device - self.time)
    }
}

/// All that was traced of reads.
#[derive(Clone, Debug, Default)]
pub struct ReadTiers {
    /// The tiers that answered reads.
    pub tiers: Vec<TierRow>,
    /// Requests to devices by their purpose.
    pub requests: Vec<(Purpose, RequestSums)>,
    /// The hills of the device's latency where there are two and more, fastest first.
    pub hills: Vec<Hill>,
    /// Whose reads they were, those with most time first.
    pub readers: Vec<ReaderRow>,
    /// Of what, those with most time first.
    pub relations: Vec<RelationRow>,
    /// Within which waits they were, those with most time first; empty of a profile of samples.
    pub waits: Vec<WaitRow>,
    /// Records that were read, and those that were lost.
    pub records: u64,
    /// The same, lost.
    pub lost: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of the server's buffers.
    pub buffer_bytes: u64,
}

/// Part of the records whose loss takes the shares away.
const LOST_MAX: f64 = 0.5;

impl ReadTiers {
    /// The part of the records that was lost.
    pub fn lost_part(&self) -> f64 {
        self.lost as f64 / (self.lost + self.records).max(1) as f64
    }

    /// Whether so much was lost that no share is given.
    pub fn is_withheld(&self) -> bool {
        self.lost_part() > LOST_MAX
    }

    /// All reads by tier.
    pub fn whole(&self) -> ByTier {
        let mut whole = ByTier::default();
        self.tiers.iter().for_each(|row| whole.of_mut(row.tier).merge(&row.sums));
        whole
    }
}
