//! Texts put together for a page: what several parts say, and each of several things once.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;

/// Those of the parts that say something, with `sign` between them.
pub(crate) fn joined<T: Borrow<str>>(parts: impl IntoIterator<Item = T>, sign: &str) -> String {
    let said = parts.into_iter().filter(|part| !Borrow::<str>::borrow(part).is_empty());
    said.collect::<Vec<T>>().join(sign)
}

/// A text in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each of these once, in the order of their first appearance.
pub(crate) fn once<T: Clone + Eq + Hash>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.into_iter().filter(|one| seen.insert(one.clone())).collect()
}
