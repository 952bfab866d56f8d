//! Reads of PostgreSQL 18, by its backends and by its I/O workers, held against what the server counts itself: against
//! a private server, whose programs are in the cache or are fetched.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a skip is counted by its line")]

use std::env;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use live::{Settings, Watch};
use profile::ingest::Ingested;
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::tables::read_tiers::{ByTier, ReadTier, ReadTiers, Reader, ReaderRow};
use server::Address;
use server::private::{Installation, PrivateServer, ServerSettings, Source};
use sys::tracepoint::{Tracer, Wanted};

static GO_ON: AtomicBool = AtomicBool::new(false);

/// The programs that users of this machine have, or else those of the tests.
fn cache() -> PathBuf {
    let own = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/readpath/postgres"));
    let of_tests = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/readpath/postgres");
    own.filter(|own| Installation::is_cached(18, own)).unwrap_or(of_tests)
}

/// A server of 18 that reads by this method, with a table of some 10,000 blocks; says why not where there is none.
fn server(method: &str) -> Option<PrivateServer> {
    let any = Wanted {
        name: "sched/sched_process_fork",
        filter: String::new(),
        fields: &[],
        is_optional: false,
        in_idle: None,
    };
    if let Err(reason) = Tracer::open(&[any]) {
        println!("skipped: {reason}");
        return None;
    }
    let installation = match Installation::of(18, &Source { cache: cache(), proxy: None }, &GO_ON) {
        Ok(installation) => installation,
        Err(reason) => {
            println!("skipped: {reason}");
            return None;
        }
    };
    let settings = ServerSettings::new(4 << 20).with("io_method", method).with("compute_query_id", "on");
    let server = PrivateServer::start(&installation, Path::new(trial::DISK), settings, &GO_ON).unwrap();
    for statement in [
        "CREATE TABLE rows AS SELECT n, repeat('x', 700) AS rest FROM generate_series(1, 100000) AS n",
        "CREATE TABLE other AS SELECT * FROM rows",
        "VACUUM (FREEZE, ANALYZE) rows",
        "VACUUM (FREEZE, ANALYZE) other",
        "CHECKPOINT",
    ] {
        client(&server).batch_execute(statement).unwrap();
    }
    Some(server)
}

fn client(server: &PrivateServer) -> postgres::Client {
    postgres::Config::from(server.config()).connect(postgres::NoTls).unwrap()
}

/// Bytes that the server has read for its sessions by its own account, once all but those of the watch have ended: a
/// session that has read for less than a second is counted when it ends.
fn counted(server: &PrivateServer) -> i64 {
    let mut client = client(server);
    let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> \
                  pg_backend_pid() AND application_name NOT LIKE 'readpath%'";
    let begun = Instant::now();
    while client.query_one(others, &[]).unwrap().get::<_, i64>(0) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "sessions of the test do not end");
        thread::sleep(Duration::from_millis(10));
    }
    let question = "SELECT sum(read_bytes)::int8 FROM pg_stat_io WHERE object = 'relation'";
    client.query_one(question, &[]).unwrap().get(0)
}

/// Watches a server while `load` runs, and a moment longer.
fn watched(server: &PrivateServer, load: impl FnOnce() + Send) -> Ingested {
    let wall_clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64;
    let settings =
        Settings { rate: None, reads_memory: true, traces_reads: true, wall_clock, think_time: THINK_TIME, seed: 7 };
    let mut watch =
        Watch::open(&Address::of(server.config()), settings, Instruments::default(), Arc::default()).unwrap();
    thread::scope(|scope| {
        let loading = scope.spawn(load);
        let mut until = None;
        watch.run(Duration::from_secs(120), &mut |_| {
            if loading.is_finished() && until.is_none() {
                until = Some(Instant::now() + Duration::from_millis(300));
            }
            match until.is_some_and(|until| Instant::now() > until) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        loading.join().unwrap();
    });
    watch.finish(None).0
}

fn tiers(found: &Ingested) -> &ReadTiers {
    found.profile.sampled.as_ref().unwrap().reads.as_ref().expect("reads were traced")
}

fn of_statement<'a>(found: &'a Ingested, part: &str) -> Option<&'a ReaderRow> {
    let context = &found.profile.context;
    tiers(found).readers.iter().find(|row| match row.reader {
        Reader::Statement(index) => context.statement(index).is_some_and(|known| known.text.contains(part)),
        _ => false,
    })
}

/// Scans a table some times in a session, which stays a moment longer.
fn scan(server: &PrivateServer, statement: &str, times: u32) {
    let mut client = client(server);
    (0..times).for_each(|_| client.batch_execute(statement).unwrap());
    thread::sleep(Duration::from_millis(200));
}

/// All reads but those that are no relation's.
fn of_relations(found: &Ingested) -> ByTier {
    let mut all = ByTier::default();
    let rows =
        tiers(found).relations.iter().filter(|row| !row.name.contains("files") && !row.name.starts_with("pg_xact"));
    rows.for_each(|row| profile::event::Merge::merge(&mut all, &row.tiers));
    all
}

#[test]
fn reads_of_backends_are_those_that_the_server_counts() {
    let Some(server) = server("sync") else { return };
    let mut of_server = 0;
    let found = watched(&server, || {
        let before = counted(&server);
        scan(&server, "SELECT count(rest) FROM rows", 3);
        of_server = counted(&server) - before;
    });
    let row = of_statement(&found, "FROM rows").unwrap();
    let all = row.tiers.all();
    assert!((all.bytes as f64 / of_server as f64 - 1.0).abs() < 0.01, "{} bytes, {of_server} by the server", all.bytes);
    assert_eq!(all.bytes, 8192 * all.blocks);
    assert!(row.estimated < all.reads / 4, "{} of {} reads by an estimate", row.estimated, all.reads);
}

#[test]
fn reads_of_workers_are_charged_to_the_statements_that_waited() {
    let Some(server) = server("worker") else { return };
    let mut of_server = 0;
    let found = watched(&server, || {
        let before = counted(&server);
        thread::scope(|scope| {
            scope.spawn(|| scan(&server, "SELECT count(rest) FROM rows", 6));
            scope.spawn(|| scan(&server, "SELECT count(*), max(rest) FROM other", 6));
        });
        of_server = counted(&server) - before;
    });
    let all = of_relations(&found).all();
    assert!((all.bytes as f64 / of_server as f64 - 1.0).abs() < 0.01, "{} bytes, {of_server} by the server", all.bytes);
    let rows = ["FROM rows", "FROM other"].map(|part| of_statement(&found, part).unwrap());
    let estimated: u64 = rows.iter().map(|row| row.estimated).sum();
    assert!(estimated > 100, "{:?}", tiers(&found).readers);
    let charged: u64 = rows.iter().map(|row| row.tiers.all().bytes).sum();
    // On a busy machine looks are late, and fewer of them meet the waits.
    assert!(charged as f64 > 0.5 * all.bytes as f64, "{charged} of {} bytes: {:?}", all.bytes, tiers(&found).readers);
    let shares = rows.map(|row| row.tiers.all().bytes as f64 / charged as f64);
    assert!(shares.iter().all(|share| (0.25..0.75).contains(share)), "each reads as much: {shares:?}");
    assert!(all.reads >= rows[0].tiers.of(ReadTier::PageCache).reads);
}
