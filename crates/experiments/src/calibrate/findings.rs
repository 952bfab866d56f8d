//! What to change, what it is worth here and how sure that is, in three sentences; and what else came out.

use measure::quantity::{THIN_SPACE, counted, format_nanos, grouped, three_digits};
use measure::schema::calibrate::findings as row;
use measure::statistics::median;
use measure::{Finding, Unit};

use super::bench::State;
use super::comparison::{Compared, Comparison, EndedBy, Others};
use super::concurrency::{self, ReadAhead, Sweep};
use super::constants::Constants;
use super::exceptions::WORTH;
use super::judgement::{CHANGED_MIN, Decision, Harm, Judged, Pair, RUNS_MIN};
use super::sets::{ConstantSet, is_known};
use crate::journal::Journal;

/// A set may be advised where it gains this part of what the best set does: of the many that are nearly as good, each
/// run finds another one best.
const AS_GOOD: f64 = 0.5;

/// And where it leaves this part more of the time of all queries than the quickest of those that are as good, at most.
/// Gains count queries, of which one may take a third of the time.
const AS_QUICK: f64 = 0.1;

/// Where no known set is as good, sets that are the same in each run and harm no query come before others.
/// Measured ones, which differ from run to run, stand where this part of what one of them gains is still more than any
/// of the others does.
const MEASURED: f64 = 0.8;

/// The same of sets that are the same in each run and harm queries, which are exceptions; and the part of its gain that
/// such a set counts against the best.
const HARMFUL: f64 = 0.9;

/// Another set is a rival of the one that is advised where it would be advised if that one gained this part of what it
/// does: with empty caches, one set gained 2.04 in one run and 3.34 in the next (docs/decisions/0031).
const RIVAL: f64 = 0.6;

/// The set that is advised and its rivals, at most: each takes further runs of its plans.
const RIVALS: usize = 3;

/// A set that takes this many times as long in another state than that which it is advised in is said to harm there.
const HARM: f64 = 1.1;

/// What stands before the ratio of a query whose runs by a set were ended, and by the server's own constants.
const AT_LEAST: &str = "at least ";
const AT_MOST: &str = "at most ";

/// What a comparison advises.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Advice {
    pub(super) decision: Decision,
    /// The place of the set that is advised, or of the one that the decision is about; 0 where there is none.
    pub(super) set: usize,
    /// Why there is no verdict, where another reason than the times withholds it.
    pub(super) withheld: Option<String>,
    /// Whether another set is a rival of the one that is advised.
    pub(super) has_rival: bool,
}

impl Advice {
    /// What the times advise: of the sets that are as good and as quick as the best, the best of the known ones,
    /// otherwise the nearest.
    pub(super) fn of(sets: &[ConstantSet], judged: &[Judged], preferred: &str) -> Advice {
        if let Some(set) = chosen(sets, judged, preferred) {
            let has_rival = !rivals(sets, judged, preferred).is_empty();
            return Advice { decision: Decision::Change, set, withheld: None, has_rival };
        }
        let own = own_of(sets, preferred);
        // What is said then is said of the state's own set, unless another one changes enough plans and it does not.
        let most = (1..sets.len()).max_by_key(|set| judged[*set].changed).unwrap_or(0);
        let is_enough = |set: &usize| judged[*set].changed >= CHANGED_MIN || judged[most].changed < CHANGED_MIN;
        let set = own.filter(is_enough).unwrap_or(most);
        let decision = judged.get(set).filter(|_| set > 0).map_or(Decision::Undecided, |judged| judged.decision);
        Advice { decision, set, withheld: None, has_rival: false }
    }

    /// The verdict on a set: none where the advice is withheld, because what withholds it spoils all times.
    pub(super) fn verdict(&self, judged: &Judged) -> Decision {
        if self.withheld.is_some() { Decision::Undecided } else { judged.decision }
    }

    /// The same without a verdict, for this reason.
    pub(super) fn withheld(self, reason: Option<String>) -> Advice {
        match reason {
            Some(reason) => Advice { decision: Decision::Undecided, withheld: Some(reason), ..self },
            None => self,
        }
    }
}

/// The places of the sets between which the choice lies: the one that would be advised, and the known ones that could
/// be.
pub(super) fn contenders(sets: &[ConstantSet], judged: &[Judged], preferred: &str) -> Vec<usize> {
    let advised = Advice::of(sets, judged, preferred);
    let is_advised = |set: usize| set == advised.set && advised.decision == Decision::Change;
    let is_known = |set: usize| is_known(sets, set) && judged[set].decision == Decision::Change;
    (1..sets.len()).filter(|set| is_advised(*set) || is_known(*set)).collect()
}

/// The places of the set that is advised and of its rivals, the nearest first; none where it has none.
pub(super) fn rivals(sets: &[ConstantSet], judged: &[Judged], preferred: &str) -> Vec<usize> {
    let mut less = judged.to_vec();
    let mut found: Vec<usize> = Vec::new();
    while let Some(next) = chosen(sets, &less, preferred).filter(|next| found.len() < RIVALS && !found.contains(next)) {
        // Sets with the same plans are judged the same, and are one choice.
        let same = less.iter_mut().zip(judged).filter(|(_, one)| **one == judged[next]);
        same.for_each(|(one, _)| one.gain *= RIVAL);
        found.push(next);
    }
    if found.len() > 1 { found } else { Vec::new() }
}

