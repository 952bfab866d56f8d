//! A peer's program while it runs: its output goes to files, and its keyboard is this program.

use std::fs::{self, File};
use std::io::{self, PipeWriter, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use sys::process::{BoundChild, Signal};
use tempfile::TempDir;

use crate::private_postgres::PrivatePostgres;
use crate::program::{argv, output_of};
use crate::sampling::profiler::{Seen, UnderWay};

/// Until it samples.
const BEFORE: Duration = Duration::from_millis(2500);

/// How long it may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(20);

/// Of what a program complained about, the end: bytes.
const COMPLAINT_MAX: usize = 300;

/// A program that runs. Dropping it kills it.
pub(super) struct Running {
    name: &'static str,
    child: BoundChild,
    keyboard: PipeWriter,
    folder: TempDir,
    begun: Instant,
}

/// A program beside a load.
pub(super) struct Beside {
    pub(super) running: Running,
    pub(super) asked: Asked,
    /// What its sessions call themselves, where it has some that last.
    pub(super) application: Option<&'static str>,
    /// What it found out in this number of seconds.
    pub(super) seen: fn(&Running, f64) -> Result<Seen, String>,
}

impl UnderWay for Beside {
    fn processes(&self) -> Vec<u32> {
        vec![self.running.child.id()]
    }

    fn application(&self) -> Option<&'static str> {
        self.application
    }

    fn end(mut self: Box<Self>, _: &PrivatePostgres) -> Result<Seen, String> {
        let elapsed = self.running.begun.elapsed().as_secs_f64();
        self.running.end(self.asked)?;
        (self.seen)(&self.running, elapsed)
    }
}

/// How a program is asked to end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// By a signal.
    Signal(Signal),
    /// By a key.
    Key(u8),
    /// It ends by itself.
    Not,
}

/// A folder for the files of one run.
pub(super) fn folder() -> Result<TempDir, String> {
    tempfile::Builder::new().prefix("readpath-peer-").tempdir().map_err(|error| format!("no folder: {error}"))
}

/// What a program says of itself with `--version`.
pub(super) fn version_of(program: &Path) -> Result<String, String> {
    output_of(&argv([program.display().to_string(), "--version".into()])).map(|text| text.trim().into())
}

impl Running {
    /// Starts it, and waits until it samples. Errors with its own words where it has ended by then.
    pub(super) fn start(name: &'static str, command: Command, folder: TempDir) -> Result<Running, String> {
        let running =
            Running::spawn(name, command, folder).map_err(|error| format!("{name} did not start: {error}"))?;
        thread::sleep(BEFORE);
        match running.child.ended() {
            None => Ok(running),
            Some(status) => Err(format!("{name} ended with {status}: {}", running.complaint())),
        }
    }

    fn spawn(name: &'static str, mut command: Command, folder: TempDir) -> io::Result<Running> {
        let (begun, (input, keyboard)) = (Instant::now(), io::pipe()?);
        command.stdin(input);
        command.stdout(File::create(folder.path().join("output"))?);
        command.stderr(File::create(folder.path().join("errors"))?);
        Ok(Running { name, child: BoundChild::spawn(command, None, Signal::TERM)?, keyboard, folder, begun })
    }

    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has printed so far.
    pub(super) fn output(&self) -> String {
        self.text("output")
    }

    /// Ends it. That it calls the end it was asked for a failure is none, but an end before that is one: the load then
    /// ran without it.
    pub(super) fn end(&mut self, asked: Asked) -> Result<(), String> {
        let is_early = |status: &ExitStatus| !(status.success() && matches!(asked, Asked::Not));
        if let Some(status) = self.child.ended().filter(is_early) {
            return Err(format!("{} ended too early with {status}: {}", self.name, self.complaint()));
        }
        let sentence = |error: io::Error| format!("{} could not be ended: {error}", self.name);
        match asked {
            Asked::Signal(signal) => self.child.signal(signal).map_err(sentence)?,
            Asked::Key(key) => self.keyboard.write_all(&[key]).map_err(sentence)?,
            Asked::Not => {}
        }
        match self.child.wait(PATIENCE) {
            Some(_) => Ok(()),
            None => Err(format!("{} has not ended after {} s: {}", self.name, PATIENCE.as_secs(), self.complaint())),
        }
    }

    /// The end of what it printed, errors last, in one line.
    fn complaint(&self) -> String {
        let said = format!("{} {}", self.text("output"), self.text("errors"));
        let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = line.char_indices().map(|(at, _)| at).find(|at| line.len() - at <= COMPLAINT_MAX);
        line[end.unwrap_or(line.len())..].trim_end_matches('.').to_string()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.folder().join(name)).unwrap_or_default()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Result<Running, String> {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        Running::start("peer", command, folder().unwrap())
    }

    #[test]
    fn a_profiler_that_refuses_to_begin_is_quoted() {
        let error = shell("echo tracing; echo 'no such kernel' >&2; exit 3").err().unwrap();
        assert!(error.contains("tracing no such kernel") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_profiler_that_ended_during_the_load_is_none_that_cost_nothing() {
        for asked in [Asked::Not, Asked::Signal(Signal::INT)] {
            let mut running = shell("sleep 3; echo 'lost the server' >&2; exit 3").unwrap();
            running.child.wait(PATIENCE).unwrap();
            let error = running.end(asked).unwrap_err();
            assert!(error.contains("too early") && error.contains("lost the server"), "{asked:?}: {error}");
        }
    }

    #[test]
    fn a_profiler_ends_by_its_key_and_what_it_printed_is_there() {
        let mut running = shell("echo ready; head -c 1").unwrap();
        running.end(Asked::Key(b'q')).unwrap();
        assert_eq!(running.output(), "ready\nq");
    }
}
