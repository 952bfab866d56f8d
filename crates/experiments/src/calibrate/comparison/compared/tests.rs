//! What runs that end, that reach their limit and that end with an error make of a query's plans.

use super::*;
use crate::calibrate::judgement::Verdict;

#[test]
fn a_plan_is_not_run_again_only_where_each_of_its_runs_was_slow() {
    let variants = vec![
        Variant::of(&[0], &[10.0, 11.0]),
        Variant::of(&[1], &[23.0, 40.0]),
        Variant::of(&[2], &[40.0, 12.0]),
        Variant::of(&[3], &[]),
    ];
    let one = Compared::of("q", variants);
    assert_eq!([0, 1, 2, 3].map(|at| one.is_slow(at)), [false, true, false, false]);
}

/// A query that takes these milliseconds by the server's own constants, and has another plan.
fn with_another_plan(now: f64) -> Compared {
    Compared::of("q", vec![Variant::of(&[0], &[now; 4]), Variant::of(&[1], &[])])
}

#[test]
fn a_plan_that_reaches_its_limit_took_at_least_that_long_and_a_lock_says_nothing_of_its_time() {
    let all = Duration::from_secs(10);
    for (now, seconds) in [(1.0, 0.5), (1000.0, 5.0), (3000.0, 10.0), (9000.0, 10.0)] {
        let mut one = with_another_plan(now);
        let limit = limit(all, &one, 1);
        assert_eq!(limit.as_secs_f64(), seconds, "of a query that takes {now} ms now");
        one.unfinished(1, Unfinished::TooLong("it takes longer".into()), limit);
        let pair = one.pair(1).unwrap();
        assert_eq!((pair.then, pair.is_ended), (vec![seconds * 1e3], true), "timed, and not left out");
        let mut other = with_another_plan(now);
        let locked = Unfinished::Locked("it waits for a lock".into());
        other.unfinished(1, locked.clone(), limit);
        assert_eq!((other.pair(1), other.not_timed), (None, Some(locked)));
    }
    assert_eq!(limit(all, &with_another_plan(3000.0), 0), all);
}

/// A query whose current plan took these milliseconds or reached the limit of 10 s, and whose other plan took these
/// in each turn, or reached the limit. The first turn does not count.
fn beyond_the_limit(now: [Option<f64>; 4], then: Option<f64>) -> Compared {
    let limit = Duration::from_secs(10);
    let mut one = Compared::of("q", vec![Variant::of(&[0], &[]), Variant::of(&[1], &[])]);
    for (turn, now) in now.into_iter().enumerate() {
        one.turn = turn;
        for (at, millis) in [(1, then), (0, now)] {
            let ended = one.variants[at].millis.last().copied().filter(|_| one.variants[at].is_cut);
            match ended.or(millis).filter(|_| one.can_be_timed()) {
                Some(millis) => one.variants[at].took(millis, turn),
                None => one.unfinished(at, Unfinished::TooLong("it takes longer".into()), limit),
            }
        }
        if turn == 0 {
            one.forget();
        }
    }
    one
}

const NINE: Option<f64> = Some(9000.0);

#[test]
fn a_current_plan_that_reaches_the_limit_stands_at_it_and_another_one_is_held_against_that() {
    let one = beyond_the_limit([None; 4], Some(2500.0));
    let pair = one.pair(1).unwrap();
    assert_eq!((pair.now.as_slice(), pair.ratios.as_slice()), (&[10_000.0; 3][..], &[0.25; 3][..]));
    assert!(pair.is_now_ended && !pair.is_ended && pair.verdict() == Verdict::Faster && one.can_be_timed());
    assert!(!one.is_too_long(1) && one.is_now_ended());
    assert_eq!(limit(Duration::from_secs(10), &one, 1), Duration::from_secs(10));
}

