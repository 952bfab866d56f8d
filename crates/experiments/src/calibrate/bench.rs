//! What every step of the experiment is given, and what all of them do with the server.

use measure::Finding;
use server::Session;
use server::activity::Activity;
use server::private::PrivateServer;
use subjects::SubjectError;
use subjects::postgres::calibration::Calibration;

use super::parameters::CalibrateParameters;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;

/// Share of pages that may stay in the page cache after it was emptied.
const WARM_SHARE_MAX: f64 = 0.01;

/// Settings that a set of constants may change, all put back to the server's where it does not.
pub(super) const TOLD: [&str; 6] = [
    "seq_page_cost",
    "random_page_cost",
    "cpu_tuple_cost",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "effective_cache_size",
];

/// What is in the caches when a query begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Cold,
    Cached,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Cold => "cold",
            State::Cached => "cached",
        }
    }

    /// Percent of the blocks.
    pub(super) fn cached_percent(self) -> u32 {
        match self {
            State::Cold => 0,
            State::Cached => 100,
        }
    }
}

/// What every step is given.
pub(super) struct Bench<'a> {
    pub(super) parameters: &'a CalibrateParameters,
    pub(super) machine: &'a Machine,
    pub(super) private: Option<&'a mut PrivateServer>,
    pub(super) tables: Calibration,
    /// The server in the document: `postgres 18.6`.
    pub(super) name: String,
    pub(super) activity: Activity,
    /// What the planner is told besides the server's own constants.
    pub(super) told: Vec<(&'static str, f64)>,
}

impl<'a> Bench<'a> {
    pub(super) fn begin(
        session: Session,
        parameters: &'a CalibrateParameters,
        private: Option<&'a mut PrivateServer>,
        machine: &'a Machine,
    ) -> Result<Bench<'a>, ExperimentError> {
        let name = session.facts().name();
        let tables = Calibration::open(session, parameters.payload, parameters.seed)?;
        let (activity, told) = (Activity::default(), Vec::new());
        Ok(Bench { parameters, machine, private, tables, name, activity, told })
    }

    pub(super) fn look(&mut self) -> Result<(), ExperimentError> {
        self.activity.look(self.tables.session()).map_err(SubjectError::from)?;
        Ok(())
    }

    /// Runs of each plan in a state.
    pub(super) fn rounds(&self, state: State) -> usize {
        match state {
            State::Cold => self.parameters.cold_rounds,
            State::Cached => self.parameters.repeat,
        }
    }

    /// Empties all caches of the private server.
    pub(super) fn cool(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let Some(private) = self.private.as_deref_mut() else { return Ok(()) };
        let left = self.tables.cool(private)?;
        if left > WARM_SHARE_MAX {
            journal.find(Finding::warning(
                "not-cold",
                "Pages of the server's files stayed in the page cache after it was emptied: cold costs contain reads \
                 from memory. Put the folder for temporary files (TMPDIR) on a disk.",
            ));
        }
        Ok(())
    }

    pub(super) fn set(&mut self, setting: &str, value: &str) -> Result<(), ExperimentError> {
        Ok(self.tables.session().set(setting, value).map_err(SubjectError::from)?)
    }

    pub(super) fn reset(&mut self, setting: &str) -> Result<(), ExperimentError> {
        Ok(self.tables.session().run(&format!("RESET {setting}")).map_err(SubjectError::from)?)
    }

    /// Gives the planner these constants, and the server's own for all others.
    pub(super) fn tell(&mut self, constants: &[(&'static str, f64)]) -> Result<(), ExperimentError> {
        self.told = constants.to_vec();
        Ok(self.tables.tell(&TOLD, constants)?)
    }
}
