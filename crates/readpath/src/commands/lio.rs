//! `readpath lio`: the cost of a logical I/O.

use std::hash::Hash;
use std::path::{Path, PathBuf};

use ::measure::atomic_file::{Draft, Existing};
use ::measure::quantity::Size;
use ::measure::sorting::each_once;
use clap::{ArgMatches, Args, Command};
use experiments::lio::{self, LioParameters, PAYLOAD, PAYLOAD_BESIDE};
use subjects::logical_reads::{Access, TouchAxis};
use subjects::{Place, Places};

use super::report::{existing, not_written, refuse_to_replace, target};
use super::subjects::{EngineBeside, SubjectArguments, directory_of_tables, measure_on, with_database_files};
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, Purpose, arguments};
use crate::output;
use crate::words::{percent, word};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "lio", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath lio                                       the nine tables of the published experiment
  readpath lio --payload 1GiB                        at their published size
  readpath lio --touch rows,column-last              what walking the row to its end adds
  readpath lio --columns 5 --access full-scan,rowid,one-page --threads 1,2
  readpath lio --row-length 250 --columns 5 --changed-rows 0,1,10,50
  readpath lio --columns 25 --touch column-last --flamegraph walk.svg
  readpath lio --columns 25 --touch column-2,column-13,column-19
  readpath lio --on postgres://me@db.example/shop --dry-run        every statement that would be sent
  readpath lio --on postgres://me@db.example/shop --payload 64MiB  a server, with the engine for comparison
  readpath lio --on postgres:18 --alone                            a private server of version 18, without the engine
  readpath lio --on postgres:15,postgres:18                        two of them, with the engine for comparison
  readpath lio --on sqlite                                         SQLite's 4 KiB pages, with the engine for comparison
  readpath lio --on sqlite?page_size=8192                          its pages as large as the engine's
  readpath lio --on sqlite:shop.db                                 tables of a database file, which is only read";

/// Options of the tables that are made, and of the ways into them. Tables that are found are scanned.
const OF_TABLES: [&str; 8] = ["payload", "row_length", "columns", "access", "touch", "threads", "changed_rows", "seed"];

/// Measures the cost of a logical I/O (a get of a cached block), by the shape of the block's rows
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    #[arg(long, help = format!("Bytes of all columns of all rows of a table; 1GiB is the published size [default: \
        {PAYLOAD}, with --on {PAYLOAD_BESIDE}]"))]
    payload: Option<Size>,
    /// Bytes of a row, all columns together [default: 2500,250,25]
    #[arg(long, value_delimiter = ',', value_name = "BYTES,...")]
    row_length: Vec<u32>,
    /// Columns of a row [default: 1,5,25]
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...")]
    columns: Vec<u32>,
    /// How blocks are accessed [default: full-scan, with --on full-scan,rowid,index]
    #[arg(long, value_delimiter = ',', value_name = "ACCESS,...", value_parser = word::<Access>())]
    access: Vec<Access>,
    /// What is touched of a row: directory, rows, column-N, column-last [default: rows, with --on rows,column-last]
    #[arg(long, value_delimiter = ',', value_name = "TOUCH,...")]
    touch: Vec<TouchAxis>,
    /// Numbers of threads [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...")]
    threads: Vec<usize>,
    /// Percentages of the rows that changed since the snapshot that is read: whole numbers, 0 to 100 [default: 0]
    #[arg(long, value_delimiter = ',', value_name = "PERCENT,...", value_parser = percent::<u32>)]
    changed_rows: Vec<u32>,
    /// Samples of each case
    #[arg(long, default_value_t = LioParameters::default().repeat)]
    repeat: usize,
    /// Picks the random orders
    #[arg(long, default_value_t = LioParameters::default().seed)]
    seed: u64,
    /// Directory of the tables, which stay there for the next run: with the defaults 3.1 GB, free to remove; those of
    /// another --payload are replaced
    /// [default: $XDG_CACHE_HOME/readpath/tables or ~/.cache/readpath/tables]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write where the CPU time of the passes went
    #[arg(long, value_name = "FILE.svg")]
    flamegraph: Option<PathBuf>,
    /// Overwrite an existing flame graph
    #[arg(long, requires = "flamegraph")]
    force: bool,
    /// Load the tables again
    #[arg(long)]
    reload: bool,
    #[command(flatten)]
    subjects: SubjectArguments,
    #[command(flatten)]
    beside: EngineBeside,
}

