//! Access paths in words, and what was published of them.

use measure::Case;
use measure::schema::Spec;
use measure::schema::scan::{self, parameters};

use crate::page::Cell;

/// Paths with their names in tables: those of `--path`, which sentences use, in words.
const LABELS: [(&str, &str); 8] = [
    ("index-bad-clustering", "index, bad clustering"),
    ("index-good-clustering", "index, good clustering"),
    ("full-scan", "full scan"),
    ("full-scan-compressed", "full scan, compressed"),
    ("column-scan", "column scan"),
    ("column-count", "column count"),
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

/// Whether a column scan read no code, because zone maps answered: that is another thing than a scan that did.
pub(super) fn is_unread(case: &Case) -> bool {
    path(case) == "column-scan" && scan::UNITS_READ.median(case) == Some(0.0)
}

/// The path of a case in words, with its threads where there are several.
pub(super) fn label(case: &Case) -> String {
    let path = path(case);
    let label = if is_unread(case) { format!("{}, zone maps", of_path(&path)) } else { of_path(&path) };
    match parameters::THREADS.in_case(case).as_deref() {
        None | Some("1") => label,
        Some(threads) => format!("{label}, {threads} threads"),
    }
}

/// The published figure of a metric by the case's path.
pub(super) fn published(spec: &Spec, case: &Case) -> Option<Cell> {
    scan::EXPERIMENT.published(&spec.name, case).next().map(Cell::published)
}

/// The same as a figure to stand next to the case's own: none where no row was compared with a predicate, as those of
/// the published scan were.
pub(super) fn published_beside(spec: &Spec, case: &Case) -> Option<Cell> {
    published(spec, case).filter(|_| !is_unread(case))
}
