//! A PostgreSQL server as a word of `--on`: a given one, treated as production, or a private one that is fetched,
//! started and removed.

use std::time::Duration;

use server::place::without_password;
use server::private::{Installation, PrivateServer, PrivateServerError, ServerSettings, Source};
use server::{Address, Limits};

use super::access_paths::{PostgresPaths, buffers_needed, check_rows};
use super::calibration::{Calibration, CalibrationAsked};
use super::catalogs::Catalogs;
use super::logical_reads::{ServerReads, buffers_for};
use super::nested_loops::{PostgresLoops, check_concurrencies};
use super::planner_paths;
use super::reached::Reached;
use super::round_trip::{PostgresTrip, check_blocks};
use crate::access_paths::{self, AccessPaths, AccessSettings};
use crate::error::SubjectError;
use crate::logical_reads::{self, LogicalReads};
use crate::nested_loops::{self, NestedLoops};
use crate::opening::{Environment, Opening};
use crate::place::{Offer, Place};
use crate::round_trip::{self, RoundTrip};

/// How words begin that name a server.
pub(crate) const SCHEMES: [&str; 2] = ["postgres:", "postgresql://"];

/// About how long fetching the programs of a private server takes, and starting it.
const FETCH_TIME: Duration = Duration::from_secs(15);
const START_TIME: Duration = Duration::from_secs(3);

/// The address that a dry run takes for a private server, which is not started.
const NOWHERE: &str = "postgres://postgres@%2Fnonexistent/postgres";

/// A server that a word of `--on` names.
#[derive(Clone, Debug)]
pub struct PostgresPlace {
    word: String,
    place: server::Place,
}

/// Shared buffers of a private server for the experiment on round trips.
const ROUND_TRIP_BUFFERS: u64 = 128 << 20;

impl PostgresPlace {
    /// Reads a word of `--on`.
    pub fn parse(word: &str) -> Result<PostgresPlace, SubjectError> {
        let place = word.parse().map_err(|error: server::ServerError| SubjectError::Parameters(error.to_string()))?;
        Ok(PostgresPlace { word: without_password(word), place })
    }

    /// Starts the server where it is a private one, with this many bytes of shared buffers. In a dry run nothing is
    /// started.
    pub fn reach(&self, buffers: u64, opening: &mut Opening<'_>) -> Result<Reached, SubjectError> {
        let environment = opening.environment;
        let statement = Duration::from_nanos(environment.statement_timeout.0);
        let limits = Limits { statement, ..Limits::default() };
        let (address, private) = match &self.place {
            server::Place::Given(address) => (address.completed(&environment.defaults)?, None),
            _ if environment.is_dry_run() => (Address::parse(NOWHERE)?, None),
            place => {
                let private = start(place, buffers, opening)?;
                (Address::of(private.config()), Some(private))
            }
        };
        let (stop, recorder) = (opening.stop.clone(), environment.recorder.clone());
        Ok(Reached { address, limits, private, stop, recorder })
    }
}

impl Place for PostgresPlace {
    fn word(&self) -> String {
        self.word.clone()
    }

    fn takes_statements(&self) -> bool {
        true
    }

    fn logical_reads(&self, asked: &logical_reads::Asked) -> Offer<'_, dyn LogicalReads> {
        let asked = asked.clone();
        if let Some(absence) = super::logical_reads::unfit(&asked) {
            return Err(absence);
        }
        Ok(Box::new(move |opening| {
            let reached = self.reach(buffers_for(&asked.cells), opening)?;
            let session = reached.connect(opening)?;
            Ok(match session.facts().is_standby {
                true => Box::new(Catalogs::open(session, reached.private, opening.clock)?),
                false => Box::new(ServerReads::open(session, reached.private, asked, opening.clock)?),
            })
        }))
    }

    fn access_paths(&self, settings: &AccessSettings) -> Offer<'_, dyn AccessPaths> {
        access_paths::check_wanted(&self.word, &planner_paths::offers(settings.asked), settings)?;
        let settings = settings.clone();
        Ok(Box::new(move |opening| {
            check_rows(settings.rows)?;
            let reached = self.reach(buffers_needed(settings.rows), opening)?;
            Ok(Box::new(PostgresPaths::open(reached, &settings, opening)?))
        }))
    }

    fn calibration(&self, asked: CalibrationAsked) -> Offer<'_, Calibration> {
        Ok(Box::new(move |opening| {
            let payload = asked.payload(!matches!(self.place, server::Place::Given(_)));
            let reached = self.reach(asked.buffers(), opening)?;
            Ok(Box::new(Calibration::open(reached, payload, asked.seed, opening)?))
        }))
    }

    fn nested_loops(&self, asked: &nested_loops::Asked) -> Offer<'_, dyn NestedLoops> {
        check_concurrencies(asked)?;
        let asked = asked.clone();
        Ok(Box::new(move |opening| {
            // As large as the engine's pool.
            let reached = self.reach(asked.pool.0, opening)?;
            Ok(Box::new(PostgresLoops::open(reached, asked, opening)?))
        }))
    }

    fn round_trip(&self, asked: &round_trip::Asked) -> Offer<'_, dyn RoundTrip> {
        check_blocks(asked)?;
        let asked = *asked;
        Ok(Box::new(move |opening| {
            let reached = self.reach(ROUND_TRIP_BUFFERS, opening)?;
            Ok(Box::new(PostgresTrip::open(reached, asked, opening)?))
        }))
    }
}

fn start(place: &server::Place, buffers: u64, opening: &mut Opening<'_>) -> Result<PrivateServer, SubjectError> {
    let installation = installation(place, opening)?;
    (opening.progress)(&format!("starting PostgreSQL {}", installation.version().text), START_TIME);
    let scratch = &opening.environment.scratch;
    Ok(PrivateServer::start(&installation, scratch, ServerSettings::new(buffers), &opening.stop)?)
}

/// The programs of a private server, fetched where they are not in the cache.
fn installation(place: &server::Place, opening: &mut Opening<'_>) -> Result<Installation, PrivateServerError> {
    let major = match place {
        server::Place::Installed { directory } => return Installation::at(directory),
        server::Place::Private { major } => *major,
        server::Place::Given(_) => return Err(PrivateServerError::UnknownVersion(0)),
    };
    let Environment { cache, scratch, proxy, .. } = opening.environment;
    let cache = cache.as_ref().unwrap_or(scratch).join("postgres");
    if !Installation::is_cached(major, &cache) {
        (opening.progress)(&format!("fetching PostgreSQL {major}"), FETCH_TIME);
    }
    Installation::of(major, &Source { cache, proxy: proxy.clone() }, &opening.stop)
}
