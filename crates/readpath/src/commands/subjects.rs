//! What commands have in common that measure on subjects: `--on`, how long things may take there, and dry runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use ::measure::Nanos;
use clap::builder::StyledStr;
use clap::{Arg, ArgMatches, Args};
use experiments::journal::NullJournal;
use experiments::{ExperimentError, Journal, Machine, Stop};
use server::Address;
use server::facts::{ASSUMED_MAJOR, MAJORS};
use subjects::forecast::QueryUse;
use subjects::opening::STATEMENT_TIMEOUT;
use subjects::places::without_password;
use subjects::subject::ENGINE;
use subjects::{Environment, Forecast, Place, Places, Recorder};

use super::measure::{measure, refuse_ahead};
use super::unused::refuse_unused;
use crate::announcement::{Rehearsed, paragraph, screen};
use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;

/// How a line of a script begins that is no statement.
const MARK: &str = "-- ";

/// What a reader of a dry run has to know: of any, of one with a private server, of one with a given server, and of
/// statements that name the extension.
const OF_ALL: &str = "What follows would be sent if every answer is as expected; nothing was sent.";
const OF_PRIVATE: &str = "How many times a statement is repeated on a private server depends on how long it takes.";
const OF_GIVEN: &str = "The version of a given server is not asked, and is taken to be 18: --on postgres:15 --dry-run \
                        prints what is sent to 15.";
const OF_TRIED: &str = "Of up to 40 sets of constants, those that are only tried are left out: readpath sends the same \
                        statements for them, with other values. The best of them are called tried-1 to tried-3.";
const EXTENSION: &str = "pg_buffercache";
const OF_EXTENSION: &str =
    "What names pg_buffercache is sent only where the database has that extension and the role may use it.";

/// What the help of `--on` says below its first sentence where only servers are measured.
pub(super) const OF_SERVERS: &str = "\
Everything that readpath creates on a server is in one schema, readpath, which is removed at the end, after ^C and \
after errors. What an address leaves out comes from PGHOST, PGPASSWORD and the like, the password file and the service \
file; these, and sslmode=, sslrootcert= and connect_timeout= after an address, mean what they mean to PostgreSQL's own \
programs.

postgres:VERSION (15 to 18) fetches that version once, starts a private server of it in the folder for temporary \
files, and removes the server at the end; postgres:DIRECTORY takes the programs of an installed one.";

/// How the word of a database file begins, which is named without its folder in cases and on pages.
const OF_DATABASE_FILE: &str = "sqlite:";

/// The options of subjects.
#[derive(Args, Clone)]
#[command(next_help_heading = "Subjects")]
pub(super) struct SubjectArguments {
    /// Measure on these, in this order: engine, postgres://USER@HOST:PORT/DATABASE, postgres:18, sqlite
    ///
    /// The engine is measured as well; lio, scan and join leave it out with --alone. Everything that readpath creates
    /// on a server is in one schema, readpath, which is removed at the end, after ^C and after errors. What an address
    /// leaves out comes from PGHOST, PGPASSWORD and the like, the password file and the service file; these, and
    /// sslmode=, sslrootcert= and connect_timeout= after an address, mean what they mean to PostgreSQL's own programs.
    ///
    /// postgres:VERSION (15 to 18) fetches that version once, starts a private server of it in the folder for temporary
    /// files, and removes the server at the end; postgres:DIRECTORY takes the programs of an installed one.
    ///
    /// sqlite makes a database with pages of 4 KiB in the folder for temporary files and removes it at the end;
    /// sqlite?page_size=8192 gives it the engine's page size.
    ///
    /// A comma separates two subjects where engine, postgres or sqlite follows it; other commas belong to an address or
    /// a file.
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
    /// Cancel any statement that takes longer than this on a server, from 1ms to about 24d [default: 5m]. 0, which to
    /// PostgreSQL is no limit, is refused: every statement has one. Where the statement_timeout or transaction_timeout
    /// of the role is shorter, that holds
    #[arg(long, value_name = "TIME", requires = "on", allow_hyphen_values = true, value_parser = limit)]
    statement_timeout: Option<Nanos>,
}

