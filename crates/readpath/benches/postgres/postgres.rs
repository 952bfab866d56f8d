//! PostgreSQL as a contender: the backend's processor time for each block of each cell.

use std::fs;

use measure::statistics::median;

use crate::cell::{TOUCHES, Touch};
use crate::interruption::Interruption;
use crate::plan::{Buffers, explained};
use crate::tables::{EMPTY, Table, number};
use crate::wire::Session;

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
    let empty = statement_ns(session, &format!("SELECT count(*) FROM {EMPTY}"), 0)?;
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
    let plain = statement_ns(session, &statement, table.rows)?;
    let before = processor_ns(session.process)?;
    session.rows(&explained(&statement))?;
    let with_plan = (processor_ns(session.process)? - before) as f64;
    Buffers::of(session, &statement)?.expect_cached(table.blocks)?;
    let per_hit_us = |ns: f64| (ns - empty_ns) / table.blocks as f64 / 1000.0;
    Ok(Reading { lio_us: per_hit_us(plain), explained_us: per_hit_us(with_plan) })
}

/// The backend's processor time for a statement that has to count `rows`, the median of [`REPEATS`].
fn statement_ns(session: &mut Session, statement: &str, rows: u64) -> Result<f64, String> {
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        let before = processor_ns(session.process)?;
        let counted = number(session, statement)?;
        samples.push((processor_ns(session.process)? - before) as f64);
        if counted != rows {
            return Err(format!("`{statement}` counted {counted} and not {rows}"));
        }
    }
    Ok(median(&samples).unwrap_or(f64::NAN))
}

/// The processor time of a process with one thread, in ns, from the scheduler.
///
/// `/proc/PID/stat` counts in ticks of 10 ms, as long as a whole scan. The count moves when the backend goes to sleep,
/// which it does right after its answer.
fn processor_ns(process: u32) -> Result<u64, String> {
    let path = format!("/proc/{process}/schedstat");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    processor_ns_of(&text).ok_or_else(|| format!("{path} says `{}`, no processor time", text.trim()))
}

/// The first of the three numbers; 0 stands there where the kernel does not count.
fn processor_ns_of(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok().filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_the_first_number() {
        assert_eq!(processor_ns_of("81234567 1200 34\n"), Some(81_234_567));
        assert_eq!(processor_ns_of("0 0 0\n"), None);
        assert_eq!(processor_ns_of(""), None);
    }

    #[test]
    fn the_own_process_has_used_some() {
        assert!(processor_ns(std::process::id()).unwrap() > 0);
    }
}
