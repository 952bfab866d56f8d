//! How the contenders do over all queries, and the bars.

use measure::schema::Spec;
use measure::schema::contest::{ELAPSED, RIGHT_PLANS, TOTAL_TIME, WORST_RATIO};

use super::plans::Timed;
use super::sets::{ADVISED, ALONE, Advised, BEFORE, FASTEST, HINDSIGHT, MEASURED, OWN, Set, USUAL, agree};
use crate::bars::{Bar, Judged, Wanted};
use crate::ledger::Ledger;

/// A plan is right within this part of the fastest and this number of milliseconds.
const NEAR: f64 = 0.1;
const NEAR_MILLIS: f64 = 0.2;

/// The bars for harm: the worst query, and the total time where nothing is to be gained, in the server's own.
const WORST_MAX: f64 = 1.3;
const TOTAL_MAX: f64 = 1.03;

/// Why a bar has no samples.
const ABSENT: &str = "no run of calibrate ended";

/// A run without queries takes at most this number of seconds: other sessions need the server meanwhile.
const SECONDS: Judged = Judged::figure(Wanted::AtMost(60.0), "slower");

/// Keeps what a query takes by each contender's plan, and by the fastest that is known.
pub(crate) fn keep(ledger: &mut Ledger, query: &str, contenders: &[(&str, Set)], timed: &Timed) {
    for ((contender, _), millis) in contenders.iter().zip(&timed.by) {
        ledger.add(query, contender, &TOTAL_TIME, *millis);
    }
    ledger.add(query, FASTEST, &TOTAL_TIME, timed.best);
}

/// Notes how the contender at this place does over the queries of a question.
pub(crate) fn note(ledger: &mut Ledger, question: &str, (at, contender): (usize, &str), timed: &[Timed]) {
    add(ledger, question, contender, &figures(timed, |one| one.by[at]));
}

/// Notes the set of the grid with most right plans of those that keep the bars for harm, with the least time of
/// several: how far constants reach, known once everything is timed.
pub(crate) fn note_hindsight(ledger: &mut Ledger, question: &str, timed: &[Timed]) {
    let sets = timed.first().map_or(0, |one| one.by_grid.len());
    let own = figures(timed, |one| one.by[0]);
    let all = (0..sets).map(|set| figures(timed, |one| one.by_grid[set]));
    let safe = all.filter(|found| found.worst <= WORST_MAX && found.total <= own.total * TOTAL_MAX);
    let is_less = |one: &Figures, other: &Figures| one.right.cmp(&other.right).then(other.total.total_cmp(&one.total));
    if let Some(best) = safe.max_by(is_less) {
        add(ledger, question, HINDSIGHT, &best);
    }
}

/// How a set does over all queries.
struct Figures {
    right: usize,
    /// Milliseconds.
    total: f64,
    worst: f64,
}

/// The figures of times that `by` picks, against the server's own, which come first.
fn figures(timed: &[Timed], by: impl Fn(&Timed) -> f64) -> Figures {
    let is_right = |one: &&Timed| by(one) <= one.best * (1.0 + NEAR) + NEAR_MILLIS;
    // What differs by less than can be told does not.
    let ratio = |one: &Timed| if by(one) - one.by[0] < NEAR_MILLIS { 1.0 } else { by(one) / one.by[0] };
    Figures {
        right: timed.iter().filter(is_right).count(),
        total: timed.iter().map(&by).sum(),
        worst: timed.iter().map(ratio).fold(1.0, f64::max),
    }
}

fn add(ledger: &mut Ledger, question: &str, contender: &str, found: &Figures) {
    ledger.add(question, contender, &RIGHT_PLANS, found.right as f64);
    ledger.add(question, contender, &TOTAL_TIME, found.total);
    ledger.add(question, contender, &WORST_RATIO, found.worst);
}

/// Whether each run advises the constants of the run before, and whether with its exceptions too.
pub(crate) fn agreement(question: &str, advised: &[Advised]) -> [Bar; 2] {
    let name = |what: &str| format!("{question}: share of runs that advise {what}");
    let of_both = |(set, but): &Advised, (other, others): &Advised| agree(set, other) && but == others;
    [
        agree_bar(name("the constants of the run before"), advised, |(set, _), (other, _)| agree(set, other)),
        agree_bar(name("them with its exceptions"), advised, of_both),
    ]
}

/// The part of the runs that agree with the run before.
fn agree_bar<T>(name: String, runs: &[T], does_agree: impl Fn(&T, &T) -> bool) -> Bar {
    let agree = runs.windows(2).filter(|pair| does_agree(&pair[0], &pair[1])).count();
    let share = if runs.len() < 2 { Vec::new() } else { vec![agree as f64 / (runs.len() - 1) as f64] };
    Bar::of_samples(name, Judged::ratio(Wanted::AtLeast(0.9), "unsteady"), &share, "one run has no other")
        .from("runs one after the other")
}

