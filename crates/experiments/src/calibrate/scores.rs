//! The cases of the verification: each query with its plans, where plans change places, and how each set of constants
//! does.

use measure::schema::calibrate::parameters::{CLUSTERING, CONSTANTS, ROWS, STATE};
use measure::schema::calibrate::{self, PICKED_BY, PREDICTED, SETTING};
use measure::{Case, Metric};
use subjects::postgres::calibration::{ChosenPlan, Clustering};

use super::bench::{Bench, State};
use super::choice::Tried;
use super::constants::CACHE_SIZE;
use super::verification::{self, Query, Verified};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// The sets of constants that queries and crossovers are shown with.
const SETS: [&str; 3] = ["now", "measured", "recommended"];

/// Keeps all cases of a state.
pub(super) fn keep(
    bench: &mut Bench<'_>,
    verified: &Verified,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    for at in 0..verified.queries.len() {
        journal.keep(query(bench, verified, at))?;
    }
    for clustering in Clustering::ALL {
        let case = crossover(bench, verified, clustering)?;
        journal.keep(case)?;
    }
    for tried in &verified.compared.tried {
        let state = STATE.of(verified.state.name());
        let mut case = bench.case("verification", [state, CONSTANTS.of(tried.name.as_str())]);
        case.metrics = score(tried, verified);
        // Cold, each query would need another restart, and the plans that are picked were timed just so.
        let is_run = tried.name == "now" || tried.name == "measured";
        if is_run && verified.state == State::Cached {
            let sums = verification::run_all(bench, verified, &tried.constants, journal)?;
            let source = "all queries once, run as the planner likes by these constants: execution times by EXPLAIN";
            case.metrics.extend(calibrate::RUN_TIME.of_samples(source, &sums));
        }
        journal.keep(case)?;
    }
    Ok(())
}

/// The times of a query's plans, and of those that were picked.
fn query(bench: &Bench<'_>, verified: &Verified, at: usize) -> Case {
    let query: &Query = &verified.queries[at];
    let parameters = [STATE.of(verified.state.name()), CLUSTERING.of(query.clustering.name()), ROWS.of(query.rows)];
    let mut case = bench.case("query", parameters);
    let share = 100.0 * query.rows as f64 / bench.tables.sizes().rows.max(1) as f64;
    case.metrics.push(calibrate::SELECTIVITY.single("rows asked for, of all", share));
    let specs = [calibrate::FULL_SCAN_TIME, calibrate::INDEX_TIME, calibrate::BITMAP_TIME];
    for (spec, millis) in specs.iter().zip(&query.millis) {
        case.metrics.extend(spec.of_samples("execution time by EXPLAIN, every other plan turned off", millis));
    }
    let times = query.times();
    for name in SETS {
        let pick = verified.compared.of(name).and_then(|tried| *tried.picks.get(at)?);
        let place = pick.and_then(|pick| ChosenPlan::ALL.into_iter().position(|plan| plan == pick));
        let source = "median of the plan that the planner picks by these constants, as EXPLAIN shows it";
        case.metrics.extend(place.map(|place| PICKED_BY.of(name).single(source, times[place])));
    }
    case
}

/// Where plans change places, by the planner's estimate and by the clock.
fn crossover(bench: &mut Bench<'_>, verified: &Verified, clustering: Clustering) -> Result<Case, ExperimentError> {
    let mut case = bench.case("crossover", [STATE.of(verified.state.name()), CLUSTERING.of(clustering.name())]);
    for name in SETS {
        let Some(tried) = verified.compared.of(name) else { continue };
        let found = verification::predicted(bench, clustering, &tried.constants)?;
        let source = "part of the rows from which on EXPLAIN gives a full scan by these constants, by halving";
        case.metrics.extend(found.map(|part| PREDICTED.of(name).single(source, part)));
    }
    let source = "part of the rows from which on a full scan is faster than both scans by the index, between two \
                  queries by a line in logarithms";
    let clock = verification::measured(bench, &verified.queries, clustering);
    case.metrics.extend(clock.map(|part| calibrate::CLOCKED.single(source, part)));
    Ok(case)
}

/// How a set of constants does.
fn score(tried: &Tried, verified: &Verified) -> Vec<Metric> {
    let picked = "queries for which the plan that is picked takes at most 5 % more than the fastest";
    let mut metrics = vec![
        calibrate::QUERIES.count("queries of the verification", verified.queries.len() as u64),
        calibrate::FASTEST_PICKED.count(picked, tried.score.right as u64),
        calibrate::VERIFICATION_TIME.single("medians of the plans that are picked", tried.score.total),
        calibrate::FASTEST_TIME.single("medians of the fastest plans", verified.compared.fastest),
        calibrate::LOST.single("time less that of the fastest plans", tried.score.lost),
    ];
    metrics.extend(tried.constants.iter().map(|(name, value)| {
        let spec = if *name == CACHE_SIZE { calibrate::CACHE_BLOCKS } else { SETTING.of(name) };
        spec.single("set in the session", *value)
    }));
    metrics
}
