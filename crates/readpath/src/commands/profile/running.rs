//! `--on`: a profile of a server that is running, made from samples of what its sessions do.

use std::env;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::measure::{Nanos, Run};
use ::profile::event::Ticks;
use clap::{ArgMatches, Args};
use experiments::{Journal, Stop};
use live::{Chosen, Watch, WatchedFor};
use report::Media;
use server::facts::ASSUMED_MAJOR;
use server::private::{PrivateServer, PrivateServerError, ServerSettings, Starter};
use server::{Address, Place};

use super::renewed_page::RenewedPage;
use super::{Arguments, instruments, take};
use crate::commands::sampling::{Sampling, remark};
use crate::commands::subjects::completed;
use crate::commands::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;
use crate::run_journal::RunJournal;

mod load;

use load::Load;

/// For how long a given server is sampled where the user does not say. A load is sampled until it ends: none runs for
/// as long as this.
const DURATION: Nanos = Nanos::from_millis(60_000);
const DURATION_EXACT: Nanos = Nanos::from_millis(5_000);
const DURATION_OF_LOAD: Nanos = Nanos::from_millis(100 * 365 * 86_400_000);

/// When the first page stands on a terminal, and how often it is renewed.
const FIRST_PAGE: Duration = Duration::from_secs(2);
const RENEWAL: Duration = Duration::from_secs(1);

/// Shared buffers of a private server.
const BUFFERS: u64 = 128 << 20;

/// What a reader of a dry run has to know.
const REMARK: &str = "-- What follows would be sent if every answer is as expected; nothing was sent.\n";

/// Options of files, with the reason why a running server has no use for them.
const OF_FILES: [(&str, &str); 12] = [
    ("name", "a running server has no files"),
    ("since", "a running server is profiled from now on"),
    ("until", "a running server is profiled from now on: --duration says for how long"),
    ("from", "a running server is profiled from now on"),
    ("to", "a running server is profiled from now on: --duration says for how long"),
    ("time_scale", "a running server's times are those of this machine's clock"),
    ("workers", "one thread samples a running server"),
    ("binds", "samples hold no values of parameters"),
    ("explain_unread", "a running server has no lines"),
    ("fold_literals", "the server tells its statements apart by itself, or their texts without literals do"),
    ("follow", "on a terminal the page of a running server refreshes by itself"),
    ("statement", "samples hold no calls of one statement: --top shows more of them"),
];

/// The options of a running server.
#[derive(Args)]
#[command(next_help_heading = "A running server")]
pub(super) struct RunningArguments {
    /// Profile a PostgreSQL that is running, by samples of what its sessions do: postgres://USER@HOST:PORT/DATABASE;
    /// nothing is made there. postgres:VERSION (15 to 18) and postgres:DIRECTORY start a private one for COMMAND
    #[arg(long, value_name = "SERVER", conflicts_with = "files", value_parser = place)]
    on: Option<String>,
    /// For how long [default: 60s, with --exact 5s; with COMMAND until it ends]
    #[arg(long, visible_alias = "for", value_name = "TIME", value_parser = ::measure::quantity::parse_time)]
    duration: Option<Nanos>,
    /// See every wait of these sessions from its beginning to its end, instead of samples: process IDs, or all. Each
    /// wait costs its session some 2 µs, and some 20 µs under a hypervisor; one that would lose a fifth of its time by
    /// that is left alone. This requires root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE
    #[arg(long, value_name = "PID,...|all", value_parser = chosen, conflicts_with_all = ["rate", "no_tiers"])]
    exact: Option<Chosen>,
    #[command(flatten)]
    sampling: Sampling,
    /// The load of a private server, after `--`: PGHOST, PGPORT, PGUSER, PGDATABASE and DATABASE_URL name it. Without
    /// --on, these are further FILEs
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<PathBuf>,
}

/// The sessions that a word names.
fn chosen(word: &str) -> Result<Chosen, String> {
    if word == "all" {
        return Ok(Chosen::All);
    }
    let numbers: Result<Vec<u32>, _> = word.split(',').map(str::parse).collect();
    numbers.map(Chosen::Processes).map_err(|_| "give process IDs separated by commas, or all".into())
}

/// Whether a folder of PATH has a file of this name.
fn is_program(name: &Path) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    name.components().count() == 1 && env::split_paths(&folders).any(|folder| folder.join(name).is_file())
}

