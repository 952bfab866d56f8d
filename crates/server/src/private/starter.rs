//! The private server that a word of `--on` names: its programs are found or fetched, and it is started.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::PrivateServerError;
use super::installation::{Installation, Source};
use super::running::PrivateServer;
use super::settings::ServerSettings;
use crate::place::Place;

/// About how long fetching the programs of a private server takes, and starting it.
const FETCH_TIME: Duration = Duration::from_secs(15);
const START_TIME: Duration = Duration::from_secs(3);

/// What a private server is started with, in all commands alike.
pub struct Starter<'a> {
    /// Folder for what may be fetched again; the one for temporary files where there is none.
    pub cache: Option<&'a Path>,
    /// The proxy to fetch programs through, as a URL.
    pub proxy: Option<&'a str>,
    /// Folder for temporary files, in which the server gets one of its own.
    pub scratch: &'a Path,
    /// Raised by ^C.
    pub stop: &'a AtomicBool,
    /// Takes a step of the work and about how long it will last.
    pub progress: &'a mut (dyn FnMut(&str, Duration) + 'a),
}

impl Starter<'_> {
    /// Starts the server that a word names: on a copy of a data directory with the copy's settings, otherwise with
    /// those that `settings` gives for its major version.
    ///
    /// # Errors
    /// Those of [`PrivateServer::start`] and [`PrivateServer::start_on_copy`], where there are no programs, and of a
    /// given server, which is not started.
    pub fn start(
        &mut self,
        place: &Place,
        settings: impl FnOnce(u32) -> ServerSettings,
    ) -> Result<PrivateServer, PrivateServerError> {
        let installation = self.installation(place)?;
        let version = installation.version();
        (self.progress)(&format!("starting PostgreSQL {}", version.text), START_TIME);
        match place {
            Place::Copy(copy) => PrivateServer::start_on_copy(&installation, copy, self.scratch, self.stop),
            _ => PrivateServer::start(&installation, self.scratch, settings(version.major), self.stop),
        }
    }

    /// The programs, fetched where they are not in the cache.
    fn installation(&mut self, place: &Place) -> Result<Installation, PrivateServerError> {
        let named = match place {
            Place::Installed { directory } => Some(directory),
            Place::Copy(copy) => copy.programs.as_ref(),
            Place::Private { .. } | Place::Given(_) => None,
        };
        if let Some(directory) = named {
            return Installation::at(directory);
        }
        let major = place.major()?.ok_or(PrivateServerError::UnknownVersion(0))?;
        let cache = match self.cache {
            Some(cache) => cache.join("postgres"),
            None => Installation::cache_in(self.scratch)?,
        };
        if !Installation::is_cached(major, &cache) {
            (self.progress)(&format!("fetching PostgreSQL {major}"), FETCH_TIME);
        }
        Installation::of(major, &Source { cache, proxy: self.proxy.map(String::from) }, self.stop)
    }
}

impl Place {
    /// The major version that the word says; `None` of a given server, which has to be asked.
    ///
    /// # Errors
    /// Where a directory that it names holds no server's programs, or is no data directory.
    pub fn major(&self) -> Result<Option<u32>, PrivateServerError> {
        Ok(Some(match self {
            Place::Given(_) => return Ok(None),
            Place::Private { major } => *major,
            Place::Installed { directory } => Installation::at(directory)?.version().major,
            Place::Copy(copy) => copy.major().map_err(|reason| copy.unfit(reason))?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(word: &str) -> Place {
        word.parse().unwrap()
    }

    #[test]
    fn a_given_server_is_not_started_and_its_version_is_not_guessed() {
        let given = place("postgres://me@nowhere.example/db");
        assert_eq!(given.major().unwrap(), None);
        let (scratch, stop, mut steps) = (tempfile::tempdir().unwrap(), AtomicBool::new(false), Vec::new());
        let mut progress = |what: &str, _: Duration| steps.push(what.to_string());
        let mut starter =
            Starter { cache: None, proxy: None, scratch: scratch.path(), stop: &stop, progress: &mut progress };
        assert!(starter.start(&given, |_| ServerSettings::new(16 << 20)).is_err());
        assert!(steps.is_empty(), "{steps:?}");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_word_that_names_no_version_is_an_error_with_the_directory() {
        assert_eq!(place("postgres:16").major().unwrap(), Some(16));
        for word in ["postgres:/nonexistent", "postgres:copy:/nonexistent"] {
            let error = place(word).major().unwrap_err().to_string();
            assert!(error.starts_with("/nonexistent"), "{error}");
        }
    }
}
