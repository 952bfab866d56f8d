//! The engine's count of physical reads against the kernel's. Alone in its process, so that the kernel's is exact.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::sync::Arc;

use subjects::LogicalReads;
use subjects::engine::Engine;
use subjects::logical_reads::{Asked, Cell, ColdRead, Population, Table};
use sys::process::process_fetched;
use sys::time::Clock;
use tempfile::TempDir;

const CELL: Cell = Cell { row_length: 250, columns: 5, payload: 2 << 20 };

/// An engine with the cell's table, and the pages of that.
fn engine(folder: &TempDir) -> (Engine, u64) {
    let asked = Asked { directory: folder.path().into(), cells: vec![CELL], seed: 3, ..Asked::default() };
    let mut engine = Engine::new(asked, Clock::calibrate(), Arc::default()).unwrap();
    let facts = engine.prepare(&Table::Made(CELL), &mut |_, _| ()).unwrap();
    (engine, facts.pages)
}

/// The kernel also books a page of this program that it had dropped from memory, so a scan is repeated; blocks that the
/// pool miscounts are there every time.
#[test]
fn what_the_pool_reads_is_what_the_kernel_fetched() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut first, pages) = engine(&folder);
    if first.read_cold(ColdRead::SingleBlocks, 1).unwrap().is_err() {
        println!("skipped: the file system of the build refuses direct I/O");
        return;
    }
    drop(first);
    let mut seen = Vec::new();
    let mut engine = loop {
        let (mut engine, _) = engine(&folder);
        let (before, counts) = (process_fetched().unwrap(), engine.pool().counts());
        engine.populate(Population::FullScan, None).unwrap().unwrap();
        let fetched = process_fetched().unwrap() - before;
        let blocks = engine.pool().counts().since(counts).blocks_read;
        assert_eq!(blocks, pages);
        if fetched == blocks * 8192 {
            break engine;
        }
        seen.push((fetched, blocks * 8192));
        assert!(seen.len() < 5, "bytes of the kernel and of the pool: {seen:?}");
    };
    let counts = engine.pool().counts();
    assert_eq!(engine.read_cold(ColdRead::SingleBlocks, 50).unwrap().unwrap().len(), 50);
    let cold = engine.pool().counts().since(counts);
    assert_eq!((cold.physical_reads, cold.blocks_read, cold.gets), (50, 50, 50));
    let ranges = engine.read_cold(ColdRead::Ranges, 256).unwrap().unwrap();
    assert_eq!(ranges.len(), 2);
}
