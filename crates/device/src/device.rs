//! What a device is: something that blocks are read from, and what can prove which level served a read.

use std::fmt;
use std::path::PathBuf;

use measure::Parameters;
use sys::file::{Alignment, BlockDevice, NoBlockDevice, Target, TargetError};
use sys::memory::Pages;
use sys::read::{MethodError, MethodRow, ReadMethod, best_method};
use sys::threads::NotStarted;
use thiserror::Error;

use crate::model::error::ModelError;
use crate::model::hard_disk::HardDiskParameters;
use crate::tier::Layer;
use crate::time_source::VirtualClock;

/// Something that blocks can be read from. Each kind has its row in [`DEVICES`](crate::DEVICES).
pub trait Device: fmt::Debug + Send + Sync {
    /// What messages call it.
    fn name(&self) -> String;

    /// Bytes that can be read.
    fn size(&self) -> u64;

    /// What offsets and lengths of reads must be multiples of.
    fn alignment(&self) -> Alignment;

    /// What run documents say of it.
    fn describe(&self) -> Description;

    /// Opens an I/O method for each member of a team, to be used at the same time.
    ///
    /// A model begins each team at rest, at the beginning of its time.
    fn open(&self, team: &[Slots]) -> Result<Opened, DeviceError>;

    /// What can prove which level served a read.
    fn witnesses(&self) -> Witnesses<'_>;
}

/// The buffers of one I/O method.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// How to ask the kernel; `None` for the method that costs least at this depth.
    pub method: Option<&'static MethodRow>,
    /// Reads in flight at once.
    pub depth: usize,
    /// Bytes of a read at most.
    pub bytes: usize,
    /// The pages that they stand on.
    pub pages: Pages,
}

impl Slots {
    /// The I/O method, where the kernel is asked.
    pub fn row(&self) -> &'static MethodRow {
        self.method.unwrap_or_else(|| best_method(self.depth))
    }
}

/// The I/O methods of a team.
pub struct Opened {
    /// One for each member.
    pub methods: Vec<Box<dyn ReadMethod>>,
    /// The clock that the reads take their time from; `None` for the machine's.
    pub clock: Option<VirtualClock>,
    /// What read the blocks, as metrics name their source.
    pub method: String,
}

/// What run documents say of a device.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The run's subject.
    pub subject: Parameters,
    /// Whether reads take virtual time: nothing of the machine has a part in them.
    pub is_virtual: bool,
    /// The disk, where its geometry is known.
    pub disk: Option<HardDiskParameters>,
}

/// What can prove which level served a read.
#[derive(Clone, Debug)]
pub enum Witnesses<'a> {
    /// The kernel: its page cache can be asked (cachestat, mincore, `RWF_NOWAIT`), it counts what this process fetched
    /// (`/proc/self/io`), and the block device counts what it delivered.
    Kernel {
        /// The open file or block device.
        target: &'a Target,
        /// The block devices that hold its data, under all layers; or why they cannot be named.
        storage: Result<Vec<BlockDevice>, NoBlockDevice>,
        /// The layer under the file or block device, such as a loop device, where it is one.
        layer: Option<BlockDevice>,
    },
    /// None: no kernel stands between the reader and the device, which says itself what serves a read.
    Absent(Unwitnessed),
}

/// What a device says of reads that the kernel has no part in.
#[derive(Clone, Copy, Debug)]
pub struct Unwitnessed {
    /// What serves the reads, as run documents name their tier.
    pub tier: &'static str,
    /// The same in sentences.
    pub name: &'static str,
    /// Whether a read takes the time of a device: one of the null device takes none.
    pub takes_time: bool,
    /// Why there is no page cache, as the end of a sentence.
    pub no_page_cache: &'static str,
}

impl<'a> Witnesses<'a> {
    /// The file or block device that the kernel reads.
    pub fn target(&self) -> Option<&'a Target> {
        match self {
            Witnesses::Kernel { target, .. } => Some(target),
            Witnesses::Absent(_) => None,
        }
    }

    /// The block devices that hold the data, where they are known.
    pub fn storage(&self) -> &[BlockDevice] {
        match self {
            Witnesses::Kernel { storage: Ok(storage), .. } => storage,
            _ => &[],
        }
    }

    /// The layer between the target and the devices that hold the data, where there is one, or a device that may serve
    /// reads from this host's memory.
    pub fn layer(&self) -> Option<Layer> {
        if let Some(reason) = self.target().and_then(uncounted) {
            return Some(Layer::Hidden(reason));
        }
        match self {
            Witnesses::Kernel { storage: Err(reason), layer: Some(layer), .. } => {
                Some(Layer::Hidden(format!("it is not known what {} reads: {reason}", layer.name)))
            }
            Witnesses::Kernel { layer, .. } => {
                let reason = self.storage().iter().find_map(|device| in_memory(&device.name));
                let followed = |layer: &BlockDevice| if layer.is_mapped() { Layer::Mapped } else { Layer::Followed };
                reason.map(Layer::InMemory).or_else(|| layer.as_ref().map(followed))
            }
            Witnesses::Absent(_) => None,
        }
    }

    /// What reads with these slots go through: the kernel's I/O method, or the device itself.
    pub fn method_name(&self, slots: Slots) -> &'static str {
        match self {
            Witnesses::Kernel { .. } => slots.row().name,
            Witnesses::Absent(device) => device.tier,
        }
    }
}

