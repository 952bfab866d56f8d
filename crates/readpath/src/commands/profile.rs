//! `readpath profile`: where the time went, from a trace or from samples of a running server.

mod follow;
pub(super) mod reading;
mod renewed_page;
pub(super) mod running;
pub(super) mod skew;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::measure::{Run, quantity};
use ::profile::choice::{Period, RecordingTime};
use ::profile::document::{Order, Selection, find_statement};
use ::profile::event::StatementIndex;
use ::profile::ingest::{Chosen, IngestSettings, Ingested};
use ::profile::observe::instruments::Instruments;
use ::profile::outcome::outcome;
use ::profile::source::{BindValues, ReadOptions, SourceSettings};
use ::profile::tables::Profile;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, ValueEnum};
use experiments::{Journal, Stop};

use self::reading::{ReadingArguments, read, refuse_nothing};
use super::measure::{examine, examined};
use super::time_scale::TimeScale;
use super::unused::{refuse_unused, refuse_unused_of_source};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, Purpose, arguments};
use crate::run_journal::RunJournal;
use crate::words::word;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "profile", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath profile orcl_ora_4711.trc                 where the time of a trace went
  readpath profile traces/ 'old/*.trc.gz'            folders and patterns, many files together
  zstd -dc big.trc.zst | readpath profile -          standard input
  readpath profile /u01/diag/.../trace --name '*_ora_*' --since 2026-11-22   some traces of a server
  readpath profile a.trc --sort physical-reads --top 20
  readpath profile a.trc --statement 5ncdvm4r9w3cx   the whole story of one statement
  readpath profile a.trc --by object --where 'event=db file sequential read'
  readpath profile a.trc --follow                    a page that refreshes while the trace is written
  readpath profile a.trc --format json               the run document
  readpath profile --on postgres://me@host/db        where the time of a running PostgreSQL goes, for a minute
  readpath profile --on postgres:18 -- pgbench -i    what a command does on a private server
  readpath profile DIR --from 10:00 --to 10:05       five minutes of a recording";

/// Shows where the response time of traced sessions or a running server goes, and what to do about it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
#[command(override_usage = "readpath profile [OPTIONS] [FILE]... [-- COMMAND...]")]
#[command(group = clap::ArgGroup::new("input").args(["files", "on", "command"]).required(true).multiple(true))]
struct Arguments {
    /// Traces (event 10046) or server logs of PostgreSQL, plain or compressed with gzip, zstd, xz, bzip2 or zip;
    /// archives of them (.zip, .tar, .tar.gz and the like), folders of them, patterns, or - for standard input; or the
    /// folder of a recording (`readpath record`)
    // The parser itself says of an empty name that there is none.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().try_map(file_name))]
    files: Vec<PathBuf>,
    #[command(flatten)]
    running: running::RunningArguments,
    #[command(flatten)]
    reading: ReadingArguments,
    /// Of a recording, only from this time on: a time of day in UTC, of the last day that has it (10:00), a date and a
    /// time (2026-11-22 10:00, 2026-11-22T10:00+01:00), or a time before its end (-1h)
    #[arg(long, value_name = "TIME")]
    from: Option<RecordingTime>,
    /// Of a recording, only before this time
    #[arg(long, value_name = "TIME")]
    to: Option<RecordingTime>,
    /// Show all details of one statement, by its identifier or the beginning of it
    #[arg(long, value_name = "ID", allow_hyphen_values = true, value_parser = statement_id)]
    statement: Option<String>,
    /// How many statements to show, or rows of a breakdown [default: 10 statements, 20 rows]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rows)]
    top: Option<usize>,
    /// Rank statements by this
    #[arg(long, value_parser = word::<Order>(), default_value_t = Order::ResponseTime)]
    sort: Order,
    /// Unit of the trace's times; `auto` also finds centiseconds
    #[arg(long, value_enum, default_value = "auto")]
    time_scale: TimeScale,
    /// Combine statements whose texts differ only in their literals; `auto` does so where nearly all were executed
    /// once. In a PostgreSQL log only `never` keeps them apart
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "auto", default_missing_value = "always")]
    fold_literals: Folding,
    /// Leave out the texts of statements, with the literals in them
    #[arg(long)]
    no_text: bool,
    /// With --statement, show the values of bind variables of its first executions, and keep them with the run: they
    /// may be personal data
    #[arg(long, requires = "statement", conflicts_with = "no_text")]
    binds: bool,
    /// List unread lines by file and kind
    #[arg(long)]
    explain_unread: bool,
    #[command(flatten)]
    skew: skew::SkewArguments,
    /// Follow a trace that is being written: refresh the page on a terminal until ^C, or until nothing has been written
    /// for this long: an hour, unless a time is given
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "3600s", value_parser = quantity::parse_time)]
    follow: Option<::measure::Nanos>,
    /// Threads that read [default: one per processor, 4 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: Option<u16>,
}

