//! Which statement a process executed at a moment, from the samples before and behind it.
//!
//! A session shows when its last statement began, also when that is over. So a sample says what went on from that
//! moment to its own; what lies between two samples and is in neither of their executions was met by no sample.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::sample::{CLIENT, Sample, State};
use crate::event::StatementIndex;
use crate::tables::sampled::PARALLEL_WORKER;

/// Most executions of a process that are kept: reads are charged some milliseconds after they ended.
const KEPT_MAX: usize = 256;

/// How far the clock of the reads may be behind the server's, in µs: both are the machine's. More time than that lies
/// between the last read of a statement and its client's next one.
const CLOCK_MICROS: i64 = 5;

/// How long a statement that the last sample showed at work may have gone on unseen, in µs: two looks at the slowest
/// rate.
const UNSEEN_MICROS: i64 = 100_000;

/// Most processes.
const PROCESSES_MAX: usize = 1 << 14;

/// What a process did at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It executed this statement.
    Statement(StatementIndex),
    /// It serves no client: its kind.
    Background(Arc<str>),
    /// No sample met it then.
    Unmet,
}

/// An execution as it was seen.
#[derive(Clone, Copy, Debug)]
struct Execution {
    begun: i64,
    statement: Option<StatementIndex>,
    /// The last sample that showed it, or that it was the last one.
    seen: i64,
    /// Whether that sample showed it at work.
    is_active: bool,
}

#[derive(Clone, Debug)]
struct Process {
    start: i64,
    /// Its kind, where it serves no client.
    background: Option<Arc<str>>,
    executions: VecDeque<Execution>,
    /// The last sample of it.
    seen: i64,
}

/// The executions of all processes in the last seconds. Times are in µs since 1970.
#[derive(Clone, Debug, Default)]
pub(super) struct Executions {
    processes: HashMap<u32, Process, RandomState>,
}

impl Executions {
    /// Takes a sample at a moment; `statement` tells which statement it shows, from the one that is known.
    pub(super) fn see(
        &mut self,
        at: i64,
        sample: &Sample,
        statement: impl FnOnce(Option<StatementIndex>) -> Option<StatementIndex>,
    ) {
        let backend = &sample.backend;
        let is_known = self.processes.get(&backend.pid).is_some_and(|known| known.start == backend.start);
        if !is_known {
            self.begin(sample, at);
        }
        let Some(process) = self.processes.get_mut(&backend.pid) else { return };
        process.seen = at;
        let Some(begun) = sample.query_start.filter(|_| process.background.is_none()) else { return };
        let is_active = sample.state == State::Active;
        match process.executions.back_mut().filter(|last| last.begun == begun) {
            Some(last) => {
                last.statement = statement(last.statement).or(last.statement);
                (last.seen, last.is_active) = (at, is_active);
            }
            None => {
                let statement = statement(None);
                process.executions.push_back(Execution { begun, statement, seen: at, is_active });
                if process.executions.len() > KEPT_MAX {
                    process.executions.pop_front();
                }
            }
        }
    }

    /// Begins anew with the process of a sample, where there is room for it.
    fn begin(&mut self, sample: &Sample, at: i64) {
        let backend = &sample.backend;
        if !self.processes.contains_key(&backend.pid) && self.processes.len() >= PROCESSES_MAX {
            return;
        }
        let may_serve_client = ["", CLIENT, PARALLEL_WORKER].contains(&backend.kind.as_str());
        let background = (!may_serve_client).then(|| backend.kind.as_str().into());
        let process = Process { start: backend.start, background, executions: VecDeque::new(), seen: at };
        self.processes.insert(backend.pid, process);
    }

    /// Whether a sample at this moment or behind it shows the process.
    pub(super) fn has_seen(&self, process: u32, at: i64) -> bool {
        self.processes.get(&process).is_some_and(|process| process.seen >= at)
    }

    /// What a process did at this moment.
    pub(super) fn at(&self, process: u32, at: i64) -> Doing {
        let Some(process) = self.processes.get(&process) else { return Doing::Unmet };
        if let Some(kind) = &process.background {
            return Doing::Background(Arc::clone(kind));
        }
        let last = |at: i64| process.executions.iter().rev().find(|execution| execution.begun <= at);
        let covering = last(at).filter(|execution| at <= execution.seen);
        match covering.or_else(|| last(at + CLOCK_MICROS)).filter(|found| at <= found.seen) {
            Some(Execution { statement: Some(statement), .. }) => Doing::Statement(*statement),
            _ => Doing::Unmet,
        }
    }

