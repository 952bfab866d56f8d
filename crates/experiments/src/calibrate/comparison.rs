//! Queries under several sets of constants: which plans change, and what they take, in turns.
//!
//! This file holds the two steps: `plan` asks for the plans of all queries, and `time` runs those that sets change.

mod compared;
mod further_rounds;
mod one_state;
mod places;
mod turns;
mod variant;

use std::time::Duration;

use measure::Finding;
use measure::quantity::counted;
use subjects::postgres::calibration::Plan;
use subjects::postgres::calibration::queries::{Query, Unfinished};

pub(super) use compared::Compared;
pub(super) use one_state::{Comparison, EndedBy, Others};
pub(super) use variant::Variant;

use super::bench::{Bench, State};
use super::sets::{ConstantSet, own};
use crate::error::ExperimentError;
use crate::journal::Journal;
use compared::limit_by;
pub(super) use further_rounds::Between;
use further_rounds::{AGAIN, more_time, run_again};
use turns::{Round, take_turns};
use variant::is_same;

/// Rounds that are run whatever they take, after one that is not counted.
const ROUNDS_MIN: usize = 3;

/// How long further rounds may begin, after the first: of readpath's own queries, and of the user's, whose length is
/// not ours to choose. With few turns, two runs in a row advise different sets.
const ROUNDS_TIME: Duration = Duration::from_secs(20);
const ROUNDS_TIME_AS_FOUND: Duration = Duration::from_secs(60);

/// Rounds of a dry run, which would only repeat them.
const ROUNDS_REHEARSED: usize = 2;

/// Asks for the plans of all queries by each set.
pub(super) fn plan(
    bench: &mut Bench<'_>,
    state: State,
    queries: Vec<Query>,
    sets: &[ConstantSet],
    journal: &mut dyn Journal,
) -> Result<Comparison, ExperimentError> {
    let count = counted(queries.len() as u64, "query", "queries");
    journal.step(&format!("plans of {count}, {}", state.in_words()), Duration::from_secs(2));
    bench.tables.plan_as_users_do()?;
    bench.tables.watch_others();
    let sets: Vec<ConstantSet> = [own()].into_iter().chain(sets.iter().cloned()).collect();
    let mut compared: Vec<Compared> = queries
        .into_iter()
        .map(|query| {
            let not_timed = query.not_run.clone();
            let (variants, reached, reached_limit) = (Vec::new(), Vec::new(), false);
            Compared { query, variants, turn: 0, reached, not_timed, reached_limit, is_left: false, quickest: None }
        })
        .collect();
    let mut refused = Vec::new();
    let is_rehearsal = bench.tables.is_rehearsal();
    for (at, set) in sets.iter().enumerate() {
        bench.set_constants(&set.values)?;
        let mut kept = Vec::new();
        for mut one in compared {
            match bench.tables.plan_of(&one.query)? {
                Err(why) => refused.push((one.query.name, why)),
                Ok(plan) => {
                    add(&mut one.variants, at, plan, is_rehearsal);
                    kept.push(one);
                }
            }
        }
        compared = kept;
    }
    bench.set_constants(&[])?;
    for one in &mut compared {
        one.reached = one.variants.iter().map(|variant| variant.plan.top.outline()).collect();
    }
    let (judged, exceptions) = (Vec::new(), Vec::new());
    let (is_timed, others, ended_by) = (false, Others::Quiet, EndedBy::of(bench));
    Ok(Comparison { state, sets, compared, refused, judged, exceptions, is_timed, others, ended_by })
}

/// Adds a set's plan to those that there are. A dry run, which knows no plan, takes each for another one.
fn add(variants: &mut Vec<Variant>, set: usize, plan: Plan, is_rehearsal: bool) {
    match variants.iter_mut().find(|variant| !is_rehearsal && is_same(&variant.plan, &plan)) {
        Some(variant) => variant.sets.push(set),
        None => variants.push(Variant::new(plan, set)),
    }
}

