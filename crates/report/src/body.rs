//! Bodies: what is shown of each experiment's run.

mod calibrate;
mod cases;
mod contest;
mod counters;
mod disk;
mod drawing;
mod findings;
mod head;
mod join;
mod ladder;
mod lio;
mod profile;
mod roundtrip;
mod scan;
mod source;
mod subjects;

pub(crate) use calibrate::{Bounds, Ended, InSets, is_excepted, ratio_of, whose_queries};
pub(crate) use cases::numbers;
use drawing::Drawing;
pub(crate) use drawing::RANGE;
pub use head::place;
pub(crate) use head::{UNSAID, database, machine, path, processor, subject, without_storage};
use measure::{Run, schema};

use crate::page::{Page, Section};

/// What is shown of one experiment between the head and the findings.
struct Body {
    experiment: &'static str,
    sections: fn(&Run) -> Vec<Section>,
    /// What is drawn of it.
    drawing: fn(&Run) -> Drawing,
    /// Whether the sections give the finding of this id.
    gives: fn(&Run, &str) -> bool,
}

const fn body(experiment: &'static str, sections: fn(&Run) -> Vec<Section>, drawing: fn(&Run) -> Drawing) -> Body {
    Body { experiment, sections, drawing, gives: |_, _| false }
}

/// The experiments that have a layout of their own; any other is shown case by case.
const BODIES: &[Body] = &[
    Body { gives: ladder::gives, ..body("ladder", ladder::sections, ladder::chart::drawing) },
    body("disk", disk::sections, disk::chart::drawing),
    body("roundtrip", roundtrip::sections, roundtrip::chart::drawing),
    body("lio", lio::sections, lio::chart::drawing),
    body("counters", counters::sections, counters::chart::drawing),
    body("scan", scan::sections, scan::chart::drawing),
    body("join", join::sections, join::chart::drawing),
    body("calibrate", calibrate::sections, calibrate::chart::drawing),
    body("contest-*", contest::sections, contest::chart::drawing),
    Body { gives: profile::gives, ..body("profile", profile::sections, profile::chart::drawing) },
];

const OTHER: Body = body("", cases::sections, |_| Drawing::default());

/// What stands in the place of the tables of a run that kept no case.
const NO_CASE: &str = "No case was finished.";

/// What stands under each chart of a run that did not come to its end.
const NOT_WHOLE: &str = "The run did not come to its end: what is missing here was not measured.";

/// The page of a run.
pub(crate) fn page(run: &Run) -> Page {
    let name = schema::experiment(&run.experiment).map_or("", |experiment| experiment.name);
    let body = BODIES.iter().find(|body| body.experiment == name).unwrap_or(&OTHER);
    let (first, last) = findings::findings(run, body.gives);
    let mut sections: Vec<Section> = [head::head(run)].into_iter().chain(first).collect();
    if run.cases.is_empty() {
        sections.push(Section::Text(NO_CASE.into()));
    } else {
        sections.extend(drawn(run, (body.drawing)(run)));
        sections.extend((body.sections)(run));
    }
    sections.push(last);
    Page { sections }
}

/// The page of a run that is kept: at its end, how other commands name it. What ended a run early has named it already.
pub(crate) fn kept_page(run: &Run) -> Page {
    let mut page = page(run);
    if !run.findings.iter().any(|finding| findings::ends(finding) && finding.message.contains(&run.id)) {
        page.sections.push(Section::Note(format!("Kept as run {}.", run.id)));
    }
    page
}

/// The numbers that matter and the charts, each with the findings that concern it.
fn drawn(run: &Run, drawing: Drawing) -> impl Iterator<Item = Section> {
    let figures = Some(drawing.figures).filter(|figures| !figures.is_empty()).map(Section::Figures);
    let is_ended = run.findings.iter().any(findings::ends);
    let charts = drawing.charts.into_iter().map(move |mut chart| {
        chart.of = head::asked(run, &chart.of);
        chart.beside = run.findings.iter().filter(|finding| chart.is_concerned(&finding.id)).cloned().collect();
        let chart = if is_ended { chart.noted(NOT_WHOLE) } else { chart };
        Section::Chart(Box::new(chart))
    });
    let undrawn = drawing.undrawn.into_iter().map(|(title, why)| Section::Undrawn { title, why });
    figures.into_iter().chain(charts).chain(undrawn)
}
