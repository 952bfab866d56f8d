//! A query with its plans: what each run tells of them, whether it ends or not, and how their times compare. It knows
//! one query: how a set does on all of them is judged in `one_state.rs`.

use std::mem;
use std::time::Duration;

use measure::statistics::median;
use subjects::postgres::calibration::Plan;
use subjects::postgres::calibration::queries::{Query, Unfinished};

use super::variant::Variant;
use crate::calibrate::judgement::{MILLIS_MIN, Pair, RUNS_MIN};

/// Another plan may take this many times as long as the one now, and at least this long, before it is ended.
const TIMES_MAX: f64 = 5.0;
const LIMIT_MIN: Duration = Duration::from_millis(500);

/// A plan that takes this many times as long as the fastest is as far from it as any slower one: sets are compared by
/// how many queries get the wrong plan, and not by the one whose wrong plan is worst.
const LOSS_MAX: f64 = 2.0;

/// A plan each of whose runs took this many times as long as the longest by the server's own constants has its verdict
/// after as many rounds that count as a sure one takes, and is not run again.
const SLOW: f64 = 2.0;
pub(super) const SLOW_ROUNDS: usize = RUNS_MIN;

/// A query with its plans: the first is the one by the server's own constants.
#[derive(Clone, Debug)]
pub(in crate::calibrate) struct Compared {
    pub(in crate::calibrate) query: Query,
    pub(in crate::calibrate) variants: Vec<Variant>,
    /// Turns that began.
    pub(in crate::calibrate) turn: usize,
    /// Every plan that a set led to, in words, whether it was looked at again or not.
    pub(in crate::calibrate) reached: Vec<String>,
    /// Why its plans were not timed.
    pub(in crate::calibrate) not_timed: Option<Unfinished>,
    /// Whether a run by the server's own constants reached the time limit, and none that counts ended since.
    pub(in crate::calibrate) reached_limit: bool,
    /// Whether it could not be run any more once its plans had been timed often enough.
    pub(in crate::calibrate) is_left: bool,
    /// The quickest plan of those by all sets that were timed, of which the page shows some, with its milliseconds.
    pub(in crate::calibrate) quickest: Option<(f64, Plan)>,
}

impl Compared {
    /// The plan by a set.
    pub(in crate::calibrate) fn variant(&self, set: usize) -> usize {
        self.variants.iter().position(|variant| variant.sets.contains(&set)).unwrap_or(0)
    }

    /// The times by the server's own constants and by a set, where that leads to another plan and they tell something
    /// of it.
    pub(in crate::calibrate) fn pair(&self, set: usize) -> Option<Pair> {
        self.timed(set).filter(|pair| !pair.is_too_long())
    }

    /// The same, or where both plans take about the time limit or more.
    pub(in crate::calibrate) fn timed(&self, set: usize) -> Option<Pair> {
        let at = self.variant(set);
        let is_timed = at > 0 && self.not_timed.is_none();
        is_timed.then(|| self.pair_with(at)).filter(|pair| !pair.ratios.is_empty())
    }

    /// Whether a set changes the plan, the one by the server's own constants reached the time limit, and it is not
    /// known which of them takes longer.
    pub(in crate::calibrate) fn is_too_long(&self, set: usize) -> bool {
        let is_ended_otherwise = self.reached_limit && self.not_timed.is_some() && self.variant(set) > 0;
        is_ended_otherwise || self.timed(set).is_some_and(|pair| pair.is_too_long())
    }

    /// Whether a set changes the plan, and only the time limit keeps it open which of them is faster.
    pub(in crate::calibrate) fn is_undecided_by_limit(&self, set: usize) -> bool {
        let is_ended = |pair: &Pair| pair.is_ended && pair.has_enough() && !pair.is_failed && !pair.does_harm();
        self.is_too_long(set) || self.pair(set).as_ref().is_some_and(is_ended)
    }

    /// Whether the plan by the server's own constants reached the time limit.
    pub(in crate::calibrate) fn is_now_ended(&self) -> bool {
        self.variants[0].is_cut
    }

