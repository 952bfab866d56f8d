//! Joins on a server: how long they took, what gathering gained, and what was read, beside the engine's.

use measure::Case;

use super::median;
use crate::number::{ABSENT, three_digits, time_column};
use crate::parameters::{cell, heading, varying};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// The parameter that tells subjects apart, and the value that is no server.
const SUBJECT: &str = "subject";
const ENGINE: &str = "engine";

/// Parameters that have columns of their own.
const SHOWN: [&str; 3] = ["method", "effective_io_concurrency", "direct"];

/// Whether a case was measured on a server.
pub(super) fn is_on_server(case: &Case) -> bool {
    let subject = cell(case, SUBJECT);
    !subject.is_empty() && subject != ENGINE
}

/// The table; empty where the engine is alone.
pub(super) fn joins(cases: &[&Case], style: &Style) -> String {
    let Some(first) = cases.first() else { return String::new() };
    let names: Vec<&str> = varying(cases).into_iter().filter(|name| !SHOWN.contains(name)).collect();
    let has_direct = varying(cases).contains(&"direct");
    let mut table = Table::new();
    for name in &names {
        table = table.column(&heading(name), Align::Left);
    }
    table = table
        .optional_column("cache", Align::Left)
        .column("method", Align::Left)
        .column("ahead", Align::Right)
        .column("elapsed", Align::Right)
        .column("gain", Align::Decimal)
        .column("read", Align::Right)
        .optional_column("hit", Align::Right)
        .column("a block", Align::Decimal)
        .optional_column("waiting", Align::Decimal);
    let nanos = |case: &&Case, name: &str| median(case, name).map(|micros| micros * 1e3);
    let blocks = time_column(&cases.iter().map(|case| nanos(case, "elapsed_per_block")).collect::<Vec<_>>());
    let waits = cases.iter().map(|case| nanos(case, "random_block")).collect::<Vec<_>>();
    let is_timed = waits.iter().any(Option::is_some);
    let waits = if is_timed { time_column(&waits) } else { vec![String::new(); cases.len()] };
    for ((case, block), wait) in cases.iter().zip(blocks).zip(waits) {
        let mut cells: Vec<String> = names.iter().map(|name| cell(case, name)).collect();
        let cache = if cell(case, "direct") == "true" { "by-passed" } else { "used" };
        cells.push(if has_direct { cache.into() } else { String::new() });
        let concurrency = cell(case, "effective_io_concurrency");
        cells.extend([cell(case, "method"), if concurrency.is_empty() { ABSENT.into() } else { concurrency }]);
        let elapsed = case.metric("elapsed").map(|metric| metric.statistics);
        cells.push(elapsed.map_or(ABSENT.into(), |elapsed| {
            let mean = three_digits(elapsed.mean);
            elapsed.stddev.map_or(mean.clone(), |sd| format!("{mean} ± {}", three_digits(sd)))
        }));
        cells.push(median(case, "gain").map_or(ABSENT.into(), |gain| format!("{} ×", three_digits(gain))));
        cells.extend(["blocks_read", "blocks_hit"].map(|name| whole(case, name)));
        cells.extend([block, wait]);
        table.row(cells);
    }
    let title = format!(
        "On {}: milliseconds of a join, how many times less than its nested loop, blocks of table and index that were \
         read and found in shared buffers, and a block's time: the join's, and the wait for its read:",
        cell(first, SUBJECT)
    );
    wrap(&title, style.width, 2) + "\n" + &table.render(style)
}

fn whole(case: &Case, name: &str) -> String {
    median(case, name).map_or(ABSENT.into(), |count| format!("{count:.0}"))
}
