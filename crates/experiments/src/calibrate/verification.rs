//! The verification: queries of our own, timed in each state of the caches, and whether the set between the states is
//! safe in all of them.

use measure::sorting;
use subjects::postgres::calibration::queries::Query;
use subjects::postgres::calibration::verification_set::Scanned;

use super::bench::{Bench, State};
use super::comparison::{Comparison, Others};
use super::sets::{BETWEEN, SAFE};

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

/// Our own queries for a state: over the table that the buffers hold, over the one beyond them, and cold, where each
/// run takes a restart, by turns over either.
pub(super) fn queries(bench: &Bench<'_>, state: State) -> Vec<Query> {
    let of = |scanned| bench.tables.verification_queries(scanned);
    match state {
        State::System => of(Scanned::Beyond),
        State::Cold if bench.tables.verification_rows().beyond > 0 => {
            let beyond = of(Scanned::Beyond).into_iter().map(|query| query.named(" (table beyond the buffers)"));
            let pairs = of(Scanned::Within).into_iter().zip(beyond).enumerate();
            pairs.map(|(at, (within, beyond))| if at % 2 == 0 { within } else { beyond }).collect()
        }
        _ => of(Scanned::Within),
    }
}

/// Of these states, those in which our queries were not timed to the end.
pub(super) fn untimed(states: Vec<State>, tried: &[Comparison]) -> Vec<State> {
    let is_timed = |state: &State| tried.iter().any(|one| one.state == *state && one.is_timed);
    states.into_iter().filter(|state| !is_timed(state)).collect()
}

/// Calls the set between the states safe where it was tried in each of them, with no other session at work, and harmed
/// no query in any: whether it did. `told` is the state of the server's own queries.
pub(super) fn call_safe(tried: &mut [Comparison], told: Option<State>) -> bool {
    let is_quiet = |one: &Comparison| one.is_timed && one.others == Others::Quiet;
    let is_tried = |name: &str| tried.iter().any(|one| one.state.name() == name && is_quiet(one));
    let is_harmless = |one: &Comparison| {
        let Some(at) = one.sets.iter().position(|set| set.name == BETWEEN) else { return false };
        // What the set does to a query that was not timed is not known: no figure of the set counts that query.
        let is_known = one.changed(at).all(|query| query.pair(at).is_some());
        is_known && one.judged.get(at).is_some_and(|judged| judged.is_harmless())
    };
    let has_set = |state: &State| tried.iter().any(|one| one.sets.iter().any(|set| set.name == state.name()));
    let states = State::OF_BLOCKS.into_iter().filter(|state| has_set(state) || told == Some(*state));
    let is_safe = states.into_iter().all(|state| is_tried(state.name())) && tried.iter().all(is_harmless);
    let all = tried.iter_mut().flat_map(|one| &mut one.sets).filter(|set| is_safe && set.name == BETWEEN);
    all.for_each(|set| set.name = SAFE);
    is_safe
}

#[cfg(test)]
mod tests {
    use subjects::postgres::calibration::queries::Unfinished;

    use super::*;
    use crate::calibrate::comparison::{Compared, Variant};
    use crate::calibrate::sets::ConstantSet;

    /// A state, and how many times as long a query takes there by the set between the states.
    fn tried(state: State, factor: f64, runs: usize) -> Comparison {
        let variants = vec![Variant::of(&[0, 1, 2], &vec![10.0; runs]), Variant::of(&[3], &vec![10.0 * factor; runs])];
        let set = |name| ConstantSet { name, values: vec![("seq_page_cost", 0.5)] };
        let sets = ["now", "cached", "system", BETWEEN].map(set).into();
        Comparison::timed(state, sets, vec![Compared::of("q", variants)])
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
        for others in [Others::Busy, Others::Unseen] {
            let mut disturbed = both(1.0);
            disturbed[1].others = others;
            assert_eq!(name(disturbed, None), BETWEEN, "{others:?}");
        }
    }

    #[test]
    fn a_set_is_not_called_safe_where_a_query_that_it_changes_was_not_timed() {
        let with = |not_timed: Option<Unfinished>| {
            let mut states = vec![tried(State::Cached, 0.9, 3), tried(State::System, 0.9, 3)];
            let variants = vec![Variant::of(&[0, 1, 2], &[10.0; 3]), Variant::of(&[3], &[9.0; 3])];
            states[1].compared.push(Compared { not_timed, ..Compared::of("other", variants) });
            states[1].judge();
            name(states, None)
        };
        let changed = Unfinished::Refused("its plan changed between EXPLAIN and the run".into());
        assert_eq!([None, Some(changed)].map(with), [SAFE, BETWEEN]);
    }
}