/// The place of the set that is advised, where one is worth a change.
fn chosen(sets: &[ConstantSet], judged: &[Judged], preferred: &str) -> Option<usize> {
    let good = as_good(judged);
    known(sets, judged, &good).or_else(|| nearest(sets, judged, &good, own_of(sets, preferred)))
}

/// The place of a state's own set.
fn own_of(sets: &[ConstantSet], preferred: &str) -> Option<usize> {
    (1..sets.len()).find(|set| sets[*set].name == preferred)
}

/// The places of the sets that are worth a change and are as good as the best of them, and as quick as the quickest of
/// these. The gain of a set that harms queries counts in part.
fn as_good(judged: &[Judged]) -> Vec<usize> {
    let counted = |set: usize| judged[set].gain * if judged[set].harmed > 0 { HARMFUL } else { 1.0 };
    let mut good: Vec<usize> = (1..judged.len()).filter(|set| judged[*set].decision == Decision::Change).collect();
    let most = good.iter().map(|set| counted(*set)).fold(0.0, f64::max);
    good.retain(|set| counted(*set) >= most * AS_GOOD);
    let saved = good.iter().map(|set| judged[*set].saved).fold(f64::NEG_INFINITY, f64::max);
    good.retain(|set| judged[*set].saved >= saved - AS_QUICK);
    good
}

/// The known set among these that gains most. They are compared with each other and not with the best of thirty,
/// which differs more from run to run; nor does a query that one of them harms count there, which may be no exception
/// in the next run.
fn known(sets: &[ConstantSet], judged: &[Judged], good: &[usize]) -> Option<usize> {
    let known = good.iter().copied().filter(|set| is_known(sets, *set));
    // The nearest of those that gain as much.
    known.rev().max_by(|one, other| judged[*one].gain.total_cmp(&judged[*other].gain))
}

/// The first of these sets. Those that are the same in each run come before measured ones, of which the state's `own`
/// is preferred, and both before sets that harm queries which are exceptions; those that come later stand where they
/// gain clearly more.
fn nearest(sets: &[ConstantSet], judged: &[Judged], good: &[usize], own: Option<usize>) -> Option<usize> {
    let gain = |set: &usize| judged[*set].gain;
    let (mut best, mut most_so_far) = (None, 0.0);
    for (is_measured, does_harm) in [(false, false), (true, false), (false, true), (true, true)] {
        let is_kind = |set: &usize| sets[*set].is_measured() == is_measured && (judged[*set].harmed > 0) == does_harm;
        let next: Vec<usize> = good.iter().copied().filter(is_kind).collect();
        let clearly = if is_measured { MEASURED } else { HARMFUL };
        let is_more = |set: &usize| gain(set) > most_so_far / clearly;
        let preferred = own.filter(|set| is_measured && next.contains(set) && is_more(set));
        best = preferred.or_else(|| next.iter().copied().find(is_more)).or(best);
        most_so_far = next.iter().map(gain).fold(most_so_far, f64::max);
    }
    best
}

/// What a set that was timed on readpath's queries says of the user's: its results on the orders, the events, the shop
/// and the forum.
///
/// Source: docs/decisions/0026.
const UNTRIED: &str = "Time your queries before you set it: of four data sets in contests, such a set made the queries \
                       of one faster in all, and single queries of the others up to 11.5 times slower.";

/// What was advised in a state: what to change, what it is worth, and how sure that is. What becomes of single queries
/// is said by [`notes`].
pub(super) fn advice(comparison: &Comparison, advice: &Advice, name: &str) -> Finding {
    let state = comparison.state;
    let judged = comparison.judged.get(advice.set).filter(|_| advice.set > 0);
    let set = &comparison.sets[advice.set];
    let whose = if state.is_own() { "your" } else { "readpath's" };
    let what = match advice.decision {
        Decision::Change if state.is_own() => {
            format!("set {}{}", values(set), but_for(judged.map_or(0, |judged| judged.excepted)))
        }
        Decision::Change => {
            let copy = if state.is_cold() { ", on a copy: --on postgres:copy:DIRECTORY?dbname=NAME" } else { "" };
            format!("a set to try on your own queries (--queries with --run{copy}) is {}", values(set))
        }
        Decision::Keep => {
            let because = judged.map_or(String::new(), |judged| why_kept(comparison, judged, advice.set));
            format!("keep the server's own constants{because}")
        }
        Decision::Undecided => match (&advice.withheld, judged) {
            (Some(reason), _) => format!("undecided, because {reason}"),
            (None, Some(judged)) if judged.changed >= CHANGED_MIN => {
                format!("undecided, because {}", unclear(judged, comparison, advice.set))
            }
            (None, Some(judged)) => format!("undecided, because {}", few_timed(comparison, judged)),
            (None, None) => "undecided: these queries cannot tell".into(),
        },
    };
    let mut sentences = vec![format!("{name}, {}: {what}.", state.introduced())];
    sentences.extend(locked(comparison));
    if let Some(judged) = judged {
        sentences.extend(worth(comparison, judged, whose, advice.set));
        sentences.extend(near_limit(comparison, judged, advice));
    }
    sentences.extend(unseen(comparison));
    // On data with which nothing of the method was chosen, such a set made a query 2.48 times slower (decision 26).
    sentences.extend((advice.decision == Decision::Change && !state.is_own()).then(|| UNTRIED.to_string()));
    let mut finding = row::ANSWER_ADVICE.named(state.name(), sentences.join(" "));
    if let Some(judged) = judged.filter(|judged| judged.timed() > 0) {
        finding = finding.with("ratio", judged.ratio.value, Unit::Ratio).with("worst", judged.worst, Unit::Ratio);
    }
    match judged.filter(|judged| advice.decision == Decision::Change && judged.excepted > 0) {
        Some(judged) => finding.with("exceptions", judged.excepted as f64, Unit::Count),
        None => finding,
    }
}

