//! The cases of a comparison: each query whose plan a set changes, and how each set does.

use std::f64::consts::LN_2;

use measure::quantity::format_nanos;
use measure::schema::calibrate::parameters::{
    ADVICE, CONSTANTS, ENDED, NODE_NOW, NODE_THEN, PLAN_NOW, PLAN_THEN, QUERY, SOURCE, STATE, VERDICT,
};
use measure::schema::calibrate::{self, SETTING};
use measure::{Case, Metric};
use subjects::postgres::calibration::queries::Unfinished;

use super::bench::{Bench, State};
use super::comparison::{Compared, Comparison};
use super::estimate::Estimate;
use super::findings::Advice;
use super::judgement::{Decision, Judged, Pair, Verdict};
use super::sets::{BETWEEN, SAFE};
use crate::error::ExperimentError;
use crate::journal::Journal;

const TIMED: &str = "execution time by EXPLAIN, the plans of a query in turns";
const AT_MOST: &str = "bootstrap, 95 %, of the turns' ratios to the limit at which the current plan was ended";
const AT_LIMIT: &str = "the limit at which runs were ended: they take at least as long";

/// Keeps all cases.
pub(super) fn keep(
    bench: &Bench<'_>,
    comparison: &Comparison,
    advice: &Advice,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let mut cases = Vec::new();
    for set in 1..comparison.sets.len() {
        for one in comparison.changed(set) {
            let mut case = query(bench, comparison, set, one);
            if advice.withheld.is_none() && comparison.is_excepted(set, one) {
                case.parameters.extend([ADVICE.of(Decision::Keep.name())]);
            }
            cases.push(case);
        }
    }
    cases.extend(refused(bench, comparison.state, &comparison.refused));
    for one in comparison.compared.iter().filter(|one| one.query.not_run.is_some() || one.not_timed.is_some()) {
        let why = one.not_timed.as_ref().map_or("", Unfinished::sentence);
        cases.push(of_refused(bench, comparison.state, &one.query.name, why));
    }
    // The server's words stand here alone: a page for others leaves them out.
    for (one, why) in comparison.compared.iter().filter_map(|one| Some((one, one.first_failure()?))) {
        cases.push(of_refused(bench, comparison.state, &one.query.name, &format!("with another plan, {why}")));
    }
    cases.extend((0..comparison.sets.len()).map(|set| of_set(bench, comparison, advice, set)));
    Ok(journal.keep_all(cases)?)
}

/// Queries that were not explained or not run, each with the reason.
pub(super) fn refused(bench: &Bench<'_>, state: State, queries: &[(String, Unfinished)]) -> Vec<Case> {
    queries.iter().map(|(name, why)| of_refused(bench, state, name, why.sentence())).collect()
}

/// Calls the set between the states safe in a case that was kept before it was tried in all of them.
pub(super) fn call_safe(case: &mut Case) {
    let (key, between) = CONSTANTS.of(BETWEEN);
    if case.parameters.get(&key) == Some(&between) {
        case.parameters.extend([CONSTANTS.of(SAFE)]);
    }
}

fn source(state: State) -> &'static str {
    if state.is_own() { "own" } else { "verification" }
}

fn case(bench: &Bench<'_>, part: &str, state: State) -> Case {
    bench.case(part, [STATE.of(state.name()), SOURCE.of(source(state))])
}

/// A query that was not explained or not run.
fn of_refused(bench: &Bench<'_>, state: State, name: &str, why: &str) -> Case {
    let mut case = case(bench, "refused", state);
    case.parameters.extend([QUERY.of(name), VERDICT.of(why)]);
    case
}

