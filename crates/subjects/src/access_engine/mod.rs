//! The embedded engine as a subject of the experiment on access paths.
//!
//! The table is made in memory and never touches a disk. Blocks of rows, units and columns are there one after the
//! other: each is made from the generator of the rows, so that none needs another one beside it.

mod column_store;
mod generated;
mod meter;
mod row_store;
mod threads;
mod unit_store;

use std::sync::atomic::AtomicBool;

use dataset::DataSet;
use dataset::customers::{COLUMNS, NOMINAL_ROW_LENGTH};
use storage::manifest::TableSpec;
use storage::page_id::PAGE_SIZE;
use storage::pool::Pool;
use storage::question::{Comparison, Operator, Question};
use storage::unit::Level;
use sys::time::Clock;

use crate::access_paths::{AccessPath, AccessPaths, Asked, MemoryNeed, PathFacts, ScanCost, ScanPass, Structure};
use crate::logical_reads::SubjectError;
use column_store::ColumnStore;
use row_store::RowStore;
use unit_store::UnitStore;

/// Columns of the table, from 1.
const CUST_ID: u8 = 1;
const YEAR_OF_BIRTH: u8 = 5;
const POSTAL_CODE: u8 = 8;
/// `cust_valid`, the last one.
const COUNTED: u8 = COLUMNS as u8;

/// About half of the customers are born later.
const YEAR: i64 = 1950;

/// Frames of a pool beyond what is known to be needed.
const SPARE_PAGES: u64 = 1024;

/// Bytes that the pool keeps about a block besides its frame.
const BYTES_ABOUT_A_PAGE: u64 = 64;

/// What an engine is made for.
#[derive(Clone, Debug)]
pub struct AccessSettings {
    /// Rows of the table.
    pub rows: u64,
    /// What the rows depend on.
    pub seed: u64,
    /// How hard units are compressed.
    pub level: Level,
    /// All paths that will be asked for.
    pub paths: Vec<AccessPath>,
    /// Threads that make blocks, units or columns. Each makes a part of the table, and its last unit of columns is not
    /// full: more threads than there are whole units make smaller units.
    pub builders: usize,
    /// Bytes that columns may take.
    pub column_bytes_max: u64,
}

/// The engine with what is in memory now.
pub struct AccessEngine {
    settings: AccessSettings,
    spec: TableSpec,
    clock: Clock,
    store: Store,
    path: Option<AccessPath>,
}

/// One structure at a time.
enum Store {
    Nothing,
    Rows(RowStore),
    Units(UnitStore),
    Columns(ColumnStore),
}

/// The question that all paths answer, but for those that are about an index's key.
fn question(asked: Asked) -> Question {
    let compare = |column, constant| Some(Comparison { column, operator: Operator::Greater, constant });
    let comparison = match asked {
        Asked::AllPass => compare(CUST_ID, 0),
        Asked::NoPredicate => None,
        Asked::HalfPass => compare(YEAR_OF_BIRTH, YEAR),
    };
    Question { comparison, counted: COUNTED }
}

impl AccessEngine {
    /// An engine with nothing in memory yet. Errors when there can be no table of so many rows.
    pub fn new(settings: AccessSettings, clock: Clock) -> Result<AccessEngine, SubjectError> {
        let spec = TableSpec::new("customers", DataSet::customers(settings.rows, settings.seed));
        spec.pages()?;
        Ok(AccessEngine { settings, spec, clock, store: Store::Nothing, path: None })
    }

    /// Blocks that the rows take.
    pub fn row_blocks(&self) -> Result<u64, SubjectError> {
        Ok(self.spec.pages()?.into())
    }

    /// Bytes of all values of all rows in rows, on average.
    pub fn row_bytes(&self) -> u64 {
        self.spec.rows() * u64::from(NOMINAL_ROW_LENGTH)
    }

    /// The buffer pool, where there is one now.
    pub fn pool(&self) -> Option<&Pool> {
        match &self.store {
            Store::Rows(rows) => Some(rows.pool()),
            Store::Units(units) => Some(units.pool()),
            Store::Nothing | Store::Columns(_) => None,
        }
    }

