//! How fast the scanner alone is:
//! `cargo run --release -p profile --example scan_speed -- FILE [WORKERS [CHUNK_BYTES]]`.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::path::PathBuf;
use std::time::Instant;

use profile::input::{self, Given};
use profile::source::oracle::read::{ReadOptions, read};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("a file"));
    let mut number = |otherwise: usize| arguments.next().map_or(otherwise, |text| text.parse().expect("a number"));
    let options = ReadOptions { workers: number(1), chunk_bytes: number(ReadOptions::CHUNK_BYTES) };
    let begin = Instant::now();
    let (mut bytes, mut records) = (0, 0);
    let source = input::open(&Given::File(path)).expect("a readable file");
    read(source, options, &mut |batch| {
        bytes += batch.read_bytes + batch.unread.iter().map(|unread| unread.bytes).sum::<u64>();
        records += batch.records.len();
    })
    .expect("a file that is read to its end");
    let seconds = begin.elapsed().as_secs_f64();
    println!("{records} records, {bytes} bytes, {:.3} GB/s", bytes as f64 / seconds / 1e9);
}
