//! Several workers on one device: each its own I/O method and its own seed, all begun together.

use std::sync::atomic::AtomicBool;

use measure::Nanos;
use sys::process::process_cpu;
use sys::read::{MethodRow, ReadMethod};
use sys::threads::{NotStarted, run_together};
use sys::time::{Clock, precise_timers};

use crate::device::{Device, DeviceError, Opened, Slots, check_block_size};
use crate::pattern::Turn;
use crate::plan::ReadPlan;
use crate::read_loop::{Ends, LoopOutcome, ReadLoop};
use crate::time_source::TimeSource;
use crate::windows::Windows;

/// What the workers measured together.
#[derive(Debug)]
pub struct Reading {
    /// Merged over the workers.
    pub outcome: LoopOutcome,
    /// CPU time of the whole process (user and system) while the workers read, warm-up included; `None` in virtual
    /// time, which takes none of the machine's.
    pub cpu: Option<Nanos>,
    /// Time from the common start to the end of each worker.
    pub worker_elapsed: Vec<Nanos>,
    /// Reads and time of each turn.
    pub turns: Vec<(u64, Nanos)>,
    /// What the I/O method had to do without, one sentence each; usually nothing.
    pub fallbacks: Vec<&'static str>,
}

impl Reading {
    /// Adds a later turn of the same plans.
    pub fn append(&mut self, later: Reading) {
        self.outcome.add(later.outcome, Windows::append, |one, later| one + later);
        self.cpu = self.cpu.zip(later.cpu).map(|(one, later)| one + later);
        self.worker_elapsed.iter_mut().zip(later.worker_elapsed).for_each(|(one, later)| *one += later);
        self.turns.extend(later.turns);
        add_each_once(&mut self.fallbacks, &later.fallbacks);
    }
}

/// Workers that are ready to read, one for each plan.
pub struct Team<'a> {
    plans: &'a [ReadPlan],
    turn: Turn,
    opened: Opened,
}

impl<'a> Team<'a> {
    /// Opens every worker before the first one reads.
    pub fn open(
        device: &dyn Device,
        method: Option<&'static MethodRow>,
        plans: &'a [ReadPlan],
    ) -> Result<Team<'a>, DeviceError> {
        for plan in plans {
            check_block_size(device, plan.block_size as u64)?;
        }
        let slots =
            plans.iter().map(|plan| Slots { method, depth: plan.depth, bytes: plan.block_size, pages: plan.pages });
        let opened = device.open(&slots.collect::<Vec<_>>())?;
        Ok(Team { plans, turn: Turn::ONLY, opened })
    }

    /// The same, to read in this turn.
    pub fn in_turn(self, turn: Turn) -> Team<'a> {
        Team { turn, ..self }
    }

    /// What reads the blocks, as metrics name their source.
    pub fn method(&self) -> &str {
        &self.opened.method
    }

    /// Reads. `clock` is the machine's; a model has its own. A read that fails is in the outcome. Errors where the
    /// workers cannot all be started; then none reads.
    pub fn read(self, clock: &Clock, stop: &AtomicBool) -> Result<Reading, DeviceError> {
        let Opened { methods, clock: own, .. } = self.opened;
        let plans = (self.plans, self.turn);
        Ok(match own {
            Some(own) => Reading { cpu: None, ..run(plans, methods, &own, stop)? },
            None => run(plans, methods, clock, stop)?,
        })
    }
}

fn run<T: TimeSource>(
    (plans, turn): (&[ReadPlan], Turn),
    methods: Vec<Box<dyn ReadMethod>>,
    clock: &T,
    stop: &AtomicBool,
) -> Result<Reading, NotStarted> {
    let fallbacks = fallbacks(&methods);
    let failed = AtomicBool::new(false);
    let ends = Ends { stop, failed: &failed };
    let jobs = plans.iter().zip(methods).map(|(plan, method)| (plan, method, clock.clone()));
    let ended = run_together(jobs, |(plan, mut method, clock)| {
        precise_timers();
        let mut reading = ReadLoop::new((plan, turn), method.depth(), clock.cpu());
        move || {
            let before = process_cpu();
            let end = reading.read(method.as_mut(), &clock, plan, ends);
            let cpu = (before, process_cpu());
            (cpu, reading.outcome(end))
        }
    })?;
    let (cpu, outcomes): (Vec<(Nanos, Nanos)>, Vec<LoopOutcome>) = ended.into_iter().unzip();
    let cpu = cpu.into_iter().reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    Ok(Reading { fallbacks, cpu: cpu.map(|(before, after)| after.since(before)), ..merge(outcomes) })
}

/// What any of the methods does without, each once: a later worker may be refused what the first one got, such as
/// pinned memory.
fn fallbacks(methods: &[Box<dyn ReadMethod>]) -> Vec<&'static str> {
    let mut all = Vec::new();
    methods.iter().for_each(|method| add_each_once(&mut all, method.fallbacks()));
    all
}

fn add_each_once(all: &mut Vec<&'static str>, more: &[&'static str]) {
    for one in more {
        if !all.contains(one) {
            all.push(*one);
        }
    }
}

