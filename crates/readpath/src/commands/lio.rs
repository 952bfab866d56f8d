//! `readpath lio`: the cost of a logical I/O.

use std::fs;
use std::path::{Path, PathBuf};

use ::measure::atomic_file::Draft;
use ::measure::quantity::parse_size;
use clap::{ArgMatches, Args, Command, ValueEnum};
use experiments::ExperimentError;
use experiments::lio::{self, COLUMNS, LioParameters, OnServer, ROW_LENGTHS, TouchAxis};
use server::Address;
use subjects::logical_reads::{Access, Touch};
use subjects::postgres::logical_reads::Way;

use super::measure::measure;
use super::on_server::{ServerArguments, rehearse};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "lio", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath lio                                       the nine tables of the published experiment
  readpath lio --payload 1GiB                        at their published size
  readpath lio --touch rows,column-last              what walking the row to its end adds
  readpath lio --row-length 250 --columns 5 --access full-scan,rowid,one-page --threads 1,2
  readpath lio --row-length 250 --columns 5 --changed-rows 0,1,10,50
  readpath lio --row-length 250 --columns 25 --touch column-last --flamegraph walk.svg
  readpath lio --columns 25 --touch column-2,column-13,column-19
  readpath lio --on postgres://me@db.example/shop --dry-run        every statement that would be sent
  readpath lio --on postgres://me@db.example/shop --payload 64MiB  a server, and the engine beside it
  readpath lio --on postgres:18                                    a private server of version 18";

#[derive(Clone, Copy, ValueEnum)]
enum AccessName {
    /// Every block in order, with all its rows
    FullScan,
    /// Rows by address in random order, one get each
    Rowid,
    /// One block by all threads
    OnePage,
    /// Rows by key in random order through an index; on a server
    Index,
}

/// Bytes of a table where none are asked for, on this machine and on a server. A server is somebody's: its shared
/// buffers are rarely larger than 128 MiB where nobody cared, and the table has to fit with all its heads of rows.
const PAYLOAD: u64 = 256 << 20;
const PAYLOAD_ON_SERVER: u64 = 32 << 20;

/// Shared buffers of a private server: a table of the narrowest columns takes three times its payload, and a scan of
/// more than a quarter of the buffers leaves nothing in them.
const PAYLOADS_IN_BUFFERS: u64 = 16;
const SPARE_BUFFERS: u64 = 256 << 20;

#[derive(Args)]
struct Arguments {
    /// Bytes of all columns of all rows of a table; 1GiB is the published size [default: 256MiB, with --on 32MiB]
    #[arg(long, value_parser = parse_size)]
    payload: Option<u64>,
    /// Bytes of a row, all columns together [default: 2500,250,25]
    #[arg(long, value_delimiter = ',', value_name = "BYTES,...", default_values_t = ROW_LENGTHS)]
    #[arg(hide_default_value = true)]
    row_length: Vec<u32>,
    /// Columns of a row [default: 1,5,25]
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...", default_values_t = COLUMNS)]
    #[arg(hide_default_value = true)]
    columns: Vec<u32>,
    /// Ways to the block [default: full-scan, with --on full-scan,rowid,index]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ACCESS,...")]
    access: Vec<AccessName>,
    /// What is touched of a row: directory, rows, column-N, column-last [default: rows, with --on rows,column-last]
    #[arg(long, value_delimiter = ',', value_name = "TOUCH,...", value_parser = parse_touch)]
    touch: Vec<TouchAxis>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...", default_value = "1")]
    threads: Vec<usize>,
    /// Percentages of the rows that changed since the moment that is read: whole numbers, 0 to 100
    #[arg(long, value_delimiter = ',', default_value = "0", value_name = "PERCENT,...", value_parser = parse_percent)]
    changed_rows: Vec<u32>,
    /// Samples of each case
    #[arg(long, default_value_t = 7)]
    repeat: usize,
    /// Picks the random orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory of the tables, which stay there for the next run: with the defaults 2.9 GB, free to remove
    /// [default: $XDG_CACHE_HOME/readpath/tables or ~/.cache/readpath/tables]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write where the CPU time of the passes went
    #[arg(long, value_name = "FILE.svg")]
    flamegraph: Option<PathBuf>,
    /// Load the tables again
    #[arg(long)]
    reload: bool,
    #[command(flatten)]
    server: ServerArguments,
}

fn define(command: Command) -> Command {
    let about = "Measures the cost of a logical I/O: a block that is cached, by the shape of its rows";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let picture = arguments.flamegraph.as_deref().map(Picture::begin).transpose()?;
    let on_server = arguments.server.clone();
    let mut parameters = arguments.parameters(context)?;
    if on_server.dry_run() {
        return rehearse(|machine, statements| lio::rehearse(&parameters, machine, statements));
    }
    let mut stacks = Vec::new();
    let exit = measure(context, COMMAND.name, |journal, machine| {
        let buffers = PAYLOADS_IN_BUFFERS * parameters.payload + SPARE_BUFFERS;
        let private = on_server.start(buffers, context, journal, machine)?;
        if let (Some(private), Some(on)) = (&private, &mut parameters.on) {
            on.address = Address::of(private.config());
        }
        stacks = lio::run(&parameters, machine, journal)?;
        Ok::<(), ExperimentError>(())
    })?;
    match picture.filter(|_| exit == Exit::Done) {
        Some(picture) => {
            picture.finish(&report::flame::render(&context.command_line.join(" "), &stacks)).map(|()| exit)
        }
        None => Ok(exit),
    }
}

