//! The hybrid columnar units in a buffer pool of their own.

use std::sync::atomic::AtomicBool;

use dataset::DataSet;
use dataset::customers::SCHEMA;
use measure::Metric;
use storage::catalog::TableSpec;
use storage::exec::unit_scan::unit_scan;
use storage::page::id::PAGE_SIZE;
use storage::pool::{Pool, PoolSettings};
use storage::unit::Level;
use storage::unit::table::{UnitPlan, UnitTable, fill_block};
use storage::{PageId, SegmentId, StorageError};
use sys::time::Clock;

use super::generated::GeneratedPages;
use super::question::question;
use super::store::{self, StorePass};
use super::structure::SPARE_PAGES;
use super::threads;
use crate::access_paths::ScanCost;

/// How much larger than the first unit the others may be, as a divisor (one twenty-fifth): their rows are drawn alike.
const LARGER_UNITS: u64 = 25;

/// The units in their pool.
pub(super) struct UnitStore {
    pool: Pool,
    units: UnitTable,
}

/// Into how many parts a table of units is made, and how large each may become.
pub(super) struct Forecast {
    parts: usize,
    blocks_of_part: u64,
}

impl Forecast {
    /// Blocks of all parts, at most.
    pub(super) fn blocks(&self) -> u64 {
        self.parts as u64 * self.blocks_of_part
    }
}

/// Most blocks that the units of a table take when `builders` threads make them, estimated from its first unit.
pub(super) fn forecast(
    spec: &TableSpec,
    level: Level,
    builders: usize,
    stop: &AtomicBool,
) -> Result<Forecast, StorageError> {
    let rows_per_unit = u64::from(level.rows_per_unit());
    let sample = TableSpec::new(&spec.name, DataSet::customers(spec.rows().min(rows_per_unit), spec.data.seed));
    let columns = SCHEMA.each_ref().map(|column| column.kind);
    let rows = GeneratedPages::new(&sample, stop)?;
    let plan = UnitPlan { segment: SegmentId(0), first_block: 0, columns: &columns, level };
    let unit = UnitTable::build(&rows, &rows.table(), &plan, &mut |_, _| Ok(()))?;
    // A part of less than a unit would have a unit that is not full for nothing.
    let parts = (builders.max(1) as u64).min(spec.rows().div_ceil(rows_per_unit)).max(1);
    // The first page of a part and the last one may have the more rows.
    let rows_of_part = spec.rows().div_ceil(parts) + 2 * u64::from(spec.rows_per_page());
    let blocks = rows_of_part.div_ceil(rows_per_unit) * u64::from(unit.blocks());
    Ok(Forecast { parts: parts as usize, blocks_of_part: blocks + blocks / LARGER_UNITS + 1 })
}

impl UnitStore {
    /// Makes the units of a table with `builders` threads.
    pub(super) fn build(
        spec: &TableSpec,
        level: Level,
        builders: usize,
        stop: &AtomicBool,
    ) -> Result<UnitStore, StorageError> {
        let forecast = forecast(spec, level, builders, stop)?;
        let pool = Pool::new(PoolSettings::new((forecast.blocks() + SPARE_PAGES) as usize * PAGE_SIZE))?;
        let too_many = |_| StorageError::Parameters("units have more blocks than can be".into());
        let blocks_of_part = u32::try_from(forecast.blocks_of_part).map_err(too_many)?;
        let segment = pool.add_volatile_segment(level.name(), u32::try_from(forecast.blocks()).map_err(too_many)?)?;
        let columns = SCHEMA.each_ref().map(|column| column.kind);
        let rows = GeneratedPages::new(spec, stop)?;
        let table = rows.table();
        let parts = threads::make_parts(table.pages(), forecast.parts, &|index, pages| {
            let session = pool.session();
            let plan = UnitPlan { segment, first_block: index as u32 * blocks_of_part, columns: &columns, level };
            UnitTable::build_part(&rows, &table, pages, &plan, &mut |number, part| {
                let id = PageId { segment, number };
                fill_block(&mut *session.create(id)?, id, part);
                Ok(())
            })
        })?;
        let units = UnitTable::join(parts)?;
        Ok(UnitStore { pool, units })
    }

    /// What is known of the units, compared with `row_blocks` blocks of rows.
    pub(super) fn metrics(&self, row_blocks: u64) -> Vec<Metric> {
        let blocks = u64::from(self.units.blocks());
        let ratio = store::compression_ratio(row_blocks as f64 / blocks as f64);
        store::blocks(blocks).into_iter().chain([ratio]).collect()
    }

    /// Scans all units.
    pub(super) fn scan(&self, pass: &StorePass, clock: &Clock) -> Result<ScanCost, StorageError> {
        let question = question(pass.asked);
        threads::run(&self.pool, clock, pass, self.units.units() as u32, &|session, part| {
            unit_scan(session, &self.units, part.start as usize..part.end as usize, &question)
        })
    }

    /// The pool, for what it says about itself.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }
}
