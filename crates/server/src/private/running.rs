//! A private server from its first start to its removal.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::quantity::whole_mebibytes;
use rustix::process::Signal;
use sys::file::own_folder::Leftovers;
use sys::process::{BoundChild, Credentials};
use tokio_postgres::Config;

use super::account::account_of_server;
use super::copied_cluster::disables_event_triggers;
use super::error::PrivateServerError;
use super::installation::{Installation, Version};
use super::room::{Room, sweep};
use super::settings::ServerSettings;
use super::start_options::StartOptions;
use crate::cluster::ClusterCopy;
use crate::error::ServerError;
use crate::parameters::encoded;
use crate::place::Address;
use crate::wire::{Deadline, OnStop, Row, Wire};

/// How long initdb may take, and starting.
const INITIALISE_TIMEOUT: Duration = Duration::from_secs(120);
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a server may take to write what it holds when it stops before a restart.
const STOP_TIMEOUT: Duration = Duration::from_secs(600);
/// How long it may take to end where nothing is kept.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(20);
/// The same where the files stay, which are written first: as long as before a restart. A server that is ended sooner
/// leaves a copy that has to be recovered before the next run.
const END_ON_COPY_TIMEOUT: Duration = STOP_TIMEOUT;
const ASKED_EVERY: Duration = Duration::from_millis(10);

/// How long initdb may take to tidy up when it is stopped.
const TIDY_TIMEOUT: Duration = Duration::from_secs(10);

/// The database's superuser, and the database that is there from the beginning.
const USER: &str = "postgres";
const DATABASE: &str = "postgres";

/// Lines of the server's log that an error shows: the last ones, or those from the first line with one of these words.
const LOG_LINES: usize = 3;
const FAILURES: [&str; 2] = ["FATAL:", "PANIC:"];

/// Bytes free in the folder of a server below which an empty log means that its disk is full: its first files take some
/// 40 MiB, and initdb removes what it has made.
const FREE_MIN: u64 = 64 << 20;

/// How a server says that it is starting up, recovering or shutting down.
const NOT_READY: &str = "the database system is";

/// A server of this process's own. Dropping it stops it and removes all it had.
#[derive(Debug)]
pub struct PrivateServer {
    // Dropped before the room: the server must not write into a directory that is being removed.
    child: Option<BoundChild>,
    pub(super) installation: Installation,
    pub(super) account: Option<Credentials>,
    pub(super) settings: ServerSettings,
    pub(super) room: Room,
    /// The copy that it runs on, with the whole path of its directory; `None` where its files are in the room.
    copy: Option<(ClusterCopy, PathBuf)>,
    /// What is put back into the copy when the server has ended.
    start_options: Option<StartOptions>,
}

impl PrivateServer {
    /// Makes a server in a directory of its own in `parent` and starts it; it accepts connections when this returns.
    ///
    /// First this removes what killed processes left in `parent`. Root starts the server as the user `postgres`, or
    /// `nobody`; programs that this user cannot reach are linked into the directory.
    pub fn start(
        installation: &Installation,
        parent: &Path,
        settings: ServerSettings,
        stop: &AtomicBool,
    ) -> Result<PrivateServer, PrivateServerError> {
        sweep(parent, Leftovers::Removed);
        let account = account_of_server()?;
        let room = Room::new(parent, account)?;
        let installation = reachable(installation, &room, account)?;
        let (copy, start_options) = (None, None);
        let mut server = PrivateServer { child: None, installation, account, settings, room, copy, start_options };
        server.initialise(stop)?;
        server.run(stop)?;
        Ok(server)
    }

    /// Starts a server on a copy of a data directory, as the directory's owner; it accepts connections when this
    /// returns. Dropping it stops it and leaves the directory.
    ///
    /// # Errors
    /// Where the directory may be in use, or leads out of itself; nothing was started or written then.
    pub fn start_on_copy(
        installation: &Installation,
        copy: &ClusterCopy,
        parent: &Path,
        stop: &AtomicBool,
    ) -> Result<PrivateServer, PrivateServerError> {
        sweep(parent, Leftovers::Removed);
        let major = installation.version().major;
        let (whole, account) = (copy.checked(major)?, copy.account()?);
        let room = Room::new(parent, account)?;
        let installation = reachable(installation, &room, account)?;
        let settings = copy.settings((&whole, &room), account, major)?;
        let start_options = Some(StartOptions::of(&whole).map_err(PrivateServerError::at(&whole))?);
        let copy = Some((copy.clone(), whole));
        let mut server = PrivateServer { child: None, installation, account, settings, room, copy, start_options };
        server.run(stop)?;
        server.refuse_triggers(stop)?;
        Ok(server)
    }

