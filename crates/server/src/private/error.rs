//! Why there is no private server, in sentences that say what to do.

use std::io;
use std::path::{Path, PathBuf};

use sys::file::witness::WitnessError;
use sys::valgrind::ValgrindError;
use thiserror::Error;

use super::versions;
use crate::error::ServerError;

/// Why a private server could not be started, or failed.
#[derive(Debug, Error)]
pub enum PrivateServerError {
    /// A version without known programs.
    #[error(
        "there are no programs of PostgreSQL {0} to fetch, only of {known}; for another one name the directory of an \
        installed server, such as postgres:/usr/lib/postgresql/15", known = versions::known()
    )]
    UnknownVersion(u32),
    /// A processor without known programs.
    #[error("there are no programs of PostgreSQL to fetch for this processor; name the directory of an installed one")]
    UnknownProcessor,
    /// The archive could not be fetched.
    #[error(
        "PostgreSQL {version} is not here yet and could not be fetched from {url}: {reason}; connect to the network \
        once, or name the directory of an installed server, such as postgres:/usr/lib/postgresql/15"
    )]
    NotFetched {
        /// The version that was wanted.
        version: String,
        /// Where it was to come from.
        url: String,
        /// The network's error.
        reason: String,
    },
    /// The archive is not the one whose checksum is known.
    #[error("the archive from {url} is not the one that this program knows (SHA-256 {found}); it was not unpacked")]
    WrongChecksum {
        /// Where it came from.
        url: String,
        /// Its checksum in hexadecimal digits.
        found: String,
    },
    /// The archive cannot be unpacked, or not safely.
    #[error("the archive of PostgreSQL was not unpacked: {0}")]
    BadArchive(String),
    /// A folder for programs that others can change.
    #[error(
        "programs of PostgreSQL are not kept in {}, because others can write to it: set HOME or XDG_CACHE_HOME to a \
         folder of your own",
        without_account(.0)
    )]
    Exposed(PathBuf),
    /// A directory without a server in it.
    #[error(
        "{} holds no PostgreSQL server ({reason}): name the directory with `postgres` and `initdb`, or its parent",
        without_account(.directory)
    )]
    NoInstallation {
        /// The directory that was named.
        directory: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A directory on which no server is started.
    #[error("{}: no server is started on this copy of a data directory: {reason}", .directory.display())]
    UnfitCopy {
        /// The directory that was named.
        directory: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Root, without another user to become.
    #[error(
        "PostgreSQL refuses to run as root, and neither of the users `postgres` and `nobody` exists to run it as; \
        run this as an ordinary user"
    )]
    NoAccount,
    /// The name of the socket would be too long for the kernel.
    #[error(
        "{} is too long a name for a directory with a socket in it; choose one of at most {max} bytes",
        .directory.display()
    )]
    NameTooLong {
        /// The directory in which the server was to be made.
        directory: PathBuf,
        /// Bytes that its name may have.
        max: usize,
    },
    /// No directory can be made there.
    #[error(
        "no folder for a private server can be made in {}: {error}; name another folder for temporary files in \
        TMPDIR, such as /var/tmp", .directory.display()
    )]
    NoRoom {
        /// The directory in which the server was to be made.
        directory: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// The directory is closed to the user that root became.
    #[error(
        "the user that root starts PostgreSQL as may not enter {}, or not run programs in it; name another folder for \
        temporary files in TMPDIR, such as /var/tmp", .directory.display()
    )]
    Unreachable {
        /// The directory in which the server was to be made.
        directory: PathBuf,
    },
    /// Something with files or processes failed.
    #[error("{what}: {error}")]
    Io {
        /// What could not be done.
        what: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The server ended before it accepted a connection, or ends every one.
    #[error("PostgreSQL {version} did not start: {log}")]
    NotStarted {
        /// Its version.
        version: String,
        /// The last lines of its log.
        log: String,
    },
    /// The server took too long.
    #[error("PostgreSQL {version} had not {what} after {seconds} s and was ended")]
    TimedOut {
        /// Its version.
        version: String,
        /// What it was to do.
        what: &'static str,
        /// The time limit.
        seconds: u64,
    },
    /// The user asked to stop.
    #[error("the work on the private server was stopped")]
    Stopped,
    /// A statement failed.
    #[error("the private server failed: {0}")]
    Statement(Box<ServerError>),
    /// A statement in single-user mode failed.
    #[error("PostgreSQL in single-user mode failed: {0}")]
    SingleUser(String),
    /// Valgrind did not count.
    #[error(transparent)]
    Valgrind(#[from] ValgrindError),
    /// The page cache could not be inspected.
    #[error(transparent)]
    Witness(#[from] WitnessError),
}

impl PrivateServerError {
    /// Puts words in front of an error of the kernel.
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> PrivateServerError {
        let what = what.into();
        move |error| PrivateServerError::Io { what, error }
    }

    /// The same where what failed is about one path.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> PrivateServerError {
        PrivateServerError::io(path.display().to_string())
    }
}

impl From<ServerError> for PrivateServerError {
    fn from(error: ServerError) -> PrivateServerError {
        match error {
            ServerError::Stopped => PrivateServerError::Stopped,
            other => PrivateServerError::Statement(Box::new(other)),
        }
    }
}

/// A directory without what stands between a colon and an `@`: an address whose slashes were forgotten is taken for a
/// directory, and has a password there.
fn without_account(directory: &Path) -> String {
    let text = directory.display().to_string();
    match (text.find(':'), text.rfind('@')) {
        (Some(colon), Some(at)) if colon < at => format!("{}:***{}", &text[..colon], &text[at..]),
        _ => text,
    }
}
