//! The metrics of a count, each with its source: the processor, the kernel, valgrind, or arithmetic over them.

use measure::schema::{Spec, conditions, counters, events as schema};
use measure::{Metric, Nanos};
use sys::counters::{HARDWARE_EVENTS, Rings, SOFTWARE_EVENTS, Tally};
use sys::process::UsageDelta;
use sys::valgrind::{self, Simulated};

use crate::events;
use crate::machine::Change;

/// What was seen of a process.
pub(super) struct Observed {
    pub(super) tally: Tally,
    pub(super) rings: Rings,
    pub(super) times: Times,
    pub(super) change: Change,
    pub(super) simulated: Option<Simulated>,
    /// Whether a second run under valgrind can still be asked for: not of a process, and not again.
    pub(super) may_ask_valgrind: bool,
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
    metrics.add(&counters::ELAPSED, "wall clock", observed.times.elapsed.0 as f64);
    kernel(observed, &mut metrics);
    processor(observed, &mut metrics);
    simulated(observed, &mut metrics);
    metrics.0.extend(observed.change.metrics());
    derived(observed, &mut metrics);
    metrics.0
}

struct Metrics(Vec<Metric>);

impl Metrics {
    /// Adds what is known, where nothing has been added under this name.
    fn add(&mut self, spec: &Spec, source: &str, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into().filter(|_| self.metric(spec).is_none()) {
            self.0.push(spec.single(source, value));
        }
    }

    fn value(&self, spec: &Spec) -> Option<f64> {
        self.metric(spec).map(Metric::median)
    }

    fn metric(&self, spec: &Spec) -> Option<&Metric> {
        self.0.iter().find(|metric| metric.name == spec.name)
    }
}

/// What the kernel counts by events, and where events are not available what it books on every process.
///
/// Of a command, the two begin at different moments, and the account is split by ticks: its user time can be more than
/// the task clock. The source of each says so.
fn kernel(observed: &Observed, metrics: &mut Metrics) {
    let Times { user, booked, account, .. } = &observed.times;
    let is_command = *account == "wait4";
    let event =
        if is_command { "kernel's software event, from the command's exec on" } else { "kernel's software event" };
    for one in SOFTWARE_EVENTS {
        let spec = counters::METRICS.iter().find(|spec| spec.name == one.name);
        if let (Some(spec), Ok(count)) = (spec, observed.tally.of(one.name)) {
            metrics.add(spec, event, count.value());
        }
    }
    let booking = format!("kernel's account ({account})");
    let clock = if is_command { booking.as_str() } else { "CPU clock of the process" };
    metrics.add(&counters::TASK_CLOCK, clock, booked.cpu.map(|cpu| cpu.0 as f64));
    let counts = [
        (counters::CONTEXT_SWITCHES, booked.context_switches),
        (counters::PAGE_FAULTS, booked.page_faults),
        (counters::MAJOR_FAULTS, booked.major_faults),
    ];
    for (spec, count) in counts {
        metrics.add(&spec, &booking, count.map(|count| count as f64));
    }
    let split = format!("{booking}, from the fork on, split by clock ticks");
    metrics.add(&counters::USER_TIME, &split, user.map(|(user, _)| user.0 as f64));
    metrics.add(&counters::SYSTEM_TIME, &split, user.map(|(_, system)| system.0 as f64));
}

fn processor(observed: &Observed, metrics: &mut Metrics) {
    for event in HARDWARE_EVENTS {
        let Ok(count) = observed.tally.of(event.name) else { continue };
        let source = format!("processor's counter, {}", observed.rings.name());
        metrics.add(&schema::EVENT.of(event.name), &source, count.value());
        if count.share() < events::WHOLE_SHARE {
            let what = "share of the time in which it was counted; the count is scaled by it";
            metrics.add(&schema::COUNTED.of(event.name), what, count.share() * 100.0);
        }
    }
}

