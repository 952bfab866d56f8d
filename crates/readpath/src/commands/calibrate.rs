//! `readpath calibrate`: a planner's cost constants, measured on the server that plans.

use ::measure::Size;
use ::measure::quantity::parse_time;
use clap::{Arg, ArgMatches, Args, Command};
use experiments::calibrate::{self, CalibrateParameters};
use report::Media;
use subjects::Place;

use super::subjects::{OF_SERVERS, SubjectArguments, measure_on, servers};
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "calibrate", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath calibrate --on postgres:18               cold and cached, on a private server
  readpath calibrate --on postgres://me@db/shop     a server as it is: its caches stay as they are
  readpath calibrate --on postgres://me@db/shop --dry-run  every statement that would be sent
  readpath calibrate --on postgres://me@db/shop --queries shop.sql  which queries get a different plan
  readpath calibrate --on postgres://me@db/shop --queries shop.sql --run  and whether they are faster
  readpath calibrate --on postgres://db --queries pg_stat_statements:5  which of these get a different plan
  readpath calibrate --on postgres:copy:/srv/copy --queries shop.sql --run  cold, on a copy of a data directory";

const ON: &str = "Measure on this PostgreSQL server: postgres://USER@HOST:PORT/DATABASE, or postgres:18";

/// What the help of `--on` says of a copy of a data directory.
const OF_COPIES: &str = "\
postgres:copy:DIRECTORY?dbname=NAME starts a server on a copy of a data directory, such as a restored backup, and \
stops it at the end. It empties all caches before each run of your queries. The server writes to the directory, so \
never name one that is in use. user=NAME names a superuser other than postgres, and programs=DIRECTORY an installed \
server's programs instead of those that are fetched; put & between them.";

/// Why a JSON document has no statements: it has the numbers that they are made from.
const SQL_OF_JSON: &str =
    "JSON has no statements of --sql: `readpath show FILE` prints them, with the page of the document.";

/// What is said of the rows of a job, which is not refused for them: its runs are kept.
const SQL_OF_JOB: &str =
    "CSV has no place for the statements of `sql = true`: `readpath show` prints them, with the page of a kept run.";

/// Measures a planner's cost constants, and whether it chooses better with them
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Bytes of the table [default: 32MiB on a private server, else 24MiB]. With its indexes it takes twice as much,
    /// and so does a second table. A third is 1.25 times as large as the shared buffers, and is left out where that is
    /// over ten times the payload: on a given server, 24MiB make up to 506 MiB. What is beyond a quarter of the shared
    /// buffers enlarges the table that only the operating system has cached
    #[arg(long)]
    payload: Option<Size>,
    /// Judge by your own queries: a file of statements, a folder of them, or `pg_stat_statements` (`:N`: the first N).
    /// Those with parameters ($1) are explained by their generic plans, which fit any values
    #[arg(long, value_name = "FILE|DIR|pg_stat_statements[:N]")]
    queries: Option<String>,
    /// Run your queries in read-only transactions. Queries whose plan changes are run in turns; then each query is run
    /// a few more times, also with planner methods disabled, to find plans that no constants lead to. Without this they
    /// are only explained. Queries with parameters, as pg_stat_statements lists them, are not run: give a file with
    /// values in their place
    #[arg(long)]
    run: bool,
    /// How long one of your queries may take, with --run: a time with its unit, or a number of seconds
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    #[arg(default_value_t = CalibrateParameters::default().time_limit)]
    time_limit: f64,
    /// How many times all costs are measured, each time with new tables
    #[arg(long, default_value_t = CalibrateParameters::default().passes)]
    passes: usize,
    /// Samples of what is cached, in a pass
    #[arg(long, default_value_t = CalibrateParameters::default().repeat)]
    repeat: usize,
    /// How many times each plan of a query is run; a verdict needs at least 3. On a copy of a data directory,
    /// --cold-rounds says how often yours are run
    #[arg(long, default_value_t = CalibrateParameters::default().rounds)]
    rounds: usize,
    /// Samples of what is not cached, each after a restart; on a private server [default: 3]
    #[arg(long)]
    cold_samples: Option<usize>,
    /// How many times each plan of each query is run cold; 0 leaves that out; on a private server [default: 3, and 5 of
    /// your own queries]
    #[arg(long)]
    cold_rounds: Option<usize>,
    /// Print the advice as SET, ALTER DATABASE, ALTER SYSTEM and ALTER TABLESPACE at the end of the page, and how to
    /// undo it. CSV has no place for it. From a JSON document, `readpath show FILE` prints the page
    #[arg(long)]
    sql: bool,
    /// Picks the order of the rows
    #[arg(long, default_value_t = CalibrateParameters::default().seed)]
    seed: u64,
    #[command(flatten)]
    subjects: SubjectArguments,
}

