//! A file or block device, opened for reading and for nothing else.
//!
//! No function of this module takes open flags, and the only ones it uses are those of [`Caching`]: a target cannot
//! be opened for writing. [`BlockDevice`](super::BlockDevice) describes the device under it, and
//! [`witness`](super::witness) the page cache above it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use measure::quantity::size_in_words;
use rustix::fs::{FileType, FsWord, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use thiserror::Error;

use super::alignment::Alignment;
use super::caching::Caching;
use super::device_number::DeviceNumber;
use super::mount::Mount;

/// File systems that keep their files in memory, tmpfs and ramfs, by the numbers of `linux/magic.h`.
const IN_MEMORY: [FsWord; 2] = [0x0102_1994, 0x8584_58f6];

/// The kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
}

/// Why something cannot be read as a target, and what to do instead.
#[derive(Debug, Error)]
pub enum TargetError {
    /// Nothing stands at the path.
    #[error("{} does not exist; name an existing file or block device", .0.display())]
    NotFound(PathBuf),
    /// The path is a directory.
    #[error("{} is a directory; name a file in it or a block device", .0.display())]
    Directory(PathBuf),
    /// The path is neither a file nor a block device.
    #[error("{path} is a {kind}; only regular files and block devices can be measured", path = path.display())]
    WrongKind {
        /// What was asked for.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// There is nothing to read.
    #[error("{} is empty; name a file or block device that holds data", .0.display())]
    Empty(PathBuf),
    /// The user may not read it.
    #[error("no permission to read {}; read access is enough: join the group that has it, or ask its owner",
        .0.display())]
    Permission(PathBuf),
    /// The file system has no direct I/O.
    #[error("{} cannot be read past the page cache: it lies on tmpfs or another file system without direct I/O; \
        use --buffered", .0.display())]
    DirectRefused(PathBuf),
    /// Blocks of this size cannot be read.
    #[error("blocks of {} cannot be read from {path}: its direct reads start and end on multiples of {multiple} bytes \
        ({source_of_multiple}); use a multiple of {multiple}, or --buffered",
        size_in_words(*block), path = path.display())]
    BlockSize {
        /// The target.
        path: PathBuf,
        /// Bytes of a block as asked for.
        block: u64,
        /// What it has to be a multiple of.
        multiple: u32,
        /// How the multiple was found out.
        source_of_multiple: &'static str,
    },
    /// Not one block of this size fits.
    #[error("blocks of {} do not fit into {path}, which holds {}; use a smaller block or a larger file",
        size_in_words(*block), size_in_words(*size), path = path.display())]
    BlockTooLarge {
        /// The target.
        path: PathBuf,
        /// Bytes of a block as asked for.
        block: u64,
        /// Bytes of the target.
        size: u64,
    },
    /// Any other answer of the kernel.
    #[error("{path} cannot be opened: {reason}", path = path.display())]
    Open {
        /// What was asked for.
        path: PathBuf,
        /// The kernel's answer.
        reason: io::Error,
    },
}

/// An open file or block device, and what it said about itself when it was opened.
#[derive(Clone, Debug)]
pub struct Target {
    /// Shared with the methods that read it, so that a read in flight never outlives its descriptor.
    descriptor: Arc<OwnedFd>,
    path: PathBuf,
    kind: Kind,
    caching: Caching,
    size: u64,
    alignment: Alignment,
    inode: u64,
    device: DeviceNumber,
    represents: DeviceNumber,
}

