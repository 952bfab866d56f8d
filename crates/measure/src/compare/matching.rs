//! Which case of one run answers to which case of the other.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use serde_json::Value;

use super::ranked::{Ranked, is_between, is_ranked};
use crate::case::{Case, Parameters};
use crate::schema::calibrate::{BETWEEN, parameters as plan, what_would_help};
use crate::schema::lio::parameters::SUBJECT;
use crate::sorting;

/// What `calibrate` finds out about a query, a set, a path or a switch. It identifies no case: what was asked does, and
/// which plans were ended at a limit (`ended`). Their times are bounds, and no time is held against a bound. Of the
/// words on a remedy, what would help does too.
const FOUND_OF_PLANS: [&str; 6] = [
    plan::CHOSEN_BY.name,
    plan::NODE_NOW.name,
    plan::NODE_THEN.name,
    plan::PLAN_NOW.name,
    plan::PLAN_THEN.name,
    plan::ADVICE.name,
];

/// Words of the verdict on a query of which a plan was ended, in runs that were kept before that was a parameter.
const ENDED_WORDS: &str = "ended after";

/// A parameter that has one value throughout the first run and another throughout the second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Name of the parameter.
    pub parameter: String,
    /// Its value in the first run; absent where the first run has no such parameter.
    pub before: Option<Value>,
    /// Its value in the second run; absent where the second run has no such parameter.
    pub after: Option<Value>,
}

/// A database that has another minor version, and so another name, in the second run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Update {
    before: String,
    after: String,
}

/// Cases side by side, and those that stand alone.
pub(super) struct Pairs<'a> {
    pub(super) changes: Vec<Change>,
    pub(super) updates: Vec<Update>,
    pub(super) pairs: Vec<(&'a Case, &'a Case)>,
    pub(super) only_before: Vec<&'a Case>,
    pub(super) only_after: Vec<&'a Case>,
}

impl<'a> Pairs<'a> {
    /// Every case alone.
    pub(super) fn none(before: &'a [Case], after: &'a [Case]) -> Pairs<'a> {
        let (only_before, only_after) = (before.iter().collect(), after.iter().collect());
        Pairs { changes: Vec::new(), updates: Vec::new(), pairs: Vec::new(), only_before, only_after }
    }
}

/// Pairs cases by equal parameters.
///
/// Where not one pair is found, the runs differ as wholes (another device, another depth), which is what a comparison
/// is often for: parameters that are constant within each run but not the same in both are then set aside. A server
/// that is measured with others is not constant: an update of it is paired with its former minor version.
pub(super) fn pair_cases<'a>(before: &'a [Case], after: &'a [Case]) -> Pairs<'a> {
    let is_of_whole_runs = change_of(SUBJECT.name, before, after).is_some();
    let updates = if is_of_whole_runs { Vec::new() } else { updates(before, after) };
    let strict = pair_without(before, after, Vec::new(), updates.clone());
    if !strict.pairs.is_empty() {
        return strict;
    }
    // Only now: a profile has thousands of cases, and each is gone through once for every parameter.
    let changes = changes_between(before, after);
    if changes.is_empty() { strict } else { pair_without(before, after, changes, updates) }
}

/// The databases of the first run, each with the one of its major version in the second run, where that has another
/// minor version. Where a run has several of one major version, none of them can be told to be the other's.
fn updates(before: &[Case], after: &[Case]) -> Vec<Update> {
    let (before, after) = (databases(before), databases(after));
    let alone = |name: &str, names: &[&str]| -> Option<String> {
        let mut alike = names.iter().filter(|other| major_version(other) == major_version(name));
        alike.next().filter(|_| alike.next().is_none()).map(|one| (*one).to_string())
    };
    let update = |name: &&str| {
        let (former, later) = (alone(name, &before)?, alone(name, &after)?);
        (former != later).then_some(Update { before: former, after: later })
    };
    before.iter().filter_map(update).collect()
}

/// The names of databases with a version that cases were measured on, each once.
fn databases(cases: &[Case]) -> Vec<&str> {
    let names = cases.iter().filter_map(|case| case.parameters.get(SUBJECT.name)?.as_str());
    sorting::each_once(names.filter(|name| major_version(name).is_some()))
}

