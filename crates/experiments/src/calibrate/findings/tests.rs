//! The findings of the experiment, read on both sides of their conditions, and which set is advised.

use measure::quantity::{counted, grouped};
use measure::schema::FindingSpec;
use measure::schema::calibrate;
use sides::proptest::array::{uniform, uniform2, uniform3};
use sides::proptest::collection::vec;
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use subjects::postgres::calibration::own_queries::{Listed, OwnQuery};
use subjects::postgres::calibration::queries::Unfinished;
use subjects::postgres::calibration::server_caches::ServerCaches;
use subjects::postgres::calibration::tablespaces::Tablespace;
use subjects::postgres::calibration::verification_set::VerificationRows;
use subjects::postgres::calibration::{Buffers, StillCached};

use super::*;
use crate::calibrate::bench::not_cold;
use crate::calibrate::comparison::{Compared, Variant};
use crate::calibrate::constants::{self, Measured};
use crate::calibrate::crossing::Crossing;
use crate::calibrate::estimate::Estimate;
use crate::calibrate::screening::{leave_best, screen};
use crate::calibrate::sets::{BETWEEN, CONSTANTS, LEFT, Passes, Settled, TRIED};
use crate::calibrate::tablespaces::SpaceCost;
use crate::calibrate::told_state::Unseen;
use crate::calibrate::turn::{self, By, Planned, Switch, Tried, Turn};
use crate::calibrate::{
    absent_constants, absent_remedies, compared_alone, crossover, listed_hidden, listed_lost, listed_without_tables,
    repeats, tablespaces, told_state, verification, zero_costs,
};
use crate::journal::Kept;

fn set(name: &'static str) -> ConstantSet {
    ConstantSet { name, values: Vec::new() }
}

fn judged(decision: Decision, value: f64, changed: usize) -> Judged {
    let ratio = Estimate { value, low: value * 0.9, high: value * 1.1 };
    let [faster, slower, failed, few, ended, now_ended, excepted, harmed] = [0; 8];
    let (harm, worst, now, then) = (Harm::None, 1.0, 1.0, 1.0);
    let gain = -value.ln() * changed as f64;
    Judged {
        decision,
        changed,
        faster,
        slower,
        failed,
        few,
        ended,
        now_ended,
        excepted,
        harmed,
        harm,
        ratio,
        worst,
        now,
        then,
        gain,
        saved: 0.0,
    }
}

/// The set that is advised where those of a state, a safe one and the usual advice came out so.
fn advised(cached: (Decision, f64), safe: (Decision, f64), usual: (Decision, f64)) -> (Decision, &'static str) {
    let sets = [set("now"), set("cached"), set("safe"), set("random-1.1")];
    let all = [(Decision::Undecided, 1.0), cached, safe, usual].map(|(decision, ratio)| judged(decision, ratio, 9));
    let advice = Advice::of(&sets, &all, "cached");
    (advice.decision, sets[advice.set].name)
}

#[test]
fn a_set_that_differs_from_run_to_run_is_advised_only_where_it_is_clearly_better() {
    use Decision::{Change, Keep, Undecided};
    assert_eq!(advised((Change, 0.7), (Change, 0.68), (Change, 0.72)), (Change, "random-1.1"));
    assert_eq!(advised((Change, 0.49), (Change, 0.48), (Change, 0.72)), (Change, "cached"));
    assert_eq!(
        advised((Change, 0.9), (Change, 0.5), (Change, 0.69)),
        (Change, "random-1.1"),
        "more than half the gain"
    );
    assert_eq!(advised((Change, 0.9), (Change, 0.5), (Change, 0.72)), (Change, "safe"), "less than half");
    assert_eq!(advised((Keep, 1.1), (Change, 0.9), (Undecided, 0.6)), (Change, "safe"));
    assert_eq!(advised((Keep, 1.1), (Keep, 1.0), (Undecided, 1.0)), (Keep, "cached"));
    assert_eq!(advised((Undecided, 1.1), (Keep, 1.0), (Keep, 1.0)), (Undecided, "cached"));
}

#[test]
fn the_choice_lies_between_the_known_sets_that_are_worth_a_change_and_the_one_that_is_advised() {
    use Decision::{Change, Keep, Undecided};
    let sets = [set("now"), set("cached"), set("safe"), set("random-1.1"), set("in-memory")];
    let contenders = |ratios: [(Decision, f64); 4]| {
        let all = [(Undecided, 1.0)].into_iter().chain(ratios);
        let all: Vec<Judged> = all.map(|(decision, ratio)| judged(decision, ratio, 9)).collect();
        super::contenders(&sets, &all, "cached")
    };
    assert_eq!(contenders([(Change, 0.7), (Change, 0.7), (Change, 0.72), (Change, 0.8)]), vec![3, 4]);
    assert_eq!(contenders([(Change, 0.3), (Change, 0.9), (Keep, 0.9), (Change, 0.9)]), vec![1, 4], "one is advised");
    assert_eq!(contenders([(Keep, 1.1), (Keep, 1.0), (Undecided, 1.0), (Keep, 1.0)]), Vec::<usize>::new());
}

#[test]
fn a_set_that_another_run_may_advise_instead_is_a_rival_and_one_that_gains_much_less_is_not() {
    use Decision::{Change, Keep};
    let sets = [set("now"), set("cached"), ConstantSet { name: TRIED, values: Vec::new() }, set("random-1.1")];
    let rivals = |others: [(Decision, f64, usize); 3]| {
        let of = |(decision, gain, harmed)| Judged { gain, harmed, ..judged(decision, 0.8, 9) };
        let all: Vec<Judged> = [(Keep, 0.0, 0)].into_iter().chain(others).map(of).collect();
        let advice = Advice::of(&sets, &all, "cached");
        let rivals = super::rivals(&sets, &all, "cached");
        assert_eq!(advice.has_rival, !rivals.is_empty());
        assert!(rivals.first().is_none_or(|first| *first == advice.set), "{rivals:?}");
        rivals
    };
    let kept = (Keep, -0.5, 0);
    assert_eq!(rivals([(Change, 2.04, 1), (Change, 1.68, 2), kept]), [2, 1], "0.8 times 2.04 is 1.63");
    assert_eq!(rivals([(Change, 3.34, 1), (Change, 1.38, 1), kept]), [0; 0], "0.6 times 3.34 is still more");
    assert_eq!(rivals([kept, kept, (Change, 1.0, 0)]), [0; 0], "the only one");
    assert_eq!(rivals([(Change, 1.5, 0), kept, (Change, 1.0, 0)]), [3, 1], "a known one with less than half of 1.5");
    assert_eq!(rivals([(Change, 1.5, 0), (Change, 1.5, 0), kept]), [0; 0], "one choice: both have the same plans");
    assert_eq!(rivals([kept; 3]), [0; 0]);
}

#[test]
fn a_measured_set_has_to_gain_more_than_the_best_that_is_the_same_in_each_run_and_not_than_the_nearest() {
    let sets = [set("now"), set("random-1.1"), ConstantSet { name: TRIED, values: Vec::new() }, set("cached")];
    let advised = |measured: f64| {
        let ratios = [(Decision::Undecided, 1.0), (Decision::Change, 0.5), (Decision::Change, 0.47)];
        let all = ratios.into_iter().chain([(Decision::Change, measured)]);
        let all: Vec<Judged> = all.map(|(decision, ratio)| judged(decision, ratio, 9)).collect();
        sets[Advice::of(&sets, &all, "cached").set].name
    };
    assert_eq!([0.45, 0.4, 0.24].map(advised), ["random-1.1", "random-1.1", "cached"]);
}

#[test]
fn a_known_set_that_leaves_the_longest_query_slow_gives_way_to_one_that_saves_a_tenth_more() {
    let tried = ConstantSet { name: TRIED, values: Vec::new() };
    let sets = [set("now"), set("random-1.1"), tried.clone(), tried, set("cached")];
    let advised = |others: [(f64, f64, usize); 3]| {
        let of = |(gain, saved, harmed)| Judged { gain, saved, harmed, ..judged(Decision::Change, 0.8, 9) };
        let all: Vec<Judged> = [(0.0, 0.0, 0), (2.0, 0.05, 0)].into_iter().chain(others).map(of).collect();
        Advice::of(&sets, &all, "cached").set
    };
    let none = (0.0, 0.0, 0);
    assert_eq!(advised([(2.4, 0.14, 0), (3.0, 0.12, 0), none]), 1, "less than a tenth more");
    assert_eq!(advised([(2.4, 0.16, 0), none, none]), 2);
    assert_eq!(advised([(1.1, 0.16, 0), none, none]), 2, "it has more than half of the gain");
    assert_eq!(advised([(0.9, 0.4, 0), none, none]), 1, "it has less");
    assert_eq!(advised([(1.1, 0.4, 1), none, none]), 1, "a part of the gain counts where it harms queries");
    assert_eq!(advised([(2.4, 0.26, 0), (3.5, 0.35, 0), none]), 2, "the nearest of those as quick");
    assert_eq!(advised([(2.4, 0.2, 0), (3.5, 0.35, 0), none]), 3, "the other one saves a tenth more");
    assert_eq!(advised([(2.4, 0.2, 0), none, (2.4, 0.2, 0)]), 2, "one that is the same in each run");
    assert_eq!(advised([none, none, (2.4, 0.2, 0)]), 4);
}

/// Ten queries in a state of which a set halves all but those that it makes three times as slow.
fn halved_but(state: State, harmed: usize) -> Comparison {
    let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
    let one = |number: usize| {
        let then = if number < harmed { 30.0 } else { 5.0 };
        Compared::of(&format!("q{number}"), vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[then; 3])])
    };
    Comparison::timed(state, sets, (0..10).map(one).collect())
}

#[test]
fn a_query_that_a_set_harms_keeps_its_constants_and_the_advice_names_it() {
    let said = |state, harmed| {
        let comparison = halved_but(state, harmed);
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
        whole(&comparison, &advice)
    };
    let one = said(State::AsFound, 1);
    for part in [
        "set seq_page_cost = 0.500, but not for 1 of your queries.",
        "With the set `cached`, exceptions apart, 9 of your 10 queries get a different plan; these take 0.500 times",
        "the worst 0.500 times as long",
        "The exception from the set `cached` keeps the server's own constants, by SET LOCAL in its transaction or by \
         ALTER ROLE: q0 (3.00 times as long with the set).",
    ] {
        assert!(one.contains(part), "no {part}: {one}");
    }
    assert!(!said(State::AsFound, 0).contains("but not for"));
    let kept = "keep the server's own constants, because 2 queries certainly take much longer, the worst 3.00 times";
    assert!(said(State::AsFound, 2).contains(kept), "two of ten");
    let ours = said(State::Cached, 1);
    let kept = "keep the server's own constants, because one query certainly takes 3.00 times as long.";
    assert!(ours.contains(kept), "readpath's queries stand for others: {ours}");
}

