//! Several workers on one device: each its own descriptor, its own I/O method and its own seed, all begun together.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread::ScopedJoinHandle;

use measure::Nanos;
use sys::account;
use sys::clock::Clock;
use sys::read::{MethodError, MethodRow, ReadMethod, Setup};
use sys::target::{Caching, Target, TargetError};

use crate::meter::Meter;
use crate::model::Model;
use crate::model::clients::{Client, SharedModel};
use crate::plan::ReadPlan;
use crate::read_loop::{self, LoopOutcome, ReadFailure};

/// Why a reading could not be begun.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// The file or device cannot be opened this way.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The I/O method cannot be had.
    #[error(transparent)]
    Method(#[from] MethodError),
}

/// What the workers measured together.
#[derive(Debug)]
pub struct Reading {
    /// Merged over the workers.
    pub outcome: LoopOutcome,
    /// CPU time of the whole process (user and system) while the workers read, warm-up included.
    pub cpu: Nanos,
    /// Time from the common start to the end of each worker.
    pub worker_elapsed: Vec<Nanos>,
    /// What the I/O method had to do without, one sentence each; usually nothing.
    pub fallbacks: Vec<&'static str>,
}

/// What all workers of a reading share.
#[derive(Clone, Copy, Debug)]
pub struct Team<'a> {
    /// The file or device.
    pub path: &'a Path,
    /// Through the page cache or not.
    pub caching: Caching,
    /// How to ask the kernel.
    pub method: &'static MethodRow,
    /// Times the reads.
    pub clock: Clock,
    /// Raised by ^C.
    pub stop: &'a AtomicBool,
}

impl Team<'_> {
    /// Runs one worker for each plan. Every worker is opened before the first one reads.
    ///
    /// Errors when a worker cannot be opened; a read that fails is told in the outcome.
    pub fn read(&self, plans: &[ReadPlan]) -> Result<Reading, ReadingError> {
        let methods = plans.iter().map(|plan| self.open(plan)).collect::<Result<Vec<_>, ReadingError>>()?;
        let fallbacks = methods.first().map_or(Vec::new(), |method| method.fallbacks().to_vec());
        let barrier = Barrier::new(plans.len() + 1);
        let (outcomes, cpu) = std::thread::scope(|scope| {
            let start_worker = |(plan, mut method): (&ReadPlan, Box<dyn ReadMethod>)| {
                let (barrier, clock, stop, plan) = (&barrier, self.clock, self.stop, *plan);
                scope.spawn(move || {
                    sys::timers::precise_timers();
                    barrier.wait();
                    read_loop::run(method.as_mut(), &clock, &plan, stop)
                })
            };
            let workers: Vec<_> = plans.iter().zip(methods).map(start_worker).collect();
            let cpu_before = account::process_cpu();
            barrier.wait();
            let outcomes: Vec<LoopOutcome> = workers.into_iter().map(joined).collect();
            (outcomes, account::process_cpu().since(cpu_before))
        });
        Ok(Reading { fallbacks, ..merge(outcomes, cpu) })
    }

    fn open(&self, plan: &ReadPlan) -> Result<Box<dyn ReadMethod>, ReadingError> {
        let target = Target::open(self.path, self.caching)?;
        target.check_block_size(plan.block_size as u64)?;
        Ok((self.method.open)(Setup { target: &target, depth: plan.depth, slot_bytes: plan.block_size })?)
    }
}

/// Reads a model in virtual time, one worker for each plan. There is no CPU time to tell: the model is no device.
pub fn read_model(model: &Model, plans: &[ReadPlan], stop: &AtomicBool) -> Reading {
    let shared = SharedModel::new(model.timing(), plans.len());
    // All clients are there before the first one waits: the time waits for all.
    let clients = plans.iter().enumerate();
    let clients: Vec<_> =
        clients.map(|(index, plan)| (plan, shared.client(index, plan.depth, plan.block_size, None))).collect();
    let outcomes = std::thread::scope(|scope| {
        let start_worker = |(plan, mut client): (&ReadPlan, Client)| {
            let (clock, plan) = (shared.clock().clone(), *plan);
            scope.spawn(move || read_loop::run(&mut client, &clock, &plan, stop))
        };
        let workers: Vec<_> = clients.into_iter().map(start_worker).collect();
        workers.into_iter().map(joined).collect()
    });
    merge(outcomes, Nanos::ZERO)
}

/// What a worker measured; its panic goes on to the caller.
fn joined(worker: ScopedJoinHandle<'_, LoopOutcome>) -> LoopOutcome {
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn merge(outcomes: Vec<LoopOutcome>, cpu: Nanos) -> Reading {
    let worker_elapsed = outcomes.iter().map(|outcome| outcome.elapsed).collect();
    let merged = outcomes.into_iter().reduce(merge_two);
    Reading { outcome: merged.expect("a team has at least one worker"), cpu, worker_elapsed, fallbacks: Vec::new() }
}

fn merge_two(mut one: LoopOutcome, other: LoopOutcome) -> LoopOutcome {
    one.latency.merge(other.latency);
    one.warm_up.merge(other.warm_up);
    one.service = merge_optional(one.service, other.service);
    one.lateness = merge_optional(one.lateness, other.lateness);
    one.issued += other.issued;
    one.elapsed = one.elapsed.max(other.elapsed);
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

impl Reading {
    /// The first read that failed, if one did.
    pub fn failure(&self) -> Option<&ReadFailure> {
        self.outcome.failure.as_ref()
    }
}
