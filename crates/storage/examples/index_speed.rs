//! What a row costs that is reached by an index: in the order of the table, and in another.
//!
//! `cargo run --release -p storage --example index_speed [-- ROWS [ROUNDS]]`; 7 000 000 rows and 5 rounds unless told.
//! Rows of 23 columns, some 180 bytes long, are made in the buffer pool, and two indexes beside them. Each is scanned
//! from one end to the other, and the last column of every row looked at; a third of them have none. The rounds take
//! turns, the median counts. Beside them stands the dependent load of the same process: what one visit of a cold line
//! costs, of which a row in random order needs four.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::ops::Bound;
use std::time::Instant;

use measure::random::{Permutation, SplitMix64, mix};
use measure::statistics::median;
use storage::btree::{BTree, BulkSettings, Key, KeyKind, TreePlace};
use storage::exec::index_scan::{IndexScan, IndexScanResult, LOOK_AHEAD, count_by_index};
use storage::page::{PageKind, PageMut};
use storage::pool::{Pool, PoolSettings, Session};
use storage::row::{self, Value};
use storage::walk::{Touch, walk};
use storage::{PageId, RowId, SegmentId, StorageError};
use sys::account::thread_cpu;
use sys::chase::Chase;
use sys::clock::Clock;
use sys::region::Pages;

/// Bytes of the columns of a row; the last one is there in two of three rows.
const LENGTHS: [usize; 23] = [8, 7, 9, 1, 4, 8, 17, 5, 9, 6, 13, 6, 5, 12, 21, 5, 22, 8, 6, 3, 8, 0, 1];

/// The footprint of the dependent loads: as that of the rows, but no more.
const CHASE_BYTES_MAX: usize = 2 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let rows = arguments.next().unwrap_or(Ok(7_000_000))?;
    let rounds = arguments.next().unwrap_or(Ok(5))?;
    let pages = rows.div_ceil(30) as u32 + 1;
    let index_pages = rows.div_ceil(500) as u32 + 64;
    let bytes = (pages + 2 * index_pages + 1024) as usize * storage::page_id::PAGE_SIZE;
    let pool = Pool::new(PoolSettings::new(bytes))?;
    let session = pool.session();
    let table = pool.add_volatile_segment("rows", pages)?;
    let places = fill(&session, table, rows)?;
    let blocks = places.last().map_or(0, |row| row.page.number + 1);
    let good = index(&pool, &session, table, index_pages, &mut places.iter().copied())?;
    let mut shuffled =
        Permutation::new(rows, &mut SplitMix64::new(1)).into_numbers().map(|number| places[number as usize]);
    let bad = index(&pool, &session, table, index_pages, &mut shuffled)?;
    println!("{rows} rows of 23 columns in {blocks} blocks, huge bytes {:?}", pool.huge_bytes());
    for (name, tree) in [("good", &good), ("bad", &bad)] {
        let (height, leaves, factor) = (tree.height(), tree.leaves(), tree.clustering_factor().unwrap_or(0));
        println!("{name}: height {height}, {leaves} leaves, clustering factor {factor}");
    }
    let mut chase = Chase::new((blocks as usize * 8192).min(CHASE_BYTES_MAX), Pages::Huge, 1)?;
    let clock = Clock::calibrate();
    let cases =
        [("good, cold", &good, 0), ("good", &good, LOOK_AHEAD), ("bad, cold", &bad, 0), ("bad", &bad, LOOK_AHEAD)];
    let mut found = [IndexScanResult::default(); 4];
    let mut times = vec![Vec::new(); cases.len() + 2];
    for _ in 0..rounds {
        for (at, (_, tree, look_ahead)) in cases.iter().enumerate() {
            let scan =
                IndexScan { lower: Bound::Unbounded, upper: Bound::Unbounded, column: 23, look_ahead: *look_ahead };
            let start = thread_cpu();
            found[at] = count_by_index(&session, tree, &scan)?;
            times[at].push(thread_cpu().since(start).0 as f64 / rows as f64);
        }
        times[4].push(full_scan(&session, table, blocks)? / rows as f64);
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

/// Fills the table and tells where its rows stand.
fn fill(session: &Session<'_>, table: SegmentId, rows: u64) -> Result<Vec<RowId>, StorageError> {
    let mut places = Vec::with_capacity(rows as usize);
    let text = [b'x'; 32];
    let mut bytes = Vec::new();
    let mut number = 0;
    let mut page = PageId { segment: table, number: 0 };
    while number < rows {
        let mut guard = session.create(page)?;
        let mut heap = PageMut::format(&mut guard, page, PageKind::Heap);
        while number < rows {
            let mut values: Vec<Value<'_>> = LENGTHS.iter().map(|length| Some(&text[..*length])).collect();
            // Lengths differ from row to row, and some columns have no value.
            values[14] = (!number.is_multiple_of(10)).then_some(&text[..(mix(number) % 20) as usize + 10]);
            values[21] = None;
            values[22] = (number % 3 > 0).then_some(&text[..1]);
            bytes.clear();
            row::encode(&values, &mut bytes);
            let Some(slot) = heap.append(&bytes) else { break };
            places.push(RowId { page, slot });
            number += 1;
        }
        page.number += 1;
    }
    Ok(places)
}

/// An index whose keys are the numbers from 0 of rows in this order.
fn index(
    pool: &Pool,
    session: &Session<'_>,
    table: SegmentId,
    pages: u32,
    rows: &mut dyn Iterator<Item = RowId>,
) -> Result<BTree, StorageError> {
    let segment = pool.add_volatile_segment("index", pages)?;
    let settings = BulkSettings { keys: KeyKind::Number, fill_percent: 90, segment };
    let place = TreePlace { segment, table, name: "index".into() };
    let start = Instant::now();
    let tree = BTree::create_from(session, place, settings, |add| {
        rows.zip(0..).try_for_each(|(row, number)| add(Key::Number(number), row))
    })?;
    println!("built from sorted entries: {:.0} ns an entry", start.elapsed().as_nanos() as f64 / tree.entries() as f64);
    Ok(tree)
}

/// Processor time of a scan of all blocks, in ns.
fn full_scan(session: &Session<'_>, table: SegmentId, blocks: u32) -> Result<f64, StorageError> {
    let start = thread_cpu();
    let mut folded = 0_u64;
    for number in 0..blocks {
        let page = session.get_scan(PageId { segment: table, number })?;
        folded = folded.wrapping_add(walk(storage::page::PageView::verified(&page), Touch::Column(23)).folded);
    }
    std::hint::black_box(folded);
    Ok(thread_cpu().since(start).0 as f64)
}
