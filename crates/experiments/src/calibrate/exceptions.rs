//! Queries that keep the server's own constants where a set helps the others. A query can have constants of its own
//! (`SET LOCAL` in its transaction), so that one that a set harms need not keep the others from it.

use measure::sorting;

use super::estimate::Estimate;
use super::judgement::{Decision, Drawn, Judged, Pair, SAME, judge};

/// One query in this many may be an exception: each is work for the user.
const ONE_IN: usize = 10;

/// How many times as long the other queries may take for exceptions to be worth that work: in the mean, or all timed
/// queries together, exceptions and unchanged ones among them.
///
/// Source: docs/decisions/0014 and 0028.
pub(super) const WORTH: f64 = 0.9;

/// A query that takes surely longer, and by the median this many times as long, is an exception too where there may be
/// one more: how much longer depends on what else is in the buffers.
const SLOWER: f64 = 1.1;

/// The pairs of a set, each with the place of its query.
pub(super) type Pairs = Vec<(usize, Pair)>;

/// The user's queries, of which some may be exceptions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    /// Those that were explained.
    pub(super) queries: usize,
    /// Milliseconds of all that were timed, by the server's own constants.
    pub(super) millis: f64,
    pub(super) drawn: Drawn,
}

impl Workload {
    /// How many queries may be exceptions.
    fn most(self) -> usize {
        self.queries / ONE_IN
    }

    /// Whether a set that is judged without its exceptions is worth them: by the mean, in which each query counts the
    /// same, or by the time of all.
    fn is_worth_exceptions(self, judged: &Judged) -> bool {
        judged.ratio.value <= WORTH || self.take_at_most(WORTH, judged)
    }

    /// Whether it is by the time of all, and not near the limit.
    pub(super) fn is_clearly_worth_them_by_time(self, judged: &Judged) -> bool {
        self.take_at_most(WORTH * (1.0 - SAME), judged)
    }

    /// Whether all timed queries together take at most this part of their time.
    fn take_at_most(self, part: f64, judged: &Judged) -> bool {
        self.millis > 0.0 && judged.now - judged.then >= self.millis * (1.0 - part)
    }
}

/// How a set does over the queries that are no exceptions, and the places of those that are. Where none is, more are
/// harmed than may be, or the set is not worth them, it is `whole`, how the set does over all.
pub(super) fn judge_with_exceptions(pairs: &Pairs, work: Workload, whole: Judged) -> (Judged, Vec<usize>) {
    let found = leave_out(pairs, work, whole);
    let is_worth_it = |judged: &Judged| judged.decision == Decision::Change && work.is_worth_exceptions(judged);
    found.filter(|(judged, _)| is_worth_it(judged)).unwrap_or((whole, Vec::new()))
}

/// The exceptions of a set of which its runs do not tell whether it is worth them: more runs would. Queries that could
/// not be timed within the limit, of which there are `too_long`, are not among them.
pub(super) fn unsure_of_worth(pairs: &Pairs, work: Workload, whole: Judged, too_long: usize) -> Option<Vec<usize>> {
    // The set stays undecided then, whatever the others take.
    if too_long > work.most() {
        return None;
    }
    let without_harm = (too_long > 0).then_some((whole, Vec::new()));
    let (judged, excepted) = leave_out(pairs, work, whole).or(without_harm)?;
    let Estimate { low, high, .. } = judged.ratio;
    let may_be_worth_it = low <= WORTH || work.take_at_most(WORTH / (1.0 - SAME), &judged);
    let is_clear = high <= WORTH || work.is_clearly_worth_them_by_time(&judged);
    let is_open = judged.may_become_worth_it() || judged.decision == Decision::Change && !is_clear;
    (is_open && may_be_worth_it).then_some(excepted)
}

/// How a set does over the queries that would be no exceptions, whatever it is worth, and the places of those that
/// would; `None` where none would be, or more are harmed than may be.
fn leave_out(pairs: &Pairs, work: Workload, whole: Judged) -> Option<(Judged, Vec<usize>)> {
    let mut excepted = places(pairs, |pair| pair.may_harm() || pair.does_harm() || pair.is_ended || !pair.has_enough());
    let harmed = excepted.len();
    let room = work.most().checked_sub(harmed)?;
    // Without harm, a set that is no gain does not become one by leaving out what is slower.
    if harmed == 0 && whole.decision != Decision::Change {
        return None;
    }
    excepted.extend(slowest(pairs, &excepted).into_iter().take(room));
    if excepted.is_empty() {
        return None;
    }
    sorting::ascending(&mut excepted);
    let judged = judge(&others(pairs, &excepted), work.drawn);
    Some((Judged { excepted: excepted.len(), harmed, ..judged }, excepted))
}

