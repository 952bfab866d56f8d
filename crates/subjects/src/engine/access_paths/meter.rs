//! What a pass takes, and the one place where something besides the clocks watches it.

use sys::counters::{Counters, Rings, Tally};
use sys::process::{process_cpu, thread_cpu};
use sys::time::Clock;
use sys::valgrind;

use crate::access_paths::Watch;
use crate::engine::team::Times;

/// Whose work is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The calling thread's.
    Thread,
    /// All of this process's threads that are there already.
    Process,
}

/// Clocks and counters, ready to be started.
pub(super) struct Meter<'a> {
    clock: &'a Clock,
    scope: Scope,
    /// `None` under valgrind.
    counters: Option<Counters>,
}

/// What was taken between two moments.
pub(super) struct Taken {
    pub(super) times: Times,
    pub(super) tally: Tally,
}

impl<'a> Meter<'a> {
    /// Opens what is to watch, for the calling thread to start.
    pub(super) fn new(clock: &'a Clock, scope: Scope, watch: Watch) -> Meter<'a> {
        let counters = match (watch, scope) {
            (Watch::Valgrind, _) => None,
            (Watch::Counters, Scope::Thread) => Some(Counters::of_this_thread(Rings::widest())),
            (Watch::Counters, Scope::Process) => Counters::of_process(std::process::id(), Rings::widest()),
        };
        Meter { clock, scope, counters }
    }

    /// Does `work` and returns what it took. Starting and stopping the counters is not in its time. Under valgrind the
    /// work is done twice, and counted the second time, with what the first left in the simulated caches.
    pub(super) fn watch<R>(&self, work: impl Fn() -> R) -> (R, Taken) {
        let Some(counters) = &self.counters else {
            let warm_up = || drop(work());
            return valgrind::counted(warm_up, || self.timed(&work));
        };
        counters.start();
        let (result, mut taken) = self.timed(work);
        counters.stop();
        taken.tally = counters.read();
        (result, taken)
    }

    fn timed<R>(&self, work: impl FnOnce() -> R) -> (R, Taken) {
        let cpu = || if self.scope == Scope::Thread { thread_cpu() } else { process_cpu() };
        let (start, before) = (self.clock.now(), cpu());
        let result = work();
        let (after, end) = (cpu(), self.clock.now());
        (result, Taken { times: Times { start, end, cpu: after.since(before) }, tally: Tally::default() })
    }
}
