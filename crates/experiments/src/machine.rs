//! The machine that an experiment runs on, and whether it stayed the same while something was measured.

use std::cell::{OnceCell, RefCell};

use measure::quantity::{counted, three_digits};
use measure::schema::conditions::findings as row;
use measure::schema::{Spec, conditions};
use measure::{Finding, Host, Metric, Nanos, Unit};
use sys::host::{self, CoreKind};
use sys::time::{Clock, core_clock};

use crate::journal::{Journal, Stop};
use crate::last_cache::LastCache;

/// Share of the processors' time that a hypervisor may take away before it is worth a finding.
const STOLEN_SHARE: f64 = 0.02;

/// Share of a measurement for which a quota may stop processes before it is worth a finding, summed over processors.
const THROTTLED_SHARE: f64 = 0.02;

/// What an experiment needs to know of the machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Times everything.
    pub clock: Clock,
    /// The description that goes into the run document.
    pub host: Host,
    /// Raised by ^C.
    pub stop: Stop,
    /// Whether nothing of it is measured, because nothing runs on it.
    is_rehearsal: bool,
    disturbances: RefCell<Disturbances>,
    last_cache: OnceCell<Option<LastCache>>,
}

impl Machine {
    /// Calibrates the clock, measures the core's frequency and describes the host; about 100 ms.
    pub fn observe(stop: Stop) -> Machine {
        let clock = Clock::calibrate();
        let mut host = host::describe();
        host.core_ghz = core_clock::core_ghz(&clock);
        host.clock = Some(clock.name());
        let (disturbances, last_cache) = (RefCell::default(), OnceCell::new());
        Machine { clock, host, stop, is_rehearsal: false, disturbances, last_cache }
    }

    /// The last cache of the processor, measured when it is first asked for.
    pub(crate) fn last_cache(&self) -> Option<LastCache> {
        *self.last_cache.get_or_init(|| LastCache::measure(&self.host.caches, &self.clock, &self.stop))
    }

    /// The machine of a dry run: the same, of which nothing is measured any more.
    pub fn rehearsal(&self) -> Machine {
        let last_cache = OnceCell::from(None);
        Machine { is_rehearsal: true, disturbances: RefCell::default(), last_cache, ..self.clone() }
    }

    /// Whether nothing of it is measured.
    pub(crate) fn is_rehearsal(&self) -> bool {
        self.is_rehearsal
    }

    /// Notes what changed while `what` was measured.
    pub fn note(&self, what: &str, change: &Change, sensitivity: Sensitivity) {
        self.disturbances.borrow_mut().note(what, change, sensitivity, self.host.cores.unwrap_or(1));
    }

    /// Notes that the device delivered `ratio` times what was read in `what`.
    pub fn note_shared_device(&self, what: &str, ratio: f64) {
        self.disturbances.borrow_mut().shared.push((ratio, what.into()));
    }

    /// Adds the findings about what was noted since the last time: who runs an experiment asks for them at its end,
    /// however it ends.
    pub fn report_disturbances(&self, journal: &mut dyn Journal) {
        journal.find_all(self.disturbances.take().findings());
    }

    /// Reports once in a run what the machine cannot measure, and why.
    pub fn report_absences(&self, journal: &mut dyn Journal) {
        journal.find_all(slow_clock(self.clock.without_counter()));
        journal.find_all(no_core_clock(self.host.core_ghz));
        journal.find_all(cores_differ(&host::core_kinds()));
    }
}

fn slow_clock(without_counter: Option<&str>) -> Option<Finding> {
    let reason = without_counter?;
    Some(row::SLOW_CLOCK.of(format!(
        "The processor's time stamp counter was not used, because {reason}: every clock read calls clock_gettime. The \
         run's own cost shows what that costs; short reads contain it."
    )))
}

fn no_core_clock(core_ghz: Option<f64>) -> Option<Finding> {
    let message = "The core's frequency was not measured: the chain of one-cycle additions exists for x86-64 and \
                   aarch64 only.";
    core_ghz.is_none().then(|| row::NO_CORE_CLOCK.of(message))
}

/// That cores of several kinds may be used: a thread moves between them, and the kernel counts events on one kind.
fn cores_differ(kinds: &[CoreKind]) -> Option<Finding> {
    let listed = kinds.iter().map(|CoreKind { name, processors }| format!("{name}: {processors}"));
    let message = format!(
        "This process may use cores of several kinds ({}). Times depend on the kind that a thread runs on, and the \
         processor's counters count on one kind alone. Start readpath with `taskset -c LIST` to measure one kind.",
        listed.collect::<Vec<_>>().join("; ")
    );
    (kinds.len() > 1).then(|| row::CORES_DIFFER.of(message))
}

/// What may change during a measurement, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    at: Nanos,
    core_ghz: Option<f64>,
    additions: Option<f64>,
    stolen: Option<Nanos>,
    throttled: Option<Nanos>,
}

