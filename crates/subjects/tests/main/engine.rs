//! The engine as a subject: what it counts against what the kernel counts, and what becomes of bad luck.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use subjects::LogicalReads;
use subjects::engine::Engine;
use subjects::logical_reads::{Access, Asked, Cell, Cost, Pass, Population, Snapshot, Table, TableFacts, Touch};
use subjects::logical_reads::{Counts, VersionCounts};
use sys::time::Clock;

const CELL: Cell = Cell { row_length: 250, columns: 5, payload: 2 << 20 };
const SCAN: Pass = Pass { access: Access::FullScan, touch: Touch::Rows, threads: 1, laps: 1, as_of: None };

fn counts(cost: &Cost) -> Counts {
    cost.counts.unwrap()
}

fn versions(cost: &Cost) -> VersionCounts {
    counts(cost).versions.unwrap()
}

fn engine(directory: &Path, changed_rows_max: u32) -> Engine {
    stoppable(directory, changed_rows_max, Arc::default())
}

fn stoppable(directory: &Path, changed_rows_max: u32, stop: Arc<AtomicBool>) -> Engine {
    let (directory, changed_rows) = (directory.into(), vec![changed_rows_max]);
    let asked = Asked { directory, cells: vec![CELL], changed_rows, seed: 3, ..Asked::default() };
    Engine::new(asked, Clock::calibrate(), stop).unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn populated(directory: &Path, changed_rows_max: u32) -> (Engine, TableFacts) {
    let mut engine = engine(directory, changed_rows_max);
    let facts = engine.prepare(&Table::Made(CELL), &mut |_, _| ()).unwrap();
    engine.populate(Population::FullScan, None).unwrap().unwrap();
    (engine, facts)
}

#[test]
fn a_full_scan_gets_every_block_once_and_reads_nothing() {
    let folder = folder();
    let (mut engine, facts) = populated(folder.path(), 0);
    for threads in [1, 2, 3] {
        for touch in [Touch::Nothing, Touch::Directory, Touch::Rows, Touch::Column(5)] {
            let cost = engine.read(&Pass { threads, touch, laps: 2, ..SCAN }).unwrap();
            assert_eq!((counts(&cost).gets, counts(&cost).physical_reads), (2 * facts.pages, 0), "{touch:?} {threads}");
            assert_eq!(
                counts(&cost).rows,
                if touch == Touch::Nothing { 0 } else { 2 * facts.rows },
                "{touch:?} {threads}"
            );
            assert!(cost.cpu.0 > 0 && cost.elapsed.0 > 0);
        }
    }
}

#[test]
fn every_way_to_the_rows_finds_the_same_rows() {
    let folder = folder();
    let (mut engine, facts) = populated(folder.path(), 0);
    let touch = Touch::Column(3);
    let mut read = |access, threads| engine.read(&Pass { access, touch, threads, ..SCAN }).unwrap();
    let scanned = read(Access::FullScan, 1);
    for (access, threads) in [(Access::FullScan, 2), (Access::Rowid, 1), (Access::Rowid, 2), (Access::RowidInOrder, 1)]
    {
        let cost = read(access, threads);
        assert_eq!((counts(&cost).rows, cost.folded), (counts(&scanned).rows, scanned.folded), "{access:?} {threads}");
        assert_eq!(
            counts(&cost).gets + versions(&cost).pinned_revisits,
            if access == Access::FullScan { facts.pages } else { facts.rows }
        );
    }
    assert_eq!(counts(&read(Access::RowidInOrder, 1)).gets, facts.pages);
    assert_eq!(counts(&read(Access::OnePage, 2)).gets, facts.pages);
}

#[test]
fn readers_of_an_earlier_snapshot_find_the_rows_as_they_were() {
    let folder = folder();
    let (mut engine, facts) = populated(folder.path(), 50);
    let last = Pass { touch: Touch::Column(5), ..SCAN };
    let before = engine.read(&last).unwrap();
    let snapshot = engine.populate(Population::FullScan, Some(50)).unwrap().unwrap();
    let as_of = engine.read(&Pass { as_of: snapshot, ..last }).unwrap();
    assert_eq!((counts(&as_of).rows, as_of.folded), (counts(&before).rows, before.folded));
    assert_eq!(versions(&as_of).rebuilt_blocks, facts.pages);
    assert_eq!(counts(&as_of).gets, facts.pages + versions(&as_of).undo_gets);
    assert!(versions(&as_of).undo_gets >= facts.pages);
    let later = engine.read(&Pass { as_of: Some(Snapshot(1)), ..last }).unwrap();
    assert_eq!((versions(&later).rebuilt_blocks, versions(&later).undo_gets), (0, 0));
    engine.populate(Population::FullScan, None).unwrap().unwrap();
    let again: Cost = engine.read(&Pass { as_of: Some(Snapshot(0)), ..last }).unwrap();
    assert_eq!((again.folded, versions(&again).rebuilt_blocks), (before.folded, 0));
}

#[test]
fn rows_that_chance_draws_beyond_their_share_find_room_for_their_undo() {
    let folder = folder();
    // Of 419 rows, three of which fit into a page of undo, this seed draws 237.
    let cell = Cell { row_length: 2500, columns: 5, payload: 1 << 20 };
    let (directory, changed_rows) = (folder.path().into(), vec![50]);
    let asked = Asked { directory, cells: vec![cell], changed_rows, seed: 8, ..Asked::default() };
    let mut engine = Engine::new(asked, Clock::calibrate(), Arc::default()).unwrap();
    engine.prepare(&Table::Made(cell), &mut |_, _| ()).unwrap();
    assert!(engine.populate(Population::FullScan, Some(50)).unwrap().unwrap().is_some());
}

#[test]
fn the_order_of_loading_changes_where_blocks_lie_and_nothing_else() {
    let folder = folder();
    let (mut engine, _) = populated(folder.path(), 0);
    let in_order = engine.read(&SCAN).unwrap();
    engine.populate(Population::Interleaved, None).unwrap().unwrap();
    let interleaved = engine.read(&SCAN).unwrap();
    assert_eq!((counts(&interleaved).gets, counts(&interleaved).physical_reads), (counts(&in_order).gets, 0));
    assert_eq!(interleaved.folded, in_order.folded);
}

#[test]
fn a_damaged_page_is_named_and_never_read() {
    let folder = folder();
    drop(populated(folder.path(), 0));
    let file = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|end| end == "pages")).unwrap();
    File::options().write(true).open(&file).unwrap().write_all_at(b"?", 100 * 8192 + 5000).unwrap();
    let mut engine = engine(folder.path(), 0);
    engine.prepare(&Table::Made(CELL), &mut |_, _| ()).unwrap();
    let message = engine.populate(Population::FullScan, None).unwrap_err().to_string();
    assert!(message.contains("page 100") && message.contains("damaged"), "{message}");
}

#[test]
fn a_stopped_load_leaves_no_table() {
    let folder = folder();
    let stop = Arc::new(AtomicBool::new(true));
    let error = stoppable(folder.path(), 0, stop).prepare(&Table::Made(CELL), &mut |_, _| ()).unwrap_err();
    assert!(error.is_stop());
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.ends_with(".pages")).count(), 0);
}
