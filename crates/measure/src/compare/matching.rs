//! Which case of one run answers to which case of the other.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use serde_json::Value;

use crate::case::{Case, Parameters};
use crate::sorting;

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

/// Cases side by side, and those that stand alone.
pub(super) struct Pairs<'a> {
    pub(super) changes: Vec<Change>,
    pub(super) pairs: Vec<(&'a Case, &'a Case)>,
    pub(super) only_before: Vec<&'a Case>,
    pub(super) only_after: Vec<&'a Case>,
}

impl<'a> Pairs<'a> {
    /// Every case alone.
    pub(super) fn none(before: &'a [Case], after: &'a [Case]) -> Pairs<'a> {
        let (only_before, only_after) = (before.iter().collect(), after.iter().collect());
        Pairs { changes: Vec::new(), pairs: Vec::new(), only_before, only_after }
    }
}

/// Pairs cases by equal parameters.
///
/// Where not one pair is found, the runs differ as wholes (another device, another depth), which is what a comparison
/// is often for: parameters that are constant within each run but not the same in both are then set aside.
pub(super) fn pair_cases<'a>(before: &'a [Case], after: &'a [Case]) -> Pairs<'a> {
    let strict = pair_without(before, after, Vec::new());
    if !strict.pairs.is_empty() {
        return strict;
    }
    let changes = changes_between(before, after);
    if changes.is_empty() { strict } else { pair_without(before, after, changes) }
}

/// Equal cases are paired in their order, so that a run that repeats a case is compared repetition by repetition.
fn pair_without<'a>(before: &'a [Case], after: &'a [Case], changes: Vec<Change>) -> Pairs<'a> {
    // A profile has thousands of cases: each side is walked once, and partners are found by their parameters' text.
    let mut partners: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (index, case) in after.iter().enumerate() {
        partners.entry(reduced(&case.parameters, &changes)).or_default().push_back(index);
    }
    let mut is_paired = vec![false; after.len()];
    let (mut pairs, mut only_before) = (Vec::new(), Vec::new());
    for case in before {
        let partner = partners.get_mut(&reduced(&case.parameters, &changes)).and_then(VecDeque::pop_front);
        match partner {
            Some(index) => {
                is_paired[index] = true;
                pairs.push((case, &after[index]));
            }
            None => only_before.push(case),
        }
    }
    let only_after = after.iter().zip(is_paired).filter(|(_, is_paired)| !is_paired).map(|(case, _)| case).collect();
    Pairs { changes, pairs, only_before, only_after }
}

/// The parameters without those that are set aside, as one text in which their order does not matter.
fn reduced(parameters: &Parameters, changes: &[Change]) -> String {
    let is_set_aside = |name: &str| changes.iter().any(|change| change.parameter == name);
    let kept = parameters.iter().filter(|(name, _)| !is_set_aside(name) && !is_outcome(parameters, name));
    let mut kept: Vec<(&String, String)> = kept.map(|(name, value)| (name, value.to_string())).collect();
    sorting::ascending(&mut kept);
    // As a list of JSON texts no name or value can be mistaken for the border between two.
    Value::from(kept.into_iter().flat_map(|(name, value)| [name.clone(), value]).collect::<Vec<_>>()).to_string()
}

/// Whether a parameter is what the run found and not what it was asked: the best depth and how it is read, the tier,
/// the huge pages that the kernel had, the constants by which a planner takes a path, and the offset of the inner zone
/// or of a place of a sweep, which follows from the sizes of the device and of a block.
fn is_outcome(parameters: &Parameters, name: &str) -> bool {
    use crate::schema::{calibrate::parameters as plan, disk::parameters as place};
    use crate::schema::{ladder::parameters as rung, roundtrip::parameters as pass};
    let is_best = parameters.get(rung::RUNG.name).is_some_and(|rung| rung == "device-random-best-depth");
    let is_inner = parameters.get(place::ZONE.name).is_some_and(|zone| zone == "inner");
    let is_placed = is_inner || parameters.contains_key(place::POSITION.name);
    is_best && [rung::DEPTH.name, rung::IO_METHOD.name].contains(&name)
        || is_placed && name == place::OFFSET.name
        || [rung::HUGE_BYTES.name, pass::TIER.name, plan::CHOSEN_BY.name].contains(&name)
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
    let mut names: Vec<&String> = Vec::new();
    for name in before.iter().chain(after).flat_map(|case| case.parameters.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The change of one parameter; `None` when it is the same in both runs or varies within one.
fn change_of(name: &str, before: &[Case], after: &[Case]) -> Option<Change> {
    let (left, right) = (constant(name, before)?, constant(name, after)?);
    (left != right).then(|| Change { parameter: name.into(), before: left.cloned(), after: right.cloned() })
}

/// The value that all cases share, which may be the parameter's absence; `None` when it varies or there is no case.
fn constant<'a>(name: &str, cases: &'a [Case]) -> Option<Option<&'a Value>> {
    let first = cases.first()?.parameters.get(name);
    cases.iter().all(|case| case.parameters.get(name) == first).then_some(first)
}
