//! A database file that was given: what is checked before it is opened, and whether it stayed as it was.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use server::place::encoded_path;

use crate::error::SubjectError;

/// Endings of the files in which SQLite keeps changes that the database file does not hold yet.
const JOURNALS: [&str; 2] = ["-wal", ROLLBACK_JOURNAL];
const ROLLBACK_JOURNAL: &str = "-journal";

/// Bytes of the head of a rollback journal. A commit with `journal_mode = PERSIST` leaves the file and overwrites its
/// head with zeros; that of a transaction under way holds the size of a page from the beginning.
const JOURNAL_HEAD_BYTES: u64 = 28;

/// What shows that a file was written to: its inode, its size and the time of its last change in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// A given file that can be read.
#[derive(Debug)]
pub(super) struct GivenFile {
    path: PathBuf,
    state: State,
}

impl GivenFile {
    /// Refuses what is no file, and a database whose last changes stand in a journal beside it.
    pub(super) fn check(path: &Path) -> Result<GivenFile, SubjectError> {
        let refuse = |path: &Path, reason: &str| {
            Err(SubjectError::Failed(format!("--on sqlite:{} cannot be read: {reason}", path.display())))
        };
        // SQLite looks for journals beside the file that a link leads to.
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) => return refuse(path, &format!("{error}; name the file of a database")),
        };
        let Some(state) = state(&real) else {
            return refuse(&real, "it is not a regular file; name the file of a database");
        };
        // To SQLite such a file is an empty one, because some file systems have none without bytes.
        if state.bytes == 1 {
            return refuse(&real, "one byte is no SQLite database; name another file");
        }
        for ending in JOURNALS {
            let mut journal = real.clone().into_os_string();
            journal.push(ending);
            if holds_changes(Path::new(&journal), ending) {
                let reason = format!(
                    "there are changes beside it (FILE{ending}) that are not in the file yet, because a program has it \
                     open or ended without closing it; copy it with `sqlite3 FILE '.backup COPY'` and name the copy"
                );
                return refuse(&real, &reason);
            }
        }
        Ok(GivenFile { path: real, state })
    }

    /// Where it is, with all links followed.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    pub(super) fn bytes(&self) -> u64 {
        self.state.bytes
    }

    /// Whether another program wrote to it since.
    pub(super) fn has_changed(&self) -> bool {
        state(&self.path) != Some(self.state)
    }

    /// Its address for SQLite. `immutable` takes no locks, and neither makes nor looks at a file beside it.
    pub(super) fn uri(&self) -> String {
        format!("file:{}?mode=ro&immutable=1", encoded_path(&self.path))
    }
}

/// Whether a journal is there and may hold changes; one that cannot be read may.
fn holds_changes(journal: &Path, ending: &str) -> bool {
    if !fs::metadata(journal).is_ok_and(|metadata| metadata.len() > 0) {
        return false;
    }
    let mut head = Vec::new();
    let read = File::open(journal).and_then(|file| file.take(JOURNAL_HEAD_BYTES).read_to_end(&mut head));
    ending != ROLLBACK_JOURNAL || read.is_err() || head.iter().any(|byte| *byte != 0)
}

/// `None` where it is no plain file.
fn state(path: &Path) -> Option<State> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let changed = (metadata.mtime(), metadata.mtime_nsec());
    Some(State { inode: metadata.ino(), bytes: metadata.len(), changed })
}
