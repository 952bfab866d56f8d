//! Why a data set cannot be made.

use thiserror::Error;

/// Rows that cannot be: what is wrong, and what to ask for instead.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Refused(pub String);
