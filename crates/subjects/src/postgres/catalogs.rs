//! Logical I/O where nothing can be made, such as on a standby: scans of catalogs, which every server has and every
//! user may read.

use measure::schema::subjects::findings as row;
use measure::{Finding, Parameters};
use server::private::PrivateServer;
use server::{Plan, ServerError, Session};
use sys::time::Clock;

use super::notes::Notes;
use super::statement::{Meter, sources};
use crate::error::SubjectError;
use crate::logical_reads::{
    Access, Baseline, Cache, ColdRead, Cost, Counted, Counts, LogicalReads, Pass, Population, Snapshot, Sources, Table,
    TableFacts, Touch,
};
use crate::opening::Progress;
use crate::subject::{Closing, Subject};

/// The catalogs with the most blocks in a new database; in one with many objects they are far larger.
const CATALOGS: [&str; 4] = ["pg_attribute", "pg_depend", "pg_description", "pg_proc"];

/// Where catalogs are cached. They have the size that they have: no option makes them smaller.
const CACHE: Cache = Cache { name: "shared buffers", advice: "Give the server more shared_buffers." };

/// A catalog that is empty unless labels of mandatory access control are in use: what a statement costs without its
/// blocks.
const EMPTY: &str = "pg_seclabel";

/// Settings of the session: one process does all the work, in the order of the table and without being compiled.
const SETTINGS: [(&str, &str); 6] = [
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
    ("synchronize_seqscans", "off"),
    ("enable_indexscan", "off"),
    ("enable_indexonlyscan", "off"),
    ("enable_bitmapscan", "off"),
];

/// The catalogs of a standby as tables.
pub struct Catalogs {
    session: Session,
    meter: Meter,
    notes: Notes,
    /// The catalogs with their rows, whose number the primary may change.
    found: Vec<(&'static str, u64)>,
    /// The catalog that is read.
    current: Option<(&'static str, u64)>,
    absence: Finding,
    // Dropped last: the session has to end before its server.
    _private: Option<PrivateServer>,
}

impl Catalogs {
    /// Sets the session.
    pub fn open(mut session: Session, private: Option<PrivateServer>, clock: Clock) -> Result<Catalogs, SubjectError> {
        let mut notes = Notes::of(&session, clock);
        let reason = format!(
            "{} is a standby, on which no table can be made: what was measured is scans of the catalogs that it has. \
             For tables of the published shapes give the address of its primary.",
            session.address().shown()
        );
        let absence = row::STANDBY.of(reason);
        notes.find(absence.clone());
        session.set_all(SETTINGS)?;
        let meter = Meter::open(&mut session)?;
        notes.note_meter(&meter);
        Ok(Catalogs { session, meter, notes, found: Vec::new(), current: None, absence, _private: private })
    }
}

impl Subject for Catalogs {
    fn name(&self) -> &str {
        self.notes.name()
    }

    fn description(&self) -> Parameters {
        self.notes.description()
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.notes.look(&mut self.session)
    }

    fn finish(self: Box<Self>) -> Closing {
        self.notes.close(None)
    }
}

impl LogicalReads for Catalogs {
    fn tables(&mut self) -> Result<Vec<Table>, SubjectError> {
        self.found.clear();
        for name in CATALOGS {
            let rows = self.session.number(&format!("SELECT count(*) FROM pg_catalog.{name}"), 0)?;
            self.found.push((name, rows));
        }
        Ok(self.found.iter().map(|(name, _)| Table::Found((*name).into())).collect())
    }

    fn prepare(&mut self, table: &Table, _progress: &mut Progress<'_>) -> Result<TableFacts, SubjectError> {
        let is_it = |(name, _): &&(&str, u64)| matches!(table, Table::Found(wanted) if wanted == name);
        let found = *self.found.iter().find(is_it).ok_or(SubjectError::NotPrepared)?;
        self.current = Some(found);
        let baseline = Baseline::Overhead("a scan of an empty catalog");
        let sources = Sources { rows: "counted by a statement before", cache: CACHE, ..sources(&self.meter, baseline) };
        Ok(TableFacts { pages: 0, rows: found.1, visibility: None, first_scans: None, sources })
    }

    fn populate(
        &mut self,
        population: Population,
        changed_rows: Option<u32>,
    ) -> Result<Result<Option<Snapshot>, Finding>, SubjectError> {
        let is_possible = population == Population::FullScan && changed_rows.is_none_or(|percent| percent == 0);
        Ok(if is_possible { Ok(None) } else { Err(self.absence.clone()) })
    }

    fn count(&mut self, pass: &Pass) -> Result<Result<Counted, Finding>, SubjectError> {
        let (name, rows) = self.current.ok_or(SubjectError::NotPrepared)?;
        if (pass.access, pass.threads) != (Access::FullScan, 1) {
            return Ok(Err(self.absence.clone()));
        }
        if pass.touch == Touch::Nothing {
            return Ok(Ok(Counted::default()));
        }
        let statement = scan(name);
        let plan = self.session.explain(&statement, Plan::assumed("Seq Scan", server::Buffers::default()))?;
        let buffers = plan.step(&statement, "Seq Scan")?.buffers;
        let buffers = buffers.ok_or_else(|| ServerError::Plan("it has no `Shared Hit Blocks`".into()))?;
        let counts = Counts { gets: buffers.gets(), rows, physical_reads: buffers.reads, versions: None };
        Ok(Ok(Counted { counts, statement: Some(statement) }))
    }

    fn read(&mut self, pass: &Pass) -> Result<Cost, SubjectError> {
        let (name, _) = self.current.ok_or(SubjectError::NotPrepared)?;
        let statement = scan(if pass.touch == Touch::Nothing { EMPTY } else { name });
        let (meter, session) = (&self.meter, &mut self.session);
        Ok(self.notes.timed(|| meter.measure(session, &statement, 1, pass.laps), |cost: &Cost| cost.cpu)?)
    }

    fn read_cold(&mut self, _how: ColdRead, _blocks: u32) -> Result<Result<Vec<f64>, Finding>, SubjectError> {
        Ok(Err(self.absence.clone()))
    }
}

/// Counts the rows, and returns 1 however many there are: their number may change during the measurement.
fn scan(name: &str) -> String {
    format!("SELECT (count(*) >= 0)::integer FROM pg_catalog.{name}")
}
