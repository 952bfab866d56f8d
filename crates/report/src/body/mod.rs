//! Bodies: what is shown of each experiment's run.

mod calibrate;
mod cases;
mod contest;
mod counters;
mod disk;
mod findings;
mod head;
mod join;
mod ladder;
mod lio;
mod profile;
mod roundtrip;
mod scan;
mod subjects;

pub(crate) use head::subject;
use measure::{Run, schema};

use crate::page::{Page, Section};

/// What is shown of one experiment between the head and the findings.
struct Body {
    experiment: &'static str,
    sections: fn(&Run) -> Vec<Section>,
    /// Whether the sections give the finding of this id.
    gives: fn(&str) -> bool,
}

const fn body(experiment: &'static str, sections: fn(&Run) -> Vec<Section>) -> Body {
    Body { experiment, sections, gives: |_| false }
}

/// The experiments that have a layout of their own; any other is shown case by case.
const BODIES: &[Body] = &[
    Body { gives: ladder::gives, ..body("ladder", ladder::sections) },
    body("disk", disk::sections),
    body("roundtrip", roundtrip::sections),
    body("lio", lio::sections),
    body("counters", counters::sections),
    body("scan", scan::sections),
    body("join", join::sections),
    body("calibrate", calibrate::sections),
    body("contest-*", contest::sections),
    Body { gives: profile::gives, ..body("profile", profile::sections) },
];

const OTHER: Body = body("", cases::sections);

/// What stands in the place of the tables of a run that kept no case.
const NO_CASE: &str = "No case was finished.";

/// The page of a run.
pub(crate) fn page(run: &Run) -> Page {
    let name = schema::experiment(&run.experiment).map_or("", |experiment| experiment.name);
    let body = BODIES.iter().find(|body| body.experiment == name).unwrap_or(&OTHER);
    let (first, last) = findings::findings(run, body.gives);
    let mut sections: Vec<Section> = [head::head(run)].into_iter().chain(first).collect();
    if run.cases.is_empty() {
        sections.push(Section::Text(NO_CASE.into()));
    } else {
        sections.extend((body.sections)(run));
    }
    sections.push(last);
    Page { sections }
}
