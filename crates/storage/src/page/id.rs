//! Addresses: which segment, which page of it, which slot of the page.

use std::fmt;

/// Bytes of a page.
pub const PAGE_SIZE: usize = 8192;

/// A data file of the engine, by its number in the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u16);

/// A page of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    /// The data file.
    pub segment: SegmentId,
    /// Number of the page in it, from 0; its first byte is at `number * PAGE_SIZE`.
    pub number: u32,
}

/// The address of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// The page.
    pub page: PageId,
    /// Entry of the page's row directory.
    pub slot: u16,
}

impl fmt::Display for PageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "page {} of segment {}", self.number, self.segment.0)
    }
}
