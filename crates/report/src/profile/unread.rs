//! What was not read of the files, where the run was asked to list it.

use measure::Run;
use serde_json::Value;

use super::calls::count;
use super::row::rows;
use crate::style::Style;
use crate::table::{Align, Table};

/// Kinds of lines by file.
pub(super) fn table(run: &Run, style: &Style) -> String {
    if run.subject.get("explain_unread").and_then(Value::as_bool) != Some(true) {
        return String::new();
    }
    let mut table = Table::new()
        .column("not read", Align::Left)
        .column("lines", Align::Right)
        .column("bytes", Align::Right)
        .column("first at byte", Align::Right)
        .column("file", Align::Left);
    let mut is_empty = true;
    for row in rows(run, "unread") {
        is_empty = false;
        table.row([
            row.text("kind").to_string(),
            count(row.value("lines")),
            count(row.value("bytes")),
            count(row.value("first_offset")),
            row.text("file").to_string(),
        ]);
    }
    if is_empty { "Every line was read.".into() } else { table.render(style) }
}
