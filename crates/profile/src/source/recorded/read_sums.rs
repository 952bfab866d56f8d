//! From traced reads to rows of a segment: sums of what is alike in some seconds, and which blocks the page cache gave.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use measure::sorting;
use recording::{Blocks, Read, Request, Segment, Tracing};

use crate::event::{StatementIndex, Ticks};
use crate::observe::collector::bucket_of;
use crate::source::sampled::charging::{Charged, Charging, ReadSink};
use crate::source::sampled::names::{NO_STATEMENT, Names};
use crate::source::sampled::sketch::{Sketch, spread};
use crate::source::sampled::{Sample, Traced, TracedRequest};
use crate::tables::read_tiers::{Purpose, Reader};

/// Reads are summed up over this number of seconds. Over one it is ten times the room, which an hour of a busy server
/// does not have; see `docs/decisions/0013-recorded-reads-as-sums.md`.
pub(super) const SLICE_SECONDS: i64 = 10;

/// Most rows of reads in a slice, and most pairs of a reader and a relation in a segment whose blocks are counted.
const ROWS_MAX: usize = 2048;
const PAIRS_MAX: usize = 1024;

/// The word for those that find no row of their own, and for executions that no sample met.
pub(super) const OTHERS: &str = "(others)";
pub(super) const UNMET: &str = "(unmet)";

/// Gives the place of a statement in a segment.
type StatementPlace<'a> = &'a mut dyn FnMut(&mut Segment, StatementIndex) -> u32;

/// What reads in one row have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    owner: Reader,
    file: Arc<str>,
    /// The place of the tier's word in [`Segment::TIERS`], which has all tiers in their order.
    tier: u32,
    /// Powers of two of the blocks and of the time of one.
    length: u32,
    bucket: usize,
}

/// The reads of a segment so far, and of the slice that is summed up.
#[derive(Debug, Default)]
pub(super) struct ReadSums {
    charging: Charging,
    rows: Rows,
    tracing: Option<Tracing>,
}

/// What is charged.
#[derive(Debug, Default)]
struct Rows {
    reads: BTreeMap<Key, (recording::ReadSums, u64)>,
    requests: BTreeMap<(StatementIndex, Purpose), recording::ReadSums>,
    blocks: HashMap<(Reader, Arc<str>), Sketch, RandomState>,
}

impl ReadSums {
    /// Takes what was traced until a look.
    pub(super) fn take(&mut self, look: (i64, &[Sample]), traced: Traced, names: &mut Names) {
        let tracing = self.tracing.get_or_insert_default();
        tracing.records += traced.records;
        tracing.lost += traced.lost;
        self.charging.take(look, traced, names, &mut self.rows);
    }

    /// Makes rows of the slice that began at this second and is over.
    pub(super) fn end_slice(
        &mut self,
        (at, seconds): (i64, u32),
        segment: &mut Segment,
        statement: StatementPlace<'_>,
    ) {
        for (key, (sums, estimated)) in std::mem::take(&mut self.rows.reads) {
            let (reader, relation) = (reader(&key.owner, segment, statement), relation(&key.file, segment));
            segment.reads.push(Read { at, seconds, reader, relation, tier: key.tier, sums, estimated });
        }
        for ((index, purpose), sums) in std::mem::take(&mut self.rows.requests) {
            let statement = statement(segment, index);
            segment.requests.push(Request { at, seconds, statement, purpose: purpose as u32, sums });
        }
    }

    /// Charges what no sample is behind yet: a segment has names of its own, and so has the next one.
    pub(super) fn settle(&mut self) {
        self.charging.end(&mut self.rows);
        self.charging = Charging::default();
    }

    /// Gives the segment what is of all of it, or the reason why reads were not traced.
    pub(super) fn end_segment(
        &mut self,
        segment: &mut Segment,
        untraced: Option<&Arc<str>>,
        statement: StatementPlace<'_>,
    ) {
        segment.tracing = self.tracing.take();
        if let Some(reason) = untraced {
            segment.tracing.get_or_insert_default().reason = Arc::clone(reason);
        }
        let mut blocks: Vec<((Reader, Arc<str>), Sketch)> = std::mem::take(&mut self.rows.blocks).into_iter().collect();
        sorting::by(&mut blocks, |(one, _), (other, _)| one.cmp(other));
        for ((owner, file), sketch) in blocks {
            let (reader, relation) = (reader(&owner, segment, statement), relation(&file, segment));
            segment.blocks.push(Blocks { reader, relation, sketch: sketch.text().into() });
        }
    }
}

