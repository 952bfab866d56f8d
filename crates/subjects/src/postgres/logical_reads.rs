//! The experiment on logical I/O on a PostgreSQL server: the engine's rows in tables of its schema, and statements that
//! read them from shared buffers in several ways.

use server::{Buffers, Plan, Schema, ServerError, Session};

use super::fetched::Fetched;
use super::layout::Layout;
use super::statement::{Meter, StatementCost, expect};
use crate::logical_reads::{SubjectError, Touch};

/// Rows stay whole in their page, as the engine's do. Without it, values of rows beyond 2 KiB are compressed or moved
/// away.
pub(super) const WHOLE_ROWS: &str = "toast_tuple_target = 8160";

/// A table without rows: what a statement costs beside its blocks.
const EMPTY: &str = "no_rows";

/// Most rows that are looked for one by one.
const LOOKED_FOR_MAX: u64 = 50_000;

/// Settings of the session. One process does all the work, in the order of the table and without being compiled; rows
/// are looked for one by one, in the table itself.
const SETTINGS: [(&str, &str); 9] = [
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
    ("synchronize_seqscans", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_indexonlyscan", "off"),
    ("work_mem", "64MB"),
];

/// The first version that remembers inner rows of a nested loop, which is turned off, and that scans ranges of row
/// addresses.
const MEMOIZE_SINCE: u32 = 14;

/// The way to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Every block once, in order.
    FullScan,
    /// Rows by their addresses in random order.
    Rowid,
    /// Rows by their keys in random order, through an index on the first column.
    Index,
}

impl Way {
    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            Way::FullScan => "full-scan",
            Way::Rowid => "rowid",
            Way::Index => "index",
        }
    }

    /// The step of the plan that reads the table.
    fn step(self) -> &'static str {
        match self {
            Way::FullScan => "Seq Scan",
            Way::Rowid => "Tid Scan",
            Way::Index => "Index Scan",
        }
    }
}

/// A table that is loaded.
#[derive(Clone, Debug)]
pub struct ServerTable {
    /// Its shape.
    pub layout: Layout,
    /// Its blocks.
    pub blocks: u64,
}

/// What is asked of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The way to its blocks.
    pub way: Way,
    /// The statement that is measured.
    pub statement: String,
    /// What it counts.
    pub count: u64,
    /// A statement that does all but reading the table.
    pub beside: String,
    /// What that counts.
    pub beside_count: u64,
}

/// The first scan after a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstScan {
    /// What it took.
    pub cost: StatementCost,
    /// Blocks that it asked for.
    pub gets: u64,
    /// Blocks that were not in shared buffers.
    pub physical_reads: u64,
}

/// A server with the schema of a run.
pub struct ServerReads {
    schema: Schema,
    meter: Meter,
}

impl ServerReads {
    /// Makes the schema, sets the session and makes the table without rows.
    pub fn open(session: Session) -> Result<ServerReads, SubjectError> {
        let mut schema = Schema::create(session)?;
        let session = schema.session();
        for (setting, value) in SETTINGS {
            session.set(setting, value)?;
        }
        if session.facts().major() >= MEMOIZE_SINCE {
            session.set("enable_memoize", "off")?;
        }
        let meter = Meter::open(session)?;
        schema.create_table(EMPTY, "c1 varchar", "")?;
        Ok(ServerReads { schema, meter })
    }

    /// How costs are obtained.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The schema with its session.
    pub fn schema(&mut self) -> &mut Schema {
        &mut self.schema
    }

    /// Removes the schema.
    pub fn finish(self) -> Result<(), SubjectError> {
        Ok(self.schema.finish()?)
    }

    /// Bytes that the tables of a cell take at one time: the rows twice while they are loaded, the index, and the rows
    /// that are looked for.
    pub fn bytes_needed(layout: &Layout, block_bytes: u64) -> u64 {
        let table = layout.blocks(block_bytes) * block_bytes;
        2 * table + layout.index_bytes() + table.min(LOOKED_FOR_MAX * block_bytes / 8)
    }

