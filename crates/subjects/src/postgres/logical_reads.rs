//! The experiment on logical I/O on a PostgreSQL server: the engine's rows in tables of its schema, and statements that
//! read them from shared buffers in several ways.
//!
//! One table is there at a time. Each is filled, scanned for the first time, made visible to all, and given what the
//! ways to its blocks need; the next one takes its place.

use std::time::Duration;

use measure::quantity::{size_in_words, whole_mebibytes};
use measure::schema::subjects::findings as row;
use measure::{Finding, Nanos, Parameters};
use server::private::PrivateServer;
use server::schema::full_name;
use server::session::ROW_TIME;
use server::statements::ROUND_TRIP;
use server::{Buffers, Plan, Schema, ServerError, Session};
use sys::time::Clock;

use super::fetched::{Fetched, blocks_of, count_blocks, hidden_of};
use super::layout::{Layout, whole_rows};
use super::needs::Needs;
use super::notes::Notes;
use super::row_by_row;
use super::statement::{Meter, expect, sources};
use crate::by_statements::{ByStatements, LOOKED_FOR_MAX, Question, possible};
use crate::error::SubjectError;
use crate::logical_reads::{
    Access, Asked, Baseline, Cell, ColdRead, Cost, Counted, Counts, FirstScans, LogicalReads, Pass, Population,
    Snapshot, Sources, Table, TableFacts, Touch,
};
use crate::opening::Progress;
use crate::progress::tenths;
use crate::subject::{Closing, Subject};

/// A table without rows: what a statement costs without its blocks.
const EMPTY: &str = "no_rows";

/// About what sending a row takes, and inserting it into another table.
const COPY_TIME_A_ROW: Duration = Duration::from_micros(2);
const INSERT_TIME_A_ROW: Duration = Duration::from_micros(1);

/// About what looking up a row takes, by its address or by its key.
const LOOK_UP_TIME: Duration = Duration::from_micros(1);

/// Loads of a table, each with its first scan. A load takes ten times as long as a scan, so that there are few.
const FIRST_SCANS: u32 = 3;

/// What readers find of the rows' visibility: case parameters.
const FIRST_SCAN: &str = "first-scan";
const ALL_VISIBLE: &str = "all-visible";

/// What is measured with an overhead subtracted.
const BASELINE: Baseline = Baseline::Overhead("a statement beside it");

/// Further settings of the session: scans go in the order of the table.
const SETTINGS: [(&str, &str); 4] =
    [("synchronize_seqscans", "off"), ("enable_bitmapscan", "off"), ("enable_indexscan", "on"), ("work_mem", "64MB")];

/// The first version that scans ranges of row addresses.
const TID_RANGE_SINCE: u32 = 14;

/// A server, in sentences.
const BY_STATEMENTS: ByStatements =
    ByStatements { option: "--on", name: "a server", reader: "session", versions: "versions of rows in another way" };

/// Why a server can do nothing of what is asked; `None` where it can do some.
pub(super) fn unfit(asked: &Asked) -> Option<String> {
    let of_cells = || asked.cells.iter().find_map(|cell| Some(Layout::of(*cell).err()?.to_string()));
    BY_STATEMENTS.unfit(asked).or_else(of_cells)
}

/// The step of a plan that reads the table.
fn step(access: Access) -> &'static str {
    match access {
        Access::Rowid => "Tid Scan",
        Access::Index => "Index Scan",
        _ => "Seq Scan",
    }
}

/// A table that is loaded.
#[derive(Clone, Debug)]
struct ServerTable {
    layout: Layout,
    blocks: u64,
    /// What its first column is where the server holds no index on it that leads to one row.
    without_key: Option<&'static str>,
    /// The ways that it was prepared for.
    accesses: Vec<Access>,
    /// Rows that the keys looked for lead to, once they were counted: among very many rows two may have one key.
    found_by_key: Option<u64>,
}

/// A server with the schema of a run.
pub struct ServerReads {
    schema: Schema,
    meter: Meter,
    notes: Notes,
    asked: Asked,
    /// The cells whose tables were loaded, also those that gave way to the next one.
    loaded: Vec<Cell>,
    table: Option<ServerTable>,
    // Dropped last: the session has to end before its server.
    private: Option<PrivateServer>,
}