/// What changed between two moments.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Core frequency before and after, in GHz.
    pub core_ghz: Option<(f64, f64)>,
    /// Independent additions a cycle before and after: fewer where another thread shares the core.
    pub additions: Option<(f64, f64)>,
    /// Processor time that the hypervisor gave to other guests.
    pub stolen: Option<Nanos>,
    /// Processor time for which a quota stopped this process's control group.
    pub throttled: Option<Nanos>,
    /// Time between.
    pub elapsed: Nanos,
}

impl Conditions {
    /// Looks at the machine; about 3 ms.
    pub fn now(machine: &Machine) -> Conditions {
        if machine.is_rehearsal {
            let at = machine.clock.now();
            return Conditions { at, core_ghz: None, additions: None, stolen: None, throttled: None };
        }
        let core_ghz = core_clock::core_ghz(&machine.clock);
        let additions = core_ghz.and_then(|ghz| core_clock::additions_per_cycle(&machine.clock, ghz));
        let (stolen, throttled) = (host::stolen(), host::throttled());
        Conditions { at: machine.clock.now(), core_ghz, additions, stolen, throttled }
    }

    /// Looks again and returns the difference.
    pub fn changed(self, machine: &Machine) -> Change {
        let elapsed = machine.clock.now().since(self.at);
        // Before the core is looked at: that takes processor time too, for which a quota may stop this process.
        let throttled = self.throttled.and_then(|before| Some(host::throttled()?.since(before)));
        let after = Conditions::now(machine);
        Change {
            core_ghz: self.core_ghz.zip(after.core_ghz),
            additions: self.additions.zip(after.additions),
            stolen: self.stolen.zip(after.stolen).map(|(before, after)| after.since(before)),
            throttled,
            elapsed,
        }
    }
}

impl Change {
    /// The core's frequency and what it carries out in a cycle, before and after, as metrics.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        let metric = |spec: Spec, source, pair: Option<(f64, f64)>| {
            pair.and_then(|(before, after)| spec.of_samples(source, &[before, after]))
        };
        let clock = "chain of dependent additions, before and after";
        let additions = "eight chains of additions side by side, a cycle, before and after";
        let clock = metric(conditions::CORE_CLOCK, clock, self.core_ghz);
        clock.into_iter().chain(metric(conditions::CORE_ADDITIONS, additions, self.additions))
    }

    /// Share of the processors' time that the hypervisor took; `None` where too little was counted: the
    /// kernel counts in hundredths of a second, and one tick in a short case means nothing.
    fn stolen_share(&self, cores: u64) -> Option<f64> {
        let stolen = self.stolen.filter(|stolen| *stolen > Nanos::from_millis(20))?;
        Some(stolen.as_seconds() / (self.elapsed.as_seconds() * cores as f64).max(1e-9))
    }

    /// Time for which a quota stopped processes of this one's control group, over the time that passed. Summed over
    /// processors, it may be above 1.
    fn throttled_share(&self) -> Option<f64> {
        Some(self.throttled?.as_seconds() / self.elapsed.as_seconds().max(1e-9))
    }

    fn core_clock_drift(&self) -> Option<f64> {
        self.core_ghz.map(|(before, after)| core_clock::drift(before, after))
    }
}

/// What a measurement depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// The core: its frequency changes the result in proportion.
    Core,
    /// The storage: the core's frequency hardly matters.
    Storage,
}

/// What changed during the measurements of a run; reported once at its end, because on a shared machine every case
/// would report it otherwise.
#[derive(Clone, Debug, Default)]
pub struct Disturbances {
    blocks: u64,
    clock: Vec<(f64, String, Change)>,
    clock_matters: bool,
    /// Additions a cycle during each measurement, the fewer of before and after.
    additions: Vec<(f64, String)>,
    stolen: Vec<(f64, String)>,
    throttled: Vec<(f64, String)>,
    shared: Vec<(f64, String)>,
}

impl Disturbances {
    /// Notes what changed while `what` was measured.
    pub fn note(&mut self, what: &str, change: &Change, sensitivity: Sensitivity, cores: u64) {
        self.blocks += 1;
        if let Some(drift) = change.core_clock_drift().filter(|drift| *drift > conditions::CORE_CLOCK_DRIFT) {
            self.clock.push((drift, what.into(), *change));
            self.clock_matters |= sensitivity == Sensitivity::Core;
        }
        if sensitivity == Sensitivity::Core {
            self.additions.extend(change.additions.map(|(before, after)| (before.min(after), what.into())));
        }
        if let Some(share) = change.stolen_share(cores).filter(|share| *share > STOLEN_SHARE) {
            self.stolen.push((share, what.into()));
        }
        if let Some(share) = change.throttled_share().filter(|share| *share > THROTTLED_SHARE) {
            self.throttled.push((share, what.into()));
        }
    }

