//! A server that is there: a given one, or a private one that was started for the run.

use std::time::Duration;

use server::private::PrivateServer;
use server::{Address, Limits, Session};

use crate::error::SubjectError;
use crate::opening::Opening;

/// A server that can be connected to; a private one lives as long as this.
#[derive(Debug)]
pub struct Reached {
    /// How to reach it.
    pub address: Address,
    /// How long things may take there.
    pub limits: Limits,
    /// The server where it is one of this program's own. Sessions have to end before it.
    pub private: Option<PrivateServer>,
}

impl Reached {
    /// Connects; in a dry run the session records its statements and sends none.
    pub fn connect(&self, opening: &mut Opening<'_>) -> Result<Session, SubjectError> {
        (opening.progress)("connecting to the server", Duration::from_secs(1));
        let stop = opening.stop.clone();
        Ok(match &opening.environment.recorder {
            Some(statements) => Session::rehearsal(&self.address, self.limits, stop, statements.clone())?,
            None => Session::open(&self.address, self.limits, stop)?,
        })
    }
}