    /// The plan that took least time of those that were not ended, with its milliseconds.
    pub(super) fn find_quickest(&self) -> Option<(f64, &Plan)> {
        let plans = (0..self.variants.len()).filter(|at| !self.variants[*at].is_cut);
        let timed = plans.filter_map(|at| Some((self.millis(at)?, &self.variants[at].plan)));
        timed.min_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The times by the server's own constants and of the plan at this place.
    pub(super) fn pair_with(&self, at: usize) -> Pair {
        let [now, then] = [&self.variants[0], &self.variants[at]];
        let ratio = |turn: usize| Some(then.of_turn(turn)? / now.of_turn(turn)?);
        let ratios = (0..=self.turn).filter_map(ratio).filter(|ratio| ratio.is_finite()).collect();
        let [(now, is_now_ended), (then, is_ended)] = [now, then].map(|one| (one.millis.clone(), one.is_cut));
        Pair { now, then, ratios, is_now_ended, is_ended, is_failed: self.variants[at].failure.is_some() }
    }

    /// The error that the plan by a set ends with, where the one by the server's own constants does not.
    pub(in crate::calibrate) fn failure(&self, set: usize) -> Option<&str> {
        self.variants[self.variant(set)].failure.as_deref().filter(|_| self.not_timed.is_none())
    }

    /// The same of the first plan that has one.
    pub(in crate::calibrate) fn first_failure(&self) -> Option<&str> {
        let first = self.variants.iter().find_map(|variant| variant.failure.as_deref());
        first.filter(|_| self.not_timed.is_none())
    }

    /// The milliseconds of a plan: its ratio within turns times the median by the server's own constants.
    pub(in crate::calibrate) fn millis(&self, at: usize) -> Option<f64> {
        let now = median(&self.variants[0].millis)?;
        if at == 0 { Some(now) } else { Some(now * self.pair_with(at).times()?) }
    }

    /// Takes in that a run of a plan gave no time. A plan that reaches its limit takes at least that long, and another
    /// one than that by the server's own constants is worse where it ends with an error. No plan of the query is timed
    /// any more where a run had another reason, or where the server's own constants lead to the error. What was timed
    /// often enough before stands: it may show harm.
    pub(super) fn unfinished(&mut self, at: usize, why: Unfinished, limit: Duration) {
        match why {
            Unfinished::TooLong(_) | Unfinished::Failed(_) if at > 0 => self.end(at, why, limit),
            _ if (0..self.variants.len()).all(|at| self.pair_with(at).has_enough()) => {
                self.is_left = true;
                self.reached_limit = matches!(why, Unfinished::TooLong(_));
            }
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
    pub(super) fn finished(&mut self, at: usize, plan: Plan, counts: bool) {
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
    pub(in crate::calibrate) fn can_be_timed(&self) -> bool {
        self.not_timed.is_none() && !self.is_left
    }

    /// How far a plan is from one that takes `fastest` milliseconds: the logarithm of how many times as long it takes.
    /// Below 0 where it is faster, as plans of sets are that are not worth a change.
    pub(super) fn loss(&self, at: usize, fastest: f64) -> f64 {
        match self.millis(at) {
            Some(millis) if self.not_timed.is_none() && (millis - fastest).abs() >= MILLIS_MIN => {
                (millis / fastest).clamp(1.0 / LOSS_MAX, LOSS_MAX).ln()
            }
            _ => 0.0,
        }
    }

    /// Whether another plan is so slow that further runs would not change its verdict.
    pub(super) fn is_slow(&self, at: usize) -> bool {
        let least = self.variants[at].millis.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.variants[0].millis.iter().copied().fold(0.0, f64::max);
        at > 0 && least.is_finite() && least > most * SLOW
    }

    /// The plans of other sets that may take longer, of which further runs would tell: by their times, because these
    /// are of few turns, or because a first error, which says nothing, took a turn that a verdict needs.
    pub(super) fn unsure(&self) -> Vec<usize> {
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
    pub(super) fn forget(&mut self) {
        let is_now_ended = self.is_now_ended();
        for variant in self.variants.iter_mut().filter(|variant| is_now_ended || !variant.is_cut) {
            (variant.is_cut, variant.is_held_up) = (false, false);
            variant.millis.clear();
            variant.turns.clear();
            variant.ended.clear();
        }
    }

    pub(super) fn is_changed(&self) -> bool {
        self.variants.len() > 1
    }
}

/// How long a plan of a query may take.
pub(super) fn limit(all: Duration, one: &Compared, at: usize) -> Duration {
    limit_by(all, median(&one.variants[0].millis).filter(|_| at > 0))
}

/// How long another plan may take, by the milliseconds of the one now.
pub(super) fn limit_by(all: Duration, now: Option<f64>) -> Duration {
    match now {
        // In whole milliseconds, as the server counts them: it would end a run before a limit with a fraction.
        Some(now) => Duration::from_millis((now * TIMES_MAX) as u64).max(LIMIT_MIN).min(all),
        None => all,
    }
}

#[cfg(test)]
mod tests;
