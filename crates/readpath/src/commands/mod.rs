//! The commands: one file and one row each.

mod calibrate;
mod clean;
mod compare;
mod completions;
mod counted_scan;
mod counters;
mod disk;
mod export;
mod join;
mod ladder;
mod lio;
mod man;
mod measure;
mod null;
mod on_server;
mod profile;
mod roundtrip;
mod runs;
mod scan;
mod show;
mod time_scale;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ::measure::Run;
use ::measure::store::{Store, read_run};
use clap::{ArgMatches, Command, FromArgMatches};
use server::place::without_password;

use crate::cli::Globals;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// A command: its name, what it adds to its empty definition, and what it does.
pub(crate) struct CommandRow {
    /// The word on the command line.
    pub(crate) name: &'static str,
    /// Adds description, arguments and examples.
    pub(crate) define: fn(Command) -> Command,
    /// Does it.
    pub(crate) run: fn(&ArgMatches, &Context) -> Result<Exit, Failure>,
}

/// The commands in the order of the help.
pub(crate) const COMMANDS: &[CommandRow] = &[
    ladder::COMMAND,
    disk::COMMAND,
    roundtrip::COMMAND,
    lio::COMMAND,
    counters::COMMAND,
    scan::COMMAND,
    join::COMMAND,
    calibrate::COMMAND,
    profile::COMMAND,
    export::COMMAND,
    runs::COMMAND,
    show::COMMAND,
    compare::COMMAND,
    clean::COMMAND,
    completions::COMMAND,
    man::COMMAND,
    null::COMMAND,
    counted_scan::COMMAND,
];

/// What every command gets.
pub(crate) struct Context {
    /// The options that all commands share.
    pub(crate) globals: Globals,
    /// What the environment asks for.
    pub(crate) settings: Settings,
    /// The command line as given.
    pub(crate) command_line: Vec<String>,
}

impl Context {
    /// Gathers what every command gets.
    pub(crate) fn new(matches: &ArgMatches, settings: Settings, line: &[OsString]) -> Result<Context, Failure> {
        let innermost = matches.subcommand().map_or(matches, |(_, matches)| matches);
        // The command line is kept and shown: no password of a server's address goes there.
        let command_line = line.iter().map(|word| without_password(&word.to_string_lossy())).collect();
        Ok(Context { globals: arguments(innermost)?, settings, command_line })
    }

    /// The directory of the store, for commands that cannot do without.
    pub(crate) fn store_dir(&self) -> Result<PathBuf, Failure> {
        if self.globals.no_store {
            return Err(Failure::new(Exit::WrongCommandLine, "this command reads kept runs: leave out --no-store."));
        }
        let dir = self.globals.store.clone().or_else(|| self.settings.store_dir.clone());
        let nowhere = "there is no directory to keep runs in, because neither XDG_DATA_HOME nor HOME is set. Name one \
                       with --store DIR, or measure without keeping the run with --no-store.";
        dir.ok_or_else(|| Failure::new(Exit::NotKept, nowhere))
    }

    /// The store for reading.
    pub(crate) fn store_to_read(&self) -> Result<Store, Failure> {
        Ok(Store::open_to_read(&self.store_dir()?))
    }

    /// The run that a reference names: a file where it looks like a path, else one of the store, else a file of the
    /// working directory. The store comes first, so that no file that lies about hides `last` or an identifier.
    pub(crate) fn load(&self, reference: &str) -> Result<Run, Failure> {
        let path = Path::new(reference);
        if reference.contains('/') || reference.ends_with(".json") {
            return Ok(read_run(path)?);
        }
        let kept = self.store_to_read().and_then(|store| Ok(store.load(reference)?));
        match kept {
            Err(_) if path.is_file() => Ok(read_run(path)?),
            kept => kept,
        }
    }
}

/// Runs the command that the command line names.
pub(crate) fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let named = matches.subcommand().and_then(|(name, matches)| Some((row(name)?, matches)));
    match named {
        Some((row, matches)) => (row.run)(matches, context),
        None => Err(Failure::new(Exit::WrongCommandLine, "no command is given: see `readpath --help`.")),
    }
}

/// A seed that no earlier run had, short enough to type again. Blocks that an earlier run read may still be in some
/// cache below; another order reaches others.
fn fresh_seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().1 & u64::from(u32::MAX)
}

/// The arguments of a command in their type.
pub(crate) fn arguments<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Failure> {
    A::from_arg_matches(matches).map_err(|error| Failure::new(Exit::WrongCommandLine, error))
}

fn row(name: &str) -> Option<&'static CommandRow> {
    COMMANDS.iter().find(|row| row.name == name)
}
