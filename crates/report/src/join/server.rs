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

/// The parameter of the server's way of reading, in whose column the engine is named.
const IO_METHOD: &str = "io_method";

/// Parameters that have columns of their own.
const SHOWN: [&str; 3] = ["method", "effective_io_concurrency", "direct"];

/// Whether a case was measured on a server.
pub(super) fn is_on_server(case: &Case) -> bool {
    let subject = cell(case, SUBJECT);
    !subject.is_empty() && subject != ENGINE
}

/// The table, the engine's joins above the server's; empty where the engine is alone.
pub(super) fn joins(on_server: &[&Case], engine: &[&Case], style: &Style) -> String {
    let Some(first) = on_server.first() else { return String::new() };
    let names: Vec<&str> = varying(on_server).into_iter().filter(|name| !SHOWN.contains(name)).collect();
    let cases: Vec<&Case> = engine.iter().chain(on_server).copied().collect();
    let has_direct = varying(&cases).contains(&"direct");
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
    let blocks = time_column(&cases.iter().map(|case| block_nanos(case)).collect::<Vec<_>>());
    let wait = |case: &&Case| median(case, "random_block").map(|micros| micros * 1e3);
    let waits = cases.iter().map(wait).collect::<Vec<_>>();
    let is_timed = waits.iter().any(Option::is_some);
    let waits = if is_timed { time_column(&waits) } else { vec![String::new(); cases.len()] };
    for ((case, block), wait) in cases.iter().zip(blocks).zip(waits) {
        let is_engine = !is_on_server(case);
        let own = |name: &&str| if is_engine && *name == IO_METHOD { ENGINE.into() } else { cell(case, name) };
        let mut cells: Vec<String> = names.iter().map(own).collect();
        let cache = if cell(case, "direct") == "true" { "by-passed" } else { "used" };
        cells.push(if has_direct { cache.into() } else { String::new() });
        let is_named = !is_engine || names.contains(&IO_METHOD);
        cells.push(if is_named { cell(case, "method") } else { format!("{ENGINE}: {}", cell(case, "method")) });
        let ahead = ["effective_io_concurrency", "look_ahead", "batch_size"].map(|name| cell(case, name));
        cells.push(ahead.into_iter().find(|ahead| !ahead.is_empty()).unwrap_or_else(|| ABSENT.into()));
        let elapsed = case.metric("elapsed").map(|metric| metric.statistics);
        cells.push(elapsed.map_or(ABSENT.into(), |elapsed| {
            let mean = three_digits(elapsed.mean);
            elapsed.stddev.map_or(mean.clone(), |sd| format!("{mean} ± {}", three_digits(sd)))
        }));
        let gain = median(case, "gain").or_else(|| super::gain(case, engine, "elapsed").filter(|_| is_engine));
        // What was found in memory gains nothing by being gathered.
        let gain = gain.filter(|_| blocks_read(case) != Some(0.0));
        cells.push(gain.map_or(ABSENT.into(), |gain| format!("{} ×", three_digits(gain))));
        cells.extend([blocks_read(case), median(case, "blocks_hit")].map(whole));
        cells.extend([block, wait]);
        table.row(cells);
    }
    let title = format!(
        "The engine and {} on the same rows: milliseconds of a join, how many times less than one block at a time (the \
         median of that over each), blocks of table and index that were read, and the join's time for a block:",
        cell(first, SUBJECT)
    );
    wrap(&title, style.width, 2) + "\n" + &table.render(style)
}

/// Blocks of table and index that were read.
fn blocks_read(case: &Case) -> Option<f64> {
    let both = || Some(median(case, "table_blocks")? + median(case, "index_blocks")?);
    median(case, "blocks_read").or_else(both)
}

/// The join's time for a block, in nanoseconds.
fn block_nanos(case: &Case) -> Option<f64> {
    let of_join = || Some(median(case, "elapsed")? * 1e3 / blocks_read(case).filter(|blocks| *blocks > 0.0)?);
    median(case, "elapsed_per_block").or_else(of_join).map(|micros| micros * 1e3)
}

fn whole(count: Option<f64>) -> String {
    count.map_or(ABSENT.into(), |count| format!("{count:.0}"))
}
