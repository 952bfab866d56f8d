//! The instructions that a private server's backend carries out for a row of each access path, where no counter of the
//! processor's can be asked: single-user mode under valgrind, over two tables.
//!
//! A script asks for the small table once and for the large one twice, another one the other way round. What the second
//! lacks against the first is one pass over the rows that the large table has more, with all blocks in buffers and
//! everything that a statement costs once taken away.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use server::private::{PrivateServer, PrivateServerError};
use server::{Address, Limits, ServerError, Session};
use sys::valgrind::Simulated;

use super::access_paths::{SETTINGS, ServerPath, check_way};
use super::customers::Customers;
use crate::access_paths::Asked;
use crate::logical_reads::SubjectError;

/// Rows of the small table, and of the large one.
pub const SMALL_ROWS: u64 = 1 << 13;
const LARGE_ROWS: u64 = 2 * SMALL_ROWS;

/// The schema of a database that is there from the beginning; the whole server is removed afterwards.
const SCHEMA: &str = "public";

/// About how long valgrind takes for one script.
pub const SCRIPT_TIME: Duration = Duration::from_secs(5);

/// Scripts of a path.
pub const SCRIPTS: u32 = 2;

/// What one path does for some rows.
#[derive(Clone, Debug)]
pub struct CountedRows {
    /// The path.
    pub path: ServerPath,
    /// Rows.
    pub rows: u64,
    /// Blocks that were asked for.
    pub gets: u64,
    /// Instructions and branches. Caches are left out: tables this small would fit into any.
    pub events: Simulated,
}

/// Counts each path over the rows that one table has more than another. The server is stopped when this returns:
/// `restart` starts it again.
pub fn count(
    server: &mut PrivateServer,
    paths: &[ServerPath],
    asked: Asked,
    seed: u64,
    limit: Duration,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(ServerPath),
) -> Result<Vec<CountedRows>, SubjectError> {
    let tables = [("customers_small", SMALL_ROWS), ("customers_large", LARGE_ROWS)];
    let [small, large] = tables.map(|(name, rows)| Customers::new(SCHEMA, name, rows, seed));
    let mut session = Session::open(&Address::of(server.config()), Limits::default(), Arc::clone(stop))?;
    for (setting, value) in SETTINGS {
        session.set(setting, value)?;
    }
    for table in [&small, &large] {
        session.run(&format!("CREATE TABLE {} ({})", table.full_name(), Customers::columns()))?;
        table.fill(&mut session, &mut |_, _| {})?;
    }
    let mut gets = Vec::new();
    for path in paths {
        let mut of = |table| check_way(&mut session, *path, asked, table).map(|plan| plan.buffers().map(|b| b.gets()));
        let (few, many) = (of(&small)??, of(&large)??);
        gets.push(many.saturating_sub(few));
    }
    drop(session);
    let mut counted = Vec::new();
    for (path, gets) in paths.iter().zip(gets) {
        progress(*path);
        let statements = [&small, &large].map(|table| path.statement(asked, table));
        let mut run = |order: [usize; 3]| {
            let asked = order.map(|table| statements[table].clone());
            let script: Vec<String> = settings(*path).into_iter().chain(asked).collect();
            let script: Vec<&str> = script.iter().map(String::as_str).collect();
            server.count_statements(&script, limit, stop).map_err(failed)
        };
        let (more, fewer) = (run([0, 1, 1])?, run([0, 1, 0])?);
        let events = more.simulated.minus(&fewer.simulated).without_caches();
        counted.push(CountedRows { path: *path, rows: LARGE_ROWS - SMALL_ROWS, gets, events });
    }
    Ok(counted)
}

fn settings(path: ServerPath) -> Vec<String> {
    let all = SETTINGS.into_iter().chain(path.settings());
    all.map(|(setting, value)| format!("SET {setting} = {value}")).collect()
}

fn failed(error: PrivateServerError) -> SubjectError {
    let error = match error {
        PrivateServerError::Stopped => ServerError::Stopped,
        other => ServerError::Machine(other.to_string()),
    };
    error.into()
}