/// The seconds of a time with its unit, as all options take one, or of a number alone, as job files have it.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number.map_or_else(|| parse_time(text).map(|time| time.as_seconds()), Ok).map_err(|error| error.to_string())
}

fn define(command: Command) -> Command {
    let in_full = format!("{ON}\n\n{OF_SERVERS}\n\n{OF_COPIES}");
    let on = |on: Arg| on.value_name("URL").value_parser(servers).help(ON).long_help(in_full);
    Arguments::augment_args(command).mut_arg("on", on)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let subjects = arguments.subjects.options().clone();
    let no_advice = "a dry run measures nothing, so there is no advice to print";
    // The runs of a job file are kept, and the pages of those that ask for it have the statements.
    let media = context.job.is_none().then_some(context.globals.format.media);
    let no_place = "--format csv has no place for statements, and the page has: leave --format out";
    refuse_unused(
        matches,
        &[
            ("time_limit", arguments.run, "it ends your own queries, which only --run executes"),
            ("sql", !subjects.is_dry_run(), no_advice),
            ("sql", media != Some(Media::Rows), no_place),
        ],
    )?;
    let hint = hint(context.globals.format.media).filter(|_| arguments.sql && !context.globals.quiet);
    let parameters = arguments.parameters()?;
    let is_copy = |place: &dyn Place| place.has_own_tables() && !place.is_in_use();
    let has_rounds = !parameters.run || !parameters.on.iter().any(is_copy);
    let reason = "on a copy of a data directory your queries run cold: --cold-rounds says how often";
    refuse_unused(matches, &[("rounds", has_rounds, reason)])?;
    parameters.check().map_err(Failure::wrong)?;
    if let Some(hint) = hint {
        output::complain(hint);
    }
    measure_on(context, COMMAND.name, (&parameters.on, &subjects), |on, environment, machine, journal| {
        let parameters = CalibrateParameters { on: on.clone(), ..parameters.clone() };
        calibrate::run(&parameters, environment, machine, journal)
    })
}

/// Where the statements are that were asked for, where they do not stand in what is printed. Rows are refused unless a
/// job asks for them.
fn hint(media: Media) -> Option<&'static str> {
    match media {
        Media::Document => Some(SQL_OF_JSON),
        Media::Rows => Some(SQL_OF_JOB),
        Media::Terminal | Media::Page => None,
    }
}

