//! The block device under a target: its properties and counters, as the kernel reports them in `/sys/dev/block`.
//!
//! The reports are passed on unchecked: virtual disks often call themselves rotational.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use thiserror::Error;

use super::device_number::DeviceNumber;
use super::mount::Mount;
use super::target::Target;
use crate::host::bracketed;

/// Bytes of a sector in `/sys/dev/block/*/stat`, whatever the device's own sectors are
/// (`Documentation/block/stat.rst`).
const SECTOR_BYTES: u64 = 512;

/// Where the kernel lists the devices of each btrfs.
const BTRFS: &str = "/sys/fs/btrfs";

/// A block device that holds a target. What the kernel does not report is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// Name under `/dev`.
    pub name: String,
    /// Major and minor number.
    pub number: DeviceNumber,
    /// Whether the kernel takes it for a spinning disk.
    pub rotational: Option<bool>,
    /// The scheduler in use.
    pub scheduler: Option<String>,
    /// Read-ahead of buffered reads in KiB.
    pub read_ahead_kib: Option<u64>,
    /// Whether the kernel counts what the device does.
    counts: bool,
}

/// What the kernel has counted on a device since it appeared, for all its users together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
}

impl DeviceCounters {
    /// What was added since `earlier`.
    pub fn since(self, earlier: DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            reads: self.reads.saturating_sub(earlier.reads),
            bytes_read: self.bytes_read.saturating_sub(earlier.bytes_read),
        }
    }
}

/// Why no block device can be named.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoBlockDevice {
    /// The file system takes its data from elsewhere: a network, memory, several devices, other file systems.
    #[error("a file system of type {filesystem} does not stand on one block device that this system shows")]
    FileSystem {
        /// Its type.
        filesystem: String,
    },
    /// The mount of the file is not visible from here.
    #[error("the mount that the file is reached through is not listed in /proc/self/mountinfo")]
    UnknownMount,
    /// The file of a loop device cannot be found at its path: it was removed, or lies in another mount namespace.
    #[error("the file {path} of a loop device cannot be found from here", path = path.display())]
    HiddenFile {
        /// Its path, as the kernel gives it.
        path: PathBuf,
    },
    /// The device has a number and no entry under `/sys/dev/block`.
    #[error("device {0} is not listed under /sys/dev/block")]
    NotListed(DeviceNumber),
}

impl BlockDevice {
    /// The device that a target is, or that the file system of a target stands on.
    ///
    /// It may be a layer itself: [`bottom`](BlockDevice::bottom) follows it.
    pub fn under(target: &Target) -> Result<BlockDevice, NoBlockDevice> {
        let number = match target.represents() {
            Some(number) => number,
            None => number_under_file(target.as_fd(), target.device())?,
        };
        BlockDevice::listed(number)
    }

    /// The device that a target is, or all those that the file system of a target stands on: a btrfs may have several,
    /// of which its mount names one.
    pub fn all_under(target: &Target) -> Result<Vec<BlockDevice>, NoBlockDevice> {
        let named = BlockDevice::under(target)?;
        if target.represents().is_some() { Ok(vec![named]) } else { named.with_others() }
    }

    /// This device and those that share a btrfs with it.
    fn with_others(self) -> Result<Vec<BlockDevice>, NoBlockDevice> {
        let all = devices_of_btrfs(Path::new(BTRFS), self.number);
        if all.is_empty() { Ok(vec![self]) } else { all.into_iter().map(BlockDevice::listed).collect() }
    }

    /// The devices that hold the data of these, each once.
    pub fn bottom_of(devices: &[BlockDevice]) -> Result<Vec<BlockDevice>, NoBlockDevice> {
        let mut bottom = Vec::new();
        for device in devices {
            for one in device.bottom()? {
                if !bottom.contains(&one) {
                    bottom.push(one);
                }
            }
        }
        Ok(bottom)
    }

    /// The devices that hold the data: those under a device mapper, a RAID or the file of a loop device, and the device
    /// itself where nothing stands under it. What a layer in between keeps in memory never reaches their counters.
    pub fn bottom(&self) -> Result<Vec<BlockDevice>, NoBlockDevice> {
        let beneath = self.beneath()?;
        if beneath.is_empty() { Ok(vec![self.clone()]) } else { BlockDevice::bottom_of(&beneath) }
    }

