//! What the rungs of the storage are measured on: the test file of the run, or a device that was named.

use std::path::Path;
use std::time::Duration;

use device::Device;
use measure::quantity::size_in_words;
use serde_json::json;
use storage::page::id::PAGE_SIZE;
use sys::file::{Caching, TestFile};

use super::parameters::{FILE_MIN, LadderParameters};
use crate::error::{ExperimentError, refuse};
use crate::journal::Journal;
use crate::machine::Machine;

/// Bytes of a database block: the unit in which the rungs are compared.
pub(super) const BLOCK: usize = PAGE_SIZE;

/// Blocks of a sequential read.
pub(super) const SEQUENTIAL_BLOCKS: u64 = 128;

/// What the storage rungs are measured on.
pub(super) struct Storage {
    pub(super) own_file: TestFile,
    pub(super) device: Box<dyn Device>,
    /// Whether the device was named, and is no test file of this run.
    pub(super) foreign: bool,
}

impl Storage {
    /// Makes the test file, and opens what the device rungs are measured on.
    pub(super) fn open(
        parameters: &LadderParameters,
        machine: &Machine,
        journal: &mut dyn Journal,
    ) -> Result<Storage, ExperimentError> {
        let size = parameters.file_bytes()?;
        // What the user named is checked first: a wrong path is reported before a test file is written.
        let named = parameters.on.as_ref().map(|path| open(path)).transpose()?;
        let what = format!("writing a test file of {} in {}", size_in_words(size), parameters.dir.display());
        // The rungs come behind it: without them the time left would begin anew.
        journal.step_of_run(&what, Duration::from_millis(size >> 20).saturating_add(parameters.time_of_rungs()));
        let stop = machine.stop.flag();
        let own_file = TestFile::create(&parameters.dir, size, parameters.seed(), &mut |_| {}, stop)?;
        let foreign = named.is_some();
        let device = match named {
            Some(device) => device,
            None => open(&own_file.path())?,
        };
        Ok(Storage { own_file, device, foreign })
    }

    /// Describes in the run what the storage rungs are measured on.
    pub(super) fn describe(&self, dir: &Path, journal: &mut dyn Journal) {
        journal.describe_all(self.device.describe().subject);
        if !self.foreign {
            journal.describe_subject("path", json!("test file made by this run"));
            journal.describe_subject("folder", json!(dir.display().to_string()));
        }
    }

    /// Whether reads go through the page cache, because there is no direct I/O.
    pub(super) fn is_buffered(&self) -> bool {
        self.device.witnesses().target().is_some_and(|target| target.caching() == Caching::Buffered)
    }
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Device>, ExperimentError> {
    let device = device::open_direct_or_buffered(path)?;
    if device.size() < FILE_MIN {
        return refuse(format!(
            "{} holds {}, which is too small for a ladder: name a file or device of {} at least, or better of 1 GiB or \
             more",
            path.display(),
            size_in_words(device.size()),
            size_in_words(FILE_MIN)
        ));
    }
    check_multiple(path, device.alignment().offset)?;
    Ok(device)
}

/// Refuses what cannot be read in blocks of a ladder. What `device` says of it names an option that a ladder lacks.
fn check_multiple(path: &Path, multiple: u32) -> Result<(), ExperimentError> {
    if BLOCK.is_multiple_of(multiple.max(1) as usize) {
        return Ok(());
    }
    refuse(format!(
        "{} can be read past the page cache in multiples of {} only, and a ladder reads blocks of {}: name a directory \
         on another file system with --dir, or a file or block device with --on",
        path.display(),
        size_in_words(u64::from(multiple)),
        size_in_words(BLOCK as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_small_is_refused_with_the_size_it_needs_and_no_option_that_a_ladder_lacks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("small");
        // One of 1 MiB has room for one read of 128 blocks and less than the blocks that are to be hot.
        for size in [1500, 16 << 10, 1 << 20, (16 << 20) - 1] {
            std::fs::write(&path, vec![7_u8; size]).unwrap();
            let said = open(&path).err().unwrap().to_string();
            let least = format!("{} at least", size_in_words(16 << 20));
            assert!(said.contains("too small for a ladder") && said.contains(&least), "{said}");
            assert!(!said.contains("smaller block"), "{said}");
        }
    }

    #[test]
    fn a_device_of_large_sectors_is_refused_with_no_option_that_a_ladder_lacks() {
        for multiple in [0, 1, 512, 4096, 8192] {
            assert!(check_multiple(Path::new("/dev/nvme0n1"), multiple).is_ok(), "{multiple}");
        }
        let said = check_multiple(Path::new("/dev/nvme0n1"), 16 << 10).unwrap_err().to_string();
        assert!(said.starts_with("/dev/nvme0n1 can be read past the page cache in multiples of 16 KiB only"), "{said}");
        assert!(!said.contains("--buffered"), "{said}");
    }
}
