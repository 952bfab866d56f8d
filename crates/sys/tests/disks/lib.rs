//! Devices that tests make for themselves: a block device over a file, and a file system that is soon full.
//!
//! Both need root; without it they give the reason, and the test that wanted them is skipped.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device over a file.
pub struct LoopDevice {
    /// Such as `/dev/loop0`.
    pub device: String,
}

impl LoopDevice {
    /// Lays a loop device over `backing`, or says why not.
    pub fn new(backing: &Path) -> Result<LoopDevice, String> {
        let device = output_of(Command::new("losetup").args(["--find", "--show"]).arg(backing))?;
        Ok(LoopDevice { device })
    }

    /// The device's special file.
    pub fn path(&self) -> &Path {
        Path::new(&self.device)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

/// A mounted file system of a few hundred MiB that cannot allot blocks beforehand (ext2), so that it fills up while a
/// file is written and not before.
pub struct SmallDisk {
    /// Where it is mounted.
    pub mount: PathBuf,
    _folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Makes and mounts it in a folder below `parent`, or says why not.
    pub fn new(parent: &Path, bytes: u64) -> Result<SmallDisk, String> {
        let folder = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
        let image = folder.path().join("image");
        File::create(&image).and_then(|file| file.set_len(bytes)).map_err(|error| error.to_string())?;
        let mount = folder.path().join("mount");
        fs::create_dir(&mount).map_err(|error| error.to_string())?;
        output_of(Command::new("mkfs.ext2").args(["-q", "-F", "-m", "0", "-b", "4096"]).arg(&image))?;
        output_of(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount))?;
        Ok(SmallDisk { mount, _folder: folder })
    }

    /// Bytes that are free.
    pub fn free(&self) -> u64 {
        let space = rustix::fs::statvfs(&self.mount).unwrap();
        space.f_bavail * space.f_frsize
    }

    /// Takes whatever space is left, as another process would.
    pub fn fill(&self) {
        let mut file = File::create(self.mount.join("of-another-process")).unwrap();
        let block = vec![1; 1 << 20];
        while file.write_all(&block).is_ok() {}
        // The last blocks are taken by smaller writes.
        while file.write_all(&block[..4096]).is_ok() {}
    }

    /// Gives back what [`SmallDisk::fill`] took.
    pub fn empty(&self) {
        fs::remove_file(self.mount.join("of-another-process")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mount).status();
    }
}

fn output_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))
}
