//! Where no constants help: queries whose fastest plan none of the sets leads to, and what stands in its way.

use std::time::Duration;

use measure::quantity::counted;
use measure::schema::calibrate;
use measure::schema::calibrate::parameters::{ADVICE, NODE_NOW, NODE_THEN, QUERY};
use measure::statistics::median;
use subjects::postgres::calibration::Plan;
use subjects::postgres::calibration::queries::{Answered, PARALLEL, Unfinished};

use super::advice::{advice, worst_estimate};
use super::bench::Bench;
use super::comparison::{Compared, Comparison};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Ways of the planner that are closed one at a time, with the major version that has each.
const TOGGLES: [(&str, u32); 10] = [
    ("enable_nestloop", 13),
    ("enable_hashjoin", 13),
    ("enable_mergejoin", 13),
    ("enable_seqscan", 13),
    ("enable_indexscan", 13),
    ("enable_bitmapscan", 13),
    ("enable_sort", 13),
    ("enable_hashagg", 13),
    ("enable_memoize", 14),
    (PARALLEL, 13),
];

/// Runs of each other plan, after one that is not counted.
const RUNS: usize = 2;

/// A plan is worth a word when it takes at most this part of what the best set's takes, and saves this number of
/// milliseconds.
const GAIN: f64 = 0.75;
const GAIN_MILLIS: f64 = 0.5;

/// The first run of another plan may take this many times what the best takes: it may read what no plan has read yet.
const FIRST: f64 = 2.0;

/// Least limit of a run: seconds.
const LIMIT_MIN: f64 = 0.05;

/// Looks for faster plans of the user's queries by closing the planner's ways, and keeps a case for each query that has
/// one. Returns the queries that cannot be run, each with the reason: one whose plan no set changes is run here first.
pub(super) fn look(
    bench: &mut Bench<'_>,
    comparison: &Comparison,
    journal: &mut dyn Journal,
) -> Result<Vec<(String, Unfinished)>, ExperimentError> {
    let mut refused = Vec::new();
    let queries = still_run(comparison);
    let count = queries.len() as u64;
    journal.step(&format!("other plans of {}", counted(count, "query", "queries")), Duration::from_secs(count));
    let major = bench.tables.facts().major();
    let toggles: Vec<&str> = TOGGLES.iter().filter(|(_, since)| major >= *since).map(|(name, _)| *name).collect();
    bench.set_constants(&[])?;
    for one in queries {
        bench.tables.close_ways(&[], &toggles)?;
        let (best, now) = match best_of_sets(bench, one)? {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(why) => {
                refused.push((one.query.name.clone(), why));
                continue;
            }
        };
        let mut fastest: Option<(Plan, f64)> = None;
        let mut seen: Vec<String> = one.reached.clone();
        for toggle in &toggles {
            bench.tables.close_ways(&[toggle], &toggles)?;
            let Ok(plan) = bench.tables.plan_of(&one.query)? else { continue };
            let outline = plan.top.outline();
            if seen.contains(&outline) && !bench.tables.is_rehearsal() {
                continue;
            }
            seen.push(outline);
            let limits = limits(best, bench.time_limit());
            let Some((millis, plan)) = timed(bench, one, limits)? else { continue };
            if millis < best * GAIN
                && best - millis > GAIN_MILLIS
                && fastest.as_ref().is_none_or(|(_, other)| millis < *other)
            {
                fastest = Some((plan, millis));
            }
        }
        if let Some((plan, millis)) = fastest {
            keep(bench, one, (&now, best), (&plan, millis), journal)?;
        }
    }
    bench.tables.close_ways(&[], &toggles)?;
    Ok(refused)
}

/// The queries that can be run: one that met a lock or an error in its turns, or whose plan changed, is not run again.
/// One that was left at the time limit is: it takes long, and another plan may be worth most.
fn still_run(comparison: &Comparison) -> Vec<&Compared> {
    let is_run = |one: &&Compared| one.can_be_timed() || (one.not_timed.is_none() && one.reached_limit);
    comparison.compared.iter().filter(is_run).collect()
}

/// Limits of the first run of another plan and of those that count, where the best takes these milliseconds: what takes
/// longer is of no use.
fn limits(best: f64, most: Duration) -> [Duration; 2] {
    [FIRST, GAIN].map(|part| {
        // The times are the server's, which may give any number.
        let limit = Duration::try_from_secs_f64((best * part / 1e3).max(LIMIT_MIN));
        limit.unwrap_or(Duration::MAX).min(most)
    })
}

