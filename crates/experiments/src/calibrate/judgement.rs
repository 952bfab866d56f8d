//! What the times of queries by two sets of constants say: a verdict for each query, and whether the set is worth
//! changing to.
//!
//! Each query counts by its ratio, so that small ones have the weight of large ones. Intervals are those of a bootstrap
//! that draws queries, and of each the turns; of queries that are the work itself, the turns alone.
//!
//! Source: Efron, Tibshirani, "An Introduction to the Bootstrap", 1993, the percentile interval.

use measure::random::SplitMix64;
use measure::schema::calibrate::{READING_MILLIS, WITHIN_LIMIT};
use measure::sorting;
use measure::statistics::{median, median_in_place};

use super::estimate::{Estimate, RESAMPLES, SEED, TAIL};

/// Fewest queries whose plan changes from which a set is judged.
pub(super) const CHANGED_MIN: usize = 4;

/// Fewest turns in which both of a query's plans ran from which a verdict is sure: the interval of fewer is too narrow,
/// and that of one has no width.
pub(super) const RUNS_MIN: usize = 3;

/// A query that takes surely more than this many times as long is reason enough to keep what is there; surely means
/// that the lower end of its interval is above the second.
const HARM: f64 = 1.25;
const HARM_SURELY: f64 = 1.1;

/// One that takes as much longer, but not surely, is reason enough not to change; of more than this difference in
/// milliseconds, below which one run in many is off.
const HARM_MILLIS: f64 = 0.2;

/// A short query, of at most this many milliseconds by both plans, is not left at harm that fewer turns than this show:
/// of the many plans of many queries, one takes so much longer in three turns by chance, and two more cost little.
const SHORT_MILLIS: f64 = 1000.0;
const SHORT_TURNS: usize = 5;

/// All queries together must not take more than this.
const TOTAL_MAX: f64 = 1.0;

/// Two sets are as good where both ends of the interval of their ratio lie within this part of 1.
pub(super) const SAME: f64 = 0.05;

/// A difference below this is that of two readings: milliseconds.
pub(super) const MILLIS_MIN: f64 = READING_MILLIS;

/// A query's milliseconds by the server's own constants and by others, where they lead to another plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pair {
    pub(super) now: Vec<f64>,
    pub(super) then: Vec<f64>,
    /// Of each turn in which both plans ran: then over now. A machine that changes from turn to turn changes both.
    pub(super) ratios: Vec<f64>,
    /// Whether runs by the server's own constants were ended at the time limit, which stands in `now`: they take at
    /// least as long, and the ratios are at most these.
    pub(super) is_now_ended: bool,
    /// Whether runs by the other plan were ended at their limit, which stands in `then`: they take at least as long.
    pub(super) is_ended: bool,
    /// Whether they were ended by an error that the other plan alone runs into, which is harm without any time.
    pub(super) is_failed: bool,
}

/// What is drawn anew for the interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// Queries and their runs: the queries stand for others.
    QueriesAndRuns,
    /// Runs alone: the queries are those that the server is there for.
    Runs,
}

measure::words! {
    /// What the times of one query say.
    pub(super) enum Verdict ("verdict") {
        /// It is surely faster.
        Faster = "faster",
        /// It is surely slower.
        Slower = "slower",
        /// It may be either.
        Undecided = "undecided",
    }
}

impl Verdict {
    fn of(ratio: &Estimate) -> Verdict {
        match ratio {
            ratio if ratio.high < 1.0 => Verdict::Faster,
            ratio if ratio.low > 1.0 => Verdict::Slower,
            _ => Verdict::Undecided,
        }
    }
}

/// Whether a set makes a query of those that it changes much slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    None,
    /// By the median, though not surely.
    Possible,
    Sure,
}

measure::words! {
    /// Whether a set is worth changing to.
    pub(super) enum Decision ("decision") {
        /// It is.
        Change = "change",
        /// It is not.
        Keep = "keep",
        /// The times do not tell.
        Undecided = "undecided",
    }
}