#[test]
fn a_query_whose_runs_were_ended_is_said_to_take_at_least_as_many_times_as_long() {
    let said = |ended: usize, then: &dyn Fn() -> Variant| {
        let one = |number: usize| {
            let then = if number < ended { then() } else { Variant::of(&[1], &[5.0; 3]) };
            Compared::of(&format!("q{number}"), vec![Variant::of(&[0], &[10.0; 3]), then])
        };
        said_of(State::AsFound, (0..10).map(one).collect(), None)
    };
    let exception = said(1, &|| Variant::ended(&[1], 500.0));
    assert!(exception.contains("q0 (at least 50.0 times as long with the set)"), "{exception}");
    assert!(exception.contains("and the worst 0.500 times as long"), "{exception}");
    let kept = said(2, &|| Variant::ended(&[1], 500.0));
    assert!(kept.contains("2 queries certainly take much longer, the worst at least 50.0 times as long."), "{kept}");
    for part in ["take at least 1.26 times", "at least 1.04 s instead of 100 ms", "and the worst at least 50.0 times"] {
        assert!(kept.contains(part), "no {part}: {kept}");
    }
    let slower = said(2, &|| Variant::of(&[1], &[500.0; 3]));
    assert!(slower.contains("and the worst 50.0 times as long"), "{slower}");
}

#[test]
fn an_exception_that_ran_too_seldom_is_one_for_that_and_not_for_its_ratio() {
    let one = |number: usize| {
        let runs = if number == 0 { 2 } else { 3 };
        let then = Variant::of(&[1], &vec![5.0; runs]);
        Compared::of(&format!("q{number}"), vec![Variant::of(&[0], &[10.0; 3]), then])
    };
    let said = said_of(State::AsFound, (0..10).map(one).collect(), None);
    assert!(said.contains("q0 (0.500 times as long with the set, in too few turns for a verdict)."), "{said}");
}

#[test]
fn a_value_of_a_thousand_or_more_can_be_pasted() {
    let values = vec![("seq_page_cost", 1000.0), ("random_page_cost", 12_500.0), ("cpu_tuple_cost", 0.01)];
    let written = super::values(&ConstantSet { name: "cached", values });
    assert_eq!(written, "seq_page_cost = 1000, random_page_cost = 12500, cpu_tuple_cost = 0.0100");
}

#[test]
fn a_verdict_that_is_withheld_has_no_exceptions() {
    let comparison = halved_but(State::AsFound, 1);
    let exceptions = |reason: Option<String>| {
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached").withheld(reason);
        let finding = super::advice(&comparison, &advice, "postgres 18.6");
        finding.values.contains_key("exceptions")
    };
    assert!(exceptions(None));
    assert!(!exceptions(Some("others were at work".into())));
    let mut comparison = halved_but(State::AsFound, 1);
    assert_eq!((comparison.judged[1].changed, comparison.judged[1].worst), (9, 0.5));
    comparison.judge_without_exceptions();
    let judged = comparison.judged[1];
    assert_eq!((judged.changed, judged.worst, comparison.excepted(1).count()), (10, 3.0, 0), "what is shown is all");
}

#[test]
fn a_set_that_most_queries_are_worse_with_is_undecided_and_the_page_says_why() {
    let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
    let one = |number: usize| {
        let [now, then] = if number == 0 { [100.0, 10.0] } else { [10.0, 11.9] };
        Compared::of(&format!("q{number}"), vec![Variant::of(&[0], &[now; 3]), Variant::of(&[1], &[then; 3])])
    };
    let comparison = Comparison::timed(State::AsFound, sets, (0..6).map(one).collect());
    let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
    let said = whole(&comparison, &advice);
    assert!(
        said.contains("undecided, because a few queries get much faster and more of them get a slower plan"),
        "{said}"
    );
}

#[test]
fn queries_none_of_which_is_certainly_faster_are_not_said_to_get_faster() {
    let said = |first: [f64; 3]| {
        let one = |number: usize| {
            let then = if number == 0 { first } else { [8.0, 10.0, 13.0] };
            Compared::of("q", vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &then)])
        };
        said_of(State::AsFound, (0..6).map(one).collect(), None)
    };
    let noise = said([8.0, 10.0, 13.0]);
    assert!(noise.contains("undecided, because no query is certainly faster, and the mean may lie"), "{noise}");
    assert!(noise.contains("0 are certainly faster and 0 certainly slower"), "{noise}");
    let some = said([9.0; 3]);
    assert!(some.contains("undecided, because some queries get faster and others may get slower"), "{some}");
}

#[test]
fn queries_that_are_certainly_slower_are_not_said_to_be_perhaps_slower() {
    let one = |number: usize| {
        let then = if number == 0 { 5.0 } else { 10.8 };
        Compared::of("q", vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[then; 3])])
    };
    let said = said_of(State::System, (0..7).map(one).collect(), None);
    let begins = "postgres 18.6, cached by the operating system (system): undecided, because some queries get faster \
                  and others get slower.";
    assert!(said.starts_with(begins), "{said}");
    assert!(said.ends_with("; 1 is certainly faster and 6 certainly slower."), "{said}");
}

#[test]
fn of_too_few_turns_it_is_not_said_that_nothing_is_certain() {
    let said = halved_and(2, [Variant::of(&[0], &[10.0; 2]), Variant::of(&[1], &[5.0; 2])], None);
    assert!(said.ends_with("Too few turns for an interval."), "{said}");
}

#[test]
fn a_verdict_of_a_busy_server_is_withheld() {
    let sets = [set("now"), set("cached")];
    let advice = Advice::of(&sets, &[judged(Decision::Undecided, 1.0, 0), judged(Decision::Change, 0.5, 9)], "cached");
    let judged = judged(Decision::Change, 0.5, 9);
    assert_eq!((advice.decision, advice.verdict(&judged)), (Decision::Change, Decision::Change));
    let withheld = advice.withheld(Some("others were at work".into()));
    assert_eq!((withheld.decision, withheld.verdict(&judged)), (Decision::Undecided, Decision::Undecided));
}

/// Five queries in a state that take this many times as long by a set.
fn five_by(state: State, factor: f64) -> Comparison {
    let pair = || vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[10.0 * factor; 3])];
    let queries = (0..5).map(|at| Compared::of(&format!("query {at}"), pair())).collect();
    Comparison::timed(state, ["now", "cached"].map(set).into(), queries)
}

#[test]
fn an_advised_set_that_is_slow_in_another_state_says_so_where_it_is_advised() {
    let said = |cold: f64| {
        let all = [five_by(State::Cached, 0.5), five_by(State::Cold, cold)];
        let advice = Advice::of(&all[0].sets, &all[0].judged, "cached");
        assert_eq!(advice.decision, Decision::Change);
        with_harm(super::advice(&all[0], &advice, "postgres 18"), (&all[0], &advice), &all, &[]).message
    };
    let harm = "It is for this state alone: with nothing cached the queries that it changes take 6.20 times as long.";
    assert!(said(6.2).ends_with(harm), "{}", said(6.2));
    assert!(!said(1.05).contains("this state alone"));
}

#[test]
fn what_an_advised_set_costs_in_another_state_is_said_to_be_a_bound_where_the_limit_ended_a_query() {
    let said = |last: Variant| {
        let mut cold = five_by(State::Cold, 1.0);
        cold.compared.push(Compared::of("last", vec![Variant::of(&[0], &[10.0; 3]), last]));
        cold.judge();
        let all = [five_by(State::Cached, 0.5), cold];
        let advice = Advice::of(&all[0].sets, &all[0].judged, "cached");
        with_harm(super::advice(&all[0], &advice, "postgres 18"), (&all[0], &advice), &all, &[]).message
    };
    // The sixth root of 50.
    let ended = said(Variant::ended(&[1], 500.0));
    assert!(ended.ends_with("the queries that it changes take at least 1.92 times as long."), "{ended}");
    let timed = said(Variant::of(&[1], &[500.0; 3]));
    assert!(timed.ends_with("the queries that it changes take 1.92 times as long."), "{timed}");
}

#[test]
fn a_run_that_is_cut_short_says_what_an_advised_set_harms_and_where_that_was_not_measured() {
    use State::{Cached, Cold, System};
    let said = |timed: &[(State, f64)], cut: &[State]| {
        let timed = timed.iter().map(|(state, factor)| five_by(*state, *factor));
        // What the first rounds show is no figure of the set yet.
        let cut = cut.iter().map(|state| Comparison { is_timed: false, ..five_by(*state, 9.0) });
        let all: Vec<Comparison> = timed.chain(cut).collect();
        let advice = Advice::of(&all[0].sets, &all[0].judged, "cached");
        let untimed = verification::untimed(vec![Cached, System, Cold], &all);
        with_harm(super::advice(&all[0], &advice, "postgres 18"), (&all[0], &advice), &all, &untimed).message
    };
    let harm = "It is for this state alone: cached by the operating system the queries that it changes take 6.20 times \
                as long.";
    let ended = "was not measured, because the run was ended first.";
    let unknown = format!("Whether it harms queries that run with nothing cached {ended}");
    let whole = said(&[(Cached, 0.5), (System, 6.2), (Cold, 0.5)], &[]);
    assert!(whole.ends_with(harm), "{whole}");
    let before = said(&[(Cached, 0.5), (System, 6.2)], &[]);
    assert!(before.ends_with(&format!("{harm} {unknown}")), "{before}");
    let begun = |state: &str| {
        format!(
            "Whether it harms queries that run {state} was not measured to the end, because the run was ended first: \
             so far, one query takes 9.00 times as long."
        )
    };
    let last = said(&[(Cached, 0.5), (System, 6.2)], &[Cold]);
    assert!(last.ends_with(&format!("{harm} {}", begun("with nothing cached"))), "{last}");
    let first = said(&[(Cached, 0.5)], &[System]);
    let both = format!("{} {unknown}", begun("cached by the operating system"));
    assert!(first.ends_with(&both) && !first.contains("for this state alone"), "{first}");
    let kept = said(&[(Cached, 1.0)], &[System]);
    assert!(kept.contains("keep the server's own constants, because ") && !kept.contains(ended), "{kept}");
}

