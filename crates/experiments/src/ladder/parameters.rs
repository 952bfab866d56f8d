//! Parameters of the experiment.

use std::path::PathBuf;

use measure::Size;
use measure::quantity::size_in_words;
use serde::{Deserialize, Serialize};
use sys::memory::Pages;

use crate::error::ExperimentError;

/// Bytes of the test file by default.
const FILE: u64 = 1 << 30;

/// The smallest test file from which anything can be concluded.
const FILE_MIN: u64 = 16 << 20;

/// What the rung of the page cache reads of the test file: all that is read of it where the device rungs are measured
/// on something else.
pub(super) const CACHED_PART: u64 = 128 << 20;

/// Parameters of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LadderParameters {
    /// Where the test file is made; the command fills in a directory.
    pub dir: PathBuf,
    /// Bytes of the test file; the default depends on what reads it.
    pub size: Option<Size>,
    /// A device for the device rungs, instead of the test file: a file, a block device, a word of `device::DEVICES`.
    pub on: Option<PathBuf>,
    /// Put the buffers of device reads on huge pages, where the system grants them.
    pub huge_pages: bool,
    /// Picks the order of random accesses and the content of the test file.
    pub seed: Option<u64>,
}

impl Default for LadderParameters {
    fn default() -> LadderParameters {
        LadderParameters { dir: PathBuf::new(), size: None, on: None, huge_pages: true, seed: None }
    }
}

impl LadderParameters {
    /// Bytes of the test file. Refuses what cannot be, with a sentence that says what to give instead.
    pub(super) fn file_bytes(&self) -> Result<u64, ExperimentError> {
        let refuse = |sentence: String| Err(ExperimentError::Parameters(sentence));
        let most = if self.on.is_some() { CACHED_PART } else { u64::MAX };
        match self.size.map_or(FILE.min(most), |size| size.0) {
            ..FILE_MIN => {
                refuse(format!("--size sets the size of the test file: give {} or more", size_in_words(FILE_MIN)))
            }
            bytes if bytes > most => refuse(format!(
                "--size has no effect beyond {} with --on: no more of the test file is read then",
                size_in_words(most)
            )),
            bytes => Ok(bytes),
        }
    }

    /// The pages that the buffers of device reads stand on.
    pub(super) fn pages(&self) -> Pages {
        if self.huge_pages { Pages::Huge } else { Pages::Small }
    }

    /// The seed of everything random.
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or_default()
    }
}