/// What all queries say of a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) decision: Decision,
    /// Queries whose plan changes, and which of them are surely faster and slower.
    pub(super) changed: usize,
    pub(super) faster: usize,
    pub(super) slower: usize,
    /// Those that end with an error. They have no time, and of the figures below only harm is theirs.
    pub(super) failed: usize,
    /// Those of which a plan ran too seldom for a verdict.
    pub(super) few: usize,
    /// Those that were ended before it was sure that they are slower.
    pub(super) ended: usize,
    /// Those that were ended with the server's own constants, whose ratio is at most what it seems.
    pub(super) now_ended: usize,
    /// Queries that keep the server's own constants, of which none of these figures is; and those of them that the set
    /// may harm.
    pub(super) excepted: usize,
    pub(super) harmed: usize,
    pub(super) harm: Harm,
    /// Geometric mean of the ratios of the changed ones.
    pub(super) ratio: Estimate,
    /// Of the one that loses most.
    pub(super) worst: f64,
    /// Milliseconds of the changed ones.
    pub(super) now: f64,
    pub(super) then: f64,
    /// How much nearer its plans are to the fastest than those by the server's own constants, exceptions apart: the
    /// difference of their losses, summed. Known once all sets are judged.
    pub(super) gain: f64,
    /// The part of the time of all the user's queries that it saves, of those with a time: queries whose plan no set
    /// changes are not run. Known with the gain; 0 of readpath's queries, whose lengths say nothing of the user's, and
    /// cold, where a disk's times are too unsteady.
    pub(super) saved: f64,
}

impl Judged {
    /// Changed queries with a time.
    pub(super) fn timed(&self) -> usize {
        self.changed - self.failed
    }

    /// Whether the queries show that the set makes none of them slower, as far as they can.
    pub(super) fn is_harmless(&self) -> bool {
        self.harm == Harm::None && self.few == 0 && self.ended == 0 && self.ratio.low <= 1.0
    }

    /// Whether the set seems to be worth a change, and only the width of its interval keeps it from being one.
    pub(super) fn may_be_worth_it(&self) -> bool {
        self.may_become_worth_it() && self.gain > 0.0
    }

    /// The same before it is known what the set gains against others.
    pub(super) fn may_become_worth_it(&self) -> bool {
        let is_enough = self.changed >= CHANGED_MIN && self.few == 0;
        self.decision == Decision::Undecided
            && is_enough
            && self.harm == Harm::None
            && self.ended == 0
            && self.ratio.value < 1.0
            && self.ratio.high >= 1.0
            && self.then <= self.now * TOTAL_MAX
    }

    /// Whether the interval of the mean reaches, or nearly, the limit that it was decided by: another run may end on
    /// its other side. A change was decided by `most`, the mean that it may have at most.
    pub(super) fn is_near_limit(&self, most: f64) -> bool {
        let Estimate { low, high, .. } = self.ratio;
        match self.decision {
            Decision::Change => high > most * (1.0 - SAME),
            // Where all of the interval is within that part of 1, a lower end below 1 keeps what is there as well.
            Decision::Keep => {
                let is_same = high < 1.0 + SAME && self.harm == Harm::None && self.ended == 0;
                low > 1.0 && low < 1.0 + SAME && !is_same
            }
            Decision::Undecided => false,
        }
    }

    /// Whether the mean alone is reason to keep what is there, and not near its limit: where another run shows no harm,
    /// it decides the same.
    pub(super) fn is_kept_by_mean(&self) -> bool {
        self.changed >= CHANGED_MIN && self.few == 0 && self.now_ended == 0 && self.ratio.low >= 1.0 + SAME
    }

    /// Whether no query's times differ by more than readings do: a ratio would contradict the times next to it.
    pub(super) fn is_too_short(&self) -> bool {
        let Estimate { value, low, high } = self.ratio;
        self.timed() > 0 && value == 1.0 && low == 1.0 && high == 1.0 && self.worst <= 1.0
    }
}

