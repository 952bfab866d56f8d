//! `readpath export`: the calls and waits of a profile as Parquet, the SQL of its tables, and the numbers of runs.

mod runs;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use ::export::ExportError;
use ::export::events::{EventWriter, Written};
use ::export::folder::{Existing, Folder};
use ::export::queries::{QUERIES, QUERIES_OF_RECORDINGS, query};
use ::measure::quantity::counted;
use ::profile::choice::Period;
use ::profile::findings::mixed_archives;
use ::profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use ::profile::observe::collector::THINK_TIME;
use ::profile::source::{BindValues, ReadOptions, SourceSettings};
use clap::{ArgMatches, Args};

use super::measure::{interrupted, signals};
use super::profile::reading::refuse_nothing;
use super::refuse_options_of_runs;
use super::time_scale::TimeScale;
use super::unused::refuse_unused_of_source;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;
use crate::signals::Signals;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "export", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath export --events orcl_ora_4711.trc --output events     five Parquet files in the folder events
  readpath export --sql summary                                  the SQL of a profile's summary over them
  cd events && duckdb -c \"$(readpath export --sql statements)\"
  readpath export --events traces/ --output events --force       replacing an earlier export
  readpath export --runs --output rows.parquet                   the numbers of all kept runs
  readpath export --runs last~1 last --output rows.csv           those of two
  readpath export --runs here.json there.json -o rows.parquet    those of run documents";

/// Complaints about files that are printed one by one.
const NAMED_MAX: usize = 5;

/// Writes the calls and waits of a profile, or the numbers of runs, as files for other programs
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Write every call and every wait of these traces or logs: files, folders, patterns, or - for standard input
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "output", conflicts_with = "runs")]
    events: Vec<PathBuf>,
    /// Write the numbers of these runs, a row for each metric of a case: identifiers or their beginnings, `last`,
    /// `last~1`, run documents [without RUN: all kept runs]
    #[arg(long, num_args = 0.., value_name = "RUN", requires = "output", conflicts_with = "time_scale")]
    runs: Option<Vec<String>>,
    /// Folder to create for the Parquet files of events, or file to write the rows of runs to: .parquet or .csv
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Unit of the trace's times; `auto` also finds centiseconds
    #[arg(long, value_enum, default_value = "auto")]
    time_scale: TimeScale,
    /// Replace an earlier export
    #[arg(long)]
    force: bool,
    /// Print the SQL of a table of the profile over these files, or over the segments of a recording
    #[arg(long, value_name = "NAME", value_parser = names(),
          conflicts_with_all = ["events", "runs", "output", "time_scale", "force"])]
    sql: Option<String>,
    /// What stands behind no option, only to say which one it lacks
    #[arg(hide = true, value_name = "WORD")]
    loose: Vec<String>,
}

fn names() -> Vec<&'static str> {
    QUERIES.iter().chain(&QUERIES_OF_RECORDINGS).map(|(name, _)| *name).collect()
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    if let Some(word) = arguments.loose.first() {
        let sentence = format!(
            "nothing says what {word} is: give --runs {word} where it is a run, and --events {word} where it is a \
             trace or a log."
        );
        return Err(Failure::wrong(sentence));
    }
    let existing = if arguments.force { Existing::Replace } else { Existing::Refuse };
    if let (Some(references), Some(place)) = (&arguments.runs, &arguments.output) {
        return runs::export(matches, references, (place, existing), context);
    }
    refuse_options_of_runs("readpath export", matches)?;
    if let Some(text) = arguments.sql.as_deref().and_then(query) {
        output::print(text)?;
        return Ok(Exit::Done);
    }
    let Some(place) = arguments.output.filter(|_| !arguments.events.is_empty()) else {
        let sentence = "nothing says what to write: name traces or logs with --events FILE, runs with --runs (all kept \
                        ones without a name), or a table of the profile with --sql NAME.";
        return Err(Failure::wrong(sentence));
    };
    let signals = signals()?;
    let unless_stopped = |signals: &Signals| signals.received().map_or(Ok(()), |signal| Err(interrupted(signal)));
    let chosen = Chosen::of(&arguments.events);
    unless_stopped(&signals)?;
    refuse_unused_of_source(matches, &chosen)?;
    if let Some(sentence) = chosen.row.unexported {
        return Err(Failure::wrong(sentence));
    }
    let mut writer = EventWriter::new(Folder::begin(&place, existing)?)?;
    let ingested = read(chosen, arguments.time_scale, &mut writer, &signals);
    unless_stopped(&signals)?;
    complain(&ingested);
    if ingested.files.is_empty() && !ingested.is_broken_off {
        return Err(Failure::failed("no trace was read, so nothing was written."));
    }
    if !ingested.is_broken_off {
        refuse_nothing(&ingested)?;
    }
    let written = writer.finish(&ingested.profile.context)?;
    output::print(&sentence(&written, &place))?;
    Ok(if ingested.has_all_named(&arguments.events) { Exit::Done } else { Exit::Failed })
}

fn read(chosen: Chosen, scale: TimeScale, writer: &mut EventWriter, signals: &Signals) -> Ingested {
    let source = SourceSettings {
        unit: scale.unit(),
        reading: ReadOptions::of_this_machine(),
        binds: BindValues::Dropped,
        period: Period::default(),
    };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let (stop, failed) = (signals.stop(), writer.failed());
    ingest(chosen, &settings, writer, &mut |_, _| {
        // What cannot be written need not be read.
        let is_over = stop.requested() || failed.load(Ordering::Relaxed);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// Says why files are not in the export.
fn complain(ingested: &Ingested) {
    ingested.problems.iter().take(NAMED_MAX).for_each(|problem| output::complain(&format!("{problem}.")));
    let more = ingested.problems.len().saturating_sub(NAMED_MAX) as u64;
    if more > 0 {
        output::complain(&format!("{} left out.", counted(more, "further file was", "further files were")));
    }
    for file in &ingested.files {
        if let Some(reason) = &file.cut_short {
            let read = counted(file.bytes, "byte", "bytes");
            output::complain(&format!("Only part of {} was read ({read}): {reason}.", file.name));
        }
    }
    mixed_archives(ingested).iter().for_each(|mixed| output::complain(&mixed.message));
}

fn sentence(written: &Written, place: &std::path::Path) -> String {
    let Written { calls, waits, statements, sessions, plan_lines } = written;
    let parts = [
        counted(*calls, "call", "calls"),
        counted(*waits, "wait", "waits"),
        counted(*statements, "statement", "statements"),
        counted(*sessions, "session", "sessions"),
        counted(*plan_lines, "plan line", "plan lines"),
    ];
    format!("{}: {}\n", place.display(), parts.join(", "))
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Failure {
        let exit = match error {
            ExportError::Exists(_) | ExportError::Foreign(_) => Exit::WrongCommandLine,
            _ => Exit::Failed,
        };
        Failure::new(exit, error)
    }
}