fn define(command: Command) -> Command {
    Arguments::augment_args(command).mut_arg("on", with_database_files)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let picture = arguments.flamegraph.as_deref().map(|path| Picture::begin(path, arguments.force)).transpose()?;
    let (subjects, beside) = (arguments.subjects.options().clone(), arguments.beside);
    let parameters = arguments.parameters(context)?;
    beside.refuse(matches, &parameters.on, &["dir", "reload"])?;
    let makes_tables = parameters.on.iter().any(Place::makes_tables);
    refuse_unused(matches, &OF_TABLES.map(|option| (option, makes_tables, "the tables of a given file are scanned")))?;
    let mut stacks = Vec::new();
    let exit = measure_on(context, COMMAND.name, (&parameters.on, &subjects), |on, environment, machine, journal| {
        let parameters = LioParameters { on: on.clone(), ..parameters.clone() };
        stacks = lio::run(&parameters, environment, machine, journal)?;
        Ok(())
    })?;
    // A run that is whole and could not be kept has stacks; one that failed or was interrupted has none.
    let is_whole = exit == Exit::Done || exit == Exit::NotKept && !stacks.is_empty();
    if let Some(picture) = picture.filter(|_| is_whole && context.purpose == Purpose::Run) {
        let path = picture.finish(&report::flame::render(&context.command_line.join(" "), &stacks))?;
        if !context.globals.quiet {
            output::warn(&format!("{}: flame graph of the passes", path.display()));
        }
    }
    Ok(exit)
}

/// The flame graph's file, which appears whole or not at all.
struct Picture {
    path: PathBuf,
    draft: Draft,
    existing: Existing,
}

impl Picture {
    /// Creates the draft, so that a place that cannot be written fails before anything is measured.
    ///
    /// An existing path must be a plain file: the rename would replace a device or a pipe. A link is followed for the
    /// same reason.
    fn begin(path: &Path, is_forced: bool) -> Result<Picture, Failure> {
        if !sys::process::sampler::knows_names() {
            let sentence = "this readpath has no function names, like those in packages, so a flame graph would show \
                            none; one from cargo build --release has them";
            return Err(Failure::failed(sentence));
        }
        let path = target(path);
        refuse_to_replace(&path, is_forced)?;
        let draft = Draft::beside(&path).map_err(|error| not_written(&path, &error))?;
        Ok(Picture { path, draft, existing: existing(is_forced) })
    }

    /// Puts the picture in its place, and says where that is.
    fn finish(self, svg: &str) -> Result<PathBuf, Failure> {
        let published = self.draft.publish(&self.path, svg.as_bytes(), self.existing);
        published.map_err(|error| not_written(&self.path, &error))?;
        Ok(self.path)
    }
}

impl Arguments {
    fn parameters(self, context: &Context) -> Result<LioParameters, Failure> {
        let (places, is_dry_run) = (self.subjects.places()?, self.subjects.options().is_dry_run());
        let on = self.beside.with_engine(places, is_dry_run, Places::then_engine);
        let directory = directory_of_tables(self.dir, context.settings.cache_dir.as_deref(), &on)?;
        let usual = LioParameters::default();
        let parameters = LioParameters {
            on,
            directory,
            payload: self.payload,
            row_lengths: given(self.row_length, usual.row_lengths),
            columns: given(self.columns, usual.columns),
            accesses: each_once(self.access),
            touches: each_once(self.touch),
            threads: given(self.threads, usual.threads),
            changed_rows: given(self.changed_rows, usual.changed_rows),
            repeat: self.repeat,
            seed: self.seed,
            reload: self.reload,
            sampled: self.flamegraph.is_some(),
        };
        parameters.check().map_err(Failure::wrong)?;
        Ok(parameters)
    }
}

/// A list as it was given, with each value once, or the usual one.
fn given<T: Clone + Eq + Hash>(list: Vec<T>, usual: Vec<T>) -> Vec<T> {
    if list.is_empty() { usual } else { each_once(list) }
}