/// When statements are combined.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Folding {
    Auto,
    Always,
    Never,
}

/// A number of rows, from 1.
pub(super) fn rows(text: &str) -> Result<usize, String> {
    let rows = text.parse::<usize>().ok().filter(|rows| *rows > 0);
    rows.ok_or_else(|| format!("'{text}' is not a number of rows: write a whole number from 1, such as 10"))
}

/// A file by its name, which is not empty.
fn file_name(word: OsString) -> Result<PathBuf, &'static str> {
    if word.is_empty() { Err("the name is empty: name a file") } else { Ok(word.into()) }
}

/// The identifier of a statement or its beginning, which is not empty: every identifier begins with nothing.
fn statement_id(word: &str) -> Result<String, &'static str> {
    if word.is_empty() { Err("it is empty: write an identifier or the beginning of one") } else { Ok(word.into()) }
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let mut arguments = arguments::<Arguments>(matches)?;
    arguments.running.refuse(matches)?;
    arguments.refuse_ranking(matches)?;
    arguments.refuse_period()?;
    arguments.reading.refuse_reversed()?;
    if arguments.running.is_asked_for() {
        return run_on_server(&arguments, context);
    }
    arguments.take_files();
    let is_input = arguments.files.iter().any(|file| file.as_os_str() == "-");
    refuse_unused(matches, &[("follow", !is_input, "standard input is read once, to its end")])?;
    let mut is_all_there = true;
    let exit = examine(context, COMMAND.name, |journal, stop| {
        let chosen = chosen(&arguments);
        refuse_unused_of_source(matches, &chosen)?;
        is_all_there = match arguments.follow {
            Some(idle) => {
                let until = (stop, Duration::from_nanos(idle.0));
                follow::follow((&arguments, matches), context, journal, until)?
            }
            None => profile(&arguments, chosen, journal, stop)?,
        };
        Ok(())
    })?;
    Ok(if exit == Exit::Done && !is_all_there { Exit::Failed } else { exit })
}

/// Profiles a running server, or prints what would be sent to it.
fn run_on_server(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    if context.purpose == Purpose::Check {
        return arguments.running.known(context).map(|_| Exit::Done);
    }
    if arguments.running.rehearse(arguments.reading.think_time(), context)? {
        return Ok(Exit::Done);
    }
    let mut ending = running::Ending::default();
    let exit = examine(context, COMMAND.name, |journal, stop| {
        ending = running::profile(arguments, context, journal, stop)?;
        Ok(())
    })?;
    Ok(ending.exit(exit))
}

impl Arguments {
    /// Refuses what is said of the list of statements where a breakdown or one statement stands in its place.
    fn refuse_ranking(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let (is_one, is_breakdown) = (self.statement.is_some(), self.skew.is_asked_for());
        let one = "--statement shows one statement";
        let options = [
            ("sort", !is_breakdown, "--by and --where show a breakdown, which ranks no statements"),
            ("sort", !is_one, one),
            ("top", !is_one || is_breakdown, one),
        ];
        refuse_unused(matches, &options)
    }

    /// Refuses a period that ends before it begins.
    fn refuse_period(&self) -> Result<(), Failure> {
        let (Some(from), Some(to), true) = (self.from, self.to, self.period().is_backwards()) else { return Ok(()) };
        Err(Failure::wrong(format!("--from {from} is not before --to {to}: no time lies between them.")))
    }

    /// From when to when a recording is read.
    fn period(&self) -> Period {
        Period { from: self.from, to: self.to }
    }

    /// What stands behind `--` without a server are files, whatever their names begin with.
    fn take_files(&mut self) {
        self.files.append(&mut self.running.command);
    }
}

/// The profile of one file as `readpath profile FILE` makes it, for a command that shows it in its own way; and whether
/// everything could be read that the name of the file means, which may be a pattern.
pub(super) fn of_file(file: &Path, context: &Context) -> Result<(Run, bool), Failure> {
    let words = [OsString::from(COMMAND.name), "--".into(), file.into()];
    let matches = Arguments::augment_args(Command::new(COMMAND.name)).try_get_matches_from(words);
    let matches = matches.map_err(Failure::wrong)?;
    let mut arguments = arguments::<Arguments>(&matches)?;
    arguments.take_files();
    let mut is_all_there = true;
    let run = examined(context, COMMAND.name, |journal, stop| {
        is_all_there = profile(&arguments, chosen(&arguments), journal, stop)?;
        Ok(())
    })?;
    Ok((run, is_all_there))
}

/// Profiles the files; returns whether everything that was named could be read.
fn profile(arguments: &Arguments, chosen: Chosen, journal: &mut RunJournal, stop: &Stop) -> Result<bool, Failure> {
    // Without it, it takes some more memory, and nothing else.
    let _ = sys::memory::use_one_arena();
    let (ingested, instruments) = read_all(arguments, chosen, journal, stop);
    if ingested.is_broken_off {
        return Ok(true);
    }
    refuse_nothing(&ingested)?;
    take(arguments, ingested, &instruments, journal)
}

