//! `readpath join`: what gathering the look-ups of a nested loop is worth.

use std::path::{Path, PathBuf};

use ::measure::quantity::parse_size;
use clap::{ArgMatches, Args, Command, ValueEnum};
use experiments::join::{
    self, CONCURRENCIES, DEPTH, Distance, JoinMethod, JoinParameters, LOOK_AHEAD, OnServer, PAD, ROWS,
};
use server::{Address, Place};
use subjects::join_engine::Io;
use sys::file::Caching;

use super::measure::measure;
use super::on_server::{ServerArguments, ServerOptions, rehearse};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "join", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath join                                      four methods on this storage
  readpath join --repeat 100                         as often as in the published experiment
  readpath join --io sync                            gathered, and read one after the other
  readpath join --batch-size 8,32,128,512,2048       from which size on more is no faster
  readpath join --rand 0,10,50,100 --method one-at-a-time,batched-rowid
  readpath join --on model:hdd-7200                  on a modelled disk, in virtual time
  readpath join --on /mnt/data                       on the storage of that directory
  readpath join --on postgres:18                     a private PostgreSQL, and the engine beside it
  readpath join --on postgres://me@db.example/shop --rows 50000 --dry-run   every statement that would be sent";

/// Joins of each case, on this machine and on a server, where each begins with caches being emptied.
const REPEAT: usize = 20;
const REPEAT_ON_SERVER: usize = 3;

#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    /// Each block before the next look-up
    OneAtATime,
    /// What is missing of the rows ahead in one request
    Prefetch,
    /// What is missing of a batch of outer rows in one request
    Batch,
    /// A larger batch in the order of its blocks
    BatchedRowid,
}

#[derive(Clone, Copy, ValueEnum)]
enum IoName {
    /// Many reads at once
    Async,
    /// One after the other
    Sync,
}

#[derive(Args)]
struct Arguments {
    /// Rows of the inner table; seven to a block with the usual --pad
    #[arg(long, visible_alias = "inner-rows", default_value_t = ROWS)]
    rows: u64,
    /// Per cent of the rows that lie out of the order of the index
    #[arg(long, value_delimiter = ',', value_name = "PERCENT,...", default_value = "100", value_parser = parse_percent)]
    rand: Vec<u8>,
    /// Bytes of filler of a row
    #[arg(long, default_value_t = PAD)]
    pad: u32,
    /// Rows that are joined
    #[arg(long, default_value_t = 2000)]
    outer_rows: u64,
    /// How the inner rows are gathered [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "METHOD,...")]
    method: Vec<MethodName>,
    /// Rows of a batch [default: 256 for batch, 1024 for batched-rowid]
    #[arg(long, value_delimiter = ',', value_name = "ROWS,...")]
    batch_size: Vec<usize>,
    /// Rows that prefetch looks ahead at most
    #[arg(long, value_name = "ROWS", default_value_t = LOOK_AHEAD)]
    look_ahead: usize,
    /// Look ahead so far always, whatever is cached
    #[arg(long)]
    fixed_look_ahead: bool,
    /// How reads are handed over
    #[arg(long, value_enum, default_value = "async")]
    io: IoName,
    /// Read past the page cache, which is what it does by itself
    #[arg(long, conflicts_with = "buffered")]
    direct: bool,
    /// Read through the page cache, which is emptied of these files before each join
    #[arg(long)]
    buffered: bool,
    /// Bytes of the buffer pool
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = parse_size)]
    pool: u64,
    /// Reads in flight at most
    #[arg(long, default_value_t = DEPTH)]
    depth: usize,
    /// Joins of each case; 100 is the published number [default: 20, on a server 3]
    #[arg(long)]
    repeat: Option<usize>,
    /// A directory for the tables, a modelled device, or a PostgreSQL server beside the engine
    ///
    /// In virtual time: model:NAME, model:FILE.toml. A server: postgres://USER@HOST:PORT/DATABASE, or postgres:18.
    ///
    /// All that is made on a PostgreSQL server lies in a schema readpath of its own, which is removed at the end, after
    /// ^C and after errors. PGPASSWORD gives the password that the address does not. postgres:VERSION (15 to 18) starts
    /// a private server for the run.
    #[arg(long, value_name = "WHERE")]
    on: Option<String>,
    /// Values of effective_io_concurrency for bitmap scans on a server
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...", default_values_t = CONCURRENCIES, requires = "on")]
    concurrency: Vec<u32>,
    #[command(flatten)]
    options: ServerOptions,
    /// Directory of the tables, which stay there for the next run: with the defaults 240 MB, free to remove
    /// [default: $XDG_CACHE_HOME/readpath/tables or ~/.cache/readpath/tables]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Load the tables again
    #[arg(long)]
    reload: bool,
}

