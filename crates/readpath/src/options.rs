//! What stands below every command: its row in the table, the options that all commands share, and what each one gets.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use measure::Run;
use measure::run::Job;
use measure::store::{Store, Unreadable, read_run};
use report::{RENDERERS, Renderer, Shown};
use subjects::places::without_password;

use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::words::renderer;

/// A command: its name, what it adds to its empty definition, and what it does.
pub(crate) struct CommandRow {
    /// The word on the command line.
    pub(crate) name: &'static str,
    /// Adds description, arguments and examples.
    pub(crate) define: fn(Command) -> Command,
    /// Does it.
    pub(crate) run: Dispatch,
}

/// The options that every command has.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Globals {
    /// How the result is printed
    #[arg(long, global = true, value_parser = renderer(), default_value = RENDERERS[0].name)]
    pub(crate) format: &'static Renderer,
    /// Directory that runs are kept in [default: $XDG_DATA_HOME/readpath/runs or ~/.local/share/readpath/runs]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Keep no run
    #[arg(long, global = true, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// No progress on standard error, and no announcement of what a run uses on a server
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// What every command gets.
pub(crate) struct Context {
    /// The options that all commands share.
    pub(crate) globals: Globals,
    /// What the environment asks for.
    pub(crate) settings: Settings,
    /// The command line as given.
    pub(crate) command_line: Vec<String>,
    /// The definition of the whole command line, from which completions and the manual page are made.
    pub(crate) definition: fn() -> Command,
    /// What finds a command's row and runs it: some commands run others.
    pub(crate) dispatch: Dispatch,
    /// What becomes of a command that would measure.
    pub(crate) purpose: Purpose,
    /// The job that asks for the run.
    pub(crate) job: Option<Job>,
    /// Of one of several runs: the heading under which the one before printed its rows, and what hears this one's.
    pub(crate) rows_under: Option<(String, Hearer)>,
}

/// What runs a command by its arguments.
pub(crate) type Dispatch = fn(&ArgMatches, &Context) -> Result<Exit, Failure>;

/// What hears under which heading rows were printed.
pub(crate) type Hearer = fn(&str) -> io::Result<()>;

/// What becomes of a command that would measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It measures.
    Run,
    /// It ends where it would begin to measure: its command line is sound.
    Check,
}

impl Context {
    /// Gathers what every command gets.
    pub(crate) fn new(
        matches: &ArgMatches,
        settings: Settings,
        line: &[OsString],
        (definition, dispatch): (fn() -> Command, Dispatch),
    ) -> Result<Context, Failure> {
        let mut innermost = matches;
        while let Some((_, below)) = innermost.subcommand() {
            innermost = below;
        }
        // The command line is kept and shown: no password of a server's address goes there.
        let command_line = line.iter().map(|word| without_password(&word.to_string_lossy())).collect();
        let globals = arguments(innermost)?;
        let (purpose, job, rows_under) = (Purpose::Run, None, None);
        Ok(Context { globals, settings, command_line, definition, dispatch, purpose, job, rows_under })
    }

    /// The directory of the store, for commands that keep a run.
    pub(crate) fn store_dir(&self) -> Result<PathBuf, Failure> {
        let nowhere = "there is no directory to keep runs in, because neither XDG_DATA_HOME nor HOME is set. Name one \
                       with --store DIR, or measure without keeping the run with --no-store.";
        self.named_or_usual_dir().ok_or_else(|| Failure::new(Exit::NotKept, nowhere))
    }

    /// The directory that the command line names, else the usual one.
    fn named_or_usual_dir(&self) -> Option<PathBuf> {
        self.globals.store.clone().or_else(|| self.settings.store_dir.clone())
    }

    /// The store for reading. The usual one may not be there yet; one that is named has to be.
    pub(crate) fn store_to_read(&self) -> Result<Store, Failure> {
        if self.globals.no_store {
            return Err(Failure::wrong("this command reads kept runs: leave out --no-store."));
        }
        let nowhere = "it is not known where runs are kept, because neither XDG_DATA_HOME nor HOME is set. Set one of \
                       them, or name the directory with --store DIR.";
        let dir = self.named_or_usual_dir().ok_or_else(|| Failure::new(Exit::NotKept, nowhere))?;
        if self.globals.store.is_some() && !dir.is_dir() {
            let sentence = format!("there is no directory {}: name the one that runs are kept in.", dir.display());
            return Err(Failure::new(Exit::NotKept, sentence));
        }
        Ok(Store::open_to_read(&dir))
    }

    /// A run as it is shown: with its identifier where the store has it under that.
    pub(crate) fn shown<'a>(&self, run: &'a Run) -> Shown<'a> {
        let is_kept = !self.globals.no_store && self.store_to_read().is_ok_and(|store| store.holds(&run.id));
        if is_kept { Shown::Kept(run) } else { Shown::Run(run) }
    }

    /// The run that a reference names: a file where it looks like a path, else one of the store, else a file of the
    /// working directory. The store comes first, so that no stray file hides `last` or an identifier. Adds to `passed`
    /// the damaged runs that `last` does not count.
    pub(crate) fn load(&self, reference: &str, passed: &mut Vec<Unreadable>) -> Result<Run, Failure> {
        let path = Path::new(reference);
        let of_file = || read_run(path).map_err(Failure::failed);
        if is_path(reference) {
            return of_file();
        }
        let kept = self.store_to_read().and_then(|store| Ok(store.load_passing(reference, passed)?));
        let is_unknown = |failure: &Failure| failure.exit == Exit::WrongCommandLine && !self.globals.no_store;
        match kept {
            Err(_) if path.is_file() => of_file(),
            // No identifier has a point, and the name of a file mostly has one.
            Err(_) if reference.contains('.') && !path.exists() => {
                let sentence = format!(
                    "there is no file {reference}. A kept run is named by its identifier, as `readpath runs` shows it, \
                     by `last`, or by `last~1` for the one before."
                );
                Err(Failure::wrong(sentence))
            }
            // Nor has it a letter beyond f.
            Err(failure) if is_unknown(&failure) && is_word(reference) && !path.exists() => {
                Err(Failure::wrong(format!("{} There is no file {reference} either.", failure.message)))
            }
            kept => kept,
        }
    }
}

/// Whether a reference to a run looks like the path of a file, for which no store is asked.
pub(crate) fn is_path(reference: &str) -> bool {
    reference.contains('/') || reference.ends_with(".json")
}

/// Whether a reference to a run is no identifier, and not `last`.
fn is_word(reference: &str) -> bool {
    let is_beyond_f = |letter: char| letter.is_ascii_alphabetic() && !letter.is_ascii_hexdigit();
    !reference.starts_with("last") && reference.contains(is_beyond_f)
}

/// The arguments of a command in their type.
pub(crate) fn arguments<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Failure> {
    A::from_arg_matches(matches).map_err(Failure::wrong)
}

/// A seed that no earlier run had, short enough to type again. Blocks that an earlier run read may still be in some
/// cache below; another order reaches others.
pub(crate) fn fresh_seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().1 & u64::from(u32::MAX)
}
