//! The instructions that a private server's backend carries out for a row of each access path, where no counter of the
//! processor's can be asked: single-user mode under valgrind, over two tables.
//!
//! A script asks for the small table once and for the large one twice, another one the other way round. What the second
//! lacks against the first is one pass over the rows that the large table has more, with all blocks in buffers and
//! everything that a statement costs once taken away.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use server::private::PrivateServer;
use server::{Address, Limits, Session};

use super::customers::Customers;
use super::planner_paths::{PlannerPath, SETTINGS};
use crate::access_paths::{AccessPath, Asked, CountedRows};
use crate::error::SubjectError;
use crate::opening::Progress;

/// Rows of the small table, and of the large one.
const SMALL_ROWS: u64 = 1 << 13;
const LARGE_ROWS: u64 = 2 * SMALL_ROWS;

/// The schema of a database that is there from the beginning; the whole server is removed afterwards.
const SCHEMA: &str = "public";

/// About how long valgrind takes for one script.
const SCRIPT_TIME: Duration = Duration::from_secs(5);

/// Scripts of a path.
const SCRIPTS: u32 = 2;

/// How instructions were counted.
const SINGLE_USER: &str = " of the backend in single-user mode, what rows of a larger table add";

/// What is to be counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count<'a> {
    /// The server's name.
    pub(super) name: &'a str,
    /// The paths.
    pub(super) paths: &'a [AccessPath],
    /// What is asked.
    pub(super) asked: Asked,
    /// What the rows depend on.
    pub(super) seed: u64,
    /// Longest time of a script.
    pub(super) limit: Duration,
}

/// Counts each path over the rows that one table has more than another. The server is stopped when this returns:
/// `restart` starts it again.
pub(super) fn count(
    server: &mut PrivateServer,
    count: &Count<'_>,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress<'_>,
) -> Result<Vec<CountedRows>, SubjectError> {
    let tables = [("customers_small", SMALL_ROWS), ("customers_large", LARGE_ROWS)];
    let tables = tables.map(|(name, rows)| Customers::new(SCHEMA, name, rows, count.seed));
    let paths = count.paths.iter().map(|path| PlannerPath::of(*path)).collect::<Result<Vec<_>, _>>()?;
    let gets = gets(server, &tables, &paths, count.asked, stop)?;
    let mut counted = Vec::new();
    for (done, (path, gets)) in (0..).zip(paths.iter().zip(gets)) {
        let left = u32::try_from(paths.len()).unwrap_or(1).saturating_sub(done);
        let what = format!("counting {}, {}, under valgrind", count.name, path.path.name());
        progress(&what, SCRIPT_TIME * SCRIPTS * left);
        let statements = [0, 1].map(|table| path.statement(count.asked, &tables[table]));
        let mut run = |order: [usize; 3]| {
            let asked = order.map(|table| statements[table].clone());
            let script: Vec<String> = settings(path).into_iter().chain(asked).collect();
            let script: Vec<&str> = script.iter().map(String::as_str).collect();
            server.count_statements(&script, count.limit, stop)
        };
        let (more, fewer) = (run([0, 1, 1])?, run([0, 1, 0])?);
        // Caches are left out: tables this small would fit into any.
        let events = more.simulated.minus(&fewer.simulated).without_caches();
        counted.push(CountedRows { path: path.path, rows: LARGE_ROWS - SMALL_ROWS, gets, how: SINGLE_USER, events });
    }
    Ok(counted)
}

/// Makes both tables, and gives the blocks that each path asks for in the larger one beyond the smaller.
fn gets(
    server: &PrivateServer,
    tables: &[Customers; 2],
    paths: &[&PlannerPath],
    asked: Asked,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<u64>, SubjectError> {
    let mut session = Session::open(&Address::of(server.config()), Limits::default(), Arc::clone(stop))?;
    session.set_all(SETTINGS)?;
    for table in tables {
        session.run(&format!("CREATE TABLE {} ({})", table.full_name(), Customers::columns()))?;
        table.fill(&mut session)?;
    }
    let mut gets = Vec::new();
    for path in paths {
        path.turn_to(&mut session)?;
        let mut of = |table| path.explained(&mut session, asked, table)?.buffers().map(|buffers| buffers.gets());
        let (few, many) = (of(&tables[0])?, of(&tables[1])?);
        gets.push(many.saturating_sub(few));
    }
    Ok(gets)
}

fn settings(path: &PlannerPath) -> Vec<String> {
    let all = SETTINGS.into_iter().chain(path.settings());
    all.map(|(setting, value)| format!("SET {setting} = {value}")).collect()
}
