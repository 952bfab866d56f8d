//! The observers that stand beside the tables of every profile, as one: readings, the miss curve, statements by
//! session, and a breakdown where one was asked for.

use measure::{Case, Finding};

use crate::block_wait::BlockWaits;
use crate::miss_curve::MissCurve;
use crate::observer::{Call, Context, Observer, Wait};
use crate::readings::{LogicalIo, Readings, logical_io, statement_works};
use crate::session_statements::SessionStatements;
use crate::skew::Skew;
use crate::tables::Profile;

/// Observers that hear every call and every wait.
#[derive(Clone, Debug, Default)]
pub struct Instruments {
    waits: BlockWaits,
    readings: Readings,
    curve: MissCurve,
    skew: Option<Skew>,
    sessions: SessionStatements,
}

impl Instruments {
    /// Readings and a miss curve, and a breakdown where one is given.
    pub fn new(skew: Option<Skew>) -> Instruments {
        Instruments { skew, ..Instruments::default() }
    }

    /// What they heard, as cases of a run document; `profile` is the profile of the same trace.
    pub fn cases(&self, profile: &Profile) -> Vec<Case> {
        let mut cases: Vec<Case> = self.skew.iter().flat_map(|skew| skew.breakdown().cases()).collect();
        cases.extend(self.sessions.cases(profile));
        cases.extend(self.readings.cases());
        cases.extend(self.logical_io(profile).iter().flat_map(|cost| cost.cases(&profile.context)));
        cases.extend(self.curve.cases(self.readings.block_bytes()));
        cases
    }

    /// What they heard, in sentences.
    pub fn findings(&self, profile: &Profile) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.skew.iter().flat_map(|skew| skew.breakdown().findings()).collect();
        findings.extend(self.readings.findings());
        findings.extend(self.logical_io(profile).iter().flat_map(LogicalIo::findings));
        findings.extend(self.curve.findings(self.readings.block_bytes()));
        findings
    }

    fn logical_io(&self, profile: &Profile) -> Option<LogicalIo> {
        logical_io(&statement_works(profile))
    }
}

impl Observer for Instruments {
    fn call(&mut self, context: &Context, call: &Call) {
        self.sessions.call(context, call);
        if let Some(skew) = &mut self.skew {
            skew.call(context, call);
        }
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        self.sessions.wait(context, wait);
        if let Some(block_wait) = self.waits.read(context, wait) {
            self.readings.add(&block_wait, wait.elapsed);
            self.curve.add(&block_wait, wait.elapsed);
        }
        if let Some(skew) = &mut self.skew {
            skew.wait(context, wait);
        }
    }
}