fn merge(outcomes: Vec<LoopOutcome>) -> Reading {
    let worker_elapsed = outcomes.iter().map(|outcome| outcome.elapsed).collect();
    let merged = outcomes.into_iter().reduce(|mut one, other| {
        one.add(other, Windows::merge, Nanos::max);
        one
    });
    let outcome = merged.expect("a team has at least one worker");
    let turns = vec![(outcome.latency.reads(), outcome.elapsed)];
    Reading { outcome, cpu: None, worker_elapsed, turns, fallbacks: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use sys::memory::Pages;
    use sys::read::{Completion, ReadRequest, Wait};

    use super::*;
    use crate::null::Null;
    use crate::pattern::{Pattern, Span};
    use crate::plan::StopAfter;
    use crate::windows::CpuClock;

    /// A method whose reads all fail.
    struct Failing(Option<ReadRequest>);

    impl ReadMethod for Failing {
        fn depth(&self) -> usize {
            1
        }

        fn queue(&mut self, request: ReadRequest) {
            self.0 = Some(request);
        }

        fn reap(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
            if let Some(request) = self.0.take() {
                done.push(Completion { slot: request.slot, result: Err(io::ErrorKind::InvalidData.into()) });
            }
            Ok(())
        }

        fn data(&self, _slot: usize) -> &[u8] {
            &[]
        }
    }

    const LASTING: ReadPlan = ReadPlan {
        pattern: Pattern::Random,
        block_size: 8192,
        pages: Pages::Small,
        span: Span { offset: 0, length: 1 << 30 },
        seed: 1,
        working_set: None,
        depth: 1,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after: StopAfter::Time(Nanos::from_millis(60_000)),
        rate: None,
    };

    #[test]
    fn a_worker_that_fails_ends_the_others() {
        let methods: Vec<Box<dyn ReadMethod>> = vec![Box::new(Null::new(1)), Box::new(Failing(None))];
        let began = Instant::now();
        let plans = [LASTING; 2];
        let reading = run((&plans[..], Turn::ONLY), methods, &Clock::calibrate(), &AtomicBool::new(false)).unwrap();
        assert!(reading.outcome.failure.is_some());
        assert!(began.elapsed() < Duration::from_secs(30), "it took {:?}", began.elapsed());
    }

    /// A clock that was not read before the meters were made, for which the CPU's clock is asked.
    #[derive(Clone, Default)]
    struct Watched(Arc<AtomicU64>);

    impl TimeSource for Watched {
        fn now(&self) -> Nanos {
            Nanos(self.0.fetch_add(1, Ordering::Relaxed))
        }

        fn wait_until(&self, _moment: Nanos) {}

        fn cpu(&self) -> CpuClock {
            assert_eq!(self.0.load(Ordering::Relaxed), 0, "the time of the reads has begun");
            None
        }
    }

    #[test]
    fn meters_are_made_before_the_time_of_a_few_reads_begins() {
        let plans = [ReadPlan { stop_after: StopAfter::Reads(20), ..LASTING }];
        let methods: Vec<Box<dyn ReadMethod>> = vec![Box::new(Null::new(1))];
        let (clock, stop) = (Watched::default(), AtomicBool::new(false));
        let reading = run((&plans[..], Turn::ONLY), methods, &clock, &stop).unwrap();
        assert_eq!(reading.outcome.latency.reads(), 20);
    }

    #[test]
    fn turns_add_up_and_are_not_merged_as_workers_are() {
        let read = || {
            let plans = [ReadPlan { stop_after: StopAfter::Reads(20), ..LASTING }; 2];
            let methods: Vec<Box<dyn ReadMethod>> = vec![Box::new(Null::new(1)), Box::new(Null::new(1))];
            run((&plans[..], Turn::ONLY), methods, &Clock::calibrate(), &AtomicBool::new(false)).unwrap()
        };
        let (mut all, later) = (read(), read());
        let lasted = [&all, &later].map(|one| (one.outcome.elapsed, one.worker_elapsed[1], one.cpu.unwrap()));
        all.append(later);
        assert_eq!((all.outcome.latency.reads(), all.outcome.issued, all.worker_elapsed.len()), (80, 80, 2));
        let [one, other] = lasted;
        let sums = (one.0 + other.0, one.1 + other.1, one.2 + other.2);
        assert_eq!((all.outcome.elapsed, all.worker_elapsed[1], all.cpu.unwrap()), sums);
    }

    /// A method that has to do without something.
    struct Lacking(&'static [&'static str]);

    impl ReadMethod for Lacking {
        fn depth(&self) -> usize {
            1
        }

        fn queue(&mut self, _request: ReadRequest) {}

        fn reap(&mut self, _wait: Wait, _done: &mut Vec<Completion>) -> io::Result<()> {
            Ok(())
        }

        fn data(&self, _slot: usize) -> &[u8] {
            &[]
        }

        fn fallbacks(&self) -> &[&'static str] {
            self.0
        }
    }

    #[test]
    fn what_a_later_worker_does_without_is_said_once() {
        let workers: [&'static [&'static str]; 4] = [&[], &["pinned"], &["pinned", "registered"], &[]];
        let methods: Vec<Box<dyn ReadMethod>> =
            workers.into_iter().map(|lacks| Box::new(Lacking(lacks)) as Box<dyn ReadMethod>).collect();
        assert_eq!(fallbacks(&methods), ["pinned", "registered"]);
    }
}
