//! What commands have in common that measure on a server: its address, how long things may take there, and rehearsals.

use std::env;
use std::time::Duration;

use ::measure::Nanos;
use ::measure::quantity::parse_time;
use clap::Args;
use experiments::{ExperimentError, Journal, Machine, Stop};
use server::private::{Installation, PrivateServer, PrivateServerError, ServerSettings, Source};
use server::{Address, Limits, Place, ServerError, Statements};
use subjects::logical_reads::SubjectError;

use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;

/// How long a statement may take where nothing else is asked for.
const STATEMENT_TIMEOUT: &str = "5m";

/// About how long a private server takes to be fetched, where it is not here yet, and to start.
const FETCH_TIME: Duration = Duration::from_secs(15);
const START_TIME: Duration = Duration::from_secs(3);

/// The address of a private server that does not run yet.
const NOBODY: &str = "postgres://postgres@%2Fnonexistent/postgres";

/// The options of a server.
#[derive(Args, Clone)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArguments {
    /// Measure on this PostgreSQL server: postgres://USER@HOST:PORT/DATABASE, or postgres:18
    ///
    /// All that is made lies in a schema readpath of its own, which is removed at the end, after ^C and after errors.
    /// PGPASSWORD gives the password that the address does not; sslmode= and sslrootcert= behind it mean what they mean
    /// to PostgreSQL's own programs.
    ///
    /// postgres:VERSION (15 to 18) fetches that version once, starts a private server of it in the folder for temporary
    /// files, and removes the server at the end; postgres:DIRECTORY takes the programs of an installed one.
    #[arg(long, value_name = "URL")]
    on: Option<Place>,
    #[command(flatten)]
    options: ServerOptions,
}

/// What there is to say of a server besides its address.
#[derive(Args, Clone)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerOptions {
    /// Print every statement that would be sent to the server, and send none
    #[arg(long, requires = "on")]
    dry_run: bool,
    /// End a statement on the server that takes longer
    #[arg(long, value_name = "TIME", default_value = STATEMENT_TIMEOUT, value_parser = parse_time, requires = "on")]
    statement_timeout: Nanos,
}

impl ServerOptions {
    /// Whether only the statements are wanted.
    pub(super) fn dry_run(&self) -> bool {
        self.dry_run
    }
}

impl ServerArguments {
    /// A server that was named in another way than by a URL alone.
    pub(super) fn new(on: Option<Place>, options: ServerOptions) -> ServerArguments {
        ServerArguments { on, options }
    }

    /// Whether only the statements are wanted.
    pub(super) fn dry_run(&self) -> bool {
        self.options.dry_run
    }

    /// Whether a server is named.
    pub(super) fn is_named(&self) -> bool {
        self.on.is_some()
    }

    /// The address of the server that is named; none where none is.
    pub(super) fn address(&self, context: &Context) -> Result<Option<Address>, Failure> {
        self.on.as_ref().map(|place| address(place, context)).transpose()
    }

    /// Starts the server where it is one of this program's own; none where it is given, or none is named.
    ///
    /// `buffers` are the bytes of its shared buffers.
    pub(super) fn start(
        &self,
        buffers: u64,
        context: &Context,
        journal: &mut dyn Journal,
        machine: &Machine,
    ) -> Result<Option<PrivateServer>, ExperimentError> {
        let started = match &self.on {
            None | Some(Place::Given(_)) => return Ok(None),
            Some(place) => installation(place, context, journal, machine).and_then(|installation| {
                journal.step(&format!("starting PostgreSQL {}", installation.version().text), START_TIME);
                let settings = ServerSettings::new(buffers);
                PrivateServer::start(&installation, &env::temp_dir(), settings, machine.stop.flag())
            }),
        };
        let failed = |error: PrivateServerError| match error {
            PrivateServerError::Stopped => ServerError::Stopped,
            other => ServerError::Machine(other.to_string()),
        };
        Ok(Some(started.map_err(|error| SubjectError::from(failed(error)))?))
    }

    /// How long things may take on the server.
    pub(super) fn limits(&self) -> Limits {
        Limits { statement: Duration::from_nanos(self.options.statement_timeout.0), ..Limits::default() }
    }
}

/// The programs of a private server.
fn installation(
    place: &Place,
    context: &Context,
    journal: &mut dyn Journal,
    machine: &Machine,
) -> Result<Installation, PrivateServerError> {
    let major = match place {
        Place::Installed { directory } => return Installation::at(directory),
        Place::Private { major } => *major,
        Place::Given(_) => return Err(PrivateServerError::UnknownVersion(0)),
    };
    let cache = context.settings.cache_dir.clone().unwrap_or_else(env::temp_dir).join("postgres");
    if !Installation::is_cached(major, &cache) {
        journal.step(&format!("fetching PostgreSQL {major}"), FETCH_TIME);
    }
    let source = Source { cache, proxy: context.settings.proxy.clone() };
    Installation::of(major, &source, machine.stop.flag())
}

/// The address behind a place. That of a private server is known when it runs; until then it is one that nobody
/// answers at.
pub(super) fn address(place: &Place, context: &Context) -> Result<Address, Failure> {
    match place {
        Place::Given(address) => Ok(address.clone().or_password(context.settings.password.as_deref())),
        Place::Private { .. } | Place::Installed { .. } => {
            Address::parse(NOBODY).map_err(|error| Failure::new(Exit::Failed, error))
        }
    }
}

/// Prints the statements that a procedure would send.
pub(super) fn rehearse(
    procedure: impl FnOnce(&Machine, &Statements) -> Result<(), ExperimentError>,
) -> Result<Exit, Failure> {
    let statements = Statements::default();
    statements.remark("what would be sent to PostgreSQL 18, if every answer is as expected; nothing was sent");
    procedure(&Machine::observe(Stop::default()), &statements)
        .map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
    output::print(&statements.script())?;
    Ok(Exit::Done)
}
