//! What a planner would need to know: what a block and a row cost by each way, and up to which part of the table a
//! nested loop is the faster way.

use std::time::Duration;

use measure::{Case, Finding, Metric, Unit};
use serde_json::json;
use storage::exec::nested_loop::Method;
use subjects::NestedLoops;
use subjects::nested_loops::{InnerFacts, JoinPass};

use super::measuring::{Measured, Spread};
use super::{Bench, JoinMethod};
use crate::error::ExperimentError;
use crate::journal::Journal;
use measure::quantity::three_digits;

/// Scans of the whole table, at most: they are long, and alike.
const SCANS_MAX: usize = 5;

/// Outer rows of the joins that find everything cached, at most: their blocks are half of the pool.
const CACHED_PART: u64 = 2;

/// What `random_page_cost` is to PostgreSQL where nobody sets it, in sequential pages.
const RANDOM_PAGE_COST: f64 = 4.0;

/// Factors below this are none.
const SAME: f64 = 1.1;

/// What the break-even is computed from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Rows of the table.
    pub(super) rows: u64,
    /// Milliseconds of a full scan.
    pub(super) scan: f64,
    /// Microseconds of waiting a block of it.
    pub(super) block: f64,
}

impl Costs {
    /// Per cent of the rows whose look-ups, of so many milliseconds each, take as long as a full scan.
    pub(super) fn break_even(&self, lookup: f64) -> Option<f64> {
        (lookup > 0.0 && self.scan > 0.0).then(|| (self.scan / lookup / self.rows as f64 * 100.0).min(100.0))
    }
}

