//! A measured cost, and what it is as a constant of the planner's: a multiple of a block that is read in sequence.

use measure::Case;
use measure::schema::calibrate;
use measure::schema::calibrate::parameters::{CACHED_PERCENT, CONSTANT};

use super::bench::Bench;
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
    /// The server's setting.
    pub(super) now: f64,
    /// `None` where the samples leave no positive value.
    pub(super) measured: Option<Estimate>,
    pub(super) cost: Cost,
    /// Of a share between none and all: microseconds, from the cost of cached and of cold blocks by that share.
    pub(super) computed: Vec<f64>,
}

impl Constant {
    /// A cost as a multiple of that of a block in sequence.
    pub(super) fn of(cost: &Cost, seq_page: &[f64], cached: u32, now: f64) -> Constant {
        // A constant that is not above 0 is lost in the noise of the samples.
        let measured = ratio(&cost.micros, seq_page).filter(|measured| measured.value > 0.0);
        let is_unit = cost.name == SEQ_PAGE;
        let measured = if is_unit { measured.map(|_| Estimate { value: 1.0, low: 1.0, high: 1.0 }) } else { measured };
        Constant { name: cost.name, cached, now, measured, cost: cost.clone(), computed: Vec::new() }
    }

    /// The case of the document.
    pub(super) fn case(&self, bench: &Bench<'_>) -> Case {
        let mut case = bench.case("constant", [CONSTANT.of(self.name), CACHED_PERCENT.of(self.cached)]);
        let source = &self.cost.source;
        case.metrics.push(calibrate::NOW.single("pg_settings of the session", self.now));
        if let Some(measured) = self.measured {
            let count = self.cost.micros.len();
            let how = format!("median of {count} samples over that of seq_page_cost; {source}");
            let ends = format!("bootstrap of the medians of {count} samples, 95 %");
            case.metrics.push(calibrate::VALUE.single(&how, measured.value));
            case.metrics.push(calibrate::VALUE_LOW.single(&ends, measured.low));
            case.metrics.push(calibrate::VALUE_HIGH.single(&ends, measured.high));
        }
        case.metrics.extend(calibrate::TIME.of_samples(source, &self.cost.micros));
        let computed = "the cost of cached and of cold blocks by their shares: to compare the measured one with";
        case.metrics.extend(calibrate::TIME_COMPUTED.of_samples(computed, &self.computed));
        case
    }
}

/// The constant that is the unit of all others.
pub(super) const SEQ_PAGE: &str = "seq_page_cost";
