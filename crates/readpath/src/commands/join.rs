//! `readpath join`: how much a nested loop gains when its look-ups are batched or prefetched.

use std::path::{Path, PathBuf};

use ::measure::Size;
use ::measure::sorting::each_once;
use clap::{ArgMatches, Args};
use experiments::ExperimentError;
use experiments::join::{self, JoinParameters, REPEAT, REPEAT_BESIDE};
use subjects::nested_loops::{Asked, Io, JoinMethod};
use subjects::{Place, Places};
use sys::file::Caching;

use super::subjects::{EngineBeside, SubjectOptions, directory_of_tables, measure_on};
use super::unused::{refuse_unread, refuse_unused};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::words::{percent, word};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "join", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath join                                      five methods on this storage
  readpath join --repeat 100                         as often as in the published experiment
  readpath join --io sync                            batched, and read one after the other
  readpath join --method one-at-a-time,awaited-batch --batch-size 4,16,64   what a batch is worth by its size
  readpath join --rand 0,10,50,100 --method one-at-a-time,batched-rowid
  readpath join --on model:hdd-7200                  on a modelled disk, in virtual time
  readpath join --on /mnt/data                       on the storage of that directory
  readpath join --on postgres:18                     a private PostgreSQL, with the engine for comparison
  readpath join --on postgres:18 --alone             without the engine
  readpath join --on sqlite?page_size=8192           SQLite with the engine's page size
  readpath join --on postgres://me@db.example/shop --rows 50000 --dry-run   every statement that would be sent";

/// Options that say how the engine reads and where its tables lie.
const OF_ENGINE: [&str; 10] =
    ["method", "batch_size", "look_ahead", "fixed_look_ahead", "io", "depth", "direct", "buffered", "dir", "reload"];

/// Measures how much a nested loop gains on this storage when its look-ups are batched or prefetched
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Rows of the inner table; seven to a block with the usual --pad
    #[arg(long, visible_alias = "inner-rows", default_value_t = Asked::default().rows)]
    rows: u64,
    /// Per cent of the rows that lie out of the order of the index
    #[arg(long, value_delimiter = ',', value_name = "PERCENT,...", default_values_t = JoinParameters::default().rands,
          value_parser = percent::<u8>)]
    rand: Vec<u8>,
    /// Bytes of filler of a row
    #[arg(long, default_value_t = Asked::default().pad)]
    pad: u32,
    /// Rows that are joined
    #[arg(long, default_value_t = JoinParameters::default().outer_rows)]
    outer_rows: u64,
    /// How the inner rows are fetched [default: all]
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...", value_parser = word::<JoinMethod>())]
    method: Vec<JoinMethod>,
    /// Rows of a batch [up to 1048576; default: 256 for batches, 1024 for batched-rowid]
    #[arg(long, value_delimiter = ',', value_name = "ROWS,...")]
    batch_size: Vec<usize>,
    /// Rows that prefetch looks ahead at most, up to 1048576
    #[arg(long, value_name = "ROWS", default_value_t = Asked::default().look_ahead)]
    look_ahead: usize,
    /// Always look ahead that far, even where blocks are cached
    #[arg(long)]
    fixed_look_ahead: bool,
    /// How reads are submitted
    #[arg(long, default_value_t = Asked::default().io, value_parser = word::<Io>())]
    io: Io,
    /// Read past the page cache, which is the default
    #[arg(long, conflicts_with = "buffered")]
    direct: bool,
    /// Read through the page cache, which is emptied of these files before each join
    #[arg(long)]
    buffered: bool,
    /// Bytes of the buffer pool
    #[arg(long, value_name = "SIZE", default_value_t = Asked::default().pool)]
    pool: Size,
    /// Reads in flight at most
    #[arg(long, default_value_t = Asked::default().depth)]
    depth: usize,
    #[arg(long, help = format!("Joins of each case; 100 is the published number [default: {REPEAT}, with a server or \
        SQLite {REPEAT_BESIDE}]"))]
    repeat: Option<usize>,
    /// A directory for the tables, a modelled device, or other subjects to compare with the engine, such as a
    /// PostgreSQL server
    ///
    /// Tables stay in a directory that is named here or with --dir; `readpath clean` does not know of it: remove them
    /// yourself.
    ///
    /// In virtual time: model:NAME, model:FILE.toml. A server: postgres://USER@HOST:PORT/DATABASE, or postgres:18.
    /// SQLite, in a database that is made for the run in the folder for temporary files: sqlite, sqlite?page_size=8192.
    ///
    /// Everything that readpath creates on a PostgreSQL server is in one schema, readpath, which is removed at the end,
    /// after ^C and after errors. PGPASSWORD or the password file gives the password that the address does not.
    /// postgres:VERSION (15 to 18) starts a private server for the run.
    #[arg(long, value_name = "WHERE")]
    on: Option<String>,
    /// Values of effective_io_concurrency for bitmap scans on a server
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...", requires = "on",
          default_values_t = Asked::default().concurrencies)]
    concurrency: Vec<u32>,
    #[command(flatten)]
    subjects: SubjectOptions,
    #[command(flatten)]
    beside: EngineBeside,
    /// Directory of the tables, which stay there for the next run: with the defaults 240 MB, free to remove
    /// [default: $XDG_CACHE_HOME/readpath/tables or ~/.cache/readpath/tables]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Load the tables again
    #[arg(long)]
    reload: bool,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let (subjects, beside) = (arguments.subjects.clone(), arguments.beside);
    let cache = context.settings.cache_dir.as_deref();
    let parameters = arguments.parameters(cache)?;
    beside.refuse(matches, &parameters.on, &OF_ENGINE)?;
    refuse(matches, &parameters)?;
    parameters.check().map_err(Failure::wrong)?;
    // The places of a dry run lack the engine, and it takes the options of its run.
    if !beside.is_alone() {
        JoinParameters { on: Places::default(), ..parameters.clone() }.check().map_err(Failure::wrong)?;
    }
    measure_on(context, COMMAND.name, (&parameters.on, &subjects), |on, environment, machine, journal| {
        let parameters = JoinParameters { on: on.clone(), ..parameters.clone() };
        join::run(&parameters, environment, machine, journal)
    })
}