/// The same with the queries that the set gives another plan, and that could not be timed within the limit, as further
/// exceptions: the longest queries are those with which least should be risked. Where there are more of them than may
/// be, or the set is not worth exceptions, the times do not decide.
pub(super) fn except_too_long(
    (judged, mut excepted): (Judged, Vec<usize>),
    whole: Judged,
    too_long: &[usize],
    work: Workload,
) -> (Judged, Vec<usize>) {
    if judged.decision != Decision::Change || too_long.is_empty() {
        return (judged, excepted);
    }
    if too_long.len() > work.most() || !work.is_worth_exceptions(&judged) {
        let decision = if whole.decision == Decision::Change { Decision::Undecided } else { whole.decision };
        return (Judged { decision, ended: whole.ended + too_long.len(), ..whole }, Vec::new());
    }
    excepted.extend(too_long);
    sorting::ascending(&mut excepted);
    (Judged { excepted: excepted.len(), ..judged }, excepted)
}

/// Places of the queries that are surely slower and not among these, the slowest first.
fn slowest(pairs: &Pairs, excepted: &[usize]) -> Vec<usize> {
    let slower = |(at, pair): &(usize, Pair)| {
        let ratio = pair.ratio().filter(|ratio| ratio.low > 1.0 && ratio.value > SLOWER)?;
        (!excepted.contains(at)).then_some((ratio.value, *at))
    };
    let mut slower: Vec<(f64, usize)> = pairs.iter().filter_map(slower).collect();
    sorting::by(&mut slower, |one, other| other.0.total_cmp(&one.0));
    slower.into_iter().map(|(_, at)| at).collect()
}

/// How a set does in one round over the queries that may turn out to be no exceptions: all but those that take `times`
/// as long, as far as exceptions go.
pub(super) fn first_look(pairs: &Pairs, work: Workload, times: f64) -> Judged {
    let slow = places(pairs, |pair| pair.is_failed || pair.ratio().is_some_and(|ratio| ratio.value > times));
    let excepted = if slow.len() <= work.most() { slow } else { Vec::new() };
    judge(&others(pairs, &excepted), work.drawn)
}

fn places(pairs: &Pairs, is_it: impl Fn(&Pair) -> bool) -> Vec<usize> {
    pairs.iter().filter(|(_, pair)| is_it(pair)).map(|(at, _)| *at).collect()
}