/// What decided to keep the server's own constants, as a clause, in the order in which times are judged.
fn why_kept(comparison: &Comparison, judged: &Judged, set: usize) -> String {
    if judged.harm != Harm::Sure {
        let mean = if judged.ratio.low > 1.0 { "certainly take longer" } else { "take as long within 5 %" };
        return format!(", because the queries with a different plan {mean} on average");
    }
    let times = |pair: Pair| Some((pair.at_worst(&pair.ratio()?)?, bound(&pair)));
    let harmed: Vec<(f64, &str)> = timed(comparison, set).filter(Pair::does_harm).filter_map(times).collect();
    let worst = harmed.iter().copied().max_by(|one, other| one.0.total_cmp(&other.0));
    match (judged.failed, harmed.len(), worst) {
        (0, 1, Some((worst, bound))) => {
            format!(", because one query certainly takes {bound}{} times as long", three_digits(worst))
        }
        (0, count, Some((worst, bound))) => format!(
            ", because {} queries certainly take much longer, the worst {bound}{} times as long",
            grouped(count as u64),
            three_digits(worst)
        ),
        (0 | 1, ..) => ", because one query ends with an error with the set".into(),
        (failed, ..) => format!(", because {} queries end with an error with the set", grouped(failed as u64)),
    }
}

/// What the advice of a state leaves out or leaves open, of which queries and why; `None` where there is no such query.
pub(super) fn notes(comparison: &Comparison, advice: &Advice) -> Option<Finding> {
    let state = comparison.state;
    let mut sentences = Vec::new();
    if let Some(judged) = comparison.judged.get(advice.set).filter(|_| advice.set > 0) {
        sentences.extend(few_show_harm(judged, advice));
        sentences.extend(excepted(comparison, advice));
        sentences.extend(failing(comparison, advice.set));
        sentences.extend(not_timed(comparison, advice.set));
        sentences.extend(too_long(comparison, judged, advice));
    }
    sentences.extend(refused(comparison));
    sentences.extend(repeated(comparison));
    // The user's own queries are timed in one state; of readpath's, each state has its notes.
    let of_state = match state.is_own() {
        true => String::new(),
        false => format!("This is about readpath's queries, {}. ", state.in_words()),
    };
    let message = format!("{of_state}{}", sentences.join(" "));
    (!sentences.is_empty()).then(|| row::ADVICE_NOTES.named(state.name(), message))
}

/// Why queries are timed that are too few for a verdict, as a sentence.
fn few_show_harm(judged: &Judged, advice: &Advice) -> Option<String> {
    let is_few = (1..CHANGED_MIN).contains(&judged.changed);
    let message = format!(
        "Even fewer than {CHANGED_MIN} queries are timed, because one query that certainly takes much longer is reason \
         enough to keep the server's own constants."
    );
    (is_few && advice.decision == Decision::Undecided && advice.withheld.is_none()).then_some(message)
}

/// That the result is close to a limit, as a sentence: in another run it may lie on the other side.
fn near_limit(comparison: &Comparison, judged: &Judged, advice: &Advice) -> Option<String> {
    let pairs = || timed(comparison, advice.set);
    let is_near = match advice.decision {
        Decision::Change => {
            let is_by_mean = judged.excepted > 0 && !comparison.workload().is_clearly_worth_them_by_time(judged);
            let most = if is_by_mean { WORTH } else { 1.0 };
            // Warm, runs in a row agree on one of two such sets.
            let has_rival = advice.has_rival && comparison.state.is_cold();
            has_rival || judged.is_near_limit(most) || pairs().any(|pair| pair.reaches_harm())
        }
        Decision::Keep if judged.harm == Harm::Sure => {
            let is_barely = judged.failed == 0 && pairs().filter(Pair::does_harm).all(|pair| pair.harms_barely());
            is_barely && !judged.is_kept_by_mean()
        }
        Decision::Keep => judged.is_near_limit(1.0),
        Decision::Undecided => false,
    };
    is_near.then(|| "The result is close to a limit, so another run may give different advice.".into())
}

/// That some queries do not take part in a change, as a clause.
fn but_for(excepted: usize) -> String {
    match excepted {
        0 => String::new(),
        1 => ", but not for 1 of your queries".into(),
        more => format!(", but not for {more} of your queries"),
    }
}

