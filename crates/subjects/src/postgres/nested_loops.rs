//! Nested loops on a PostgreSQL server: by the index, one inner row after the other, and by a bitmap of the same keys,
//! which gathers their blocks first.

use std::time::Instant;

use measure::Nanos;
use server::{Buffers, Plan, Schema, ServerError, Session, space};

use super::cold::{Cold, Startup};
use super::fetched::Fetched;
use super::inner_rows::{InnerRows, JoinKeys};
use super::logical_reads::WHOLE_ROWS;
use super::read_timing;
use crate::logical_reads::SubjectError;

/// Settings of the session. One process does all the work, without being compiled, and remembers no inner rows.
const SETTINGS: [(&str, &str); 7] = [
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("enable_seqscan", "off"),
    ("enable_indexonlyscan", "off"),
];

/// The first version that remembers inner rows of a nested loop.
const MEMOIZE_SINCE: u32 = 14;

/// A way to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerJoin {
    /// Look-ups in the index one after the other, each with its row.
    NestedLoop,
    /// The rows' addresses from the index first, then their blocks in order, with this `effective_io_concurrency`.
    BitmapScan {
        /// 0 to 1000.
        concurrency: u32,
    },
}

impl ServerJoin {
    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            ServerJoin::NestedLoop => "nested-loop",
            ServerJoin::BitmapScan { .. } => "bitmap-scan",
        }
    }

    /// The value of `effective_io_concurrency` that counts for it.
    pub fn concurrency(self) -> Option<u32> {
        match self {
            ServerJoin::NestedLoop => None,
            ServerJoin::BitmapScan { concurrency } => Some(concurrency),
        }
    }

    /// The step of the plan that reads the table.
    fn step(self) -> &'static str {
        match self {
            ServerJoin::NestedLoop => "Index Scan",
            ServerJoin::BitmapScan { .. } => "Bitmap Heap Scan",
        }
    }

    fn settings(self) -> Vec<(&'static str, String)> {
        let by_index = self == ServerJoin::NestedLoop;
        let word = |is_on: bool| if is_on { "on".to_string() } else { "off".into() };
        let mut settings = vec![("enable_indexscan", word(by_index)), ("enable_bitmapscan", word(!by_index))];
        if let ServerJoin::BitmapScan { concurrency } = self {
            settings.push(("effective_io_concurrency", concurrency.to_string()));
        }
        settings
    }

    /// The statement: the sum of the values beside the keys.
    fn statement(self, keys: JoinKeys) -> String {
        let [table, _] = InnerRows::relations();
        let (first, end) = (keys.first, keys.first + keys.count);
        match self {
            ServerJoin::NestedLoop => format!(
                "SELECT sum(i.value) FROM generate_series({first}::bigint, {}::bigint) AS o(key) JOIN {table} i ON \
                 i.key = o.key",
                end - 1
            ),
            ServerJoin::BitmapScan { .. } => {
                format!("SELECT sum(i.value) FROM {table} i WHERE i.key >= {first} AND i.key < {end}")
            }
        }
    }
}

/// What a join took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerJoinCost {
    /// The sum that it found.
    pub sum: i64,
    /// From sending the statement to its answer.
    pub elapsed: Nanos,
    /// Blocks of the table.
    pub table: Buffers,
    /// Blocks of the index.
    pub index: Buffers,
}

/// What EXPLAIN tells of a join.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerJoinPlan {
    /// Blocks of table and index.
    pub buffers: Buffers,
    /// Milliseconds of waiting for reads; `None` where the server does not time them.
    pub wait_ms: Option<f64>,
}

/// A server with the inner table in the schema of a run.
pub struct ServerLoops<'a> {
    pub(super) schema: Schema,
    pub(super) cold: Cold<'a>,
    table: Option<InnerRows>,
    pub(super) untimed: Option<String>,
}

impl<'a> ServerLoops<'a> {
    /// Looks whether there is room for the table, makes the schema and sets the session.
    pub fn open(session: Session, cold: Cold<'a>, largest: &InnerRows) -> Result<ServerLoops<'a>, SubjectError> {
        space::check(&session, largest.bytes_needed(session.facts().block_bytes))?;
        let schema = Schema::create(session)?;
        let mut loops = ServerLoops { schema, cold, table: None, untimed: None };
        loops.set_session()?;
        Ok(loops)
    }

    /// The schema with its session.
    pub fn schema(&mut self) -> &mut Schema {
        &mut self.schema
    }

    /// What becomes of caches.
    pub fn cold(&self) -> &Cold<'a> {
        &self.cold
    }

    /// Who we are on the server.
    pub fn user(&mut self) -> String {
        self.schema.session().facts().user.clone()
    }

    /// Why the server does not time its reads; `None` where it does.
    pub fn untimed(&self) -> Option<&str> {
        self.untimed.as_deref()
    }

    /// The ways in which the server can be started.
    pub fn startups(&mut self) -> Result<Vec<Startup>, SubjectError> {
        self.cold.startups(self.schema.session())
    }

    /// Starts a private server in this way; the reason where it cannot be.
    pub fn start(&mut self, startup: &Startup) -> Result<Result<(), String>, SubjectError> {
        if *startup == *self.cold.running() {
            return Ok(Ok(()));
        }
        let started = self.cold.start(startup, &mut self.schema)?;
        self.set_session()?;
        Ok(started)
    }

