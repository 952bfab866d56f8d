//! `readpath scan`: the same question by six access paths.

use ::measure::quantity::parse_size;
use clap::{ArgAction, ArgMatches, Args, Command, ValueEnum};
use experiments::ExperimentError;
use experiments::scan::{self, ROWS, ScanParameters};
use subjects::access_paths::{AccessPath, Asked, Level, ZoneMaps};

use super::measure::measure;
use super::{CommandRow, Context, arguments};
use crate::exit::{Exit, Failure};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "scan", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath scan                                      all six paths over 7 million rows
  readpath scan --rows 69642625                      at the published size: 15 GB of memory at one time
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

#[derive(Args)]
struct Arguments {
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
}

fn define(command: Command) -> Command {
    let about = "Asks one question of the same rows by six access paths, all in memory";
    Arguments::augment_args(command.about(about).after_help(EXAMPLES))
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let parameters = arguments::<Arguments>(matches)?.parameters()?;
    measure(context, COMMAND.name, |journal, machine| {
        scan::run(&parameters, machine, journal)?;
        Ok::<(), ExperimentError>(())
    })
}

impl Arguments {
    fn parameters(self) -> Result<ScanParameters, Failure> {
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
    use experiments::scan::PUBLISHED_ROWS;

    #[test]
    fn the_published_size_stands_in_the_help() {
        assert!(EXAMPLES.contains(&PUBLISHED_ROWS.to_string()));
    }
}
