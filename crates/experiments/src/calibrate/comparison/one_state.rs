//! What was found in one state of the caches: the queries with their plans, how each set does by the times of all of
//! them, and which queries are its exceptions. It judges what was timed, and runs nothing.

use std::ptr;

use subjects::postgres::calibration::queries::Unfinished;

use super::compared::Compared;
use super::places::distinct;
use crate::calibrate::bench::{Bench, State};
use crate::calibrate::exceptions::{Pairs, Workload, except_too_long, judge_with_exceptions, unsure_of_worth};
use crate::calibrate::judgement::{Decision, Drawn, Judged, Pair, judge};
use crate::calibrate::sets::ConstantSet;

/// What was found in one state.
pub(in crate::calibrate) struct Comparison {
    pub(in crate::calibrate) state: State,
    /// The server's own constants come first.
    pub(in crate::calibrate) sets: Vec<ConstantSet>,
    pub(in crate::calibrate) compared: Vec<Compared>,
    /// Queries with the reason why they could not be explained.
    pub(in crate::calibrate) refused: Vec<(String, Unfinished)>,
    pub(in crate::calibrate) judged: Vec<Judged>,
    /// Of each set that was judged, the places of the queries that keep the server's own constants.
    pub(in crate::calibrate) exceptions: Vec<Vec<usize>>,
    /// Whether plans were timed.
    pub(in crate::calibrate) is_timed: bool,
    pub(in crate::calibrate) others: Others,
    pub(in crate::calibrate) ended_by: EndedBy,
}

/// Which limit ends the user's queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calibrate) enum EndedBy {
    TimeLimit,
    /// That of all statements of the session, which is shorter.
    StatementTimeout,
}

impl EndedBy {
    pub(super) fn of(bench: &mut Bench<'_>) -> EndedBy {
        match bench.tables.statement_limit() < bench.parameters.time_limit() {
            true => EndedBy::StatementTimeout,
            false => EndedBy::TimeLimit,
        }
    }
}

/// Whether other sessions were at work while queries were timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calibrate) enum Others {
    Quiet,
    Busy,
    /// The role may not see sessions of other roles; those that it sees were quiet.
    Unseen,
}

impl Others {
    pub(super) fn of(bench: &mut Bench<'_>) -> Others {
        match (bench.tables.is_busy(), bench.tables.sees_others()) {
            (true, _) => Others::Busy,
            (false, true) => Others::Quiet,
            (false, false) => Others::Unseen,
        }
    }
}

impl Comparison {
    /// Queries whose plan a set changes.
    pub(in crate::calibrate) fn changed(&self, set: usize) -> impl Iterator<Item = &Compared> {
        self.compared.iter().filter(move |one| one.variant(set) > 0)
    }

    /// The plan of each query by a set.
    pub(in crate::calibrate) fn plans(&self, set: usize) -> Vec<usize> {
        self.compared.iter().map(|one| one.variant(set)).collect()
    }

    /// Keeps the sets of these places alone, and the plans that they lead to; each under its place among them.
    pub(in crate::calibrate) fn keep_sets(&mut self, kept: &[usize]) {
        let place = |set: &usize| kept.iter().position(|one| one == set);
        for one in &mut self.compared {
            for variant in &mut one.variants {
                variant.sets = variant.sets.iter().filter_map(place).collect();
            }
            one.variants.retain(|variant| !variant.sets.is_empty());
        }
        self.sets = kept.iter().map(|at| self.sets[*at].clone()).collect();
        self.judged = kept.iter().filter_map(|at| self.judged.get(*at).copied()).collect();
        self.exceptions = kept.iter().filter_map(|at| self.exceptions.get(*at).cloned()).collect();
    }

    /// Judges each set by the times.
    pub(in crate::calibrate) fn judge(&mut self) {
        (self.judged, self.exceptions) = (0..self.sets.len()).map(|set| self.judged_by(set)).unzip();
        self.weigh();
    }

    /// Judges each set by all queries that it changes, none of which is an exception.
    pub(in crate::calibrate) fn judge_without_exceptions(&mut self) {
        self.judged = (0..self.sets.len()).map(|set| self.judged_by_all(set)).collect();
        self.exceptions = vec![Vec::new(); self.sets.len()];
        self.weigh();
    }

