//! A file of our own to read from: it has no name, so that no end of the process leaves it behind, and its contents
//! can be checked by every reader.
//!
//! Only this module writes to a disk under test. It holds a writable descriptor while it fills the file, and only a
//! readable one afterwards.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use measure::quantity::whole_mebibytes;
use measure::random::mix;
use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use super::caching::Caching;
use super::fill::{Filling, reserve};
use super::target::{Target, TargetError};

/// Free space to leave: at least this many bytes ...
const RESERVE_BYTES_MIN: u64 = 64 << 20;

/// ... and at least this part (one in ...) of the file system.
const RESERVE_PART: u64 = 20;

/// The increment of SplitMix64: an odd number, so that multiples of it run through all 64-bit values.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Why a test file could not be created, and what to do.
#[derive(Debug, Error)]
pub enum TestFileError {
    /// There is no such directory.
    #[error("{} is not a directory; name one on the disk to be measured", .0.display())]
    NotADirectory(PathBuf),
    /// The user may not create files there.
    #[error("no permission to create a file in {}; name a directory that you may write to", .0.display())]
    Permission(PathBuf),
    /// The file system is mounted read-only.
    #[error("{} lies on a file system that is mounted read-only; name a directory that you may write to", .0.display())]
    ReadOnly(PathBuf),
    /// Too little space is free.
    #[error("a test file of {needed} and a reserve of {reserve} do not fit into the {free} that are free in \
        {directory}; name another directory, free some space, or ask for a smaller file where the reserve alone fits",
        needed = whole_mebibytes(*needed), reserve = whole_mebibytes(*reserve), free = whole_mebibytes(*free),
        directory = directory.display())]
    NoSpace {
        /// Where.
        directory: PathBuf,
        /// Bytes of the file.
        needed: u64,
        /// Bytes to leave free.
        reserve: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The file cannot be opened a second time, only to read.
    #[error("/proc is not mounted here, through which a test file is opened again; mount it, as every system does")]
    NoProc,
    /// The disk filled up during the write.
    #[error("{} had no space left while the test file was written; ask for a smaller file", .0.display())]
    Full(PathBuf),
    /// The process or the file system allows no file of this size.
    #[error("a file in {} may not be as large as the test file: ask for a smaller one, or raise the limit on \
        the size of files (ulimit -f)", .0.display())]
    TooLarge(PathBuf),
    /// The caller raised the stop flag.
    #[error("writing the test file was interrupted; nothing is left of it")]
    Stopped,
    /// The requested size is 0.
    #[error("a test file of 0 bytes cannot be read; ask for a larger one")]
    Empty,
    /// Any other error of the kernel.
    #[error("the test file in {directory} failed: {reason}", directory = directory.display())]
    Failed {
        /// Where.
        directory: PathBuf,
        /// The kernel's error.
        reason: io::Error,
    },
}

/// A nameless file of known contents. The kernel frees it when its last descriptor closes, after a kill as well.
#[derive(Debug)]
pub struct TestFile {
    descriptor: OwnedFd,
    size: u64,
}

impl TestFile {
    /// Creates a file of `bytes` bytes in `directory`, filled with [`expected_block`], on the disk (`fsync`) and not in
    /// the page cache.
    ///
    /// Calls `progress` with the bytes written so far, on the calling thread. Raising `stop` ends the writing with
    /// [`TestFileError::Stopped`] within one write of 4 MiB.
    pub fn create(
        directory: &Path,
        bytes: u64,
        seed: u64,
        progress: &mut dyn FnMut(u64),
        stop: &AtomicBool,
    ) -> Result<TestFile, TestFileError> {
        if bytes == 0 {
            return Err(TestFileError::Empty);
        }
        let failed = |errno: Errno| TestFileError::of(directory, errno.into());
        check_space(directory, bytes)?;
        // Direct if the file system allows it, because the file must not be in the page cache afterwards.
        let file = File::from(create_nameless(directory, OFlags::DIRECT).map_err(failed)?);
        reserve(&file, bytes).map_err(failed)?;
        let make = |offset: u64, buffer: &mut [u8]| expected_block(seed, offset, buffer);
        Filling::new(&file, bytes, make, stop).run(progress).map_err(|error| TestFileError::of(directory, error))?;
        if stop.load(Ordering::Relaxed) {
            return Err(TestFileError::Stopped);
        }
        settle(&file, bytes).map_err(|error| TestFileError::of(directory, error))?;
        let descriptor = open_again(&file).map_err(|errno| match errno {
            Errno::NOENT => TestFileError::NoProc,
            other => failed(other),
        })?;
        Ok(TestFile { descriptor, size: bytes })
    }

