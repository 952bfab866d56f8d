//! The life of a subject in a run: offered by a place, opened, measured, and removed whatever happened.

use measure::Parameters;
use serde_json::Value;
use subjects::forecast::QueryUse;
use subjects::{Closing, Environment, Forecast, Offer, Opener, Opening, Place, Places, Subject, SubjectError};

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;

/// What the places of a run offer an experiment.
///
/// If a place that the user named cannot do any of what is asked, the command line is wrong. The engine that was added
/// to it is absent then.
pub(crate) fn openers<'a, T: ?Sized>(
    places: &'a Places,
    offer: impl Fn(&'a dyn Place) -> Offer<'a, T>,
    journal: &mut dyn Journal,
) -> Result<Vec<Opener<'a, T>>, ExperimentError> {
    let (openers, absence) = places.offers(offer).map_err(ExperimentError::Parameters)?;
    journal.find_all(absence);
    Ok(openers)
}

/// Checks of each subject that is in use whether the run may do there what it does, and announces what it takes: before
/// the work on any of them begins.
pub(crate) fn announce<T: ?Sized>(
    openers: &[Opener<'_, T>],
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    announce_with(QueryUse::None, openers, environment, machine, journal)
}

/// The same where the user's own queries are sent to the subject.
pub(crate) fn announce_with<T: ?Sized>(
    queries: QueryUse,
    openers: &[Opener<'_, T>],
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    for opener in openers {
        let forecast = with_opening(environment, machine, journal, |opening| opener.forecast(opening))?;
        forecast.into_iter().for_each(|forecast| journal.announce(&Forecast { queries, ..forecast }));
    }
    Ok(())
}

fn with_opening<R>(
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
    work: impl FnOnce(&mut Opening<'_>) -> Result<R, SubjectError>,
) -> Result<R, ExperimentError> {
    let mut progress = |what: &str, expected| journal.step(what, expected);
    let stop = machine.stop.share();
    Ok(work(&mut Opening { environment, clock: machine.clock, stop, progress: &mut progress })?)
}

/// Opens a subject, measures on it, and has it remove what it made, also after ^C and after errors.
pub(crate) fn run_on<T: Subject + ?Sized, R>(
    opener: Opener<'_, T>,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
    measure: impl FnOnce(&mut T, &mut dyn Journal) -> Result<R, ExperimentError>,
) -> Result<R, ExperimentError> {
    measure_on(open(opener, environment, machine, journal)?, journal, measure)
}

/// Opens a subject.
pub(crate) fn open<T: Subject + ?Sized>(
    opener: Opener<'_, T>,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Box<T>, ExperimentError> {
    let mut subject = with_opening(environment, machine, journal, |opening| opener.open(opening))?;
    keep_findings(&mut *subject, journal);
    Ok(subject)
}

/// Measures on a subject, and has it remove what it made.
pub(crate) fn measure_on<T: Subject + ?Sized, R>(
    mut subject: Box<T>,
    journal: &mut dyn Journal,
    measure: impl FnOnce(&mut T, &mut dyn Journal) -> Result<R, ExperimentError>,
) -> Result<R, ExperimentError> {
    let outcome = measure(&mut subject, journal);
    let Closing { findings, own_cost, outcome: removed } = subject.finish();
    journal.find_all(findings);
    own_cost.into_iter().for_each(|metric| journal.own_cost(metric));
    let measured = outcome?;
    removed?;
    Ok(measured)
}

/// Keeps what a subject noticed since it was last asked.
pub(crate) fn keep_findings<T: Subject + ?Sized>(subject: &mut T, journal: &mut dyn Journal) {
    journal.find_all(subject.findings());
}

/// Describes the subjects of a run: the first as the run's own, the others under `beside` by their names.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    own: Option<String>,
    beside: Parameters,
}

impl Descriptions {
    /// Adds the description of the next subject, or replaces what was said of it.
    pub(crate) fn add<T: Subject + ?Sized>(&mut self, subject: &T, journal: &mut dyn Journal) {
        if self.own.get_or_insert_with(|| subject.name().into()) == subject.name() {
            subject.description().into_iter().for_each(|(key, value)| journal.describe_subject(&key, value));
            return;
        }
        self.beside.insert(subject.name().into(), Value::Object(subject.description()));
        journal.describe_subject("beside", Value::Object(self.beside.clone()));
    }
}
