//! The life of a subject in a run: offered by a place, opened, measured, and removed whatever happened.

use std::collections::{BTreeMap, BTreeSet};

use measure::Parameters;
use serde_json::Value;
use subjects::forecast::QueryUse;
use subjects::{Closing, Environment, Forecast, Offer, Opener, Opening, Place, Places, Subject, SubjectError};

use crate::error::{ExperimentError, refuse};
use crate::journal::{Journal, NullJournal};
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
    refuse_repeated(places)?;
    refuse_private_twins(places)?;
    let (openers, absence) = places.offers(offer).map_err(ExperimentError::Parameters)?;
    journal.find_all(absence);
    Ok(openers)
}

/// Refuses what places cannot do of what is asked.
pub(crate) fn check<'a, T: ?Sized>(
    places: &'a Places,
    offer: impl Fn(&'a dyn Place) -> Offer<'a, T>,
) -> Result<(), ExperimentError> {
    openers(places, offer, &mut NullJournal::default()).map(drop)
}

/// Refuses a place that is named twice: cases of the two would be alike.
fn refuse_repeated(places: &Places) -> Result<(), ExperimentError> {
    let mut known = BTreeSet::new();
    match places.iter().map(Place::word).find(|word| !known.insert(word.clone())) {
        None => Ok(()),
        Some(word) => refuse(format!("--on names {word} twice, and its cases could not be told apart: name it once")),
    }
}

/// Refuses two private servers of one version, as far as it is known before they are started.
fn refuse_private_twins(places: &Places) -> Result<(), ExperimentError> {
    let mut known = BTreeMap::new();
    // The programs of a server that is alone need not be asked.
    let several = places.iter().filter(|place| place.takes_statements()).count() > 1;
    for place in places.iter().filter(|_| several) {
        if let Some(name) = place.private_name() {
            refuse_twin(&mut known, name, place.word())?;
        }
    }
    Ok(())
}

/// Refuses a server of the same version as one before, by which cases name it. `servers` are those before.
fn refuse_twin(servers: &mut BTreeMap<String, String>, name: String, server: String) -> Result<(), ExperimentError> {
    match servers.insert(name.clone(), server.clone()) {
        None => Ok(()),
        Some(first) => refuse(format!(
            "{first} and {server} are both {name}, so their cases could not be told apart: measure each in a run of \
             its own, and compare the runs"
        )),
    }
}

/// Checks of each subject that is in use whether the run may do there what it does, and announces what it takes: before
/// the work on any of them begins. Gives the environment in which they are opened: it has the names of given servers.
pub(crate) fn announce<T: ?Sized>(
    openers: &[Opener<'_, T>],
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Environment, ExperimentError> {
    announce_with(QueryUse::None, openers, environment, machine, journal)
}

/// The same where the user's own queries are sent to the subject.
pub(crate) fn announce_with<T: ?Sized>(
    queries: QueryUse,
    openers: &[Opener<'_, T>],
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Environment, ExperimentError> {
    let mut servers = BTreeMap::new();
    for opener in openers {
        let forecast = with_opening(environment, machine, journal, |opening| opener.forecast(opening))?;
        if let Some(forecast) = forecast {
            if let Some(known) = &forecast.known {
                refuse_twin(&mut servers, known.name.clone(), forecast.server.clone())?;
            }
            journal.announce(&Forecast { queries, ..forecast });
        }
    }
    Ok(Environment { given: servers.into_keys().collect(), ..environment.clone() })
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
    names: BTreeSet<String>,
    own: Option<String>,
    beside: Parameters,
}

impl Descriptions {
    /// Notes the name of a subject, before it is measured. Errors where one before has it, such as a private server of
    /// another private one's version: both would be described as one, and their cases could not be told apart. A dry
    /// run knows no versions.
    pub(crate) fn take_name(&mut self, name: &str, environment: &Environment) -> Result<(), ExperimentError> {
        match environment.is_dry_run() || self.names.insert(name.to_string()) {
            true => Ok(()),
            false => refuse(format!(
                "two of the subjects are called {name}, so their cases could not be told apart: measure each in a run \
                 of its own, and compare the runs"
            )),
        }
    }

    /// Adds the description of the next subject, or replaces what was said of it.
    pub(crate) fn add<T: Subject + ?Sized>(&mut self, subject: &T, journal: &mut dyn Journal) {
        if self.own.get_or_insert_with(|| subject.name().into()) == subject.name() {
            return journal.describe_all(subject.description());
        }
        self.beside.insert(subject.name().into(), Value::Object(subject.description()));
        journal.describe_subject("beside", Value::Object(self.beside.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_one_subject() {
        let (mut descriptions, environment) = (Descriptions::default(), Environment::new("/tmp"));
        let mut take = |name: &str, environment: &Environment| descriptions.take_name(name, environment);
        assert!(take("postgres 18.6", &environment).is_ok() && take("engine", &environment).is_ok());
        let refused = take("postgres 18.6", &environment).unwrap_err().to_string();
        assert!(refused.starts_with("two of the subjects are called postgres 18.6, so"), "{refused}");
        let dry = Environment { recorder: Some(Default::default()), ..environment };
        assert!(take("postgres 18.6", &dry).is_ok(), "it may be of another version");
    }

    #[test]
    fn servers_whose_cases_would_be_alike_are_refused() {
        let mut servers = BTreeMap::new();
        let mut twin = |server: &str, name: &str| refuse_twin(&mut servers, name.into(), server.into());
        assert!(twin("postgres://a/db", "postgres 18.6").is_ok() && twin("postgres://b/db", "postgres 17.11").is_ok());
        let refused = twin("postgres://d/db", "postgres 18.6").unwrap_err().to_string();
        assert!(refused.starts_with("postgres://a/db and postgres://d/db are both postgres 18.6, so"), "{refused}");
    }
}