    /// Refuses a copy whose triggers would run code of its own at statements of ours.
    fn refuse_triggers(&self, stop: &AtomicBool) -> Result<(), PrivateServerError> {
        let Some(copy) = self.copy().filter(|_| !disables_event_triggers(self.version().major)) else { return Ok(()) };
        let rows = self.ask("SELECT evtname FROM pg_catalog.pg_event_trigger WHERE evtenabled <> 'D'", stop)?;
        let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
        if names.is_empty() { Ok(()) } else { Err(copy.with_triggers(&names)) }
    }

    /// Stops the server, which writes everything it holds to its files, and starts it again with other settings and
    /// empty buffers. Sessions end.
    pub fn restart(&mut self, settings: ServerSettings, stop: &AtomicBool) -> Result<(), PrivateServerError> {
        self.stop(stop)?;
        self.settings = settings;
        self.run(stop)
    }

    /// Stops the server, which writes everything it holds to its files. Sessions end. A stopped one stays stopped. It
    /// does not run either where this fails.
    pub fn stop(&mut self, stop: &AtomicBool) -> Result<(), PrivateServerError> {
        let Some(child) = &self.child else { return Ok(()) };
        // SIGINT: a fast shutdown, which waits for no session.
        let asked = child.signal(Signal::INT).map_err(PrivateServerError::io("the private server"));
        let outcome = match asked.and_then(|()| wait(child, STOP_TIMEOUT, stop)) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(self.timed_out("stopped", STOP_TIMEOUT)),
            Err(error) => Err(error),
        };
        // One that has not ended yet takes no statement any more. A caller that then removes what it made on a copy
        // starts the server again, and that fails while this one runs.
        self.end();
        outcome
    }

    /// Whether it runs now: false after [`PrivateServer::stop`], and where it ended by itself.
    pub fn is_running(&self) -> bool {
        self.child.as_ref().is_some_and(|child| child.ended().is_none())
    }

    /// How to connect to it, as its superuser.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        let (user, database) = self.account_and_database();
        config.host_path(self.room.path()).user(user).dbname(database);
        if self.is_on_copy() {
            config.options(ClusterCopy::session_options(self.version().major));
        }
        config
    }

    fn account_and_database(&self) -> (&str, &str) {
        self.copy().map_or((USER, DATABASE), |copy| (&copy.user, &copy.database))
    }

    /// The copy of a data directory that it runs on.
    pub fn copy(&self) -> Option<&ClusterCopy> {
        self.copy.as_ref().map(|(copy, _)| copy)
    }

    /// Whether it runs on a copy of a data directory, which stays.
    pub fn is_on_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// The same as a URL, for other programs of this user.
    pub fn url(&self) -> String {
        let path = encoded(self.room.path().as_os_str().as_encoded_bytes());
        let (user, database) = self.account_and_database();
        format!("postgresql://{}@{path}/{}", encoded(user.as_bytes()), encoded(database.as_bytes()))
    }

    /// What a statement gives in a session of its own.
    pub fn ask(&self, statement: &str, stop: &AtomicBool) -> Result<Vec<Row>, PrivateServerError> {
        let deadline = Deadline { limit: STOP_TIMEOUT, stop, on_stop: OnStop::Leave };
        let mut wire = Wire::connect(&Address::of(self.config()), &deadline)?;
        Ok(wire.query(statement, &deadline)?)
    }

    /// The directory of its files.
    pub fn data_directory(&self) -> PathBuf {
        self.copy.as_ref().map_or_else(|| self.room.data(), |(_, whole)| whole.clone())
    }

    /// Its version.
    pub fn version(&self) -> &Version {
        self.installation.version()
    }

    /// The settings of its last start.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// Its first process, where it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(BoundChild::id)
    }

    /// The command that runs one of its programs with an environment of its own: the user's variables, such as
    /// PGOPTIONS, would change what is measured.
    pub(super) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.installation.programs().join(name));
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC").env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.current_dir(self.room.path()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn initialise(&self, stop: &AtomicBool) -> Result<(), PrivateServerError> {
        let mut command = self.program("initdb");
        command.arg("--pgdata").arg(self.room.data()).arg(format!("--username={USER}"));
        // Only its owner and root reach the socket: no other user can enter the directory.
        command.args(["--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"]);
        command.stderr(self.log()?);
        let child = self.spawn(command, Signal::TERM)?;
        let outcome = match wait(&child, INITIALISE_TIMEOUT, stop) {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => Err(self.not_started()),
            Ok(None) => Err(self.timed_out("made its first files", INITIALISE_TIMEOUT)),
            Err(error) => Err(error),
        };
        // The server that initdb starts briefly has shared memory, which it releases unless it is killed or has to end
        // too early; initdb waits for it.
        child.end_gently(TIDY_TIMEOUT);
        outcome
    }

    /// Starts the server and waits until it accepts connections.
    fn run(&mut self, stop: &AtomicBool) -> Result<(), PrivateServerError> {
        let mut command = self.program("postgres");
        // Its own files by a short name: their room may be reached by a long one.
        let data = self.copy.as_ref().map_or_else(|| "data".into(), |(_, whole)| whole.clone());
        command.arg("-D").arg(data).args(self.settings.arguments());
        // Last, so that no setting opens another way in.
        command.args(["-c", "listen_addresses=", "-c", "port=5432", "-c"]).arg(socket_setting(self.room.path()));
        command.stderr(self.log()?);
        // SIGQUIT: an immediate shutdown, in which the server ends its own processes and frees its memory. SIGINT: a
        // fast one, which writes all to the files, because those of a copy stay.
        let child = self.spawn(command, if self.is_on_copy() { Signal::INT } else { Signal::QUIT })?;
        self.child = Some(child);
        self.wait_until_ready(stop)
    }

    fn wait_until_ready(&mut self, stop: &AtomicBool) -> Result<(), PrivateServerError> {
        let start = Instant::now();
        while let Err(error) = self.ask("SELECT", stop) {
            if refuses_for_good(&error) {
                let refused = match self.copy() {
                    Some(copy) => copy.refusal(error),
                    // Its user and its database are there: it does not work with these settings.
                    None => self.not_started(),
                };
                // Not at once: tables that are not logged would be empty when it is started with others.
                self.stop(stop)?;
                return Err(refused);
            }
            let child = self.child.as_ref();
            let error = match child.and_then(|child| child.wait(ASKED_EVERY)) {
                Some(_) => Some(self.not_started()),
                None if stop.load(Ordering::Relaxed) => Some(PrivateServerError::Stopped),
                None if start.elapsed() > START_TIMEOUT => Some(self.timed_out("started", START_TIMEOUT)),
                None => None,
            };
            if let Some(error) = error {
                self.end();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Ends the server without keeping anything, but for what a copy of a data directory holds.
    fn end(&mut self) {
        if let Some(child) = self.child.take() {
            if self.is_on_copy() && child.signal(Signal::INT).is_ok() && child.wait(END_ON_COPY_TIMEOUT).is_some() {
                return;
            }
            let _ = child.signal(Signal::QUIT);
            // Where this is not enough, dropping the child kills it.
            child.wait(REMOVE_TIMEOUT);
        }
    }

    fn spawn(&self, command: Command, signal: Signal) -> Result<BoundChild, PrivateServerError> {
        let what = command.get_program().to_string_lossy().into_owned();
        BoundChild::spawn(command, self.account, signal).map_err(|error| {
            // The programs are reachable, or were linked into the room: the path to them is closed.
            let closed = self.account.is_some() && error.kind() == ErrorKind::PermissionDenied;
            match self.room.path().parent() {
                Some(parent) if closed => PrivateServerError::Unreachable { directory: parent.into() },
                _ => PrivateServerError::io(what)(error),
            }
        })
    }

    /// A log that each start begins anew, so that an error shows only lines of its own start.
    fn log(&self) -> Result<File, PrivateServerError> {
        self.room.file("log")
    }

    fn not_started(&self) -> PrivateServerError {
        let room = self.room.path();
        let log = fs::read(room.join("log")).unwrap_or_default();
        // A full disk takes no lines of a log either.
        let free = rustix::fs::statvfs(room).ok().map(|system| system.f_bavail.saturating_mul(system.f_frsize));
        let full = free.filter(|free| *free < FREE_MIN && log.trim_ascii().is_empty());
        let log = full.map_or_else(|| last_lines(&log), |free| no_space(room.parent().unwrap_or(room), free));
        PrivateServerError::NotStarted { version: self.version().text.clone(), log }
    }

    fn timed_out(&self, what: &'static str, limit: Duration) -> PrivateServerError {
        PrivateServerError::TimedOut { version: self.version().text.clone(), what, seconds: limit.as_secs() }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.end();
        drop(self.start_options.take());
    }
}

/// The setting of the folder in which the socket is: a list, in which a comma parts names that no quotation marks hold
/// together. Other names stand without them: a program that asks for the setting takes what it says for a folder.
fn socket_setting(folder: &Path) -> OsString {
    let name = folder.as_os_str().as_bytes();
    if !name.contains(&b',') {
        return OsString::from_vec([&b"unix_socket_directories="[..], name].concat());
    }
    let quoted = name.split(|byte| *byte == b'"').collect::<Vec<_>>().join(&b"\"\""[..]);
    OsString::from_vec([&b"unix_socket_directories=\""[..], quoted.as_slice(), &b"\""[..]].concat())
}

/// Whether a server refuses a connection for another reason than that it is not ready: there is no such database, no
/// such role, or a library is missing.
fn refuses_for_good(error: &PrivateServerError) -> bool {
    let PrivateServerError::Statement(error) = error else { return false };
    matches!(&**error, ServerError::Refused { reason, .. } if !reason.contains(NOT_READY))
}

/// Waits for a child's end; `None` where it takes too long.
fn wait(child: &BoundChild, limit: Duration, stop: &AtomicBool) -> Result<Option<ExitStatus>, PrivateServerError> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.wait(ASKED_EVERY) {
            return Ok(Some(status));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(PrivateServerError::Stopped);
        }
        if start.elapsed() > limit {
            return Ok(None);
        }
    }
}

