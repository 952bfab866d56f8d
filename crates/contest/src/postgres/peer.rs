//! PostgreSQL as a contender: the backend's processor time for each block of each cell.

use crate::interruption::Interruption;
use crate::postgres::cell::{TOUCHES, Touch};
use crate::postgres::tables::{EMPTY, Table};
use crate::server::backend::{processor_ns, statement_ns};
use crate::server::plan::{Buffers, explained};
use crate::server::wire::Session;

/// How often a statement runs in one turn; the median counts.
const REPEATS: usize = 3;

/// What PostgreSQL needed for one cell and one touch in one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Processor time per shared hit, in µs.
    pub(crate) lio_us: f64,
    /// The same with `EXPLAIN (ANALYZE, BUFFERS)` in front of the statement.
    pub(crate) explained_us: f64,
}

/// One turn over all tables; readings in the order of the tables, and of the touches within each.
pub(crate) fn take_turn(
    session: &mut Session,
    tables: &[Table],
    interruption: &Interruption,
) -> Result<Vec<Reading>, String> {
    let empty = statement_ns(session, &format!("SELECT count(*) FROM {EMPTY}"), 0, REPEATS)?;
    let mut readings = Vec::new();
    for table in tables {
        for touch in TOUCHES {
            interruption.check()?;
            readings.push(reading(session, table, touch, empty)?);
        }
    }
    Ok(readings)
}

fn reading(session: &mut Session, table: &Table, touch: Touch, empty_ns: f64) -> Result<Reading, String> {
    let statement = format!("SELECT {} FROM {}", touch.counted(table.cell), table.cell.table());
    let plain = statement_ns(session, &statement, table.rows, REPEATS)?;
    let before = processor_ns(session.process)?;
    session.rows(&explained(&statement))?;
    let with_plan = (processor_ns(session.process)? - before) as f64;
    Buffers::of(session, &statement)?.expect_cached(table.blocks)?;
    let per_hit_us = |ns: f64| (ns - empty_ns) / table.blocks as f64 / 1000.0;
    Ok(Reading { lio_us: per_hit_us(plain), explained_us: per_hit_us(with_plan) })
}
