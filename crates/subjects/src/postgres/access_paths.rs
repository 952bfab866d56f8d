//! The experiment on access paths on a PostgreSQL server: the engine's customers, and one question by several plans.

use std::time::Instant;

use measure::Nanos;
use server::{Buffers, Plan, Schema, ServerError, Session, space};
use sys::counters::{Counters, Rings, Tally};

use super::customers::{Customers, CustomersIndex};
use super::statement::Meter;
use crate::access_paths::Asked;
use crate::logical_reads::SubjectError;

/// Settings of the session. One process does all the work, in the order of the table and without being compiled.
pub(super) const SETTINGS: [(&str, &str); 3] =
    [("max_parallel_workers_per_gather", "0"), ("jit", "off"), ("synchronize_seqscans", "off")];

/// The planner's ways to a table, each of which can be turned off.
const WAYS: [&str; 4] = ["enable_seqscan", "enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"];

/// Bytes that a bitmap takes for a block of the table, with room: an entry has about 50.
const BITMAP_BYTES_A_BLOCK: u64 = 128;
/// Most memory that a bitmap is given; of larger tables it remembers blocks instead of rows.
const WORK_MEMORY_MAX: u64 = 256 << 20;
const WORK_MEMORY_MIN: u64 = 4 << 20;

/// How often the statement runs before everything is in shared buffers, or never will be.
const WARMING_RUNS: usize = 3;

/// A way to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerPath {
    /// By the index on the postal code, every row fetched when it comes up.
    IndexBadClustering,
    /// The same index, but the rows are collected first and fetched in the order of the table.
    BitmapScan,
    /// By the index on the customer's number: the rows stand in its order.
    IndexGoodClustering,
    /// Every block of rows, in order.
    FullScan,
    /// By an index that holds both columns of the question; the table is not touched.
    IndexOnlyScan,
}

impl ServerPath {
    /// All of them, in the order in which they are measured.
    pub const ALL: [ServerPath; 5] = [
        ServerPath::IndexBadClustering,
        ServerPath::BitmapScan,
        ServerPath::IndexGoodClustering,
        ServerPath::FullScan,
        ServerPath::IndexOnlyScan,
    ];

    /// The name of the case parameter; that of the engine's path where there is the same.
    pub fn name(self) -> &'static str {
        match self {
            ServerPath::IndexBadClustering => "index-bad-clustering",
            ServerPath::BitmapScan => "bitmap-scan",
            ServerPath::IndexGoodClustering => "index-good-clustering",
            ServerPath::FullScan => "full-scan",
            ServerPath::IndexOnlyScan => "index-only-scan",
        }
    }

    /// The index that it goes by.
    pub fn index(self) -> Option<CustomersIndex> {
        match self {
            ServerPath::IndexBadClustering | ServerPath::BitmapScan => Some(CustomersIndex::PostalCode),
            ServerPath::IndexGoodClustering => Some(CustomersIndex::Id),
            ServerPath::IndexOnlyScan => Some(CustomersIndex::IdWithValid),
            ServerPath::FullScan => None,
        }
    }

    /// Why it does not answer a question; `None` where it does.
    pub fn unfit(self, asked: Asked) -> Option<&'static str> {
        match (self, asked) {
            (ServerPath::FullScan, _) | (_, Asked::AllPass) => None,
            (ServerPath::IndexOnlyScan, Asked::NoPredicate) => None,
            (_, Asked::NoPredicate) => {
                Some("PostgreSQL goes by an index only where something is compared with its key")
            }
            (_, Asked::HalfPass) => Some("an index scan compares its key and no other column"),
        }
    }

    /// The one way to a table that is left to the planner. An index-only scan is an index scan to the planner, and
    /// where it can be, the cheaper one.
    fn ways(self) -> &'static [&'static str] {
        match self {
            ServerPath::IndexBadClustering | ServerPath::IndexGoodClustering => &["enable_indexscan"],
            ServerPath::BitmapScan => &["enable_bitmapscan"],
            ServerPath::FullScan => &["enable_seqscan"],
            ServerPath::IndexOnlyScan => &["enable_indexscan", "enable_indexonlyscan"],
        }
    }

    /// The step of the plan that gives the rows.
    fn step(self) -> &'static str {
        match self {
            ServerPath::IndexBadClustering | ServerPath::IndexGoodClustering => "Index Scan",
            ServerPath::BitmapScan => "Bitmap Heap Scan",
            ServerPath::FullScan => "Seq Scan",
            ServerPath::IndexOnlyScan => "Index Only Scan",
        }
    }

    /// The settings that leave the planner no other way.
    pub(super) fn settings(self) -> [(&'static str, &'static str); 4] {
        WAYS.map(|way| (way, if self.ways().contains(&way) { "on" } else { "off" }))
    }

    /// The statement that asks the question of a table.
    pub fn statement(self, asked: Asked, table: &Customers) -> String {
        let condition = match (self.index(), asked) {
            (_, Asked::NoPredicate) => "",
            (_, Asked::HalfPass) => " WHERE cust_year_of_birth > 1950",
            (Some(CustomersIndex::PostalCode), Asked::AllPass) => " WHERE cust_postal_code > '0'",
            (_, Asked::AllPass) => " WHERE cust_id > 0",
        };
        format!("SELECT count(cust_valid) FROM {}{condition}", table.full_name())
    }
}

