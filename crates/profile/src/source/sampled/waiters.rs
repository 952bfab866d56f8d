//! Which session waited for a read that another process did for it: PostgreSQL 18's I/O workers read for backends.
//!
//! The kernel does not say for whom a worker reads. Where the server was asked while a read was under way, its answer
//! names the session, the file and the blocks, and the read is that session's. Any other read is charged to a session
//! that was seen to wait for such a read at that time, and rather to one whose statement is known to read that
//! relation. So it is an estimate.

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::RandomState;

use super::sample::Sample;
use crate::event::StatementIndex;

/// The wait of a session whose read a worker does, and the kind of the worker.
const WAITS_FOR_WORKER: &str = "IO:AioIoCompletion";
pub(super) const WORKER: &str = "io worker";

/// How long looks are kept, and how far before or behind a read a look still speaks of it, in µs.
const KEPT_MICROS: i64 = 2_000_000;
const NEAR_MICROS: i64 = 20_000;

/// How long after the server showed a read under way a worker may begin it, in µs; and most such reads that are kept.
const BEGINS_MICROS: i64 = 100_000;
const ASKED_MAX: usize = 1 << 12;

/// Most pairs of a statement and a relation that it reads.
const PAIRS_MAX: usize = 1 << 14;

/// A read that a worker did: when, in µs, and the first and the last block.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerRead {
    pub(super) time: (i64, i64),
    pub(super) relation: u32,
    pub(super) blocks: (u64, u64),
}

/// A read under way by the server's answer: when it was asked, for whom, and of what.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: i64,
    process: u32,
    relation: u32,
    blocks: (u64, u64),
}

/// Sessions that waited, look by look.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiters {
    looks: VecDeque<(i64, Vec<u32>)>,
    asked: VecDeque<Asked>,
    pairs: HashSet<(StatementIndex, u32), RandomState>,
    /// Reads that were charged to a process so far.
    charged: HashMap<u32, u64, RandomState>,
}

impl Waiters {
    /// Takes a look in which there is a worker.
    pub(super) fn see(&mut self, at: i64, samples: &[Sample]) {
        let is_waiting = |sample: &&Sample| sample.event.as_deref() == Some(WAITS_FOR_WORKER);
        let waiting: Vec<u32> = samples.iter().filter(is_waiting).map(|sample| sample.backend.pid).collect();
        if !waiting.is_empty() {
            self.looks.push_back((at, waiting));
        }
        while self.looks.front().is_some_and(|(oldest, _)| at - oldest > KEPT_MICROS) {
            self.looks.pop_front();
        }
    }

    /// Takes a read under way for a process, as the server shows it at a moment.
    pub(super) fn ask(&mut self, at: i64, process: u32, relation: u32, blocks: (u64, u64)) {
        let is_old = |oldest: &Asked| at - oldest.at > KEPT_MICROS;
        while self.asked.len() >= ASKED_MAX || self.asked.front().is_some_and(is_old) {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked { at, process, relation, blocks });
    }

    /// Forgets what was seen by a clock that has been set back since.
    pub(super) fn forget_looks(&mut self) {
        self.looks.clear();
        self.asked.clear();
    }

    /// Notes that a statement reads a relation.
    pub(super) fn learn(&mut self, statement: StatementIndex, relation: u32) {
        if self.pairs.len() < PAIRS_MAX {
            self.pairs.insert((statement, relation));
        }
    }

    /// Whether a statement is known to read a relation.
    pub(super) fn reads(&self, statement: StatementIndex, relation: u32) -> bool {
        self.pairs.contains(&(statement, relation))
    }

    /// The session to which a read of a worker is charged; `None` where none waited then.
    pub(super) fn of_read(
        &mut self,
        read: &WorkerRead,
        statement_of: impl Fn(u32) -> Option<StatementIndex>,
    ) -> Option<u32> {
        let process = self.by_blocks(read).or_else(|| self.by_time(read, statement_of))?;
        *self.charged.entry(process).or_default() += 1;
        Some(process)
    }

    /// The session for which the server showed a read of these blocks under way.
    fn by_blocks(&self, read: &WorkerRead) -> Option<u32> {
        let ((from, until), (first, last)) = (read.time, read.blocks);
        let is_it = |asked: &&Asked| {
            asked.relation == read.relation
                && asked.blocks.0 <= last
                && first <= asked.blocks.1
                && (from - BEGINS_MICROS..=until + NEAR_MICROS).contains(&asked.at)
        };
        let distance = |asked: &&Asked| (from - asked.at).max(asked.at - until).max(0);
        self.asked.iter().filter(is_it).min_by_key(distance).map(|asked| asked.process)
    }