/// Whether the engine stands beside the subjects that are named.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Subjects")]
pub(super) struct EngineBeside {
    /// Measure only what --on names, without the engine for comparison
    #[arg(long, requires = "on")]
    alone: bool,
}

impl EngineBeside {
    /// Refuses `--alone` where the engine is what is measured, and with it the options `of_engine`.
    pub(super) fn refuse(self, matches: &ArgMatches, places: &Places, of_engine: &[&str]) -> Result<(), Failure> {
        let is_engine = places.named().any(|place| place.word() == ENGINE);
        refuse_unused(matches, &[("alone", !is_engine, "the engine is what is measured")])?;
        let reason = "the engine is not measured with --alone";
        let unused: Vec<_> = of_engine.iter().map(|option| (*option, !self.alone, reason)).collect();
        refuse_unused(matches, &unused)
    }

    /// Whether it is left out.
    pub(super) fn is_alone(self) -> bool {
        self.alone
    }

    /// The places with the engine, added by `add`, where it is wanted beside them.
    pub(super) fn with_engine(self, places: Places, is_dry_run: bool, add: fn(Places) -> Places) -> Places {
        if self.alone || is_dry_run { places } else { add(places) }
    }
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

    /// The options besides the places.
    pub(super) fn options(&self) -> &SubjectOptions {
        &self.options
    }
}

impl SubjectOptions {
    /// The places; in a dry run those that take statements. Refuses options of servers where there is none.
    pub(super) fn places(&self, places: Places) -> Result<Places, Failure> {
        refuse_files_of_one_name(&places)?;
        let refused = |sentence| Err(Failure::wrong(sentence));
        let has_server = places.iter().any(Place::takes_statements);
        match has_server {
            true if self.dry_run => Ok(places.taking_statements()),
            false if self.dry_run => refused(
                "--dry-run prints what is sent to a server: name one with --on \
                 postgres://USER@HOST:PORT/DATABASE.",
            ),
            false if self.statement_timeout.is_some() => {
                refused("--statement-timeout has no effect here: it ends statements on a server, and --on names none.")
            }
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
            statement_timeout: self.statement_timeout.unwrap_or(STATEMENT_TIMEOUT),
            ..Environment::new(env::temp_dir())
        }
    }
}

/// The option `--on` of a command that reads the tables of a given database file. In a file that is only read, no other
/// command could make its own.
pub(super) fn with_database_files(on: Arg) -> Arg {
    let text = |help: Option<&StyledStr>| help.map_or(String::new(), ToString::to_string);
    let (short, long) = (text(on.get_help()), text(on.get_long_help()));
    let named = format!("{short}, sqlite:FILE");
    let long = long.replacen(&short, &named, 1);
    let of_files = "sqlite:FILE reads the tables of an existing database, and writes nothing.";
    on.help(named).long_help(format!("{long}\n\n{of_files}"))
}

/// Refuses two database files whose cases no page and no comparison could tell apart.
fn refuse_files_of_one_name(places: &Places) -> Result<(), Failure> {
    let mut known = BTreeMap::new();
    for word in places.named().map(Place::word) {
        let Some(file) = word.strip_prefix(OF_DATABASE_FILE) else { continue };
        let path = fs::canonicalize(file).unwrap_or_else(|_| file.into());
        let Some(name) = path.file_name() else { continue };
        let Some((first, known)) = known.insert(name.to_os_string(), (word.clone(), path.clone())) else { continue };
        let sentence = match known == path {
            true => format!("{first} and {word} are one file: name it once."),
            false => format!(
                "{first} and {word} are files of one name, so their cases could not be told apart: measure each in a \
                 run of its own, and compare the runs."
            ),
        };
        return Err(Failure::wrong(sentence));
    }
    Ok(())
}