impl ServerReads {
    /// Checks that there is room, makes the schema, sets the session and makes the table without rows.
    pub fn open(
        session: Session,
        private: Option<PrivateServer>,
        asked: Asked,
        clock: Clock,
    ) -> Result<ServerReads, SubjectError> {
        let mut notes = Notes::of(&session, clock);
        let block_bytes = session.facts().block_bytes;
        layouts(&asked).try_for_each(|layout| layout.check(block_bytes))?;
        if !session.is_rehearsal() {
            check_room(&session, &asked, &mut notes)?;
        }
        let mut schema = Schema::create(session)?;
        notes.begin(&mut schema, private.is_some())?;
        let session = schema.session();
        count_blocks(session)?;
        row_by_row::set(session, &SETTINGS)?;
        let meter = Meter::open(session)?;
        schema.create_table(EMPTY, "c1 varchar", "")?;
        notes.note_meter(&meter);
        Ok(ServerReads { schema, meter, notes, asked, loaded: Vec::new(), table: None, private })
    }

    fn table(&self) -> Result<&ServerTable, SubjectError> {
        self.table.as_ref().ok_or(SubjectError::NotPrepared)
    }

    /// Sends the rows of a cell to the server, into a table from which others are filled.
    fn send(&mut self, layout: &Layout, progress: &mut dyn FnMut(u64, u64)) -> Result<(), SubjectError> {
        let options = whole_rows(self.schema.session().facts().block_bytes);
        let source = self.schema.create_table(&source_of(layout), &layout.columns(), &options)?;
        let copy = format!("COPY {source} FROM STDIN");
        self.schema.session().assume(COPY_TIME_A_ROW.saturating_mul(u32::try_from(layout.rows()).unwrap_or(u32::MAX)));
        self.schema.session().copy_all(&copy, &mut layout.chunks(progress)?, layout.rows())?;
        self.schema.create_table(&layout.name(), &layout.columns(), &options)?;
        Ok(())
    }

