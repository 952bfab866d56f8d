//! Instructions a row, counted by valgrind in a child of this program.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use subjects::AccessPaths;
use subjects::access_paths::{AccessPath, Asked, ScanPass};
use sys::time::Clock;
use sys::valgrind::{Callgrind, Part, counted};

use crate::scan::engine::{access_engine, turn_to};

/// Two units of columns: what is done once a unit is counted in its proportion.
const ROWS: u64 = 1 << 20;

/// Scans that are counted, with the first one, which wakes the threads.
const LAPS: u32 = 9;
const SCANS: u64 = LAPS as u64 + 1;

/// The child makes a table some ten times slower than without valgrind.
const LIMIT: Duration = Duration::from_secs(600);

/// What the child does: makes the columns and scans them, only the scans counted.
pub(crate) fn scan_counted(asked: Asked) -> Result<(), String> {
    let path = if asked == Asked::NoPredicate { AccessPath::ColumnCount } else { AccessPath::ColumnScan };
    let mut engine = access_engine(ROWS, &[path], Clock::calibrate())?;
    turn_to(&mut engine, path, asked)?;
    let pass = ScanPass { threads: 1, laps: LAPS, kernel: None };
    let cost = counted(|| (), || engine.scan(&pass)).map_err(|error| error.to_string())?;
    if cost.rows == ROWS { Ok(()) } else { Err(format!("{} rows were scanned", cost.rows)) }
}

/// Instructions a row for a question, as `program` (this one) carries them out.
pub(crate) fn per_row(program: &Path, asked: Asked, scratch: &Path) -> Result<f64, String> {
    let words = [program.into(), "scan".into(), "--counted-under-valgrind".into(), OsString::from(asked.name())];
    let callgrind =
        Callgrind { words: &words, part: Part::BetweenRequests, scratch, limit: Some(LIMIT), last_cache: None };
    let counted = callgrind.run(Stdio::null(), &AtomicBool::new(false)).map_err(|error| error.to_string())?;
    let instructions = counted.simulated.instructions().ok_or("valgrind counted no instructions")?;
    Ok(instructions as f64 / (ROWS * SCANS) as f64)
}