fn define(command: Command) -> Command {
    let about = "Measures what gathering the look-ups of a nested loop is worth on this storage";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let on_server = arguments.server()?;
    let on = on_server.address(context)?.map(|address| OnServer {
        address,
        limits: on_server.limits(),
        concurrencies: arguments.concurrency.clone(),
    });
    let parameters = arguments.parameters(&on_server, context)?;
    let Some(mut on) = on else {
        return measure(context, COMMAND.name, |journal, machine| join::run(&parameters, machine, journal));
    };
    on.check().map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
    if on_server.dry_run() {
        return rehearse(|machine, statements| join::rehearse(&parameters, &on, machine, statements));
    }
    measure(context, COMMAND.name, |journal, machine| {
        // As large as the engine's pool.
        let mut private = on_server.start(parameters.pool, context, journal, machine)?;
        if let Some(private) = &private {
            on.address = Address::of(private.config());
        }
        join::run_beside(&parameters, &on, private.as_mut(), machine, journal)
    })
}

impl Arguments {
    /// The server that `--on` names, if it names one.
    fn server(&self) -> Result<ServerArguments, Failure> {
        let named = self.on.as_deref().filter(|word| word.starts_with("postgres"));
        let place = named.map(str::parse::<Place>).transpose();
        let place = place.map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
        if place.is_none() && self.options.dry_run() {
            let sentence = "--dry-run is for a server: name one with --on postgres://USER@HOST/DATABASE.";
            return Err(Failure::new(Exit::WrongCommandLine, sentence));
        }
        Ok(ServerArguments::new(place, self.options.clone()))
    }

    fn parameters(self, server: &ServerArguments, context: &Context) -> Result<JoinParameters, Failure> {
        let (device, named) = place(self.on.as_deref().filter(|_| !server.is_named()))?;
        let nowhere = "there is no directory for the tables, because neither XDG_CACHE_HOME nor HOME is set: name one \
                       with --dir DIR.";
        let usual = || context.settings.cache_dir.as_ref().map(|dir| dir.join("tables"));
        let directory = named.or(self.dir).or_else(usual).ok_or_else(|| Failure::new(Exit::Failed, nowhere))?;
        let parameters = JoinParameters {
            directory,
            rows: self.rows,
            rands: self.rand,
            pad: self.pad,
            outer_rows: self.outer_rows,
            methods: self.method.into_iter().map(MethodName::method).collect(),
            batch_sizes: self.batch_size,
            look_ahead: match self.fixed_look_ahead {
                true => Distance::Fixed(self.look_ahead),
                false => Distance::UpTo(self.look_ahead),
            },
            io: match self.io {
                IoName::Async => Io::Async,
                IoName::Sync => Io::Sync,
            },
            caching: if self.buffered { Caching::Buffered } else { Caching::Direct },
            pool: self.pool,
            depth: self.depth,
            repeat: self.repeat.unwrap_or(if server.is_named() { REPEAT_ON_SERVER } else { REPEAT }),
            device,
            reload: self.reload,
        };
        parameters.check().map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
        Ok(parameters)
    }
}

/// What `--on` names: a device for the tables to be placed on, or their directory.
fn place(on: Option<&str>) -> Result<(PathBuf, Option<PathBuf>), Failure> {
    let Some(on) = on else { return Ok((PathBuf::new(), None)) };
    let wrong = |reason: String| Failure::new(Exit::WrongCommandLine, reason);
    if device::has_prefix(Path::new(on)) {
        device::open(Path::new(on), Caching::Direct).map_err(|error| wrong(error.to_string()))?;
        return Ok((on.into(), None));
    }
    if !Path::new(on).is_dir() {
        return Err(wrong(format!("--on {on}: there is no such directory, and it is no model:NAME")));
    }
    Ok((PathBuf::new(), Some(on.into())))
}

impl MethodName {
    fn method(self) -> JoinMethod {
        match self {
            MethodName::OneAtATime => JoinMethod::OneAtATime,
            MethodName::Prefetch => JoinMethod::Prefetch,
            MethodName::Batch => JoinMethod::Batch,
            MethodName::BatchedRowid => JoinMethod::BatchedRowid,
        }
    }
}

/// A word of `--rand`; what is over 100 is refused with the other parameters.
fn parse_percent(word: &str) -> Result<u8, String> {
    word.parse().map_err(|_| format!("'{word}' is no whole percentage: write 0 to 100, without a sign"))
}