    /// Fills the table anew from what was sent, and scans it for the first time: each row's transaction is looked up,
    /// and what is found is noted down in the row.
    ///
    /// INSERT and not COPY: a copy passes through a ring of buffers and leaves the rest to the operating system.
    fn first_scan(&mut self, layout: &Layout) -> Result<Cost, SubjectError> {
        let (table, source) = (full(layout), full_name(&source_of(layout)));
        let rows = layout.rows();
        let session = self.schema.session();
        let blocks = layout.blocks(session.facts().block_bytes);
        session.run(&format!("TRUNCATE {table}"))?;
        session.run(&format!("INSERT INTO {table} SELECT * FROM {source}"))?;
        session.assume(INSERT_TIME_A_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX)));
        session.begin_transaction()?;
        let before = Fetched::of(session, &table, 0)?;
        // Under EXPLAIN where the backend cannot be seen: its counts would be those of the second scan.
        let cost = self.meter.measure(session, &format!("SELECT count(*) FROM {table}"), rows, 1)?;
        let after = Fetched::of(session, &table, blocks)?;
        session.commit()?;
        let asked = after.since(before);
        let counts = Counts { gets: asked.gets(), rows, physical_reads: asked.reads, versions: None };
        Ok(Cost { counts: Some(counts), ..cost })
    }

    /// Makes all rows visible to all, brings all blocks into shared buffers as far as there is room, and gives their
    /// number. What the table was filled from is removed.
    fn settle(&mut self, layout: &Layout) -> Result<u64, SubjectError> {
        self.schema.drop_table(&source_of(layout))?;
        let table = full(layout);
        let session = self.schema.session();
        session.run(&format!("VACUUM (ANALYZE) {table}"))?;
        let expected = layout.blocks(session.facts().block_bytes);
        let blocks = blocks_of(session, &table, expected)?;
        // A scan of a table beyond a quarter of the buffers passes through a ring and leaves nothing behind; a scan of
        // a range of row addresses does not, and finds the same rows.
        if session.facts().major() >= TID_RANGE_SINCE {
            expect(session, &format!("SELECT count(*) FROM {table} WHERE ctid >= '(0,0)'"), layout.rows())?;
        }
        let hidden = hidden_of(session, &table, blocks)?;
        self.notes.note_hidden((hidden, blocks), &layout.cell().to_string());
        Ok(blocks)
    }

    /// Makes what a way needs: a table of the rows to look for, in random order, and for keys an index.
    fn prepare_access(&mut self, layout: &Layout, access: Access) -> Result<(), SubjectError> {
        // A long key that is moved out of its row has to be fetched before it is looked for, and no count of gets shows
        // that.
        let (kind, value, options) = match access {
            Access::Rowid => ("tid", "ctid", String::new()),
            Access::Index => ("varchar", "c1", whole_rows(self.schema.session().facts().block_bytes)),
            _ => return Ok(()),
        };
        let rows = full(layout);
        let wanted = self.schema.create_table(&wanted_of(layout, access), &format!("v {kind}"), &options)?;
        let session = self.schema.session();
        // A number between -1 and 1 by which the server's own random numbers begin.
        let start = (self.asked.seed % 1_000_003) as f64 / 1_000_003.0;
        session.run(&format!("SELECT setseed({start:.6})"))?;
        session.run(&format!(
            "INSERT INTO {wanted} SELECT {value} FROM {rows} ORDER BY random() LIMIT {LOOKED_FOR_MAX}"
        ))?;
        if access == Access::Index {
            session.run(&format!("CREATE INDEX ON {rows} (c1)"))?;
        }
        session.run(&format!("VACUUM (ANALYZE) {wanted}"))?;
        Ok(())
    }

    /// Notes a table that is there with all that its readers need.
    fn note_loaded(&mut self, cell: Cell, block_bytes: u64) {
        // A dry run makes nothing.
        if !self.schema.session().is_rehearsal() {
            let alone = Asked { cells: vec![cell], ..self.asked.clone() };
            self.notes.note_made(needs(&alone, block_bytes).made);
            self.loaded.push(cell);
        }
    }

    /// Removes the table with all that belongs to it.
    fn remove_table(&mut self) -> Result<(), SubjectError> {
        let Some(table) = self.table.take() else { return Ok(()) };
        for access in table.accesses.iter().filter(|access| **access != Access::FullScan) {
            self.schema.drop_table(&wanted_of(&table.layout, *access))?;
        }
        Ok(self.schema.drop_table(&table.layout.name())?)
    }

    /// Why a pass cannot be made; `None` where it can.
    fn absence(&self, pass: &Pass) -> Result<Option<Finding>, SubjectError> {
        let table = self.table()?;
        if let Some(what) = table.without_key.filter(|_| pass.access == Access::Index) {
            let cell = table.layout.cell();
            let reason = format!("Rows of {cell} were not read through an index: their first column is {what}.");
            return Ok(Some(row::ABSENT_ACCESS.named("index", reason)));
        }
        Ok(BY_STATEMENTS.absence(self.notes.name(), pass, table.accesses.iter().copied()))
    }

    /// What to ask for a way and a touch.
    fn question(&self, pass: &Pass) -> Result<Question, SubjectError> {
        let ServerTable { layout, found_by_key, .. } = self.table()?;
        let (rows, name, access) = (layout.rows(), full(layout), pass.access);
        let counted = match pass.touch {
            Touch::Column(number) => format!("t.c{number}"),
            Touch::Nothing | Touch::Directory | Touch::Rows => "*".into(),
        };
        let wanted = full_name(&wanted_of(layout, access));
        let looked_for = rows.min(LOOKED_FOR_MAX);
        let joined = |key: &str| Question {
            statement: format!("SELECT count({counted}) FROM {wanted} w JOIN {name} t ON t.{key} = w.v"),
            count: looked_for,
            beside: format!("SELECT count(w.v) FROM {wanted} w"),
            beside_count: looked_for,
        };
        Ok(match access {
            Access::Rowid => joined("ctid"),
            Access::Index => Question { count: found_by_key.unwrap_or(looked_for), ..joined("c1") },
            _ => Question {
                statement: format!("SELECT count({counted}) FROM {name} t"),
                count: rows,
                beside: format!("SELECT count(*) FROM {}", full_name(EMPTY)),
                beside_count: 0,
            },
        })
    }

    /// The blocks that a statement asks for, those of its index included, and the rows that are joined for it, which a
    /// dry run does not know; an absence where the planner goes another way, as to a table of one block.
    fn blocks(
        &mut self,
        access: Access,
        statement: &str,
    ) -> Result<Result<(Buffers, Option<u64>), Finding>, SubjectError> {
        let table = self.table()?;
        let (step, cell) = (step(access), table.layout.cell());
        let assumed = Plan::assumed(step, Buffers { hits: table.blocks, ..Buffers::default() });
        let plan = self.schema.session().explain(statement, assumed)?;
        let node = match plan.top.steps().into_iter().rfind(|node| node.kind == step) {
            Some(node) => node,
            None if access == Access::FullScan => plan.step(statement, step)?,
            None => {
                let (name, other_way) = (self.notes.name(), plan.top.kinds().join(", "));
                let reason = format!(
                    "Rows of {cell} were not read by {access} on {name}: its planner reads a table of that size in \
                     another way ({other_way}). Ask for a larger --payload."
                );
                return Ok(Err(row::ABSENT_ACCESS.named(access.name(), reason)));
            }
        };
        let none = || ServerError::Plan("it tells no `Shared Hit Blocks`".into());
        // Below the count.
        let joined = plan.top.children.first().and_then(|step| step.rows).map(|rows| rows.round() as u64);
        Ok(Ok((node.buffers.ok_or_else(none)?, joined)))
    }
}

