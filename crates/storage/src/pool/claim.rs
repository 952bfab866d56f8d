//! Claims: the right to bring a page, and what a read for one has to have brought.

use std::io;

use sys::read::ReadRequest;

use super::buffer_pool::Pool;
use super::frames::OwnFrame;
use super::replacement::Admission;
use super::segment::DataFile;
use super::word::{Publication, Purpose, Word};
use crate::error::StorageError;
use crate::page::PageBytes;
use crate::page::id::{PAGE_SIZE, PageId};

/// The right and the duty to bring one page. Dropped without `publish`, it makes the page absent again and wakes the
/// waiters, so that no way out of a function leaves a page loading for ever.
pub(super) struct Claim<'pool> {
    pool: &'pool Pool,
    word: &'pool Word,
    page: PageId,
    mark: u32,
}

impl<'pool> Claim<'pool> {
    /// `None` when the page is not absent.
    pub(super) fn of(pool: &'pool Pool, page: PageId) -> Result<Option<Claim<'pool>>, StorageError> {
        let word = pool.word(page)?;
        Ok(word.claim().map(|mark| Claim { pool, word, page, mark }))
    }

    /// Which page.
    pub(super) fn page(&self) -> PageId {
        self.page
    }

    /// Shows the page, whose bytes stand in `frame`.
    pub(super) fn publish(self, frame: OwnFrame, publication: Publication) -> &'pool Word {
        self.word.publish(frame.number(), publication);
        self.pool.waiters.wake(self.page);
        let word = self.word;
        std::mem::forget(self);
        word
    }

    /// A frame for the page.
    pub(super) fn take_frame(&self, purpose: Purpose) -> Result<OwnFrame, StorageError> {
        self.pool.take_frame(Admission { page: self.page, mark: self.mark, purpose })
    }

    /// Verifies the bytes that were read into a frame taken for this page, and shows it. A frame with other bytes goes
    /// back to the pool.
    pub(super) fn accept_frame(
        self,
        file: &DataFile,
        frame: OwnFrame,
        whole: Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let verified = whole.and_then(|()| file.verify(self.pool.frames.bytes(&frame), self.page));
        match verified {
            Ok(()) => drop(self.publish(frame, Publication::Ahead)),
            Err(error) => {
                self.pool.replacement().give_back(vec![frame]);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Verifies the bytes that were read for this page and puts them into a frame, whose number it returns.
    pub(super) fn accept(
        self,
        file: &DataFile,
        bytes: &PageBytes,
        purpose: Purpose,
        publication: Publication,
    ) -> Result<u32, StorageError> {
        file.verify(bytes, self.page)?;
        let mut frame = self.take_frame(purpose)?;
        self.pool.frames.fill(&mut frame, bytes);
        let number = frame.number();
        self.publish(frame, publication);
        Ok(number)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.word.abandon();
        self.pool.waiters.wake(self.page);
    }
}

pub(super) fn request(first: PageId, blocks: usize, slot: usize) -> ReadRequest {
    ReadRequest { offset: u64::from(first.number) * PAGE_SIZE as u64, length: blocks * PAGE_SIZE, slot }
}

/// A short read is an error: the file was cut while it was open. It names the first block that did not come.
pub(super) fn whole(
    file: &DataFile,
    first: PageId,
    result: io::Result<usize>,
    wanted: usize,
) -> Result<(), StorageError> {
    let bytes = result.map_err(|error| failed(file, first, error))?;
    if bytes == wanted {
        return Ok(());
    }
    let page = PageId { number: first.number + (bytes / PAGE_SIZE) as u32, ..first };
    let reason = format!("a read of {wanted} bytes returned {bytes}: the file was cut short after it was opened");
    Err(StorageError::BadPage { file: file.path().into(), page, reason })
}

pub(super) fn failed(file: &DataFile, first: PageId, error: io::Error) -> StorageError {
    StorageError::Read { file: file.path().into(), page: first, error }
}
