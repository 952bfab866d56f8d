//! A PostgreSQL server as a word of `--on`: a given one, treated as production, or a private one that is fetched,
//! started and removed.

use std::fmt::Display;
use std::time::Duration;

use server::place::{SCHEMES as ADDRESSES, without_password};
use server::private::{Archive, Installation, PrivateServer, PrivateServerError, ServerSettings, Starter, VERSIONS};
use server::{Address, Limits, ServerFacts, schema, space};

use super::access_paths::{PostgresPaths, buffers_needed, check_rows};
use super::calibration::{Calibration, CalibrationAsked};
use super::catalogs::Catalogs;
use super::inner_rows::InnerRows;
use super::layout::USUAL_BLOCK_BYTES;
use super::logical_reads::{ServerReads, buffers_for};
use super::needs::{Needs, ServerSize};
use super::nested_loops::{PostgresLoops, check_concurrencies};
use super::planner_paths;
use super::reached::Reached;
use super::round_trip::{PostgresTrip, check_blocks};
use crate::access_paths::{self, AccessPaths, AccessSettings};
use crate::error::SubjectError;
use crate::forecast::{Forecast, Known, QueryUse};
use crate::logical_reads::{self, LogicalReads};
use crate::nested_loops::{self, NestedLoops};
use crate::opening::{Environment, Opening};
use crate::place::{Offer, Open, Opener, Place};
use crate::round_trip::{self, RoundTrip};

/// How words begin that name a server.
pub(crate) const SCHEMES: [&str; 2] = ["postgres:", "postgresql://"];

/// Shared buffers of a private server for the experiment on round trips.
const ROUND_TRIP_BUFFERS: u64 = 128 << 20;

/// A server that a word of `--on` names.
#[derive(Clone, Debug)]
pub struct PostgresPlace {
    word: String,
    place: server::Place,
}

impl PostgresPlace {
    /// Reads a word of `--on`.
    pub fn parse(word: &str) -> Result<PostgresPlace, SubjectError> {
        let wrong = |error: &dyn Display| SubjectError::Parameters(error.to_string());
        let place = word.parse().map_err(|error: server::ServerError| wrong(&error))?;
        if let server::Place::Private { major } = place
            && !VERSIONS.contains(&major)
        {
            return Err(wrong(&PrivateServerError::UnknownVersion(major)));
        }
        Ok(PostgresPlace { word: without_password(word, &ADDRESSES), place })
    }

    /// Starts the server where it is a private one, with this many bytes of shared buffers. In a dry run nothing is
    /// started.
    pub fn reach(&self, buffers: u64, opening: &mut Opening<'_>) -> Result<Reached, SubjectError> {
        let environment = opening.environment;
        let statement = Duration::from_nanos(environment.statement_timeout.0);
        let limits = Limits { statement, ..Limits::default() };
        let (address, private) = match &self.place {
            server::Place::Given(address) => (address.completed(&environment.defaults)?, None),
            _ if environment.is_dry_run() => (Address::nowhere(), None),
            place => {
                let private = start(place, buffers, opening)?;
                (Address::of(private.config()), Some(private))
            }
        };
        let recorder =
            environment.recorder.clone().map(|recorder| Ok::<_, SubjectError>((recorder, self.major(environment)?)));
        Ok(Reached { address, limits, private, stop: opening.stop.clone(), recorder: recorder.transpose()? })
    }

    /// The major version, as far as the word says it; of a given server the one that a dry run assumes.
    fn major(&self, environment: &Environment) -> Result<u32, SubjectError> {
        Ok(self.place.major()?.unwrap_or(environment.assumed_major))
    }

    /// Refuses an experiment that is not for a copy of a data directory: what it makes would stay there.
    fn refuse_copy(&self, experiment: &str) -> Result<(), String> {
        match self.place {
            server::Place::Copy(_) => Err(format!(
                "a copy of a data directory is for calibrate, and not for {experiment}: name a server with \
                 postgres://USER@HOST:PORT/DATABASE, or --on postgres:18 for a private one."
            )),
            _ => Ok(()),
        }
    }

    /// Opens a subject, on a given server after a check that the run may make there what it `needs`, which depends on
    /// the server's size.
    fn opener<'a, T: ?Sized>(&'a self, needs: impl Fn(ServerSize) -> Needs + 'a, open: Open<'a, T>) -> Opener<'a, T> {
        let opener = Opener::new(open);
        if self.is_in_use() { opener.in_use(move |opening| self.forecast(&needs, opening)) } else { opener }
    }

    fn forecast(
        &self,
        needs: &dyn Fn(ServerSize) -> Needs,
        opening: &mut Opening<'_>,
    ) -> Result<Forecast, SubjectError> {
        let mut session = self.reach(0, opening)?.connect(opening)?;
        let (facts, server) = (session.facts().clone(), session.address().shown());
        let buffers = (!session.is_rehearsal()).then_some(facts.buffer_bytes);
        let needs = match needs(ServerSize { block_bytes: facts.block_bytes, buffers }) {
            Needs { or_standby: true, .. } if facts.is_standby => Needs::default(),
            needs => {
                schema::check(&mut session)?;
                space::check(&session, needs.made)?;
                space::check_temporary(&session, needs.temporary)?;
                needs
            }
        };
        let (major, name, buffers) = (facts.major(), facts.name(), facts.buffer_bytes);
        let ServerFacts { log_statement, event_triggers, .. } = facts;
        let known = Known { major, name, buffers, log_statement, event_triggers };
        let known = (!session.is_rehearsal()).then_some(known);
        let queries = QueryUse::default();
        let Needs { made, temporary, by_buffers, .. } = needs;
        Ok(Forecast { server, made, temporary, known, by_buffers: by_buffers.unwrap_or(1.0), queries })
    }
}

