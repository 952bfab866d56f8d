//! The reads of files within an exact watch: each with the wait of its session that it began in.

use std::collections::HashMap;

use profile::source::sampled::{Sample, SampledProfile, Traced};

use super::intervals::Interval;
use crate::tracing::add_traced;

/// Most reads, and most requests, that are kept until the watch ends: some 100 bytes each.
const KEPT_MAX: usize = 1 << 20;

/// How far a read's begin may be before its moment, in µs: it is cut to whole ones.
const CUT_MICROS: i64 = 1;

/// What was traced meanwhile.
#[derive(Debug, Default)]
pub(crate) struct TracedReads {
    traced: Traced,
    /// A moment by the clock of the intervals, in ns, and the same by that of the reads, in µs since 1970.
    clocks: (u64, i64),
}

/// What each process did, in the order of time.
type ByProcess<'a> = HashMap<u32, Vec<&'a Interval>>;

impl TracedReads {
    /// None yet.
    pub(crate) fn new(clocks: (u64, i64)) -> TracedReads {
        TracedReads { clocks, ..TracedReads::default() }
    }

    /// Adds what was traced since the last time. Reads and requests that find no room count as lost records.
    pub(crate) fn add(&mut self, more: Traced) {
        add_traced(&mut self.traced, more, KEPT_MAX);
    }

    /// Gives the profile the reads and requests of the sessions that were watched.
    pub(super) fn account(
        self,
        intervals: &[Interval],
        profile: &mut SampledProfile,
        sample: &mut dyn FnMut(&Interval) -> Sample,
    ) {
        let mut by_process = ByProcess::new();
        for interval in intervals {
            by_process.entry(interval.process()).or_default().push(interval);
        }
        by_process.values_mut().for_each(|all| all.sort_by_key(|one| one.begun));
        let mut within = |process: u32, begun: i64| -> Option<Option<Sample>> {
            let all = by_process.get(&process)?;
            Some(self.at(all, begun).map(&mut *sample))
        };
        let Traced { reads, requests, records, lost, .. } = &self.traced;
        let reads = reads.iter().filter_map(|read| Some((within(read.process, read.begun)?, read.clone())));
        let reads: Vec<_> = reads.collect();
        let requests = requests.iter().filter_map(|one| Some((within(one.process, one.begun)?, *one)));
        let requests: Vec<_> = requests.collect();
        profile.trace_within((*records, *lost), &reads);
        profile.requested_within(&requests);
    }

    /// What a process did at a moment in µs since 1970.
    fn at<'a>(&self, all: &[&'a Interval], micros: i64) -> Option<&'a Interval> {
        let wall = |nanos: u64| self.clocks.1 + (nanos.cast_signed() - self.clocks.0.cast_signed()) / 1_000;
        let place = all.partition_point(|one| wall(one.begun) <= micros + CUT_MICROS);
        all[..place].last().copied().filter(|one| micros <= wall(one.ended))
    }
}

#[cfg(test)]
mod tests {
    use profile::event::Ticks;
    use profile::observe::collector::THINK_TIME;
    use profile::observe::instruments::Instruments;
    use profile::source::sampled::{Observed, State, TracedRead, TracedRequest};
    use profile::tables::read_tiers::{Purpose, ReadTier};

    use super::super::intervals::intervals;
    use super::*;
    use crate::memory::{Change, Place};

    const READ: u32 = 0x0a00_0011;

    fn read(process: u32, begun: i64, tier: ReadTier) -> TracedRead {
        let (elapsed, file) = (Ticks::from_micros(5), "base/5/1".into());
        let (queue, service) = (Ticks::ZERO, Ticks::ZERO);
        TracedRead { process, begun, elapsed, tier, file, block: 1, blocks: 1, bytes: 8192, queue, service }
    }

    #[test]
    fn requests_that_find_no_room_count_as_lost_too() {
        let (queue, service) = (Ticks::ZERO, Ticks::ZERO);
        let one = TracedRequest { process: 7, begun: 0, purpose: Purpose::Prefetch, bytes: 8192, queue, service };
        let mut known = TracedReads::new((0, 0));
        for count in [KEPT_MAX, 3] {
            known.add(Traced { requests: vec![one; count], ..Traced::default() });
        }
        assert_eq!((known.traced.requests.len(), known.traced.lost), (KEPT_MAX, 3));
    }

    #[test]
    fn a_read_stands_with_the_wait_that_it_began_in_and_those_of_other_processes_with_none() {
        let change = |at, wait, id| Change {
            at,
            wait,
            state: Some(State::Active),
            state_start: None,
            query_start: Some(1),
            query_id: Some(id),
        };
        let place = Place { at_begin: change(0, 0, 7), ..Place::sample() };
        let changes = [change(10_000, READ, 7), change(90_000, 0, 7), change(200_000, READ, 7)];
        let all = intervals(&changes, (0, 300_000), &place);
        let process = place.backend.pid;
        let mut traced = TracedReads::new((0, 5_000));
        let reads =
            [(process, 5_010), (process, 5_050), (process, 5_150), (process, 5_250), (process, 9_000), (77, 5_050)];
        let tiers = [ReadTier::Device, ReadTier::PageCache, ReadTier::PageCache, ReadTier::Device];
        let tier = |at: usize| tiers.get(at).copied().unwrap_or(ReadTier::PageCache);
        let reads = reads.iter().enumerate().map(|(at, (process, begun))| read(*process, *begun, tier(at))).collect();
        traced.add(Traced { reads, records: 12, ..Traced::default() });
        let mut profile = SampledProfile::new(0, THINK_TIME, Instruments::default());
        traced.account(&all, &mut profile, &mut |interval| {
            interval.sample((interval.wait == READ).then(|| "IO:DataFileRead".into()), None)
        });
        let found = profile.snapshot(&Observed::default()).0.profile;
        let context = &found.context;
        let tiers = found.sampled.as_ref().unwrap().reads.as_ref().unwrap();
        let told = |row: &profile::tables::read_tiers::WaitRow| {
            let of = |tier| row.tiers.of(tier).reads;
            (row.event.map_or("", |event| context.event_name(event)), of(ReadTier::Device), of(ReadTier::PageCache))
        };
        let mut waits: Vec<_> = tiers.waits.iter().map(told).collect();
        waits.sort_unstable();
        assert_eq!(waits, [("", 0, 1), ("IO:DataFileRead", 2, 1)]);
        assert_eq!(tiers.whole().all().reads, 5, "one when it was not watched, and none of another process");
    }
}
