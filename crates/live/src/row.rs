//! Cells of the rows of a server's answer.

use std::str::FromStr;

use server::Row;

/// The text of a cell; `None` where it is null, or the row has another shape.
pub(crate) fn text(row: &Row, at: usize) -> Option<&str> {
    row.get(at)?.as_deref()
}

/// What the text of a cell says; `None` also where it says something else.
pub(crate) fn parsed<T: FromStr>(row: &Row, at: usize) -> Option<T> {
    text(row, at)?.parse().ok()
}
