//! A server that is there: a given one, or a private one that was started for the run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use server::private::PrivateServer;
use server::{Address, Limits, Session};

use crate::error::SubjectError;
use crate::opening::{Opening, Recorder};

/// A server that can be connected to; a private one lives as long as this.
#[derive(Debug)]
pub struct Reached {
    /// How to reach it.
    pub address: Address,
    /// How long things may take there.
    pub limits: Limits,
    /// The server where it is one of this program's own. Sessions have to end before it.
    pub private: Option<PrivateServer>,
    /// Raised by ^C.
    pub stop: Arc<AtomicBool>,
    /// Takes the statements of a dry run, those for this major version.
    pub recorder: Option<(Recorder, u32)>,
}

impl Reached {
    /// Connects, and says so. A private server gets another name than a given one of the run has.
    pub fn connect(&self, opening: &mut Opening<'_>) -> Result<Session, SubjectError> {
        (opening.progress)(&self.address.waiting(), Duration::from_secs(1));
        let mut session = self.session()?;
        if self.private.is_some() && opening.environment.given.contains(&session.name()) {
            session.tell_apart();
        }
        Ok(session)
    }

    /// Connects; in a dry run the session records its statements and sends none.
    pub fn session(&self) -> Result<Session, SubjectError> {
        let Reached { address, limits, stop, recorder, .. } = self;
        Ok(match recorder {
            Some(statements) => Session::rehearsal(address, *limits, stop.clone(), statements.clone())?,
            None => Session::open(address, *limits, stop.clone())?,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use server::private::{Installation, ServerSettings};

    use super::*;

    /// A private server; `None`, and a line, where there is none.
    pub(crate) fn private_server() -> Option<Reached> {
        let debian = Path::new("/usr/lib/postgresql/15");
        if !debian.exists() {
            println!("skipped: Debian's PostgreSQL 15 is not installed");
            return None;
        }
        let (programs, stop): (_, Arc<AtomicBool>) = (Installation::at(debian).unwrap(), Arc::default());
        let settings = ServerSettings::new(16 << 20);
        let private = PrivateServer::start(&programs, &std::env::temp_dir(), settings, &stop).unwrap();
        let (address, limits) = (Address::of(private.config()), Limits::default());
        Some(Reached { address, limits, private: Some(private), stop, recorder: None })
    }
}
