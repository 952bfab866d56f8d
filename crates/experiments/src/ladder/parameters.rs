//! Parameters of the experiment.

use std::path::PathBuf;

use measure::Size;
use serde::{Deserialize, Serialize};
use sys::memory::Pages;

/// Parameters of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LadderParameters {
    /// Where the test file is made; the command fills in a directory.
    pub dir: PathBuf,
    /// Bytes of the test file.
    pub size: Size,
    /// A device for the device rungs, instead of the test file: a file, a block device, a word of `device::DEVICES`.
    pub on: Option<PathBuf>,
    /// Put the buffers of device reads on huge pages, where the system grants them.
    pub huge_pages: bool,
    /// Picks the order of random accesses and the content of the test file.
    pub seed: Option<u64>,
}

impl Default for LadderParameters {
    fn default() -> LadderParameters {
        LadderParameters { dir: PathBuf::new(), size: Size(1 << 30), on: None, huge_pages: true, seed: None }
    }
}

impl LadderParameters {
    /// The pages that the buffers of device reads stand on.
    pub(super) fn pages(&self) -> Pages {
        if self.huge_pages { Pages::Huge } else { Pages::Small }
    }

    /// The seed of everything random.
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or_default()
    }
}
