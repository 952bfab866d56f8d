//! What a subject is opened with: what the command layer read from its environment, and the hands of the run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::Nanos;
use sys::time::Clock;

use server::Defaults;
pub use server::Statements as Recorder;
use server::facts::ASSUMED_MAJOR;

/// How long a statement on a server may take by default.
pub const STATEMENT_TIMEOUT: Nanos = Nanos::from_millis(300_000);

/// What the command layer read from the environment and the command line for all subjects of a run.
#[derive(Clone, Debug)]
pub struct Environment {
    /// What completes the address of a server.
    pub defaults: Defaults,
    /// Folder for what may be fetched again; [`Environment::scratch`] where there is none.
    pub cache: Option<PathBuf>,
    /// Proxy for fetching a server's programs.
    pub proxy: Option<String>,
    /// Folder for temporary files.
    pub scratch: PathBuf,
    /// How long a statement may take.
    pub statement_timeout: Nanos,
    /// Takes the statements of a dry run: then nothing is sent and nothing is started.
    pub recorder: Option<Recorder>,
    /// The major version that a dry run takes a given server for, which it does not ask.
    pub assumed_major: u32,
    /// The names of the given servers of the run: a private one of the same version gets another.
    pub given: BTreeSet<String>,
}

impl Environment {
    /// Nothing but a folder for temporary files.
    pub fn new(scratch: impl Into<PathBuf>) -> Environment {
        Environment {
            defaults: Defaults::default(),
            cache: None,
            proxy: None,
            scratch: scratch.into(),
            statement_timeout: STATEMENT_TIMEOUT,
            recorder: None,
            assumed_major: ASSUMED_MAJOR,
            given: BTreeSet::new(),
        }
    }

    /// Whether statements are recorded instead of sent.
    pub fn is_dry_run(&self) -> bool {
        self.recorder.is_some()
    }
}

/// Takes a step of the work and about how long it will last.
pub type Progress<'a> = dyn FnMut(&str, Duration) + 'a;

/// What a place needs to open a subject.
pub struct Opening<'a> {
    /// What the command layer knows.
    pub environment: &'a Environment,
    /// Times everything.
    pub clock: Clock,
    /// Raised by ^C.
    pub stop: Arc<AtomicBool>,
    /// Shown to the user.
    pub progress: &'a mut Progress<'a>,
}