/// Counts under valgrind stand where the processor's are absent: it counts a second run, in user mode only.
fn simulated(observed: &Observed, metrics: &mut Metrics) {
    let Some(simulated) = &observed.simulated else { return };
    for event in events::simulated(simulated) {
        let source = format!("{}{}, second run", valgrind::SOURCE, event.how);
        metrics.add(&schema::EVENT.of(event.name), &source, event.count as f64);
    }
}

/// Cycles by arithmetic where the processor does not count them, the core's frequency, IPC, processors used.
fn derived(observed: &Observed, metrics: &mut Metrics) {
    let (of_cycles, of_instructions) = (schema::EVENT.of("cycles"), schema::EVENT.of("instructions"));
    let counted = metrics.value(&of_cycles);
    let task_clock = metrics.value(&counters::TASK_CLOCK).filter(|nanos| *nanos > 0.0);
    // Cycles of user mode alone are those of its time alone.
    let (time, what) = match observed.rings {
        Rings::UserAndKernel => (task_clock, "cycles over task clock"),
        Rings::User => (observed.times.user.map(|(user, _)| user.0 as f64), "cycles in user mode over user time"),
    };
    let ghz = counted.zip(time.filter(|nanos| *nanos > 0.0)).map(|(cycles, time)| cycles / time);
    metrics.add(&counters::CORE_GHZ, what, ghz);
    let measured = metrics.value(&conditions::CORE_CLOCK).filter(|_| counted.is_none());
    let by_valgrind =
        metrics.metric(&of_instructions).is_some_and(|metric| metric.source.starts_with(valgrind::SOURCE));
    // What valgrind counted has nothing of the kernel in it, so the time that it is divided by must not either.
    let time = match observed.times.user.filter(|(user, _)| by_valgrind && user.0 > 0) {
        Some((user, _)) => {
            // The kernel books user time by its ticks: of a short process it can be more than the process ran at all.
            let user = task_clock.map_or(user.0 as f64, |clock| clock.min(user.0 as f64));
            Some((user, "user time × measured core frequency"))
        }
        None => task_clock.map(|clock| (clock, "CPU time × measured core frequency")),
    };
    if let Some((ghz, (nanos, source))) = measured.zip(time) {
        metrics.add(&of_cycles, source, (nanos * ghz).round());
    }
    let cycles = metrics.value(&of_cycles).filter(|cycles| *cycles > 0.0);
    let ipc = metrics.value(&of_instructions).zip(cycles).map(|(instructions, cycles)| instructions / cycles);
    metrics.add(&counters::IPC, "instructions over cycles", ipc);
    let elapsed = observed.times.elapsed.0.max(1) as f64;
    let used = metrics.value(&counters::TASK_CLOCK).map(|clock| clock / elapsed);
    metrics.add(&counters::CPUS_USED, "task clock over elapsed time", used);
}

#[cfg(test)]
mod tests {
    use sys::counters::Raw;

    use super::*;

    #[test]
    fn user_time_that_is_more_than_the_task_clock_names_another_clock_with_another_beginning() {
        let mut tally = Tally::default();
        SOFTWARE_EVENTS.iter().for_each(|event| tally.add(*event, Raw { value: 749_054, enabled: 9, running: 9 }));
        let (elapsed, user) = (Nanos::from_millis(6), Some((Nanos::from_micros(971), Nanos::ZERO)));
        let times = Times { elapsed, user, booked: UsageDelta::default(), account: "wait4" };
        let change = Change { core_ghz: None, additions: None, stolen: None, throttled: None, elapsed };
        let observed = Observed { tally, rings: Rings::User, times, change, simulated: None, may_ask_valgrind: true };
        let all = of(&observed);
        let source = |spec: &Spec| {
            let metric = all.iter().find(|metric| metric.name == spec.name);
            metric.map(|metric| metric.source.as_str())
        };
        assert_eq!(source(&counters::TASK_CLOCK), Some("kernel's software event, from the command's exec on"));
        let split = "kernel's account (wait4), from the fork on, split by clock ticks";
        assert_eq!([&counters::USER_TIME, &counters::SYSTEM_TIME].map(source), [Some(split); 2]);
    }
}
