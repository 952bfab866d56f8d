//! `readpath scan`: one query by several access paths.

use std::env;
use std::ffi::OsString;

use ::measure::sorting::each_once;
use ::measure::{Nanos, Size};
use clap::{ArgAction, ArgMatches, Args};
use experiments::counters::ValgrindRun;
use experiments::scan::{self, CountedChild, ScanParameters};
use subjects::access_paths::{AccessPath, Asked, Level};
use subjects::{Environment, Place, Places};

use super::measure::refuse_ahead;
use super::subjects::{EngineBeside, SubjectArguments, measure_on};
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::words::word;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "scan", define: Arguments::augment_args, run };

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
  readpath scan --on postgres:18                     a private server, with the engine for comparison
  readpath scan --on postgres:15,postgres:18         two of them, with the engine for comparison
  readpath scan --on postgres:18 --alone             the planner's paths, without the engine
  readpath scan --on sqlite                          SQLite's paths over the same rows, with the engine's for comparison
  readpath scan --on postgres://me@db.example/shop --dry-run   every statement that would be sent";

/// Longest time of the scan under valgrind by default.
const VALGRIND_LIMIT: Nanos = Nanos::from_millis(300_000);

/// Runs one query over the same rows by several access paths, all cached
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Rows of the table; 69642625 is the published size [default: 7000000, with --on 1000000]
    #[arg(long)]
    rows: Option<u64>,
    /// Access paths [default: all that can answer the question]
    #[arg(long, value_parser = word::<AccessPath>(), value_delimiter = ',', value_name = "PATH,...")]
    path: Vec<AccessPath>,
    /// What is asked [default: all-pass]
    #[arg(long, value_parser = word::<Asked>())]
    question: Option<Asked>,
    /// Numbers of threads, for full-scan, full-scan-compressed and column-scan
    #[arg(long, value_delimiter = ',', value_name = "COUNT,...", default_values_t = defaults().threads)]
    threads: Vec<usize>,
    /// Read the codes of every unit of columns, even where their minimum and maximum would answer
    #[arg(long, action = ArgAction::SetTrue)]
    no_zone_maps: bool,
    /// How hard columnar units are compressed
    #[arg(long, value_parser = word::<Level>(), default_value_t = defaults().level)]
    level: Level,
    /// Samples of each case
    #[arg(long, default_value_t = defaults().repeat)]
    repeat: usize,
    /// Memory that the run may take [default: 95 % of what is free]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// Seed of the generated rows
    #[arg(long, default_value_t = defaults().seed)]
    seed: u64,
    /// Leave instructions out where the processor does not count them, instead of scanning once more under valgrind
    #[arg(long, action = ArgAction::SetTrue)]
    no_valgrind: bool,
    /// Longest time that the scan under valgrind may take
    #[arg(long, default_value_t = VALGRIND_LIMIT, conflicts_with = "no_valgrind")]
    valgrind_limit: Nanos,
    #[command(flatten)]
    subjects: SubjectArguments,
    #[command(flatten)]
    beside: EngineBeside,
}

fn defaults() -> ScanParameters {
    ScanParameters::default()
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let (is_counted, limit) = (!arguments.no_valgrind, arguments.valgrind_limit);
    let (subjects, beside) = (arguments.subjects.options().clone(), arguments.beside);
    let parameters = arguments.parameters()?;
    beside.refuse(matches, &parameters.on, &["no_zone_maps", "level", "memory"])?;
    let wants = |path| parameters.path.is_empty() || parameters.path.contains(&path);
    let compressed = wants(AccessPath::FullScanCompressed);
    // A server in use is not restarted under valgrind, and SQLite runs in this program, which is not under it. The
    // places of a dry run lack the engine, and it takes the options of its run.
    let is_private = |place: &dyn Place| place.takes_statements() && !place.is_in_use();
    let simulates = !beside.is_alone() || parameters.on.iter().any(is_private);
    let nothing_simulated = "nothing of what --on names is run under valgrind";
    refuse_unused(
        matches,
        &[
            ("no_zone_maps", wants(AccessPath::ColumnScan), "no --path is column-scan"),
            ("level", compressed, "no --path is full-scan-compressed"),
            ("no_valgrind", simulates, nothing_simulated),
            ("valgrind_limit", simulates, nothing_simulated),
        ],
    )?;
    refuse_ahead(context, || scan::check_subjects(&parameters))?;
    let child = if is_counted { Some(child(&parameters, limit)?) } else { None };
    measure_on(context, COMMAND.name, (&parameters.on, &subjects), |on, environment, machine, journal| {
        let child = child.as_ref().filter(|_| !environment.is_dry_run());
        let parameters = ScanParameters { on: on.clone(), ..parameters.clone() };
        scan::run(&parameters, environment, child, machine, journal)
    })
}

