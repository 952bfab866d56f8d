//! PostgreSQL as a contender: the backend's processor time for each block of each cell.

use server::BackendAccount;

use crate::interruption::Interruption;
use crate::postgres::cell::{TOUCHES, Touch};
use crate::postgres::tables::{EMPTY, Table};
use crate::private_postgres::{Connection, explained};

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
    session: &mut Connection,
    tables: &[Table],
    interruption: &Interruption,
) -> Result<Vec<Reading>, String> {
    let backend = session.backend()?;
    let empty = session.statement_ns(backend, &format!("SELECT count(*) FROM {EMPTY}"), 0, REPEATS)?;
    let mut readings = Vec::new();
    for table in tables {
        for touch in TOUCHES {
            interruption.check()?;
            readings.push(reading(session, backend, table, touch, empty)?);
        }
    }
    Ok(readings)
}

fn reading(
    session: &mut Connection,
    backend: BackendAccount,
    table: &Table,
    touch: Touch,
    empty_ns: f64,
) -> Result<Reading, String> {
    let statement = format!("SELECT {} FROM {}", touch.counted(table.cell), table.cell.table());
    let plain = session.statement_ns(backend, &statement, table.rows, REPEATS)?;
    let ((), with_plan) = session.processor_time(backend, |session| session.run(&explained(&statement)))?;
    session.expect_cached(&statement, table.blocks)?;
    let per_hit_us = |ns: f64| (ns - empty_ns) / table.blocks as f64 / 1000.0;
    Ok(Reading { lio_us: per_hit_us(plain), explained_us: per_hit_us(with_plan.0 as f64) })
}