    /// A session that waited at the time of a read.
    fn by_time(
        &self,
        WorkerRead { time: (from, until), relation, .. }: &WorkerRead,
        statement_of: impl Fn(u32) -> Option<StatementIndex>,
    ) -> Option<u32> {
        let (from, until) = (*from, *until);
        let near = self.looks.iter().filter(|(at, _)| (from - NEAR_MICROS..=until + NEAR_MICROS).contains(at));
        let mut candidates: Vec<(i64, u32)> = Vec::new();
        for (at, waiting) in near {
            let distance = (from - at).max(at - until).max(0);
            for process in waiting {
                match candidates.iter_mut().find(|(_, known)| known == process) {
                    Some(known) => known.0 = known.0.min(distance),
                    None => candidates.push((distance, *process)),
                }
            }
        }
        let is_likely = |process| statement_of(process).is_some_and(|statement| self.reads(statement, *relation));
        let chosen = candidates.into_iter().min_by_key(|(distance, process)| {
            // Among those that waited equally near, the one to which least was charged.
            (!is_likely(*process), *distance / 1_000, self.charged.get(process).copied().unwrap_or(0), *process)
        });
        chosen.map(|(_, process)| process)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::sample::{Backend, CLIENT, State};
    use super::*;

    fn waiting(process: u32) -> Sample {
        let backend = Backend { pid: process, kind: CLIENT.into(), ..Backend::default() };
        Sample {
            backend: Arc::new(backend),
            state: State::Active,
            event: Some(WAITS_FOR_WORKER.into()),
            query_id: None,
            query_start: None,
            text: None,
            processor: None,
        }
    }

    #[test]
    fn a_workers_read_goes_to_who_waited_then_and_rather_to_who_reads_that_relation() {
        let mut waiters = Waiters::default();
        waiters.see(1_000_000, &[waiting(1), waiting(2)]);
        waiters.see(1_500_000, &[waiting(3)]);
        waiters.learn(StatementIndex(12), 5);
        let statement = |process| Some(StatementIndex(process + 10));
        let mut of_read = |from, relation| {
            waiters.of_read(&WorkerRead { time: (from, from + 500), relation, blocks: (0, 0) }, statement)
        };
        assert_eq!((of_read(1_000_100, 5), of_read(1_000_100, 5)), (Some(2), Some(2)), "its statement reads it");
        assert_eq!((of_read(1_000_100, 6), of_read(1_000_100, 6)), (Some(1), Some(1)), "less was charged to it");
        assert_eq!(of_read(1_500_100, 5), Some(3), "the only one that waited then");
        assert_eq!(of_read(1_250_000, 5), None);
    }

    #[test]
    fn a_read_of_blocks_that_the_server_showed_under_way_goes_to_whom_it_named_whoever_else_waited() {
        let mut waiters = Waiters::default();
        waiters.see(1_000_000, &[waiting(1), waiting(2)]);
        waiters.learn(StatementIndex(11), 5);
        waiters.ask(1_000_000, 2, 5, (12, 27));
        let mut of = |from, relation, blocks| {
            let read = WorkerRead { time: (from, from + 500), relation, blocks };
            waiters.of_read(&read, |process| Some(StatementIndex(process + 10)))
        };
        assert_eq!((of(1_000_100, 5, (12, 27)), of(1_000_100, 5, (27, 40))), (Some(2), Some(2)), "its blocks");
        assert_eq!((of(1_000_100, 5, (28, 40)), of(1_000_100, 5, (0, 11))), (Some(1), Some(1)), "other blocks");
        assert_eq!(of(1_000_100, 6, (12, 27)), Some(1), "another relation");
        assert_eq!(of(1_050_000, 5, (12, 27)), Some(2), "it was queued for a while");
        assert_eq!(of(1_200_000, 5, (12, 27)), None, "by then it was over");
        (0..5_000).for_each(|block| waiters.ask(1_000_000, 2, 5, (block, block)));
        assert_eq!(waiters.asked.len(), ASKED_MAX);
    }
}