impl Subject for ServerReads {
    fn name(&self) -> &str {
        self.notes.name()
    }

    fn description(&self) -> Parameters {
        self.notes.description()
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.notes.look(self.schema.session())
    }

    fn finish(self: Box<Self>) -> Closing {
        let ServerReads { mut schema, mut notes, asked, loaded, private, .. } = *self;
        // A private server goes with all it holds, and may have ended.
        if private.is_some() {
            schema.forget();
        }
        let facts = schema.session().facts();
        // ^C may end the run before the largest table is there: nothing is said of a table that was never made.
        notes.find(exceeding(&Asked { cells: loaded, ..asked }, facts.block_bytes, facts.buffer_bytes));
        notes.close(Some(schema))
    }
}

impl LogicalReads for ServerReads {
    fn tables(&mut self) -> Result<Vec<Table>, SubjectError> {
        Ok(self.asked.cells.iter().copied().map(Table::Made).collect())
    }

    fn prepare(&mut self, table: &Table, progress: &mut Progress<'_>) -> Result<TableFacts, SubjectError> {
        let Table::Made(cell) = table else { return Err(SubjectError::NotPrepared) };
        self.remove_table()?;
        let second = Duration::from_secs(1);
        let layout = Layout::of(*cell)?;
        let block_bytes = self.schema.session().facts().block_bytes;
        self.send(
            &layout,
            &mut tenths(progress, |sent, of| (format!("sending rows of {cell}, {sent} of {of}"), second)),
        )?;
        if !self.schema.session().is_rehearsal() {
            // What was sent, and the table that is filled from it.
            self.notes.note_made(2 * layout.blocks(block_bytes) * block_bytes);
        }
        let mut costs = Vec::new();
        for number in 1..=FIRST_SCANS {
            progress(&format!("first scan {number} of {cell}"), second);
            costs.push(self.first_scan(&layout)?);
        }
        progress(&format!("making the rows of {cell} visible to all"), second);
        let blocks = self.settle(&layout)?;
        let without_key = layout.without_key(block_bytes);
        let accesses = possible(&self.asked, without_key.is_none());
        for access in &accesses {
            progress(&format!("preparing {access} for {cell}"), second);
            self.prepare_access(&layout, *access)?;
        }
        self.note_loaded(*cell, block_bytes);
        let rows = layout.rows();
        self.table = Some(ServerTable { layout, blocks, without_key, accesses, found_by_key: None });
        let first = Sources {
            gets: "blocks fetched, counted by the session (pg_stat_get_xact_blocks_fetched)",
            physical_reads: "blocks fetched and not hit (pg_stat_get_xact_blocks_hit)",
            ..sources(&self.meter, BASELINE)
        };
        Ok(TableFacts {
            pages: blocks,
            rows,
            visibility: Some(ALL_VISIBLE),
            first_scans: Some(FirstScans { visibility: FIRST_SCAN, costs, sources: first }),
            sources: sources(&self.meter, BASELINE),
        })
    }

    fn populate(
        &mut self,
        population: Population,
        changed_rows: Option<u32>,
    ) -> Result<Result<Option<Snapshot>, Finding>, SubjectError> {
        Ok(BY_STATEMENTS.populated(self.notes.name(), population, changed_rows).map(|()| None))
    }

