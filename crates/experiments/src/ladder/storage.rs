//! What the rungs of the storage are measured on: the test file of the run, or a device that was named.

use std::path::Path;
use std::time::Duration;

use device::{Device, check_block_size};
use measure::quantity::size_in_words;
use serde_json::json;
use storage::page::id::PAGE_SIZE;
use sys::file::{Caching, TestFile};

use super::parameters::LadderParameters;
use crate::error::ExperimentError;
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
        journal.step(&what, Duration::from_millis(size >> 20));
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
        for (key, value) in self.device.describe().subject {
            journal.describe_subject(&key, value);
        }
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

fn open(path: &Path) -> Result<Box<dyn Device>, ExperimentError> {
    let device = device::open_direct_or_buffered(path)?;
    check_block_size(device.as_ref(), BLOCK as u64)?;
    if device.size() < SEQUENTIAL_BLOCKS * BLOCK as u64 {
        let sentence = format!("{} is too small for a ladder: name a file or device of 1 GiB or more", path.display());
        return Err(ExperimentError::Parameters(sentence));
    }
    Ok(device)
}
