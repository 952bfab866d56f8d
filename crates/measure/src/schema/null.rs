//! `null`: reads of the clock, to show the command layer at work.

use super::own_cost;
use super::spec::{Experiment, parameters};

parameters! {
    REPETITION = "repetition", "number of the case, from 1";
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "null",
    parameters: &[parameters::ALL],
    metrics: &[&[own_cost::CLOCK_READ]],
    families: &[],
    findings: &[],
    published: &[],
};