/// The least time of the plans by the sets, and the plan by the server's own with what each step did; a sentence where
/// the query cannot be run. Of a query that reached the time limit by the server's own, the quickest plan.
fn best_of_sets(bench: &mut Bench<'_>, one: &Compared) -> Result<Answered<Option<(f64, Plan)>>, ExperimentError> {
    let limit = bench.time_limit();
    if one.is_now_ended() {
        let why = || format!("it takes longer than {} s, and no plan that was timed is quicker", limit.as_secs_f64());
        return Ok(one.quickest.clone().map(Some).ok_or_else(|| Unfinished::TooLong(why())));
    }
    // A query whose plan no set changes has not been run.
    let plan = match bench.tables.run_query(&one.query, limit)? {
        Ok(plan) => plan,
        Err(why) => return Ok(one.quickest.clone().map(Some).ok_or(why)),
    };
    let millis = match &one.quickest {
        Some((millis, _)) => Some(least(*millis, &plan)),
        None => timed(bench, one, [limit, limit])?.map(|(millis, _)| millis),
    };
    Ok(Ok(millis.map(|millis| (millis, plan))))
}

/// The least time of plans that were timed before, and of one that ran just now: the server may have been busy before,
/// and any plan would seem faster now.
fn least(before: f64, just_now: &Plan) -> f64 {
    just_now.execution_ms.map_or(before, |millis| millis.min(before))
}

/// The median of some runs, and the plan of the last with what each step did; `None` where the first, which is not
/// counted, or another one takes too long.
fn timed(
    bench: &mut Bench<'_>,
    one: &Compared,
    [first, others]: [Duration; 2],
) -> Result<Option<(f64, Plan)>, ExperimentError> {
    let (mut millis, mut last) = (Vec::new(), None);
    for run in 0..=RUNS {
        let limit = if run == 0 { first } else { others };
        let Ok(plan) = bench.tables.run_query(&one.query, limit)? else { return Ok(None) };
        millis.extend(plan.execution_ms.filter(|_| run > 0));
        last = Some(plan);
    }
    Ok(median(&millis).zip(last))
}

fn keep(
    bench: &Bench<'_>,
    one: &Compared,
    (now, best): (&Plan, f64),
    (fast, millis): (&Plan, f64),
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let (before, after) = now.top.difference(&fast.top).unwrap_or((&now.top, &fast.top));
    let parameters = [
        QUERY.of(one.query.name.as_str()),
        NODE_NOW.of(before.described()),
        NODE_THEN.of(after.described()),
        ADVICE.of(advice(now, fast)),
    ];
    let mut case = bench.case("remedy", parameters);
    case.metrics.push(calibrate::TIME_NOW.single("the least time of the plans by all sets of constants", best));
    case.metrics
        .push(calibrate::TIME_THEN.single("median of the plan when other planner methods are disabled", millis));
    if let Some((_, off)) = worst_estimate(now) {
        case.metrics.push(calibrate::ESTIMATE_OFF.single("rows of EXPLAIN ANALYZE and those that were expected", off));
    }
    Ok(journal.keep(case)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::bench::State;
    use crate::calibrate::comparison::Variant;
    use crate::calibrate::sets::own;

    #[test]
    fn a_query_that_could_not_be_run_to_its_end_is_not_run_again_for_plans_that_no_constants_lead_to() {
        let timed = |name| Compared::of(name, vec![Variant::of(&[0], &[10.0; 3])]);
        let refused = Some(Unfinished::Refused("it writes".into()));
        let left = Compared { is_left: true, ..timed("met a lock") };
        let slow = Compared { is_left: true, reached_limit: true, ..timed("reached the limit") };
        let all = vec![left, slow, Compared { not_timed: refused, ..timed("writes") }, timed("runs")];
        let comparison = Comparison::timed(State::AsFound, vec![own()], all);
        let found: Vec<&str> = still_run(&comparison).iter().map(|one| one.query.name.as_str()).collect();
        assert_eq!(found, ["reached the limit", "runs"]);
    }

    #[test]
    fn a_plan_is_not_faster_than_that_now_because_the_server_was_busy_when_that_was_timed() {
        let run = |execution_ms| Plan { execution_ms, ..Plan::default() };
        assert_eq!([Some(50.0), Some(120.0), None].map(|millis| least(90.0, &run(millis))), [50.0, 90.0, 90.0]);
    }

    #[test]
    fn a_first_run_that_has_to_read_its_blocks_is_not_ended_before_those_that_find_them() {
        let of = |best: f64, most| limits(best, Duration::from_millis(most)).map(|limit| limit.as_millis());
        assert_eq!(of(1000.0, 10_000), [2000, 750]);
        assert_eq!(of(1000.0, 1500), [1500, 750], "no query takes longer than it may");
        assert_eq!(of(1.0, 10_000), [50, 50]);
    }

    #[test]
    fn a_time_longer_than_any_duration_by_the_server_is_no_panic() {
        let most = Duration::from_secs(10);
        assert_eq!(limits(1e300, most), [most; 2]);
    }
}
