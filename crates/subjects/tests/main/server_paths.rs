//! The access paths of a PostgreSQL server, on a private one with Debian's programs.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use measure::schema::scan;
use subjects::access_paths::{AccessPath, AccessSettings, Asked, Counting, Level, ScanPass, Watch};
use subjects::{AccessPaths, Environment, Opening, Places};
use sys::time::Clock;
use sys::valgrind::Simulated;

const DEBIAN: &str = "/usr/lib/postgresql/15";
const ROWS: u64 = 20_000;

/// The paths of a server.
const PATHS: [AccessPath; 5] = [
    AccessPath::IndexBadClustering,
    AccessPath::BitmapScan,
    AccessPath::IndexGoodClustering,
    AccessPath::FullScan,
    AccessPath::IndexOnlyScan,
];

fn open(word: &str, asked: Asked) -> Box<dyn AccessPaths> {
    let settings = AccessSettings {
        rows: ROWS,
        seed: 1,
        asked,
        paths: Vec::new(),
        level: Level::QueryLow,
        zone_maps: false,
        builders: Some(1),
        memory: None,
        watch: Watch::Counters,
    };
    let places: Places = word.parse().unwrap();
    let opener = places.iter().next().unwrap().access_paths(&settings).unwrap();
    let mut opening = Opening {
        environment: &Environment::new(std::env::temp_dir()),
        clock: Clock::calibrate(),
        stop: Arc::default(),
        progress: &mut |_, _| {},
    };
    let mut subject = opener.open(&mut opening).unwrap();
    let paths = subject.paths(asked).into_iter().filter(|offer| offer.absence.is_none()).map(|offer| offer.path);
    subject.plan(&paths.collect::<Vec<_>>()).unwrap();
    subject
}

fn server(asked: Asked) -> Option<Box<dyn AccessPaths>> {
    if !Path::new(DEBIAN).exists() {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
        return None;
    }
    Some(open(&format!("postgres:{DEBIAN}"), asked))
}

/// What the engine counts of the same rows.
fn engine_count(asked: Asked) -> u64 {
    let mut engine = open("engine", asked);
    engine.prepare(AccessPath::FullScan, asked, &mut |_, _| {}).unwrap().unwrap();
    engine.scan(&ScanPass { threads: 1, laps: 1, kernel: None }).unwrap().count
}

#[test]
fn every_path_counts_what_the_engine_counts_and_touches_the_blocks_that_it_should() {
    let Some(mut server) = server(Asked::AllPass) else { return };
    let expected = engine_count(Asked::AllPass);
    let mut loads = 0;
    for path in PATHS {
        let mut progress = |what: &str, _: Duration| loads += u32::from(what.starts_with("loading"));
        let facts = server.prepare(path, Asked::AllPass, &mut progress).unwrap().unwrap();
        let cost = server.scan(&ScanPass { threads: 1, laps: 2, kernel: None }).unwrap();
        assert_eq!((cost.count, cost.rows, cost.physical_reads), (expected, ROWS, 0), "{path}");
        assert!(cost.cpu.0 > 0 && cost.cpu <= cost.elapsed, "{path} {cost:?}");
        let fact = |spec| facts.value(&spec).map(|value| value as u64);
        let (gets, blocks) = (cost.gets / 2, fact(scan::BLOCKS).unwrap());
        let of_the_table = gets - fact(scan::INDEX_BLOCKS).unwrap_or(0).min(gets);
        match path {
            AccessPath::FullScan => assert_eq!(gets, blocks),
            AccessPath::IndexOnlyScan => {
                assert!(gets < blocks / 2 && fact(scan::HEAP_FETCHES) == Some(0), "{facts:?}")
            }
            AccessPath::IndexBadClustering => assert!(of_the_table > ROWS * 9 / 10, "{facts:?}"),
            _ => assert!(of_the_table.abs_diff(blocks) < blocks / 20, "{path} {facts:?}"),
        }
        let is_in_order = facts.value(&scan::CORRELATION).map(|correlation| correlation > 0.99);
        let expected_order = match path {
            AccessPath::FullScan => None,
            AccessPath::IndexGoodClustering | AccessPath::IndexOnlyScan => Some(true),
            _ => Some(false),
        };
        assert_eq!(is_in_order, expected_order, "{path}");
    }
    assert_eq!(loads, 1, "the rows are loaded once for all paths");
    let refused = server.prepare(AccessPath::ColumnScan, Asked::AllPass, &mut |_, _| {}).unwrap_err();
    assert!(refused.to_string().contains("no path column-scan"), "{refused}");
    assert!(server.description().contains_key("version"));
    let closing = server.finish();
    assert_eq!(closing.outcome, Ok(()));
    assert!(closing.own_cost.iter().any(|metric| metric.name == "share_of_server"), "{closing:?}");
}

#[test]
fn the_other_questions_are_answered_as_the_engine_answers_them() {
    for asked in [Asked::NoPredicate, Asked::HalfPass] {
        let Some(mut server) = server(asked) else { return };
        let expected = engine_count(asked);
        let offers = server.paths(asked);
        for offer in offers.iter().filter(|offer| offer.absence.is_none()) {
            server.prepare(offer.path, asked, &mut |_, _| {}).unwrap().unwrap();
            let cost = server.scan(&ScanPass { threads: 1, laps: 1, kernel: None }).unwrap();
            assert_eq!(cost.count, expected, "{} {asked}", offer.path);
        }
    }
}

#[test]
fn instructions_of_a_row_are_counted_for_every_path_and_the_server_is_there_again() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return;
    }
    let Some(mut server) = server(Asked::AllPass) else { return };
    let counting = server.count_instructions(Asked::AllPass, Duration::from_secs(300), &mut |_, _| {}).unwrap();
    let Counting::Counted(counted) = counting else { panic!("{counting:?}: {:?}", server.findings()) };
    let rate = |path: AccessPath| {
        let found = counted.iter().find(|one| one.path == path).unwrap();
        found.events.instructions().unwrap() as f64 / found.rows as f64
    };
    let rates = PATHS.map(rate);
    println!("instructions a row, by path: {rates:?}");
    assert!(rates.iter().all(|rate| (100.0..20_000.0).contains(rate)), "{rates:?}");
    assert!(rate(AccessPath::IndexBadClustering) > rate(AccessPath::IndexGoodClustering), "{rates:?}");
    assert!(rate(AccessPath::IndexOnlyScan) < rate(AccessPath::FullScan), "{rates:?}");
    assert!(counted.iter().all(|one| one.events.sum(Simulated::LAST_LEVEL_MISSES).is_none() && one.gets > 0));
    server.prepare(AccessPath::FullScan, Asked::AllPass, &mut |_, _| {}).unwrap().unwrap();
}