#[test]
fn what_one_query_takes_so_far_is_said_to_be_a_bound_where_the_limit_ended_it() {
    let said = |last: Vec<Variant>| {
        let mut cut = Comparison { is_timed: false, ..five_by(State::System, 1.0) };
        cut.compared.push(Compared::of("last", last));
        cut.judge();
        let all = [five_by(State::Cached, 0.5), cut];
        let advice = Advice::of(&all[0].sets, &all[0].judged, "cached");
        let said = super::advice(&all[0], &advice, "postgres 18");
        with_harm(said, (&all[0], &advice), &all, &[State::System]).message
    };
    let by = |then: Variant| said(vec![Variant::of(&[0], &[10.0; 3]), then]);
    let ended = by(Variant::ended(&[1], 500.0));
    assert!(ended.ends_with("so far, one query takes at least 50.0 times as long."), "{ended}");
    let timed = by(Variant::of(&[1], &[500.0; 3]));
    assert!(timed.ends_with("so far, one query takes 50.0 times as long."), "{timed}");
}

/// A state in which queries were compared, how many of nine got another plan, how many times as long these then took,
/// and whether something withholds the verdict.
type Advised = (Option<State>, usize, f64, bool);

fn in_state((state, changed, factor, is_withheld): &Advised) -> Vec<Finding> {
    let Some(state) = *state else { return Vec::new() };
    let one = |number: usize| {
        let variants = match number < *changed {
            true => vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[10.0 * factor; 3])],
            false => vec![Variant::of(&[0, 1], &[])],
        };
        Compared::of(&format!("q{number}"), variants)
    };
    found_of(state, (0..9).map(one).collect(), is_withheld.then(|| "it was busy".into()))
}

/// What is found of a set of a state and of the server's own by these queries.
fn found_of(state: State, compared: Vec<Compared>, withheld: Option<String>) -> Vec<Finding> {
    let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
    let comparison = Comparison::timed(state, sets, compared);
    let advice = Advice::of(&comparison.sets, &comparison.judged, "cached").withheld(withheld);
    let said = super::advice(&comparison, &advice, "postgres 18.6");
    [said].into_iter().chain(super::notes(&comparison, &advice)).collect()
}

/// The same in words: the advice, and behind it its notes.
fn said_of(state: State, compared: Vec<Compared>, withheld: Option<String>) -> String {
    let found = found_of(state, compared, withheld);
    found.into_iter().map(|finding| finding.message).collect::<Vec<_>>().join(" ")
}

/// All that is said of an advice, in words: the advice, and behind it its notes.
fn whole(comparison: &Comparison, advice: &Advice) -> String {
    let notes = super::notes(comparison, advice).map_or(String::new(), |notes| format!(" {}", notes.message));
    super::advice(comparison, advice, "postgres 18.6").message + &notes
}

#[test]
fn an_advice_has_three_sentences_and_what_becomes_of_single_queries_is_a_note() {
    let comparison = halved_but(State::AsFound, 1);
    let refused = vec![("other".to_string(), Unfinished::Refused("it is cut".into()))];
    let comparison = Comparison { refused, ..comparison };
    let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
    let said = super::advice(&comparison, &advice, "postgres 18.6").message;
    assert_eq!(said.matches(". ").count() + 1, 3, "{said}");
    let notes = super::notes(&comparison, &advice).unwrap().message;
    let other = "1 other statement of yours could not be explained";
    for part in ["The exception from the set `cached` keeps the server's own constants", other] {
        assert!(notes.contains(part) && !said.contains(part), "no {part}: {notes}");
    }
    let comparison = halved_but(State::AsFound, 0);
    let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
    assert_eq!(super::notes(&comparison, &advice), None, "nothing is left out");
}

#[test]
fn a_decision_close_to_a_limit_says_that_another_run_may_give_different_advice_and_a_clear_one_does_not() {
    let near = "The result is close to a limit, so another run may give different advice.";
    let said = |then: [f64; 3], last: [f64; 3]| {
        let one = |number: usize| {
            let then = if number == 0 { last } else { then };
            Compared::of(&format!("q{number}"), vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &then)])
        };
        said_of(State::AsFound, (0..6).map(one).collect(), None)
    };
    let is_near = |then: [f64; 3], last: [f64; 3], decision: &str| {
        let said = said(then, last);
        assert!(said.contains(decision), "{said}");
        said.contains(near)
    };
    let (change, keep) = (": set seq_page_cost", ": keep the server's own constants");
    assert!(!is_near([5.0; 3], [5.0; 3], change), "half of the time");
    assert!(is_near([9.8; 3], [9.8; 3], change), "0.98 on average");
    assert!(is_near([5.0; 3], [9.0, 10.0, 13.5], change), "one query may be harmed");
    assert!(!is_near([5.0; 3], [30.0; 3], keep), "certainly harmed");
    assert!(is_near([5.0; 3], [12.0, 13.0, 14.0], keep), "harmed by 1.2 to 1.4");
    assert!(!is_near([12.2, 13.0, 13.8], [12.2, 13.0, 13.8], keep), "the mean alone keeps what is there");
    assert!(!is_near([12.8, 13.0, 13.2], [12.8, 13.0, 13.2], keep), "all harmed by 1.3");
    assert!(is_near([10.0, 10.6, 11.3], [10.0, 10.6, 11.3], keep), "about 1.03 to 1.10 on average");
    assert!(!is_near([10.2; 3], [10.2; 3], keep), "1.02: a mean within 5 % of 1 keeps what is there too");
    assert!(!is_near([11.5; 3], [11.5; 3], keep), "1.15 on average");
    let of_long = |then: f64| {
        let times = [(8000.0, then), (10.0, 30.0), (100.0, 97.0), (200.0, 194.0), (300.0, 291.0)];
        let plans = |(now, then): (f64, f64)| vec![Variant::of(&[0], &[now; 3]), Variant::of(&[1], &[then; 3])];
        let same = (0..5).map(|_| Compared::of("same", vec![Variant::of(&[0, 1], &[])]));
        said_of(State::AsFound, times.map(|one| Compared::of("q", plans(one))).into_iter().chain(same).collect(), None)
    };
    assert_eq!(
        [7100.0, 6500.0].map(|then| of_long(then).contains(near)),
        [true, false],
        "a tenth of the time, and more"
    );
}

#[test]
fn too_few_queries_for_a_verdict_are_said_to_be_timed_for_the_harm_that_one_can_show() {
    let said = |count: usize, then: f64| {
        let one = |_| Compared::of("q", vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[then; 3])]);
        said_of(State::AsFound, (0..count).map(one).collect(), None)
    };
    let why =
        "Even fewer than 4 queries are timed, because one query that certainly takes much longer is reason enough";
    assert!([1, 3].iter().all(|count| said(*count, 9.0).contains(why)), "{}", said(1, 9.0));
    assert!(!said(4, 9.0).contains(why) && !said(1, 30.0).contains(why), "{}", said(1, 30.0));
}

#[test]
fn a_query_that_was_timed_by_another_set_than_that_of_the_caches_is_not_said_to_be_untimed() {
    let said = |[by_usual, by_memory]: [usize; 2]| {
        let sets = vec![set("now"), set("cached"), set("random-1.1"), set("in-memory")];
        let of = |same: [usize; 3], other: usize| {
            Compared::of("q", vec![Variant::of(&same, &[10.0; 3]), Variant::of(&[other], &[10.9; 3])])
        };
        let usual = (0..by_usual).map(|_| of([0, 1, 3], 2));
        let memory = (0..by_memory).map(|_| of([0, 1, 2], 3));
        let same = [Compared::of("same", vec![Variant::of(&[0, 1, 2, 3], &[])])];
        let comparison = Comparison::timed(State::AsFound, sets, usual.chain(memory).chain(same).collect());
        whole(&comparison, &Advice::of(&comparison.sets, &comparison.judged, "cached"))
    };
    for (timed, why, of) in [
        ([1, 0], "only 1 query with a different plan was timed, and a verdict needs at least 4", "the plan of 1 of"),
        (
            [1, 2],
            "only 3 queries with a different plan were timed, and a verdict needs at least 4",
            "the plans of 3 of",
        ),
        (
            [3, 3],
            "no set changes the plans of 4 queries that were timed, and a verdict needs as many",
            "the plans of 6 of",
        ),
    ] {
        let said = said(timed);
        assert!(said.contains(&format!("undecided, because {why}. Some set of constants changes {of} your")), "{said}");
    }
}

#[test]
fn statements_that_are_none_of_the_queries_are_said() {
    let said = |refused: usize| {
        let sets = vec![set("now"), set("cached")];
        let one = Compared::of("q", vec![Variant::of(&[0, 1], &[])]);
        let refused = vec![("other".to_string(), Unfinished::Refused("it has parameters".into())); refused];
        let comparison = Comparison { refused, ..Comparison::timed(State::AsFound, sets, vec![one]) };
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
        whole(&comparison, &advice)
    };
    assert!(!said(0).contains("could not be explained"), "{}", said(0));
    assert!(said(0).contains("changes the plan of your query."), "{}", said(0));
    let [one, two] = [1, 2].map(said);
    assert!(one.contains(" 1 other statement of yours could not be explained: it is listed with"), "{one}");
    assert!(two.contains(" 2 other statements of yours could not be explained: they are listed with"), "{two}");
}

/// Five queries that get another plan, which is twice as fast in each of the runs; and one more with these plans.
fn halved_and(runs: usize, last: [Variant; 2], not_timed: Option<Unfinished>) -> String {
    let halved = || vec![Variant::of(&[0], &vec![10.0; runs]), Variant::of(&[1], &vec![5.0; runs])];
    let five = (0..5).map(|_| Compared::of("q", halved()));
    let last = Compared { not_timed, ..Compared::of("last", last.into()) };
    said_of(State::AsFound, five.chain([last]).collect(), None)
}

#[test]
fn a_change_says_how_many_queries_get_a_plan_that_was_not_timed() {
    let plans = || [Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[9.0; 3])];
    let timed = halved_and(3, plans(), None);
    assert!(timed.contains("set seq_page_cost") && !timed.contains("not timed"), "{timed}");
    let parameters = halved_and(3, plans(), Some(Unfinished::Refused("its parameters have no values".into())));
    for part in [
        "set seq_page_cost",
        "6 of your 6 queries get a different plan; the 5 that were timed take 0.500 times as long on average",
        " 1 of the queries that get a different plan with the set `cached` was not timed: what becomes of it is not \
         known.",
    ] {
        assert!(parameters.contains(part), "no {part}: {parameters}");
    }
    assert!(!parameters.contains("lock"), "{parameters}");
}

/// What is said where queries were not timed and others could not be explained for this reason, and one was timed.
fn said_without(why: &Unfinished, untimed: usize, unexplained: usize) -> String {
    let not_timed = |_| {
        let plans = vec![Variant::of(&[0], &[]), Variant::of(&[1], &[])];
        Compared { not_timed: Some(why.clone()), ..Compared::of("q", plans) }
    };
    let timed = Compared::of("timed", vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[9.0; 3])]);
    let compared = (0..untimed).map(not_timed).chain([timed]).collect();
    let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
    let refused = vec![("other".to_string(), why.clone()); unexplained];
    let comparison = Comparison { refused, ..Comparison::timed(State::AsFound, sets, compared) };
    let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
    whole(&comparison, &advice)
}

