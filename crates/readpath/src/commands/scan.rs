//! `readpath scan`: the same question by six access paths.

use std::env;
use std::ffi::OsString;

use ::measure::Nanos;
use ::measure::quantity::{parse_size, parse_time};
use clap::{ArgAction, ArgMatches, Args, Command, ValueEnum};
use experiments::ExperimentError;
use experiments::counters::ValgrindRun;
use experiments::scan::{self, Beside, CountedChild, OnServer, ROWS, ScanParameters};
use server::Address;
use subjects::access_paths::{AccessPath, Asked, Level, ZoneMaps};
use subjects::postgres::access_paths::ServerPath;
use subjects::postgres::customers::Customers;

use super::measure::measure;
use super::on_server::{ServerArguments, rehearse};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "scan", define, run };

/// The hidden command that a scan starts under valgrind.
pub(super) const COUNTED: &str = "counted-scan";

const EXAMPLES: &str = "\
Examples:
  readpath scan                                      all six paths over 7 million rows
  readpath scan --rows 69642625                      at the published size: 16 GB of memory at one time
  readpath scan --no-zone-maps --threads 1,2         every code read, by one thread and by two
  readpath scan --question half-pass --path full-scan,column-scan
  readpath scan --path full-scan-compressed --level archive-low
  readpath scan --rows 1000000 --memory 2GiB
  readpath scan --on postgres:18                     a private server, and the engine beside it
  readpath scan --on postgres://me@db.example/shop --dry-run
                                                     every statement that would be sent";

/// Rows where a server is measured too and no others are asked for: loading them takes some ten seconds there.
const ROWS_ON_SERVER: u64 = 1_000_000;

/// Shared buffers of a private server: a scan of more than a quarter of them leaves nothing in them.
const TABLES_IN_BUFFERS: u64 = 5;
const SPARE_BUFFERS: u64 = 256 << 20;

#[derive(Clone, Copy, ValueEnum)]
enum PathName {
    /// By the index on the postal code: another block for almost every row
    IndexBadClustering,
    /// By the index on the customer's number: in the order of the rows
    IndexGoodClustering,
    /// Every block of rows in order
    FullScan,
    /// Every columnar unit in order
    FullScanCompressed,
    /// Columns in memory, with the predicate
    ColumnScan,
    /// Columns in memory, without
    ColumnCount,
    /// By the index on the postal code, the rows collected first and fetched in order; on a server
    BitmapScan,
    /// By an index that holds both columns of the question; on a server
    IndexOnlyScan,
}

#[derive(Clone, Copy, ValueEnum)]
enum QuestionName {
    /// COUNT(cust_valid) where cust_id > 0
    AllPass,
    /// COUNT(cust_valid)
    NoPredicate,
    /// COUNT(cust_valid) where cust_year_of_birth > 1950
    HalfPass,
}

// The arguments of a scan, which `counted-scan` takes too; a doc comment here would stand in the help.
#[derive(Args)]
pub(super) struct Arguments {
    /// Rows of the table; 69642625 is the published size [default: 7000000, with --on 1000000]
    #[arg(long)]
    rows: Option<u64>,
    /// Access paths [default: all that can answer the question]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PATH,...")]
    path: Vec<PathName>,
    /// What is asked
    #[arg(long, value_enum, default_value = "all-pass")]
    question: QuestionName,
    /// Numbers of threads, for full-scan, full-scan-compressed and column-scan
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...", default_value = "1")]
    threads: Vec<usize>,
    /// Read the codes of every unit of columns, also where its least and greatest value would answer
    #[arg(long, action = ArgAction::SetTrue)]
    no_zone_maps: bool,
    /// How hard columnar units are compressed: query-low, query-high, archive-low, archive-high
    #[arg(long, default_value = "query-low", value_parser = parse_level)]
    level: Level,
    /// Samples of each case
    #[arg(long, default_value_t = 7)]
    repeat: usize,
    /// Memory that the run may take [default: 95 % of what is free]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// What the rows depend on
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave instructions out where the processor does not count them, instead of scanning once more under valgrind
    #[arg(long, action = ArgAction::SetTrue)]
    no_valgrind: bool,
    /// Longest time that the scan under valgrind may take
    #[arg(long, default_value = "300s", value_parser = parse_time, conflicts_with = "no_valgrind")]
    valgrind_limit: Nanos,
    #[command(flatten)]
    server: ServerArguments,
}

