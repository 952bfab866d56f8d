//! `docs/events.md` and `docs/rows.md` name every column of every file, with its values and in order.
//! `UPDATE_DOCS=1 cargo test -p export` writes the table of the latter anew.

use std::env;
use std::fs;
use std::path::Path;

use export::rows::TABLES;

use crate::page;

#[test]
fn the_documentation_and_the_files_have_the_same_columns() {
    let page = include_str!("../../../../docs/events.md");
    for (table, columns) in TABLES {
        let section = page.split("\n## ").find(|section| section.starts_with(&format!("{table}\n")));
        let section = section.unwrap_or_else(|| panic!("no section {table}"));
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let said: Vec<(String, String)> = rows
            .map(|row| {
                let mut parts = row.split(" | ");
                let name = parts.next().unwrap_or_default().trim_end_matches('`');
                (name.into(), parts.next().unwrap_or_default().into())
            })
            .collect();
        let written: Vec<(String, String)> =
            columns().iter().map(|column| (column.name.to_string(), column.kind())).collect();
        assert_eq!(said, written, "{table}");
    }
    // The last chapter is held against the crate that writes recordings.
    assert_eq!(page.matches("\n## ").count(), TABLES.len() + 1);
}

#[test]
fn the_page_on_rows_has_every_column_with_its_meaning() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rows.md");
    let page = fs::read_to_string(&path).unwrap();
    let updated = page::updated(&page).unwrap();
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &updated).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap();
    assert!(page == updated, "{} is older than the columns: UPDATE_DOCS=1 cargo test -p export", path.display());
    assert_eq!(page::updated("a page without the lines"), None);
}
