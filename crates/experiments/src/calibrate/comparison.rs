//! Queries under several sets of constants: which plans change, and what they take, in turns.

use std::time::Duration;
use std::{mem, ptr};

use measure::quantity::counted;
use measure::statistics::median;
use measure::{Finding, sorting};
use subjects::postgres::calibration::Plan;
use subjects::postgres::calibration::queries::{Query, Unfinished};

use super::bench::{Bench, State};
use super::exceptions::{Pairs, Workload, except_too_long, judge_with_exceptions, unsure_of_worth};
use super::judgement::{Decision, Drawn, Judged, MILLIS_MIN, Pair, RUNS_MIN, judge};
use super::sets::{ConstantSet, is_known, own};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Rounds that are run whatever they take, after one that is not counted.
const ROUNDS_MIN: usize = 3;

/// How long further rounds may begin, after the first: of readpath's own queries, and of the user's, whose length is
/// not ours to choose. With few turns, two runs in a row advise different sets.
const ROUNDS_TIME: Duration = Duration::from_secs(20);
const ROUNDS_TIME_AS_FOUND: Duration = Duration::from_secs(60);

/// Further rounds of queries that are unclear, for each reason; and how long turns of each may begin, at least. Where
/// the rounds of all queries took longer than usual, so do these: it is this part of their time.
const MORE_ROUNDS: usize = 10;
const MORE_TIME: Duration = Duration::from_secs(30);
const MORE_TIME_PART: u32 = 2;
/// The same where each run takes a restart.
const MORE_ROUNDS_COLD: usize = 5;
const MORE_TIME_COLD: Duration = Duration::from_secs(240);

/// A short query of the user's is repeated in its turn until its runs have taken this long together, but not more often
/// than that: what differs from run to run is as long for it as for a long one.
const TURN: Duration = Duration::from_millis(20);
const TURN_RUNS_MAX: usize = 5;

/// Rounds of a dry run, which would only repeat them.
const ROUNDS_REHEARSED: usize = 2;

/// Another plan may take this many times as long as the one now, and at least this long, before it is ended.
const TIMES_MAX: f64 = 5.0;
const LIMIT_MIN: Duration = Duration::from_millis(500);

/// A plan that the round which does not count ends at a limit of at most this is run once more at once. No query may
/// have used its index before, so that its first run reads from the disk, and the next one finds those blocks cached. A
/// longer limit would cost more than the verdict of one plan is worth.
const SETTLING_LIMIT_MAX: Duration = Duration::from_secs(2);

/// Where planning takes over this part of the limit of another plan, it may be what the run reached the limit by: the
/// server counts it, and it is no time of the plan's.
const PLANNING_PART: f64 = 0.1;

/// A plan that takes this many times as long as the fastest is as far from it as any slower one: sets are compared by
/// how many queries get the wrong plan, and not by the one whose wrong plan is worst.
const LOSS_MAX: f64 = 2.0;

/// A plan each of whose runs took this many times as long as the longest by the server's own constants has its verdict
/// after as many rounds that count as a sure one takes, and is not run again.
const SLOW: f64 = 2.0;
const SLOW_ROUNDS: usize = RUNS_MIN;

/// A plan of a query, with the sets that lead to it.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) plan: Plan,
    /// Places in the list of sets, where 0 is the server's own.
    pub(super) sets: Vec<usize>,
    /// Milliseconds.
    pub(super) millis: Vec<f64>,
    /// The turn of each run.
    turns: Vec<usize>,
    /// Whether a run was ended for taking too long, after enough that were not: the machine may have been held up.
    is_held_up: bool,
    /// Whether a run ended with an error: the server's memory or disk may have been full for a moment.
    has_failed: bool,
    /// Whether it was ended for taking too long, or by an error. Its last time then stands for those of later rounds.
    is_cut: bool,
    /// The error that ended it, where it did not take too long.
    failure: Option<String>,
    /// The turns in which a run of it was ended at its limit.
    ended: Vec<usize>,
}

/// A query with its plans: the first is the one by the server's own constants.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    pub(super) query: Query,
    pub(super) variants: Vec<Variant>,
    /// Turns that began.
    pub(super) turn: usize,
    /// Every plan that a set led to, in words, whether it was looked at again or not.
    pub(super) reached: Vec<String>,
    /// Why its plans were not timed.
    pub(super) not_timed: Option<Unfinished>,
    /// Whether a run by the server's own constants reached the time limit, and none that counts ended since.
    pub(super) reached_limit: bool,
    /// Whether it could not be run any more once its plans had been timed often enough.
    pub(super) is_left: bool,
    /// The quickest plan of those by all sets that were timed, of which the page shows some, with its milliseconds.
    pub(super) quickest: Option<(f64, Plan)>,
}

/// What was found in one state.
pub(super) struct Comparison {
    pub(super) state: State,
    /// The server's own constants come first.
    pub(super) sets: Vec<ConstantSet>,
    pub(super) compared: Vec<Compared>,
    /// Queries with the reason why they could not be explained.
    pub(super) refused: Vec<(String, Unfinished)>,
    pub(super) judged: Vec<Judged>,
    /// Of each set that was judged, the places of the queries that keep the server's own constants.
    pub(super) exceptions: Vec<Vec<usize>>,
    /// Whether plans were timed.
    pub(super) is_timed: bool,
    pub(super) others: Others,
    pub(super) ended_by: EndedBy,
}

/// Which limit ends the user's queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndedBy {
    TimeLimit,
    /// That of all statements of the session, which is shorter.
    StatementTimeout,
}

impl EndedBy {
    fn of(bench: &mut Bench<'_>) -> EndedBy {
        match bench.tables.statement_limit() < bench.parameters.time_limit() {
            true => EndedBy::StatementTimeout,
            false => EndedBy::TimeLimit,
        }
    }
}

/// Whether other sessions were at work while queries were timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    Quiet,
    Busy,
    /// The role may not see sessions of other roles; those that it sees were quiet.
    Unseen,
}