/// Which queries keep the server's own constants, why, and how, as a sentence.
fn excepted(comparison: &Comparison, advice: &Advice) -> Option<String> {
    let by_set = |one: &Compared| {
        let failure = one.failure(advice.set).map(|_| "with the set, it ends with an error".to_string());
        let times = || {
            let pair = one.pair(advice.set)?;
            let bound = bound(&pair);
            // The ratio alone may be that of a faster query, and would be no reason.
            let seldom = if pair.has_enough() { "" } else { ", in too few turns for a verdict" };
            Some(format!("{bound}{} times as long with the set{seldom}", three_digits(pair.ratio()?.value)))
        };
        let why = failure.or_else(times).or_else(|| why_unknown(one, advice.set));
        format!("{}{}", one.query.name, why.map_or(String::new(), |why| format!(" ({why})")))
    };
    let names: Vec<String> = comparison.excepted(advice.set).map(by_set).collect();
    let set = comparison.sets[advice.set].name;
    let [exception, keeps, its] =
        if names.len() == 1 { ["exception", "keeps", "its"] } else { ["exceptions", "keep", "their"] };
    let message = format!(
        "The {exception} from the set `{set}` {keeps} the server's own constants, by SET LOCAL in {its} transaction or \
         by ALTER ROLE: {}.",
        names.join("; ")
    );
    (advice.decision == Decision::Change && !names.is_empty()).then_some(message)
}

/// Why it is not known what becomes of a query that reached the time limit with the server's own constants.
fn why_unknown(one: &Compared, set: usize) -> Option<String> {
    if let Some(why) = &one.not_timed {
        return Some(format!("not timed: {}", why.sentence()));
    }
    let pair = one.timed(set)?;
    let by_the_set = if pair.is_ended { " and with the set" } else { ", and takes nearly that long with the set" };
    Some(format!("it reaches the time limit with the server's own constants{by_the_set}"))
}

/// What stands before a ratio where runs were ended.
fn bound(pair: &Pair) -> &'static str {
    match (pair.is_now_ended, pair.is_ended) {
        (true, _) => AT_MOST,
        (false, true) => AT_LEAST,
        (false, false) => "",
    }
}

/// Whether a plan of a query was ended, so that a limit stands for its time.
fn is_ended(pair: &Pair) -> bool {
    pair.is_now_ended || pair.is_ended
}

/// What stands before the ratio of the query that loses most, where that is one of those that were ended.
fn bound_of_worst(ended: &[Pair], judged: &Judged) -> &'static str {
    let is_worst = |pair: &&Pair| pair.ratio().and_then(|ratio| pair.at_worst(&ratio)) >= Some(judged.worst);
    ended.iter().find(is_worst).map_or("", bound)
}

/// What stands before the figures of all queries where some were ended by the set. Where current plans were ended too,
/// these figures are no bound, and in the state of the advice a sentence of its own says what that means.
fn least_of_all(ended: &[Pair]) -> &'static str {
    let is_least = ended.iter().any(|pair| pair.is_ended) && !ended.iter().any(|pair| pair.is_now_ended);
    if is_least { AT_LEAST } else { "" }
}

/// Which queries end with an error by a set and are no exceptions from it, as a sentence. The error itself, which can
/// quote what is in the tables, stands in the query's own line.
fn failing(comparison: &Comparison, set: usize) -> Option<String> {
    let fails = |one: &&Compared| one.failure(set).is_some() && !comparison.is_excepted(set, one);
    let failing = comparison.changed(set).filter(fails);
    let names: Vec<&str> = failing.map(|one| one.query.name.as_str()).collect();
    let ends = if names.len() == 1 { "ends" } else { "end" };
    let set = comparison.sets[set].name;
    let message = format!("With the set `{set}`, {} {ends} with an error.", names.join("; "));
    (!names.is_empty()).then_some(message)
}

/// The advice, with what the set that is advised costs in the states that it is not for, and with the states in which
/// that is not known, because the run was ended before their queries were timed.
pub(super) fn with_harm(
    mut said: Finding,
    (comparison, advice): (&Comparison, &Advice),
    all: &[Comparison],
    untimed: &[State],
) -> Finding {
    let set = &comparison.sets[advice.set];
    let judged_in = |other: &Comparison| {
        let at = other.sets.iter().position(|one| one.name == set.name)?;
        Some((at, *other.judged.get(at)?))
    };
    let clause = |other: &Comparison| {
        let (at, judged) = judged_in(other).filter(|(_, one)| one.changed > 0 && one.ratio.value >= HARM)?;
        let ended: Vec<Pair> = timed(other, at).filter(is_ended).collect();
        let times = format!("{}{}", least_of_all(&ended), three_digits(judged.ratio.value));
        Some(format!("{} the queries that it changes take {times} times as long", other.state.in_words()))
    };
    // A state whose rounds were cut short has no figures of a set yet, but it may show a query that loses.
    let so_far = |state: State| {
        let other = all.iter().find(|other| other.state == state)?;
        let (at, judged) = judged_in(other).filter(|(_, judged)| judged.timed() > 0 && judged.worst >= HARM)?;
        let ended: Vec<Pair> = timed(other, at).filter(is_ended).collect();
        Some(format!("{}{}", bound_of_worst(&ended, &judged), three_digits(judged.worst)))
    };
    let others = all.iter().filter(|other| other.state != comparison.state && other.is_timed);
    let clauses: Vec<String> = others.filter_map(clause).collect();
    if advice.decision == Decision::Change && !clauses.is_empty() {
        said.message += &format!(" It is for this state alone: {}.", clauses.join(", and "));
    }
    if advice.decision != Decision::Change {
        return said;
    }
    let (begun, untimed): (Vec<State>, Vec<State>) =
        untimed.iter().copied().partition(|state| so_far(*state).is_some());
    for (state, times) in begun.into_iter().filter_map(|state| Some((state, so_far(state)?))) {
        said.message += &format!(
            " Whether it harms queries that run {} was not measured to the end, because the run was ended first: so \
             far, one query takes {times} times as long.",
            state.in_words()
        );
    }
    let untimed: Vec<&str> = untimed.iter().map(|state| state.in_words()).collect();
    if !untimed.is_empty() {
        said.message += &format!(
            " Whether it harms queries that run {} was not measured, because the run was ended first.",
            untimed.join(" or ")
        );
    }
    said
}

