//! Reads of PostgreSQL 18, by its backends and by its I/O workers, held against what the server counts itself: against
//! a private server, whose programs are in the cache or are fetched.

use std::env;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use profile::ingest::Ingested;
use profile::tables::read_tiers::{ByTier, ReadTier};
use server::Address;
use server::private::{Installation, PrivateServer, ServerSettings, Source};

use crate::traced_watch::{self, found_of_statement, of_statement, tiers};

/// The setting with which a server reads by an io_uring.
const RING: &str = "io_uring";

static GO_ON: AtomicBool = AtomicBool::new(false);

/// The programs that users of this machine have, or else those of the tests.
fn cache() -> PathBuf {
    let own = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/readpath/postgres"));
    let of_tests = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/readpath/postgres");
    own.filter(|own| Installation::is_cached(18, own)).unwrap_or(of_tests)
}

/// A server of 18 that reads by this method, with a table of some 10,000 blocks; says why not where there is none.
fn server(method: &str) -> Option<(PrivateServer, MutexGuard<'static, ()>)> {
    let alone = traced_watch::leave()?;
    let installation = match Installation::of(18, &Source { cache: cache(), proxy: None }, &GO_ON) {
        Ok(installation) => installation,
        Err(reason) => {
            println!("skipped: {reason}");
            return None;
        }
    };
    let settings = ServerSettings::new(4 << 20).with("io_method", method).with("compute_query_id", "on");
    let started = PrivateServer::start(&installation, Path::new(trial::DISK), settings, &GO_ON);
    if let (Err(reason), RING) = (&started, method) {
        println!("skipped: these programs, or this kernel, have no io_uring: {reason}");
        return None;
    }
    let server = started.unwrap();
    for statement in [
        "CREATE TABLE rows AS SELECT n, repeat('x', 700) AS rest FROM generate_series(1, 100000) AS n",
        "CREATE TABLE other AS SELECT * FROM rows",
        "VACUUM (FREEZE, ANALYZE) rows",
        "VACUUM (FREEZE, ANALYZE) other",
        "CHECKPOINT",
    ] {
        client(&server).batch_execute(statement).unwrap();
    }
    Some((server, alone))
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
        assert!(begun.elapsed() < Duration::from_secs(60), "sessions of the test do not end");
        thread::sleep(Duration::from_millis(10));
    }
    let question = "SELECT sum(read_bytes)::int8 FROM pg_stat_io WHERE object = 'relation'";
    client.query_one(question, &[]).unwrap().get(0)
}

/// Watches a server while `load` runs, and a moment longer.
fn watched(server: &PrivateServer, load: impl FnOnce() + Send) -> Ingested {
    traced_watch::watched(&Address::of(server.config()), load)
}

/// The same until no record was lost and a sample met each of these statements, five times at most; says so where there
/// was none. `load` begins anew each time.
fn whole(server: &PrivateServer, statements: &[&str], mut load: impl FnMut() + Send) -> Option<Ingested> {
    for _ in 0..5 {
        let found = watched(server, &mut load);
        let is_met = statements.iter().all(|part| found_of_statement(&found, part).is_some());
        if tiers(&found).lost == 0 && is_met {
            return Some(found);
        }
    }
    println!(
        "skipped: this machine is too busy: records were lost, or no sample met a statement, in each of five runs"
    );
    None
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
    let Some((server, _alone)) = server("sync") else { return };
    let mut of_server = 0;
    let found = whole(&server, &["FROM rows"], || {
        let before = counted(&server);
        scan(&server, "SELECT count(rest) FROM rows", 3);
        of_server = counted(&server) - before;
    });
    let Some(found) = found else { return };
    let row = of_statement(&found, "FROM rows");
    let all = row.tiers.all();
    assert!((all.bytes as f64 / of_server as f64 - 1.0).abs() < 0.01, "{} bytes, {of_server} by the server", all.bytes);
    assert_eq!(all.bytes, 8192 * all.blocks);
    assert!(row.estimated < all.reads / 4, "{} of {} reads by an estimate", row.estimated, all.reads);
}