impl Pair {
    /// Milliseconds then over now, with its interval.
    pub(super) fn ratio(&self) -> Option<Estimate> {
        let now = median(&self.now)?;
        let value = ratio(now, now * self.times()?);
        let mut random = SplitMix64::new(SEED);
        let mut turns = Turns::of(self);
        let (low, high) = ends((0..RESAMPLES).map(|_| turns.drawn(&mut random)).collect());
        Some(Estimate { value, low: low.min(value), high: high.max(value) })
    }

    /// Whether the plan by the server's own constants reached the time limit and the other one reached it too, takes
    /// nearly as long, or ends with an error, which the plan now may meet later: it is not known which is better.
    pub(super) fn is_too_long(&self) -> bool {
        self.is_now_ended && (self.is_ended || self.times().is_none_or(|times| times > WITHIN_LIMIT))
    }

    /// How many times as long it takes then: the median of the turns.
    pub(super) fn times(&self) -> Option<f64> {
        median(&self.ratios)
    }

    /// The milliseconds of both plans: of the other one, its ratio times those of the plan now.
    pub(super) fn millis(&self) -> Option<(f64, f64)> {
        let now = median(&self.now)?;
        Some((now, now * self.times()?))
    }

    /// Whether it takes so much longer by the median, sure or not.
    pub(super) fn may_harm(&self) -> bool {
        let is_longer = |(now, then): (f64, f64)| then > now * HARM && then - now >= HARM_MILLIS;
        self.is_failed || self.millis().is_some_and(is_longer)
    }

    /// Whether each plan ran often enough for a verdict.
    pub(super) fn has_enough(&self) -> bool {
        self.ratios.len() >= RUNS_MIN
    }

    /// Whether it surely takes so much longer, with this ratio.
    fn harms(&self, ratio: &Estimate) -> bool {
        self.is_failed || (self.has_enough() && ratio.value > HARM && ratio.low > HARM_SURELY)
    }

    /// How many times as long it takes, with this ratio, where it does not end with an error. Where the plan now was
    /// ended, it is at most the upper end.
    pub(super) fn at_worst(&self, ratio: &Estimate) -> Option<f64> {
        (!self.is_failed).then_some(if self.is_now_ended { ratio.high } else { ratio.value })
    }

    /// Whether it surely takes so much longer, however little that is in milliseconds.
    pub(super) fn does_harm(&self) -> bool {
        self.ratio().is_some_and(|ratio| self.harms(&ratio))
    }

    /// Whether it surely does, and its interval reaches below the ratio that is harm: another run may not show it.
    pub(super) fn harms_barely(&self) -> bool {
        let is_barely = |ratio: Estimate| self.harms(&ratio) && ratio.low <= HARM;
        !self.is_failed && self.ratio().is_some_and(is_barely)
    }

    /// Whether it does by so few turns that more are worth their time.
    pub(super) fn does_harm_in_few_turns(&self) -> bool {
        let is_short = self.millis().is_some_and(|(now, then)| now + then <= SHORT_MILLIS);
        is_short && self.ratios.len() < SHORT_TURNS && !self.is_ended && !self.is_failed && self.does_harm()
    }

    /// Whether it may, and further runs would tell.
    pub(super) fn is_unsure_of_harm(&self) -> bool {
        self.may_harm() && self.ratio().is_some_and(|ratio| !self.harms(&ratio))
    }

    /// Whether its interval reaches to where it would, and it does not surely.
    pub(super) fn reaches_harm(&self) -> bool {
        let reaches = |high: f64| high > HARM && median(&self.now).is_some_and(|now| now * (high - 1.0) >= HARM_MILLIS);
        self.ratio().is_some_and(|ratio| reaches(ratio.high) && !self.harms(&ratio))
    }

    /// What the times say.
    pub(super) fn verdict(&self) -> Verdict {
        self.ratio().map_or(Verdict::Undecided, |ratio| self.verdict_by(&ratio))
    }

    fn verdict_by(&self, ratio: &Estimate) -> Verdict {
        if self.has_enough() { Verdict::of(ratio) } else { Verdict::Undecided }
    }
}