#[test]
fn a_current_plan_that_reaches_the_limit_while_its_blocks_are_read_is_timed() {
    let read = beyond_the_limit([None, NINE, NINE, NINE], Some(8000.0)).pair(1).unwrap();
    assert_eq!((read.now, read.is_now_ended), (vec![9000.0; 3], false));
}

#[test]
fn a_current_plan_that_reaches_the_limit_once_it_was_timed_keeps_its_times() {
    let once = beyond_the_limit([NINE, NINE, None, None], Some(2500.0)).pair(1).unwrap();
    assert_eq!((once.now, once.is_now_ended), (vec![9000.0, 10_000.0, 10_000.0], true), "it stands at it from then on");
    let ended_in = |one: &Compared| [0, 1].map(|at| one.variants[at].ended_in());
    let once_of_two = beyond_the_limit([NINE, NINE, None, None], Some(2500.0));
    assert_eq!(ended_in(&once_of_two), [" in 1 of 2 turns", ""], "it is not run in the last one");
    assert_eq!(ended_in(&beyond_the_limit([None; 4], Some(2500.0))), ["", ""], "in each turn that counts");
    let mut often = beyond_the_limit([NINE; 4], Some(2500.0));
    often.unfinished(0, Unfinished::TooLong("it takes longer".into()), Duration::from_secs(10));
    let pair = often.pair(1).unwrap();
    assert!(!pair.is_now_ended && !often.is_too_long(1) && !often.can_be_timed(), "its times stand");
    assert!(often.reached_limit, "it may have a faster plan that no constants lead to");
}

#[test]
fn a_query_beyond_the_limit_that_then_meets_a_lock_keeps_its_plan() {
    let mut one = beyond_the_limit([None; 4], Some(2500.0));
    one.variants.iter_mut().for_each(|variant| variant.turns.truncate(1));
    one.unfinished(1, Unfinished::Locked("it waits for a lock".into()), Duration::from_secs(10));
    assert_eq!((one.pair(1), one.is_too_long(1)), (None, true));
    let mut settled = beyond_the_limit([None, None, None, None], Some(2500.0));
    settled.variants.iter_mut().for_each(|variant| variant.turns.truncate(1));
    settled.finished(0, Plan::default(), true);
    settled.unfinished(1, Unfinished::Locked("it waits for a lock".into()), Duration::from_secs(10));
    assert_eq!((settled.pair(1), settled.is_too_long(1)), (None, false), "it is known to be short");
}

#[test]
fn a_plan_that_is_ended_because_the_blocks_of_all_plans_had_to_be_read_is_no_harm_for_that() {
    let mut one = Compared::of("q", vec![Variant::of(&[0], &[]), Variant::of(&[1], &[])]);
    let too_long = || Unfinished::TooLong("it takes longer".into());
    [0, 1].into_iter().for_each(|at| one.unfinished(at, too_long(), Duration::from_secs(10)));
    assert_eq!((one.pair(1), one.is_too_long(1)), (None, true));
    one.forget();
    for turn in 1..4 {
        one.turn = turn;
        assert_eq!(one.variants.iter().filter(|variant| variant.is_cut).count(), 0, "both are run again");
        one.variants[1].took(2000.0, turn);
        one.variants[0].took(3000.0, turn);
    }
    assert_eq!(one.pair(1).unwrap().verdict(), Verdict::Faster);
}

#[test]
fn where_both_plans_reach_the_limit_or_nearly_do_no_ratio_is_made_of_it() {
    for then in [None, Some(8100.0)] {
        let one = beyond_the_limit([None; 4], then);
        assert_eq!((one.pair(1), one.is_too_long(1)), (None, true), "{then:?}");
        assert!(one.timed(1).is_some_and(|pair| pair.is_now_ended));
    }
    let near = beyond_the_limit([None; 4], Some(7900.0));
    assert!(near.pair(1).is_some_and(|pair| pair.verdict() == Verdict::Faster));
    let both = beyond_the_limit([None; 4], None);
    assert_eq!(both.loss(0, 10_000.0), both.loss(1, 10_000.0), "nothing is gained or lost by it");
}

