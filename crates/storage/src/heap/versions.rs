//! Read-consistent versions: a reader sees the table as of one moment, though it changes meanwhile.
//!
//! Every change has a number. It is written into the pages that it touches, and what stood there before goes into
//! undo records: rows of pages of an undo segment, in the same format and verified alike. A page names the undo
//! record of its last change, and a record names that of the change before. A reader that meets a page with a newer
//! number copies it and goes back along that chain in its copy, until the copy is as old as the reader wants it.
//!
//! Changes are made by one writer at a time; readers never wait for the end of a change.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::StorageError;
use crate::heap::result::ScanResult;
use crate::page::access::{PageAccess, PageUpdate};
use crate::page::id::{PAGE_SIZE, PageId, RowId, SegmentId};
use crate::page::row::RowView;
use crate::page::{ChangeNumber, PageBytes, PageKind, PageMut, PageView, ROW_BYTES_MAX, pack_link, row, unpack_link};

/// Bytes of an undo record besides the row that it holds: the column count, three columns of eight bytes, and the
/// longest form of a length.
const RECORD_HEAD_BYTES: usize = 1 + 3 * 9 + 3;

/// The longest row that can be changed: its undo record has to fit into a page.
pub const CHANGEABLE_BYTES_MAX: usize = ROW_BYTES_MAX - RECORD_HEAD_BYTES;

/// What is written down of a row before it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UndoRecord<'a> {
    /// The row.
    row: RowId,
    /// The last change of its page before this one.
    change_before: ChangeNumber,
    /// The undo record of that change.
    undo_before: Option<RowId>,
    /// The row as it was stored.
    bytes_before: &'a [u8],
}

impl<'a> UndoRecord<'a> {
    /// A record is a row of four columns: address, change number, link, previous bytes.
    fn encode(&self, out: &mut Vec<u8>) {
        let address = pack_link(Some(self.row)).to_le_bytes();
        let change = self.change_before.0.to_le_bytes();
        let link = pack_link(self.undo_before).to_le_bytes();
        row::encode(&[Some(&address), Some(&change), Some(&link), Some(self.bytes_before)], out);
    }

    /// `None` for a row that is no undo record.
    fn decode(record: RowView<'a>) -> Option<UndoRecord<'a>> {
        let mut columns = record.columns();
        let mut number = || Some(u64::from_le_bytes(columns.next()??.try_into().ok()?));
        let (address, change, link) = (number()?, number()?, number()?);
        let bytes_before = columns.next()??;
        Some(UndoRecord {
            row: unpack_link(address)?,
            change_before: ChangeNumber(change),
            undo_before: unpack_link(link),
            bytes_before,
        })
    }
}

/// The changes of a set of tables: their numbers and the end of their undo.
#[derive(Debug)]
pub struct Changes {
    undo_segment: SegmentId,
    last: AtomicU64,
    tail: Mutex<UndoTail>,
}

/// Where the next undo record goes. Its holder is the only writer.
#[derive(Debug, Default)]
struct UndoTail {
    pages: u32,
    record: Vec<u8>,
    row: Vec<u8>,
}

impl Changes {
    /// No change so far; undo will go into pages 0, 1, ... of `undo_segment`.
    pub fn new(undo_segment: SegmentId) -> Changes {
        Changes { undo_segment, last: AtomicU64::new(0), tail: Mutex::default() }
    }

    /// The number of the last finished change: what a reader that starts now wants to see.
    pub fn snapshot(&self) -> ChangeNumber {
        ChangeNumber(self.last.load(Ordering::Acquire))
    }