impl Others {
    fn of(bench: &mut Bench<'_>) -> Others {
        match (bench.tables.is_busy(), bench.tables.sees_others()) {
            (true, _) => Others::Busy,
            (false, true) => Others::Quiet,
            (false, false) => Others::Unseen,
        }
    }
}

impl Compared {
    /// The plan by a set.
    pub(super) fn variant(&self, set: usize) -> usize {
        self.variants.iter().position(|variant| variant.sets.contains(&set)).unwrap_or(0)
    }

    /// The times by the server's own constants and by a set, where that leads to another plan and they tell something
    /// of it.
    pub(super) fn pair(&self, set: usize) -> Option<Pair> {
        self.timed(set).filter(|pair| !pair.is_too_long())
    }

    /// The same, or where both plans take about the time limit or more.
    pub(super) fn timed(&self, set: usize) -> Option<Pair> {
        let at = self.variant(set);
        let is_timed = at > 0 && self.not_timed.is_none();
        is_timed.then(|| self.pair_with(at)).filter(|pair| !pair.ratios.is_empty())
    }

    /// Whether a set changes the plan, the one by the server's own constants reached the time limit, and it is not
    /// known which of them takes longer.
    pub(super) fn is_too_long(&self, set: usize) -> bool {
        let is_ended_otherwise = self.reached_limit && self.not_timed.is_some() && self.variant(set) > 0;
        is_ended_otherwise || self.timed(set).is_some_and(|pair| pair.is_too_long())
    }

    /// Whether a set changes the plan, and only the time limit keeps it open which of them is faster.
    pub(super) fn is_undecided_by_limit(&self, set: usize) -> bool {
        let is_ended = |pair: &Pair| pair.is_ended && pair.has_enough() && !pair.is_failed && !pair.does_harm();
        self.is_too_long(set) || self.pair(set).as_ref().is_some_and(is_ended)
    }

    /// Whether the plan by the server's own constants reached the time limit.
    pub(super) fn is_now_ended(&self) -> bool {
        self.variants[0].is_cut
    }

    /// The plan that took least time of those that were not ended, with its milliseconds.
    fn find_quickest(&self) -> Option<(f64, &Plan)> {
        let plans = (0..self.variants.len()).filter(|at| !self.variants[*at].is_cut);
        let timed = plans.filter_map(|at| Some((self.millis(at)?, &self.variants[at].plan)));
        timed.min_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The times by the server's own constants and of the plan at this place.
    fn pair_with(&self, at: usize) -> Pair {
        let [now, then] = [&self.variants[0], &self.variants[at]];
        let ratio = |turn: usize| Some(then.of_turn(turn)? / now.of_turn(turn)?);
        let ratios = (0..=self.turn).filter_map(ratio).filter(|ratio| ratio.is_finite()).collect();
        let [(now, is_now_ended), (then, is_ended)] = [now, then].map(|one| (one.millis.clone(), one.is_cut));
        Pair { now, then, ratios, is_now_ended, is_ended, is_failed: self.variants[at].failure.is_some() }
    }

    /// The error that the plan by a set ends with, where the one by the server's own constants does not.
    pub(super) fn failure(&self, set: usize) -> Option<&str> {
        self.variants[self.variant(set)].failure.as_deref().filter(|_| self.not_timed.is_none())
    }

    /// The same of the first plan that has one.
    pub(super) fn first_failure(&self) -> Option<&str> {
        let first = self.variants.iter().find_map(|variant| variant.failure.as_deref());
        first.filter(|_| self.not_timed.is_none())
    }

    /// The milliseconds of a plan: its ratio within turns times the median by the server's own constants.
    pub(super) fn millis(&self, at: usize) -> Option<f64> {
        let now = median(&self.variants[0].millis)?;
        if at == 0 { Some(now) } else { Some(now * self.pair_with(at).times()?) }
    }

    /// Takes in that a run of a plan gave no time. A plan that reaches its limit takes at least that long, and another
    /// one than that by the server's own constants is worse where it ends with an error. No plan of the query is timed
    /// any more where a run had another reason, or where the server's own constants lead to the error. What was timed
    /// often enough before stands: it may show harm.
    fn unfinished(&mut self, at: usize, why: Unfinished, limit: Duration) {
        match why {
            Unfinished::TooLong(_) | Unfinished::Failed(_) if at > 0 => self.end(at, why, limit),
            _ if (0..self.variants.len()).all(|at| self.pair_with(at).has_enough()) => self.is_left = true,
            Unfinished::TooLong(_) => self.end_now(limit),
            Unfinished::Failed(_) | Unfinished::Locked(_) | Unfinished::Refused(_) | Unfinished::Repeated(_) => {
                self.not_timed = Some(why);
            }
        }
    }

    /// Ends the plan by the server's own constants at the time limit, which stands for its time.
    fn end_now(&mut self, limit: Duration) {
        self.reached_limit = true;
        self.variants[0].is_cut = true;
        self.variants[0].reached(limit.as_secs_f64() * 1e3, self.turn);
    }

    /// Takes in a run of a plan that ended, with what each of its steps did.
    fn finished(&mut self, at: usize, plan: Plan, counts: bool) {
        self.reached_limit &= at > 0 || !counts;
        self.variants[at].plan = plan;
    }

    /// Ends another plan, or gives it one more run: a slow one where it was timed often enough, and one with an error
    /// always. A plan that ends with an error has no time: one that is surely too long stands for it where plans are
    /// compared.
    fn end(&mut self, at: usize, why: Unfinished, limit: Duration) {
        let had_enough = self.pair_with(at).has_enough();
        let too_long = median(&self.variants[0].millis).map_or(0.0, |now| now * TIMES_MAX);
        let variant = &mut self.variants[at];
        let is_failure = matches!(why, Unfinished::Failed(_));
        let seen = if is_failure { &mut variant.has_failed } else { &mut variant.is_held_up };
        let is_again = mem::replace(seen, true);
        let limit = limit.as_secs_f64() * 1e3;
        match why {
            Unfinished::Failed(_) if !is_again => {}
            Unfinished::Failed(why) => {
                (variant.is_cut, variant.failure) = (true, Some(why));
                variant.took(limit.max(too_long), self.turn);
            }
            Unfinished::TooLong(_) | Unfinished::Locked(_) | Unfinished::Refused(_) | Unfinished::Repeated(_) => {
                variant.is_cut = is_again || !had_enough;
                variant.reached(limit, self.turn);
            }
        }
    }

    /// Whether its plans are timed, and can be once more.
    fn can_be_timed(&self) -> bool {
        self.not_timed.is_none() && !self.is_left
    }

    /// How far a plan is from one that takes `fastest` milliseconds: the logarithm of how many times as long it takes.
    /// Below 0 where it is faster, as plans of sets are that are not worth a change.
    fn loss(&self, at: usize, fastest: f64) -> f64 {
        match self.millis(at) {
            Some(millis) if self.not_timed.is_none() && (millis - fastest).abs() >= MILLIS_MIN => {
                (millis / fastest).clamp(1.0 / LOSS_MAX, LOSS_MAX).ln()
            }
            _ => 0.0,
        }
    }

    /// Whether another plan is so slow that further runs would not change its verdict.
    fn is_slow(&self, at: usize) -> bool {
        let least = self.variants[at].millis.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.variants[0].millis.iter().copied().fold(0.0, f64::max);
        at > 0 && least.is_finite() && least > most * SLOW
    }

    /// The plans of other sets that may take longer, of which further runs would tell: by their times, because these
    /// are of few turns, or because a first error, which says nothing, took a turn that a verdict needs.
    fn unsure(&self) -> Vec<usize> {
        let is_unsure = |at: &usize| {
            let pair = self.pair_with(*at);
            let is_seldom = pair.does_harm_in_few_turns() && !self.is_slow(*at);
            let is_wanting = self.variants[*at].has_failed && !pair.is_failed && !pair.has_enough();
            pair.is_unsure_of_harm() || is_seldom || is_wanting
        };
        (1..self.variants.len()).filter(is_unsure).collect()
    }

    /// Forgets the times of plans, but for those that were ended: these took at least that long. Where the plan by the
    /// server's own constants was, the blocks of all may not have been cached yet: each is run once more.
    fn forget(&mut self) {
        let is_now_ended = self.is_now_ended();
        for variant in self.variants.iter_mut().filter(|variant| is_now_ended || !variant.is_cut) {
            (variant.is_cut, variant.is_held_up) = (false, false);
            variant.millis.clear();
            variant.turns.clear();
            variant.ended.clear();
        }
    }

    fn is_changed(&self) -> bool {
        self.variants.len() > 1
    }
}

impl Variant {
    /// A plan that a set leads to, before it is run.
    fn new(plan: Plan, set: usize) -> Variant {
        let (millis, turns, ended, failure) = (Vec::new(), Vec::new(), Vec::new(), None);
        let [is_held_up, has_failed, is_cut] = [false; 3];
        Variant { plan, sets: vec![set], millis, turns, is_held_up, has_failed, is_cut, failure, ended }
    }

