//! What a row costs that is reached by an index: in the order of the table, and in another.
//!
//! `cargo run --release -p storage --example index_speed [-- ROWS [ROUNDS]]`; 7 000 000 rows and 5 rounds unless told.
//! The table `customers` is made in the buffer pool, and its indexes on `cust_id` and on `cust_postal_code` beside it.
//! Each is scanned from one end to the other, and `cust_valid` of every row looked at, the last of 23 columns. The
//! rounds take turns, the median counts. Beside them stands the dependent load of the same process: what one visit of a
//! cold line costs, of which a row in another block needs four.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::ops::Bound;
use std::time::Instant;

use measure::statistics::median;
use storage::btree::{BTree, BulkSettings, Key, KeyKind, TreePlace};
use storage::exec::full_scan::full_scan;
use storage::exec::index_scan::{IndexScan, IndexScanResult, LOOK_AHEAD, count_by_index};
use storage::heap::HeapTable;
use storage::loader::build_page;
use storage::manifest::{TableInfo, TableSpec};
use storage::page::PageView;
use storage::page_id::PAGE_SIZE;
use storage::pool::{Pool, PoolSettings, Session};
use storage::question::{Comparison, Operator, Question};
use storage::table_rows::TableRows;
use storage::{PageId, RowId, SegmentId, StorageError, number};
use sys::account::thread_cpu;
use sys::chase::Chase;
use sys::clock::Clock;
use sys::region::Pages;

/// The column in whose order the rows stand.
const CUST_ID: u8 = 1;

/// The column in whose order hardly two rows of a block follow each other.
const POSTAL_CODE: u8 = 8;

/// Bytes of a postal code.
const POSTAL_CODE_BYTES: usize = 5;

/// The column that is looked at.
const CUST_VALID: u8 = 23;

/// The footprint of the dependent loads: as that of the rows, but no more.
const CHASE_BYTES_MAX: usize = 2 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let rows = arguments.next().unwrap_or(Ok(7_000_000))?;
    let rounds = arguments.next().unwrap_or(Ok(5))?;
    let spec = TableSpec::customers("customers", rows, 1);
    let index_pages = rows.div_ceil(500) + 64;
    let bytes = (u64::from(spec.pages()?) + 2 * index_pages + 1024) as usize * PAGE_SIZE;
    let pool = Pool::new(PoolSettings::new(bytes))?;
    let session = pool.session();
    let segment = pool.add_volatile_segment("rows", spec.pages()?)?;
    let info = TableInfo::planned(&spec, segment)?;
    fill(&session, &info)?;
    let table = HeapTable::new(&info, segment);
    let blocks = info.pages;
    println!("{rows} customers in {blocks} blocks, huge bytes {:?}", pool.huge_bytes());
    let good = index(&pool, &session, &table, CUST_ID)?;
    let bad = index(&pool, &session, &table, POSTAL_CODE)?;
    let mut chase = Chase::new((blocks as usize * 8192).min(CHASE_BYTES_MAX), Pages::Huge, 1)?;
    let clock = Clock::calibrate();
    let cases =
        [("good, cold", &good, 0), ("good", &good, LOOK_AHEAD), ("bad, cold", &bad, 0), ("bad", &bad, LOOK_AHEAD)];
    let mut found = [IndexScanResult::default(); 4];
    let mut times = vec![Vec::new(); cases.len() + 2];
    for _ in 0..rounds {
        for (at, (_, tree, look_ahead)) in cases.iter().enumerate() {
            let scan = IndexScan {
                lower: Bound::Unbounded,
                upper: Bound::Unbounded,
                column: CUST_VALID,
                look_ahead: *look_ahead,
            };
            let start = thread_cpu();
            found[at] = count_by_index(&session, tree, &scan)?;
            times[at].push(thread_cpu().since(start).0 as f64 / rows as f64);
        }
        times[4].push(scan_all(&session, &table)? / rows as f64);
        times[5].push(chase.latency_ns(&clock, 1 << 20));
    }
    let middle = |at: usize| median(&times[at]).unwrap_or(f64::NAN);
    println!("                 ns/row     rows   values  index gets  table gets  revisits");
    for (at, (name, ..)) in cases.iter().enumerate() {
        let IndexScanResult { rows, values, index_gets, table_gets, pinned_revisits } = found[at];
        println!(
            "{name:14} {:8.1} {rows:8} {values:8} {index_gets:11} {table_gets:11} {pinned_revisits:9}",
            middle(at)
        );
    }
    println!("full scan      {:8.1}", middle(4));
    println!("dependent load {:8.1} ns", middle(5));
    Ok(())
}

/// Makes the table in the pool.
fn fill(session: &Session<'_>, info: &TableInfo) -> Result<(), StorageError> {
    let rows = TableRows::of(&info.spec)?;
    for number in 0..info.pages {
        let page = PageId { segment: SegmentId(info.segment), number };
        build_page(info, &rows, number, &mut *session.create(page)?);
    }
    Ok(())
}

/// The index of a column. A key is at most eight bytes here, so all of them fit into memory as numbers.
fn index(pool: &Pool, session: &Session<'_>, table: &HeapTable, column: u8) -> Result<BTree, StorageError> {
    let mut entries: Vec<(u64, RowId)> = Vec::with_capacity(table.rows() as usize);
    for number in 0..table.pages() {
        let page = session.get(table.page(number))?;
        for (slot, row) in (0..).zip(PageView::verified(&page).rows()) {
            let value = row.column(column).flatten().unwrap_or(&[]);
            let key = if column == POSTAL_CODE { text_head(value) } else { number::decode(value).unwrap_or(0) as u64 };
            entries.push((key, RowId { page: table.page(number), slot }));
        }
    }
    entries.sort_unstable();
    let segment = pool.add_volatile_segment("index", entries.len().div_ceil(500) as u32 + 64)?;
    let keys = if column == POSTAL_CODE { KeyKind::Text } else { KeyKind::Number };
    let settings = BulkSettings { keys, fill_percent: 90, segment };
    let place = TreePlace { segment, table: table.segment(), name: "index".into() };
    let start = Instant::now();
    let tree = BTree::create_from(session, place, settings, |add| {
        entries.iter().try_for_each(|(key, row)| match keys {
            KeyKind::Number => add(Key::Number(*key as i64), *row),
            KeyKind::Text => add(Key::Text(&key.to_be_bytes()[..POSTAL_CODE_BYTES]), *row),
        })
    })?;
    let ns = start.elapsed().as_nanos() as f64 / tree.entries() as f64;
    println!(
        "column {column}: built from sorted entries in {ns:.0} ns an entry; height {}, {} leaves, clustering factor {}",
        tree.height(),
        tree.leaves(),
        tree.clustering_factor().unwrap_or(0)
    );
    Ok(tree)
}

/// The first bytes of a text as a number of the same order.
fn text_head(text: &[u8]) -> u64 {
    text.iter().take(8).fold(0, |head, byte| head << 8 | u64::from(*byte)) << (8 * (8 - text.len().min(8)))
}

/// Processor time of a scan of all blocks, in ns, with the same question.
fn scan_all(session: &Session<'_>, table: &HeapTable) -> Result<f64, StorageError> {
    let comparison = Some(Comparison { column: CUST_ID, operator: Operator::Greater, constant: 0 });
    let question = Question { comparison, counted: CUST_VALID };
    let start = thread_cpu();
    std::hint::black_box(full_scan(session, table, 0..table.pages(), &question)?);
    Ok(thread_cpu().since(start).0 as f64)
}