    fn structure(&self) -> Option<Structure> {
        match &self.store {
            Store::Nothing => None,
            Store::Rows(_) => Some(Structure::Rows),
            Store::Units(_) => Some(Structure::Units),
            Store::Columns(_) => Some(Structure::Columns),
        }
    }

    fn build(&self, structure: Structure, stop: &AtomicBool) -> Result<Store, SubjectError> {
        let AccessSettings { level, paths, builders, column_bytes_max, .. } = &self.settings;
        Ok(match structure {
            Structure::Rows => {
                let has_index = paths.iter().any(|path| path.is_index());
                Store::Rows(RowStore::build(&self.spec, has_index, *builders, stop)?)
            }
            Structure::Units => Store::Units(UnitStore::build(&self.spec, *level, *builders, stop)?),
            Structure::Columns => Store::Columns(ColumnStore::build(&self.spec, *builders, *column_bytes_max, stop)?),
        })
    }

    fn bytes_of(&self, structure: Structure, paths: &[AccessPath], stop: &AtomicBool) -> Result<u64, SubjectError> {
        let rows = self.spec.rows();
        let blocks = |count: u64| count * (PAGE_SIZE as u64 + BYTES_ABOUT_A_PAGE);
        Ok(match structure {
            Structure::Rows => {
                let has_index = paths.iter().any(|path| path.is_index());
                let sorted = if paths.contains(&AccessPath::IndexBadClustering) { rows } else { 0 };
                let index = if has_index { row_store::index_pages(rows) } else { 0 };
                blocks(self.row_blocks()? + index + SPARE_PAGES) + sorted * row_store::SORTED_ENTRY_BYTES
            }
            Structure::Units => {
                let AccessSettings { level, builders, .. } = self.settings;
                blocks(unit_store::forecast(&self.spec, level, builders, stop)?.blocks() + SPARE_PAGES)
            }
            Structure::Columns => column_store::forecast(&self.spec, self.settings.builders, stop)?,
        })
    }
}

impl AccessPaths for AccessEngine {
    fn memory_needed(&self, paths: &[AccessPath], stop: &AtomicBool) -> Result<Vec<MemoryNeed>, SubjectError> {
        let asked = |structure: &Structure| paths.iter().any(|path| path.structure() == *structure);
        let need = |structure| Ok(MemoryNeed { structure, bytes: self.bytes_of(structure, paths, stop)? });
        Structure::ALL.into_iter().filter(asked).map(need).collect()
    }

    fn prepare(&mut self, path: AccessPath, stop: &AtomicBool) -> Result<PathFacts, SubjectError> {
        self.path = None;
        if self.structure() != Some(path.structure()) {
            // The old one goes before the new one comes: both together may be more than there is memory.
            self.store = Store::Nothing;
            self.store = self.build(path.structure(), stop)?;
        }
        let facts = match &mut self.store {
            Store::Nothing => return Err(SubjectError::NotPrepared),
            Store::Rows(rows) => rows.prepare(path, stop)?,
            Store::Units(units) => units.facts(self.spec.pages()?.into()),
            Store::Columns(columns) => columns.facts(),
        };
        self.path = Some(path);
        Ok(facts)
    }

    fn scan(&mut self, pass: &ScanPass) -> Result<ScanCost, SubjectError> {
        let path = self.path.ok_or(SubjectError::NotPrepared)?;
        let asked = if path == AccessPath::ColumnCount { Asked::NoPredicate } else { pass.asked };
        if path.is_index() && asked == Asked::HalfPass {
            let reason = "an index scan counts rows by their key and compares no other column";
            return Err(storage::StorageError::Parameters(reason.into()).into());
        }
        let pass = &ScanPass { asked, ..*pass };
        Ok(match &self.store {
            Store::Nothing => return Err(SubjectError::NotPrepared),
            Store::Rows(rows) => rows.scan(path, pass, &self.clock)?,
            Store::Units(units) => units.scan(pass, &self.clock)?,
            Store::Columns(columns) => columns.scan(pass, &self.clock)?,
        })
    }
}