    /// Says what each set gains, by the plans of all that are worth a change. A set is not worth one where its queries
    /// are faster in the mean and their plans farther from the fastest all the same.
    fn weigh(&mut self) {
        loop {
            let fastest = self.all_fastest();
            let sets = self.exceptions.iter().enumerate();
            let gains: Vec<f64> = sets.map(|(set, excepted)| self.gain(set, excepted, &fastest)).collect();
            let is_rejected = |set: &usize| self.judged[*set].decision == Decision::Change && gains[*set] <= 0.0;
            let rejected: Vec<usize> = (0..gains.len()).filter(is_rejected).collect();
            if rejected.is_empty() {
                let all = self.all_millis().filter(|_| self.state == State::AsFound);
                let saved = |judged: &Judged| all.map_or(0.0, |all| (judged.now - judged.then) / all);
                let weighed = self.judged.iter_mut().zip(gains);
                weighed.for_each(|(judged, gain)| *judged = Judged { gain, saved: saved(judged), ..*judged });
                return;
            }
            // Without their plans, the others are held against other ones.
            rejected.into_iter().for_each(|set| self.reject(set));
        }
    }

    /// Judges a set anew that is not worth a change with its exceptions, by all queries.
    fn reject(&mut self, set: usize) {
        self.exceptions[set].clear();
        let whole = self.judged_by_all(set);
        let decision = if whole.decision == Decision::Change { Decision::Undecided } else { whole.decision };
        self.judged[set] = Judged { decision, ..whole };
    }

    /// How a set does, and the queries that are exceptions. Only the user's own queries can be: readpath's stand for
    /// others.
    fn judged_by(&self, set: usize) -> (Judged, Vec<usize>) {
        let whole = self.judged_by_all(set);
        match self.state.is_own() {
            true => {
                let judged = judge_with_exceptions(&self.pairs(set), self.workload(), whole);
                except_too_long(judged, whole, &self.too_long(set), self.workload())
            }
            false => (whole, Vec::new()),
        }
    }

    /// The exceptions of a set of which the times do not tell whether it is worth a change; empty where it is one for
    /// all queries.
    pub(super) fn undecided(&self, set: usize) -> Option<Vec<usize>> {
        if self.judged[set].may_be_worth_it() {
            return Some(self.exceptions[set].clone());
        }
        let (whole, too_long) = (self.judged_by_all(set), self.too_long(set).len());
        unsure_of_worth(&self.pairs(set), self.workload(), whole, too_long)
    }

    /// The places of queries whose plan a set changes, and which take too long to say which plan is faster.
    fn too_long(&self, set: usize) -> Vec<usize> {
        let queries = self.compared.iter().enumerate();
        queries.filter(|(_, one)| one.is_too_long(set)).map(|(at, _)| at).collect()
    }

    fn judged_by_all(&self, set: usize) -> Judged {
        let all: Vec<Pair> = self.pairs(set).into_iter().map(|(_, pair)| pair).collect();
        judge(&all, self.drawn())
    }

    /// The milliseconds of a query's fastest plan of those by the server's own constants and by the sets that are worth
    /// a change. What a set leads to that harms other queries is out of reach.
    fn fastest(&self, at: usize) -> f64 {
        let one = &self.compared[at];
        let is_worth_it =
            |set: &usize| self.judged[*set].decision == Decision::Change && !self.exceptions[*set].contains(&at);
        let plans = (1..self.sets.len()).filter(is_worth_it).map(|set| one.variant(set));
        let millis = [0].into_iter().chain(plans).filter_map(|plan| one.millis(plan));
        millis.fold(f64::INFINITY, f64::min)
    }

    pub(super) fn all_fastest(&self) -> Vec<f64> {
        (0..self.compared.len()).map(|at| self.fastest(at)).collect()
    }

    /// The milliseconds of all queries with a time, by the server's own constants; `None` where there are none.
    fn all_millis(&self) -> Option<f64> {
        Some(self.compared.iter().filter_map(|one| one.millis(0)).sum()).filter(|all| *all > 0.0)
    }

    /// What exceptions are weighed against.
    pub(in crate::calibrate) fn workload(&self) -> Workload {
        Workload { queries: self.compared.len(), millis: self.all_millis().unwrap_or(0.0), drawn: self.drawn() }
    }

    /// How much less the queries lose with a set than with the server's own constants, which exceptions keep.
    pub(super) fn gain(&self, set: usize, excepted: &[usize], fastest: &[f64]) -> f64 {
        let queries = self.compared.iter().zip(fastest).enumerate();
        let others = queries.filter(|(at, one)| !excepted.contains(at) && !one.0.is_too_long(set));
        others.map(|(_, (one, fastest))| one.loss(0, *fastest) - one.loss(one.variant(set), *fastest)).sum()
    }

