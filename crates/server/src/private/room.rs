//! The directory of a private server: made for it, locked as long as this process lives, removed with all it holds.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sys::file::OwnFolder;
use sys::file::own_folder::{Leftovers, sweep_after};
use sys::process::{Credentials, SegmentRemoval, remove_segment};

use super::error::PrivateServerError;

/// Prefix of the names of such directories; the process number and a count follow.
pub(super) const PREFIX: &str = "readpath-postgres-";

/// Bytes of a socket's whole name, without the zero at its end: `sun_path` of unix(7).
const SOCKET_NAME_MAX: usize = 107;

/// The name of the socket: that of PostgreSQL's usual port, which no network sees.
pub(super) const SOCKET: &str = ".s.PGSQL.5432";

/// How long a server of a killed process may take to end before it is killed too, and how long the last processes of a
/// killed server may then take to leave its shared memory: each notices at its next wait.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Most bytes of a server's lock file that are read: the number of its process is in the first line, and which shared
/// memory it has in the seventh.
const PID_FILE_MAX: u64 = 1024;
const MEMORY_LINE: usize = 7;

/// A directory of a server's own, which only the server's user can enter. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Room(OwnFolder);

impl Room {
    /// Makes a directory in `parent` that belongs to `account`, or to this process where none is given.
    pub(super) fn new(parent: &Path, account: Option<Credentials>) -> Result<Room, PrivateServerError> {
        let refused = |error| PrivateServerError::NoRoom { directory: parent.into(), error };
        let parent = parent.canonicalize().map_err(refused)?;
        let folder = OwnFolder::create(&parent, PREFIX).map_err(refused)?;
        let own = folder.path().join(SOCKET).as_os_str().len() - parent.as_os_str().len();
        if parent.as_os_str().len() + own > SOCKET_NAME_MAX {
            return Err(PrivateServerError::NameTooLong { directory: parent, max: SOCKET_NAME_MAX - own });
        }
        if let Some(Credentials { user, group }) = account {
            chown(folder.path(), Some(user), Some(group)).map_err(PrivateServerError::at(folder.path()))?;
        }
        Ok(Room(folder))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A new file of this name in it, in the place of an earlier one.
    ///
    /// Other processes of the server's account may put a link there, which this process, as root, must not follow.
    pub(super) fn file(&self, name: &str) -> Result<File, PrivateServerError> {
        let path = self.path().join(name);
        let _ = fs::remove_file(&path);
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        options.open(&path).map_err(PrivateServerError::at(&path))
    }

    /// The directory of the server's files.
    pub(super) fn data(&self) -> PathBuf {
        self.path().join("data")
    }
}

/// A folder in a room, opened to be changed: what another process put there in its place is not followed.
pub(super) fn folder_in_room(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Gives a folder in a room to the account that the server runs as.
pub(super) fn give(path: &Path, account: Credentials) -> io::Result<()> {
    fchown(folder_in_room(path)?, Some(account.user), Some(account.group))
}

/// The directories of servers that killed processes left in `parent`; where they are to be removed, with the servers,
/// if any still runs. It leaves alone those of living processes and, unless this user is root, those of other users.
///
/// What root's servers leave belongs to the account that they ran as. On a copy of a data directory that is its owner,
/// who may be any user.
pub fn sweep(parent: &Path, fate: Leftovers) -> Vec<PathBuf> {
    let Ok(parent) = parent.canonicalize() else { return Vec::new() };
    let user = rustix::process::geteuid();
    let is_ours = |owner: u32| user.is_root() || owner == user.as_raw();
    let end = |room: &Path| {
        let data = room.join("data");
        end_server(&data);
        free_memory(&data);
    };
    sweep_after((&parent, PREFIX), fate, &is_ours, &end)
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

/// Removes the shared memory of a server that was killed in `data`: it outlives the processes. The lock file may name
/// any memory, so that only what belongs to the file's owner is removed.
fn free_memory(data: &Path) {
    let Some((text, owner)) = lock_file(data) else { return };
    let Some((key, number)) = memory_of(&text) else { return };
    let start = Instant::now();
    let remove = || remove_segment(key, number, owner);
    while matches!(remove(), Ok(SegmentRemoval::InUse)) && start.elapsed() < END_TIMEOUT {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Key and number of the shared memory that a lock file names. The server writes both without a sign, the key in 64
/// bits.
fn memory_of(lock_file: &str) -> Option<(i32, i32)> {
    let mut words = lock_file.lines().nth(MEMORY_LINE - 1)?.split_whitespace();
    let key: u64 = words.next()?.parse().ok()?;
    let number = words.next()?.parse().ok()?;
    Some((key as i32, number))
}

/// The process of the server that works in `data`.
fn server_in(data: &Path) -> Option<u32> {
    let (text, _) = lock_file(data)?;
    let pid = text.lines().next()?.trim().parse().ok()?;
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    (folder == data).then_some(pid)
}

/// What the lock file in `data` says, and its owner. Another user may have put a link or a pipe there, which would hold
/// up root or fill its memory.
fn lock_file(data: &Path) -> Option<(String, u32)> {
    folder_in_room(data).ok()?;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let path = data.join("postmaster.pid");
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    let owner = file.metadata().ok().filter(|file| file.is_file())?.uid();
    let mut text = String::new();
    file.take(PID_FILE_MAX).read_to_string(&mut text).ok()?;
    Some((text, owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_for_temporary_files_that_is_not_there_is_named_with_what_to_give_instead() {
        let gone = tempfile::tempdir().unwrap().path().join("gone");
        let error = Room::new(&gone, None).unwrap_err().to_string();
        assert!(error.contains("/gone: No such file") && error.contains("in TMPDIR"), "{error}");
    }

    #[test]
    fn what_roots_killed_run_left_to_the_owner_of_a_copy_is_found_by_the_next() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root's servers run as other users");
            return;
        }
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{PREFIX}1-0"));
        fs::create_dir(&left).unwrap();
        chown(&left, Some(64_123), Some(64_123)).unwrap();
        assert_eq!(sweep(parent.path(), Leftovers::Found).len(), 1);
        assert_eq!(sweep(parent.path(), Leftovers::Removed).len(), 1);
        assert!(!left.exists());
    }

    #[test]
    fn a_pipe_or_a_link_in_the_place_of_a_servers_lock_file_holds_up_no_sweep() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{PREFIX}1-0"));
        let notes = parent.path().join(format!("{PREFIX}notes"));
        for place in [&left.join("data"), &notes] {
            fs::create_dir_all(place).unwrap();
        }
        let lock = left.join("data/postmaster.pid");
        rustix::fs::mknodat(rustix::fs::CWD, &lock, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(server_in(&left.join("data")), None);
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &lock).unwrap();
        assert_eq!(server_in(&left.join("data")), None);
        assert_eq!(sweep(parent.path(), Leftovers::Removed), [left.canonicalize().unwrap_or(left)]);
        assert!(notes.is_dir(), "no name of a room");
    }

    #[test]
    fn the_shared_memory_of_a_killed_server_is_found_in_its_lock_file_and_in_no_shorter_one() {
        let start = "4711\n/tmp/readpath-postgres-1-0/data\n1764405707\n5432\n/tmp/readpath-postgres-1-0\n\n";
        assert_eq!(memory_of(&format!("{start} 17895697         3\nready   \n")), Some((17_895_697, 3)));
        assert_eq!(memory_of(&format!("{start}18446744073709551615 32769\n")), Some((-1, 32_769)));
        for text in ["", start, "4711\n"] {
            assert_eq!(memory_of(text), None, "{text}");
        }
        assert_eq!(memory_of(&format!("{start}17895697\n")), None);
    }

    #[test]
    fn a_link_in_the_place_of_the_log_or_of_a_folder_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        fs::write(&victim, "kept").unwrap();
        let room = Room::new(parent.path(), None).unwrap();
        std::os::unix::fs::symlink(&victim, room.path().join("log")).unwrap();
        std::os::unix::fs::symlink(parent.path(), room.path().join("folder")).unwrap();
        room.file("log").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        assert!(folder_in_room(&room.path().join("folder")).is_err());
        assert!(folder_in_room(room.path()).is_ok());
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
