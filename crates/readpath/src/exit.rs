//! How a command ends: its exit code, and the sentence that goes with a failure.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::panic;
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use experiments::ExperimentError;
use measure::store::{StoreError, Unreadable};
use server::ServerError;
use sys::memory::end_at_once;

/// The ways in which a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for is done.
    Done,
    /// The measurement failed or was refused: device, file, permission, disk full.
    Failed,
    /// The command line is wrong.
    WrongCommandLine,
    /// The run was measured but could not be kept, or the store cannot be used.
    NotKept,
    /// The measurement is done, and its command ended with a code of its own, which is passed on.
    OfCommand {
        /// The command's exit code.
        code: u8,
    },
    /// A signal stopped the run.
    Interrupted {
        /// Number of the signal: 2 for ^C, 15 for a request to end.
        signal: u8,
    },
}

/// What `readpath --help` says about exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the measurement failed or was refused (device, file, server or its directory, permission, disk full), or a \
given file could not be read: of several traces or logs, the others are shown; or the profile of a server ended early, \
or without a sample
  2    the command line is wrong, names a run that does not exist, or asks for what the named file, device or server \
cannot have, such as a span beyond its end or a time outside a recording
  3    the run was measured but could not be kept, or a store or a run in it cannot be used
  130  interrupted by ^C; the cases finished so far are kept. A command that runs until ^C (record, top, profile --on \
of a running server, profile --follow) ends with 0, once there is a page
  143  ended by SIGTERM, 129 by SIGHUP, 131 by SIGQUIT, 128+N by signal N; the cases finished so far are kept. After \
these too, record ends with 0

`readpath counters -- COMMAND` ends with the command's own code, 127 if there is no such command, and 126 if it cannot \
be run. `readpath profile --on postgres:18 -- COMMAND` ends with the command's own code if that is not 0, and with 1 \
if it cannot be started. `readpath run` ends with 1 if a run of the job file failed, and with 2 if the file is wrong. \
`readpath record` ends with 1 if segments could not be written, whatever signal ended it.";

impl Exit {
    /// How a command ends that did the rest of what it was asked for. What failed in the store counts more than what
    /// failed in a file.
    pub(crate) fn of_rest(failures: &[Failure]) -> Exit {
        match failures {
            [] => Exit::Done,
            some if some.iter().any(|failure| failure.exit == Exit::NotKept) => Exit::NotKept,
            _ => Exit::Failed,
        }
    }

    /// The process's exit code.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Done => 0,
            Exit::OfCommand { code } => code,
            Exit::Failed => 1,
            Exit::WrongCommandLine => 2,
            Exit::NotKept => 3,
            // The shell's convention for a command that a signal ended.
            Exit::Interrupted { signal } => 128 + signal,
        })
    }
}

/// A command that did not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code that goes with it.
    pub(crate) exit: Exit,
    /// A full sentence: what is wrong and what to do.
    pub(crate) message: String,
}

impl Failure {
    /// A failure with this exit code and sentence.
    pub(crate) fn new(exit: Exit, message: impl Display) -> Failure {
        Failure { exit, message: ended(message.to_string()) }
    }

    /// What failed or was refused.
    pub(crate) fn failed(message: impl Display) -> Failure {
        Failure::new(Exit::Failed, message)
    }

    /// A command line that is wrong.
    pub(crate) fn wrong(message: impl Display) -> Failure {
        Failure::new(Exit::WrongCommandLine, message)
    }
}