    /// A path to the file, valid in this process and while `self` lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()))
    }

    /// The file, opened for reading.
    pub fn target(&self, caching: Caching) -> Result<Target, TargetError> {
        Target::open(&self.path(), caching)
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// Fills `buffer` with the contents of a test file of this seed, from `offset` on.
///
/// The file is a row of 8-byte little-endian words; word `i` is `mix(mix(seed) + i * GAMMA)` with the output function
/// of SplitMix64, the generator's sequence from state `mix(seed)`. No word occurs twice in a file, so no two
/// blocks are equal and no device can deduplicate or compress them. Panics when `offset` is not a multiple of 8.
pub fn expected_block(seed: u64, offset: u64, buffer: &mut [u8]) {
    assert!(offset.is_multiple_of(8), "contents start at a multiple of 8, not at {offset}");
    let mut state = mix(seed).wrapping_add((offset / 8).wrapping_mul(GAMMA));
    let mut words = buffer.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&mix(state).to_le_bytes());
        state = state.wrapping_add(GAMMA);
    }
    let rest = words.into_remainder();
    rest.copy_from_slice(&mix(state).to_le_bytes()[..rest.len()]);
}

/// Checks that the file and a reserve fit: a full disk harms its other users, and slows down.
fn check_space(directory: &Path, needed: u64) -> Result<(), TestFileError> {
    let space = rustix::fs::statvfs(directory).map_err(|errno| TestFileError::of(directory, errno.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let whole = space.f_blocks.saturating_mul(space.f_frsize);
    let reserve = RESERVE_BYTES_MIN.max(whole / RESERVE_PART);
    if needed.saturating_add(reserve) <= free {
        return Ok(());
    }
    Err(TestFileError::NoSpace { directory: directory.into(), needed, reserve, free })
}

/// A nameless file to write and read back through the page cache; the kernel frees it when it is closed or the process
/// ends. Returns the kernel's errors.
pub fn scratch_file(directory: &Path) -> io::Result<File> {
    Ok(File::from(create_nameless(directory, OFlags::empty())?))
}

/// A file without a name: `O_TMPFILE`, or if the file system lacks it, a file whose name is removed at once. Uses
/// `flags` unless the file system refuses them.
fn create_nameless(directory: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let writing = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let directory = rustix::fs::open(directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let nameless = |flags| rustix::fs::openat(&directory, ".", writing | OFlags::TMPFILE | flags, mode);
    match nameless(flags).or_else(|_| nameless(OFlags::empty())) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
            create_unlinked(&directory, writing, mode)
        }
        opened => opened,
    }
}

fn create_unlinked(directory: &OwnedFd, writing: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    // The process number makes the name unique among living processes; EXCL refuses the leftover of a dead one.
    let name = format!(".readpath-{}-{:x}", std::process::id(), mix(crate::process::process_cpu().0));
    let file = rustix::fs::openat(directory, &name, writing | OFlags::CREATE | OFlags::EXCL, mode)?;
    rustix::fs::unlinkat(directory, &name, AtFlags::empty())?;
    Ok(file)
}

/// Cuts the file to its size, syncs it, and evicts it from the page cache.
fn settle(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    file.sync_all()?;
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

/// A descriptor of the same file that can only read.
fn open_again(file: &File) -> Result<OwnedFd, Errno> {
    let through = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    rustix::fs::open(through, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

impl TestFileError {
    /// The kernel's error as ours, which names the directory.
    fn of(directory: &Path, reason: io::Error) -> TestFileError {
        let directory = directory.into();
        match Errno::from_io_error(&reason) {
            Some(Errno::NOTDIR | Errno::NOENT) => TestFileError::NotADirectory(directory),
            Some(Errno::ACCESS | Errno::PERM) => TestFileError::Permission(directory),
            Some(Errno::ROFS) => TestFileError::ReadOnly(directory),
            Some(Errno::NOSPC | Errno::DQUOT) => TestFileError::Full(directory),
            Some(Errno::FBIG) => TestFileError::TooLarge(directory),
            _ => TestFileError::Failed { directory, reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(directory: &Path, bytes: u64, stop: bool) -> Result<TestFile, TestFileError> {
        TestFile::create(directory, bytes, 7, &mut |_| (), &AtomicBool::new(stop))
    }

    #[test]
    fn contents_from_the_middle_equal_the_middle_of_the_contents() {
        let (mut whole, mut part) = (vec![0; 8192], vec![0; 4003]);
        expected_block(3, 0, &mut whole);
        expected_block(3, 4096, &mut part);
        assert_eq!(part, whole[4096..4096 + 4003]);
        // The first word is the first output of SplitMix64 from state mix(seed) - GAMMA.
        let mut sequence = measure::random::SplitMix64::new(mix(3).wrapping_sub(GAMMA));
        assert_eq!(whole[..8], sequence.next_u64().to_le_bytes());
        assert_eq!(whole[8..16], sequence.next_u64().to_le_bytes());
    }

    #[test]
    fn nothing_is_left_in_the_directory_even_while_the_file_lives() {
        let directory = tempfile::tempdir().unwrap();
        let file = create(directory.path(), (5 << 20) + 13, false).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(file.target(Caching::Buffered).unwrap().size(), (5 << 20) + 13);
        let (mut held, mut expected) = (vec![0; 4096 + 13], vec![0; 4096 + 13]);
        let last = (5 << 20) - 4096;
        let read = rustix::io::pread(&file.descriptor, &mut held, last).unwrap();
        expected_block(7, last, &mut expected);
        assert_eq!((read, held), (4096 + 13, expected));
    }

    #[test]
    fn a_file_without_tmpfile_support_leaves_no_name_either() {
        let directory = tempfile::tempdir().unwrap();
        let handle = OwnedFd::from(File::open(directory.path()).unwrap());
        let file = create_unlinked(&handle, OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(rustix::io::pwrite(&file, b"data", 0), Ok(4));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_kept_descriptor_cannot_write() {
        let directory = tempfile::tempdir().unwrap();
        let file = create(directory.path(), 4096, false).unwrap();
        assert_eq!(rustix::io::pwrite(&file.descriptor, b"data", 0), Err(Errno::BADF));
    }

    #[test]
    fn every_refusal_is_a_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let sentence = |path: &Path, bytes, stop| create(path, bytes, stop).unwrap_err().to_string();
        assert!(sentence(directory.path(), 1 << 62, false).contains("do not fit into"));
        assert!(sentence(directory.path(), 1 << 20, true).contains("interrupted"));
        assert!(sentence(directory.path(), 0, false).contains("0 bytes"));
        assert!(sentence(&directory.path().join("absent"), 4096, false).contains("is not a directory"));
        let plain = directory.path().join("plain");
        std::fs::write(&plain, "x").unwrap();
        assert!(sentence(&plain, 4096, false).contains("is not a directory"));
        assert!(sentence(Path::new("/proc"), 4096, false).contains("/proc"));
    }

    #[test]
    fn a_stop_while_writing_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let mut heard = 0;
        let mut progress = |written| {
            heard = written;
            stop.store(true, Ordering::Relaxed);
        };
        let result = TestFile::create(directory.path(), 256 << 20, 7, &mut progress, &stop);
        assert!(matches!(result, Err(TestFileError::Stopped)));
        assert!(heard < 256 << 20, "{heard}");
    }
}
