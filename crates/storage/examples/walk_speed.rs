#![allow(clippy::print_stdout)]
//! variants
use measure::random::SplitMix64;
use std::time::Instant;
use storage::page::*;
use storage::walk::*;
use storage::{PageId, SegmentId};
use sys::region::{Pages, Region};

fn fill(region: &mut Region, row_bytes: usize, columns: usize) -> u64 {
    let (chunks, _) = region.bytes_mut().as_chunks_mut::<8192>();
    let mut random = SplitMix64::new(1);
    let mut rows = 0;
    for (n, bytes) in chunks.iter_mut().enumerate() {
        let mut page = PageMut::format(bytes, PageId { segment: SegmentId(0), number: n as u32 }, PageKind::Heap);
        loop {
            let value = vec![random.next_u64() as u8 & 63; row_bytes / columns];
            let v: Vec<Option<&[u8]>> = (0..columns).map(|_| Some(&value[..])).collect();
            let mut out = Vec::new();
            storage::row::encode(&v, &mut out);
            if page.append(&out).is_none() { break; }
            rows += 1;
        }
    }
    rows
}

fn main() {
    let mut region = Region::new(256 << 20, Pages::Huge).unwrap();
    for row_bytes in [2500, 250, 25] {
        for columns in [1, 5, 25] {
            let rows = fill(&mut region, row_bytes, columns);
            let (pages, _) = region.bytes().as_chunks::<8192>();
            print!("{row_bytes:5} x {columns:2} rows/page {:4} ", rows / pages.len() as u64);
            for touch in [Touch::Directory, Touch::Rows, Touch::Column(columns as u8)] {
                for variant in 0..2 {
                    let mut best = f64::MAX;
                    for _ in 0..3 {
                        let start = Instant::now();
                        let mut sum = Walked::default();
                        for i in 0..pages.len() {
                            let next = &pages[(i + 1) % pages.len()];
                            sum += match variant {
                                0 => walk(PageView::verified(&pages[i]), touch),
                                1 => walk_ahead(PageView::verified(&pages[i]), next, touch),
                                _ => unreachable!(),
                            };
                        }
                        std::hint::black_box(sum);
                        best = best.min(start.elapsed().as_nanos() as f64 / pages.len() as f64);
                    }
                    print!(" {best:7.1}");
                }
                print!(" |");
            }
            println!();
        }
    }
}
