//! How fast the table of the access-path experiment is made, and how fast scans of rows and of units answer from it.
//!
//! `cargo run --release -p storage --example customers_speed [-- ROWS]`: ROWS customers (1 000 000) in the pool; times
//! are CPU time.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use storage::count::count_plain;
use storage::customers::SCHEMA;
use storage::exec::full_scan::full_scan;
use storage::exec::unit_scan::unit_scan;
use storage::heap::HeapTable;
use storage::loader::build_page;
use storage::manifest::{TableInfo, TableSpec};
use storage::page::PageView;
use storage::page_id::PAGE_SIZE;
use storage::pool::{Pool, PoolSettings};
use storage::question::{Answer, Comparison, Operator, Question};
use storage::table_rows::TableRows;
use storage::unit::Level;
use storage::unit::table::{UnitPlan, UnitTable, fill_block};
use storage::{PageId, StorageError};
use sys::account::process_cpu;

/// Repetitions; the median counts.
const ROUNDS: usize = 7;

const QUESTIONS: [(&str, Question); 3] = [
    ("all pass", Question { comparison: Some(compare(1, 0)), counted: 23 }),
    ("half pass", Question { comparison: Some(compare(5, 1950)), counted: 23 }),
    ("no predicate", Question { comparison: None, counted: 23 }),
];

const fn compare(column: u8, constant: i64) -> Comparison {
    Comparison { column, operator: Operator::Greater, constant }
}

fn main() -> Result<(), StorageError> {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let spec = TableSpec::customers("customers", rows, 1);
    let pages = spec.pages()?;
    let pool = Pool::new(PoolSettings::new((2 * pages as usize + 256) * PAGE_SIZE))?;
    let segment = pool.add_volatile_segment("customers", pages)?;
    let info = TableInfo::planned(&spec, segment)?;
    let maker = TableRows::of(&spec)?;
    let session = pool.session();
    let start = process_cpu();
    for number in 0..pages {
        build_page(&info, &maker, number, &mut *session.create(PageId { segment, number })?);
    }
    let made = (process_cpu() - start).as_seconds();
    println!("{rows} rows in {pages} blocks, made at {:.0} ns a row", made * 1e9 / rows as f64);
    let table = HeapTable::new(&info, segment);
    println!("question        count      ns/row   ns/block   plain ns/row");
    for (name, question) in QUESTIONS {
        let mut count = 0;
        let quick = median(|| {
            count = full_scan(&session, &table, 0..pages, &question)?.count;
            Ok(())
        })?;
        let plain = median(|| {
            let mut answer = Answer::default();
            for number in 0..pages {
                answer += count_plain(PageView::verified(&*session.get(PageId { segment, number })?), &question);
            }
            assert_eq!(answer, Answer { rows, count }, "the quick way and the plain way differ");
            Ok(())
        })?;
        let of = |seconds: f64, many: f64| seconds * 1e9 / many;
        let (rows, pages) = (rows as f64, f64::from(pages));
        println!("{name:14} {count:7} {:9.2} {:10.0} {:12.2}", of(quick, rows), of(quick, pages), of(plain, rows));
    }
    for level in [Level::QueryLow, Level::QueryHigh] {
        units(&pool, &table, level)?;
    }
    Ok(())
}

/// Builds units beside the rows, and scans them.
fn units(pool: &Pool, table: &HeapTable, level: Level) -> Result<(), StorageError> {
    let session = pool.session();
    let columns = SCHEMA.map(|column| column.kind);
    let segment = pool.add_volatile_segment(level.name(), table.pages())?;
    let start = process_cpu();
    let plan = UnitPlan { segment, first_block: 0, columns: &columns, level };
    let units = UnitTable::build(&session, table, &plan, &mut |number, part| {
        let id = PageId { segment, number };
        fill_block(&mut *session.create(id)?, id, part);
        Ok(())
    })?;
    let made = (process_cpu() - start).as_seconds() * 1e9 / units.rows() as f64;
    print!("{:12} {:.2} of the blocks, made at {made:.0} ns a row; ns/row", level.name(), part(&units, table));
    for (name, question) in QUESTIONS {
        let seconds = median(|| unit_scan(&session, &units, 0..units.units(), &question).map(drop))?;
        print!(" {name} {:.2},", seconds * 1e9 / units.rows() as f64);
    }
    println!();
    Ok(())
}

fn part(units: &UnitTable, table: &HeapTable) -> f64 {
    f64::from(units.blocks()) / f64::from(table.pages())
}

fn median(mut once: impl FnMut() -> Result<(), StorageError>) -> Result<f64, StorageError> {
    let mut seconds = [0.0; ROUNDS];
    for second in &mut seconds {
        let start = process_cpu();
        once()?;
        *second = (process_cpu() - start).as_seconds();
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[ROUNDS / 2])
}