/// Times the queries whose plan some set changes, all plans of a query one after the other, in rounds. After the first
/// round, which does not count where it settles the caches, `choice` leaves the sets that go on.
pub(super) fn time(
    bench: &mut Bench<'_>,
    comparison: &mut Comparison,
    choice: Choice<'_>,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let state = comparison.state;
    let wanted = if state.is_cold() { bench.parameters.cold_rounds() } else { bench.parameters.rounds };
    let most = if state == State::AsFound { ROUNDS_TIME_AS_FOUND } else { ROUNDS_TIME };
    // Nothing settles where each run begins with empty caches, or with a table that does not fit.
    let settling = usize::from(state == State::Cached || state == State::AsFound);
    mark_all_rows(bench, comparison, journal)?;
    let mut started = bench.machine.clock.now();
    for round in 0..wanted + settling {
        let mark = bench.recorder.as_ref().map(|recorder| recorder.mark());
        let elapsed = bench.machine.clock.now().since(started);
        // Cold rounds take minutes, and are as many as were asked for.
        let is_limited = !state.is_cold() && round >= ROUNDS_MIN + settling;
        if is_limited && Duration::from_nanos(elapsed.0) > most {
            break;
        }
        let what = round_in_words(comparison, round + 1);
        journal.step(&what, Duration::from_secs(if state.is_cold() { 120 } else { 5 }));
        for one in comparison.compared.iter_mut().filter(|one| one.is_changed() && one.can_be_timed()) {
            let plans: Vec<usize> = (0..one.variants.len()).collect();
            take_turns(
                bench,
                (one, &plans),
                &comparison.sets,
                Round { state, number: round, counted: round.saturating_sub(settling), counts: round >= settling },
                journal,
            )?;
            bench.look(journal);
        }
        if round == 0 {
            journal.find_all((choice.screen)(comparison));
            started = bench.machine.clock.now();
            comparison.compared.iter_mut().filter(|_| settling > 0).for_each(Compared::forget);
        }
        if let Some((recorder, mark)) = bench.recorder.as_ref().zip(mark).filter(|_| round + 1 == ROUNDS_REHEARSED) {
            recorder.repeat_since(mark, (wanted + settling).saturating_sub(ROUNDS_REHEARSED) as u32);
            break;
        }
    }
    if state.is_own() && !bench.tables.is_rehearsal() {
        let most = more_time(state, Duration::from_nanos(bench.machine.clock.now().since(started).0));
        for again in &AGAIN {
            run_again(bench, comparison, (again, most), choice.between, journal)?;
        }
    }
    for one in &mut comparison.compared {
        one.quickest = one.find_quickest().map(|(millis, plan)| (millis, plan.clone()));
    }
    bench.set_constants(&[])?;
    comparison.is_timed = true;
    comparison.others = Others::of(bench);
    comparison.judge();
    Ok(())
}

/// What is run in a round: queries that were given up are not.
fn round_in_words(comparison: &Comparison, number: usize) -> String {
    let timed = comparison.compared.iter().filter(|one| one.is_changed() && one.can_be_timed()).count();
    let timed = counted(timed as u64, "query", "queries");
    format!("{timed} whose plan changes, {}, round {number}", comparison.state.in_words())
}

/// Runs each plan of the queries of a copy of a data directory once before the rounds, which counts in no way. The
/// first query that reads a row of a restored backup marks it as committed, and may clear dead rows out of its block.
/// In the first round, that would fall to the plan by the server's own constants alone.
fn mark_all_rows(
    bench: &mut Bench<'_>,
    comparison: &Comparison,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    for at in unmarked(comparison) {
        let one = &comparison.compared[at];
        journal.step(&format!("plans of {}, once before the rounds", one.query.name), Duration::from_secs(5));
        let mut now = None;
        for (plan, variant) in one.variants.iter().enumerate() {
            bench.set_constants(&comparison.sets[variant.sets[0]].values)?;
            let limit = limit_by(bench.time_limit(), now);
            // What ends a run says nothing yet: the rounds find out.
            match bench.tables.run_query(&one.query, limit)? {
                Ok(run) if plan == 0 => now = run.execution_ms,
                // As long as it took, it marked rows: another plan may mark others.
                Ok(_) | Err(Unfinished::TooLong(_)) => {}
                Err(_) if plan == 0 => break,
                Err(_) => {}
            }
        }
        bench.look(journal);
    }
    Ok(())
}

/// The places of the queries in whose tables a run may mark rows: readpath's own tables have none that are not marked,
/// and on a given server the first round does not count.
fn unmarked(comparison: &Comparison) -> Vec<usize> {
    let all = comparison.compared.iter().enumerate().filter(|_| comparison.state == State::OwnCold);
    all.filter(|(_, one)| one.is_changed() && one.can_be_timed()).map(|(at, _)| at).collect()
}

/// How sets are chosen from, by what is known of them.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    /// Leaves the sets that go on after the first round.
    pub(super) screen: fn(&mut Comparison) -> Option<Finding>,
    pub(super) between: Between<'a>,
}

#[cfg(test)]
mod tests;