impl Place for PostgresPlace {
    fn word(&self) -> String {
        self.word.clone()
    }

    fn takes_statements(&self) -> bool {
        true
    }

    fn is_in_use(&self) -> bool {
        matches!(self.place, server::Place::Given(_))
    }

    fn private_name(&self) -> Option<String> {
        let version = match &self.place {
            server::Place::Installed { directory } => Installation::at(directory).ok()?.version().text.clone(),
            // The last number is the archive's own.
            server::Place::Private { major } => Archive::of(*major).ok()?.version.rsplit_once('.')?.0.into(),
            server::Place::Given(_) | server::Place::Copy(_) => return None,
        };
        Some(format!("postgres {version}"))
    }

    fn has_own_tables(&self) -> bool {
        matches!(self.place, server::Place::Given(_) | server::Place::Copy(_))
    }

    fn check_files(&self) -> Result<(), SubjectError> {
        Ok(self.place.major().map(drop)?)
    }

    fn logical_reads(&self, asked: &logical_reads::Asked) -> Offer<'_, dyn LogicalReads> {
        self.refuse_copy("logical reads")?;
        let asked = asked.clone();
        if let Some(absence) = super::logical_reads::unfit(&asked) {
            return Err(absence);
        }
        let cells = asked.clone();
        let needs = move |size: ServerSize| super::logical_reads::needs(&cells, size.block_bytes);
        Ok(self.opener(
            needs,
            Box::new(move |opening| {
                let reached = self.reach(buffers_for(&asked.cells), opening)?;
                let session = reached.connect(opening)?;
                Ok(match session.facts().is_standby {
                    true => Box::new(Catalogs::open(session, reached.private, opening.clock)?),
                    false => Box::new(ServerReads::open(session, reached.private, asked, opening.clock)?),
                })
            }),
        ))
    }

    fn access_paths(&self, settings: &AccessSettings) -> Offer<'_, dyn AccessPaths> {
        self.refuse_copy("access paths")?;
        access_paths::check_wanted(&self.word, &planner_paths::offers(settings.asked), settings)?;
        check_rows(settings.rows)?;
        let settings = settings.clone();
        Ok(self.opener(
            move |_| super::access_paths::needs(settings.rows),
            Box::new(move |opening| {
                let reached = self.reach(buffers_needed(settings.rows), opening)?;
                Ok(Box::new(PostgresPaths::open(reached, &settings, opening)?))
            }),
        ))
    }

    fn calibration(&self, asked: CalibrationAsked) -> Offer<'_, Calibration> {
        let payload = asked.payload(!self.is_in_use());
        Ok(self.opener(
            move |size| super::calibration::needs(payload, size.buffers, asked.has_queries),
            Box::new(move |opening| {
                let reached = self.reach(asked.buffers(), opening)?;
                Ok(Box::new(Calibration::open(reached, payload, asked.seed, opening)?))
            }),
        ))
    }

    fn nested_loops(&self, asked: &nested_loops::Asked) -> Offer<'_, dyn NestedLoops> {
        self.refuse_copy("nested loops")?;
        check_concurrencies(asked)?;
        let (asked, largest) = (asked.clone(), InnerRows::new(asked.table(0)));
        largest.check(USUAL_BLOCK_BYTES)?;
        Ok(self.opener(
            move |size| largest.needs(size.block_bytes),
            Box::new(move |opening| {
                // As large as the engine's pool.
                let reached = self.reach(asked.pool.0, opening)?;
                Ok(Box::new(PostgresLoops::open(reached, asked, opening)?))
            }),
        ))
    }

    fn round_trip(&self, asked: &round_trip::Asked) -> Offer<'_, dyn RoundTrip> {
        self.refuse_copy("round trips")?;
        check_blocks(asked)?;
        let asked = *asked;
        Ok(self.opener(
            move |size| super::round_trip::rows(&asked, size.block_bytes).needs(size.block_bytes),
            Box::new(move |opening| {
                let reached = self.reach(ROUND_TRIP_BUFFERS, opening)?;
                Ok(Box::new(PostgresTrip::open(reached, asked, opening)?))
            }),
        ))
    }
}

fn start(place: &server::Place, buffers: u64, opening: &mut Opening<'_>) -> Result<PrivateServer, SubjectError> {
    let Environment { cache, proxy, scratch, .. } = opening.environment;
    let mut starter = Starter {
        cache: cache.as_deref(),
        proxy: proxy.as_deref(),
        scratch,
        stop: &opening.stop,
        progress: &mut *opening.progress,
    };
    Ok(starter.start(place, |_| ServerSettings::new(buffers))?)
}
