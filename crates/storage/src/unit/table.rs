//! A table of units: which blocks each unit takes, and how its bytes are put into blocks and taken out again.
//!
//! A block holds a part of one unit as a row with a single column, so that it is a page like any other: verified like
//! one, got like one. A unit begins with a block of its own.

use std::ops::Range;

use super::builder::UnitBuilder;
use super::format::{Entry, Header, Section, UnitDamage};
use super::level::Level;
use super::section;
use crate::error::StorageError;
use crate::heap::table::HeapTable;
use crate::page::access::PageAccess;
use crate::page::id::{PageId, SegmentId};
use crate::page::{PageBytes, PageKind, PageMut, PageView, ROW_BYTES_MAX, row};
use dataset::ColumnType;

/// Bytes of a unit in each of its blocks but the last: what a row holds besides its column count and a long length.
pub const BLOCK_BYTES: usize = ROW_BYTES_MAX - 4;

/// Where a unit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    first: u32,
    blocks: u32,
    rows: u32,
}

/// A table of units in one segment.
#[derive(Clone, Debug)]
pub struct UnitTable {
    segment: SegmentId,
    columns: Vec<ColumnType>,
    level: Level,
    units: Vec<Place>,
    /// Number of the block behind the last unit.
    next: u32,
}

/// Takes the number of a block, and the part of a unit that it is to hold.
pub type BlockSink<'a> = dyn FnMut(u32, &[u8]) -> Result<(), StorageError> + 'a;

impl UnitTable {
    /// Builds units from the rows of a table and hands their blocks to `sink`, which puts them into `segment` with
    /// [`fill_block`]. The memory needed is that of one unit.
    ///
    /// Errors with whatever reading, building or the sink errors with.
    pub fn build<A: PageAccess>(
        access: &A,
        rows: &HeapTable,
        plan: &UnitPlan<'_>,
        sink: &mut BlockSink<'_>,
    ) -> Result<UnitTable, StorageError> {
        UnitTable::build_part(access, rows, 0..rows.pages(), plan, sink)
    }

    /// As [`build`](UnitTable::build) from a range of the pages, for several threads that each make a part. A part ends
    /// with a unit that may not be full.
    pub fn build_part<A: PageAccess>(
        access: &A,
        rows: &HeapTable,
        pages: Range<u32>,
        plan: &UnitPlan<'_>,
        sink: &mut BlockSink<'_>,
    ) -> Result<UnitTable, StorageError> {
        let mut table = UnitTable {
            segment: plan.segment,
            columns: plan.columns.to_vec(),
            level: plan.level,
            units: Vec::new(),
            next: plan.first_block,
        };
        let mut builder = UnitBuilder::new(plan.level, plan.columns)?;
        for number in pages {
            let page = access.get(rows.page(number))?;
            for row in PageView::verified(&page).rows() {
                builder.append(row)?;
                if builder.is_full() {
                    table.lay(&mut builder, sink)?;
                }
            }
        }
        table.lay(&mut builder, sink)?;
        Ok(table)
    }

    /// Puts the unit of the rows that wait behind the last one.
    fn lay(&mut self, builder: &mut UnitBuilder, sink: &mut BlockSink<'_>) -> Result<(), StorageError> {
        let rows = builder.rows();
        let Some(unit) = builder.finish()? else { return Ok(()) };
        let first = self.next;
        let full = || StorageError::Parameters("a table of units has more blocks than a segment can number".into());
        let blocks = u32::try_from(unit.len().div_ceil(BLOCK_BYTES)).map_err(|_| full())?;
        self.next = first.checked_add(blocks).ok_or_else(full)?;
        for (number, part) in (first..).zip(unit.chunks(BLOCK_BYTES)) {
            sink(number, part)?;
        }
        self.units.push(Place { first, blocks, rows });
        Ok(())
    }

    /// The units of all parts, in their order, as one table.
    ///
    /// Errors with [`StorageError::Parameters`] for none, and for parts of several tables.
    pub fn join(parts: Vec<UnitTable>) -> Result<UnitTable, StorageError> {
        let one_table = |sum: UnitTable, part: UnitTable| {
            let is_same = (sum.segment, sum.level) == (part.segment, part.level) && sum.columns == part.columns;
            is_same.then(|| UnitTable { units: [sum.units, part.units].concat(), next: part.next, ..sum })
        };
        let mut parts = parts.into_iter();
        let first = parts.next();
        let table = first.and_then(|first| parts.try_fold(first, one_table));
        table.ok_or_else(|| StorageError::Parameters("these units are not parts of one table".into()))
    }

