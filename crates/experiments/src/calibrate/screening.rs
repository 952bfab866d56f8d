//! Which of many sets are worth further rounds, by what the first round says of each, and which of them are shown.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use measure::Finding;
use measure::quantity::counted;
use measure::schema::calibrate::findings as row;
use measure::sorting;

use super::comparison::Comparison;
use super::exceptions::first_look;
use super::judgement::{Decision, Harm};
use super::sets::LEFT;

/// A set by which queries take this many times as long in one round, and more of them than may be exceptions, is not
/// looked at again. Above what is harm: one round is noisy, and the plan by the server's own constants runs first,
/// while its blocks are not yet cached.
const HARM: f64 = 2.0;

/// Nor is one by which all queries together take this many times as long.
const TOTAL: f64 = 1.1;

/// Leaves of the tried sets those by which queries are faster in one round, and all others. A set that leads to the
/// same plans as one nearer to the server's own constants is no other one.
pub(super) fn screen(comparison: &mut Comparison) -> Option<Finding> {
    let tried = tried(comparison);
    if tried.is_empty() {
        return None;
    }
    comparison.judge();
    let mut seen = BTreeSet::new();
    let mut is_new = |set: &usize| seen.insert(comparison.plans(*set));
    is_new(&0);
    let is_fixed = |set: &usize| !comparison.sets[*set].is_measured();
    let new: Vec<usize> = (1..comparison.sets.len()).filter(|set| is_fixed(set) && is_new(set)).collect();
    let mut left: Vec<usize> = new.into_iter().filter(|set| comparison.sets[*set].is_tried()).collect();
    let other_plans = left.len();
    let has_times = |set: &usize| comparison.compared.iter().any(|one| one.timed(*set).is_some());
    let is_timed = left.iter().any(has_times);
    // However little one gains: those that gain more may turn out to do harm.
    left.retain(|set| is_promising(comparison, *set));
    let which = tried_sets(tried.len(), comparison.state.is_cold());
    let message = match is_timed || other_plans == 0 {
        true => told(which, other_plans, left.len()),
        false => told_untimed(which, other_plans),
    };
    keep_tried(comparison, &left);
    Some(row::TRIED.of(message))
}

/// Leaves of the tried sets the one that is advised and the next best, with names of their own: the place of the
/// advised one among what is left.
pub(super) fn leave_best(comparison: &mut Comparison, advised: usize) -> usize {
    let mut left = tried(comparison);
    let rank = |set: &usize| {
        let judged = &comparison.judged[*set];
        (*set != advised, judged.decision != Decision::Change, Reverse(thousandths(judged.gain)))
    };
    sorting::by_key(&mut left, rank);
    left.truncate(LEFT.len());
    sorting::ascending(&mut left);
    let place = keep_tried(comparison, &left).iter().position(|set| *set == advised);
    for (set, name) in comparison.sets.iter_mut().filter(|set| set.is_tried()).zip(LEFT) {
        set.name = name;
    }
    place.unwrap_or(0)
}

/// Places of the tried sets.
fn tried(comparison: &Comparison) -> Vec<usize> {
    (1..comparison.sets.len()).filter(|set| comparison.sets[*set].is_tried()).collect()
}

/// Keeps these of the tried sets, and all others: the places that they had.
fn keep_tried(comparison: &mut Comparison, left: &[usize]) -> Vec<usize> {
    let is_kept = |set: &usize| !comparison.sets[*set].is_tried() || left.contains(set);
    let kept: Vec<usize> = (0..comparison.sets.len()).filter(is_kept).collect();
    comparison.keep_sets(&kept);
    kept
}

/// Whether a set gains in one round, some queries apart that may keep the server's own constants.
fn is_promising(comparison: &Comparison, set: usize) -> bool {
    let judged = first_look(&comparison.pairs(set), comparison.workload(), HARM);
    let is_no_harm = judged.harm != Harm::Sure && judged.worst <= HARM;
    is_no_harm && judged.ratio.value < 1.0 && judged.then <= judged.now * TOTAL
}