/// Refuses what names no server.
fn place(word: &str) -> Result<String, String> {
    match word.parse::<Place>() {
        Ok(Place::Copy(_)) => Err("a copy of a data directory is for calibrate: name a running server with \
                                   postgres://USER@HOST:PORT/DATABASE, or postgres:18 for a private one."
            .into()),
        Ok(_) => Ok(word.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

impl RunningArguments {
    /// Whether a running server is asked for.
    pub(super) fn is_asked_for(&self) -> bool {
        self.on.is_some()
    }

    /// Refuses the options that have no effect: those of a server where none is named, those of files where one is.
    pub(super) fn refuse(&self, matches: &ArgMatches) -> Result<(), Failure> {
        if !self.is_asked_for() {
            self.refuse_load_of_no_server()?;
            let reason = "it is said of a running server, and --on names none";
            return refuse_unused(
                matches,
                &["duration", "rate", "exact", "no_tiers", "dry_run"].map(|id| (id, false, reason)),
            );
        }
        refuse_unused(matches, &OF_FILES.map(|(id, reason)| (id, false, reason)))?;
        let wrong = |sentence: &str| Err(Failure::wrong(sentence));
        self.sampling.refuse_rate()?;
        if self.duration == Some(Nanos(0)) {
            return wrong("--duration 0: nothing can be sampled in no time.");
        }
        match (self.is_given()?, self.command.is_empty()) {
            (true, false) => wrong(
                "a command is the load of a private server (--on postgres:18); start that of a given server yourself.",
            ),
            (false, true) if !self.sampling.dry_run => wrong(
                "a private server does nothing by itself: give a command after --, such as \
                 `readpath profile --on postgres:18 -- sh -c 'pgbench -i && pgbench -T 20'`.",
            ),
            _ => Ok(()),
        }
    }

    /// Without a server what stands behind `--` are files: refuses a program that is none.
    fn refuse_load_of_no_server(&self) -> Result<(), Failure> {
        let Some(name) = self.command.first().filter(|name| !name.exists() && is_program(name)) else { return Ok(()) };
        let name = name.display();
        let sentence = format!(
            "there is no file {name}, and --on names no server that the program {name} could be the load of: \
             `readpath profile --on postgres:18 -- {name} ...` profiles a private one under it."
        );
        Err(Failure::wrong(sentence))
    }

    fn place(&self) -> Result<Place, Failure> {
        let word = self.on.as_deref().unwrap_or_default();
        word.parse().map_err(Failure::wrong)
    }

    fn is_given(&self) -> Result<bool, Failure> {
        Ok(matches!(self.place()?, Place::Given(_)))
    }

    fn duration(&self) -> Duration {
        let usual = match (self.command.is_empty(), &self.exact) {
            (true, None) => DURATION,
            (true, Some(_)) => DURATION_EXACT,
            (false, _) => DURATION_OF_LOAD,
        };
        Duration::from_nanos(self.duration.unwrap_or(usual).0)
    }

    /// The address and the version of the server, as far as they are known before it is connected to or started.
    pub(super) fn known(&self, context: &Context) -> Result<(Address, u32), Failure> {
        let place = self.place()?;
        let major = place.major().map_err(Failure::failed)?.unwrap_or(ASSUMED_MAJOR);
        let address = match &place {
            Place::Given(address) => completed(address, context)?,
            _ => Address::nowhere(),
        };
        Ok((address, major))
    }

    /// Whether only the statements are wanted; then they are printed.
    pub(super) fn rehearse(&self, think_time: Ticks, context: &Context) -> Result<bool, Failure> {
        if !self.sampling.dry_run {
            return Ok(false);
        }
        let remark = if self.is_given()? { remark() } else { REMARK.into() };
        let (address, major) = self.known(context)?;
        self.sampling.rehearse(&remark, (&address, major), (think_time, WatchedFor::Profile))?;
        Ok(true)
    }
}

/// How the profile of a server ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ending {
    /// The exit code of a load that failed.
    of_load: Option<u8>,
    /// Whether it ended before its time, such as because the server did not come back or refused to be sampled, or
    /// before its first sample.
    is_early: bool,
}

impl Ending {
    /// How the command ends whose run is kept and printed like this.
    pub(super) fn exit(self, exit: Exit) -> Exit {
        match (exit, self) {
            (Exit::Done, Ending { of_load: Some(code), .. }) => Exit::OfCommand { code },
            (Exit::Done, Ending { is_early: true, .. }) => Exit::Failed,
            _ => exit,
        }
    }
}

/// Profiles the server.
pub(super) fn profile(
    arguments: &Arguments,
    context: &Context,
    journal: &mut RunJournal,
    stop: &Stop,
) -> Result<Ending, Failure> {
    let running = &arguments.running;
    let (address, private) = match running.place()? {
        Place::Given(address) => (completed(&address, context)?, None),
        place => {
            let private = start(&place, context, journal, stop).map_err(Failure::failed)?;
            (Address::of(private.config()), Some(private))
        }
    };
    let settings = running.sampling.settings(arguments.reading.think_time());
    let mut watch = Watch::open(&address, settings, instruments(arguments), stop.share())?;
    let mut load = match &private {
        Some(private) => Some(Load::start(&running.command, private)?),
        None => None,
    };
    let limit = running.duration();
    let expected = if load.is_some() { Duration::ZERO } else { limit };
    journal.step(&format!("sampling {}", address.shown()), expected);
    let mut pages = Pages::before(journal.run());
    let mut failure = None;
    let mut each = |watch: &Watch| {
        // What is seen whole is added up at the end.
        let renewed = if running.exact.is_some() { Ok(()) } else { pages.renew(arguments, (context, journal), watch) };
        failure = renewed.err();
        match failure.is_some() || load.as_mut().is_some_and(|load| load.is_over()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    match &running.exact {
        None => watch.run(limit, &mut each),
        Some(chosen) => {
            let refused = |why| Failure::failed(format!("--exact: {why}."));
            watch.run_exact(chosen.clone(), limit, &mut output::warn, &mut each).map_err(refused)?;
        }
    }
    let has_page = pages.is_begun();
    let early = watch.ended().map(String::from);
    let ended = load.map(Load::end);
    let (ingested, instruments) = watch.finish(ended.as_ref().and_then(|ended| ended.complaint.clone()));
    let is_given = private.is_none();
    drop(private);
    pages.page.take_away()?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    journal.begin_again(&pages.kept);
    let is_unseen = ingested.profile.sampled.as_ref().is_some_and(|of| !of.is_exact && of.looks == 0);
    take(arguments, ingested, &instruments, journal)?;
    // A load that ^C ends is not the one that was asked for, nor is a profile that ends before its first page.
    if is_given && has_page {
        journal.end_by_interrupt();
    }
    let is_early = early.is_some() || is_unseen;
    // A page says it itself.
    let is_read = matches!(context.globals.format.media, Media::Document | Media::Rows);
    if let Some(why) = early.filter(|_| is_read) {
        journal.clear_progress();
        output::complain(&format!("the sampling ended early: {why}."));
    }
    Ok(Ending { of_load: ended.and_then(|ended| ended.code), is_early })
}

/// Starts a private server.
fn start(
    place: &Place,
    context: &Context,
    journal: &mut RunJournal,
    stop: &Stop,
) -> Result<PrivateServer, PrivateServerError> {
    let scratch = env::temp_dir();
    let mut starter = Starter {
        cache: context.settings.cache_dir.as_deref(),
        proxy: context.settings.proxy.as_deref(),
        scratch: &scratch,
        stop: stop.flag(),
        progress: &mut |what: &str, expected| journal.step(what, expected),
    };
    starter.start(place, |major| {
        let settings = ServerSettings::new(BUFFERS);
        // Without it a session does not say which statement it runs, and texts alone tell them apart.
        if major >= 14 { settings.with("compute_query_id", "on") } else { settings }
    })
}

/// The pages on a terminal while the sampling goes on.
struct Pages {
    /// The run without a profile.
    kept: Run,
    begun: Instant,
    shown: Option<Instant>,
    page: RenewedPage,
}

impl Pages {
    fn before(run: &Run) -> Pages {
        Pages { kept: run.clone(), begun: Instant::now(), shown: None, page: RenewedPage::default() }
    }

    /// Whether it is time for the first one, which a terminal shows and other outputs do not.
    fn is_begun(&self) -> bool {
        self.begun.elapsed() >= FIRST_PAGE
    }

    /// Puts the page of what was sampled so far in the place of the last one, where it is time to.
    fn renew(
        &mut self,
        arguments: &Arguments,
        (context, journal): (&Context, &mut RunJournal),
        watch: &Watch,
    ) -> Result<(), Failure> {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= RENEWAL) && self.is_begun();
        if !context.settings.stdout_is_terminal || !is_due {
            return Ok(());
        }
        let (ingested, instruments) = watch.so_far();
        journal.begin_again(&self.kept);
        take(arguments, ingested, &instruments, journal)?;
        journal.clear_progress();
        self.page.renew(journal.run(), context)?;
        self.shown = Some(Instant::now());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::of_line;

    #[test]
    fn a_profile_that_its_server_ended_early_does_not_end_as_a_whole_one_does() {
        let exit = |of_load, is_early, exit| Ending { of_load, is_early }.exit(exit);
        assert_eq!(exit(None, false, Exit::Done), Exit::Done);
        assert_eq!(exit(None, true, Exit::Done), Exit::Failed);
        assert_eq!(exit(Some(3), true, Exit::Done), Exit::OfCommand { code: 3 });
        assert_eq!(exit(Some(3), true, Exit::NotKept), Exit::NotKept);
    }

    #[test]
    fn a_load_that_runs_for_days_is_sampled_to_its_end() {
        let duration = |line: &str| of_line::<Arguments>(Arguments::augment_args, line).running.duration();
        assert!(duration("--on postgres:18 -- pgbench -T 172800") > Duration::from_secs(365 * 86_400));
        assert_eq!(duration("--on postgres:18 --for 5s -- pgbench"), Duration::from_secs(5));
        assert_eq!(duration("--on postgres://me@host/db"), Duration::from_secs(60));
    }
}
