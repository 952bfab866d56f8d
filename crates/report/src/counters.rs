//! Counters of a process: each count with what it is a second of CPU and of what it is a part, under its source.

use measure::{Case, Metric, Run, Unit};

use crate::number::{grouped, nanos_of, ratio, three_digits, time, with_unit};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// How the name ends of a metric that says in which share of the time another one was counted.
const COUNTED: &str = "_counted";

/// A relation worth showing: the counter, what it is divided by, and the words behind the result.
struct Relation {
    of: &'static str,
    by: &'static str,
    words: &'static str,
    is_percent: bool,
}

const fn share(of: &'static str, by: &'static str, words: &'static str) -> Relation {
    Relation { of, by, words, is_percent: true }
}

const RELATIONS: &[Relation] = &[
    Relation { of: "instructions", by: "cycles", words: "a cycle", is_percent: false },
    share("branch_misses", "branches", "of branches"),
    share("stalled_cycles_frontend", "cycles", "of cycles"),
    share("stalled_cycles_backend", "cycles", "of cycles"),
    share("cache_misses", "cache_references", "of references"),
    share("llc_load_misses", "llc_loads", "of LLC loads"),
    share("llc_store_misses", "llc_stores", "of LLC stores"),
    share("l1_dcache_load_misses", "l1_dcache_loads", "of L1 loads"),
    share("l1_dcache_store_misses", "l1_dcache_stores", "of L1 stores"),
];

/// Metrics that stand in other rows.
const TOLD_ELSEWHERE: [&str; 5] = ["ipc", "core_ghz", "core_clock", "core_additions", "cpus_used"];

/// The table of each case, with the line of what follows from it.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let tables: Vec<String> = run.cases.iter().map(|case| table(case, style)).collect();
    crate::join_sections(&tables)
}

fn table(case: &Case, style: &Style) -> String {
    let mut table = Table::new()
        .column("counter", Align::Word)
        .column("count", Align::Right)
        .optional_column("a CPU s", Align::Right)
        .column("that is", Align::Left)
        .optional_column("counted", Align::Right);
    let counts = case.metrics.iter().filter(|metric| is_row(metric));
    let mut source = String::new();
    for metric in counts {
        if metric.source != source {
            source.clone_from(&metric.source);
            table.title(&format!("{source}:"));
        }
        table.row([
            metric.name.replace('_', "-"),
            value(metric),
            per_cpu_second(case, metric).unwrap_or_default(),
            meaning(case, metric).unwrap_or_default(),
            counted(case, metric).unwrap_or_default(),
        ]);
    }
    crate::join_sections(&[table.render(style), wrap(&frequency(case), style.width, 2)])
}

fn is_row(metric: &Metric) -> bool {
    !metric.name.ends_with(COUNTED) && !TOLD_ELSEWHERE.contains(&metric.name.as_str())
}

/// Counts to the last one: they are compared with other runs digit by digit. Scaled ones have no such digits.
fn value(metric: &Metric) -> String {
    let median = metric.median();
    if metric.unit == Unit::Count && (0.0..1e18).contains(&median) {
        return grouped(median.round() as u64);
    }
    with_unit(median, metric.unit)
}

fn per_cpu_second(case: &Case, metric: &Metric) -> Option<String> {
    let clock = case.metric("task_clock")?;
    let seconds = clock.median() * nanos_of(clock.unit)? / 1e9;
    let is_count = metric.unit == Unit::Count && seconds > 0.0;
    is_count.then(|| scaled(metric.median() / seconds))
}

/// A rate with a prefix: `2.93 G`, `269 M`.
fn scaled(rate: f64) -> String {
    let prefixes = [("G", 1e9), ("M", 1e6), ("k", 1e3)];
    let (prefix, size) = prefixes.into_iter().find(|(_, size)| rate >= *size).unwrap_or(("", 1.0));
    format!("{} {prefix}", three_digits(rate / size)).trim_end().to_string()
}

fn meaning(case: &Case, metric: &Metric) -> Option<String> {
    if metric.name == "task_clock" {
        return case.metric("cpus_used").map(|used| format!("{} processors", ratio(used.median())));
    }
    if metric.name == "cycles" {
        return case.metric("core_ghz").map(|ghz| format!("{} GHz", three_digits(ghz.median())));
    }
    let relation = RELATIONS.iter().find(|relation| relation.of == metric.name)?;
    let by = case.metric(relation.by).map(Metric::median).filter(|by| *by > 0.0)?;
    let part = metric.median() / by;
    let number = if relation.is_percent { format!("{} %", three_digits(part * 100.0)) } else { ratio(part) };
    Some(format!("{number} {}", relation.words))
}

fn counted(case: &Case, metric: &Metric) -> Option<String> {
    let share = case.metric(&format!("{}{COUNTED}", metric.name))?;
    Some(format!("{} %", three_digits(share.median())))
}

/// The frequency of the core where cycles were not counted, and so were made from it.
fn frequency(case: &Case) -> String {
    let elapsed = case.metric("elapsed").and_then(|metric| Some(metric.median() * nanos_of(metric.unit)?));
    let clock = case.metric("core_clock").filter(|_| case.metric("core_ghz").is_none());
    let ghz = clock.map(|clock| format!("The core ran at {} GHz before and after.", three_digits(clock.median())));
    let elapsed = elapsed.map(|nanos| format!("{} elapsed.", time(nanos)));
    [elapsed, ghz].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
