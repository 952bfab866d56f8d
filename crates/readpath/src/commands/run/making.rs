//! Makes the runs of a job file one after the other, each in a process of its own: nothing of a run is left in memory
//! for the next one, and the end of one, by the kernel if it must be, is not the end of the others.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use ::measure::quantity::counted;
use ::measure::run::Job;
use report::Media;
use rustix::fs::{MemfdFlags, memfd_create};
use sys::process::{BoundChild, Signal};

use super::super::job_run::{JOB_RUN, Order};
use super::super::measure::{signals, store};
use crate::exit::{Exit, Failure};
use crate::job::{PlannedRun, source};
use crate::options::Context;
use crate::output;
use crate::signals::Signals;

/// How long a run goes on before a signal of the user is looked for again.
const NAP: Duration = Duration::from_millis(100);

/// The file that a process runs, by the kernel.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// How runs are made.
pub(super) struct Making<'a> {
    context: &'a Context,
    file: &'a Path,
    sha256: String,
    /// The heading under which the last run printed its rows.
    heading: String,
}

/// How a run's process ended.
enum Ended {
    Well,
    /// Why it failed, for the end of the runs.
    Failed(String),
    /// The user wants no more runs.
    Interrupted(u8),
}

impl<'a> Making<'a> {
    /// Runs of this file, which holds these bytes.
    pub(super) fn new(context: &'a Context, file: &'a Path, bytes: &[u8]) -> Making<'a> {
        Making { context, file, sha256: source::hash(bytes), heading: String::new() }
    }

    /// Makes the runs, and says which of them failed.
    pub(super) fn all(&mut self, runs: &[PlannedRun]) -> Result<Exit, Failure> {
        // A store that cannot be used is found before the first run.
        store(self.context)?;
        let signals = signals()?;
        let mut failed = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            self.announce(run, at + 1, runs.len());
            match self.one(run, &signals)? {
                Ended::Well => {}
                Ended::Failed(reason) => failed.push(format!("{} {reason}", run.name)),
                Ended::Interrupted(signal) => {
                    output::complain(&format!("the signal came after {}.", share(at, runs.len())));
                    return Ok(Exit::Interrupted { signal });
                }
            }
        }
        if failed.is_empty() {
            return Ok(Exit::Done);
        }
        let sentence = format!("{} failed: {}.", share(failed.len(), runs.len()), failed.join("; "));
        Err(Failure::failed(sentence))
    }

    /// Says which run begins, and parts its page from the one before.
    fn announce(&self, run: &PlannedRun, number: usize, all: usize) {
        if !self.context.globals.quiet {
            output::complain(&format!("run {number} of {all}: {}", run.name));
        }
        if number > 1 && self.context.globals.format.media == Media::Terminal {
            // Where it cannot be printed, the page cannot either: the run's own process says so, and keeps the run.
            let _ = output::print("\n");
        }
    }

    fn one(&mut self, run: &PlannedRun, signals: &Signals) -> Result<Ended, Failure> {
        let not_started = |error: io::Error| {
            Failure::failed(format!("the process of run {} could not be started: {error}", run.name))
        };
        let order = self.order(run).map_err(not_started)?;
        let (child, mut sheet) = match start(&order) {
            Ok(started) => started,
            // There may be room for the next run's process.
            Err(error) => {
                output::complain(&not_started(error).message);
                return Ok(Ended::Failed("(not started)".into()));
            }
        };
        let mut sent = None;
        loop {
            if let Some(status) = child.wait(NAP) {
                // A run that printed no rows leaves the heading of the one before.
                if let Some(heading) = sheet.added().filter(|heading| !heading.is_empty()) {
                    self.heading = heading;
                }
                return Ok(ended(status, sent));
            }
            // Each signal once: the process takes a second one for the wish to end at once.
            if let (None, Some(signal)) = (sent, signals.received()) {
                sent = Some(signal);
                let asked = if signal == 2 { Signal::INT } else { Signal::TERM };
                child.signal(asked).map_err(not_started)?;
            }
        }
    }

    fn order(&self, run: &PlannedRun) -> io::Result<Order> {
        let program = self.context.command_line.first().cloned().unwrap_or_else(|| "readpath".into());
        let words = run.words().map_err(|problem| io::Error::other(problem.sentence))?;
        let job = Job {
            name: run.name.clone(),
            file: self.file.display().to_string(),
            sha256: self.sha256.clone(),
            parameters: run.parameters(),
        };
        // Before the words, among which those of another command may stand.
        let line = [program].into_iter().chain(self.globals()?).chain(words).collect();
        Ok(Order { line, job, heading: self.heading.clone() })
    }

    /// The options that all commands share, as they were given to this one.
    fn globals(&self) -> io::Result<Vec<String>> {
        let globals = &self.context.globals;
        let mut words = Vec::new();
        if globals.format.name != report::RENDERERS[0].name {
            words.extend(["--format".into(), globals.format.name.into()]);
        }
        if let Some(store) = &globals.store {
            let other = || io::Error::other("--store has to be UTF-8 where a job file is run");
            words.push(format!("--store={}", store.to_str().ok_or_else(other)?));
        }
        words.extend(globals.no_store.then(|| "--no-store".into()));
        words.extend(globals.quiet.then(|| "--quiet".into()));
        Ok(words)
    }
}

/// A file without a name that holds what a run is to do, and behind that what its process has to tell.
struct Sheet {
    file: File,
    /// Bytes of what it is to do.
    order: u64,
}

impl Sheet {
    /// What the process has added; `None` where that cannot be read.
    fn added(&mut self) -> Option<String> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(self.order)).and_then(|_| self.file.read_to_string(&mut text)).ok()?;
        Some(text)
    }
}

/// Starts the process of a run, whose standard input is the sheet with what it is to do.
fn start(order: &Order) -> io::Result<(BoundChild, Sheet)> {
    let order = serde_json::to_vec(order)?;
    let mut file = File::from(memfd_create("job", MemfdFlags::CLOEXEC)?);
    file.write_all(&order)?;
    file.rewind()?;
    let sheet = Sheet { file: file.try_clone()?, order: order.len() as u64 };
    let mut command = Command::new(program()?);
    command.arg(JOB_RUN).stdin(Stdio::from(file));
    Ok((BoundChild::spawn(command, None, Signal::TERM)?, sheet))
}

/// This program. Where a new build has taken its place since, its file has no name any more, and the kernel still has
/// the file.
fn program() -> io::Result<PathBuf> {
    let path = env::current_exe()?;
    Ok(if path.exists() { path } else { OWN_PROGRAM.into() })
}

/// What the end of a process says.
fn ended(status: ExitStatus, sent: Option<u8>) -> Ended {
    match (status.code(), status.signal(), sent) {
        (.., Some(signal)) => Ended::Interrupted(signal),
        (Some(0), ..) => Ended::Well,
        (Some(code), ..) => Ended::Failed(format!("(exit code {code})")),
        (None, signal, _) => Ended::Failed(format!("(signal {})", signal.unwrap_or_default())),
    }
}

/// `3 of 4 runs`.
fn share(count: usize, all: usize) -> String {
    format!("{count} of {}", counted(all as u64, "run", "runs"))
}
