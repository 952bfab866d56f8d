//! A reading to be done, and what came of it.

use device::plan::ReadPlan;
use device::tier::{Stored, Tier, Verdict};
use device::{Device, Unwitnessed};
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
    /// What the file system stores of the region.
    pub stored: Stored,
    /// One plan a worker.
    pub plans: &'a [ReadPlan],
    /// What the cases are called.
    pub parameters: Parameters,
    /// The reading in words, for findings: "random reads of the outer zone".
    pub what: String,
    /// What the page cache means to it.
    pub page_cache: PageCache,
}

/// What the page cache means to a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCache {
    /// It is meant to serve the reads: that it does is no warning.
    Meant,
    /// It is in the way, and this helps: `use --direct`.
    InTheWay(&'static str),
}

/// A reading that was done.
#[derive(Debug)]
pub struct Measured {
    /// One case, or one for each segment between lasting changes of the rate. Not yet kept.
    pub cases: Vec<Case>,
    /// Which level served the reads, where there are witnesses.
    pub verdict: Option<Verdict>,
    /// What the device says served them, where there are none.
    pub unwitnessed: Option<Unwitnessed>,
    /// Whether ^C cut the reading short: its cases are not to be kept then.
    pub interrupted: bool,
}

impl Measured {
    /// A metric of the last case: what held at the end.
    pub fn metric(&self, spec: &Spec) -> Option<&Metric> {
        self.cases.last().and_then(|case| spec.in_case(case))
    }

    /// Whether the device served the reads, by its witnesses or as it says itself.
    pub fn is_of_device(&self) -> bool {
        match &self.verdict {
            Some(verdict) => verdict.tier == Tier::Storage,
            None => self.unwitnessed.is_some_and(|device| device.takes_time),
        }
    }

    /// The tier that served the reads, as run documents name it.
    pub fn tier(&self) -> &'static str {
        let of_device = self.unwitnessed.map_or("unknown", |device| device.tier);
        self.verdict.as_ref().map_or(of_device, |verdict| verdict.tier.name())
    }

    /// Keeps the cases, unless the reading was cut short.
    pub fn keep(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        if !self.interrupted {
            journal.keep_all(self.cases.clone())?;
        }
        Ok(())
    }
}
