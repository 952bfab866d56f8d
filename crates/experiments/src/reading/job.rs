//! A reading to be done, and what came of it.

use device::Device;
use device::plan::ReadPlan;
use device::tier::{Tier, Verdict};
use measure::schema::Spec;
use measure::{Case, Metric, Parameters};
use sys::read::MethodRow;

use crate::error::ExperimentError;
use crate::journal::Journal;

/// One reading to be done.
#[derive(Debug)]
pub struct Job<'a> {
    /// What is read.
    pub device: &'a dyn Device,
    /// How to ask the kernel, where it is asked; `None` for the method that costs least.
    pub method: Option<&'static MethodRow>,
    /// Share of the region that was never written.
    pub never_written: f64,
    /// One plan a worker.
    pub plans: &'a [ReadPlan],
    /// What the cases are called.
    pub parameters: Parameters,
    /// The reading in words, for findings: "random reads of the outer zone".
    pub what: String,
    /// Whether the page cache is meant to serve the reads: that it does is no warning then.
    pub is_meant_cached: bool,
}

/// A reading that was done.
#[derive(Debug)]
pub struct Measured {
    /// One case, or one for each segment between lasting changes of the rate. Not yet kept.
    pub cases: Vec<Case>,
    /// Which level served the reads, where there are witnesses.
    pub verdict: Option<Verdict>,
    /// What served the reads, where there are none.
    pub device_tier: Option<&'static str>,
    /// Whether ^C cut the reading short: its cases are not to be kept then.
    pub interrupted: bool,
}

impl Measured {
    /// A metric of the last case: what held at the end.
    pub fn metric(&self, spec: &Spec) -> Option<&Metric> {
        self.cases.last().and_then(|case| spec.in_case(case))
    }

    /// Whether the device served the reads: storage, by its witnesses, or a model.
    pub fn is_of_device(&self) -> bool {
        match &self.verdict {
            Some(verdict) => verdict.tier == Tier::Storage,
            None => self.device_tier == Some("model"),
        }
    }

    /// The tier that served the reads, as run documents name it.
    pub fn tier(&self) -> &'static str {
        self.verdict.as_ref().map_or(self.device_tier.unwrap_or("unknown"), |verdict| verdict.tier.name())
    }

    /// Keeps the cases, unless the reading was cut short.
    pub fn keep(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        if !self.interrupted {
            for case in &self.cases {
                journal.keep(case.clone())?;
            }
        }
        Ok(())
    }
}