    /// Sends the rows of a cell to the server, into a table from which others are filled.
    pub fn send(&mut self, layout: &Layout, progress: &mut dyn FnMut(u64, u64)) -> Result<(), SubjectError> {
        let source = self.schema.create_table(&source_of(layout), &layout.columns(), WHOLE_ROWS)?;
        let copy = format!("COPY {source} FROM STDIN");
        let sent = self.schema.session().copy(&copy, &mut layout.chunks(progress)?)?;
        if sent != layout.rows() && !self.schema.session().is_rehearsal() {
            return Err(ServerError::answer(&copy, &sent.to_string(), "the number of rows that were sent").into());
        }
        self.schema.create_table(&layout.name(), &layout.columns(), WHOLE_ROWS)?;
        Ok(())
    }

    /// Fills the table anew from what was sent, and scans it for the first time: each row's transaction is looked up,
    /// and what is found is noted down in the row.
    ///
    /// INSERT and not COPY: a copy passes through a ring of buffers and leaves the rest to the operating system.
    pub fn first_scan(&mut self, layout: &Layout) -> Result<FirstScan, SubjectError> {
        let (table, source) = (full(layout), server::schema::full_name(&source_of(layout)));
        let rows = layout.rows();
        let session = self.schema.session();
        let blocks = layout.blocks(session.facts().block_bytes);
        session.run(&format!("TRUNCATE {table}"))?;
        session.run(&format!("INSERT INTO {table} SELECT * FROM {source}"))?;
        session.begin_transaction()?;
        let before = Fetched::of(session, &table, 0)?;
        // Under EXPLAIN where the backend cannot be seen: its counts would be those of the second scan.
        let cost = self.meter.measure(session, &format!("SELECT count(*) FROM {table}"), rows, 1)?;
        let after = Fetched::of(session, &table, blocks)?;
        session.commit()?;
        let asked = after.since(before);
        Ok(FirstScan { cost, gets: asked.gets(), physical_reads: asked.reads })
    }

    /// Makes all rows visible to all, brings all blocks into shared buffers as far as there is room, and gives the
    /// table. What it was filled from is removed.
    pub fn settle(&mut self, layout: &Layout) -> Result<ServerTable, SubjectError> {
        self.schema.drop_table(&source_of(layout))?;
        let table = full(layout);
        let session = self.schema.session();
        session.run(&format!("VACUUM (ANALYZE) {table}"))?;
        let expected = layout.blocks(session.facts().block_bytes);
        let size = format!("SELECT pg_relation_size('{table}') / current_setting('block_size')::integer");
        let blocks = session.number(&size, expected)?;
        // A scan of a table beyond a quarter of the buffers passes through a ring and leaves nothing behind; a scan of
        // a range of row addresses does not, and finds the same rows.
        if session.facts().major() >= MEMOIZE_SINCE {
            expect(session, &format!("SELECT count(*) FROM {table} WHERE ctid >= '(0,0)'"), layout.rows())?;
        }
        Ok(ServerTable { layout: layout.clone(), blocks })
    }

    /// Blocks of the table of which every row is known to be visible to all; fewer than all where a transaction that is
    /// older than the load is still open on the server.
    pub fn visible_blocks(&mut self, table: &ServerTable) -> Result<u64, SubjectError> {
        let visible = format!("SELECT relallvisible FROM pg_class WHERE oid = '{}'::regclass", full(&table.layout));
        Ok(self.schema.session().number(&visible, table.blocks)?)
    }

