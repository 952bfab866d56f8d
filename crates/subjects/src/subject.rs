//! What every subject does, whatever the experiment: it has a name, describes itself, notes findings and leaves nothing
//! behind.

use measure::{Finding, Metric, Parameters};

use crate::error::SubjectError;

/// The name of the embedded engine, against which other subjects are compared.
pub const ENGINE: &str = "engine";

/// What the text of all rows depends on. One seed for good, so that tables of an earlier run serve again.
pub(crate) const TABLE_SEED: u64 = 1;

/// Something an experiment is run on.
///
/// A subject does what an experiment asks and returns what that took; it renders nothing. What it cannot do it says as
/// a finding with the reason, as what disturbed it.
pub trait Subject {
    /// Its name in cases and sentences: `engine`, `postgres 18.6`.
    fn name(&self) -> &str;

    /// What the run document says about it, under `subject`.
    fn description(&self) -> Parameters;

    /// What it noticed since the last call.
    fn findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }

    /// Removes what it made. Dropping the subject does the same and loses the findings.
    fn finish(self: Box<Self>) -> Closing;
}

/// What a subject reports at its end.
#[derive(Debug)]
pub struct Closing {
    /// What it noticed since the last call of [`Subject::findings`], and over the whole run.
    pub findings: Vec<Finding>,
    /// What this program took of the machine beside the subject's own processes.
    pub own_cost: Vec<Metric>,
    /// Whether all that was made is gone.
    pub outcome: Result<(), SubjectError>,
}

impl Closing {
    /// Nothing to report.
    pub fn quiet() -> Closing {
        Closing { findings: Vec::new(), own_cost: Vec::new(), outcome: Ok(()) }
    }
}
