//! The verification: queries of our own, timed in each state of the caches, and whether the set between the states is
//! safe in all of them.

use measure::sorting;
use subjects::postgres::calibration::verification_set::Scanned;

use super::bench::{Bench, State};
use super::comparison::{self, Comparison};
use super::screening;
use super::sets::{BETWEEN, ConstantSet, SAFE};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// States in which choices are verified, the one that was told first.
pub(super) fn states(bench: &Bench<'_>, told: Option<State>) -> Vec<State> {
    let mut states = vec![State::Cached];
    if bench.tables.verification_rows().beyond > 0 {
        states.push(State::System);
    }
    if bench.tables.is_private() && bench.parameters.cold_rounds() > 0 {
        states.push(State::Cold);
    }
    sorting::by_key(&mut states, |state| Some(*state) != told);
    states
}

/// Compares our own queries in a state and times them.
pub(super) fn time(
    bench: &mut Bench<'_>,
    state: State,
    sets: &[ConstantSet],
    journal: &mut dyn Journal,
) -> Result<Comparison, ExperimentError> {
    let scanned = if state == State::System { Scanned::Beyond } else { Scanned::Within };
    let queries = bench.tables.verification_queries(scanned);
    let mut comparison = comparison::plan(bench, state, queries, sets, journal)?;
    comparison::time(bench, &mut comparison, screening::screen, journal)?;
    bench.look(journal);
    Ok(comparison)
}

/// Calls the set between the states safe where it was tried in each of them, with no other session at work, and harmed
/// no query in any. `told` is the state of the server's own queries.
pub(super) fn call_safe(tried: &mut [Comparison], told: Option<State>) {
    let is_tried = |name: &str| tried.iter().any(|one| one.state.name() == name && one.is_timed && !one.is_busy);
    let is_harmless = |one: &Comparison| {
        let at = one.sets.iter().position(|set| set.name == BETWEEN);
        at.and_then(|at| one.judged.get(at)).is_some_and(|judged| judged.is_harmless())
    };
    let has_set = |state: &State| tried.iter().any(|one| one.sets.iter().any(|set| set.name == state.name()));
    let states = State::OF_BLOCKS.into_iter().filter(|state| has_set(state) || told == Some(*state));
    if states.into_iter().all(|state| is_tried(state.name())) && tried.iter().all(is_harmless) {
        let all = tried.iter_mut().flat_map(|one| &mut one.sets);
        all.filter(|set| set.name == BETWEEN).for_each(|set| set.name = SAFE);
    }
}

#[cfg(test)]
mod tests {
    use subjects::postgres::calibration::queries::Query;

    use super::*;
    use crate::calibrate::comparison::{Compared, Variant};

    /// A state, and how many times as long a query takes there by the set between the states.
    fn tried(state: State, factor: f64, runs: usize) -> Comparison {
        let variants = vec![Variant::of(&[0, 1, 2], &vec![10.0; runs]), Variant::of(&[3], &vec![10.0 * factor; runs])];
        let query = Query::of_verification("q".into(), "SELECT".into());
        let compared = vec![Compared { query, variants, not_timed: None }];
        let set = |name| ConstantSet { name, values: vec![("seq_page_cost", 0.5)] };
        let sets = ["now", "cached", "system", BETWEEN].map(set).into();
        let (is_timed, is_busy) = (true, false);
        let mut one = Comparison { state, sets, compared, refused: vec![], judged: vec![], is_timed, is_busy };
        one.judge();
        one
    }

    fn name(mut tried: Vec<Comparison>, told: Option<State>) -> &'static str {
        call_safe(&mut tried, told);
        tried[0].sets[3].name
    }

    #[test]
    fn a_set_is_called_safe_only_where_it_harms_no_query_in_any_state() {
        let both = |factor| vec![tried(State::Cached, 0.9, 3), tried(State::System, factor, 3)];
        assert_eq!(name(both(1.0), None), SAFE);
        assert_eq!(name(both(2.0), None), BETWEEN, "harm in one state");
        assert_eq!(name(vec![tried(State::Cached, 0.9, 3), tried(State::System, 0.9, 2)], None), BETWEEN, "two runs");
        assert_eq!(name(vec![tried(State::Cached, 0.9, 3)], None), BETWEEN, "not tried in the other one");
        assert_eq!(name(both(1.0), Some(State::Cold)), BETWEEN, "no set for the server's own state");
        let mut busy = both(1.0);
        busy[1].is_busy = true;
        assert_eq!(name(busy, None), BETWEEN);
    }
}
