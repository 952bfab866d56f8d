//! Counting instructions without the processor's counters: a command in a child under valgrind's tool callgrind.
//!
//! Valgrind executes every instruction of the child itself, some fifty times slower, and counts exactly what ran in
//! user mode; caches and branch prediction are simulated. It lacks AVX-512, and a program that
//! queries the processor finds none.

mod output;
mod request;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::process::Signal;
use thiserror::Error;

pub use output::{OutputError, Simulated};
pub use request::{counted, start_instrumentation, stop_instrumentation};
pub use request::{dump_stats_as, zero_stats};

use crate::file::OwnFolder;
use crate::process::{self, Ended, Ending, end_with_this_thread};

/// The source that metrics name.
pub const SOURCE: &str = "valgrind (callgrind)";

/// Longest output file that is read: callgrind writes some MiB for a program as large as a browser.
const OUTPUT_BYTES_MAX: u64 = 256 << 20;

/// Most bytes kept of a command's output: what a pipe holds, because it is read only at the end.
const PIPE_BYTES: u64 = 1 << 16;

/// Ways of the simulated last cache, where its size is given.
const LAST_CACHE_WAYS: u64 = 16;

/// Least bytes of the simulated last cache: a multiple of what first caches have.
const LAST_CACHE_MIN: u64 = 256 << 10;

/// Prefix of the names of folders for valgrind's files.
pub const FOLDER_PREFIX: &str = "readpath-valgrind-";

/// Why valgrind gave no counts.
#[derive(Debug, Error)]
pub enum ValgrindError {
    /// It is not installed.
    #[error("valgrind is not installed; install it with `apt install valgrind` or `dnf install valgrind`")]
    NotInstalled,
    /// It could not be started or read.
    #[error("valgrind could not be run: {0}")]
    Io(#[from] io::Error),
    /// It took too long and was ended.
    #[error("under valgrind the command had not ended after {} s and was stopped", .0.as_secs())]
    TimedOut(Duration),
    /// The user asked to stop.
    #[error("the count under valgrind was stopped")]
    Stopped,
    /// The command ended without having asked for anything to be counted.
    #[error("the command ended under valgrind before the part that was to be counted")]
    NothingCounted,
    /// Valgrind itself gave up; its last words.
    #[error("valgrind gave up: {0}")]
    GaveUp(String),
    /// Its output is not what it should be.
    #[error("valgrind's output cannot be read: {0}")]
    Output(#[from] OutputError),
}

/// Which part of the command is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it, from its first instruction, with the commands that it starts.
    Whole,
    /// What it does between the client requests of [`counted`].
    BetweenRequests,
}

/// A command to run under valgrind.
#[derive(Debug)]
pub struct Callgrind<'a> {
    /// Program and arguments.
    pub words: &'a [OsString],
    /// Which part is counted.
    pub part: Part,
    /// Folder in which a folder for valgrind's files is made, and removed.
    pub scratch: &'a Path,
    /// Time after which it is ended.
    pub limit: Option<Duration>,
    /// Bytes of the simulated last cache, rounded down to a power of two; `None`: what valgrind reads from the
    /// processor, which on a virtual machine may be anything.
    pub last_cache: Option<u64>,
}

/// What came of a command under valgrind.
#[derive(Debug)]
pub struct Counted {
    /// The counts, all processes and parts together.
    pub simulated: Simulated,
    /// The counts of the parts that [`dump_stats_as`] gave a name.
    pub parts: Vec<Simulated>,
    /// The command's standard output, where it was sent into a pipe: at most 64 KiB, and more would block it.
    pub output: Vec<u8>,
    /// How the command ended.
    pub ended: Ended,
}

