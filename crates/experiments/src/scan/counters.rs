//! What the processor did: the one place where its counters come into the experiment.
//!
//! Counts are the processor's own where the machine lets one count; else those of the same scan under valgrind, and
//! cycles are the processor time at the core's measured frequency.

use measure::schema::Spec;
use measure::schema::events::findings as events_row;
use measure::schema::events::{COUNTED, EVENT};
use measure::schema::scan::{self as schema, PER_GET, PER_ROW};
use measure::{Case, Metric};
use subjects::access_paths::ScanCost;
use sys::counters::{HARDWARE_EVENTS, Rings};
use sys::valgrind;

use super::counted::{Counted, Units};
use super::samples::{Samples, of_finite};
use crate::events::{self, SimulatedEvent, WHOLE_SHARE};
use crate::journal::Journal;

/// What is known of one case.
pub(super) struct Seen<'a> {
    pub(super) samples: &'a Samples,
    /// Frequency of the core before and after, in GHz.
    pub(super) core_ghz: Option<(f64, f64)>,
    /// The path under valgrind.
    pub(super) counted: Option<&'a Counted>,
}

/// All that was counted, in a pass, for a row and for a get.
pub(super) fn metrics(seen: &Seen<'_>) -> Vec<Metric> {
    let mut metrics = processor(seen.samples);
    if find(&metrics, &EVENT.of("cycles")).is_none() {
        metrics.extend(cycles_by_frequency(seen));
    }
    if find(&metrics, &EVENT.of("instructions")).is_none() {
        metrics.extend(simulated(seen));
    }
    metrics.extend(instructions_a_cycle(&metrics));
    metrics.extend(kernel(seen.samples));
    metrics
}

fn find<'a>(metrics: &'a [Metric], spec: &Spec) -> Option<&'a Metric> {
    metrics.iter().find(|metric| metric.name == spec.name)
}

/// One value a sample for a pass of `laps`, a row and a get. `values` are those of all laps.
fn spread(laps: f64, costs: &[ScanCost], event: &str, source: &str, values: &[f64]) -> Vec<Metric> {
    let of = |spec: Spec, over: &str, divisor: &dyn Fn(&ScanCost) -> f64| {
        let parts: Vec<f64> = values.iter().zip(costs).map(|(value, cost)| value / divisor(cost)).collect();
        of_finite(&spec, &format!("{source}, {over}"), &parts)
    };
    let metrics = [
        of(EVENT.of(event), "one pass", &|_| laps),
        of(PER_ROW.of(event), "over rows", &|cost| laps * cost.rows as f64),
        of(PER_GET.of(event), "over gets", &|cost| cost.gets as f64),
    ];
    metrics.into_iter().flatten().collect()
}

fn processor(samples: &Samples) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let source = format!("processor's counter, {}", Rings::widest().name());
    for event in HARDWARE_EVENTS {
        let counts: Result<Vec<_>, _> = samples.costs.iter().map(|cost| cost.tally.of(event.name)).collect();
        let Ok(counts) = counts else { continue };
        let values: Vec<f64> = counts.iter().map(|count| count.value()).collect();
        metrics.extend(spread(samples.laps, &samples.costs, event.name, &source, &values));
        let shares: Vec<f64> = counts.iter().map(|count| count.share() * 100.0).collect();
        if shares.iter().any(|share| *share < WHOLE_SHARE * 100.0) {
            let what = "share of the time in which it was counted; the count is scaled by it";
            metrics.extend(COUNTED.of(event.name).of_samples(what, &shares));
        }
    }
    metrics
}

/// Processor time at the core's frequency, of the kernel that valgrind counted where one was.
fn cycles_by_frequency(seen: &Seen<'_>) -> Vec<Metric> {
    let (Some((before, after)), samples) = (seen.core_ghz, seen.samples) else { return Vec::new() };
    let middle = (before + after) / 2.0;
    let mut source = format!("CPU clock at {middle:.3} GHz (chain of dependent additions, mean of before and after)");
    let mut costs = &samples.costs;
    let mut row_times = None;
    if let Some((kernel, by_kernel)) = &samples.by_counted_kernel {
        source = format!("{source}, {kernel} kernel");
        costs = by_kernel;
        let source = format!("CPU clock of the threads over rows, {kernel} kernel, which valgrind counts");
        let row_time = |cost: &ScanCost| cost.cpu.0 as f64 / samples.laps / cost.rows.max(1) as f64;
        row_times = schema::COUNTED_ROW_TIME.of_samples(&source, &costs.iter().map(row_time).collect::<Vec<_>>());
    }
    let values: Vec<f64> = costs.iter().map(|cost| cost.cpu.0 as f64 * middle).collect();
    let mut metrics = spread(samples.laps, costs, "cycles", &source, &values);
    metrics.extend(row_times);
    metrics
}