fn define(command: Command) -> Command {
    let about = "Asks one question of the same rows by six access paths, all in memory";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let (is_counted, limit) = (!arguments.no_valgrind, arguments.valgrind_limit);
    let on_server = arguments.server.clone();
    let on = arguments.on_server(context)?;
    let mut parameters = arguments.parameters()?;
    if is_counted {
        parameters.child = Some(child(&parameters, limit)?);
    }
    let Some(mut on) = on else {
        return measure(context, COMMAND.name, |journal, machine| {
            scan::run(&parameters, machine, journal)?;
            Ok::<(), ExperimentError>(())
        });
    };
    if on_server.dry_run() {
        return rehearse(|machine, statements| scan::rehearse(&parameters, &on, machine, statements));
    }
    measure(context, COMMAND.name, |journal, machine| {
        let buffers = TABLES_IN_BUFFERS * Customers::table_bytes(parameters.rows) + SPARE_BUFFERS;
        let mut private = on_server.start(buffers, context, journal, machine)?;
        if let Some(private) = &private {
            on.address = Address::of(private.config());
        }
        scan::run_beside(&parameters, &on, private.as_mut(), machine, journal)
    })
}

/// The same scan of a smaller table by this program, for valgrind to count.
fn child(parameters: &ScanParameters, limit: Nanos) -> Result<CountedChild, Failure> {
    let nowhere = |error| Failure::new(Exit::Failed, format!("this program does not find itself: {error}"));
    let program = env::current_exe().map_err(nowhere)?;
    let words = [program.into(), COUNTED.into()].into_iter();
    let words = words.chain(words_of(&parameters.counted()).into_iter().map(OsString::from)).collect();
    Ok(CountedChild { words, valgrind: ValgrindRun { scratch: env::temp_dir(), limit: limit.into() } })
}

/// The command line of parameters, as far as they change what one pass by one thread does.
fn words_of(parameters: &ScanParameters) -> Vec<String> {
    let paths: Vec<&str> = parameters.paths.iter().map(|path| path.name()).collect();
    let options = [
        ("--rows", parameters.rows.to_string()),
        ("--path", paths.join(",")),
        ("--question", parameters.asked.name().into()),
        ("--level", parameters.level.name().into()),
        ("--seed", parameters.seed.to_string()),
    ];
    let words = options.into_iter().flat_map(|(name, value)| [name.to_string(), value]);
    let zone_maps = (parameters.zone_maps == ZoneMaps::Off).then(|| "--no-zone-maps".to_string());
    words.chain(zone_maps).collect()
}

impl Arguments {
    pub(super) fn parameters(self) -> Result<ScanParameters, Failure> {
        let is_on_server = self.server.is_named();
        if let Some(path) = self.path.iter().find(|path| path.path().is_none() && !is_on_server) {
            let name = path.server_path().map_or("this path", ServerPath::name);
            let sentence = format!("--path {name} is for a server: name one with --on.");
            return Err(Failure::new(Exit::WrongCommandLine, sentence));
        }
        let parameters = ScanParameters {
            rows: self.rows.unwrap_or(if is_on_server { ROWS_ON_SERVER } else { ROWS }),
            paths: self.path.into_iter().filter_map(PathName::path).collect(),
            asked: self.question.asked(),
            threads: self.threads,
            zone_maps: if self.no_zone_maps { ZoneMaps::Off } else { ZoneMaps::On },
            level: self.level,
            repeat: self.repeat,
            memory: self.memory,
            seed: self.seed,
            child: None,
        };
        parameters.check().map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
        Ok(parameters)
    }

