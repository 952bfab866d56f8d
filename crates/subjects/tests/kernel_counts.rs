//! The engine's count of physical reads against the kernel's. Alone in its process, so that the kernel's is exact.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::sync::Arc;

use subjects::LogicalReads;
use subjects::engine::Engine;
use subjects::logical_reads::{Asked, Cell, ColdRead, Population, Table};
use sys::process::process_io;
use sys::time::Clock;

const CELL: Cell = Cell { row_length: 250, columns: 5, payload: 2 << 20 };

#[test]
fn what_the_pool_reads_is_what_the_kernel_fetched() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let asked = Asked { directory: folder.path().into(), cells: vec![CELL], seed: 3, ..Asked::default() };
    let mut engine = Engine::new(asked, Clock::calibrate(), Arc::default()).unwrap();
    let facts = engine.prepare(&Table::Made(CELL), &mut |_, _| ()).unwrap();
    if engine.read_cold(ColdRead::SingleBlocks, 1).unwrap().is_err() {
        println!("skipped: the file system of the build refuses direct I/O");
        return;
    }
    let (before, counts) = (process_io().unwrap(), engine.pool().counts());
    engine.populate(Population::FullScan, None).unwrap().unwrap();
    let fetched = process_io().unwrap().since(before).read_bytes;
    let blocks = engine.pool().counts().since(counts).blocks_read;
    assert_eq!(blocks, facts.pages);
    assert_eq!(fetched, blocks * 8192);
    let counts = engine.pool().counts();
    assert_eq!(engine.read_cold(ColdRead::SingleBlocks, 50).unwrap().unwrap().len(), 50);
    let cold = engine.pool().counts().since(counts);
    assert_eq!((cold.physical_reads, cold.blocks_read, cold.gets), (50, 50, 50));
    let ranges = engine.read_cold(ColdRead::Ranges, 256).unwrap().unwrap();
    assert_eq!(ranges.len(), 2);
}
