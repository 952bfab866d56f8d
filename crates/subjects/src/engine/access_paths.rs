//! The embedded engine as a subject of the experiment on access paths.
//!
//! The table is made in memory and never touches a disk. Blocks of rows, units and columns are there one after the
//! other: each is made from the generator of the rows, so that none needs another one in memory.

mod column_store;
mod generated;
mod meter;
mod question;
mod row_store;
mod store;
mod structure;
mod threads;
mod unit_store;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dataset::DataSet;
use dataset::customers::NOMINAL_ROW_LENGTH;
use measure::schema::scan::{self as schema, parameters as named};
use measure::{Finding, Metric, Nanos, Parameters};
use serde_json::json;
use storage::catalog::TableSpec;
use storage::column::{Kernel, UNIT_ROWS};
use storage::page::id::PAGE_SIZE;
use sys::host;
use sys::time::Clock;

use crate::access_paths::{
    AccessPath, AccessPaths, AccessSettings, Asked, Counting, MemoryNeed, PathFacts, PathOffer, Sampling, ScanCost,
    ScanPass, Sources,
};
use crate::engine::logical_reads::CACHE;
use crate::error::SubjectError;
use crate::huge_pages;
use crate::opening::Progress;
use crate::subject::{Closing, ENGINE, Subject};
use column_store::ColumnStore;
use row_store::RowStore;
use store::StorePass;
use structure::Structure;
use unit_store::UnitStore;

/// Threads that build columns, at most: each collects a unit of its own.
const BUILDERS_MAX: usize = 8;

/// A sample lasts at least this long: two readings of the CPU clock of half a microsecond vanish in it.
const SAMPLE_TIME: Nanos = Nanos::from_millis(20);

/// Most laps of a sample. A count of columns takes well under a microsecond.
const LAPS_MAX: u32 = 1 << 17;

/// The engine with what is in memory now.
pub struct AccessEngine {
    settings: AccessSettings,
    spec: TableSpec,
    clock: Clock,
    /// Raised by ^C.
    stop: Arc<AtomicBool>,
    /// All paths that will be asked for.
    planned: Vec<AccessPath>,
    store: Option<(Structure, Store)>,
    prepared: Option<(AccessPath, Asked)>,
    description: Parameters,
    findings: Vec<Finding>,
}

/// One structure at a time.
enum Store {
    Rows(RowStore),
    Units(UnitStore),
    Columns(ColumnStore),
}

/// A table of this many rows, and its blocks.
fn table(rows: u64, seed: u64) -> Result<(TableSpec, u32), SubjectError> {
    let spec = TableSpec::new("customers", DataSet::customers(rows, seed));
    let cannot_be = |error| SubjectError::Parameters(format!("--rows {rows} is not possible: {error}"));
    let blocks = spec.pages().map_err(cannot_be)?;
    Ok((spec, blocks))
}

impl AccessEngine {
    /// Refuses a number of rows that no table can hold.
    pub fn check_rows(rows: u64, seed: u64) -> Result<(), SubjectError> {
        table(rows, seed).map(drop)
    }

    /// An engine with nothing in memory yet. Errors when a table cannot hold `settings.rows` rows.
    pub fn new(settings: AccessSettings, clock: Clock, stop: Arc<AtomicBool>) -> Result<AccessEngine, SubjectError> {
        let (spec, blocks) = table(settings.rows, settings.seed)?;
        let description = [
            ("kind", json!(ENGINE)),
            ("rows", json!(settings.rows)),
            ("row_bytes", json!(settings.rows.saturating_mul(NOMINAL_ROW_LENGTH.into()))),
            ("row_blocks", json!(blocks)),
        ];
        Ok(AccessEngine {
            settings,
            spec,
            clock,
            stop,
            planned: Vec::new(),
            store: None,
            prepared: None,
            description: description.into_iter().map(|(key, value)| (key.to_string(), value)).collect(),
            findings: Vec::new(),
        })
    }

    /// The engine's paths, each with the reason where it cannot answer the question.
    pub fn offers(asked: Asked) -> Vec<PathOffer> {
        structure::offers(asked)
    }

    /// Blocks that the rows take.
    pub fn row_blocks(&self) -> Result<u64, SubjectError> {
        Ok(self.spec.pages()?.into())
    }

