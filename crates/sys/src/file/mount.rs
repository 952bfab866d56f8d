//! The mount that a file is reached through, read from `/proc/self/mountinfo`.

use std::fs;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, StatxFlags};

use super::device_number::DeviceNumber;

/// One mount: type of its file system and where that takes its data from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The type, such as `ext4`.
    pub(crate) filesystem: String,
    /// The source as it was given to mount, such as `/dev/sda1` or `server:/export`.
    pub(crate) source: String,
}

impl Mount {
    /// The mount of an open file on `device`.
    ///
    /// The mount's number (Linux 5.8) is asked first: on btrfs the device number of a file is that of its
    /// subvolume, which mountinfo does not list.
    pub(crate) fn of(descriptor: BorrowedFd<'_>, device: DeviceNumber) -> Option<Mount> {
        let mountinfo = text_of(&fs::read("/proc/self/mountinfo").ok()?);
        let by_number = mount_number(descriptor).and_then(|number| find(&mountinfo, 0, &number.to_string()));
        by_number.or_else(|| find(&mountinfo, 2, &device.to_string()))
    }
}

/// The lines of a list of mounts. A mount point may have any bytes: one that is no UTF-8 must not hide the others.
fn text_of(mountinfo: &[u8]) -> String {
    String::from_utf8_lossy(mountinfo).into_owned()
}

fn mount_number(descriptor: BorrowedFd<'_>) -> Option<u64> {
    let statx = rustix::fs::statx(descriptor, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    StatxFlags::from_bits_retain(statx.stx_mask).contains(StatxFlags::MNT_ID).then_some(statx.stx_mnt_id)
}

/// The first line whose `column` says `value`. The columns are those of proc(5): number, parent, device, root, mount
/// point, options, any number of optional fields, a hyphen, type, source, options.
fn find(mountinfo: &str, column: usize, value: &str) -> Option<Mount> {
    mountinfo.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let matches = front.split(' ').nth(column) == Some(value);
        let mut back = back.split(' ');
        let (filesystem, source) = (back.next()?, back.next()?);
        matches.then(|| Mount { filesystem: filesystem.into(), source: unescaped(source) })
    })
}

/// Undoes the octal escapes (`\040` for a space) that mountinfo writes into paths.
fn unescaped(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\043", "\\134"]
        .into_iter()
        .zip([" ", "\t", "\n", "#", "\\"])
        .fold(text.to_string(), |text, (escape, character)| text.replace(escape, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/my\\040disk rw\n\
                             23 22 0:21 / /data rw - btrfs /dev/vdb rw,subvol=/\nnonsense\n";

    #[test]
    fn a_mount_is_found_by_number_or_by_device() {
        let root = Mount { filesystem: "ext4".into(), source: "/dev/my disk".into() };
        let data = Mount { filesystem: "btrfs".into(), source: "/dev/vdb".into() };
        assert_eq!(find(MOUNTINFO, 2, "254:0"), Some(root));
        assert_eq!(find(MOUNTINFO, 0, "23"), Some(data));
        assert_eq!(find(MOUNTINFO, 0, "99"), None);
    }

    #[test]
    fn a_device_with_a_number_sign_in_its_name_is_named_as_it_is() {
        let mountinfo = "25 22 0:22 / /d rw - btrfs /dev/mapper/data\\0431 rw\n";
        assert_eq!(find(mountinfo, 0, "25").map(|mount| mount.source).as_deref(), Some("/dev/mapper/data#1"));
    }

    #[test]
    fn a_mount_point_that_is_no_utf_8_does_not_hide_the_others() {
        let latin = b"24 22 8:17 / /media/B\xfccher rw - vfat /dev/sdb1 rw\n";
        let mountinfo = text_of(&[&latin[..], MOUNTINFO.as_bytes()].concat());
        assert_eq!(find(&mountinfo, 0, "23").map(|mount| mount.filesystem).as_deref(), Some("btrfs"));
        assert_eq!(find(&mountinfo, 0, "24").map(|mount| mount.source).as_deref(), Some("/dev/sdb1"));
    }
}
