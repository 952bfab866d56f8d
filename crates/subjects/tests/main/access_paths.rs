//! The access paths of the engine: whether they answer what the rows say, and what they count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dataset::DataSet;
use measure::schema::scan;
use storage::SegmentId;
use storage::catalog::{TableInfo, TableSpec};
use storage::exec::count::count_plain;
use storage::exec::question::{Answer, Comparison, Operator, Question};
use storage::heap::loader::build_page;
use storage::heap::rows::TableRows;
use storage::page::PageView;
use storage::page::id::PAGE_SIZE;
use subjects::access_paths::{AccessPath, AccessSettings, Asked, Level, PathFacts, ScanCost, ScanPass, Watch};
use subjects::engine::access_paths::AccessEngine;
use subjects::{AccessPaths, Places};
use sys::time::Clock;

const ROWS: u64 = 10_007;

/// The paths of the engine.
fn paths() -> Vec<AccessPath> {
    AccessEngine::offers(Asked::AllPass).iter().map(|offer| offer.path).collect()
}

fn settings(rows: u64, seed: u64) -> AccessSettings {
    AccessSettings {
        rows,
        seed,
        asked: Asked::AllPass,
        paths: Vec::new(),
        level: Level::QueryLow,
        zone_maps: true,
        builders: Some(2),
        memory: Some(1 << 30),
        watch: Watch::Counters,
    }
}

fn open(settings: AccessSettings) -> AccessEngine {
    let mut engine = AccessEngine::new(settings, Clock::calibrate(), Arc::default()).unwrap();
    engine.plan(&paths()).unwrap();
    engine
}

fn prepare(engine: &mut AccessEngine, path: AccessPath, asked: Asked) -> PathFacts {
    engine.prepare(path, asked, &mut |_, _| {}).unwrap().unwrap()
}

/// The answer by going through every row, column by column.
fn counted(rows: u64, seed: u64, asked: Asked) -> u64 {
    let compare = |column, constant| Some(Comparison { column, operator: Operator::Greater, constant });
    let comparison = match asked {
        Asked::AllPass => compare(1, 0),
        Asked::NoPredicate => None,
        Asked::HalfPass => compare(5, 1950),
    };
    let question = Question { comparison, counted: 23 };
    let info = TableInfo::planned(&TableSpec::new("customers", DataSet::customers(rows, seed)), SegmentId(0)).unwrap();
    let maker = TableRows::of(&info.spec).unwrap();
    let mut answer = Answer::default();
    for number in 0..info.pages {
        let mut page = [0; PAGE_SIZE];
        build_page(&info, &maker, number, &mut page);
        answer += count_plain(PageView::verified(&page), &question);
    }
    answer.count
}

fn pass(threads: usize) -> ScanPass<'static> {
    ScanPass { threads, laps: 2, kernel: None }
}

