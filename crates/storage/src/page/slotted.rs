//! The slotted page: a header, a directory of rows that grows upwards, rows that grow downwards from the end.
//!
//! The byte map is in docs/formats.md; the offsets are the constants of [`field`]. Rows stand without gaps, the first
//! one at the end of the page, so a row ends where the row before it begins and the directory needs two bytes a row.
//! Rows are changed in place and never moved.
//!
//! Everything is checked once, by [`PageView::verify`], when the page comes from a disk. Later readers look at the
//! page through [`PageView::verified`] and check nothing; they cannot be led out of the page all the same, because
//! every access here is either a checked slice or, in [`crate::page::walk`], masked to the page's size.

use thiserror::Error;

use crate::page::checksum;
use crate::page::id::{PAGE_SIZE, PageId, RowId, SegmentId};
use crate::page::row::{RowDamage, RowView};

/// The bytes of a page.
pub type PageBytes = [u8; PAGE_SIZE];

/// Where the fields of the header stand, in bytes from the start of the page. All numbers are little-endian.
pub mod field {
    /// CRC32C of the bytes 4 to 8191; u32.
    pub const CHECKSUM: usize = crate::page::checksum::CHECKSUM_AT;
    /// The letters `rpdb`.
    pub const MAGIC: usize = 4;
    /// Version of the format; u16.
    pub const VERSION: usize = 8;
    /// What the page holds: 1 heap, 2 undo, 3 a node of an index; u8.
    pub const KIND: usize = 10;
    /// Zero; u8.
    pub const RESERVED: usize = 11;
    /// Segment of the page; u16.
    pub const SEGMENT: usize = 12;
    /// Entries of the row directory; u16.
    pub const SLOTS: usize = 14;
    /// Number of the page in its segment; u32.
    pub const NUMBER: usize = 16;
    /// First byte behind the row directory; u16.
    pub const FREE_START: usize = 20;
    /// First byte of the rows; u16. 8192 in a page without rows.
    pub const FREE_END: usize = 22;
    /// Number of the last change of any row; u64.
    pub const CHANGE: usize = 24;
    /// Undo record of the last change: page number u32, slot u16, segment u16. All ones: there is none.
    pub const UNDO: usize = 32;
    /// The row directory: offset of each row; u16 each.
    pub const DIRECTORY: usize = 40;
}

/// The letters by which a page is recognised.
pub const MAGIC: [u8; 4] = *b"rpdb";

/// The version of the format that this code reads and writes.
pub const FORMAT_VERSION: u16 = 1;

/// Bytes of one entry of the row directory.
pub const SLOT_BYTES: usize = 2;

/// The most rows that a page can hold: each takes a directory entry and at least its column count.
pub const SLOTS_MAX: usize = PAGE_ROOM / (SLOT_BYTES + 1);

/// Bytes of a page for rows and their directory entries.
pub const PAGE_ROOM: usize = PAGE_SIZE - field::DIRECTORY;

/// The longest row that a page can hold.
pub const ROW_BYTES_MAX: usize = PAGE_ROOM - SLOT_BYTES;

/// The undo field of a page that was never changed.
const NO_UNDO: u64 = u64::MAX;

/// The number of a change. Changes are numbered upwards from 1; 0 is the state after the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeNumber(pub u64);

/// What a page holds, by the number that stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PageKind {
    /// Rows of a table.
    Heap = 1,
    /// Undo records; see [`crate::heap::versions`].
    Undo = 2,
    /// A node of an index, which is no slotted page; see [`crate::btree::node`].
    Index = 3,
}

impl PageKind {
    fn of_code(code: u8) -> Option<PageKind> {
        [PageKind::Heap, PageKind::Undo, PageKind::Index].into_iter().find(|kind| *kind as u8 == code)
    }

    /// Whether pages of this kind are a directory and rows.
    pub(super) fn has_rows(self) -> bool {
        matches!(self, PageKind::Heap | PageKind::Undo)
    }
}