    /// Removes the schema.
    pub fn finish(mut self) -> Result<(), SubjectError> {
        if self.cold.is_lost() {
            self.schema.forget();
        }
        Ok(self.schema.finish()?)
    }

    /// Makes and fills the table, in the place of the one before, and gives its blocks.
    pub fn load(&mut self, table: InnerRows, progress: &mut dyn FnMut(u64, u64)) -> Result<u64, SubjectError> {
        if self.table.take().is_some() {
            self.schema.drop_table(InnerRows::NAME)?;
        }
        let name = self.schema.create_table(InnerRows::NAME, InnerRows::columns(), WHOLE_ROWS)?;
        let index = format!("CREATE UNIQUE INDEX {} ON {name} (key)", InnerRows::INDEX);
        let session = self.schema.session();
        // Making an index of a table reads it, and leaves its blocks in large buffers; rows that are copied do not.
        let before = matches!(self.cold.emptying(), super::cold::Emptying::Never(_));
        if before {
            session.run(&index)?;
        }
        session.begin_transaction()?;
        // Rows copied in the transaction that empties the table are visible to all at once.
        session.run(&format!("TRUNCATE {name}"))?;
        let copy = format!("COPY {name} FROM STDIN WITH (FREEZE)");
        let sent = session.copy(&copy, &mut table.chunks(progress)?)?;
        session.commit()?;
        if sent != table.rows() && !session.is_rehearsal() {
            return Err(ServerError::answer(&copy, &sent.to_string(), "the number of rows that were sent").into());
        }
        if !before {
            session.run(&index)?;
        }
        session.run(&format!("VACUUM (ANALYZE) {name}"))?;
        self.table = Some(table);
        let size = format!("SELECT pg_relation_size('{name}') / current_setting('block_size')::integer");
        Ok(session.number(&size, table.blocks(session.facts().block_bytes))?)
    }

    /// One join with as little cached as can be.
    pub fn join(&mut self, join: ServerJoin, keys: JoinKeys) -> Result<ServerJoinCost, SubjectError> {
        let statement = self.prepare(join, keys)?;
        let [table, index] = InnerRows::relations();
        let session = self.schema.session();
        session.begin_transaction()?;
        let before = [Fetched::of(session, &table, 0)?, Fetched::of(session, &index, 0)?];
        let started = Instant::now();
        let sum = session.text(&statement, None)?;
        let elapsed = Nanos(started.elapsed().as_nanos() as u64);
        let after = [Fetched::of(session, &table, 0)?, Fetched::of(session, &index, 0)?];
        session.commit()?;
        Ok(ServerJoinCost {
            sum: number(&statement, sum)?,
            elapsed,
            table: after[0].since(before[0]),
            index: after[1].since(before[1]),
        })
    }

    /// The same once more, told by EXPLAIN: apart from what is timed, because telling takes time.
    pub fn explain(&mut self, join: ServerJoin, keys: JoinKeys) -> Result<ServerJoinPlan, SubjectError> {
        let statement = self.prepare(join, keys)?;
        let plan = self.schema.session().explain(&statement, Plan::assumed(join.step(), Buffers::default()))?;
        let wait_ms = plan.top.read_ms.filter(|_| self.untimed.is_none());
        Ok(ServerJoinPlan { buffers: plan.buffers()?, wait_ms })
    }

    /// Empties caches, leaves the planner one way, and has the plan made once, so that what planning reads is there.
    fn prepare(&mut self, join: ServerJoin, keys: JoinKeys) -> Result<String, SubjectError> {
        if self.cold.empty(&mut self.schema, &InnerRows::relations())? {
            self.set_session()?;
        }
        let statement = join.statement(keys);
        let session = self.schema.session();
        for (setting, value) in join.settings() {
            session.set(setting, &value)?;
        }
        let plan = session.explain_with("", &statement, Plan::assumed(join.step(), Buffers::default()))?;
        let goes = plan.top.steps().iter().any(|step| step.kind == join.step());
        if !goes && !session.is_rehearsal() {
            let found = plan.top.kinds().join(", ");
            return Err(ServerError::answer(&statement, &found, "a plan that goes the way measured").into());
        }
        Ok(statement)
    }

    pub(super) fn set_session(&mut self) -> Result<(), SubjectError> {
        let session = self.schema.session();
        for (setting, value) in SETTINGS {
            session.set(setting, value)?;
        }
        if session.facts().major() >= MEMOIZE_SINCE {
            session.set("enable_memoize", "off")?;
        }
        self.untimed = read_timing::turn_on(session)?;
        Ok(())
    }
}

/// The sum of no rows is null.
fn number(statement: &str, sum: Option<String>) -> Result<i64, ServerError> {
    let Some(sum) = sum else { return Ok(0) };
    sum.parse().map_err(|_| ServerError::answer(statement, &sum, "a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_ask_for_the_same_keys() {
        let keys = JoinKeys { first: 301, count: 300 };
        let by_index = ServerJoin::NestedLoop.statement(keys);
        assert!(by_index.contains("generate_series(301::bigint, 600::bigint)"), "{by_index}");
        let gathered = ServerJoin::BitmapScan { concurrency: 16 };
        assert!(gathered.statement(keys).ends_with("i.key >= 301 AND i.key < 601"));
        assert!(gathered.settings().contains(&("effective_io_concurrency", "16".into())));
    }
}
