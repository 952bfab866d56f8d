//! The columns in memory, all of the table's.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dataset::DataSet;
use dataset::customers::SCHEMA;
use measure::Metric;
use storage::StorageError;
use storage::catalog::TableSpec;
use storage::column::{Budget, ColumnTable, Kernel, Question, Scan, Scanned, UNIT_ROWS, ZoneMaps};
use sys::time::Clock;

use super::generated::GeneratedPages;
use super::meter::{Meter, Scope};
use super::question::question;
use super::store::{self, StorePass, described};
use crate::access_paths::{ScanCost, Units};

/// A forecast may be wrong by one part in this many.
const FORECAST_ERROR: u64 = 25;

/// The columns, and the kernel that scans them.
pub(super) struct ColumnStore {
    table: ColumnTable,
    kernel: Kernel,
}

/// Bytes that the columns of a table take while they are built, at most: by its first unit.
pub(super) fn forecast(spec: &TableSpec, builders: usize, stop: &AtomicBool) -> Result<u64, StorageError> {
    let sample = TableSpec::new(&spec.name, DataSet::customers(spec.rows().min(UNIT_ROWS as u64), spec.data.seed));
    let table = built(&sample, 1, u64::MAX, stop)?;
    let none = || StorageError::Parameters("a table without rows has no columns".into());
    let forecast = table.forecast(spec.rows()).ok_or_else(none)?;
    let bytes = forecast.table_bytes + builders.max(1) as u64 * forecast.building_bytes;
    Ok(bytes + bytes / FORECAST_ERROR)
}

fn built(spec: &TableSpec, builders: usize, limit: u64, stop: &AtomicBool) -> Result<ColumnTable, StorageError> {
    let rows = GeneratedPages::new(spec, stop)?;
    ColumnTable::of_heap(&rows, &rows.table(), &SCHEMA, builders.max(1), &Arc::new(Budget::new(limit)))
}

impl ColumnStore {
    /// Builds the columns in at most `limit` bytes with `builders` threads, each of which ends with a unit of its own.
    pub(super) fn build(
        spec: &TableSpec,
        builders: usize,
        limit: u64,
        stop: &AtomicBool,
    ) -> Result<ColumnStore, StorageError> {
        Ok(ColumnStore { table: built(spec, builders, limit, stop)?, kernel: Kernel::best() })
    }

    /// What is known of the columns.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let summary = self.table.summary();
        let plain: u64 = summary.iter().map(|column| column.plain_bytes).sum();
        let bytes: u64 = summary.iter().map(|column| column.bytes).sum();
        let ratio = (bytes > 0).then(|| store::compression_ratio(plain as f64 / bytes as f64));
        [store::bytes(self.table.bytes())].into_iter().chain(ratio).collect()
    }

    /// The machine instructions that scan them.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Each column with its encodings, for the description of the engine.
    pub(super) fn described(&self) -> serde_json::Value {
        described(&self.table.summary())
    }

    /// Scans the columns that the question is about.
    pub(super) fn scan(&self, pass: &StorePass, clock: &Clock) -> Result<ScanCost, StorageError> {
        let zone_maps = if pass.zone_maps { ZoneMaps::On } else { ZoneMaps::Off };
        let threads = pass.threads.max(1);
        let scan = Scan { kernel: pass.kernel.unwrap_or(self.kernel), zone_maps };
        let question = Question::from(&question(pass.asked));
        self.table.with_workers(threads, |workers| {
            // The first scan wakes the workers.
            workers.scan(&question, scan)?;
            // Of several threads all of the process's work is taken: nothing else runs in it.
            let scope = if threads == 1 { Scope::Thread } else { Scope::Process };
            let scans = || {
                let once = |_: Scanned, _| workers.scan(&question, scan).map(std::hint::black_box);
                (0..pass.laps).try_fold(Scanned::default(), once)
            };
            let (found, taken) = Meter::new(clock, scope, pass.watch).watch(scans);
            let found = found?;
            Ok(ScanCost {
                cpu: taken.times.cpu,
                elapsed: taken.times.end.since(taken.times.start),
                tally: taken.tally,
                rows: found.rows,
                count: found.count,
                touched: Some(found.bytes * u64::from(pass.laps)),
                units: Some(Units { read: found.units_read, unread: found.units_skipped + found.units_counted }),
                ..ScanCost::default()
            })
        })
    }
}