/// The turns of a query, to draw from a thousand times.
struct Turns<'a> {
    now: f64,
    ratios: &'a [f64],
    drawn: Vec<f64>,
}

impl Turns<'_> {
    fn of(pair: &Pair) -> Turns<'_> {
        let now = median(&pair.now).unwrap_or(f64::NAN);
        Turns { now, ratios: &pair.ratios, drawn: Vec::with_capacity(pair.ratios.len()) }
    }

    /// The ratio of as many turns as there are, drawn anew.
    fn drawn(&mut self, random: &mut SplitMix64) -> f64 {
        let count = self.ratios.len();
        self.drawn.clear();
        self.drawn.extend((0..count).map(|_| self.ratios[random.below(count as u64) as usize]));
        ratio(self.now, self.now * median_in_place(&mut self.drawn).unwrap_or(f64::NAN))
    }
}

/// Milliseconds over milliseconds; 1 where they differ by less than can be told.
fn ratio(now: f64, then: f64) -> f64 {
    if (then - now).abs() < MILLIS_MIN { 1.0 } else { then / now }
}

fn ends(mut values: Vec<f64>) -> (f64, f64) {
    sorting::by(&mut values, f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    (at(TAIL), at(values.len().saturating_sub(TAIL + 1)))
}

/// Judges a set by the queries whose plans it changes. One that ends with an error by the set is harm, and has no time
/// that could be in a figure.
pub(super) fn judge(pairs: &[Pair], drawn: Drawn) -> Judged {
    let found: Vec<(&Pair, Estimate)> = pairs.iter().filter_map(|pair| Some((pair, pair.ratio()?))).collect();
    let timed: Vec<Pair> = pairs.iter().filter(|pair| !pair.is_failed).cloned().collect();
    let ratios: Vec<Estimate> = found.iter().filter(|(pair, _)| !pair.is_failed).map(|(_, ratio)| *ratio).collect();
    let millis = timed.iter().filter_map(Pair::millis);
    let (now, then) = millis.fold((0.0, 0.0), |(now, then), one| (now + one.0, then + one.1));
    let is = |wanted, pair: &Pair, ratio| !pair.is_failed && pair.verdict_by(ratio) == wanted;
    let count = |wanted| found.iter().filter(|(pair, ratio)| is(wanted, pair, ratio)).count();
    let does_harm = |(pair, ratio): &&(&Pair, Estimate)| pair.harms(ratio);
    let mut judged = Judged {
        decision: Decision::Undecided,
        changed: pairs.len(),
        faster: count(Verdict::Faster),
        slower: count(Verdict::Slower),
        failed: pairs.len() - timed.len(),
        few: timed.iter().filter(|pair| !pair.has_enough()).count(),
        ended: found.iter().filter(|one| one.0.is_ended && !does_harm(one)).count(),
        now_ended: pairs.iter().filter(|pair| pair.is_now_ended).count(),
        excepted: 0,
        harmed: 0,
        harm: match () {
            () if found.iter().any(|one| does_harm(&one)) => Harm::Sure,
            () if pairs.iter().any(Pair::may_harm) => Harm::Possible,
            () => Harm::None,
        },
        ratio: mean_ratio(&timed, &ratios, drawn),
        worst: found.iter().filter_map(|(pair, ratio)| pair.at_worst(ratio)).reduce(f64::max).unwrap_or(1.0),
        now,
        then,
        gain: 0.0,
        saved: 0.0,
    };
    judged.decision = match decide(&judged) {
        // The ratios of those that were ended may be any less.
        Decision::Keep if judged.now_ended > 0 && judged.harm != Harm::Sure => Decision::Undecided,
        decision => decision,
    };
    judged
}

fn decide(judged: &Judged) -> Decision {
    let Estimate { low, high, .. } = judged.ratio;
    match judged {
        // Harm is harm, however few queries show it.
        _ if judged.harm == Harm::Sure => Decision::Keep,
        _ if judged.changed < CHANGED_MIN || judged.few > 0 => Decision::Undecided,
        _ if low > 1.0 => Decision::Keep,
        // What was ended may take any time.
        _ if judged.harm == Harm::Possible || judged.ended > 0 => Decision::Undecided,
        _ if high < 1.0 && judged.then <= judged.now * TOTAL_MAX => Decision::Change,
        _ if high < 1.0 + SAME && low > 1.0 - SAME => Decision::Keep,
        _ => Decision::Undecided,
    }
}

/// The geometric mean of the queries' ratios, with its interval.
fn mean_ratio(pairs: &[Pair], found: &[Estimate], drawn: Drawn) -> Estimate {
    let mean = |ratios: &[f64]| (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let values: Vec<f64> = found.iter().map(|ratio| ratio.value).collect();
    if values.is_empty() {
        return Estimate { value: 1.0, low: 1.0, high: 1.0 };
    }
    let mut random = SplitMix64::new(SEED);
    let mut turns: Vec<Turns<'_>> = pairs.iter().map(Turns::of).collect();
    let mut means = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let ratios: Vec<f64> = (0..turns.len())
            .map(|number| {
                let at = match drawn {
                    Drawn::QueriesAndRuns => random.below(turns.len() as u64) as usize,
                    Drawn::Runs => number,
                };
                turns[at].drawn(&mut random)
            })
            .collect();
        means.push(mean(&ratios));
    }
    let (low, high) = ends(means);
    let value = mean(&values);
    Estimate { value, low: low.min(value), high: high.max(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Pair {
        /// A query with the milliseconds of both plans, one run of each a turn.
        pub(in crate::calibrate) fn of(now: &[f64], then: &[f64]) -> Pair {
            let ratios = now.iter().zip(then).map(|(now, then)| then / now).collect();
            Pair { now: now.to_vec(), then: then.to_vec(), ratios, ..Pair::default() }
        }
    }

    /// Times of a query that takes `now` and `then`, a few per cent apart from run to run.
    fn pair(now: f64, then: f64) -> Pair {
        let around = |middle: f64| [0.97, 1.0, 1.01, 0.99, 1.04].map(|part| middle * part).to_vec();
        Pair::of(&around(now), &around(then))
    }

    /// The same of a query whose other plan was ended after so long.
    fn ended(now: f64, limit: f64) -> Pair {
        Pair { is_ended: true, ..Pair::of(&pair(now, now).now, &[limit; 5]) }
    }

    fn decision(ratios: &[(f64, f64)]) -> Decision {
        judged(ratios, Drawn::QueriesAndRuns)
    }

    fn judged(ratios: &[(f64, f64)], drawn: Drawn) -> Decision {
        judge(&ratios.iter().map(|(now, then)| pair(*now, *then)).collect::<Vec<_>>(), drawn).decision
    }

    #[test]
    fn what_one_of_the_users_queries_gains_counts_and_what_one_of_ours_does_is_chance() {
        let one = [(600.0, 300.0), (100.0, 99.0), (50.0, 51.0), (20.0, 20.0), (30.0, 30.5)];
        assert_eq!(judged(&one, Drawn::Runs), Decision::Change);
        assert_eq!(judged(&one, Drawn::QueriesAndRuns), Decision::Undecided);
    }

    #[test]
    fn queries_that_are_surely_faster_together_are_reason_to_change() {
        let judged = judge(
            &[pair(100.0, 40.0), pair(3.0, 2.0), pair(900.0, 700.0), pair(20.0, 21.0), pair(7.0, 4.0)],
            Drawn::QueriesAndRuns,
        );
        assert_eq!((judged.decision, judged.changed, judged.faster), (Decision::Change, 5, 4));
        assert!(judged.ratio.high < 1.0 && judged.then < judged.now && judged.worst < 1.1, "{judged:?}");
    }

    #[test]
    fn one_query_that_takes_twice_as_long_is_reason_to_keep_what_is_there() {
        let gain = [(100.0, 40.0), (50.0, 20.0), (900.0, 300.0), (20.0, 9.0), (7.0, 3.0), (5.0, 2.0)];
        assert_eq!(decision(&gain), Decision::Change);
        assert_eq!(decision(&[&gain[..], &[(10.0, 20.0)]].concat()), Decision::Keep);
        assert_eq!(decision(&[(10.0, 20.0)]), Decision::Keep, "however few there are");
    }

    #[test]
    fn one_query_that_may_take_longer_is_reason_not_to_change() {
        let gains = [(100.0, 40.0), (50.0, 20.0), (900.0, 300.0), (20.0, 9.0), (7.0, 3.0)];
        let noisy = |least: f64| Pair::of(&[10.0, 12.0, 14.0, 15.0, 20.0], &[least, 18.0, 19.0, 24.0]);
        let with = |one: Pair| {
            let mut pairs: Vec<Pair> = gains.iter().map(|(now, then)| pair(*now, *then)).collect();
            pairs.push(one);
            judge(&pairs, Drawn::Runs).decision
        };
        assert_eq!(with(noisy(10.5)), Decision::Undecided);
        assert_eq!(with(pair(14.0, 15.0)), Decision::Change);
        assert_eq!(with(pair(0.3, 0.42)), Decision::Keep, "sure, however short");
    }

    #[test]
    fn a_set_whose_plan_was_ended_at_the_limit_is_never_advised() {
        let gains = [(100.0, 40.0), (50.0, 20.0), (900.0, 300.0), (20.0, 9.0), (7.0, 3.0)];
        let with = |one: Pair| {
            let pairs = gains.iter().map(|(now, then)| pair(*now, *then)).chain([one]).collect::<Vec<_>>();
            let judged = judge(&pairs, Drawn::Runs);
            (judged.decision, judged.ended)
        };
        assert_eq!(with(pair(3000.0, 3100.0)), (Decision::Change, 0));
        assert_eq!(with(ended(3000.0, 10_000.0)), (Decision::Keep, 0), "3 s that became 10 s and more");
        assert_eq!(with(ended(9000.0, 10_000.0)), (Decision::Undecided, 1), "10 s, or 10 minutes");
        assert_eq!(with(ended(9999.0, 10_000.0)), (Decision::Undecided, 1));
    }

    #[test]
    fn a_plan_that_ends_with_an_error_is_certain_harm_in_however_few_turns_and_near_the_limit_too() {
        let failed = |turns: usize| Pair {
            is_ended: true,
            is_failed: true,
            ..Pair::of(&vec![9000.0; turns], &vec![9001.0; turns])
        };
        for turns in [1, 5] {
            let judged = judge(&[pair(100.0, 40.0), failed(turns)], Drawn::Runs);
            assert_eq!((judged.decision, judged.harm, judged.ended), (Decision::Keep, Harm::Sure, 0), "{turns}");
            assert_eq!((judged.changed, judged.worst, judged.then), (2, 0.4, 40.0), "it has no time");
            assert_eq!((judged.failed, judged.timed(), judged.few), (1, 1, 0), "and needs no further turn");
            assert!(!judge(&[failed(turns)], Drawn::Runs).is_too_short(), "nothing was timed");
            assert!(failed(turns).may_harm() && !failed(turns).is_unsure_of_harm(), "no further run tells more");
        }
    }

    #[test]
    fn fewer_than_three_runs_of_a_plan_give_no_sure_verdict() {
        let of = |now: usize, then: usize| Pair::of(&vec![100.0; now], &vec![40.0; then]);
        for (now, then, verdict) in [
            (1, 1, Verdict::Undecided),
            (2, 5, Verdict::Undecided),
            (5, 2, Verdict::Undecided),
            (3, 3, Verdict::Faster),
        ] {
            assert_eq!(of(now, then).verdict(), verdict, "{now} runs and {then}");
        }
        let decision = |runs: usize| {
            let judged = judge(&[of(5, 5), of(5, 5), of(5, 5), of(5, 5), of(runs, 3)], Drawn::Runs);
            (judged.decision, judged.few, judged.faster)
        };
        assert_eq!(decision(2), (Decision::Undecided, 1, 4));
        assert_eq!(decision(3), (Decision::Change, 0, 5));
        let harmed = |runs: usize| Pair::of(&vec![10.0; runs], &vec![20.0; runs]);
        assert_eq!(judge(&[harmed(1)], Drawn::Runs).harm, Harm::Possible);
        assert!(harmed(1).is_unsure_of_harm() && !harmed(3).is_unsure_of_harm(), "further runs tell");
        assert_eq!(judge(&[harmed(3)], Drawn::Runs).harm, Harm::Sure);
    }

    #[test]
    fn slower_queries_and_queries_that_take_the_same_are_reason_to_keep() {
        assert_eq!(decision(&[(10.0, 11.5), (20.0, 23.0), (30.0, 33.0), (4.0, 4.6), (5.0, 5.7)]), Decision::Keep);
        assert_eq!(decision(&[(10.0, 10.01), (20.0, 20.1), (30.0, 29.9), (40.0, 40.1), (50.0, 50.0)]), Decision::Keep);
    }

    #[test]
    fn few_changed_plans_and_mixed_ones_cannot_tell() {
        assert_eq!(decision(&[]), Decision::Undecided);
        assert_eq!(decision(&[(10.0, 2.0), (10.0, 2.0), (10.0, 2.0)]), Decision::Undecided);
        assert_eq!(decision(&[(10.0, 12.0), (10.0, 8.0), (10.0, 12.0), (10.0, 8.5), (10.0, 9.0)]), Decision::Undecided);
    }

    #[test]
    fn a_gain_in_ratios_that_costs_more_time_in_all_is_no_gain() {
        let small = [(1.0, 0.5), (1.0, 0.4), (1.0, 0.5), (1.0, 0.6), (1.0, 0.4), (2.0, 1.0), (3.0, 1.5)];
        assert_eq!(decision(&small), Decision::Change);
        assert_ne!(decision(&[&small[..], &[(1000.0, 1080.0)]].concat()), Decision::Change);
    }

    #[test]
    fn times_that_differ_by_less_than_readings_do_are_too_short_to_tell() {
        assert!(judge(&[pair(0.042, 0.025), pair(0.180, 0.213)], Drawn::Runs).is_too_short());
        assert!(!judge(&[pair(0.042, 0.025), pair(10.0, 12.0)], Drawn::Runs).is_too_short());
        assert!(!judge(&[], Drawn::Runs).is_too_short());
    }

    #[test]
    fn a_machine_that_is_slower_in_some_turns_changes_no_ratio() {
        let one = Pair::of(&[10.0, 30.0, 31.0, 10.5], &[14.0, 42.0, 43.4, 14.7]);
        let ratio = one.ratio().unwrap();
        assert!([ratio.low, ratio.value, ratio.high].iter().all(|times| (times - 1.4).abs() < 1e-9), "{ratio:?}");
        let judged = judge(&[one], Drawn::Runs);
        assert_eq!((judged.harm, judged.now), (Harm::Sure, 20.25));
        assert!((judged.then - 20.25 * 1.4).abs() < 1e-9);
    }

    #[test]
    fn many_runs_in_one_turn_are_one_turn() {
        let one = Pair { ratios: vec![1.3], ..Pair::of(&[10.0; 5], &[13.0; 5]) };
        let verdict = one.verdict();
        let judged = judge(&[one], Drawn::Runs);
        assert_eq!((verdict, judged.few, judged.harm), (Verdict::Undecided, 1, Harm::Possible));
    }

    #[test]
    fn a_noisy_query_has_no_verdict_and_a_difference_of_two_readings_is_none() {
        let noisy = Pair::of(&[10.0, 30.0, 11.0, 28.0, 12.0], &[11.0, 10.0, 31.0, 12.0, 27.0]);
        assert_eq!(noisy.verdict(), Verdict::Undecided);
        assert_eq!(pair(0.020, 0.060).verdict(), Verdict::Undecided, "40 microseconds");
        assert_eq!(pair(10.0, 8.0).verdict(), Verdict::Faster);
        assert_eq!(pair(10.0, 12.0).verdict(), Verdict::Slower);
    }
}
