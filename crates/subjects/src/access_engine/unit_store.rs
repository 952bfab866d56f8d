//! The hybrid columnar units in a buffer pool of their own.

use std::sync::atomic::AtomicBool;

use storage::customers::SCHEMA;
use storage::exec::unit_scan::unit_scan;
use storage::manifest::TableSpec;
use storage::page_id::PAGE_SIZE;
use storage::pool::{Pool, PoolSettings};
use storage::unit::Level;
use storage::unit::table::{BlockSink, UnitPlan, UnitTable, fill_block};
use storage::{PageId, SegmentId, StorageError};
use sys::clock::Clock;

use super::generated::GeneratedPages;
use super::{SPARE_PAGES, question, threads};
use crate::access_paths::{PathFacts, ScanCost, ScanPass};

/// By how much units may be larger than the first one, as one in so many: their rows are drawn alike.
const LARGER_UNITS: u64 = 25;

/// The units in their pool.
pub(super) struct UnitStore {
    pool: Pool,
    units: UnitTable,
}

/// Blocks that the units of a table take, at most: by its first unit.
pub(super) fn forecast(spec: &TableSpec, level: Level, stop: &AtomicBool) -> Result<u64, StorageError> {
    let rows_per_unit = u64::from(level.rows_per_unit());
    let sample = TableSpec::customers(&spec.name, spec.rows().min(rows_per_unit), spec.seed);
    let units = built(&sample, SegmentId(0), level, stop, &mut |_, _| Ok(()))?;
    let blocks = spec.rows().div_ceil(rows_per_unit) * u64::from(units.blocks());
    Ok(blocks + blocks / LARGER_UNITS + 1)
}

fn built(
    spec: &TableSpec,
    segment: SegmentId,
    level: Level,
    stop: &AtomicBool,
    sink: &mut BlockSink<'_>,
) -> Result<UnitTable, StorageError> {
    let columns = SCHEMA.map(|column| column.kind);
    let rows = GeneratedPages::new(spec, stop)?;
    UnitTable::build(&rows, &rows.table(), &UnitPlan { segment, columns: &columns, level }, sink)
}

impl UnitStore {
    /// Makes the units of a table.
    pub(super) fn build(spec: &TableSpec, level: Level, stop: &AtomicBool) -> Result<UnitStore, StorageError> {
        let blocks = forecast(spec, level, stop)?;
        let pool = Pool::new(PoolSettings::new((blocks + SPARE_PAGES) as usize * PAGE_SIZE))?;
        let pages_max = u32::try_from(blocks + SPARE_PAGES / 2);
        let pages_max = pages_max.map_err(|_| StorageError::Parameters("units have more blocks than can be".into()))?;
        let segment = pool.add_volatile_segment(level.name(), pages_max)?;
        let session = pool.session();
        let units = built(spec, segment, level, stop, &mut |number, part| {
            let id = PageId { segment, number };
            fill_block(&mut *session.create(id)?, id, part);
            Ok(())
        })?;
        drop(session);
        Ok(UnitStore { pool, units })
    }

    /// What is known of the units, beside so many blocks of rows.
    pub(super) fn facts(&self, row_blocks: u64) -> PathFacts {
        let blocks = u64::from(self.units.blocks());
        PathFacts {
            blocks: Some(blocks),
            bytes: blocks * PAGE_SIZE as u64,
            compression_ratio: Some(row_blocks as f64 / blocks as f64),
            ..PathFacts::default()
        }
    }

    /// Scans all units.
    pub(super) fn scan(&self, pass: &ScanPass, clock: &Clock) -> Result<ScanCost, StorageError> {
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
