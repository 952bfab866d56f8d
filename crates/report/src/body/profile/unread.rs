//! What was not read of the files, where the run was asked to list it.

use measure::Run;
use serde_json::Value;

use super::amount::count;
use super::row::{Row, rows};
use crate::page::{Align, Section, Table};

/// Kinds of lines by file.
pub(super) fn section(run: &Run) -> Option<Section> {
    if run.subject.get("explain_unread").and_then(Value::as_bool) != Some(true) {
        return None;
    }
    let unread: Vec<Row> = rows(run, "unread").collect();
    let table = Table::over(&unread)
        .column("not read", Align::Left, |row| row.text("kind"))
        .column("lines", Align::Right, |row| row.value("lines").map(count))
        .column("bytes", Align::Right, |row| row.value("bytes").map(count))
        .column("first at byte", Align::Right, |row| row.value("first_offset").map(count))
        .column("file", Align::Left, |row| row.text("file"))
        .unless_empty();
    Some(table.map_or_else(|| Section::Text("Every line was read.".into()), Section::Table))
}
