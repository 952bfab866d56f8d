//! Two calibrations side by side: what changed in the advice, which constants differ, which queries have another
//! verdict, and of the other values, of which there are hundreds, those that differ most, and how many do not differ.

mod advice;
mod constants;
mod others;
mod parts;
mod values;
mod verdicts;

use measure::Run;
use measure::compare::Comparison;
use measure::schema::calibrate;

use crate::differences::shown_metrics;
use crate::page::Section;
pub(crate) use parts::is_ranked;
pub(crate) use values::{beyond_noise, counts, disturbed};

/// Whether both runs are calibrations.
pub(crate) fn are_both(comparison: &Comparison) -> bool {
    let (first, second) = &comparison.experiments;
    first == calibrate::EXPERIMENT.name && first == second
}

/// Whether they have a value in common that a page shows.
pub(crate) fn have_values(comparison: &Comparison) -> bool {
    comparison.cases.iter().any(|case| shown_metrics(case).next().is_some())
}

/// What the reader looks for first: the advice, the constants that differ, the queries with another verdict, and what
/// else was judged in one run only or in another way. Where no constant and no verdict differs, a sentence says so.
pub(crate) fn answers(runs: [&Run; 2]) -> Vec<Section> {
    let mut sections: Vec<Section> = advice::section(runs).into_iter().collect();
    sections.extend(constants::section(runs));
    sections.extend(verdicts::sections(runs));
    sections.extend(others::sections(runs));
    sections
}