    /// The times of the queries that a set changes, each with the query's place.
    pub(in crate::calibrate) fn pairs(&self, set: usize) -> Pairs {
        self.compared.iter().enumerate().filter_map(|(at, one)| Some((at, one.pair(set)?))).collect()
    }

    fn drawn(&self) -> Drawn {
        if self.state.is_own() { Drawn::Runs } else { Drawn::QueriesAndRuns }
    }

    /// The places of queries that are exceptions from some set though it does them no harm.
    pub(super) fn slower_exceptions(&self) -> Vec<usize> {
        let is_slower = |(set, at): &(usize, usize)| self.compared[*at].pair(*set).is_some_and(|pair| !pair.may_harm());
        let exceptions = self.exceptions.iter().enumerate();
        let exceptions = exceptions.flat_map(|(set, places)| places.iter().map(move |at| (set, *at)));
        distinct(exceptions.filter(is_slower).map(|(_, at)| at))
    }

    /// Queries that keep the server's own constants where a set is taken for the others.
    pub(in crate::calibrate) fn excepted(&self, set: usize) -> impl Iterator<Item = &Compared> {
        self.exceptions.get(set).into_iter().flatten().map(|at| &self.compared[*at])
    }

    /// Whether a query of this comparison is one of those. Names can be the same.
    pub(in crate::calibrate) fn is_excepted(&self, set: usize, one: &Compared) -> bool {
        self.excepted(set).any(|other| ptr::eq(other, one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::comparison::Variant;
    use crate::calibrate::judgement::RUNS_MIN;
    use crate::calibrate::sets::own;

    /// How sets do by which queries take these milliseconds, each in as many runs as make a verdict; the server's own
    /// constants come first. Equal times are those of one plan.
    fn judged(queries: &[&[f64]]) -> Vec<Judged> {
        let one = |(number, by): (usize, &&[f64])| {
            let mut variants: Vec<Variant> = Vec::new();
            for (set, millis) in by.iter().enumerate() {
                match variants.iter_mut().find(|variant| variant.millis[0] == *millis) {
                    Some(variant) => variant.sets.push(set),
                    None => variants.push(Variant::of(&[set], &[*millis; RUNS_MIN])),
                }
            }
            Compared::of(&format!("q{number}"), variants)
        };
        let set = |part: usize| ConstantSet { name: "tried", values: vec![("seq_page_cost", part as f64)] };
        let sets = [own()].into_iter().chain((1..queries[0].len()).map(set)).collect();
        Comparison::timed(State::AsFound, sets, queries.iter().enumerate().map(one).collect()).judged
    }

    #[test]
    fn a_set_by_which_one_query_is_ten_times_as_fast_and_five_get_a_slower_plan_is_not_advised() {
        let mixed = |slower: f64| {
            let five: &[f64] = &[10.0, slower];
            let judged = judged(&[&[100.0, 10.0], five, five, five, five, five]);
            (judged[1].decision, judged[1].gain > 0.0)
        };
        assert_eq!(mixed(11.0), (Decision::Change, true));
        assert_eq!(mixed(11.9), (Decision::Undecided, false));
    }

    #[test]
    fn what_a_set_saves_is_a_part_of_the_time_of_all_queries_and_not_of_those_that_it_changes() {
        let saved = |state| {
            let variants = |now: f64, then: f64| vec![Variant::of(&[0], &[now; 4]), Variant::of(&[1], &[then; 4])];
            let mut queries: Vec<Compared> = (0..4).map(|_| Compared::of("halved", variants(10.0, 5.0))).collect();
            queries.push(Compared::of("as before", vec![Variant::of(&[0, 1], &[40.0; 4])]));
            let not_run = Compared::of("not run", vec![Variant::of(&[0, 1], &[])]);
            queries.push(Compared { not_timed: Some(Unfinished::Refused("it writes".into())), ..not_run });
            let sets = vec![own(), ConstantSet { name: "random-1.1", values: Vec::new() }];
            let mut comparison = Comparison::timed(state, sets, queries);
            comparison.judge();
            comparison.judged.iter().map(|judged| judged.saved).collect::<Vec<_>>()
        };
        assert_eq!(saved(State::AsFound), [0.0, 0.25]);
        assert_eq!(saved(State::Cached), [0.0, 0.0], "the lengths of readpath's queries are readpath's");
        assert_eq!(saved(State::OwnCold), [0.0, 0.0], "a disk's times are too unsteady");
    }

    #[test]
    fn a_set_that_is_not_worth_its_exceptions_is_judged_by_what_it_harms() {
        let with = |slower: f64| {
            let eight: &[f64] = &[10.0, slower];
            let queries = [vec![&[100.0, 1.0][..], &[10.0, 30.0]], vec![eight; 8]].concat();
            let judged = judged(&queries)[1];
            (judged.decision, judged.excepted, judged.worst)
        };
        assert_eq!(with(10.5), (Decision::Change, 1, 1.05));
        assert_eq!(with(11.0), (Decision::Keep, 0, 3.0));
    }

    #[test]
    fn a_plan_that_a_harmful_set_alone_leads_to_is_not_what_others_are_held_against() {
        let halved: &[f64] = &[100.0, 50.0, 20.0];
        let judged = judged(&[halved, halved, halved, halved, &[10.0, 10.0, 90.0]]);
        assert_eq!([judged[1].decision, judged[2].decision], [Decision::Change, Decision::Keep]);
        assert!((judged[1].gain - 4.0 * 2f64.ln()).abs() < 1e-9, "{judged:?}");
    }

    #[test]
    fn a_set_by_which_three_seconds_become_a_minute_is_not_advised() {
        let advised = |then: &dyn Fn(&[usize]) -> Variant| {
            let gains = |number: usize| {
                let millis = [[100.0, 101.0, 99.0], [50.0, 51.0, 49.0]];
                let variants = vec![Variant::of(&[0], &millis[0]), Variant::of(&[1], &millis[1])];
                Compared::of(&format!("q{number}"), variants)
            };
            let slow = vec![Variant::of(&[0], &[9000.0, 9001.0, 9002.0]), then(&[1])];
            let compared = (0..5).map(gains).chain([Compared::of("slow", slow)]).collect();
            let sets = vec![own(), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
            Comparison::timed(State::AsFound, sets, compared).judged[1].decision
        };
        assert_eq!(advised(&|sets| Variant::of(sets, &[8000.0, 8001.0, 8002.0])), Decision::Change);
        assert_eq!(advised(&|sets| Variant::ended(sets, 10_000.0)), Decision::Undecided, "near the limit");
        assert_eq!(advised(&|sets| Variant::ended(sets, 45_000.0)), Decision::Keep, "for sure");
    }

    #[test]
    fn a_set_is_undecided_where_a_query_beyond_the_time_limit_is_nearly_worth_an_exception() {
        let undecided = |too_long: usize| {
            let then = [0.9, 0.95, 1.0, 1.05, 1.1].map(|part| 91.0 * part);
            let gaining = (0..4).map(|_| vec![Variant::of(&[0], &[100.0; 5]), Variant::of(&[1], &then)]);
            let gaining = gaining.map(|variants| Compared::of("gaining", variants));
            let both = || vec![Variant::ended(&[0], 10_000.0), Variant::ended(&[1], 10_000.0)];
            let long = (0..too_long).map(|_| Compared::of("long", both()));
            let rest = (too_long..6).map(|_| Compared::of("same", vec![Variant::of(&[0, 1], &[100.0; 5])]));
            let sets = vec![own(), ConstantSet { name: "tried", values: vec![("random_page_cost", 2.0)] }];
            Comparison::timed(State::OwnCold, sets, gaining.chain(long).chain(rest).collect()).undecided(1)
        };
        assert_eq!([0, 1, 2].map(undecided), [None, Some(vec![]), None]);
    }

    #[test]
    fn what_a_rejected_set_alone_leads_to_is_not_what_others_are_held_against() {
        // By set 1 one query is ten times as fast and five are slower: it is rejected. By set 2 none is slower.
        let five: &[f64] = &[10.0, 11.9, 10.0];
        let four: &[f64] = &[20.0, 20.0, 10.0];
        let queries = [vec![&[100.0, 10.0, 60.0][..]], vec![five; 5], vec![four; 4]].concat();
        let judged = judged(&queries);
        assert_eq!([judged[1].decision, judged[2].decision], [Decision::Undecided, Decision::Change]);
        assert!((judged[2].gain - 4.0 * 2f64.ln() - (100f64 / 60.0).ln()).abs() < 1e-9, "{judged:?}");
    }
}