    /// Blocks of all units.
    pub fn blocks(&self) -> u32 {
        self.units.iter().map(|unit| unit.blocks).sum()
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Rows of all units.
    pub fn rows(&self) -> u64 {
        self.units.iter().map(|unit| u64::from(unit.rows)).sum()
    }

    /// What the columns hold.
    pub fn columns(&self) -> &[ColumnType] {
        &self.columns
    }

    /// Opens unit `index` for reading, with one get for its first block.
    ///
    /// Errors with [`StorageError::BadUnit`] for one that is damaged, or is not what was built.
    pub fn open<'a, A: PageAccess>(&'a self, access: &'a A, index: usize) -> Result<UnitReader<'a, A>, StorageError> {
        let place = self.units[index];
        let mut reader = UnitReader { access, segment: self.segment, place, header: None, held: None };
        let header = reader.with_block(0, Header::parse)?;
        let damaged = |damage| Err(StorageError::BadUnit { page: reader.page(0), damage });
        if header.rows != place.rows || header.columns() != self.columns.len() {
            return damaged(UnitDamage::Header("it is not the unit that was built here"));
        }
        if (header.bytes as usize).div_ceil(BLOCK_BYTES) != place.blocks as usize {
            return damaged(UnitDamage::Header("its own size"));
        }
        reader.header = Some(header);
        Ok(reader)
    }
}

/// What units are built into.
#[derive(Clone, Copy, Debug)]
pub struct UnitPlan<'a> {
    /// The segment that will hold the blocks.
    pub segment: SegmentId,
    /// Number of the first block in it.
    pub first_block: u32,
    /// What the columns of the rows hold.
    pub columns: &'a [ColumnType],
    /// How hard to compress.
    pub level: Level,
}

/// Makes a block that holds a part of a unit, of at most [`BLOCK_BYTES`]. Panics for a longer one.
pub fn fill_block(bytes: &mut PageBytes, id: PageId, part: &[u8]) {
    let mut page = PageMut::format(bytes, id, PageKind::Heap);
    let mut whole = Vec::with_capacity(ROW_BYTES_MAX);
    row::encode(&[Some(part)], &mut whole);
    page.append(&whole).expect("a block has room for a part of a unit");
    page.seal();
}

/// One unit that is being read. It holds the block that was read last: a section that goes on there is a revisit.
pub struct UnitReader<'a, A: PageAccess + 'a> {
    access: &'a A,
    segment: SegmentId,
    place: Place,
    header: Option<Header>,
    held: Option<(u32, A::Guard<'a>)>,
}

impl<'a, A: PageAccess + 'a> UnitReader<'a, A> {
    /// Rows of the unit.
    pub fn rows(&self) -> u32 {
        self.place.rows
    }

    /// Reads, checks and decompresses a section of a column (from 0) into `raw`; `packed` is a buffer.
    ///
    /// Errors with [`StorageError::BadUnit`] where the section is not what it should be.
    pub fn section(
        &mut self,
        column: usize,
        section: Section,
        packed: &mut Vec<u8>,
        raw: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let header = self.header.as_ref();
        let known = header.and_then(|header| Some((header.level.codec(), header.entry(column, section)?)));
        let Some((codec, entry)) = known else {
            return Err(StorageError::Parameters(format!("a unit has no column {}", column + 1)));
        };
        self.gather(entry, packed)?;
        let outcome = section::verify(packed, entry, column).and_then(|()| {
            section::decompress(codec, packed, entry, raw)
                .map_err(|reason| UnitDamage::Column { column: column + 1, reason })
        });
        outcome.map_err(|damage| self.damaged(damage))
    }

    /// What was read and is not what it should be.
    pub fn damaged(&self, damage: UnitDamage) -> StorageError {
        StorageError::BadUnit { page: self.page(0), damage }
    }

    fn page(&self, block: u32) -> PageId {
        PageId { segment: self.segment, number: self.place.first + block }
    }

    /// Puts the stored bytes of a section together.
    fn gather(&mut self, entry: Entry, packed: &mut Vec<u8>) -> Result<(), StorageError> {
        packed.clear();
        let Range { start, end } = entry.range();
        let mut at = start;
        while at < end {
            let (block, from) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
            let wanted = (end - at).min(BLOCK_BYTES - from);
            self.with_block(block as u32, |part| {
                let part = part.get(from..from + wanted).ok_or(UnitDamage::Short)?;
                packed.extend_from_slice(part);
                Ok(())
            })?;
            at += wanted;
        }
        Ok(())
    }

    /// Hands the part of the unit in its block `block` to `look`. The block is got unless it is still held.
    fn with_block<T>(
        &mut self,
        block: u32,
        look: impl FnOnce(&[u8]) -> Result<T, UnitDamage>,
    ) -> Result<T, StorageError> {
        if block >= self.place.blocks {
            return Err(self.damaged(UnitDamage::Short));
        }
        match &self.held {
            Some((number, _)) if *number == block => self.access.pinned_revisit(),
            _ => {
                // The one before is let go first, so that one pin is enough.
                self.held = None;
                self.held = Some((block, self.access.get(self.page(block))?));
            }
        }
        let Some((_, page)) = &self.held else { return Err(self.damaged(UnitDamage::Block)) };
        let part = PageView::verified(page).row(0).and_then(|row| row.column(1).flatten());
        part.ok_or(UnitDamage::Block).and_then(look).map_err(|damage| self.damaged(damage))
    }
}
