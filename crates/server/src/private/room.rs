//! The directory of a private server: made for it, locked as long as this process lives, removed with all it holds.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use sys::process::Credentials;

use super::account::account_of_server;
use super::error::PrivateServerError;

/// Prefix of the names of such directories; the process number and a count follow.
const PREFIX: &str = "readpath-postgres-";

/// The file that is locked by the process that made the directory, for as long as it lives.
const LOCK: &str = "owner.lock";

/// Bytes of a socket's whole name, without the zero at its end: `sun_path` of unix(7).
const SOCKET_NAME_MAX: usize = 107;

/// The name of the socket: that of PostgreSQL's usual port, which no network sees.
pub(super) const SOCKET: &str = ".s.PGSQL.5432";

/// How long a server of a killed process may take to end before it is killed too.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Distinguishes the directories of one process.
static ROOMS: AtomicU64 = AtomicU64::new(0);

/// A directory of a server's own, which only the server's user can enter. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Room {
    path: PathBuf,
    _lock: File,
}

impl Room {
    /// Makes a directory in `parent` that belongs to `account`, or to this process where none is given.
    pub(super) fn new(parent: &Path, account: Option<Credentials>) -> Result<Room, PrivateServerError> {
        let parent = parent.canonicalize().map_err(PrivateServerError::at(parent))?;
        let number = ROOMS.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        if path.join(SOCKET).as_os_str().len() > SOCKET_NAME_MAX {
            let own = path.join(SOCKET).as_os_str().len() - parent.as_os_str().len();
            return Err(PrivateServerError::NameTooLong { directory: parent, max: SOCKET_NAME_MAX - own });
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(PrivateServerError::at(&path))?;
        let locked = lock_new(&path, account);
        locked.map(|lock| Room { path: path.clone(), _lock: lock }).map_err(|error| {
            let _ = fs::remove_dir_all(&path);
            PrivateServerError::at(&path)(error)
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the server's files.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }
}

/// How often the removal of a directory is tried, and the pause between.
const REMOVALS: usize = 40;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(25);

impl Drop for Room {
    fn drop(&mut self) {
        // A process that was just killed may still finish the call that makes a file. The next run removes the rest.
        for _ in 0..REMOVALS {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => thread::sleep(BETWEEN_REMOVALS),
                _ => return,
            }
        }
    }
}

fn lock_new(path: &Path, account: Option<Credentials>) -> io::Result<File> {
    let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path.join(LOCK))?;
    lock.try_lock()?;
    if let Some(Credentials { user, group }) = account {
        chown(path, Some(user), Some(group))?;
    }
    Ok(lock)
}

/// Removes what killed processes left in `parent`: their servers, if any still runs, and the directories, which it
/// returns. It leaves alone those of living processes and of other users.
pub fn sweep(parent: &Path) -> Vec<PathBuf> {
    let Ok(parent) = parent.canonicalize() else { return Vec::new() };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let paths = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    paths.map(|entry| entry.path()).filter(|path| is_ours(path) && remove_left(path)).collect()
}

/// Whether the directory was made by this user, or by root for the server's user.
fn is_ours(path: &Path) -> bool {
    let account = account_of_server().ok().flatten().map(|account| account.user);
    let users = [Some(rustix::process::geteuid().as_raw()), account];
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && users.contains(&Some(found.uid())))
}

/// Removes the directory if no process holds its lock.
fn remove_left(path: &Path) -> bool {
    let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
    match OpenOptions::new().read(true).custom_flags(nofollow).open(path.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => {
                end_server(&path.join("data"));
                fs::remove_dir_all(path).is_ok()
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
        // Killed between making the directory and its lock. Only an empty one is removed: another process may have just
        // made it, and then reports that it is gone.
        Err(_) => !is_of_living_process(path) && fs::remove_dir(path).is_ok(),
    }
}

fn is_of_living_process(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let pid = name.and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
    pid.is_none_or(sys::process::is_there)
}

/// Ends the server that works in `data`, if there is one: only a process whose working directory it is.
fn end_server(data: &Path) {
    let Some(pid) = server_in(data) else { return };
    let Some(number) = Pid::from_raw(pid.cast_signed()) else { return };
    let _ = kill_process(number, Signal::QUIT);
    let start = Instant::now();
    while server_in(data) == Some(pid) && sys::process::is_there(pid) {
        if start.elapsed() > END_TIMEOUT {
            let _ = kill_process(number, Signal::KILL);
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn server_in(data: &Path) -> Option<u32> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid = text.lines().next()?.trim().parse().ok()?;
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    (folder == data).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_room_is_left_alone_and_a_dead_one_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let room = Room::new(parent.path(), None).unwrap();
        assert_eq!(fs::metadata(room.path()).unwrap().mode() & 0o777, 0o700);
        let dead = parent.path().join(format!("{PREFIX}{}-0", u32::MAX - 1));
        fs::create_dir_all(dead.join("data/base")).unwrap();
        fs::write(dead.join(LOCK), b"").unwrap();
        let empty = parent.path().join(format!("{PREFIX}{}-1", u32::MAX - 1));
        fs::create_dir(&empty).unwrap();
        let other = parent.path().join("another-folder");
        fs::create_dir(&other).unwrap();
        let mut removed = sweep(parent.path());
        removed.sort();
        assert_eq!(removed, [&dead, &empty].map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())));
        assert!(room.path().is_dir() && other.is_dir());
        let path = room.path().to_path_buf();
        drop(room);
        assert!(!path.exists());
    }

    #[test]
    fn a_directory_without_a_lock_but_with_files_is_not_ours_to_remove() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join(format!("{PREFIX}{}-0", u32::MAX - 1));
        fs::create_dir_all(dead.join("data")).unwrap();
        assert_eq!(sweep(parent.path()), Vec::<PathBuf>::new());
        assert!(dead.is_dir());
    }

    #[test]
    fn a_name_too_long_for_a_socket_is_refused_before_anything_is_made() {
        let parent = tempfile::tempdir().unwrap();
        let long = parent.path().join("a".repeat(100));
        fs::create_dir(&long).unwrap();
        let error = Room::new(&long, None).unwrap_err().to_string();
        assert!(error.contains("too long a name"), "{error}");
        assert_eq!(fs::read_dir(&long).unwrap().count(), 0);
    }
}
