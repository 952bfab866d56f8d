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

    /// Takes the metrics out of which a value is no number.
    pub fn take_spoilt(&mut self) -> Vec<Metric> {
        // Hardly ever is there one, and to take none out would move all of them.
        match self.metrics.iter().all(Metric::is_finite) {
            true => Vec::new(),
            false => self.metrics.extract_if(.., |metric| !metric.is_finite()).collect(),
        }
    }

    /// A parameter's value. A case has few, and the one that is asked for most stands first: to look through them takes
    /// less time than to hash the name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// A parameter's value as plain text, without the quotes of JSON.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.value(name).map(plain)
    }

    /// Whether a parameter is this text.
    pub fn is(&self, name: &str, text: &str) -> bool {
        self.value(name).and_then(Value::as_str) == Some(text)
    }
}

/// A JSON value as a person would write it in a table.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
