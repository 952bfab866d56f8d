//! The pool itself: frames, segments, and what replaces what.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use device::Device;

use super::frames::{Frames, OwnFrame};
use super::gate::{GateCounts, Gates};
use super::replacement::{Admission, Replacement};
use super::segment::{DataFile, Origin, Segment};
use super::settings::PoolSettings;
use super::wait::WaitTable;
use super::word::{self, Verdict, Word};
use crate::error::StorageError;
use crate::page::PageBytes;
use crate::page::id::{PageId, SegmentId};

/// A buffer pool.
#[derive(Debug)]
pub struct Pool {
    pub(super) settings: PoolSettings,
    pub(super) frames: Frames,
    /// Filled from the front and never emptied, so that a look-up needs no lock while segments are added.
    segments: Box<[OnceLock<Segment>]>,
    /// The number of segments; held while one is added.
    segments_added: Mutex<usize>,
    replacement: Mutex<Replacement>,
    pub(super) waiters: WaitTable,
    pub(super) gates: Gates,
}

impl Pool {
    /// Maps and touches the pool's memory.
    ///
    /// Errors when the settings cannot be, or when there is no room in memory.
    pub fn new(settings: PoolSettings) -> Result<Pool, StorageError> {
        let count = settings.frames()?;
        let no_memory = |error| StorageError::NoMemory { what: "a buffer pool", needed: settings.bytes as u64, error };
        let frames = Frames::new(count).map_err(no_memory)?;
        let replacement = Replacement::new(frames.all(), 2 * settings.at_once());
        Ok(Pool {
            settings,
            frames,
            segments: (0..settings.segments_max).map(|_| OnceLock::new()).collect(),
            segments_added: Mutex::new(0),
            replacement: Mutex::new(replacement),
            waiters: WaitTable::new(),
            gates: Gates::default(),
        })
    }

    /// Adds the first `pages` pages of a file, or of what stands in for one; `verify` judges each when it is read.
    ///
    /// Whether reads go through the page cache is the device's: open it direct to have every miss reach the device.
    /// Errors when the device is smaller, when it cannot be read page by page, or when there are too many segments.
    pub fn add_segment(
        &self,
        device: impl Device + 'static,
        pages: u32,
        verify: impl Fn(&PageBytes, PageId) -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<SegmentId, StorageError> {
        let file = DataFile::new(Box::new(device), pages, Box::new(verify))?;
        self.add(Segment::new(pages, Origin::File(file))?)
    }

    /// Adds a segment of up to `pages_max` pages that live in the pool alone: undo, or scratch.
    ///
    /// Its pages are made by [`Session::create`](super::Session::create) and keep their frames until the segment is
    /// discarded. `name` stands in for a file's in messages. Errors when there are too many segments.
    pub fn add_volatile_segment(&self, name: &str, pages_max: u32) -> Result<SegmentId, StorageError> {
        self.add(Segment::new(pages_max, Origin::Memory(name.into()))?)
    }

    /// Everything that passed the gate so far, of all sessions, living and ended.
    pub fn counts(&self) -> GateCounts {
        self.gates.sum()
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.count() as usize
    }

    /// How many pages can be prefetched before the pool evicts the first of them.
    pub fn pages_ahead(&self) -> usize {
        self.replacement().probation_frames()
    }

    /// Bytes of the frames that really stand on huge pages; `None` where the kernel does not say.
    pub fn huge_bytes(&self) -> Option<u64> {
        self.frames.huge_bytes()
    }

    /// What the pool was made with.
    pub fn settings(&self) -> &PoolSettings {
        &self.settings
    }

    /// Takes every page of a segment out of the pool, those that were changed included: what stands on the disk is the
    /// truth again, and pages that lived in memory only are gone.
    ///
    /// Errors with [`StorageError::PageBusy`] when a page is held; the pages before it are gone then.
    pub fn discard(&self, segment: SegmentId) -> Result<(), StorageError> {
        let words = self.segment(segment)?.words();
        let mut replacement = self.replacement();
        let mut frames = Vec::new();
        let held = words.iter().position(|word| match word.discard() {
            Ok(frame) => {
                frames.extend(frame.map(OwnFrame::let_go));
                false
            }
            Err(word::Held) => true,
        });
        replacement.give_back(frames);
        match held {
            Some(number) => Err(StorageError::PageBusy { page: PageId { segment, number: number as u32 }, seconds: 0 }),
            None => Ok(()),
        }
    }

    fn add(&self, segment: Segment) -> Result<SegmentId, StorageError> {
        let mut added = self.segments_added.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = self.segments.get(*added) else {
            let segments_max = self.settings.segments_max;
            return Err(StorageError::Parameters(format!("the buffer pool has its {segments_max} segments already")));
        };
        let number = *added as u16;
        assert!(place.set(segment).is_ok(), "a place beyond the last segment is empty");
        *added += 1;
        Ok(SegmentId(number))
    }

    /// The segment of this number.
    #[inline]
    pub(super) fn segment(&self, segment: SegmentId) -> Result<&Segment, StorageError> {
        match self.segments.get(usize::from(segment.0)).and_then(OnceLock::get) {
            Some(found) => Ok(found),
            None => Err(no_segment(segment)),
        }
    }

    /// The page's word.
    #[inline]
    pub(super) fn word(&self, page: PageId) -> Result<&Word, StorageError> {
        let segment = self.segment(page.segment)?;
        match segment.word(page.number) {
            Some(word) => Ok(word),
            None => Err(no_page(segment, page)),
        }
    }

    /// A frame for a page that was claimed.
    pub(super) fn take_frame(&self, admission: Admission) -> Result<OwnFrame, StorageError> {
        let evict = |page: PageId, mark| self.word(page).map_or(Verdict::Held, |word| word.evict(mark));
        let taken = self.replacement().take(admission, evict);
        taken.ok_or(StorageError::PoolExhausted { frames: self.frames() })
    }

    pub(super) fn replacement(&self) -> MutexGuard<'_, Replacement> {
        self.replacement.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cold]
fn no_segment(segment: SegmentId) -> StorageError {
    StorageError::Parameters(format!("the buffer pool has no segment {}", segment.0))
}

#[cold]
fn no_page(segment: &Segment, page: PageId) -> StorageError {
    segment.bad_page(page, format!("the segment ends before it, with {} pages", segment.words().len()))
}
