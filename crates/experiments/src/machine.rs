//! The machine that an experiment runs on, and whether it stayed the same while something was measured.

use measure::quantity::{format_nanos, three_digits};
use measure::{Finding, Host, Metric, Nanos, Unit};
use sys::clock::Clock;
use sys::{core_clock, host};

use crate::journal::{Journal, Stop};

/// Relative change of the core's frequency within one block of measurements that is worth a finding.
const CORE_CLOCK_DRIFT: f64 = 0.02;

/// Share of the processors' time that a hypervisor may take away before it is worth a finding.
const STOLEN_SHARE: f64 = 0.02;

/// What an experiment needs to know of the machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Times everything.
    pub clock: Clock,
    /// The description that goes into the run document.
    pub host: Host,
    /// Raised by ^C.
    pub stop: Stop,
}

impl Machine {
    /// Calibrates the clock, measures the core's frequency and describes the host; about 100 ms.
    pub fn observe(stop: Stop) -> Machine {
        let clock = Clock::calibrate();
        let mut host = host::describe();
        host.core_ghz = core_clock::core_ghz(&clock);
        host.clock = Some(clock.name());
        Machine { clock, host, stop }
    }

    /// Says once in a run what the machine cannot tell, and why.
    pub fn report_absences(&self, journal: &mut dyn Journal) {
        if let sys::clock::ClockKind::Monotonic { reason } = self.clock.kind() {
            journal.find(Finding::warning(
                "slow-clock",
                format!(
                    "The processor's time stamp counter was not used, because {reason}: every clock read is a call \
                     into the kernel's library. Its cost is in the run's own cost; short reads carry it."
                ),
            ));
        }
        if self.host.core_ghz.is_none() {
            journal.find(Finding::info(
                "no-core-clock",
                "The core's frequency was not measured: the chain of one-cycle additions exists for x86-64 and \
                 aarch64 only.",
            ));
        }
        if self.host.pmu == Some(false) {
            journal.find(Finding::info(
                "no-pmu",
                "Hardware counters do not answer here (a hypervisor hides them): cycles and cache misses are absent, \
                 times are not affected.",
            ));
        }
    }
}

/// What may change under a measurement, taken at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    at: Nanos,
    core_ghz: Option<f64>,
    stolen: Option<Nanos>,
}

/// What changed between two moments.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Core frequency before and after, in GHz.
    pub core_ghz: Option<(f64, f64)>,
    /// Processor time that the hypervisor gave to others.
    pub stolen: Option<Nanos>,
    /// Time between.
    pub elapsed: Nanos,
}

impl Conditions {
    /// Looks at the machine; about 2 ms.
    pub fn now(machine: &Machine) -> Conditions {
        let core_ghz = core_clock::core_ghz(&machine.clock);
        Conditions { at: machine.clock.now(), core_ghz, stolen: host::stolen() }
    }

    /// Looks again and tells the difference.
    pub fn changed(self, machine: &Machine) -> Change {
        let elapsed = machine.clock.now().since(self.at);
        let after = Conditions::now(machine);
        Change {
            core_ghz: self.core_ghz.zip(after.core_ghz),
            stolen: self.stolen.zip(after.stolen).map(|(before, after)| after.since(before)),
            elapsed,
        }
    }
}

impl Change {
    /// The core's frequency before and after as a metric.
    pub fn metric(&self) -> Option<Metric> {
        let (before, after) = self.core_ghz?;
        Metric::of_samples("core_clock", Unit::Gigahertz, "chain of dependent additions, before and after", &[before, after])
    }

    /// Findings when the machine was not the same before and after `what` was measured.
    pub fn report(&self, what: &str, cores: u64, journal: &mut dyn Journal) {
        if let Some((before, after)) = self.core_ghz
            && core_clock::drift(before, after) > CORE_CLOCK_DRIFT
        {
            journal.find(Finding::warning(
                "core-clock-changed",
                format!(
                    "The core ran at {} GHz before {what} and at {} GHz after: times of memory and CPU in between are \
                     off by about that ratio. Repeat the run when the machine is quiet.",
                    three_digits(before),
                    three_digits(after)
                ),
            ));
        }
        let share = |stolen: Nanos| stolen.as_seconds() / (self.elapsed.as_seconds() * cores as f64).max(1e-9);
        // The kernel counts steal in hundredths of a second: one tick in a short case says nothing.
        if let Some(stolen) = self.stolen
            && stolen > Nanos::from_millis(20)
            && share(stolen) > STOLEN_SHARE
        {
            journal.find(Finding::warning(
                "stolen-time",
                format!(
                    "The hypervisor took {} of processor time ({} %) away during {what}: latencies contain waits for \
                     a processor. Repeat the run, or move to a machine with cores of its own.",
                    format_nanos(stolen.0 as f64),
                    three_digits(share(stolen) * 100.0)
                ),
            ));
        }
    }
}