    /// Adds a run that took these milliseconds.
    fn took(&mut self, millis: f64, turn: usize) {
        self.millis.push(millis);
        self.turns.push(turn);
    }

    /// Adds a run that was ended at a limit of these milliseconds.
    fn reached(&mut self, millis: f64, turn: usize) {
        self.took(millis, turn);
        self.ended.push(turn);
    }

    /// In how many of its turns it was ended at its limit, in words behind the limit; empty where it was in each turn
    /// that it ran in. After the last of these it is not run again.
    pub(super) fn ended_in(&self) -> String {
        let Some(last) = self.ended.last() else { return String::new() };
        let ran = distinct(self.turns.iter().copied().filter(|turn| turn <= last)).len();
        let ended = distinct(self.ended.iter().copied()).len();
        if ended < ran { format!(" in {ended} of {ran} turns") } else { String::new() }
    }

    /// The milliseconds in a turn: the median of its runs.
    fn of_turn(&self, turn: usize) -> Option<f64> {
        let runs = self.millis.iter().zip(&self.turns).filter(|(_, one)| **one == turn);
        median(&runs.map(|(millis, _)| *millis).collect::<Vec<_>>())
    }
}

#[cfg(test)]
impl Variant {
    /// A plan that these sets lead to, and its milliseconds, each of a turn.
    pub(super) fn of(sets: &[usize], millis: &[f64]) -> Variant {
        let mut variant = Variant { sets: sets.to_vec(), ..Variant::new(Plan::default(), 0) };
        millis.iter().enumerate().for_each(|(turn, millis)| variant.took(*millis, turn));
        variant
    }

    /// The same of a plan that was ended at this limit.
    pub(super) fn ended(sets: &[usize], limit: f64) -> Variant {
        Variant { is_cut: true, ..Variant::of(sets, &[limit; RUNS_MIN]) }
    }

    /// The same of a plan that ended with an error.
    pub(super) fn failed(sets: &[usize], stands_for_it: f64) -> Variant {
        Variant { failure: Some("it fails when it is run (no)".into()), ..Variant::ended(sets, stands_for_it) }
    }
}

#[cfg(test)]
impl Compared {
    /// A query of this name with its plans.
    pub(super) fn of(name: &str, variants: Vec<Variant>) -> Compared {
        let query = Query::of_verification(name.into(), "SELECT".into());
        let turn = variants.iter().filter_map(|variant| variant.turns.iter().max()).max().copied().unwrap_or(0);
        let reached = variants.iter().map(|variant| variant.plan.top.outline()).collect();
        let (not_timed, reached_limit) = (None, false);
        Compared { query, variants, turn, reached, not_timed, reached_limit, is_left: false, quickest: None }
    }
}

#[cfg(test)]
impl Comparison {
    /// Queries that were timed by these sets on a quiet server, and judged.
    pub(super) fn timed(state: State, sets: Vec<ConstantSet>, compared: Vec<Compared>) -> Comparison {
        let (refused, judged, exceptions) = (Vec::new(), Vec::new(), Vec::new());
        let (is_timed, others, ended_by) = (true, Others::Quiet, EndedBy::TimeLimit);
        let mut timed = Comparison { state, sets, compared, refused, judged, exceptions, is_timed, others, ended_by };
        timed.judge();
        timed
    }
}

impl Comparison {
    /// Queries whose plan a set changes.
    pub(super) fn changed(&self, set: usize) -> impl Iterator<Item = &Compared> {
        self.compared.iter().filter(move |one| one.variant(set) > 0)
    }

