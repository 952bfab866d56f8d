//! What a planner would need to know: what a block and a row cost by each way, and up to which part of the table a
//! nested loop is the faster way.

use std::time::{Duration, Instant};

use measure::quantity::{counted, three_digits};
use measure::schema::join::findings as row;
use measure::schema::join::{self, BLOCKS_MIN, parameters};
use measure::{Case, Metric, Unit};
use subjects::nested_loops::{InnerFacts, InnerTable};

use super::bench::{Bench, Measured, SAME};
use crate::disk::on;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::sampling::{each, time_left};

/// Scans of the whole table, at most: they are long, and alike.
const SCANS_MAX: usize = 5;

/// About how long one of them takes, before one has been timed.
const SCAN_TIME: Duration = Duration::from_secs(2);

/// PostgreSQL's default of `random_page_cost`, in sequential pages.
const RANDOM_PAGE_COST: f64 = 4.0;

/// A break-even of all rows, in percent, is none.
const ALL_ROWS: f64 = 100.0;

/// What the break-even is computed from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Rows of the table.
    pub(super) rows: u64,
    /// Its blocks.
    pub(super) blocks: u64,
    /// Milliseconds of a full scan.
    pub(super) scan: f64,
    /// Microseconds of waiting a block of it; 0 where waits are not timed.
    pub(super) block: f64,
}

impl Costs {
    /// Per cent of the rows whose look-ups, of this many milliseconds each, take as long as a full scan; `None` for a
    /// table of so few blocks that its scan is one request.
    pub(super) fn break_even(&self, lookup: f64) -> Option<f64> {
        (lookup > 0.0 && self.scan > 0.0 && self.blocks >= BLOCKS_MIN)
            .then(|| (self.scan / lookup / self.rows as f64 * 100.0).min(ALL_ROWS))
    }
}

/// Measures a full scan, and look-ups that find everything cached; `None` where the subject has no scan.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    (table, facts): (InnerTable, &InnerFacts),
    journal: &mut dyn Journal,
) -> Result<Option<Costs>, ExperimentError> {
    let Some(group) = facts.groups.first() else { return Ok(None) };
    let (begun, all) = (Instant::now(), bench.parameters.repeat().min(SCANS_MAX));
    let mut scans = Vec::new();
    for done in 0..all {
        bench.machine.stop.check()?;
        journal.step("scanning the table", time_left(each(begun.elapsed(), done, SCAN_TIME), (done, all)));
        let Some(cost) = bench.subject.scan()? else { return Ok(None) };
        scans.push(cost);
    }
    let mut case = Case::new(bench.labels(table, facts, group));
    case.parameters.extend([parameters::ACCESS.of("full-scan")]);
    let sources = &facts.sources;
    let elapsed: Vec<f64> = scans.iter().map(|cost| cost.elapsed.as_millis()).collect();
    let blocks: Option<Vec<f64>> =
        scans.iter().map(|cost| Some(cost.waiting?.as_micros() / cost.blocks.max(1) as f64)).collect();
    // Reading and verifying the row's block are in it, as they are in a scan.
    let rows: Option<Vec<f64>> = scans.iter().map(|cost| Some(cost.cpu?.0 as f64 / cost.rows.max(1) as f64)).collect();
    case.metrics.extend(join::ELAPSED.of_samples(sources.elapsed, &elapsed));
    case.metrics.extend(join::SEQUENTIAL_BLOCK.of_samples(sources.waiting, &blocks.unwrap_or_default()));
    case.metrics.extend(join::ROW.of_samples(sources.cpu, &rows.unwrap_or_default()));
    let median = |spec: &measure::schema::Spec| spec.median(&case).unwrap_or(0.0);
    let (scan, block) = (median(&join::ELAPSED), median(&join::SEQUENTIAL_BLOCK));
    let blocks = scans.iter().map(|cost| cost.blocks).max().unwrap_or(0);
    let costs = Costs { rows: table.rows, blocks, scan, block };
    journal.keep(case)?;
    cached(bench, (table, facts), journal)?;
    Ok(Some(costs))
}

/// Look-ups that find everything cached.
fn cached(
    bench: &mut Bench<'_>,
    (table, facts): (InnerTable, &InnerFacts),
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    journal.step("looking up what is cached", Duration::from_secs(1));
    let mut lookups = Vec::new();
    for _ in 0..bench.parameters.repeat().min(SCANS_MAX) {
        bench.machine.stop.check()?;
        let Some(cost) = bench.subject.join_cached(bench.parameters.outer_rows)? else { return Ok(()) };
        if cost.read == 0 && cost.lookups > 0 {
            lookups.push(cost.elapsed.as_micros() / cost.lookups as f64);
        }
    }
    let Some(metric) = join::CACHED_BLOCK.of_samples("clock, over look-ups", &lookups) else { return Ok(()) };
    let mut case = Case::new(bench.labels(table, facts, &facts.groups[0]));
    case.parameters.extend([parameters::ACCESS.of("cached")]);
    case.metrics.push(metric);
    Ok(journal.keep(case)?)
}

/// A figure with its unit, and its least and its greatest sample where they differ, as a sentence writes it.
fn in_words(metric: &Metric, unit: &str) -> String {
    let [median, min, max] = [metric.median(), metric.statistics.min, metric.statistics.max].map(three_digits);
    if min == max { format!("{median} {unit}") } else { format!("{median} {unit} ({min} to {max})") }
}