/// That the user's queries were timed in one state of the caches alone, where a change is advised, and what times them
/// in another: nothing in the run says what the set costs there.
pub(super) fn one_state(state: State, advised: Decision, set: &ConstantSet) -> Option<Finding> {
    // Measured and tried sets have other values in another run.
    let is_same = set.is_usual() || set.is_in_memory();
    let same = if is_same { format!(" (`{}` is the same set there)", set.name) } else { String::new() };
    let message = match state {
        State::AsFound => format!(
            "The set was timed on these queries with as much in memory as fits, and in no other state: with the same \
             --queries FILE and --run, --on postgres:copy:DIRECTORY?dbname=NAME times them on a copy of the data \
             directory with nothing cached{same}. Without \
             --queries, --on postgres:VERSION times readpath's own in each state, and calls a set `safe` if it harms \
             none of them."
        ),
        State::OwnCold => format!(
            "The set was timed on these queries with nothing cached, and in no other state: on the running server, \
             --queries with --run times them with as much in memory as fits{same}."
        ),
        // What a set costs readpath's own queries in other states is part of the advice.
        State::Cold | State::System | State::Cached => return None,
    };
    (advised == Decision::Change).then(|| row::ONE_STATE.of(message))
}

/// That a lock kept queries from being timed or explained, and what to do, as a sentence.
fn locked(comparison: &Comparison) -> Option<String> {
    let was = |count: usize, one: &str, many: &str, more: [&str; 2]| {
        let what = counted(count as u64, one, many);
        (count > 0).then(|| format!("{what} {}", if count == 1 { more[0] } else { more[1] }))
    };
    let untimed = comparison.compared.iter().filter_map(|one| one.not_timed.as_ref());
    let untimed = untimed.filter(|why| why.is_of_a_lock()).count();
    let unexplained = comparison.refused.iter().filter(|(_, why)| why.is_of_a_lock()).count();
    let clauses = [
        was(untimed, "query", "queries", ["was not timed", "were not timed"]),
        was(unexplained, "statement", "statements", ["could not be explained"; 2]),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    let it = if untimed + unexplained == 1 { "it" } else { "they" };
    let message = format!(
        "{}, because {it} waited for a lock that another session held: repeat the run when that lock is gone.",
        clauses.join(" and ")
    );
    (!clauses.is_empty()).then_some(message)
}

/// That a set changes too few queries for a verdict, as a clause. Where it changes none that was timed, no set is named
/// beside the clause, which then holds of all sets.
fn few_timed(comparison: &Comparison, judged: &Judged) -> String {
    let is_timed = |one: &&Compared| (1..comparison.sets.len()).any(|set| one.pair(set).is_some());
    match (judged.changed, comparison.compared.iter().filter(is_timed).count()) {
        (0, all) if all >= CHANGED_MIN => {
            format!("no set changes the plans of {CHANGED_MIN} queries that were timed, and a verdict needs as many")
        }
        (0, all) => too_few(all),
        (changed, _) => too_few(changed),
    }
}

/// That fewer queries were timed than a verdict takes, as a clause.
fn too_few(timed: usize) -> String {
    let were = match timed {
        0 => "no query with a different plan was timed".to_string(),
        1 => "only 1 query with a different plan was timed".to_string(),
        more => format!("only {more} queries with a different plan were timed"),
    };
    format!("{were}, and a verdict needs at least {CHANGED_MIN}")
}

/// What keeps times from giving a verdict, as a clause.
fn unclear(judged: &Judged, comparison: &Comparison, set: usize) -> String {
    let queries = |count: usize| counted(count as u64, "query", "queries");
    if judged.few > 0 {
        let option = if comparison.state.is_cold() { "--cold-rounds" } else { "--rounds" };
        return format!(
            "plans of {} ran in fewer than {RUNS_MIN} turns, too few for a verdict: use {option} {RUNS_MIN} or more",
            queries(judged.few)
        );
    }
    if judged.ended > 0 {
        let (ended, longer) = (queries(undecided_by_limit(comparison, set).count()), longer(comparison.ended_by));
        return format!("{ended} reached the time limit and may take any time beyond it: {longer}");
    }
    if judged.now_ended > 0 && (judged.ratio.high >= 1.0 || judged.then > judged.now) {
        let (ended, longer) = (queries(judged.now_ended), longer(comparison.ended_by));
        return format!(
            "{ended} reached the time limit with the server's own constants, and how much the set saves of that is not \
             known: {longer}"
        );
    }
    if judged.ratio.high < 1.0 && judged.harm == Harm::None && judged.then <= judged.now {
        return "a few queries get much faster and more of them get a slower plan".into();
    }
    if judged.faster == 0 && judged.ratio.high >= 1.0 {
        return "no query is certainly faster, and the mean may lie on either side of 1".into();
    }
    match (judged.faster, judged.slower) {
        (0, 0) => "no query is certainly faster, and some may get slower",
        (0, _) => "no query is certainly faster, and some get slower",
        (_, 0) => "some queries get faster and others may get slower",
        _ => "some queries get faster and others get slower",
    }
    .into()
}

/// What lets the user's queries take longer, as a clause.
fn longer(ended_by: EndedBy) -> &'static str {
    match ended_by {
        EndedBy::TimeLimit => "use a larger --time-limit",
        EndedBy::StatementTimeout => {
            "use a larger --statement-timeout, unless the limit is a statement_timeout in options= of the address, of \
             the role or of the database"
        }
    }
}