impl Callgrind<'_> {
    /// Runs the command to its end, its standard output going to `stdout`, and reads what was counted.
    pub fn run(&self, stdout: Stdio, stop: &AtomicBool) -> Result<Counted, ValgrindError> {
        self.run_prepared(stdout, stop, |_, _| Ok(()))
    }

    /// As [`Callgrind::run`], after `prepare` has changed the command that runs valgrind (its input, folder or user)
    /// and the folder for valgrind's files, which that user must be able to write to.
    pub fn run_prepared(
        &self,
        stdout: Stdio,
        stop: &AtomicBool,
        prepare: impl FnOnce(&mut Command, &Path) -> io::Result<()>,
    ) -> Result<Counted, ValgrindError> {
        // Valgrind puts its own fields in the place of a % in the name.
        if self.scratch.as_os_str().as_encoded_bytes().contains(&b'%') {
            return Err(io::Error::other("the folder for temporary files has a % in its name").into());
        }
        let folder = OwnFolder::create(self.scratch, FOLDER_PREFIX)?;
        let mut command = self.command(folder.path());
        prepare(&mut command, folder.path())?;
        // This thread waits for the child's end, so that it cannot end before.
        end_with_this_thread(&mut command, Signal::KILL);
        let spawned = command.stdout(stdout).spawn();
        let mut child = spawned.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ValgrindError::NotInstalled,
            _ => ValgrindError::Io(error),
        })?;
        let ended = process::wait(&child, stop, self.limit)?;
        match ended.ending {
            Ending::ByItself => {}
            Ending::Stopped => return Err(ValgrindError::Stopped),
            Ending::TimedOut => return Err(ValgrindError::TimedOut(self.limit.unwrap_or_default())),
        }
        let mut output = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            pipe.take(PIPE_BYTES).read_to_end(&mut output)?;
        }
        let counts = counts(folder.path())?;
        let sum = counts.iter().cloned().reduce(|sum, one| sum.plus(&one));
        match sum {
            // A zero here is not a count: no program that was counted ran no instruction.
            Some(simulated) if simulated.instructions() == Some(0) => Err(ValgrindError::NothingCounted),
            Some(simulated) => {
                let parts = counts.into_iter().filter(|part| part.name().is_some()).collect();
                Ok(Counted { simulated, parts, output, ended })
            }
            None => Err(ValgrindError::GaveUp(last_words(folder.path()))),
        }
    }

    fn command(&self, folder: &Path) -> Command {
        let option = |name: &str, file: &str| {
            let mut text = OsString::from(name);
            // Valgrind reads a % in these names as the beginning of one of its own fields.
            text.push(folder.join(file));
            text
        };
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes"]);
        // A killed valgrind would leave the pipes of its debugger's server in TMPDIR.
        command.arg("--vgdb=no");
        command.arg(option("--callgrind-out-file=", "counts.%p")).arg(option("--log-file=", "log.%p"));
        command.args(match self.part {
            Part::Whole => ["--trace-children=yes", "--instr-atstart=yes"],
            Part::BetweenRequests => ["--trace-children=no", "--instr-atstart=no"],
        });
        if let Some(bytes) = self.last_cache {
            // Sets must be a power of two, and the least size keeps the cache above the level before.
            let bytes = 1_u64 << bytes.clamp(LAST_CACHE_MIN, 1 << 40).ilog2();
            command.arg(format!("--LL={bytes},{LAST_CACHE_WAYS},64"));
        }
        command.arg("--").args(self.words);
        command
    }
}

/// The counts that processes left in `folder`, a file for each part of each.
fn counts(folder: &Path) -> Result<Vec<Simulated>, ValgrindError> {
    let mut counts = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let is_counts = entry.file_name().as_encoded_bytes().starts_with(b"counts.");
        // A process that was replaced by another program before it did anything leaves an empty file.
        if !is_counts || entry.metadata()?.len() == 0 {
            continue;
        }
        if entry.metadata()?.len() > OUTPUT_BYTES_MAX {
            return Err(OutputError::TooLong.into());
        }
        counts.push(output::parse(&fs::read(entry.path())?)?);
    }
    Ok(counts)
}

/// The last line that valgrind wrote, without its mark.
fn last_words(folder: &Path) -> String {
    let logs = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let logs = logs.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"log.")));
    let text: String = logs.filter_map(|path| fs::read(path).ok()).map(|text| lossy(&text)).collect();
    let lines =
        text.lines().map(|line| line.trim_start_matches(|letter: char| letter == '=' || letter.is_ascii_digit()));
    let last = lines.map(str::trim).rfind(|line| !line.is_empty()).map(String::from);
    last.unwrap_or_else(|| "it said nothing".into())
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