    /// Makes what a way needs: a table of the rows to look for, in random order, and for keys an index.
    pub fn prepare(&mut self, table: &ServerTable, way: Way, seed: u64) -> Result<(), SubjectError> {
        let (kind, value) = match way {
            Way::FullScan => return Ok(()),
            Way::Rowid => ("tid", "ctid"),
            Way::Index => ("varchar", "c1"),
        };
        let rows = full(&table.layout);
        let wanted = self.schema.create_table(&wanted_of(&table.layout, way), &format!("v {kind}"), "")?;
        let session = self.schema.session();
        // A number between -1 and 1 by which the server's own random numbers begin.
        let start = (seed % 1_000_003) as f64 / 1_000_003.0;
        session.run(&format!("SELECT setseed({start:.6})"))?;
        session.run(&format!(
            "INSERT INTO {wanted} SELECT {value} FROM {rows} ORDER BY random() LIMIT {LOOKED_FOR_MAX}"
        ))?;
        if way == Way::Index {
            session.run(&format!("CREATE INDEX ON {rows} (c1)"))?;
        }
        session.run(&format!("VACUUM (ANALYZE) {wanted}"))?;
        Ok(())
    }

    /// Removes the table with all that belongs to it.
    pub fn remove(&mut self, table: &ServerTable, ways: &[Way]) -> Result<(), SubjectError> {
        for way in ways.iter().filter(|way| **way != Way::FullScan) {
            self.schema.drop_table(&wanted_of(&table.layout, *way))?;
        }
        Ok(self.schema.drop_table(&table.layout.name())?)
    }

    /// What to ask for a way and a touch.
    pub fn question(&self, table: &ServerTable, way: Way, touch: Touch) -> Question {
        let (rows, name) = (table.layout.rows(), full(&table.layout));
        let counted = match touch {
            Touch::Column(number) => format!("t.c{number}"),
            Touch::Nothing | Touch::Directory | Touch::Rows => "*".into(),
        };
        let wanted = server::schema::full_name(&wanted_of(&table.layout, way));
        let looked_for = rows.min(LOOKED_FOR_MAX);
        let joined = |key: &str| Question {
            way,
            statement: format!("SELECT count({counted}) FROM {wanted} w JOIN {name} t ON t.{key} = w.v"),
            count: looked_for,
            beside: format!("SELECT count(w.v) FROM {wanted} w"),
            beside_count: looked_for,
        };
        match way {
            Way::Rowid => joined("ctid"),
            Way::Index => joined("c1"),
            Way::FullScan => Question {
                way,
                statement: format!("SELECT count({counted}) FROM {name} t"),
                count: rows,
                beside: format!("SELECT count(*) FROM {}", server::schema::full_name(EMPTY)),
                beside_count: 0,
            },
        }
    }

    /// What the statement of a question takes, `laps` times in a row.
    pub fn measure(&mut self, question: &Question, laps: u32) -> Result<StatementCost, SubjectError> {
        let Question { statement, count, .. } = question;
        Ok(self.meter.measure(self.schema.session(), statement, *count, laps)?)
    }

    /// What the same takes without reading the table.
    pub fn measure_beside(&mut self, question: &Question, laps: u32) -> Result<StatementCost, SubjectError> {
        let Question { beside, beside_count, .. } = question;
        Ok(self.meter.measure(self.schema.session(), beside, *beside_count, laps)?)
    }

    /// The blocks that a question asks for, those of its index included; an error where the planner goes another way.
    pub fn blocks(&mut self, question: &Question, table: &ServerTable) -> Result<Buffers, SubjectError> {
        let step = question.way.step();
        let assumed = Plan::assumed(step, Buffers { hits: table.blocks, ..Buffers::default() });
        let plan = self.schema.session().explain(&question.statement, assumed)?;
        let reads_table = |node: &&server::explain::Node| node.kind == step;
        let found = plan.top.steps().into_iter().rfind(reads_table);
        let node = found.ok_or_else(|| {
            ServerError::answer(&question.statement, &plan.top.kinds().join(", "), "a plan that goes the way measured")
        })?;
        let none = || ServerError::Plan("it tells no `Shared Hit Blocks`".into());
        Ok(node.buffers.ok_or_else(none)?)
    }
}

fn full(layout: &Layout) -> String {
    server::schema::full_name(&layout.name())
}

fn source_of(layout: &Layout) -> String {
    format!("{}_sent", layout.name())
}

fn wanted_of(layout: &Layout, way: Way) -> String {
    format!("{}_{}", layout.name(), way.name().replace('-', "_"))
}