    /// Whether this device, or one on the way to those that hold the data, is a device mapper's. It may answer a read
    /// by itself, as a thin volume does for blocks that were never written.
    pub fn is_mapped(&self) -> bool {
        let is_mapped_below = || self.beneath().is_ok_and(|beneath| beneath.iter().any(BlockDevice::is_mapped));
        disk_of(&entry_of(self.number)).join("dm").exists() || is_mapped_below()
    }

    /// The devices that this one puts together or takes its blocks from; none where nothing stands under it.
    fn beneath(&self) -> Result<Vec<BlockDevice>, NoBlockDevice> {
        let disk = disk_of(&entry_of(self.number));
        match backing_file(&disk) {
            Some(path) => under_backing_file(&path),
            None => numbers_in(&disk.join("slaves")).into_iter().map(BlockDevice::listed).collect(),
        }
    }

    /// The present counts; `None` if the kernel does not count (`queue/iostats` is 0) or report.
    pub fn counters(&self) -> Option<DeviceCounters> {
        let stat = self.counts.then(|| fs::read_to_string(entry_of(self.number).join("stat")).ok())??;
        parse_stat(&stat)
    }

    fn listed(number: DeviceNumber) -> Result<BlockDevice, NoBlockDevice> {
        BlockDevice::read(number, &entry_of(number)).ok_or(NoBlockDevice::NotListed(number))
    }

    fn read(number: DeviceNumber, entry: &Path) -> Option<BlockDevice> {
        let uevent = fs::read_to_string(entry.join("uevent")).ok()?;
        let name = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME="))?.to_string();
        let queue = disk_of(entry).join("queue");
        let text = |file: &str| fs::read_to_string(queue.join(file)).ok();
        let value = |file: &str| text(file).and_then(|text| text.trim().parse::<u64>().ok());
        Some(BlockDevice {
            name,
            number,
            rotational: value("rotational").map(|value| value != 0),
            scheduler: text("scheduler").map(|text| scheduler_in_use(&text)),
            read_ahead_kib: value("read_ahead_kb"),
            counts: value("iostats") != Some(0),
        })
    }
}

fn entry_of(number: DeviceNumber) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{number}"))
}

/// The entry of the whole disk: a partition has no queue and no layers of its own. The kernel follows the link before
/// it goes up.
fn disk_of(entry: &Path) -> PathBuf {
    if entry.join("partition").exists() { entry.join("..") } else { entry.into() }
}

/// The device under a file. Major 0 marks file systems with a number of their own making: btrfs stands on a device
/// that its mount names, overlay and network file systems do not.
fn number_under_file(file: BorrowedFd<'_>, device: DeviceNumber) -> Result<DeviceNumber, NoBlockDevice> {
    if device.major != 0 {
        return Ok(device);
    }
    let mount = Mount::of(file, device).ok_or(NoBlockDevice::UnknownMount)?;
    number_of_node(Path::new(&mount.source)).ok_or(NoBlockDevice::FileSystem { filesystem: mount.filesystem })
}

/// The path of a loop device's file, which may have any bytes; `None` for any other device.
fn backing_file(disk: &Path) -> Option<PathBuf> {
    let line = fs::read(disk.join("loop/backing_file")).ok()?;
    let path = line.strip_suffix(b"\n").unwrap_or(&line);
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// The devices that hold the file of a loop device, which may be a device itself. The file is not opened for reading,
/// which the user may not be allowed to.
fn under_backing_file(path: &Path) -> Result<Vec<BlockDevice>, NoBlockDevice> {
    let hidden = |_| NoBlockDevice::HiddenFile { path: path.into() };
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(hidden)?;
    let stat = rustix::fs::fstat(&file).map_err(hidden)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Ok(vec![BlockDevice::listed(DeviceNumber::of(stat.st_rdev))?]),
        _ => {
            let number = number_under_file(file.as_fd(), DeviceNumber::of(stat.st_dev))?;
            BlockDevice::listed(number)?.with_others()
        }
    }
}

