//! Texts put together for a page: what several parts say, and a text in one line.

use std::borrow::Borrow;

/// Those of the parts that say something, with `sign` between them.
pub(crate) fn joined<T: Borrow<str>>(parts: impl IntoIterator<Item = T>, sign: &str) -> String {
    let said = parts.into_iter().filter(|part| !Borrow::<str>::borrow(part).is_empty());
    said.collect::<Vec<T>>().join(sign)
}

/// A text in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