/// Why a page must not be used.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Damage {
    /// Nothing but zeros, as in a hole of a file.
    #[error("it holds only zeros: it was never written")]
    NeverWritten,
    /// The magic letters are missing.
    #[error("it does not begin like a page of this engine")]
    Foreign,
    /// Written by a version that this one does not know.
    #[error("its format version is {0} and this program reads version {FORMAT_VERSION}")]
    Version(u16),
    /// The checksum does not match.
    #[error("its checksum is {stored:#010x} and its bytes give {computed:#010x}")]
    Checksum {
        /// What the page says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// A good page in the wrong place.
    #[error("it says that it is {0}")]
    OtherPage(PageId),
    /// A kind that is none, or not the one that is read here.
    #[error("its kind is {0}, which is none that is expected here")]
    Kind(u8),
    /// Directory and rows do not lie as they must.
    #[error("its header does not fit its rows")]
    Header,
    /// A row that does not follow its neighbour.
    #[error("entry {0} of its row directory leads astray")]
    Slot(u16),
    /// A row whose columns do not fit its bytes.
    #[error("row {slot} is damaged: {damage}")]
    Row {
        /// Its entry in the directory.
        slot: u16,
        /// What is wrong.
        damage: RowDamage,
    },
    /// Header, arrays and keys of a node do not lie as they must.
    #[error("its header does not fit its entries")]
    Node,
    /// An entry of a node that does not come after the one before.
    #[error("entry {0} of it is not in order")]
    Entry(u16),
    /// A leaf that does not come after the leaf that names it as the next one.
    #[error("it does not come after the leaf that leads to it")]
    Chain,
}

/// The two bytes of `page` at `at`, little-endian.
pub(crate) fn u16_at(page: &PageBytes, at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

pub(crate) fn u32_at(page: &PageBytes, at: usize) -> u32 {
    u32::from(u16_at(page, at)) | u32::from(u16_at(page, at + 2)) << 16
}

fn u64_at(page: &PageBytes, at: usize) -> u64 {
    u64::from(u32_at(page, at)) | u64::from(u32_at(page, at + 4)) << 32
}

pub(crate) fn put<const N: usize>(page: &mut PageBytes, at: usize, value: [u8; N]) {
    page[at..at + N].copy_from_slice(&value);
}

/// Packs the address of an undo record into the eight bytes of its field.
pub(crate) fn pack_link(link: Option<RowId>) -> u64 {
    link.map_or(NO_UNDO, |row| {
        u64::from(row.page.number) | u64::from(row.slot) << 32 | u64::from(row.page.segment.0) << 48
    })
}

/// The inverse of [`pack_link`].
pub(crate) fn unpack_link(packed: u64) -> Option<RowId> {
    let page = PageId { segment: SegmentId((packed >> 48) as u16), number: packed as u32 };
    (packed != NO_UNDO).then_some(RowId { page, slot: (packed >> 32) as u16 })
}

/// A page to read.
#[derive(Clone, Copy, Debug)]
pub struct PageView<'a> {
    bytes: &'a PageBytes,
}

impl<'a> PageView<'a> {
    /// Looks at a page that [`PageView::verify`] has passed, or that was built by [`PageMut`].
    ///
    /// Other bytes give rows of no meaning, but neither a panic nor an access outside of the page.
    #[inline]
    pub fn verified(bytes: &'a PageBytes) -> PageView<'a> {
        PageView { bytes }
    }

    /// The bytes of the page.
    #[inline]
    pub fn bytes(&self) -> &'a PageBytes {
        self.bytes
    }

    /// Which page this is.
    pub fn id(&self) -> PageId {
        let segment = SegmentId(u16_at(self.bytes, field::SEGMENT));
        PageId { segment, number: u32_at(self.bytes, field::NUMBER) }
    }

    /// What the page holds; `None` where the page was not verified and its kind is none.
    pub fn kind(&self) -> Option<PageKind> {
        PageKind::of_code(self.bytes[field::KIND])
    }

    /// How many rows the page holds, at most [`SLOTS_MAX`].
    #[inline]
    pub fn slots(&self) -> u16 {
        u16_at(self.bytes, field::SLOTS).min(SLOTS_MAX as u16)
    }

    /// Number of the last change of any row.
    #[inline]
    pub fn change_number(&self) -> ChangeNumber {
        ChangeNumber(u64_at(self.bytes, field::CHANGE))
    }

    /// The undo record of the last change.
    pub fn undo(&self) -> Option<RowId> {
        unpack_link(u64_at(self.bytes, field::UNDO))
    }

    /// Bytes between the row directory and the rows.
    pub fn free_bytes(&self) -> usize {
        self.free_end().saturating_sub(self.free_start())
    }