/// What is known of a path before it is measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerPathFacts {
    /// What the statement counts.
    pub count: u64,
    /// Blocks of the table.
    pub blocks: u64,
    /// Blocks of the index that it goes by.
    pub index_blocks: Option<u64>,
    /// How well the rows follow the order of the index's key, -1 to 1, as the server's own statistics have it.
    pub correlation: Option<f64>,
    /// Blocks that one pass asks for, of the table and the index, and those among them that were not in shared buffers
    /// when everything that could be there was.
    pub buffers: Buffers,
    /// Rows that an index-only scan still had to look for in the table.
    pub heap_fetches: Option<u64>,
    /// Blocks of which a bitmap remembered every row; fewer than the blocks of the table where it had no room.
    pub exact_blocks: Option<u64>,
}

/// What passes took, all laps together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerScan {
    /// Processor time of the backend, or the execution time, as the meter's source says.
    pub cost: Nanos,
    /// From the first statement's sending to the last one's answer.
    pub elapsed: Nanos,
    /// What the processor and the kernel counted of the backend, where it runs on this machine.
    pub tally: Tally,
}

/// A server with the table of customers in the schema of a run.
pub struct ServerPaths {
    schema: Schema,
    meter: Meter,
    table: Customers,
}

impl ServerPaths {
    /// Looks whether there is room, makes the schema and sets the session.
    pub fn open(session: Session, rows: u64, seed: u64) -> Result<ServerPaths, SubjectError> {
        space::check(&session, Customers::bytes_needed(rows))?;
        let mut schema = Schema::create(session)?;
        let session = schema.session();
        for (setting, value) in SETTINGS {
            session.set(setting, value)?;
        }
        let blocks = Customers::table_bytes(rows) / session.facts().block_bytes.max(1);
        session.set("work_mem", &format!("{}kB", work_memory(blocks) >> 10))?;
        let meter = Meter::open(session)?;
        Ok(ServerPaths { schema, meter, table: Customers::new(server::schema::SCHEMA, "customers", rows, seed) })
    }

