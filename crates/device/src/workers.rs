//! Several workers on one device: each its own I/O method and its own seed, all begun together.

use std::sync::atomic::AtomicBool;

use measure::Nanos;
use sys::process::process_cpu;
use sys::read::{MethodRow, ReadMethod};
use sys::threads::{NotStarted, run_together};
use sys::time::{Clock, precise_timers};

use crate::device::{Device, DeviceError, Opened, Slots, check_block_size};
use crate::meter::Meter;
use crate::plan::ReadPlan;
use crate::read_loop::{self, Ends, LoopOutcome};
use crate::time_source::TimeSource;

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
    /// What the I/O method had to do without, one sentence each; usually nothing.
    pub fallbacks: Vec<&'static str>,
}

/// Workers that are ready to read, one for each plan.
pub struct Team<'a> {
    plans: &'a [ReadPlan],
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
        Ok(Team { plans, opened })
    }

    /// What reads the blocks, as metrics name their source.
    pub fn method(&self) -> &str {
        &self.opened.method
    }

    /// Reads. `clock` is the machine's; a model has its own. A read that fails is in the outcome. Errors where the
    /// workers cannot all be started; then none reads.
    pub fn read(self, clock: &Clock, stop: &AtomicBool) -> Result<Reading, DeviceError> {
        let Opened { methods, clock: own, .. } = self.opened;
        Ok(match own {
            Some(own) => Reading { cpu: None, ..run(self.plans, methods, &own, stop)? },
            None => run(self.plans, methods, clock, stop)?,
        })
    }
}

fn run<T: TimeSource>(
    plans: &[ReadPlan],
    methods: Vec<Box<dyn ReadMethod>>,
    clock: &T,
    stop: &AtomicBool,
) -> Result<Reading, NotStarted> {
    let fallbacks = fallbacks(&methods);
    let failed = AtomicBool::new(false);
    let ends = Ends { stop, failed: &failed };
    let jobs = plans.iter().zip(methods).map(|(plan, method)| (plan, method, clock.clone()));
    let began = run_together(jobs, |(plan, mut method, clock)| {
        precise_timers();
        move || (process_cpu(), read_loop::run_in_team(method.as_mut(), &clock, plan, ends))
    })?;
    let cpu_after = process_cpu();
    let cpu_before = began.iter().map(|(before, _)| *before).min().unwrap_or(cpu_after);
    let outcomes = began.into_iter().map(|(_, outcome)| outcome).collect();
    Ok(Reading { fallbacks, cpu: Some(cpu_after.since(cpu_before)), ..merge(outcomes) })
}

/// What any of the methods does without, each once: a later worker may be refused what the first one got, such as
/// pinned memory.
fn fallbacks(methods: &[Box<dyn ReadMethod>]) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    for fallback in methods.iter().flat_map(|method| method.fallbacks()) {
        if !all.contains(fallback) {
            all.push(*fallback);
        }
    }
    all
}

fn merge(outcomes: Vec<LoopOutcome>) -> Reading {
    let worker_elapsed = outcomes.iter().map(|outcome| outcome.elapsed).collect();
    let merged = outcomes.into_iter().reduce(merge_two);
    Reading {
        outcome: merged.expect("a team has at least one worker"),
        cpu: None,
        worker_elapsed,
        fallbacks: Vec::new(),
    }
}

fn merge_two(mut one: LoopOutcome, other: LoopOutcome) -> LoopOutcome {
    one.latency.merge(other.latency);
    one.warm_up.merge(other.warm_up);
    one.service = merge_optional(one.service, other.service);
    one.lateness = merge_optional(one.lateness, other.lateness);
    one.issued += other.issued;
    one.elapsed = one.elapsed.max(other.elapsed);
    one.late = one.late.max(other.late);
    one.failure = one.failure.or(other.failure);
    one
}

fn merge_optional(one: Option<Meter>, other: Option<Meter>) -> Option<Meter> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.merge(other);
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::{Duration, Instant};

    use sys::memory::Pages;
    use sys::read::{Completion, ReadRequest, Wait};

    use super::*;
    use crate::null::Null;
    use crate::pattern::{Pattern, Span};
    use crate::plan::StopAfter;

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

    #[test]
    fn a_worker_that_fails_ends_the_others() {
        let plan = ReadPlan {
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
        let methods: Vec<Box<dyn ReadMethod>> = vec![Box::new(Null::new(1)), Box::new(Failing(None))];
        let began = Instant::now();
        let reading = run(&[plan; 2], methods, &Clock::calibrate(), &AtomicBool::new(false)).unwrap();
        assert!(reading.outcome.failure.is_some());
        assert!(began.elapsed() < Duration::from_secs(30), "it took {:?}", began.elapsed());
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