/// The flame graph's file, which appears whole or not at all.
struct Picture {
    path: PathBuf,
    draft: Draft,
}

impl Picture {
    /// Creates the draft, so that a place that cannot be written fails before anything is measured.
    ///
    /// An existing path must be a plain file: the rename would replace a device or a pipe. A link is followed for the
    /// same reason.
    fn begin(path: &Path) -> Result<Picture, Failure> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        if path.exists() && !path.is_file() {
            let sentence = format!("{} is no plain file and stays as it is; name another file", path.display());
            return Err(Failure::new(Exit::Failed, sentence));
        }
        let draft = Draft::beside(&path).map_err(|error| {
            Failure::new(Exit::Failed, format!("{} cannot be written: {error}; name another file", path.display()))
        })?;
        Ok(Picture { path, draft })
    }

    fn finish(self, svg: &str) -> Result<(), Failure> {
        self.draft.publish(&self.path, svg.as_bytes()).map_err(|error| {
            Failure::new(Exit::Failed, format!("{} could not be written: {error}", self.path.display()))
        })
    }
}

impl Arguments {
    fn parameters(self, context: &Context) -> Result<LioParameters, Failure> {
        let nowhere = "there is no directory for the tables, because neither XDG_CACHE_HOME nor HOME is set: name one \
                       with --dir DIR.";
        let usual = || context.settings.cache_dir.as_ref().map(|dir| dir.join("tables"));
        let directory = self.dir.clone().or_else(usual).ok_or_else(|| Failure::new(Exit::Failed, nowhere))?;
        let on = self.on_server(context)?;
        let accesses = match &on {
            Some(on) => on.engine_accesses(),
            None if self.access.is_empty() => vec![Access::FullScan],
            None => self.access.iter().map(|name| name.access()).collect::<Result<_, _>>()?,
        };
        let parameters = LioParameters {
            directory,
            payload: self.payload.unwrap_or(if on.is_some() { PAYLOAD_ON_SERVER } else { PAYLOAD }),
            row_lengths: self.row_length,
            columns: self.columns,
            accesses,
            touches: match (self.touch.is_empty(), &on) {
                (false, _) => self.touch,
                (true, Some(_)) => vec![TouchAxis::Every(Touch::Rows), TouchAxis::LastColumn],
                (true, None) => vec![TouchAxis::Every(Touch::Rows)],
            },
            threads: self.threads,
            changed_rows: self.changed_rows,
            repeat: self.repeat,
            seed: self.seed,
            reload: self.reload,
            sampled: self.flamegraph.is_some(),
            on,
        };
        parameters.check().map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
        Ok(parameters)
    }

    fn on_server(&self, context: &Context) -> Result<Option<OnServer>, Failure> {
        let Some(address) = self.server.address(context)? else { return Ok(None) };
        let ways = match self.access.is_empty() {
            true => vec![Way::FullScan, Way::Rowid, Way::Index],
            false => self.access.iter().map(|name| name.way()).collect::<Result<_, _>>()?,
        };
        Ok(Some(OnServer { address, limits: self.server.limits(), ways }))
    }
}

impl AccessName {
    fn access(self) -> Result<Access, Failure> {
        match self {
            AccessName::FullScan => Ok(Access::FullScan),
            AccessName::Rowid => Ok(Access::Rowid),
            AccessName::OnePage => Ok(Access::OnePage),
            AccessName::Index => Err(Failure::new(
                Exit::WrongCommandLine,
                "--access index is for a server: name one with --on, or write full-scan, rowid or one-page.",
            )),
        }
    }

    fn way(self) -> Result<Way, Failure> {
        match self {
            AccessName::FullScan => Ok(Way::FullScan),
            AccessName::Rowid => Ok(Way::Rowid),
            AccessName::Index => Ok(Way::Index),
            AccessName::OnePage => Err(Failure::new(
                Exit::WrongCommandLine,
                "--access one-page cannot go with --on: write full-scan, rowid or index.",
            )),
        }
    }
}

/// A word of `--changed-rows`; what is over 100 is refused with the other parameters.
fn parse_percent(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("'{word}' is no whole percentage: write 0 to 100, without a sign"))
}

/// The word of `--touch`.
fn parse_touch(word: &str) -> Result<TouchAxis, String> {
    let touch = match word {
        "directory" => Touch::Directory,
        "rows" => Touch::Rows,
        "column-last" => return Ok(TouchAxis::LastColumn),
        _ => {
            let number = word.strip_prefix("column-").and_then(|number| number.parse().ok());
            Touch::Column(number.ok_or("write directory, rows, column-N (counted from 1) or column-last")?)
        }
    };
    Ok(TouchAxis::Every(touch))
}