#[test]
fn an_error_that_the_current_plan_would_have_met_behind_the_limit_is_no_harm_of_another_one() {
    let mut failed = beyond_the_limit([None; 4], Some(2500.0));
    (0..2).for_each(|_| failed.unfinished(1, Unfinished::Failed("no".into()), Duration::from_secs(10)));
    assert_eq!((failed.pair(1), failed.is_too_long(1), failed.failure(1)), (None, true, Some("no")));
}

#[test]
fn a_plan_that_ends_with_an_error_is_harm_by_its_sets_alone_and_those_of_other_plans_are_timed() {
    let fails = || Unfinished::Failed("it fails when it is run (temporary file size exceeds)".into());
    for (now, limit, stands_for_it) in [(10.0, 500, 500.0), (9000.0, 10_000, 45_000.0)] {
        let times = [vec![now; 4], Vec::new(), vec![now / 2.0; 4]];
        let variants = times.iter().enumerate().map(|(set, millis)| Variant::of(&[set], millis));
        let mut one = Compared::of("q", variants.collect());
        one.unfinished(1, fails(), Duration::from_millis(limit));
        assert_eq!((one.pair(1), one.failure(1)), (None, None), "the disk may have been full for a moment");
        one.unfinished(1, fails(), Duration::from_millis(limit));
        let pair = one.pair(1).unwrap();
        assert_eq!((pair.then.as_slice(), pair.does_harm()), (&[stands_for_it][..], true), "in its only turn");
        assert!(one.can_be_timed() && one.failure(1).unwrap().contains("temporary file"));
        assert_eq!((one.pair(2).map(|pair| pair.ratios), one.failure(2)), (Some(vec![0.5; 4]), None));
        one.forget();
        one.turn += 1;
        one.unfinished(0, fails(), Duration::from_secs(10));
        assert_eq!((one.pair(1), one.failure(1)), (None, None), "the plan now ends with one too");
    }
}

#[test]
fn an_error_after_three_good_turns_counts_for_nothing_and_a_second_one_ends_the_plan() {
    let mut one = in_turns(&[&[1, 2, 3, 4].map(|turn| (turn, 3.0)), &[1, 2, 3].map(|turn| (turn, 3.0))]);
    let mut fail = |turn: usize| {
        one.turn = turn;
        one.unfinished(1, Unfinished::Failed("out of memory".into()), Duration::from_millis(500));
        (one.failure(1).is_some(), one.pair_with(1).does_harm())
    };
    assert_eq!([fail(4), fail(5)], [(false, false), (true, true)]);
}

#[test]
fn a_plan_that_its_first_error_leaves_with_two_turns_of_three_is_run_again_until_it_has_three() {
    let mut one = in_turns(&[&[1, 2, 3].map(|turn| (turn, 3.0)), &[1, 3].map(|turn| (turn, 3.0))]);
    assert_eq!(one.unsure(), Vec::<usize>::new(), "few rounds were asked for");
    one.turn = 2;
    one.unfinished(1, Unfinished::Failed("out of memory".into()), Duration::from_millis(500));
    assert_eq!(one.unsure(), [1]);
    one.turn = 4;
    one.variants.iter_mut().for_each(|variant| variant.took(3.0, 4));
    assert_eq!(one.unsure(), Vec::<usize>::new(), "it has three");
    let mut other = in_turns(&[&[1, 2, 3].map(|turn| (turn, 3.0)), &[]]);
    other.turn = 3;
    (0..2).for_each(|_| other.unfinished(1, Unfinished::Failed("no".into()), Duration::from_millis(500)));
    assert_eq!(other.unsure(), Vec::<usize>::new(), "a second error is harm for sure");
}

