//! The round trip on a modelled device: first touch, and what its own cache makes of the blocks.

use std::time::Duration;

use device::model::Model;
use measure::Finding;
use serde_json::json;

use super::layout::{Layout, Requests};
use super::{BLOCKS_PER_READ, MEASURED_ROUNDS, Pass, WARMING_ROUNDS, answers};
use crate::disk::describe_model;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{self, Answer, Job, Place, RateChanges};

/// Runs the passes that a model has: there is no host before it, so none is answered by a page cache.
pub(super) fn run(
    model: &Model,
    layout: Layout<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    describe_model(model, journal);
    journal.find(Finding::info(
        "absent-page-cached",
        "The page-cached pass is absent: a model has no host in front of it, and so no page cache.",
    ));
    let mut answered = Vec::new();
    for (index, blocks_per_read) in BLOCKS_PER_READ.into_iter().enumerate() {
        let requests = layout.requests(index, blocks_per_read);
        for pass in [Pass::FirstTouch, Pass::StorageCached] {
            let answer = measure(model, layout, pass, requests, machine, journal)?;
            if answer.interrupted {
                return Ok(());
            }
            answered.push((pass, blocks_per_read, answer));
        }
    }
    answers::report(&layout.path.display().to_string(), &answered, journal);
    Ok(())
}

/// One pass. The model begins each at rest, so the rounds that make the blocks hot are its warm-up.
fn measure(
    model: &Model,
    layout: Layout<'_>,
    pass: Pass,
    requests: Requests,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Answer, ExperimentError> {
    let what = layout.what(pass, requests);
    journal.step(&what, Duration::from_secs(1));
    let (warm_up, rounds) = if pass == Pass::FirstTouch { (0, 1) } else { (WARMING_ROUNDS, MEASURED_ROUNDS) };
    let plans = vec![layout.plan(requests, requests.count * warm_up, requests.count * rounds)];
    let parameters = layout.case(pass, requests);
    let job = Job { place: Place::Model(model), plans, parameters, what, rate_changes: RateChanges::Keep };
    let mut answer = reading::run(machine, job, journal)?;
    if let Some(case) = answer.cases.last_mut() {
        case.parameters.insert("tier".into(), json!("model"));
    }
    answer.keep(journal)?;
    Ok(answer)
}