/// The same scan of a smaller table by this program, for valgrind to count.
fn child(parameters: &ScanParameters, limit: Nanos) -> Result<CountedChild, Failure> {
    let nowhere = |error| Failure::failed(format!("this program does not find itself: {error}"));
    let program = env::current_exe().map_err(nowhere)?;
    let words = [program.into(), COUNTED.into()].into_iter();
    let words = words.chain(words_of(&parameters.counted()).into_iter().map(OsString::from)).collect();
    Ok(CountedChild { words, valgrind: ValgrindRun { scratch: env::temp_dir(), limit: limit.into() } })
}

/// The command line of parameters, as far as they change what one pass by one thread does.
fn words_of(parameters: &ScanParameters) -> Vec<String> {
    let options = [
        ("--rows", parameters.rows().to_string()),
        ("--question", parameters.question().to_string()),
        ("--level", parameters.level.to_string()),
        ("--seed", parameters.seed.to_string()),
    ];
    let words = options.into_iter().flat_map(|(name, value)| [name.to_string(), value]);
    let zone_maps = (!parameters.zone_maps).then(|| "--no-zone-maps".to_string());
    words.chain(zone_maps).collect()
}

impl Arguments {
    pub(super) fn environment(&self, context: &Context) -> Environment {
        self.subjects.options().environment(context)
    }

    pub(super) fn parameters(self) -> Result<ScanParameters, Failure> {
        let (places, is_dry_run) = (self.subjects.places()?, self.subjects.options().is_dry_run());
        let parameters = ScanParameters {
            on: self.beside.with_engine(places, is_dry_run, Places::then_engine),
            rows: self.rows,
            path: each_once(self.path),
            question: self.question,
            threads: each_once(self.threads),
            zone_maps: !self.no_zone_maps,
            level: self.level,
            repeat: self.repeat,
            memory: self.memory,
            seed: self.seed,
        };
        parameters.check().map_err(Failure::wrong)?;
        Ok(parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};
    use experiments::scan::{PUBLISHED_ROWS, ROWS, ROWS_BESIDE};

    #[test]
    fn the_published_size_and_the_defaults_stand_in_the_help() {
        assert!(EXAMPLES.contains(&PUBLISHED_ROWS.to_string()));
        let help = Arguments::augment_args(Command::new("scan")).render_long_help().to_string();
        assert!(help.contains(&format!("[default: {ROWS}, with --on {ROWS_BESIDE}]")), "{help}");
    }

    fn parsed<'a>(words: impl IntoIterator<Item = &'a str>) -> ScanParameters {
        let command = Arguments::augment_args(Command::new("scan").no_binary_name(true));
        Arguments::from_arg_matches(&command.get_matches_from(words)).unwrap().parameters().unwrap()
    }

    #[test]
    fn a_value_that_is_named_twice_makes_no_second_case() {
        let line = "--path full-scan,column-scan,full-scan --threads 2,1,2";
        let parameters = parsed(line.split(' '));
        assert_eq!(parameters.path, [AccessPath::FullScan, AccessPath::ColumnScan]);
        assert_eq!(parameters.threads, [2, 1]);
    }

    #[test]
    fn the_child_is_asked_what_the_parent_was_of_fewer_rows() {
        let line = "--rows 9000000 --question half-pass --no-zone-maps --level archive-low --seed 7 --threads 1,2";
        let counted = parsed(line.split(' ')).counted();
        let words = words_of(&counted);
        let child = parsed(words.iter().map(String::as_str).chain(["--on", "engine", "--path", "full-scan"]));
        assert_eq!((child.rows, child.question, child.zone_maps), (counted.rows, Some(Asked::HalfPass), false));
        assert_eq!((child.level, child.seed, child.threads), (Level::ArchiveLow, 7, vec![1]));
        assert_eq!((child.path, child.on.is_engine_alone()), (vec![AccessPath::FullScan], true));
        assert!(child.rows < Some(9_000_000));
    }
}