/// Measures a full scan, and look-ups that find everything cached.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    facts: InnerFacts,
    rand: u8,
    journal: &mut dyn Journal,
) -> Result<Costs, ExperimentError> {
    journal.step("scanning the table", Duration::from_secs(2));
    let (mut elapsed, mut io, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.parameters.repeat.min(SCANS_MAX) {
        bench.check_stop()?;
        let cost = bench.engine.scan()?;
        elapsed.push(cost.elapsed.as_millis());
        io.push(cost.table.time.as_micros() / facts.table_blocks.max(1) as f64);
        rows.push(cost.cpu.0 as f64 / cost.found.rows.max(1) as f64);
    }
    let mut case = Case::new(bench.case_parameters(rand));
    case.parameters.insert("access".into(), json!("full-scan"));
    let (clock, waiting) = match bench.is_virtual() {
        true => ("virtual clock", "virtual clock, around each wait"),
        false => ("clock", "clock, around each wait"),
    };
    case.metrics.extend(Metric::of_samples("elapsed", Unit::Milliseconds, clock, &elapsed));
    case.metrics.extend(Metric::of_samples("sequential_block", Unit::Microseconds, waiting, &io));
    if !bench.is_virtual() {
        // Reading and verifying the row's block are in it, as they are in a scan.
        case.metrics.extend(Metric::of_samples("row", Unit::Nanoseconds, "process cpu clock", &rows));
    }
    let median = |name: &str| case.metric(name).map_or(0.0, Metric::median);
    let costs = Costs { rows: bench.parameters.rows, scan: median("elapsed"), block: median("sequential_block") };
    journal.keep(case)?;
    if !bench.is_virtual() {
        cached(bench, rand, journal)?;
    }
    Ok(costs)
}

/// Look-ups that find everything cached.
fn cached(bench: &mut Bench<'_>, rand: u8, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    journal.step("looking up what is cached", Duration::from_secs(1));
    let outer_rows = bench.parameters.outer_rows.min(bench.parameters.pool / 8192 / CACHED_PART);
    let pass = JoinPass { method: Method::OneAtATime, first_key: 1, outer_rows };
    let mut lookups = Vec::new();
    for _ in 0..bench.parameters.repeat.min(SCANS_MAX) {
        bench.check_stop()?;
        let cost = bench.engine.join_again(&pass)?;
        if cost.found.blocks == 0 && outer_rows > 0 {
            lookups.push(cost.elapsed.as_micros() / outer_rows as f64);
        }
    }
    let mut case = Case::new(bench.case_parameters(rand));
    case.parameters.insert("access".into(), json!("cached"));
    case.metrics.extend(Metric::of_samples("cached_block", Unit::Microseconds, "clock, over look-ups", &lookups));
    if case.metrics.is_empty() {
        return Ok(());
    }
    Ok(journal.keep(case)?)
}

/// What a planner that knows nothing of gathering gets wrong here.
pub(super) fn report(bench: &Bench<'_>, rand: u8, measured: &[Measured], costs: Costs, journal: &mut dyn Journal) {
    let alone = measured.iter().find(|case| case.plan.name == JoinMethod::OneAtATime);
    let gathered = measured.iter().filter(|case| case.plan.name != JoinMethod::OneAtATime);
    let best = gathered.min_by(|one, other| one.elapsed.total_cmp(&other.elapsed));
    let (Some(alone), Some(best)) = (alone, best) else { return };
    let (Some(block), Some(gathered)) = (alone.random_block, best.random_block) else { return };
    let (Some(even), Some(even_gathered)) = (alone.break_even, best.break_even) else { return };
    let name = best.plan.name.name();
    let place = if bench.is_virtual() { "On this model" } else { "Here" };
    // Beyond all rows there is nothing that a scan could win.
    let from = |even: Spread| match even.median < 100.0 {
        true => format!("from {} % of the rows on", even.in_words()),
        false => "for no part of the rows".into(),
    };
    journal.find(Finding::info(
        "planner-view",
        format!(
            "{place}, with {rand} % of the rows out of order, a random block of the inner table takes {} µs one at a \
             time and {} µs by {name}; medians, with their ranges. A full scan is faster {} when look-ups come one at \
             a time, and {} by {name}. {}{}",
            block.in_words(),
            gathered.in_words(),
            from(even),
            from(even_gathered),
            single_reads(alone.elapsed / best.elapsed.max(f64::MIN_POSITIVE), name),
            random_page_cost(block.median, gathered.median, costs.block, name)
        ),
    ));
}

/// What a planner gets wrong that prices each block as a read by itself: `factor` is the time of a join one at a time
/// in that by the method `name`.
fn single_reads(factor: f64, name: &str) -> String {
    if factor < SAME {
        return format!("By {name} a join is no faster in earnest, so that single reads are its right price.");
    }
    format!(
        "A planner that knows the price of single reads takes a nested loop for {} times as dear as it is by {name}, \
         and gives it up too early by that factor.",
        three_digits(factor)
    )
}

/// What PostgreSQL's constant, which knows nothing of gathering, has to do with what was measured.
fn random_page_cost(alone: f64, gathered: f64, sequential: f64, name: &str) -> String {
    if sequential <= 0.0 {
        return String::new();
    }
    let pages = gathered / sequential;
    let error = match RANDOM_PAGE_COST / pages {
        dear if dear >= SAME => format!("{} times too dear", three_digits(dear)),
        cheap if cheap <= 1.0 / SAME => format!("{} times too cheap", three_digits(1.0 / cheap)),
        _ => "right".into(),
    };
    format!(
        " PostgreSQL's random_page_cost, usually {RANDOM_PAGE_COST} sequential blocks for rows gathered or not, stands \
         beside {} measured one at a time and {} by {name}, where it is {error}.",
        three_digits(alone / sequential),
        three_digits(pages)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_held_against_what_was_measured_and_not_against_itself() {
        // A hard disk: even gathered, a random block costs more than the constant says.
        assert!(random_page_cost(30.6, 9.83, 1.0, "batch").ends_with("where it is 2.46 times too cheap."));
        assert!(random_page_cost(0.48, 0.115, 1.0, "batch").ends_with("where it is 34.8 times too dear."));
        assert!(random_page_cost(8.0, 4.1, 1.0, "batch").ends_with("where it is right."));
        assert_eq!(random_page_cost(8.0, 4.1, 0.0, "batch"), "");
    }

    #[test]
    fn nothing_is_given_up_too_early_where_gathering_gains_nothing() {
        assert!(single_reads(3.0, "batch").contains("3.00 times as dear"));
        assert!(!single_reads(0.98, "batch").contains("too early"));
    }
}
