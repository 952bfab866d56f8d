//! readpath's own joins as a contender: its engine as `readpath join` uses it, through the library.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use measure::Size;
use measure::schema::contest::{BLOCKS_PER_SECOND, CPU_PER_ROW, JOIN_TIME};
use storage::exec::nested_loop::{Distance, JoinResult, Method};
use subjects::engine::nested_loops::{BATCH_SIZE, JoinEngine, PassCost, ROWID_BATCH_SIZE};
use subjects::nested_loops::{Asked, Io, LOOK_AHEAD};
use sys::time::Clock;

use crate::join::question::{CACHED, COLD, Keys, ONE_BY_ONE, READS, sum_of, table};
use crate::ledger::Ledger;

/// The methods as `readpath join` has them by default.
pub(crate) const METHODS: [(&str, Method); 4] = [
    ("one-at-a-time", Method::OneAtATime),
    ("prefetch", Method::Prefetch(Distance::UpTo(LOOK_AHEAD))),
    ("batch", Method::Batch(BATCH_SIZE)),
    ("batched-rowid", Method::BatchedRowid(ROWID_BATCH_SIZE)),
];

/// The pool of cold joins; PostgreSQL's shared buffers are as large.
pub(crate) const POOL_BYTES: u64 = 32 << 20;
/// The pool of joins with everything cached.
pub(crate) const LARGE_POOL_BYTES: u64 = 1 << 30;

/// A method's name among the contenders.
pub(crate) fn name(method: &str) -> String {
    format!("readpath {method}")
}

/// The engine three times over the same files: many reads at once, one after the other, and a large pool.
pub(crate) struct Engine {
    many: JoinEngine,
    single: JoinEngine,
    large: JoinEngine,
}

/// Which keys each part of a turn takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Held against fio.
    pub(crate) rate: [Keys; 4],
    /// Held against PostgreSQL, and one after the other.
    pub(crate) cold: Keys,
    /// With everything cached.
    pub(crate) cached: Keys,
}

impl Engine {
    /// Makes the table below `directory`.
    pub(crate) fn new(directory: &Path, rows: u64, clock: Clock) -> Result<Engine, String> {
        let engine = |io, pool_bytes| -> Result<JoinEngine, String> {
            let asked = Asked { directory: directory.into(), pool: Size(pool_bytes), io, ..Asked::default() };
            let mut engine = JoinEngine::new(asked, clock).map_err(|error| error.to_string())?;
            let stop = AtomicBool::new(false);
            engine.prepare(table(rows), &mut |_, _| (), &stop).map_err(|error| error.to_string())?;
            Ok(engine)
        };
        Ok(Engine {
            many: engine(Io::Async, POOL_BYTES)?,
            single: engine(Io::Sync, POOL_BYTES)?,
            large: engine(Io::Async, LARGE_POOL_BYTES)?,
        })
    }

    /// The file of the table.
    pub(crate) fn table_file(&self) -> Result<PathBuf, String> {
        self.many.paths().map(|[table, _]| table).map_err(|error| error.to_string())
    }

    /// One turn of every method.
    pub(crate) fn take_turn(&mut self, turn: &Turn, first: usize, ledger: &mut Ledger) -> Result<(), String> {
        for place in 0..METHODS.len() {
            // No method is always the first.
            let index = (place + first) % METHODS.len();
            let (method_name, method) = METHODS[index];
            let name = name(method_name);
            let cost = join(&mut self.many, method, turn.rate[index], ledger)?;
            ledger.add(READS, &name, &BLOCKS_PER_SECOND, cost.table.blocks as f64 / cost.elapsed.as_seconds());
            let cost = join(&mut self.many, method, turn.cold, ledger)?;
            ledger.add(COLD, &name, &JOIN_TIME, cost.elapsed.as_millis());
            let cost = join(&mut self.single, method, turn.cold, ledger)?;
            ledger.add(ONE_BY_ONE, &name, &JOIN_TIME, cost.elapsed.as_millis());
            let cost = self.large.join_again(method, turn.cached).map_err(|error| error.to_string())?;
            if cost.table.blocks > 0 {
                return Err(format!("{name} read {} blocks where all were to be cached", cost.table.blocks));
            }
            ledger.check(&sum_of(turn.cached), &name, cost.found.sum)?;
            ledger.add(CACHED, &name, &CPU_PER_ROW, cost.cpu.as_micros() / turn.cached.count as f64);
        }
        Ok(())
    }
}

fn join(
    engine: &mut JoinEngine,
    method: Method,
    keys: Keys,
    ledger: &mut Ledger,
) -> Result<PassCost<JoinResult>, String> {
    let cost = engine.join(method, keys).map_err(|error| error.to_string())?;
    ledger.check(&sum_of(keys), "readpath", cost.found.sum)?;
    Ok(cost)
}
