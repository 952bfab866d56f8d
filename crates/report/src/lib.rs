//! What a run says, rendered from its document: tables for people, JSON and CSV for programs.
//!
//! This crate sees only `measure`: whatever it prints was kept, so that the same run gives the same story in every
//! format and at any later time. It returns text and writes nothing.

mod bar;
mod calibrate;
mod cases;
mod compare;
mod counters;
mod disk;
mod findings;
mod head;
mod join;
mod ladder;
mod lio;
mod number;
mod parameters;
mod profile;
mod roundtrip;
mod runs;
mod scan;
mod style;
mod table;
mod text;

pub mod csv;
pub mod flame;
pub mod json;

use measure::Run;

pub use compare::render as render_comparison;
pub use runs::render as render_runs;
pub use style::Style;

/// Renders the tables of one experiment, between the head line and the findings.
type Body = fn(&Run, &Style) -> String;

/// The experiments that have a layout of their own; any other is rendered case by case.
const BODIES: &[(&str, Body)] = &[
    ("ladder", ladder::body),
    ("disk", disk::body),
    ("roundtrip", roundtrip::body),
    ("lio", lio::body),
    ("counters", counters::body),
    ("scan", scan::body),
    ("join", join::body),
    ("calibrate", calibrate::body),
    ("profile", profile::body),
];

/// What stands in the place of the tables of a run that kept no case.
const NO_CASE: &str = "No case was finished.";

/// The whole of a run as text for people, ending in a newline.
pub fn render(run: &Run, style: &Style) -> String {
    let body = BODIES.iter().find(|(name, _)| *name == run.experiment).map_or(cases::body as Body, |(_, body)| *body);
    let body = if run.cases.is_empty() { NO_CASE.into() } else { body(run, style) };
    let sections = [head::head(run, style), body, findings::findings(run, style)];
    style.finish(&join_sections(&sections))
}

/// Sections with an empty line between them; empty ones leave no gap.
fn join_sections(sections: &[String]) -> String {
    let written: Vec<&str> =
        sections.iter().map(|section| section.trim_end()).filter(|text| !text.is_empty()).collect();
    written.join("\n\n") + "\n"
}