/// What a planner that knows nothing of gathering gets wrong here; `name` is the subject's where there are several.
pub(super) fn report(
    (rand, is_virtual): (u8, bool),
    name: Option<&str>,
    measured: &[Measured],
    costs: Option<Costs>,
    journal: &mut dyn Journal,
) {
    let alone = measured.iter().find(|case| !case.variant.is_gathered);
    let gathered = measured.iter().filter(|case| case.variant.is_gathered);
    let best = gathered.min_by(|one, other| one.elapsed().total_cmp(&other.elapsed()));
    let (Some(alone), Some(best), Some(costs)) = (alone, best, costs) else { return };
    if costs.blocks < BLOCKS_MIN {
        let message = format!(
            "The table has {}; fewer than {BLOCKS_MIN} are too few to derive a planner cost: ask for more --rows.",
            counted(costs.blocks, "block", "blocks")
        );
        return journal.find(on(name, row::ABSENT_PLANNER_VIEW.of(message)));
    }
    // Of such joins no gain is given either.
    if alone.has_few_blocks() || best.has_few_blocks() {
        return;
    }
    let both = |spec: &measure::schema::Spec| Some((spec.in_case(&alone.case)?, spec.in_case(&best.case)?));
    let (Some((block, gathered)), Some((even, even_gathered))) = (both(&join::RANDOM_BLOCK), both(&join::BREAK_EVEN))
    else {
        return;
    };
    let method = best.variant.method;
    let place = match (name, is_virtual) {
        (Some(name), _) => format!("On {name}"),
        (None, true) => "On this model".into(),
        (None, false) => "Here".into(),
    };
    // Beyond all rows there is nothing that a scan could win.
    let is_part = |even: &Metric| even.median() < ALL_ROWS;
    let from = |even: &Metric| match is_part(even) {
        true => format!("from {} of the rows on", in_words(even, "%")),
        false => "for no part of the rows".into(),
    };
    let factor = alone.elapsed() / best.elapsed().max(f64::MIN_POSITIVE);
    let message = format!(
        "{place}, with {rand} % of the rows out of order, a random block of the inner table takes {} one at a time and \
         {} by {method}; medians, with their ranges. A full scan is faster {} when look-ups come one at a time, and {} \
         by {method}. {}{}",
        in_words(block, "µs"),
        in_words(gathered, "µs"),
        from(even),
        from(even_gathered),
        single_reads(factor, method),
        random_page_cost(block.median(), gathered.median(), costs.block, method)
    );
    let parts = [("break_even", even), ("break_even_gathered", even_gathered)];
    let parts = parts.into_iter().filter(|(_, even)| is_part(even));
    let finding = row::PLANNER_VIEW.of(message).with("factor", factor, Unit::Ratio);
    journal.find(parts.fold(finding, |finding, (name, even)| finding.with(name, even.median(), Unit::Percent)));
}

/// What a planner gets wrong that prices each block as a single read: `factor` is the time of a join one at a time
/// in that by the method `name`.
fn single_reads(factor: f64, name: &str) -> String {
    let times = three_digits(factor);
    match factor < SAME {
        true => format!(
            "By {name} a join is {times} times as fast, which is no real gain: the price of single reads is right for \
             it."
        ),
        false => format!(
            "A planner that prices each block as a single read overestimates a nested loop by {name} {times} times, \
             and switches to a full scan too early by that factor."
        ),
    }
}

/// What PostgreSQL's constant, which knows nothing of gathering, has to do with what was measured.
fn random_page_cost(alone: f64, gathered: f64, sequential: f64, name: &str) -> String {
    if sequential <= 0.0 {
        return String::new();
    }
    let pages = gathered / sequential;
    let error = match RANDOM_PAGE_COST / pages {
        high if high >= SAME => format!("{} times too high", three_digits(high)),
        low if low <= 1.0 / SAME => format!("{} times too low", three_digits(1.0 / low)),
        _ => "right".into(),
    };
    let [single, pages] = [alone / sequential, pages].map(three_digits);
    format!(
        " PostgreSQL's random_page_cost, usually {RANDOM_PAGE_COST} sequential blocks for single and batched reads \
         alike, compares with {single} measured one at a time and {pages} by {name}, where it is {error}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_held_against_what_was_measured_and_not_against_itself() {
        // A hard disk: even gathered, a random block costs more than the constant says.
        assert!(random_page_cost(30.6, 9.83, 1.0, "batch").ends_with("where it is 2.46 times too low."));
        assert!(random_page_cost(0.48, 0.115, 1.0, "batch").ends_with("where it is 34.8 times too high."));
        assert!(random_page_cost(8.0, 4.1, 1.0, "batch").ends_with("where it is right."));
        assert_eq!(random_page_cost(8.0, 4.1, 0.0, "batch"), "");
    }

    #[test]
    fn a_table_of_a_few_blocks_pays_up_to_no_part_of_its_rows() {
        let of = |blocks| Costs { rows: 7 * blocks, blocks, scan: 10.0, block: 30.0 }.break_even(0.1);
        assert_eq!(of(BLOCKS_MIN - 1), None);
        assert!(of(BLOCKS_MIN).is_some());
    }

    #[test]
    fn nothing_is_given_up_too_early_where_gathering_gains_nothing() {
        assert!(single_reads(3.0, "batch").contains("by batch 3.00 times, and"));
        assert!(!single_reads(0.98, "batch").contains("too early"));
    }
}