/// A query with its plans by the server's own constants and by a set.
fn query(bench: &Bench<'_>, comparison: &Comparison, set: usize, one: &Compared) -> Case {
    let mut case = case(bench, "query", comparison.state);
    let [now, then] = [&one.variants[0].plan, &one.variants[one.variant(set)].plan];
    let compiled = |is_compiled: bool| if is_compiled { "compiled" } else { "not compiled" };
    let nodes = match now.top.difference(&then.top) {
        Some((now, then)) => [now.described(), then.described()],
        None => [compiled(now.is_compiled).into(), compiled(then.is_compiled).into()],
    };
    let pair = one.timed(set);
    let ended_in = [0, one.variant(set)].map(|plan| one.variants[plan].ended_in());
    let verdict = pair.as_ref().map_or("not timed".into(), |pair| verdict(pair, &ended_in));
    let [node_now, node_then] = nodes;
    case.parameters.extend([
        QUERY.of(one.query.name.as_str()),
        CONSTANTS.of(comparison.sets[set].name),
        NODE_NOW.of(node_now),
        NODE_THEN.of(node_then),
        PLAN_NOW.of(now.top.outline()),
        PLAN_THEN.of(then.top.outline()),
        VERDICT.of(verdict),
    ]);
    case.parameters.extend(pair.as_ref().and_then(ended).map(|plans| ENDED.of(plans)));
    // Of two plans that were ended, times say nothing.
    let Some(pair) = pair.filter(|pair| !(pair.is_now_ended && pair.is_ended)) else { return case };
    let [now_in, then_in] = &ended_in;
    case.metrics.extend(calibrate::TIME_NOW.of_samples(&source_of(pair.is_now_ended, now_in), &pair.now));
    // A plan that ends with an error has no time.
    if pair.is_failed {
        return case;
    }
    case.metrics.extend(calibrate::TIME_THEN.of_samples(&source_of(pair.is_ended, then_in), &pair.then));
    case.metrics.extend(by_turns(&pair));
    let ratio = pair.ratio().filter(|_| !pair.is_too_long());
    case.metrics.extend(ratio.into_iter().flat_map(|ratio| match (pair.is_now_ended, pair.has_enough()) {
        (true, true) => vec![calibrate::RATIO_HIGH.single(AT_MOST, ratio.high)],
        (true, false) => Vec::new(),
        (false, has_interval) => ratios(&ratio, "median of the turns' ratios", has_interval),
    }));
    case
}

/// Where the times of a plan are from; `ended_in` says in how many turns it was ended, where that is not each. One that
/// was ended is not run again, and its last limit stands for all later turns; one that was held up is.
fn source_of(is_ended: bool, ended_in: &str) -> String {
    match (is_ended, ended_in.is_empty()) {
        (true, true) => AT_LIMIT.into(),
        (true, false) => format!("{TIMED}; ended{ended_in} at the limit, which stands for these and for later turns"),
        (false, false) => format!("{TIMED}; ended{ended_in} at the limit, which stands for these"),
        (false, true) => TIMED.into(),
    }
}

/// The time by the set as it is in the sum over its queries, where the ratio does not give it: it is 1 where times
/// differ by less than readings do.
fn by_turns(pair: &Pair) -> Option<Metric> {
    let (now, then) = pair.millis().filter(|_| !pair.is_now_ended && !pair.is_ended)?;
    let source = "median by the server's own constants, times the median of the turns' ratios";
    (now != then && pair.ratio()?.value == 1.0).then(|| calibrate::TIME_BY_TURNS.single(source, then))
}

/// Which plans of a query were ended at a limit: a fact of its own, because a verdict is words for people. A plan that
/// ends with an error has no time for which a limit could stand.
fn ended(pair: &Pair) -> Option<&'static str> {
    match (pair.is_now_ended, pair.is_ended) {
        _ if pair.is_failed => None,
        (false, false) => None,
        (true, false) => Some("now"),
        (false, true) => Some("then"),
        (true, true) => Some("both"),
    }
}

