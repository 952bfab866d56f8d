//! A real server writes its logs in all three formats at once; what is read from each must be the same, and what the
//! server itself counted. Skips where PostgreSQL is not installed.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use profile::choice::Period;
use profile::event::{Call, Context, Observer, PlanLine, Root, Ticks, Wait};
use profile::ingest::{Chosen, IngestSettings, ingest};
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::source::postgres_log::findings::LogSummary;
use profile::source::postgres_log::format::LogFormat;
use profile::source::postgres_log::source::LogSource;
use profile::source::{BindValues, ReadOptions, SourceSettings};

const SETTINGS: [&str; 17] = [
    "listen_addresses=",
    "fsync=off",
    "shared_buffers=8MB",
    "lc_messages=C",
    "logging_collector=on",
    "log_directory=log",
    "log_filename=server.log",
    "log_line_prefix=%m [%p] %q%u@%d ",
    "shared_preload_libraries=auto_explain",
    "auto_explain.log_min_duration=0",
    "auto_explain.log_analyze=on",
    "auto_explain.log_buffers=on",
    "auto_explain.log_format=json",
    "auto_explain.log_nested_statements=on",
    "track_io_timing=on",
    "compute_query_id=on",
    "max_parallel_workers_per_gather=2",
];

const STATEMENTS: &str = "\
CREATE TABLE orders AS SELECT g AS id, g % 100 AS customer, repeat('x', 200) AS note FROM generate_series(1, 60000) g;
CREATE INDEX orders_id ON orders (id);
ANALYZE orders;
CREATE FUNCTION total(n int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE s bigint := 0; t bigint; BEGIN
  FOR i IN 1..n LOOP SELECT count(*) INTO t FROM orders WHERE id < i * 100; s := s + t; END LOOP; RETURN s; END $$;
SELECT count(*) FROM orders WHERE customer = 7;
SELECT count(*) FROM orders WHERE customer = 8;
SELECT total(5);
WITH x AS MATERIALIZED (SELECT customer, count(*) AS n FROM orders GROUP BY customer) SELECT sum(n) FROM x WHERE n > 1;
SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SELECT sum(length(note)) FROM orders;
SELECT 'a \"quoted\" text, with
LOG:  duration: 1.0 ms  plan:
2026-11-21 10:45:53.123 UTC [77] LOG:  an imitation' AS x FROM orders WHERE id = 1;
";

/// A server that ends with the test.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
    programs: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-QUIT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(programs: &Path) -> Result<Server, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = folder.path().display().to_string();
        let user = user()?;
        if !user.is_empty() {
            done(Command::new("chown").args(["nobody", &path]))?;
        }
        let initdb = programs.join("initdb").display().to_string();
        let data = format!("{path}/data");
        let options = ["--username=postgres", "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"];
        done(words(&user, &initdb).args(["--pgdata", &data]).args(options))?;
        let mut command = words(&user, &programs.join("postgres").display().to_string());
        command.args(["-D", &data, "-c", &format!("unix_socket_directories={path}")]);
        command.args(["-c", "log_destination=stderr,csvlog,jsonlog"]);
        SETTINGS.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| error.to_string())?;
        let server = Server { child, folder, programs: programs.into() };
        let start = Instant::now();
        while server.psql("SELECT 1").is_err() {
            if start.elapsed() > Duration::from_secs(120) {
                return Err("it did not start within two minutes".into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    fn psql(&self, sql: &str) -> Result<String, String> {
        let mut command = Command::new(self.programs.join("psql"));
        let folder = self.folder.path().display().to_string();
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", &folder, "-U", "postgres"]);
        command.args(["-d", "postgres", "-c", sql]);
        done(&mut command)
    }

    fn log(&self, extension: &str) -> PathBuf {
        self.folder.path().join("data/log").join(format!("server.{extension}"))
    }
}

/// The command that changes to a user PostgreSQL runs as; empty if the current user is not root.
fn user() -> Result<Vec<String>, String> {
    if done(Command::new("id").arg("-u"))?.trim() != "0" {
        return Ok(Vec::new());
    }
    let ids = ["-u", "-g"].map(|which| done(Command::new("id").args([which, "nobody"])));
    let [user, group] = ids;
    let (user, group) = (user?.trim().to_string(), group?.trim().to_string());
    let words = ["setpriv", "--pdeathsig=QUIT", &format!("--reuid={user}"), &format!("--regid={group}")];
    Ok(words.into_iter().chain(["--clear-groups", "--"]).map(Into::into).collect())
}

fn words(user: &[String], program: &str) -> Command {
    match user {
        [] => Command::new(program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    }
}

fn done(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_string())
}

/// The newest server from 15 on, which is the first with all three formats.
fn programs() -> Option<PathBuf> {
    let entries = fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let versions = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let newest = versions.filter(|path| version(path) >= Some(15)).max_by_key(version)?.join("bin");
    newest.join("initdb").is_file().then_some(newest)
}

#[derive(Default)]
struct Sums {
    calls: Vec<Call>,
    elapsed: Ticks,
    roots: Ticks,
    gets: i64,
    reads: i64,
    waits: Ticks,
    lines: usize,
}

impl Observer for Sums {
    fn call(&mut self, _: &Context, call: &Call) {
        self.elapsed += call.own.elapsed;
        self.gets += call.own.consistent_gets;
        self.reads += call.own.physical_reads;
        self.calls.push(call.clone());
    }
    fn wait(&mut self, _: &Context, wait: &Wait) {
        self.waits += wait.elapsed;
    }
    fn root(&mut self, _: &Context, root: &Root) {
        self.roots += root.inclusive.elapsed;
    }
    fn plan_line(&mut self, _: &Context, _: &PlanLine) {
        self.lines += 1;
    }
}

fn read(path: &Path, format: LogFormat) -> (Sums, Context, LogSummary) {
    let (mut sums, mut source) = (Sums::default(), LogSource::new());
    let found = source.read_log(fs::File::open(path).unwrap(), &mut sums).unwrap();
    assert_eq!(found, Some(format), "{}", path.display());
    let (accounted, summary) = source.end(&mut sums);
    (sums, accounted.context, summary)
}

/// Waits until the server has written each of its logs to the end.
fn wait_for_logs(server: &Server) {
    // The collector of logs has written everything when the last statement's answer has its entry in each file.
    server.psql("SELECT 'the end of the log' FROM orders LIMIT 1").unwrap();
    let start = Instant::now();
    let is_written = |extension: &str| {
        fs::read_to_string(server.log(extension)).is_ok_and(|text| text.contains("the end of the log"))
    };
    while !["log", "csv", "json"].into_iter().all(is_written) {
        assert!(start.elapsed() < Duration::from_secs(60), "the logs are not written");
        thread::sleep(Duration::from_millis(50));
    }
    // The end of the last entry may follow.
    let sizes = || ["log", "csv", "json"].map(|extension| fs::metadata(server.log(extension)).unwrap().len());
    let mut before = [0; 3];
    while before != sizes() {
        before = sizes();
        thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn a_real_server_s_three_logs_say_the_same_and_what_the_server_counted() {
    let Some(programs) = programs() else {
        println!("skipped: PostgreSQL 15 or later is not installed");
        return;
    };
    let server = match Server::start(&programs) {
        Ok(server) => server,
        Err(reason) => {
            println!("skipped: PostgreSQL could not be started: {}", reason.replace('\n', "; "));
            return;
        }
    };
    let file = server.folder.path().join("statements.sql");
    fs::write(&file, STATEMENTS).unwrap();
    server.psql("SELECT pg_stat_reset()").unwrap();
    let folder = server.folder.path().display().to_string();
    let options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", &folder, "-U", "postgres", "-d", "postgres", "-f"];
    done(Command::new(programs.join("psql")).args(options).arg(&file)).unwrap();
    wait_for_logs(&server);
    let (text, context, summary) = read(&server.log("log"), LogFormat::Stderr);
    let (csv, csv_context, csv_summary) = read(&server.log("csv"), LogFormat::Csv);
    let (json, json_context, json_summary) = read(&server.log("json"), LogFormat::Json);
    for (sums, context, other) in [(&csv, &csv_context, &csv_summary), (&json, &json_context, &json_summary)] {
        assert_eq!((sums.calls.len(), sums.lines), (text.calls.len(), text.lines));
        assert_eq!((sums.elapsed, sums.roots, sums.waits), (text.elapsed, text.roots, text.waits));
        assert_eq!((sums.gets, sums.reads), (text.gets, text.reads));
        assert_eq!((other.plans, other.orphans, other.parallel), (summary.plans, summary.orphans, summary.parallel));
        assert_eq!(context.statements.len(), self::ids(context).len());
        assert_eq!(ids(context), ids(&csv_context));
    }
    // A folder holds the same entries in three formats: each is counted once, and one finding says so.
    let source = SourceSettings {
        unit: None,
        reading: ReadOptions::of_this_machine(),
        binds: BindValues::Dropped,
        period: Period::default(),
    };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let all = ingest(
        Chosen::of(&[server.folder.path().join("data/log")]),
        &settings,
        &mut Instruments::default(),
        &mut |_, _| ControlFlow::Continue(()),
    );
    assert_eq!(all.files.len(), 3, "{:?}", all.problems);
    assert_eq!(all.profile.whole.calls.values().map(|sums| sums.calls).sum::<u64>(), summary.plans);
    assert_eq!(all.findings.iter().filter(|finding| finding.id == "repeated-entries").count(), 1);
    assert_eq!(text.elapsed, text.roots, "own times add up to those of the outer statements");
    // Five inner counts are one statement inside the function, and the two literals are one statement.
    let inner: Vec<&Call> = text.calls.iter().filter(|call| call.depth > 0).collect();
    assert_eq!((inner.len(), summary.orphans), (5, 0));
    assert!(inner.iter().all(|call| call.statement == inner[0].statement));
    let counts = text.calls.iter().filter(|call| is_of(&context, call, "customer = ")).count();
    assert_eq!(counts, 2);
    assert_eq!(context.statements.iter().filter(|one| one.text.contains("customer = ")).count(), 1);
    assert!(summary.parallel >= 1 && summary.without_io_times == 0 && summary.unmeasured == 0, "{summary:?}");
    assert!(context.statements.iter().any(|one| one.text.contains("an imitation")));
    assert!(text.gets > 60_000 / 35 && summary.micros_per_get_at_most().is_some());
    assert!(text.calls.iter().all(|call| call.own.elapsed >= Ticks::ZERO && call.own.consistent_gets >= 0));
}

fn is_of(context: &Context, call: &Call, text: &str) -> bool {
    context.statements[call.statement.0 as usize].text.contains(text)
}

fn ids(context: &Context) -> Vec<&str> {
    context.statements.iter().map(|one| one.id.as_str()).collect()
}