/// The queries of which only the time limit keeps it open whether the set makes them faster.
fn undecided_by_limit(comparison: &Comparison, set: usize) -> impl Iterator<Item = &Compared> {
    comparison.changed(set).filter(move |one| one.is_undecided_by_limit(set))
}

/// That the time limit leaves it open what becomes of some queries, and what would tell, as a sentence; where they are
/// no exceptions, and it was not said as the reason. What the other queries decide leaves these undecided.
fn too_long(comparison: &Comparison, judged: &Judged, advice: &Advice) -> Option<String> {
    let is_reason = judged.changed >= CHANGED_MIN && judged.few == 0 && judged.ended > 0;
    let is_said = match advice.decision {
        Decision::Change => true,
        Decision::Keep => false,
        Decision::Undecided => is_reason || advice.withheld.is_some(),
    };
    let open = || undecided_by_limit(comparison, advice.set);
    let count = open().count();
    if is_said || count == 0 {
        return None;
    }
    let queries = of_changed(count, judged, comparison.sets[advice.set].name);
    let longer = longer(comparison.ended_by);
    let (is, reaches, it) = if count == 1 { ("is", "reaches", "it") } else { ("are", "reach", "them") };
    if advice.decision == Decision::Keep {
        return Some(format!(
            "{queries} {is} undecided because of the time limit, and a longer one can decide {it}: {longer}."
        ));
    }
    let by = if open().all(|one| one.is_too_long(advice.set)) { " with the server's own constants" } else { "" };
    Some(format!(
        "{queries} {reaches} the time limit{by}, and whether the set makes {it} faster is not known: {longer}."
    ))
}

/// A number of the queries that a set changes, as the subject of a sentence.
fn of_changed(count: usize, judged: &Judged, set: &str) -> String {
    let gets = if count == 1 && judged.changed == 0 { "gets" } else { "get" };
    let number = match judged.changed {
        0 => counted(count as u64, "query", "queries"),
        // Others of them were timed.
        _ => format!("{} of the queries", grouped(count as u64)),
    };
    format!("{number} that {gets} a different plan with the set `{set}`")
}

/// That the limit stands for the times of some queries with the server's own constants, as a sentence: a set saves more
/// of them than its figures say.
fn now_ended(comparison: &Comparison, set: usize) -> Option<String> {
    let count = timed(comparison, set).filter(|pair| pair.is_now_ended).count();
    let query = match count {
        1 => "query was ended at the time limit and counts with it: it takes",
        _ => "queries were ended at the time limit and count with it: they take",
    };
    let message = format!(
        "With the server's own constants, {} {query} at least that long, so the set may save more than these figures \
         say.",
        grouped(count as u64)
    );
    (count > 0).then_some(message)
}

/// The times of the queries that a set changes, without exceptions and those that end with an error.
fn timed(comparison: &Comparison, set: usize) -> impl Iterator<Item = Pair> {
    let is_excepted = move |at: usize| comparison.is_excepted(set, &comparison.compared[at]);
    let pairs = comparison.pairs(set).into_iter();
    pairs.filter(move |(at, pair)| !pair.is_failed && !is_excepted(*at)).map(|(_, pair)| pair)
}

/// Queries that get a different plan with a set and were not timed, as a sentence; without those that reached the time
/// limit.
fn not_timed(comparison: &Comparison, set: usize) -> Option<String> {
    let is_untimed =
        |one: &&Compared| one.pair(set).is_none() && !one.is_too_long(set) && !comparison.is_excepted(set, one);
    let count = comparison.changed(set).filter(is_untimed).count();
    let (gets, was, it) = if count == 1 { ("gets", "was", "it") } else { ("get", "were", "them") };
    let name = comparison.sets[set].name;
    let with = match comparison.judged.get(set) {
        Some(judged) if judged.changed > 0 => of_changed(count, judged, name),
        _ => format!("{} {gets} a different plan with the set `{name}` and", counted(count as u64, "query", "queries")),
    };
    let message = format!("{with} {was} not timed: what becomes of {it} is not known.");
    (comparison.is_timed && count > 0).then_some(message)
}