/// A time that PostgreSQL takes as a limit. To PostgreSQL 0 is no limit, and on a given server every statement has one.
fn limit(word: &str) -> Result<Nanos, String> {
    let limits = Nanos::from_millis(1)..=Nanos::from_millis(i32::MAX.unsigned_abs().into());
    // Without a unit zero is no time, but that is not what is wrong with it.
    let is_zero = word.parse::<f64>().is_ok_and(|number| number == 0.0);
    let time = if is_zero { Ok(Nanos::ZERO) } else { word.parse::<Nanos>() };
    let time = time.map_err(|error| error.to_string())?;
    match limits.contains(&time) {
        true => Ok(time),
        false if time == Nanos::ZERO => {
            Err("0 would be no limit, and a statement on a server always has one, from 1ms to about 24d; such as 1h"
                .into())
        }
        false => Err("a statement on a server always has a limit, from 1ms to about 24d; such as 1h".into()),
    }
}

/// Reads the words of `--on` where only servers are measured: what names no subject is answered with those alone.
pub(super) fn servers(words: &str) -> Result<Places, String> {
    let of_server = || words.parse::<server::Place>().err().map(|error| error.to_string());
    words.parse::<Places>().map_err(|error| of_server().unwrap_or_else(|| error.to_string()))
}

/// Reads the address of a server that runs. A private one would do nothing, so that no sentence proposes one without a
/// load.
pub(super) fn server_that_runs(word: &str) -> Result<Address, String> {
    let is_address = server::place::SCHEMES.iter().any(|scheme| word.starts_with(scheme));
    let shown = without_password(word);
    match word.parse::<server::Place>() {
        Ok(server::Place::Given(address)) => Ok(address),
        Ok(_) => Err(format!(
            "'{shown}' names a server to start, and not a server that runs: write postgres://USER@HOST:PORT/DATABASE; \
             `readpath profile --on postgres:18 -- COMMAND` profiles a private one under a load"
        )),
        Err(error) if is_address => Err(error.to_string()),
        Err(_) => Err(format!("'{shown}' names no server: write postgres://USER@HOST:PORT/DATABASE")),
    }
}

/// An address with what the user's environment says, such as its service. What cannot be completed is a slip in one of
/// the two.
pub(super) fn completed(address: &Address, context: &Context) -> Result<Address, Failure> {
    address.completed(&context.settings.servers).map_err(Failure::wrong)
}

/// Refuses a server whose address cannot be completed, before anything else is done.
fn refuse_incomplete(places: &Places, context: &Context) -> Result<(), Failure> {
    for place in places.iter().filter(|place| place.is_in_use()) {
        // The word lacks its password, which completes nothing.
        if let Ok(server::Place::Given(address)) = place.word().parse::<server::Place>() {
            completed(&address, context)?;
        }
    }
    Ok(())
}

/// Refuses databases where files and block devices are read: `--on` means something else there.
pub(super) fn refuse_databases<'a>(command: &str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    let is_database = |path: &&PathBuf| !path.exists() && path.to_str().is_some_and(Places::claim);
    let Some(path) = paths.into_iter().find(is_database) else { return Ok(()) };
    let sentence = format!(
        "'{}' names a database, and readpath {command} reads a file or a block device. For the path to the storage \
         through a PostgreSQL server give `readpath roundtrip --on`; lio, scan and join measure databases too, and \
         calibrate PostgreSQL servers.",
        without_password(&path.to_string_lossy())
    );
    Err(Failure::wrong(sentence))
}

/// The directory of the engine's tables: the one that is given, or that of the cache; an empty name where the engine is
/// not measured.
pub(super) fn directory_of_tables(
    given: Option<PathBuf>,
    cache: Option<&Path>,
    places: &Places,
) -> Result<PathBuf, Failure> {
    let nowhere = "there is no directory for the tables, because neither XDG_CACHE_HOME nor HOME is set: name one with \
                   --dir DIR.";
    match given.or_else(|| cache.map(|cache| cache.join("tables"))) {
        Some(directory) => Ok(directory),
        None if places.iter().all(|place| place.word() != ENGINE) => Ok(PathBuf::new()),
        None => Err(Failure::failed(nowhere)),
    }
}