    fn count(&mut self, pass: &Pass) -> Result<Result<Counted, Finding>, SubjectError> {
        if let Some(absence) = self.absence(pass)? {
            return Ok(Err(absence));
        }
        let question = self.question(pass)?;
        if pass.touch == Touch::Nothing {
            let counts = Counts { rows: question.beside_count, ..Counts::default() };
            return Ok(Ok(Counted { counts, statement: Some(question.beside) }));
        }
        let (blocks, joined) = match self.blocks(pass.access, &question.statement)? {
            Ok(counted) => counted,
            Err(absence) => return Ok(Err(absence)),
        };
        let mut rows = question.count;
        if pass.access == Access::Index {
            // Each key leads to one row at least.
            rows = joined.unwrap_or(rows).max(question.beside_count);
            self.table.as_mut().ok_or(SubjectError::NotPrepared)?.found_by_key = Some(rows);
        }
        let counts = Counts { gets: blocks.gets(), rows, physical_reads: blocks.reads, versions: None };
        Ok(Ok(Counted { counts, statement: Some(question.statement) }))
    }

    fn lap_time(&self, pass: &Pass) -> Option<Nanos> {
        let rows = self.question(pass).ok().filter(|_| self.private.is_none())?.count;
        let row = if pass.access == Access::FullScan { ROW_TIME } else { ROW_TIME + LOOK_UP_TIME };
        let rows = row.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
        Some((ROUND_TRIP + rows).into())
    }

    fn read(&mut self, pass: &Pass) -> Result<Cost, SubjectError> {
        let (statement, count) = self.question(pass)?.of_touch(pass.touch);
        let (meter, session) = (&self.meter, self.schema.session());
        let measure = || {
            if pass.access != Access::FullScan {
                session.assume(LOOK_UP_TIME.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)) * pass.laps);
            }
            meter.measure(session, &statement, count, pass.laps)
        };
        Ok(self.notes.timed(measure, |cost: &Cost| cost.cpu)?)
    }

    fn read_cold(&mut self, _how: ColdRead, _blocks: u32) -> Result<Result<Vec<f64>, Finding>, SubjectError> {
        let reason = format!(
            "The physical cost of a block was not measured on {}: readpath roundtrip --on measures it.",
            self.notes.name()
        );
        Ok(Err(row::ABSENT_PHYSICAL.of(reason)))
    }
}

/// Checks that there is room for the tables, none of which is made yet.
fn check_room(session: &Session, asked: &Asked, notes: &mut Notes) -> Result<(), SubjectError> {
    notes.check_space(session, needs(asked, session.facts().block_bytes).made, "--payload")?;
    notes.made = 0;
    Ok(())
}

/// The finding about the largest table, where the shared buffers cannot hold it.
pub(super) fn exceeding(asked: &Asked, block_bytes: u64, buffer_bytes: u64) -> Option<Finding> {
    let read = |layout: &Layout| {
        let index = if is_indexed(asked, layout, block_bytes) { layout.index_bytes() } else { 0 };
        layout.blocks(block_bytes) * block_bytes + index
    };
    let largest = layouts(asked).max_by_key(read).filter(|layout| read(layout) > buffer_bytes)?;
    let index = if is_indexed(asked, &largest, block_bytes) { " with its index" } else { "" };
    Some(row::TABLE_EXCEEDS_BUFFERS.of(format!(
        "The table of {}{index} takes {} and the server's shared buffers {}: its blocks come from the operating system \
         again and again, and their cost contains that. Ask for a smaller --payload.",
        largest.cell(),
        whole_mebibytes(read(&largest)),
        size_in_words(buffer_bytes)
    )))
}

/// The layouts of the cells; [`unfit`] has refused those that have none.
fn layouts(asked: &Asked) -> impl Iterator<Item = Layout> {
    asked.cells.iter().filter_map(|cell| Layout::of(*cell).ok())
}

fn is_indexed(asked: &Asked, layout: &Layout, block_bytes: u64) -> bool {
    asked.accesses.contains(&Access::Index) && layout.has_key(block_bytes)
}