/// Whether each run that has no queries of the user's advises the constants of the run before, and how long it takes.
pub(crate) fn without_queries(ledger: &Ledger, question: &str, advised: &[Set]) -> [Bar; 2] {
    let what = "share of runs that advise the constants of the run before";
    let seconds = ledger.samples(question, ALONE, &ELAPSED);
    [
        agree_bar(format!("{question}, without its queries: {what}"), advised, agree),
        Bar::of_samples(format!("{question}, without its queries: seconds of a run"), SECONDS, seconds, ABSENT)
            .from("the clock"),
    ]
}

/// The bars of the questions that were asked.
pub(crate) fn all(ledger: &Ledger, questions: &[String]) -> Vec<Bar> {
    questions.iter().flat_map(|question| of_question(ledger, question)).collect()
}

fn of_question(ledger: &Ledger, question: &str) -> Vec<Bar> {
    let samples = |contender: &str, spec: &Spec| ledger.samples(question, contender, spec).to_vec();
    let best_right = |at: usize| {
        let of = |contender| samples(contender, &RIGHT_PLANS).get(at).copied().unwrap_or(0.0);
        [OWN, USUAL, MEASURED].map(of).into_iter().fold(0.0, f64::max)
    };
    let right = samples(ADVISED, &RIGHT_PLANS);
    let more: Vec<f64> = right.iter().enumerate().map(|(at, right)| right - best_right(at)).collect();
    let totals = |contender: &str| ledger.ratios(question, (contender, &TOTAL_TIME), (OWN, &TOTAL_TIME));
    let reachable = [USUAL, MEASURED].map(totals).concat().into_iter().fold(1.0, f64::min);
    let wanted = if reachable <= 0.9 { 0.9 } else { TOTAL_MAX };
    let worst = samples(ADVISED, &WORST_RATIO);
    let before = samples(BEFORE, &RIGHT_PLANS);
    let beside = before.first().map_or(String::new(), |right| format!(", {right} by the version before"));
    let bars = [
        Bar::of_samples(
            format!("{question}: right plans more than the best of the others"),
            Judged::figure(Wanted::AtLeast(0.0), "wrong"),
            &more,
            ABSENT,
        )
        .from(format!("one a run of calibrate{beside}")),
        timed(question, "total time", (wanted, "slower"), &totals(ADVISED)),
        timed(question, "the worst query", (WORST_MAX, "harmful"), &worst),
    ];
    // Advice that knows none of the queries must do them no harm; it can't be held to what they would gain.
    let alone = samples(ALONE, &WORST_RATIO);
    let without = format!("{question}, without its queries");
    let harm = [
        timed(&without, "total time", (TOTAL_MAX, "slower"), &totals(ALONE)),
        timed(&without, "the worst query", (WORST_MAX, "harmful"), &alone),
    ];
    bars.into_iter().chain(harm.into_iter().filter(|_| !alone.is_empty())).collect()
}

