//! The access paths of a PostgreSQL server, on a private one with Debian's programs.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says why")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use server::private::{Installation, PrivateServer, ServerSettings};
use server::{Address, Limits, Session};
use storage::unit::Level;
use subjects::AccessPaths;
use subjects::access_engine::{AccessEngine, AccessSettings};
use subjects::access_paths::{AccessPath, Asked, ScanPass, Watch, ZoneMaps};
use subjects::postgres::access_paths::{ServerPath, ServerPaths};
use subjects::postgres::instructions;
use sys::time::Clock;

const DEBIAN: &str = "/usr/lib/postgresql/15";
const ROWS: u64 = 50_000;
const SEED: u64 = 1;

fn private() -> Option<PrivateServer> {
    if !Path::new(DEBIAN).exists() {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
        return None;
    }
    let installation = Installation::at(Path::new(DEBIAN)).unwrap();
    let settings = ServerSettings::new(256 << 20);
    Some(PrivateServer::start(&installation, &std::env::temp_dir(), settings, &AtomicBool::new(false)).unwrap())
}

fn open(server: &PrivateServer) -> ServerPaths {
    let session = Session::open(&Address::of(server.config()), Limits::default(), Arc::default()).unwrap();
    let mut paths = ServerPaths::open(session, ROWS, SEED).unwrap();
    paths.load(&mut |_, _| {}).unwrap();
    paths
}

/// What the engine counts of the same rows.
fn engine_count(asked: Asked) -> u64 {
    let settings = AccessSettings {
        rows: ROWS,
        seed: SEED,
        level: Level::QueryLow,
        paths: vec![AccessPath::FullScan],
        builders: 1,
        column_bytes_max: u64::MAX,
    };
    let mut engine = AccessEngine::new(settings, Clock::calibrate()).unwrap();
    engine.prepare(AccessPath::FullScan, &AtomicBool::new(false)).unwrap();
    let (zone_maps, watch) = (ZoneMaps::Off, Watch::Counters);
    engine.scan(&ScanPass { asked, threads: 1, laps: 1, zone_maps, kernel: None, watch }).unwrap().count
}

#[test]
fn every_path_counts_what_the_engine_counts_and_touches_the_blocks_that_it_should() {
    let Some(server) = private() else { return };
    let mut paths = open(&server);
    let expected = engine_count(Asked::AllPass);
    for path in ServerPath::ALL {
        let facts = paths.prepare(path, Asked::AllPass).unwrap();
        assert_eq!((facts.count, facts.buffers.reads), (expected, 0), "{path:?}");
        let (gets, blocks) = (facts.buffers.gets(), facts.blocks);
        let beside_table = gets - facts.index_blocks.unwrap_or(0).min(gets);
        match path {
            ServerPath::FullScan => assert_eq!(gets, blocks),
            ServerPath::IndexOnlyScan => assert!(gets < blocks / 2 && facts.heap_fetches == Some(0), "{facts:?}"),
            ServerPath::IndexBadClustering => assert!(beside_table > ROWS * 9 / 10, "{facts:?}"),
            ServerPath::BitmapScan | ServerPath::IndexGoodClustering => {
                assert!(beside_table.abs_diff(blocks) < blocks / 20, "{path:?} {facts:?}");
            }
        }
        let is_in_order = facts.correlation.map(|correlation| correlation > 0.99);
        let expected_order = match path {
            ServerPath::FullScan => None,
            ServerPath::IndexGoodClustering | ServerPath::IndexOnlyScan => Some(true),
            ServerPath::IndexBadClustering | ServerPath::BitmapScan => Some(false),
        };
        assert_eq!(is_in_order, expected_order, "{path:?}");
        let scan = paths.scan(path, Asked::AllPass, facts.count, 2).unwrap();
        assert!(scan.cost.0 > 0 && scan.cost <= scan.elapsed, "{path:?} {scan:?}");
        assert!(paths.scan(path, Asked::AllPass, facts.count + 1, 1).is_err(), "a wrong count is no measurement");
    }
    paths.finish().unwrap();
    let mut client = server.connect().unwrap();
    let schemas = client.query("SELECT 1 FROM pg_namespace WHERE nspname = 'readpath'", &[]).unwrap();
    assert!(schemas.is_empty(), "the schema is still there");
}

#[test]
fn the_other_questions_are_answered_as_the_engine_answers_them() {
    let Some(server) = private() else { return };
    let mut paths = open(&server);
    for asked in [Asked::NoPredicate, Asked::HalfPass] {
        let expected = engine_count(asked);
        for path in ServerPath::ALL.into_iter().filter(|path| path.unfit(asked).is_none()) {
            assert_eq!(paths.prepare(path, asked).unwrap().count, expected, "{path:?} {asked:?}");
        }
    }
}

#[test]
fn instructions_of_a_row_are_counted_for_every_path() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return;
    }
    let Some(mut server) = private() else { return };
    let (limit, stop) = (Duration::from_secs(300), Arc::default());
    let all = ServerPath::ALL;
    let counted = instructions::count(&mut server, &all, Asked::AllPass, SEED, limit, &stop, &mut |_| {}).unwrap();
    let rate = |path: ServerPath| {
        let found = counted.iter().find(|one| one.path == path).unwrap();
        found.events.instructions().unwrap() as f64 / found.rows as f64
    };
    let rates = all.map(rate);
    println!("instructions a row, by path: {rates:?}");
    assert!(rates.iter().all(|rate| (100.0..20_000.0).contains(rate)), "{rates:?}");
    assert!(rate(ServerPath::IndexBadClustering) > rate(ServerPath::IndexGoodClustering), "{rates:?}");
    assert!(rate(ServerPath::IndexOnlyScan) < rate(ServerPath::FullScan), "{rates:?}");
    assert!(counted.iter().all(|one| one.events.last_level_misses().is_none() && one.gets > 0));
    server.restart(ServerSettings::new(16 << 20), &stop).unwrap();
}
