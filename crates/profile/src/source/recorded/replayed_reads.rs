//! From a segment to the tables of reads, as far as the profile's time reaches.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use measure::words::Word;
use recording::Segment;

use super::read_sums::{OTHERS, UNMET};
use crate::event::{StatementIndex, Ticks};
use crate::source::sampled::names::NO_STATEMENT;
use crate::source::sampled::reads::{Alike, Reads};
use crate::source::sampled::sketch::Sketch;
use crate::tables::read_tiers::{Purpose, ReadSums, ReadTier, Reader, RequestSums};

/// Adds the reads of a segment that begin within `period`, in microseconds since 1970. `statements` are the segment's
/// by their places. Which blocks were read is known of whole segments alone: of one that begins or ends outside, those
/// of what was read within are as many at most.
pub(super) fn replay_reads(segment: &Segment, period: &Range<i64>, statements: &[StatementIndex], into: &mut Reads) {
    let Some(tracing) = segment.tracing.as_ref().filter(|tracing| tracing.reason.is_empty()) else { return };
    into.count(tracing.records, tracing.lost);
    let is_whole = segment.head.begin >= period.start && segment.head.end <= period.end;
    let mut cached: BTreeSet<(u32, u32)> = BTreeSet::new();
    for one in segment.reads.iter().filter(|one| period.contains(&one.at)) {
        let tier = Segment::TIERS.get(one.tier as usize).and_then(|word| ReadTier::of_word(word).ok());
        let (Some(owner), Some(tier)) = (owner(segment, one.reader, statements), tier) else { continue };
        let Some(file) = segment.relations.get(one.relation as usize) else { continue };
        let recording::ReadSums { calls, blocks, bytes, time, queue, service } = one.sums;
        let [time, queue, service] = [time, queue, service].map(ticks);
        let sums = ReadSums { reads: calls, blocks, bytes, time, queue, service };
        into.add(&Alike { owner, file, tier, sums, estimated: one.estimated });
        if tier.is_of_page_cache() {
            cached.insert((one.reader, one.relation));
        }
    }
    for one in segment.requests.iter().filter(|one| period.contains(&one.at)) {
        let purpose = Segment::PURPOSES.get(one.purpose as usize).and_then(|word| Purpose::of_word(word).ok());
        let Some(purpose) = purpose else { continue };
        let statement = statements.get(one.statement as usize).copied().filter(|index| *index != NO_STATEMENT);
        let recording::ReadSums { calls, bytes, queue, service, .. } = one.sums;
        let sums = RequestSums { requests: calls, bytes, queue: ticks(queue), service: ticks(service) };
        into.add_requests(statement, purpose, &sums);
    }
    for one in segment.blocks.iter().filter(|one| is_whole || cached.contains(&(one.reader, one.relation))) {
        let (owner, file) = (owner(segment, one.reader, statements), segment.relations.get(one.relation as usize));
        if let (Some(owner), Some(file), Some(sketch)) = (owner, file, Sketch::of_text(&one.sketch)) {
            into.add_blocks(&owner, file, &sketch);
        }
    }
}

/// Whose reads they are.
fn owner(segment: &Segment, place: u32, statements: &[StatementIndex]) -> Option<Reader> {
    let reader = segment.readers.get(place as usize)?;
    Some(match &*reader.process {
        "" => Reader::Statement(*statements.get(reader.statement as usize)?),
        UNMET => Reader::Unmet,
        OTHERS => Reader::Others,
        _ => Reader::Process(Arc::clone(&reader.process)),
    })
}

fn ticks(nanos: i64) -> Ticks {
    Ticks::from_nanos(nanos.max(0).unsigned_abs())
}
