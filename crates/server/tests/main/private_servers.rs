//! Private servers, started for real: Debian's 15 where it is installed, and the versions that are fetched.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use server::private::{Installation, PrivateServer, PrivateServerError, ServerSettings, Source, sweep};
use server::{Address, ClusterCopy, Limits, Session};
use sys::file::own_folder::Leftovers;

/// Where Debian puts version 15.
const DEBIAN: &str = "/usr/lib/postgresql/15";

/// The variable that names the folder in which the child of a test makes its server.
const PARENT: &str = "READPATH_TEST_PARENT";

static GO_ON: AtomicBool = AtomicBool::new(false);

/// The cache of all tests of this build.
fn source() -> Source {
    Source { cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/readpath/postgres"), proxy: None }
}

fn fetched(major: u32) -> Option<Installation> {
    match Installation::of(major, &source(), &GO_ON) {
        Err(PrivateServerError::NotFetched { reason, .. }) => {
            println!("skipped: PostgreSQL {major} is not in the cache and cannot be fetched: {reason}");
            None
        }
        installation => Some(installation.unwrap()),
    }
}

fn debian() -> Option<Installation> {
    if !Path::new(DEBIAN).exists() {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
        return None;
    }
    Some(Installation::at(Path::new(DEBIAN)).unwrap())
}

/// A folder that the server's user can enter.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

fn small() -> ServerSettings {
    ServerSettings::new(16 << 20)
}

fn connect(server: &PrivateServer) -> postgres::Client {
    postgres::Config::from(server.config()).connect(postgres::NoTls).unwrap()
}

fn shown(server: &PrivateServer, name: &str) -> String {
    connect(server).query_one(&format!("SHOW {name}"), &[]).unwrap().get(0)
}

/// Starts a server, asks it, restarts it with other settings, and looks for what is left behind it.
fn lives_and_dies(installation: &Installation) {
    let parent = folder();
    let mut server = PrivateServer::start(installation, parent.path(), small(), &GO_ON).unwrap();
    let major = installation.version().major;
    let number: i32 = shown(&server, "server_version_num").parse().unwrap();
    assert_eq!(number.unsigned_abs() / 10_000, major);
    assert_eq!((shown(&server, "listen_addresses"), shown(&server, "jit")), (String::new(), "off".into()));
    assert_eq!(shown(&server, "shared_buffers"), "16MB");
    connect(&server).batch_execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS i").unwrap();
    server.restart(ServerSettings::new(32 << 20).with("jit", "on"), &GO_ON).unwrap();
    assert_eq!((shown(&server, "shared_buffers"), shown(&server, "jit")), ("32MB".into(), "on".into()));
    let rows: i64 = connect(&server).query_one("SELECT count(*) FROM kept", &[]).unwrap().get(0);
    assert_eq!(rows, 1000);
    let (process, data) = (server.process().unwrap(), server.data_directory());
    assert!(data.is_dir() && server.is_running());
    let by_url = server.url().parse::<postgres::Config>().unwrap().connect(postgres::NoTls);
    assert_eq!(by_url.unwrap().query_one("SELECT 7", &[]).unwrap().get::<_, i32>(0), 7);
    drop(server);
    assert!(!data.exists() && !sys::process::is_there(process));
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn an_installed_15_is_gone_with_all_it_had_when_it_is_dropped() {
    if let Some(installation) = debian() {
        lives_and_dies(&installation);
    }
}

#[test]
fn a_fetched_15_is_gone_with_all_it_had_when_it_is_dropped() {
    fetched(15).iter().for_each(lives_and_dies);
}

#[test]
fn a_fetched_16_is_gone_with_all_it_had_when_it_is_dropped() {
    fetched(16).iter().for_each(lives_and_dies);
}

#[test]
fn a_fetched_17_is_gone_with_all_it_had_when_it_is_dropped() {
    fetched(17).iter().for_each(lives_and_dies);
}

#[test]
fn a_fetched_18_is_gone_with_all_it_had_when_it_is_dropped() {
    fetched(18).iter().for_each(lives_and_dies);
}

#[test]
fn an_ordinary_user_starts_a_server_too() {
    if !geteuid().is_root() {
        println!("skipped: the other tests already run as an ordinary user");
        return;
    }
    if debian().is_none() {
        return;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(std::env::current_exe().unwrap());
    let name = "private_servers::an_installed_15_is_gone_with_all_it_had_when_it_is_dropped";
    command.args(["--exact", name, "--nocapture"]);
    let output = match command.current_dir("/").output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: setpriv is needed to become another user: {error}"),
    };
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed") && !said.contains("skipped"), "{said}");
}

#[test]
fn a_folder_for_temporary_files_may_have_a_comma_in_its_name() {
    let Some(installation) = debian() else { return };
    let parent = folder();
    let odd = parent.path().join("a,b c");
    fs::create_dir(&odd).unwrap();
    let server = PrivateServer::start(&installation, &odd, small(), &GO_ON).unwrap();
    assert_eq!(connect(&server).query_one("SELECT 7", &[]).unwrap().get::<_, i32>(0), 7);
    drop(server);
    assert_eq!(fs::read_dir(&odd).unwrap().count(), 0);
}

#[test]
fn programs_that_the_servers_user_cannot_reach_are_laid_into_its_directory() {
    if !geteuid().is_root() {
        println!("skipped: only root's server runs as another user");
        return;
    }
    let Some(installation) = fetched(18) else { return };
    // A folder of root's alone.
    let hidden = tempfile::tempdir().unwrap();
    let tree = installation.programs().parent().unwrap();
    let copied = Command::new("cp").arg("-a").arg(tree).arg(hidden.path()).status().unwrap();
    assert!(copied.success());
    let source = Source { cache: hidden.path().into(), proxy: None };
    assert!(Installation::is_cached(18, hidden.path()) && !Installation::is_cached(17, hidden.path()));
    lives_and_dies(&Installation::of(18, &source, &GO_ON).unwrap());
}

#[test]
fn a_limit_of_the_roles_transactions_ends_a_statement_and_not_the_session() {
    let Some(installation) = fetched(17) else { return };
    let parent = folder();
    let server = PrivateServer::start(&installation, parent.path(), small(), &GO_ON).unwrap();
    connect(&server).batch_execute("ALTER ROLE postgres SET transaction_timeout = '4s'").unwrap();
    let mut session = Session::open(&Address::of(server.config()), Limits::default(), Arc::default()).unwrap();
    let error = session.run("SELECT pg_sleep(60)").unwrap_err().to_string();
    assert!(error.contains("longer than 4 s"), "{error}");
    assert_eq!(session.text("SHOW transaction_timeout", None).unwrap().as_deref(), Some("0"));
}

/// A copy in `folder` of the data directory of a server, which is stopped for it, with more lines of configuration.
fn copy_of(server: &mut PrivateServer, folder: &Path, configuration: &str) -> ClusterCopy {
    server.stop(&GO_ON).unwrap();
    let copied = Command::new("cp").arg("-a").arg(server.data_directory()).arg(folder).status().unwrap();
    assert!(copied.success());
    let directory = folder.join("data");
    let mut file = fs::File::options().append(true).open(directory.join("postgresql.conf")).unwrap();
    file.write_all(configuration.as_bytes()).unwrap();
    ClusterCopy { directory, database: "postgres".into(), user: "postgres".into(), programs: None }
}

#[test]
fn a_server_on_a_copy_leads_to_nothing_outside_it_and_leaves_it_as_a_stopped_server_does() {
    let Some(installation) = debian() else { return };
    let (first, second, kept) = (folder(), folder(), folder());
    let mut original = PrivateServer::start(&installation, first.path(), small(), &GO_ON).unwrap();
    let made = "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS i; ALTER DATABASE postgres SET \
                session_preload_libraries = 'nonesuch'; ALTER ROLE postgres SET local_preload_libraries = 'nonesuch'";
    connect(&original).batch_execute(made).unwrap();
    let archived = kept.path().join("archived");
    let outward = format!(
        "data_directory = '{}'\nhba_file = '/nonexistent'\narchive_mode = on\narchive_command = 'touch {}'\n\
         listen_addresses = '*'\nshared_preload_libraries = 'nonesuch'\nlogging_collector = on\nwork_mem = '7MB'\n",
        original.data_directory().display(),
        archived.display()
    );
    let copy = copy_of(&mut original, kept.path(), &outward);
    let former = fs::read(copy.directory.join("postmaster.opts")).unwrap();
    let start = || PrivateServer::start_on_copy(&installation, &copy, second.path(), &GO_ON);
    let mut server = start().unwrap();
    let whole = copy.directory.canonicalize().unwrap();
    assert_eq!(shown(&server, "data_directory"), whole.display().to_string());
    assert_eq!((shown(&server, "listen_addresses"), shown(&server, "archive_mode")), (String::new(), "off".into()));
    assert_eq!(shown(&server, "work_mem"), "7MB", "what queries are planned by is the copy's own");
    assert_eq!(shown(&server, "autovacuum_freeze_max_age"), "2000000000", "no vacuum against wraparound");
    assert_eq!(shown(&server, "session_preload_libraries") + &shown(&server, "local_preload_libraries"), "");
    let busy = start().unwrap_err().to_string();
    assert!(busy.contains("a server runs on it"), "{busy}");
    connect(&server).batch_execute("INSERT INTO kept VALUES (0); SELECT pg_switch_wal()").unwrap();
    server.restart(server.settings().clone(), &GO_ON).unwrap();
    connect(&server).batch_execute("INSERT INTO kept VALUES (0)").unwrap();
    drop(server);
    assert!(!copy.directory.join("postmaster.pid").exists() && !archived.exists());
    assert_eq!(fs::read_dir(second.path()).unwrap().count(), 0);
    assert_eq!(fs::read(copy.directory.join("postmaster.opts")).unwrap(), former, "`pg_ctl restart` starts by it");
    let again = start().unwrap();
    let rows: i64 = connect(&again).query_one("SELECT count(*) FROM kept", &[]).unwrap().get(0);
    assert_eq!(rows, 1002, "what was written before it stopped is there");
    let trigger = "CREATE FUNCTION noted() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; CREATE EVENT TRIGGER \
                   notes ON ddl_command_start EXECUTE FUNCTION noted()";
    connect(&again).batch_execute(trigger).unwrap();
    drop(again);
    let refused = start().unwrap_err().to_string();
    assert!(refused.contains("its event triggers (notes): disable them"), "{refused}");
    assert!(!copy.directory.join("postmaster.pid").exists(), "the server that found them has stopped");
}

#[test]
fn event_triggers_that_a_setting_silences_are_not_announced() {
    let Some(installation) = fetched(18) else { return };
    let folder = folder();
    let server = PrivateServer::start(&installation, folder.path(), small(), &GO_ON).unwrap();
    let trigger = "CREATE FUNCTION noted() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; CREATE EVENT TRIGGER \
                   notes ON ddl_command_start EXECUTE FUNCTION noted()";
    connect(&server).batch_execute(trigger).unwrap();
    let announced = || {
        let session = Session::open(&Address::of(server.config()), Limits::default(), Arc::default()).unwrap();
        session.facts().event_triggers.clone()
    };
    assert_eq!(announced().as_deref(), Some("notes"));
    connect(&server).batch_execute("ALTER ROLE ALL SET event_triggers = off").unwrap();
    assert_eq!(announced(), None);
}

#[test]
fn a_stop_that_is_called_off_leaves_no_server_that_is_on_its_way_out() {
    let Some(installation) = debian() else { return };
    let (first, second, kept) = (folder(), folder(), folder());
    let mut original = PrivateServer::start(&installation, first.path(), small(), &GO_ON).unwrap();
    let copy = copy_of(&mut original, kept.path(), "");
    let mut server = PrivateServer::start_on_copy(&installation, &copy, second.path(), &GO_ON).unwrap();
    connect(&server).batch_execute("CREATE TABLE made AS SELECT generate_series(1, 100000) AS i").unwrap();
    // It may have ended before the wish to stop is seen.
    let _ = server.stop(&AtomicBool::new(true));
    assert!(!server.is_running() && !copy.directory.join("postmaster.pid").exists());
    server.restart(server.settings().clone(), &GO_ON).unwrap();
    connect(&server).batch_execute("DROP TABLE made").unwrap();
}

#[test]
fn a_user_of_a_copy_who_is_no_superuser_is_refused_in_a_sentence_that_says_whom_to_name() {
    let Some(installation) = debian() else { return };
    let (first, second, kept) = (folder(), folder(), folder());
    let mut original = PrivateServer::start(&installation, first.path(), small(), &GO_ON).unwrap();
    connect(&original).batch_execute("CREATE ROLE clerk LOGIN").unwrap();
    let copy = ClusterCopy { user: "clerk".into(), ..copy_of(&mut original, kept.path(), "") };
    let refused = PrivateServer::start_on_copy(&installation, &copy, second.path(), &GO_ON).unwrap_err().to_string();
    assert!(refused.contains("clerk is no superuser in it: name one with user=NAME"), "{refused}");
    assert!(!copy.directory.join("postmaster.pid").exists());
    assert_eq!(fs::read_dir(second.path()).unwrap().count(), 0);
}

/// What the tests after it kill: it starts a server, prints where, and waits for its end.
#[test]
#[ignore = "the child of another test"]
fn holds_a_server() {
    let parent = PathBuf::from(std::env::var_os(PARENT).unwrap());
    let server = PrivateServer::start(&debian().unwrap(), &parent, small(), &GO_ON).unwrap();
    println!("\nprocess {}", server.process().unwrap());
    thread::sleep(Duration::from_secs(60));
}

/// The process that holds a server in `parent`, and the server's.
fn holder(parent: &Path) -> (Child, u32) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "private_servers::holds_a_server", "--ignored", "--nocapture"])
        .env(PARENT, parent)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let process: u32 = lines.find_map(|line| line.strip_prefix("process ")?.parse().ok()).unwrap();
    (child, process)
}

