//! `readpath compare`: what differs between two runs, two traces, or two periods of one trace, and whether that is more
//! than noise.

mod traces;

use ::measure::Run;
use ::measure::compare::compare;
use ::profile::choice::{Period, RecordingTime};
use ::profile::compare::compare_kept;
use clap::{ArgMatches, Args};
use report::{Compared, Media, Shown, nothing_compared, without_texts};
use serde_json::Value;

use super::named::{Named, named};
use super::profile::reading::ReadingArguments;
use super::profile::rows;
use super::profile::skew::Condition;
use super::show::refuse_store_of_files;
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "compare", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath compare last~1 last
  readpath compare 0197c0de 0197c0ff --format csv
  readpath compare ./before.json last
  readpath compare before.trc after.trc              what became faster and slower, by class, event and statement
  readpath compare monday/ 'tuesday/*.trc.gz'        folders and patterns of traces
  readpath compare monday.log tuesday.log            server logs of PostgreSQL
  readpath compare a.trc --at '2026-11-22 09:30'     one trace before and after a time
  readpath compare a.trc --first ..2026-11-21 --second 2026-11-22..
  readpath compare a.trc b.trc --where 'event=db file sequential read'
  readpath compare DIR --first 09:00..09:30 --second 10:00..10:30   two periods of a recording";

/// Compares two runs, two traces, or two periods of one: what differs, and whether it is more than noise
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// What ratios divide by: a run (an identifier or its beginning, `last`, `last~1`, or its file), or a trace or
    /// server log of PostgreSQL, a folder or a pattern of them, or the folder of a recording
    #[arg(value_name = "FIRST")]
    before: String,
    /// What is compared with it; not needed with two periods of the first
    #[arg(value_name = "SECOND")]
    after: Option<String>,
    /// Of traces and recordings: compare what ended from this time on, by the server's wall clock, with what ended
    /// before it; for a recording, write the time as for profile --from
    #[arg(long, value_name = "TIME", conflicts_with_all = ["first", "second"])]
    at: Option<RecordingTime>,
    /// Of the first trace, only the calls and waits that ended in this time, such as
    /// '2026-11-22 09:00..2026-11-22 10:00'; one trace is compared with all of it without --second, this time included
    #[arg(long, value_name = "TIME..TIME")]
    first: Option<Period>,
    /// Of the second trace, only the calls and waits that ended in this time; of one trace, the first side is all of it
    /// without --first, this time included
    #[arg(long, value_name = "TIME..TIME")]
    second: Option<Period>,
    /// Of traces: only the CPU time of calls and the waits for which this holds, written as for profile --where; all
    /// calls still count as executions
    #[arg(id = "where", long = "where", value_name = "CONDITION", value_parser = Condition::parse)]
    conditions: Vec<Condition>,
    #[command(flatten)]
    reading: ReadingArguments,
    /// Of traces: how many statements of each kind to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = rows)]
    top: usize,
    /// Of traces: leave out the texts of statements, with the literals in them
    #[arg(long)]
    no_text: bool,
}

/// Options that have no effect on runs: their profiles are made.
const OF_TRACES: [&str; 8] = ["at", "first", "second", "where", "name", "since", "until", "think_time"];

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let before = &arguments.before;
    let has_times = arguments.at.is_some() || arguments.first.is_some() || arguments.second.is_some();
    let after = arguments.after.as_ref().or(has_times.then_some(before)).ok_or_else(|| alone(before))?;
    match (named(before, context)?, named(after, context)?) {
        (Named::Run(mut first), Named::Run(mut second)) => {
            refuse_store_of_files(matches, &[before, after])?;
            let reason = "a run is compared as it was kept, and the files have more";
            refuse_unused(matches, &OF_TRACES.map(|option| (option, false, reason)))?;
            let are_profiles = [&first, &second].iter().all(|run| run.experiment == super::profile::COMMAND.name);
            let reason = "runs have no statements";
            refuse_unused(matches, &[("top", are_profiles, reason), ("no_text", are_profiles, reason)])?;
            if are_profiles {
                let source = |run: &Run| run.subject.get("source").and_then(Value::as_str).map(String::from);
                let [of_first, of_second] = [source(&first), source(&second)];
                traces::refuse_two_sources([(before, of_first.as_deref()), (after, of_second.as_deref())])?;
                if arguments.no_text {
                    // Before that: what the runs warn of can quote texts too.
                    [&mut first, &mut second].into_iter().for_each(|run| without_texts(run));
                }
                let comparison = compare_kept(&first, &second, arguments.top);
                output::print_result(Shown::Profiles(&comparison), context)?;
                return Ok(Exit::Done);
            }
            compare_runs(&first, &second, context)
        }
        (Named::Profiled(first), Named::Profiled(second)) => {
            let reason = "traces are read from files, and none from a store";
            refuse_unused(matches, &[("store", false, reason), ("no_store", false, reason)])?;
            traces::compare([first, second], matches, &arguments, context)
        }
        (Named::Run(_), _) => Err(mixed(before, after)),
        _ => Err(mixed(after, before)),
    }
}

/// Prints what differs between two runs that are no profiles.
fn compare_runs(first: &Run, second: &Run, context: &Context) -> Result<Exit, Failure> {
    let comparison = compare(first, second);
    let compared = Compared { comparison: &comparison, runs: [first, second] };
    let (reason, media) = (nothing_compared(&comparison), context.globals.format.media);
    // A heading without a row is no table.
    if reason.is_none() || media != Media::Rows {
        output::print_result(Shown::Comparison(compared), context)?;
    }
    let Some(reason) = reason else { return Ok(Exit::Done) };
    // A page says it itself, and what a program reads has no place for it.
    if matches!(media, Media::Document | Media::Rows) {
        output::complain(&reason);
    }
    Ok(Exit::WrongCommandLine)
}

/// One name, where there have to be two of something.
fn alone(first: &str) -> Failure {
    let sentence = format!(
        "compare needs two runs or traces, and {first} is only one: `readpath compare last~1 last` takes the two \
         newest runs, and --at, or --first and --second, two periods of one trace or recording."
    );
    Failure::wrong(sentence)
}

fn mixed(run: &str, trace: &str) -> Failure {
    Failure::wrong(format!("{run} is a run and {trace} is none: compare two runs, or two traces or logs."))
}