    /// Changes rows in place, all of them in one change, and returns its number. `edit` gets the bytes of each row as
    /// they are stored and may change the values, but neither their lengths nor the row's.
    ///
    /// No reader sees the change before it is finished. When it fails, for want of room for undo or because an address
    /// has no row, the rows before that stay changed and the change counts as finished.
    pub fn update<A: PageUpdate>(
        &self,
        access: &A,
        rows: impl IntoIterator<Item = RowId>,
        mut edit: impl FnMut(RowId, &mut [u8]),
    ) -> Result<ChangeNumber, StorageError> {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let number = ChangeNumber(self.last.load(Ordering::Relaxed) + 1);
        let mut held: Option<(PageId, A::GuardMut<'_>)> = None;
        let outcome = rows.into_iter().try_for_each(|row| {
            let mut page = match held.take() {
                Some((id, page)) if id == row.page => page,
                other => {
                    drop(other);
                    access.get_mut(row.page)?
                }
            };
            let changed = self.change_row(access, &mut tail, Place { row, page: &mut page, number }, &mut edit);
            held = Some((row.page, page));
            changed
        });
        drop(held);
        self.last.store(number.0, Ordering::Release);
        outcome.map(|()| number)
    }

    /// Writes the undo record of one row and then the row.
    fn change_row<A: PageUpdate>(
        &self,
        access: &A,
        tail: &mut UndoTail,
        place: Place<'_>,
        edit: &mut impl FnMut(RowId, &mut [u8]),
    ) -> Result<(), StorageError> {
        let view = PageView::verified(place.page);
        let before = view.row(place.row.slot).ok_or_else(|| no_such_row(place.row))?;
        tail.row.clear();
        tail.row.extend_from_slice(before.bytes());
        edit(place.row, &mut tail.row);
        check_edit(place.row, before, RowView::new(&tail.row))?;
        let record = UndoRecord {
            row: place.row,
            change_before: view.change_number(),
            undo_before: view.undo(),
            bytes_before: before.bytes(),
        };
        tail.record.clear();
        record.encode(&mut tail.record);
        let undo = self.append(access, tail)?;
        let mut page = PageMut::verified(place.page);
        page.row_mut(place.row.slot).ok_or_else(|| no_such_row(place.row))?.copy_from_slice(&tail.row);
        page.set_change(place.number, Some(undo));
        Ok(())
    }

    /// Puts the record of `tail` into the last undo page, or into a new one.
    fn append<A: PageUpdate>(&self, access: &A, tail: &mut UndoTail) -> Result<RowId, StorageError> {
        let id = |number| PageId { segment: self.undo_segment, number };
        if let Some(last) = tail.pages.checked_sub(1) {
            let mut page = access.get_mut(id(last))?;
            if let Some(slot) = PageMut::verified(&mut page).append(&tail.record) {
                return Ok(RowId { page: id(last), slot });
            }
        }
        let new = id(tail.pages);
        let mut bytes = access.create(new)?;
        let slot = PageMut::format(&mut bytes, new, PageKind::Undo).append(&tail.record);
        tail.pages += 1;
        Ok(RowId { page: new, slot: slot.expect("an empty page has room for the undo of a changeable row") })
    }
}

/// A row that is about to change.
struct Place<'a> {
    row: RowId,
    page: &'a mut PageBytes,
    number: ChangeNumber,
}

fn no_such_row(row: RowId) -> StorageError {
    StorageError::Parameters(format!("{} has no row {}", row.page, row.slot))
}

/// Whether a row may be changed so: every length stays what it was, and the undo record fits into a page.
fn check_edit(row: RowId, before: RowView<'_>, after: RowView<'_>) -> Result<(), StorageError> {
    let refused = |reason| Err(StorageError::Parameters(format!("row {} of {}: {reason}", row.slot, row.page)));
    if before.bytes().len() > CHANGEABLE_BYTES_MAX {
        return refused(format!("a row of more than {CHANGEABLE_BYTES_MAX} bytes cannot be changed"));
    }
    let length = |value: row::Value<'_>| value.map(<[u8]>::len);
    let same_lengths = before.columns().map(length).eq(after.columns().map(length));
    if !same_lengths || after.check().is_err() {
        return refused("a change in place keeps the length of every column".into());
    }
    Ok(())
}

/// Makes pages as old as a reader wants them, in a buffer of its own, and counts what that takes.
#[derive(Debug)]
pub struct Rebuilder {
    as_of: Option<ChangeNumber>,
    /// Allotted when it is needed first: most readers meet no newer page.
    copy: Option<Box<PageBytes>>,
    rebuilt: u64,
    undo_gets: u64,
}

impl Rebuilder {
    /// For a reader that wants to see the state after change `as_of`, or the pages as they are.
    pub fn new(as_of: Option<ChangeNumber>) -> Rebuilder {
        Rebuilder { as_of, copy: None, rebuilt: 0, undo_gets: 0 }
    }