/// What the child did, for as many rows and gets as are here.
fn simulated(seen: &Seen<'_>) -> Vec<Metric> {
    let Some((counted, cost)) = seen.counted.zip(seen.samples.costs.last()) else { return Vec::new() };
    let kernel = counted.kernel.as_ref().map_or(String::new(), |kernel| format!(", {kernel} kernel"));
    let mut metrics = Vec::new();
    let of = &counted.of;
    for event in events::simulated(&of.events) {
        let (mut count, mut rows) = (event.count as f64, of.rows as f64);
        let mut source = format!("{}{}{}, {rows} rows, one thread{kernel}", valgrind::SOURCE, of.how, event.how);
        if let Some(units) = &counted.units {
            (count, rows) = (of_units(&event, units, cost.units.unwrap_or_default().unread), cost.rows as f64);
            source = format!("{}{}, by the number of units, one thread", valgrind::SOURCE, event.how);
        }
        let per_row = count / rows;
        let source_here = format!("{source}, for as many rows as here");
        metrics.push(EVENT.of(event.name).single(&source_here, per_row * cost.rows as f64));
        metrics.push(PER_ROW.of(event.name).single(&format!("{source}, over rows"), per_row));
        if of.gets > 0 {
            let per_get = count / of.gets as f64;
            metrics.push(PER_GET.of(event.name).single(&format!("{source}, over gets"), per_get));
        }
    }
    metrics
}

/// What a pass does that answers for `here` units and reads none, from passes over fewer and over more.
fn of_units(event: &SimulatedEvent, units: &Units, here: u64) -> f64 {
    let more = events::simulated(&units.events_of_many).into_iter().find(|other| other.name == event.name);
    let more = more.map_or(event.count, |more| more.count) as f64;
    let of_a_unit = (more - event.count as f64).max(0.0) / (units.many - units.few) as f64;
    event.count as f64 + of_a_unit * (here as f64 - units.few as f64)
}

/// Instructions a cycle: sample by sample where each has both, else the one count over each sample's cycles.
fn instructions_a_cycle(metrics: &[Metric]) -> Option<Metric> {
    let of = |event: &str| find(metrics, &PER_ROW.of(event));
    let (instructions, cycles) = of("instructions").zip(of("cycles"))?;
    let samples =
        |metric: &Metric| if metric.samples.is_empty() { vec![metric.median()] } else { metric.samples.clone() };
    let (instructions, cycles) = (samples(instructions), samples(cycles));
    let ratio = |(index, cycles): (usize, &f64)| instructions[index.min(instructions.len() - 1)] / cycles;
    let ratios: Vec<f64> = cycles.iter().enumerate().map(ratio).filter(|ratio| ratio.is_finite()).collect();
    schema::IPC.of_samples("instructions over cycles", &ratios)
}

/// What the operating system counted; a scan that faults in pages or is sent away measures something else too.
fn kernel(samples: &Samples) -> impl Iterator<Item = Metric> {
    let specs = [schema::PAGE_FAULTS, schema::MAJOR_FAULTS, schema::CONTEXT_SWITCHES, schema::CPU_MIGRATIONS];
    specs.into_iter().filter_map(|spec| {
        let count = |cost: &ScanCost| Some(cost.tally.of(&spec.name).ok()?.value() / samples.laps);
        let counts: Option<Vec<f64>> = samples.costs.iter().map(count).collect();
        spec.of_samples("kernel's software event, one pass", &counts?)
    })
}

/// Says what is not there and why; `on` names the subject where there are several.
pub(super) fn report_absences((case, on): (&Case, &str), costs: &[ScanCost], journal: &mut dyn Journal) {
    let Some(cost) = costs.last() else { return };
    // The CPU clock says what the task clock would.
    let is_known = |name: &str| name == "task_clock" || case.metric(name).is_some();
    for (reason, names) in events::absences(&cost.tally, is_known) {
        let message = format!("Not counted{on}, because {reason}: {}.", events::in_words(&names));
        journal.find(events_row::ABSENT_COUNTERS.of(message));
    }
}