    /// A finding for each kind of disturbance, with the worst case by name.
    fn findings(&self) -> Vec<Finding> {
        let taken = [self.stolen_time(), self.throttled_time()];
        [self.shared_core(), self.core_clock(), self.shared_device()].into_iter().chain(taken).flatten().collect()
    }

    /// A core whose units another thread uses too, compared with the best that it did in the run.
    fn shared_core(&self) -> Option<Finding> {
        let best = self.additions.iter().map(|(additions, _)| *additions).fold(0.0, f64::max);
        let shared = self.additions.iter().filter(|(additions, _)| *additions < best * conditions::SHARED_CORE);
        let (least, what) = shared.clone().min_by(|one, other| one.0.total_cmp(&other.0))?;
        let during = during(shared.count(), self.additions.len() as u64, what);
        let [share, times] = [least / best, best / least].map(three_digits);
        let message = format!(
            "Another thread shared the core {during}: the core did {share} of what it does alone ({} of {} additions a \
             cycle). These memory and CPU costs are up to {times} times too high. Repeat the run on a quiet machine, \
             or on one with dedicated cores.",
            three_digits(*least),
            three_digits(best)
        );
        let finding = row::CORE_SHARED.of(message).with("least", *least, Unit::Count);
        Some(finding.with("best", best, Unit::Count))
    }

    fn core_clock(&self) -> Option<Finding> {
        let (_, what, change) = worst(&self.clock, |(drift, ..)| *drift)?;
        let (before, after) = change.core_ghz?;
        let (during, [from, to]) = (during(self.clock.len(), self.blocks, what), [before, after].map(three_digits));
        let figures = format!("The core's frequency changed by more than 2 % {during} ({from} to {to} GHz)");
        let finding = if self.clock_matters {
            let advice = "these memory and CPU times are off by about that ratio. Repeat the run on a quiet machine.";
            row::CORE_CLOCK_CHANGED.of(format!("{figures}: {advice}"))
        } else {
            let meaning = "reads of storage hardly depend on it.";
            row::CORE_CLOCK_CHANGED_BESIDE_STORAGE.of(format!("{figures}; {meaning}"))
        };
        Some(finding.with("before", before, Unit::Gigahertz).with("after", after, Unit::Gigahertz))
    }

    fn shared_device(&self) -> Option<Finding> {
        let (ratio, what) = worst(&self.shared, |(ratio, _)| *ratio)?;
        let message = format!(
            "The device delivered more than this run read{}, {} times as much during {what}: other processes read from \
             it too, and the latencies include waiting for them.",
            if self.blocks == 1 { String::new() } else { format!(" in {}", share(self.shared.len(), self.blocks)) },
            three_digits(*ratio)
        );
        Some(row::DEVICE_SHARED.of(message).with("ratio", *ratio, Unit::Ratio))
    }

    fn stolen_time(&self) -> Option<Finding> {
        let (share, what) = worst(&self.stolen, |(share, _)| *share)?;
        let (during, percent) = (during(self.stolen.len(), self.blocks, what), share * 100.0);
        let message = format!(
            "The hypervisor took processor time away {during} ({} % of the processors' time): means and tails include \
             waits for a processor. Repeat the run, or use a machine with dedicated cores.",
            three_digits(percent)
        );
        Some(row::STOLEN_TIME.of(message).with("share", percent, Unit::Percent))
    }

    fn throttled_time(&self) -> Option<Finding> {
        let (share, what) = worst(&self.throttled, |(share, _)| *share)?;
        let (during, percent) = (during(self.throttled.len(), self.blocks, what), share * 100.0);
        let message = format!(
            "The CPU quota of a control group stopped its processes {during} ({} % of the time, summed over \
             processors): means and tails include waits for the quota's next period. Raise the quota (cpu.max, or \
             --cpus of a container), or use fewer threads.",
            three_digits(percent)
        );
        Some(row::CPU_THROTTLED.of(message).with("share", percent, Unit::Percent))
    }
}

fn worst<T>(noted: &[T], by: impl Fn(&T) -> f64) -> Option<&T> {
    noted.iter().max_by(|one, other| by(one).total_cmp(&by(other)))
}

/// `during 3 of 9 measurements, most during a scan`; of one alone `during 1 of 9 measurements, namely a scan`, and of a
/// run that is one measurement, `during a scan`.
fn during(count: usize, of: u64, what: &str) -> String {
    match (count, of) {
        (_, 1) => format!("during {what}"),
        (1, _) => format!("during {}, namely {what}", share(count, of)),
        _ => format!("during {}, most during {what}", share(count, of)),
    }
}

fn share(count: usize, of: u64) -> String {
    format!("{count} of {}", counted(of, "measurement", "measurements"))
}

#[cfg(test)]
mod tests;