/// The user's statements that are none of the queries, as a sentence.
fn refused(comparison: &Comparison) -> Option<String> {
    // What waited for a lock has its own sentence, and so has what was not sent because it was there before.
    let others = comparison.refused.iter().filter(|(_, why)| !why.is_of_a_lock() && !why.is_repeated()).count();
    let sent = comparison.refused.iter().filter(|(_, why)| !why.is_repeated()).count();
    let other = if comparison.compared.is_empty() && others == sent { "" } else { "other " };
    let count = others as u64;
    let (statement, it_is) = if count == 1 { ("statement", "it is") } else { ("statements", "they are") };
    let message = format!(
        "{} {other}{statement} of yours could not be explained: {it_is} listed with the reason.",
        grouped(count)
    );
    (comparison.state.is_own() && count > 0).then_some(message)
}

/// The user's queries that have the text of another one, as a sentence.
fn repeated(comparison: &Comparison) -> Option<String> {
    let count = comparison.refused.iter().filter(|(_, why)| why.is_repeated()).count();
    let [has, is] = if count == 1 { ["has", "is"] } else { ["have", "are"] };
    let message = format!(
        "{} {has} the same text as an earlier one and {is} not counted again.",
        counted(count as u64, "query", "queries")
    );
    (count > 0).then_some(message)
}

/// That others may have been at work, where the role could not see it.
fn unseen(comparison: &Comparison) -> Option<String> {
    let message = "Whether sessions of other roles were at work meanwhile could not be seen, and times may be theirs \
                   in part: GRANT pg_read_all_stats to the role of this run shows it.";
    (comparison.is_timed && comparison.others == Others::Unseen).then(|| message.into())
}

/// What the change is worth, and how sure that is.
fn worth(comparison: &Comparison, judged: &Judged, whose: &str, set: usize) -> Vec<String> {
    let (all, name) = (comparison.compared.len(), comparison.sets[set].name);
    // Of sets that are not looked at again too, whose plans are gone.
    let changed = comparison.compared.iter().filter(|one| one.reached.len() > 1).count();
    match changed {
        _ if all == 0 => return vec!["No query was compared.".into()],
        0 => {
            let any = if all == 1 { "" } else { "any of " };
            let queries = if all == 1 { "query".into() } else { format!("{} queries", grouped(all as u64)) };
            return vec![format!("No set of constants changes the plan of {any}{whose} {queries}.")];
        }
        _ if judged.changed == 0 => {
            let plan = if changed == 1 { "plan" } else { "plans" };
            return vec![format!("Some set of constants changes the {plan} of {}.", some_of(changed, whose, all))];
        }
        _ => {}
    }
    let excepted = comparison.excepted(set).count();
    let different = comparison.changed(set).count().saturating_sub(excepted);
    let gets = if different == 1 { "gets" } else { "get" };
    let apart = if excepted > 0 { " exceptions apart," } else { "" };
    let changes = format!("With the set `{name}`,{apart} {} {gets} a different plan", some_of(different, whose, all));
    if judged.timed() == 0 {
        return vec![format!("{changes}.")];
    }
    let they_take = they_take(different, judged);
    let [then, now] = [judged.then, judged.now].map(|millis| format_nanos(millis * 1e6));
    if judged.is_too_short() {
        return vec![format!("{changes}; {they_take} {then} instead of {now} together, too short to tell apart.")];
    }
    let [average, worst] = [judged.ratio.value, judged.worst].map(three_digits);
    let drawn = if comparison.state.is_own() { "turns" } else { "queries and turns" };
    let ended: Vec<Pair> = timed(comparison, set).filter(is_ended).collect();
    let least = least_of_all(&ended);
    let bound = bound_of_worst(&ended, judged);
    let takes = match judged.timed() {
        1 => format!("{changes}; {they_take} {bound}{worst} times as long, {least}{then} instead of {now}."),
        _ => format!(
            "{changes}; {they_take} {least}{average} times as long on average, {least}{then} instead of {now} \
             together, and the worst {bound}{worst} times as long."
        ),
    };
    [takes, sure(judged, drawn)].into_iter().chain(now_ended(comparison, set)).collect()
}

/// The subject and the verb of the sentence about times: all queries with a different plan, or those of them that were
/// timed and end without an error.
fn they_take(different: usize, judged: &Judged) -> String {
    let timed = judged.timed();
    let [was, ends] =
        if timed == 1 { ["was timed", "ends without an error"] } else { ["were timed", "end without an error"] };
    let lacks = [(judged.changed < different, was), (judged.failed > 0, ends)];
    let lacks: Vec<&str> = lacks.into_iter().filter(|(is_lacking, _)| *is_lacking).map(|(_, what)| what).collect();
    match (timed, lacks.is_empty()) {
        (1, true) => "it takes".into(),
        (_, true) => "these take".into(),
        (1, false) => format!("the one that {} takes", lacks.join(" and ")),
        (more, false) => format!("the {} that {} take", grouped(more as u64), lacks.join(" and ")),
    }
}

/// A number of the queries, as a part of a sentence.
fn some_of(count: usize, whose: &str, all: usize) -> String {
    let [count, among] = [count, all].map(|count| grouped(count as u64));
    if all == 1 { format!("{whose} query") } else { format!("{count} of {whose} {among} queries") }
}