#[test]
fn a_run_that_is_held_up_and_one_that_ends_with_an_error_do_not_count_for_each_other() {
    let after = |whys: [Unfinished; 2]| {
        let mut one = in_turns(&[&[1, 2, 3, 4, 5].map(|turn| (turn, 3.0)), &[1, 2, 3].map(|turn| (turn, 3.0))]);
        for (turn, why) in (4..).zip(whys) {
            one.turn = turn;
            one.unfinished(1, why, Duration::from_millis(500));
        }
        (one.variants[1].is_cut, one.failure(1).is_some(), one.pair_with(1).does_harm())
    };
    let long = || Unfinished::TooLong("it takes longer".into());
    let failed = || Unfinished::Failed("out of memory".into());
    assert_eq!(after([long(), failed()]), (false, false, false), "the first error says nothing");
    assert_eq!(after([failed(), long()]), (false, false, false), "nor does the first run that is held up");
    assert_eq!(after([failed(), failed()]), (true, true, true));
}

/// A query whose plans ran in these turns, each with its milliseconds.
fn in_turns(plans: &[&[(usize, f64)]]) -> Compared {
    let mut one = Compared::of("q", (0..plans.len()).map(|set| Variant::of(&[set], &[])).collect());
    for (variant, runs) in one.variants.iter_mut().zip(plans) {
        runs.iter().for_each(|(turn, millis)| variant.took(*millis, *turn));
    }
    one.turn = 4;
    one
}

#[test]
fn plans_are_compared_within_turns_and_those_that_ran_in_fewer_by_the_turns_that_they_have() {
    let now = [(1, 10.0), (2, 20.0), (3, 40.0), (3, 44.0), (3, 42.0), (4, 1000.0)];
    let then = [(1, 15.0), (2, 30.0), (3, 63.0), (3, 60.0), (3, 66.0)];
    let mut one = in_turns(&[&now, &then, &[(1, 20.0)]]);
    assert_eq!([1, 2].map(|at| one.pair_with(at).ratios), [vec![1.5, 1.5, 1.5], vec![2.0]]);
    assert_eq!([0, 1, 2].map(|at| one.millis(at)), [41.0, 61.5, 82.0].map(Some));
    assert!(one.loss(2, 41.0) > one.loss(1, 41.0), "slower, though its only run was in a fast turn");
    one.forget();
    assert_eq!([0, 1, 2].map(|at| one.pair_with(at).ratios.len()), [0; 3]);
}

#[test]
fn the_limit_of_a_plan_that_was_ended_before_times_count_stands_in_each_turn_that_does() {
    let mut one = in_turns(&[&[(1, 10.0)], &[]]);
    one.turn = 1;
    one.unfinished(1, Unfinished::TooLong("it takes longer".into()), Duration::from_millis(500));
    one.forget();
    for turn in 2..5 {
        one.turn = turn;
        one.variants[0].took(10.0, turn);
        one.variants[1].took(500.0, turn);
    }
    assert_eq!(one.pair_with(1).ratios, vec![50.0; 3], "and none of the turn that does not count");
}

#[test]
fn a_query_that_meets_a_lock_after_one_turn_of_many_runs_is_not_timed() {
    let left = |turns: &[usize]| {
        let runs: Vec<(usize, f64)> = turns.iter().map(|turn| (*turn, 3.0)).collect();
        let mut one = in_turns(&[&runs, &runs]);
        one.unfinished(1, Unfinished::Locked("it waits for a lock".into()), Duration::from_secs(10));
        (one.is_left, one.not_timed.is_some(), one.reached_limit)
    };
    assert_eq!(left(&[1, 1, 1, 1, 1]), (false, true, false));
    assert_eq!(left(&[1, 2, 3]), (true, false, false));
}

