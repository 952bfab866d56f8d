//! The access paths of the engine: whether they answer what the rows say, and what they count.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::sync::atomic::AtomicBool;

use dataset::DataSet;
use storage::SegmentId;
use storage::count::count_plain;
use storage::loader::build_page;
use storage::manifest::{TableInfo, TableSpec};
use storage::page::PageView;
use storage::page_id::PAGE_SIZE;
use storage::question::{Answer, Comparison, Operator, Question};
use storage::table_rows::TableRows;
use subjects::AccessPaths;
use subjects::access_engine::{AccessEngine, AccessSettings};
use subjects::access_paths::{AccessPath, Asked, Level, ScanCost, ScanPass, Structure, Watch, ZoneMaps};
use sys::time::Clock;

static GO: AtomicBool = AtomicBool::new(false);
const ROWS: u64 = 10_007;

fn engine(rows: u64, seed: u64, level: Level) -> AccessEngine {
    let paths = AccessPath::ALL.to_vec();
    let settings = AccessSettings { rows, seed, level, paths, builders: 2, column_bytes_max: 1 << 30 };
    AccessEngine::new(settings, Clock::calibrate()).unwrap()
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

fn pass(asked: Asked, threads: usize, zone_maps: ZoneMaps) -> ScanPass {
    ScanPass { asked, threads, laps: 2, zone_maps, kernel: None, watch: Watch::Counters }
}

#[test]
fn every_path_answers_what_the_rows_say() {
    for (rows, seed, level) in [(1, 3, Level::QueryLow), (44, 4, Level::QueryHigh), (ROWS, 5, Level::ArchiveLow)] {
        let mut engine = engine(rows, seed, level);
        for path in AccessPath::ALL {
            engine.prepare(path, &GO).unwrap();
            for asked in [Asked::AllPass, Asked::NoPredicate, Asked::HalfPass] {
                if asked == Asked::HalfPass && (path.is_index() || path == AccessPath::ColumnCount) {
                    continue;
                }
                for (threads, zone_maps) in [(1, ZoneMaps::On), (3, ZoneMaps::Off)] {
                    let cost = engine.scan(&pass(asked, threads, zone_maps)).unwrap();
                    let expected = (rows, counted(rows, seed, asked));
                    assert_eq!((cost.rows, cost.count), expected, "{path:?} {asked:?} {threads} {zone_maps:?}");
                    assert_eq!(cost.physical_reads, 0, "{path:?}");
                }
            }
        }
    }
}

#[test]
fn an_index_whose_order_is_not_the_rows_gets_a_block_again_and_again() {
    let mut engine = engine(ROWS, 1, Level::QueryLow);
    let blocks = engine.row_blocks().unwrap();
    let mut gets = |path| {
        let facts = engine.prepare(path, &GO).unwrap();
        let cost = engine.scan(&pass(Asked::AllPass, 1, ZoneMaps::On)).unwrap();
        let table_gets = cost.table_gets.unwrap();
        assert_eq!(table_gets, 2 * facts.clustering_factor.unwrap(), "gets of the table are the clustering factor");
        assert!(cost.gets >= table_gets + 2 * facts.leaf_blocks.unwrap(), "{cost:?}");
        assert_eq!(table_gets + cost.pinned_revisits, 2 * ROWS, "each row is a get or a revisit");
        table_gets / 2
    };
    assert!(gets(AccessPath::IndexBadClustering) > 20 * blocks);
    assert_eq!(gets(AccessPath::IndexGoodClustering), blocks);
    engine.prepare(AccessPath::FullScan, &GO).unwrap();
    assert_eq!(engine.scan(&pass(Asked::AllPass, 2, ZoneMaps::On)).unwrap().gets, 2 * blocks);
}

#[test]
fn a_pass_that_valgrind_watches_costs_as_many_gets_as_any_other() {
    let mut engine = engine(ROWS, 1, Level::QueryLow);
    for path in AccessPath::ALL {
        engine.prepare(path, &GO).unwrap();
        let usual = pass(Asked::AllPass, 1, ZoneMaps::Off);
        let cost = engine.scan(&usual).unwrap();
        let watched = engine.scan(&ScanPass { watch: Watch::Valgrind, ..usual }).unwrap();
        let work = |cost: &ScanCost| (cost.gets, cost.table_gets, cost.pinned_revisits, cost.rows, cost.count);
        assert_eq!(work(&watched), work(&cost), "{path:?}");
    }
}

#[test]
fn software_events_are_counted_around_a_pass_and_what_is_not_counted_has_its_reason() {
    let mut engine = engine(ROWS, 1, Level::QueryLow);
    // Columns by several threads are counted over the whole process, in which other tests run too.
    for (path, threads) in [(AccessPath::FullScan, 1), (AccessPath::FullScan, 2), (AccessPath::ColumnScan, 1)] {
        engine.prepare(path, &GO).unwrap();
        let cost = engine.scan(&ScanPass { laps: 50, ..pass(Asked::AllPass, threads, ZoneMaps::Off) }).unwrap();
        match cost.tally.of("task_clock") {
            Ok(clock) => {
                // The counters run from just before the clock is read until just after.
                let (cpu, clock) = (cost.cpu.0 as f64, clock.value());
                assert!((cpu * 0.9..cpu * 2.0 + 1e6).contains(&clock), "{path:?} {threads}: {clock} of {cpu} ns");
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
    let mut engine = engine(ROWS, 1, Level::QueryLow);
    engine.prepare(AccessPath::ColumnScan, &GO).unwrap();
    let on = engine.scan(&pass(Asked::AllPass, 1, ZoneMaps::On)).unwrap();
    let off = engine.scan(&pass(Asked::AllPass, 1, ZoneMaps::Off)).unwrap();
    assert!(on.column_bytes == Some(0) && on.units_read == 0 && on.units_unread > 0, "{on:?}");
    assert!(off.column_bytes > Some(2 * ROWS) && off.units_read > 0 && off.units_unread == 0, "{off:?}");
    engine.prepare(AccessPath::ColumnCount, &GO).unwrap();
    let count = engine.scan(&pass(Asked::AllPass, 1, ZoneMaps::Off)).unwrap();
    assert_eq!((count.column_bytes, count.count), (Some(0), on.count));
}

#[test]
fn a_stop_ends_whatever_is_being_made() {
    let stop = AtomicBool::new(true);
    let mut engine = engine(ROWS, 1, Level::QueryLow);
    for path in AccessPath::ALL {
        let error = engine.prepare(path, &stop).unwrap_err();
        assert!(error.is_stop(), "{path:?}: {error}");
        let unprepared = engine.scan(&pass(Asked::AllPass, 1, ZoneMaps::On)).unwrap_err().to_string();
        assert!(unprepared.contains("prepared"), "{unprepared}");
    }
}

#[test]
fn memory_is_forecast_for_what_is_asked_for_and_no_less_than_it_takes() {
    let engine = engine(ROWS, 1, Level::QueryLow);
    let needs = engine.memory_needed(&[AccessPath::FullScan, AccessPath::ColumnCount], &GO).unwrap();
    assert_eq!(needs.iter().map(|need| need.structure).collect::<Vec<_>>(), [Structure::Rows, Structure::Columns]);
    let with_index = engine.memory_needed(&[AccessPath::IndexBadClustering], &GO).unwrap();
    assert!(with_index[0].bytes > needs[0].bytes && needs[0].bytes > engine.row_blocks().unwrap() * 8192);
}

#[test]
fn an_index_scan_refuses_a_question_about_another_column() {
    let mut engine = engine(100, 1, Level::QueryLow);
    engine.prepare(AccessPath::IndexGoodClustering, &GO).unwrap();
    let error = engine.scan(&pass(Asked::HalfPass, 1, ZoneMaps::On)).unwrap_err().to_string();
    assert!(error.contains("compares no other column"), "{error}");
    let none =
        AccessSettings { rows: 0, seed: 1, level: Level::QueryLow, paths: vec![], builders: 1, column_bytes_max: 0 };
    let refused = AccessEngine::new(none, Clock::calibrate());
    assert!(matches!(refused.err(), Some(subjects::SubjectError::Parameters(_))));
}