/// A sentence with its full stop. One of another crate lacks it, because it may stand within a longer one. Several
/// lines are no sentence.
pub(crate) fn ended(sentence: String) -> String {
    let is_ended = sentence.is_empty() || sentence.contains('\n') || sentence.ends_with(['.', '?', '!', ':', ';', '…']);
    if is_ended { sentence } else { sentence + "." }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let exit = match error {
            StoreError::Unknown { .. }
            | StoreError::Empty { .. }
            | StoreError::Ambiguous { .. }
            | StoreError::NotARun { .. }
            | StoreError::NotAReference(_) => Exit::WrongCommandLine,
            _ => Exit::NotKept,
        };
        Failure::new(exit, error)
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Failure {
        match error {
            ExperimentError::Parameters(sentence) => Failure::wrong(sentence),
            error => Failure::failed(error),
        }
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Failure {
        Failure::failed(error.without_options())
    }
}

impl From<&Unreadable> for Failure {
    fn from(Unreadable { path, reason }: &Unreadable) -> Failure {
        Failure::from(StoreError::Unreadable { path: path.clone(), reason: reason.clone() })
    }
}

/// Bytes of the sentence that is written without memory of its own.
const SENTENCE_BYTES_MAX: usize = 256;

/// Whether a thread is already saying that there is no memory.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Ends the process where the system has no memory for this many more bytes.
pub(crate) fn out_of_memory(bytes: usize) -> ! {
    end_without_memory(format_args!("{bytes} more bytes"))
}

/// Ends the process by the same sentence where the standard library panics for want of memory: it does where a thread
/// begins, and there is none for the stack on which the thread would notice that its own one is full.
pub(crate) fn take_panics_for_memory() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str().is_some_and(|said| said.contains("alternative stack")) {
            end_without_memory(format_args!("one more thread"));
        }
        usual(panic);
    }));
}

/// Ends the process where there is no memory for `what`. Nothing is removed on this way out, as after a `kill -9`: what
/// lies on a server or in a folder of ours, the next run removes, or `readpath clean`.
fn end_without_memory(what: fmt::Arguments<'_>) -> ! {
    if IS_ENDING.swap(true, Ordering::Relaxed) {
        // Another thread ends the process; where it is this very one, on its way out, nothing else would.
        thread::sleep(Duration::from_secs(2));
        process::abort();
    }
    let mut sentence = io::Cursor::new([0; SENTENCE_BYTES_MAX]);
    let written = writeln!(
        sentence,
        "readpath: the system has no memory for {what}: ask for less at one time, or raise the limit \
         (ulimit -v, memory.max of the control group). What was kept before is whole."
    );
    let end = written.map_or(0, |()| usize::try_from(sentence.position()).unwrap_or(0));
    // Not by way of `io::stderr`, whose lock another thread may hold that waits above.
    if let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() {
        // There is nowhere to report that this could not be printed.
        let _ = File::from(stderr).write_all(&sentence.get_ref()[..end]);
    }
    end_at_once(1)
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::{Command, Output};

    use super::*;

    /// What a child is to panic with.
    const CHILD_SAYS: &str = "READPATH_TEST_CHILD_SAYS";

    #[test]
    #[ignore = "not a test: the child that `a_panic_for_want_of_memory_ends_in_the_sentence_and_no_other_does` starts"]
    fn child_that_panics() {
        take_panics_for_memory();
        let said = env::var(CHILD_SAYS).unwrap();
        // As the standard library does, where a thread begins.
        let thread = thread::spawn(move || panic!("{said}: {}", io::Error::from_raw_os_error(12)));
        thread.join().unwrap();
    }

    fn child(said: &str) -> Output {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "exit::tests::child_that_panics", "--ignored", "--nocapture"]);
        command.env(CHILD_SAYS, said).output().unwrap()
    }

    #[test]
    fn what_another_crate_says_of_a_failure_ends_as_a_sentence() {
        let said = |message: &str| Failure::new(Exit::Failed, message).message;
        assert_eq!(said("old.dbf is empty; name another"), "old.dbf is empty; name another.");
        assert_eq!(said("it is on tmpfs (see above)"), "it is on tmpfs (see above).");
        for whole in ["It is done.", "which one?", "first line\nsecond line", ""] {
            assert_eq!(said(whole), whole);
        }
    }

    #[test]
    fn a_panic_for_want_of_memory_ends_in_the_sentence_and_no_other_does() {
        for said in ["failed to allocate an alternative stack", "failed to set up alternative stack guard page"] {
            let ended = child(said);
            let text = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(ended.status.code(), Some(1), "{text}");
            assert!(text.starts_with("readpath: the system has no memory for one more thread: "), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
        }
        let text = String::from_utf8(child("a fault of ours").stderr).unwrap();
        assert!(
            text.contains("panicked") && text.contains("a fault of ours") && !text.contains("memory for"),
            "{text}"
        );
    }
}