impl ReadSink for Rows {
    fn read(&mut self, charged: &Charged<'_>) {
        let Charged { owner, is_estimated, read } = charged;
        let mut key = Key {
            owner: owner.clone(),
            file: Arc::clone(&read.file),
            tier: read.tier as u32,
            length: read.blocks.max(1).ilog2(),
            bucket: bucket_of(read.elapsed),
        };
        if self.reads.len() >= ROWS_MAX && !self.reads.contains_key(&key) {
            // There is always room for these few.
            (key.owner, key.file) = (Reader::Others, OTHERS.into());
        }
        if read.tier.is_of_page_cache() {
            let pair = (key.owner.clone(), Arc::clone(&key.file));
            if self.blocks.len() < PAIRS_MAX || self.blocks.contains_key(&pair) {
                let sketch = self.blocks.entry(pair).or_default();
                (read.block..read.block + read.blocks).for_each(|block| sketch.add(spread(block)));
            }
        }
        let (sums, estimated) = self.reads.entry(key).or_default();
        sums.calls += 1;
        sums.blocks += read.blocks;
        sums.bytes += read.bytes;
        sums.time += nanos(read.elapsed);
        sums.queue += nanos(read.queue);
        sums.service += nanos(read.service);
        *estimated += u64::from(*is_estimated);
    }

    fn request(&mut self, statement: Option<StatementIndex>, request: &TracedRequest) {
        let key = (statement.unwrap_or(NO_STATEMENT), request.purpose);
        let has_room = self.requests.len() < ROWS_MAX || self.requests.contains_key(&key);
        let key = if has_room { key } else { (NO_STATEMENT, request.purpose) };
        let sums = self.requests.entry(key).or_default();
        sums.calls += 1;
        sums.bytes += request.bytes;
        sums.queue += nanos(request.queue);
        sums.service += nanos(request.service);
    }
}

fn nanos(time: Ticks) -> i64 {
    time.nanos().unwrap_or(0).max(0)
}

/// The place of a reader in a segment's list.
fn reader(owner: &Reader, segment: &mut Segment, statement: StatementPlace<'_>) -> u32 {
    let (index, process): (StatementIndex, Arc<str>) = match owner {
        Reader::Statement(index) => (*index, "".into()),
        Reader::Process(kind) => (NO_STATEMENT, Arc::clone(kind)),
        Reader::Unmet => (NO_STATEMENT, UNMET.into()),
        Reader::Others => (NO_STATEMENT, OTHERS.into()),
    };
    let reader = recording::Reader { statement: statement(segment, index), process };
    place(&mut segment.readers, reader)
}

/// The place of a relation in a segment's list.
fn relation(file: &Arc<str>, segment: &mut Segment) -> u32 {
    place(&mut segment.relations, Arc::clone(file))
}

/// The place in a list, at its end where it is not there. Lists are short, and it is called once for each row.
fn place<T: PartialEq>(list: &mut Vec<T>, entry: T) -> u32 {
    let found = list.iter().position(|known| *known == entry).unwrap_or_else(|| {
        list.push(entry);
        list.len() - 1
    });
    found as u32
}

#[cfg(test)]
mod tests {
    use measure::words::Word;

    use super::*;
    use crate::source::sampled::State;
    use crate::tables::read_tiers::ReadTier;

    fn words<W: Word>() -> Vec<&'static str> {
        W::all().map(W::word).collect()
    }

    #[test]
    fn no_tier_purpose_or_state_is_recorded_by_the_word_of_another() {
        assert_eq!(&Segment::TIERS[..], words::<ReadTier>());
        assert_eq!(&Segment::PURPOSES[..], words::<Purpose>());
        assert_eq!(&Segment::STATES[..], words::<State>());
    }
}
