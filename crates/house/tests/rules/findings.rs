//! The rule about findings: each group of the schema is read on both sides of its conditions, and only its rows make
//! findings.

use crate::tree::Tree;

/// Groups of findings that no test reads yet, by the file of the schema. An entry may only go.
pub(crate) const NOT_READ_YET: &[&str] = &[];

/// Groups of findings that are not read on both sides, and exceptions that are.
pub(crate) fn unread_groups(tree: &Tree, exceptions: &[&str]) -> Vec<String> {
    let of_schema = tree.files.iter().filter(|file| file.path.starts_with("crates/measure/src/schema/"));
    let groups = of_schema.filter(|file| file.text.lines().any(|line| line == "findings! {"));
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs").to_string();
    // A call may have line breaks anywhere; the rules' own samples are no tests.
    let tests = tree.ending(".rs").filter(|file| !file.path.starts_with("crates/house/"));
    let tests: Vec<String> = tests.map(|file| file.text.split_whitespace().collect()).collect();
    let is_read = |group: &str| {
        let call = format!("both_sides(&{group}::findings::ALL,");
        tests.iter().any(|text| text.contains(&call))
    };
    let complaint = |group: String| match (is_read(&group), exceptions.contains(&group.as_str())) {
        (false, false) => Some(format!("the findings of {group} are read on no side: see crates/measure/tests/sides")),
        (true, true) => Some(format!("the findings of {group} are read: take the exception away")),
        _ => None,
    };
    groups.map(|file| name(&file.path)).filter_map(complaint).collect()
}

/// Findings that are made from a word instead of a row of the schema.
pub(crate) fn made_without_a_row(tree: &Tree) -> Vec<String> {
    let made = |text: &str| ["info(", "warning("].iter().any(|end| text.contains(&format!("Finding::{end}")));
    let strange = tree.ending(".rs").filter(|file| made(&file.text));
    strange.map(|file| format!("{}: a finding without a row of the schema", file.path)).collect()
}
