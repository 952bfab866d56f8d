//! A measured cost of the planner's.

/// A cost of the planner's by the name of its setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) name: &'static str,
    /// Samples of one pass.
    pub(super) micros: Vec<f64>,
    pub(super) source: String,
}
