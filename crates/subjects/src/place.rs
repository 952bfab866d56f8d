//! One word of `--on`: where a subject is, and how it is opened for each experiment.

use std::fmt;

use crate::access_paths::{AccessPaths, AccessSettings};
use crate::error::SubjectError;
use crate::forecast::Forecast;
use crate::logical_reads::{self, LogicalReads};
use crate::nested_loops::{self, NestedLoops};
use crate::opening::Opening;
use crate::postgres::calibration::{Calibration, CalibrationAsked};
use crate::round_trip::{self, RoundTrip};

/// Opens a subject. Everything that can fail or take time happens there, nothing before.
pub type Open<'a, T> = Box<dyn FnOnce(&mut Opening<'_>) -> Result<Box<T>, SubjectError> + 'a>;

/// Checks what a run may do on a subject that is in use, and gives what it takes there.
type Foresee<'a> = Box<dyn Fn(&mut Opening<'_>) -> Result<Forecast, SubjectError> + 'a>;

/// How a subject is opened.
pub struct Opener<'a, T: ?Sized> {
    forecast: Option<Foresee<'a>>,
    open: Open<'a, T>,
}

impl<'a, T: ?Sized> Opener<'a, T> {
    /// A subject that is opened like this.
    pub fn new(open: Open<'a, T>) -> Opener<'a, T> {
        Opener { forecast: None, open }
    }

    /// The same for a subject that is in use: `forecast` checks that the run may do there what it does, and gives what
    /// it takes. It makes nothing.
    pub fn in_use(self, forecast: impl Fn(&mut Opening<'_>) -> Result<Forecast, SubjectError> + 'a) -> Opener<'a, T> {
        Opener { forecast: Some(Box::new(forecast)), ..self }
    }

    /// What the run takes of a subject that is in use; `None` for others.
    pub fn forecast(&self, opening: &mut Opening<'_>) -> Result<Option<Forecast>, SubjectError> {
        self.forecast.as_ref().map(|forecast| forecast(opening)).transpose()
    }

    /// Opens it.
    pub fn open(self, opening: &mut Opening<'_>) -> Result<Box<T>, SubjectError> {
        (self.open)(opening)
    }
}

/// What a place answers an experiment before anything is opened: how to open the subject, or why it has none that can
/// do what is asked, in a sentence for the command line.
pub type Offer<'a, T> = Result<Opener<'a, T>, String>;

/// One word of `--on`.
///
/// Each experiment has one method, whose default is a refusal.
pub trait Place: fmt::Debug + Send + Sync {
    /// The word as it may be kept and shown, without a password.
    fn word(&self) -> String;

    /// Whether it takes statements, which a dry run can record.
    fn takes_statements(&self) -> bool;

    /// Whether it is a server that is in use by others, as a given one may be.
    fn is_in_use(&self) -> bool {
        false
    }

    /// How a private server will be named in cases, where that is known before it is started.
    fn private_name(&self) -> Option<String> {
        None
    }

    /// Whether it has tables of the user's, which the user's queries read.
    fn has_own_tables(&self) -> bool {
        self.is_in_use()
    }

    /// Whether it makes the tables that an experiment asks for. Otherwise those that it has are read.
    fn makes_tables(&self) -> bool {
        true
    }

    /// Refuses a file or a directory that is not there or holds something else, as opening the subject would. Asks no
    /// server.
    fn check_files(&self) -> Result<(), SubjectError> {
        Ok(())
    }

    /// The experiment on logical I/O.
    fn logical_reads(&self, _asked: &logical_reads::Asked) -> Offer<'_, dyn LogicalReads> {
        Err(self.without("logical reads"))
    }

    /// Opens the subject for the experiment on access paths.
    fn access_paths(&self, _settings: &AccessSettings) -> Offer<'_, dyn AccessPaths> {
        Err(self.without("access paths"))
    }

    /// Opens the subject for the calibration of a planner, which is PostgreSQL's.
    fn calibration(&self, _asked: CalibrationAsked) -> Offer<'_, Calibration> {
        Err("calibrate measures a PostgreSQL planner's constants: name one server with --on \
             postgres://USER@HOST:PORT/DATABASE, or --on postgres:18 for a private one."
            .into())
    }

    /// Opens the subject for the experiment on nested loops.
    fn nested_loops(&self, _asked: &nested_loops::Asked) -> Offer<'_, dyn NestedLoops> {
        Err(self.without("nested loops"))
    }

    /// Opens the subject for the experiment on round trips.
    fn round_trip(&self, _asked: &round_trip::Asked) -> Offer<'_, dyn RoundTrip> {
        let refusal = self.without("round trips");
        let refusal = refusal.trim_end_matches('.');
        Err(format!(
            "{refusal}: name a PostgreSQL server with --on postgres://USER@HOST:PORT/DATABASE, or --on postgres:18 for \
             a private one."
        ))
    }

    /// Why an experiment is refused that this place has no subject for.
    fn without(&self, experiment: &str) -> String {
        format!("{} cannot measure {experiment}.", self.word())
    }
}
