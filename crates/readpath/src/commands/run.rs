//! `readpath run`: the runs of a job file, each in a process of its own, after all of them are checked.

mod check;
mod making;

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command};
use measure::quantity::counted;
use measure::sorting;
use report::Media;
use subjects::places::without_password;

use self::making::Making;
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::job::experiment::experiments;
use crate::job::words::of_shell;
use crate::job::{Plan, PlannedRun, Problem, plan, source};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "run", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath run jobs/queue-depth.toml              all runs of the file
  readpath run jobs/queue-depth.toml --dry-run    their command lines, and nothing is measured
  readpath run jobs/queue-depth.toml --set paths=/data/old.dbf   your device
  readpath init disk -o disk.toml                 a file to begin with
  readpath show last --job > again.toml           one that repeats a run";

const ABOUT: &str = "\
Executes the runs of a job file

A job file is TOML. Each table is a job: its experiment, and the parameters as `readpath init EXPERIMENT` lists them, \
under the names of the options. [defaults] applies to all jobs that have its keys, and [NAME.matrix] makes one run \
for each combination of its lists.

All is checked before anything is measured, but for jobs that --name leaves out. Each run is its command line, in a \
process of its own, and is kept with the job and the file's hash. If a run fails, the others are made nevertheless, \
and the exit code is 1.

With --format json, the documents are printed one after the other, as jq reads them; `jq -s` makes an array of them. \
With --format csv, another heading is printed wherever the columns change. `readpath export --runs` makes one table of \
runs that are kept.";

/// Problems of a file that are said.
const PROBLEMS_MAX: usize = 20;

#[derive(Args)]
struct Arguments {
    /// The job file
    #[arg(value_name = "JOB.toml")]
    file: PathBuf,
    /// Only these jobs of the file
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    name: Vec<String>,
    /// Set a parameter in all jobs that have it, or in one job, instead of the file's value
    #[arg(long, value_name = "[JOB.]KEY=VALUE")]
    set: Vec<String>,
    /// Print the command line of each run, and measure nothing
    #[arg(long)]
    dry_run: bool,
}

fn define(command: Command) -> Command {
    let short = ABOUT.lines().next().unwrap_or(ABOUT);
    Arguments::augment_args(command).about(short).long_about(ABOUT).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let refused = |problems: Vec<Problem>| refused(&arguments, problems);
    let bytes = source::read(&arguments.file).map_err(|problem| refused(vec![problem]))?;
    let text = source::text(&bytes).map_err(|problem| refused(vec![problem]))?;
    let known = experiments(&(context.definition)());
    let Plan { jobs, runs, mut problems } = plan(text, &arguments.set, &arguments.name, &known);
    problems.extend(check::all(&runs, context));
    problems.extend(check::written_again(&runs));
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    refuse_unknown(&jobs, &arguments)?;
    if arguments.dry_run {
        output::print(&listed(&runs))?;
        return Ok(Exit::Done);
    }
    if context.globals.format.media == Media::Page && runs.len() > 1 {
        let reason = "a page of this format shows one run, and these are several: `readpath report` makes one of them";
        refuse_unused(matches, &[("format", false, reason)])?;
    }
    Making::new(context, &arguments.file, &bytes).all(&runs)
}

/// Says what is wrong with a file, one line each, in the order of its lines.
fn refused(arguments: &Arguments, mut problems: Vec<Problem>) -> Failure {
    sorting::by_key(&mut problems, |problem| problem.place.clone());
    let mut lines: Vec<String> = problems.iter().map(|problem| problem.text(&arguments.file)).collect();
    // A default that is wrong is wrong in every job.
    let mut said = std::collections::BTreeSet::new();
    lines.retain(|line| said.insert(line.clone()));
    let (count, file) = (lines.len(), arguments.file.display());
    lines.truncate(PROBLEMS_MAX);
    if count > PROBLEMS_MAX {
        let verb = if count == PROBLEMS_MAX + 1 { "is" } else { "are" };
        let more = counted((count - PROBLEMS_MAX) as u64, "more problem", "more problems");
        lines.push(format!("{file}: there {verb} {more}."));
    }
    if count > 1 {
        lines.insert(0, format!("{file} has {count} problems, and nothing was measured:"));
    }
    Failure::wrong(lines.join("\n"))
}

/// Refuses a job of `--name` that the file does not have.
fn refuse_unknown(jobs: &[String], arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = arguments.name.iter().find(|name| !jobs.contains(name)) else { return Ok(()) };
    let (file, jobs) = (arguments.file.display(), jobs.join(", "));
    Err(Failure::wrong(format!("--name {name}: {file} has no such job; it has {jobs}.")))
}

/// The command lines of runs, each with the run's name behind it as a comment.
fn listed(runs: &[PlannedRun]) -> String {
    let line = |run: &PlannedRun| {
        let words: Vec<String> = run.words().unwrap_or_default().iter().map(|word| without_password(word)).collect();
        format!("readpath {}  # {}\n", of_shell(&words), run.name)
    };
    runs.iter().map(line).collect()
}
