//! Further rounds, once those of all queries are over: why a query is run again, by which of its plans, and for how
//! long. Each reason is a row of a table, and finds its queries in what was judged so far.

use std::time::Duration;

use measure::quantity::counted;

use super::compared::{Compared, SLOW_ROUNDS};
use super::one_state::Comparison;
use super::places::distinct;
use super::turns::{Round, take_turns};
use crate::calibrate::bench::{Bench, State};
use crate::calibrate::sets::is_known;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Further rounds of queries that are unclear, for each reason; and how long turns of each may begin, at least. Where
/// the rounds of all queries took longer than usual, so do these: it is this part of their time.
const MORE_ROUNDS: usize = 10;
const MORE_TIME: Duration = Duration::from_secs(30);
const MORE_TIME_PART: u32 = 2;
/// The same where each run takes a restart.
const MORE_ROUNDS_COLD: usize = 5;
const MORE_TIME_COLD: Duration = Duration::from_secs(240);

/// The places of sets, by what was judged so far.
type Places<'a> = &'a dyn Fn(&Comparison) -> Vec<usize>;

/// The sets between which the choice lies.
#[derive(Clone, Copy)]
pub(in crate::calibrate) struct Between<'a> {
    /// The set that would be advised, and the known ones that could be.
    pub(in crate::calibrate) contenders: Places<'a>,
    /// The set that would be advised and those that would be if it gained less; none where it is clearly the best.
    pub(in crate::calibrate) rivals: Places<'a>,
}

/// Places of queries, each with those of its plans that are run in a further round besides the one by the server's own
/// constants.
type Wanted = Vec<(usize, Vec<usize>)>;