    /// The row behind entry `slot` of the directory; `None` where there is no such entry.
    pub fn row(&self, slot: u16) -> Option<RowView<'a>> {
        if slot >= self.slots() {
            return None;
        }
        Some(RowView::new(self.bytes.get(self.row_start(slot)..self.row_end(slot)).unwrap_or(&[])))
    }

    /// All rows, in the order of the directory.
    pub fn rows(&self) -> impl Iterator<Item = RowView<'a>> + use<'a> {
        let view = *self;
        (0..self.slots()).map_while(move |slot| view.row(slot))
    }

    pub(super) fn free_start(&self) -> usize {
        usize::from(u16_at(self.bytes, field::FREE_START))
    }

    pub(super) fn free_end(&self) -> usize {
        usize::from(u16_at(self.bytes, field::FREE_END))
    }

    pub(super) fn row_start(&self, slot: u16) -> usize {
        usize::from(u16_at(self.bytes, field::DIRECTORY + SLOT_BYTES * usize::from(slot)))
    }

    /// Rows stand without gaps from the end: a row ends where the one before it begins.
    pub(super) fn row_end(&self, slot: u16) -> usize {
        match slot {
            0 => PAGE_SIZE,
            later => self.row_start(later - 1),
        }
    }

    /// Whether these bytes were written by this engine, in this version, as this page, and are still the same.
    ///
    /// Letters and version come before the checksum: they tell a foreign or a newer file from a damaged one.
    pub(crate) fn check_origin(&self, expected: PageId) -> Result<(), Damage> {
        if self.bytes[field::MAGIC..field::MAGIC + MAGIC.len()] != MAGIC {
            let is_blank = self.bytes.iter().all(|byte| *byte == 0);
            return Err(if is_blank { Damage::NeverWritten } else { Damage::Foreign });
        }
        let version = u16_at(self.bytes, field::VERSION);
        if version != FORMAT_VERSION {
            return Err(Damage::Version(version));
        }
        let stored = u32_at(self.bytes, field::CHECKSUM);
        let computed = checksum::compute(self.bytes);
        if stored != computed {
            return Err(Damage::Checksum { stored, computed });
        }
        if self.id() == expected { Ok(()) } else { Err(Damage::OtherPage(self.id())) }
    }
}

/// A page to build or to change.
///
/// The checksum is made by [`PageMut::seal`], to be called when the page goes to a disk; in memory it may be stale.
#[derive(Debug)]
pub struct PageMut<'a> {
    bytes: &'a mut PageBytes,
}

