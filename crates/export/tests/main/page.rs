//! The table of columns on the page about the rows, made from the columns and from the schema.

use std::fmt::Write;

use export::runs::column::{COLUMNS, RunColumn, of_file};
use export::table::Column;
use measure::schema::EXPERIMENTS;

/// The lines of the page between which the table stands.
const TABLE: [&str; 2] =
    ["<!-- The table is made from the columns: UPDATE_DOCS=1 cargo test -p export -->", "<!-- End of the table. -->"];

/// The page with its table made anew; `None` where the lines between which it stands are not in it.
pub(crate) fn updated(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(TABLE[0])?;
    let (_, after) = rest.split_once(TABLE[1])?;
    Some(format!("{before}{}\n\n{}\n{}{after}", TABLE[0], table(), TABLE[1]))
}

fn table() -> String {
    let mut text = String::from("| column | values | meaning |\n| --- | --- | --- |\n");
    for (column, kind) in COLUMNS.iter().zip(of_file().iter().map(Column::kind)) {
        // Any of them may be null. Writing into a text in memory does not fail.
        let _ = writeln!(text, "| `{}` | {} | {} |", column.name, kind.trim_end_matches(", null"), meaning(column));
    }
    text
}

/// What a column means; of a parameter what it means in each experiment that has it.
fn meaning(column: &RunColumn) -> String {
    if !column.meaning.is_empty() {
        return column.meaning.into();
    }
    let mut meanings: Vec<(&str, Vec<String>)> = Vec::new();
    for experiment in EXPERIMENTS {
        for parameter in experiment.all_parameters().filter(|parameter| parameter.name == column.name) {
            let name = format!("`{}`", experiment.name);
            match meanings.iter_mut().find(|(meaning, _)| *meaning == parameter.meaning) {
                Some((_, names)) => names.push(name),
                None => meanings.push((parameter.meaning, vec![name])),
            }
        }
    }
    let of = |(meaning, names): (&str, Vec<String>)| format!("{}: {meaning}", names.join(", "));
    format!("parameter; {}", meanings.into_iter().map(of).collect::<Vec<_>>().join("; "))
}

#[test]
fn every_column_of_a_parameter_is_one_of_the_schema_and_no_name_stands_twice() {
    for (at, column) in COLUMNS.iter().enumerate() {
        assert!(!COLUMNS[..at].iter().any(|other| other.name == column.name), "{} stands twice", column.name);
        let is_known = EXPERIMENTS.iter().any(|one| one.all_parameters().any(|known| known.name == column.name));
        assert!(!column.meaning.is_empty() || is_known, "no experiment has {}, which says nothing", column.name);
    }
}
