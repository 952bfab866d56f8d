//! The check of a page that comes from a disk.

use super::id::{PAGE_SIZE, PageId};
use super::row::RowView;
use super::slotted::{Damage, PageBytes, PageKind, PageView, SLOT_BYTES, field, u16_at};
use super::walk;

impl<'a> PageView<'a> {
    /// Checks a page that comes from a disk, and that it is the page it was read for.
    ///
    /// What passes has its directory and rows within the page, rows without gaps, and every column within its row.
    pub fn verify(bytes: &'a PageBytes, expected: PageId) -> Result<PageView<'a>, Damage> {
        let view = PageView::verified(bytes);
        view.check_origin(expected)?;
        view.check_structure()?;
        Ok(view)
    }

    /// Whether header, directory and rows agree. The checksum has passed, so only a faulty or a hostile writer can
    /// fail here; it is checked all the same, because later walks rely on it.
    fn check_structure(&self) -> Result<(), Damage> {
        if !self.kind().is_some_and(PageKind::has_rows) {
            return Err(Damage::Kind(self.bytes()[field::KIND]));
        }
        let slots = u16_at(self.bytes(), field::SLOTS);
        let fits = slots == self.slots()
            && self.bytes()[field::RESERVED] == 0
            && self.free_start() == field::DIRECTORY + SLOT_BYTES * usize::from(slots)
            && self.free_start() <= self.free_end()
            && self.free_end() == slots.checked_sub(1).map_or(PAGE_SIZE, |last| self.row_start(last));
        if !fits {
            return Err(Damage::Header);
        }
        self.check_directory(slots)?;
        self.check_rows(slots)
    }

    /// Each row must begin below the one before it; the last begins at or above the free space, so all lie within.
    fn check_directory(&self, slots: u16) -> Result<(), Damage> {
        match (0..slots).find(|slot| self.row_start(*slot) >= self.row_end(*slot)) {
            Some(slot) => Err(Damage::Slot(slot)),
            None => Ok(()),
        }
    }

    /// The quick walk answers for nearly all pages; where it does not, the slow one says which row is at fault.
    fn check_rows(&self, slots: u16) -> Result<(), Damage> {
        if walk::rows_end_where_they_should(*self) {
            return Ok(());
        }
        for slot in 0..slots {
            let row = RowView::new(&self.bytes()[self.row_start(slot)..self.row_end(slot)]);
            row.check().map_err(|damage| Damage::Row { slot, damage })?;
        }
        Ok(())
    }
}
