//! A statement on one line, for lists and sentences.

/// A statement without the line breaks of the source.
pub(crate) fn one_line(statement: &str) -> String {
    statement.split_whitespace().collect::<Vec<_>>().join(" ")
}
