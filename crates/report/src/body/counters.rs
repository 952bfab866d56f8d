//! Counters of a process: each count with what it is a second of CPU and of what it is a part, under its source.

pub(super) mod chart;

use measure::{Case, Metric, Run, Unit};

use measure::schema::{Spec, conditions, counters, events};

use crate::page::number::{grouped, ratio, rounded, three_digits, time};
use crate::page::{Align, Cell, Section, Table};

/// End of the name of a metric that says in which part of the time another one was counted.
const COUNTED: &str = "_counted";

/// A relation worth showing: the event, what its count is divided by, and the words behind the result.
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
const IN_OTHER_ROWS: [Spec; 5] =
    [counters::IPC, counters::CORE_GHZ, conditions::CORE_CLOCK, conditions::CORE_ADDITIONS, counters::CPUS_USED];

/// The table of each case, with the line of what follows from it.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let of = |case| [Section::Table(table(case)), Section::Text(frequency(case))];
    run.cases.iter().flat_map(of).collect()
}

fn table(case: &Case) -> Table {
    let counts: Vec<&Metric> = case.metrics.iter().filter(|metric| is_row(metric)).collect();
    Table::over(&counts)
        .column("counter", Align::Word, |metric| metric.name.replace('_', "-"))
        .column("count", Align::Right, |metric| value(metric))
        .optional("/ CPU s", Align::Right, |metric| per_cpu_second(case, metric))
        .column("that is", Align::Left, |metric| meaning(case, metric).unwrap_or_default())
        .optional("counted", Align::Right, |metric| counted(case, metric))
        .groups(|metric| format!("{}:", metric.source))
        .done()
}

fn is_row(metric: &Metric) -> bool {
    !metric.name.ends_with(COUNTED) && !IN_OTHER_ROWS.iter().any(|spec| spec.name == metric.name)
}

/// Counts to the last one: they are compared with other runs digit by digit. Scaled ones have no such digits.
fn value(metric: &Metric) -> Cell {
    let median = metric.median();
    if metric.unit == Unit::Count && (0.0..1e18).contains(&median) {
        return Cell::number(grouped(median.round() as u64), median, Unit::Count);
    }
    Cell::quantity(median, metric.unit)
}

fn per_cpu_second(case: &Case, metric: &Metric) -> Option<Cell> {
    rate(case, metric).map(|rate| Cell::number(scaled(rate), rate, Unit::PerSecond))
}

/// How often something was counted in a second of CPU time.
fn rate(case: &Case, metric: &Metric) -> Option<f64> {
    let seconds = counters::TASK_CLOCK.nanos(case)? / 1e9;
    (metric.unit == Unit::Count && seconds > 0.0).then(|| metric.median() / seconds)
}

/// A rate with a prefix: `2.93 G`, `269 M`.
fn scaled(rate: f64) -> String {
    let prefixes = [("G", 1e9), ("M", 1e6), ("k", 1e3)];
    let (prefix, size) = prefixes.into_iter().find(|(_, size)| rounded(rate) >= *size).unwrap_or(("", 1.0));
    format!("{} {prefix}", three_digits(rate / size)).trim_end().to_string()
}

fn meaning(case: &Case, metric: &Metric) -> Option<String> {
    if counters::TASK_CLOCK.name == metric.name {
        return counters::CPUS_USED.median(case).map(|used| format!("{} processors", ratio(used)));
    }
    if events::EVENT.of("cycles").name == metric.name {
        return counters::CORE_GHZ.median(case).map(|ghz| format!("{} GHz", three_digits(ghz)));
    }
    let relation = RELATIONS.iter().find(|relation| relation.of == metric.name)?;
    let part = part(case, relation, metric)?;
    let number = if relation.is_percent { format!("{} %", three_digits(part * 100.0)) } else { ratio(part) };
    Some(format!("{number} {}", relation.words))
}

/// A count over the one that it is a part of.
fn part(case: &Case, relation: &Relation, metric: &Metric) -> Option<f64> {
    let by = events::EVENT.of(relation.by).median(case).filter(|by| *by > 0.0)?;
    Some(metric.median() / by)
}

fn counted(case: &Case, metric: &Metric) -> Option<Cell> {
    let share = case.metric(&format!("{}{COUNTED}", metric.name))?;
    Some(Cell::percent(share.median()))
}

/// The frequency of the core where cycles were not counted, and so were made from it.
fn frequency(case: &Case) -> String {
    let elapsed = counters::ELAPSED.nanos(case);
    let clock = conditions::CORE_CLOCK.median(case).filter(|_| counters::CORE_GHZ.in_case(case).is_none());
    let ghz = clock.map(|mean| {
        let pair = conditions::CORE_CLOCK.in_case(case).filter(|metric| metric.statistics.n > 1);
        let ends = pair.map(|metric| [metric.statistics.min, metric.statistics.max].map(three_digits));
        match ends {
            Some([low, high]) if low != high => format!(
                "The core ran at {low} to {high} GHz before and after: cycles are computed with the mean, {} GHz.",
                three_digits(mean)
            ),
            _ => format!("The core ran at {} GHz before and after.", three_digits(mean)),
        }
    });
    let elapsed = elapsed.map(|nanos| format!("{} elapsed.", time(nanos)));
    [elapsed, ghz].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_differed_before_and_after_is_said_with_its_range() {
        let said = |clocks: &[f64]| {
            let mut case = Case::default();
            case.metrics.extend(conditions::CORE_CLOCK.of_samples("chains", clocks));
            frequency(&case)
        };
        assert_eq!(said(&[2.991, 2.994]), "The core ran at 2.99 GHz before and after.");
        let apart = "The core ran at 2.60 to 3.00 GHz before and after: cycles are computed with the mean, 2.80 GHz.";
        assert_eq!([said(&[2.6, 3.0]), said(&[3.0, 2.6])], [apart; 2]);
        assert_eq!(said(&[]), "");
    }

    #[test]
    fn a_rate_never_shows_a_thousand_of_a_prefix() {
        assert_eq!([999_700_000.0, 999.7, 2.93e9, 17.0].map(scaled), ["1.00 G", "1.00 k", "2.93 G", "17.0"]);
    }
}