/// Gains in whole numbers, so that sets as good as each other keep their order.
fn thousandths(gain: f64) -> i64 {
    (gain * 1e3).round() as i64
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// How many sets were tried, with a sentence that says so.
type Tried = (usize, String);

fn tried_sets(count: usize, is_cold: bool) -> Tried {
    let which =
        if is_cold { "between dear and cheap blocks" } else { "between the server's own constants and cheap blocks" };
    (count, format!("{} {which} {} tried on your queries.", counted(count as u64, "set", "sets"), was(count)))
}

/// How many sets were tried, and how many of them led to other plans, as sentences.
fn tried_and_led((tried, sets): Tried, other_plans: usize) -> String {
    let led = match (tried, other_plans) {
        (1, 0) => "It led to no plans of its own.".into(),
        (_, 0) => "None of them led to plans of its own.".into(),
        (1, _) => "It led to plans of its own.".into(),
        (_, 1) => "1 of them led to plans of its own.".into(),
        _ => format!("{other_plans} of them led to plans of their own."),
    };
    format!("{sets} {led}")
}

/// What became of sets whose plans were not timed.
fn told_untimed(tried: Tried, other_plans: usize) -> String {
    let [it, plan] = if other_plans == 1 { ["It", "it changes"] } else { ["They", "they change"] };
    format!(
        "{} {it} {} not timed, because the queries whose plans {plan} could not be run.",
        tried_and_led(tried, other_plans),
        was(other_plans)
    )
}

/// What became of the sets that were tried.
fn told(tried: Tried, other_plans: usize, left: usize) -> String {
    let (faster, faster_alone) = ("faster in the first round", "faster without making one much slower");
    let and_left = match (other_plans, left) {
        (0, _) => String::new(),
        (1, 0) => format!(" It did not make the queries {faster_alone}, and was not timed further."),
        (_, 0) => format!(" None of these made the queries {faster_alone}, and none was timed further."),
        (1, _) => format!(" It made the queries {faster} and was timed further."),
        _ => format!(" {left} of these made the queries {faster} and {} timed further.", was(left)),
    };
    let shown = LEFT.len();
    let and_left = match left > shown {
        true => format!("{and_left} The page shows {shown} of them, as `{}` to `{}`.", LEFT[0], LEFT[shown - 1]),
        false => and_left,
    };
    format!("{}{and_left}", tried_and_led(tried, other_plans))
}

#[cfg(test)]
mod tests {
    use measure::random::SplitMix64;
    use subjects::postgres::calibration::queries::Unfinished;

    use super::*;
    use crate::calibrate::bench::State;
    use crate::calibrate::comparison::{Compared, Variant};
    use crate::calibrate::findings::Advice;
    use crate::calibrate::sets::{ConstantSet, TRIED};

    #[test]
    fn what_is_said_of_tried_sets_fits_their_number() {
        for ([tried, other_plans, left], count, led) in [
            ([1, 0, 0], "1 set … was", "It led to no plans of its own."),
            (
                [1, 1, 1],
                "1 set … was",
                "It led to plans of its own. It made the queries faster in the first round and was timed further.",
            ),
            ([9, 0, 0], "9 sets … were", "None of them led to plans of its own."),
            (
                [9, 1, 0],
                "9 sets … were",
                "1 of them led to plans of its own. It did not make the queries faster without making one much slower, \
                 and was not timed further.",
            ),
            (
                [9, 4, 0],
                "9 sets … were",
                "4 of them led to plans of their own. None of these made the queries faster without making one much \
                 slower, and none was timed further.",
            ),
            (
                [9, 4, 1],
                "9 sets … were",
                "4 of them led to plans of their own. 1 of these made the queries faster in the first round and was \
                 timed further.",
            ),
            (
                [9, 4, 2],
                "9 sets … were",
                "4 of them led to plans of their own. 2 of these made the queries faster in the first round and were \
                 timed further.",
            ),
            (
                [9, 6, 4],
                "9 sets … were",
                "6 of them led to plans of their own. 4 of these made the queries faster in the first round and were \
                 timed further. The page shows 3 of them, as `tried-1` to `tried-3`.",
            ),
        ] {
            let begin = count.replace('…', "between the server's own constants and cheap blocks");
            let tried = tried_sets(tried, false);
            assert_eq!(told(tried, other_plans, left), format!("{begin} tried on your queries. {led}"));
        }
    }

    #[test]
    fn sets_whose_plans_were_not_timed_are_not_said_to_make_queries_no_faster() {
        let sets = ["now", TRIED, TRIED, TRIED].into_iter().enumerate();
        let sets = sets.map(|(at, name)| ConstantSet { name, values: vec![("seq_page_cost", at as f64)] }).collect();
        let variants = (0..4).map(|set| Variant::of(&[set], &[])).collect();
        let why = Some(Unfinished::Refused("its parameters have no values".into()));
        let open = Compared { not_timed: why, ..Compared::of("open", variants) };
        let said = screen(&mut Comparison::timed(State::AsFound, sets, vec![open])).unwrap().message;
        assert_eq!(
            said,
            "3 sets between the server's own constants and cheap blocks were tried on your queries. 3 of them led to \
             plans of their own. They were not timed, because the queries whose plans they change could not be run."
        );
        let end = " It was not timed, because the queries whose plans it changes could not be run.";
        let told = told_untimed(tried_sets(9, true), 1);
        assert!(told.starts_with("9 sets between dear and cheap blocks were tried") && told.ends_with(end), "{told}");
    }

    /// Of a query: the milliseconds of its plan by each set. Sets with the same time lead to the same plan.
    type Planted<'a> = &'a [f64];

    /// Sets of these names, each with its place as its value, and five runs of each plan that differ by up to 6 %.
    fn compared(names: &[&'static str], queries: &[Planted<'_>], seed: u64) -> Comparison {
        let mut random = SplitMix64::new(seed);
        let mut run = |millis: f64| millis * (0.97 + 0.06 * random.below(1000) as f64 / 1000.0);
        let mut one = |(number, by): (usize, &Planted<'_>)| {
            let mut plans: Vec<(f64, Vec<usize>)> = Vec::new();
            for (set, millis) in by.iter().enumerate() {
                match plans.iter_mut().find(|(other, _)| other == millis) {
                    Some((_, sets)) => sets.push(set),
                    None => plans.push((*millis, vec![set])),
                }
            }
            let variants =
                plans.iter().map(|(millis, sets)| Variant::of(sets, &[(); 5].map(|()| run(*millis)))).collect();
            Compared::of(&format!("q{number}"), variants)
        };
        let compared = queries.iter().enumerate().map(&mut one).collect();
        let set = |(at, name): (usize, &&'static str)| ConstantSet { name, values: vec![("seq_page_cost", at as f64)] };
        let sets = names.iter().enumerate().map(set).collect();
        Comparison::timed(State::AsFound, sets, compared)
    }

    /// The place of the set that is advised, 0 where none is, by planted times with this noise.
    fn advised(names: &[&'static str], queries: &[Planted<'_>], seed: u64) -> usize {
        let mut comparison = compared(names, queries, seed);
        screen(&mut comparison);
        comparison.judge();
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
        let values = comparison.sets[advice.set].values.clone();
        let place = leave_best(&mut comparison, advice.set);
        assert_eq!(comparison.sets[place].values, values, "what is left out turns nothing");
        if advice.decision != Decision::Change {
            return 0;
        }
        comparison.sets[place].values[0].1 as usize
    }

    const NAMES: [&str; 6] = ["now", "cached", "random-1.1", TRIED, TRIED, TRIED];

    #[test]
    fn noise_does_not_turn_the_choice_between_sets_that_are_nearly_as_good() {
        let queries: [Planted<'_>; 6] = [
            &[100.0, 50.0, 50.0, 50.0, 50.0, 50.0],
            &[20.0, 9.0, 20.0, 9.0, 9.5, 9.0],
            &[8.0, 6.0, 8.0, 6.0, 5.9, 6.1],
            &[300.0, 250.0, 900.0, 250.0, 251.0, 248.0],
            &[70.0, 60.0, 70.0, 61.0, 60.0, 61.0],
            &[40.0, 40.0, 40.0, 41.0, 40.0, 40.0],
        ];
        for seed in 0..20 {
            assert_eq!(advised(&NAMES, &queries, seed), 3, "the nearest, by noise {seed}");
        }
    }

    #[test]
    fn one_query_that_becomes_fifty_times_as_fast_does_not_outweigh_four_that_get_the_right_plan() {
        let four: Planted<'_> = &[100.0, 100.0, 98.0, 60.0, 100.0, 100.0];
        let queries: [Planted<'_>; 5] = [&[1000.0, 1000.0, 20.0, 1000.0, 1000.0, 1000.0], four, four, four, four];
        for seed in 0..5 {
            assert_eq!(advised(&NAMES, &queries, seed), 3, "by noise {seed}");
        }
    }

    #[test]
    fn the_better_of_two_known_sets_is_preferred_to_a_nearer_one_and_to_the_best_where_it_has_half() {
        let names = ["now", "cached", "random-1.1", TRIED, TRIED, "in-memory", TRIED];
        let of_five = |usual: f64, near: f64, memory: f64| {
            let row = [100.0, 100.0, usual, near, 80.0, memory, 70.0];
            // Of all time, no set saves much.
            let as_before = [1000.0; 7];
            let queries: [Planted<'_>; 6] = [&row, &row, &row, &row, &row, &as_before];
            (0..5).map(|seed| advised(&names, &queries, seed)).collect::<Vec<_>>()
        };
        assert_eq!(of_five(70.8, 71.0, 74.0), [2; 5], "0.97 of what the best gains, and 0.84");
        assert_eq!(of_five(73.3, 72.0, 76.0), [2; 5], "0.87 and 0.77");
        assert_eq!(of_five(78.0, 72.0, 76.0), [5; 5], "0.70 and 0.77");
        assert_eq!(of_five(80.0, 72.0, 82.0), [2; 5], "0.63 and 0.56");
        assert_eq!(of_five(85.0, 72.0, 86.0), [3; 5], "0.45 and 0.42, and the nearest 0.92");
        assert_eq!(of_five(72.0, 71.0, 40.0), [5; 5], "0.15, where blocks are in memory");
    }

    #[test]
    fn noise_does_not_keep_a_known_set_that_leaves_a_query_slow_of_which_another_one_saves_most_of_the_time() {
        let names = ["now", "cached", "random-1.1", TRIED, TRIED, "in-memory", TRIED];
        let row: Planted<'_> = &[100.0, 100.0, 75.0, 90.0, 70.0, 74.0, 69.0];
        let longest: Planted<'_> = &[400.0, 400.0, 399.0, 400.0, 120.0, 410.0, 130.0];
        let queries = [row, row, row, row, row, longest];
        for seed in 0..20 {
            assert_eq!(advised(&names, &queries, seed), 4, "by noise {seed}");
        }
    }

    #[test]
    fn with_nothing_cached_the_sets_for_disks_are_the_known_ones() {
        let with_dear = |dear: f64| {
            let names = ["now", "cold", "random-1.1", "random-2", "half-pages", "double-pages", TRIED];
            let row = [100.0, 90.0, 100.0, 100.0, 100.0, dear, 90.0];
            let queries: [Planted<'_>; 5] = [&row, &row, &row, &row, &row];
            (0..5).map(|seed| advised(&names, &queries, seed)).collect::<Vec<_>>()
        };
        assert_eq!(with_dear(93.0), [5; 5], "0.69 of what the measured set gains, whose values differ between runs");
        assert_eq!(with_dear(100.0), [6; 5]);
        let names = ["now", "cold", "random-1.1", "random-2", "half-pages", "in-memory", TRIED];
        let of_five = |usual: f64, random: f64, pages: f64, memory: f64| {
            let row = [100.0, 100.0, usual, random, pages, memory, 70.0];
            let queries: [Planted<'_>; 5] = [&row, &row, &row, &row, &row];
            (0..5).map(|seed| advised(&names, &queries, seed)).collect::<Vec<_>>()
        };
        assert_eq!(of_five(71.0, 78.0, 81.0, 72.0), [3; 5], "0.70 and 0.59, and what blocks in memory take 0.96");
        assert_eq!(of_five(71.0, 81.0, 78.0, 72.0), [4; 5], "0.59 and 0.70");
        assert_eq!(of_five(100.0, 86.0, 87.0, 100.0), [6; 5], "0.42 and 0.39");
        assert_eq!(of_five(71.0, 86.0, 87.0, 72.0), [2; 5], "the nearest that has 0.85, without a preference");
    }

    #[test]
    fn a_query_that_the_better_known_set_harms_or_not_does_not_turn_the_choice_between_the_two() {
        let names = ["now", "cached", "random-1.1", TRIED, TRIED, "in-memory", TRIED];
        let with = |[usual, memory]: [f64; 2], of_harmed: f64| {
            let others: Planted<'_> = &[100.0, 100.0, usual, 100.0, 72.0, memory, 100.0];
            let harmed: Planted<'_> = &[10.0, 10.0, of_harmed, 10.0, 10.0, 10.0, 10.0];
            let queries = [vec![others; 9], vec![harmed]].concat();
            (0..5).map(|seed| advised(&names, &queries, seed)).collect::<Vec<_>>()
        };
        assert_eq!(with([74.0, 77.0], 10.0), [2; 5], "0.92 and 0.80 of the best");
        assert_eq!(with([74.0, 77.0], 30.0), [2; 5], "0.92 and 0.80, and 0.83 against the best");
        assert_eq!(with([74.0, 75.5], 30.0), [2; 5], "0.92 and 0.86, and 0.83 against the best");
        assert_eq!(with([84.5, 87.0], 30.0), [4; 5], "0.51 and 0.42, and 0.46 against the best");
    }

    #[test]
    fn a_set_that_harms_one_query_is_not_advised_however_much_the_others_gain() {
        let queries: [Planted<'_>; 5] = [
            &[100.0, 30.0, 30.0, 30.0, 80.0, 30.0],
            &[200.0, 80.0, 80.0, 80.0, 160.0, 80.0],
            &[50.0, 20.0, 20.0, 20.0, 40.0, 20.0],
            &[30.0, 10.0, 10.0, 10.0, 24.0, 10.0],
            &[10.0, 16.0, 15.0, 15.0, 10.0, 17.0],
        ];
        for seed in 0..20 {
            assert_eq!(advised(&NAMES, &queries, seed), 4, "by noise {seed}");
        }
    }

    #[test]
    fn a_set_that_harms_one_query_in_ten_is_advised_but_for_that_query_where_it_gains_clearly_more() {
        let halved: Planted<'_> = &[100.0, 100.0, 100.0, 50.0, 85.0, 50.0];
        let harmed: Planted<'_> = &[10.0, 10.0, 10.0, 60.0, 10.0, 70.0];
        let queries = |count: usize| [vec![halved; count - 1], vec![harmed]].concat();
        for seed in 0..5 {
            assert_eq!(advised(&NAMES, &queries(10), seed), 3, "by noise {seed}");
            assert_eq!(advised(&NAMES, &queries(9), seed), 4, "one of nine, by noise {seed}");
        }
        let little: Planted<'_> = &[100.0, 100.0, 100.0, 58.0, 60.0, 58.0];
        let queries = [vec![little; 9], vec![harmed]].concat();
        assert_eq!(advised(&NAMES, &queries, 1), 4, "what is for all gains nearly as much");
    }

    #[test]
    fn of_sets_that_lead_to_the_same_plans_the_nearest_stands_for_all() {
        let row: [f64; 6] = [100.0, 100.0, 100.0, 60.0, 60.0, 60.0];
        let queries: [Planted<'_>; 5] = [&row, &row, &row, &row, &row];
        assert_eq!(advised(&NAMES, &queries, 1), 3);
        let mut comparison = compared(&NAMES, &queries, 1);
        screen(&mut comparison);
        assert_eq!(comparison.sets.iter().filter(|set| set.is_tried()).count(), 1);
        // What leads to the plans of a measured set stays, because that set differs in the next run.
        let row: [f64; 6] = [100.0, 60.0, 100.0, 100.0, 100.0, 60.0];
        assert_eq!(advised(&NAMES, &[&row, &row, &row, &row], 1), 5);
    }
}
