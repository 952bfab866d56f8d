//! A finding: a sentence that the run supports by itself, with its numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::unit::Unit;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the numbers stand.
    Info,
    /// A number does not mean what it seems to mean, or could not be measured.
    Warning,
}

/// A number of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    /// What it is counted in.
    pub unit: Unit,
}

/// What is suspicious or absent, what it means, what to do. It is made from its row of the schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// A stable name for programs, in kebab case.
    pub id: String,
    /// Full sentences: what is wrong, what it means, what to do.
    pub message: String,
    /// The numbers of the sentence by their names, for programs and charts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Quantity>,
}

impl Finding {
    /// A finding without numbers.
    pub(crate) fn new(severity: Severity, id: String, message: String) -> Finding {
        Finding { severity, id, message, values: BTreeMap::new() }
    }

    /// The finding with one of its numbers; a value that is not finite is left out.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64, unit: Unit) -> Finding {
        if value.is_finite() {
            self.values.insert(name.into(), Quantity { value, unit });
        }
        self
    }
}