#[test]
fn a_lock_is_known_whatever_its_sentence_says_and_a_sentence_about_a_lock_is_none() {
    let locked = said_without(&Unfinished::Locked("another session holds what it reads".into()), 2, 1);
    let why = "2 queries were not timed and 1 statement could not be explained, because they waited for a lock";
    assert!(locked.contains(why) && !locked.contains("other statement"), "{locked}");
    let refused = said_without(&Unfinished::Refused("its function says that it waits for a lock".into()), 2, 1);
    assert!(!refused.contains("because they waited"), "{refused}");
    assert!(refused.contains(" 1 other statement of yours could not be explained: it is listed"), "{refused}");
}

#[test]
fn queries_that_a_lock_kept_from_being_timed_are_not_left_without_that_reason() {
    let lock = Unfinished::Locked("it waits for a lock that another session holds".into());
    let said = |locked: usize, refused: usize| said_without(&lock, locked, refused);
    let headline = "postgres 18.6, as the server is: undecided, because only 1 query with a different plan was timed, \
                    and a verdict needs at least 4.";
    let gone = "a lock that another session held: repeat the run when that lock is gone.";
    for ([locked, refused], what) in [
        ([1, 0], "1 query was not timed, because it waited for"),
        ([2, 0], "2 queries were not timed, because they waited for"),
        ([0, 1], "1 statement could not be explained, because it waited for"),
        ([2, 1], "2 queries were not timed and 1 statement could not be explained, because they waited for"),
    ] {
        let said = said(locked, refused);
        assert!(said.starts_with(&format!("{headline} {what} {gone} ")), "{said}");
        assert!(!said.contains("statement of yours"), "it would be counted twice: {said}");
    }
    assert!(!said(0, 0).contains("lock"), "{}", said(0, 0));
}

#[test]
fn a_query_beyond_the_time_limit_is_an_exception_with_its_reason_and_of_few_queries_leaves_it_undecided() {
    let said = |unchanged: usize| {
        let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
        let halved = || vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])];
        let plans = vec![Variant::ended(&[0], 10_000.0), Variant::ended(&[1], 10_000.0)];
        let long = Compared::of("the longest", plans);
        let same = (0..unchanged).map(|_| Compared::of("same", vec![Variant::of(&[0, 1], &[])]));
        let compared = (0..5).map(|_| Compared::of("q", halved())).chain([long]).chain(same).collect();
        let comparison = Comparison::timed(State::AsFound, sets, compared);
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
        whole(&comparison, &advice)
    };
    let many = said(4);
    assert!(many.contains("set seq_page_cost = 0.500, but not for 1 of your queries."), "{many}");
    let reason =
        "ALTER ROLE: the longest (it reaches the time limit with the server's own constants and with the set).";
    assert!(many.contains(reason), "{many}");
    assert!(!many.contains("not timed"), "{many}");
    let few = said(3);
    assert!(few.contains("undecided, because 1 query reached the time limit"), "{few}");
    assert!(few.contains("use a larger --time-limit"), "{few}");
}

#[test]
fn a_query_that_reaches_the_limit_only_now_takes_part_and_its_ratio_is_said_to_be_at_most_that() {
    let said = |then: f64| {
        let longest = Compared::of("the longest", vec![Variant::ended(&[0], 10_000.0), Variant::of(&[1], &[then; 3])]);
        let halved = || vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])];
        let compared = (0..5).map(|_| Compared::of("q", halved())).chain([longest]).collect();
        said_of(State::AsFound, compared, None)
    };
    let quick = said(2000.0);
    assert!(quick.contains("set seq_page_cost = 0.500.") && !quick.contains("not timed"), "{quick}");
    assert!(quick.contains("the worst 0.500 times as long."), "{quick}");
    let limit = "With the server's own constants, 1 query was ended at the time limit and counts with it: it takes at \
                 least that long, so the set may save more than these figures say.";
    assert!(quick.contains(limit), "{quick}");
    let worst = said(7900.0);
    assert!(worst.contains("the worst at most 0.790 times as long."), "{worst}");
    let near = said(9000.0);
    assert!(near.contains("undecided, because 1 query reached the time limit"), "{near}");
}

#[test]
fn where_too_few_queries_are_timed_because_of_the_limit_the_option_that_moves_it_is_named_once() {
    let said = |long: usize, halved: usize| {
        let beyond = |_| Compared::of("long", vec![Variant::ended(&[0], 10_000.0), Variant::ended(&[1], 10_000.0)]);
        let within = |_| Compared::of("q", vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])]);
        let compared = (0..long).map(beyond).chain((0..halved).map(within)).collect();
        said_of(State::AsFound, compared, None)
    };
    let unknown = |it: &str| {
        format!(
            "the time limit with the server's own constants, and whether the set makes {it} faster is not known: use a \
             larger --time-limit."
        )
    };
    let (none, three) = ("no query with a different plan was timed", "only 3 queries with a different plan were timed");
    for (long, halved, timed, ended, it) in [
        (5, 0, none, "5 queries that get a different plan with the set `cached` reach", "them"),
        (1, 0, none, "1 query that gets a different plan with the set `cached` reaches", "it"),
        (2, 3, three, "2 of the queries that get a different plan with the set `cached` reach", "them"),
    ] {
        let said = said(long, halved);
        assert!(said.contains(&format!("undecided, because {timed}, and a verdict needs at least 4.")), "{said}");
        assert!(said.ends_with(&format!(" {ended} {}", unknown(it))), "{said}");
    }
    let enough = said(1, 5);
    assert_eq!(enough.matches("use a larger --time-limit").count(), 1, "{enough}");
    assert!(!said(0, 3).contains("--time-limit"), "{}", said(0, 3));
}

#[test]
fn a_query_that_decides_against_a_set_does_not_hide_those_that_a_longer_limit_would_decide() {
    let said = |near: usize, beyond: usize, harmed: usize| {
        let pair = |now: f64, then: f64| vec![Variant::of(&[0], &[now; 3]), Variant::of(&[1], &[then; 3])];
        let halved = (0..5).map(|_| Compared::of("halved", pair(10.0, 5.0)));
        let harmed = (0..harmed).map(|_| Compared::of("harmed", pair(10.0, 30.0)));
        let near = (0..near)
            .map(|_| Compared::of("near", vec![Variant::of(&[0], &[9000.0; 3]), Variant::ended(&[1], 10_000.0)]));
        let beyond = (0..beyond)
            .map(|_| Compared::of("beyond", vec![Variant::ended(&[0], 10_000.0), Variant::ended(&[1], 10_000.0)]));
        said_of(State::AsFound, halved.chain(harmed).chain(near).chain(beyond).collect(), None)
    };
    let both = said(1, 1, 1);
    assert!(both.contains("keep the server's own constants, because "), "{both}");
    let open = " 2 of the queries that get a different plan with the set `cached` are undecided because of the time \
                limit, and a longer one can decide them: use a larger --time-limit.";
    assert!(both.contains(open), "{both}");
    assert!(both.contains("8 of your 8 queries get a different plan; the 7 that were timed take"), "{both}");
    let one = said(0, 1, 1);
    let open = " 1 of the queries that get a different plan with the set `cached` is undecided because of the time";
    assert!(one.contains(open), "{one}");
    assert!(!said(0, 0, 1).contains("--time-limit"), "{}", said(0, 0, 1));
    let undecided = said(1, 1, 0);
    assert_eq!(undecided.matches("use a larger --time-limit").count(), 1, "{undecided}");
}

#[test]
fn a_query_that_reached_the_time_limit_is_counted_with_the_others_and_not_said_to_be_untimed() {
    let said = |withheld: Option<String>| {
        let halved = || vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])];
        let near = vec![Variant::of(&[0], &[9000.0; 3]), Variant::ended(&[1], 10_000.0)];
        let beyond = vec![Variant::ended(&[0], 10_000.0), Variant::ended(&[1], 10_000.0)];
        let plans = (0..5).map(|_| halved()).chain([near, beyond]);
        said_of(State::AsFound, plans.map(|plans| Compared::of("q", plans)).collect(), withheld)
    };
    let undecided = said(None);
    assert!(undecided.contains("undecided, because 2 queries reached the time limit"), "{undecided}");
    for said in [undecided, said(Some("other sessions were at work".into()))] {
        assert!(!said.contains("not timed"), "{said}");
    }
}

#[test]
fn no_verdict_of_plans_that_ran_seldom_or_were_ended_near_the_limit_names_the_option_that_tells() {
    let seldom = halved_and(2, [Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])], None);
    for part in ["undecided, because plans of 5 queries ran in fewer than 3 turns", "--rounds 3", "Too few turns"] {
        assert!(seldom.contains(part), "no {part}: {seldom}");
    }
    let ended = halved_and(3, [Variant::of(&[0], &[9000.0; 3]), Variant::ended(&[1], 10_000.0)], None);
    assert!(ended.contains("undecided, because 1 query reached the time limit"), "{ended}");
    assert!(ended.contains("use a larger --time-limit"), "{ended}");
    let slower = halved_and(3, [Variant::of(&[0], &[3000.0; 3]), Variant::ended(&[1], 10_000.0)], None);
    assert!(slower.contains("keep the server's own constants"), "{slower}");
}

#[test]
fn a_plan_that_the_sessions_limit_ended_is_not_answered_with_an_option_that_does_not_move_it() {
    let said = |ended_by: EndedBy| {
        let halved = || vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])];
        let last = Compared::of("last", vec![Variant::of(&[0], &[9000.0; 3]), Variant::ended(&[1], 10_000.0)]);
        let compared = (0..5).map(|_| Compared::of("q", halved())).chain([last]).collect();
        let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
        let comparison = Comparison { ended_by, ..Comparison::timed(State::AsFound, sets, compared) };
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
        whole(&comparison, &advice)
    };
    assert!(said(EndedBy::TimeLimit).contains("use a larger --time-limit."));
    let session = said(EndedBy::StatementTimeout);
    let longer = "use a larger --statement-timeout, unless the limit is a statement_timeout in options= of the address";
    assert!(session.contains(longer), "{session}");
    assert!(!session.contains("--time-limit"), "{session}");
}

