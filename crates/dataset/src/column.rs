//! The columns of a data set: names and types.

use std::borrow::Cow;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// A whole number of 64 bits.
    Number,
    /// Bytes.
    Text,
    /// Days since 1970, as a number.
    Date,
}

/// A column of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it holds.
    pub kind: ColumnType,
    /// Whether it may be null.
    pub is_nullable: bool,
}

impl Column {
    pub(crate) const fn new(name: &'static str, kind: ColumnType, is_nullable: bool) -> Column {
        Column { name: Cow::Borrowed(name), kind, is_nullable }
    }
}