/// Drops the file of a table from the page cache.
fn drop_cache(server: &PrivateServer, table: &str) {
    let question = format!("SELECT current_setting('data_directory') || '/' || pg_relation_filepath('{table}')");
    let path: String = client(server).query_one(&question, &[]).unwrap().get(0);
    let file = fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(file.as_fd(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

#[test]
fn reads_by_an_io_uring_are_those_that_the_server_counts_and_are_their_statements() {
    let Some((server, _alone)) = server(RING) else { return };
    let mut of_server = 0;
    let found = whole(&server, &["FROM rows"], || {
        drop_cache(&server, "rows");
        let before = counted(&server);
        scan(&server, "SELECT count(rest) FROM rows", 3);
        of_server = counted(&server) - before;
    });
    let Some(found) = found else { return };
    let row = of_statement(&found, "FROM rows");
    let all = row.tiers.all();
    assert!((all.bytes as f64 / of_server as f64 - 1.0).abs() < 0.01, "{} bytes, {of_server} by the server", all.bytes);
    assert_eq!(all.bytes, 8192 * all.blocks);
    assert!(row.estimated < all.reads / 4, "{} of {} reads by an estimate", row.estimated, all.reads);
    // The first scan is from the device, ahead or waited for; the others are not.
    let (device, cached) = (row.tiers.of(ReadTier::Device), row.tiers.of(ReadTier::PageCache));
    assert!(device.reads > 0 && cached.bytes > all.bytes / 2, "{:?}", row.tiers);
    let sent: u64 = tiers(&found).requests.iter().map(|(_, sums)| sums.bytes).sum();
    assert!(sent as f64 > 0.3 * of_server as f64, "{sent} of {of_server} bytes: {:?}", tiers(&found).requests);
    let relation = tiers(&found).relations.iter().find(|row| row.name == "public.rows").unwrap();
    assert_eq!(relation.tiers.all().blocks, all.blocks, "each has its relation");
    let level = found.findings.iter().find(|finding| finding.id == "sampled-level").unwrap();
    assert!(level.message.contains("tell which tier answered each read"), "{}", level.message);
}

#[test]
fn reads_of_workers_are_charged_to_the_statements_that_waited() {
    let Some((server, _alone)) = server("worker") else { return };
    let mut of_server = 0;
    let mut run = || {
        whole(&server, &["FROM rows", "FROM other"], || {
            let before = counted(&server);
            thread::scope(|scope| {
                scope.spawn(|| scan(&server, "SELECT count(rest) FROM rows", 6));
                scope.spawn(|| scan(&server, "SELECT count(*), max(rest) FROM other", 6));
            });
            of_server = counted(&server) - before;
        })
    };
    let charged = |found: &Ingested| -> u64 {
        let rows = ["FROM rows", "FROM other"].map(|part| found_of_statement(found, part));
        rows.iter().flatten().map(|row| row.tiers.all().bytes).sum()
    };
    // On a busy machine looks are late, and fewer of them meet the waits.
    let Some(mut found) = run() else { return };
    for _ in 0..3 {
        if charged(&found) as f64 > 0.5 * of_relations(&found).all().bytes as f64 {
            break;
        }
        let Some(again) = run() else { return };
        found = again;
    }
    let all = of_relations(&found).all();
    assert!((all.bytes as f64 / of_server as f64 - 1.0).abs() < 0.01, "{} bytes, {of_server} by the server", all.bytes);
    let rows = ["FROM rows", "FROM other"].map(|part| of_statement(&found, part));
    let estimated: u64 = rows.iter().map(|row| row.estimated).sum();
    assert!(estimated > 100, "{:?}", tiers(&found).readers);
    let charged = charged(&found);
    // Where looks are late, workers keep what no look found anyone waiting for; an attribution that fails has none.
    let part = charged as f64 / all.bytes as f64;
    assert!(part > 0.05, "{charged} of {} bytes: {:?}", all.bytes, tiers(&found).readers);
    if part < 0.25 {
        return println!("skipped: this machine is too busy: looks met {part:.2} of the reads in each of four runs");
    }
    let shares = rows.map(|row| row.tiers.all().bytes as f64 / charged as f64);
    assert!(shares.iter().all(|share| (0.25..0.75).contains(share)), "each reads as much: {shares:?}");
    assert!(all.reads >= rows[0].tiers.of(ReadTier::PageCache).reads);
}