/// Reads the files with instruments that hear all of them.
fn read_all(arguments: &Arguments, chosen: Chosen, journal: &mut RunJournal, stop: &Stop) -> (Ingested, Instruments) {
    let mut instruments = instruments(arguments);
    let settings = settings(arguments);
    let ingested = read(chosen, &settings, &mut instruments, &mut |text, left| journal.step(text, left), stop);
    (ingested, instruments)
}

fn instruments(arguments: &Arguments) -> Instruments {
    Instruments::new(arguments.skew.skew(arguments.reading.think_time()))
}

/// Takes a profile into the run; returns whether everything that was named could be read.
fn take(
    arguments: &Arguments,
    mut ingested: Ingested,
    instruments: &Instruments,
    journal: &mut RunJournal,
) -> Result<bool, Failure> {
    match arguments.fold_literals {
        Folding::Always => ingested.fold_literals(),
        Folding::Auto => ingested.fold_literals_of_once(),
        Folding::Never => {}
    }
    ingested.lists_unread = arguments.explain_unread;
    let selection = selection(arguments, &ingested.profile)?;
    let outcome = outcome(&mut ingested, instruments, &selection);
    outcome.subject.into_iter().for_each(|(key, value)| journal.describe_subject(&key, value));
    describe(arguments, &selection, &ingested.profile, journal);
    journal.take(outcome.cases);
    outcome.findings.into_iter().for_each(|finding| journal.find(finding));
    Ok(ingested.has_all_named(&arguments.files))
}

/// The files that are read.
fn chosen(arguments: &Arguments) -> Chosen {
    let chosen = Chosen::some_of(&arguments.files, &arguments.reading.choice());
    if arguments.fold_literals == Folding::Never { chosen.keeping_literals() } else { chosen }
}

/// Notes in the run what was asked for.
fn describe(arguments: &Arguments, selection: &Selection, profile: &Profile, journal: &mut RunJournal) {
    journal.describe_subject("sort", selection.order.name().into());
    journal.describe_subject("top", selection.top.into());
    journal.describe_subject("think_time_us", arguments.reading.think_time_us().into());
    if let Some(index) = selection.statement {
        journal.describe_subject("statement", profile.context.statement_id(index).into());
    }
    let texts = [("name", arguments.reading.name.as_ref().map(ToString::to_string))];
    let times = [("since", arguments.reading.since), ("until", arguments.reading.until)];
    let times = times.map(|(key, time)| (key, time.map(|time| time.to_string())));
    for (key, text) in texts.into_iter().chain(times) {
        text.into_iter().for_each(|text| journal.describe_subject(key, text.into()));
    }
    for (key, time) in [("from", arguments.from), ("to", arguments.to)] {
        time.into_iter().for_each(|time| journal.describe_subject(key, time.to_string().into()));
    }
    if arguments.binds {
        journal.describe_subject("binds", true.into());
    }
    if arguments.explain_unread {
        journal.describe_subject("explain_unread", true.into());
    }
    arguments.skew.describe(journal);
}

/// How the files are read.
fn settings(arguments: &Arguments) -> IngestSettings {
    let mut reading = ReadOptions::of_this_machine();
    reading.workers = arguments.workers.map_or(reading.workers, usize::from);
    let binds = if arguments.binds { BindValues::Kept } else { BindValues::Dropped };
    let source = SourceSettings { unit: arguments.time_scale.unit(), reading, binds, period: arguments.period() };
    IngestSettings { think_time: arguments.reading.think_time(), source }
}

fn selection(arguments: &Arguments, profile: &Profile) -> Result<Selection, Failure> {
    let statement = arguments.statement.as_deref().map(|reference| one_statement(profile, reference)).transpose()?;
    let top = arguments.top.unwrap_or(if arguments.skew.is_asked_for() { 20 } else { 10 });
    Ok(Selection { order: arguments.sort, top, statement, hides_texts: arguments.no_text })
}

/// The one statement that a reference names.
fn one_statement(profile: &Profile, reference: &str) -> Result<StatementIndex, Failure> {
    let found = find_statement(profile, reference);
    let sentence = match found.as_slice() {
        [one] => return Ok(*one),
        [] => format!("no statement '{reference}' is in the profile: write an identifier of its tables."),
        several => {
            let some: Vec<&str> = several.iter().take(5).map(|index| profile.context.statement_id(*index)).collect();
            format!(
                "'{reference}' is the beginning of {} statements ({}): write more of it.",
                quantity::grouped(several.len() as u64),
                some.join(", ")
            )
        }
    };
    Err(Failure::wrong(sentence))
}
