//! What the stores of rows, units and columns have in common: a pass in the engine's words, and what is known of a
//! structure.

use measure::{Metric, Unit};
use serde_json::json;
use storage::column::{ColumnSummary, Kernel};

use crate::access_paths::{Asked, Watch};

/// One pass over a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct StorePass {
    /// What is asked.
    pub(super) asked: Asked,
    /// Threads that share the work.
    pub(super) threads: usize,
    /// How often it is done.
    pub(super) laps: u32,
    /// Whether units of columns may be answered from their least and greatest value.
    pub(super) zone_maps: bool,
    /// The machine instructions that scan columns; `None`: the widest that this processor has.
    pub(super) kernel: Option<Kernel>,
    /// What watches it besides the clocks.
    pub(super) watch: Watch,
}

/// What is known of a structure, and of the index beside it.
#[derive(Clone, Debug, Default)]
pub(super) struct StoreFacts {
    /// Blocks of the rows, or of the units; `None` for columns.
    pub(super) blocks: Option<u64>,
    /// Bytes of the structure without its index.
    pub(super) bytes: u64,
    /// Table-block changes met when the index is walked in the order of its keys.
    pub(super) clustering_factor: Option<u64>,
    /// Leaves of the index.
    pub(super) leaf_blocks: Option<u64>,
    /// How many times smaller than the rows: by blocks for units, by bytes of values for columns.
    pub(super) compression_ratio: Option<f64>,
    /// The machine instructions that scan columns.
    pub(super) kernel: Option<Kernel>,
}

impl StoreFacts {
    /// The same as metrics of a case.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let count = |name, source, value: Option<u64>| {
            value.map(|value| Metric::single(name, Unit::Count, source, value as f64))
        };
        let factor = "table-block changes met when the index is walked in key order";
        let metrics = [
            count("blocks", "blocks of the table or of its units", self.blocks),
            Some(Metric::single(
                "structure_bytes",
                Unit::Bytes,
                "memory of the structure without its index",
                self.bytes as f64,
            )),
            count("clustering_factor", factor, self.clustering_factor),
            count("leaf_blocks", "leaves of the index", self.leaf_blocks),
            self.compression_ratio
                .map(|ratio| Metric::single("compression_ratio", Unit::Ratio, "size in rows over size here", ratio)),
        ];
        metrics.into_iter().flatten().collect()
    }
}

/// How columns came out, for the description of the engine.
pub(super) fn described(columns: &[ColumnSummary]) -> serde_json::Value {
    let encodings = |column: &ColumnSummary| {
        column.encodings.iter().map(|share| format!("{} × {share}", share.units)).collect::<Vec<_>>()
    };
    let of = |column: &ColumnSummary| {
        json!({
            "name": column.name, "encodings": encodings(column), "bytes": column.bytes,
            "compression_ratio": column.compression_ratio(),
        })
    };
    columns.iter().map(of).collect()
}
