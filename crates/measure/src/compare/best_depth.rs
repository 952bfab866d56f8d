//! Two devices, each at the depth at which it gives most reads a second.
//!
//! Cases are paired by their depths, and the best depths of two devices seldom are one.

use std::slice::from_ref;

use serde_json::Value;

use super::matching::change_of;
use super::{CaseComparison, compare_cases, disturbed};
use crate::case::Case;
use crate::run::Run;
use crate::schema::{ladder::parameters as rung, reads};
use crate::sorting;

/// The rungs of a ladder that are random reads of its device.
const RUNGS: [&str; 2] = ["device-random-depth-1", "device-random-best-depth"];

/// Parameters of reads that are not of the device as a whole, or not in random order.
const OTHERWISE: [&str; 4] = ["zone", "position", "distance", "segment"];

/// Parameters that differ with the depth.
const WITH_DEPTH: [&str; 4] = ["rung", "depth", "io_method", "reap_batch"];

/// The cases of most reads a second of both runs; `None` unless one of them tried several depths.
pub(super) fn best_depth(before: &Run, after: &Run) -> Option<CaseComparison> {
    if before.experiment != after.experiment {
        return None;
    }
    let (left, right) = (candidates(before)?, candidates(after)?);
    if depths(&left) < 2 && depths(&right) < 2 {
        return None;
    }
    let (first, second) = (best(&left)?, best(&right)?);
    let disturbances = disturbed::of_both((before, first), (after, second));
    let seed = before.cases.len() as u64;
    let change = |name| change_of(name, from_ref(first), from_ref(second));
    let outcomes = [rung::DEPTH.name, rung::IO_METHOD.name].into_iter().filter_map(change).collect();
    Some(CaseComparison { outcomes, ..compare_cases(first, second, disturbances, seed) })
}

/// Random reads of the device that differ in their depth alone; `None` where they differ in more.
fn candidates(run: &Run) -> Option<Vec<&Case>> {
    let is_one = |case: &&Case| {
        let text = |name: &str| case.parameters.get(name).and_then(Value::as_str);
        depth(case).is_some()
            && reads::IOPS.in_case(case).is_some()
            && text("rung").is_none_or(|rung| RUNGS.contains(&rung))
            && text("pattern").is_none_or(|pattern| pattern == "random")
            && OTHERWISE.iter().all(|name| !case.parameters.contains_key(*name))
    };
    let found: Vec<&Case> = run.cases.iter().filter(is_one).collect();
    let rest = |case: &Case| {
        let mut rest = case.parameters.clone();
        rest.retain(|name, _| !WITH_DEPTH.contains(&name.as_str()));
        rest
    };
    let is_alike = found.windows(2).all(|two| rest(two[0]) == rest(two[1]));
    is_alike.then_some(found)
}

fn depth(case: &Case) -> Option<u64> {
    case.parameters.get(rung::DEPTH.name).and_then(Value::as_u64)
}

fn depths(cases: &[&Case]) -> usize {
    sorting::set(cases.iter().filter_map(|case| depth(case))).len()
}

/// The case of most reads a second.
fn best<'a>(cases: &[&'a Case]) -> Option<&'a Case> {
    let rate = |case: &Case| reads::IOPS.in_case(case).map_or(0.0, |iops| iops.statistics.mean);
    cases.iter().copied().max_by(|one, other| rate(one).total_cmp(&rate(other)))
}