/// What the tables of a cell take at one time: the rows twice while they are loaded, the index, and the rows that are
/// looked for.
pub(super) fn needs(asked: &Asked, block_bytes: u64) -> Needs {
    let made = |layout: &Layout| {
        let table = layout.blocks(block_bytes) * block_bytes;
        2 * table + layout.index_bytes() + table.min(LOOKED_FOR_MAX * block_bytes / 8)
    };
    let indexed = layouts(asked).filter(|layout| is_indexed(asked, layout, block_bytes));
    let sorted = indexed.map(|layout| layout.index_bytes());
    Needs {
        made: layouts(asked).map(|layout| made(&layout)).max().unwrap_or(0),
        temporary: sorted.max().unwrap_or(0),
        or_standby: true,
        ..Needs::default()
    }
}

/// Shared buffers of a private server for tables of these shapes: a table of the narrowest columns takes three times
/// its payload, and a scan of more than a quarter of the buffers leaves nothing in them.
pub(super) fn buffers_for(cells: &[Cell]) -> u64 {
    16 * cells.iter().map(|cell| cell.payload).max().unwrap_or(0) + (256 << 20)
}

fn full(layout: &Layout) -> String {
    full_name(&layout.name())
}

fn source_of(layout: &Layout) -> String {
    format!("{}_sent", layout.name())
}

