//! The metrics of a count, each with its source: the processor, the kernel, valgrind, or arithmetic over them.

use measure::{Metric, Nanos, Unit};
use sys::counters::{HARDWARE_EVENTS, Rings, SOFTWARE_EVENTS, Tally};
use sys::process::UsageDelta;
use sys::valgrind::{self, Simulated};

use crate::events;
use crate::machine::Change;

/// Below this share of the time a count is marked as scaled; the kernel's own bookkeeping is some ns off.
const WHOLE_SHARE: f64 = 0.9995;

/// What was seen of a process.
pub(super) struct Observed {
    pub(super) tally: Tally,
    pub(super) rings: Rings,
    pub(super) times: Times,
    pub(super) change: Change,
    pub(super) simulated: Option<Simulated>,
}

/// Times, and what the kernel booked.
pub(super) struct Times {
    pub(super) elapsed: Nanos,
    /// In user mode and in the kernel.
    pub(super) user: Option<(Nanos, Nanos)>,
    pub(super) booked: UsageDelta,
    /// Where `booked` is from.
    pub(super) account: &'static str,
}

/// All metrics that could be had, in the order of the table.
pub(super) fn of(observed: &Observed) -> Vec<Metric> {
    let mut metrics = Metrics(Vec::new());
    metrics.add("elapsed", Unit::Nanoseconds, "wall clock", observed.times.elapsed.0 as f64);
    kernel(observed, &mut metrics);
    processor(observed, &mut metrics);
    simulated(observed, &mut metrics);
    metrics.0.extend(observed.change.metrics());
    derived(observed, &mut metrics);
    metrics.0
}

struct Metrics(Vec<Metric>);

impl Metrics {
    fn add(&mut self, name: &str, unit: Unit, source: &str, value: f64) {
        if self.value(name).is_none() {
            self.0.push(Metric::single(name, unit, source, value));
        }
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.metric(name).map(Metric::median)
    }

    fn metric(&self, name: &str) -> Option<&Metric> {
        self.0.iter().find(|metric| metric.name == name)
    }
}

/// What the kernel counts by events, and where these cannot be had what it books on every process.
fn kernel(observed: &Observed, metrics: &mut Metrics) {
    for event in SOFTWARE_EVENTS {
        let unit = if event.name == "task_clock" { Unit::Nanoseconds } else { Unit::Count };
        if let Ok(count) = observed.tally.of(event.name) {
            metrics.add(event.name, unit, "kernel's software event", count.value());
        }
    }
    let Times { user, booked, account, .. } = &observed.times;
    let from = |what: &str| format!("kernel's account ({account}{what})");
    let clock = if *account == "wait4" { from("") } else { "CPU clock of the process".into() };
    if let Some(cpu) = booked.cpu {
        metrics.add("task_clock", Unit::Nanoseconds, &clock, cpu.0 as f64);
    }
    let counts = [
        ("context_switches", booked.context_switches),
        ("page_faults", booked.page_faults),
        ("major_faults", booked.major_faults),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            metrics.add(name, Unit::Count, &from(""), count as f64);
        }
    }
    if let Some((user, system)) = user {
        metrics.add("user_time", Unit::Nanoseconds, &from(""), user.0 as f64);
        metrics.add("system_time", Unit::Nanoseconds, &from(""), system.0 as f64);
    }
}

fn processor(observed: &Observed, metrics: &mut Metrics) {
    for event in HARDWARE_EVENTS {
        let Ok(count) = observed.tally.of(event.name) else { continue };
        let source = format!("processor's counter, {}", observed.rings.name());
        metrics.add(event.name, Unit::Count, &source, count.value());
        if count.share() < WHOLE_SHARE {
            let what = "share of the time in which it was counted; the count is scaled by it";
            metrics.add(&format!("{}_counted", event.name), Unit::Percent, what, count.share() * 100.0);
        }
    }
}

/// Counts under valgrind stand where the processor's are absent: it counts a second run, in user mode only.
fn simulated(observed: &Observed, metrics: &mut Metrics) {
    let Some(simulated) = &observed.simulated else { return };
    for event in events::simulated(simulated) {
        let source = format!("{}{}, second run", valgrind::SOURCE, event.how);
        metrics.add(event.name, Unit::Count, &source, event.count as f64);
    }
}

/// Cycles by arithmetic where the processor does not tell them, the core's frequency, IPC, processors used.
fn derived(observed: &Observed, metrics: &mut Metrics) {
    let counted = metrics.value("cycles");
    let task_clock = metrics.value("task_clock").filter(|nanos| *nanos > 0.0);
    if let Some((cycles, clock)) = counted.zip(task_clock) {
        metrics.add("core_ghz", Unit::Gigahertz, "cycles over task clock", cycles / clock);
    }
    let measured = metrics.value("core_clock").filter(|_| counted.is_none());
    let by_valgrind = metrics.metric("instructions").is_some_and(|metric| metric.source.starts_with(valgrind::SOURCE));
    // What valgrind counted has nothing of the kernel in it, so that the time beside it must not either.
    let time = match observed.times.user.filter(|(user, _)| by_valgrind && user.0 > 0) {
        Some((user, _)) => {
            // The kernel books user time by its ticks: of a short process it can be more than the process ran at all.
            let user = task_clock.map_or(user.0 as f64, |clock| clock.min(user.0 as f64));
            Some((user, "user time × measured core frequency"))
        }
        None => task_clock.map(|clock| (clock, "CPU time × measured core frequency")),
    };
    if let Some((ghz, (nanos, source))) = measured.zip(time) {
        metrics.add("cycles", Unit::Count, source, (nanos * ghz).round());
    }
    if let Some((instructions, cycles)) =
        metrics.value("instructions").zip(metrics.value("cycles").filter(|cycles| *cycles > 0.0))
    {
        metrics.add("ipc", Unit::Ratio, "instructions over cycles", instructions / cycles);
    }
    if let Some(clock) = metrics.value("task_clock") {
        let elapsed = observed.times.elapsed.0.max(1) as f64;
        metrics.add("cpus_used", Unit::Ratio, "task clock over elapsed time", clock / elapsed);
    }
}
