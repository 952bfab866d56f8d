//! `readpath scan`: the same question by six access paths.

use std::env;
use std::ffi::OsString;

use ::measure::Nanos;
use ::measure::quantity::{parse_size, parse_time};
use clap::{ArgAction, ArgMatches, Args, Command, ValueEnum};
use experiments::ExperimentError;
use experiments::counters::ValgrindRun;
use experiments::scan::{self, CountedChild, ROWS, ScanParameters};
use subjects::access_paths::{AccessPath, Asked, Level, ZoneMaps};

use super::counted_scan;
use super::measure::measure;
use super::{CommandRow, Context, arguments};
use crate::exit::{Exit, Failure};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "scan", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath scan                                      all six paths over 7 million rows
  readpath scan --rows 69642625                      at the published size: 16 GB of memory at one time
  readpath scan --no-zone-maps --threads 1,2         every code read, by one thread and by two
  readpath scan --question half-pass --path full-scan,column-scan
  readpath scan --path full-scan-compressed --level archive-low
  readpath scan --rows 1000000 --memory 2GiB";

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
    /// Rows of the table; 69642625 is the published size
    #[arg(long, default_value_t = ROWS)]
    rows: u64,
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
}

fn define(command: Command) -> Command {
    let about = "Asks one question of the same rows by six access paths, all in memory";
    Arguments::augment_args(command.about(about).after_help(EXAMPLES))
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let (is_counted, limit) = (!arguments.no_valgrind, arguments.valgrind_limit);
    let mut parameters = arguments.parameters()?;
    if is_counted {
        parameters.child = Some(child(&parameters, limit)?);
    }
    measure(context, COMMAND.name, |journal, machine| {
        scan::run(&parameters, machine, journal)?;
        Ok::<(), ExperimentError>(())
    })
}

/// The same scan of a smaller table by this program, for valgrind to count.
fn child(parameters: &ScanParameters, limit: Nanos) -> Result<CountedChild, Failure> {
    let nowhere = |error| Failure::new(Exit::Failed, format!("this program does not find itself: {error}"));
    let program = env::current_exe().map_err(nowhere)?;
    let words = [program.into(), counted_scan::COMMAND.name.into()].into_iter();
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
        let parameters = ScanParameters {
            rows: self.rows,
            paths: self.path.into_iter().map(PathName::path).collect(),
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
}

impl PathName {
    fn path(self) -> AccessPath {
        match self {
            PathName::IndexBadClustering => AccessPath::IndexBadClustering,
            PathName::IndexGoodClustering => AccessPath::IndexGoodClustering,
            PathName::FullScan => AccessPath::FullScan,
            PathName::FullScanCompressed => AccessPath::FullScanCompressed,
            PathName::ColumnScan => AccessPath::ColumnScan,
            PathName::ColumnCount => AccessPath::ColumnCount,
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