#[test]
fn a_query_that_a_set_alone_makes_fail_is_an_exception_or_keeps_all_from_the_set() {
    let said = |halved: usize| {
        let plans = || vec![Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])];
        let last = Compared::of("last", vec![Variant::of(&[0], &[10.0; 3]), Variant::failed(&[1], 500.0)]);
        let compared = (0..halved).map(|_| Compared::of("q", plans())).chain([last]).collect();
        said_of(State::AsFound, compared, None)
    };
    let many = said(9);
    assert!(many.contains("set seq_page_cost = 0.500, but not for 1 of your queries."), "{many}");
    assert!(many.contains("last (with the set, it ends with an error)."), "{many}");
    let few = said(8);
    assert!(few.contains("keep the server's own constants, because "), "{few}");
    let timed = "With the set `cached`, 9 of your 9 queries get a different plan; the 8 that end without an error take \
                 0.500 times as long on average, 40.0 ms instead of 80.0 ms together";
    assert!(few.contains(timed), "{few}");
    assert!(few.contains("With the set `cached`, last ends with an error."), "{few}");
    let alone = said(0);
    let untimed =
        "With the set `cached`, your query gets a different plan. With the set `cached`, last ends with an error.";
    assert!(alone.contains(untimed), "there is no time to give: {alone}");
}

#[test]
fn what_is_said_of_queries_fits_their_number() {
    let said = |changed: usize, same: usize, refused: usize| {
        let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
        let not_timed = |at: usize| {
            let plans = vec![Variant::of(&[0], &[]), Variant::of(&[1], &[])];
            let not_timed = Some(Unfinished::Refused("its parameters have no values".into()));
            Compared { not_timed, ..Compared::of(&format!("q{at}"), plans) }
        };
        let same = (0..same).map(|_| Compared::of("same", vec![Variant::of(&[0, 1], &[])]));
        let compared = (0..changed).map(not_timed).chain(same).collect();
        let refused = vec![("other".to_string(), Unfinished::Refused("it is cut".into())); refused];
        let comparison = Comparison { refused, ..Comparison::timed(State::AsFound, sets, compared) };
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
        whole(&comparison, &advice)
    };
    let begin = "postgres 18.6, as the server is: undecided, because no query with a different plan was timed, and a \
                 verdict needs at least 4.";
    for (said, end) in [
        (said(0, 0, 0), "No query was compared."),
        (
            said(0, 0, 1),
            "No query was compared. 1 statement of yours could not be explained: it is listed with the reason.",
        ),
        (said(0, 2, 0), "No set of constants changes the plan of any of your 2 queries."),
        (
            said(1, 0, 0),
            "Some set of constants changes the plan of your query. 1 query gets a different plan with the set `cached` \
             and was not timed: what becomes of it is not known.",
        ),
        (
            said(1, 4, 0),
            "Some set of constants changes the plan of 1 of your 5 queries. 1 query gets a different plan with the set \
             `cached` and was not timed: what becomes of it is not known.",
        ),
        (
            said(3, 0, 0),
            "Some set of constants changes the plans of 3 of your 3 queries. 3 queries get a different plan with the \
             set `cached` and were not timed: what becomes of them is not known.",
        ),
    ] {
        assert_eq!(said, format!("{begin} {end}"));
    }
}

#[test]
fn of_one_query_no_average_no_sum_and_no_worst_is_said_and_its_bound_stays() {
    let said = |plans: [Variant; 2]| said_of(State::AsFound, vec![Compared::of("q", plans.into())], None);
    let whole = said([Variant::of(&[0], &[10.0; 3]), Variant::of(&[1], &[5.0; 3])]);
    assert!(whole.contains("; it takes 0.500 times as long, 5.00 ms instead of 10.0 ms. With turns"), "{whole}");
    let ended = said([Variant::ended(&[0], 1000.0), Variant::of(&[1], &[500.0; 3])]);
    assert!(ended.contains("; it takes at most 0.500 times as long, 500 ms instead of 1.00 s."), "{ended}");
    for said in [whole, ended] {
        assert!(["on average", "together", "the worst"].iter().all(|word| !said.contains(word)), "{said}");
    }
}

#[test]
fn a_run_that_times_queries_is_advised_only_where_some_can_be_timed() {
    let said = |changed: usize, is_open: bool| {
        let one = |number: usize| {
            let sets: &[&[usize]] = if number < changed { &[&[0], &[1]] } else { &[&[0, 1]] };
            let why = is_open.then(|| Unfinished::Refused("its parameters have no values".into()));
            let variants = sets.iter().map(|sets| Variant::of(sets, &[])).collect();
            Compared { not_timed: why, ..Compared::of("q", variants) }
        };
        let sets = vec![set("now"), set("cached")];
        compared_alone(&Comparison::timed(State::AsFound, sets, (0..3).map(one).collect()))
    };
    assert!(said(2, false).ends_with("repeat the run with --run, which times them"));
    assert!(said(2, true).ends_with("the queries whose plan some set changes cannot be run"));
    for is_open in [true, false] {
        assert_eq!(said(0, is_open), "plans were compared and nothing was run");
    }
}

#[test]
fn a_query_that_has_the_text_of_another_one_counts_once_and_is_not_said_to_be_refused() {
    let text = |name: &str, text: &str| OwnQuery { name: name.into(), text: text.into() };
    let asked = [text("first", "SELECT 1"), text("second", "SELECT 2"), text("again", "SELECT 1")];
    let why = |at: usize| repeats(&asked[at].text, &asked[..at]);
    assert_eq!([0, 1].map(why), [None, None]);
    let again = why(2).unwrap();
    assert!(again.is_repeated() && again.sentence().contains("the same text as `first`"), "{again:?}");
    let one = Compared::of("q", vec![Variant::of(&[0, 1], &[])]);
    let refused = vec![("again".to_string(), again)];
    let sets = vec![set("now"), set("cached")];
    let comparison = Comparison { refused, ..Comparison::timed(State::AsFound, sets, vec![one]) };
    let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
    let said = whole(&comparison, &advice);
    assert!(said.contains(" 1 query has the same text as an earlier one and is not counted again."), "{said}");
    assert!(!said.contains("could not be explained"), "{said}");
}

#[test]
fn a_role_whose_name_needs_quotation_marks_has_them_in_the_grant_that_a_finding_advises() {
    let listed = |hidden: u64| Listed { hidden, hidden_percent: 50.0, ..Listed::default() };
    let said = |hidden: u64| listed_hidden(&listed(hidden), "web-shop").unwrap().message;
    assert!(said(1).ends_with("GRANT pg_read_all_stats TO \"web-shop\" shows its text."), "{}", said(1));
    assert!(said(2).contains("not see their texts: they are not compared."), "{}", said(2));
}

#[test]
fn plans_that_only_tried_sets_lead_to_are_not_said_to_be_changed_by_no_set() {
    let sets = vec![set("now"), set("cached"), ConstantSet { name: TRIED, values: vec![("seq_page_cost", 0.5)] }];
    let plans = || vec![Variant::of(&[0, 1], &[10.0]), Variant::of(&[2], &[30.0])];
    let queries = (0..5).map(|at| Compared::of(&format!("q{at}"), plans())).collect();
    let mut comparison = Comparison::timed(State::AsFound, sets, queries);
    screen(&mut comparison);
    comparison.judge();
    let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
    let said = whole(&comparison, &advice);
    assert!(said.contains("Some set of constants changes the plans of 5 of your 5 queries."), "{said}");
}

