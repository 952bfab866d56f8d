//! A measured cost, and what it is as a constant of the planner's: a multiple of a block that is read in sequence.

use measure::{Case, Metric, Parameters, Unit};
use serde_json::json;

use super::estimate::{Estimate, ratio};

/// A cost of the planner's by the name of its setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) name: &'static str,
    /// Samples.
    pub(super) micros: Vec<f64>,
    pub(super) source: String,
}

/// A constant for a share of the blocks that is cached.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constant {
    pub(super) name: &'static str,
    /// Percent of the blocks.
    pub(super) cached: u32,
    /// What the server has now, and the measured one; `None` where the samples leave no positive value.
    pub(super) now: f64,
    pub(super) measured: Option<Estimate>,
    pub(super) cost: Cost,
    /// Microseconds as the share of cached blocks makes them of those of all and of none, where it is such a share.
    pub(super) computed: Vec<f64>,
}

impl Constant {
    /// A cost as a multiple of that of a block in sequence.
    pub(super) fn of(cost: &Cost, seq_page: &[f64], cached: u32, now: f64) -> Constant {
        // A constant that is not above 0 says that the samples drown it.
        let measured = ratio(&cost.micros, seq_page).filter(|measured| measured.value > 0.0);
        let is_unit = cost.name == SEQ_PAGE;
        let measured = if is_unit { measured.map(|_| Estimate { value: 1.0, low: 1.0, high: 1.0 }) } else { measured };
        Constant { name: cost.name, cached, now, measured, cost: cost.clone(), computed: Vec::new() }
    }

    /// The case of the document.
    pub(super) fn case(&self, subject: &str) -> Case {
        let mut parameters = Parameters::new();
        parameters.insert("subject".into(), json!(subject));
        parameters.insert("part".into(), json!("constant"));
        parameters.insert("constant".into(), json!(self.name));
        parameters.insert("cached_percent".into(), json!(self.cached));
        let mut case = Case::new(parameters);
        let source = &self.cost.source;
        case.metrics.push(Metric::single("now", Unit::Ratio, "pg_settings of the session", self.now));
        if let Some(measured) = self.measured {
            let count = self.cost.micros.len();
            let how = format!("median of {count} samples over that of seq_page_cost; {source}");
            let ends = format!("bootstrap of the medians of {count} samples, 95 %");
            case.metrics.push(Metric::single("value", Unit::Ratio, &how, measured.value));
            case.metrics.push(Metric::single("value_low", Unit::Ratio, &ends, measured.low));
            case.metrics.push(Metric::single("value_high", Unit::Ratio, &ends, measured.high));
        }
        case.metrics.extend(Metric::of_samples("time", Unit::Microseconds, source, &self.cost.micros));
        let computed = "the cost of cached and of cold blocks by their shares: to hold the measured one against";
        case.metrics.extend(Metric::of_samples("time_computed", Unit::Microseconds, computed, &self.computed));
        case
    }
}

/// The constant that is the unit of all others.
pub(super) const SEQ_PAGE: &str = "seq_page_cost";