fn wanted_of(layout: &Layout, access: Access) -> String {
    format!("{}_{}", layout.name(), access.name().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use server::private::{Installation, ServerSettings};
    use server::{Address, Limits};

    use super::*;

    const DEBIAN: &str = "/usr/lib/postgresql/15";

    const CELL: Cell = Cell { row_length: 250, columns: 5, payload: 1 << 20 };

    /// A private server; `None`, and a line, where there is none.
    fn opened(settings: ServerSettings) -> Option<ServerReads> {
        if !Path::new(DEBIAN).exists() {
            println!("skipped: Debian's PostgreSQL 15 is not installed");
            return None;
        }
        let stop: Arc<AtomicBool> = Arc::default();
        let programs = Installation::at(Path::new(DEBIAN)).unwrap();
        let private = PrivateServer::start(&programs, &std::env::temp_dir(), settings, &stop).unwrap();
        let session = Session::open(&Address::of(private.config()), Limits::default(), stop).unwrap();
        let asked = Asked { cells: vec![CELL], accesses: vec![Access::Index], seed: 1, ..Asked::default() };
        Some(ServerReads::open(session, Some(private), asked, Clock::calibrate()).unwrap())
    }

    #[test]
    fn a_server_that_counts_no_blocks_does_so_for_the_session() {
        let settings = ServerSettings::new(64 << 20).with("track_counts", "off");
        let Some(mut subject) = opened(settings) else { return };
        let facts = subject.prepare(&Table::Made(CELL), &mut |_, _| {}).unwrap();
        let scans = facts.first_scans.unwrap().costs;
        assert!(scans.iter().all(|cost| cost.counts.unwrap().gets >= facts.pages), "{scans:?} of {}", facts.pages);
        assert!(Box::new(subject).finish().outcome.is_ok());
    }

    #[test]
    fn nothing_is_said_to_be_left_on_a_private_server_that_ended() {
        let Some(mut subject) = opened(ServerSettings::new(1 << 20)) else { return };
        subject.private.as_mut().unwrap().stop(&AtomicBool::new(false)).unwrap();
        let closing = Box::new(subject).finish();
        assert_eq!(closing.outcome, Ok(()));
        assert!(!closing.findings.iter().any(|finding| row::SCHEMA_LEFT.has(&finding.id)), "{:?}", closing.findings);
    }

    #[test]
    fn a_role_that_may_not_have_blocks_counted_is_refused_until_it_may() {
        let settings = ServerSettings::new(64 << 20).with("track_counts", "off");
        let Some(mut subject) = opened(settings) else { return };
        subject.schema.session().run("CREATE ROLE shop LOGIN").unwrap();
        let mut config = subject.private.as_ref().unwrap().config();
        config.user("shop");
        let mut session = Session::open(&Address::of(config), Limits::default(), Arc::default()).unwrap();
        let refused = count_blocks(&mut session).unwrap_err().to_string();
        assert!(refused.ends_with("GRANT SET ON PARAMETER track_counts TO shop"), "{refused}");
        subject.schema.session().run("GRANT SET ON PARAMETER track_counts TO shop").unwrap();
        count_blocks(&mut session).unwrap();
        assert_eq!(session.text("SHOW track_counts", None).unwrap().as_deref(), Some("on"));
        drop(session);
        assert!(Box::new(subject).finish().outcome.is_ok());
    }

    #[test]
    fn rows_are_looked_up_one_by_one_where_the_database_joins_in_another_way() {
        let settings = ServerSettings::new(64 << 20).with("enable_nestloop", "off").with("enable_indexscan", "off");
        let Some(mut subject) = opened(settings) else { return };
        let rows = subject.prepare(&Table::Made(CELL), &mut |_, _| {}).unwrap().rows;
        let pass = Pass { access: Access::Index, touch: Touch::Rows, threads: 1, laps: 1, as_of: None };
        assert_eq!(subject.count(&pass).unwrap().unwrap().counts.rows, rows);
        assert!(Box::new(subject).finish().outcome.is_ok());
    }

    #[test]
    fn keys_that_are_looked_for_lie_in_their_rows_so_that_none_has_to_be_fetched_first() {
        let Some(mut subject) = opened(ServerSettings::new(64 << 20)) else { return };
        let cell = Cell { row_length: 2500, columns: 1, ..CELL };
        subject.prepare(&Table::Made(cell), &mut |_, _| {}).unwrap();
        let moved_away = format!(
            "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = '{}'::regclass",
            full_name("rows_2500_1_index")
        );
        assert_eq!(subject.schema.session().number(&moved_away, 0).unwrap(), 0);
        assert!(Box::new(subject).finish().outcome.is_ok());
    }

    #[test]
    fn a_first_column_that_no_index_holds_ends_no_run() {
        let Some(mut subject) = opened(ServerSettings::new(64 << 20)) else { return };
        for row_length in [2692, 2693] {
            let cell = Cell { row_length, columns: 1, ..CELL };
            subject.prepare(&Table::Made(cell), &mut |_, _| {}).unwrap();
            let pass = Pass { access: Access::Index, touch: Touch::Rows, threads: 1, laps: 1, as_of: None };
            assert_eq!(subject.count(&pass).unwrap().is_ok(), row_length == 2692, "{row_length}");
        }
        assert!(Box::new(subject).finish().outcome.is_ok());
    }

    #[test]
    fn a_table_so_small_that_the_planner_scans_it_for_each_key_ends_no_run() {
        let Some(mut subject) = opened(ServerSettings::new(64 << 20)) else { return };
        let cell = Cell { payload: 1000, ..CELL };
        assert_eq!(subject.prepare(&Table::Made(cell), &mut |_, _| {}).unwrap().rows, 4);
        let pass = Pass { access: Access::Index, touch: Touch::Rows, threads: 1, laps: 1, as_of: None };
        let absence = subject.count(&pass).unwrap().unwrap_err();
        assert!(row::ABSENT_ACCESS.has(&absence.id) && absence.message.contains("Seq Scan"), "{absence:?}");
        assert!(Box::new(subject).finish().outcome.is_ok());
    }

    #[test]
    fn a_run_that_ended_before_its_table_was_loaded_warns_of_no_table() {
        let is_warned = |is_loaded: bool| {
            let mut subject = opened(ServerSettings::new(1 << 20))?;
            assert_eq!(subject.notes.made, 0);
            if is_loaded {
                subject.prepare(&Table::Made(CELL), &mut |_, _| {}).unwrap();
                assert!(subject.notes.made > CELL.payload, "{}", subject.notes.made);
            }
            let found = Box::new(subject).finish().findings;
            Some(found.iter().any(|finding| row::TABLE_EXCEEDS_BUFFERS.has(&finding.id)))
        };
        let Some(without_table) = is_warned(false) else { return };
        assert_eq!((without_table, is_warned(true)), (false, Some(true)));
    }

    #[test]
    fn a_key_that_two_rows_have_ends_no_run() {
        let Some(mut subject) = opened(ServerSettings::new(64 << 20)) else { return };
        let rows = subject.prepare(&Table::Made(CELL), &mut |_, _| {}).unwrap().rows;
        let name = full_name("rows_250_5");
        subject.schema.session().run(&format!("INSERT INTO {name} SELECT * FROM {name} LIMIT 1")).unwrap();
        let pass = Pass { access: Access::Index, touch: Touch::Rows, threads: 1, laps: 2, as_of: None };
        assert_eq!(subject.count(&pass).unwrap().unwrap().counts.rows, rows + 1);
        subject.read(&pass).unwrap();
        assert!(Box::new(subject).finish().outcome.is_ok());
    }
}