/// Words behind the major version of a release that is to come, such as `18beta1`.
const STAGES: [&str; 4] = ["devel", "alpha", "beta", "rc"];

/// Kinds of databases of which the first number of a version is the major one. Others have series of their own, such as
/// `11.4` of MariaDB: of them only equal versions belong together.
const MAJOR_FIRST: [&str; 2] = ["postgres", "sqlite"];

/// What is the same in `postgres 18.5 (private)` and `postgres 18.6 (private)`: the kind, the major version, and what
/// stands behind the version. Of a kind that [`MAJOR_FIRST`] does not name, the major version is the whole version.
/// `None` of what is named without one, as by a file whose name begins with a number.
fn major_version(name: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = name.split_once(' ')?;
    let end = rest.find([' ', '?']).unwrap_or(rest.len());
    let (version, remark) = rest.split_at(end);
    let digits = version.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(version.len());
    let (major, minor) = version.split_at(digits);
    let is_minor = match minor.strip_prefix('.') {
        Some(minor) => minor.starts_with(|letter: char| letter.is_ascii_digit()),
        None => minor.is_empty() || STAGES.iter().any(|stage| minor.starts_with(stage)),
    };
    let is_kind = kind.chars().all(|letter| letter.is_ascii_alphabetic());
    let is_version = is_kind && !major.is_empty() && is_minor;
    is_version.then_some((kind, if MAJOR_FIRST.contains(&kind) { major } else { version }, remark))
}

/// Equal cases are paired in their order, so that a run that repeats a case is compared repetition by repetition.
fn pair_without<'a>(before: &'a [Case], after: &'a [Case], changes: Vec<Change>, updates: Vec<Update>) -> Pairs<'a> {
    // A profile has thousands of cases: each side is walked once, and partners are found by their parameters' text.
    let ranked = [before, after].map(Ranked::of);
    let mut partners: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (index, case) in after.iter().enumerate() {
        if let Some(text) = reduced(&case.parameters, &changes, &updates, &ranked[1]) {
            partners.entry(text).or_default().push_back(index);
        }
    }
    let mut is_paired = vec![false; after.len()];
    let (mut pairs, mut only_before) = (Vec::new(), Vec::new());
    for case in before {
        // The names of the first run are the former ones.
        let text = reduced(&case.parameters, &changes, &[], &ranked[0]);
        let partner = text.and_then(|text| partners.get_mut(&text)?.pop_front());
        match partner {
            Some(index) => {
                is_paired[index] = true;
                pairs.push((case, &after[index]));
            }
            None => only_before.push(case),
        }
    }
    let only_after = after.iter().zip(is_paired).filter(|(_, is_paired)| !is_paired).map(|(case, _)| case).collect();
    Pairs { changes, updates, pairs, only_before, only_after }
}

/// The parameters without those that are set aside, as one text in which their order does not matter. A database that
/// was updated has its former name, the set between the states has one of its two names, and a set whose name is a rank
/// has its constants in place of it. `None` where these are not known: then nothing tells which set of another run it
/// is. A remedy has what would help behind all others.
fn reduced(parameters: &Parameters, changes: &[Change], updates: &[Update], ranked: &Ranked) -> Option<String> {
    let set = if is_ranked(parameters) {
        Some(ranked.constants(parameters)?.to_string())
    } else {
        is_between(parameters).then(|| BETWEEN.to_string())
    };
    let is_set_aside = |name: &str| changes.iter().any(|change| change.parameter == name);
    let kept = parameters.iter().filter(|(name, _)| !is_set_aside(name) && !is_outcome(parameters, name));
    let text = |name: &str, value: &Value| {
        let update = updates.iter().find(|update| name == SUBJECT.name && *value == *update.after);
        update.map_or_else(|| value.to_string(), |update| Value::from(update.before.as_str()).to_string())
    };
    let mut kept: Vec<(&String, String)> = kept.map(|(name, value)| (name, text(name, value))).collect();
    sorting::ascending(&mut kept);
    // As a list of JSON texts no name or value can be mistaken for the border between two.
    let texts = kept.into_iter().flat_map(|(name, value)| [name.clone(), value]).chain(set);
    Some(Value::from(texts.chain(remedy(parameters)).collect::<Vec<_>>()).to_string())
}