/// The programs as the server's user can run them.
fn reachable(
    installation: &Installation,
    room: &Room,
    account: Option<Credentials>,
) -> Result<Installation, PrivateServerError> {
    let initdb = installation.programs().join("initdb");
    let mut command = Command::new(&initdb);
    command.arg("--version").env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.current_dir("/");
    match BoundChild::spawn(command, account, Signal::KILL) {
        Ok(child) => {
            child.wait(START_TIMEOUT);
            Ok(installation.clone())
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let laid = installation.laid_into(&room.path().join("postgresql"))?;
            laid.ok_or_else(|| PrivateServerError::at(&initdb)(error))
        }
        Err(error) => Err(PrivateServerError::at(&initdb)(error)),
    }
}

/// Why a server did not start that had no space for a word of its log.
fn no_space(folder: &Path, free: u64) -> String {
    format!(
        "there is no space in {} (free: {}; the first files of a server take some 40 MiB); make space there, or name \
         another folder for temporary files in TMPDIR, such as /var/tmp",
        folder.display(),
        whole_mebibytes(free)
    )
}

/// The last lines of a log, in one line.
fn last_lines(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let is_failure = |line: &&str| FAILURES.iter().any(|word| line.contains(word));
    // What it answered to our own attempts to connect, many times a second, is no reason.
    let is_answer = |line: &&str| is_failure(line) && line.contains(NOT_READY);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_answer(line));
    let lines: Vec<&str> = lines.collect();
    let first = lines.iter().position(is_failure).unwrap_or(lines.len().saturating_sub(LOG_LINES));
    let last = &lines[first..(first + LOG_LINES).min(lines.len())];
    if last.is_empty() { "the log is empty".into() } else { last.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_the_name_of_a_folder_parts_no_folders_of_sockets() {
        let setting = |folder: &str| socket_setting(Path::new(folder)).into_string().unwrap();
        assert_eq!(setting("/tmp/a,b/r"), r#"unix_socket_directories="/tmp/a,b/r""#);
        assert_eq!(setting("/tmp/a\",b"), r#"unix_socket_directories="/tmp/a"",b""#);
        // As SHOW gives it to programs that connect there.
        assert_eq!(setting("/tmp/a \"b"), "unix_socket_directories=/tmp/a \"b");
    }

    #[test]
    fn an_empty_log_on_a_full_disk_says_that_there_is_no_space_and_which_folder_to_give_instead() {
        let said = no_space(Path::new("/full/tmp"), 0);
        assert!(said.starts_with("there is no space in /full/tmp (free: ") && said.contains("in TMPDIR"), "{said}");
    }

    #[test]
    fn an_error_shows_the_end_of_the_log_in_one_line() {
        assert_eq!(last_lines(b"one\ntwo\n\nthree\nfour\n"), "two; three; four");
        assert_eq!(
            last_lines(b"one\nFATAL: two\nHINT: three\nLOG: four\nLOG: five\n"),
            "FATAL: two; HINT: three; LOG: four"
        );
        let answered = b"LOG: one\nFATAL:  the database system is starting up\n".repeat(5);
        let log = [&answered[..], b"PANIC: no valid checkpoint record\nFATAL:  the database system is shutting down\n"];
        assert_eq!(last_lines(&log.concat()), "PANIC: no valid checkpoint record");
        assert_eq!(last_lines(b""), "the log is empty");
    }
}
