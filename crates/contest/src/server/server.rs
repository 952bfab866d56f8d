//! A private PostgreSQL server: made, started, stopped and removed by the benchmark.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::program::{argv, output_of};
use crate::server::installation::Installation;
use crate::server::wire::Session;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a server may take to stop before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
const ASKED_EVERY: Duration = Duration::from_millis(20);

/// Users that root may become for the server, the first that exists.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// What every server is told.
///
/// Nothing but the statement may run while it is measured: no vacuum, no checkpoint, no background writer, no helper.
/// Nothing has to survive: no flush. A scan begins at the first block, and is neither compiled nor divided.
const SETTINGS: [&str; 17] = [
    "listen_addresses=",
    "autovacuum=off",
    "jit=off",
    "max_parallel_workers_per_gather=0",
    "max_parallel_maintenance_workers=0",
    "synchronize_seqscans=off",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=64GB",
    "checkpoint_timeout=1d",
    "bgwriter_lru_maxpages=0",
    "huge_pages=try",
    "max_connections=10",
    "log_checkpoints=off",
];

/// A running server. Dropping it stops it and removes all it had.
#[derive(Debug)]
pub(crate) struct Server {
    installation: Installation,
    user: Option<User>,
    child: Child,
    folder: TempDir,
}

/// Whom the server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct User {
    id: u32,
    group: u32,
}

impl Server {
    /// Makes a server below `directory` and starts it with this many bytes of shared buffers.
    pub(crate) fn start(installation: &Installation, directory: &Path, buffer_bytes: u64) -> Result<Server, String> {
        let sentence = |error: std::io::Error| format!("no server in {}: {error}", directory.display());
        let folder = tempfile::Builder::new().prefix("readpath-postgres-").tempdir_in(directory).map_err(sentence)?;
        let user = user_of_server()?;
        if let Some(user) = user {
            chown(folder.path(), Some(user.id), Some(user.group)).map_err(sentence)?;
        }
        let data = folder.path().join("data");
        initialise(installation, &data, user)?;
        let child = spawn(installation, folder.path(), user, buffer_bytes)?;
        let mut server = Server { installation: installation.clone(), user, child, folder };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// A new session; its backend is a new process.
    pub(crate) fn connect(&self) -> Result<Session, String> {
        Session::connect(&self.socket())
    }

    /// Where its data lie.
    pub(crate) fn data_directory(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Stops the server, and starts it again with this many bytes of shared buffers, which are empty. Sessions end.
    pub(crate) fn restart(&mut self, buffer_bytes: u64) -> Result<(), String> {
        self.stop(Signal::INT);
        self.child = spawn(&self.installation, self.folder.path(), self.user, buffer_bytes)?;
        self.wait_until_ready()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let reason = match self.connect() {
                Ok(_) => return Ok(()),
                Err(reason) => reason,
            };
            let end = self.child.try_wait().map_err(|error| error.to_string())?;
            if end.is_some() || start.elapsed() > START_TIMEOUT {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                return Err(format!("PostgreSQL did not start ({reason}); it says:\n{}", log.trim()));
            }
            thread::sleep(ASKED_EVERY);
        }
    }
}

impl Server {
    /// Ends the server with a signal, and with force where that is not enough.
    fn stop(&mut self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > STOP_TIMEOUT {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(ASKED_EVERY);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An immediate shutdown: what a clean one would write is removed anyway.
        self.stop(Signal::QUIT);
    }
}

fn initialise(installation: &Installation, data: &Path, user: Option<User>) -> Result<(), String> {
    let program = installation.programs.join("initdb").display().to_string();
    let mut command = as_user(user)?;
    command.extend(argv([program, "--pgdata".into(), data.display().to_string()]));
    command.extend(argv(["--username=postgres", "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"]));
    output_of(&command).map(drop)
}

fn spawn(installation: &Installation, folder: &Path, user: Option<User>, buffer_bytes: u64) -> Result<Child, String> {
    let mut words = as_user(user)?;
    words.push(installation.programs.join("postgres").display().to_string());
    words.extend(argv(["-D", "data", "-c"]));
    words.push(format!("shared_buffers={}kB", buffer_bytes >> 10));
    words.push("-c".into());
    words.push(format!("unix_socket_directories={}", folder.display()));
    words.extend(SETTINGS.iter().flat_map(|setting| argv(["-c", *setting])));
    let sentence = |error: std::io::Error| format!("PostgreSQL could not be started: {error}");
    let log = File::create(folder.join("log")).map_err(sentence)?;
    Command::new(&words[0])
        .args(&words[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        // ^C is for the benchmark, which then stops the server.
        .process_group(0)
        .spawn()
        .map_err(sentence)
}

/// The words in front of a command that make it run as this user, and end when the benchmark is killed.
fn as_user(user: Option<User>) -> Result<Vec<String>, String> {
    output_of(&argv(["setpriv", "--version"])).map_err(|_| "setpriv is needed: install util-linux")?;
    let mut words = argv(["setpriv", "--pdeathsig=QUIT"]);
    if let Some(User { id, group }) = user {
        words.extend([format!("--reuid={id}"), format!("--regid={group}"), "--clear-groups".into()]);
    }
    words.push("--".into());
    Ok(words)
}

/// PostgreSQL refuses to run as root, so root becomes somebody else; everyone else stays who they are.
fn user_of_server() -> Result<Option<User>, String> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    let found = USERS.iter().find_map(|name| user_named(&accounts, name));
    found
        .map(Some)
        .ok_or_else(|| format!("PostgreSQL refuses to run as root, and none of the users {} exists", USERS.join(", ")))
}

/// A user in the text of `/etc/passwd`.
fn user_named(accounts: &str, name: &str) -> Option<User> {
    let account = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = account.split(':').skip(2).map(str::parse);
    Some(User { id: numbers.next()?.ok()?, group: numbers.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_the_whole_name() {
        let accounts = "root:x:0:0:root:/:/bin/sh\nnobody2:x:7:7::/:\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        assert_eq!(user_named(accounts, "nobody"), Some(User { id: 65534, group: 65533 }));
        assert_eq!(user_named(accounts, "postgres"), None);
    }

    #[test]
    fn a_server_is_gone_with_all_it_had_when_it_is_dropped() {
        let Ok(installation) = Installation::find(None) else {
            println!("skipped: PostgreSQL is not installed");
            return;
        };
        let server = Server::start(&installation, &std::env::temp_dir(), 16 << 20).unwrap();
        let mut session = server.connect().unwrap();
        assert_eq!(session.value("SELECT 6 * 7").unwrap(), "42");
        assert!(session.rows("SELECT nothing").unwrap_err().contains("nothing"));
        assert_eq!(session.value("SHOW listen_addresses").unwrap(), "");
        let folder = server.folder.path().to_path_buf();
        drop(server);
        assert!(!folder.exists());
        assert!(session.value("SELECT 1").is_err());
    }
}