#[test]
fn harm_that_was_timed_stands_where_the_query_cannot_be_run_any_more() {
    let refused = |now: &[f64], then: &[f64]| {
        let mut one = Compared::of("q", vec![Variant::of(&[0], now), Variant::of(&[1], then)]);
        one.unfinished(1, Unfinished::Locked("it waits for a lock".into()), Duration::from_secs(10));
        (one.pair(1).map(|pair| pair.may_harm()), one.can_be_timed())
    };
    assert_eq!(refused(&[10.0; 3], &[30.0; 3]), (Some(true), false));
    assert_eq!(refused(&[10.0; 3], &[30.0; 2]), (None, false), "too seldom to tell");
}

#[test]
fn a_query_is_run_again_where_a_plan_may_do_harm_and_not_where_it_surely_does_or_does_not() {
    let is_unsure = |then: &[f64]| {
        let variants = vec![Variant::of(&[0], &[10.0, 11.0, 10.5, 10.2, 10.1]), Variant::of(&[1], then)];
        !Compared::of("q", variants).unsure().is_empty()
    };
    assert!(is_unsure(&[9.0, 14.0, 15.0, 10.0, 14.0]));
    assert!(!is_unsure(&[14.0, 14.1, 15.0, 14.2, 14.0]), "it surely does");
    assert!(!is_unsure(&[10.0, 11.0, 10.0, 10.4, 10.3]));
}

#[test]
fn harm_of_a_short_query_that_few_turns_show_is_looked_at_again() {
    let is_unsure = |now: f64, then: &[f64]| {
        let variants = vec![Variant::of(&[0], &[now; 5]), Variant::of(&[1], then)];
        !Compared::of("q", variants).unsure().is_empty()
    };
    assert!(is_unsure(3.5, &[5.1, 4.6, 5.1]));
    assert!(!is_unsure(3.5, &[5.1, 4.6, 5.1, 4.8, 5.2]), "five turns show it");
    assert!(!is_unsure(3.5, &[7.1, 7.2, 8.0]), "a slow plan is not run again");
    assert!(!is_unsure(3500.0, &[5100.0, 4600.0, 5100.0]), "two more turns would take long");
    let ended = vec![Variant::of(&[0], &[3.5; 5]), Variant::ended(&[1], 5.0)];
    assert!(Compared::of("q", ended).unsure().is_empty(), "a plan that was ended is not run again");
}

#[test]
fn one_run_that_is_held_up_is_one_time_and_a_second_one_ends_the_plan() {
    let mut one = in_turns(&[&[1, 2, 3, 4].map(|turn| (turn, 3.0)), &[1, 2, 3].map(|turn| (turn, 3.0))]);
    let limit = Duration::from_millis(500);
    let mut end = |turn: usize| {
        one.turn = turn;
        one.unfinished(1, Unfinished::TooLong("it takes longer".into()), limit);
        let pair = one.pair_with(1);
        (one.variants[1].is_cut, pair.times().unwrap())
    };
    assert_eq!(end(4), (false, 1.0));
    assert!(end(5).0);
    assert_eq!(one.variants[1].ended_in(), " in 2 of 5 turns");
}

#[test]
fn harm_that_was_timed_stands_where_the_plan_changes_afterwards() {
    let changed = |turns: usize| {
        let runs = |millis: f64| (1..=turns).map(|turn| (turn, millis)).collect::<Vec<_>>();
        let mut one = in_turns(&[&runs(10.0), &runs(30.0)]);
        one.unfinished(1, Unfinished::Refused("its plan changed".into()), Duration::from_secs(1));
        one.pair(1).map(|pair| pair.does_harm())
    };
    assert_eq!([2, 3].map(changed), [None, Some(true)]);
}

#[test]
fn a_harm_of_less_than_a_fifth_of_a_millisecond_is_none_to_look_for() {
    let reaches = |now: f64| {
        let variants = vec![Variant::of(&[0], &[now; 3]), Variant::of(&[1], &[now, now, now * 1.5])];
        Compared::of("q", variants).pair_with(1).reaches_harm()
    };
    assert_eq!([0.3, 0.5].map(reaches), [false, true]);
}