#[test]
fn shared_memory_of_a_server_that_was_killed_itself_does_not_stay_after_its_folder() {
    if debian().is_none() {
        return;
    }
    let parent = folder();
    let (mut child, process) = holder(parent.path());
    let room = fs::read_dir(parent.path()).unwrap().next().unwrap().unwrap().path();
    let lock_file = fs::read_to_string(room.join("data/postmaster.pid")).unwrap();
    let memory: Vec<&str> = lock_file.lines().nth(6).unwrap().split_whitespace().collect();
    let is_listed = || {
        let list = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        list.lines().any(|line| line.split_whitespace().nth(1) == Some(memory[1]))
    };
    assert!(is_listed(), "{lock_file}");
    // Before its holder, whose end would end it gently.
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), Signal::KILL).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    sweep(parent.path(), Leftovers::Removed);
    assert!(!is_listed(), "{lock_file}");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_left_after_a_kill() {
    if debian().is_none() {
        return;
    }
    let parent = folder();
    let (mut child, process) = holder(parent.path());
    assert!(sys::process::is_there(process));
    assert_eq!(sweep(parent.path(), Leftovers::Removed), Vec::<PathBuf>::new(), "a living server must be left alone");
    child.kill().unwrap();
    child.wait().unwrap();
    let start = Instant::now();
    while sys::process::is_there(process) {
        assert!(start.elapsed() < Duration::from_secs(60), "the server outlived its owner");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(sweep(parent.path(), Leftovers::Removed).len(), 1);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn a_setting_that_the_version_does_not_know_is_said_in_one_sentence_and_nothing_stays() {
    let Some(installation) = debian() else { return };
    let parent = folder();
    let settings = small().with("io_method", "sync");
    let error = PrivateServer::start(&installation, parent.path(), settings, &GO_ON).unwrap_err().to_string();
    assert!(error.contains("did not start") && error.contains("io_method") && !error.contains('\n'), "{error}");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

/// Segments of shared memory that no process uses, and whose maker is gone: what a killed server leaves.
fn orphans() -> Vec<String> {
    let listed = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let is_orphan = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[6] == "0" && !sys::process::is_there(words[4].parse().unwrap())
    };
    listed.lines().skip(1).filter(is_orphan).map(|line| line.split_whitespace().nth(1).unwrap().into()).collect()
}

#[test]
fn a_stop_during_the_start_leaves_nothing() {
    let Some(installation) = debian() else { return };
    let parent = folder();
    let before = orphans();
    for delay in [50, 150, 300, 500] {
        let stop = AtomicBool::new(false);
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(delay));
                stop.store(true, Ordering::Relaxed);
            });
            PrivateServer::start(&installation, parent.path(), small(), &stop).map(drop)
        });
        // A machine that starts it within the time was never stopped.
        assert!(matches!(error, Err(PrivateServerError::Stopped) | Ok(())), "{error:?}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
    // Servers of other tests may be stopping, or were killed and are not started again yet.
    let started = Instant::now();
    while orphans().iter().any(|segment| !before.contains(segment)) {
        assert!(started.elapsed() < Duration::from_secs(60), "shared memory was left: {:?}", orphans());
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_server_of_18_takes_its_io_method_and_direct_reads_from_its_settings() {
    let Some(installation) = fetched(18) else { return };
    // The folder for temporary files may be memory, which knows no direct reads; this one is on a disk by convention.
    let parent = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(parent.path(), Permissions::from_mode(0o755)).unwrap();
    let settings = small().with("io_method", "sync").with("debug_io_direct", "data");
    let mut server = PrivateServer::start(&installation, parent.path(), settings, &GO_ON).unwrap();
    assert_eq!((shown(&server, "io_method"), shown(&server, "debug_io_direct")), ("sync".into(), "data".into()));
    server.restart(small().with("io_method", "worker"), &GO_ON).unwrap();
    assert_eq!((shown(&server, "io_method"), shown(&server, "debug_io_direct")), ("worker".into(), String::new()));
}

#[test]
fn a_server_that_lets_no_one_in_with_its_settings_did_not_start_and_keeps_its_tables_for_others() {
    let Some(installation) = debian() else { return };
    let parent = folder();
    let mut server = PrivateServer::start(&installation, parent.path(), small(), &GO_ON).unwrap();
    let make = "CREATE UNLOGGED TABLE kept AS SELECT generate_series(1, 1000) AS i";
    connect(&server).batch_execute(make).unwrap();
    // It starts, and ends each session when that begins, as one whose disk refuses its way of reading.
    let error = server.restart(small().with("session_preload_libraries", "no_such_library"), &GO_ON).unwrap_err();
    let is_told = matches!(&error, PrivateServerError::NotStarted { log, .. } if log.contains("no_such_library"));
    assert!(is_told && !server.is_running(), "{error}");
    server.restart(small(), &GO_ON).unwrap();
    let rows: i64 = connect(&server).query_one("SELECT count(*) FROM kept", &[]).unwrap().get(0);
    assert_eq!(rows, 1000);
}

#[test]
fn a_folder_closed_to_the_servers_user_is_named_and_nothing_stays() {
    if !geteuid().is_root() {
        return println!("skipped: only root starts a server as another user");
    }
    let Some(installation) = debian() else { return };
    let parent = folder();
    let closed = parent.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let error = PrivateServer::start(&installation, &closed, small(), &GO_ON).unwrap_err();
    assert!(matches!(&error, PrivateServerError::Unreachable { directory } if *directory == closed), "{error}");
    assert_eq!(fs::read_dir(&closed).unwrap().count(), 0);
}

#[test]
fn the_files_of_a_table_leave_the_page_cache() {
    let Some(installation) = debian() else { return };
    let parent = folder();
    let server = PrivateServer::start(&installation, parent.path(), small(), &GO_ON).unwrap();
    let mut client = connect(&server);
    client.batch_execute("CREATE TABLE wide AS SELECT repeat('x', 2000) FROM generate_series(1, 4000)").unwrap();
    let blocks: i64 = client.query_one("SELECT pg_relation_size('wide') / 8192", &[]).unwrap().get(0);
    let files = server.relation_files("wide", &GO_ON).unwrap();
    assert_eq!(files.len(), 1);
    client.batch_execute("CHECKPOINT").unwrap();
    assert_eq!(fs::metadata(&files[0]).unwrap().len() as i64, blocks * 8192);
    assert!(server.relation_files("no_such_table", &GO_ON).is_err());
    let target = sys::file::Target::open(&files[0], sys::file::Caching::Buffered).unwrap();
    if target.filesystem().is_some_and(|kind| kind == "tmpfs") {
        return println!("skipped: files on tmpfs cannot leave memory");
    }
    let left = server.drop_page_cache(&GO_ON).unwrap();
    assert!(left.of > blocks.unsigned_abs() && left.pages == 0, "{left:?}");
}

/// Instructions of scanning each warm table in single-user mode: those with a second scan of it behind one of each,
/// less those without.
fn scan_instructions<const COUNT: usize>(server: &mut PrivateServer, tables: [&str; COUNT]) -> [f64; COUNT] {
    let scans = tables.map(|table| format!("SELECT count(valid) FROM {table} WHERE id > 0"));
    let once: Vec<&str> = scans.iter().map(String::as_str).collect();
    let mut count = |again: &[&str]| {
        let statements = [&once[..], again].concat();
        let counted = server.count_statements(&statements, Duration::from_secs(300), &GO_ON).unwrap();
        assert_eq!(counted.output.matches("count = ").count(), statements.len(), "{}", counted.output);
        counted.simulated.instructions().unwrap()
    };
    let without = count(&[]);
    std::array::from_fn(|table| (count(&[once[table]]) - without) as f64)
}

#[test]
fn instructions_of_a_scan_grow_with_its_rows_and_with_nothing_else() {
    let Some(installation) = debian() else { return };
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return;
    }
    let parent = folder();
    let mut server = PrivateServer::start(&installation, parent.path(), small(), &GO_ON).unwrap();
    let mut client = connect(&server);
    for (table, rows) in [("one", 10_000), ("two", 20_000), ("three", 30_000)] {
        let rows = format!("SELECT i AS id, 'Y'::varchar(1) AS valid FROM generate_series(1, {rows}) i");
        client.batch_execute(&format!("CREATE TABLE {table} AS {rows}")).unwrap();
        client.batch_execute(&format!("VACUUM FREEZE {table}")).unwrap();
    }
    drop(client);
    let counts = scan_instructions(&mut server, ["one", "two", "three"]);
    let rates = [(counts[1] - counts[0]) / 1e4, (counts[2] - counts[1]) / 1e4];
    println!("instructions a row: {rates:?}");
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{counts:?}");
    assert!((50.0..2000.0).contains(&rates[0]), "{rates:?}");
    let error = server.count_statements(&["SELECT nothing"], Duration::from_secs(60), &GO_ON).unwrap_err();
    assert!(error.to_string().contains("column \"nothing\" does not exist"), "{error}");
    server.restart(small(), &GO_ON).unwrap();
    assert_eq!(shown(&server, "shared_buffers"), "16MB");
}