/// The verdict on a query, and after how long a plan was ended where one was; `now_in` and `then_in` say of the plan
/// now and of the other one in how many turns, where that is not each.
fn verdict(pair: &Pair, [now_in, then_in]: &[String; 2]) -> String {
    if pair.is_failed {
        return "ends with an error".into();
    }
    let limit = |millis: &[f64]| format_nanos(millis.iter().copied().fold(0.0, f64::max) * 1e6);
    let name = if pair.is_too_long() { Verdict::Undecided } else { pair.verdict() }.name();
    match (pair.is_now_ended, pair.is_ended) {
        (false, false) => name.into(),
        (false, true) => format!("{name}, ended after {}{then_in}", limit(&pair.then)),
        (true, false) => format!("{name}, the current plan ended after {}{now_in}", limit(&pair.now)),
        (true, true) if now_in == then_in => format!("{name}, both plans ended after {}{now_in}", limit(&pair.now)),
        (true, true) => {
            let [now, then] = [&pair.now, &pair.then].map(|millis| limit(millis));
            format!("{name}, the current plan ended after {now}{now_in} and the other one after {then}{then_in}")
        }
    }
}

/// A ratio, with its interval where there are enough runs for one.
fn ratios(Estimate { value, low, high }: &Estimate, what: &str, has_interval: bool) -> Vec<Metric> {
    let ends = "bootstrap, 95 %";
    let interval = [calibrate::RATIO_LOW.single(ends, *low), calibrate::RATIO_HIGH.single(ends, *high)];
    let interval = interval.into_iter().filter(|_| has_interval);
    [calibrate::RATIO.single(what, *value)].into_iter().chain(interval).collect()
}

