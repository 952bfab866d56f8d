//! One of two profiles that are compared.

use super::executions::Executions;
use crate::ingest::Ingested;

/// A profile with what was heard of its executions.
#[derive(Debug)]
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// The profile.
    pub ingested: Ingested,
    /// Heard the same calls and waits.
    pub executions: Executions,
    /// Calls and waits for which the conditions hold; `None` without conditions.
    pub accepted: Option<u64>,
}
