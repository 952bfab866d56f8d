//! Logical I/O where nothing can be made, such as on a standby: scans of catalogs, which every server has and everybody
//! may read.

use measure::Nanos;
use server::{Buffers, Plan, ServerError, Session};

use super::statement::{Meter, StatementCost};
use crate::logical_reads::SubjectError;

/// The catalogs with the most blocks in a new database; in one with many objects they are far larger.
const CATALOGS: [&str; 4] = ["pg_attribute", "pg_depend", "pg_description", "pg_proc"];

/// A catalog without rows wherever no labels of mandatory access control are in use: what a statement costs beside its
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

/// A catalog as it was found.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Its name, without the schema.
    pub name: &'static str,
    /// Rows in it; what the primary does may change that.
    pub rows: u64,
}

/// A session that reads catalogs.
pub struct Catalogs {
    session: Session,
    meter: Meter,
}

impl Catalogs {
    /// Sets the session.
    pub fn open(mut session: Session) -> Result<Catalogs, SubjectError> {
        for (setting, value) in SETTINGS {
            session.set(setting, value)?;
        }
        let meter = Meter::open(&mut session)?;
        Ok(Catalogs { session, meter })
    }

    /// How costs are obtained.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The session.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The catalogs, each read once.
    pub fn find(&mut self) -> Result<Vec<Catalog>, SubjectError> {
        let session = &mut self.session;
        let counted = CATALOGS.map(|name| {
            let rows = session.number(&format!("SELECT count(*) FROM pg_catalog.{name}"), 0)?;
            Ok(Catalog { name, rows })
        });
        counted.into_iter().collect()
    }

    /// What a scan takes, `laps` times in a row, and what the same takes without blocks.
    pub fn measure(&mut self, catalog: &Catalog, laps: u32) -> Result<(StatementCost, StatementCost), SubjectError> {
        let beside = self.meter.measure(&mut self.session, &scan(EMPTY), 1, laps)?;
        Ok((self.meter.measure(&mut self.session, &scan(catalog.name), 1, laps)?, beside))
    }

    /// How many scans take the backend at least `time`, `most` at most.
    pub fn laps_for(&mut self, catalog: &Catalog, time: Nanos, most: u64) -> Result<u32, SubjectError> {
        let (once, _) = self.measure(catalog, 1)?;
        Ok(time.0.div_ceil(once.cost.0.max(1)).clamp(1, most) as u32)
    }

    /// The blocks that a scan asks for.
    pub fn blocks(&mut self, catalog: &Catalog) -> Result<Buffers, SubjectError> {
        let statement = scan(catalog.name);
        let plan = self.session.explain(&statement, Plan::assumed("Seq Scan", Buffers::default()))?;
        let steps = plan.top.steps();
        let node = steps.into_iter().find(|node| node.kind == "Seq Scan").ok_or_else(|| {
            ServerError::answer(&statement, &plan.top.kinds().join(", "), "a plan that scans the table")
        })?;
        Ok(node.buffers.ok_or_else(|| ServerError::Plan("it tells no `Shared Hit Blocks`".into()))?)
    }
}

/// Counts the rows, and answers 1 however many there are: their number may change while it is measured.
fn scan(name: &str) -> String {
    format!("SELECT (count(*) >= 0)::integer FROM pg_catalog.{name}")
}