#[cfg(test)]
mod tests {
    use measure::Nanos;
    use sys::counters::{Raw, SOFTWARE_EVENTS, Tally};

    use super::*;

    /// Two laps over 100 rows and 10 gets on a made-up processor, with counts of events by their names, each counted
    /// for a quarter of the time.
    fn cost(names: &[(&str, u64)]) -> ScanCost {
        let mut tally = Tally::default();
        for (name, value) in names {
            let event = HARDWARE_EVENTS.iter().chain(SOFTWARE_EVENTS).find(|event| event.name == *name).unwrap();
            tally.add(*event, Raw { value: *value, enabled: 400, running: 100 });
        }
        ScanCost { cpu: Nanos(1000), rows: 100, gets: 10, tally, ..ScanCost::default() }
    }

    fn samples<const N: usize>(costs: [ScanCost; N]) -> Samples {
        Samples { costs: costs.into(), laps: 2.0, ceiling: Vec::new(), by_counted_kernel: None }
    }

    fn seen(samples: &Samples) -> Vec<Metric> {
        metrics(&Seen { samples, core_ghz: Some((3.0, 5.0)), counted: None })
    }

    fn of<'a>(metrics: &'a [Metric], name: &str) -> Option<&'a Metric> {
        metrics.iter().find(|metric| metric.name == name)
    }

    #[test]
    fn counts_of_a_processor_are_scaled_marked_and_divided() {
        let counts = [cost(&[("cycles", 500), ("instructions", 250)]), cost(&[("cycles", 500), ("instructions", 750)])];
        let metrics = seen(&samples(counts));
        let median = |name: &str| of(&metrics, name).map(Metric::median);
        assert_eq!(median("cycles"), Some(1000.0), "of one pass of two");
        assert_eq!((median("cycles_per_row"), median("cycles_per_get")), (Some(10.0), Some(200.0)));
        assert_eq!(median("cycles_counted"), Some(25.0));
        assert_eq!(of(&metrics, "ipc").map(|ipc| ipc.samples.clone()), Some(vec![0.5, 1.5]));
        assert!(of(&metrics, "cycles").is_some_and(|cycles| cycles.source.starts_with("processor's counter")));
        assert!(of(&metrics, "branches").is_none(), "what was not counted is absent");
    }

    #[test]
    fn an_event_that_one_sample_lacks_is_absent_from_all() {
        assert!(of(&seen(&samples([cost(&[("branches", 5)]), cost(&[])])), "branches").is_none());
    }

    #[test]
    fn cycles_without_counters_are_processor_time_and_of_the_kernel_that_valgrind_counts() {
        let mut samples = samples([cost(&[])]);
        let metrics_of_best = seen(&samples);
        assert_eq!(of(&metrics_of_best, "cycles_per_row").map(Metric::median), Some(20.0), "1000 ns at 4 GHz");
        samples.by_counted_kernel = Some(("avx2".into(), vec![ScanCost { cpu: Nanos(3000), ..cost(&[]) }]));
        let metrics = seen(&samples);
        let cycles = of(&metrics, "cycles_per_row").unwrap();
        assert_eq!((cycles.median(), cycles.source.contains("avx2 kernel")), (60.0, true));
        assert_eq!(of(&metrics, "counted_row_time").map(Metric::median), Some(15.0));
        assert!(of(&metrics, "ipc").is_none() && of(&metrics, "instructions").is_none());
    }

    #[test]
    fn what_a_column_scan_does_for_a_get_is_absent_because_it_gets_nothing() {
        let metrics = seen(&samples([ScanCost { gets: 0, ..cost(&[("cycles", 500)]) }]));
        assert!(of(&metrics, "cycles_per_row").is_some() && of(&metrics, "cycles_per_get").is_none());
    }

    #[test]
    fn software_events_of_the_kernel_are_counted_in_a_pass() {
        let names = ["page_faults", "major_faults", "context_switches", "cpu_migrations"];
        let samples = samples([cost(&names.map(|name| (name, 3)))]);
        let metrics = seen(&samples);
        for name in names {
            assert_eq!(of(&metrics, name).map(Metric::median), Some(6.0), "{name}");
        }
    }
}
