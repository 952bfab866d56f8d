//! Whose the processors were while statements were measured: the backend's, this program's, or others'.

use measure::quantity::three_digits;
use measure::{Finding, Metric, Nanos, Unit};
use sys::host;
use sys::process;

use crate::journal::Journal;
use crate::machine::Machine;

/// Processors that others may keep busy before it is worth a sentence.
const OTHERS: f64 = 0.2;

/// Processor times, added up over the samples of all cases.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    elapsed: Nanos,
    backend: Nanos,
    own: Nanos,
    busy: Option<Nanos>,
}

/// A moment before samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    at: Nanos,
    own: Nanos,
    busy: Option<Nanos>,
}

impl Start {
    /// Takes the moment.
    pub(crate) fn now(machine: &Machine) -> Start {
        Start { at: machine.clock.now(), own: process::process_cpu(), busy: host::busy() }
    }
}

impl Shares {
    /// Adds the samples since `start`, for which the backend took `backend`.
    pub(crate) fn add(&mut self, start: Start, backend: Nanos, machine: &Machine) {
        let add = |sum: Nanos, more: Nanos| Nanos(sum.0 + more.0);
        self.elapsed = add(self.elapsed, machine.clock.now().since(start.at));
        self.backend = add(self.backend, backend);
        self.own = add(self.own, process::process_cpu().since(start.own));
        let busy = host::busy().zip(start.busy).map(|(after, before)| after.since(before));
        self.busy = busy.map(|more| add(self.busy.unwrap_or(Nanos::ZERO), more));
    }

    /// This program's share as a metric of the run, and a finding where others were busy.
    pub(crate) fn report(&self, journal: &mut dyn Journal) {
        if self.backend == Nanos::ZERO {
            return;
        }
        let share = self.own.as_seconds() / self.backend.as_seconds() * 100.0;
        let source = "this process's CPU clock over the backend's time, while statements were measured";
        journal.own_cost(Metric::single("share_of_server", Unit::Percent, source, share));
        let Some(busy) = self.busy else { return };
        let others = busy.since(self.backend).since(self.own).as_seconds() / self.elapsed.as_seconds().max(1e-9);
        if others > OTHERS {
            journal.find(Finding::warning(
                "machine-busy",
                format!(
                    "Others kept {} processors of this machine busy while statements were measured: they share its \
                     caches and its memory with the server, and costs may be higher for it. Repeat the run when the \
                     machine is quiet.",
                    three_digits(others)
                ),
            ));
        }
    }
}