impl Arguments {
    fn parameters(self, cache: Option<&Path>) -> Result<JoinParameters, Failure> {
        let On { places, device, directory } = self.on.as_deref().map_or_else(|| Ok(On::default()), on)?;
        let places = self.subjects.places(places)?;
        if let Some((on, dir)) = directory.as_ref().zip(self.dir.as_ref()) {
            let (on, dir) = (on.display(), dir.display());
            return Err(Failure::wrong(format!(
                "--on {on} and --dir {dir} both name the directory of the tables: leave one out."
            )));
        }
        let on = self.beside.with_engine(places, self.subjects.is_dry_run(), Places::engine_first);
        let directory = directory_of_tables(directory.or(self.dir), cache, &on)?;
        Ok(JoinParameters {
            on,
            rands: each_once(self.rand),
            outer_rows: self.outer_rows,
            repeat: self.repeat,
            asked: Asked {
                directory,
                device: device.unwrap_or_default(),
                rows: self.rows,
                pad: self.pad,
                methods: each_once(self.method),
                batch_sizes: each_once(self.batch_size),
                look_ahead: self.look_ahead,
                fixed_look_ahead: self.fixed_look_ahead,
                io: self.io,
                buffered: self.buffered,
                pool: self.pool,
                depth: self.depth,
                concurrencies: each_once(self.concurrency),
                reload: self.reload,
            },
        })
    }
}

/// Refuses an option that nothing in this run has a use for.
fn refuse(matches: &ArgMatches, parameters: &JoinParameters) -> Result<(), Failure> {
    refuse_unread(matches, [&parameters.asked.device])?;
    let has_server = parameters.on.named().any(Place::takes_statements);
    let has = |methods: &[JoinMethod]| {
        let named = &parameters.asked.methods;
        named.is_empty() || methods.iter().any(|method| named.contains(method))
    };
    let gathers = has(&[JoinMethod::AwaitedBatch, JoinMethod::Batch, JoinMethod::BatchedRowid]);
    let looks_ahead = has(&[JoinMethod::Prefetch]);
    let options = [
        ("concurrency", has_server, "it is a setting of PostgreSQL, and --on names no server"),
        ("batch_size", gathers, "no --method is a batch"),
        ("look_ahead", looks_ahead, "no --method is prefetch"),
        ("fixed_look_ahead", looks_ahead, "no --method is prefetch"),
        ("depth", parameters.asked.io == Io::Async, "--io sync reads one block after the other"),
    ];
    refuse_unused(matches, &options)
}

/// What `--on` names: subjects, a device for the engine's tables to be placed on, or their directory.
#[derive(Default)]
struct On {
    places: Places,
    device: Option<PathBuf>,
    directory: Option<PathBuf>,
}

fn on(word: &str) -> Result<On, Failure> {
    if word.is_empty() {
        let sentence = "--on names nothing: give a directory, a model (model:NAME), or a subject such as postgres:18.";
        return Err(Failure::wrong(sentence));
    }
    if Places::claim(word) {
        let places = word.parse::<Places>().map_err(Failure::wrong)?;
        return Ok(On { places, ..On::default() });
    }
    let path = PathBuf::from(word);
    if device::has_prefix(&path) {
        device::place(&path, Caching::Direct, &[]).map_err(ExperimentError::from)?;
        return Ok(On { device: Some(path), ..On::default() });
    }
    if !path.is_dir() {
        let what = if path.exists() { "this is a file and no directory" } else { "there is no such directory" };
        return Err(Failure::wrong(format!("--on {word}: {what}, and it is not a model (model:NAME)")));
    }
    Ok(On { directory: Some(path), ..On::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::{of_file, of_line};

    #[test]
    fn a_file_and_a_command_line_give_the_same_parameters() {
        let of_line = |line: &str| {
            let arguments = of_line::<Arguments>(Arguments::augment_args, line);
            arguments.parameters(Some(Path::new("/cache"))).unwrap()
        };
        let same = |file: &str, line: &str| {
            let file = of_file::<JoinParameters>(&format!("directory = '/cache/tables'\n{file}"));
            assert_eq!(format!("{file:?}"), format!("{:?}", of_line(line)));
        };
        same("", "");
        same("rands = [0, 100]\nio = 'sync'\npool = '4MiB'", "--rand 0,100 --io sync --pool 4MiB");
        same("methods = ['batch']\nbatch_sizes = [8]\nrepeat = 2", "--method batch --batch-size 8 --repeat 2");
        same("methods = ['batch']\nbatch_sizes = [8]", "--method batch,batch --batch-size 8,8");
        let repeated = "--rand 100,0,100 --concurrency 16,16 --on postgres:18 --alone";
        same("rands = [100, 0]\nconcurrencies = [16]\non = ['postgres:18']", repeated);
        same("device = 'model:ssd'", "--on model:ssd");
    }

    #[test]
    fn a_place_that_is_no_directory_is_named_as_what_it_is() {
        let refused = |word: &str| on(word).err().unwrap().message;
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(refused(file.path().to_str().unwrap()).contains("this is a file and no directory"));
        assert!(refused("/nowhere/at/all").contains("there is no such directory"));
        assert!(refused("").starts_with("--on names nothing: "));
    }
}
