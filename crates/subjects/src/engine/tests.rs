//! The findings of the engine alone, read on both sides of their conditions.

use std::path::Path;

use measure::Size;
use measure::quantity::{size_in_words, three_digits};
use measure::schema::subjects::findings as row;
use sides::proptest::option;
use sides::proptest::prelude::{Just, any};
use sides::proptest::sample::select;
use sides::{Reading, reading, says};

use super::logical_reads;
use super::nested_loops::subject::{io_uring_refused, left_in_page_cache, table_fits_pool, virtual_time};
use crate::huge_pages;
use crate::nested_loops::{Asked, Io};

/// What the engine notices.
pub(crate) fn readings() -> Vec<Reading> {
    let model = |name: &Option<&'static str>| virtual_time(*name);
    let model = reading(row::VIRTUAL_TIME, option::of(Just("ssd")), model, |name| {
        name.map(|name| says![format!("Times are those of the model {name}, which serves reads")])
    });
    let values = (select(vec![Io::Async, Io::Sync]), select(vec!["io_uring", "threads", "pread"]));
    let refused = reading(
        row::IO_URING_REFUSED,
        values,
        |(io, method)| io_uring_refused(*io, method),
        |(io, method)| {
            (*io == Io::Async && *method == "threads")
                .then(|| says!["refuses io_uring: each read in flight has a thread"])
        },
    );
    // Seven rows of 1000 bytes and more stand in a block of 8 KiB.
    let fits =
        |(rows, pool): &(u64, u64)| table_fits_pool(&Asked { rows: *rows, pool: Size(pool << 13), ..Asked::default() });
    let fits = reading(row::TABLE_FITS_POOL, (1..4000_u64, 100..400_u64), fits, |(rows, pool)| {
        let blocks = rows.div_ceil(7);
        let [table, pool_said] = [blocks, *pool].map(|blocks| size_in_words(blocks << 13));
        (blocks < 2 * pool).then(|| says![format!("The table takes about {table} and the buffer pool {pool_said}: ")])
    });
    let left = reading(
        row::PAGE_CACHE_NOT_EMPTIED,
        0.0..0.02,
        |left| left_in_page_cache(*left, Path::new("/")),
        |left| {
            (*left > 0.01)
                .then(|| says![format!("Up to {} % of the table and its index stayed", three_digits(left * 100.0))])
        },
    );
    let granted = |granted: &Option<u64>| {
        huge_pages::not_granted("The pool", 16 << 20, granted.map(|pages| pages << 20), "every get")
    };
    let granted = reading(row::HUGE_PAGES_NOT_GRANTED, option::of(0..17_u64), granted, |granted| {
        let part = granted.map_or("an unknown part".into(), |pages| size_in_words(pages << 20));
        let is_enough = granted.is_some_and(|pages| pages >= 8);
        (!is_enough)
            .then(|| says![format!("The pool needs 2 MiB pages, but the system granted {part} of 16 MiB: every")])
    });
    let direct = reading(
        row::ABSENT_PHYSICAL_HERE,
        any::<bool>(),
        |direct| logical_reads::buffered(*direct),
        |direct| (!direct).then(|| says!["was not measured: the file system of the tables refuses direct I/O"]),
    );
    vec![model, refused, fits, left, granted, direct]
}