/// What would help by a remedy: the times of another one on the same query are those of another plan.
fn remedy(parameters: &Parameters) -> Option<String> {
    let is_remedy = parameters.get(plan::PART.name).is_some_and(|part| part == "remedy");
    let words = parameters.get(plan::ADVICE.name).and_then(Value::as_str).filter(|_| is_remedy)?;
    Some(what_would_help(words).to_string())
}

/// Whether a parameter is what the run found and not what it was asked: the best depth and how it is read, the tier,
/// the huge pages that the kernel had, the plans that a planner takes and how they were judged, the rank of a set and
/// whether one is safe, and the offset of the inner zone or of a place of a sweep, which follows from the sizes of the
/// device and of a block.
fn is_outcome(parameters: &Parameters, name: &str) -> bool {
    use crate::schema::disk::parameters as place;
    use crate::schema::{ladder::parameters as rung, roundtrip::parameters as pass};
    let is_best = parameters.get(rung::RUNG.name).is_some_and(|rung| rung == "device-random-best-depth");
    let is_inner = parameters.get(place::ZONE.name).is_some_and(|zone| zone == "inner");
    let is_placed = is_inner || parameters.contains_key(place::POSITION.name);
    is_best && [rung::DEPTH.name, rung::IO_METHOD.name].contains(&name)
        || is_placed && name == place::OFFSET.name
        || [rung::HUGE_BYTES.name, pass::TIER.name].contains(&name)
        || FOUND_OF_PLANS.contains(&name)
        || name == plan::CONSTANTS.name && (is_ranked(parameters) || is_between(parameters))
        || name == plan::VERDICT.name && !is_verdict_on_bounds(parameters)
}

/// Whether the verdict of a query is all that says which of its plans were ended.
fn is_verdict_on_bounds(parameters: &Parameters) -> bool {
    let verdict = parameters.get(plan::VERDICT.name).and_then(Value::as_str);
    !parameters.contains_key(plan::ENDED.name) && verdict.is_some_and(|verdict| verdict.contains(ENDED_WORDS))
}

/// The database of two cases, where the second run has an update of it.
pub(super) fn update_of(before: &Case, after: &Case, updates: &[Update]) -> Option<Change> {
    let is_updated = |update: &Update| after.parameters.get(SUBJECT.name).is_some_and(|name| *name == *update.after);
    let (before, after) = (std::slice::from_ref(before), std::slice::from_ref(after));
    updates.iter().any(is_updated).then(|| change_of(SUBJECT.name, before, after))?
}

/// The outcomes among the parameters that differ between two cases. One case may lack what the other has found.
pub(super) fn outcomes(before: &Case, after: &Case) -> Vec<Change> {
    let (before, after) = (std::slice::from_ref(before), std::slice::from_ref(after));
    let is_found = |name: &str| before.iter().chain(after).any(|case| is_outcome(&case.parameters, name));
    let names = names(before, after).into_iter().filter(|name| is_found(name));
    names.filter_map(|name| change_of(name, before, after)).collect()
}

fn changes_between(before: &[Case], after: &[Case]) -> Vec<Change> {
    names(before, after).into_iter().filter_map(|name| change_of(name, before, after)).collect()
}

/// The names of the parameters of both sides, each once.
fn names<'a>(before: &'a [Case], after: &'a [Case]) -> Vec<&'a String> {
    sorting::each_once(before.iter().chain(after).flat_map(|case| case.parameters.keys()))
}

/// The change of one parameter; `None` when it is the same in both runs or varies within one.
pub(super) fn change_of(name: &str, before: &[Case], after: &[Case]) -> Option<Change> {
    let (left, right) = (constant(name, before)?, constant(name, after)?);
    (left != right).then(|| Change { parameter: name.into(), before: left.cloned(), after: right.cloned() })
}

/// The value that all cases share, which may be the parameter's absence; `None` when it varies or there is no case.
fn constant<'a>(name: &str, cases: &'a [Case]) -> Option<Option<&'a Value>> {
    let first = cases.first()?.parameters.get(name);
    cases.iter().all(|case| case.parameters.get(name) == first).then_some(first)
}