    /// Threads that make a structure. A part of less than a unit would have a dictionary of its own for nothing.
    fn builders(&self, structure: Structure) -> usize {
        let unit_rows = match structure {
            Structure::Units => self.settings.level.rows_per_unit().into(),
            Structure::Rows | Structure::Columns => UNIT_ROWS as u64,
        };
        let units = usize::try_from(self.settings.rows.div_ceil(unit_rows)).unwrap_or(usize::MAX);
        let usual = || host::allowed_cpus().len().clamp(1, BUILDERS_MAX).min(units.max(1));
        self.settings.builders.unwrap_or_else(usual)
    }

    fn plans(&self, wanted: impl Fn(AccessPath) -> bool) -> bool {
        self.planned.iter().any(|path| wanted(*path))
    }

    fn build(&self, structure: Structure) -> Result<Store, SubjectError> {
        let (stop, builders) = (&self.stop, self.builders(structure));
        Ok(match structure {
            Structure::Rows => {
                let has_index = self.plans(AccessPath::is_index);
                Store::Rows(RowStore::build(&self.spec, has_index, builders, stop)?)
            }
            Structure::Units => Store::Units(UnitStore::build(&self.spec, self.settings.level, builders, stop)?),
            Structure::Columns => {
                let limit = self.settings.memory.unwrap_or(u64::MAX);
                Store::Columns(ColumnStore::build(&self.spec, builders, limit, stop)?)
            }
        })
    }

    fn bytes_of(&self, structure: Structure) -> Result<u64, SubjectError> {
        let (rows, builders) = (self.spec.rows(), self.builders(structure));
        Ok(match structure {
            Structure::Rows => {
                let is_sorted = self.plans(|path| path == AccessPath::IndexBadClustering);
                let sorted = if is_sorted { rows } else { 0 };
                let index = if self.plans(AccessPath::is_index) { row_store::index_pages(rows) } else { 0 };
                structure::pool_bytes(self.row_blocks()? + index) + sorted * row_store::SORTED_ENTRY_BYTES
            }
            Structure::Units => structure::pool_bytes(
                unit_store::forecast(&self.spec, self.settings.level, builders, &self.stop)?.blocks(),
            ),
            Structure::Columns => column_store::forecast(&self.spec, builders, &self.stop)?,
        })
    }

    /// Turns to a path, whose structure takes the place of another one.
    fn turn_to(&mut self, path: AccessPath) -> Result<Vec<Metric>, SubjectError> {
        let structure = Structure::of(path).ok_or(SubjectError::NotPrepared)?;
        // The old one goes before the new one comes: both together may be more than there is memory.
        let store = match self.store.take().filter(|(kept, _)| *kept == structure) {
            Some((_, kept)) => kept,
            None => self.build(structure)?,
        };
        let (_, store) = self.store.insert((structure, store));
        Ok(match store {
            Store::Rows(rows) => rows.prepare(path, &self.stop)?,
            Store::Units(units) => units.metrics(self.spec.pages()?.into()),
            Store::Columns(columns) => {
                self.description.insert("columns".into(), columns.described());
                columns.metrics()
            }
        })
    }

    /// Warns where a pool stands on small pages.
    fn look_at_huge_pages(&mut self) {
        let pool = match &self.store {
            Some((_, Store::Rows(rows))) => rows.pool(),
            Some((_, Store::Units(units))) => units.pool(),
            Some((_, Store::Columns(_))) | None => return,
        };
        let bytes = pool.settings().bytes as u64;
        let cost = "every get of a block elsewhere";
        self.findings.extend(huge_pages::not_granted("A buffer pool", bytes, pool.huge_bytes(), cost));
    }

    /// The machine instructions that scan; `None` for blocks.
    fn kernel(&self) -> Option<&'static str> {
        if let Some((_, Store::Columns(columns))) = &self.store { Some(columns.kernel().name()) } else { None }
    }

    /// What distinguishes the path's cases besides the experiment's own parameters.
    fn parameters(&self, path: AccessPath) -> Parameters {
        let zone_maps = (path == AccessPath::ColumnScan).then(|| named::ZONE_MAPS.of(self.settings.zone_maps));
        let level = (path == AccessPath::FullScanCompressed).then(|| named::LEVEL.of(self.settings.level.name()));
        let kernel = self.kernel().map(|kernel| named::KERNEL.of(kernel));
        zone_maps.into_iter().chain(level).chain(kernel).collect()
    }
}

