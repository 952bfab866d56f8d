//! What the stores of rows, units and columns have in common: a pass in the engine's words, and what is known of a
//! structure.

use measure::Metric;
use measure::schema::scan as schema;
use serde_json::json;
use storage::column::{ColumnSummary, Kernel};
use storage::page::id::PAGE_SIZE;

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

/// The metrics of a structure in blocks: how many, and what they take.
pub(super) fn blocks(blocks: u64) -> [Metric; 2] {
    [schema::BLOCKS.count("blocks of the table or of its units", blocks), bytes(blocks * PAGE_SIZE as u64)]
}

/// The metric of a structure's bytes.
pub(super) fn bytes(bytes: u64) -> Metric {
    schema::STRUCTURE_BYTES.count("memory of the structure without its index", bytes)
}

/// The metric of how many times smaller it is than the rows: by blocks for units, by bytes of values for columns.
pub(super) fn compression_ratio(ratio: f64) -> Metric {
    schema::COMPRESSION_RATIO.single("size in rows over size here", ratio)
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