fn others(pairs: &Pairs, excepted: &[usize]) -> Vec<Pair> {
    pairs.iter().filter(|(at, _)| !excepted.contains(at)).map(|(_, pair)| pair.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many queries, of which these were timed.
    fn work(pairs: &Pairs, queries: usize) -> Workload {
        let millis = pairs.iter().map(|(_, pair)| pair.now[0]).sum();
        Workload { queries, millis, drawn: Drawn::Runs }
    }

    /// Queries with their milliseconds now and by the set, in three runs.
    fn judged(times: &[(f64, f64)], queries: usize) -> Option<(usize, Vec<usize>)> {
        let pair = |(now, then): &(f64, f64)| Pair::of(&[*now; 3], &[*then; 3]);
        let pairs: Pairs = times.iter().map(pair).enumerate().collect();
        let whole = judge(&others(&pairs, &[]), Drawn::Runs);
        let (judged, excepted) = judge_with_exceptions(&pairs, work(&pairs, queries), whole);
        (!excepted.is_empty()).then_some((judged.changed, excepted))
    }

    const HALVED: [(f64, f64); 4] = [(10.0, 5.0), (20.0, 10.0), (30.0, 15.0), (40.0, 20.0)];

    fn halved_and(others: &[(f64, f64)]) -> Vec<(f64, f64)> {
        [&HALVED[..], others].concat()
    }

    #[test]
    fn one_query_in_ten_is_an_exception_and_no_more() {
        let harmed = |count: usize| halved_and(&vec![(10.0, 30.0); count]);
        assert_eq!(judged(&harmed(1), 9), None, "one of nine");
        assert_eq!(judged(&harmed(1), 10), Some((4, vec![4])));
        assert_eq!(judged(&harmed(2), 19), None, "two of nineteen");
        assert_eq!(judged(&harmed(2), 20), Some((4, vec![4, 5])));
        assert_eq!(judged(&harmed(0), 40), None, "none is slower");
    }

    #[test]
    fn a_sure_harm_of_a_tenth_of_a_millisecond_is_an_exception_with_another_harm_or_without() {
        assert_eq!(judged(&halved_and(&[(0.3, 0.42)]), 20), Some((4, vec![4])));
        assert_eq!(judged(&halved_and(&[(0.3, 0.42), (10.0, 30.0)]), 20), Some((4, vec![4, 5])));
        assert_eq!(judged(&halved_and(&[(0.3, 0.42), (10.0, 30.0)]), 10), None);
    }

    #[test]
    fn a_query_beyond_the_time_limit_keeps_its_plan_and_many_of_them_leave_it_undecided() {
        let with = |times: &[(f64, f64)], too_long: &[usize], queries: usize| {
            let pair = |(now, then): &(f64, f64)| Pair::of(&[*now; 3], &[*then; 3]);
            let pairs: Pairs = times.iter().map(pair).enumerate().collect();
            let whole = judge(&others(&pairs, &[]), Drawn::Runs);
            let work = work(&pairs, queries);
            let (judged, excepted) = except_too_long(judge_with_exceptions(&pairs, work, whole), whole, too_long, work);
            (judged.decision, judged.ended, excepted)
        };
        assert_eq!(with(&HALVED, &[], 10), (Decision::Change, 0, vec![]));
        assert_eq!(with(&HALVED, &[7], 10), (Decision::Change, 0, vec![7]));
        assert_eq!(
            with(&halved_and(&[(10.0, 30.0)]), &[7], 10),
            (Decision::Change, 0, vec![4, 7]),
            "beside a harmed one"
        );
        assert_eq!(with(&HALVED, &[7], 9), (Decision::Undecided, 1, vec![]), "one of nine");
        assert_eq!(with(&HALVED, &[7, 8], 19), (Decision::Undecided, 2, vec![]), "two of nineteen");
        let little: Vec<(f64, f64)> = vec![(10.0, 9.3), (20.0, 18.6), (30.0, 27.9), (40.0, 37.2)];
        assert_eq!(with(&little, &[7], 10), (Decision::Undecided, 1, vec![]), "not worth an exception");
        let long = [(8000.0, 6800.0), (100.0, 97.0), (200.0, 194.0), (300.0, 291.0)];
        assert_eq!(
            with(&long, &[7], 10),
            (Decision::Change, 0, vec![7]),
            "0.94 in the mean, and a seventh of the time"
        );
    }

    #[test]
    fn what_the_others_gain_must_be_worth_exceptions() {
        let little: Vec<(f64, f64)> = vec![(10.0, 9.3), (20.0, 18.6), (30.0, 27.9), (40.0, 37.2), (10.0, 30.0)];
        assert_eq!(judged(&little, 10), None);
        assert_eq!(judged(&[(10.0, 5.0), (20.0, 10.0), (10.0, 30.0)], 10), None, "two queries cannot tell");
    }

    #[test]
    fn a_long_query_is_worth_exceptions_only_where_the_set_is_a_sure_gain_for_the_others_too() {
        let long = |now: f64, then: f64, others: f64| {
            let mut times = vec![(now, then), (10.0, 30.0)];
            times.extend([100.0, 200.0, 300.0].map(|millis| (millis, millis * others)));
            judged(&times, 10)
        };
        assert_eq!(long(8000.0, 6800.0, 0.97), Some((4, vec![1])), "0.94 in the mean, and a seventh of the time");
        assert_eq!(long(8000.0, 7360.0, 0.97), None, "less than a tenth of the time");
        assert_eq!(long(8000.0, 6800.0, 1.06), None, "slower in the mean");
        let among_many = [(800.0, 680.0), (10.0, 30.0), (100.0, 97.0), (200.0, 194.0), (9000.0, 9000.0)];
        assert_eq!(judged(&among_many, 10), None, "a hundredth of the time of all timed queries");
    }

    /// Four queries that a set gains on, in turns that differ by these parts.
    fn gaining(gained: f64, parts: [f64; 5]) -> Pairs {
        let then = parts.map(|part| 100.0 * gained * part);
        (0..4).map(|at| (at, Pair::of(&[100.0; 5], &then))).collect()
    }

    /// The parts by which turns on a disk differ.
    const OF_A_DISK: [f64; 5] = [0.9, 0.95, 1.0, 1.05, 1.1];

    #[test]
    fn more_runs_are_wanted_where_the_gain_is_a_tenth_more_or_less_and_not_where_it_is_clear() {
        let wanted = |gained: f64, parts: [f64; 5]| {
            let mut pairs = gaining(gained, parts);
            pairs.push((4, Pair::of(&[10.0; 5], &[30.0; 5])));
            let whole = judge(&others(&pairs, &[]), Drawn::Runs);
            let (_, excepted) = judge_with_exceptions(&pairs, work(&pairs, 10), whole);
            (excepted, unsure_of_worth(&pairs, work(&pairs, 10), whole, 0))
        };
        assert_eq!(wanted(0.5, OF_A_DISK), (vec![4], None));
        assert_eq!(wanted(0.89, OF_A_DISK), (vec![4], Some(vec![4])), "it is worth it by a little");
        assert_eq!(wanted(0.91, OF_A_DISK), (vec![], Some(vec![4])), "it is not worth it by a little");
        assert_eq!(wanted(0.95, [0.7, 0.8, 1.0, 1.2, 1.3]), (vec![], Some(vec![4])), "nor is it sure to be a gain");
        assert_eq!(wanted(1.0, OF_A_DISK), (vec![], None));
    }

    #[test]
    fn more_runs_are_wanted_where_a_long_query_may_be_worth_an_exception_and_not_where_it_clearly_is() {
        let wanted = |then: f64, turns: [f64; 5]| {
            let short = turns.map(|part| 104.0 * part);
            let mut pairs: Pairs = (0..3).map(|at| (at, Pair::of(&[100.0; 5], &short))).collect();
            pairs.extend([(3, Pair::of(&[8000.0; 5], &[then; 5])), (4, Pair::of(&[10.0; 5], &[30.0; 5]))]);
            let whole = judge(&others(&pairs, &[]), Drawn::Runs);
            unsure_of_worth(&pairs, work(&pairs, 10), whole, 0)
        };
        let unsteady = [0.85, 0.9, 1.0, 1.12, 1.18];
        assert_eq!(wanted(6800.0, unsteady), Some(vec![4]), "whether it is a gain is open");
        let steady = [0.9; 5];
        assert_eq!(wanted(7800.0, steady), None, "0.95 in the mean, and a fortieth of the time");
        assert_eq!(wanted(7400.0, steady), Some(vec![4]), "a twelfth of the time");
        assert_eq!(wanted(6800.0, steady), None, "a seventh of the time, whatever the mean is");
    }

    #[test]
    fn more_runs_are_wanted_for_exceptions_beyond_the_time_limit_too_unless_there_are_too_many() {
        let pairs = gaining(0.91, OF_A_DISK);
        let whole = judge(&others(&pairs, &[]), Drawn::Runs);
        let wanted = |too_long: usize| unsure_of_worth(&pairs, work(&pairs, 10), whole, too_long);
        assert_eq!(wanted(0), None, "there is no exception");
        assert_eq!(wanted(1), Some(vec![]));
        assert_eq!(wanted(2), None, "two of ten");
    }

    #[test]
    fn queries_that_are_merely_slower_are_exceptions_where_there_may_be_more_the_slowest_first() {
        let slow = halved_and(&[(100.0, 112.0), (100.0, 118.0), (10.0, 30.0), (100.0, 105.0)]);
        assert_eq!(judged(&slow, 10), Some((7, vec![6])));
        assert_eq!(judged(&slow, 20), Some((6, vec![5, 6])));
        assert_eq!(judged(&slow, 40), Some((5, vec![4, 5, 6])), "never one that is slower by a twentieth");
        assert_eq!(judged(&halved_and(&[(100.0, 112.0)]), 10), Some((4, vec![4])), "where none is harmed");
        let even = [(10.0, 9.9), (20.0, 19.9), (30.0, 30.1), (40.0, 39.8), (50.0, 56.0)];
        assert_eq!(judged(&even, 10), None, "nothing is gained with it");
    }
}
