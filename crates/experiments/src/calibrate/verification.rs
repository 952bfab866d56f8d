//! Whether the planner chooses better by the measured constants: queries on either side of where plans change places,
//! each plan forced and timed, and what the planner picks by one set of constants and by another.

use std::time::Duration;

use measure::statistics::median;
use subjects::postgres::calibration::{ChosenPlan, Clustering, Probe, Ways};

use super::bench::{Bench, State};
use super::choice::{Choices, Compared, Picks};
use super::estimate::crossover;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Parts of the rows that queries ask for, from a few rows to where an index no longer pays.
const SHARES: [f64; 6] = [0.0003, 0.003, 0.01, 0.03, 0.1, 0.3];

/// Halvings of the interval in which the planner changes plans: a part in a thousand.
const HALVINGS: usize = 14;

/// A query with the times of its plans.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    pub(super) clustering: Clustering,
    pub(super) rows: u64,
    /// Milliseconds, in the order of [`ChosenPlan::ALL`].
    pub(super) millis: Vec<Vec<f64>>,
}

impl Query {
    fn probe(&self) -> Probe {
        Probe::Fetch { clustering: self.clustering, rows: self.rows }
    }

    /// Medians, in the order of [`ChosenPlan::ALL`].
    pub(super) fn times(&self) -> Vec<f64> {
        self.millis.iter().map(|millis| median(millis).unwrap_or(0.0)).collect()
    }
}

/// What was found in one state.
pub(super) struct Verified {
    pub(super) state: State,
    pub(super) compared: Compared,
    pub(super) queries: Vec<Query>,
}

/// Times every plan of every query.
pub(super) fn time(
    bench: &mut Bench<'_>,
    state: State,
    journal: &mut dyn Journal,
) -> Result<Vec<Query>, ExperimentError> {
    let rows = bench.tables.sizes().rows;
    let mut queries: Vec<Query> = Vec::new();
    for clustering in Clustering::ALL {
        for share in SHARES {
            let rows = ((rows as f64 * share) as u64).max(1);
            queries.push(Query { clustering, rows, millis: vec![Vec::new(); ChosenPlan::ALL.len()] });
        }
    }
    let rounds = bench.rounds(state);
    if state == State::Cached {
        bench.tables.warm(1.0)?;
    }
    for round in 0..rounds {
        let expected = Duration::from_secs(60 * (rounds - round) as u64 / if state == State::Cold { 1 } else { 10 });
        journal.step(&format!("{} queries, {}, each plan forced", queries.len(), state.name()), expected);
        for query in &mut queries {
            for (at, plan) in ChosenPlan::ALL.into_iter().enumerate() {
                let taken = run(bench, state, (query.probe(), Ways::Only(plan)), journal)?;
                query.millis[at].push(taken);
            }
        }
        bench.look(journal);
    }
    Ok(queries)
}

/// Milliseconds of a statement in this state.
fn run(
    bench: &mut Bench<'_>,
    state: State,
    (probe, ways): (Probe, Ways),
    journal: &mut dyn Journal,
) -> Result<f64, ExperimentError> {
    if state == State::Cold {
        bench.cool(journal)?;
        // The constants went with the session.
        let constants = std::mem::take(&mut bench.constants);
        bench.set_constants(&constants)?;
    }
    bench.tables.allow(ways)?;
    bench.tables.chosen(probe)?;
    Ok(bench.tables.execute(probe, ways)?.micros / 1e3)
}

/// Milliseconds of all queries together, run as the planner likes by these constants.
pub(super) fn run_all(
    bench: &mut Bench<'_>,
    Verified { state, queries, .. }: &Verified,
    constants: &[(&'static str, f64)],
    journal: &mut dyn Journal,
) -> Result<Vec<f64>, ExperimentError> {
    let mut sums = Vec::new();
    for _ in 0..bench.rounds(*state).min(3) {
        let mut sum = 0.0;
        bench.set_constants(constants)?;
        for query in queries {
            sum += run(bench, *state, (query.probe(), Ways::All), journal)?;
        }
        sums.push(sum);
    }
    bench.set_constants(&[])?;
    Ok(sums)
}

/// What the planner chooses for each query by these constants.
pub(super) fn picks(
    bench: &mut Bench<'_>,
    queries: &[Query],
    constants: &[(&'static str, f64)],
) -> Result<Picks, ExperimentError> {
    bench.set_constants(constants)?;
    bench.tables.allow(Ways::All)?;
    let mut picks = Vec::new();
    for query in queries {
        picks.push(bench.tables.chosen(query.probe())?);
    }
    bench.set_constants(&[])?;
    Ok(picks)
}

/// What each query's plans take.
pub(super) fn choices(queries: &[Query]) -> Choices {
    Choices { millis: queries.iter().map(Query::times).collect() }
}

/// The part of the rows, in percent, from which on the planner reads the whole table; `None` where it never does.
pub(super) fn predicted(
    bench: &mut Bench<'_>,
    clustering: Clustering,
    constants: &[(&'static str, f64)],
) -> Result<Option<f64>, ExperimentError> {
    let all = bench.tables.sizes().rows as f64;
    bench.set_constants(constants)?;
    bench.tables.allow(Ways::All)?;
    let (mut by_index, mut by_scan) = (1.0_f64, all);
    let is_scan = |bench: &mut Bench<'_>, rows: f64| -> Result<bool, ExperimentError> {
        let chosen = bench.tables.chosen(Probe::Fetch { clustering, rows: rows as u64 })?;
        Ok(chosen == Some(ChosenPlan::FullScan))
    };
    let crosses = is_scan(bench, by_scan)? && !is_scan(bench, by_index)?;
    for _ in 0..if crosses { HALVINGS } else { 0 } {
        let middle = (by_index * by_scan).sqrt();
        if is_scan(bench, middle)? { by_scan = middle } else { by_index = middle }
    }
    bench.set_constants(&[])?;
    Ok(crosses.then_some(100.0 * by_scan / all))
}

/// The same as it was measured: from where on the full scan is faster than the faster of the two others.
pub(super) fn measured(bench: &Bench<'_>, queries: &[Query], clustering: Clustering) -> Option<f64> {
    let all = bench.tables.sizes().rows as f64;
    let of = queries.iter().filter(|query| query.clustering == clustering);
    let points: Vec<(f64, f64, f64)> = of
        .map(|query| {
            let times = query.times();
            (100.0 * query.rows as f64 / all, times[1].min(times[2]), times[0])
        })
        .collect();
    crossover(&points)
}