/// Why the kernel's counts say nothing of reads from this file; `None` where they do, and for a block device.
pub fn uncounted(file: &Target) -> Option<String> {
    file.filesystem().and_then(|filesystem| uncharged(&filesystem))
}

/// Why the kernel's counts say nothing of reads from a file system of this type; `None` where they do.
///
/// zfs reads by threads of its own, and older versions of it count what its cache serves too. FUSE and virtiofs leave
/// the reads to another process or to the host, and 9p to threads of the kernel or to the host. SMB (cifs, smb3)
/// charges the bytes to the thread that receives them, Ceph charges no direct read, and VirtualBox's shared folders
/// (vboxsf) charge none at all.
fn uncharged(filesystem: &str) -> Option<String> {
    const UNCHARGED: [&str; 9] = ["zfs", "fuse", "fuseblk", "virtiofs", "9p", "cifs", "smb3", "ceph", "vboxsf"];
    let is_uncharged = UNCHARGED.contains(&filesystem);
    (is_uncharged || filesystem.starts_with("fuse."))
        .then(|| format!("the kernel does not count what a process reads from a file system of type {filesystem}"))
}

/// Why reads that reached a device of this name may not have left this host's memory; `None` where they have.
///
/// The kernel counts the reads of a RAM disk (brd, zram) as those of any disk, and the reads of a volume of zfs ahead
/// of the cache that zfs keeps in memory.
fn in_memory(device: &str) -> Option<String> {
    let is_one_of = |driver: &str| {
        let number = device.strip_prefix(driver);
        number.is_some_and(|number| number.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    match ["ram", "zram", "zd"].map(is_one_of) {
        [true, ..] | [_, true, _] => Some(format!("{device} is memory, whose reads the kernel counts like a disk's")),
        [.., true] => Some(format!("{device} is a volume of zfs, whose cache in memory the kernel does not count")),
        _ => None,
    }
}

/// Says whether blocks of `block` bytes at multiples of their size can be read.
pub fn check_block_size(device: &dyn Device, block: u64) -> Result<(), DeviceError> {
    let Alignment { offset: multiple, source: source_of_multiple, .. } = device.alignment();
    let path = || PathBuf::from(device.name());
    if block == 0 || !block.is_multiple_of(u64::from(multiple.max(1))) {
        return Err(TargetError::BlockSize { path: path(), block, multiple, source_of_multiple }.into());
    }
    if block > device.size() {
        return Err(TargetError::BlockTooLarge { path: path(), block, size: device.size() }.into());
    }
    Ok(())
}

/// Why a device cannot be read.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The file or block device cannot be opened this way.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The I/O method is not available.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// A worker could not be started.
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    /// There is no such model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The word names no device, or one that cannot do this.
    #[error("{0}")]
    Word(String),
}

impl DeviceError {
    /// Whether it says what the named thing is: no file or block device, an empty one, or one without direct I/O. A
    /// later try ends the same way, while a file that is missing may come, and one may be given the right to read it.
    pub fn is_of_what_is_there(&self) -> bool {
        use TargetError::{DirectRefused, Empty, WrongKind};
        matches!(self, DeviceError::Target(WrongKind { .. } | Empty { .. } | DirectRefused { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_miss_the_reads_of_a_file_system_prove_no_cache() {
        for counted in ["ext4", "xfs", "btrfs", "overlay", "nfs4", "tmpfs"] {
            assert_eq!(uncharged(counted), None);
        }
        for missed in ["zfs", "virtiofs", "fuse.sshfs", "fuseblk", "9p", "cifs", "smb3", "ceph", "vboxsf"] {
            assert!(uncharged(missed).unwrap().ends_with(missed), "{missed}");
        }
    }

    #[test]
    fn reads_of_a_disk_that_is_memory_or_behind_a_cache_in_memory_are_not_called_storage() {
        for disk in ["sda", "vda1", "nvme0n1", "dm-0", "loop0", "md0", "zd", "ramp1", "zramdisk", "sdram0"] {
            assert_eq!(in_memory(disk), None, "{disk}");
        }
        for (memory, reason) in [("ram0", "is memory"), ("zram1", "is memory"), ("zd16p1", "is a volume of zfs")] {
            assert!(in_memory(memory).unwrap().starts_with(&format!("{memory} {reason}")), "{memory}");
        }
    }
}