    /// Whether a page has changed since.
    #[inline]
    pub fn is_needed(&self, page: &PageBytes) -> bool {
        self.as_of.is_some_and(|as_of| PageView::verified(page).change_number() > as_of)
    }

    /// Copies the page, lets go of it, and takes back in the copy what changed since.
    ///
    /// Errors with [`StorageError::BadPage`] when the undo is not what the page says.
    pub fn rebuild<'s, A: PageAccess>(
        &'s mut self,
        access: &A,
        page: A::Guard<'_>,
    ) -> Result<PageView<'s>, StorageError> {
        let as_of = self.as_of.unwrap_or(ChangeNumber(u64::MAX));
        let copy = self.copy.get_or_insert_with(|| Box::new([0; PAGE_SIZE]));
        copy.copy_from_slice(&*page);
        // The page must not be held while undo is asked for: a writer may hold that and wait for this.
        drop(page);
        self.rebuilt += 1;
        self.undo_gets += take_back(access, copy, as_of)?;
        Ok(PageView::verified(copy))
    }

    /// Adds what was counted to a reader's result.
    pub fn count_into(&self, result: &mut ScanResult) {
        result.rebuilt += self.rebuilt;
        result.undo_gets += self.undo_gets;
    }
}

/// Takes back changes after `as_of`, the last one first, and returns how many gets of undo pages that took.
fn take_back<A: PageAccess>(access: &A, page: &mut PageBytes, as_of: ChangeNumber) -> Result<u64, StorageError> {
    let mut gets = 0;
    let mut held: Option<(PageId, A::Guard<'_>)> = None;
    while PageView::verified(page).change_number() > as_of {
        let view = PageView::verified(page);
        let link = view.undo().ok_or_else(|| lost(view.id(), "it has changed and names no undo record"))?;
        let undo = match held.take() {
            Some((id, undo)) if id == link.page => undo,
            other => {
                drop(other);
                gets += 1;
                access.get(link.page)?
            }
        };
        apply(&undo, link, page)?;
        held = Some((link.page, undo));
    }
    Ok(gets)
}

/// Puts a row back as one undo record says.
fn apply(undo: &PageBytes, link: RowId, page: &mut PageBytes) -> Result<(), StorageError> {
    let record = PageView::verified(undo).row(link.slot).and_then(UndoRecord::decode);
    let record = record.ok_or_else(|| lost(link.page, "it does not hold the undo record that a page names"))?;
    let id = record.row.page;
    // Links only lead back, so following them ends whatever the pages say.
    let leads_back = record.undo_before.is_none_or(|before| before < link);
    let mut page = PageMut::verified(page);
    if !leads_back || page.view().id().number != id.number || record.change_before > page.view().change_number() {
        return Err(lost(link.page, "an undo record of it belongs to another page or leads nowhere"));
    }
    match page.row_mut(record.row.slot) {
        Some(row) if row.len() == record.bytes_before.len() => row.copy_from_slice(record.bytes_before),
        _ => return Err(lost(id, "its undo does not fit its rows")),
    }
    page.set_change(record.change_before, record.undo_before);
    Ok(())
}

/// Undo that cannot be used. The pages concerned live in memory, so there is a segment to name and no file.
fn lost(page: PageId, reason: &str) -> StorageError {
    StorageError::BadPage { file: PathBuf::from(format!("segment {}", page.segment.0)), page, reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::TableSpec;
    use crate::heap::scan::{Fetch, Scan, fetch_by_rowid, scan};
    use crate::heap::table::HeapTable;
    use crate::page::walk::Touch;
    use crate::tests::memory_pages::{MemoryPages, UNDO, row_ids};
    use dataset::DataSet;
    use dataset::uniform::RowShape;
    use measure::random::SplitMix64;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::thread;

    fn memory(undo_pages: u32) -> (MemoryPages, HeapTable, Changes) {
        let spec = TableSpec::new("t", DataSet::uniform(RowShape { row_length: 400, columns: 2 }, 20_000, 3));
        let (access, table) = MemoryPages::with_table(&spec, undo_pages);
        (access, table, Changes::new(UNDO))
    }

    /// Every row as of a change.
    fn rows_as_of(access: &MemoryPages, table: &HeapTable, as_of: ChangeNumber) -> Vec<Vec<u8>> {
        let mut rebuilder = Rebuilder::new(Some(as_of));
        let mut rows = Vec::new();
        for number in 0..table.pages() {
            let page = access.get(table.page(number)).unwrap();
            let view = match rebuilder.is_needed(&page) {
                true => rebuilder.rebuild(access, page).unwrap(),
                false => PageView::verified(&page),
            };
            rows.extend(view.rows().map(|row| row.bytes().to_vec()));
        }
        rows
    }

    /// Fills the values of a row with one letter; columns of 200 bytes, each with one byte of length.
    fn fill_values(bytes: &mut [u8], letter: u8) {
        bytes[2..202].fill(letter);
        bytes[203..].fill(letter);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn every_snapshot_sees_what_a_full_copy_of_its_moment_holds(
            changes in vec(vec(any::<prop::sample::Index>(), 1..20), 1..12), letters in any::<u64>(),
        ) {
            let (access, table, numbers) = memory(60);
            let mut random = SplitMix64::new(letters);
            let mut model = rows_as_of(&access, &table, ChangeNumber(0));
            let mut copies = vec![(ChangeNumber(0), model.clone())];
            for rows in &changes {
                let rows: Vec<u64> = rows.iter().map(|row| row.index(table.rows() as usize) as u64).collect();
                let letter = random.below(256) as u8;
                let ids = rows.iter().map(|row| table.row_id(*row));
                let number = numbers.update(&access, ids, |_, bytes| fill_values(bytes, letter)).unwrap();
                rows.iter().for_each(|row| fill_values(&mut model[*row as usize], letter));
                prop_assert_eq!(numbers.snapshot(), number);
                copies.push((number, model.clone()));
            }
            for (number, copy) in &copies {
                prop_assert_eq!(&rows_as_of(&access, &table, *number), copy);
            }
        }
    }

    #[test]
    fn a_reader_counts_the_blocks_it_rebuilt_and_the_gets_it_took() {
        let (access, table, changes) = memory(10);
        let before = changes.snapshot();
        let read =
            |as_of| scan(&access, &table, &Scan { pages: 0..table.pages(), touch: Touch::Column(2), as_of }).unwrap();
        let untouched = read(Some(before));
        assert_eq!((untouched.rebuilt, untouched.undo_gets), (0, 0));
        let rows = [table.row_id(0), table.row_id(1), table.row_id(table.rows() - 1)];
        changes.update(&access, rows, |_, bytes| fill_values(bytes, b'z')).unwrap();
        let rebuilt = read(Some(before));
        assert_eq!((rebuilt.rebuilt, rebuilt.undo_gets), (2, 2));
        assert_eq!((rebuilt.rows, rebuilt.folded), (untouched.rows, untouched.folded));
        assert_eq!(read(None), read(Some(changes.snapshot())));
        assert_ne!(read(None).folded, rebuilt.folded);
        let fetch = Fetch { touch: Touch::Column(2), look_ahead: 0, as_of: Some(before) };
        let fetched = fetch_by_rowid(&access, row_ids(&table), &fetch).unwrap();
        assert_eq!((fetched.rows, fetched.folded), (untouched.rows, untouched.folded));
    }

    #[test]
    fn undo_pages_are_pages_like_any_other() {
        let (access, table, changes) = memory(60);
        changes.update(&access, row_ids(&table), |_, bytes| fill_values(bytes, b'q')).unwrap();
        let undo_pages = changes.tail.lock().unwrap().pages;
        assert!(undo_pages > 1);
        for number in 0..undo_pages {
            let id = PageId { segment: UNDO, number };
            let mut bytes = access.get_mut(id).unwrap();
            PageMut::verified(&mut bytes).seal();
            assert_eq!(PageView::verify(&bytes, id).unwrap().kind(), Some(PageKind::Undo));
        }
        let mut page = access.get_mut(table.page(0)).unwrap();
        PageMut::verified(&mut page).seal();
        assert!(PageView::verify(&page, table.page(0)).is_ok());
    }

    #[test]
    fn an_edit_that_would_break_its_row_changes_nothing() {
        let (access, table, changes) = memory(10);
        let before = rows_as_of(&access, &table, ChangeNumber(0));
        let result = changes.update(&access, [table.row_id(0)], |_, bytes| bytes[1] = 199);
        assert!(result.unwrap_err().to_string().contains("keeps the length"));
        assert_eq!(rows_as_of(&access, &table, changes.snapshot()), before);
        let nowhere = RowId { slot: 999, ..table.row_id(0) };
        assert!(changes.update(&access, [nowhere], |_, _| ()).unwrap_err().to_string().contains("no row 999"));
    }

    #[test]
    fn undo_without_room_is_an_error_and_every_snapshot_stays_readable() {
        let (access, table, changes) = memory(1);
        let before = rows_as_of(&access, &table, ChangeNumber(0));
        assert!(changes.update(&access, row_ids(&table), |_, bytes| fill_values(bytes, b'z')).is_err());
        assert_eq!(rows_as_of(&access, &table, ChangeNumber(0)), before);
        assert_eq!(changes.snapshot(), ChangeNumber(1));
    }

    #[test]
    fn undo_that_was_lost_is_an_error_and_never_a_wrong_answer() {
        let (access, table, changes) = memory(10);
        changes.update(&access, [table.row_id(0)], |_, bytes| fill_values(bytes, b'z')).unwrap();
        let undo = PageId { segment: UNDO, number: 0 };
        PageMut::format(&mut access.get_mut(undo).unwrap(), undo, PageKind::Undo);
        let mut rebuilder = Rebuilder::new(Some(ChangeNumber(0)));
        let result = rebuilder.rebuild(&access, access.get(table.page(0)).unwrap());
        assert!(result.unwrap_err().to_string().contains("does not hold the undo record"));
    }

    #[test]
    fn a_long_chain_of_changes_of_one_row_is_followed_to_its_end() {
        let (access, table, changes) = memory(200);
        let first = rows_as_of(&access, &table, ChangeNumber(0));
        for turn in 0..1000_u32 {
            changes.update(&access, [table.row_id(5)], |_, bytes| fill_values(bytes, turn as u8)).unwrap();
        }
        assert_eq!(rows_as_of(&access, &table, ChangeNumber(0)), first);
        assert_eq!(rows_as_of(&access, &table, ChangeNumber(501))[5][2], 500_u32 as u8);
    }

    #[test]
    fn readers_beside_a_writer_never_see_half_a_change() {
        let (access, table, changes) = memory(3000);
        let all = |letter: u8| changes.update(&access, row_ids(&table), |_, bytes| fill_values(bytes, letter)).unwrap();
        all(1);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let rows = rows_as_of(&access, &table, changes.snapshot());
                        let letter = rows[0][2];
                        assert!(rows.iter().all(|row| row[2] == letter && row[300] == letter));
                    }
                });
            }
            for letter in 2..100 {
                all(letter);
            }
        });
    }
}