/// A bar for times in those by the server's own constants.
fn timed(question: &str, what: &str, (most, verdict): (f64, &'static str), samples: &[f64]) -> Bar {
    let name = format!("{question}: {what} in the server's own");
    Bar::of_samples(name, Judged::ratio(Wanted::AtMost(most), verdict), samples, ABSENT).from("timed natively")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;
    use crate::calibrate::command::plans_ended;
    use crate::calibrate::plans::at_least;

    /// The bars where queries take so long by the server's own, 1.1, all measured and the advice.
    fn outcomes(queries: &[[f64; 4]]) -> Vec<Outcome> {
        let mut ledger = Ledger::default();
        let timed: Vec<Timed> = queries.iter().map(|by| of_times(by, &[])).collect();
        note_all(&mut ledger, &timed);
        all(&ledger, &["orders".into()]).iter().map(Bar::outcome).collect()
    }

    fn note_all(ledger: &mut Ledger, timed: &[Timed]) {
        let contenders = [OWN, USUAL, MEASURED, ADVISED].into_iter().enumerate();
        contenders.for_each(|contender| note(ledger, "orders", contender, timed));
    }

    fn of_times(by: &[f64], by_grid: &[f64]) -> Timed {
        let best = by.iter().chain(by_grid).copied().fold(f64::MAX, f64::min);
        Timed { by: by.to_vec(), by_grid: by_grid.to_vec(), best, plans: 4, turns: Vec::new() }
    }

    #[test]
    fn runs_that_except_different_queries_agree_in_their_constants_alone() {
        let set = |value: f64| vec![("random_page_cost".to_string(), value)];
        let outcomes = |runs: &[(f64, &str)]| {
            let advised: Vec<Advised> = runs.iter().map(|(value, but)| (set(*value), vec![but.to_string()])).collect();
            agreement("orders", &advised).map(|bar| bar.outcome())
        };
        assert_eq!(outcomes(&[(1.1, "late"), (1.2, "late"), (1.1, "late")]), [Outcome::Met; 2]);
        let unsteady = Outcome::Missed(0.4);
        assert_eq!(outcomes(&[(1.1, "late"), (1.1, "late"), (1.1, "early")]), [Outcome::Met, unsteady]);
        assert_eq!(outcomes(&[(1.1, "late"), (1.1, "late"), (2.0, "late")]), [unsteady; 2]);
        assert_eq!(outcomes(&[(1.1, "late")]), [Outcome::NotJudged; 2]);
    }

    #[test]
    fn the_best_set_in_hindsight_harms_no_query() {
        let mut ledger = Ledger::default();
        let queries = [([100.0], [100.0, 50.0, 60.0, 50.0]), ([10.0], [10.0, 14.0, 10.0, f64::INFINITY])];
        let timed: Vec<Timed> = queries.iter().map(|(by, grid)| of_times(by, grid)).collect();
        note_hindsight(&mut ledger, "orders", &timed);
        assert_eq!(ledger.samples("orders", HINDSIGHT, &TOTAL_TIME), [70.0]);
        assert_eq!(ledger.samples("orders", HINDSIGHT, &RIGHT_PLANS), [1.0]);
    }

    #[test]
    fn advice_that_is_as_right_as_the_best_and_harms_none_meets_all_bars() {
        let met = outcomes(&[[100.0, 50.0, 40.0, 40.0], [10.0, 10.0, 9.0, 9.0]]);
        assert_eq!(met, [Outcome::Met; 3]);
    }

    #[test]
    fn advice_without_queries_is_held_to_do_no_harm_and_not_to_gain() {
        let outcomes = |queries: &[[f64; 2]]| -> Vec<Outcome> {
            let mut ledger = Ledger::default();
            let timed: Vec<Timed> =
                queries.iter().map(|[own, by]| of_times(&[*own, *own, *own, *own, *by], &[])).collect();
            note_all(&mut ledger, &timed);
            note(&mut ledger, "orders", (4, ALONE), &timed);
            all(&ledger, &["orders".into()]).iter().skip(3).map(Bar::outcome).collect()
        };
        assert_eq!(outcomes(&[[100.0, 100.0], [10.0, 10.0]]), [Outcome::Met; 2]);
        let harmful = outcomes(&[[100.0, 100.0], [10.0, 20.0]]);
        assert!(matches!(harmful[..], [Outcome::Missed(_), Outcome::Missed(_)]), "{harmful:?}");
        let mut ledger = Ledger::default();
        for seconds in [50.0, 65.0, 70.0] {
            ledger.add("orders", ALONE, &ELAPSED, seconds);
        }
        let sets = [Set::new(), vec![("random_page_cost".into(), 1.1)], Set::new()];
        let bars = without_queries(&ledger, "orders", &sets).map(|bar| bar.outcome());
        assert!(matches!(bars, [Outcome::Missed(_), Outcome::Missed(_)]), "{bars:?}");
    }

    #[test]
    fn advice_that_keeps_what_could_be_halved_or_harms_a_query_misses() {
        let kept = outcomes(&[[100.0, 50.0, 40.0, 100.0], [10.0, 10.0, 9.0, 10.0]]);
        assert!(matches!(kept[..], [Outcome::Missed(_), Outcome::Missed(_), Outcome::Met]), "{kept:?}");
        let harmful = outcomes(&[[100.0, 50.0, 40.0, 40.0], [10.0, 10.0, 20.0, 20.0]]);
        assert!(matches!(harmful[2], Outcome::Missed(_)), "{harmful:?}");
    }

    #[test]
    fn advice_whose_plan_was_ended_is_harmful_and_does_not_go_unjudged() {
        let ended = at_least(f64::INFINITY);
        let outcomes = outcomes(&[[100.0, 50.0, 40.0, 40.0], [10.0, 10.0, 9.0, ended]]);
        assert!(matches!(outcomes[..], [_, Outcome::Missed(_), Outcome::Missed(_)]), "{outcomes:?}");
        let times = |by: f64| plans_ended("orders", &[of_times(&[10.0, by], &[])]);
        assert!(times(ended).is_some_and(|said| said.contains("1 plan of contenders took longer than 600 s")));
        assert_eq!(times(ended / 2.0), None);
    }
}