#[test]
fn every_path_answers_what_the_rows_say() {
    for (rows, seed, level) in [(1, 3, Level::QueryLow), (44, 4, Level::QueryHigh), (ROWS, 5, Level::ArchiveLow)] {
        for zone_maps in [true, false] {
            let mut engine = open(AccessSettings { level, zone_maps, ..settings(rows, seed) });
            for path in paths() {
                for asked in [Asked::AllPass, Asked::NoPredicate, Asked::HalfPass] {
                    if asked == Asked::HalfPass && (path.is_index() || path == AccessPath::ColumnCount) {
                        continue;
                    }
                    prepare(&mut engine, path, asked);
                    let expected = (rows, counted(rows, seed, asked));
                    for threads in [1, 3] {
                        let cost = engine.scan(&pass(threads)).unwrap();
                        assert_eq!((cost.rows, cost.count), expected, "{path} {asked} {threads} {zone_maps}");
                        assert_eq!(cost.physical_reads, 0, "{path}");
                        assert!(path.counts_bytes() || cost.touched.is_none_or(|bytes| bytes == 0), "{path}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_index_whose_order_is_not_the_rows_gets_a_block_again_and_again() {
    let mut engine = open(settings(ROWS, 1));
    let blocks = engine.row_blocks().unwrap();
    let mut gets = |path| {
        let facts = prepare(&mut engine, path, Asked::AllPass);
        let fact = |spec| facts.value(&spec).unwrap() as u64;
        let cost = engine.scan(&pass(1)).unwrap();
        let table_gets = cost.table_gets.unwrap();
        assert_eq!(table_gets, 2 * fact(scan::CLUSTERING_FACTOR), "gets of the table are the clustering factor");
        assert!(cost.gets >= table_gets + 2 * fact(scan::LEAF_BLOCKS), "{cost:?}");
        assert_eq!(table_gets + cost.pinned_revisits.unwrap(), 2 * ROWS, "each row is a get or a revisit");
        table_gets / 2
    };
    assert!(gets(AccessPath::IndexBadClustering) > 20 * blocks);
    assert_eq!(gets(AccessPath::IndexGoodClustering), blocks);
    prepare(&mut engine, AccessPath::FullScan, Asked::AllPass);
    assert_eq!(engine.scan(&pass(2)).unwrap().gets, 2 * blocks);
}

#[test]
fn a_pass_that_valgrind_watches_costs_as_many_gets_as_any_other() {
    let usual = AccessSettings { zone_maps: false, ..settings(ROWS, 1) };
    let mut engine = open(usual.clone());
    let mut counted = open(AccessSettings { watch: Watch::Valgrind, ..usual });
    for path in paths() {
        let [cost, watched] = [&mut engine, &mut counted].map(|engine| {
            prepare(engine, path, Asked::AllPass);
            engine.scan(&pass(1)).unwrap()
        });
        let work = |cost: &ScanCost| (cost.gets, cost.table_gets, cost.pinned_revisits, cost.rows, cost.count);
        assert_eq!(work(&watched), work(&cost), "{path:?}");
    }
}

#[test]
fn software_events_are_counted_around_a_pass_and_what_is_not_counted_has_its_reason() {
    let mut engine = open(AccessSettings { zone_maps: false, ..settings(ROWS, 1) });
    // Columns by several threads are counted over the whole process, in which other tests run too.
    for (path, threads) in [(AccessPath::FullScan, 1), (AccessPath::FullScan, 2), (AccessPath::ColumnScan, 1)] {
        prepare(&mut engine, path, Asked::AllPass);
        let cost = engine.scan(&ScanPass { laps: 50, ..pass(threads) }).unwrap();
        match cost.tally.of("task_clock") {
            Ok(clock) => {
                // The counters run from just before the clock is read until just after. Where the host takes the
                // processor away, its clock may go on, and the time of the thread does not.
                let (cpu, clock) = (cost.cpu.0 as f64, clock.value());
                let most = cost.elapsed.0 as f64 * threads as f64 * 1.1 + 1e6;
                assert!((cpu * 0.9..most).contains(&clock), "{path:?} {threads}: {clock} of {cpu} ns, {most} at most");
            }
            Err(reason) => println!("skipped: {reason}"),
        }
        if let Err(reason) = cost.tally.of("instructions") {
            assert!(reason.to_string().len() > 20, "{reason}");
        }
    }
}

#[test]
fn zone_maps_that_are_off_have_every_code_read() {
    let scanned = |zone_maps, path| {
        let mut engine = open(AccessSettings { zone_maps, ..settings(ROWS, 1) });
        let facts = prepare(&mut engine, path, Asked::AllPass);
        let is_told = facts.parameters.get("zone_maps").and_then(|told| told.as_bool());
        assert_eq!(is_told, (path == AccessPath::ColumnScan).then_some(zone_maps));
        let cost = engine.scan(&pass(1)).unwrap();
        (cost.touched.unwrap(), cost.units.unwrap(), cost.count)
    };
    let (bytes, units, count) = scanned(true, AccessPath::ColumnScan);
    assert!(bytes == 0 && units.read == 0 && units.unread > 0, "{bytes} {units:?}");
    let (bytes, units, _) = scanned(false, AccessPath::ColumnScan);
    assert!(bytes > 2 * ROWS && units.read > 0 && units.unread == 0, "{bytes} {units:?}");
    let (bytes, _, counted) = scanned(false, AccessPath::ColumnCount);
    assert_eq!((bytes, counted), (0, count));
}

#[test]
fn a_stop_ends_whatever_is_being_made() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut engine = AccessEngine::new(settings(ROWS, 1), Clock::calibrate(), Arc::clone(&stop)).unwrap();
    engine.plan(&paths()).unwrap();
    stop.store(true, Ordering::Relaxed);
    for path in paths() {
        let error = engine.prepare(path, Asked::AllPass, &mut |_, _| {}).unwrap_err();
        assert!(error.is_stop(), "{path}: {error}");
        let unprepared = engine.scan(&pass(1)).unwrap_err().to_string();
        assert!(unprepared.contains("prepared"), "{unprepared}");
    }
}

#[test]
fn memory_is_forecast_for_what_is_asked_for_and_no_less_than_it_takes() {
    let mut engine = open(settings(ROWS, 1));
    let needs = engine.plan(&[AccessPath::FullScan, AccessPath::ColumnCount]).unwrap();
    let structures: Vec<&str> = needs.iter().map(|need| need.structure).collect();
    assert_eq!(structures, ["the blocks of rows", "the columns"]);
    let with_index = engine.plan(&[AccessPath::IndexBadClustering]).unwrap();
    assert!(with_index[0].bytes > needs[0].bytes && needs[0].bytes > engine.row_blocks().unwrap() * 8192);
}

#[test]
fn an_index_scan_refuses_a_question_about_another_column() {
    let mut engine = open(settings(100, 1));
    prepare(&mut engine, AccessPath::IndexGoodClustering, Asked::HalfPass);
    let error = engine.scan(&pass(1)).unwrap_err().to_string();
    assert!(error.contains("compares no other column"), "{error}");
}

#[test]
fn a_table_that_cannot_be_is_refused_with_the_option_that_asks_for_it() {
    let refused = |settings| AccessEngine::new(settings, Clock::calibrate(), Arc::default()).err().unwrap().to_string();
    assert!(refused(settings(0, 1)).starts_with("--rows 0 is not possible"));
}

#[test]
fn a_path_that_cannot_answer_is_refused_before_anything_is_made_unless_another_one_can() {
    let places = Places::default();
    let place = places.iter().next().unwrap();
    let offered = |paths: &[AccessPath]| {
        let asked = AccessSettings { asked: Asked::HalfPass, paths: paths.to_vec(), ..settings(1, 1) };
        place.access_paths(&asked).map(drop)
    };
    assert!(offered(&[AccessPath::ColumnCount]).unwrap_err().contains("leave one of the two out"));
    assert!(offered(&[AccessPath::BitmapScan]).unwrap_err().contains("names no path of engine"));
    assert_eq!(offered(&[AccessPath::ColumnCount, AccessPath::ColumnScan]), Ok(()));
    assert_eq!(offered(&[]), Ok(()));
}
