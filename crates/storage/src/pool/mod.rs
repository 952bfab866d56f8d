//! The buffer pool: pages of files, and pages that live in memory only, in frames of fixed memory.
//!
//! A [`Pool`] is shared by all threads; each of them asks it through a [`Session`] of its own. What a get costs:
//!
//! 1. one load of the page's translation word (`word.rs`): an array of 8 bytes a page, indexed by the page's number, so
//!    there is no hash table to search and no chain to walk;
//! 2. one atomic exchange on that word, which pins the page; another one when the [`Pinned`] is dropped;
//! 3. one addition to the session's own counter.
//!
//! There is no lock on this way, and no line that other threads write unless they ask for the same page. Misses take
//! one lock to choose a frame, for well under a microsecond where the read takes some 80.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `word.rs` | who may touch which page |
//! | `replacement.rs` | which page leaves |
//! | `frames.rs`, `flights.rs`, `pinned.rs`, `words.rs` | where bytes and words stand; all unsafe code of the pool |
//! | `segment.rs`, `source.rs` | where pages come from |
//! | `load.rs`, `ahead.rs` | how they come: one, a range, many, many while one does something else |
//! | `gate.rs` | what is counted |
//! | `wait.rs` | how one waits for another's page |
//!
//! The pool never writes to a disk. A page that was changed is dirty and stays in memory until its segment is
//! discarded.

mod ahead;
mod atomic;
mod flights;
mod frames;
mod gate;
mod load;
mod pinned;
mod replacement;
mod segment;
mod session;
mod source;
mod wait;
mod word;
mod words;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use sys::read::{MethodRow, best_method, method};

pub use frames::PageBytes;
use frames::{Frames, OwnFrame};
pub use gate::GateCounts;
use gate::Gates;
pub use pinned::{Pinned, PinnedMut};
use replacement::{Admission, Replacement};
pub use segment::Verifier;
use segment::{DataFile, Origin, Segment};
pub use session::{Cursor, Session};
pub use source::PageSource;
use wait::Rooms;
use word::{State, Verdict, Word};

use crate::error::StorageError;
use crate::page_id::{PAGE_SIZE, PageId, SegmentId};

/// The smallest pool, in frames: enough for every thread of a small machine to hold a table's, an index's and an undo
/// page at once.
pub const FRAMES_MIN: usize = 16;

/// What a pool is made with.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// Bytes of all frames; whole pages of [`PAGE_SIZE`] count.
    pub bytes: usize,
    /// Most segments that may be added.
    pub segments_max: usize,
    /// The I/O method of [`Session::load_many`]. Single pages and ranges are read by the method that costs least for
    /// one read at a time, on the thread that asks.
    pub io_method: &'static MethodRow,
    /// Reads in flight of [`Session::load_many`].
    pub read_depth: usize,
    /// Most blocks of one read of [`Session::prefetch_range`].
    pub blocks_per_read: usize,
    /// Most blocks of one read of [`Session::load_many`]: neighbours that are asked for one behind the other are read
    /// together. 1 reads every block by itself.
    pub blocks_per_gather: usize,
}

impl PoolSettings {
    /// A pool of `bytes` with usual settings: the best method of this system 32 deep, 128 blocks (1 MiB) a read, which
    /// is what the ladder's sequential rung reads.
    ///
    /// A small pool gets fewer of either, so that what is read at once stays below a quarter of its frames. Scattered
    /// blocks are read one by one.
    pub fn new(bytes: usize) -> PoolSettings {
        let at_once_max = (bytes / PAGE_SIZE / 4).max(1);
        let read_depth = at_once_max.min(32);
        let name = best_method(read_depth);
        let io_method = method(name).expect("the best method is one of the table");
        let blocks_per_read = at_once_max.min(128);
        PoolSettings { bytes, segments_max: 64, io_method, read_depth, blocks_per_read, blocks_per_gather: 1 }
    }

    /// Most blocks of reads under way.
    fn at_once(&self) -> usize {
        self.read_depth.saturating_mul(self.blocks_per_gather).max(self.blocks_per_read)
    }

    /// The number of frames, or what is wrong with the settings.
    fn frames(&self) -> Result<u32, StorageError> {
        let count = self.bytes / PAGE_SIZE;
        let at_once = self.at_once();
        let needed = FRAMES_MIN.max(at_once.saturating_mul(2));
        if [self.read_depth, self.blocks_per_read, self.blocks_per_gather, self.segments_max].contains(&0) {
            let reason = "a buffer pool needs a read depth, blocks per read and a number of segments of at least 1";
            return Err(StorageError::Parameters(reason.into()));
        }
        if self.segments_max > usize::from(u16::MAX) + 1 {
            return Err(StorageError::Parameters(format!("{} segments cannot be numbered", self.segments_max)));
        }
        if count < needed {
            return Err(StorageError::Parameters(format!(
                "a buffer pool of {} bytes has {count} frames of {PAGE_SIZE} bytes and needs {needed} to read \
                 {at_once} at once; give it {} bytes or more",
                self.bytes,
                needed.saturating_mul(PAGE_SIZE)
            )));
        }
        u32::try_from(count)
            .map_err(|_| StorageError::Parameters(format!("a buffer pool of {count} frames is larger than 32 TiB")))
    }
}

