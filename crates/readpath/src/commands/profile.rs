//! `readpath profile`: where the time went, from a trace.

mod skew;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::measure::{Run, quantity};
use ::profile::document::{Order, Selection, find_statement};
use ::profile::event::{StatementIndex, Ticks};
use ::profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use ::profile::input::{Given, expand};
use ::profile::observe::instruments::Instruments;
use ::profile::outcome::outcome;
use ::profile::source::{BindValues, ReadOptions, SourceSettings};
use ::profile::tables::Profile;
use clap::{ArgMatches, Args, Command, ValueEnum};
use experiments::{Journal, Stop};

use super::measure::{examine, examined};
use super::time_scale::TimeScale;
use super::unused::{refuse_unused, refuse_unused_of_source};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;
use crate::run_journal::RunJournal;
use crate::words::word;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "profile", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath profile orcl_ora_4711.trc                 where the time of a trace went
  readpath profile traces/ 'old/*.trc.gz'            folders and patterns, many files together
  zstd -dc big.trc.zst | readpath profile -          standard input
  readpath profile a.trc --sort physical-reads --top 20
  readpath profile a.trc --statement 5ncdvm4r9w3cx   the whole story of one statement
  readpath profile a.trc --by object,statement --where 'event=db file sequential read'   one event, by object
  readpath profile a.trc --follow                    a page that renews itself while the trace is written
  readpath profile a.trc --format json               the run document";

/// How often a followed trace is looked at.
const RENEWAL: Duration = Duration::from_secs(1);

/// Clears a terminal and goes to its upper left corner.
const CLEARED: &str = "\u{1b}[H\u{1b}[2J";

/// How often the progress line changes.
const REFRESH: Duration = Duration::from_millis(200);

#[derive(Args)]
struct Arguments {
    /// Traces (event 10046) or server logs of PostgreSQL, plain or packed by gzip, zstd, xz or zip, folders of them,
    /// patterns, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show all details of one statement, by its identifier or the beginning of it
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    statement: Option<String>,
    /// How many statements to show, or rows of a breakdown [default: 10 statements, 20 rows]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Rank statements by this
    #[arg(long, value_parser = word::<Order>(), default_value_t = Order::ResponseTime)]
    sort: Order,
    /// A wait for the client this long is think time, a shorter one a round trip
    #[arg(long, default_value = "1s", value_parser = quantity::parse_time)]
    think_time: ::measure::Nanos,
    /// Unit of the trace's times; `auto` also finds centiseconds
    #[arg(long, value_enum, default_value = "auto")]
    time_scale: TimeScale,
    /// Combine statements whose texts differ only in their literals; `auto` does where nearly all were executed once
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
    /// Follow a trace that is being written: renew the page on a terminal until ^C, or until nothing was written for
    /// this long
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "3600s", value_parser = quantity::parse_time)]
    follow: Option<::measure::Nanos>,
    /// Threads that read [default: one a processor, 4 at most]
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

fn define(command: Command) -> Command {
    let about = "Shows where the response time of a traced program went, and what to do about it";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let is_input = arguments.files.iter().any(|file| file.as_os_str() == "-");
    refuse_unused(matches, &[("follow", !is_input, "standard input is read once, to its end")])?;
    let mut is_all_there = true;
    let exit = examine(context, COMMAND.name, |journal, stop| {
        let chosen = Chosen::of(&arguments.files);
        refuse_unused_of_source(matches, chosen.row)?;
        // Before they are read: what is written meanwhile is not missed.
        let known = arguments.follow.map(|idle| (sizes(&arguments.files), Duration::from_nanos(idle.0)));
        let nothing = journal.run().clone();
        is_all_there = profile(&arguments, chosen, journal, stop)?;
        known.map_or(Ok(()), |known| follow(&arguments, context, journal, known, (stop, &nothing)))
    })?;
    Ok(if exit == Exit::Done && !is_all_there { Exit::Failed } else { exit })
}

/// The profile of one file as `readpath profile FILE` makes it, for a command that shows it in its own way.
pub(super) fn of_file(file: &Path, context: &Context) -> Result<Run, Failure> {
    let words = [OsString::from(COMMAND.name), "--".into(), file.into()];
    let matches = define(Command::new(COMMAND.name)).try_get_matches_from(words);
    let matches = matches.map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
    let arguments = arguments::<Arguments>(&matches)?;
    examined(context, COMMAND.name, |journal, stop| {
        profile(&arguments, Chosen::of(&arguments.files), journal, stop).map(drop)
    })
}

/// Bytes of each of the files now.
fn sizes(files: &[PathBuf]) -> Vec<u64> {
    let found = expand(files);
    let names = found.given.iter().chain(&found.candidates).map(Given::name);
    names.map(|name| std::fs::metadata(name).map_or(0, |data| data.len())).collect()
}

/// Renews the page while the files grow beyond the `known` sizes, until a signal comes or nothing was written for
/// `idle`. On a terminal each page takes the place of the one before; elsewhere the last one alone is printed, as that
/// of any run.
fn follow(
    arguments: &Arguments,
    context: &Context,
    journal: &mut RunJournal,
    (mut known, idle): (Vec<u64>, Duration),
    (stop, nothing): (&Stop, &Run),
) -> Result<(), Failure> {
    let mut written = Instant::now();
    while !stop.requested() && written.elapsed() < idle {
        if context.settings.stdout_is_terminal {
            output::print(CLEARED)?;
            journal.clear_progress();
            output::print_result(report::Shown::Run(journal.run()), context)?;
        }
        while !stop.requested() && written.elapsed() < idle && known == sizes(&arguments.files) {
            std::thread::sleep(RENEWAL);
        }
        let now = sizes(&arguments.files);
        if known != now {
            (known, written) = (now, Instant::now());
            let shown = journal.begin_again(nothing);
            profile(arguments, Chosen::of(&arguments.files), journal, stop)?;
            // A page that ^C broke off has no row, and the one before stands.
            if journal.run().cases.is_empty() {
                journal.begin_again(&shown);
            }
        }
    }
    Ok(())
}