impl Target {
    /// Opens `path` for reading.
    ///
    /// The path is first taken with `O_PATH`, which opens nothing: a pipe does not block and a tape does not
    /// rewind. What it refers to is then checked and opened through that handle, so it cannot be exchanged between.
    pub fn open(path: &Path, caching: Caching) -> Result<Target, TargetError> {
        let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| open_error(path, errno))?;
        Target::of_handle(handle.as_fd(), path, caching)
    }

    /// Opens the same file or device once more, also when its name is gone.
    pub fn reopen(&self, caching: Caching) -> Result<Target, TargetError> {
        Target::of_handle(self.as_fd(), &self.path, caching)
    }

    fn of_handle(handle: BorrowedFd<'_>, path: &Path, caching: Caching) -> Result<Target, TargetError> {
        let stat = rustix::fs::fstat(handle).map_err(|errno| open_error(path, errno))?;
        let kind = kind_of(&stat, path)?;
        // Files that the kernel generates (/proc, /sys) mostly report 0 too, and refuse direct I/O: empty is the better
        // word.
        if kind == Kind::File && stat.st_size == 0 {
            return Err(TargetError::Empty(path.into()));
        }
        let refused = || TargetError::DirectRefused(path.into());
        if caching == Caching::Direct && kind == Kind::File && lives_in_memory(handle) {
            return Err(refused());
        }
        let through = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let descriptor = match rustix::fs::open(through, caching.open_flags(), Mode::empty()) {
            Err(Errno::INVAL) if caching == Caching::Direct => return Err(refused()),
            opened => opened.map_err(|errno| open_error(path, errno))?,
        };
        let size = rustix::fs::seek(&descriptor, SeekFrom::End(0)).map_err(|errno| open_error(path, errno))?;
        if size == 0 {
            return Err(TargetError::Empty(path.into()));
        }
        let alignment = Alignment::of(descriptor.as_fd(), caching).ok_or_else(refused)?;
        Ok(Target {
            descriptor: Arc::new(descriptor),
            path: path.into(),
            kind,
            caching,
            size,
            alignment,
            inode: stat.st_ino,
            device: DeviceNumber::of(stat.st_dev),
            represents: DeviceNumber::of(stat.st_rdev),
        })
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// File or block device.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Direct or buffered.
    pub fn caching(&self) -> Caching {
        self.caching
    }

    /// The alignment of reads.
    pub fn alignment(&self) -> Alignment {
        self.alignment
    }

    /// Inode number of the file, or of the device's node.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// The device of the file system that the inode belongs to; major 0 where it stands on no single device.
    pub fn device(&self) -> DeviceNumber {
        self.device
    }

    /// The device that a block device's node stands for; `None` for a file.
    pub fn represents(&self) -> Option<DeviceNumber> {
        (self.kind == Kind::BlockDevice).then_some(self.represents)
    }

    /// Name of the file system's type, such as `ext4`; `None` for a block device, and where `/proc/self/mountinfo`
    /// does not show the mount.
    pub fn filesystem(&self) -> Option<String> {
        self.mount().map(|mount| mount.filesystem)
    }

    /// The mount that a file is reached through.
    pub(crate) fn mount(&self) -> Option<Mount> {
        (self.kind == Kind::File).then(|| Mount::of(self.as_fd(), self.device)).flatten()
    }

    /// The descriptor, to keep for as long as reads of it are in flight.
    pub(crate) fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.descriptor)
    }
}

impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn kind_of(stat: &Stat, path: &Path) -> Result<Kind, TargetError> {
    let wrong = |kind| Err(TargetError::WrongKind { path: path.into(), kind });
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(Kind::File),
        FileType::BlockDevice => Ok(Kind::BlockDevice),
        FileType::Directory => Err(TargetError::Directory(path.into())),
        FileType::Fifo => wrong("pipe"),
        FileType::CharacterDevice => wrong("character device"),
        FileType::Socket => wrong("socket"),
        _ => wrong("thing of unknown kind"),
    }
}

/// Whether the file's file system keeps its files in memory. (The node of a block device lies on such a one too.)
///
/// Since Linux 6.6 tmpfs accepts `O_DIRECT` and still copies from memory, which would look like a very fast disk.
fn lives_in_memory(handle: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(handle).is_ok_and(|found| IN_MEMORY.contains(&found.f_type))
}

/// Whether the files of a directory, which need not be there yet, are always in memory.
pub fn is_in_memory(directory: &Path) -> bool {
    let there = directory.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    rustix::fs::statfs(there).is_ok_and(|found| IN_MEMORY.contains(&found.f_type))
}

fn open_error(path: &Path, errno: Errno) -> TargetError {
    let path = path.into();
    match errno {
        Errno::NOENT => TargetError::NotFound(path),
        Errno::ACCESS | Errno::PERM => TargetError::Permission(path),
        other => TargetError::Open { path, reason: other.into() },
    }
}