/// How a set does over all queries.
fn of_set(bench: &Bench<'_>, comparison: &Comparison, advice: &Advice, set: usize) -> Case {
    let mut case = case(bench, "set", comparison.state);
    let judged: Option<&Judged> = comparison.judged.get(set).filter(|_| set > 0);
    case.parameters.extend([CONSTANTS.of(comparison.sets[set].name)]);
    case.parameters.extend(judged.map(|judged| VERDICT.of(advice.verdict(judged).name())));
    if set == advice.set {
        case.parameters.extend([ADVICE.of(advice.decision.name())]);
    }
    let excepted = comparison.excepted(set).count() as u64;
    let changed = comparison.changed(set).count() as u64 - excepted;
    case.metrics.push(calibrate::QUERIES.count("queries that were explained", comparison.compared.len() as u64));
    let source = "queries with a different plan than by the server's own constants";
    case.metrics.push(calibrate::CHANGED.count(source, changed));
    if excepted > 0 {
        let source = "queries that keep the server's own constants: the set makes them slower or end with an error, or \
                      may harm them, or reach the time limit now, and it is not known what the set does to them";
        case.metrics.push(calibrate::EXCEPTED.count(source, excepted));
    }
    if let Some(judged) = judged.filter(|judged| judged.timed() > 0) {
        let mean = match comparison.state.is_own() {
            true => "geometric mean of the changed queries, their turns resampled",
            false => "geometric mean of the changed queries, resampled with their turns",
        };
        let verdicts = "queries whose interval lies on one side of 1";
        case.metrics.push(calibrate::FASTER.count(verdicts, judged.faster as u64));
        case.metrics.push(calibrate::SLOWER.count(verdicts, judged.slower as u64));
        case.metrics.extend(ratios(&judged.ratio, mean, judged.few == 0));
        case.metrics.push(calibrate::WORST.single("the changed query that loses most", judged.worst));
        let source = "logarithms of the queries' ratios to their fastest plan, to base 2: their difference, summed";
        case.metrics.push(calibrate::GAIN.single(source, judged.gain / LN_2));
        let [now, then] =
            ["medians of the changed queries, summed", "those medians, each multiplied by its query's ratio, summed"];
        case.metrics.push(calibrate::TIME_NOW.single(now, judged.now));
        case.metrics.push(calibrate::TIME_THEN.single(then, judged.then));
    }
    let values = comparison.sets[set].values.iter();
    case.metrics.extend(values.map(|(name, value)| SETTING.of(name).single("set in the session", *value)));
    case
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::judgement::{Drawn, judge};

    #[test]
    fn which_plans_were_ended_is_a_value_of_its_own_and_not_only_words_of_the_verdict() {
        let said = |[is_now_ended, is_ended, is_failed]: [bool; 3]| {
            ended(&Pair { is_now_ended, is_ended, is_failed, ..Pair::of(&[10.0; 3], &[20.0; 3]) })
        };
        assert_eq!(said([false, false, false]), None);
        assert_eq!(said([true, false, false]), Some("now"));
        assert_eq!(said([false, true, false]), Some("then"));
        assert_eq!(said([true, true, false]), Some("both"));
        assert_eq!(said([false, true, true]), None, "an error is no limit");
    }

    #[test]
    fn a_time_that_a_limit_stands_for_in_one_turn_of_three_is_not_said_to_be_the_limit_in_all() {
        let said = |[is_now_ended, is_ended]: [bool; 2], [now_in, then_in]: [&str; 2]| {
            [source_of(is_now_ended, now_in), source_of(is_ended, then_in)]
        };
        let once = " in 1 of 3 turns";
        assert_eq!(said([true, false], ["", ""]), [AT_LIMIT, TIMED]);
        let of_turns = "execution time by EXPLAIN, the plans of a query in turns; ended in 1 of 3 turns at the limit, \
                        which stands for these";
        let [ended, held_up] = said([true, false], [once, once]);
        assert_eq!(ended, format!("{of_turns} and for later turns"));
        assert_eq!(held_up, of_turns, "a run that was held up is a limit too, and the next one is none");
    }

    #[test]
    fn a_query_whose_ratio_is_1_for_the_readings_has_the_time_that_is_in_the_sum_of_its_set() {
        let short = Pair::of(&[0.19, 0.188, 0.192], &[0.184, 0.19, 0.186]);
        assert_eq!(short.ratio().map(|ratio| ratio.value), Some(1.0));
        let judged = judge(std::slice::from_ref(&short), Drawn::Runs);
        assert_eq!(by_turns(&short).map(|metric| metric.median()), Some(judged.then));
        assert!(judged.then < 0.185, "the median of the runs is 0.186: {}", judged.then);
        assert_eq!(by_turns(&Pair::of(&[10.0; 3], &[5.0; 3])), None, "its ratio gives it");
        assert_eq!(by_turns(&Pair::of(&[0.2; 3], &[0.2; 3])), None);
        assert_eq!(by_turns(&Pair { is_ended: true, ..short }), None, "a limit is no time");
    }

    #[test]
    fn a_plan_that_was_ended_in_one_turn_of_three_is_not_said_to_have_been_ended_in_all() {
        let said = |[is_now_ended, is_ended]: [bool; 2], [now_in, then_in]: [&str; 2]| {
            let [now, then] = [is_now_ended, is_ended].map(|is_ended| if is_ended { 10_000.0 } else { 4000.0 });
            let pair = Pair { is_now_ended, is_ended, ..Pair::of(&[now; 3], &[then; 3]) };
            verdict(&pair, &[now_in, then_in].map(String::from))
        };
        let once = " in 1 of 3 turns";
        assert_eq!(said([false, true], ["", ""]), "slower, ended after 10.0 s");
        assert_eq!(said([false, true], ["", once]), "slower, ended after 10.0 s in 1 of 3 turns");
        assert_eq!(said([true, false], [once, ""]), "faster, the current plan ended after 10.0 s in 1 of 3 turns");
        assert_eq!(said([true, true], ["", ""]), "undecided, both plans ended after 10.0 s");
        assert_eq!(
            said([true, true], [once, ""]),
            "undecided, the current plan ended after 10.0 s in 1 of 3 turns and the other one after 10.0 s"
        );
        assert_eq!(said([false, false], [once, once]), "undecided", "a run that was held up ends no plan");
    }
}