fn sources(path: AccessPath) -> Sources {
    let gate = "the buffer pool's gate, one pass";
    Sources {
        cpu: "CPU clock of the threads".into(),
        is_processor_time: true,
        is_in_process: true,
        elapsed: "first start to last end, one pass",
        rows: "counted by the reader, one pass",
        gets: gate,
        physical_reads: gate,
        touched: match Structure::of(path) {
            Some(Structure::Columns) => "bytes of codes, dictionaries and nulls that were read, one pass",
            _ => "gets times the size of a block, one pass",
        },
        cache: CACHE,
    }
}

impl Subject for AccessEngine {
    fn name(&self) -> &str {
        ENGINE
    }

    fn description(&self) -> Parameters {
        self.description.clone()
    }

    fn findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    fn finish(self: Box<Self>) -> Closing {
        Closing::quiet()
    }
}

impl AccessPaths for AccessEngine {
    fn paths(&self, asked: Asked) -> Vec<PathOffer> {
        structure::offers(asked)
    }

    fn plan(&mut self, paths: &[AccessPath]) -> Result<Vec<MemoryNeed>, SubjectError> {
        self.planned = paths.to_vec();
        let is_needed = |structure: &Structure| self.plans(|path| Structure::of(path) == Some(*structure));
        let need =
            |structure: Structure| Ok(MemoryNeed { structure: structure.name(), bytes: self.bytes_of(structure)? });
        Structure::ALL.into_iter().filter(is_needed).map(need).collect()
    }

    fn count_instructions(
        &mut self,
        _asked: Asked,
        _limit: Duration,
        _progress: &mut Progress<'_>,
    ) -> Result<Counting, SubjectError> {
        Ok(Counting::InChild(ENGINE))
    }

    fn prepare(
        &mut self,
        path: AccessPath,
        asked: Asked,
        progress: &mut Progress<'_>,
    ) -> Result<Result<PathFacts, Finding>, SubjectError> {
        self.prepared = None;
        if let Some(structure) = Structure::of(path) {
            let what = format!("making {} for {}", structure.name(), path.name());
            let (rows, level) = (self.settings.rows, self.settings.level);
            progress(&what, structure.making_time(rows, level, self.builders(structure)));
        }
        let start = self.clock.now();
        let mut metrics = self.turn_to(path)?;
        let time = self.clock.now().since(start);
        self.look_at_huge_pages();
        self.prepared = Some((path, asked));
        let source = "wall clock; what another path made before is there already";
        metrics.push(schema::PREPARATION.single(source, time.as_seconds()));
        Ok(Ok(PathFacts {
            parameters: self.parameters(path),
            metrics,
            kernel: self.kernel(),
            sampling: Sampling { time: SAMPLE_TIME, laps_max: LAPS_MAX, lap_time: None },
            sources: sources(path),
        }))
    }

    fn scan(&mut self, pass: &ScanPass<'_>) -> Result<ScanCost, SubjectError> {
        let (path, asked) = self.prepared.ok_or(SubjectError::NotPrepared)?;
        let asked = if path == AccessPath::ColumnCount { Asked::NoPredicate } else { asked };
        if path.is_index() && asked == Asked::HalfPass {
            let reason = "an index scan counts rows by their key and compares no other column";
            return Err(SubjectError::Parameters(reason.into()));
        }
        let AccessSettings { zone_maps, watch, .. } = self.settings;
        let kernel = pass.kernel.and_then(|name| name.parse::<Kernel>().ok());
        let store_pass = &StorePass { asked, threads: pass.threads, laps: pass.laps, zone_maps, kernel, watch };
        let (_, store) = self.store.as_ref().ok_or(SubjectError::NotPrepared)?;
        let cost = match store {
            Store::Rows(rows) => rows.scan(path, store_pass, &self.clock)?,
            Store::Units(units) => units.scan(store_pass, &self.clock)?,
            Store::Columns(columns) => columns.scan(store_pass, &self.clock)?,
        };
        // An index touches lines of blocks, and how many of them is not known.
        let touched = cost.touched.or((!path.is_index()).then_some(cost.gets * PAGE_SIZE as u64));
        Ok(ScanCost { touched, pinned_revisits: cost.pinned_revisits.or(Some(0)), ..cost })
    }
}
