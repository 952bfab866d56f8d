//! How fast rows are made and tables loaded.
//!
//! `cargo run --release -p storage --example load_speed [-- DIRECTORY [MIB]]`: MIB mebibytes of payload (256) for each
//! of the nine shapes of the published experiment, loaded into a directory made for it and removed again.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use storage::generator::{RowGenerator, RowShape};
use storage::loader::{build_page, load};
use storage::manifest::{TableInfo, TableSpec};
use storage::table_rows::TableRows;
use storage::{SegmentId, StorageError};

fn main() -> Result<(), StorageError> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into())).join("load-speed.data");
    let mib: u64 = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(256);
    println!("MB of payload a second; {mib} MiB, loaded into {}", directory.display());
    println!("row bytes x columns   rows made   pages made   loaded");
    for row_length in [2500, 250, 25] {
        for columns in [1, 5, 25] {
            let name = format!("{row_length}x{columns}");
            let spec = TableSpec::uniform(&name, RowShape { row_length, columns }, mib << 20, 1);
            let [rows, pages, loaded] = [rows_made(&spec)?, pages_made(&spec)?, loaded(&directory, &spec)?];
            println!("{row_length:9} x {columns:<7} {rows:11.0} {pages:12.0} {loaded:8.0}");
        }
    }
    // Only what this example has made lies there; what cannot be removed is left to be seen.
    drop(fs::remove_dir_all(&directory));
    Ok(())
}

/// One thread, rows only.
fn rows_made(spec: &TableSpec) -> Result<f64, StorageError> {
    let generator = RowGenerator::new(1, RowShape { row_length: spec.row_length, columns: spec.columns })?;
    let mut row = vec![0; generator.row_bytes()];
    rate(spec, || {
        for number in 0..spec.rows() {
            generator.fill(number, black_box(&mut row));
        }
        Ok(())
    })
}

/// One thread, whole pages with their checksums.
fn pages_made(spec: &TableSpec) -> Result<f64, StorageError> {
    let table = TableInfo::planned(spec, SegmentId(0))?;
    let rows = TableRows::of(spec)?;
    let mut page = Box::new([0; storage::page_id::PAGE_SIZE]);
    rate(spec, || {
        (0..table.pages).for_each(|number| build_page(&table, &rows, number, black_box(&mut page)));
        Ok(())
    })
}

fn loaded(directory: &Path, spec: &TableSpec) -> Result<f64, StorageError> {
    rate(spec, || load(directory, spec, &mut |_| (), &AtomicBool::new(false)).map(drop))
}

/// MB of payload a second.
fn rate(spec: &TableSpec, work: impl FnOnce() -> Result<(), StorageError>) -> Result<f64, StorageError> {
    let start = Instant::now();
    work()?;
    Ok(spec.payload as f64 / 1e6 / start.elapsed().as_secs_f64())
}