/// Measures on places, or prints the statements where only those are wanted.
///
/// `procedure` measures on the places that it is given. For each server that is in use it is first carried out with
/// nothing sent, so that the run can announce what it takes there.
pub(super) fn measure_on(
    context: &Context,
    experiment: &str,
    (places, subjects): (&Places, &SubjectOptions),
    mut procedure: impl FnMut(&Places, &Environment, &Machine, &mut dyn Journal) -> Result<(), ExperimentError>,
) -> Result<Exit, Failure> {
    refuse_incomplete(places, context)?;
    refuse_ahead(context, || Ok(places.iter().try_for_each(Place::check_files)?))?;
    let environment = subjects.environment(context);
    if subjects.dry_run {
        // Where it fails, it ends as the run itself would.
        output::print(&dry_run(&mut procedure, places, &environment, &Machine::observe(Stop::default()))?)?;
        return Ok(Exit::Done);
    }
    measure(context, experiment, |journal, machine| {
        for place in places.in_use().filter(|_| !context.globals.quiet) {
            // Which version it is, the server says when it is asked whether there is room.
            for assumed_major in MAJORS {
                let environment = Environment { assumed_major, ..environment.clone() };
                let (recorder, forecasts) = rehearse(&mut procedure, &place, &environment, machine)?;
                let of = |forecast: &Forecast| Rehearsed::of((&forecast.server, assumed_major), &recorder);
                journal.rehearsed(forecasts.iter().map(of));
            }
        }
        procedure(places, &environment, machine, journal)
    })
}

/// Measures on the places that it is given.
type Procedure<'a> = dyn FnMut(&Places, &Environment, &Machine, &mut dyn Journal) -> Result<(), ExperimentError> + 'a;

/// Carries a procedure out with nothing sent: its statements, and what it takes of servers that are in use.
fn rehearse(
    procedure: &mut Procedure<'_>,
    places: &Places,
    environment: &Environment,
    machine: &Machine,
) -> Result<(Recorder, Vec<Forecast>), ExperimentError> {
    let (recorder, mut journal) = (Recorder::default(), NullJournal::default());
    let environment = Environment { recorder: Some(recorder.clone()), ..environment.clone() };
    procedure(places, &environment, &machine.rehearsal(), &mut journal)?;
    Ok((recorder, journal.forecasts))
}

/// The statements of a dry run, after what the run takes of servers that are in use. That is said of each server by
/// itself, as the run says it: the statements that others get are none of its costs. Of several servers, the
/// statements of each stand below its name.
fn dry_run(
    procedure: &mut Procedure<'_>,
    places: &Places,
    environment: &Environment,
    machine: &Machine,
) -> Result<String, ExperimentError> {
    // What the servers cannot do together is refused as the run refuses it.
    let (_, forecasts) = rehearse(procedure, places, environment, machine)?;
    let (mut script, mut statements) = (String::new(), String::new());
    for place in places.each() {
        let (recorder, forecasts) = rehearse(procedure, &place, environment, machine)?;
        let rehearsed = |forecast: &Forecast| Rehearsed::of((&forecast.server, ASSUMED_MAJOR), &recorder);
        script.extend(forecasts.iter().map(|forecast| screen(forecast, &rehearsed(forecast), MARK)));
        let name = place.iter().filter(|_| places.count() > 1).map(Place::word);
        statements.extend(name.map(|name| paragraph(&format!("Sent to {name}:"), MARK)));
        statements += &recorder.script();
    }
    let has_private = places.iter().any(|place| place.takes_statements() && !place.is_in_use());
    let remarks = [
        (true, OF_ALL),
        (has_private, OF_PRIVATE),
        (places.in_use().next().is_some(), OF_GIVEN),
        (forecasts.iter().any(|forecast| forecast.queries == QueryUse::Run), OF_TRIED),
        (statements.contains(EXTENSION), OF_EXTENSION),
    ];
    for (_, remark) in remarks.iter().filter(|(is_meant, _)| *is_meant) {
        script += &paragraph(remark, MARK);
    }
    Ok(script + &statements)
}