    /// The plan of each query by a set.
    pub(super) fn plans(&self, set: usize) -> Vec<usize> {
        self.compared.iter().map(|one| one.variant(set)).collect()
    }

    /// Keeps the sets of these places alone, and the plans that they lead to; each under its place among them.
    pub(super) fn keep_sets(&mut self, kept: &[usize]) {
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
    pub(super) fn judge(&mut self) {
        (self.judged, self.exceptions) = (0..self.sets.len()).map(|set| self.judged_by(set)).unzip();
        self.weigh();
    }

    /// Judges each set by all queries that it changes, none of which is an exception.
    pub(super) fn judge_without_exceptions(&mut self) {
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
    fn undecided(&self, set: usize) -> Option<Vec<usize>> {
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

    fn all_fastest(&self) -> Vec<f64> {
        (0..self.compared.len()).map(|at| self.fastest(at)).collect()
    }

    /// The milliseconds of all queries with a time, by the server's own constants; `None` where there are none.
    fn all_millis(&self) -> Option<f64> {
        Some(self.compared.iter().filter_map(|one| one.millis(0)).sum()).filter(|all| *all > 0.0)
    }

    /// What exceptions are weighed against.
    pub(super) fn workload(&self) -> Workload {
        Workload { queries: self.compared.len(), millis: self.all_millis().unwrap_or(0.0), drawn: self.drawn() }
    }

    /// How much less the queries lose with a set than with the server's own constants, which exceptions keep.
    fn gain(&self, set: usize, excepted: &[usize], fastest: &[f64]) -> f64 {
        let queries = self.compared.iter().zip(fastest).enumerate();
        let others = queries.filter(|(at, one)| !excepted.contains(at) && !one.0.is_too_long(set));
        others.map(|(_, (one, fastest))| one.loss(0, *fastest) - one.loss(one.variant(set), *fastest)).sum()
    }

    /// The times of the queries that a set changes, each with the query's place.
    pub(super) fn pairs(&self, set: usize) -> Pairs {
        self.compared.iter().enumerate().filter_map(|(at, one)| Some((at, one.pair(set)?))).collect()
    }

    fn drawn(&self) -> Drawn {
        if self.state.is_own() { Drawn::Runs } else { Drawn::QueriesAndRuns }
    }

    /// The places of queries that are exceptions from some set though it does them no harm.
    fn slower_exceptions(&self) -> Vec<usize> {
        let is_slower = |(set, at): &(usize, usize)| self.compared[*at].pair(*set).is_some_and(|pair| !pair.may_harm());
        let exceptions = self.exceptions.iter().enumerate();
        let exceptions = exceptions.flat_map(|(set, places)| places.iter().map(move |at| (set, *at)));
        distinct(exceptions.filter(is_slower).map(|(_, at)| at))
    }

    /// Queries that keep the server's own constants where a set is taken for the others.
    pub(super) fn excepted(&self, set: usize) -> impl Iterator<Item = &Compared> {
        self.exceptions.get(set).into_iter().flatten().map(|at| &self.compared[*at])
    }

    /// Whether a query of this comparison is one of those. Names can be the same.
    pub(super) fn is_excepted(&self, set: usize, one: &Compared) -> bool {
        self.excepted(set).any(|other| ptr::eq(other, one))
    }
}

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

fn is_same(one: &Plan, other: &Plan) -> bool {
    one.is_compiled == other.is_compiled && one.top.outline() == other.top.outline()
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
    let changed = comparison.compared.iter().filter(|one| one.is_changed()).count();
    let changed = counted(changed as u64, "query", "queries");
    for round in 0..wanted + settling {
        let mark = bench.recorder.as_ref().map(|recorder| recorder.mark());
        let elapsed = bench.machine.clock.now().since(started);
        // Cold rounds take minutes, and are as many as were asked for.
        let is_limited = !state.is_cold() && round >= ROUNDS_MIN + settling;
        if is_limited && Duration::from_nanos(elapsed.0) > most {
            break;
        }
        let what = format!("{changed} whose plan changes, {}, round {}", state.in_words(), round + 1);
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
            run_again(bench, comparison, (again, most), choice.contenders, journal)?;
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
    pub(super) contenders: Contenders<'a>,
}

/// The places of the sets between which the choice lies.
pub(super) type Contenders<'a> = &'a dyn Fn(&Comparison) -> Vec<usize>;

/// Places of queries, each with those of its plans that are run in a further round besides the one by the server's own
/// constants.
type Wanted = Vec<(usize, Vec<usize>)>;

/// Queries that are run again when the rounds of all are over.
struct Again {
    which: &'static str,
    find: fn(&mut Comparison, Contenders<'_>) -> Wanted,
    /// Whether they are found anew before each round.
    is_found_anew: bool,
}

const AGAIN: [Again; 4] = [
    Again { which: "whose plan may do harm", find: those_unsure_of_harm, is_found_anew: true },
    // Those that were found are run in all rounds: one that stopped as soon as it was none would stop by chance.
    Again { which: "that may be exceptions", find: those_that_may_be_exceptions, is_found_anew: false },
    // All rounds, too: a set whose rounds end once it looks good is advised by chance.
    Again { which: "of a set that they do not decide on", find: those_that_do_not_decide, is_found_anew: false },
    // Each round may change the choice.
    Again {
        which: "of which it is not sure that no harm is done",
        find: those_not_surely_unharmed,
        is_found_anew: true,
    },
];

/// Queries that a plan may harm, though not surely: that alone would keep sets from being advised.
fn those_unsure_of_harm(comparison: &mut Comparison, _: Contenders<'_>) -> Wanted {
    comparison.compared.iter().map(Compared::unsure).enumerate().collect()
}

/// Queries that are exceptions without harm: of many queries that take as long by a set, one is slower in a few rounds
/// by chance, and would be an exception in one run and not in the next.
fn those_that_may_be_exceptions(comparison: &mut Comparison, _: Contenders<'_>) -> Wanted {
    comparison.judge();
    let plans = |at: &usize| (1..comparison.compared[*at].variants.len()).collect();
    comparison.slower_exceptions().iter().map(|at| (*at, plans(at))).collect()
}

/// Queries that a set changes, of which few rounds do not tell whether it is worth a change. Rounds with empty caches
/// are few, because each run takes a restart, and the times of a disk differ by a quarter from one to the next. The
/// known sets are looked at first; another one, the best, only where the choice would otherwise be none.
fn those_that_do_not_decide(comparison: &mut Comparison, contenders: Contenders<'_>) -> Wanted {
    comparison.judge();
    if !comparison.state.is_cold() {
        return Wanted::new();
    }
    let undecided: Vec<(usize, Vec<usize>)> =
        (1..comparison.sets.len()).filter_map(|set| Some((set, comparison.undecided(set)?))).collect();
    let mut sets: Vec<&(usize, Vec<usize>)> =
        undecided.iter().filter(|(set, _)| is_known(&comparison.sets, *set)).collect();
    if sets.is_empty() && contenders(comparison).is_empty() {
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

/// Queries that the sets between which the choice lies do not surely leave unharmed, though they seem to: few rounds
/// can miss the half of a harm.
fn those_not_surely_unharmed(comparison: &mut Comparison, contenders: Contenders<'_>) -> Wanted {
    comparison.judge();
    let sets = contenders(comparison);
    let plans = |(at, one): (usize, &Compared)| {
        let not_excepted = sets.iter().filter(|set| !comparison.exceptions[**set].contains(&at));
        let plans = not_excepted.map(|set| one.variant(*set)).filter(|plan| *plan > 0);
        (at, distinct(plans.filter(|plan| one.pair_with(*plan).reaches_harm())))
    };
    comparison.compared.iter().enumerate().map(plans).collect()
}

/// Each once, the least first.
fn distinct(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<usize> = places.collect();
    sorting::ascending(&mut places);
    places.dedup();
    places
}

/// How long turns of further rounds may begin, for each reason, where the rounds of all queries took so long: runs of
/// large tables take seconds, and a limit for short ones would leave them two or three.
fn more_time(state: State, rounds: Duration) -> Duration {
    if state.is_cold() { MORE_TIME_COLD } else { MORE_TIME.max(rounds / MORE_TIME_PART) }
}

/// Runs further rounds of the plans that are wanted, whose turns begin within a time.
fn run_again(
    bench: &mut Bench<'_>,
    comparison: &mut Comparison,
    (again, most): (&Again, Duration),
    contenders: Contenders<'_>,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let started = bench.machine.clock.now();
    let mut wanted = Wanted::new();
    let most_rounds = if comparison.state.is_cold() { MORE_ROUNDS_COLD } else { MORE_ROUNDS };
    for number in 0..most_rounds {
        if number == 0 || again.is_found_anew {
            wanted = (again.find)(comparison, contenders);
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

/// A round of turns.
#[derive(Clone, Copy)]
struct Round {
    state: State,
    number: usize,
    /// Rounds before it that count.
    counted: usize,
    counts: bool,
}

impl Round {
    /// Whether a run of one of the user's queries may be repeated in its turn.
    fn repeats(self, is_rehearsal: bool) -> bool {
        self.counts && self.state == State::AsFound && !is_rehearsal
    }

    /// Whether a run began with planning and reached its limit. With empty caches, each plan is made before its run.
    fn may_have_planned(self, run: &Result<Plan, Unfinished>) -> bool {
        self.state == State::AsFound && matches!(run, Err(Unfinished::TooLong(_)))
    }

    /// Whether what ended a run by the server's own constants may be its planning, a wait for a lock, or blocks that
    /// were not cached yet: all other plans would seem faster for that. The next run finds that done.
    fn may_be_shorter(self, run: &Result<Plan, Unfinished>) -> bool {
        self.counts && !self.state.is_cold() && matches!(run, Err(Unfinished::TooLong(_)))
    }

    /// Whether what ended a run may be that its blocks were not cached yet.
    fn may_settle(self, run: &Result<Plan, Unfinished>, limit: Duration) -> bool {
        !self.counts && limit <= SETTLING_LIMIT_MAX && matches!(run, Err(Unfinished::TooLong(_)))
    }
}

/// Runs these plans of a query once, in the order of the round. The first run of one of the user's queries reads what
/// other queries have displaced from the buffers, which is no plan's own time, and is repeated.
fn take_turns(
    bench: &mut Bench<'_>,
    (one, plans): (&mut Compared, &[usize]),
    sets: &[ConstantSet],
    round: Round,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    one.turn += 1;
    let mut is_displaced = round.repeats(bench.tables.is_rehearsal());
    for at in ordered(plans, round.number) {
        let limit = limit(bench.time_limit(), one, at);
        if one.variants[at].is_cut {
            if let Some(millis) = one.variants[at].millis.last().copied().filter(|_| round.counts) {
                one.variants[at].took(millis, one.turn);
            }
            continue;
        }
        if round.counted >= SLOW_ROUNDS && one.pair_with(at).has_enough() && one.is_slow(at) {
            continue;
        }
        if round.state.is_cold() {
            bench.cool(journal)?;
        }
        bench.set_constants(&sets[one.variants[at].sets[0]].values)?;
        if round.state.is_cold() {
            // What the server has to know about the tables is read here, so that the statement does not.
            let _ = bench.tables.plan_of(&one.query)?;
        }
        let is_opening = mem::take(&mut is_displaced);
        let mut on_server = OnServer { bench: &mut *bench, one: &mut *one, at, limit, round };
        let run = run_or_repeat(&mut on_server, at, (limit, round, is_opening))?;
        match run {
            Ok(plan) if !is_same(&plan, &one.variants[at].plan) && !bench.tables.is_rehearsal() => {
                let why = "its plan changed between EXPLAIN and the run";
                one.unfinished(at, Unfinished::Refused(why.into()), limit);
            }
            Ok(plan) => one.finished(at, plan, round.counts),
            Err(why) => one.unfinished(at, why, limit),
        }
        if !one.can_be_timed() {
            return Ok(());
        }
    }
    Ok(())
}

/// What runs a plan in its turn: the server, or in tests what stands for it.
trait Runs {
    /// Runs the plan. In a turn that it opens, a run that does not count comes first.
    fn run(&mut self, is_opening: bool) -> Result<Result<Plan, Unfinished>, ExperimentError>;

    /// Whether it may have been its planning that brought a run to its limit.
    fn was_planning(&mut self, run: &Result<Plan, Unfinished>) -> Result<bool, ExperimentError>;
}

/// The plan of a query at this place, on the server.
struct OnServer<'a, 'b> {
    bench: &'a mut Bench<'b>,
    one: &'a mut Compared,
    at: usize,
    limit: Duration,
    round: Round,
}

impl Runs for OnServer<'_, '_> {
    fn run(&mut self, is_opening: bool) -> Result<Result<Plan, Unfinished>, ExperimentError> {
        run_turn(self.bench, self.one, self.at, (self.limit, self.round, is_opening))
    }

    fn was_planning(&mut self, run: &Result<Plan, Unfinished>) -> Result<bool, ExperimentError> {
        was_planning(self.bench, &self.one.query, run, (self.round, self.limit))
    }
}

/// Runs a plan, and at once again where its run may have reached the limit for what is no time of the plan's own.
fn run_or_repeat(
    runs: &mut dyn Runs,
    at: usize,
    (limit, round, is_opening): (Duration, Round, bool),
) -> Result<Result<Plan, Unfinished>, ExperimentError> {
    let mut run = runs.run(is_opening)?;
    if at == 0 && round.may_be_shorter(&run) {
        run = runs.run(false)?;
    }
    if at > 0 && runs.was_planning(&run)? {
        run = runs.run(false)?;
    }
    if at > 0 && round.may_settle(&run, limit) {
        run = runs.run(false)?;
    }
    Ok(run)
}

/// Whether it may have been its planning that brought a run to its limit. The plan is made here, and the session keeps
/// it: a further run begins with it.
fn was_planning(
    bench: &mut Bench<'_>,
    query: &Query,
    run: &Result<Plan, Unfinished>,
    (round, limit): (Round, Duration),
) -> Result<bool, ExperimentError> {
    if !round.may_have_planned(run) {
        return Ok(false);
    }
    // A run that was ended behind its planning has left its plan, which would take no time here.
    let constants = bench.constants.clone();
    bench.set_constants(&constants)?;
    let started = bench.machine.clock.now();
    let planned = bench.tables.plan_of(query)?;
    let took = Duration::from_nanos(bench.machine.clock.now().since(started).0);
    Ok(planned.is_ok() && is_long_planning(took, limit))
}

fn is_long_planning(took: Duration, limit: Duration) -> bool {
    took > limit.mul_f64(PLANNING_PART)
}

/// The order of plans in a round: it turns around from round to round, and begins further on from pair to pair of them,
/// so that each plan comes first at some time.
fn ordered(plans: &[usize], round: usize) -> Vec<usize> {
    let mut order = plans.to_vec();
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    let count = order.len().max(1);
    order.rotate_left(round / 2 % count);
    order
}

/// Runs a plan of a query, a short one several times where it can be: the plan of the last run.
fn run_turn(
    bench: &mut Bench<'_>,
    one: &mut Compared,
    at: usize,
    (limit, round, is_displaced): (Duration, Round, bool),
) -> Result<Result<Plan, Unfinished>, ExperimentError> {
    let repeats = round.repeats(bench.tables.is_rehearsal());
    let most = if repeats { TURN_RUNS_MAX } else { 1 };
    let Compared { query, variants, turn, .. } = one;
    let mut run = || Ok(bench.tables.run_query(query, limit)?);
    run_plan(&mut variants[at], *turn, (most, is_displaced), &mut run)
}

/// Runs a plan until its runs took long enough together, `most` times at most. Where its blocks may be displaced, a run
/// that does not count comes first.
fn run_plan(
    variant: &mut Variant,
    turn: usize,
    (most, mut is_displaced): (usize, bool),
    run: &mut dyn FnMut() -> Result<Result<Plan, Unfinished>, ExperimentError>,
) -> Result<Result<Plan, Unfinished>, ExperimentError> {
    let mut taken = 0.0;
    let mut runs = 0;
    loop {
        let plan = match run()? {
            Ok(plan) => plan,
            // What ended it does not count either: the next run may succeed.
            Err(_) if mem::take(&mut is_displaced) => continue,
            Err(why) => return Ok(Err(why)),
        };
        let is_planned = is_same(&plan, &variant.plan);
        if mem::take(&mut is_displaced) && is_planned {
            continue;
        }
        if let Some(millis) = plan.execution_ms.filter(|_| is_planned) {
            variant.took(millis, turn);
        }
        taken += plan.execution_ms.unwrap_or(f64::INFINITY);
        runs += 1;
        if runs >= most || !is_planned || taken >= TURN.as_secs_f64() * 1e3 {
            return Ok(Ok(plan));
        }
    }
}

/// How long a plan of a query may take.
fn limit(all: Duration, one: &Compared, at: usize) -> Duration {
    limit_by(all, median(&one.variants[0].millis).filter(|_| at > 0))
}

/// How long another plan may take, by the milliseconds of the one now.
fn limit_by(all: Duration, now: Option<f64>) -> Duration {
    match now {
        // In whole milliseconds, as the server counts them: it would end a run before a limit with a fraction.
        Some(now) => Duration::from_millis((now * TIMES_MAX) as u64).max(LIMIT_MIN).min(all),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::judgement::{Decision, Verdict};

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

    #[test]
    fn queries_that_take_seconds_are_run_again_as_often_as_short_ones() {
        let seconds = |state, rounds| more_time(state, Duration::from_secs(rounds)).as_secs();
        assert_eq!([20, 60, 70, 400].map(|rounds| seconds(State::AsFound, rounds)), [30, 30, 35, 200]);
        assert_eq!([20, 2400].map(|rounds| seconds(State::OwnCold, rounds)), [240, 240], "a restart each");
    }

    #[test]
    fn the_first_run_that_marks_the_rows_of_a_restored_backup_counts_for_no_plan() {
        let found = |state| {
            let changed = |name| Compared::of(name, vec![Variant::of(&[0], &[]), Variant::of(&[1], &[])]);
            let not_run = Compared { not_timed: Some(Unfinished::Refused("it writes".into())), ..changed("not run") };
            let same = Compared::of("same", vec![Variant::of(&[0, 1], &[])]);
            let sets = vec![own(), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
            unmarked(&Comparison::timed(state, sets, vec![same, changed("first"), not_run, changed("last")]))
        };
        assert_eq!(found(State::OwnCold), [1, 3]);
        for state in [State::AsFound, State::Cold, State::Cached, State::System] {
            assert_eq!(found(state), [0; 0], "{state:?}");
        }
    }

    /// A query that takes these milliseconds by the server's own constants, and has another plan.
    fn with_another_plan(now: f64) -> Compared {
        Compared::of("q", vec![Variant::of(&[0], &[now; 4]), Variant::of(&[1], &[])])
    }

    /// The milliseconds that count and the number of runs, of a plan whose runs take these; `None` is a run that fails.
    fn turn(outcomes: &[Option<f64>], is_displaced: bool) -> (Vec<f64>, usize) {
        let mut variant = Variant::of(&[0], &[]);
        let mut left = outcomes.iter();
        let mut run = || {
            let millis = *left.next().expect("no more runs than that");
            let plan = |millis| Plan { execution_ms: Some(millis), ..Plan::default() };
            Ok(millis.map(plan).ok_or_else(|| Unfinished::Locked("it waits for a lock".into())))
        };
        let _ = run_plan(&mut variant, 7, (TURN_RUNS_MAX, is_displaced), &mut run).unwrap();
        assert_eq!(variant.turns, vec![7; variant.millis.len()]);
        (variant.millis, outcomes.len() - left.len())
    }

    #[test]
    fn the_run_that_reads_what_others_displaced_counts_in_no_way() {
        let runs = [Some(90.0), Some(9.0), Some(8.0), Some(7.0), Some(6.0)];
        assert_eq!(turn(&runs, true), (vec![9.0, 8.0, 7.0], 4), "nor does it count as time taken");
        assert_eq!(turn(&runs, false), (vec![90.0], 1), "where none can have been displaced");
        assert_eq!(turn(&[None, Some(30.0)], true), (vec![30.0], 2), "the next one may succeed");
        assert_eq!(turn(&[Some(90.0), None], true), (vec![], 2));
        assert_eq!(turn(&[Some(1.0); 9], false), (vec![1.0; TURN_RUNS_MAX], TURN_RUNS_MAX));
        let round = |state, counts| Round { state, number: 0, counted: 0, counts };
        let repeats = [round(State::AsFound, true), round(State::AsFound, false), round(State::Cached, true)];
        assert_eq!(repeats.map(|round| round.repeats(false)), [true, false, false]);
    }

    /// Runs that end so, one after the other, and whether each of them that reached its limit did so by planning.
    struct Planted {
        left: Vec<Result<Plan, Unfinished>>,
        is_planning: bool,
        openings: Vec<bool>,
    }

    impl Runs for Planted {
        fn run(&mut self, is_opening: bool) -> Result<Result<Plan, Unfinished>, ExperimentError> {
            self.openings.push(is_opening);
            Ok(self.left.remove(0))
        }

        fn was_planning(&mut self, run: &Result<Plan, Unfinished>) -> Result<bool, ExperimentError> {
            Ok(self.is_planning && run.is_err())
        }
    }

    #[test]
    fn a_plan_that_reaches_its_limit_once_is_run_again_before_it_is_taken_for_ended() {
        // How many runs of three were made, and whether the last of them ended within its limit.
        let made = |at: usize, (state, counts): (State, bool), (millis, is_planning): (u64, bool), ends: [bool; 3]| {
            let run = |ends| if ends { Ok(Plan::default()) } else { Err(Unfinished::TooLong("too long".into())) };
            let mut planted = Planted { left: ends.map(run).into(), is_planning, openings: Vec::new() };
            let round = Round { state, number: 0, counted: 0, counts };
            let run = run_or_repeat(&mut planted, at, (Duration::from_millis(millis), round, true)).unwrap();
            assert!(planted.openings[0] && !planted.openings[1..].contains(&true), "one run opens the turn");
            (planted.openings.len(), run.is_ok())
        };
        let (once, never) = ([false, true, true], [false; 3]);
        let found = (State::AsFound, true);
        let settling = (State::AsFound, false);
        assert_eq!(made(0, found, (10_000, false), [true; 3]), (1, true));
        assert_eq!(made(0, found, (10_000, false), once), (2, true), "it may have waited for blocks or a lock");
        assert_eq!(made(0, found, (10_000, false), never), (2, false), "twice in a row");
        assert_eq!(made(0, settling, (10_000, false), once), (1, false), "it is run again when rounds count");
        assert_eq!(made(0, (State::OwnCold, true), (10_000, false), once), (1, false), "the first cold run decides");
        assert_eq!(made(1, found, (500, false), once), (1, false), "another plan has its verdict");
        assert_eq!(made(1, found, (500, true), once), (2, true), "planning is no part of a plan's time");
        assert_eq!(made(1, settling, (500, false), once), (2, true), "it may have read what the next run finds");
        assert_eq!(made(1, settling, (10_000, false), once), (1, false), "it would cost too much");
        assert_eq!(made(1, settling, (500, true), never), (3, false), "for each reason once");
    }

    #[test]
    fn a_plan_whose_first_run_reads_from_the_disk_is_not_given_up_for_that() {
        let round = |counts| Round { state: State::AsFound, number: 0, counted: 0, counts };
        let too_long = || Err(Unfinished::TooLong("it takes longer".into()));
        let again = |counts, run: Result<Plan, Unfinished>, millis| {
            round(counts).may_settle(&run, Duration::from_millis(millis))
        };
        assert!(again(false, too_long(), 500) && again(false, too_long(), 2000));
        assert!(!again(false, too_long(), 2001), "it would cost too much");
        assert!(!again(true, too_long(), 500), "its blocks were read in the round before");
        assert!(!again(false, Ok(Plan::default()), 500));
        assert!(!again(false, Err(Unfinished::Locked("it waits for a lock".into())), 500));
    }

    #[test]
    fn a_plan_whose_run_reached_its_limit_by_planning_is_run_once_more() {
        let round = |state| Round { state, number: 0, counted: 0, counts: true };
        let too_long = Err(Unfinished::TooLong("it takes longer".into()));
        assert!(round(State::AsFound).may_have_planned(&too_long));
        assert!(!round(State::OwnCold).may_have_planned(&too_long), "each plan is made before its run");
        assert!(!round(State::AsFound).may_have_planned(&Ok(Plan::default())));
        assert!(!round(State::AsFound).may_have_planned(&Err(Unfinished::Locked("it waits for a lock".into()))));
        let is_long = |took, limit| is_long_planning(Duration::from_millis(took), Duration::from_millis(limit));
        let found = [(600, 500), (51, 500), (49, 500), (600, 10_000)].map(|(took, limit)| is_long(took, limit));
        assert_eq!(found, [true, true, false, false]);
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
        assert_eq!(
            (once.now, once.is_now_ended),
            (vec![9000.0, 10_000.0, 10_000.0], true),
            "it stands at it from then on"
        );
        let ended_in = |one: &Compared| [0, 1].map(|at| one.variants[at].ended_in());
        let once_of_two = beyond_the_limit([NINE, NINE, None, None], Some(2500.0));
        assert_eq!(ended_in(&once_of_two), [" in 1 of 2 turns", ""], "it is not run in the last one");
        assert_eq!(ended_in(&beyond_the_limit([None; 4], Some(2500.0))), ["", ""], "in each turn that counts");
        let mut often = beyond_the_limit([NINE; 4], Some(2500.0));
        often.unfinished(0, Unfinished::TooLong("it takes longer".into()), Duration::from_secs(10));
        let pair = often.pair(1).unwrap();
        assert!(!pair.is_now_ended && !often.is_too_long(1) && !often.can_be_timed(), "its times stand");
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
            (one.is_left, one.not_timed.is_some())
        };
        assert_eq!(left(&[1, 1, 1, 1, 1]), (false, true));
        assert_eq!(left(&[1, 2, 3]), (true, false));
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
            let wanted = AGAIN.map(|again| (again.find)(&mut comparison, &|_| vec![1, 2])).concat();
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
            let found = those_that_do_not_decide(&mut comparison, &contenders);
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
            let found = those_that_do_not_decide(&mut comparison, &contenders).into_iter();
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
            let mut wanted = those_not_surely_unharmed(&mut comparison, &|_| sets.to_vec());
            assert!(wanted[..9].iter().all(|(_, plans)| plans.is_empty()));
            wanted.remove(9).1
        };
        assert_eq!(again([9.0, 10.7, 13.5], &[1]), vec![1], "0.9 to 1.35, and 1.07 in the middle");
        assert_eq!(again([9.0, 10.7, 13.5], &[1, 2]), vec![1, 2]);
        assert_eq!(again([9.0, 10.7, 13.5], &[3]), Vec::<usize>::new(), "the same plan as now");
        assert_eq!(again([9.0, 10.7, 11.5], &[1]), Vec::<usize>::new(), "1.15 at most");
        assert_eq!(again([19.0, 20.0, 21.0], &[1]), Vec::<usize>::new(), "an exception for sure");
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
    fn each_plan_comes_first_in_some_round() {
        let first = |count: usize, round: usize| ordered(&(0..count).collect::<Vec<_>>(), round)[0];
        for count in 2..7 {
            let firsts = sorting::set((0..2 * count).map(|round| first(count, round)));
            assert_eq!(firsts.len(), count);
        }
        assert_eq!(ordered(&[0, 1], 1), [1, 0]);
        assert_eq!(ordered(&[], 3), Vec::<usize>::new());
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
    fn what_a_rejected_set_alone_leads_to_is_not_what_others_are_held_against() {
        // By set 1 one query is ten times as fast and five are slower: it is rejected. By set 2 none is slower.
        let five: &[f64] = &[10.0, 11.9, 10.0];
        let four: &[f64] = &[20.0, 20.0, 10.0];
        let queries = [vec![&[100.0, 10.0, 60.0][..]], vec![five; 5], vec![four; 4]].concat();
        let judged = judged(&queries);
        assert_eq!([judged[1].decision, judged[2].decision], [Decision::Undecided, Decision::Change]);
        assert!((judged[2].gain - 4.0 * 2f64.ln() - (100f64 / 60.0).ln()).abs() < 1e-9, "{judged:?}");
    }

    #[test]
    fn a_harm_of_less_than_a_fifth_of_a_millisecond_is_none_to_look_for() {
        let reaches = |now: f64| {
            let variants = vec![Variant::of(&[0], &[now; 3]), Variant::of(&[1], &[now, now, now * 1.5])];
            Compared::of("q", variants).pair_with(1).reaches_harm()
        };
        assert_eq!([0.3, 0.5].map(reaches), [false, true]);
    }
}
