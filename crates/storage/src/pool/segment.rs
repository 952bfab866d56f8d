//! Segments: what the pool's pages are pages of, and the words that say where each is.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use device::{Device, DeviceError, Slots, check_block_size};
use sys::memory::Pages;
use sys::read::{MethodError, MethodRow, ReadMethod};

use super::word::Word;
use super::words::Words;
use crate::error::StorageError;
use crate::page::PageBytes;
use crate::page::id::{PAGE_SIZE, PageId};

/// Says whether the bytes are those of the page, or what is wrong with them, as a part of a sentence.
pub type Verifier = Box<dyn Fn(&PageBytes, PageId) -> Result<(), String> + Send + Sync>;

/// One segment. A word of 8 bytes a page is all the memory it takes, besides read buffers.
#[derive(Debug)]
pub(super) struct Segment {
    words: Words,
    origin: Origin,
}

/// Where pages come from that are not in the pool.
#[derive(Debug)]
pub(super) enum Origin {
    /// From a file.
    File(DataFile),
    /// From nowhere: they are made in the pool and never leave it. The name is for messages.
    Memory(String),
}

impl Segment {
    /// Errors when there is no memory for the words.
    pub(super) fn new(pages: u32, origin: Origin) -> Result<Segment, StorageError> {
        let needed = u64::from(pages) * size_of::<Word>() as u64;
        let what = "the addresses of a table's pages";
        let words = Words::new(pages as usize).map_err(|error| StorageError::NoMemory { what, needed, error })?;
        Ok(Segment { words, origin })
    }

    /// The word of a page; `None` beyond the end.
    #[inline]
    pub(super) fn word(&self, number: u32) -> Option<&Word> {
        self.words.get(number as usize)
    }

    /// All words, in page order.
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// The data file; an error that names `page` when there is none, because then the page cannot be brought.
    pub(super) fn file(&self, page: PageId) -> Result<&DataFile, StorageError> {
        match &self.origin {
            Origin::File(file) => Ok(file),
            Origin::Memory(_) => Err(self.bad_page(page, "it lives in memory only and was never written".into())),
        }
    }

    /// An error about a page of this segment.
    pub(super) fn bad_page(&self, page: PageId, reason: String) -> StorageError {
        StorageError::BadPage { file: self.path(), page, reason }
    }

    fn path(&self) -> PathBuf {
        match &self.origin {
            Origin::File(file) => file.path().into(),
            Origin::Memory(name) => name.into(),
        }
    }
}

/// A file that pages are read from, with the verifier of its pages.
pub(super) struct DataFile {
    device: Box<dyn Device>,
    path: PathBuf,
    verify: Verifier,
    readers: Mutex<Vec<Box<dyn ReadMethod>>>,
}

impl DataFile {
    /// Errors when the device is smaller than `pages` pages or cannot be read page by page.
    pub(super) fn new(device: Box<dyn Device>, pages: u32, verify: Verifier) -> Result<DataFile, StorageError> {
        let path = PathBuf::from(device.name());
        let refuse = |reason| StorageError::BadFile { file: path.clone(), reason };
        let (bytes, size) = (u64::from(pages) * PAGE_SIZE as u64, device.size());
        if size < bytes {
            let reason = format!("it holds {size} bytes and should hold {pages} pages, that is {bytes} bytes");
            return Err(refuse(reason));
        }
        check_block_size(device.as_ref(), PAGE_SIZE as u64).map_err(|error| refuse(error.to_string()))?;
        Ok(DataFile { device, path, verify, readers: Mutex::new(Vec::new()) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens an I/O method on the device, with fewer slots than asked for where it cannot hold as many.
    pub(super) fn open(
        &self,
        row: &'static MethodRow,
        depth: usize,
        slot_bytes: usize,
    ) -> Result<Box<dyn ReadMethod>, StorageError> {
        let depth = depth.min(row.depth_max.unwrap_or(depth));
        let slots = Slots { method: Some(row), depth, bytes: slot_bytes, pages: Pages::Huge };
        let opened = self.device.open(&[slots]).map_err(|error| match error {
            DeviceError::Method(MethodError::Memory { bytes, reason }) => {
                StorageError::NoMemory { what: "read buffers", needed: bytes as u64, error: reason }
            }
            other => StorageError::Parameters(other.to_string()),
        })?;
        Ok(opened.methods.into_iter().next().expect("a team of one has one method"))
    }

    /// A method for one read at a time, opened by `open` when none is idle.
    ///
    /// They are shared by all sessions rather than owned by each: there are then as many as reads ever were under way
    /// at once, not sessions times files, and each takes a huge page. The lock costs nothing compared with a read.
    pub(super) fn reader(
        &self,
        open: impl FnOnce(&DataFile) -> Result<Box<dyn ReadMethod>, StorageError>,
    ) -> Result<Reader<'_>, StorageError> {
        let idle = self.idle().pop();
        let method = match idle {
            Some(method) => method,
            None => open(self)?,
        };
        Ok(Reader { file: self, method: Some(method) })
    }

    /// Whether the bytes are those of the page.
    pub(super) fn verify(&self, bytes: &PageBytes, page: PageId) -> Result<(), StorageError> {
        (self.verify)(bytes, page).map_err(|reason| StorageError::BadPage { file: self.path().into(), page, reason })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Box<dyn ReadMethod>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DataFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DataFile").field("device", &self.device).finish_non_exhaustive()
    }
}

/// A method in use; it becomes idle again when this is dropped.
pub(super) struct Reader<'pool> {
    file: &'pool DataFile,
    method: Option<Box<dyn ReadMethod>>,
}

impl Deref for Reader<'_> {
    type Target = dyn ReadMethod;

    fn deref(&self) -> &Self::Target {
        self.method.as_deref().expect("it is taken only by drop")
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.method.as_deref_mut().expect("it is taken only by drop")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let method = self.method.take();
        self.file.idle().extend(method);
    }
}
