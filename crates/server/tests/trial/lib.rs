//! A real server for tests: Debian's PostgreSQL, made in a folder of its own, reached by a socket and by TCP.

#![allow(clippy::unwrap_used, reason = "a test that has no server has failed")]
#![allow(clippy::print_stdout, reason = "a skip is counted by its line")]

use std::fs::{self, File, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What gives a program a namespace of processes, of which it is the first: it ends with this one, also where the tests
/// run in a shell's background, whose programs ignore SIGQUIT.
const APART: [&str; 8] =
    ["env", "--default-signal=QUIT", "unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child=QUIT"];

/// Where Debian has the programs of its PostgreSQL.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// A folder on a disk that the server's user can enter: temporary files may be in memory, and the build's folder may
/// stand in a home folder that is closed to others.
pub const DISK: &str = "/var/tmp";

/// A file system in memory. On a disk, the thousand files of a server that is made where others were just removed can
/// take most of its time: ext4 looks through the inodes that it freed in the last seconds.
const MEMORY: &str = "/dev/shm";

/// How often a measurement is made that a busy machine can spoil: a defect shows in each of them.
pub const TRIES: usize = 5;

/// What is left of that file system for a server.
const ROOM: u64 = 4 << 30;

/// What a test prints that cannot run.
const SKIPPED: &str = "skipped: Debian's PostgreSQL 15 is not installed";

const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a run may take on a busy machine to come as far as it is waited for.
const WAIT_TIMEOUT: Duration = Duration::from_secs(300);
const ASKED_EVERY: Duration = Duration::from_millis(20);

/// Nothing has to survive, and nothing may run next to a statement.
const SETTINGS: [&str; 5] =
    ["fsync=off", "autovacuum=off", "max_wal_size=4GB", "bgwriter_lru_maxpages=0", "checkpoint_timeout=1d"];

/// A running server. Dropping it stops it and removes all it had.
pub struct Trial {
    child: Child,
    folder: TempDir,
    port: u16,
    words: Vec<String>,
}

impl Trial {
    /// Starts a server with further settings, `shared_buffers=64MB`; prints why not and returns `None` where there is
    /// no PostgreSQL. Its files are in memory where they can be.
    pub fn start(settings: &[&str]) -> Option<Trial> {
        Trial::start_in(&quick(), settings)
    }

    /// The same with processes in a namespace of their own, as in a container; prints why not and returns `None` where
    /// there can be none.
    pub fn start_apart(settings: &[&str]) -> Option<Trial> {
        let apart = Command::new(APART[0]).args(&APART[1..]).arg("true").output();
        if !apart.is_ok_and(|ended| ended.status.success()) {
            println!("skipped: processes cannot have a namespace of their own here");
            return None;
        }
        Trial::start_by(&APART, &quick(), settings)
    }

    /// The same with all that it has in a folder of `parent`.
    pub fn start_in(parent: &Path, settings: &[&str]) -> Option<Trial> {
        Trial::start_by(&[], parent, settings)
    }

    /// The same by way of another program, which starts the server.
    #[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
    fn start_by(by: &[&str], parent: &Path, settings: &[&str]) -> Option<Trial> {
        if !Path::new(PROGRAMS).join("initdb").is_file() {
            println!("{SKIPPED}");
            return None;
        }
        let folder = folder_in(parent);
        let data = folder.path().join("data");
        match template() {
            Some(template) => copy(&template, &data),
            None => initialise(folder.path()),
        }
        let port = free_port();
        let mut words: Vec<String> = by.iter().copied().map(String::from).collect();
        words.extend([program("postgres"), "-D".into(), data.display().to_string(), format!("--port={port}")]);
        let socket = format!("unix_socket_directories={}", folder.path().display());
        for setting in SETTINGS.iter().chain(settings).copied().chain([socket.as_str()]) {
            words.extend(["-c".into(), setting.into()]);
        }
        let child = spawn(&words, folder.path());
        let mut trial = Trial { child, folder, port, words };
        trial.wait_until_ready();
        Some(trial)
    }

    /// The address of the superuser by the socket.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The address of a user by the socket, which needs no password.
    pub fn url_of(&self, user: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{user}@{folder}:{}/postgres", self.port)
    }

    /// The address of a user by TCP, which needs one.
    pub fn url_by_password(&self, user: &str, password: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs statements as the superuser.
    pub fn run(&self, statements: &str) {
        self.client().batch_execute(statements).unwrap();
    }

    /// The single value that a statement gives the superuser, as text.
    pub fn value(&self, statement: &str) -> String {
        let answer = self.client().simple_query(statement).unwrap();
        let row = answer.iter().find_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => row.get(0).map(String::from),
            _ => None,
        });
        row.unwrap_or_default()
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A connection of the superuser.
    pub fn client(&self) -> postgres::Client {
        postgres::Client::connect(&self.url(), postgres::NoTls).unwrap()
    }

    /// Waits until a statement gives this value.
    pub fn wait_for(&self, statement: &str, value: &str) {
        let started = Instant::now();
        while self.value(statement) != value {
            assert!(started.elapsed() < WAIT_TIMEOUT, "`{statement}` never gave {value}");
            thread::sleep(ASKED_EVERY);
        }
    }

    /// Sends a signal to the server and to all its sessions.
    pub fn signal_all(&self, signal: rustix::process::Signal) {
        for process in self.processes().into_iter().chain([self.child.id()]) {
            let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
            // A session may have ended just now.
            let _ = rustix::process::kill_process(process, signal);
        }
    }

    /// The processes that the server has started.
    fn processes(&self) -> Vec<u32> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.child.id())).unwrap_or_default();
        children.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }

    /// Ends the server at once, as a power failure would.
    pub fn kill(&mut self) {
        let processes = self.processes();
        // The other processes notice that their parent is gone, and end.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let started = Instant::now();
        while self.folder.path().join("data/postmaster.pid").exists() && started.elapsed() < Duration::from_secs(2) {
            thread::sleep(ASKED_EVERY);
        }
        // As long as one of them is there, no other server starts.
        while processes.iter().any(|process| is_at_work(*process)) && started.elapsed() < START_TIMEOUT {
            thread::sleep(ASKED_EVERY);
        }
    }

    /// Starts a server again that was killed.
    pub fn start_again(&mut self) {
        let _ = fs::remove_file(self.folder.path().join("data/postmaster.pid"));
        self.child = spawn(&self.words, self.folder.path());
        self.wait_until_ready();
    }

    /// Makes a killed server a standby without a primary, from its next start on.
    pub fn become_standby(&self) {
        let file = self.folder.path().join("data/standby.signal");
        File::create(&file).unwrap();
        if let Some((user, group)) = user() {
            chown(&file, Some(user), Some(group)).unwrap();
        }
    }

    /// A hot standby with a copy of this server's files, which follows it.
    pub fn standby(&self) -> Trial {
        let folder = folder_in(&std::env::temp_dir());
        let [here, there] = [&self.folder, &folder].map(|folder| folder.path().display().to_string());
        let mut words = vec![program("pg_basebackup"), format!("--pgdata={there}/data")];
        words.extend(
            ["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--username=postgres"].map(String::from),
        );
        words.extend([format!("--host={here}"), format!("--port={}", self.port)]);
        let made = command(&words).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let [ours, its] = [self.port, port].map(|port| format!("--port={port}"));
        let words: Vec<String> =
            self.words.iter().map(|word| word.replace(&here, &there).replace(&ours, &its)).collect();
        let child = spawn(&words, folder.path());
        let mut standby = Trial { child, folder, port, words };
        standby.wait_until_ready();
        standby
    }

    /// Gives the server a certificate for the name `host` and starts it anew; the file with the authority that vouches
    /// for it. Prints why not and returns `None` where there is no openssl.
    #[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
    pub fn encrypt(&mut self, host: &str) -> Option<PathBuf> {
        if Command::new("openssl").arg("version").output().is_err() {
            println!("skipped: openssl is not installed, which makes the test's certificates");
            return None;
        }
        let data = self.folder.path().join("data");
        let names = format!("subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\n");
        fs::write(data.join("names"), names).unwrap();
        for words in [
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout authority.key -out authority.pem",
            "req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
            "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile names \
             -out server.crt",
        ] {
            let made = Command::new("openssl").args(words.split_whitespace()).current_dir(&data).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
        for name in ["server.key", "server.crt"] {
            fs::set_permissions(data.join(name), Permissions::from_mode(0o600)).unwrap();
            if let Some((user, group)) = user() {
                chown(data.join(name), Some(user), Some(group)).unwrap();
            }
        }
        self.kill();
        self.words.extend(["-c".into(), "ssl=on".into()]);
        self.start_again();
        Some(data.join("authority.pem"))
    }

    /// Gives an encrypted server a certificate that it has signed itself, and starts it anew; the certificate.
    pub fn encrypt_by_itself(&mut self, host: &str) -> PathBuf {
        let data = self.folder.path().join("data");
        let words = "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout server.key -out server.crt -subj /CN=itself";
        let names = format!("subjectAltName=DNS:{host}");
        let mut openssl = Command::new("openssl");
        openssl.args(words.split_whitespace()).args(["-addext", &names]).current_dir(&data);
        assert!(openssl.output().unwrap().status.success());
        self.kill();
        self.start_again();
        data.join("server.crt")
    }

    /// Starts a pooler of this mode before the server. It resets nothing in the sessions that it hands out.
    pub fn pooler(&self, program: &str, mode: &str) -> Pooler {
        let port = free_port();
        let settings = self.folder.path().join(format!("pooler-{mode}.ini"));
        let text = format!(
            "[databases]\npostgres = host={} port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\nserver_reset_query =\n",
            self.folder.path().display(),
            self.port
        );
        fs::write(&settings, text).unwrap();
        let words = [program.to_string(), settings.display().to_string()];
        let pooler = Pooler { child: spawn(&words, self.folder.path()), port };
        let started = Instant::now();
        while postgres::Client::connect(&pooler.url(), postgres::NoTls).is_err() {
            assert!(started.elapsed() < START_TIMEOUT, "the pooler did not start: {}", self.log());
            thread::sleep(ASKED_EVERY);
        }
        pooler
    }

    fn wait_until_ready(&mut self) {
        let started = Instant::now();
        while postgres::Client::connect(&self.url(), postgres::NoTls).is_err() {
            assert!(self.child.try_wait().unwrap().is_none(), "the server ended: {}", self.log());
            assert!(started.elapsed() < START_TIMEOUT, "the server did not start: {}", self.log());
            thread::sleep(ASKED_EVERY);
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let postmaster = rustix::process::Pid::from_child(&self.child);
        // An immediate shutdown: what a clean one would write is removed anyway.
        let _ = rustix::process::kill_process(postmaster, rustix::process::Signal::QUIT);
        let _ = self.child.wait();
    }
}

/// A pooler before a server; it ends when it is dropped.
pub struct Pooler {
    child: Child,
    port: u16,
}

impl Pooler {
    /// The address of the superuser by way of the pooler.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It has nothing to tidy up.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process is there and has not ended.
fn is_at_work(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with('Z'))
}

/// Where a server is made soonest.
fn quick() -> PathBuf {
    let room = rustix::fs::statvfs(MEMORY).map_or(0, |system| system.f_bavail * system.f_frsize);
    if room >= ROOM { MEMORY.into() } else { std::env::temp_dir() }
}

/// A folder for all that a server has, which belongs to the server's user.
fn folder_in(parent: &Path) -> TempDir {
    let folder = tempfile::Builder::new().prefix("readpath-trial-").tempdir_in(parent).unwrap();
    if let Some((user, group)) = user() {
        chown(folder.path(), Some(user), Some(group)).unwrap();
    }
    folder
}

/// Makes the files of a new server in `data` of a folder.
fn initialise(folder: &Path) {
    let mut words = vec![program("initdb"), "--pgdata".into(), folder.join("data").display().to_string()];
    let more = ["--username=postgres", "--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256"];
    words.extend(more.map(String::from));
    let made = command(&words).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// The files of a new server, which stay in the build's folder: to copy them takes a sixth of the time of initdb.
/// `None` where they cannot be kept there.
fn template() -> Option<PathBuf> {
    static KEPT: OnceLock<Option<PathBuf>> = OnceLock::new();
    KEPT.get_or_init(|| {
        let program = std::env::current_exe().ok()?;
        let (build, user) = (program.parent()?.parent()?, rustix::process::geteuid().as_raw());
        let kept = build.join(format!("trial-15-of-user-{user}"));
        if kept.is_dir() {
            return Some(kept);
        }
        // Whole or not at all, also where several programs of tests make it at once.
        let made = folder_in(&quick());
        initialise(made.path());
        let begun = tempfile::Builder::new().prefix("trial-").tempdir_in(build).ok()?;
        copy(&made.path().join("data"), &begun.path().join("data"));
        let renamed = fs::rename(begun.path().join("data"), &kept);
        (renamed.is_ok() || kept.is_dir()).then_some(kept)
    })
    .clone()
}

/// Copies the files of a server that does not run, for the server's user.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-r", "--preserve=mode"]).args([from, to]).status().unwrap();
    assert!(copied.success(), "{} could not be copied", from.display());
    if let Some((user, group)) = user() {
        let owned = Command::new("chown").args(["-R", &format!("{user}:{group}")]).arg(to).status().unwrap();
        assert!(owned.success(), "{} kept its owner", to.display());
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn program(name: &str) -> String {
    PathBuf::from(PROGRAMS).join(name).display().to_string()
}

/// PostgreSQL refuses to run as root, which then becomes the user that Debian made for it.
fn user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let account = accounts.lines().find(|line| line.starts_with("postgres:"))?;
    let mut numbers = account.split(':').skip(2).map(|number| number.parse().unwrap());
    Some((numbers.next()?, numbers.next()?))
}

/// The command as the server's user; it ends with the thread that starts it.
fn command(words: &[String]) -> Command {
    let mut command = Command::new("setpriv");
    command.arg("--pdeathsig=QUIT");
    if let Some((user, group)) = user() {
        command.args([format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".into()]);
    }
    command.arg("--").args(words);
    command
}

fn spawn(words: &[String], folder: &Path) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    // ^C is for the test, which then stops the server.
    command(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
        .unwrap()
}