/// The devices of the btrfs that this one belongs to, itself included; none where it belongs to none.
fn devices_of_btrfs(root: &Path, number: DeviceNumber) -> Vec<DeviceNumber> {
    let systems = fs::read_dir(root).into_iter().flatten().flatten();
    let mut devices = systems.map(|system| numbers_in(&system.path().join("devices")));
    devices.find(|devices| devices.contains(&number)).unwrap_or_default()
}

/// The numbers of the devices that a folder of the kernel links to.
fn numbers_in(folder: &Path) -> Vec<DeviceNumber> {
    let links = fs::read_dir(folder).into_iter().flatten().flatten();
    links.filter_map(|link| DeviceNumber::parse(&fs::read_to_string(link.path().join("dev")).ok()?)).collect()
}

/// The device that a node stands for; `None` when it is not a block device's.
fn number_of_node(path: &Path) -> Option<DeviceNumber> {
    // A source may be a bare word such as `overlay`, which must not be looked up in the working directory.
    let stat = path.is_absolute().then(|| rustix::fs::stat(path).ok())??;
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    is_device.then(|| DeviceNumber::of(stat.st_rdev))
}

/// The name in brackets of `none [mq-deadline] kyber`, or the whole when nothing can be chosen.
fn scheduler_in_use(text: &str) -> String {
    bracketed(text).unwrap_or_else(|| text.trim().into())
}

/// Reads the line of `stat`, which begins with reads, merges and sectors of reads.
fn parse_stat(line: &str) -> Option<DeviceCounters> {
    let mut numbers = line.split_whitespace().map_while(|number| number.parse::<u64>().ok());
    let (reads, _merges, sectors) = (numbers.next()?, numbers.next()?, numbers.next()?);
    Some(DeviceCounters { reads, bytes_read: sectors.saturating_mul(SECTOR_BYTES) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_at_their_places() {
        let line =
            " 1558935    12441 33298579   883822    20439    33721 11282392    28083        3    51760   913419\n";
        let counters = parse_stat(line).unwrap();
        assert_eq!(counters, DeviceCounters { reads: 1_558_935, bytes_read: 33_298_579 * 512 });
        assert_eq!([parse_stat("1 2 "), parse_stat("1 2 x 4")], [None; 2]);
        let later = DeviceCounters { reads: counters.reads + 5, ..counters };
        assert_eq!(later.since(counters), DeviceCounters { reads: 5, bytes_read: 0 });
    }

    #[test]
    fn the_scheduler_is_the_one_in_brackets() {
        assert_eq!(scheduler_in_use("none [mq-deadline] kyber bfq\n"), "mq-deadline");
        assert_eq!(scheduler_in_use("none\n"), "none");
    }

    #[test]
    fn the_other_devices_of_a_btrfs_are_found_by_the_one_that_its_mount_names() {
        let root = tempfile::tempdir().unwrap();
        for (system, device, number) in [("1-a", "dm-0", "253:0"), ("1-a", "dm-1", "253:1"), ("2-b", "sdc", "8:32\n")] {
            let folder = root.path().join(system).join("devices").join(device);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("dev"), number).unwrap();
        }
        fs::create_dir(root.path().join("features")).unwrap();
        let of = |major, minor| devices_of_btrfs(root.path(), DeviceNumber { major, minor }).len();
        assert_eq!([of(253, 1), of(8, 32), of(8, 1)], [2, 1, 0]);
    }

    #[test]
    fn a_loop_device_over_a_file_whose_name_is_no_utf_8_is_not_taken_for_a_disk() {
        let disk = tempfile::tempdir().unwrap();
        assert_eq!(backing_file(disk.path()), None);
        fs::create_dir(disk.path().join("loop")).unwrap();
        fs::write(disk.path().join("loop/backing_file"), b"/data/B\xfccher.img\n").unwrap();
        assert_eq!(backing_file(disk.path()), Some(PathBuf::from(OsStr::from_bytes(b"/data/B\xfccher.img"))));
    }

    #[test]
    fn a_bare_word_is_no_device() {
        assert_eq!(number_of_node(Path::new("overlay")), None);
        assert_eq!(number_of_node(Path::new("/proc/self/status")), None);
    }
}
