//! Access paths in words, and what was published of them.

use measure::Case;
use measure::schema::Spec;
use measure::schema::scan::{self, parameters};

use crate::page::Cell;

/// Paths with their names in tables.
const LABELS: [(&str, &str); 8] = [
    ("index-bad-clustering", "index, bad clustering"),
    ("index-good-clustering", "index, good clustering"),
    ("full-scan", "full scan"),
    ("full-scan-compressed", "full scan, compressed"),
    ("column-scan", "in memory, predicate"),
    ("column-count", "in memory, no predicate"),
    ("bitmap-scan", "bitmap, bad clustering"),
    ("index-only-scan", "index only"),
];

/// The path of a case.
pub(super) fn path(case: &Case) -> String {
    parameters::PATH.in_case(case).unwrap_or_default()
}

/// A path in words; an unknown one stands as it is written.
pub(super) fn of_path(path: &str) -> String {
    LABELS.iter().find(|(known, _)| *known == path).map_or(path, |(_, label)| label).into()
}

/// The path of a case in words, with its threads where there are several.
pub(super) fn label(case: &Case) -> String {
    let path = path(case);
    // A scan that read no code is another thing than one that did, and has another name.
    let is_unread = path == "column-scan" && scan::UNITS_READ.median(case) == Some(0.0);
    let label = if is_unread { "in memory, zone maps".into() } else { of_path(&path) };
    match parameters::THREADS.in_case(case).as_deref() {
        None | Some("1") => label,
        Some(threads) => format!("{label}, {threads} threads"),
    }
}

/// The published figure of a metric by the case's path.
pub(super) fn published(spec: &Spec, case: &Case) -> Option<Cell> {
    scan::EXPERIMENT.published(&spec.name, case).next().map(Cell::published)
}