/// A buffer pool.
#[derive(Debug)]
pub struct Pool {
    settings: PoolSettings,
    frames: Frames,
    /// Filled from the front and never emptied, so that a look-up needs no lock while segments are added.
    segments: Box<[OnceLock<Segment>]>,
    /// The number of segments; held while one is added.
    segments_added: Mutex<usize>,
    replacement: Mutex<Replacement>,
    rooms: Rooms,
    gates: Gates,
}

impl Pool {
    /// Maps and touches the pool's memory.
    ///
    /// Errors when the settings cannot be, or when there is no room in memory.
    pub fn new(settings: PoolSettings) -> Result<Pool, StorageError> {
        let count = settings.frames()?;
        let frames = Frames::new(count).map_err(|error| {
            StorageError::Parameters(format!("no memory for a buffer pool of {} bytes: {error}", settings.bytes))
        })?;
        let replacement = Replacement::new(frames.all(), 2 * settings.at_once());
        Ok(Pool {
            settings,
            frames,
            segments: (0..settings.segments_max).map(|_| OnceLock::new()).collect(),
            segments_added: Mutex::new(0),
            replacement: Mutex::new(replacement),
            rooms: Rooms::new(),
            gates: Gates::default(),
        })
    }

    /// Adds the first `pages` pages of a file, or of what stands in for one; `verify` judges each when it is read.
    ///
    /// Whether reads go through the page cache is the source's: open it direct to have every miss reach the device.
    /// Errors when the source is shorter, when it cannot be read page by page, or when there are too many segments.
    pub fn add_segment(
        &self,
        source: impl PageSource + 'static,
        pages: u32,
        verify: impl Fn(&PageBytes, PageId) -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<SegmentId, StorageError> {
        let file = DataFile::new(Box::new(source), pages, Box::new(verify))?;
        self.add(Segment::new(pages, Origin::File(file))?)
    }

    /// Adds a segment of up to `pages_max` pages that live in the pool alone: undo, or scratch.
    ///
    /// Its pages are made by [`Session::create`] and keep their frames until the segment is discarded. `name` stands in
    /// for a file's in messages. Errors when there are too many segments.
    pub fn add_volatile_segment(&self, name: &str, pages_max: u32) -> Result<SegmentId, StorageError> {
        self.add(Segment::new(pages_max, Origin::Memory(name.into()))?)
    }

    /// A way in for one thread.
    pub fn session(&self) -> Session<'_> {
        Session::new(self)
    }

    /// Everything that passed the gate so far, of all sessions, living and ended.
    pub fn counts(&self) -> GateCounts {
        self.gates.sum()
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.count() as usize
    }

    /// Pages that one can ask for ahead of their use without the last pushing out the first.
    pub fn pages_ahead(&self) -> usize {
        self.replacement().probation_frames()
    }

    /// Bytes of the frames that really stand on huge pages; `None` where the kernel does not tell.
    pub fn huge_bytes(&self) -> Option<u64> {
        self.frames.huge_bytes()
    }

    /// What the pool was made with.
    pub fn settings(&self) -> &PoolSettings {
        &self.settings
    }

    /// How many pages of a segment are in the pool now. Looks at every word of it.
    pub fn resident_pages(&self, segment: SegmentId) -> Result<u32, StorageError> {
        let words = self.segment(segment)?.words();
        Ok(words.iter().filter(|word| word.state() == State::Resident).count() as u32)
    }

    /// Takes every page of a segment out of the pool, those that were changed included: what stands on the disk is the
    /// truth again, and pages that lived in memory only are gone.
    ///
    /// Errors with [`StorageError::PageBusy`] when somebody holds a page; the pages before it are gone then.
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
    fn segment(&self, segment: SegmentId) -> Result<&Segment, StorageError> {
        match self.segments.get(usize::from(segment.0)).and_then(OnceLock::get) {
            Some(found) => Ok(found),
            None => Err(no_segment(segment)),
        }
    }

    /// The page's word.
    #[inline]
    fn word(&self, page: PageId) -> Result<&Word, StorageError> {
        let segment = self.segment(page.segment)?;
        match segment.word(page.number) {
            Some(word) => Ok(word),
            None => Err(no_page(segment, page)),
        }
    }

    /// A frame for a page that was claimed.
    fn take_frame(&self, admission: Admission) -> Result<OwnFrame, StorageError> {
        let evict = |page: PageId, mark| self.word(page).map_or(Verdict::Held, |word| word.evict(mark));
        let taken = self.replacement().take(admission, evict);
        taken.ok_or(StorageError::PoolExhausted { frames: self.frames() })
    }

    fn replacement(&self) -> MutexGuard<'_, Replacement> {
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
