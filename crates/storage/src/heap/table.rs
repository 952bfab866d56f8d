//! A loaded table: where its pages and rows are.

use measure::random::{Permutation, SplitMix64};

use crate::catalog::table::{TableInfo, TableSpec};
use crate::page::id::{PageId, RowId, SegmentId};

/// A loaded table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapTable {
    segment: SegmentId,
    pages: u32,
    rows: u64,
    rows_per_page: u32,
    spec: TableSpec,
}

impl HeapTable {
    /// The table of `info`, whose data file is `segment` to the store of its pages.
    pub fn new(info: &TableInfo, segment: SegmentId) -> HeapTable {
        let rows_per_page = info.spec.rows_per_page();
        HeapTable { segment, pages: info.pages, rows: info.rows, rows_per_page, spec: info.spec.clone() }
    }

    /// The segment of its pages.
    pub fn segment(&self) -> SegmentId {
        self.segment
    }

    /// Number of its pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Number of its rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What it was made from.
    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// A page of it.
    #[inline]
    pub fn page(&self, number: u32) -> PageId {
        PageId { segment: self.segment, number }
    }

    /// The address of row `number`, counted from 0 in the order of loading. Panics beyond the last row.
    #[inline]
    pub fn row_id(&self, number: u64) -> RowId {
        assert!(number < self.rows, "row {number} of {}", self.rows);
        let per_page = u64::from(self.rows_per_page);
        RowId { page: self.page((number / per_page) as u32), slot: (number % per_page) as u16 }
    }

    /// The addresses of all rows, each once, in an order that depends on the seed. Nothing is stored.
    pub fn row_ids_in_random_order(&self, seed: u64) -> impl Iterator<Item = RowId> + '_ {
        let order = Permutation::new(self.rows, &mut SplitMix64::new(seed));
        order.into_numbers().map(|number| self.row_id(number))
    }
}
