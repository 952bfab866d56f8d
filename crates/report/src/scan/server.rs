//! A server's access paths beside the engine's, and what only a server tells of them.

use measure::Case;

use super::{PUBLISHED, count, label, median, nanos, number};
use crate::number::{ABSENT, three_digits};
use crate::parameters::cell;
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// The parameter that tells the engine from a server beside it; cases of the engine alone do not have it.
const SUBJECT: &str = "subject";

/// The subject that stands first.
const ENGINE: &str = "engine";

/// Paths that only a server has, with their names in tables.
const OF_SERVERS: [(&str, &str); 2] = [("bitmap-scan", "bitmap, bad clustering"), ("index-only-scan", "index only")];

/// Whether a case was measured on a server.
pub(super) fn is_on_server(case: &Case) -> bool {
    let subject = cell(case, SUBJECT);
    !subject.is_empty() && subject != ENGINE
}

/// The tables; none where the engine is alone.
pub(super) fn sections(cases: &[&Case], style: &Style) -> Vec<String> {
    let on_server: Vec<&Case> = cases.iter().copied().filter(|case| is_on_server(case)).collect();
    if on_server.is_empty() {
        return Vec::new();
    }
    vec![beside(cases, &on_server, style), plans(&on_server, style)]
}

/// The cases of several threads have no counterpart on a server, where one process does all the work.
fn is_alone(case: &Case) -> bool {
    cell(case, "threads") == "1"
}

/// What a row costs by each path on each subject, and as published.
fn beside(cases: &[&Case], on_server: &[&Case], style: &Style) -> String {
    let mut subjects: Vec<String> = Vec::new();
    for case in cases {
        let subject = cell(case, SUBJECT);
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects.sort_by_key(|subject| subject != ENGINE);
    let mut table = Table::new()
        .column("path", Align::Left)
        .column("ns/row", Align::Left)
        .optional_column("instr/row", Align::Left)
        .optional_column("gets", Align::Left);
    for case in on_server {
        let path = cell(case, "path");
        let of = |subject: &String, value: &dyn Fn(&Case) -> Option<String>| {
            let is_it = |other: &&&Case| cell(other, SUBJECT) == *subject && cell(other, "path") == path;
            let found = cases.iter().find(|other| is_it(other) && is_alone(other));
            found.and_then(|case| value(case)).unwrap_or_else(|| ABSENT.into())
        };
        let published = PUBLISHED.iter().find(|row| row.path == path);
        let row = |value: &dyn Fn(&Case) -> Option<String>, published: Option<&str>| {
            let here = subjects.iter().map(|subject| of(subject, value));
            let published = published.filter(|text| !text.is_empty()).unwrap_or(ABSENT);
            let cells: Vec<String> = here.chain([published.to_string()]).collect();
            // A column of nothing is left out.
            if cells.iter().all(|cell| cell == ABSENT) { String::new() } else { cells.join(" | ") }
        };
        table.row([
            name(case),
            row(&|case| nanos(case, "row_time").map(three_digits), published.map(|row| row.row_time)),
            row(&|case| median(case, "instructions_per_row").map(three_digits), published.map(|row| row.instructions)),
            row(&|case| Some(count(case, "gets")).filter(|gets| !gets.is_empty()), published.map(|row| row.gets)),
        ]);
    }
    let title = format!("CPU of a row, everything in memory ({} | published):", subjects.join(" | "));
    wrap(&title, style.width, 2) + "\n" + &table.render(style)
}

/// What the server tells of its indexes and of what they led to.
fn plans(cases: &[&Case], style: &Style) -> String {
    let mut table = Table::new()
        .column("on the server", Align::Left)
        .optional_column("correlation", Align::Decimal)
        .column("blocks", Align::Right)
        .optional_column("of the index", Align::Right)
        .optional_column("visits/block", Align::Decimal)
        .column("ns/get", Align::Decimal)
        .optional_column("not in buffers", Align::Right);
    for case in cases {
        table.row([
            name(case),
            number(median(case, "correlation")),
            count(case, "blocks"),
            count(case, "index_blocks"),
            number(median(case, "visits_per_block")),
            number(nanos(case, "get_time")),
            count(case, "physical_reads"),
        ]);
    }
    table.render(style)
}

fn name(case: &Case) -> String {
    let path = cell(case, "path");
    OF_SERVERS.iter().find(|(known, _)| *known == path).map_or_else(|| label(case), |(_, name)| (*name).into())
}