/// Queries that are run again when the rounds of all are over.
pub(super) struct Again {
    which: &'static str,
    find: fn(&mut Comparison, Between<'_>) -> Wanted,
    /// Whether they are found anew before each round.
    is_found_anew: bool,
}

pub(super) const AGAIN: [Again; 5] = [
    Again { which: "whose plan may do harm", find: those_unsure_of_harm, is_found_anew: true },
    // Those that were found are run in all rounds: one that stopped as soon as it was none would stop by chance.
    Again { which: "that may be exceptions", find: those_that_may_be_exceptions, is_found_anew: false },
    // All rounds, too: a set whose rounds end once it looks good is advised by chance.
    Again { which: "of a set that they do not decide on", find: those_that_do_not_decide, is_found_anew: false },
    // And all rounds, for the same reason.
    Again { which: "that tell which of two sets is better", find: those_between_rivals, is_found_anew: false },
    // Each round may change the choice.
    Again {
        which: "of which it is not sure that no harm is done",
        find: those_not_surely_unharmed,
        is_found_anew: true,
    },
];

/// Queries that a plan may harm, though not surely: that alone would keep sets from being advised.
fn those_unsure_of_harm(comparison: &mut Comparison, _: Between<'_>) -> Wanted {
    comparison.compared.iter().map(Compared::unsure).enumerate().collect()
}

/// Queries that are exceptions without harm: of many queries that take as long by a set, one is slower in a few rounds
/// by chance, and would be an exception in one run and not in the next.
fn those_that_may_be_exceptions(comparison: &mut Comparison, _: Between<'_>) -> Wanted {
    comparison.judge();
    let plans = |at: &usize| (1..comparison.compared[*at].variants.len()).collect();
    comparison.slower_exceptions().iter().map(|at| (*at, plans(at))).collect()
}

/// Queries that a set changes, of which few rounds do not tell whether it is worth a change. Rounds with empty caches
/// are few, because each run takes a restart, and the times of a disk differ by a quarter from one to the next. The
/// known sets are looked at first; another one, the best, only where the choice would otherwise be none.
fn those_that_do_not_decide(comparison: &mut Comparison, between: Between<'_>) -> Wanted {
    comparison.judge();
    if !comparison.state.is_cold() {
        return Wanted::new();
    }
    let undecided: Vec<(usize, Vec<usize>)> =
        (1..comparison.sets.len()).filter_map(|set| Some((set, comparison.undecided(set)?))).collect();
    let mut sets: Vec<&(usize, Vec<usize>)> =
        undecided.iter().filter(|(set, _)| is_known(&comparison.sets, *set)).collect();
    if sets.is_empty() && (between.contenders)(comparison).is_empty() {
        let fastest = comparison.all_fastest();
        let gain = |(set, excepted): &(usize, Vec<usize>)| comparison.gain(*set, excepted, &fastest);
        // The first of two that gain as much.
        sets.extend(undecided.iter().rev().max_by(|one, other| gain(one).total_cmp(&gain(other))));
    }
    let plans = |(at, one): (usize, &Compared)| {
        let not_excepted = sets.iter().filter(|(_, excepted)| !excepted.contains(&at));
        (at, distinct(not_excepted.map(|(set, _)| one.variant(*set)).filter(|plan| *plan > 0)))
    };
    comparison.compared.iter().enumerate().map(plans).collect()
}

/// Queries that get other plans by the set that is advised than by its rivals: with empty caches, rounds are few, and
/// the choice between sets that gain nearly as much would be by chance.
fn those_between_rivals(comparison: &mut Comparison, between: Between<'_>) -> Wanted {
    comparison.judge();
    if !comparison.state.is_cold() {
        return Wanted::new();
    }
    let rivals = (between.rivals)(comparison);
    let plan = |at: usize, set: &usize| match comparison.exceptions[*set].contains(&at) {
        true => 0,
        false => comparison.compared[at].variant(*set),
    };
    let plans = |at: usize| {
        let plans = distinct(rivals.iter().map(|set| plan(at, set)));
        let others = plans.iter().copied().filter(|plan| *plan > 0).collect();
        (at, if plans.len() > 1 { others } else { Vec::new() })
    };
    (0..comparison.compared.len()).map(plans).collect()
}

/// Queries that the sets between which the choice lies do not surely leave unharmed, though they seem to: few rounds
/// can miss the half of a harm.
fn those_not_surely_unharmed(comparison: &mut Comparison, between: Between<'_>) -> Wanted {
    comparison.judge();
    let sets = (between.contenders)(comparison);
    let plans = |(at, one): (usize, &Compared)| {
        let not_excepted = sets.iter().filter(|set| !comparison.exceptions[**set].contains(&at));
        let plans = not_excepted.map(|set| one.variant(*set)).filter(|plan| *plan > 0);
        (at, distinct(plans.filter(|plan| one.pair_with(*plan).reaches_harm())))
    };
    comparison.compared.iter().enumerate().map(plans).collect()
}

/// How long turns of further rounds may begin, for each reason, where the rounds of all queries took so long: runs of
/// large tables take seconds, and a limit for short ones would leave them two or three.
pub(super) fn more_time(state: State, rounds: Duration) -> Duration {
    if state.is_cold() { MORE_TIME_COLD } else { MORE_TIME.max(rounds / MORE_TIME_PART) }
}

/// Runs further rounds of the plans that are wanted, whose turns begin within a time.
pub(super) fn run_again(
    bench: &mut Bench<'_>,
    comparison: &mut Comparison,
    (again, most): (&Again, Duration),
    between: Between<'_>,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let started = bench.machine.clock.now();
    let mut wanted = Wanted::new();
    let most_rounds = if comparison.state.is_cold() { MORE_ROUNDS_COLD } else { MORE_ROUNDS };
    for number in 0..most_rounds {
        if number == 0 || again.is_found_anew {
            wanted = (again.find)(comparison, between);
        }
        wanted.retain(|(at, plans)| comparison.compared[*at].can_be_timed() && !plans.is_empty());
        if wanted.is_empty() {
            break;
        }
        let queries = counted(wanted.len() as u64, "query", "queries");
        journal.step(&format!("{queries} {}, once more", again.which), Duration::from_secs(5));
        let round = Round { state: comparison.state, number, counted: SLOW_ROUNDS, counts: true };
        for (at, others) in &wanted {
            if Duration::from_nanos(bench.machine.clock.now().since(started).0) > most {
                return Ok(());
            }
            let plans: Vec<usize> = [0].into_iter().chain(others.iter().copied()).collect();
            take_turns(bench, (&mut comparison.compared[*at], &plans), &comparison.sets, round, journal)?;
            bench.look(journal);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use measure::sorting;

    use super::*;
    use crate::calibrate::comparison::Variant;
    use crate::calibrate::judgement::Decision;
    use crate::calibrate::sets::{ConstantSet, own};

    /// These sets as contenders, and none as rivals.
    fn between(contenders: Places<'_>) -> Between<'_> {
        Between { contenders, rivals: &|_| Vec::new() }
    }

    #[test]
    fn queries_that_take_seconds_are_run_again_as_often_as_short_ones() {
        let seconds = |state, rounds| more_time(state, Duration::from_secs(rounds)).as_secs();
        assert_eq!([20, 60, 70, 400].map(|rounds| seconds(State::AsFound, rounds)), [30, 30, 35, 200]);
        assert_eq!([20, 2400].map(|rounds| seconds(State::OwnCold, rounds)), [240, 240], "a restart each");
    }

    #[test]
    fn exceptions_are_looked_at_again_where_no_set_harms_them() {
        let halved = |number: usize| {
            let variants = vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1, 2], &[5.0; 3])];
            Compared::of(&format!("q{number}"), variants)
        };
        let by = |first: f64, second: f64| {
            let times = [10.0, first, second].into_iter().enumerate();
            Compared::of("last", times.map(|(set, millis)| Variant::of(&[set], &[millis; 3])).collect())
        };
        let set = |part: f64| ConstantSet { name: "tried", values: vec![("seq_page_cost", part)] };
        let slower = |first: f64, second: f64| {
            let compared = (0..9).map(halved).chain([by(first, second)]).collect();
            let mut comparison = Comparison::timed(State::AsFound, vec![own(), set(0.5), set(0.25)], compared);
            let wanted = AGAIN.map(|again| (again.find)(&mut comparison, between(&|_| vec![1, 2]))).concat();
            let again = wanted.iter().filter(|(_, plans)| !plans.is_empty()).map(|(at, _)| *at);
            (comparison.exceptions.concat().len(), sorting::set(again).into_iter().collect::<Vec<usize>>())
        };
        assert_eq!(slower(12.0, 11.5), (2, vec![9]), "an exception from both sets");
        assert_eq!(slower(12.0, 30.0), (2, vec![9]), "harmed by one of them");
        assert_eq!(slower(30.0, 30.5), (2, vec![]), "harmed by both");
        assert_eq!(slower(10.5, 10.6), (0, vec![]), "no exception");
    }

    #[test]
    fn a_set_that_few_cold_rounds_do_not_decide_on_is_tried_in_more_and_one_that_they_do_is_not() {
        let wanted = |state: State, gains: f64| {
            let times = |middle: f64, parts: [f64; 5]| parts.map(|part| middle * part);
            let compared = (0..6).map(|at| {
                let then = if at == 0 { 100.0 * gains } else { 100.0 };
                let now = Variant::of(&[0], &times(100.0, [0.8, 1.0, 1.25, 0.9, 1.1]));
                let then = Variant::of(&[1], &times(then, [1.1, 0.9, 1.0, 0.8, 1.25]));
                Compared::of(&format!("q{at}"), vec![now, then])
            });
            let sets = vec![own(), ConstantSet { name: "tried", values: vec![("seq_page_cost", 0.5)] }];
            let mut comparison = Comparison::timed(state, sets, compared.collect());
            let contenders = |comparison: &Comparison| {
                (1..2).filter(|set| comparison.judged[*set].decision == Decision::Change).collect()
            };
            let found = those_that_do_not_decide(&mut comparison, between(&contenders));
            let found = found.into_iter().filter(|(_, plans)| !plans.is_empty());
            (comparison.judged[1].decision, found.map(|(at, _)| at).collect::<Vec<_>>())
        };
        assert_eq!(wanted(State::OwnCold, 0.8), (Decision::Undecided, vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(wanted(State::OwnCold, 0.2), (Decision::Change, vec![]));
        assert_eq!(wanted(State::AsFound, 0.8), (Decision::Undecided, vec![]), "further rounds cost little there");
    }

    #[test]
    fn a_known_set_near_the_worth_of_its_exception_is_tried_in_more_cold_rounds_before_any_other_set() {
        // Six queries that both sets gain on, and one that they harm.
        let wanted = |name: &'static str, gained: f64, is_other_advised: bool| {
            let by = |times: [f64; 3]| {
                let plans = times.into_iter().enumerate();
                let differing = |set: usize| [0.0, -0.1, -0.05, 0.05, 0.1].map(|part| 1.0 + part * set.min(1) as f64);
                plans.map(|(set, millis)| Variant::of(&[set], &differing(set).map(|part| millis * part))).collect()
            };
            let gaining = (0..6).map(|at| (format!("q{at}"), by([100.0, 100.0 * gained, 90.0])));
            let queries = gaining.chain([("harmed".into(), by([100.0, 300.0, 100.0]))]);
            let others = (0..3).map(|at| (format!("other {at}"), vec![Variant::of(&[0, 1, 2], &[100.0; 5])]));
            let compared = queries.chain(others).map(|(name, variants)| Compared::of(&name, variants)).collect();
            let set = |name| ConstantSet { name, values: vec![("random_page_cost", 2.0)] };
            let mut comparison = Comparison::timed(State::OwnCold, vec![own(), set(name), set("tried")], compared);
            let contenders = |_: &Comparison| if is_other_advised { vec![2] } else { Vec::new() };
            let found = those_that_do_not_decide(&mut comparison, between(&contenders)).into_iter();
            found.filter(|(_, plans)| !plans.is_empty()).map(|(at, _)| at).collect::<Vec<_>>()
        };
        for is_other_advised in [false, true] {
            let near = [0.89, 0.91].map(|gained| wanted("random-2", gained, is_other_advised));
            assert_eq!(near, [[0, 1, 2, 3, 4, 5]; 2], "a known set");
        }
        assert_eq!(wanted("tried", 0.91, false), [0, 1, 2, 3, 4, 5], "a set where none is advised");
        assert_eq!(wanted("tried", 0.91, true), Vec::<usize>::new(), "a set where another one is advised");
        assert_eq!(wanted("random-2", 0.5, false), Vec::<usize>::new(), "a set that is worth it for sure");
    }

    #[test]
    fn queries_on_which_rivals_differ_are_run_in_more_cold_rounds_and_those_with_the_same_plan_are_not() {
        let wanted = |state: State, rivals: &'static [usize]| {
            let plans = |sets: [&'static [usize]; 3]| {
                let plans = sets.into_iter().zip([100.0, 50.0, 60.0]).filter(|(sets, _)| !sets.is_empty());
                plans.map(|(sets, millis)| Variant::of(sets, &[millis; 5])).collect::<Vec<_>>()
            };
            let same = (0..9).map(|_| plans([&[0], &[1, 2], &[]]));
            let differing = [plans([&[0], &[1], &[2]]), plans([&[0, 2], &[1], &[]]), plans([&[0], &[], &[1, 2]])];
            let harmed = [vec![Variant::of(&[0, 2], &[10.0; 5]), Variant::of(&[1], &[90.0; 5])]];
            let compared = same.chain(differing).chain(harmed).map(|plans| Compared::of("q", plans)).collect();
            let set = |part: f64| ConstantSet { name: "tried", values: vec![("seq_page_cost", part)] };
            let mut comparison = Comparison::timed(state, vec![own(), set(0.5), set(0.25)], compared);
            assert_eq!(comparison.exceptions, [vec![], vec![12_usize], vec![]]);
            let between = Between { contenders: &|_| vec![1], rivals: &|_| rivals.to_vec() };
            let found = those_between_rivals(&mut comparison, between).into_iter();
            found.filter(|(_, plans)| !plans.is_empty()).collect::<Vec<_>>()
        };
        let both = vec![(9, vec![1, 2]), (10, vec![1])];
        assert_eq!(wanted(State::OwnCold, &[1, 2]), both, "an exception keeps the plan that the rival leaves");
        assert_eq!(wanted(State::OwnCold, &[]), Wanted::new(), "none is nearly as good");
        assert_eq!(wanted(State::AsFound, &[1, 2]), Wanted::new(), "rounds are many there");
    }

    #[test]
    fn what_may_harm_though_it_did_not_seem_to_is_run_again_by_the_sets_of_the_choice_alone() {
        let halved = |number: usize| {
            let variants = vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1, 2, 3], &[5.0; 3])];
            Compared::of(&format!("q{number}"), variants)
        };
        let set = |part: f64| ConstantSet { name: "tried", values: vec![("seq_page_cost", part)] };
        let again = |then: [f64; 3], sets: &'static [usize]| -> Vec<usize> {
            let by = [vec![10.0; 3], then.to_vec(), vec![10.0, 10.0, 14.0]];
            let plans = by.iter().enumerate().map(|(at, millis)| {
                let sets: &[usize] = [&[0, 3][..], &[1], &[2]][at];
                Variant::of(sets, millis)
            });
            let compared = (0..9).map(halved).chain([Compared::of("last", plans.collect())]).collect();
            let sets_of = vec![own(), set(0.5), set(0.25), set(0.125)];
            let mut comparison = Comparison::timed(State::AsFound, sets_of, compared);
            let mut wanted = those_not_surely_unharmed(&mut comparison, between(&|_| sets.to_vec()));
            assert!(wanted[..9].iter().all(|(_, plans)| plans.is_empty()));
            wanted.remove(9).1
        };
        assert_eq!(again([9.0, 10.7, 13.5], &[1]), vec![1], "0.9 to 1.35, and 1.07 in the middle");
        assert_eq!(again([9.0, 10.7, 13.5], &[1, 2]), vec![1, 2]);
        assert_eq!(again([9.0, 10.7, 13.5], &[3]), Vec::<usize>::new(), "the same plan as now");
        assert_eq!(again([9.0, 10.7, 11.5], &[1]), Vec::<usize>::new(), "1.15 at most");
        assert_eq!(again([19.0, 20.0, 21.0], &[1]), Vec::<usize>::new(), "an exception for sure");
    }
}