impl<'a> PageMut<'a> {
    /// Makes an empty page out of any bytes.
    pub fn format(bytes: &'a mut PageBytes, id: PageId, kind: PageKind) -> PageMut<'a> {
        bytes[..field::DIRECTORY].fill(0);
        put(bytes, field::MAGIC, MAGIC);
        put(bytes, field::VERSION, FORMAT_VERSION.to_le_bytes());
        put(bytes, field::KIND, [kind as u8]);
        put(bytes, field::SEGMENT, id.segment.0.to_le_bytes());
        put(bytes, field::NUMBER, id.number.to_le_bytes());
        put(bytes, field::FREE_START, (field::DIRECTORY as u16).to_le_bytes());
        put(bytes, field::FREE_END, (PAGE_SIZE as u16).to_le_bytes());
        put(bytes, field::UNDO, NO_UNDO.to_le_bytes());
        PageMut { bytes }
    }

    /// Opens a verified page for changes.
    pub fn verified(bytes: &'a mut PageBytes) -> PageMut<'a> {
        PageMut { bytes }
    }

    /// The page as its readers see it.
    pub fn view(&self) -> PageView<'_> {
        PageView { bytes: self.bytes }
    }

    /// Adds a row and returns its slot; `None` where the page has no room for it or the row has no bytes.
    pub fn append(&mut self, row: &[u8]) -> Option<u16> {
        let slot = self.view().slots();
        self.reserve(row.len())?.copy_from_slice(row);
        Some(slot)
    }

    /// Adds a row of `length` bytes and gives its bytes to be filled; `None` where the page has no room for it.
    pub fn reserve(&mut self, length: usize) -> Option<&mut [u8]> {
        let view = self.view();
        let (slots, directory_end, rows_start) = (view.slots(), view.free_start(), view.free_end());
        if length == 0 || length.checked_add(SLOT_BYTES)? > view.free_bytes() {
            return None;
        }
        let start = rows_start - length;
        put(self.bytes, directory_end, (start as u16).to_le_bytes());
        put(self.bytes, field::SLOTS, (slots + 1).to_le_bytes());
        put(self.bytes, field::FREE_START, ((directory_end + SLOT_BYTES) as u16).to_le_bytes());
        put(self.bytes, field::FREE_END, (start as u16).to_le_bytes());
        Some(&mut self.bytes[start..rows_start])
    }

    /// The bytes of a row, to be changed in place; `None` where there is no such slot.
    pub fn row_mut(&mut self, slot: u16) -> Option<&mut [u8]> {
        let view = self.view();
        if slot >= view.slots() {
            return None;
        }
        let (start, end) = (view.row_start(slot), view.row_end(slot));
        self.bytes.get_mut(start..end)
    }

    /// Says which change was the last, and where its undo record is.
    pub fn set_change(&mut self, number: ChangeNumber, undo: Option<RowId>) {
        put(self.bytes, field::CHANGE, number.0.to_le_bytes());
        put(self.bytes, field::UNDO, pack_link(undo).to_le_bytes());
    }

    /// Zeroes the free space and stores the checksum: the page may go to a disk.
    pub fn seal(&mut self) {
        let (start, end) = (self.view().free_start(), self.view().free_end());
        self.bytes[start..end].fill(0);
        let checksum = checksum::compute(self.bytes);
        put(self.bytes, field::CHECKSUM, checksum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::row;
    use crate::page::row::Value;
    use measure::random::SplitMix64;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const ID: PageId = PageId { segment: SegmentId(3), number: 77 };

    fn blank() -> Box<PageBytes> {
        Box::new([0xA5; PAGE_SIZE])
    }

    fn encoded(columns: &[Value<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        row::encode(columns, &mut bytes);
        bytes
    }

    /// A sealed page with some rows of several shapes.
    fn sample() -> Box<PageBytes> {
        let mut bytes = blank();
        let mut page = PageMut::format(&mut bytes, ID, PageKind::Heap);
        let mut random = SplitMix64::new(5);
        loop {
            let value = vec![b'x'; random.below(300) as usize];
            if page.append(&encoded(&[Some(&value), None, Some(b"end")])).is_none() {
                break;
            }
        }
        page.seal();
        bytes
    }

    /// A page changed by `change` and sealed again, so that only the structure can be at fault.
    fn resealed(change: impl FnOnce(&mut PageBytes)) -> Damage {
        let mut bytes = sample();
        change(&mut bytes);
        let checksum = checksum::compute(&bytes);
        put(&mut bytes, field::CHECKSUM, checksum.to_le_bytes());
        PageView::verify(&bytes, ID).unwrap_err()
    }

    #[test]
    fn every_sampled_bit_flip_is_caught() {
        let mut bytes = sample();
        let mut random = SplitMix64::new(1);
        for _ in 0..100_000 {
            let bit = random.below(PAGE_SIZE as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(PageView::verify(&bytes, ID).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(PageView::verify(&bytes, ID).is_ok());
    }

    #[test]
    fn a_foreign_a_newer_and_an_unwritten_page_are_told_apart() {
        let verify = |bytes: &PageBytes| PageView::verify(bytes, ID).unwrap_err();
        assert_eq!(verify(&[0; PAGE_SIZE]), Damage::NeverWritten);
        assert_eq!(verify(&[7; PAGE_SIZE]), Damage::Foreign);
        let mut newer = sample();
        newer[field::VERSION] = 2;
        assert_eq!(verify(&newer), Damage::Version(2));
        let other = PageId { number: 78, ..ID };
        assert_eq!(PageView::verify(&sample(), other).unwrap_err(), Damage::OtherPage(ID));
    }

    #[test]
    fn a_page_with_a_right_checksum_and_a_wrong_structure_is_refused() {
        let set = |at: usize, value: u16| resealed(move |page| put(page, at, value.to_le_bytes()));
        assert_eq!(resealed(|page| page[field::KIND] = 9), Damage::Kind(9));
        assert_eq!(resealed(|page| page[field::RESERVED] = 1), Damage::Header);
        assert_eq!(set(field::SLOTS, 60_000), Damage::Header);
        assert_eq!(set(field::SLOTS, 0), Damage::Header);
        assert_eq!(set(field::FREE_END, 41), Damage::Header);
        assert_eq!(set(field::DIRECTORY, 9000), Damage::Slot(0));
        assert_eq!(set(field::DIRECTORY + 2, 8191), Damage::Slot(1));
        let last_byte_of_count = usize::from(u16_at(&sample(), field::DIRECTORY));
        assert!(matches!(resealed(|page| page[last_byte_of_count] = 200), Damage::Row { slot: 0, .. }));
    }

    #[test]
    fn the_undo_link_survives_packing() {
        for link in [None, Some(RowId { page: PageId { segment: SegmentId(65_534), number: 9 }, slot: 8 })] {
            assert_eq!(unpack_link(pack_link(link)), link);
            let mut bytes = blank();
            let mut page = PageMut::format(&mut bytes, ID, PageKind::Undo);
            page.set_change(ChangeNumber(1 << 40), link);
            assert_eq!((page.view().change_number(), page.view().undo()), (ChangeNumber(1 << 40), link));
        }
    }

    #[test]
    fn the_longest_row_fits_and_one_byte_more_does_not() {
        let mut bytes = blank();
        let mut page = PageMut::format(&mut bytes, ID, PageKind::Heap);
        assert!(page.reserve(ROW_BYTES_MAX + 1).is_none());
        assert!(page.reserve(0).is_none());
        let value = vec![1; ROW_BYTES_MAX - 4];
        assert_eq!(page.append(&encoded(&[Some(&value)])), Some(0));
        assert_eq!(page.view().free_bytes(), 0);
        page.seal();
        assert!(PageView::verify(&bytes, ID).is_ok());
    }

    #[test]
    fn an_empty_page_and_a_page_of_the_smallest_rows_are_good() {
        let mut bytes = blank();
        PageMut::format(&mut bytes, ID, PageKind::Heap).seal();
        assert_eq!(PageView::verify(&bytes, ID).unwrap().slots(), 0);
        let mut page = PageMut::verified(&mut bytes);
        while page.append(&[0]).is_some() {}
        page.seal();
        assert_eq!(usize::from(PageView::verify(&bytes, ID).unwrap().slots()), SLOTS_MAX);
    }

    proptest! {
        #[test]
        fn a_page_gives_back_the_rows_that_a_plain_list_holds(
            rows in vec(vec(proptest::option::weighted(0.9, vec(any::<u8>(), 0..400)), 0..12), 0..60),
            change in any::<prop::sample::Index>(),
        ) {
            let mut bytes = blank();
            let mut page = PageMut::format(&mut bytes, ID, PageKind::Heap);
            let mut model: Vec<Vec<u8>> = Vec::new();
            for row in &rows {
                let columns: Vec<Value<'_>> = row.iter().map(Option::as_deref).collect();
                let row = encoded(&columns);
                let fits = row.len() + SLOT_BYTES <= page.view().free_bytes();
                let slot = page.append(&row);
                prop_assert_eq!(slot, fits.then_some(model.len() as u16));
                model.extend(fits.then_some(row));
            }
            if !model.is_empty() {
                let slot = change.index(model.len());
                // Other values of the same lengths keep the row well formed.
                let before = RowView::new(&model[slot]);
                let values: Vec<Option<Vec<u8>>> =
                    before.columns().map(|value| value.map(|bytes| bytes.iter().map(|byte| !byte).collect())).collect();
                let columns: Vec<Value<'_>> = values.iter().map(Option::as_deref).collect();
                let changed = encoded(&columns);
                page.row_mut(slot as u16).unwrap().copy_from_slice(&changed);
                prop_assert!(changed != model[slot] || values.iter().flatten().all(Vec::is_empty));
                model[slot] = changed;
            }
            page.seal();
            let view = PageView::verify(&bytes, ID).unwrap();
            let stored: Vec<Vec<u8>> = view.rows().map(|row| row.bytes().to_vec()).collect();
            prop_assert_eq!(stored, model);
        }

        #[test]
        fn hostile_bytes_under_a_good_checksum_never_panic(
            start in any::<u64>(),
            changes in vec((0..PAGE_SIZE, any::<u8>()), 0..20),
        ) {
            let mut bytes = sample();
            if start % 4 == 0 {
                let mut random = SplitMix64::new(start);
                bytes[field::DIRECTORY..].fill_with(|| random.next_u64() as u8);
            }
            for (at, value) in changes {
                bytes[if start % 2 == 0 { at % 64 } else { at }] = value;
            }
            let checksum = checksum::compute(&bytes);
            put(&mut bytes, field::CHECKSUM, checksum.to_le_bytes());
            let verified = PageView::verify(&bytes, ID);
            let view = verified.unwrap_or(PageView::verified(&bytes));
            let columns: usize = view.rows().map(|row| row.columns().count()).sum();
            if verified.is_ok() {
                let promised: usize = view.rows().map(|row| usize::from(row.column_count())).sum();
                prop_assert_eq!(columns, promised);
            }
        }
    }
}
