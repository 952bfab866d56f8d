//! What a walk over one page costs, for the nine shapes of row of the published experiment.
//!
//! `cargo run --release -p storage --example walk_speed [-- MIB [shuffled]]`: the pages fill MIB mebibytes (256), in
//! huge pages where the system grants them, and are walked in page order, or in random order. Printed is processor
//! time, the least of several passes, in ns a page and in ns a row; for comparison, what a plain loop over the first
//! byte of every cache line takes, and a walk of one row after the other.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::hint::black_box;

use measure::random::{Permutation, SplitMix64};
use storage::page::{PageBytes, PageKind, PageMut, PageView};
use storage::row::{self, Value};
use storage::walk::{Touch, Walked, walk_ahead, walk_plain};
use storage::{PageId, SegmentId};
use sys::account::thread_cpu;
use sys::region::{Pages, Region};

/// Passes over all pages; the least one counts, because other users of the machine can only add.
const PASSES: usize = 8;

fn main() {
    let mib = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(256);
    let mut region = Region::new(mib << 20, Pages::Huge).expect("memory for the pages");
    let is_shuffled = std::env::args().nth(2).is_some_and(|text| text == "shuffled");
    let count = pages_of(&region).len();
    let order: Vec<usize> = match is_shuffled {
        true => {
            let order = Permutation::new(count as u64, &mut SplitMix64::new(1));
            order.into_numbers().map(|number| number as usize).collect()
        }
        false => (0..count).collect(),
    };
    let lines = least_ns(|| touch_lines(&in_order(&region, &order)));
    let huge = region.huge_bytes().map_or("an unknown number of".into(), |bytes| (bytes >> 20).to_string());
    println!("{mib} MiB, {huge} MiB on huge pages, shuffled: {is_shuffled}; ns a page (ns a row)");
    println!("first byte of all lines of a page, plain loop: {:.0}", lines / count as f64);
    println!("row bytes x columns  rows/page    directory          rows             last column      one by one");
    for row_bytes in [2500, 250, 25] {
        for columns in [1, 5, 25] {
            fill(&mut region, row_bytes, columns);
            println!("{}", line_of(&in_order(&region, &order), row_bytes, columns));
        }
    }
}

/// The results of one shape.
fn line_of(pages: &[&PageBytes], row_bytes: usize, columns: u8) -> String {
    let rows = walk_plain(PageView::verified(pages[0]), Touch::Directory).rows;
    let mut line = format!("{row_bytes:9} x {columns:<7} {rows:9}");
    let per_page = |ns: f64| ns / pages.len() as f64;
    for touch in [Touch::Directory, Touch::Rows, Touch::Column(columns)] {
        let ns = per_page(least_ns(|| scan(pages, touch)));
        line += &format!("  {ns:7.1} ({:6.2})", ns / rows as f64);
    }
    line + &format!("  {:7.1}", per_page(least_ns(|| scan_plain(pages, Touch::Column(columns)))))
}

fn pages_of(region: &Region) -> &[PageBytes] {
    region.bytes().as_chunks().0
}

fn in_order<'a>(region: &'a Region, order: &[usize]) -> Vec<&'a PageBytes> {
    order.iter().map(|number| &pages_of(region)[*number]).collect()
}

/// Fills all pages with rows of `columns` equal columns, `row_bytes` long together.
fn fill(region: &mut Region, row_bytes: usize, columns: u8) {
    let value = vec![b'v'; row_bytes / usize::from(columns)];
    let values: Vec<Value<'_>> = vec![Some(&value); usize::from(columns)];
    let mut row = Vec::new();
    row::encode(&values, &mut row);
    for (number, bytes) in (0..).zip(region.bytes_mut().as_chunks_mut().0) {
        let mut page = PageMut::format(bytes, PageId { segment: SegmentId(0), number }, PageKind::Heap);
        while page.append(&row).is_some() {}
    }
}

fn scan(pages: &[&PageBytes], touch: Touch) {
    let mut walked = Walked::default();
    for (page, next) in pages.iter().zip(pages.iter().cycle().skip(1)) {
        walked += walk_ahead(PageView::verified(page), next, touch);
    }
    black_box(walked);
}

fn scan_plain(pages: &[&PageBytes], touch: Touch) {
    let mut walked = Walked::default();
    for page in pages {
        walked += walk_plain(PageView::verified(page), touch);
    }
    black_box(walked);
}

fn touch_lines(pages: &[&PageBytes]) {
    let sum: u64 = pages.iter().flat_map(|page| page.chunks(64)).map(|line| u64::from(line[0])).sum();
    black_box(sum);
}

/// Processor time of one pass in ns, the least of [`PASSES`].
fn least_ns(mut pass: impl FnMut()) -> f64 {
    let once = || {
        let start = thread_cpu();
        pass();
        thread_cpu().since(start).0 as f64
    };
    std::iter::repeat_with(once).take(PASSES).fold(f64::INFINITY, f64::min)
}