/// Profiles the files; returns whether everything that was named could be read.
fn profile(arguments: &Arguments, chosen: Chosen, journal: &mut RunJournal, stop: &Stop) -> Result<bool, Failure> {
    // Without it, it takes some more memory, and nothing else.
    let _ = sys::memory::use_one_arena();
    let mut instruments = Instruments::new(arguments.skew.skew(think_time(arguments)));
    let mut ingested = read(arguments, chosen, &mut instruments, journal, stop);
    if ingested.is_broken_off {
        return Ok(true);
    }
    if ingested.files.is_empty() {
        return Err(nothing_read(&ingested));
    }
    match arguments.fold_literals {
        Folding::Always => ingested.fold_literals(),
        Folding::Auto => ingested.fold_literals_of_once(),
        Folding::Never => {}
    }
    let selection = selection(arguments, &ingested.profile)?;
    let outcome = outcome(&mut ingested, &instruments, &selection);
    outcome.subject.into_iter().for_each(|(key, value)| journal.describe_subject(&key, value));
    describe(arguments, &selection, &ingested.profile, journal);
    journal.take(outcome.cases);
    outcome.findings.into_iter().for_each(|finding| journal.find(finding));
    Ok(ingested.has_all_named(&arguments.files))
}

/// Notes in the run what was asked for.
fn describe(arguments: &Arguments, selection: &Selection, profile: &Profile, journal: &mut RunJournal) {
    journal.describe_subject("sort", selection.order.name().into());
    journal.describe_subject("top", selection.top.into());
    journal.describe_subject("think_time_us", (arguments.think_time.0 as f64 / 1e3).into());
    if let Some(index) = selection.statement {
        journal.describe_subject("statement", profile.context.statement_id(index).into());
    }
    if arguments.explain_unread {
        journal.describe_subject("explain_unread", true.into());
    }
    arguments.skew.describe(journal);
}

/// Reads all files, and reports now and then how far it is.
fn read(
    arguments: &Arguments,
    chosen: Chosen,
    instruments: &mut Instruments,
    journal: &mut RunJournal,
    stop: &Stop,
) -> Ingested {
    let mut reading = ReadOptions::of_this_machine();
    reading.workers = arguments.workers.map_or(reading.workers, usize::from);
    let binds = if arguments.binds { BindValues::Kept } else { BindValues::Dropped };
    let source = SourceSettings { unit: arguments.time_scale.unit(), reading, binds };
    let settings = IngestSettings { think_time: think_time(arguments), source };
    let mut shown = Shown { start: Instant::now(), last: None, name: String::new() };
    ingest(chosen, &settings, instruments, &mut |name, bytes| {
        if let Some((text, left)) = shown.progress(name, bytes) {
            journal.step(&text, left);
        }
        if stop.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// A think time beyond what ticks can hold means the same as the longest: no wait is as long.
fn think_time(arguments: &Arguments) -> Ticks {
    Ticks::from_nanos(arguments.think_time.0)
}

/// What the progress line shows.
struct Shown {
    start: Instant,
    last: Option<Instant>,
    name: String,
}

impl Shown {
    /// The next words for the progress line and the time left of this file, when there is something new to say.
    fn progress(&mut self, name: &str, bytes: u64) -> Option<(String, Duration)> {
        if self.name != name {
            (self.name, self.start, self.last) = (name.into(), Instant::now(), None);
        }
        if self.last.is_some_and(|last| last.elapsed() < REFRESH) {
            return None;
        }
        self.last = Some(Instant::now());
        // What a compressed file or a pipe comes to is known at its end only.
        let is_plain = [".gz", ".zst", ".xz", ".zip"].iter().all(|ending| !name.ends_with(ending));
        let size =
            std::fs::metadata(Path::new(name)).ok().map(|data| data.len()).filter(|size| is_plain && *size >= bytes);
        let mib = |bytes: u64| bytes >> 20;
        let text = match size {
            Some(size) => format!("reading {name}, {} of {} MiB", mib(bytes), mib(size)),
            None => format!("reading {name}, {} MiB", mib(bytes)),
        };
        let left = size.map_or(0.0, |size| (size - bytes) as f64 / bytes.max(1) as f64);
        Some((text, self.start.elapsed().mul_f64(left.min(1e4))))
    }
}

/// Why there is no profile.
fn nothing_read(ingested: &Ingested) -> Failure {
    let reasons: Vec<String> = ingested.problems.iter().take(5).map(ToString::to_string).collect();
    let more = ingested.problems.len().saturating_sub(reasons.len());
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    Failure::new(Exit::Failed, format!("no trace was read: {}{rest}.", reasons.join("; ")))
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
        [] => format!("no statement '{reference}' is in the trace: write an identifier of the profile's tables."),
        several => {
            let some: Vec<&str> = several.iter().take(5).map(|index| profile.context.statement_id(*index)).collect();
            format!(
                "'{reference}' is the beginning of {} statements ({}): write more of it.",
                several.len(),
                some.join(", ")
            )
        }
    };
    Err(Failure::new(Exit::WrongCommandLine, sentence))
}