#[test]
fn a_verdict_says_that_others_at_work_could_not_be_seen() {
    let said = |others: Others, is_timed: bool| {
        let sets = vec![set("now"), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
        let mut comparison = Comparison::timed(State::AsFound, sets, Vec::new());
        (comparison.others, comparison.is_timed) = (others, is_timed);
        let advice = Advice::of(&comparison.sets, &comparison.judged, "cached");
        whole(&comparison, &advice)
    };
    assert!(said(Others::Unseen, true).contains("could not be seen"));
    assert!(!said(Others::Quiet, true).contains("could not be seen"));
    assert!(!said(Others::Unseen, false).contains("could not be seen"), "nothing was run");
}

fn advice_of_states() -> Reading {
    let states =
        [State::Cold, State::System, State::Cached, State::AsFound, State::OwnCold].map(Some).into_iter().chain([None]);
    let factor = prop_oneof![0.3..0.9, 1.06..1.6];
    let values =
        (select(states.collect::<Vec<_>>()), 0..7_usize, factor, prop_oneof![3 => Just(false), 1 => Just(true)]);
    reading(row::ANSWER_ADVICE, values, in_state, |(state, changed, factor, is_withheld)| {
        let state = (*state)?;
        let times = three_digits(*factor);
        let timed = match changed {
            0 => "no query with a different plan was timed".to_string(),
            1 => "only 1 query with a different plan was timed".to_string(),
            _ => format!("only {changed} queries with a different plan were timed"),
        };
        let verdict = match () {
            () if *is_withheld => "undecided, because it was busy.".to_string(),
            // A query that takes a quarter longer is enough, and of others four.
            () if *changed == 1 && *factor > 1.25 => {
                format!("keep the server's own constants, because one query certainly takes {times} times as long.")
            }
            () if *changed > 0 && *factor > 1.25 => format!(
                "keep the server's own constants, because {changed} queries certainly take much longer, the worst \
                 {times} times as long."
            ),
            () if *changed < 4 => format!("undecided, because {timed}, and a verdict needs at least 4."),
            () if *factor > 1.0 => "keep the server's own constants, because the queries with a different plan \
                                    certainly take longer on average."
                .to_string(),
            () if state.is_own() => "set seq_page_cost = 0.500.".to_string(),
            () => {
                let copy = if state.is_cold() { ", on a copy: --on postgres:copy:DIRECTORY?dbname=NAME" } else { "" };
                format!("a set to try on your own queries (--queries with --run{copy}) is seq_page_cost = 0.500.")
            }
        };
        let whose = if state.is_own() { "your" } else { "readpath's" };
        let [then, now] = [factor * 1e7, 1e7].map(|one| format_nanos(one * *changed as f64));
        let together = match changed {
            1 => format!("{times} times as long, {then} instead of {now}."),
            _ => format!(
                "{times} times as long on average, {then} instead of {now} together, and the worst {times} times"
            ),
        };
        let (faster, slower) = if *factor < 1.0 { (*changed, 0) } else { (0, *changed) };
        let are = if faster == 1 { "is" } else { "are" };
        let sure = format!(
            "resampled, 95 % of the means lie between {times} and {times}; {faster} {are} certainly faster and \
             {slower} certainly slower."
        );
        let verdict = format!("postgres 18.6, {}: {verdict}", state.introduced());
        Some(match changed {
            0 => says![verdict, format!("No set of constants changes the plan of any of {whose} 9 queries.")],
            1 => {
                says![
                    verdict,
                    format!("With the set `cached`, 1 of {whose} 9 queries gets a different plan; it takes {together}"),
                    sure
                ]
            }
            _ => says![
                verdict,
                format!(
                    "With the set `cached`, {changed} of {whose} 9 queries get a different plan; these take {together}"
                ),
                sure
            ],
        })
    })
}

/// In which state, and how many of nine queries get another plan and are not timed.
type Untimed = (Option<State>, usize);

fn notes_of_states() -> Reading {
    let states =
        [State::Cold, State::System, State::Cached, State::AsFound, State::OwnCold].map(Some).into_iter().chain([None]);
    let found = |(state, untimed): &Untimed| {
        let one = |number: usize| match number < *untimed {
            true => Compared {
                not_timed: Some(Unfinished::Refused("its parameters have no values".into())),
                ..Compared::of("q", vec![Variant::of(&[0], &[]), Variant::of(&[1], &[])])
            },
            false => Compared::of("q", vec![Variant::of(&[0, 1], &[])]),
        };
        state.map_or(Vec::new(), |state| found_of(state, (0..9).map(one).collect(), None))
    };
    let values = (select(states.collect::<Vec<_>>()), 0..4_usize);
    reading(row::ADVICE_NOTES, values, found, |(state, untimed)| {
        let state = state.filter(|_| *untimed > 0)?;
        let said = match untimed {
            1 => "1 query gets a different plan with the set `cached` and was not timed".to_string(),
            more => format!("{more} queries get a different plan with the set `cached` and were not timed"),
        };
        Some(match state.is_own() {
            true => says![said],
            false => says![format!("This is about readpath's queries, {}. {said}", state.in_words())],
        })
    })
}

/// Five queries by the server's own constants, and by sets that are tried, each with how many times as long they take.
fn screened(factors: &[f64]) -> (Option<Finding>, Comparison) {
    let tried = (1..=factors.len()).map(|at| ConstantSet { name: TRIED, values: vec![("seq_page_cost", at as f64)] });
    let sets = [set("now")].into_iter().chain(tried).collect();
    let one = |number: usize| {
        let by = factors.iter().enumerate().map(|(at, factor)| Variant::of(&[at + 1], &[10.0 * factor]));
        let variants = [Variant::of(&[0], &[10.0])].into_iter().chain(by).collect();
        Compared::of(&format!("q{number}"), variants)
    };
    let mut comparison = Comparison::timed(State::AsFound, sets, (0..5).map(one).collect());
    (screen(&mut comparison), comparison)
}

fn first_values(comparison: &Comparison) -> Vec<f64> {
    comparison.sets[1..].iter().map(|set| set.values[0].1).collect()
}

#[test]
fn of_many_sets_those_that_gain_go_on_with_the_plans_that_they_lead_to_and_three_are_shown() {
    let (_, mut comparison) = screened(&[0.9, 1.2, 0.5, 0.6, 0.65, 3.0, 0.55]);
    assert_eq!(first_values(&comparison), [1.0, 3.0, 4.0, 5.0, 7.0], "in their order");
    let one = &comparison.compared[0];
    let millis: Vec<f64> = (0..6).map(|set| one.variants[one.variant(set)].millis[0]).collect();
    assert_eq!((millis, one.variants.len()), (vec![10.0, 9.0, 5.0, 6.0, 6.5, 5.5], 6));
    leave_best(&mut comparison, 4);
    assert_eq!(first_values(&comparison), [3.0, 5.0, 7.0], "the advised one and the best of the others");
    assert_eq!(comparison.sets.iter().map(|set| set.name).collect::<Vec<_>>(), ["now", LEFT[0], LEFT[1], LEFT[2]]);
    assert_eq!(comparison.judged.iter().map(|judged| judged.ratio.value).collect::<Vec<_>>(), [1.0, 0.5, 0.65, 0.55]);
    let (_, none) = screened(&[2.1, 1.0]);
    assert_eq!(none.sets.len(), 1, "what makes queries slower is not looked at again");
}

/// The share of hits among a million blocks, microseconds of a read, and of 100 bytes how many are in the page cache.
type Told = (Option<f64>, Option<f64>, Option<u64>);

fn state() -> [Reading; 2] {
    let values = || (option::weighted(0.8, 0.97..1.0), option::of(10.0..50.0), option::of(90..101_u64));
    let found = |(hits, read_micros, held): &Told| {
        let (hits, files) = (hits.map(|hits| (1e6, hits)), held.map(|held| (100, held)));
        let read_micros = *read_micros;
        let caches = ServerCaches { hits, read_micros, files, ..ServerCaches::default() };
        [told_state::finding(&caches, Unseen::Elsewhere)]
    };
    let absent = reading(row::ABSENT_STATE, values(), found, |(hits, ..)| {
        hits.is_none().then(|| says!["is not known: too few blocks were asked for"])
    });
    let told = reading(row::ANSWER_STATE, values(), found, |(hits, micros, held)| {
        let hits = (*hits)?;
        let state = match (micros, held) {
            _ if hits >= 0.99 => ": its queries run cached by the server.",
            (Some(micros), _) if *micros >= 30.0 => {
                ": its queries run with nothing cached. No set of constants is for that here"
            }
            (_, Some(95..)) => ": its queries run cached by the operating system.",
            (Some(_), Some(_)) => "a fast device has read ahead takes as little as one in the page cache.",
            (Some(_), None) => " as one in the page cache; readpath on the server's machine shows what that holds.",
            _ => ". Whether the others come from the page cache or from the disk cannot be seen from here",
        };
        let found = format!(
            "Of {} blocks of its tables that this database asked for, {} % were",
            grouped(1_000_000),
            three_digits(hits * 100.0)
        );
        let own = "These counters include the reads of any earlier run of readpath with --run.";
        let read = micros.map(|micros| format!("; a block that was not took {} µs", three_digits(micros)));
        let files = held.map(|held| format!("; the page cache holds {} % of its files", three_digits(held as f64)));
        Some([found, state.into(), own.into()].into_iter().chain(read).chain(files).collect())
    });
    [absent, told]
}

/// The share of hits of the server's own work and the microseconds of its reads, and of the timed runs the hits among a
/// thousand blocks and the microseconds of their reads.
type TimedIn = (f64, f64, u64, Option<f64>);

fn timed_cached() -> Reading {
    let values = (0.5..1.0, 10.0..500.0, 0..1001_u64, option::of(1.0..500.0));
    let found = |(hits, micros, timed_hits, read): &TimedIn| {
        let reads = 1000 - *timed_hits;
        let mut variant = Variant::of(&[0], &[10.0; 3]);
        variant.plan.top.buffers = Some(Buffers { hits: *timed_hits, reads });
        variant.plan.top.read_ms = read.map(|micros| micros * reads as f64 / 1e3);
        let comparison = Comparison::timed(State::AsFound, vec![set("now")], vec![Compared::of("q", vec![variant])]);
        let caches = ServerCaches { hits: Some((1e6, *hits)), read_micros: Some(*micros), ..ServerCaches::default() };
        // A change is advised in some of the readings.
        let advised = if *timed_hits % 2 == 0 { Decision::Change } else { Decision::Keep };
        told_state::timed_cached(&caches, &comparison, advised)
    };
    reading(row::TIMED_CACHED, values, found, |(hits, micros, timed_hits, read)| {
        let (reads, is_cold) = (1000 - *timed_hits, *hits < 0.99 && *micros >= 30.0);
        let is_warmer = (reads as f64) < 500.0 * (1.0 - hits);
        let read = read.filter(|_| reads > 0);
        let is_of_cache = read.is_some_and(|micros| micros < 30.0);
        (is_cold && (is_warmer || is_of_cache)).then(|| {
            let others =
                read.map(|micros| format!(" and read the others in {} µs each, because", three_digits(micros)));
            let own = format!(
                "this database finds {} % there and reads the others in {} µs each.",
                three_digits(hits * 100.0),
                three_digits(*micros)
            );
            let timed = format!("The timed runs found {} % of", three_digits(*timed_hits as f64 / 10.0));
            let end = if *timed_hits % 2 == 0 { "by ALTER ROLE, and compare" } else { "blocks are cached." };
            [timed, own, end.into()].into_iter().chain(others).collect()
        })
    })
}

#[test]
fn a_role_to_try_constants_with_is_proposed_only_where_a_change_is_advised() {
    let mut variant = Variant::of(&[0], &[10.0; 3]);
    variant.plan.top.buffers = Some(Buffers { hits: 1000, ..Buffers::default() });
    let comparison = Comparison::timed(State::AsFound, vec![set("now")], vec![Compared::of("q", vec![variant])]);
    let caches = ServerCaches { hits: Some((1e6, 0.9)), read_micros: Some(400.0), ..ServerCaches::default() };
    let proposes = |advised| {
        let said = told_state::timed_cached(&caches, &comparison, advised).unwrap().message;
        assert!(said.contains("found 100 % of") && said.contains("finds 90.0 % there"), "{said}");
        said.contains("ALTER ROLE")
    };
    assert_eq!([Decision::Change, Decision::Keep, Decision::Undecided].map(proposes), [true, false, false]);
}

/// In which state queries were timed, what was advised and which set.
type OneState = (State, Decision, &'static str);

fn one_state() -> Reading {
    use State::{AsFound, Cached, Cold, OwnCold, System};
    let advised = vec![Decision::Change, Decision::Keep, Decision::Undecided];
    let names =
        vec!["random-1.1", "eighth-pages", "in-memory", "random-2", "half-pages", "double-pages", "cached", LEFT[0]];
    let values = (select(vec![AsFound, OwnCold, Cached, System, Cold]), select(advised), select(names));
    let found = |(state, advised, name): &OneState| super::one_state(*state, *advised, &set(name));
    reading(row::ONE_STATE, values, found, |(state, advised, name)| {
        let (timed, other) = match (state, advised) {
            (AsFound, Decision::Change) => {
                ("with as much in memory as fits", "DIRECTORY?dbname=NAME times them on a copy of the data directory")
            }
            (OwnCold, Decision::Change) => ("with nothing cached", "on the running server, --queries with --run times"),
            _ => return None,
        };
        let is_same = ["random-1.1", "eighth-pages", "in-memory"].contains(name);
        let same = is_same.then(|| format!(" (`{name}` is the same set there)."));
        let timed = format!("The set was timed on these queries {timed}, and in no other state: ");
        Some([timed, other.into()].into_iter().chain(same).collect())
    })
}

#[test]
fn a_set_that_another_run_tries_with_other_values_is_not_said_to_be_the_same_there() {
    let said = |state, name| super::one_state(state, Decision::Change, &set(name)).unwrap().message;
    for state in [State::AsFound, State::OwnCold] {
        assert!(said(state, "in-memory").contains("is the same set there"), "{}", said(state, "in-memory"));
        for name in ["cached", BETWEEN, LEFT[0]] {
            assert!(!said(state, name).contains("the same set"), "{}", said(state, name));
        }
    }
    // The queries already ran on a copy: what is missing are times on the running server.
    assert!(!said(State::OwnCold, "in-memory").contains("--on"), "{}", said(State::OwnCold, "in-memory"));
}

/// A cost of a block in a state: the constant and microseconds.
fn block(name: &'static str, state: State, cost: Option<(f64, f64)>) -> Measured {
    let settled = |(value, _): (f64, f64)| Settled {
        value: Estimate { value, low: value, high: value },
        spread: 1.0,
        is_given: true,
    };
    let passes = Passes { passes: cost.map(|(_, micros)| vec![micros]).into_iter().collect() };
    Measured { name, state: Some(state), passes, now: 1.0, settled: cost.map(settled), source: String::new() }
}

fn random_page() -> Reading {
    let cost = || option::weighted(0.8, (prop_oneof![1 => Just(0.0), 5 => 0.1..50.0], 1.0..500.0));
    let found = |costs: &[[Option<(f64, f64)>; 2]; 3]| {
        let of = |(state, [page, random]): (State, [Option<(f64, f64)>; 2])| {
            [block("seq_page_cost", state, page), block("random_page_cost", state, random)]
        };
        let all = State::OF_BLOCKS.into_iter().zip(*costs).flat_map(of).collect();
        Kept::found(|journal| report(&Constants { all, sweeps: Vec::new() }, "postgres 18.6", journal))
    };
    reading(row::ANSWER_RANDOM_PAGE, uniform3(uniform2(cost())), found, |costs| {
        let clause = |(state, [page, random]): (State, [Option<(f64, f64)>; 2])| {
            let above_zero = |cost: Option<(f64, f64)>| cost.filter(|(value, _)| *value > 0.0);
            let ((page, page_micros), (random, random_micros)) = (above_zero(page)?, above_zero(random)?);
            let [random_micros, page_micros] = [random_micros, page_micros].map(|micros| format_nanos(micros * 1e3));
            Some(format!(
                "{} {} ({random_micros} against {page_micros})",
                state.in_words(),
                three_digits(random / page)
            ))
        };
        let clauses: Vec<String> = State::OF_BLOCKS.into_iter().zip(*costs).filter_map(clause).collect();
        (!clauses.is_empty())
            .then(|| says![format!("random block on postgres 18.6, in sequential blocks: {}.", clauses.join("; "))])
    })
}

#[test]
fn a_withheld_cost_is_stated_as_withheld_and_a_ratio_that_is_no_quotient_of_the_times_says_so() {
    let said = |is_given: bool, random_micros: f64| {
        let of = |name, (value, micros), is_given: bool| {
            let one = block(name, State::Cold, Some((value, micros)));
            let settled = one.settled.map(|settled| Settled { is_given, ..settled });
            Measured { settled, ..one }
        };
        let all = vec![of("seq_page_cost", (10.0, 5.0), true), of("random_page_cost", (40.0, random_micros), is_given)];
        Kept::found(|journal| report(&Constants { all, sweeps: Vec::new() }, "postgres 18.6", journal)).remove(0)
    };
    let why = "so dividing them can give another value.";
    let given = said(true, 20.0);
    assert!(given.message.ends_with(": with nothing cached 4.00 (20.0 µs against 5.00 µs)."), "{}", given.message);
    let other = said(true, 23.0).message;
    assert!(other.contains("4.00 (23.0 µs against 5.00 µs).") && other.ends_with(why), "{other}");
    let withheld = said(false, 23.0);
    let end = "with nothing cached no ratio, because a cost is withheld (23.0 µs against 5.00 µs).";
    assert!(withheld.message.ends_with(end), "{withheld:?}");
    assert_eq!((given.values.len(), withheld.values.len()), (1, 0));
}

/// Milliseconds of a bitmap scan by the settings 1, 8, 16, 32 and 64, the later ones in the time of the first.
fn sweep() -> impl Strategy<Value = Option<[f64; 5]>> {
    let later = || prop_oneof![4 => 0.9..1.05, 1 => 1.0..2.0, 1 => 0.5..0.9];
    let times = [Just(1.0).boxed(), later().boxed(), later().boxed(), later().boxed(), later().boxed()];
    option::weighted(0.9, times)
}

/// The ends of the settings around the best that are as good; `None` where one beyond the first good one is much worse.
fn plateau(times: &[f64; 5]) -> Option<(usize, usize)> {
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let is_good = |at: &usize| times[*at] <= best * 1.1;
    let (first, fastest) = ((0..5).find(is_good)?, (0..5).find(|at| times[*at] == best)?);
    let from = (0..=fastest).rev().take_while(is_good).last()?;
    let to = (fastest..5).take_while(is_good).last()?;
    times[first..].iter().all(|time| *time <= times[first] * 1.5).then_some((from, to))
}

fn concurrency() -> [Reading; 4] {
    let [absent, answer] = reads_ahead(ReadAhead::Effective, [row::ABSENT_CONCURRENCY, row::ANSWER_CONCURRENCY]);
    let [absent_too, answer_too] =
        reads_ahead(ReadAhead::Maintenance, [row::ABSENT_MAINTENANCE, row::ANSWER_MAINTENANCE]);
    [absent, answer, absent_too, answer_too]
}

fn reads_ahead(setting: ReadAhead, [absent, answer]: [FindingSpec; 2]) -> [Reading; 2] {
    let settings = [1, 8, 16, 32, 64];
    let (name, work) = (setting.name(), setting.work());
    let found = move |times: &Option<[f64; 5]>| {
        let of = |times: [f64; 5]| {
            let times = settings.into_iter().zip(times).map(|(setting, time)| (setting, vec![time * 1e4])).collect();
            Sweep { setting, times }
        };
        let sweeps = times.map(of).into_iter().collect();
        Kept::found(|journal| report(&Constants { all: Vec::new(), sweeps }, "postgres 18.6", journal))
    };
    let absent = reading(absent, sweep(), found, move |times| {
        times.filter(|times| plateau(times).is_none()).map(|_| says![format!("{name} could not be determined")])
    });
    let answer = reading(answer, sweep(), found, move |times| {
        let times = (*times)?;
        let (from, to) = plateau(&times)?;
        let against = format!(": {} against 10.0 ms at 1.", format_nanos(times[from] * 1e7));
        let [first, last] = [from, to].map(|at| settings[at]);
        Some(match (from, to) {
            (4, 4) => says![format!("{work} is fastest with {name} 64, the largest that was tried"), against],
            _ if from == to => says![format!("is fastest with {name} {first}{against}")],
            _ => says![format!("as fast with any {name} from {first} to {last}{against}")],
        })
    });
    [absent, answer]
}

/// Which of the constants were given, where they came out at all; that of a row is never withheld.
fn withheld() -> Reading {
    let found = |given: &[Option<bool>; CONSTANTS.len()]| {
        let of = |(name, is_given): (&'static str, Option<bool>)| {
            let one = block(name, State::Cached, is_given.map(|_| (1.0, 1.0)));
            let settled = one.settled.map(|settled| Settled { is_given: is_given == Some(true), ..settled });
            Measured { state: None, settled, ..one }
        };
        let all = CONSTANTS.into_iter().zip(*given).map(of).collect();
        Kept::found(|journal| constants::withheld(&Constants { all, sweeps: Vec::new() }, journal))
    };
    let given_or_not = prop_oneof![3 => Just(Some(true)), 1 => Just(Some(false)), 1 => Just(None)];
    let given = uniform::<_, { CONSTANTS.len() }>(given_or_not);
    reading(row::WITHHELD_CONSTANTS, given, found, |given| {
        let named = |wanted: Option<bool>| {
            let is_it = |(name, given): &(&str, Option<bool>)| *given == wanted && *name != "cpu_tuple_cost";
            let names = CONSTANTS.into_iter().zip(*given).filter(is_it).map(|(name, _)| name);
            names.collect::<Vec<_>>().join(", ")
        };
        let [differing, missing] = [Some(false), None].map(named);
        let reasons = "1.5 times, the interval of the cost or of a row's is not all above 0, or the cost is less than \
                       20 % of the time that it is the rest of";
        let differing = (!differing.is_empty()).then(|| format!("{reasons}: {differing}."));
        let missing = (!missing.is_empty())
            .then(|| format!("Not given, because a pass has no sample of the cost or of a row's: {missing}."));
        let said: Vec<String> = differing.into_iter().chain(missing).collect();
        // The ratio to the neighbour takes a block that has a cost.
        let has_sets = given[..2].contains(&Some(true));
        let replaced = has_sets.then(|| "In the sets, the server's own ratio to the neighbouring".to_string());
        (!said.is_empty()).then(|| said.into_iter().chain(replaced).collect())
    })
}

#[test]
fn a_state_without_a_set_is_not_said_to_have_a_ratio_in_the_place_of_a_cost() {
    let said = |cold: [bool; 2], cached: [bool; 2]| {
        let blocks = |state, given: [bool; 2]| {
            let of = |(name, is_given): (&'static str, bool)| {
                let one = block(name, state, Some((1.0, 1.0)));
                let settled = one.settled.map(|settled| Settled { is_given, ..settled });
                Measured { settled, ..one }
            };
            ["seq_page_cost", "random_page_cost"].into_iter().zip(given).map(of).collect::<Vec<_>>()
        };
        let all = [blocks(State::Cold, cold), blocks(State::Cached, cached)].concat();
        let found = Kept::found(|journal| constants::withheld(&Constants { all, sweeps: Vec::new() }, journal));
        found[0].message.clone()
    };
    let none = said([false, false], [true, true]);
    assert!(none.ends_with("random_page_cost (with nothing cached). There is no set `cold`."), "{none}");
    let one = said([false, true], [true, true]);
    assert!(one.ends_with("the server's own ratio to the neighbouring constant takes their place."), "{one}");
    let both = said([false, false], [true, false]);
    assert!(both.contains("takes their place. There is no set `cold`."), "{both}");
}

fn tried() -> Reading {
    reading(
        row::TRIED,
        vec(prop_oneof![0.4..0.95, 1.05..1.8], 0..6),
        |factors: &Vec<f64>| screened(factors).0,
        |factors| {
            let faster = factors.iter().filter(|factor| **factor < 1.0).count();
            let count = counted(factors.len() as u64, "set", "sets");
            let left = match (factors.len(), faster) {
                (1, 0) => "It did not make the queries faster without".into(),
                (_, 0) => "None of these made the queries faster without".into(),
                (1, _) => "It made the queries faster in the first round and was timed further.".into(),
                (_, 1) => "1 of these made the queries faster in the first round and was timed further.".into(),
                (_, more) => format!("{more} of these made the queries faster in the first round and were timed"),
            };
            (!factors.is_empty()).then(|| says![format!("{count} between the server's own"), left])
        },
    )
}

/// What was not measured, and what does not hold for all.
fn lacks() -> Vec<Reading> {
    let still = |(of_all, of_one, is_zfs): &(f64, f64, bool)| {
        let filesystem = Some(if *is_zfs { "zfs" } else { "ext4" }.to_string());
        not_cold(&StillCached { of_all: *of_all, of_one: *of_one, filesystem })
    };
    let cold = reading(row::NOT_COLD, (0.0..0.02, 0.0..0.2, any::<bool>()), still, |left| match *left {
        (all, ..) if all > 0.01 => {
            Some(says![format!("{} % of the pages of the server's files", three_digits(all * 100.0)), "on a disk."])
        }
        (_, one, _) if one > 0.1 => {
            Some(says![format!("{} % of the pages of one of the server's files", three_digits(one * 100.0))])
        }
        (.., is_zfs) => is_zfs.then(|| says!["lie on zfs, whose own cache is not emptied", "primarycache=metadata"]),
    });
    let beyond = |beyond: &u64| {
        let rows = VerificationRows { within: 1, beyond: *beyond };
        constants::absent_beyond(rows, 8 << 30, VerificationRows::payload_beyond(8 << 30))
    };
    let beyond = reading(row::ABSENT_BEYOND, 0..2_u64, beyond, |beyond| {
        (*beyond == 0).then(|| says!["shared buffers of 8 GiB", "--payload 1GiB makes it, of "])
    });
    let states = select(vec![State::AsFound, State::OwnCold]);
    let remedies = reading(
        row::ABSENT_REMEDIES,
        states,
        |state| absent_remedies(*state),
        |state| (*state == State::OwnCold).then(|| says!["was not tried, because each cold run takes a restart"]),
    );
    let parallel = |pass: &usize| constants::absent_parallel(*pass, "the server started no worker");
    let parallel = reading(row::ABSENT_PARALLEL, 0..3_usize, parallel, |pass| {
        (*pass == 0).then(|| says!["were not measured, because the server started no worker."])
    });
    let sets = |costs: &[Option<(f64, f64)>; 2]| {
        let [page, random] = *costs;
        let scale = block("cpu_tuple_cost", State::Cached, Some((0.01, 1.0)));
        let blocks =
            [block("seq_page_cost", State::Cached, page), block("random_page_cost", State::Cached, random), scale];
        absent_constants(&Constants { all: blocks.into(), sweeps: Vec::new() }.sets())
    };
    let cost = || option::of((0.1..50.0, 1.0..500.0));
    let sets = reading(row::ABSENT_CONSTANTS, [cost(), cost()], sets, |costs| {
        (costs == &[None, None]).then(|| says!["No block has a cost above the noise of this machine"])
    });
    let one_pass = reading(
        row::ONE_PASS,
        1..4_usize,
        |passes| constants::one_pass(*passes),
        |passes| (*passes == 1).then(|| says!["measured in one pass"]),
    );
    let zero = |are_zero: &[bool; 2]| {
        let names = ["seq_page_cost", "cpu_tuple_cost"].into_iter().zip(*are_zero);
        zero_costs(&names.filter(|(_, is_zero)| *is_zero).map(|(name, _)| name).collect::<Vec<_>>())
    };
    let zero = reading(row::ZERO_COSTS, uniform2(any::<bool>()), zero, |are_zero| match are_zero {
        [false, false] => None,
        [true, true] => Some(says!["seq_page_cost and cpu_tuple_cost are 0 on this server"]),
        [true, false] => Some(says!["seq_page_cost is 0 on this server", "no ratio to it"]),
        [false, true] => Some(says!["cpu_tuple_cost is 0 on this server"]),
    });
    let [listed, hidden, lost] = of_listed();
    vec![cold, beyond, remedies, parallel, sets, one_pass, zero, listed, hidden, lost, tried()]
}

/// What pg_stat_statements lists and is not used.
fn of_listed() -> [Reading; 3] {
    let listed = reading(
        row::LISTED_WITHOUT_TABLES,
        0..3_u64,
        |count| listed_without_tables(*count),
        |count| {
            let said = match count {
                0 => return None,
                1 => "1 query of pg_stat_statements reads no table",
                _ => "2 queries of pg_stat_statements read no table",
            };
            Some(says![said])
        },
    );
    let hidden = reading(
        row::LISTED_HIDDEN,
        0..3_u64,
        |hidden| listed_hidden(&Listed { hidden: *hidden, hidden_percent: 12.5, ..Listed::default() }, "clerk"),
        |hidden| {
            let said = match hidden {
                0 => return None,
                1 => "1 statement of pg_stat_statements, with 12.5 % of the time of this database's, belongs to other",
                _ => "2 statements of pg_stat_statements, with 12.5 % of the time of this database's, belong to other",
            };
            Some(says![said, "GRANT pg_read_all_stats TO clerk"])
        },
    );
    let lost = reading(
        row::LISTED_LOST,
        0..3_u64,
        |lost| listed_lost(&Listed { lost: *lost, lost_percent: 12.5, ..Listed::default() }),
        |lost| {
            let said = match lost {
                0 => return None,
                1 => "1 statement of pg_stat_statements, with 12.5 % of the time of this database's, has no text,",
                _ => "2 statements of pg_stat_statements, with 12.5 % of the time of this database's, have no texts,",
            };
            Some(says![said, "pg_stat_statements_reset"])
        },
    );
    [listed, hidden, lost]
}

fn of_tablespaces() -> [Reading; 3] {
    let spaces = |options: &Vec<bool>| {
        let space = |(at, has): (usize, &bool)| Tablespace {
            name: format!("space{at}"),
            options: if *has { "seq_page_cost=2" } else { "" }.to_string(),
            ..Tablespace::default()
        };
        tablespaces::own_costs(&options.iter().enumerate().map(space).collect::<Vec<_>>())
    };
    let own = reading(row::TABLESPACE_COSTS, vec(any::<bool>(), 0..4), spaces, |options| {
        let named =
            options.iter().enumerate().filter(|(_, has)| **has).map(|(at, _)| format!("space{at} (seq_page_cost=2)"));
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| says![format!("a session or a database: {}.", named.join(", "))])
    });
    let left = |count: &usize| {
        let of = |at| (format!("space{at}"), "the role may not make tables there".to_string());
        tablespaces::not_measured(&(0..*count).map(of).collect::<Vec<_>>())
    };
    let one = reading(row::ONE_TABLESPACE, 0..3_usize, left, |count| {
        let named: Vec<String> =
            (0..*count).map(|at| format!("space{at} (the role may not make tables there)")).collect();
        (*count > 0).then(|| says![format!("in each tablespace: {}.", named.join("; "))])
    });
    let in_each = |times: &Option<f64>| {
        let of = |name: &str, is_home, times: f64| {
            let space = Tablespace { name: name.into(), is_home, ..Tablespace::default() };
            let (micros, home, state) = (vec![10.0 * times; 3], vec![10.0; 3], State::Cold);
            SpaceCost { space, constant: "random_page_cost", micros, home, home_now: 4.0, now: 4.0, state }
        };
        let costs = times.map(|times| [of("slow", false, times), of("pg_default", true, 1.0)]);
        tablespaces::answer(&costs.into_iter().flatten().collect::<Vec<_>>())
    };
    let in_each = reading(row::ANSWER_TABLESPACES, option::of(0.1..50.0), in_each, |times| {
        let times = (*times)?;
        Some(if (1.0 / 1.5..=1.5).contains(&times) {
            says!["block in 2 tablespaces takes", "what is set for each is within 1.5 times of that proportion"]
        } else {
            says!["random_page_cost", "for slow; --sql prints the statements"]
        })
    });
    [own, one, in_each]
}

/// The rows from which on a full scan is the fastest path, and those from which on the planner takes it.
fn crossovers() -> [Reading; 2] {
    let values = (any::<bool>(), option::of((200..40_000_u64, 100..45_000_u64)));
    let order = |is_scattered: bool| if is_scattered { "scattered" } else { "clustered" };
    let found = move |(is_scattered, rows): &(bool, Option<(u64, u64)>)| {
        // A full scan takes 20 ms, and the other path as long for the rows at which they cross.
        let of = |(timed, planned): (u64, u64)| Turn {
            switch: Switch::ToFullScan,
            before: [10.0, 50_000.0].map(|rows| (rows, rows * 20.0 / timed as f64)).into(),
            after: vec![(10.0, 20.0), (50_000.0, 20.0)],
            timed: Crossing::From(timed as f64),
            planned: vec![By { set: "now", planned: Planned::From(planned), taken: Vec::new() }],
        };
        let turns: Vec<Turn> = rows.map(of).into_iter().collect();
        turn::finding(order(*is_scattered), &turns, Tried { least: 10.0, most: 50_000.0, total: 100_000.0 })
    };
    let answer = reading(row::ANSWER_CROSSOVER, values, found, |(is_scattered, rows)| {
        let (timed, planned) = (*rows)?;
        let verdict = match planned as f64 / timed as f64 {
            times if times < 1.0 / 1.5 => "too early (up to ",
            times if times > 1.5 => "too late (up to ",
            _ => "about right.",
        };
        let whose = if *is_scattered { "Scattered rows" } else { "Rows in the order of the index" };
        let [timed, planned] = [timed, planned].map(|rows| three_digits(rows as f64));
        Some(says![
            whose,
            format!("A full scan is the fastest path from {timed} rows ("),
            format!("by the server's own constants the planner takes it from {planned} rows ("),
            format!("on, {verdict}")
        ])
    });
    let limit = std::time::Duration::from_secs(1);
    let found = move |millis: &u64| crossover::absent(std::time::Duration::from_millis(*millis), 56, limit);
    let absent = reading(row::ABSENT_CROSSOVER, 1..60_u64, found, |millis| {
        (*millis > 17).then(|| says![format!("a full scan of the table takes {}", format_nanos(*millis as f64 * 1e6))])
    });
    [answer, absent]
}

#[test]
fn an_option_that_is_refused_without_run_is_not_advised_for_paths_that_are_timed_without_it_alone() {
    let [scan, limit] = [1, 10].map(std::time::Duration::from_secs);
    let said = crossover::absent(scan, 96, limit).unwrap().message;
    assert!(said.ends_with("A smaller --payload makes it possible.") && !said.contains("--time-limit"), "{said}");
}

#[test]
fn what_a_calibration_says_follows_from_what_was_measured() {
    let all = lacks()
        .into_iter()
        .chain([advice_of_states(), notes_of_states(), random_page(), withheld(), timed_cached(), one_state()])
        .chain(of_tablespaces())
        .chain(crossovers())
        .chain(state())
        .chain(concurrency());
    both_sides(&calibrate::findings::ALL, all);
}
