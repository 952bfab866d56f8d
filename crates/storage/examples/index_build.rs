//! What it takes to build an index on the disk: time, memory, pages.
//!
//! `cargo run --release -p storage --example index_build [-- ROWS [DIRECTORY]]`; 5 000 000 rows and a folder in the
//! current one unless told. A table of one column of 25 letters is loaded, and an index is built over it.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use storage::SegmentId;
use storage::btree::KeyKind;
use storage::btree::sort::KeySorter;
use storage::btree::stored::{self, IndexSpec, Watch};
use storage::generator::RowShape;
use storage::heap::{HeapTable, PageAccess};
use storage::loader;
use storage::manifest::TableSpec;
use storage::page_id::PageId;
use storage::pool::{Pinned, Pool, PoolSettings, Session};
use sys::target::{Caching, Target};

/// Bytes of a row's text.
const ROW_BYTES: u32 = 25;

/// Blocks that are read at once.
const BLOCKS_PER_READ: u32 = 128;

/// A session that reads ahead: the table is read once and in order.
struct ReadAhead<'a> {
    session: Session<'a>,
    pages: u32,
}

impl PageAccess for ReadAhead<'_> {
    type Guard<'a>
        = Pinned<'a>
    where
        Self: 'a;

    fn get(&self, page: PageId) -> Result<Pinned<'_>, storage::StorageError> {
        if page.number.is_multiple_of(BLOCKS_PER_READ) {
            self.session.prefetch_range(page, BLOCKS_PER_READ.min(self.pages - page.number))?;
        }
        self.session.get_scan(page)
    }

    fn prefetch(&self, _page: PageId) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows: u64 = arguments.first().map_or(Ok(5_000_000), |text| text.parse())?;
    let directory = Path::new(arguments.get(1).map_or("index_build.data", String::as_str));
    let stop = AtomicBool::new(false);
    let shape = RowShape { row_length: ROW_BYTES, columns: 1 };
    let spec = TableSpec::uniform("rows", shape, rows * u64::from(ROW_BYTES), 1);
    let start = Instant::now();
    let info = loader::load(directory, &spec, &mut |_| (), &stop)?;
    println!("table: {} rows in {} pages, {:.1} s", info.rows, info.pages, start.elapsed().as_secs_f64());
    let pool = Pool::new(PoolSettings::new(64 << 20))?;
    let target = Target::open(&info.path(directory), Caching::Direct)?;
    let verify = loader::verifier(SegmentId(info.segment));
    let segment = pool.add_segment(target, info.pages, move |bytes, page| verify(bytes, page.number))?;
    let access = ReadAhead { session: pool.session(), pages: info.pages };
    let table = HeapTable::new(&info, segment);
    let (name, keys) = ("rows_by_1".into(), KeyKind::Text);
    let spec = IndexSpec { name, table: "rows".into(), column: 1, keys, fill_percent: 90 };
    let start = Instant::now();
    let source = |sorter: &mut KeySorter<'_>| {
        stored::keys_of_table(&access, &table, 1, sorter)?;
        println!("read and sorted into runs: {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    };
    let index = stored::load(directory, &spec, source, Watch { progress: &mut |_| (), stop: &stop })?;
    let seconds = start.elapsed().as_secs_f64();
    println!("index: {:.1} s, {:.0} ns a row", seconds, seconds * 1e9 / rows as f64);
    println!("{index:?}");
    println!("{:.1} bytes an entry", index.file_bytes() as f64 / index.entries as f64);
    let status = std::fs::read_to_string("/proc/self/status")?;
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("most memory: {line}"));
    Ok(())
}
