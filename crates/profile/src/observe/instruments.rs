//! The further observers of every profile, as one: readings, the miss curve, statements by
//! session, and a breakdown where one was asked for.

use std::sync::Arc;

use measure::quantity::format_nanos;
use measure::schema::profile::findings as row;
use measure::schema::profile::{self as schema, parameters as named};
use measure::{Case, Finding};

use crate::document::metrics::case;
use crate::document::session_statements;
use crate::event::{Aside, Call, Context, Observer, Wait};
use crate::observe::hot_spots::HotSpots;
use crate::observe::miss_curve::MissCurve;
use crate::observe::notes::Notes;
use crate::observe::readings::{LogicalIo, logical_io, statement_works};
use crate::observe::skew::Skew;
use crate::tables::Profile;

/// Observers that hear every call and every wait.
#[derive(Clone, Debug, Default)]
pub struct Instruments {
    notes: Notes,
    skew: Option<Skew>,
    files: u32,
}

impl Instruments {
    /// Readings and a miss curve, and a breakdown where one is given.
    pub fn new(skew: Option<Skew>) -> Instruments {
        Instruments { skew, ..Instruments::default() }
    }

    /// What they heard, as cases of a run document; `profile` is the profile of the same trace.
    pub fn cases(&self, profile: &Profile) -> Vec<Case> {
        let gauges = self.notes.gauges();
        let mut cases: Vec<Case> = self.skew.iter().flat_map(|skew| skew.breakdown(&profile.context).cases()).collect();
        cases.extend(session_statements::cases(profile));
        cases.extend(gauges.readings.cases());
        cases.extend(self.logical_io(profile).iter().flat_map(|cost| cost.cases(&profile.context)));
        cases.extend(gauges.curve.cases(gauges.readings.block_bytes()));
        cases.push(memory(profile, &gauges.curve));
        cases
    }

    /// The blocks and objects that most was waited for.
    pub fn hot_spots(&self) -> HotSpots {
        self.notes.gauges().hot_spots.clone()
    }

    /// What they heard, in sentences.
    pub fn findings(&self, profile: &Profile) -> Vec<Finding> {
        let gauges = self.notes.gauges();
        let (curve, block_bytes) = (&gauges.curve, gauges.readings.block_bytes());
        let mut findings: Vec<Finding> =
            self.skew.iter().flat_map(|skew| skew.breakdown(&profile.context).findings()).collect();
        findings.extend(gauges.readings.findings());
        findings.extend(self.logical_io(profile).iter().flat_map(LogicalIo::findings));
        findings.extend(profile.sampled.as_ref().and_then(|sampled| sampled.time_of_workers()).map(|time| {
            let message = format!(
                "No CPU time of a logical I/O is given: parallel workers were at work for {}, and the server counts \
                 their gets as those of the statements, whose CPU time here has none of theirs.",
                format_nanos(1e3 * time.micros())
            );
            row::LOGICAL_IO_BY_ROWS.of(message)
        }));
        if self.files > 1 && curve.reads() > 0 {
            let message = "The table of more cache takes the blocks of all traces as those of one database: give the \
                           traces of each database separately.";
            findings.push(row::MISS_CURVE_OF_SEVERAL_FILES.of(message));
        }
        findings.extend(curve.findings(block_bytes));
        findings
    }

    fn logical_io(&self, profile: &Profile) -> Option<LogicalIo> {
        logical_io(&statement_works(profile))
    }
}

/// What of the profile's memory depends on the trace's statements and blocks: all else stays as it is however long a
/// trace is.
fn memory(profile: &Profile, curve: &MissCurve) -> Case {
    let texts: usize = profile.context.statements.iter().map(|statement| statement.text.capacity()).sum();
    let source = "room that was taken";
    let metrics = vec![
        schema::STATEMENT_TEXT.count(source, texts as u64),
        schema::MISS_CURVE_MEMORY.count(source, curve.memory_bytes()),
    ];
    case([named::TABLE.of("memory")], metrics)
}

impl Observer for Instruments {
    fn begin_file(&mut self, _name: &str) {
        self.files += 1;
    }

    fn aside(&self) -> Option<Arc<dyn Aside>> {
        Some(self.notes.aside())
    }

    fn call(&mut self, context: &Context, call: &Call) {
        if let Some(skew) = &mut self.skew {
            skew.call(context, call);
        }
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        self.notes.add(context, wait);
        if let Some(skew) = &mut self.skew {
            skew.wait(context, wait);
        }
    }
}