/// How sure the mean is.
fn sure(judged: &Judged, drawn: &str) -> String {
    let times = |value| three_digits(value);
    let are = |count| if count == 1 { "is" } else { "are" };
    let Judged { faster, slower, .. } = *judged;
    if judged.few > 0 && faster + slower == 0 {
        return "Too few turns for an interval.".into();
    }
    if judged.few > 0 {
        return format!(
            "Too few turns for an interval; {faster} {} certainly faster and {slower} certainly slower.",
            are(faster)
        );
    }
    format!(
        "With {drawn} resampled, 95 % of the means lie between {} and {}; {faster} {} certainly faster and {slower} \
         certainly slower.",
        times(judged.ratio.low),
        times(judged.ratio.high),
        are(faster)
    )
}

/// The constants of a set as they can be pasted: a number with separators would be refused.
fn values(set: &ConstantSet) -> String {
    let number = |value: f64| three_digits(value).replace(THIN_SPACE, "");
    let values = set.values.iter().map(|(name, value)| format!("{name} = {}", number(*value)));
    values.collect::<Vec<_>>().join(", ")
}

/// Reports the costs of blocks and the concurrency that is enough.
pub(super) fn report(constants: &Constants, name: &str, journal: &mut dyn Journal) {
    pages(constants, name, journal);
    constants.sweeps.iter().for_each(|sweep| report_concurrency(sweep, journal));
}

fn pages(constants: &Constants, name: &str, journal: &mut dyn Journal) {
    let costs = State::OF_BLOCKS.into_iter().filter_map(|state| BlockCost::of(constants, state));
    let costs: Vec<BlockCost> = costs.collect();
    if costs.is_empty() {
        return;
    }
    let clauses: Vec<String> = costs.iter().map(BlockCost::clause).collect();
    let mut message = format!("The cost of a random block on {name}, in sequential blocks: {}.", clauses.join("; "));
    if costs.iter().any(BlockCost::is_no_quotient) {
        message += " The ratio compares medians over the passes; the times are medians of all samples, so dividing \
                    them can give another value.";
    }
    let finding = row::ANSWER_RANDOM_PAGE.of(message);
    let given = costs.iter().filter(|cost| cost.is_given);
    journal.find(given.fold(finding, |finding, cost| finding.with(cost.state.name(), cost.ratio, Unit::Ratio)));
}

/// A quotient of two times that is further than this part from the ratio of the costs would look like an error.
const SAME_QUOTIENT: f64 = 0.01;

/// What a random block costs in a state, in sequential blocks, and what both take.
struct BlockCost {
    state: State,
    ratio: f64,
    random_micros: f64,
    page_micros: f64,
    /// Whether neither cost is withheld.
    is_given: bool,
}

impl BlockCost {
    /// `None` where one of the two has no cost above 0.
    fn of(constants: &Constants, state: State) -> Option<BlockCost> {
        let of = |name: &str| {
            let one = constants.of(name, state)?;
            let settled = one.settled.filter(|settled| settled.value.value > 0.0)?;
            Some((settled, median(&one.passes.samples())?))
        };
        let ((page, page_micros), (random, random_micros)) = of("seq_page_cost").zip(of("random_page_cost"))?;
        let (ratio, is_given) = (random.value.value / page.value.value, page.is_given && random.is_given);
        Some(BlockCost { state, ratio, random_micros, page_micros, is_given })
    }

    fn clause(&self) -> String {
        let without = "no ratio, because a cost is withheld";
        let ratio = if self.is_given { three_digits(self.ratio) } else { without.into() };
        format!(
            "{} {ratio} ({} against {})",
            self.state.in_words(),
            format_nanos(self.random_micros * 1e3),
            format_nanos(self.page_micros * 1e3)
        )
    }

    /// Whether the times that stand next to the ratio have another quotient.
    fn is_no_quotient(&self) -> bool {
        let quotient = self.random_micros / self.page_micros;
        self.is_given && (quotient / self.ratio - 1.0).abs() > SAME_QUOTIENT
    }
}

fn report_concurrency(sweep: &Sweep, journal: &mut dyn Journal) {
    let (name, work) = (sweep.setting.name(), sweep.setting.work());
    let answer = match sweep.setting {
        ReadAhead::Effective => row::ANSWER_CONCURRENCY,
        ReadAhead::Maintenance => row::ANSWER_MAINTENANCE,
    };
    let Some(plateau) = concurrency::plateau(sweep) else {
        journal.find(sweep.setting.absent().of(format!(
            "{name} could not be determined: the times rose and fell as it grew, because something else used the \
             device. Repeat the run when it is quiet."
        )));
        return;
    };
    let times = format!("{} against {} at 1", format_nanos(plateau.micros * 1e3), format_nanos(plateau.alone * 1e3));
    let message = if sweep.setting.values().last() == Some(&plateau.from) {
        format!(
            "{work} is fastest with {name} {}, the largest that was tried: {times}. A larger one may do better.",
            plateau.from
        )
    } else if plateau.from == plateau.to {
        format!("{work} is fastest with {name} {}: {times}.", plateau.from)
    } else {
        format!("{work} is as fast with any {name} from {} to {}: {times}.", plateau.from, plateau.to)
    };
    let finding = answer.of(message).with("from", f64::from(plateau.from), Unit::Count);
    journal.find(finding.with("to", f64::from(plateau.to), Unit::Count));
}

#[cfg(test)]
mod tests;