    /// The statement that a process executed at this moment.
    pub(super) fn statement_at(&self, process: u32, at: i64) -> Option<StatementIndex> {
        if let Doing::Statement(statement) = self.at(process, at) { Some(statement) } else { None }
    }

    /// The statement that a process may still have executed at a moment at which no sample met it: the last one before
    /// showed the statement at work.
    pub(super) fn cut_off(&self, process: u32, at: i64) -> Option<StatementIndex> {
        let process = self.processes.get(&process).filter(|process| process.background.is_none())?;
        let before = process.executions.iter().rev().find(|execution| execution.begun <= at)?;
        let is_near = before.is_active && (before.seen..=before.seen + UNSEEN_MICROS).contains(&at);
        before.statement.filter(|_| is_near)
    }

    /// Forgets processes that no sample has shown for a while.
    pub(super) fn sweep(&mut self, there: impl Fn(u32) -> bool) {
        self.processes.retain(|process, _| there(*process));
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Backend;
    use super::*;

    fn sample(kind: &str, query_start: Option<i64>) -> Sample {
        let backend = Backend { pid: 7, start: 1, kind: kind.into(), ..Backend::default() };
        Sample {
            backend: Arc::new(backend),
            state: State::Idle,
            event: None,
            query_id: None,
            query_start,
            text: None,
            processor: None,
        }
    }

    #[test]
    fn a_read_belongs_to_the_execution_that_samples_show_before_and_behind_it() {
        let mut executions = Executions::default();
        let mut see = |at, begun, number| {
            executions.see(at, &sample(CLIENT, Some(begun)), |_| Some(StatementIndex(number)));
        };
        see(1_000, 900, 4);
        see(2_000, 900, 4);
        see(3_000, 2_800, 5);
        let statement = |number| Doing::Statement(StatementIndex(number));
        assert_eq!(executions.at(7, 950), statement(4));
        assert_eq!(executions.at(7, 2_000), statement(4), "it was the last one when it was seen");
        assert_eq!(executions.at(7, 2_500), Doing::Unmet, "another one may have come and gone");
        assert_eq!(executions.at(7, 2_900), statement(5));
        assert_eq!(executions.at(7, 895), statement(4), "clocks differ by a little");
        assert_eq!((executions.at(7, 894), executions.at(8, 950)), (Doing::Unmet, Doing::Unmet));
    }

    #[test]
    fn a_statement_that_a_sample_shows_at_work_may_go_on_a_while_and_one_that_is_over_does_not() {
        let mut executions = Executions::default();
        let mut see = |at, begun, state| {
            let sample = Sample { state, ..sample(CLIENT, Some(begun)) };
            executions.see(at, &sample, |_| Some(StatementIndex(4)));
        };
        see(1_000, 900, State::Active);
        see(5_000, 4_800, State::Active);
        see(6_000, 4_800, State::Idle);
        assert_eq!(executions.cut_off(7, 3_000), Some(StatementIndex(4)));
        assert_eq!(
            (executions.cut_off(7, 7_000), executions.cut_off(7, 500), executions.cut_off(8, 3_000)),
            (None, None, None)
        );
        let mut see = |at| {
            let sample = Sample { state: State::Active, ..sample(CLIENT, Some(8_000)) };
            executions.see(at, &sample, |_| Some(StatementIndex(5)));
        };
        see(9_000);
        assert_eq!(executions.cut_off(7, 9_000 + UNSEEN_MICROS), Some(StatementIndex(5)));
        assert_eq!(executions.cut_off(7, 9_001 + UNSEEN_MICROS), None);
    }

    #[test]
    fn a_number_that_another_process_has_now_has_none_of_the_first_ones_executions() {
        let mut executions = Executions::default();
        executions.see(10, &sample(CLIENT, Some(5)), |_| Some(StatementIndex(4)));
        let mut later = sample("checkpointer", None);
        later.backend = Arc::new(Backend { start: 11, ..(*later.backend).clone() });
        executions.see(20, &later, |_| None);
        assert_eq!(executions.at(7, 15), Doing::Background("checkpointer".into()));
    }

    #[test]
    fn an_identifier_that_comes_later_counts_from_the_beginning() {
        let mut executions = Executions::default();
        executions.see(10, &sample(CLIENT, Some(5)), |_| None);
        assert_eq!(executions.at(7, 6), Doing::Unmet);
        executions.see(11, &sample(CLIENT, Some(5)), |_| Some(StatementIndex(9)));
        executions.see(12, &sample(CLIENT, Some(5)), |known| known);
        assert_eq!(executions.at(7, 6), Doing::Statement(StatementIndex(9)));
    }
}
