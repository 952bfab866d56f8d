//! Which session waited for a read that another process did for it: PostgreSQL 18's I/O workers read for backends.
//!
//! The kernel does not say for whom a worker reads. A read is charged to a session that was seen to wait for such a
//! read at that time, and rather to one whose statement is known to read that relation; so it is an estimate.

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

/// Most pairs of a statement and a relation that it reads.
const PAIRS_MAX: usize = 1 << 14;

/// Sessions that waited, look by look.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiters {
    looks: VecDeque<(i64, Vec<u32>)>,
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

    /// Notes that a statement reads a relation.
    pub(super) fn learn(&mut self, statement: StatementIndex, relation: u32) {
        if self.pairs.len() < PAIRS_MAX {
            self.pairs.insert((statement, relation));
        }
    }

    /// The session to which a read is charged that a worker did from `from` to `until`; `None` where none waited then.
    pub(super) fn of_read(
        &mut self,
        (from, until): (i64, i64),
        relation: u32,
        statement_of: impl Fn(u32) -> Option<StatementIndex>,
    ) -> Option<u32> {
        let near = self.looks.iter().filter(|(at, _)| (from - NEAR_MICROS..=until + NEAR_MICROS).contains(at));
        let mut candidates: Vec<(u64, i64, u32)> = Vec::new();
        for (at, waiting) in near {
            let distance = (from - at).max(at - until).max(0);
            for process in waiting {
                match candidates.iter_mut().find(|(_, _, known)| known == process) {
                    Some(known) => known.1 = known.1.min(distance),
                    None => candidates.push((0, distance, *process)),
                }
            }
        }
        for (unlikely, _, process) in &mut candidates {
            let statement = statement_of(*process);
            *unlikely = u64::from(!statement.is_some_and(|statement| self.pairs.contains(&(statement, relation))));
        }
        let charged = &self.charged;
        let chosen = candidates.into_iter().min_by_key(|(unlikely, distance, process)| {
            // Among those that waited equally near, the one to which least was charged.
            (*unlikely, *distance / 1_000, charged.get(process).copied().unwrap_or(0), *process)
        });
        let (_, _, process) = chosen?;
        *self.charged.entry(process).or_default() += 1;
        Some(process)
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
        let mut of_read = |from, relation| waiters.of_read((from, from + 500), relation, statement);
        assert_eq!((of_read(1_000_100, 5), of_read(1_000_100, 5)), (Some(2), Some(2)), "its statement reads it");
        assert_eq!((of_read(1_000_100, 6), of_read(1_000_100, 6)), (Some(1), Some(1)), "less was charged to it");
        assert_eq!(of_read(1_500_100, 5), Some(3), "the only one that waited then");
        assert_eq!(of_read(1_250_000, 5), None);
    }
}