    /// The server that is named, with the paths that it has.
    fn on_server(&self, context: &Context) -> Result<Option<OnServer>, Failure> {
        let Some(address) = self.server.address(context)? else { return Ok(None) };
        let paths: Vec<ServerPath> = self.path.iter().filter_map(|path| path.server_path()).collect();
        if paths.is_empty() && !self.path.is_empty() {
            let sentence = "--path names no path of a server: add full-scan, index-bad-clustering, \
                            index-good-clustering, bitmap-scan or index-only-scan, or leave --on out.";
            return Err(Failure::new(Exit::WrongCommandLine, sentence));
        }
        let has_engine = self.path.is_empty() || self.path.iter().any(|path| path.path().is_some());
        let beside = if has_engine { Beside::Engine } else { Beside::Nothing };
        Ok(Some(OnServer { address, limits: self.server.limits(), paths, beside }))
    }
}

impl PathName {
    /// The engine's path of this name.
    fn path(self) -> Option<AccessPath> {
        match self {
            PathName::IndexBadClustering => Some(AccessPath::IndexBadClustering),
            PathName::IndexGoodClustering => Some(AccessPath::IndexGoodClustering),
            PathName::FullScan => Some(AccessPath::FullScan),
            PathName::FullScanCompressed => Some(AccessPath::FullScanCompressed),
            PathName::ColumnScan => Some(AccessPath::ColumnScan),
            PathName::ColumnCount => Some(AccessPath::ColumnCount),
            PathName::BitmapScan | PathName::IndexOnlyScan => None,
        }
    }

    /// A server's path of this name.
    fn server_path(self) -> Option<ServerPath> {
        match self {
            PathName::IndexBadClustering => Some(ServerPath::IndexBadClustering),
            PathName::IndexGoodClustering => Some(ServerPath::IndexGoodClustering),
            PathName::FullScan => Some(ServerPath::FullScan),
            PathName::BitmapScan => Some(ServerPath::BitmapScan),
            PathName::IndexOnlyScan => Some(ServerPath::IndexOnlyScan),
            PathName::FullScanCompressed | PathName::ColumnScan | PathName::ColumnCount => None,
        }
    }
}

impl QuestionName {
    fn asked(self) -> Asked {
        match self {
            QuestionName::AllPass => Asked::AllPass,
            QuestionName::NoPredicate => Asked::NoPredicate,
            QuestionName::HalfPass => Asked::HalfPass,
        }
    }
}

fn parse_level(word: &str) -> Result<Level, String> {
    let names = Level::ALL.map(Level::name).join(", ");
    Level::of_name(word).ok_or_else(|| format!("write one of {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use experiments::scan::PUBLISHED_ROWS;

    #[test]
    fn the_published_size_stands_in_the_help() {
        assert!(EXAMPLES.contains(&PUBLISHED_ROWS.to_string()));
    }
    fn parsed<'a>(words: impl IntoIterator<Item = &'a str>) -> ScanParameters {
        let command = define(Command::new("scan").no_binary_name(true));
        Arguments::from_arg_matches(&command.get_matches_from(words)).unwrap().parameters().unwrap()
    }

    #[test]
    fn the_child_is_asked_what_the_parent_was_of_fewer_rows() {
        let line = "--rows 9000000 --question half-pass --no-zone-maps --level archive-low --seed 7 --threads 1,2";
        let counted = parsed(line.split(' ')).counted();
        let words = words_of(&counted);
        let child = parsed(words.iter().map(String::as_str));
        assert_eq!((child.rows, child.asked, child.zone_maps), (counted.rows, Asked::HalfPass, ZoneMaps::Off));
        assert_eq!((child.level, child.seed, child.threads), (counted.level, 7, vec![1]));
        assert_eq!(child.paths, [AccessPath::FullScan, AccessPath::FullScanCompressed, AccessPath::ColumnScan]);
        assert!(child.rows < 9_000_000);
    }
}
