//! The parts of a calibration, and what tells one of its sets from others in both runs.

use measure::schema::calibrate::{self, parameters as plan};
use measure::{Case, Run};

use crate::page::number::three_digits;
use crate::page::parameters::cell;

/// The server's own constants among the sets.
pub(super) const NOW: &str = "now";

/// What tells a set from others in both runs: its state, and its name or its constants.
pub(super) type Key = [String; 2];

/// The cases of one part of a calibration.
pub(super) fn part<'a>(run: &'a Run, name: &'a str) -> impl Iterator<Item = &'a Case> {
    run.cases_where(plan::PART.name, name)
}

/// Whether the name of a set is a rank among those of its run.
pub(crate) fn is_ranked(name: &str) -> bool {
    name.starts_with(calibrate::RANKED)
}

/// The name of a set; of one that was only tried with its constants, because its number is a rank in its run.
pub(super) fn named(set: &Case) -> String {
    let (name, values) = (cell(set, plan::CONSTANTS.name), values(set, three_digits));
    if is_ranked(&name) && !values.is_empty() { format!("{name}: {values}") } else { name }
}

/// The key of a set: of one whose name is a rank, its constants.
pub(super) fn key(set: &Case) -> Key {
    let name = cell(set, plan::CONSTANTS.name);
    let values = if is_ranked(&name) { values(set, |value| value.to_string()) } else { String::new() };
    let known_as = if name == calibrate::SAFE {
        calibrate::BETWEEN.to_string()
    } else if values.is_empty() {
        name
    } else {
        values
    };
    [cell(set, plan::STATE.name), known_as]
}

/// The constants of a set with their values as `text`; empty where the run has none of them.
pub(super) fn values(set: &Case, text: impl Fn(f64) -> String) -> String {
    let one = |name: &&str| Some(format!("{name} = {}", text(calibrate::SETTING.of(name).median(set)?)));
    calibrate::SET_CONSTANTS.iter().filter_map(one).collect::<Vec<String>>().join(", ")
}
