//! A finding: a sentence that the run supports by itself.

use serde::{Deserialize, Serialize};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the numbers stand.
    Info,
    /// A number does not mean what it seems to mean, or could not be had.
    Warning,
}

/// What is suspicious or absent, what it means, what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// A stable name for programs, in kebab case.
    pub id: String,
    /// Full sentences: what is wrong, what it means, what to do.
    pub message: String,
}

impl Finding {
    /// A finding worth knowing.
    pub fn info(id: &str, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Info, id: id.into(), message: message.into() }
    }

    /// A finding that changes what a number means.
    pub fn warning(id: &str, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, id: id.into(), message: message.into() }
    }
}
