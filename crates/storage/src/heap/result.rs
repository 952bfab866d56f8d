//! What a read of a table found, and what it took.

use crate::page::walk::Walked;

/// What a reader found and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanResult {
    /// Rows that were read.
    pub rows: u64,
    /// Pages of the table that were got.
    pub pages: u64,
    /// Rows that were read from the page before, still held.
    pub pinned_revisits: u64,
    /// A sum over what was touched; see [`Walked::folded`].
    pub folded: u64,
    /// Pages that had changed and were rebuilt.
    pub rebuilt: u64,
    /// Gets of undo pages that this took.
    pub undo_gets: u64,
}

impl ScanResult {
    #[inline]
    pub(crate) fn add(&mut self, walked: Walked) {
        self.rows += walked.rows;
        self.folded = self.folded.wrapping_add(walked.folded);
    }
}

impl std::ops::AddAssign for ScanResult {
    fn add_assign(&mut self, other: ScanResult) {
        self.add(Walked { rows: other.rows, folded: other.folded });
        self.pages += other.pages;
        self.pinned_revisits += other.pinned_revisits;
        self.rebuilt += other.rebuilt;
        self.undo_gets += other.undo_gets;
    }
}
