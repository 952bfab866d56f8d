//! One word of `--on`: where a subject is, and how it is opened for each experiment.

use std::fmt;

use crate::access_paths::{AccessPaths, AccessSettings};
use crate::error::SubjectError;
use crate::logical_reads::{self, LogicalReads};
use crate::nested_loops::{self, NestedLoops};
use crate::opening::Opening;
use crate::postgres::calibration::{Calibration, CalibrationAsked};
use crate::round_trip::{self, RoundTrip};
use crate::subject::Absence;

/// Opens a subject. Everything that can fail or take time happens here, nothing before.
pub type Opener<'a, T> = Box<dyn FnOnce(&mut Opening<'_>) -> Result<Box<T>, SubjectError> + 'a>;

/// What a place answers an experiment before anything is opened: how to open the subject, or why it has none that can
/// do what is asked.
pub type Offer<'a, T> = Result<Opener<'a, T>, Absence>;

/// One word of `--on`.
///
/// Each experiment has one method, whose default is an absence.
pub trait Place: fmt::Debug + Send + Sync {
    /// The word as it may be kept and shown, without a password.
    fn word(&self) -> String;

    /// Whether it takes statements, which a dry run can record.
    fn takes_statements(&self) -> bool;

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
        let reason = "calibrate measures a PostgreSQL planner's constants: name one server with --on \
                      postgres://USER@HOST:PORT/DATABASE, or --on postgres:18 for a private one.";
        Err(Absence::new("absent-calibration", reason))
    }

    /// Opens the subject for the experiment on nested loops.
    fn nested_loops(&self, _asked: &nested_loops::Asked) -> Offer<'_, dyn NestedLoops> {
        Err(self.without("nested loops"))
    }

    /// Opens the subject for the experiment on round trips.
    fn round_trip(&self, _asked: &round_trip::Asked) -> Offer<'_, dyn RoundTrip> {
        Err(self.without("round trips"))
    }

    /// The absence of an experiment that this place has no subject for.
    fn without(&self, experiment: &str) -> Absence {
        let word = self.word();
        Absence::new(
            &format!("absent-{}", experiment.replace(' ', "-")),
            format!("{word} cannot measure {experiment}."),
        )
    }
}
