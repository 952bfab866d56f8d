//! `docs/events.md` names every column of every file, with its values and in order.

use export::rows::TABLES;

#[test]
fn the_documentation_and_the_files_have_the_same_columns() {
    let page = include_str!("../../../docs/events.md");
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
            columns().iter().map(|column| (column.name.to_string(), column.kind().into())).collect();
        assert_eq!(said, written, "{table}");
    }
    assert_eq!(page.matches("\n## ").count(), TABLES.len());
}
