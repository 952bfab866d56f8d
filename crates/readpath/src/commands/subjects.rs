//! What commands have in common that measure on subjects: `--on`, how long things may take there, and dry runs.

use std::env;

use ::measure::Nanos;
use clap::Args;
use experiments::{ExperimentError, Machine, Stop};
use subjects::opening::STATEMENT_TIMEOUT;
use subjects::{Environment, Places, Recorder};

use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;

/// The options of subjects.
#[derive(Args, Clone)]
#[command(next_help_heading = "Subjects")]
pub(super) struct SubjectArguments {
    /// Measure on these, in this order: engine, postgres://USER@HOST:PORT/DATABASE, postgres:18, sqlite, sqlite:FILE
    ///
    /// The engine is measured too, whatever else is named. All that is made on a server lies in a schema readpath of
    /// its own, which is removed at the end, after ^C and after errors. What an address leaves
    /// out comes from PGHOST, PGPASSWORD and the like, the password file and the service file; these, and sslmode=,
    /// sslrootcert= and connect_timeout= behind an address, mean what they mean to PostgreSQL's own programs.
    ///
    /// postgres:VERSION (15 to 18) fetches that version once, starts a private server of it in the folder for temporary
    /// files, and removes the server at the end; postgres:DIRECTORY takes the programs of an installed one.
    ///
    /// sqlite makes a database with pages of 4 KiB in the folder for temporary files and removes it at the end;
    /// sqlite?page_size=8192 gives it the engine's page size. sqlite:FILE reads the tables of a database that is there,
    /// and writes nothing.
    ///
    /// A comma parts two subjects where engine, postgres or sqlite follows it; other commas belong to an address or a
    /// file.
    #[arg(long, value_name = "SUBJECT,...")]
    on: Vec<Places>,
    #[command(flatten)]
    options: SubjectOptions,
}

/// The options of subjects besides their places.
#[derive(Args, Clone)]
#[command(next_help_heading = "Subjects")]
pub(super) struct SubjectOptions {
    /// Print every statement that would be sent to a server, and send none
    #[arg(long, requires = "on")]
    dry_run: bool,
    /// End a statement on a server that takes longer
    #[arg(long, value_name = "TIME", default_value_t = STATEMENT_TIMEOUT, requires = "on", value_parser = limit)]
    statement_timeout: Nanos,
}

impl SubjectArguments {
    /// The places that are named, the engine alone where none is; in a dry run those that take statements.
    pub(super) fn places(&self) -> Result<Places, Failure> {
        self.options.places(Places::joined(self.on.iter().cloned()))
    }

    /// Whether a place is named.
    pub(super) fn is_named(&self) -> bool {
        !self.on.is_empty()
    }

    /// Whether only the statements are wanted.
    pub(super) fn is_dry_run(&self) -> bool {
        self.options.dry_run
    }

    /// What subjects are opened with.
    pub(super) fn environment(&self, context: &Context) -> Environment {
        self.options.environment(context)
    }
}

impl SubjectOptions {
    /// The places; in a dry run those that take statements.
    pub(super) fn places(&self, places: Places) -> Result<Places, Failure> {
        if !self.dry_run {
            return Ok(places);
        }
        let places = places.taking_statements();
        match places.count() {
            0 => Err(Failure::new(
                Exit::WrongCommandLine,
                "--dry-run prints what is sent to a server: name one with --on postgres://USER@HOST/DATABASE.",
            )),
            _ => Ok(places),
        }
    }

    /// Whether only the statements are wanted.
    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// What subjects are opened with.
    pub(super) fn environment(&self, context: &Context) -> Environment {
        Environment {
            defaults: context.settings.servers.clone(),
            cache: context.settings.cache_dir.clone(),
            proxy: context.settings.proxy.clone(),
            statement_timeout: self.statement_timeout,
            ..Environment::new(env::temp_dir())
        }
    }
}

/// A time that PostgreSQL takes as a limit. To PostgreSQL 0 is no limit, and on a given server every statement has one.
fn limit(word: &str) -> Result<Nanos, String> {
    let limits = Nanos::from_millis(1)..=Nanos::from_millis(i32::MAX.unsigned_abs().into());
    let time: Nanos = word.parse().map_err(|error| format!("{error}"))?;
    match limits.contains(&time) {
        true => Ok(time),
        false => Err("a statement on a server always has a limit, from 1ms to 24 days; such as 1h".into()),
    }
}

/// Prints the statements that a procedure would send.
pub(super) fn dry_run(
    environment: Environment,
    procedure: impl FnOnce(&Environment, &Machine) -> Result<(), ExperimentError>,
) -> Result<Exit, Failure> {
    let recorder = Recorder::default();
    recorder.remark("what would be sent to PostgreSQL 18, if every answer is as expected; nothing was sent");
    let environment = Environment { recorder: Some(recorder.clone()), ..environment };
    procedure(&environment, &Machine::observe(Stop::default()))
        .map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
    output::print(&recorder.script())?;
    Ok(Exit::Done)
}