impl Arguments {
    fn parameters(self) -> Result<CalibrateParameters, Failure> {
        let on = self.subjects.places()?;
        let Arguments { payload, queries, run, time_limit, passes, repeat, rounds, .. } = self;
        let Arguments { cold_samples, cold_rounds, sql, seed, .. } = self;
        Ok(CalibrateParameters {
            on,
            payload,
            queries,
            run,
            time_limit,
            passes,
            repeat,
            rounds,
            cold_samples,
            cold_rounds,
            seed,
            sql,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::{of_file, of_line};

    #[test]
    fn a_file_and_a_command_line_give_the_same_parameters() {
        let check = |file: &str, line: &str| {
            let of_line = of_line::<Arguments>(define, line).parameters().unwrap();
            let text = |parameters: &CalibrateParameters| serde_json::to_string(parameters).unwrap();
            assert_eq!(text(&of_file(file)), text(&of_line));
        };
        check("on = ['postgres:18']", "--on postgres:18");
        check(
            "on = ['postgres:15']\npayload = '8MiB'\nrepeat = 3\ncold_samples = 2\ncold_rounds = 0\nseed = 7\n\
             sql = true\npasses = 2\nrounds = 4\ntime_limit = 2.5",
            "--on postgres:15 --payload 8MiB --repeat 3 --cold-samples 2 --cold-rounds 0 --seed 7 --sql --passes 2 \
             --rounds 4 --time-limit 2.5",
        );
        check(
            "on = ['postgres://me@host/db']\nqueries = 'shop.sql'\nrun = true",
            "--on postgres://me@host/db --queries shop.sql --run",
        );
        for line in ["--time-limit 2500ms", "--time-limit 2.5s", "--time-limit 2.5"] {
            let limited = of_line::<Arguments>(define, &format!("--on postgres://me@host/db {line}"));
            assert!((limited.time_limit - 2.5).abs() < 1e-9, "{line}");
        }
        assert!(seconds("soon").is_err_and(|error| error.contains("soon")));
        assert!(toml::from_str::<CalibrateParameters>("payloads = 1").is_err());
    }

    #[test]
    fn a_job_for_csv_says_where_the_statements_are_that_it_asks_for() {
        assert!(hint(Media::Rows).is_some_and(|said| said.contains("CSV has no place")));
        assert!(hint(Media::Document).is_some_and(|said| said.contains("JSON has no statements")));
        assert_eq!((hint(Media::Terminal), hint(Media::Page)), (None, None), "a page has them");
    }

    #[test]
    fn one_server_is_measured_and_nothing_else() {
        let refusal = |line: &str| {
            let parameters = of_line::<Arguments>(define, line).parameters().unwrap();
            parameters.check().map_err(|error| error.to_string()).err()
        };
        assert_eq!(refusal("--on postgres:18"), None);
        assert!(refusal("").unwrap().contains("--on postgres:18"));
        assert!(refusal("--on postgres://me@host/db --cold-rounds 0").unwrap().contains("private server"));
        assert!(refusal("--on postgres:18 --queries shop.sql").unwrap().contains("none of your tables"));
        assert_eq!(refusal("--on postgres:copy:/srv/x?dbname=shop --queries shop.sql --run --cold-rounds 4"), None);
        assert!(refusal("--on postgres://me@host/db --run").unwrap().contains("--queries"));
        assert!(refusal("--on postgres://me@host/db --queries pg_stat_statements:0").unwrap().contains("a number"));
        for limit in ["0", "-1", "nan", "inf", "999us", "25h"] {
            let said = refusal(&format!("--on postgres://me@host/db --time-limit={limit}")).unwrap();
            assert!(said.contains("from 1ms to 24h"), "{limit}: {said}");
        }
        for many in ["--passes 10001", "--passes 101 --repeat 100", "--repeat 18446744073709551615"] {
            let said = refusal(&format!("--on postgres://me@host/db {many}")).unwrap();
            assert!(said.contains("10000 at most"), "{many}: {said}");
        }
        assert!(refusal("--on postgres:18 --cold-samples 10001").unwrap().contains("10000 at most"));
        assert!(refusal("--on postgres:18 --cold-rounds 1000001").unwrap().contains("1000000 at most"));
        for none in ["--passes 0", "--repeat 0", "--rounds 0"] {
            assert!(refusal(&format!("--on postgres://me@host/db {none}")).unwrap().contains("count from 1"), "{none}");
        }
        assert!(refusal("--on engine").unwrap().contains("--on postgres:18"));
        assert!(refusal("--on postgres:17,postgres:18").unwrap().contains("one server"));
    }
}
