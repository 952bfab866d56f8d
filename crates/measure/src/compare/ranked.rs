//! Sets of a calibration that another run may call otherwise. Where a name is a rank, it stands for another set there,
//! and the constants tell which is which. The set between the states has one of two names.

use std::collections::HashMap;

use serde_json::Value;

use crate::case::{Case, Parameters};
use crate::schema::calibrate::{self, parameters as plan};

/// The constants of the sets of one run whose name is a rank, by their state and name.
pub(super) struct Ranked(HashMap<[String; 2], String>);

impl Ranked {
    /// Those among the cases of a run.
    pub(super) fn of(cases: &[Case]) -> Ranked {
        let sets = cases.iter().filter(|case| case.is(plan::PART.name, "set"));
        Ranked(sets.filter_map(|set| Some((rank(&set.parameters)?, constants(set)?))).collect())
    }

    /// The constants of the set that a case is of; `None` where its name is no rank, or the run lacks them.
    pub(super) fn constants(&self, parameters: &Parameters) -> Option<&str> {
        self.0.get(&rank(parameters)?).map(String::as_str)
    }
}

/// Whether a case is of a set whose name is a rank.
pub(super) fn is_ranked(parameters: &Parameters) -> bool {
    text(parameters, plan::CONSTANTS.name).starts_with(calibrate::RANKED)
}

/// Whether a case is of the set between the states, which is called safe where it harmed no query.
pub(super) fn is_between(parameters: &Parameters) -> bool {
    [calibrate::BETWEEN, calibrate::SAFE].contains(&text(parameters, plan::CONSTANTS.name))
}

/// The state and the name of the set that a case is of, where the name is a rank.
fn rank(parameters: &Parameters) -> Option<[String; 2]> {
    let both = || [plan::STATE.name, plan::CONSTANTS.name].map(|name| text(parameters, name).to_string());
    is_ranked(parameters).then(both)
}

fn text<'a>(parameters: &'a Parameters, name: &str) -> &'a str {
    parameters.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn constants(set: &Case) -> Option<String> {
    let one = |name: &&str| Some(format!("{name} = {}", calibrate::SETTING.of(name).median(set)?));
    let all: Vec<String> = calibrate::SET_CONSTANTS.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
