//! A case: one combination of an experiment's parameters, and what was measured under it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metric::Metric;
use crate::timeline::Timeline;

/// The parameters of a case by name, in the order in which tables show them.
pub type Parameters = Map<String, Value>;

/// One combination of parameters with its metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// What was set.
    pub parameters: Parameters,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// Rate and latency over the time of the case, where it lasted long enough to have windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

impl Case {
    /// A case without metrics yet.
    pub fn new(parameters: Parameters) -> Case {
        Case { parameters, metrics: Vec::new(), timeline: None }
    }

    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// A parameter's value as plain text, without the quotes of JSON.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.parameters.get(name).map(plain)
    }
}

/// A JSON value as a person would write it in a table.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