    /// Makes and fills the table.
    pub fn load(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<(), SubjectError> {
        self.schema.create_table(self.table.name(), &Customers::columns(), "")?;
        self.table.fill(self.schema.session(), progress)
    }

    /// How costs are obtained.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The session that works in the schema.
    pub fn session(&mut self) -> &mut Session {
        self.schema.session()
    }

    /// Removes the schema.
    pub fn finish(self) -> Result<(), SubjectError> {
        Ok(self.schema.finish()?)
    }

    /// Leaves the planner one way, makes sure that it goes it, and brings into shared buffers what has room there.
    pub fn prepare(&mut self, path: ServerPath, asked: Asked) -> Result<ServerPathFacts, SubjectError> {
        let table = self.table.clone();
        let statement = path.statement(asked, &table);
        let session = self.schema.session();
        turn_to(session, path)?;
        let mut facts = ServerPathFacts { count: session.number(&statement, 0)?, ..ServerPathFacts::default() };
        for _ in 0..WARMING_RUNS {
            let plan = explained(session, path, &statement, &table)?;
            facts.buffers = plan.buffers()?;
            let steps = plan.top.steps();
            facts.heap_fetches = steps.iter().find_map(|step| step.heap_fetches);
            facts.exact_blocks = steps.iter().find_map(|step| step.exact_heap_blocks);
            if facts.buffers.reads == 0 {
                break;
            }
        }
        facts.blocks = blocks_of(session, &table.full_name())?;
        if let Some(index) = path.index() {
            let name = format!("{}.{}", server::schema::SCHEMA, table.index_name(index));
            facts.index_blocks = Some(blocks_of(session, &name)?);
            facts.correlation = correlation(session, &table, index)?;
        }
        Ok(facts)
    }

    /// The processor time, or what stands for it, of a statement that does nothing.
    pub fn measure_nothing(&mut self) -> Result<Nanos, SubjectError> {
        Ok(self.meter.measure(self.schema.session(), "SELECT 0", 0, 1)?.cost)
    }

    /// Passes over the path that was prepared, one after the other.
    pub fn scan(&mut self, path: ServerPath, asked: Asked, count: u64, laps: u32) -> Result<ServerScan, SubjectError> {
        let statement = path.statement(asked, &self.table);
        let process = self.schema.session().facts().process;
        let counters = match self.meter {
            Meter::Account(_) => Counters::of_process(process, Rings::widest()),
            Meter::Explain(_) => None,
        };
        if let Some(counters) = &counters {
            counters.start();
        }
        let started = Instant::now();
        let taken = self.meter.measure(self.schema.session(), &statement, count, laps)?;
        let elapsed = taken.elapsed.0.min(started.elapsed().as_nanos() as u64);
        let tally = counters.map_or_else(Tally::default, |counters| {
            counters.stop();
            counters.read()
        });
        Ok(ServerScan { cost: taken.cost, elapsed: Nanos(elapsed), tally })
    }
}

/// Leaves the planner one way to a table.
fn turn_to(session: &mut Session, path: ServerPath) -> Result<(), ServerError> {
    path.settings().into_iter().try_for_each(|(setting, value)| session.set(setting, value))
}

/// Runs the statement and gives its plan; an error where the planner goes another way.
fn explained(
    session: &mut Session,
    path: ServerPath,
    statement: &str,
    table: &Customers,
) -> Result<Plan, SubjectError> {
    let plan = session.explain(statement, Plan::assumed(path.step(), Buffers::default()))?;
    let index = path.index().map(|index| table.index_name(index));
    let steps = plan.top.steps();
    let goes = steps.iter().any(|step| step.kind == path.step());
    let by = steps.iter().find_map(|step| step.index.clone());
    if !session.is_rehearsal() && (!goes || by != index) {
        let found = format!("{} {}", plan.top.kinds().join(", "), by.unwrap_or_default());
        return Err(ServerError::answer(statement, found.trim(), "a plan that goes the way measured").into());
    }
    Ok(plan)
}

/// Makes sure that the planner goes the path over another table of the session too.
pub(super) fn check_way(
    session: &mut Session,
    path: ServerPath,
    asked: Asked,
    table: &Customers,
) -> Result<Plan, SubjectError> {
    turn_to(session, path)?;
    explained(session, path, &path.statement(asked, table), table)
}

fn blocks_of(session: &mut Session, relation: &str) -> Result<u64, ServerError> {
    let size = format!("SELECT pg_relation_size('{relation}') / current_setting('block_size')::integer");
    session.number(&size, 0)
}

fn correlation(session: &mut Session, table: &Customers, index: CustomersIndex) -> Result<Option<f64>, ServerError> {
    let statement = format!(
        "SELECT correlation FROM pg_stats WHERE schemaname = '{}' AND tablename = '{}' AND attname = '{}'",
        server::schema::SCHEMA,
        table.name(),
        index.column()
    );
    Ok(session.text(&statement, None)?.and_then(|value| value.parse().ok()))
}

/// Bytes of a bitmap over so many blocks that remembers every row.
fn work_memory(blocks: u64) -> u64 {
    (blocks * BITMAP_BYTES_A_BLOCK).clamp(WORK_MEMORY_MIN, WORK_MEMORY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_is_left_to_the_planner() {
        for path in ServerPath::ALL {
            let on = path.settings().into_iter().filter(|(_, value)| *value == "on").count();
            assert_eq!(on, if path == ServerPath::IndexOnlyScan { 2 } else { 1 }, "{path:?}");
        }
    }

    #[test]
    fn a_question_about_an_index_is_about_its_key() {
        let table = Customers::new("readpath", "customers", 1, 1);
        let statement = |path: ServerPath, asked| path.statement(asked, &table);
        assert_eq!(
            statement(ServerPath::BitmapScan, Asked::AllPass),
            "SELECT count(cust_valid) FROM readpath.\"customers\" WHERE cust_postal_code > '0'"
        );
        assert!(statement(ServerPath::IndexOnlyScan, Asked::AllPass).ends_with("WHERE cust_id > 0"));
        assert!(statement(ServerPath::FullScan, Asked::NoPredicate).ends_with("\"customers\""));
        assert!(ServerPath::ALL.iter().all(|path| path.unfit(Asked::AllPass).is_none()));
        assert!(ServerPath::BitmapScan.unfit(Asked::HalfPass).is_some());
    }

    #[test]
    fn a_bitmap_is_given_room_for_every_row_up_to_a_limit() {
        assert_eq!((work_memory(100), work_memory(100_000)), (4 << 20, 12_800_000));
        assert_eq!(work_memory(u64::MAX / 256), 256 << 20);
    }
}
