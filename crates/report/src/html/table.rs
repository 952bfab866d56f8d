//! Tables as HTML. Bars are left out: a chart shows them better.

use measure::quantity::counted;

use crate::markup::{Attribute, Markup};
use crate::page::number::with_unit;
use crate::page::{Align, Cell, Column, Table};

/// Rows of a table that are written; a page is read, and the run document has all of them.
const ROWS_MAX: usize = 400;

/// Where the rows are that are not written.
pub(super) const IN_CSV: &str = "in --format csv";

/// Where they are of a chart: CSV has neither the windows of a timeline nor the buckets of a histogram.
pub(super) const IN_DOCUMENT: &str = "made from the run document, which `readpath show RUN --format json` prints";

/// Where they are of a list of runs: `report`, which makes it, has no other format.
pub(super) const BY_RUNS: &str = "listed by `readpath runs --format csv`";

/// A table in an element that scrolls by itself, so that a narrow page does not; `rest` says where its other rows are.
pub(super) fn table(markup: &mut Markup, table: &Table, name: &str, rest: &str) {
    let columns: Vec<&Column> = table.columns.iter().filter(|column| is_shown(column)).collect();
    if columns.is_empty() || table.rows() == 0 {
        return;
    }
    // Sums are of all rows, those too that are left out.
    let shown: Vec<usize> = (0..table.rows()).filter(|at| *at < ROWS_MAX || table.rules.contains(at)).collect();
    let region: [Attribute<'_>; 4] =
        [("class", &"scroll"), ("role", &"region"), ("aria-label", &name), ("tabindex", &"0")];
    markup.around("div", &region, |region| {
        region.around("table", &[], |body| {
            if let Some(title) = &table.title {
                body.element("caption", &[], title);
            }
            body.around("thead", &[], |head| {
                head.around("tr", &[], |row| columns.iter().for_each(|column| heading(row, column)));
            });
            body.line();
            body.around("tbody", &[], |rows| shown.iter().for_each(|at| line(rows, table, &columns, *at)));
        });
    });
    let left_out = table.rows() - shown.len();
    if left_out > 0 {
        let verb = if left_out == 1 { "is" } else { "are" };
        let sentence = format!("{} {verb} {rest}.", counted(left_out as u64, "more row", "more rows"));
        markup.around("p", &[("class", &"quiet")], |line| line.sentence(&sentence));
    }
    if let Some(legend) = table.legend_of(|heading| columns.iter().any(|column| column.heading == heading)) {
        markup.element("p", &[("class", &"quiet")], &legend);
    }
    if let Some(note) = &table.note {
        markup.element("p", &[("class", &"quiet")], note);
    }
    markup.line();
}

/// Whether a column says something that is not drawn.
fn is_shown(column: &Column) -> bool {
    column.align != Align::Bar && (!column.is_optional || column.cells.iter().any(|cell| !cell.text.is_empty()))
}

/// How the cells of a column stand.
fn class(column: &Column) -> &'static str {
    match column.align {
        Align::Right | Align::Decimal => "num",
        Align::Word => "word",
        Align::Left | Align::Path | Align::Bar => "",
    }
}

fn heading(row: &mut Markup, column: &Column) {
    let tag = if column.heading.is_empty() { "td" } else { "th" };
    row.element(tag, &[("class", &class(column))], &column.heading);
}

fn line(rows: &mut Markup, table: &Table, columns: &[&Column], at: usize) {
    for (_, text) in table.groups.iter().filter(|(row, _)| *row == at) {
        rows.around("tr", &[("class", &"group")], |row| {
            row.element("th", &[("colspan", &columns.len()), ("scope", &"rowgroup")], text);
        });
    }
    let sum: &str = if table.rules.contains(&at) { "sum" } else { "" };
    rows.around("tr", &[("class", &sum)], |row| {
        for (index, column) in columns.iter().enumerate() {
            cell(row, &column.cells[at], class(column), index == 0);
        }
    });
    rows.line();
}

fn cell(row: &mut Markup, cell: &Cell, class: &'static str, is_first: bool) {
    let value = cell.value.map(|value| value.to_string()).unwrap_or_default();
    let end = |value: f64| cell.unit.map_or_else(|| value.to_string(), |unit| with_unit(value, unit));
    let range = cell.spread.map(|(low, high)| (end(low), end(high))).filter(|(low, high)| low != high);
    let range = range.map(|(low, high)| format!("range {low} to {high}")).unwrap_or_default();
    let all: [Attribute<'_>; 3] = [("class", &class), ("data-v", &value), ("title", &range)];
    let given: Vec<Attribute<'_>> = all.into_iter().filter(|(_, value)| !value.to_string().is_empty()).collect();
    if is_first && !cell.text.trim().is_empty() {
        let head: Vec<Attribute<'_>> = given.into_iter().chain([("scope", &"row" as &dyn std::fmt::Display)]).collect();
        row.element("th", &head, &cell.text);
    } else {
        row.element("td", &given, &cell.text);
    }
}
